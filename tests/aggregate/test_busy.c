/* The union of intervals: against bits, in pieces, out of order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/aggregate/busy.h"

enum { START = 1700000000, SPAN = 3000000, MANY = 60000 };

static uint8_t bits[SPAN];
static struct busy_span spans[MANY];

/* A generator with the same numbers on every machine. */
static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t) (*seed >> 33) % below;
}

/* n intervals that begin nearly in order, with some long ones. */
static void make_spans(uint64_t seed, size_t n)
{
    memset(bits, 0, sizeof(bits));
    for (size_t i = 0; i < n; i++) {
        uint64_t at = (uint64_t) i * (SPAN - 6000) / n + draw(&seed, 400);
        uint64_t us = 1 + draw(&seed, draw(&seed, 50) ? 60 : 5000);

        spans[i] = (struct busy_span){START + at, START + at + us};
        memset(bits + at, 1, us);
    }
}

static int add(struct busy *busy, uint64_t from, uint64_t to, int64_t pid)
{
    const struct record record = {
        .host = {"n1", 2}, .pid = pid, .start_us = from, .end_us = to};

    return busy_add(busy, &record);
}

static uint64_t count(uint64_t from, uint64_t to)
{
    uint64_t us = 0;

    for (uint64_t t = from; t < to; t++)
        us += t >= START && t < START + SPAN && bits[t - START];
    return us;
}

static void assert_is_union(const struct busy *busy, size_t n)
{
    const struct busy_slots *s = &busy->slots;
    uint64_t width = UINT64_C(1) << s->shift;

    assert_int_equal(busy->timed, n);
    assert_int_equal(busy->clipped, 0);
    assert_false(busy->mixed);
    assert_true(busy_slots_good(s));
    assert_true(s->n > BUSY_SLOTS / 2 - 2);
    for (unsigned i = 0; i < s->n; i++)
        assert_int_equal(s->us[i], count((s->first + i) * width,
                                         (s->first + i + 1) * width));
}

/* A whole file and pieces of any size give the same slots. */
static void unions_are_exact(void **state)
{
    static const size_t pieces[] = {1, 2, 3, 7};

    (void) state;
    make_spans(1, MANY);
    for (size_t k = 0; k < sizeof(pieces) / sizeof(*pieces); k++) {
        struct busy *whole = NULL;

        for (size_t p = 0; p < pieces[k]; p++) {
            struct busy *piece = busy_create(pieces[k] > 1);

            for (size_t i = MANY * p / pieces[k];
                 i < MANY * (p + 1) / pieces[k]; i++)
                assert_int_equal(add(piece, spans[i].from, spans[i].to, 7), 0);
            if (whole)
                assert_int_equal(busy_join(whole, piece), 0);
            if (whole)
                busy_destroy(piece);
            else
                whole = piece;
        }
        busy_end(whole);
        assert_is_union(whole, MANY);
        assert_string_equal(whole->host, "n1");
        busy_destroy(whole);
    }
}

static void what_comes_too_late_is_told(void **state)
{
    struct busy *busy = busy_create(false);

    (void) state;
    for (uint64_t i = 0; i < 2 * BUSY_KEPT; i++)
        assert_int_equal(add(busy, START + 10 * i, START + 10 * i + 5, 7), 0);
    assert_int_equal(add(busy, START + 3, START + 9, 7), 0);
    busy_end(busy);
    assert_int_equal(busy->clipped, 1);
    busy_destroy(busy);
}

static void odd_records(void **state)
{
    struct busy *busy = busy_create(false), *other = busy_create(true);

    (void) state;
    busy_destroy(NULL);
    assert_int_equal(add(busy, 5, 5 + RECORD_MAX_TIME_US + 1, 7), 0);
    assert_int_equal(busy->timed, 0);
    assert_int_equal(add(busy, START, START, 7), 0); /* an instant counts as 1
                                                      * us */
    assert_int_equal(add(busy, UINT64_C(1) << 51, (UINT64_C(1) << 51) + 9, 7),
                     0);
    assert_false(busy->mixed);
    assert_int_equal(add(other, START + 1, START + 3, 8), 0);
    assert_int_equal(busy_join(busy, other), 0);
    busy_end(busy);
    assert_true(busy->mixed);
    assert_true(busy_slots_good(&busy->slots));
    busy->slots.us[0] = (UINT64_C(1) << busy->slots.shift) + 1;
    assert_false(busy_slots_good(&busy->slots));
    busy_destroy(busy);
    busy_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unions_are_exact),
        cmocka_unit_test(what_comes_too_late_is_told),
        cmocka_unit_test(odd_records),
    };

    return cmocka_run_group_tests_name("busy", tests, NULL, NULL);
}
