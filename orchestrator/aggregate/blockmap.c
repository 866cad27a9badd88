/* blockmap.c - blocks by number: a window of slots, or a hash where the numbers
 * lie far apart. join.h has the interface. */
#include "orchestrator/aggregate/join.h"

#include <stdlib.h>

enum {
    LEAST_BITS = 2,
    SPARSE = 4 /* with more slots for each block than this, it becomes a hash */
};

/* The slot where the search for a number begins. Fibonacci hashing spreads
 * neighbours in number well. */
static size_t home(uint64_t number, unsigned bits)
{
    return (size_t) (number * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits));
}

void *blockmap_find(const struct blockmap *map, uint64_t number)
{
    size_t n = blockmap_slots(map), i;

    if (!map->hashed) /* finds the block without reading other blocks */
        return number - map->first < n ? map->slots[number - map->first] : NULL;
    for (i = home(number, map->bits); map->slots[i]; i = (i + 1) & (n - 1))
        if (*map->slots[i] == number)
            return map->slots[i];
    return NULL;
}

/* Puts a block into a free slot; there is one. */
static void put(struct blockmap *map, uint64_t *block)
{
    size_t mask = blockmap_slots(map) - 1, i;

    if (!map->hashed) {
        map->slots[*block - map->first] = block;
        return;
    }
    for (i = home(*block, map->bits); map->slots[i];)
        i = (i + 1) & mask;
    map->slots[i] = block;
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
        /* a window's numbers are known without reading the blocks */
        at = map->hashed ? *map->slots[i] : map->first + i;
        span.first = at < span.first ? at : span.first;
        span.last = at > span.last ? at : span.last;
    }
    return span;
}

/* Whether a number can be added without growing. */
static bool fits(const struct blockmap *map, uint64_t number)
{
    if (map->hashed)
        return 3 * (map->n + 1) <= 2 * blockmap_slots(map);
    return number - map->first < blockmap_slots(map);
}

/* The shape of a larger map, without its slots: a window of all numbers, at
 * least twice as large as before, with its free slots on the side of the new
 * number. If the window would be too empty, a hash. */
static struct blockmap shape(const struct blockmap *map, uint64_t number)
{
    struct span span = span_with(map, number);
    unsigned least = map->n && !map->hashed ? map->bits + 1
                                            : (unsigned) LEAST_BITS;
    struct blockmap more = {.bits = least, .first = span.first, .n = map->n};
    uint64_t last;

    /* 40 bits end the loop for numbers that are as far apart as a file may
     * claim */
    while (more.bits < 40 && span.last - span.first >= (uint64_t) 1
                                                           << more.bits)
        more.bits++;
    if (blockmap_slots(&more) > SPARSE * (map->n + 1)) {
        more.hashed = true;
        for (more.bits = LEAST_BITS; !fits(&more, number);)
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
static int grow(struct blockmap *map, uint64_t number)
{
    struct blockmap more = shape(map, number);

    more.slots = calloc(blockmap_slots(&more), sizeof(*more.slots));
    if (!more.slots)
        return -1;
    for (size_t i = 0; i < blockmap_slots(map); i++) {
        if (!map->slots[i])
            continue;
        if (map->hashed || more.hashed)
            put(&more, map->slots[i]);
        else /* without reading the block */
            more.slots[map->first + i - more.first] = map->slots[i];
    }
    free(map->slots);
    *map = more;
    return 0;
}

int blockmap_add(struct blockmap *map, void *block)
{
    if (!fits(map, *(uint64_t *) block) && grow(map, *(uint64_t *) block) < 0)
        return -1;
    put(map, block);
    map->n++;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = **(uint64_t *const *) a, y = **(uint64_t *const *) b;

    return x < y ? -1 : x > y;
}

/* Copies the blocks to the front of `to`, sorted, which may be the map's own
 * slots. Returns their number. */
static size_t sort(const struct blockmap *map, uint64_t **to)
{
    size_t n = 0;

    for (size_t i = 0; i < blockmap_slots(map); i++)
        if (map->slots[i])
            to[n++] = map->slots[i];
    if (n && map->hashed)
        qsort(to, n, sizeof(*to), by_number);
    return n;
}

void **blockmap_copy(const struct blockmap *map)
{
    uint64_t **blocks = reallocarray(NULL, map->n + 1, sizeof(*blocks));

    if (blocks)
        sort(map, blocks);
    return (void **) blocks;
}

void **blockmap_sort(struct blockmap *map)
{
    for (size_t n = sort(map, map->slots); n < blockmap_slots(map); n++)
        map->slots[n] = NULL;
    return (void **) map->slots;
}

void blockmap_fini(struct blockmap *map)
{
    free(map->slots);
    *map = (struct blockmap){0};
}
