/* blockmap.c - blocks by number: a window of slots, or a list with a hash table
 * where the numbers lie far apart. join.h has the interface. */
#include "orchestrator/aggregate/join.h"

#include <stdlib.h>

enum {
    LEAST_BITS = 2,
    SPARSE = 4 /* with more slots for each block than this, it becomes a list */
};

static uint64_t hash_of(uint64_t number)
{
    return hash_word(hash_start(), number);
}

void *blockmap_find(const struct blockmap *map, uint64_t number)
{
    uint32_t at;

    if (!map->listed) /* finds the block without reading other blocks */
        return number - map->first < blockmap_slots(map)
                   ? map->slots[number - map->first]
                   : NULL;
    for (size_t i = 0;
         (at = hash_next(&map->places, hash_of(number), &i)) != HASH_NONE;)
        if (*map->slots[at] == number)
            return map->slots[at];
    return NULL;
}

/* Puts a block with this number into a free slot; there is one. Returns 0, or
 * -1 without memory. */
static int put_block(struct blockmap *map, uint64_t *block, uint64_t number)
{
    if (!map->listed) {
        map->slots[number - map->first] = block;
    } else {
        if (hash_add(&map->places, hash_of(number), (uint32_t) map->n) < 0)
            return -1;
        map->slots[map->n] = block;
    }
    map->n++;
    return 0;
}

/* The number of the block in slot i. A window's numbers are known without
 * reading the blocks. */
static uint64_t number_at(const struct blockmap *map, size_t i)
{
    return map->listed ? *map->slots[i] : map->first + i;
}

/* The range of the numbers, including another one. */
struct span {
    uint64_t first, last;
};

static struct span span_with(const struct blockmap *map, uint64_t number)
{
    struct span span = {number, number};
    size_t n = blockmap_slots(map);

    for (size_t i = 0; i < n; i++) {
        uint64_t at;

        if (!map->slots[i])
            continue;
        at = number_at(map, i);
        span.first = at < span.first ? at : span.first;
        span.last = at > span.last ? at : span.last;
    }
    return span;
}

/* Whether a number can be added without growing. */
static bool fits(const struct blockmap *map, uint64_t number)
{
    if (map->listed)
        return map->n < blockmap_slots(map);
    return number - map->first < blockmap_slots(map);
}

/* The shape of a larger map, without its slots: a window of all numbers, at
 * least twice as large as before, with its free slots on the side of the new
 * number. If the window would be too empty, a list. */
static struct blockmap shape(const struct blockmap *map, uint64_t number)
{
    struct span span = span_with(map, number);
    unsigned least = map->n && !map->listed ? map->bits + 1
                                            : (unsigned) LEAST_BITS;
    struct blockmap more = {.bits = least, .first = span.first};
    uint64_t last;

    /* 40 bits end the loop for numbers that are as far apart as a file may
     * claim */
    while (more.bits < 40 && span.last - span.first >= (uint64_t) 1
                                                           << more.bits)
        more.bits++;
    if (blockmap_slots(&more) > SPARSE * (map->n + 1)) {
        more.listed = true;
        for (more.bits = LEAST_BITS; blockmap_slots(&more) <= map->n;)
            more.bits++;
        return more;
    }
    last = blockmap_slots(&more) - 1;
    /* numbers grow downwards */
    if (map->n && number == span.first)
        more.first = span.last > last ? span.last - last : 0;
    return more;
}

/* Makes a larger map of the same blocks, with room for one more. */
static int grow_window(struct blockmap *map, uint64_t number)
{
    struct blockmap more = shape(map, number);

    more.slots = calloc(blockmap_slots(&more), sizeof(*more.slots));
    if (!more.slots)
        return -1;
    for (size_t i = 0; i < blockmap_slots(map); i++)
        if (map->slots[i] &&
            put_block(&more, map->slots[i], number_at(map, i)) < 0) {
            blockmap_fini(&more);
            return -1;
        }
    blockmap_fini(map);
    *map = more;
    return 0;
}

int blockmap_add(struct blockmap *map, void *block)
{
    uint64_t number = *(uint64_t *) block;

    return !fits(map, number) && grow_window(map, number) < 0
               ? -1
               : put_block(map, block, number);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = **(uint64_t *const *) a, y = **(uint64_t *const *) b;

    return x < y ? -1 : x > y;
}

/* Copies the blocks to the front of `to`, sorted, which may be the map's own
 * slots. Returns their number. */
static size_t sort_blocks(const struct blockmap *map, uint64_t **to)
{
    size_t n = 0;

    for (size_t i = 0; i < blockmap_slots(map); i++)
        if (map->slots[i])
            to[n++] = map->slots[i];
    if (n && map->listed)
        qsort(to, n, sizeof(*to), by_number);
    return n;
}

void **blockmap_copy(const struct blockmap *map)
{
    uint64_t **blocks = reallocarray(NULL, map->n + 1, sizeof(*blocks));

    if (blocks)
        sort_blocks(map, blocks);
    return (void **) blocks;
}

void **blockmap_sort(struct blockmap *map)
{
    for (size_t n = sort_blocks(map, map->slots); n < blockmap_slots(map); n++)
        map->slots[n] = NULL;
    return (void **) map->slots;
}

void blockmap_fini(struct blockmap *map)
{
    free(map->slots);
    hash_fini(&map->places);
    *map = (struct blockmap){0};
}
