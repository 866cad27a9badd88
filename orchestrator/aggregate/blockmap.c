/* blockmap.c - a hash of numbered blocks. */
#include "orchestrator/aggregate/blockmap.h"

#include <stdlib.h>

/* Fibonacci hashing: neighbours in number are spread well. */
static size_t home(uint64_t number, unsigned bits)
{
    return (size_t) (number * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits));
}

void *blockmap_find(const struct blockmap *map, uint64_t number)
{
    size_t mask, i;

    if (!map->bits)
        return NULL;
    mask = blockmap_slots(map) - 1;
    for (i = home(number, map->bits); map->slots[i]; i = (i + 1) & mask)
        if (*map->slots[i] == number)
            return map->slots[i];
    return NULL;
}

static void put(uint64_t **slots, unsigned bits, uint64_t *block)
{
    size_t mask = ((size_t) 1 << bits) - 1;
    size_t i = home(*block, bits);

    while (slots[i])
        i = (i + 1) & mask;
    slots[i] = block;
}

int blockmap_add(struct blockmap *map, void *block)
{
    if (3 * (map->n + 1) > 2 * blockmap_slots(map)) {
        unsigned bits = map->bits ? map->bits + 1 : 2;
        uint64_t **slots = calloc((size_t) 1 << bits, sizeof(*slots));

        if (!slots)
            return -1;
        for (size_t i = 0; i < blockmap_slots(map); i++)
            if (map->slots[i])
                put(slots, bits, map->slots[i]);
        free(map->slots);
        map->slots = slots;
        map->bits = bits;
    }
    put(map->slots, map->bits, block);
    map->n++;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = **(uint64_t *const *) a, y = **(uint64_t *const *) b;

    return x < y ? -1 : x > y;
}

void **blockmap_copy(const struct blockmap *map)
{
    uint64_t **blocks = reallocarray(NULL, map->n + 1, sizeof(*blocks));
    size_t n = 0;

    for (size_t i = 0; blocks && i < blockmap_slots(map); i++)
        if (map->slots[i])
            blocks[n++] = map->slots[i];
    if (n)
        qsort(blocks, n, sizeof(*blocks), by_number);
    return (void **) blocks;
}

void **blockmap_sort(struct blockmap *map)
{
    size_t n = 0;

    for (size_t i = 0; i < blockmap_slots(map); i++)
        if (map->slots[i])
            map->slots[n++] = map->slots[i];
    for (size_t i = n; i < blockmap_slots(map); i++)
        map->slots[i] = NULL;
    if (n)
        qsort(map->slots, n, sizeof(*map->slots), by_number);
    return (void **) map->slots;
}

void blockmap_fini(struct blockmap *map)
{
    free(map->slots);
    *map = (struct blockmap){0};
}
