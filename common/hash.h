/* hash.h - hashes of keys, and a table that finds elements of an array by them.
 *
 * The elements lie in an array of the caller's and keep their places. The table
 * has the hash and the index of each. The caller compares the keys, as different
 * keys may have the same hash:
 *
 *     uint64_t hash = hash_text(hash_start(), name);
 *     uint32_t at;
 *
 *     for (size_t i = 0; (at = hash_next(&table, hash, &i)) != HASH_NONE;)
 *         if (!strcmp(rows[at].name, name))
 *             return &rows[at];
 *     ... append a row to n rows
 *     return hash_add(&table, hash, n++) < 0 ? NULL : &rows[n - 1];
 *
 * A table is all zeros at first. It is searched by several threads only while
 * none adds to it.
 */
#ifndef JP_COMMON_HASH_H
#define JP_COMMON_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_NONE UINT32_MAX

struct hash_slot {
    uint32_t tag;   /* the upper half of the hash */
    uint32_t place; /* one more than the index; 0: the slot is free */
};

struct hash_table {
    struct hash_slot *slots;
    unsigned bits; /* 1 << bits slots, at most half of them used; 0: none */
    uint32_t n;    /* elements */
};

/* --- hashes --------------------------------------------------------------- */

/* What hash_start() returns; 0 before its first call. */
extern uint64_t hash_salt;
uint64_t hash_make_salt(void);

/* The start of a hash: a random number of this process. Keys come from files
 * of users, who must not be able to choose keys that share a hash. So a hash is
 * never written, and no output depends on it. */
static inline uint64_t hash_start(void)
{
    uint64_t salt = __atomic_load_n(&hash_salt, __ATOMIC_RELAXED);

    return salt ? salt : hash_make_salt();
}

/* Adds a number to a hash. */
static inline uint64_t hash_word(uint64_t hash, uint64_t word)
{
    /* Multiplies to 128 bits and mixes both halves. */
    unsigned __int128 product = (unsigned __int128) (hash ^ word) *
                                UINT64_C(0x9e3779b97f4a7c15);

    return (uint64_t) product ^ (uint64_t) (product >> 64);
}

/* Adds bytes, and how many they are, so that "ab" and "c" differ from "a" and
 * "bc". */
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n);

/* Adds a text. */
uint64_t hash_text(uint64_t hash, const char *text);

/* --- table ---------------------------------------------------------------- */

/* The index of the next element that may have the key of this hash, or
 * HASH_NONE. *i is 0 before the first. */
static inline uint32_t hash_next(const struct hash_table *table, uint64_t hash,
                                 size_t *i)
{
    uint32_t tag = (uint32_t) (hash >> 32);
    const struct hash_slot *slot;

    if (!table->bits)
        return HASH_NONE;
    do {
        size_t at = (tag >> (32 - table->bits)) + (*i)++;

        slot = &table->slots[at & (((size_t) 1 << table->bits) - 1)];
    } while (slot->place && slot->tag != tag);
    return slot->place ? slot->place - 1 : HASH_NONE;
}

/* Adds an element by its index, which is below HASH_NONE. Returns 0, or -1
 * without memory or beyond a billion elements; nothing is changed then. */
int hash_add(struct hash_table *table, uint64_t hash, uint32_t index);

/* Takes out an element that is there, by its hash and its index. */
void hash_remove(struct hash_table *table, uint64_t hash, uint32_t index);

/* Empties the table, and keeps its memory for the next elements. */
void hash_clear(struct hash_table *table);

/* Frees the table, which is empty then. */
void hash_fini(struct hash_table *table);

#endif
