/* test_metrics.c - the table of metrics, its text, and which files may be
 * replaced. */
#include <math.h>
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
#include "tests/common/tempdir.h"

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), len = strlen(end);

    return n > len && !strcmp(text + n - len, end);
}

/* The rules of Prometheus and OpenMetrics for names, and ours for rows. */
static void test_table(void **state)
{
    (void) state;
    for (enum metric m = 0; m < METRICS_N; m++) {
        const struct metrics_row *row = &metrics_rows[m];
        bool ours = !strncmp(row->name, "jobprof_", 8);
        char unit[64];

        assert_non_null(row->name);
        assert_true(strlen(row->help) > 10 && !strpbrk(row->help, "\n\\\""));
        assert_int_equal(
            strspn(row->name, "abcdefghijklmnopqrstuvwxyz0123456789_"),
            strlen(row->name));
        assert_true(ours == (row->type != METRICS_UNTYPED));
        assert_true(row->told != 0);
        assert_int_equal(ends_with(row->name, "_total"),
                         row->type == METRICS_COUNTER);
        if (row->unit) {
            snprintf(unit, sizeof(unit), "_%s%s", row->unit,
                     row->type == METRICS_COUNTER ? "_total" : "");
            assert_true(ends_with(row->name, unit));
        }
        assert_null(strstr(row->name, "DCGM"));
        for (enum metric k = 0; k < m; k++)
            assert_string_not_equal(row->name, metrics_rows[k].name);
        /* every series of a step's file has the job, the step and the node,
         * because one (name, labels) in two files fails a whole scrape */
        if (row->told & METRICS_LIVE) {
            char all[512] = " ";

            for (size_t i = 0; metrics_scopes[row->scope].labels[i]; i++)
                snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s ",
                         metrics_scopes[row->scope].labels[i]);
            assert_non_null(strstr(all, ours ? " jobid " : " slurm_job_id "));
            assert_non_null(strstr(all, " step "));
            assert_non_null(strstr(all, " node "));
        }
    }
}

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

static void fill(struct metrics_set *set)
{
    double *v;

    metrics_init(set);
    set->time_s = 1700000000.25;
    v = metrics_add(set, METRICS_RANK, "42", "0", "n1", "0");
    v[METRIC_OPERATIONS] = 12;
    v[METRIC_BYTES] = 0x1p60;
    v[METRIC_BUSY] = 1 / 3.0;
    v = metrics_add(set, METRICS_RANK, "42", "0", "n1", "1");
    v[METRIC_OPERATIONS] = -1; /* counters are never negative */
    v[METRIC_BYTES] = INFINITY;
    v = metrics_add(set, METRICS_COLL, "jobprof", "42", "n1", NULL,
                    "a\"b\\c\nd\xff\xc3\xa9", "1", "8", "AllReduce", "0B",
                    "RING_LL", "0", "0");
    v[METRIC_COLL_BUSBW] = 99.5;
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
        "# HELP jobprof_operation_bytes_total Data of operations that have "
        "ended, estimated from the mean size of a sample.\n"
        "# TYPE jobprof_operation_bytes_total counter\n"
        "jobprof_operation_bytes_total{jobid=\"42\",step=\"0\",node=\"n1\","
        "rank=\"0\"} 1.1529215e+18\n"
        "# HELP jobprof_communication_ratio Share of its time that the rank "
        "spends in operations; above 1 if they overlap. While the step "
        "runs, over the last half minute.\n"
        "# TYPE jobprof_communication_ratio gauge\n"
        "jobprof_communication_ratio{jobid=\"42\",step=\"0\",node=\"n1\",rank="
        "\"0\"} 0.333333333\n"
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
    assert_non_null(strstr(text, "# TYPE jobprof_operation_bytes counter\n"
                                 "# UNIT jobprof_operation_bytes bytes\n"));
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
        v = metrics_add(&set, METRICS_RANK, "1", "0", "n", rank);
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
    metrics_add(&set, METRICS_NODE, name, "0", "n")[METRIC_LEFT_RANKS] = 1;
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

static const struct metricsfile_step step = {42, "0+1 x", 3};

static int put(const char *folder, struct jp_error *err)
{
    return metricsfile_write(folder, &step, "a 1\n", 4, err);
}

static void test_file(void **state)
{
    char name[METRICSFILE_NAME_BYTES], wanted[64], *path, *text = NULL;
    struct jp_error err;
    struct stat st;

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

/* A link or a folder with the name stays as it is, and so does the link's
 * target. */
static void test_link(void **state)
{
    char name[METRICSFILE_NAME_BYTES], *path, *victim, *text = NULL;
    struct jp_error err;
    struct stat st;

    path = tempdir_path(*state, metricsfile_name(&step, name));
    victim = tempdir_file(*state, "victim", 0600, "mine");
    assert_int_equal(symlink(victim, path), 0);
    assert_int_equal(put(*state, &err), -1);
    metricsfile_remove(*state, &step);
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(fileio_read(victim, false, 99, &text, NULL, &err), 0);
    assert_string_equal(text, "mine");
    free(text);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(put(*state, &err), -1);
    rmdir(path);
    if (geteuid() == 0) { /* another user's file, even for root */
        free(tempdir_file(*state, name, 0600, "his"));
        assert_int_equal(chown(path, 65534, 65534), 0);
        assert_int_equal(put(*state, &err), -1);
        assert_non_null(strstr(err.text, "another user's"));
        metricsfile_remove(*state, &step);
        assert_int_equal(lstat(path, &st), 0);
    }
    free(path);
    free(victim);
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

/* Only stale files with our names are removed. */
static void test_clean(void **state)
{
    static const struct {
        const char *name;
        bool old, goes;
    } rows[] = {{"jobprof-1.0-n0-0.prom", true, true},
                {"jobprof-2.0-n0-0.prom", false, false},
                {".jobprof-3.0-n0-0.prom.77.tmp", true, true},
                {"node.prom", true, false},
                {"jobprof-notes.txt", true, false},
                {".jobprof-x.tmp", true, false}};
    const struct utimbuf old = {1, time(NULL) - METRICSFILE_STALE_S - 5};
    size_t n = 0;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *path = tempdir_file(*state, rows[i].name, 0644, "a 1\n");

        if (rows[i].old)
            assert_int_equal(utime(path, &old), 0);
        free(path);
    }
    assert_int_equal(metricsfile_clean(*state, 1, &n, NULL), 0);
    assert_int_equal(n, 2);
    assert_int_equal(metricsfile_clean(*state, 0, &n, NULL), 0);
    assert_int_equal(n, 2);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *path = tempdir_path(*state, rows[i].name);

        assert_int_equal(access(path, F_OK) != 0, rows[i].goes);
        free(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_openmetrics),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_long_label),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test_setup_teardown(test_file, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(test_link, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(test_folder, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_clean, tempdir_make, tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
