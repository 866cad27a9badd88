/* blockmap.h - blocks found by their number.
 *
 * A block is any struct whose first member is `uint64_t number`; the map holds
 * pointers and owns nothing. Slots are eight bytes, one for each number of a
 * window where at least a quarter of these is there, as sequence numbers mostly
 * are; else an open-addressing hash of which a third stays free.
 */
#ifndef JP_AGGREGATE_BLOCKMAP_H
#define JP_AGGREGATE_BLOCKMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blockmap {
    uint64_t **slots; /* NULL: free */
    unsigned bits;    /* 1 << bits slots, 0: none */
    bool hashed;
    uint64_t first; /* number of the window's first slot */
    size_t n;
};

/* The block or NULL. */
void *blockmap_find(const struct blockmap *map, uint64_t number);
/* Adds a block whose number is not there. 0, or -1 without memory. */
int blockmap_add(struct blockmap *map, void *block);
/* Moves the blocks to the front of slots, sorted by number; only iteration over
 * slots[0..n), or over all, and fini are allowed afterwards. Borrowed. */
void **blockmap_sort(struct blockmap *map);
/* The blocks sorted by number, as an array of n, which the caller frees; never
 * NULL but without memory. */
void **blockmap_copy(const struct blockmap *map);
/* Frees the slots, not the blocks. */
void blockmap_fini(struct blockmap *map);

/* for (i = 0; i < blockmap_slots(map); i++) if (map->slots[i]) ... */
static inline size_t blockmap_slots(const struct blockmap *map)
{
    return map->bits ? (size_t) 1 << map->bits : 0;
}

#endif
