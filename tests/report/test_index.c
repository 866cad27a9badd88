/* test_index.c - the job's index contains every step, whichever process writes
 * it and when. */
#include "orchestrator/report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "common/fileio.h"
#include "orchestrator/feature/feature.h"
#include "tests/common/skip.h"

static char dir[] = "/tmp/jobprof-index-XXXXXX";

static int set_up(void **state)
{
    (void) state;
    memcpy(strrchr(dir, '-') + 1, "XXXXXX", 6);
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void) state;
    return fileio_remove_tree(dir, NULL);
}

/* Makes step-<id> with a summary. */
static void put_step(const char *id, const char *word, const char *text)
{
    char *step = text_format("%s/step-%s", dir, id);
    char *path = text_format("%s/summary.json", step);
    char *json =
        text_format("{\"schema_version\":1,\"verdict\":{\"word\":"
                    "\"%s\",\"text\":\"%s\"},\"job\":{\"id\":7,"
                    "\"name\":\"train\",\"nodes\":2,\"ntasks\":8},"
                    "\"quality\":{\"coverage\":0.5},\"cells\":["
                    "{\"comm_type\":\"mixed\",\"coll\":\"All<i>\","
                    "\"msg_size_bytes\":1024,\"ops\":3,\"busbw_gbs\":"
                    "{\"p50\":%zu},\"exec_us\":{\"mean\":5,\"n\":3}},"
                    "{\"comm_type\":null,\"busbw_gbs\":{\"p50\":1e300},"
                    "\"exec_us\":null}]}",
                    word, text, strlen(text));

    mkdir(step, 0700);
    if (fileio_write(path, json, strlen(json), NULL) < 0)
        abort();
    free(json);
    free(path);
    free(step);
}

/* Makes step-<id> with a summary that has something else in a member. */
static void put_damaged(const char *id)
{
    char *path = text_format("%s/step-%s/summary.json", dir, id);
    static const char json[] =
        "{\"schema_version\":1,\"verdict\":{\"word\":\"OK\",\"text\":\"x\"},"
        "\"cells\":[{\"ops\":1},7]}";

    put_step(id, "OK", "whole");
    if (fileio_write(path, json, strlen(json), NULL) < 0)
        abort();
    free(path);
}

static void index_now(void)
{
    struct jp_error err = {""};

    if (report_index(dir, &err) < 0)
        fail_msg("%s", err.text);
}

static json_t *read_job(void)
{
    char *path = text_format("%s/job.json", dir);
    json_t *root = json_load_file(path, 0, NULL);

    assert_non_null(root);
    free(path);
    return root;
}

static const char *part(const json_t *root, size_t step, const char *key)
{
    const json_t *entry = json_array_get(json_object_get(root, "steps"), step);
    const char *text = json_string_value(json_object_get(entry, key));

    return text ? text : "(none)";
}

static void test_steps(void **state)
{
    json_t *root;
    char *page = text_format("%s/index.html", dir), *text = NULL;

    (void) state;
    put_step("0", "OK", "first");
    put_step("10", "OK", "third");
    put_step("2", "INCOMPLETE", "<b>second</b>");
    put_step("3", "WHAT", "unknown word");
    index_now();
    root = read_job();
    assert_int_equal(json_array_size(json_object_get(root, "steps")), 4);
    assert_string_equal(part(root, 0, "id"), "0");
    assert_string_equal(part(root, 1, "id"), "2");
    assert_string_equal(part(root, 1, "verdict"), "INCOMPLETE");
    assert_string_equal(part(root, 1, "report"), "step-2/report.html");
    assert_string_equal(part(root, 2, "verdict"), "(none)");
    assert_non_null(strstr(part(root, 2, "text"), "no verdict"));
    assert_string_equal(part(root, 3, "id"), "10");
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(root, "job"), "id")),
        7);
    json_decref(root);
    assert_int_equal(fileio_read(page, false, 1 << 20, &text, NULL, NULL), 0);
    /* the worst step is the job's answer, and the first row */
    assert_non_null(strstr(text, "<div id=\"answer\" class=\"INCOMPLETE\">"));
    assert_non_null(strstr(text, "4 steps: 1 INCOMPLETE"));
    assert_true(strstr(strstr(text, "<tbody>"), "step-2/report.html") <
                strstr(strstr(text, "<tbody>"), "step-10/report.html"));
    assert_non_null(strstr(text, "href=\"step-10/report.html\""));
    assert_null(strstr(text, "<b>second"));
    free(text);
    free(page);
}

/* The trend has the kinds that several steps have, and compares the last step.
 */
static void test_trend(void **state)
{
    char *page = text_format("%s/index.html", dir), *text = NULL;
    json_t *root, *cells;

    (void) state;
    /* the length of the text is the bandwidth in GB/s */
    put_step("0", "OK", "12345678");
    index_now();
    assert_int_equal(fileio_read(page, false, 1 << 20, &text, NULL, NULL), 0);
    assert_null(strstr(text, "id=\"trend\"")); /* a single step has no trend */
    free(text);
    put_step("1", "SLOW", "1234");
    put_step("2", "OK", "12345678");
    put_step("3", "OK", "123456");
    index_now();
    root = read_job();
    cells = json_object_get(json_array_get(json_object_get(root, "steps"), 1),
                            "cells");
    assert_int_equal(json_array_size(cells), 2);
    assert_string_equal(json_string_value(json_object_get(
                            json_array_get(cells, 0), "comm_type")),
                        "mixed");
    assert_true(json_number_value(json_object_get(json_array_get(cells, 0),
                                                  "time_us")) == 15);
    json_decref(root);
    assert_int_equal(fileio_read(page, false, 1 << 20, &text, NULL, NULL), 0);
    assert_non_null(strstr(text, "id=\"trend\""));
    assert_non_null(strstr(text, "[\"step 1: SLOW\",\"SLOW\"]"));
    assert_non_null(strstr(text, "[\"step 1: 4.00 GB/s\",\"SLOW\",4]"));
    assert_non_null(strstr(text, "-14.3 %")); /* 6 against a median of 7 */
    assert_null(strstr(text, "All<i>"));
    free(text);
    free(page);
}

/* Makes step-<id> with samples of its GPUs, on two nodes. */
static void put_sampled(const char *id, double sm, const char *node,
                        const char *job)
{
    char *step = text_format("%s/step-%s", dir, id);
    char *path = text_format("%s/summary.json", step);
    char *json = text_format(
        "{\"schema_version\":1,\"verdict\":{\"word\":\"OK\",\"text\":\"\"},"
        "\"job\":{\"id\":7%s},\"util\":{\"series\":["
        "{\"scope\":\"gpu\",\"node\":null,\"metric\":\"sm\",\"max\":%g},"
        "{\"scope\":\"gpu\",\"node\":null,\"metric\":\"new\",\"max\":9},"
        "{\"scope\":\"step\",\"node\":null,\"metric\":\"memory\",\"max\":"
        "null},{\"scope\":null},"
        "{\"scope\":\"gpu\",\"node\":\"a\",\"metric\":\"sm\",\"max\":0.1},"
        "{\"scope\":\"gpu\",\"node\":\"%s\",\"metric\":\"sm\",\"max\":%g}]}}",
        job, sm, node, sm);

    mkdir(step, 0700);
    if (fileio_write(path, json, strlen(json), NULL) < 0)
        abort();
    free(json);
    free(path);
    free(step);
}

/* The job's maxima over its steps do not depend on when each step was read. */
static void test_util(void **state)
{
    char *page = text_format("%s/index.html", dir), *text = NULL;
    json_t *root, *row;
    const json_t *step;

    (void) state;
    if (!feature_sampler())
        skip_check("a build without samples");
    put_step("0", "OK", "not sampled");
    index_now();
    assert_int_equal(fileio_read(page, false, 1 << 20, &text, NULL, NULL), 0);
    assert_null(strstr(text, "id=\"util\""));
    free(text);
    put_sampled("1", 0.9, "n1",
                ",\"labels\":{\"model\":\"gpt<3\"},\"frameworks\":[{\"name\":"
                "\"torch\",\"version\":\"2.4.0\"},{\"name\":\"nccl\"},"
                "{\"name\":\"torch\",\"version\":\"2.5.1\"},{}]");
    put_sampled("2", 0.5, "n2", "");
    index_now();
    index_now(); /* taken from the earlier job.json */
    root = read_job();
    assert_int_equal(json_array_size(json_object_get(root, "util")), 1);
    row = json_array_get(json_object_get(root, "util"), 0);
    assert_string_equal(json_string_value(json_object_get(row, "metric")),
                        "sm");
    assert_string_equal(json_string_value(json_object_get(row, "unit")),
                        "share");
    assert_string_equal(json_string_value(json_object_get(row, "step")), "1");
    assert_string_equal(json_string_value(json_object_get(row, "node")), "n1");
    assert_true(json_number_value(json_object_get(row, "max")) == 0.9);
    step = json_array_get(json_object_get(root, "steps"), 1);
    assert_string_equal(json_string_value(json_object_get(
                            json_object_get(step, "frameworks"), "torch")),
                        "2.4.0, 2.5.1");
    assert_int_equal(json_object_size(json_object_get(step, "util")), 1);
    json_decref(root);
    assert_int_equal(fileio_read(page, false, 1 << 20, &text, NULL, NULL), 0);
    assert_non_null(strstr(text, "id=\"util\""));
    assert_non_null(strstr(text, ">90.0 %<"));
    assert_non_null(strstr(text, "model gpt&lt;3; torch 2.4.0, 2.5.1, nccl"));
    free(text);
    /* a job.json of a version without utilisation */
    root = read_job();
    for (size_t i = 0; i < 3; i++)
        json_object_del(json_array_get(json_object_get(root, "steps"), i),
                        "util");
    page[strlen(page) - strlen("index.html")] = '\0';
    text = text_format("%sjob.json", page);
    assert_int_equal(json_dump_file(root, text, 0), 0);
    json_decref(root);
    free(text);
    index_now();
    root = read_job();
    assert_int_equal(json_array_size(json_object_get(root, "util")), 1);
    json_decref(root);
    /* the summary has changed: a smaller maximum replaces the old one */
    put_sampled("1", 0.25, "n1", ",\"name\":\"a longer one\"");
    index_now();
    root = read_job();
    row = json_array_get(json_object_get(root, "util"), 0);
    assert_string_equal(json_string_value(json_object_get(row, "step")), "2");
    json_decref(root);
    free(page);
}

/* Only steps that have changed are read again. */
static void test_changes(void **state)
{
    json_t *root;

    (void) state;
    put_step("0", "OK", "old");
    put_step("1", "OK", "kept");
    index_now();
    put_step("0", "NODATA", "new and longer");
    index_now();
    root = read_job();
    assert_string_equal(part(root, 0, "text"), "new and longer");
    assert_string_equal(part(root, 1, "text"), "kept");
    json_decref(root);
}

/* Links, files, odd names and a broken job.json are ignored. */
static void test_foreign(void **state)
{
    static const char *const junk[] = {"job.json", "step-file"};
    char *link = text_format("%s/step-link", dir);
    json_t *root;

    (void) state;
    put_step("0", "OK", "fine");
    assert_int_equal(symlink("step-0", link), 0);
    free(link);
    put_step("a b<", "OK", "odd name");
    put_damaged("5");
    for (size_t i = 0; i < 2; i++) {
        char *path = text_format("%s/%s", dir, junk[i]);

        assert_int_equal(fileio_write(path, "{\"steps\":7", 10, NULL), 0);
        free(path);
    }
    index_now();
    root = read_job();
    assert_int_equal(json_array_size(json_object_get(root, "steps")), 2);
    assert_string_equal(part(root, 1, "verdict"), "(none)");
    assert_non_null(strstr(part(root, 1, "text"),
                           "step-5/summary.json: cells[1]: not an object"));
    json_decref(root);
    assert_int_equal(report_index("/nonexistent/x", NULL), -1);
}

/* Starts a process in which step i ends. */
static pid_t end_step(int i)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        const struct timespec nap = {0, (i * 7 % 5) * 1000000};
        char id[16];

        snprintf(id, sizeof(id), "%d", i);
        nanosleep(&nap, NULL);
        put_step(id, "OK", "fine");
        _exit(report_index(dir, NULL) == 0 ? 0 : 1);
    }
    return pid;
}

/* Many steps end at the same time, and none is missing in the index. */
static void test_concurrent(void **state)
{
    enum { ROUNDS = 5, STEPS = 24 };
    pid_t pids[ROUNDS * STEPS];

    (void) state;
    for (int round = 0; round < ROUNDS; round++) {
        int end = (round + 1) * STEPS;
        json_t *root;

        for (int i = round * STEPS; i < end; i++)
            pids[i] = end_step(i);
        for (int i = round * STEPS; i < end; i++) {
            int status = -1;

            waitpid(pids[i], &status, 0);
            assert_int_equal(status, 0);
        }
        root = read_job();
        assert_int_equal(json_array_size(json_object_get(root, "steps")), end);
        json_decref(root);
    }
}

/* Makes a job's folder below dir, as its last report leaves it. */
static void put_job(const char *name, const char *steps, const char *by)
{
    char *job = text_format("%s/%s", dir, name);
    char *path = text_format("%s/job.json", job);
    char *json = text_format("{\"schema_version\":1,\"generator\":{\"name\":"
                             "\"%s\"},\"job\":{\"id\":%s,\"name\":\"a<b\"},"
                             "\"steps\":[%s]}",
                             by, name + 1, steps);

    mkdir(job, 0700);
    if (fileio_write(path, json, strlen(json), NULL) < 0)
        abort();
    free(json);
    free(path);
    free(job);
}

/* The page over a folder of jobs has each job with its worst step, worst first.
 * It follows no links and ignores files of other programs. */
static void test_jobs(void **state)
{
    static const char *const rows[] = {
        ">HANG</b></td><td class=\"wrap\">It hangs.<", ">SLOW</b>",
        ">NODATA</b>", ">OK</b>"};
    struct report_jobs_done done = {0};
    struct jp_error err = {""};
    char *path = text_format("%s/" REPORT_JOBS_NAME, dir), *page = NULL;
    char *link = text_format("%s/j9", dir);
    const char *at;
    size_t len;

    (void) state;
    assert_false(report_jobs_is_folder(dir));
    assert_int_equal(report_jobs(dir, &done, &err), -1);
    assert_non_null(strstr(err.text, "no job"));
    put_job("j1", "{\"id\":\"0\",\"verdict\":\"OK\",\"text\":\"fine\"}",
            "jobprof");
    put_job("j2",
            "{\"id\":\"0\",\"verdict\":\"OK\",\"text\":\"x\"},{\"id\":\"1\","
            "\"verdict\":\"HANG\",\"text\":\"long\",\"plain\":\"It hangs.\"}",
            "jobprof");
    put_job("j3", "{\"id\":\"0\",\"verdict\":\"SLOW\",\"text\":\"<i>\"}",
            "jobprof");
    put_job("j4", "7", "jobprof");
    put_job("j5", "", "another program");
    assert_int_equal(symlink("j1", link), 0);
    assert_true(report_jobs_is_folder(dir));
    if (report_jobs(dir, &done, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(done.jobs, 4);
    assert_int_equal(done.worst, JP_VERDICT_HANG);
    assert_int_equal(fileio_read(path, false, 1 << 24, &page, &len, NULL), 0);
    at = strstr(page, "<tbody");
    for (size_t i = 0; at && i < sizeof(rows) / sizeof(*rows); i++)
        at = strstr(at, rows[i]);
    assert_non_null(at);
    assert_non_null(strstr(page, "href=\"j2/index.html\">2<"));
    assert_non_null(strstr(page, "4 jobs: 1 HANG, 1 SLOW, 1 NODATA, 1 OK."));
    assert_null(strstr(page, "<i>"));
    assert_null(strstr(page, "j9"));
    free(page);
    free(path);
    free(link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_steps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_trend, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_util, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_changes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_foreign, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_jobs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_concurrent, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
