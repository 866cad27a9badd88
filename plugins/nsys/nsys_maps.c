/* nsys_maps.c - see nsys_maps.h. */
#include "plugins/nsys/nsys_maps.h"

#include <stdlib.h>

static size_t mix(uint64_t x)
{
    x ^= x >> 31;
    x *= UINT64_C(0x9e3779b97f4a7c15);
    return (size_t) (x ^ x >> 29);
}

static struct nsys_meaning *meaning_slot(const struct nsys_meanings *m,
                                         int64_t id)
{
    size_t mask = m->n_slots - 1, i = mix((uint64_t) id) & mask;

    while (m->at[i].line && m->at[i].id != id)
        i = (i + 1) & mask;
    return &m->at[i];
}

struct nsys_meaning *nsys_meaning_find(struct nsys_meanings *m, int64_t id)
{
    struct nsys_meanings bigger = {
        .n = m->n, .n_slots = m->n_slots ? 2 * m->n_slots : 256};

    if (2 * m->n < m->n_slots)
        return meaning_slot(m, id);
    bigger.at = calloc(bigger.n_slots, sizeof(*bigger.at));
    if (!bigger.at)
        return NULL;
    for (size_t i = 0; i < m->n_slots; i++)
        if (m->at[i].line)
            *meaning_slot(&bigger, m->at[i].id) = m->at[i];
    free(m->at);
    *m = bigger;
    return meaning_slot(m, id);
}

void nsys_meanings_fini(struct nsys_meanings *m)
{
    free(m->at);
    *m = (struct nsys_meanings){0};
}

static struct nsys_launch *launch_slot(const struct nsys_launches *l,
                                       uint64_t key)
{
    size_t mask = l->n_slots - 1, i = mix(key) & mask;

    while (l->at[i].key && l->at[i].key != key)
        i = (i + 1) & mask;
    return &l->at[i];
}

static int grow_launches(struct nsys_launches *l)
{
    struct nsys_launches bigger = {
        .n = l->n, .n_slots = l->n_slots ? 2 * l->n_slots : 4096};

    if (bigger.n_slots > NSYS_LAUNCH_SLOTS)
        return 1;
    bigger.at = calloc(bigger.n_slots, sizeof(*bigger.at));
    if (!bigger.at)
        return -1;
    for (size_t i = 0; i < l->n_slots; i++)
        if (l->at[i].key)
            *launch_slot(&bigger, l->at[i].key) = l->at[i];
    free(l->at);
    *l = bigger;
    return 0;
}

int nsys_launch_keep(struct nsys_launches *l, uint64_t key, int64_t start)
{
    int rc = 4 * l->n >= 3 * l->n_slots ? grow_launches(l) : 0;
    struct nsys_launch *at;

    if (rc != 0)
        return rc;
    at = launch_slot(l, key);
    if (at->key && at->start <= start)
        return 0;
    l->n += !at->key;
    *at = (struct nsys_launch){key, start};
    return 0;
}

const struct nsys_launch *nsys_launch_find(const struct nsys_launches *l,
                                           uint64_t key)
{
    const struct nsys_launch *at = l->n ? launch_slot(l, key) : NULL;

    return at && at->key ? at : NULL;
}

void nsys_launches_fini(struct nsys_launches *l)
{
    free(l->at);
    *l = (struct nsys_launches){0};
}
