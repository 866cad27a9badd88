/* intervals.c - the longest times of a process between its operations.
 *
 * Way through: intervals_add, which keeps an interval (keep_interval) or
 * shortens those during which an operation began that came later (shorten), and
 * cuts the list when it is full. */
#include "orchestrator/aggregate/intervals.h"

#include <stdlib.h>
#include <string.h>

#include "common/vector.h"

#define BINS_AN_INTERVAL 4

struct intervals *intervals_create(uint64_t bins)
{
    struct intervals *p = calloc(1, sizeof(*p));
    uint64_t most = bins / BINS_AN_INTERVAL;

    if (!p)
        return NULL;
    p->most = most < INTERVALS_LEAST  ? INTERVALS_LEAST
              : most > INTERVALS_MOST ? INTERVALS_MOST
                                      : (size_t) most;
    p->own = strip_create(bins < INTERVALS_BINS ? bins : INTERVALS_BINS);
    if (p->own && strip_new_key(p->own, "", "", STRIP_SMALL, false))
        return p;
    intervals_destroy(p);
    return NULL;
}

void intervals_destroy(struct intervals *p)
{
    if (!p)
        return;
    strip_destroy(p->own);
    free(p->at);
    free(p->series);
    free(p);
}

/* --- own time, in all and by bins ----------------------------------------- */

/* Bins do not become as wide as a clock that is set may jump. */
static bool is_real(uint64_t from_us, uint64_t to_us)
{
    return to_us > from_us && to_us - from_us <= RECORD_MAX_TIME_US;
}

static void add_own(struct intervals *p, uint64_t from_us, uint64_t to_us)
{
    p->own_us += to_us - from_us;
    if (is_real(from_us, to_us))
        strip_add_time(p->own, 0, from_us, to_us);
}

/* Takes what of from..to lies within start..end. */
static void take_own(struct intervals *p, uint64_t from_us, uint64_t to_us,
                     uint64_t start, uint64_t end)
{
    uint64_t low = from_us > start ? from_us : start;
    uint64_t high = to_us < end ? to_us : end;

    if (high <= low)
        return;
    p->own_us -= high - low;
    if (is_real(from_us, to_us))
        strip_take_time(p->own, 0, low, high);
}

/* --- which are kept ------------------------------------------------------- */

static uint64_t length_of(const struct interval *x)
{
    return x->to_us - x->from_us;
}

static int longer_first(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

    return x > y ? -1 : x < y;
}

/* Leaves no more than `most`, the longest. 0, or -1: no memory. */
static int drop_shorter(struct intervals *p)
{
    size_t kept = 0;

    if (p->n > p->most) {
        uint64_t *us = malloc(p->n * sizeof(*us));

        if (!us)
            return -1;
        for (size_t i = 0; i < p->n; i++)
            us[i] = length_of(&p->at[i]);
        qsort(us, p->n, sizeof(*us), longer_first);
        /* of equal ones none is kept, so that no order decides */
        if (us[p->most] > p->least_us)
            p->least_us = us[p->most];
        free(us);
    }
    for (size_t i = 0; i < p->n; i++)
        if (length_of(&p->at[i]) > p->least_us)
            p->at[kept++] = p->at[i];
    p->n = kept;
    return 0;
}

int intervals_cut(struct intervals *p)
{
    if (drop_shorter(p) < 0)
        return -1;
    /* thousands of processes have room for many times what is left */
    if (vector_resize(&p->at, p->n + 1, sizeof(*p->at)) < 0)
        return -1;
    p->room = p->n + 1;
    return 0;
}

struct intervals *intervals_copy(const struct intervals *from)
{
    struct intervals *p;

    if (vector_copy(&p, from, 1, sizeof(*p)) < 0)
        return NULL;
    p->at = NULL;
    p->series = NULL;
    p->room = p->n;
    p->own = strip_copy(from->own);
    if (p->own && vector_copy(&p->at, from->at, p->n, sizeof(*p->at)) == 0 &&
        vector_copy(&p->series, from->series, p->n_series,
                    sizeof(*p->series)) == 0)
        return p;
    intervals_destroy(p);
    return NULL;
}

/* Returns the series of a record, added if needed; UINT32_MAX: unknown. -1 in
 * *rc: no memory. */
static uint32_t series_get(struct intervals *p, const struct record *r, int *rc)
{
    struct timeline_series *s;

    if (r->id.len > RECORD_MAX_ID || r->func.len > RECORD_MAX_FUNC)
        return UINT32_MAX;
    for (uint32_t i = 0; i < p->n_series; i++) {
        s = &p->series[i];
        if (s->rank == r->rank && s->n_ranks == r->n_ranks &&
            s->nnodes == r->nnodes && s->p2p == r->p2p &&
            record_text_is(s->func, &r->func) && record_text_is(s->id, &r->id))
            return i;
    }
    if (p->n_series == TIMELINE_SERIES)
        return UINT32_MAX;
    s = VECTOR_DOUBLE_ADD(p->series, p->n_series);
    if (!s) {
        *rc = -1;
        return UINT32_MAX;
    }
    *s = (struct timeline_series){.n_ranks = r->n_ranks,
                                  .nnodes = r->nnodes,
                                  .rank = r->rank,
                                  .p2p = r->p2p};
    if (r->id.len)
        memcpy(s->id, r->id.text, r->id.len);
    if (r->func.len)
        memcpy(s->func, r->func.text, r->func.len);
    return p->n_series - 1;
}

/* Keeps an interval that a record ended. 0, or -1: no memory. */
static int keep_interval(struct intervals *p, uint64_t from_us,
                         const struct record *r)
{
    size_t room = p->most + p->most / 2;
    int rc = 0;

    if (p->n >= room && drop_shorter(p) < 0)
        return -1;
    if (r->start_us - from_us <= p->least_us)
        return 0;
    if (VECTOR_ROOM(p->at, p->n + 1, p->room) < 0)
        return -1;
    p->at[p->n++] = (struct interval){
        .from_us = from_us,
        .to_us = r->start_us,
        .sn = r->sn,
        .nth = p->ops < UINT32_MAX ? (uint32_t) p->ops : UINT32_MAX,
        .series = series_get(p, r, &rc)};
    return rc;
}

/* --- records that come late ----------------------------------------------- */

/* Takes the time of an operation from the kept intervals: what is before it
 * now ends with it. Of an interval that goes on after it the longer part is
 * left. 0, or -1: no memory. */
static int shorten(struct intervals *p, const struct record *r, uint64_t end)
{
    int rc = 0;

    for (size_t i = p->n; i-- > 0 && p->at[i].to_us > r->start_us;) {
        struct interval *x = &p->at[i];
        uint64_t start = r->start_us > x->from_us ? r->start_us : x->from_us;

        if (end <= x->from_us)
            continue;
        if (x->to_us > end && x->to_us - end > start - x->from_us) {
            x->from_us = end;
            continue;
        }
        x->to_us = start;
        x->sn = r->sn;
        x->series = series_get(p, r, &rc);
    }
    return rc;
}

int intervals_add(struct intervals *p, const struct record *r)
{
    uint64_t seen = r->end_us > r->start_us ? r->end_us - r->start_us : 0;
    uint64_t us = seen > r->exec_us ? seen : r->exec_us;
    uint64_t start = r->start_us, end = start + us;
    int rc = 0;

    if (us > RECORD_MAX_TIME_US || start > INT64_MAX || end > INT64_MAX)
        return 0; /* no real time */
    if (!p->ops) {
        p->first_us = start;
        p->clock_us = start;
    }
    if (start > p->clock_us) {
        p->last_from_us = p->clock_us;
        p->last_to_us = start;
        add_own(p, p->clock_us, start);
        if (start - p->clock_us > p->least_us)
            rc = keep_interval(p, p->clock_us, r);
    } else if (start < p->last_to_us) {
        take_own(p, p->last_from_us, p->last_to_us, start, end);
        if (start > p->last_from_us)
            p->last_to_us = start;
        else
            p->last_to_us = p->last_from_us;
        rc = shorten(p, r, end);
    }
    p->ops++;
    if (start < p->first_us)
        p->first_us = start;
    if (end > p->clock_us)
        p->clock_us = end;
    if (us > p->waits[p->shortest].us) {
        p->waits[p->shortest] = (struct interval_wait){us, end};
        for (unsigned i = 0; i < INTERVALS_WAITS; i++)
            if (p->waits[i].us < p->waits[p->shortest].us)
                p->shortest = i;
    }
    return rc;
}

/* --- pieces --------------------------------------------------------------- */

static struct record_text text_of(const char *text)
{
    return (struct record_text){text, strlen(text)};
}

/* Returns the operation that ended an interval, as far as it is kept. */
static struct record record_of(const struct intervals *p,
                               const struct interval *x)
{
    struct record r = {.sn = x->sn, .start_us = x->to_us};

    if (x->series != UINT32_MAX) {
        const struct timeline_series *s = &p->series[x->series];

        r.id = text_of(s->id);
        r.func = text_of(s->func);
        r.n_ranks = s->n_ranks;
        r.nnodes = s->nnodes;
        r.rank = s->rank;
        r.p2p = s->p2p;
    } else {
        r.id.len = RECORD_MAX_ID + 1; /* which no series has */
    }
    return r;
}

int intervals_join(struct intervals *into, const struct intervals *next)
{
    uint64_t before = into->ops;

    if (!next->ops)
        return 0;
    if (strip_join(into->own, next->own) < 0)
        return -1;
    into->own_us += next->own_us;
    if (next->least_us > into->least_us)
        into->least_us = next->least_us;
    /* between both, by an operation that is not known any more */
    if (before && next->first_us > into->clock_us) {
        const struct interval gap = {.to_us = next->first_us,
                                     .series = UINT32_MAX};
        const struct record r = record_of(next, &gap);

        add_own(into, into->clock_us, next->first_us);
        if (keep_interval(into, into->clock_us, &r) < 0)
            return -1;
    }
    for (size_t i = 0; i < next->n; i++) {
        const struct interval *x = &next->at[i];
        const struct record r = record_of(next, x);
        uint64_t from = x->from_us;

        /* the last operations of the piece before may last longer */
        if (before && into->clock_us > from)
            from = into->clock_us < x->to_us ? into->clock_us : x->to_us;
        take_own(into, x->from_us, x->to_us, x->from_us, from);
        into->ops = before + x->nth;
        if (x->to_us - from > into->least_us &&
            keep_interval(into, from, &r) < 0)
            return -1;
    }
    into->ops = before + next->ops;
    into->first_us = before && into->first_us < next->first_us ? into->first_us
                                                               : next->first_us;
    if (!before || next->clock_us > into->clock_us)
        into->clock_us = next->clock_us;
    /* what is not kept may have been shortened, too */
    if (into->own_us > into->clock_us - into->first_us)
        into->own_us = into->clock_us - into->first_us;
    into->last_from_us = next->last_from_us;
    into->last_to_us = next->last_to_us;
    for (unsigned i = 0; i < INTERVALS_WAITS; i++)
        if (next->waits[i].us > into->waits[into->shortest].us) {
            into->waits[into->shortest] = next->waits[i];
            for (unsigned k = 0; k < INTERVALS_WAITS; k++)
                if (into->waits[k].us < into->waits[into->shortest].us)
                    into->shortest = k;
        }
    return 0;
}

uint64_t intervals_longest_wait(const struct intervals *p, double after)
{
    uint64_t longest = 0;
    double from = (double) p->first_us +
                  after * (double) (p->clock_us - p->first_us);

    for (unsigned i = 0; i < INTERVALS_WAITS; i++)
        if ((double) p->waits[i].end_us > from && p->waits[i].us > longest)
            longest = p->waits[i].us;
    return longest;
}
