/* keymap.c - a hash of two-word keys, with open addressing and linear probing.
 */
#include "orchestrator/aggregate/keymap.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

/* The seed of the hash is random. Otherwise a file could have 100,000
 * communicators that share one slot, which takes minutes. Results do not depend
 * on it, because nothing iterates over the slots. */
static uint64_t salt[2];
static pthread_once_t salted = PTHREAD_ONCE_INIT;

static void make_salt(void)
{
    if (getrandom(salt, sizeof(salt), GRND_NONBLOCK) != sizeof(salt))
        salt[0] = salt[1] = (uintptr_t) &salt; /* a random address */
}

/* Multiplies to 128 bits and mixes both halves. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128) a * b;

    return (uint64_t) product ^ (uint64_t) (product >> 64);
}

/* The slot where the search for a key begins. */
static size_t home(uint64_t a, uint64_t b, unsigned bits)
{
    uint64_t h = fold(a ^ salt[0], UINT64_C(0xff51afd7ed558ccd)) ^ b;

    return (size_t) (fold(h ^ salt[1], UINT64_C(0x9e3779b97f4a7c15)) >>
                     (64 - bits));
}

static size_t slots(const struct keymap *map)
{
    return map->bits ? (size_t) 1 << map->bits : 0;
}

uint32_t keymap_find(const struct keymap *map, uint64_t a, uint64_t b)
{
    size_t mask = slots(map) - 1, i;

    if (!map->bits)
        return KEYMAP_NONE;
    for (i = home(a, b, map->bits); map->slots[i].value != KEYMAP_NONE;
         i = (i + 1) & mask)
        if (map->slots[i].a == a && map->slots[i].b == b)
            return map->slots[i].value;
    return KEYMAP_NONE;
}

/* Puts a key into a free slot; there is one. */
static void put(struct keymap *map, const struct keymap_slot *slot)
{
    size_t mask = slots(map) - 1;
    size_t i = home(slot->a, slot->b, map->bits);

    while (map->slots[i].value != KEYMAP_NONE)
        i = (i + 1) & mask;
    map->slots[i] = *slot;
}

/* Doubles the slots and puts all keys anew. 0, or -1: no memory. */
static int grow(struct keymap *map)
{
    struct keymap more = {.bits = map->bits ? map->bits + 1 : 3};
    size_t n = slots(&more);

    pthread_once(&salted, make_salt);
    more.slots = malloc(n * sizeof(*more.slots));
    if (!more.slots)
        return -1;
    for (size_t i = 0; i < n; i++)
        more.slots[i].value = KEYMAP_NONE;
    for (size_t i = 0; i < slots(map); i++)
        if (map->slots[i].value != KEYMAP_NONE)
            put(&more, &map->slots[i]);
    free(map->slots);
    map->slots = more.slots;
    map->bits = more.bits;
    return 0;
}

int keymap_add(struct keymap *map, uint64_t a, uint64_t b, uint32_t value)
{
    /* a third of the slots stays free */
    if (3 * (map->n + 1) > 2 * slots(map) && grow(map) < 0)
        return -1;
    put(map, &(struct keymap_slot){a, b, value});
    map->n++;
    return 0;
}

void keymap_fini(struct keymap *map)
{
    free(map->slots);
    *map = (struct keymap){0};
}
