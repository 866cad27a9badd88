/* test_intervals.c - the longest times between a process's operations: all that
 * are longer than what is stated, whatever the order and the pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/aggregate/intervals.h"
#include "tests/insight/simjob_random.h"

#define TEST(name) cmocka_unit_test(name)

enum { START = 1700000000, MANY = 20000 };

static struct record record_of(uint64_t sn, uint64_t from, uint64_t to)
{
    return (struct record){.id = {"0x1", 3},
                           .func = {"AllReduce", 9},
                           .n_ranks = 8,
                           .nnodes = 1,
                           .rank = 3,
                           .sn = sn,
                           .start_us = START + from,
                           .end_us = START + to};
}

static void add(struct intervals *p, uint64_t sn, uint64_t from, uint64_t to)
{
    const struct record r = record_of(sn, from, to);

    assert_int_equal(intervals_add(p, &r), 0);
}

static void assert_interval(const struct intervals *p, size_t i, uint64_t from,
                            uint64_t to, uint64_t sn)
{
    assert_true(i < p->n);
    assert_int_equal(p->at[i].from_us, START + from);
    assert_int_equal(p->at[i].to_us, START + to);
    assert_int_equal(p->at[i].sn, sn);
    assert_string_equal(p->series[p->at[i].series].func, "AllReduce");
}

/* Returns the own time of all bins. */
static uint64_t sum_of(const struct strip *own)
{
    uint64_t us = 0;

    for (unsigned i = 0; i < own->n; i++)
        us += own->keys[0].us[i];
    return us;
}

/* Operations that began later but ended earlier come first: what is in flight
 * is no interval. */
static void late_records(void **state)
{
    struct intervals *p = intervals_create(0);

    (void) state;
    add(p, 0, 0, 10);
    add(p, 2, 70, 80);  /* 60 us after it ... */
    add(p, 1, 40, 200); /* ... of which 30 were in flight */
    add(p, 3, 210, 220);
    add(p, 5, 400, 410); /* within it ... */
    add(p, 4, 230, 260); /* ... an operation that was written late */
    assert_int_equal(intervals_cut(p), 0);
    assert_int_equal(p->n, 3);
    assert_interval(p, 0, 10, 40, 1);
    assert_interval(p, 1, 200, 210, 3);
    assert_interval(p, 2, 260, 400, 5); /* the longer part */
    assert_int_equal(p->own_us, 30 + 10 + 10 + 140);
    assert_int_equal(sum_of(p->own), p->own_us);
    assert_int_equal(p->ops, 6);
    assert_int_equal(p->clock_us - p->first_us, 410);
    intervals_destroy(p);
}

/* Operation i and its interval: mostly 1 to 100 us, now and then far more. */
static uint64_t gap_of(struct simjob_random *random)
{
    double unit = random_unit(random);

    return 1 + (uint64_t) (100 * random_unit(random)) +
           (unit < 0.01 ? (uint64_t) (unit * 1e7) : 0);
}

/* Adds all operations in pieces of so many. */
static struct intervals *make(uint64_t seed, unsigned piece)
{
    struct simjob_random random = {seed};
    struct intervals *all = intervals_create(512), *p = NULL;
    uint64_t at = 0;

    for (unsigned i = 0; i < MANY; i++) {
        if (i % piece == 0)
            p = intervals_create(512);
        at += gap_of(&random);
        add(p, i, at, at + 50);
        at += 50;
        if (i % piece != piece - 1 && i + 1 < MANY)
            continue;
        assert_int_equal(intervals_join(all, p), 0);
        intervals_destroy(p);
    }
    assert_int_equal(intervals_cut(all), 0);
    return all;
}

/* All that are longer than least_us are there, and no more than promised. */
static void keeps_the_longest(void **state)
{
    (void) state;
    for (uint64_t seed = 1; seed < 4; seed++) {
        struct intervals *p = make(seed, MANY);
        struct simjob_random random = {seed};
        uint64_t sum = 0, longest = 0;
        size_t found = 0;

        assert_int_equal(p->most, 128);
        assert_true(p->n <= p->most && p->n > p->most / 2);
        for (uint64_t i = 0; i < MANY; i++) {
            uint64_t us = gap_of(&random);

            if (!i)
                continue;
            sum += us;
            longest = us > longest ? us : longest;
            if (us <= p->least_us)
                continue;
            assert_true(found < p->n);
            assert_int_equal(p->at[found].sn, i);
            assert_int_equal(p->at[found].nth, i);
            assert_int_equal(p->at[found].to_us - p->at[found].from_us, us);
            found++;
        }
        assert_int_equal(found, p->n);
        assert_int_equal(sum, p->own_us);
        assert_true(longest > p->least_us);
        intervals_destroy(p);
    }
}

static void pieces_are_the_whole(void **state)
{
    static const unsigned pieces[] = {1, 7, 100, 4999};
    struct intervals *whole = make(5, MANY);

    (void) state;
    for (unsigned k = 0; k < sizeof(pieces) / sizeof(*pieces); k++) {
        struct intervals *p = make(5, pieces[k]);

        assert_int_equal(p->n, whole->n);
        assert_int_equal(p->ops, whole->ops);
        assert_int_equal(p->own_us, whole->own_us);
        assert_int_equal(sum_of(p->own), p->own_us);
        assert_int_equal(p->own->n, whole->own->n);
        for (unsigned i = 0; i < p->own->n; i++)
            assert_int_equal(p->own->keys[0].us[i], whole->own->keys[0].us[i]);
        assert_int_equal(p->least_us, whole->least_us);
        for (size_t i = 0; i < p->n; i++) {
            assert_int_equal(p->at[i].from_us, whole->at[i].from_us);
            assert_int_equal(p->at[i].to_us, whole->at[i].to_us);
            assert_int_equal(p->at[i].nth, whole->at[i].nth);
        }
        assert_int_equal(intervals_longest_wait(p, 0),
                         intervals_longest_wait(whole, 0));
        intervals_destroy(p);
    }
    intervals_destroy(whole);
}

/* The last operation of a piece lasts into the next one. */
static void pieces_overlap(void **state)
{
    struct intervals *a = intervals_create(0), *b = intervals_create(0);

    (void) state;
    add(a, 0, 0, 10);
    add(a, 1, 20, 500);
    add(b, 2, 100, 110);
    add(b, 3, 400, 410); /* 290 us, in all of which 1 was in flight */
    add(b, 4, 530, 540); /* 120 us, in 90 of which it was */
    assert_int_equal(intervals_join(a, b), 0);
    assert_int_equal(intervals_cut(a), 0);
    assert_int_equal(a->n, 2);
    assert_interval(a, 0, 10, 20, 1);
    assert_interval(a, 1, 500, 530, 4);
    assert_int_equal(a->own_us, 10 + 30);
    intervals_destroy(a);
    intervals_destroy(b);
}

/* The longest wait, without those of the start. */
static void longest_waits(void **state)
{
    struct intervals *p = intervals_create(0);

    (void) state;
    assert_int_equal(intervals_longest_wait(p, 0), 0);
    add(p, 0, 0, 5000);
    for (uint64_t i = 1; i < 100; i++)
        add(p, i, 10000 * i, 10000 * i + (i == 90 ? 700 : i % 7));
    assert_int_equal(intervals_longest_wait(p, 0), 5000);
    assert_int_equal(intervals_longest_wait(p, 0.1), 700);
    assert_int_equal(intervals_longest_wait(p, 0.99), 0);
    intervals_destroy(p);
}

/* Records with impossible times are left out. */
static void odd_times(void **state)
{
    struct intervals *p = intervals_create(0);
    struct record r = record_of(0, 0, 10);

    (void) state;
    add(p, 0, 0, 10);
    r.exec_us = RECORD_MAX_TIME_US + 1;
    assert_int_equal(intervals_add(p, &r), 0);
    r = record_of(0, 0, 10);
    r.start_us = r.end_us = UINT64_MAX;
    assert_int_equal(intervals_add(p, &r), 0);
    assert_int_equal(p->ops, 1);
    /* seen at once, but the GPU's time is right */
    r = record_of(1, 20, 20);
    r.exec_us = 30;
    assert_int_equal(intervals_add(p, &r), 0);
    assert_int_equal(p->clock_us, START + 50);
    intervals_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(late_records),   TEST(keeps_the_longest),
        TEST(pieces_overlap), TEST(pieces_are_the_whole),
        TEST(longest_waits),  TEST(odd_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
