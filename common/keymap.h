/* keymap.h - numbers found by a key of two 64-bit words: often the index in an
 * array of what a file names or numbers. For keys of another kind, see hash.h.
 */
#ifndef JP_COMMON_KEYMAP_H
#define JP_COMMON_KEYMAP_H

#include <stddef.h>
#include <stdint.h>

#include "common/hash.h"

#define KEYMAP_NONE UINT32_MAX

struct keymap_entry {
    uint64_t a, b;
    uint32_t value; /* not KEYMAP_NONE */
};

/* All zeros: empty. */
struct keymap {
    struct hash_table table;
    struct keymap_entry *entries; /* table.n of them */
    size_t room;
};

/* The value or KEYMAP_NONE. */
uint32_t keymap_find(const struct keymap *map, uint64_t a, uint64_t b);
/* Adds a key that is not there. 0, or -1 without memory. */
int keymap_add(struct keymap *map, uint64_t a, uint64_t b, uint32_t value);
/* Frees the map, which is empty then. */
void keymap_fini(struct keymap *map);

#endif
