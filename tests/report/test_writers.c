/* test_writers.c - each file of a report, from good and hostile data. */
#include "orchestrator/report/report.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "common/child.h"
#include "common/fileio.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/summary_file.h"
#include "orchestrator/report/table.h"
#include "tests/report/fixture.h"

static struct fixture *f;
static char dir[] = "/tmp/jobprof-writers-XXXXXX";

static int set_up(void **state)
{
    (void) state;
    memcpy(strrchr(dir, '-') + 1, "XXXXXX", 6);
    f = calloc(1, sizeof(*f));
    return f && mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void) state;
    fixture_fini(f);
    free(f);
    return fileio_remove_tree(dir, NULL);
}

typedef int writer(const struct jp_report *, FILE *, struct jp_error *);

/* Returns what a writer writes; the caller frees it. */
static char *text_of(writer *write)
{
    struct jp_error err = {""};
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    if (write(&f->report, out, &err) < 0)
        fail_msg("%s", err.text);
    fclose(out);
    assert_int_equal(strlen(text), len);
    return text;
}

/* The report's JSON must equal what jansson alone would write. */
static json_t *json_of_report(void)
{
    char *text = text_of(report_write_json), *again;
    json_error_t why;
    json_t *root = json_loads(text, 0, &why);

    if (!root)
        fail_msg("line %d: %s", why.line, why.text);
    again = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    assert_non_null(again);
    assert_int_equal(strlen(text), strlen(again) + 1);
    assert_memory_equal(text, again, strlen(again));
    free(again);
    free(text);
    return root;
}

static const json_t *at(const json_t *root, const char *table, size_t row,
                        const char *key)
{
    return json_object_get(json_array_get(json_object_get(root, table), row),
                           key);
}

static void test_json(void **state)
{
    json_t *root;
    const char *first;

    (void) state;
    fixture_good(f);
    root = json_of_report();
    first = json_object_iter_key(json_object_iter(root));
    assert_string_equal(first, "schema_version");
    assert_int_equal(json_array_size(json_object_get(root, "comms")), 13);
    assert_int_equal(json_array_size(json_object_get(root, "ranks")), 96);
    assert_int_equal(json_array_size(json_object_get(root, "cells")), 26);
    assert_int_equal(json_integer_value(at(root, "comms", 0, "n_ranks")), 8);
    assert_true(json_number_value(json_object_get(
                    json_object_get(root, "quality"), "coverage")) == 1);
    assert_true(json_is_null(at(root, "cells", 24, "net_busbw_gbs")));
    json_decref(root);
}

static void test_json_hostile(void **state)
{
    json_t *root;

    (void) state;
    fixture_hostile(f);
    root = json_of_report();
    assert_true(json_is_null(
        json_object_get(at(root, "cells", 0, "busbw_gbs"), "p50")));
    assert_true(
        json_is_real(json_object_get(at(root, "cells", 2, "busbw_gbs"), "p5")));
    assert_true(json_is_null(at(root, "cells", 0, "time_weighted_gbs")));
    assert_true(json_integer_value(at(root, "cells", 1, "msg_size_bytes")) ==
                INT64_MAX);
    assert_true(json_string_length(at(root, "comms", 1, "name")) < 4096);
    json_decref(root);
}

static void test_json_unanalysed(void **state)
{
    json_t *root;
    const json_t *quality;

    (void) state;
    fixture_nodata(f);
    root = json_of_report();
    quality = json_object_get(root, "quality");
    assert_true(json_is_null(json_object_get(quality, "records")));
    assert_true(json_is_null(json_object_get(quality, "coverage")));
    assert_int_equal(json_array_size(json_object_get(root, "comms")), 0);
    json_decref(root);
}

static void test_json_bounded(void **state)
{
    json_t *root;
    const json_t *left;

    (void) state;
    fixture_many(f, 12000);
    root = json_of_report();
    left = json_object_get(root, "left_out");
    assert_int_equal(json_array_size(json_object_get(root, "ranks")), 10000);
    assert_int_equal(json_integer_value(json_object_get(left, "ranks")), 2096);
    assert_int_equal(json_integer_value(json_object_get(left, "pairs")), 14000);
    json_decref(root);
}

/* Returns true if row a comes before row b: by weight, then by index. */
static bool before(const struct jp_rank *ranks, size_t a, size_t b)
{
    return ranks[a].caused_us != ranks[b].caused_us
               ? ranks[a].caused_us > ranks[b].caused_us
               : a < b;
}

static double caused(const struct jp_result *result, size_t row)
{
    return (double) result->ranks[row].caused_us;
}

static void check_rows(const struct jp_result *r, size_t max, bool by_weight)
{
    struct jp_rows rows;
    size_t n = r->n_ranks < max ? r->n_ranks : max;

    assert_int_equal(rows_pick(r, r->n_ranks, max, caused, by_weight, &rows),
                     0);
    assert_int_equal(rows.n, n);
    assert_int_equal(rows.left_out, r->n_ranks - n);
    for (size_t i = 0; i < n; i++) {
        size_t heavier = 0;

        for (size_t k = 0; k < r->n_ranks; k++)
            heavier += before(r->ranks, k, rows.index[i]);
        assert_true(heavier < n);
        if (by_weight)
            assert_int_equal(heavier, i);
        else if (i)
            assert_true(rows.index[i - 1] < rows.index[i]);
    }
    rows_fini(&rows);
}

static void test_rows(void **state)
{
    static const size_t most[] = {0, 1, 2, 7, 100, 299, 300, 1000};
    struct jp_rank ranks[300] = {{0}};
    const struct jp_result r = {.ranks = ranks, .n_ranks = 300};

    (void) state;
    for (unsigned i = 0; i < 300; i++) /* each weight occurs several times */
        ranks[i].caused_us = i * 7919 % 97;
    for (size_t i = 0; i < sizeof(most) / sizeof(*most); i++) {
        check_rows(&r, most[i], true);
        check_rows(&r, most[i], false);
    }
    check_rows(&(struct jp_result){0}, 10, true);
}

static void check_text(void)
{
    char *text = text_of(report_write_text), *line, *rest;
    const char *word = verdict_word_name(f->verdict.word);

    assert_int_equal(strncmp(text, word, strlen(word)), 0);
    for (line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        if (strlen(line) > 100)
            fail_msg("%zu columns: %s", strlen(line), line);
        for (const unsigned char *c = (unsigned char *) line; *c; c++)
            assert_in_range(*c, 0x20, 0x7e);
    }
    free(text);
    fixture_fini(f);
}

static void test_text(void **state)
{
    (void) state;
    fixture_good(f);
    check_text();
    fixture_hostile(f);
    check_text();
    fixture_nodata(f);
    check_text();
    fixture_incomplete(f);
    check_text();
    fixture_many(f, 500);
    check_text();
}

static void test_html(void **state)
{
    char *text, *charts;

    (void) state;
    fixture_hostile(f);
    text = text_of(report_write_html);
    /* a limit's value stands in its place, or at the end */
    assert_non_null(
        strstr(text, "<li>INCOMPLETE where more than 1.0 % of the lines"));
    assert_non_null(strstr(text, "time grew by more than 10.0 %"));
    assert_null(strstr(text, "than {}"));
    assert_null(strstr(text, "least {}"));
    assert_null(strstr(text, "<script>alert"));
    assert_null(strstr(text, "<b>"));
    charts = strstr(text, "id=\"chart-data\"");
    if (charts) /* after it, libraries name their licences and namespaces */
        *charts = '\0';
    assert_null(strstr(text, "http://"));
    assert_null(strstr(text, "https://"));
    assert_non_null(strstr(text, "&lt;script&gt;alert(1)&lt;/script&gt;"));
    free(text);
    fixture_fini(f);
    fixture_many(f, 5000);
    text = text_of(report_write_html);
    assert_true(strlen(text) < 500000 + strlen(html_assets_charts));
    assert_non_null(strstr(text, "more rows in <a href=\"csv/ranks.csv\""));
    free(text);
}

/* Returns a file of the report as text; the caller frees it. */
static char *file_of(const char *name)
{
    char *path = text_format("%s/%s", dir, name), *text = NULL;
    struct jp_error err;

    assert_non_null(path);
    if (fileio_read(path, false, 64 << 20, &text, NULL, &err) < 0)
        fail_msg("%s", err.text);
    free(path);
    return text;
}

static int *n_synced; /* shared with the child that counts the calls of fsync */

int fsync(int fd)
{
    (void) fd;
    if (n_synced)
        __atomic_fetch_add(n_synced, 1, __ATOMIC_RELAXED);
    return 0;
}

static void write_all(void)
{
    struct jp_error err = {""};

    n_synced = child_alloc(sizeof(*n_synced));
    assert_non_null(n_synced);
    if (report_write(&f->report, dir, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(*n_synced, 2); /* summary.json and its folder */
    child_free(n_synced, sizeof(*n_synced));
    n_synced = NULL;
}

static size_t count_lines(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void test_csv(void **state)
{
    static const char cells_start[] =
        "comm_type,coll,msg_size_bytes,ops,records,mean,p50,p95,p99,min,max,";
    static const struct {
        const char *name;
        size_t lines;
    } sheets[] = {
        {"csv/cells.csv", 27},    {"csv/comms.csv", 14},
        {"csv/ranks.csv", 97},    {"csv/ops.csv", 5601},
        {"csv/p2p.csv", 65},      {"csv/windows.csv", 361},
        {"csv/p2p_nodes.csv", 9},
    };
    char *text;

    (void) state;
    fixture_good(f);
    write_all();
    for (size_t i = 0; i < sizeof(sheets) / sizeof(*sheets); i++) {
        text = file_of(sheets[i].name);
        assert_int_equal(count_lines(text), sheets[i].lines);
        free(text);
    }
    text = file_of("csv/cells.csv");
    assert_int_equal(strncmp(text, cells_start, strlen(cells_start)), 0);
    assert_non_null(
        strstr(text, ",net_max,p5,exec_p5_us,net_p5,percentiles\n"));
    free(text);
    text = file_of("csv/ops.csv");
    assert_non_null(strstr(text, ",38.000001,37,39,"));
    free(text);
    text = file_of("csv/p2p_nodes.csv"); /* unknown is an empty field */
    assert_non_null(strstr(text, ",,Recv,8,6400,6710886400,576000,\n"));
    assert_non_null(strstr(text, ",Send,8,6400,6710886403,576000,23.5\n"));
    free(text);
    text = file_of("summary.txt");
    assert_non_null(strstr(text, "\nSend and Recv between hosts, most data "));
    free(text);
    text = file_of("csv/quality.csv");
    assert_non_null(strstr(text, "\ncoverage,1,counted\n"));
    free(text);
}

static void test_csv_hostile(void **state)
{
    char *text;

    (void) state;
    fixture_hostile(f);
    write_all();
    text = file_of("csv/comms.csv");
    assert_int_equal(count_lines(text), 14); /* no name adds a line */
    assert_non_null(strstr(text, ",\"'=x\"\"'<script>"));
    free(text);
    text = file_of("plots/busbw.gp");
    assert_null(strchr(text, '`'));
    free(text);
    text = file_of("plots/waits.tsv");
    assert_null(strchr(text, '`'));
    free(text);
}

/* Without a result, every table still has its header, so readers need no
 * special case. */
static void test_empty(void **state)
{
    char *text;

    (void) state;
    fixture_nodata(f);
    write_all();
    text = file_of("csv/ops.csv");
    assert_int_equal(count_lines(text), 1);
    free(text);
    text = file_of("plots/windows.gp");
    assert_non_null(strstr(text, "no operation"));
    free(text);
}

static size_t count_temporaries(const char *path)
{
    DIR *d = opendir(path);
    struct dirent *entry;
    size_t n = 0;

    assert_non_null(d);
    while ((entry = readdir(d)))
        n += strstr(entry->d_name, ".tmp") != NULL;
    closedir(d);
    return n;
}

/* Writes a report with a limit on the size of files. Exit status 1: it failed;
 * 2: it failed without naming a file. */
static int write_limited(rlim_t bytes)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        const struct rlimit limit = {bytes, bytes};
        struct jp_error err = {""};

        signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
            _exit(3);
        if (report_write(&f->report, dir, &err) == 0)
            _exit(0);
        _exit(strstr(err.text, dir) ? 1 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* With a full disk, the error names the file, and the earlier report stays. */
static void test_full(void **state)
{
    static const rlim_t limits[] = {0, 500, 5000, 100000, 150000};
    static char *csv, *before; /* static, so that a child process still has them
                                  when it ends */
    char *after;

    (void) state;
    csv = text_format("%s/csv", dir);
    fixture_good(f);
    write_all();
    before = file_of("summary.json");
    for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
        assert_int_equal(write_limited(limits[i]), 1);
        assert_int_equal(count_temporaries(dir), 0);
        assert_int_equal(count_temporaries(csv), 0);
        after = file_of("summary.json");
        assert_string_equal(before, after);
        free(after);
    }
    free(before);
    free(csv);
}

static void test_modes(void **state)
{
    struct stat st;
    char *path = text_format("%s/csv/cells.csv", dir);

    (void) state;
    fixture_good(f);
    write_all();
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_json_hostile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_json_unanalysed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_json_bounded, set_up, tear_down),
        cmocka_unit_test(test_rows),
        cmocka_unit_test_setup_teardown(test_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_html, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_csv, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_csv_hostile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_empty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_modes, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
