/* keymap.c - numbers found by a key of two 64-bit words. */
#include "common/keymap.h"

#include <stdlib.h>

#include "common/vector.h"

static uint64_t hash_of(uint64_t a, uint64_t b)
{
    return hash_word(hash_word(hash_start(), a), b);
}

uint32_t keymap_find(const struct keymap *map, uint64_t a, uint64_t b)
{
    uint64_t hash = hash_of(a, b);
    uint32_t at;

    for (size_t i = 0; (at = hash_next(&map->table, hash, &i)) != HASH_NONE;)
        if (map->entries[at].a == a && map->entries[at].b == b)
            return map->entries[at].value;
    return KEYMAP_NONE;
}

int keymap_add(struct keymap *map, uint64_t a, uint64_t b, uint32_t value)
{
    uint32_t n = map->table.n;

    if (VECTOR_ROOM(map->entries, (size_t) n + 1, map->room) < 0 ||
        hash_add(&map->table, hash_of(a, b), n) < 0)
        return -1;
    map->entries[n] = (struct keymap_entry){a, b, value};
    return 0;
}

void keymap_fini(struct keymap *map)
{
    hash_fini(&map->table);
    free(map->entries);
    *map = (struct keymap){0};
}
