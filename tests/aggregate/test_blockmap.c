/* test_blockmap.c - blocks are found by any numbers, in any order. */
#include "orchestrator/aggregate/join.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 3000 };

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 31;
}

static uint64_t rising(uint64_t i)
{
    return i;
}

static uint64_t rising_from_far(uint64_t i)
{
    return UINT64_C(0x123456789abc) + i;
}

static uint64_t falling(uint64_t i)
{
    return 2 * MOST - i;
}

static uint64_t falling_to_zero(uint64_t i)
{
    return MOST - 1 - i;
}

static uint64_t both_ways(uint64_t i)
{
    return i % 2 ? 2 * MOST + i : 2 * MOST - i;
}

static uint64_t each_third(uint64_t i)
{
    return 3 * i;
}

static uint64_t each_fifth(uint64_t i)
{
    return 5 * i;
}

static uint64_t far_apart(uint64_t i)
{
    return i << 50 | i;
}

static uint64_t one_far_away(uint64_t i)
{
    return i == 77 ? UINT64_MAX : i;
}

static uint64_t first_far_away(uint64_t i)
{
    return i ? i : UINT64_MAX;
}

static uint64_t two_ranges(uint64_t i)
{
    return i % 2 ? UINT64_MAX - i : i;
}

/* Distinct: an odd factor permutes the numbers below 4096. */
static uint64_t shuffled(uint64_t i)
{
    return i * 2654435761u % 4096;
}

static uint64_t at_random(uint64_t i)
{
    return mix(i * UINT64_C(0x9e3779b97f4a7c15));
}

enum shape { WINDOW, HASH, EITHER };

static const struct {
    uint64_t (*number)(uint64_t);
    enum shape shape; /* in the end */
} rows[] = {
    {rising, WINDOW},          {rising_from_far, WINDOW}, {falling, WINDOW},
    {falling_to_zero, WINDOW}, {shuffled, WINDOW},        {both_ways, EITHER},
    {each_third, EITHER},      {each_fifth, HASH},        {far_apart, HASH},
    {one_far_away, HASH},      {first_far_away, HASH},    {two_ranges, HASH},
    {at_random, HASH},
};

struct block {
    uint64_t number;
};

static void check_all(const struct blockmap *map, struct block *blocks,
                      size_t n)
{
    size_t slots = 0;

    assert_int_equal(map->n, n);
    for (size_t i = 0; i < MOST; i++)
        assert_ptr_equal(blockmap_find(map, blocks[i].number),
                         i < n ? &blocks[i] : NULL);
    for (size_t i = 0; i < blockmap_slots(map); i++)
        slots += map->slots[i] != NULL;
    assert_int_equal(slots, n);
    /* at most four slots for each block */
    assert_true(blockmap_slots(map) <= 4 * (n + 1));
}

static void check_order(void **sorted, size_t n)
{
    for (size_t i = 1; i < n; i++)
        assert_true(*(uint64_t *) sorted[i - 1] < *(uint64_t *) sorted[i]);
}

static void find_all(void **state)
{
    static struct block blocks[MOST];

    (void) state;
    for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
        struct blockmap map = {0};
        void **copy;

        for (size_t i = 0; i < MOST; i++)
            blocks[i].number = rows[row].number(i);
        for (size_t i = 0; i < MOST; i++) {
            if (i % 100 < 8)
                check_all(&map, blocks, i);
            assert_int_equal(blockmap_add(&map, &blocks[i]), 0);
        }
        check_all(&map, blocks, MOST);
        if (rows[row].shape != EITHER)
            assert_int_equal(map.listed, rows[row].shape == HASH);
        copy = blockmap_copy(&map);
        assert_non_null(copy);
        check_order(copy, MOST);
        free(copy);
        check_order(blockmap_sort(&map), MOST);
        blockmap_fini(&map);
        blockmap_fini(&map);
        assert_null(blockmap_find(&map, 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(find_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
