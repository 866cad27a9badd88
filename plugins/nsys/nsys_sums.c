/* nsys_sums.c - the containers of an export's reader: sums, names, busy spans,
 * and two hash tables.
 *
 * In this order: meanings (numbers of the export to lines), launches (when a
 * kernel began), busy (spans of GPUs), sums, and names. The hash tables have
 * open addressing with linear probing, a power of two of slots, and are never
 * full. */
#include "plugins/nsys/nsys_read.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"

/* 32 MiB; at most three quarters are used. */
#define NSYS_LAUNCH_SLOTS ((size_t) 1 << 21)

/* Spreads the bits of a key: ids of an export are often consecutive. */
static size_t mix(uint64_t x)
{
    x ^= x >> 31;
    x *= UINT64_C(0x9e3779b97f4a7c15);
    return (size_t) (x ^ x >> 29);
}

/* The slot of the id, or the free slot where it belongs. */
static struct nsys_meaning *meaning_slot(const struct nsys_meanings *m,
                                         int64_t id)
{
    size_t mask = m->n_slots - 1, i = mix((uint64_t) id) & mask;

    /* a slot without a line is free */
    while (m->at[i].line && m->at[i].id != id)
        i = (i + 1) & mask;
    return &m->at[i];
}

/* A table that is half full is doubled before the search, so the result stays
 * valid until the caller has filled it. */
struct nsys_meaning *nsys_meaning_find(struct nsys_meanings *m, int64_t id)
{
    struct nsys_meanings bigger = {
        .n = m->n, .n_slots = m->n_slots ? 2 * m->n_slots : 256};

    /* at most half full, also after the caller has added one */
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

/* The slot of the key, or the free slot where it belongs. */
static struct nsys_launch *launch_slot(const struct nsys_launches *l,
                                       uint64_t key)
{
    size_t mask = l->n_slots - 1, i = mix(key) & mask;

    while (l->at[i].key && l->at[i].key != key)
        i = (i + 1) & mask;
    return &l->at[i];
}

/* Doubles the slots. Returns 1 if there are too many, -1 without memory. */
static int grow_launches(struct nsys_launches *l)
{
    struct nsys_launches bigger = {
        .n = l->n, .n_slots = l->n_slots ? 2 * l->n_slots : 4096};

    /* further launches are not kept, and counted by the caller */
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
    /* a launch with several kernels began with the first */
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

#define NSYS_SPANS ((size_t) 1 << 20) /* most spans that are kept */

/* The first length of gaps that are closed when spans do not fit, and the
 * factor by which it grows. */
enum { FIRST_MERGE_NS = 100, FASTER = 4 };

/* By device, then by time. */
static int by_start(const void *a, const void *b)
{
    const struct nsys_span *x = a, *y = b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->start != y->start ? x->start < y->start ? -1 : 1
                                : (x->end > y->end) - (x->end < y->end);
}

/* Whether both can become one span: they overlap, or the gap between them is no
 * longer than merge_ns. `later` begins no sooner than span. */
static bool touches(const struct nsys_span *span, const struct nsys_span *later,
                    uint64_t merge_ns)
{
    return span->device == later->device && later->start >= span->start &&
           (later->start <= span->end ||
            (uint64_t) (later->start - span->end) <= merge_ns);
}

/* What `later` adds to the busy time of span. If gaps of span were closed, the
 * part of `later` inside span is assumed to be spread evenly over busy and idle
 * time. */
static uint64_t fresh_in(const struct nsys_span *span,
                         const struct nsys_span *later)
{
    uint64_t len = (uint64_t) (span->end - span->start);
    uint64_t beyond =
        later->end > span->end ? (uint64_t) (later->end - span->end) : 0;
    uint64_t most = later->busy < beyond ? later->busy : beyond;
    double inside = (double) (later->busy - most);

    /* no overlap: all of it is new */
    if (later->start >= span->end)
        return later->busy;
    /* no closed gaps: only what extends the span is new */
    if (span->busy >= len)
        return most;
    return most +
           (uint64_t) (inside * (1 - (double) span->busy / (double) len));
}

/* Extends span by `later`. */
static void join(struct nsys_span *span, const struct nsys_span *later)
{
    span->busy += fresh_in(span, later);
    span->end = span->end > later->end ? span->end : later->end;
}

/* Joins neighbours. The spans are sorted. */
static void merge(struct nsys_busy *busy)
{
    size_t n = 0;

    for (size_t i = 1; i < busy->n; i++)
        if (touches(&busy->at[n], &busy->at[i], busy->merge_ns))
            join(&busy->at[n], &busy->at[i]);
        else
            busy->at[++n] = busy->at[i];
    busy->n = busy->n ? n + 1 : 0;
}

/* Sorts, unless the spans are sorted already, and joins. */
void nsys_busy_settle(struct nsys_busy *busy)
{
    size_t i = 1;

    /* rows of an export are often sorted already */
    while (i < busy->n && by_start(&busy->at[i - 1], &busy->at[i]) <= 0)
        i++;
    if (i < busy->n)
        qsort(busy->at, busy->n, sizeof(*busy->at), by_start);
    merge(busy);
}

/* Closes longer and longer gaps until half of the room is free. */
static void shrink(struct nsys_busy *busy, size_t most)
{
    nsys_busy_settle(busy);
    while (busy->n > most / 2) {
        busy->merge_ns = busy->merge_ns ? FASTER * busy->merge_ns
                                        : FIRST_MERGE_NS;
        merge(busy);
    }
}

int nsys_busy_add(struct nsys_busy *busy, uint32_t device, int64_t start,
                  int64_t end)
{
    const struct nsys_span span = {start, end, (uint64_t) (end - start),
                                   device};
    size_t most = busy->most ? busy->most : NSYS_SPANS;

    /* most activities follow the last one closely */
    if (busy->n && touches(&busy->at[busy->n - 1], &span, busy->merge_ns)) {
        join(&busy->at[busy->n - 1], &span);
        return 0;
    }
    /* make room for at least half of the spans */
    if (busy->n >= most)
        shrink(busy, most);
    if (busy->n == busy->room) {
        size_t room = busy->room ? 2 * busy->room : 1024;
        struct nsys_span *more = reallocarray(busy->at, room, sizeof(*more));

        if (!more)
            return -1;
        busy->at = more;
        busy->room = room;
    }
    busy->at[busy->n++] = span;
    return 0;
}

/* Welford's method: mean and squared deviations are updated by each value. */
void nsys_sum_add(struct nsys_sum *sum, uint64_t value)
{
    double delta = (double) value - sum->mean;

    /* an empty sum has no least value */
    sum->min = sum->n && sum->min < value ? sum->min : value;
    sum->max = sum->max > value ? sum->max : value;
    sum->n++;
    sum->total = num_add(sum->total, value);
    sum->mean += delta / (double) sum->n;
    sum->squares += delta * ((double) value - sum->mean);
}

/* Chan's formula for two sets. */
void nsys_sum_merge(struct nsys_sum *sum, const struct nsys_sum *other)
{
    double a = (double) sum->n, b = (double) other->n, n = a + b;
    double delta = other->mean - sum->mean;

    /* nothing to merge, and no division by zero */
    if (!other->n)
        return;
    sum->min = sum->n && sum->min < other->min ? sum->min : other->min;
    sum->max = sum->max > other->max ? sum->max : other->max;
    sum->n = num_add(sum->n, other->n);
    sum->total = num_add(sum->total, other->total);
    sum->mean += delta * b / n;
    sum->squares += other->squares + delta * delta * a * b / n;
}

double nsys_sum_average(const struct nsys_sum *sum)
{
    return sum->n ? (double) sum->total / (double) sum->n : 0;
}

double nsys_sum_deviation(const struct nsys_sum *sum)
{
    return sum->n > 1 && sum->squares > 0
               ? sqrt(sum->squares / (double) (sum->n - 1))
               : 0;
}

/* FNV-1a, with the upper bits mixed into the lower ones. */
static uint64_t hash_of(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *name; name++)
        hash = (hash ^ (unsigned char) *name) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

/* The slot of the name, or the free slot where it belongs. */
static size_t find_slot(const struct nsys_names *names, const char *name)
{
    size_t mask = names->n_slots - 1, i = hash_of(name) & mask;

    while (names->slots[i] && strcmp(names->at[names->slots[i] - 1], name) != 0)
        i = (i + 1) & mask;
    return i;
}

/* Doubles the slots. Returns -1 without memory. */
static int grow(struct nsys_names *names)
{
    struct nsys_names bigger = *names;

    bigger.n_slots = names->n_slots ? 2 * names->n_slots : 64;
    bigger.slots = calloc(bigger.n_slots, sizeof(*bigger.slots));
    if (!bigger.slots)
        return -1;
    for (size_t i = 0; i < names->n; i++)
        bigger.slots[find_slot(&bigger, names->at[i])] = (uint32_t) i + 1;
    free(names->slots);
    *names = bigger;
    return 0;
}

int64_t nsys_names_find(const struct nsys_names *names, const char *name)
{
    return names->n ? (int64_t) names->slots[find_slot(names, name)] - 1 : -1;
}

int64_t nsys_names_put(struct nsys_names *names, const char *name)
{
    size_t slot;

    /* at most half full */
    if (2 * names->n >= names->n_slots && grow(names) < 0)
        return -1;
    slot = find_slot(names, name);
    if (names->slots[slot])
        return names->slots[slot] - 1;
    /* slots hold number + 1 in 32 bits */
    if (names->n == UINT32_MAX - 1)
        return -1;
    if (names->n == names->room) {
        size_t room = names->room ? 2 * names->room : 64;
        char **more = reallocarray(names->at, room, sizeof(*more));

        if (!more)
            return -1;
        names->at = more;
        names->room = room;
    }
    names->at[names->n] = strdup(name);
    if (!names->at[names->n])
        return -1;
    names->slots[slot] = (uint32_t) ++names->n;
    return (int64_t) names->n - 1;
}

void nsys_names_fini(struct nsys_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->at[i]);
    free(names->at);
    free(names->slots);
    *names = (struct nsys_names){0};
}
