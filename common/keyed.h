/* keyed.h - a growing table of structs that are found by a number.
 *
 * The first member of the caller's struct is its key, a uint64_t. The structs
 * lie in one array in ascending order of their keys, so they are also read in
 * order:
 *
 *     struct job { uint64_t number; ... };
 *     struct keyed jobs = KEYED(struct job);
 *     struct job *job = keyed_add(&jobs, 12);
 *
 * For tables of some thousands: an addition moves what comes after it.
 */
#ifndef JP_COMMON_KEYED_H
#define JP_COMMON_KEYED_H

#include <stddef.h>
#include <stdint.h>

struct keyed {
    void *items; /* n structs */
    size_t n, room;
    size_t size; /* of a struct, in bytes */
};

/* An empty table. */
#define KEYED(type)                                                            \
    {                                                                          \
        .size = sizeof(type)                                                   \
    }

/* The number of structs with smaller keys: the index of this key, or where it
 * would be. */
size_t keyed_place(const struct keyed *table, uint64_t key);

/* The struct with the key, borrowed until the next addition; NULL: none. */
void *keyed_find(const struct keyed *table, uint64_t key);

/* The same, added if there is none: zeros, but for the key. NULL: no memory,
 * and the table is unchanged. */
void *keyed_add(struct keyed *table, uint64_t key);

/* Frees the table, which is empty then. The caller owns what the structs point
 * to. */
void keyed_fini(struct keyed *table);

#endif
