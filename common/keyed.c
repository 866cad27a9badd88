/* keyed.c - a growing table of structs that are found by a number. */
#include "common/keyed.h"
#include "common/vector.h"

#include <stdlib.h>
#include <string.h>

/* The struct at an index. */
static char *item_at(const struct keyed *table, size_t at)
{
    return (char *) table->items + at * table->size;
}

/* The key of the struct at an index. */
static uint64_t key_at(const struct keyed *table, size_t at)
{
    uint64_t key;

    memcpy(&key, item_at(table, at), sizeof(key));
    return key;
}

size_t keyed_place(const struct keyed *table, uint64_t key)
{
    size_t low = 0, high = table->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (key_at(table, mid) < key)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void *keyed_find(const struct keyed *table, uint64_t key)
{
    size_t at = keyed_place(table, key);

    return at < table->n && key_at(table, at) == key ? item_at(table, at)
                                                     : NULL;
}

void *keyed_add(struct keyed *table, uint64_t key)
{
    size_t at = keyed_place(table, key);
    char *item;

    if (at < table->n && key_at(table, at) == key)
        return item_at(table, at);
    if (vector_room(&table->items, table->n + 1, &table->room, table->size) < 0)
        return NULL;
    item = item_at(table, at);
    memmove(item + table->size, item, (table->n - at) * table->size);
    memset(item, 0, table->size);
    memcpy(item, &key, sizeof(key));
    table->n++;
    return item;
}

void keyed_fini(struct keyed *table)
{
    free(table->items);
    *table = (struct keyed){.size = table->size};
}
