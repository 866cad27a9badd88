/* test_keymap.c - added keys are found quickly, even keys that an attacker has
 * chosen. */
#include "common/keymap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

enum { MANY = 60000 };

static uint64_t inverse(uint64_t odd)
{
    uint64_t x = odd;

    for (int i = 0; i < 6; i++)
        x *= 2 - odd * x;
    return x;
}

/* Keys that shared one slot before each run had a salt of its own: the hash was
 * h = a * A; h = (h ^ h >> 32) * B, its upper bits. */
static uint64_t chosen(uint64_t i)
{
    uint64_t h = i * inverse(UINT64_C(0x9e3779b97f4a7c15));

    return (h ^ h >> 32) * inverse(UINT64_C(0xff51afd7ed558ccd));
}

static uint64_t plain(uint64_t i)
{
    return i * UINT64_C(0x123456789abcdef1);
}

/* CPU time to add and find them all. */
static double spent(uint64_t (*key)(uint64_t))
{
    struct keymap map = {0};
    clock_t began = clock();

    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(keymap_find(&map, key(i), 0), KEYMAP_NONE);
        assert_int_equal(keymap_add(&map, key(i), 0, i), 0);
    }
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(keymap_find(&map, key(i), 0), i);
    assert_int_equal(keymap_find(&map, key(MANY), 0), KEYMAP_NONE);
    assert_int_equal(keymap_find(&map, key(1), 1), KEYMAP_NONE);
    keymap_fini(&map);
    return (double) (clock() - began) / CLOCKS_PER_SEC;
}

static void chosen_keys(void **state)
{
    double usual = spent(plain), hostile = spent(chosen);

    (void) state;
    if (hostile > 50 * usual + 0.05)
        fail_msg("%.3f s, and %.3f s for other keys", hostile, usual);
}

static void both_words_count(void **state)
{
    struct keymap map = {0};

    (void) state;
    assert_int_equal(keymap_find(&map, 1, 2), KEYMAP_NONE);
    for (uint32_t a = 0; a < 300; a++)
        for (uint32_t b = 0; b < 300; b++)
            assert_int_equal(keymap_add(&map, a, b, a * 300 + b), 0);
    for (uint32_t a = 0; a < 300; a++)
        for (uint32_t b = 0; b < 300; b++)
            assert_int_equal(keymap_find(&map, a, b), a * 300 + b);
    assert_int_equal(keymap_find(&map, 300, 0), KEYMAP_NONE);
    keymap_fini(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chosen_keys),
        cmocka_unit_test(both_words_count),
    };

    return cmocka_run_group_tests_name("keymap", tests, NULL, NULL);
}
