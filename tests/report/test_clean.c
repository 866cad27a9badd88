/* test_clean.c - foreign text and odd numbers are harmless in every output. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/figure.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/report.h"
#include "orchestrator/report/gnuplot.h"

static const struct {
    const char *in, *utf8, *ascii;
} clean_rows[] = {
    {NULL, "", ""},
    {"", "", ""},
    {"plain", "plain", "plain"},
    {"a\nb\tc\x1b[0m\x7f", "a?b?c?[0m?", "a?b?c?[0m?"},
    {"\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9", "?t?"},
    {"\xff\xfe", "??", "??"},
    {"\xc0\xaf", "??", "??"},                /* overlong */
    {"\xed\xa0\x80", "???", "???"},          /* surrogate */
    {"\xf4\x90\x80\x80", "????", "????"},    /* beyond the last character */
    {"\xe2\x82", "??", "??"},                /* cut */
    {"\xc2\x85\xe2\x80\xa8x", "??x", "??x"}, /* NEL, line separator */
    {"\xe2\x80\xae"
     "abc\xe2\x81\xa6",
     "?abc?", "?abc?"}, /* turns text */
    {"0123456789abcdef", "0123456789a...", "0123456789a..."},
    {"0123456789a\xc3\xa9"
     "def",
     "0123456789a...", "0123456789a..."},
    {"0123456789abcd", "0123456789abcd", "0123456789abcd"},
};

static void test_clean(void **state)
{
    char buf[15];

    (void) state;
    for (size_t i = 0; i < sizeof(clean_rows) / sizeof(*clean_rows); i++) {
        assert_string_equal(
            clean_text(clean_rows[i].in, JP_CLEAN_UTF8, buf, sizeof(buf)),
            clean_rows[i].utf8);
        assert_string_equal(
            clean_text(clean_rows[i].in, JP_CLEAN_ASCII, buf, sizeof(buf)),
            clean_rows[i].ascii);
    }
}

static void test_figures(void **state)
{
    static const struct {
        double value;
        const char *gbs, *us, *share;
    } rows[] = {
        {0, "0", "0 us", "0 %"},
        {NAN, "-", "-", "-"},
        {INFINITY, "-", "-", "-"},
        {0.9999, "1.00", "1.00 us", "99.9 %"},
        {0.00001, "1e-05", "1e-05 us", "<0.1 %"},
        {1, "1.00", "1.00 us", "100 %"},
        {38.25, "38.2", "38.2 us", "3825.0 %"},
        {361.4, "361", "361 us", "36140.0 %"},
        {11200, "11200", "11.2 ms", "1120000.0 %"},
        {3.05e6, "3050000", "3.05 s", "305000000.0 %"},
    };
    char buf[JP_FIGURE_LEN];

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_string_equal(figure_gbs(rows[i].value, buf), rows[i].gbs);
        assert_string_equal(figure_us(rows[i].value, buf), rows[i].us);
        assert_string_equal(figure_share(rows[i].value, buf), rows[i].share);
    }
    assert_string_equal(figure_count(0, buf), "0");
    assert_string_equal(figure_count(999, buf), "999");
    assert_string_equal(figure_count(UINT64_MAX, buf),
                        "18,446,744,073,709,551,615");
    assert_string_equal(figure_utc(0, buf), "-");
    assert_string_equal(figure_utc(1795251741000000, buf),
                        "2026-11-21 09:02:21 UTC");
    assert_string_not_equal(figure_utc(UINT64_MAX, buf), "");
    assert_string_equal(figure_real(38.25, buf), "38.2");
    assert_string_equal(figure_real(8, buf), "8");
    assert_string_equal(figure_real(999.4, buf), "999");
    assert_string_equal(figure_real(4878.04, buf), "4,878");
    assert_string_equal(figure_real(-1234.4, buf), "-1,234");
    assert_string_equal(figure_real(NAN, buf), "-");
    figure_real(-1e300, buf);
    figure_us(1e300, buf);
    figure_gbs(-1e300, buf);
}

/* The fast path for a mean prints the same as printf. */
static void test_means(void **state)
{
    char got[JP_FIGURE_LEN], want[JP_FIGURE_LEN];

    (void) state;
    for (uint64_t i = 1, sum = 7; i < 200000; i++) {
        double value;
        int digits = 15;

        sum = sum * UINT64_C(6364136223846793005) + 1442695040888963407u;
        value = (double) (sum >> (24 + i % 32)) / (double) (1 + i % 130) /
                (i % 2 ? 1e6 : 1);
        if (value == (double) (int64_t) value || value >= 1e15)
            continue;
        do
            snprintf(want, sizeof(want), "%.*g", digits, value);
        while (strtod(want, NULL) != value && ++digits <= 17);
        assert_string_equal(figure_exact(value, got), want);
    }
}

static void test_exact(void **state)
{
    static const double values[] = {
        0.1, 1.0 / 3, 38.000001, 1e-300, 1e300, 123456789.123456789, -0.5};
    char buf[JP_FIGURE_LEN];

    (void) state;
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
        assert_true(strtod(figure_exact(values[i], buf), NULL) == values[i]);
    assert_string_equal(figure_exact(0.1, buf), "0.1");
    assert_string_equal(figure_exact(NAN, buf), "");
}

/* Calls a writer with a memory stream. Returns its text, which the caller
 * frees. */
static char *written(void (*write)(FILE *, const char *), const char *text)
{
    char *buf = NULL;
    size_t len;
    FILE *out = open_memstream(&buf, &len);

    assert_non_null(out);
    write(out, text);
    fclose(out);
    return buf;
}

static void write_csv(FILE *out, const char *text)
{
    struct jp_csv csv = {.out = out};

    csv_out_text(&csv, text);
    csv_out_real(&csv, NAN);
    csv_out_text(&csv, "x");
    csv_out_micro(&csv, 37000000);
    csv_out_micro(&csv, 1050);
    csv_out_end(&csv);
    csv_out_flush(&csv);
}

static void test_csv(void **state)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"plain", "plain,,x,37,0.00105\n"},
        {"nvlink-only", "nvlink-only,,x,37,0.00105\n"},
        {"", ",,x,37,0.00105\n"},
        {"a,b", "\"a,b\",,x,37,0.00105\n"},
        {"say \"hi\"", "\"say \"\"hi\"\"\",,x,37,0.00105\n"},
        {"=1+1", "\"'=1+1\",,x,37,0.00105\n"},
        {"@x", "\"'@x\",,x,37,0.00105\n"},
        {"-x", "\"'-x\",,x,37,0.00105\n"},
        {"\t=1", "?=1,,x,37,0.00105\n"},
        {"two\r\nlines", "two??lines,,x,37,0.00105\n"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *text = written(write_csv, rows[i].in);

        assert_string_equal(text, rows[i].out);
        free(text);
    }
}

static void test_html(void **state)
{
    char *text = written(html_out_text, "<a href=\"x\" title='y'>&\x01\xff");

    (void) state;
    assert_string_equal(text, "&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;"
                              "&amp;??");
    free(text);
}

static void write_wrapped(FILE *out, const char *text)
{
    text_out_wrap(out, 10, 4, text);
}

static void test_wrap(void **state)
{
    char long_word[500];
    char *text, *line, *rest;

    (void) state;
    memset(long_word, 'x', sizeof(long_word) - 1);
    long_word[sizeof(long_word) - 1] = '\0';
    memcpy(long_word + 200, " and \n", 6);
    text = written(write_wrapped, long_word);
    for (line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest))
        assert_true(strlen(line) <= JP_TEXT_COLUMNS);
    free(text);
}

static void write_fit(FILE *out, const char *text)
{
    text_out_fit(out, 40, "  also %s", text);
}

static void assert_fit(const char *text, const char *line)
{
    char *is = written(write_fit, text);

    assert_string_equal(is, line);
    free(is);
}

/* A line that is too long ends after a clause, or else after a word. */
static void test_fit(void **state)
{
    (void) state;
    assert_fit("33 bytes have just the room of it",
               "  also 33 bytes have just the room of it\n");
    assert_fit("rank 0 stops: 13 times, for about 3 ms each",
               "  also rank 0 stops: 13 times, ...\n");
    assert_fit("one; two and three and four and five and",
               "  also one; two and three and four ...\n");
    assert_fit("/a/path/that/has/no/blank/and/is/too/long",
               "  also /a/path/that/has/no/blank/and/...\n");
}

static void test_plot_names(void **state)
{
    char buf[12];

    (void) state;
    assert_string_equal(plot_script_name("`id`'\"\\$", buf, sizeof(buf)),
                        "_id_____");
    assert_string_equal(plot_script_name("AllReduce-2.x:0", buf, sizeof(buf)),
                        "AllReduce-2");
}

/* Returns ops.csv of a result, written by that many threads; the caller frees
 * it. */
static char *write_ops(const struct jp_result *result, unsigned threads)
{
    char *text = NULL;
    size_t size = 0;
    struct jp_csv csv = {.out = open_memstream(&text, &size)};

    assert_non_null(csv.out);
    csv_ops_write(&csv, result, threads);
    csv_out_flush(&csv);
    fclose(csv.out);
    return text;
}

#define ROWS 70000 /* more than one chunk */

/* The rows are in order, whatever the number of threads. */
static void test_ops_rows(void **state)
{
    static char coll[] = "AllReduce", *colls[] = {coll}, name[] = "dp";
    struct jp_comm comms[] = {{.id = "0x1", .name = name, .n_ranks = 8},
                              {.id = "0x2", .name = name, .n_ranks = 8}};
    struct jp_result result = {.comms = comms,
                               .n_comms = 2,
                               .coll_names = colls,
                               .n_coll_names = 1,
                               .ops = ops_create(),
                               .n_ops = ROWS};
    char *one, *at;

    (void) state;
    assert_non_null(result.ops);
    for (unsigned i = 0; i < ROWS; i++) {
        const struct jp_op op = {.comm = i >= ROWS / 3,
                                 .sn = i,
                                 .bytes = 4096,
                                 .n = 8,
                                 .n_exec = 8,
                                 .exec_min_us = i % 977,
                                 .exec_sum_us = UINT64_C(8) * (i % 977)};

        assert_int_equal(ops_add(result.ops, &op), 0);
    }
    assert_int_equal(ops_end(result.ops), 0);
    one = at = write_ops(&result, 1);
    for (unsigned i = 0; i < ROWS; i++) {
        char row[80];
        size_t n = (size_t) snprintf(row, sizeof(row),
                                     "0x%d,dp,AllReduce,%u,4096,8,8,",
                                     1 + (i >= ROWS / 3), i);

        assert_true(at && !strncmp(at, row, n));
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    assert_string_equal(at, "");
    for (unsigned threads = 2; threads < 6; threads++) {
        char *more = write_ops(&result, threads);

        assert_string_equal(more, one);
        free(more);
    }
    free(one);
    ops_destroy(result.ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),    cmocka_unit_test(test_figures),
        cmocka_unit_test(test_exact),    cmocka_unit_test(test_means),
        cmocka_unit_test(test_ops_rows), cmocka_unit_test(test_csv),
        cmocka_unit_test(test_html),     cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_fit),      cmocka_unit_test(test_plot_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
