/* hash.c - hashes of keys, and a table with open addressing and linear probing.
 */
#include "common/hash.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* The first slots are 1 << FIRST_BITS, the last 1 << MOST_BITS. */
enum { FIRST_BITS = 4, MOST_BITS = 31 };

uint64_t hash_salt;

static void set_salt(void)
{
    uint64_t salt;

    /* early at boot there may be no random bytes */
    if (getrandom(&salt, sizeof(salt), GRND_NONBLOCK) != sizeof(salt))
        salt = (uintptr_t) &salt; /* a random address */
    __atomic_store_n(&hash_salt, salt ? salt : 1, __ATOMIC_RELAXED);
}

uint64_t hash_make_salt(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, set_salt);
    return __atomic_load_n(&hash_salt, __ATOMIC_RELAXED);
}

uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    uint64_t word;

    hash = hash_word(hash, n);
    for (; n >= sizeof(word); at += sizeof(word), n -= sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        hash = hash_word(hash, word);
    }
    if (!n)
        return hash;
    /* the last bytes, followed by zeros */
    word = 0;
    memcpy(&word, at, n);
    return hash_word(hash, word);
}

uint64_t hash_text(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text));
}

/* Puts an element into a table that has a free slot. */
static void put_slot(struct hash_table *table, struct hash_slot slot)
{
    size_t mask = ((size_t) 1 << table->bits) - 1;
    size_t at = slot.tag >> (32 - table->bits);

    while (table->slots[at].place)
        at = (at + 1) & mask;
    table->slots[at] = slot;
    table->n++;
}

/* Doubles the slots. Returns 0, or -1 without memory. */
static int double_slots(struct hash_table *table)
{
    size_t n = table->bits ? (size_t) 1 << table->bits : 0;
    struct hash_table more = {.bits = n ? table->bits + 1 : FIRST_BITS};

    if (more.bits > MOST_BITS)
        return -1;
    more.slots = calloc((size_t) 1 << more.bits, sizeof(*more.slots));
    if (!more.slots)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (table->slots[i].place)
            put_slot(&more, table->slots[i]);
    free(table->slots);
    *table = more;
    return 0;
}

int hash_add(struct hash_table *table, uint64_t hash, uint32_t index)
{
    if (!table->bits || 2 * (uint64_t) table->n >= (uint64_t) 1 << table->bits)
        if (double_slots(table) < 0)
            return -1;
    put_slot(table, (struct hash_slot){(uint32_t) (hash >> 32), index + 1});
    return 0;
}

void hash_remove(struct hash_table *table, uint64_t hash, uint32_t index)
{
    size_t mask = ((size_t) 1 << table->bits) - 1;
    size_t at = (uint32_t) (hash >> 32) >> (32 - table->bits), next;

    while (table->slots[at].place != index + 1)
        at = (at + 1) & mask;
    /* a search must not end at the hole: later elements of the run move up */
    for (next = (at + 1) & mask; table->slots[next].place;
         next = (next + 1) & mask) {
        size_t home = table->slots[next].tag >> (32 - table->bits);

        /* not in front of where its search begins */
        if (((next - home) & mask) < ((next - at) & mask))
            continue;
        table->slots[at] = table->slots[next];
        at = next;
    }
    table->slots[at] = (struct hash_slot){0};
    table->n--;
}

void hash_clear(struct hash_table *table)
{
    if (table->n)
        memset(table->slots, 0, sizeof(*table->slots) << table->bits);
    table->n = 0;
}

void hash_fini(struct hash_table *table)
{
    free(table->slots);
    *table = (struct hash_table){0};
}
