/* keymap.h - small integers found by a key of two 64-bit words: the place in a
 * growing array of what a file names or numbers. */
#ifndef JP_AGGREGATE_KEYMAP_H
#define JP_AGGREGATE_KEYMAP_H

#include <stddef.h>
#include <stdint.h>

#define KEYMAP_NONE UINT32_MAX

struct keymap_slot {
    uint64_t a, b;
    uint32_t value; /* KEYMAP_NONE: free */
};

struct keymap {
    struct keymap_slot *slots;
    unsigned bits; /* 1 << bits slots, 0: none */
    size_t n;
};

/* The value or KEYMAP_NONE. */
uint32_t keymap_find(const struct keymap *map, uint64_t a, uint64_t b);
/* Adds a key that is not there. 0, or -1 without memory. */
int keymap_add(struct keymap *map, uint64_t a, uint64_t b, uint32_t value);
void keymap_fini(struct keymap *map);

#endif
