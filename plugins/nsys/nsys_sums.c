/* nsys_sums.c - the containers of an export's reader: sums, names, busy spans,
 * meanings and launches.
 *
 * In this order: meanings (numbers of the export to lines), launches (when a
 * kernel began), busy (spans of GPUs), sums, and names. */
#include "plugins/nsys/nsys_read.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/num.h"
#include "common/vector.h"

/* Most launches that are kept: with their table some 60 MiB. */
#define NSYS_LAUNCHES ((size_t) 3 << 19)

struct nsys_meaning *nsys_meaning_get(struct nsys_meanings *m, int64_t id)
{
    uint64_t hash = hash_word(hash_start(), (uint64_t) id);
    uint32_t at;

    for (size_t i = 0; (at = hash_next(&m->table, hash, &i)) != HASH_NONE;)
        if (m->at[at].id == id)
            return &m->at[at];
    if (m->n >= HASH_NONE - 1 || VECTOR_ROOM(m->at, m->n + 1, m->room) < 0 ||
        hash_add(&m->table, hash, (uint32_t) m->n) < 0)
        return NULL;
    m->at[m->n] = (struct nsys_meaning){.id = id};
    return &m->at[m->n++];
}

void nsys_meanings_fini(struct nsys_meanings *m)
{
    free(m->at);
    hash_fini(&m->table);
    *m = (struct nsys_meanings){0};
}

/* The launch with the key, or NULL. */
static struct nsys_launch *find_launch(const struct nsys_launches *l,
                                       uint64_t hash, uint64_t key)
{
    uint32_t at;

    for (size_t i = 0; (at = hash_next(&l->table, hash, &i)) != HASH_NONE;)
        if (l->at[at].key == key)
            return &l->at[at];
    return NULL;
}

int nsys_launch_keep(struct nsys_launches *l, uint64_t key, int64_t start)
{
    uint64_t hash = hash_word(hash_start(), key);
    struct nsys_launch *at = find_launch(l, hash, key);

    if (at) {
        /* a launch with several kernels began with the first */
        if (start < at->start)
            at->start = start;
        return 0;
    }
    /* further launches are not kept, and counted by the caller */
    if (l->n == NSYS_LAUNCHES)
        return 1;
    if (VECTOR_ROOM(l->at, l->n + 1, l->room) < 0 ||
        hash_add(&l->table, hash, (uint32_t) l->n) < 0)
        return -1;
    l->at[l->n++] = (struct nsys_launch){key, start};
    return 0;
}

const struct nsys_launch *nsys_launch_find(const struct nsys_launches *l,
                                           uint64_t key)
{
    return find_launch(l, hash_word(hash_start(), key), key);
}

void nsys_launches_fini(struct nsys_launches *l)
{
    free(l->at);
    hash_fini(&l->table);
    *l = (struct nsys_launches){0};
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
static void join_span(struct nsys_span *span, const struct nsys_span *later)
{
    span->busy += fresh_in(span, later);
    span->end = span->end > later->end ? span->end : later->end;
}

/* Joins neighbours. The spans are sorted. */
static void merge_busy(struct nsys_busy *busy)
{
    size_t n = 0;

    for (size_t i = 1; i < busy->n; i++)
        if (touches(&busy->at[n], &busy->at[i], busy->merge_ns))
            join_span(&busy->at[n], &busy->at[i]);
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
    merge_busy(busy);
}

/* Closes longer and longer gaps until half of the room is free. */
static void shrink_busy(struct nsys_busy *busy, size_t most)
{
    nsys_busy_settle(busy);
    while (busy->n > most / 2) {
        busy->merge_ns = busy->merge_ns ? FASTER * busy->merge_ns
                                        : FIRST_MERGE_NS;
        merge_busy(busy);
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
        join_span(&busy->at[busy->n - 1], &span);
        return 0;
    }
    /* make room for at least half of the spans */
    if (busy->n >= most)
        shrink_busy(busy, most);
    if (VECTOR_ROOM(busy->at, busy->n + 1, busy->room) < 0)
        return -1;
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

/* The number of the name, or HASH_NONE. */
static uint32_t find_name(const struct nsys_names *names, uint64_t hash,
                          const char *name)
{
    uint32_t at;

    for (size_t i = 0; (at = hash_next(&names->table, hash, &i)) != HASH_NONE;)
        if (strcmp(names->at[at], name) == 0)
            break;
    return at;
}

int64_t nsys_names_find(const struct nsys_names *names, const char *name)
{
    uint32_t at = find_name(names, hash_text(hash_start(), name), name);

    return at == HASH_NONE ? -1 : (int64_t) at;
}

int64_t nsys_names_put(struct nsys_names *names, const char *name)
{
    uint64_t hash = hash_text(hash_start(), name);
    uint32_t at = find_name(names, hash, name);
    char *copy;

    if (at != HASH_NONE)
        return (int64_t) at;
    /* the table holds indices of 32 bits */
    if (names->n >= UINT32_MAX - 1 ||
        VECTOR_ROOM(names->at, names->n + 1, names->room) < 0)
        return -1;
    copy = strdup(name);
    if (!copy || hash_add(&names->table, hash, (uint32_t) names->n) < 0) {
        free(copy);
        return -1;
    }
    names->at[names->n] = copy;
    return (int64_t) names->n++;
}

void nsys_names_fini(struct nsys_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->at[i]);
    free(names->at);
    hash_fini(&names->table);
    *names = (struct nsys_names){0};
}
