/* test_hash.c - the table that finds elements by a hash, and its hashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "common/hash.h"

enum { MANY = 60000 };

static void test_empty(void **state)
{
    struct hash_table table = {0};
    size_t i = 0;

    (void) state;
    assert_int_equal(hash_next(&table, 0, &i), HASH_NONE);
    assert_int_equal(hash_next(&table, UINT64_MAX, &i), HASH_NONE);
    hash_fini(&table);
    hash_fini(&table);
}

/* All that were added are found among the candidates, each once. */
static void test_many(void **state)
{
    struct hash_table table = {0};
    size_t candidates = 0;

    (void) state;
    for (uint32_t k = 0; k < MANY; k++)
        assert_int_equal(
            hash_add(&table, hash_word(hash_start(), k * 4096ull), k), 0);
    assert_int_equal(table.n, MANY);
    for (uint32_t k = 0; k < MANY; k++) {
        size_t found = 0;
        uint32_t at;

        for (size_t i = 0;
             (at = hash_next(&table, hash_word(hash_start(), k * 4096ull),
                             &i)) != HASH_NONE;
             candidates++)
            found += at == k;
        assert_int_equal(found, 1);
    }
    /* another key has the same tag about once in 2^32 comparisons */
    assert_true(candidates <= MANY + 10);
    hash_clear(&table);
    assert_int_equal(table.n, 0);
    for (uint32_t k = 0; k < MANY; k++) {
        size_t i = 0;

        assert_int_equal(
            hash_next(&table, hash_word(hash_start(), k * 4096ull), &i),
            HASH_NONE);
    }
    assert_int_equal(hash_add(&table, 7, 0), 0);
    assert_int_equal(table.n, 1);
    hash_fini(&table);
    assert_int_equal(table.n, 0);
    hash_clear(&table);
}

/* Elements whose hashes are equal are all candidates, also at the end of the
 * slots and after they have been doubled. */
static void test_equal(void **state)
{
    static const uint64_t hashes[] = {0, UINT64_MAX, 0xffffffffull,
                                      0x8000000000000000ull};
    enum { KINDS = sizeof(hashes) / sizeof(*hashes), EACH = 40 };
    struct hash_table table = {0};

    (void) state;
    for (uint32_t k = 0; k < KINDS * EACH; k++)
        assert_int_equal(hash_add(&table, hashes[k % KINDS], k), 0);
    for (uint32_t k = 0; k < KINDS; k++) {
        bool seen[KINDS * EACH] = {false};
        uint32_t at;

        for (size_t i = 0;
             (at = hash_next(&table, hashes[k], &i)) != HASH_NONE;) {
            assert_true(at < KINDS * EACH);
            assert_false(seen[at]);
            seen[at] = true;
        }
        for (uint32_t j = k; j < KINDS * EACH; j += KINDS)
            assert_true(seen[j]);
    }
    hash_fini(&table);
}

/* Whether the table has this element by this hash. */
static bool has(const struct hash_table *table, uint64_t hash, uint32_t index)
{
    uint32_t at;

    for (size_t i = 0; (at = hash_next(table, hash, &i)) != HASH_NONE;)
        if (at == index)
            return true;
    return false;
}

/* Elements are taken out in another order than they came, from runs that lie
 * side by side or reach over the end of the slots; the others stay found. */
static void test_remove(void **state)
{
    enum { ALL = 2000 };
    static bool there[ALL];
    struct hash_table table = {0};
    uint64_t hashes[ALL];
    uint32_t left = ALL;

    (void) state;
    for (uint32_t k = 0; k < ALL; k++) {
        /* few homes, some of them the last slots */
        hashes[k] = (uint64_t) (k % 3 ? k % 50 : UINT32_MAX - k % 40) << 32;
        assert_int_equal(hash_add(&table, hashes[k], k), 0);
        there[k] = true;
    }
    for (uint32_t step = 0; step < ALL; step++) {
        uint32_t k = step * 777 % ALL; /* each once */

        hash_remove(&table, hashes[k], k);
        there[k] = false;
        assert_int_equal(table.n, --left);
        /* all of them, now and then */
        for (uint32_t j = step % 7; j < ALL; j += step % 100 ? ALL / 5 : 1)
            assert_int_equal(has(&table, hashes[j], j), there[j]);
        /* one that came back is found again */
        if (step % 10 == 0) {
            assert_int_equal(hash_add(&table, hashes[k], k), 0);
            assert_true(has(&table, hashes[k], k));
            hash_remove(&table, hashes[k], k);
        }
    }
    hash_fini(&table);
}

/* Every byte, the length, and where one text ends count. */
static void test_hashes(void **state)
{
    char text[40], other[40];
    uint64_t start = hash_start();

    (void) state;
    assert_int_equal(start, hash_start());
    assert_int_not_equal(start, 0);
    for (size_t n = 0; n < sizeof(text); n++) {
        memset(text, 0, sizeof(text));
        memset(other, 0, sizeof(other));
        if (n + 1 < sizeof(text))
            assert_int_not_equal(hash_bytes(start, text, n),
                                 hash_bytes(start, other, n + 1));
        for (size_t i = 0; i < n; i++) {
            other[i] = 1;
            assert_int_not_equal(hash_bytes(start, text, n),
                                 hash_bytes(start, other, n));
            other[i] = 0;
        }
        assert_int_equal(hash_bytes(start, text, n),
                         hash_bytes(start, other, n));
    }
    assert_int_equal(hash_text(start, "abc"), hash_bytes(start, "abc", 3));
    assert_int_not_equal(hash_text(hash_text(start, "ab"), "c"),
                         hash_text(hash_text(start, "a"), "bc"));
    assert_int_not_equal(hash_word(hash_word(start, 1), 2),
                         hash_word(hash_word(start, 2), 1));
}

/* The longest search in a table of these keys. */
static size_t longest(uint64_t step)
{
    struct hash_table table = {0};
    size_t most = 0;

    for (uint32_t k = 0; k < MANY; k++)
        assert_int_equal(hash_add(&table, hash_word(hash_start(), k * step), k),
                         0);
    for (uint32_t k = 0; k < MANY; k++) {
        size_t i = 0;

        while (hash_next(&table, hash_word(hash_start(), k * step), &i) != k)
            ;
        most = i > most ? i : most;
    }
    hash_fini(&table);
    return most;
}

/* Keys at equal distances are spread. */
static void test_spread(void **state)
{
    (void) state;
    for (unsigned shift = 0; shift < 48; shift += 3)
        assert_true(longest(UINT64_C(1) << shift) < 200);
    assert_true(longest(UINT64_C(0x9e3779b97f4a7c15)) < 200);
    /* multiples of the inverse of the hash's factor */
    assert_true(longest(UINT64_C(0xf1de83e19937733d)) < 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),  cmocka_unit_test(test_many),
        cmocka_unit_test(test_equal),  cmocka_unit_test(test_remove),
        cmocka_unit_test(test_hashes), cmocka_unit_test(test_spread),
    };

    return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
