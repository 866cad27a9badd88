/* copper_pathset.c - a hash of paths over an arena. */
#include "orchestrator/copper/copper_pathset.h"

#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "orchestrator/copper/copper_build.h"

#define DEFAULT_LIMIT (UINT64_C(1) << 30)
#define CHUNK_BYTES (1024 * 1024)
#define FIRST_SLOTS 4096

/* Texts stand in chunks, the newest first. */
struct chunk {
    struct chunk *next;
    size_t used, size;
    char text[];
};

struct copper_pathset {
    struct jp_copper_path *entries;
    size_t n, room;
    uint32_t *slots; /* index + 1; 0 is free */
    size_t n_slots;  /* a power of two, at most half full */
    struct chunk *chunks;
    uint64_t used, limit;
};

struct copper_pathset *copper_pathset_create(uint64_t limit)
{
    struct copper_pathset *set = calloc(1, sizeof(*set));

    if (!set)
        return NULL;
    set->limit = limit ? limit : DEFAULT_LIMIT;
    set->n_slots = FIRST_SLOTS;
    set->slots = calloc(set->n_slots, sizeof(*set->slots));
    if (set->slots)
        return set;
    free(set);
    return NULL;
}

void copper_pathset_free(void *memory)
{
    for (struct chunk *c = memory, *next; c; c = next) {
        next = c->next;
        free(c);
    }
}

void copper_pathset_destroy(struct copper_pathset *set)
{
    if (!set)
        return;
    copper_pathset_free(set->chunks);
    free(set->entries);
    free(set->slots);
    free(set);
}

const char *copper_memory_keep(void **memory, const char *text, size_t len)
{
    struct chunk *c = *memory;
    char *at;

    if (!c || c->size - c->used < len + 1) {
        size_t size = len + 1 > CHUNK_BYTES ? len + 1 : CHUNK_BYTES;

        c = malloc(sizeof(*c) + size);
        if (!c)
            return NULL;
        *c = (struct chunk){.next = *memory, .size = size};
        *memory = c;
    }
    at = c->text + c->used;
    if (len)
        memcpy(at, text, len);
    at[len] = '\0';
    c->used += len + 1;
    return at;
}

/* Eight bytes a step: tables of a thousand ranks hold a million paths. */
static uint64_t hash(const char *text, size_t len, unsigned seed)
{
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15) * (seed + 1), word;

    for (; len >= 8; text += 8, len -= 8) {
        memcpy(&word, text, 8);
        h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    word = 0;
    if (len)
        memcpy(&word, text, len);
    h = (h ^ word ^ ((uint64_t) len << 56)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ h >> 29;
}

static bool is_row(const struct jp_copper_path *path,
                   const struct copper_row *row)
{
    return path->len == row->len && path->category == row->category &&
           !memcmp(path->path, row->path, row->len);
}

/* The slot of the row's path, or the free one where it belongs. */
static size_t find(const struct copper_pathset *set,
                   const struct copper_row *row)
{
    size_t mask = set->n_slots - 1;
    size_t at = hash(row->path, row->len, row->category) & mask;

    while (set->slots[at] && !is_row(&set->entries[set->slots[at] - 1], row))
        at = (at + 1) & mask;
    return at;
}

static int more_slots(struct copper_pathset *set)
{
    size_t n = 2 * set->n_slots;
    uint32_t *slots = calloc(n, sizeof(*slots));

    if (!slots)
        return -1;
    free(set->slots);
    set->slots = slots;
    set->n_slots = n;
    for (size_t i = 0; i < set->n; i++) {
        const struct jp_copper_path *p = &set->entries[i];
        size_t at = hash(p->path, p->len, p->category) & (n - 1);

        while (slots[at])
            at = (at + 1) & (n - 1);
        slots[at] = (uint32_t) (i + 1);
    }
    return 0;
}

static int more_entries(struct copper_pathset *set)
{
    size_t room = set->room ? 2 * set->room : FIRST_SLOTS;
    struct jp_copper_path *more =
        reallocarray(set->entries, room, sizeof(*more));

    if (!more)
        return -1;
    set->entries = more;
    set->room = room;
    return 0;
}

/* 0: *entry is new; 1: no room by the limit; -1. */
static int insert(struct copper_pathset *set, const struct copper_row *row,
                  size_t slot, struct jp_copper_path **entry)
{
    /* entries and slots double: at worst twice what they hold */
    uint64_t bytes = row->len + 1 + 2 * sizeof(**entry) +
                     4 * sizeof(*set->slots);
    void *memory = set->chunks;
    const char *text;

    if (set->used + bytes > set->limit || set->n >= UINT32_MAX - 1)
        return 1;
    if (set->n == set->room && more_entries(set) < 0)
        return -1;
    text = copper_memory_keep(&memory, row->path, row->len);
    set->chunks = memory;
    if (!text)
        return -1;
    *entry = &set->entries[set->n++];
    **entry =
        (struct jp_copper_path){.path = text,
                                .len = (uint32_t) row->len,
                                .category = row->category,
                                .class = copper_class_of(row->category, text),
                                .last_rank = SIZE_MAX};
    set->slots[slot] = (uint32_t) set->n;
    set->used += bytes;
    return 2 * set->n > set->n_slots ? more_slots(set) : 0;
}

int copper_pathset_add(struct copper_pathset *set, const struct copper_row *row,
                       size_t rank, bool full)
{
    size_t slot = find(set, row);
    struct jp_copper_path *e;

    if (set->slots[slot]) {
        e = &set->entries[set->slots[slot] - 1];
    } else {
        int rc = insert(set, row, slot, &e);

        if (rc)
            return rc;
    }
    for (size_t i = 0; i < 4; i++)
        e->count[i] = num_add(e->count[i], row->count[i]);
    e->events = num_add(e->events, copper_row_events(row));
    e->ranks += e->last_rank != rank;
    e->full |= full;
    e->last_rank = rank;
    return 0;
}

static int by_weight(const void *a, const void *b)
{
    const struct jp_copper_path *x = a, *y = b;

    if (x->category != y->category)
        return x->category < y->category ? -1 : 1;
    if (x->events != y->events)
        return x->events > y->events ? -1 : 1;
    return strcmp(x->path, y->path);
}

void copper_pathset_take(struct copper_pathset *set,
                         struct jp_copper_path **paths, size_t *n,
                         void **memory)
{
    if (set->n)
        qsort(set->entries, set->n, sizeof(*set->entries), by_weight);
    *paths = set->entries;
    *n = set->n;
    *memory = set->chunks;
    set->entries = NULL;
    set->chunks = NULL;
    set->n = set->room = 0;
    memset(set->slots, 0, set->n_slots * sizeof(*set->slots));
}
