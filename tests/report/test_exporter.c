/* test_exporter.c - the exporter's notation, its bounds, and its handling of
 * hostile results. */
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/report/exporter.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fileio.h"
#include "tests/report/fixture.h"

/* The words are those that Python, pandas and numpy print. */
static void test_words(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *python, *numpy;
    } sizes[] = {
        {0, "0B", "0B"},
        {1, "1.00B", "1.00B"},
        {999, "999.00B", "999.00B"},
        {1000, "1.00KB", "1.00KB"},
        {1055, "1.05KB", "1.06KB"},
        {1125, "1.12KB", "1.12KB"},
        {1145, "1.15KB", "1.14KB"},
        {65536, "65.54KB", "65.54KB"},
        {999999, "1000.00KB", "1000.00KB"},
        {1000000, "1.00MB", "1.00MB"},
        {UINT64_C(1) << 50, "1.13PB", "1.13PB"},
    };
    static const struct {
        uint64_t us;
        const char *text;
    } durations[] = {
        {0, "0.0\xce\xbcs"},
        {999, "999.0\xce\xbcs"},
        {1000, "1.0ms"},
        {1250, "1.2ms"},
        {999999, "1000.0ms"},
        {1000000, "1.0s"},
        {3600000000ull, "3600.0s"},
    };
    static const struct {
        double value;
        const char *text;
    } reals[] = {
        {0, "0.0"},
        {5, "5.0"},
        {-3, "-3.0"},
        {0.1, "0.1"},
        {1e-5, "1e-05"},
        {1.0 / 3, "0.3333333333333333"},
        {156.37893075, "156.37893075"},
        {NAN, ""},
        {INFINITY, ""},
    };
    char buf[EXPORTER_WORD];

    (void) state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        assert_string_equal(exporter_size(sizes[i].bytes, buf),
                            sizes[i].python);
        assert_string_equal(exporter_size_numpy(sizes[i].bytes, buf),
                            sizes[i].numpy);
    }
    for (size_t i = 0; i < sizeof(durations) / sizeof(*durations); i++)
        assert_string_equal(exporter_duration(durations[i].us, buf),
                            durations[i].text);
    for (size_t i = 0; i < sizeof(reals) / sizeof(*reals); i++)
        assert_string_equal(exporter_real(reals[i].value, buf), reals[i].text);
    exporter_size(UINT64_MAX, buf);
    exporter_duration(UINT64_MAX, buf);
}

static void test_datetime(void **state)
{
    char buf[EXPORTER_WORD];

    (void) state;
    setenv("TZ", "XXX-05:30", 1);
    tzset();
    assert_string_equal(exporter_datetime(0, buf), "1970-01-01 05:30:00.000");
    assert_string_equal(exporter_datetime(1795251741332999, buf),
                        "2026-11-21 14:32:21.332");
    exporter_datetime(UINT64_MAX, buf);
    setenv("TZ", "UTC", 1);
    tzset();
    assert_string_equal(exporter_datetime(1795251741000999, buf),
                        "2026-11-21 09:02:21.000");
}

/* Writes the tree of a result. PATH has no gnuplot, so the scripts stay. */
static void write_tree(const struct jp_result *result,
                       struct jp_exporter_done *done)
{
    char dir[] = "/tmp/jobprof-exporter-XXXXXX";
    const struct jp_exporter_options options = {0};
    struct jp_error err = {""};
    char *path;

    assert_non_null(mkdtemp(dir));
    assert_int_equal(exporter_write(result, dir, &options, done, &err), 0);
    path = text_format("%s/output.log", dir);
    assert_int_equal(access(path, R_OK), 0);
    free(path);
    assert_int_equal(fileio_remove_tree(dir, NULL), 0);
}

static void test_fixtures(void **state)
{
    static void (*const makes[])(struct fixture *) = {
        fixture_good, fixture_hostile, fixture_nodata, fixture_incomplete};
    struct jp_exporter_done done;

    (void) state;
    for (size_t i = 0; i < sizeof(makes) / sizeof(*makes); i++) {
        struct fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        makes[i](f);
        write_tree(&f->result, &done);
        assert_int_equal(done.pictures, 0);
        assert_true(done.scripts == 0 || *done.no_picture.text);
        assert_true(done.scripts >= 2 * done.tables);
        fixture_fini(f);
        free(f);
    }
}

static void test_unwritable(void **state)
{
    const struct jp_exporter_options options = {0};
    const struct jp_result none = {0};
    struct jp_exporter_done done;
    struct jp_error err = {""};

    (void) state;
    assert_int_equal(exporter_write(&none, "/dev/null", &options, &done, &err),
                     -1);
    assert_non_null(strstr(err.text, "/dev/null"));
}

/* Returns n operations of one communicator and size, with outliers at both
 * ends. */
static struct jp_ops *make_ops(size_t n)
{
    struct jp_ops *ops = ops_create();

    assert_non_null(ops);
    for (size_t i = 0; i < n; i++) {
        const struct jp_op op = {.sn = i,
                                 .bytes = 1024,
                                 .n = 1,
                                 .n_busbw = i % 10 != 0,
                                 .busbw_sum_micro = i == 12345 ? 1
                                                    : i == 23456
                                                        ? UINT64_MAX
                                                        : 5000000 + i % 7,
                                 .exec_max_us = UINT64_MAX / 2};

        assert_int_equal(ops_add(ops, &op), 0);
    }
    assert_int_equal(ops_end(ops), 0);
    return ops;
}

static size_t count_lines(const char *text, const char *begin)
{
    size_t n = 0;

    for (; (text = strstr(text, begin)); text += strlen(begin))
        n++;
    return n;
}

static void test_bounds(void **state)
{
    enum { OPS = 300000 };
    char *names[] = {(char *) "AllReduce"};
    struct jp_comm comm = {.id = "0x1", .n_ranks = 1, .nnodes = 1};
    struct jp_result result = {.coll_names = names,
                               .n_coll_names = 1,
                               .comms = &comm,
                               .n_comms = 1,
                               .ops = make_ops(OPS),
                               .n_ops = OPS};
    struct exporter_table table;
    char *text = NULL;
    size_t len, lines;
    FILE *gp = open_memstream(&text, &len);

    (void) state;
    assert_non_null(gp);
    assert_int_equal(exporter_table_init(&table, &result, 1), 0);
    assert_int_equal(table.n_cells, 1);
    assert_int_equal(table.cells[0].rows, OPS);
    assert_int_equal(table.cells[0].valued, OPS - OPS / 10);
    assert_true(table.cells[0].time_us == UINT64_MAX);
    exporter_picture_put(&table, EXPORTER_SCATTER, 0, 1, "x", gp);
    fclose(gp);
    lines = count_lines(text, "\n");
    assert_true(lines > EXPORTER_MAX_POINTS / 2);
    assert_true(lines < EXPORTER_MAX_POINTS + 100);
    assert_non_null(strstr(text, "\n12345\t1e-06\n")); /* no outlier is lost */
    assert_non_null(strstr(text, "\n23456\t"));
    free(text);
    gp = open_memstream(&text, &len);
    exporter_picture_put(&table, EXPORTER_HISTOGRAM, 0, 1, "x", gp);
    assert_int_equal(
        exporter_picture_put(&table, EXPORTER_BOXPLOT, 0, 1, "x", gp), 0);
    fclose(gp);
    assert_true(count_lines(text, "\n") < 300);
    free(text);
    exporter_table_fini(&table);
    ops_destroy(result.ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),    cmocka_unit_test(test_datetime),
        cmocka_unit_test(test_fixtures), cmocka_unit_test(test_unwritable),
        cmocka_unit_test(test_bounds),
    };

    setenv("PATH", "/nonexistent", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
