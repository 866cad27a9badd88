/* test_peaks.c - bandwidths of links: bad rows first, then what is expected. */
#include "common/peaks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/fileio.h"
#include "tests/common/foreign_leaks.h"
#include "tests/common/tempdir.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

static void keep_line(void *arg, const char *sentence)
{
    snprintf(arg, sizeof(struct jp_error), "%s", sentence);
}

#define EXPECT "expect = ( (\"1M\", 0.5) ); }"
/* The whole file cannot be read, or its row is left out. */
static const struct {
    const char *text, *error;
    bool stands; /* the file is accepted */
} bad[] = {
    {"peaks = (", "bad.conf:1: syntax error", false},
    {"@include \"other.conf\"\n", "No such file", false},
    {"peaks = 3;", "\"peaks\" is not a list", true},
    {"peak = ();", "unknown key \"peak\"; did you mean \"peaks\"?", true},
    {"peaks = ( 3 );", "a row is not a group", true},
    {"peaks = ( { } );", "\"link\" is missing", true},
    {"peaks = (\n{ lnk = \"ib\"; } );", "bad.conf:2: unknown key \"lnk\"",
     true},
    {"peaks = ( { link = 3; } );", "link: is not a string in quotes", true},
    {"peaks = ( { link = \"nvswich\"; } );", "did you mean \"nvswitch\"?",
     true},
    {"peaks = ( { link = \"ib\"; " EXPECT ");", "\"peak\" is missing", true},
    {"peaks = ( { link = \"ib\"; peak = 50; } );", "\"expect\" is missing",
     true},
    {"peaks = ( { link = \"ib\"; peak = 0; " EXPECT ");",
     "peak: 0 is not above 0", true},
    {"peaks = ( { link = \"ib\"; peak = 1e9; " EXPECT ");", "peak: 1e+09 is",
     true},
    {"peaks = ( { link = \"ib\"; peak = \"50\"; " EXPECT ");",
     "peak: is not a number", true},
    {"peaks = ( { link = \"ib\"; gpu = \"\"; peak = 5; " EXPECT ");",
     "gpu: the value is empty", true},
    {"peaks = ( { link = \"ib\"; per_node = 0; peak = 5; " EXPECT ");",
     "per_node: 0 is not from 1", true},
    {"peaks = ( { link = \"ib\"; max_ranks = 1.5; peak = 5; " EXPECT ");",
     "max_ranks: is not a whole number", true},
    {"peaks = ( { link = \"ib\"; peak = 5; expect = ( ); } );",
     "expect: is not a list", true},
    {"peaks = ( { link = \"ib\"; peak = 5; expect = 0.5; } );",
     "expect: is not a list", true},
    {"peaks = ( { link = \"ib\"; peak = 5; expect = ( 0.5 ); } );",
     "expect: has an entry that is not (SIZE, SHARE)", true},
    {"peaks = ( { link = \"ib\"; peak = 5; expect = ( (1024, 0.5) ); } );",
     "expect: a size is not a string in quotes", true},
    {"peaks = ( { link = \"ib\"; peak = 5; expect = ( (\"1MB\", 0.5) ); } );",
     "1MB", true},
    {"peaks = ( { link = \"ib\"; peak = 5; expect = ( (\"1M\", 1.5) ); } );",
     "expect: 1.5 is not above 0 and at most 1", true},
    {"peaks = ( { link = \"ib\"; peak = 5; expect = ( (\"1M\", 0.5),\n"
     "(\"1024K\", 0.6) ); } );",
     "expect: \"1024K\" is not larger than the size before it", true},
};

static void test_bad(void **state)
{
    for (size_t i = 0; i < N(bad); i++) {
        char *path = tempdir_file(*state, "bad.conf", 0600, bad[i].text);
        struct jp_error err = {""}, said = {""};
        struct jp_peaks peaks = {0};
        int rc = peaks_load(path, keep_line, &said, &peaks, &err);

        assert_int_equal(rc, bad[i].stands ? 0 : -1);
        if (!strstr(said.text, bad[i].error))
            fail_msg("%zu: \"%s\" lacks \"%s\"", i, said.text, bad[i].error);
        assert_int_equal(peaks.n, 0);
        peaks_fini(&peaks);
        free(path);
    }
    peaks_fini(NULL);
}

static const char good[] =
    "peaks = (\n"
    "{ link = \"wrong\"; peak = 1; " EXPECT ",\n"
    "{ link = \"ib\"; gpu = \"h100\"; function = \"AllReduce\"; max_ranks = "
    "16; per_node = 4; peak = 50; expect = ( (\"1M\", 0.5), (\"64M\", 0.8) ); "
    "},\n"
    "{ link = \"ib\"; peak = 25.5; " EXPECT " );\n";

/* Bytes, then the expected GB/s; 0: nothing is expected. */
static const struct {
    struct peaks_leg leg;
    uint64_t bytes;
    double gbs;
} rows[] = {
    {{"ib", "NVIDIA H100 80GB HBM3", "AllReduce", 16, 8}, 1 << 20, 100},
    {{"ib", "NVIDIA H100 80GB HBM3", "AllReduce", 16, 2}, 1 << 20, 50},
    {{"ib", "NVIDIA H100 80GB HBM3", "AllReduce", 16, 1}, 1 << 30, 40},
    {{"ib", "NVIDIA H100 80GB HBM3", "AllReduce", 16, 1}, 1000, 0},
    {{"ib", "NVIDIA H100 80GB HBM3", "AllReduce", 17, 1}, 1 << 20, 12.75},
    {{"ib", "NVIDIA H100 80GB HBM3", "AllGather", 16, 1}, 1 << 20, 12.75},
    {{"ib", "", "AllReduce", 16, 8}, 1 << 20, 102},
    {{"ib", "H10", "AllReduce", 16, 1}, 1 << 20, 12.75},
    {{"tcp", "H100", "AllReduce", 16, 1}, 1 << 20, 0},
    {{"", "", "", 0, 1}, 1 << 20, 0},
};

static void test_expected(void **state)
{
    char *path = tempdir_file(*state, "good.conf", 0600, good);
    struct jp_error said = {""}, err;
    struct jp_peaks peaks;

    assert_int_equal(peaks_load(path, keep_line, &said, &peaks, &err), 0);
    assert_non_null(
        strstr(said.text, "good.conf:2: link: \"wrong\" is not one"));
    assert_int_equal(peaks.n, 2);
    for (size_t i = 0; i < N(rows); i++) {
        const struct peaks_row *row = peaks_find(&peaks, &rows[i].leg);
        double gbs = row ? peaks_bound(row, &rows[i].leg) *
                               peaks_share(row, rows[i].bytes)
                         : 0;

        if (fabs(gbs - rows[i].gbs) > 1e-9)
            fail_msg("row %zu: %g", i, gbs);
    }
    peaks_fini(&peaks);
    free(path);
}

/* The shipped example has no mistake. */
static void test_shipped(void **state)
{
    const char *top = getenv("top_srcdir");
    char *path = tempdir_path(top ? top : JP_SRCDIR, "etc/peaks.conf");
    char *text = NULL;
    struct jp_error said = {""}, err = {""};
    struct jp_peaks peaks;

    if (fileio_read(path, true, 1 << 20, &text, NULL, &err) < 0)
        fail_msg("%s", err.text);
    free(path);
    path = tempdir_file(*state, "shipped.conf", 0644, text);
    free(text);
    if (peaks_load(path, keep_line, &said, &peaks, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(said.text, "");
    assert_true(peaks.n > 0);
    peaks_fini(&peaks);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bad, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(test_expected, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_shipped, tempdir_make,
                                        tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
