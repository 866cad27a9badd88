/* test_strip.c - time by kind and bin: in any order, in pieces, with bins that
 * become wider. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/aggregate/intervals.h"
#include "orchestrator/aggregate/timeline.h"

#define TEST(name) cmocka_unit_test(name)

enum { START = 1700000000, MANY = 4000 };

static const char *const funcs[] = {"AllReduce", "AllGather", "Send"};

static struct record record_of(unsigned i)
{
    static char ids[MANY][8];
    uint64_t at = START + (uint64_t) i * 997 + i * i % 331;

    snprintf(ids[i], sizeof(ids[i]), "0x%x", i % 5);
    return (struct record){.id = {ids[i], strlen(ids[i])},
                           .func = {funcs[i % 3], strlen(funcs[i % 3])},
                           .p2p = i % 3 == 2,
                           .series = i % 2 ? i % 15 + 1 : 0,
                           .bytes = i % 7 ? 1 << 10 : 8 << 20,
                           .exec_us = i % 11 ? 0 : 5000,
                           .exec_unknown = i % 11 != 0,
                           .start_us = at,
                           .end_us = at + 1 + i % 700};
}

static uint64_t sum_of(const struct strip *s, const char *func)
{
    uint64_t sum = 0;

    for (unsigned k = 0; k < s->n_keys; k++)
        for (unsigned i = 0; i < s->n && !strcmp(s->keys[k].func, func); i++)
            sum += s->keys[k].us[i];
    return sum;
}

static void assert_same(const struct strip *a, const struct strip *b)
{
    assert_int_equal(a->shift, b->shift);
    assert_int_equal(a->first, b->first);
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->n_keys, b->n_keys);
    for (unsigned k = 0; k < a->n_keys; k++) {
        unsigned other = 0;

        while (other < b->n_keys &&
               (strcmp(a->keys[k].id, b->keys[other].id) ||
                strcmp(a->keys[k].func, b->keys[other].func) ||
                a->keys[k].size != b->keys[other].size))
            other++;
        assert_true(other < b->n_keys);
        assert_memory_equal(a->keys[k].us, b->keys[other].us,
                            a->n * sizeof(*a->keys[k].us));
    }
}

static void sums_hold(void **state)
{
    struct strip *s = strip_create(128);
    uint64_t want[3] = {0};

    (void) state;
    assert_non_null(s);
    for (unsigned i = 0; i < MANY; i++) {
        struct record r = record_of(i);

        want[i % 3] += r.exec_unknown ? r.end_us - r.start_us : r.exec_us;
        assert_int_equal(strip_add(s, &r), 0);
    }
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(sum_of(s, funcs[i]), want[i]);
    assert_true(s->n <= 128 && s->n >= 32);
    assert_int_equal(s->n_keys, 30); /* 5 communicators, 3 functions, 2 sizes */
    strip_destroy(s);
}

/* Each microsecond is in its bin. */
static void places_hold(void **state)
{
    struct strip *s = strip_create(128);
    struct record r = record_of(1);

    (void) state;
    r.start_us = START;
    r.end_us = START + 100000;
    assert_int_equal(strip_add(s, &r), 0);
    r.start_us = START - 50000;
    r.end_us = r.start_us + 1;
    assert_int_equal(strip_add(s, &r), 0);
    assert_int_equal(s->n_keys, 1);
    for (unsigned i = 0; i < s->n; i++) {
        uint64_t from = (s->first + i) << s->shift, us = 0;

        for (uint64_t t = from; t < from + (UINT64_C(1) << s->shift); t++)
            us += (t >= START && t < START + 100000) || t == START - 50000;
        assert_int_equal(s->keys[0].us[i], us);
    }
    strip_destroy(s);
}

static void order_and_pieces_do_not_matter(void **state)
{
    struct strip *all = strip_create(128), *back = strip_create(128);
    struct strip *pieces = strip_create(128);

    (void) state;
    for (unsigned i = 0; i < MANY; i++) {
        struct record r = record_of(i), last = record_of(MANY - 1 - i);

        assert_int_equal(strip_add(all, &r), 0);
        assert_int_equal(strip_add(back, &last), 0);
    }
    for (unsigned from = 0; from < MANY; from += MANY / 8) {
        struct strip *piece = strip_create(4096); /* finer */

        for (unsigned i = from; i < from + MANY / 8; i++) {
            struct record r = record_of(i);

            assert_int_equal(strip_add(piece, &r), 0);
        }
        assert_int_equal(strip_join(pieces, piece), 0);
        strip_destroy(piece);
    }
    assert_same(all, back);
    assert_same(all, pieces);
    strip_destroy(all);
    strip_destroy(back);
    strip_destroy(pieces);
}

static void bounds_hold(void **state)
{
    struct strip *s = strip_create(1); /* raised to the least */
    struct record r = record_of(1);

    (void) state;
    assert_int_equal(s->room, STRIP_MIN_BINS);
    for (unsigned i = 0; i < 3 * STRIP_KEYS; i++) {
        char id[16];

        snprintf(id, sizeof(id), "0x%x", 1000 + i);
        r.id = (struct record_text){id, strlen(id)};
        r.series = 0;
        assert_int_equal(strip_add(s, &r), 0);
    }
    assert_int_equal(s->n_keys, STRIP_KEYS);
    assert_int_equal(s->left, 2 * STRIP_KEYS);
    /* days apart: bins become wider, and no time is lost */
    r = record_of(1);
    r.id = (struct record_text){"0x3e8", 5};
    r.series = 0;
    r.start_us = START + UINT64_C(900000000000);
    r.end_us = r.start_us + 7;
    assert_int_equal(strip_add(s, &r), 0);
    assert_true(s->n <= STRIP_MIN_BINS);
    assert_int_equal(s->keys[0].us[s->n - 1], 7);
    /* impossible: no operation takes 12 days */
    r.start_us = 1;
    r.end_us = INT64_MAX;
    assert_int_equal(strip_add(s, &r), 0);
    assert_int_equal(s->keys[0].us[s->n - 1], 7);
    assert_false(strip_begin(s, STRIP_MAX_SHIFT + 1, 0, 1));
    assert_false(strip_begin(s, 6, UINT64_MAX, 1));
    assert_false(strip_begin(s, 6, 0, STRIP_MIN_BINS + 1));
    strip_destroy(s);
    strip_destroy(NULL);
}

/* A timeline of a process, with one operation in its strip. */
static struct timeline *timeline_of(const char *host, int64_t pid)
{
    struct timeline *t = timeline_create(1, STRIP_MIN_BINS);
    struct record r = record_of(1);

    assert_non_null(t);
    r.host = (struct record_text){host, strlen(host)};
    r.pid = pid;
    assert_int_equal(timeline_add(t, &r), 0);
    return t;
}

/* Strips of the first hosts keep their bins: as many as have STRIP_ROWS
 * processes, of which some have two files. */
static void rows_keep_their_bins(void **state)
{
    enum { HALF = STRIP_ROWS / 2, N = 3 * HALF + 4 };
    struct timeline **list = calloc(N, sizeof(*list));
    size_t n = 0;

    (void) state;
    assert_non_null(list);
    list[n++] = timeline_of("d", 1);
    for (int i = 0; i < HALF; i++)
        list[n++] = timeline_of("b", i);
    for (int i = 0; i < HALF - 1; i++)
        list[n++] = timeline_of("a", i);
    list[n++] = timeline_of("a", 1);
    /* one process is missing still, and all of a host stay */
    for (int i = 0; i < HALF; i++)
        list[n++] = timeline_of("c", i);
    assert_int_equal(timelines_drop_strips(list, n), n - 1);
    for (size_t i = 0; i < n; i++) {
        bool last = !strcmp(list[i]->host, "d");

        assert_int_equal(list[i]->strip->n_keys, last ? 0 : 1);
        assert_int_not_equal(list[i]->strip->n, 0);
        assert_int_equal(i + 1 == n, last);
    }
    /* what was dropped counts as before */
    assert_int_equal(timelines_drop_strips(list, n), n - 1);
    while (n)
        timeline_destroy(list[--n]);
    free(list);
}

/* A copy has the same operations and bins, and that of the intervals these. */
static void copies_are_equal(void **state)
{
    struct timeline *t = timeline_create(MANY, STRIP_MIN_BINS), *copy;
    struct timeline_reader one, other;
    struct timeline_event x, y;
    struct intervals *intervals;

    (void) state;
    assert_non_null(t);
    for (unsigned i = 0; i < MANY; i++) {
        struct record r = record_of(i);

        assert_int_equal(timeline_add(t, &r), 0);
    }
    copy = timeline_copy(t);
    assert_non_null(copy);
    assert_null(copy->intervals);
    intervals = intervals_copy(t->intervals);
    assert_non_null(intervals);
    assert_int_equal(timeline_reader_init(&one, t), 0);
    assert_int_equal(timeline_reader_init(&other, copy), 0);
    while (timeline_next(&one, &x)) {
        assert_true(timeline_next(&other, &y));
        assert_memory_equal(&x, &y, sizeof(x));
    }
    assert_false(timeline_next(&other, &y));
    assert_int_equal(copy->strip->n_keys, t->strip->n_keys);
    for (unsigned k = 0; k < t->strip->n_keys; k++)
        assert_memory_equal(copy->strip->keys[k].us, t->strip->keys[k].us,
                            t->strip->n * sizeof(*t->strip->keys[k].us));
    assert_int_equal(intervals->n, t->intervals->n);
    assert_memory_equal(intervals->at, t->intervals->at,
                        t->intervals->n * sizeof(*t->intervals->at));
    intervals_destroy(intervals);
    timeline_reader_fini(&one);
    timeline_reader_fini(&other);
    timeline_destroy(t);
    timeline_destroy(copy);
}

static void sizes_have_classes(void **state)
{
    (void) state;
    assert_int_equal(strip_size_of(0), STRIP_SMALL);
    assert_int_equal(strip_size_of(STRIP_MEDIUM_BYTES - 1), STRIP_SMALL);
    assert_int_equal(strip_size_of(STRIP_MEDIUM_BYTES), STRIP_MEDIUM);
    assert_int_equal(strip_size_of(STRIP_LARGE_BYTES), STRIP_LARGE);
    assert_int_equal(strip_size_of(UINT64_MAX), STRIP_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(sums_hold),
                                       TEST(places_hold),
                                       TEST(order_and_pieces_do_not_matter),
                                       TEST(bounds_hold),
                                       TEST(sizes_have_classes),
                                       TEST(rows_keep_their_bins),
                                       TEST(copies_are_equal)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
