/* test_topshow.c - lines of `jobprof top` at several widths. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "orchestrator/live/topshow.h"
#include "tests/common/tempdir.h"
#include "tests/live/makestep.h"

#define NOW UINT64_C(1700000000000000000)

static void look(struct livestate *state, const char *dir, uint32_t nodes,
                 uint32_t ranks, enum makestep_kind kind, uint32_t who)
{
    const struct makestep step = {nodes, ranks, kind, who, NOW, 0};
    const struct livestate_time now = {NOW + 1300000000, 1000};
    struct livestate_place place = {.dir = dir, .nodes = nodes};

    assert_int_equal(makestep_write(&step, dir), 0);
    hung_times_set(&place.times, 30000);
    livestate_init(state, &place);
    assert_int_equal(livestate_look(state, &now, NULL), 1);
}

/* Caller frees. */
static char *print(const struct livestate *state, const struct topshow_how *how)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    struct topshow_how with_reading = *how;
    struct topshow top;

    with_reading.reading = true;
    assert_non_null(out);
    assert_int_equal(topshow_make(&top, state, how), 0);
    topshow_print(&top, state, &with_reading, out);
    topshow_fini(&top);
    assert_int_equal(fclose(out), 0);
    return text;
}

static size_t longest(const char *text)
{
    size_t most = 0, n;

    for (; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        most = n > most ? n : most;
    }
    return most;
}

static size_t count_lines(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static struct topshow_how how_of(unsigned width)
{
    return (struct topshow_how){
        .job = "42.0", .width = width, .rows = 40, .selected = SIZE_MAX};
}

/* No line is longer than the width; 80 columns show what is needed, more show
 * more. */
static void widths(void **state)
{
    static const struct {
        unsigned width;
        const char *has[8], *lacks;
    } rows[] = {
        {80,
         {"node ", " rank ", "state ", " age ", "function ", "communicator",
          " data"},
         "GB/s"},
        {120, {"ops/s", "GB/s", "caused", " comm ", " GPU ", " MHz"}, "bytes"},
        {200, {"MHz", " W ", "sequence", "bytes", " pid", " data"}, "~"},
        {20, {"node"}, "function"},
        {1, {"HANG", "node"}, "function"},
    };
    struct livestate s;

    look(&s, *state, 2, 4, MAKESTEP_HANG, 5);
    s.word = LIVESTATE_HANG;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct topshow_how how = how_of(rows[i].width);
        char *text = print(&s, &how);

        assert_true(longest(text) <= (rows[i].width < 20 ? 20 : rows[i].width));
        for (size_t k = 0; k < 8 && rows[i].has[k]; k++)
            assert_non_null(strstr(text, rows[i].has[k]));
        assert_null(strstr(text, rows[i].lacks));
        assert_null(strchr(text, '\033'));
        free(text);
    }
    livestate_fini(&s);
}

/* The rank that keeps the others is first, then those that wait. */
static void worst_first(void **state)
{
    struct topshow_how how = how_of(120);
    struct livestate s;
    struct topshow top;
    char *text;

    look(&s, *state, 2, 4, MAKESTEP_HANG, 5);
    assert_int_equal(topshow_make(&top, &s, &how), 0);
    assert_int_equal(top.n, 8);
    assert_int_equal(top.rows[0].rank, 5);
    assert_int_equal(top.rows[1].rank, 0);
    assert_false(top.nodes);
    topshow_fini(&top);
    text = print(&s, &how);
    assert_non_null(strstr(text, "SUSPECT for 101 s  step 42.0: 8 ranks on 2"));
    assert_non_null(strstr(text, "rank 5 (n2 pid 30005) never entered"));
    assert_non_null(strstr(text, "100.0 s AllReduce      dp"));
    free(text);
    how.sort = TOPSHOW_PLACE;
    assert_int_equal(topshow_make(&top, &s, &how), 0);
    assert_int_equal(top.rows[0].rank, 0);
    topshow_fini(&top);
    how.node = "n2";
    assert_int_equal(topshow_make(&top, &s, &how), 0);
    assert_int_equal(top.n, 4);
    assert_string_equal(top.rows[0].node, "n2");
    topshow_fini(&top);
    how.node = NULL;
    how.odd = true; /* waiting ranks are not odd while one is missing */
    assert_int_equal(topshow_make(&top, &s, &how), 0);
    assert_int_equal(top.n, 8);
    topshow_fini(&top);
    livestate_fini(&s);
    look(&s, *state, 2, 4, MAKESTEP_OK, 0);
    assert_int_equal(topshow_make(&top, &s, &how), 0);
    assert_int_equal(top.n, 0);
    topshow_fini(&top);
    livestate_fini(&s);
}

/* 512 ranks: one row per node; one node can be opened, the rest is counted. */
static void many_ranks(void **state)
{
    struct topshow_how how = how_of(80);
    struct livestate s;
    struct topshow top;
    char *text;

    look(&s, *state, 64, 8, MAKESTEP_LATE, 401);
    assert_int_equal(topshow_make(&top, &s, &how), 0);
    assert_true(top.nodes);
    assert_int_equal(top.n, 64);
    assert_string_equal(top.rows[0].node, "n51");
    assert_int_equal(top.rows[0].ranks, 8);
    assert_true(top.rows[0].ops > 99.9 && top.rows[0].ops < 100.1);
    topshow_fini(&top);
    text = print(&s, &how);
    assert_non_null(strstr(text, "+24 more nodes"));
    assert_int_equal(count_lines(text), 3 + 1 + 40 + 1 + 1);
    free(text);
    how.first = 60;
    text = print(&s, &how);
    assert_null(strstr(text, "more nodes"));
    assert_int_equal(count_lines(text), 3 + 1 + 4 + 1);
    free(text);
    how.first = 0;
    how.node = "n51";
    assert_int_equal(topshow_make(&top, &s, &how), 0);
    assert_int_equal(top.n, 8);
    assert_int_equal(top.rows[0].rank, 401);
    topshow_fini(&top);
    livestate_fini(&s);
}

/* Rates that are not known yet are no zeros, in a rank's row and a node's. */
static void rates_unknown(void **state)
{
    struct topshow_how how = how_of(120);
    struct livestate s;
    struct topshow top;
    char *json = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&json, &len);
    struct jp_json_stream stream;

    look(&s, *state, 1, 2, MAKESTEP_OK, 0);
    s.ranks[1].is.unrated = true;
    assert_int_equal(topshow_make(&top, &s, &how), 0);
    for (size_t i = 0; i < top.n; i++) {
        assert_int_equal(isnan(top.rows[i].ops), top.rows[i].rank == 1);
        assert_int_equal(isnan(top.rows[i].share), top.rows[i].rank == 1);
    }
    topshow_fini(&top);
    json_stream_open(&stream, JSON_LINES, out);
    assert_int_equal(topshow_json(&stream, &s), 0);
    assert_int_equal(json_stream_close(&stream, NULL), 0);
    fclose(out);
    /* the node's and the rank's */
    assert_non_null(strstr(json, "\"ops_s\":null"));
    assert_non_null(
        strstr(strstr(json, "\"ops_s\":null") + 1, "\"ops_s\":null"));
    assert_non_null(strstr(json, "\"ops_s\":12.500"));
    free(json);
    livestate_fini(&s);
}

/* Names come from files: their control characters never reach the terminal. */
static void foreign_names(void **state)
{
    struct topshow_how how = how_of(80);
    struct livestate s;
    char *text;

    look(&s, *state, 1, 2, MAKESTEP_OK, 0);
    snprintf(s.nodes[0].node, sizeof(s.nodes[0].node), "n\033[2J\nx");
    snprintf(s.ranks[0].comm, sizeof(s.ranks[0].comm), "\033]0;t\007");
    snprintf(s.ranks[0].func, sizeof(s.ranks[0].func), "\xc3\xa9\xe2\x80\xae");
    snprintf(s.text, sizeof(s.text), "a\033[31mb\nc");
    text = print(&s, &how);
    assert_null(strchr(text, '\033'));
    assert_null(strchr(text, '\007'));
    assert_int_equal(count_lines(text), 3 + 1 + 2 + 1);
    assert_true(longest(text) <= 80);
    free(text);
    livestate_fini(&s);
}

/* Colours appear on request, and are never the only mark. */
static void colours(void **state)
{
    struct topshow_how how = how_of(80);
    struct livestate s;
    char *text;

    look(&s, *state, 2, 4, MAKESTEP_HANG, 5);
    how.colour = true;
    text = print(&s, &how);
    assert_non_null(strstr(text, "\033[1m\033[31mSUSPECT"));
    free(text);
    livestate_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(widths, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(worst_first, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(many_ranks, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(rates_unknown, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(foreign_names, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(colours, tempdir_make, tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
