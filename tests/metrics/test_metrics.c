/* test_metrics.c - the table of metrics, its text, and which files may be
 * replaced. */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>
#include <cmocka.h>

#include "common/fileio.h"
#include "orchestrator/metrics/metrics.h"
#include "tests/common/skip.h"
#include "tests/common/tempdir.h"
#include "tests/metrics/check_metrics.h"

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), len = strlen(end);

    return n > len && !strcmp(text + n - len, end);
}

static void test_table(void **state)
{
    (void) state;
    check_metrics(metrics_of_steps);
    check_metrics(metricscollect_tables);
}

/* A table of another room, for metrics of running steps. */
enum { OTHER_BYTES, OTHER_LEFT };
static const struct jp_column of_other[] = {
    METRICS_LABEL("jobid"),
    METRICS_LABEL("step"),
    METRICS_LABEL("node"),
    METRICS_LABEL("rank"),
    METRICS_ROW("jobprof_test_bytes_total", METRICS_COUNTER, "bytes",
                METRICS_RUNNING, "Bytes of a test."),
    METRICS_ROW("jobprof_test_left", METRICS_GAUGE, NULL, METRICS_RUNNING,
                "What a test has left."),
};
static const struct jp_table other_table = {
    .help = "a rank", JP_COLUMNS(of_other), .metrics_place = 51};
static const struct jp_table *const others[] = {&other_table, NULL};

static char *text_of(const struct metrics_set *set,
                     const struct metrics_how *how, size_t *left)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    assert_int_equal(metrics_write(set, how, out, left, NULL), 0);
    fclose(out);
    return text;
}

#define STEP                                                                   \
    {"jobid", "42"}, {"step", "0"},                                            \
    {                                                                          \
        "node", "n1"                                                           \
    }

static void fill(struct metrics_set *set)
{
    double *v;

    metrics_init(set);
    set->time_s = 1700000000.25;
    /* tables are written by their places */
    v = metrics_add(set, &other_table, STEP, {"rank", "0"});
    v[OTHER_BYTES] = 0x1p60;
    v = metrics_add(set, &metrics_rank, STEP, {"rank", "0"});
    v[METRIC_OPERATIONS] = 12;
    v[METRIC_BUSY] = 1 / 3.0;
    v = metrics_add(set, &metrics_rank, {"rank", "1"}, STEP);
    v[METRIC_OPERATIONS] = -1; /* counters are never negative */
    v[METRIC_BUSY] = INFINITY;
    v = metrics_add(set, &metrics_coll, {"version", "jobprof"},
                    {"slurm_job_id", "42"}, {"node", "n1"}, {"gpu", NULL},
                    {"comm_name", "a\"b\\c\nd\xff\xc3\xa9"}, {"n_nodes", "1"},
                    {"nranks", "8"}, {"collective", "AllReduce"},
                    {"message_size", "0B"}, {"algo_proto", "RING_LL"},
                    {"step", "0"}, {"rank", "0"});
    v[METRIC_BUSBW] = 99.5;
}

static void test_text(void **state)
{
    const struct metrics_how how = {.format = METRICS_TEXT};
    struct metrics_set set;
    char *text;

    (void) state;
    fill(&set);
    text = text_of(&set, &how, NULL);
    assert_string_equal(
        text,
        "# HELP jobprof_operations_total Communication operations that have "
        "ended; in a report, those with a record.\n"
        "# TYPE jobprof_operations_total counter\n"
        "jobprof_operations_total{jobid=\"42\",step=\"0\",node=\"n1\",rank="
        "\"0\"} 12\n"
        "# HELP jobprof_communication_ratio Share of its time that the rank "
        "spends in operations; above 1 if they overlap. While the step "
        "runs, over the last half minute.\n"
        "# TYPE jobprof_communication_ratio gauge\n"
        "jobprof_communication_ratio{jobid=\"42\",step=\"0\",node=\"n1\",rank="
        "\"0\"} 0.333333333\n"
        "# HELP jobprof_test_bytes_total Bytes of a test.\n"
        "# TYPE jobprof_test_bytes_total counter\n"
        "jobprof_test_bytes_total{jobid=\"42\",step=\"0\",node=\"n1\","
        "rank=\"0\"} 1.1529215e+18\n"
        "nccl_bus_bandwidth_gbs{version=\"jobprof\",slurm_job_id=\"42\",node="
        "\"n1\",comm_name=\"a\\\"b\\\\c?d?\xc3\xa9\",n_nodes=\"1\",nranks="
        "\"8\",collective=\"AllReduce\",message_size=\"0B\",algo_proto=\"RING_"
        "LL\",step=\"0\",rank=\"0\"} 99.5\n");
    free(text);
    metrics_fini(&set);
}

/* The same set as OpenMetrics: a counter's family has another name, and the end
 * is marked. */
static void test_openmetrics(void **state)
{
    const struct metrics_how how = {.format = METRICS_OPENMETRICS};
    struct metrics_set set;
    char *text;

    (void) state;
    fill(&set);
    text = text_of(&set, &how, NULL);
    assert_non_null(strstr(text, "# TYPE jobprof_operations counter\n"
                                 "jobprof_operations_total{jobid=\"42\",step="
                                 "\"0\",node=\"n1\",rank=\"0\"} 12 "
                                 "1700000000.250\n"));
    assert_non_null(strstr(text, "# TYPE jobprof_test_bytes counter\n"
                                 "# UNIT jobprof_test_bytes bytes\n"));
    assert_non_null(strstr(text, "# TYPE nccl_bus_bandwidth_gbs unknown\n"));
    assert_true(ends_with(text, "1700000000.250\n# EOF\n"));
    free(text);
    metrics_fini(&set);
    text = text_of(&set, &how, NULL);
    assert_string_equal(text, "# EOF\n");
    free(text);
}

/* Series are limited: what is left out is counted, and what is written is
 * complete. */
static void test_bound(void **state)
{
    const struct metrics_how how = {.format = METRICS_TEXT, .max_series = 100};
    struct metrics_set set;
    size_t left = 0, lines = 0;
    char rank[16], *text;

    (void) state;
    metrics_init(&set);
    for (unsigned i = 0; i < 300; i++) {
        double *v;

        snprintf(rank, sizeof(rank), "%u", i % 200); /* the same labels twice */
        v = metrics_add(&set, &metrics_rank, {"jobid", "1"}, {"step", "0"},
                        {"node", "n"}, {"rank", rank});
        v[METRIC_OPERATIONS] = i;
    }
    assert_int_equal(set.n, 200);
    assert_int_equal(metrics_count(&set), 200);
    text = text_of(&set, &how, &left);
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 102);
    assert_int_equal(left, 100);
    assert_non_null(strstr(text, "rank=\"7\"} 207\n"));
    free(text);
    metrics_fini(&set);
}

/* Labels are given by their names, in any order. A table without one of them
 * gives no object. */
static void test_names(void **state)
{
    struct metrics_set set;
    double *v;

    (void) state;
    metrics_init(&set);
    v = metrics_add(&set, &metrics_rank, STEP, {"rank", "3"});
    assert_ptr_equal(v, metrics_add(&set, &metrics_rank, {"rank", "3"}, STEP));
    assert_string_equal(set.objects[0]->labels[2], "n1");
    assert_string_equal(set.objects[0]->labels[3], "3");
    assert_null(metrics_add(&set, &metrics_node, STEP, {"rank", "3"}));
    assert_null(metrics_add(&set, &metrics_coll, {"jobid", "42"}));
    assert_int_equal(set.n, 1);
    metrics_fini(&set);
}

/* A label's value has complete characters, however long the text is. */
static void test_long_label(void **state)
{
    const struct metrics_how how = {.format = METRICS_TEXT};
    char name[1000];
    struct metrics_set set;
    char *text;

    (void) state;
    for (size_t i = 0; i + 2 < sizeof(name); i += 2)
        memcpy(name + i, "\xc3\xa9", 3);
    metrics_init(&set);
    metrics_add(&set, &metrics_node, {"jobid", name}, {"step", "0"},
                {"node", "n"})[METRIC_LATE_RANKS] = 1;
    text = text_of(&set, &how, NULL);
    assert_non_null(strstr(text, "\xc3\xa9\",step"));
    free(text);
    metrics_fini(&set);
}

/* Inspector's ranges: the size in whole units, and the next number. */
static void test_ranges(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {{0, "0B"},
                {1, "1-2B"},
                {1023, "1023-1024B"},
                {1024, "1-2KB"},
                {1024 * 1024 - 1, "1023-1024KB"},
                {UINT64_C(512) << 20, "512-513MB"},
                {UINT64_C(5) << 30, "5-6GB"},
                {UINT64_C(2000) << 40, "2000-2001TB"}};
    char buf[40];

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_string_equal(metrics_size_text(rows[i].bytes, buf, sizeof(buf)),
                            rows[i].text);
        assert_true(metrics_size_first(rows[i].bytes) <= rows[i].bytes);
        assert_string_equal(metrics_size_text(metrics_size_first(rows[i].bytes),
                                              buf, sizeof(buf)),
                            rows[i].text);
    }
}

/* --- files ---------------------------------------------------------------- */

static struct metricsfile_step step;

static void begin_step(void)
{
    step = (struct metricsfile_step){.job = 42, .step = "0+1 x", .nodeid = 3};
}

static int put(const char *folder, struct jp_error *err)
{
    return metricsfile_write(folder, &step, "a 1\n", 4, err);
}

static void test_file(void **state)
{
    char name[METRICSFILE_NAME_BYTES], wanted[64], *path, *text = NULL;
    struct jp_error err;
    struct stat st;

    begin_step();
    snprintf(wanted, sizeof(wanted), "jobprof-42.0_1_x-n3-%lu.prom",
             (unsigned long) geteuid());
    assert_string_equal(metricsfile_name(&step, name), wanted);
    path = tempdir_path(*state, name);
    umask(077);
    assert_int_equal(put(*state, &err), 0);
    assert_int_equal(metricsfile_write(*state, &step, "b 2\n", 4, &err), 0);
    umask(022);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644); /* node_exporter reads it */
    assert_int_equal(fileio_read(path, false, 99, &text, NULL, &err), 0);
    assert_string_equal(text, "b 2\n");
    free(text);
    metricsfile_remove(*state, &step);
    assert_int_not_equal(stat(path, &st), 0);
    metricsfile_remove(*state, &step);
    assert_int_equal(rmdir(*state), 0); /* no temporary file is left */
    assert_int_equal(mkdir(*state, 0700), 0);
    free(path);
}

/* Makes what is in the way: a link to the victim, a folder, a FIFO, and for
 * root another user's file. */
static bool obstruct(const char *path, const char *victim, int how)
{
    unlink(path);
    rmdir(path);
    if (how == 0)
        return symlink(victim, path) == 0;
    if (how == 1)
        return mkdir(path, 0700) == 0;
    if (how == 2)
        return mkfifo(path, 0600) == 0;
    if (how > 3 || geteuid() != 0)
        return false;
    return close(creat(path, 0600)) == 0 && chown(path, 65534, 65534) == 0;
}

/* What has the name stays as it is, and so does a link's target. The step's
 * file gets a name that could not be guessed, keeps it, and is removed by it.
 */
static void test_taken(void **state)
{
    char name[METRICSFILE_NAME_BYTES], again[METRICSFILE_NAME_BYTES];
    char *path, *other, *victim, *text = NULL;
    uint64_t numbers[4] = {0};
    struct jp_error err;
    struct stat st, was;

    begin_step();
    path = tempdir_path(*state, metricsfile_name(&step, name));
    victim = tempdir_file(*state, "victim", 0600, "mine");
    for (int how = 0; obstruct(path, victim, how); how++) {
        begin_step();
        assert_int_equal(lstat(path, &was), 0);
        assert_int_equal(put(*state, &err), 0);
        assert_int_equal(step.refused, 1);
        for (int i = 0; i < how; i++)
            assert_true(step.number != numbers[i]);
        numbers[how] = step.number;
        other = tempdir_path(*state, metricsfile_name(&step, name));
        assert_string_not_equal(other, path);
        assert_int_equal(fileio_read(other, false, 99, &text, NULL, &err), 0);
        assert_string_equal(text, "a 1\n");
        free(text);
        /* the next time it is the same */
        assert_int_equal(put(*state, &err), 0);
        assert_string_equal(metricsfile_name(&step, again), name);
        assert_int_equal(step.refused, 1);
        /* a later agent of the step leaves one file */
        begin_step();
        assert_int_equal(put(*state, &err), 0);
        assert_int_not_equal(lstat(other, &st), 0);
        free(other);
        other = tempdir_path(*state, metricsfile_name(&step, name));
        assert_int_equal(lstat(other, &st), 0);
        /* finish does not know the number */
        begin_step();
        metricsfile_remove(*state, &step);
        assert_int_not_equal(lstat(other, &st), 0);
        free(other);
        assert_int_equal(lstat(path, &st), 0);
        assert_int_equal(st.st_ino, was.st_ino);
        assert_int_equal(st.st_uid, was.st_uid);
    }
    assert_int_equal(fileio_read(victim, false, 99, &text, NULL, &err), 0);
    assert_string_equal(text, "mine");
    free(text);
    unlink(path);
    rmdir(path);
    free(path);
    free(victim);
}

/* Whoever looks on makes each name that he sees; the last one is taken all the
 * same. */
static void test_taken_again(void **state)
{
    char name[METRICSFILE_NAME_BYTES], *path;
    struct jp_error err;

    begin_step();
    for (uint32_t i = 1; i < 5; i++) {
        path = tempdir_path(*state, metricsfile_name(&step, name));
        unlink(path); /* its owner alone could; then he takes the name */
        assert_int_equal(mkdir(path, 0700), 0);
        free(path);
        assert_int_equal(put(*state, &err), 0);
        assert_int_equal(step.refused, i);
    }
    metricsfile_remove(*state, &step);
}

static void test_folder(void **state)
{
    char *folder = tempdir_path(*state, "text"), *link, *file;
    struct jp_error err;

    assert_int_equal(put(folder, &err), -1); /* does not exist */
    assert_int_equal(mkdir(folder, 0755), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(put(folder, &err), -1);
    assert_non_null(strstr(err.text, "chmod +t"));
    assert_int_equal(chmod(folder, 0775), 0);
    assert_int_equal(put(folder, &err), -1);
    assert_int_equal(chmod(folder, 01777), 0);
    assert_int_equal(put(folder, &err), 0);
    link = tempdir_path(*state, "link");
    assert_int_equal(symlink(folder, link), 0);
    assert_int_equal(put(link, &err), -1);
    file = tempdir_file(*state, "file", 0600, "");
    assert_int_equal(put(file, &err), -1);
    if (geteuid() == 0) {
        assert_int_equal(chown(folder, 65534, 65534), 0);
        assert_int_equal(put(folder, &err), -1);
        assert_non_null(strstr(err.text, "chown root"));
        assert_int_equal(chown(folder, 0, 0), 0);
    }
    free(link);
    free(file);
    free(folder);
}

/* What does not belong into the spool is removed; in a folder that is not ours
 * alone, only what has a name of ours. */
static void test_clean(void **state)
{
    static const struct {
        const char *name;
        mode_t kind; /* 0: a link */
        bool old, goes, goes_shared;
    } rows[] = {
        {"jobprof-1.0-n0-%lu.prom", S_IFREG, true, true, true},
        {"jobprof-2.0-n0-%lu.prom", S_IFREG, false, false, false},
        {".jobprof-3.0-n0-%lu.prom.77.tmp", S_IFREG, true, true, true},
        {".jobprof-3.1-n0-%lu.prom.77.tmp", S_IFREG, false, false, false},
        {"jobprof-2.1-n0-%lu-0123456789abcdef.prom", S_IFREG, false, false,
         false},
        {"jobprof-2.2-n0-%lu-0123456789abcdef.prom", S_IFREG, true, true, true},
        {"jobprof-2.3-n0-%lu-0123456789abcde.prom", S_IFREG, false, true,
         false},
        {"jobprof-2.4-n0-%lu-0123456789abcdef0.prom", S_IFREG, false, true,
         false},
        {"jobprof-4.0-n0-1%lu.prom", S_IFREG, false, true, false},
        {"jobprof-5.0-n0-%lu.prom", S_IFIFO, false, true, true},
        {"jobprof-6.0-n0-%lu.prom", S_IFDIR, false, true, true},
        {"jobprof-7.0-n0-%lu.prom", 0, false, true, true},
        {"fifo", S_IFIFO, false, true, false},
        {"node.prom", S_IFREG, true, true, false},
        {"jobprof-notes.txt", S_IFREG, true, true, false},
        {".jobprof-x.tmp", S_IFREG, true, true, false}};
    const struct utimbuf old = {1, time(NULL) - METRICSFILE_STALE_S - 5};

    for (int shared = 1; shared >= 0; shared--) {
        struct metricsfile_cleaned found = {0};
        size_t want = 0;

        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
            char name[64], *path;

            snprintf(name, sizeof(name), rows[i].name,
                     (unsigned long) geteuid());
            path = tempdir_path(*state, name);
            unlink(path);
            rmdir(path);
            if (rows[i].kind == S_IFREG)
                free(tempdir_file(*state, name, 0644, "a 1\n"));
            else if (rows[i].kind == S_IFDIR)
                assert_int_equal(mkdir(path, 0700), 0);
            else if (rows[i].kind)
                assert_int_equal(mknod(path, rows[i].kind | 0600, 0), 0);
            else
                assert_int_equal(symlink("/dev/zero", path), 0);
            if (rows[i].old)
                assert_int_equal(utime(path, &old), 0);
            want += shared ? rows[i].goes_shared : rows[i].goes;
            free(path);
        }
        assert_int_equal(metricsfile_clean(*state, shared, true, &found, NULL),
                         0);
        assert_int_equal(found.stale + found.odd, want);
        assert_int_equal(metricsfile_clean(*state, shared, false, &found, NULL),
                         0);
        assert_int_equal(found.stale + found.odd, want);
        assert_int_equal(found.kept, 0);
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
            char name[64], *path;
            struct stat st;

            snprintf(name, sizeof(name), rows[i].name,
                     (unsigned long) geteuid());
            path = tempdir_path(*state, name);
            assert_int_equal(lstat(path, &st) != 0,
                             shared ? rows[i].goes_shared : rows[i].goes);
            free(path);
        }
    }
}

/* --- foreign text ------------------------------------------------------- */

#define LABELS "jobid=\"42\",step=\"0\",node=\"n1\""
#define RANK "jobprof_operations_total{" LABELS ",rank=\"0\"}"

/* Which lines are taken, and what is made of them. */
static void test_foreign_text(void **state)
{
    static const struct {
        const char *line, *want; /* want NULL: bad; "": nothing is written */
    } rows[] = {
        {RANK " 5", RANK " 5"},
        {"  " RANK "\t5.5  ", RANK " 5.5"},
        {"jobprof_operations_total { rank = \"0\" , " LABELS " , } 5",
         RANK " 5"},
        {"# TYPE jobprof_operations_total gauge", ""},
        {"# HELP up it is", ""},
        {"", ""},
        {RANK " NaN", ""},
        {RANK " +Inf", ""},
        {RANK " -1", ""}, /* a counter */
        {"jobprof_step_info{" LABELS ",user=\"root\",account=\"a\\\"b\\\\\"} 1",
         "jobprof_step_info{" LABELS ",user=\"alice\",account=\"a\\\"b\\\\\"} "
         "1"},
        {"jobprof_operations_total{" LABELS ",rank=\"\x1b[2J\xff\"} 1",
         "jobprof_operations_total{" LABELS ",rank=\"?[2J?\"} 1"},
        {"nccl_bus_bandwidth_gbs{slurm_job_id=\"42\",step=\"0\"} 7",
         "nccl_bus_bandwidth_gbs{slurm_job_id=\"42\",step=\"0\"} 7"},
        {"jobprof_test_left{" LABELS ",rank=\"0\"} 5",
         "jobprof_test_left{" LABELS ",rank=\"0\"} 5"},
        /* metrics that a step does not have */
        {"node_load1 5", NULL},
        {"up{job=\"x\"} 1", NULL},
        {"jobprof_findings{" LABELS ",kind=\"hang\"} 1", NULL},
        {"jobprof_history_step_total{account=\"a\"} 1", NULL},
        {"jobprof_collect_files 1", NULL},
        {"jobprof_step_written_timestamp_seconds{" LABELS "} 1", NULL},
        /* another job, another step */
        {"jobprof_late_ranks{jobid=\"43\",step=\"0\",node=\"n1\"} 1", NULL},
        {"jobprof_late_ranks{jobid=\"042\",step=\"0\",node=\"n1\"} 1", NULL},
        {"jobprof_late_ranks{jobid=\"42\",step=\"1\",node=\"n1\"} 1", NULL},
        {"jobprof_late_ranks{step=\"0\",node=\"n1\"} 1", NULL},
        {"jobprof_late_ranks{jobid=\"42\",node=\"n1\"} 1", NULL},
        {"jobprof_late_ranks 1", NULL},
        /* labels */
        {"jobprof_late_ranks{" LABELS ",rank=\"0\"} 1", NULL},
        {"jobprof_late_ranks{" LABELS ",jobid=\"42\"} 1", NULL},
        {"jobprof_late_ranks{" LABELS " rank=\"0\"} 1", NULL},
        {"jobprof_late_ranks{" LABELS, NULL},
        {"jobprof_late_ranks{jobid=\"42", NULL},
        {"jobprof_late_ranks{jobid=42}", NULL},
        {"jobprof_late_ranks{jobid=\"4\\x\"} 1", NULL},
        {"jobprof_late_ranks{jobid=\"42\\", NULL},
        {"jobprof_late_ranks{", NULL},
        {"jobprof_late_ranks{=\"\"} 1", NULL},
        /* values; a time stamp makes node_exporter refuse a whole file */
        {RANK, NULL},
        {RANK " five", NULL},
        {RANK " 5 1700000000000", NULL},
        {RANK " 5 # {} 1", NULL},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct metricstext of = {.tables = others,
                                 .job = 42,
                                 .step = "0",
                                 .user = "alice",
                                 .max_series = 9};
        const struct metrics_how how = {.format = METRICS_TEXT};
        char text[512], *made = NULL, *sample;
        struct metrics_set set;
        size_t len;
        FILE *out = open_memstream(&made, &len);

        metrics_init(&set);
        snprintf(text, sizeof(text), "%s\n", rows[i].line);
        assert_int_equal(metricstext_read(text, strlen(text), &of, &set), 0);
        assert_int_equal(of.bad_lines, !rows[i].want);
        assert_int_equal(*of.bad != 0, !rows[i].want);
        assert_int_equal(metrics_write(&set, &how, out, NULL, NULL), 0);
        fclose(out);
        /* the line behind its header */
        sample = made;
        while (*sample == '#')
            sample = strchr(sample, '\n') + 1;
        if (rows[i].want && *rows[i].want)
            assert_memory_equal(sample, rows[i].want, strlen(rows[i].want));
        else
            assert_string_equal(sample, "");
        free(made);
        metrics_fini(&set);
    }
}

/* Limits of a file: series, a line, and its end. */
static void test_foreign_limits(void **state)
{
    struct metricstext of = {
        .job = 42, .step = "0", .user = "alice", .max_series = 3};
    struct metrics_set set;
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    (void) state;
    for (int i = 0; i < 5; i++)
        fprintf(out, "jobprof_operations_total{" LABELS ",rank=\"%d\"} 1\n", i);
    fprintf(out, "%s", RANK " 1");
    fputc(0, out);
    fprintf(out, "\n# %*s\n" RANK " 9", METRICSTEXT_LINE, "");
    fclose(out);
    assert_int_equal(metricstext_job(text, len), 42);
    metrics_init(&set);
    assert_int_equal(metricstext_read(text, len, &of, &set), 0);
    assert_int_equal(of.series, 3);
    assert_int_equal(of.left_out, 2);
    assert_int_equal(of.bad_lines, 3); /* NUL, length, no end */
    assert_int_equal(set.n, 3);
    metrics_fini(&set);
    free(text);
    assert_int_equal(metricstext_job("jobid=\"99999999999\"", 19), 0);
    assert_int_equal(metricstext_job("jobid=\"7", 8), 7);
    assert_int_equal(metricstext_job("slurm_job_id=\"8\"", 16), 8);
    assert_int_equal(metricstext_job("jobid=", 6), 0);
}

/* --- the collector -------------------------------------------------------- */

static struct metricscollect_job slurm; /* uid 0, no account: no answer */

static bool answer(void *arg, uint64_t job, struct metricscollect_job *out)
{
    ++*(unsigned *) arg;
    assert_int_equal(job, 42);
    *out = slurm;
    return *slurm.account != '\0';
}

/* Two users name one job. Only root can try it. */
static void test_collect_whose(void **state)
{
    enum { ROOT = 0, OTHER = 65534 }; /* both have a name everywhere */
    static const struct {
        bool root, other; /* who has a file */
        int64_t slurm;    /* what Slurm says; -1: nothing */
        int64_t want;     /* whose is collected; -1: nobody's */
        unsigned asked;
    } rows[] = {
        {true, true, -1, -1, 1}, /* nobody knows */
        {true, false, -1, ROOT, 0},
        /* who had it keeps it; the other user is a new reason to ask */
        {true, true, -1, ROOT, 1},
        {false, true, -1, OTHER, 0},
        {true, true, -1, OTHER, 1},
        {true, true, ROOT, ROOT, 1},
        {false, true, -1, -1, 0},  /* known from now on */
        {false, false, -1, -1, 0}, /* the job ends, and is forgotten */
        {false, true, -1, OTHER, 1},
    };
    char *spool = tempdir_path(*state, "spool"),
         *text = tempdir_path(*state, "text");

    if (geteuid() != 0)
        skip_check("only root can write files of several users");
    assert_int_equal(mkdir(spool, 0755) | chmod(spool, 01777), 0);
    assert_int_equal(mkdir(text, 0755), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const bool there[] = {rows[i].root, rows[i].other};
        const uid_t uids[] = {ROOT, OTHER};
        unsigned asked = 0;
        struct metricscollect c = {.spool = spool,
                                   .textfile = text,
                                   .series = 50,
                                   .user_series = 50,
                                   .node_series = 50,
                                   .ask = answer,
                                   .arg = &asked};
        char *made = NULL,
             *out = tempdir_path(*state, "text/" METRICSCOLLECT_NAME);
        struct jp_error err;

        slurm = (struct metricscollect_job){.uid = (uint32_t) rows[i].slurm,
                                            .account = ""};
        if (rows[i].slurm >= 0)
            snprintf(slurm.account, sizeof(slurm.account), "theirs");
        for (int k = 0; k < 2; k++) {
            char name[80], *path;

            snprintf(name, sizeof(name), "spool/jobprof-42.0-n0-%u.prom",
                     uids[k]);
            path = tempdir_path(*state, name);
            unlink(path);
            if (there[k]) {
                snprintf(name, sizeof(name), "spool/jobprof-42.0-n0-%u.prom",
                         uids[k]);
                free(tempdir_file(*state, name, 0644,
                                  "jobprof_step_info{" LABELS
                                  ",user=\"x\",account=\"mine\"} 1\n"));
                assert_int_equal(chown(path, uids[k], 0), 0);
            }
            free(path);
        }
        assert_int_equal(metricscollect_run(&c, &err), 0);
        assert_int_equal(asked, rows[i].asked);
        assert_int_equal(fileio_read(out, false, 9999, &made, NULL, NULL), 0);
        if (rows[i].want < 0)
            assert_null(strstr(made, "jobprof_step_info{"));
        else
            assert_non_null(strstr(made, rows[i].want == ROOT
                                             ? ",user=\"root\","
                                             : ",user=\"nobody\","));
        assert_int_equal(strstr(made, "account=\"theirs\"") != NULL,
                         rows[i].slurm >= 0);
        assert_int_equal(strstr(made, "why=\"job\"") != NULL,
                         rows[i].root + rows[i].other > (rows[i].want >= 0));
        free(made);
        free(out);
        metricscollect_fini(&c);
    }
    free(spool);
    free(text);
}

/* Which jobs Slurm was asked about in a run. */
struct questions {
    unsigned n;
    uint64_t jobs[2 * METRICSCOLLECT_ALL_ASKS];
};

/* Slurm knows jobs with even numbers; job / 1000 is whose they are. */
static bool answer_even(void *arg, uint64_t job, struct metricscollect_job *out)
{
    struct questions *asked = arg;

    assert_true(asked->n < METRICSCOLLECT_ALL_ASKS);
    asked->jobs[asked->n++] = job;
    out->uid = (uint32_t) (job / 1000);
    snprintf(out->account, sizeof(out->account), "theirs");
    return job % 2 == 0;
}

/* How many of the user's jobs Slurm was asked about. */
static unsigned asked_of(const struct questions *asked, uid_t uid)
{
    unsigned n = 0;

    for (unsigned i = 0; i < asked->n; i++)
        n += asked->jobs[i] / 1000 == uid;
    return n;
}

static void add_claim(void **state, uid_t uid, uint64_t job)
{
    char name[80], text[160], *path;

    snprintf(name, sizeof(name), "spool/jobprof-%" PRIu64 ".0-n0-%u.prom", job,
             uid);
    snprintf(text, sizeof(text),
             "jobprof_step_info{jobid=\"%" PRIu64
             "\",step=\"0\",node=\"n\"} 1\n",
             job);
    path = tempdir_file(*state, name, 0644, text);
    assert_int_equal(chown(path, uid, 0), 0);
    free(path);
}

/* Some users with many files cannot use up the questions: users take turns. */
static void test_collect_turns(void **state)
{
    enum { MOST = 40, FLOODERS = 4, JOBS = 60 };
    uid_t uids[MOST];
    char *spool = tempdir_path(*state, "spool"),
         *text = tempdir_path(*state, "text");
    unsigned n = 0, total[MOST] = {0};
    const struct passwd *pw;
    struct jp_error err;

    if (geteuid() != 0)
        skip_check("only root can write files of several users");
    setpwent();
    while (n < MOST && (pw = getpwent()))
        if (pw->pw_uid > 0 && pw->pw_uid < 1000)
            uids[n++] = pw->pw_uid;
    endpwent();
    if (n < FLOODERS + 4)
        skip_check("too few users in the system");
    assert_int_equal(mkdir(spool, 0755) | chmod(spool, 01777), 0);
    assert_int_equal(mkdir(text, 0755), 0);
    /* the first ones flood, before and after the others come */
    for (unsigned k = 0; k < 2; k++) {
        for (unsigned i = 0; i < FLOODERS; i++)
            for (uint64_t job = k * JOBS / 2; job < (k + 1) * JOBS / 2; job++)
                add_claim(state, uids[i], uids[i] * 1000ULL + 2 * job + 1);
        for (unsigned i = FLOODERS; k == 0 && i < n; i++)
            add_claim(state, uids[i], uids[i] * 1000ULL + 2);
    }
    for (unsigned run = 0; run < 4; run++) {
        struct questions asked = {0};
        struct metricscollect c = {.spool = spool,
                                   .textfile = text,
                                   .series = 50,
                                   .user_series = 50,
                                   .node_series = 5000,
                                   .ask = answer_even,
                                   .arg = &asked};

        assert_int_equal(metricscollect_run(&c, &err), 0);
        metricscollect_fini(&c);
        for (unsigned i = 0; i < n; i++) {
            total[i] += asked_of(&asked, uids[i]);
            assert_true(asked_of(&asked, uids[i]) <= METRICSCOLLECT_ASKS);
        }
        /* all have had a turn */
        for (unsigned i = 0; i < n && n <= (run + 1) * METRICSCOLLECT_ALL_ASKS;
             i++)
            assert_true(total[i] > 0);
        assert_int_equal(asked.n, METRICSCOLLECT_ALL_ASKS);
    }
    /* an answer is kept, and so is that there was none */
    for (unsigned i = FLOODERS; i < n; i++)
        assert_int_equal(total[i], 1);
    free(spool);
    free(text);
}

/* A user's flood takes nothing of another's part. */
static void test_collect_parts(void **state)
{
    char *spool = tempdir_path(*state, "spool"),
         *text = tempdir_path(*state, "text");
    struct metricscollect c = {.spool = spool,
                               .textfile = text,
                               .series = 100,
                               .user_series = 100,
                               .node_series = 100};
    struct jp_error err;

    if (geteuid() != 0)
        skip_check("only root can write files of several users");
    assert_int_equal(mkdir(spool, 0755) | chmod(spool, 01777), 0);
    assert_int_equal(mkdir(text, 0755), 0);
    for (unsigned i = 0; i < METRICSCOLLECT_FILES + 30; i++) {
        char name[80], *path, *bytes = NULL;
        size_t n;
        FILE *out = open_memstream(&bytes, &n);

        for (unsigned k = 0; k < 40; k++)
            fprintf(out,
                    "jobprof_operations_total{jobid=\"%u\",step=\"0\","
                    "node=\"n\",rank=\"%u\"} 1\n",
                    i + 1, k);
        fclose(out);
        snprintf(name, sizeof(name), "spool/jobprof-%u.0-n0-%u.prom", i + 1,
                 i ? 65534 : 0);
        path = tempdir_file(*state, name, 0644, bytes);
        assert_int_equal(chown(path, i ? 65534 : 0, 0), 0);
        free(path);
        free(bytes);
    }
    assert_int_equal(metricscollect_run(&c, &err), 0);
    assert_int_equal(c.users, 2);
    assert_int_equal(c.written, 40 + 50);
    assert_int_equal(c.left_files, 29);
    assert_int_equal(c.left_series, 64 * 40 - 50);
    assert_int_equal(c.n_notes, 1);
    assert_memory_equal(c.notes[0], "nobody: 29 files beyond", 23);
    metricscollect_fini(&c);
    /* node_exporter's folder, as of an earlier release */
    assert_int_equal(chmod(text, 01777), 0);
    assert_int_equal(metricscollect_run(&c, &err), -1);
    assert_non_null(strstr(err.text, "users can write to it"));
    free(spool);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_openmetrics),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_long_label),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test_setup_teardown(test_file, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(test_taken, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(test_taken_again, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_folder, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_clean, tempdir_make, tempdir_drop),
        cmocka_unit_test(test_foreign_text),
        cmocka_unit_test(test_foreign_limits),
        cmocka_unit_test_setup_teardown(test_collect_whose, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_collect_turns, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_collect_parts, tempdir_make,
                                        tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
