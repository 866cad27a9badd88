/* result_busy.c - each process' busy time, in slices that all share. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/result_build.h"

#define MAX_SLICES 200
#define UNTIMED_SHARE 100 /* one in so many may lack start or end */

/* A process' file. */
struct source {
    const struct busy *busy;
    uint64_t untimed;
};

static int by_process(const void *a, const void *b)
{
    const struct source *x = a, *y = b;
    int order = strcmp(x->busy->host, y->busy->host);

    return order                         ? order
           : x->busy->pid < y->busy->pid ? -1
                                         : x->busy->pid > y->busy->pid;
}

static struct source *list_sources(struct build *b, size_t *n)
{
    struct source *list = calloc(b->walk->n_logs + 1, sizeof(*list));

    for (size_t i = 0; list && i < b->walk->n_logs; i++) {
        const struct join_file *f = &b->files[i];

        if (f->busy && f->busy->timed)
            list[(*n)++] = (struct source){f->busy, f->unstamped};
        else
            b->result->busy_silent += f->unstamped > 0;
    }
    if (list && *n)
        qsort(list, *n, sizeof(*list), by_process);
    return list;
}

static bool is_told(const struct jp_busy *row)
{
    return row->state == JP_BUSY_TOLD;
}

/* A row of each process; at[i] is the source of row i. */
static int make_rows(struct jp_result *r, const struct source *list, size_t n,
                     const struct busy **at)
{
    for (size_t i = 0; i < n; i++) {
        const struct busy *busy = list[i].busy;
        struct jp_busy *row = r->n_busy ? &r->busy[r->n_busy - 1] : NULL;

        if (i && by_process(&list[i - 1], &list[i]) == 0) {
            row->state = JP_BUSY_SEVERAL;
            row->timed += busy->timed;
            row->untimed += list[i].untimed;
            continue;
        }
        at[r->n_busy] = busy;
        row = &r->busy[r->n_busy++];
        *row = (struct jp_busy){.host = strdup(busy->host),
                                .pid = busy->pid,
                                .timed = busy->timed,
                                .untimed = list[i].untimed,
                                .state = busy->mixed     ? JP_BUSY_MIXED
                                         : busy->clipped ? JP_BUSY_ORDER
                                         : list[i].untimed >
                                                 busy->timed / UNTIMED_SHARE
                                             ? JP_BUSY_UNTIMED
                                             : JP_BUSY_TOLD};
        if (!row->host)
            return -1;
    }
    return 0;
}

/* The narrowest slices, all alike, of which there are few enough. Returns their
 * logarithm. */
static unsigned find_slices(struct jp_result *r, const struct busy *const *at)
{
    uint64_t first = UINT64_MAX, last = 0;
    unsigned shift = 0;

    for (size_t i = 0; i < r->n_busy; i++)
        if (is_told(&r->busy[i]) && at[i]->slots.n) {
            const struct busy_slots *s = &at[i]->slots;
            uint64_t begin = s->first << s->shift;
            uint64_t end = (s->first + s->n) << s->shift;

            shift = s->shift > shift ? s->shift : shift;
            first = begin < first ? begin : first;
            last = end - 1 > last ? end - 1 : last;
        }
    if (first > last)
        return 0;
    while ((last >> shift) - (first >> shift) >= MAX_SLICES)
        shift++;
    r->n_busy_slices = (size_t) ((last >> shift) - (first >> shift)) + 1;
    r->busy_slice_us = UINT64_C(1) << shift;
    r->busy_from_us = first >> shift << shift;
    return shift;
}

static void fill_row(struct jp_result *r, size_t i, const struct busy *busy,
                     unsigned shift)
{
    struct busy_slots s = busy->slots;
    struct jp_busy *row = &r->busy[i];
    uint64_t *slices = r->busy_slices + i * r->n_busy_slices;

    row->slice_us = slices;
    if (!is_told(row))
        return;
    row->from_us = busy->from_us;
    row->to_us = busy->to_us;
    busy_slots_widen(&s, shift);
    for (unsigned k = 0; k < s.n; k++) {
        slices[s.first - (r->busy_from_us >> shift) + k] = s.us[k];
        row->busy_us += s.us[k];
    }
}

int result_busy(struct build *b)
{
    struct jp_result *r = b->result;
    size_t n = 0;
    struct source *list = list_sources(b, &n);
    const struct busy **at = calloc(n + 1, sizeof(*at));
    unsigned shift;
    int rc = -1;

    r->busy = calloc(n + 1, sizeof(*r->busy));
    if (!list || !at || !r->busy || make_rows(r, list, n, at) < 0)
        goto out;
    shift = find_slices(r, at);
    r->busy_slices =
        calloc(r->n_busy * r->n_busy_slices + 1, sizeof(*r->busy_slices));
    if (!r->busy_slices)
        goto out;
    for (size_t i = 0; i < r->n_busy; i++)
        fill_row(r, i, at[i], shift);
    rc = 0;
out:
    free(list);
    free(at);
    return rc;
}
