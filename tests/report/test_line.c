/* test_line.c - the line and the card, which are read back from summary.json.
 */
#include "orchestrator/insight/plain.h"
#include "orchestrator/report/report.h"
#include "orchestrator/report/summary_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fileio.h"
#include "orchestrator/feature/feature.h"
#include "tests/common/skip.h"
#include "tests/report/fixture.h"

static struct fixture *f;
static char dir[] = "/tmp/jobprof-line-XXXXXX";

static int set_up(void **state)
{
    (void) state;
    memcpy(strrchr(dir, '-') + 1, "XXXXXX", 6);
    f = calloc(1, sizeof(*f));
    setenv("LC_ALL", "C", 1);
    return f && mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void) state;
    fixture_fini(f);
    free(f);
    return fileio_remove_tree(dir, NULL);
}

static int print(enum jp_summary how, char **text)
{
    struct jp_error err = {""};
    size_t len;
    FILE *out = open_memstream(text, &len);
    int rc;

    assert_non_null(out);
    rc = report_print_line(dir, how, false, out, &err);
    fclose(out);
    assert_true(rc == 0 || strstr(err.text, "summary.json"));
    return rc;
}

static void put_summary(const char *json)
{
    char *path = text_format("%s/summary.json", dir);

    assert_int_equal(fileio_write(path, json, strlen(json), NULL), 0);
    free(path);
}

static void test_line(void **state)
{
    char *text, expected[1024], plain[JP_PLAIN_TEXT];

    (void) state;
    fixture_good(f);
    assert_int_equal(report_write(&f->report, dir, NULL), 0);
    snprintf(expected, sizeof(expected),
             "jobprof: OK %s | report: "
             "%s/report.html\n",
             plain_verdict(f->report.verdict, f->report.result,
                           f->report.insight, plain),
             dir);
    assert_non_null(strstr(expected, "Nothing wrong was found"));
    assert_int_equal(print(JP_SUMMARY_LINE, &text), 0);
    assert_string_equal(text, expected);
    free(text);
    assert_int_equal(print(JP_SUMMARY_AUTO, &text), 0); /* not a terminal */
    assert_string_equal(text, expected);
    free(text);
    assert_int_equal(print(JP_SUMMARY_OFF, &text), 0);
    assert_string_equal(text, "");
    free(text);
}

static void check_card(void)
{
    char *text, *line, *rest;
    unsigned n = 0;

    assert_int_equal(report_write(&f->report, dir, NULL), 0);
    assert_int_equal(print(JP_SUMMARY_CARD, &text), 0);
    assert_null(strchr(text, '\033'));
    for (line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        if (strlen(line) > 100)
            fail_msg("%zu columns: %s", strlen(line), line);
        for (const unsigned char *c = (unsigned char *) line; *c; c++)
            assert_in_range(*c, 0x20, 0x7e);
        n++;
    }
    assert_in_range(n, 2, 12);
    free(text);
    fixture_fini(f);
}

static void test_card(void **state)
{
    (void) state;
    fixture_good(f);
    check_card();
    fixture_hostile(f);
    check_card();
    fixture_nodata(f);
    check_card();
    fixture_incomplete(f);
    check_card();
    fixture_slow(f);
    check_card();
}

/* The first finding made the verdict; the card adds two more findings and the
 * advice. */
static void test_card_findings(void **state)
{
    static const char summary[] =
        "{\"schema_version\":1,\"verdict\":{\"word\":\"SLOW\","
        "\"text\":\"one; and more\"},"
        "\"quality\":{\"records\":100,\"expected\":100,\"coverage\":1.0,"
        "\"expected_kind\":\"bound\",\"unseen_records\":50},"
        "\"findings\":[{\"text\":\"one\",\"next\":\"look there\"},"
        "{\"text\":\"two\",\"next\":\"n2\"},{\"text\":\"three\"},"
        "{\"text\":\"four\"}]}";
    char *text;

    (void) state;
    put_summary(summary);
    assert_int_equal(print(JP_SUMMARY_CARD, &text), 0);
    assert_non_null(strstr(text, "jobprof: SLOW one; and more\n"));
    assert_non_null(strstr(text, "  also     two\n  also     three\n"
                                 "  next     look there\n"));
    assert_null(strstr(text, "four"));
    assert_null(strstr(text, "n2"));
    assert_non_null(strstr(text, "100 % of those any rank recorded, 50 "
                                 "more by none (bound)"));
    free(text);
}

/* If a report has plain sentences, they come first. The card also has checks if
 * no finding has advice, and the command to type. */
static void test_plain(void **state)
{
    static const char nothing[] =
        "{\"schema_version\":1,\"verdict\":{\"word\":\"NODATA\",\"text\":"
        "\"no profiler output\",\"plain\":\"" JP_PLAIN_NOTHING
        "\",\"command\":\"jobprof doctor\",\"checks\":[\"One?\",\"Two?\"]}}";
    static const char slow[] =
        "{\"schema_version\":1,\"verdict\":{\"word\":\"SLOW\",\"text\":"
        "\"rank 3 of tp arrived late; cost\",\"plain\":\"Rank 3 holds up the "
        "job.\",\"command\":\"jobprof show 7.0\",\"checks\":[]},\"findings\":["
        "{\"text\":\"rank 3 of tp arrived late\",\"plain\":\"Rank 3 holds up "
        "the job.\"},{\"text\":\"b\",\"plain\":\"Rank 4 stops.\"}]}";
    char *text;

    (void) state;
    put_summary(nothing);
    assert_int_equal(print(JP_SUMMARY_LINE, &text), 0);
    assert_non_null(strstr(text, "NODATA Nothing was recorded. Likely reasons: "
                                 "(1) "));
    free(text);
    assert_int_equal(print(JP_SUMMARY_CARD, &text), 0);
    assert_non_null(strstr(text, "\n  check    One?\n           Two?\n"
                                 "  type     jobprof doctor\n"));
    assert_null(strstr(text, "Likely reasons"));
    free(text);
    put_summary(slow);
    assert_int_equal(print(JP_SUMMARY_LINE, &text), 0);
    assert_non_null(strstr(text, "jobprof: SLOW Rank 3 holds up the job. |"));
    free(text);
    assert_int_equal(print(JP_SUMMARY_CARD, &text), 0);
    assert_non_null(strstr(text, "jobprof: SLOW Rank 3 holds up the job.\n  "
                                 "also     Rank 4 stops.\n  type     jobprof "
                                 "show 7.0\n"));
    free(text);
}

/* Lines are cut between clauses and never within a word. The words of the table
 * of limits are those of the program. */
static void test_clauses(void **state)
{
    static const char json[] =
        "{\"schema_version\":1,\"verdict\":{\"word\":\"SLOW\",\"text\":\"x\"},"
        "\"util\":{\"text\":\"GPUs 90 % busy; CPU 0.297 of 8 cores; GPU memory "
        "37.3 GiB of 80.0 GiB at most; memory 74.1 GiB\"},\"iteration\":{\"text"
        "\":\"a step of 14 operations takes 25.2 ms (39 a s, fast), "
        "17.7 % longer at the end\"},\"bottlenecks\":[{\"kind\":\"gpu_bound\","
        "\"text\":\"busy\"},{\"kind\":\"of_tomorrow\",\"text\":\"busy\"}]}";
    char *text;

    (void) state;
    if (!feature_sampler())
        skip_check("a build without samples");
    put_summary(json);
    assert_int_equal(print(JP_SUMMARY_CARD, &text), 0);
    assert_non_null(strstr(text, "\n  used     GPUs 90 % busy; CPU 0.297 of 8 "
                                 "cores; GPU memory 37.3 GiB of 80.0 GiB at "
                                 "most\n"));
    assert_non_null(strstr(text, "\n  pace     bound by GPU and of_tomorrow; a "
                                 "step of 14 operations takes 25.2 ms (39 a s, "
                                 "fast)\n"));
    free(text);
}

/* Returns the card of json at 80 columns; the caller frees it. */
static char *narrow_card(const char *json)
{
    struct summary_file summary;
    struct jp_error err = {""};
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    if (summary_file_take(json_loads(json, 0, NULL), "s", &summary, &err) < 0)
        fail_msg("%s", err.text);
    card_print(&summary, "d", false, false, 80, out);
    assert_int_equal(fclose(out), 0);
    summary_file_fini(&summary);
    return text;
}

#define LONG                                                                   \
    "word word word word word word word word word word word word word word "   \
    "word word word word word word word word word word end"
#define CELL                                                                   \
    "{\"comm_type\":\"mixed\",\"coll\":\"c\",\"msg_size_bytes\":1,\"ops\":1}"

/* If there is room, the advice is complete. There are never more than 12 lines,
 * and the line on ranks and nodes always stays. */
static void test_card_room(void **state)
{
    static const char quality[] =
        "\"quality\":{\"records\":123456789,\"coverage\":1.0,\"expected\":"
        "123456789,\"unseen_records\":5,\"ranks_seen\":1023,"
        "\"ranks_expected\":1024,\"nodes_seen\":127,\"nodes_expected\":128}";
    char *json, *card;
    unsigned lines = 0;

    (void) state;
    json = text_format("{\"schema_version\":1,"
                       "\"verdict\":{\"word\":\"SLOW\",\"text\":\"x\"},"
                       "%s,\"cells\":[" CELL "],\"findings\":[{\"text\":"
                       "\"x\",\"next\":\"" LONG "\"}]}",
                       quality);
    card = narrow_card(json);
    assert_non_null(strstr(card, " end\n"));
    assert_non_null(strstr(card, "  data     ranks 1,023/1,024   "
                                 "nodes 127/128   123,456,789 records"));
    assert_non_null(strstr(card, "\n  mixed "));
    free(card);
    free(json);
    json = text_format(
        "{\"schema_version\":1,\"verdict\":{\"word\":\"SLOW\",\"text\":\"" LONG
            LONG LONG "\"},"
        "%s,\"warmup\":{\"ops\":9,\"times\":2},\"cells\":[" CELL "," CELL
        "],\"findings\":[{\"text\":\"a\",\"next\":\"" LONG "\"},"
        "{\"text\":\"b\"},{\"text\":\"c\"}],\"copper\":{\"totals\":"
        "{\"total_counted_fuse_operations\":1}}}",
        quality);
    card = narrow_card(json);
    for (const char *c = card; *c; c++)
        lines += *c == '\n';
    assert_in_range(lines, 9, 12);
    assert_int_equal(strstr(card, "\n  copper ") != NULL,
                     feature_named("copper") != NULL);
    assert_non_null(strstr(card, "\n  report   d/report.html\n"));
    free(card);
    free(json);
}

/* The recorder's cost and the warm-up share a line, if they are known. */
static void test_note(void **state)
{
    static const struct {
        const char *overhead, *warmup, *expected;
    } rows[] = {
        {"null", "null", NULL},
        {"null", "{\"ops\":0,\"times\":1}", NULL},
        {"{\"share\":0.00071}", "{\"ops\":0,\"times\":1}",
         "\n  note     recorder: 0.071 % of the time\n"},
        {"null", "{\"ops\":1200,\"times\":8.31}",
         "\n  note     warm-up: first 1,200 operations, 8.3 x the time, left "
         "out\n"},
        {"{\"share\":1.3}", "null",
         "\n  note     recorder: 130 % of the time\n"},
        {"{\"share\":0.02}", "{\"ops\":1,\"times\":2}",
         "\n  note     recorder: 2 % of the time; warm-up: first 1 operation, "
         "2.0 x the time, left out\n"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *json = text_format(
            "{\"schema_version\":1,\"verdict\":{\"word\":\"OK\",\"text\":\"x\"}"
            ",\"quality\":{\"records\":1,\"overhead\":%s},\"warmup\":%s}",
            rows[i].overhead, rows[i].warmup);
        char *text;

        put_summary(json);
        assert_int_equal(print(JP_SUMMARY_CARD, &text), 0);
        if (rows[i].expected)
            assert_non_null(strstr(text, rows[i].expected));
        else
            assert_null(strstr(text, "note "));
        free(text);
        free(json);
    }
}

static void test_locale(void **state)
{
    static const char summary[] =
        "{\"schema_version\":1,\"verdict\":{\"word\":\"OK\","
        "\"text\":\"caf\\u00e9 \\u001b[31m\\u202e\"}}";
    char *text;

    (void) state;
    put_summary(summary);
    assert_int_equal(print(JP_SUMMARY_LINE, &text), 0);
    assert_non_null(strstr(text, "OK caf? ?[31m? |"));
    free(text);
    setenv("LC_ALL", "en_GB.UTF-8", 1);
    assert_int_equal(print(JP_SUMMARY_LINE, &text), 0);
    assert_non_null(strstr(text, "OK caf\xc3\xa9 ?[31m? |"));
    free(text);
}

/* Foreign files give an error, print nothing and do not crash. */
static void test_bad(void **state)
{
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "null",
        "{}",
        "{\"schema_version\":2}",
        "{\"schema_version\":1}",
        "{\"schema_version\":\"1\"}",
        "{\"schema_version\":1,\"verdict\":[]}",
        "{\"schema_version\":1,\"verdict\":{\"word\":\"FINE\",\"text\":\"\"}}",
        "{\"schema_version\":1,\"verdict\":{\"word\":\"OK\",\"text\":1}}",
        "{\"schema_version\":1,\"verdict\":{\"word\":\"OK\",\"text\":\"\xff\"}"
        "}",
        "{\"schema_version\":1,\"verdict\":{\"word\":\"OK\",\"text\":\"\"},"
        "\"quality\":7,\"cells\":{},\"ranks\":[[],1,null]}",
        "{\"schema_version\":1,\"verdict\":{\"word\":\"OK\",\"text\":\"\"},"
        "\"quality\":{\"records\":-1},\"cells\":[1,{},{\"coll\":7}],"
        "\"ranks\":[{\"caused_us\":1e99},{\"caused_us\":5}]}",
    };
    char *text;

    (void) state;
    assert_int_equal(print(JP_SUMMARY_LINE, &text), -1); /* no file */
    free(text);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        put_summary(bad[i]);
        assert_int_equal(print(JP_SUMMARY_CARD, &text), -1);
        assert_string_equal(text, "");
        free(text);
    }
}

static void test_fifo(void **state)
{
    char *path = text_format("%s/summary.json", dir), *text;

    (void) state;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(print(JP_SUMMARY_LINE, &text), -1);
    free(text);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_card, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_card_findings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_plain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_clauses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_card_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_note, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_locale, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fifo, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
