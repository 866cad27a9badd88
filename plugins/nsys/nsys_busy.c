/* nsys_busy.c - see nsys_busy.h. */
#include "plugins/nsys/nsys_busy.h"

#include <stdbool.h>
#include <stdlib.h>

enum { FIRST_MERGE_NS = 100, FASTER = 4 };

static int by_start(const void *a, const void *b)
{
    const struct nsys_span *x = a, *y = b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->start != y->start ? x->start < y->start ? -1 : 1
                                : (x->end > y->end) - (x->end < y->end);
}

/* later begins no sooner than span; may they be one? */
static bool touches(const struct nsys_span *span, const struct nsys_span *later,
                    uint64_t merge_ns)
{
    return span->device == later->device && later->start >= span->start &&
           (later->start <= span->end ||
            (uint64_t) (later->start - span->end) <= merge_ns);
}

/* What later adds to the busy time of span. Where gaps of span were closed it
 * is as likely to lie in them as anywhere. */
static uint64_t fresh_in(const struct nsys_span *span,
                         const struct nsys_span *later)
{
    uint64_t len = (uint64_t) (span->end - span->start);
    uint64_t beyond =
        later->end > span->end ? (uint64_t) (later->end - span->end) : 0;
    uint64_t most = later->busy < beyond ? later->busy : beyond;
    double inside = (double) (later->busy - most);

    if (later->start >= span->end)
        return later->busy;
    if (span->busy >= len)
        return most;
    return most +
           (uint64_t) (inside * (1 - (double) span->busy / (double) len));
}

static void join(struct nsys_span *span, const struct nsys_span *later)
{
    span->busy += fresh_in(span, later);
    span->end = span->end > later->end ? span->end : later->end;
}

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

void nsys_busy_settle(struct nsys_busy *busy)
{
    size_t i = 1;

    while (i < busy->n && by_start(&busy->at[i - 1], &busy->at[i]) <= 0)
        i++;
    if (i < busy->n)
        qsort(busy->at, busy->n, sizeof(*busy->at), by_start);
    merge(busy);
}

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

    if (busy->n && touches(&busy->at[busy->n - 1], &span, busy->merge_ns)) {
        join(&busy->at[busy->n - 1], &span);
        return 0;
    }
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

void nsys_busy_fini(struct nsys_busy *busy)
{
    free(busy->at);
    *busy = (struct nsys_busy){0};
}
