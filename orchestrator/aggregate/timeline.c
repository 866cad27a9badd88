/* timeline.c - what a process did: each operation, up to a limit.
 *
 * timeline.h has the ideas. A timeline is packed as bytes, operation by
 * operation (put_event), each as differences to the operation before it in its
 * series. timeline_next unpacks them again. */
#include "orchestrator/aggregate/timeline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/record.h"
#include "common/vector.h"
#include "orchestrator/aggregate/intervals.h"
#include "plugins/nccl_recorder/jpr_frame.h"

/* a run of many processes has a short timeline of each */
enum { FIRST_ROOM = 512 };
/* The first width of an order's bins: 4 ms. */
enum { ORDER_SHIFT = 12 };

struct timeline *timeline_create(uint64_t limit, uint64_t bins)
{
    struct timeline *timeline = calloc(1, sizeof(*timeline));

    if (!timeline)
        return NULL;
    timeline->limit = limit;
    timeline->pid = -1; /* unknown yet */
    timeline->host = strdup("");
    if (!timeline->host) {
        timeline_destroy(timeline);
        return NULL;
    }
    if (bins && (!(timeline->strip = strip_create(bins)) ||
                 !(timeline->intervals = intervals_create(bins)))) {
        timeline_destroy(timeline);
        return NULL;
    }
    return timeline;
}

struct timeline *timeline_create_order(uint64_t limit, uint64_t bins)
{
    struct timeline *order = timeline_create(limit, 0);

    if (order && bins &&
        (!(order->strip = strip_create(bins)) ||
         !strip_new_key(order->strip, "", "", STRIP_SMALL, false) ||
         !strip_new_key(order->strip, "", "", STRIP_MEDIUM, false))) {
        timeline_destroy(order);
        return NULL;
    }
    /* records are written every 10 ms at most, and bins that become wider cost
     * time */
    if (order && order->strip)
        order->strip->shift = ORDER_SHIFT;
    return order;
}

void timeline_add_time(struct timeline *order, uint64_t time_us,
                       uint64_t end_us)
{
    if (end_us && time_us <= RECORD_MAX_TIME_US && end_us <= INT64_MAX) {
        const uint64_t amounts[TIMELINE_ORDER_KEYS] = {
            [TIMELINE_ORDER_US] = time_us, [TIMELINE_ORDER_OPS] = 1};

        if (order->strip)
            strip_add_at(order->strip, end_us, amounts, TIMELINE_ORDER_KEYS);
        return;
    }
    strip_destroy(order->strip);
    order->strip = NULL;
}

void timeline_destroy(struct timeline *timeline)
{
    if (!timeline)
        return;
    strip_destroy(timeline->strip);
    intervals_destroy(timeline->intervals);
    free(timeline->host);
    free(timeline->series);
    free(timeline->states);
    free(timeline->known);
    hash_fini(&timeline->table);
    free(timeline->bytes);
    free(timeline);
}

/* ----------------------------------------------------------------- series */

static struct record_text text_of(const char *text)
{
    return (struct record_text){text, strlen(text)};
}

/* A hash of what makes a series. Ids differ in their last characters. */
static uint64_t hash_of(struct record_text name, struct record_text f,
                        uint32_t rank)
{
    uint64_t id = 0, func = 0;
    size_t n = name.len < 8 ? name.len : 8;

    if (n) /* otherwise the text may be NULL */
        memcpy(&id, name.text + name.len - n, n);
    if (f.len)
        memcpy(&func, f.text, f.len < 8 ? f.len : 8);
    return hash_word(hash_word(hash_word(hash_start(), id), func), rank);
}

/* Whether a record is of a series. */
static bool is_series(const struct timeline_series *s, const struct record *r)
{
    return s->rank == r->rank && s->n_ranks == r->n_ranks &&
           s->nnodes == r->nnodes && s->p2p == r->p2p &&
           record_text_is(s->id, &r->id) && record_text_is(s->func, &r->func);
}

/* The record's series. NULL: there are too many (*full), or no memory. */
static struct timeline_series *series_get(struct timeline *t,
                                          const struct record *r, bool *full)
{
    uint64_t hash = hash_of(r->id, r->func, r->rank);
    struct timeline_series *s;
    uint32_t at;

    *full = false;
    for (size_t i = 0; (at = hash_next(&t->table, hash, &i)) != HASH_NONE;)
        if (is_series(&t->series[at], r))
            return &t->series[at];
    *full = t->n_series == TIMELINE_SERIES || r->id.len > RECORD_MAX_ID ||
            r->func.len > RECORD_MAX_FUNC;
    if (*full ||
        VECTOR_ROOM(t->series, (size_t) t->n_series + 1, t->room_series) < 0 ||
        VECTOR_ROOM(t->states, (size_t) t->n_series + 1, t->room_states) < 0 ||
        hash_add(&t->table, hash, t->n_series) < 0)
        return NULL;
    t->states[t->n_series] = (struct timeline_state){0};
    s = &t->series[t->n_series++];
    *s = (struct timeline_series){.n_ranks = r->n_ranks,
                                  .nnodes = r->nnodes,
                                  .rank = r->rank,
                                  .p2p = r->p2p,
                                  .low = UINT64_MAX};
    /* the rest is zeros, which end the texts */
    memcpy(s->id, r->id.text, r->id.len);
    memcpy(s->func, r->func.text, r->func.len);
    return s;
}

/* ----------------------------------------------------------------- events */

/* As jpr_put_u64 and jpr_put_delta, without a check, because there is room. A
 * timeline takes every record of a run, and this is most of its cost.
 */
static inline uint8_t *put_u64(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t) (value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t) value;
    return at;
}

static inline uint8_t *put_delta(uint8_t *at, uint64_t value, uint64_t base)
{
    int64_t delta = (int64_t) (value - base);

    return put_u64(at, ((uint64_t) delta << 1) ^ (uint64_t) (delta >> 63));
}

/* Packs an operation and keeps what the next one of its series refers to. */
static void put_event(struct timeline *t, struct timeline_series *s,
                      const struct record *r)
{
    struct timeline_state *last = &t->states[s - t->series];
    uint64_t seen = r->end_us > r->start_us ? r->end_us - r->start_us : 0;
    uint8_t *at = t->bytes + t->used;

    at = put_u64(at, (uint64_t) (s - t->series));
    at = put_delta(at, r->start_us, t->last_us);
    /* a host that looks late may see start and end at once; the GPU's time is
     * right */
    at = put_u64(at, seen > r->exec_us ? seen : r->exec_us);
    at = put_delta(at, r->sn, last->sn + 1);
    at = put_delta(at, r->bytes, last->bytes);
    if (s->p2p)
        at = put_delta(at, r->peer, last->peer);
    t->used = (size_t) (at - t->bytes);
    t->last_us = r->start_us; /* the next one's base */
    if (!t->n)
        t->first_us = r->start_us;
    s->low = r->sn < s->low ? r->sn : s->low;
    s->high = r->sn > s->high ? r->sn : s->high;
    *last = (struct timeline_state){r->sn, r->bytes, r->peer};
}

/* Whether a record names the timeline's host. */
static bool is_host(const struct timeline *t, const struct record_text *host)
{
    /* without a length the text may be NULL */
    return strlen(t->host) <= host->len &&
           (!host->len || !strncmp(t->host, host->text, host->len));
}

/* Notes the process of the first record, and whether a later record is of
 * another one. 0, or -1: no memory. */
static int note_process(struct timeline *t, const struct record *r)
{
    if (!t->n && !t->left) {
        char *host = r->host.len /* otherwise the text may be NULL */
                         ? strndup(r->host.text, r->host.len < RECORD_MAX_HOST
                                                     ? r->host.len
                                                     : RECORD_MAX_HOST)
                         : strdup("");

        if (!host)
            return -1;
        free(t->host);
        t->host = host;
        t->pid = r->pid;
        t->instance = r->instance;
        return 0;
    }
    t->mixed |= t->pid != r->pid || t->instance != r->instance ||
                !is_host(t, &r->host);
    return 0;
}

int timeline_add(struct timeline *t, const struct record *r)
{
    uint64_t slot = (r->series ^ r->series >> 5) % TIMELINE_KNOWN;
    struct timeline_known *known;
    struct timeline_series *s;
    bool is_known, full;

    if (!t->known && !(t->known = calloc(TIMELINE_KNOWN, sizeof(*t->known))))
        return -1;
    known = &t->known[slot];
    is_known = r->series && known->series == r->series;

    /* a known series is of the timeline's process */
    if (!is_known && note_process(t, r) < 0)
        return -1;
    /* the strip of an order is filled by timeline_add_time */
    if (t->intervals &&
        (strip_add(t->strip, r) < 0 || intervals_add(t->intervals, r) < 0))
        return -1;
    /* after the first operation that is left out all are, so there is no gap */
    if (t->left || t->n >= t->limit) {
        t->left++;
        return 0;
    }
    /* full is set only if series_get is called */
    s = is_known ? &t->series[known->at] : series_get(t, r, &full);
    if (!s && full) {
        t->left++;
        return 0;
    }
    /* room for one more operation, whatever its numbers */
    if (!s ||
        VECTOR_ROOM(t->bytes, t->used + TIMELINE_EVENT_BYTES, t->room) < 0)
        return -1;
    if (r->series && !is_known)
        *known = (struct timeline_known){r->series, (uint32_t) (s - t->series)};
    put_event(t, s, r);
    t->n++;
    return 0;
}

/* Appends the next one's operations; timed: with start and end. 0 or -1. */
static int append_series(struct timeline *into, const struct timeline *next,
                         bool timed)
{
    struct timeline_reader reader;
    struct timeline_event e;
    int rc = timeline_reader_init(&reader, next);

    while (rc == 0 && timeline_next(&reader, &e)) {
        const struct timeline_series *s = &next->series[e.series];
        const struct record r = {.id = text_of(s->id),
                                 .func = text_of(s->func),
                                 .host = text_of(next->host),
                                 .pid = next->pid,
                                 .instance = next->instance,
                                 .n_ranks = s->n_ranks,
                                 .nnodes = s->nnodes,
                                 .rank = s->rank,
                                 .p2p = s->p2p,
                                 .sn = e.sn,
                                 .bytes = e.bytes,
                                 .peer = e.peer,
                                 .exec_us = e.time_us,
                                 .start_us = timed ? e.start_us : 0,
                                 .end_us = timed ? e.start_us + e.time_us : 0};

        /* which cuts at the limit as it does for one file */
        rc = timeline_add(into, &r);
    }
    timeline_reader_fini(&reader);
    if (next->left && !next->n) /* an empty piece does not show its process */
        into->mixed |= into->pid != next->pid || strcmp(into->host, next->host);
    into->left += next->left;
    into->mixed |= next->mixed;
    return rc;
}

int timeline_join(struct timeline *into, const struct timeline *next)
{
    struct strip *strip = into->strip;
    struct intervals *intervals = into->intervals;
    int rc;

    into->strip = NULL; /* both take over the next one's */
    into->intervals = NULL;
    rc = append_series(into, next, true);
    into->strip = strip;
    into->intervals = intervals;
    if (rc == 0 && strip && next->strip) {
        rc = strip_join(strip, next->strip);
    } else if (strip && !intervals) { /* of an order */
        strip_destroy(strip);
        into->strip = NULL;
    }
    if (rc == 0 && intervals && next->intervals)
        rc = intervals_join(intervals, next->intervals);
    return rc;
}

struct timeline *timeline_order(const struct timeline *timed)
{
    struct timeline *order = timeline_create(timed->limit, 0);

    if (!order)
        return NULL;
    order->pid = timed->pid;
    order->instance = timed->instance;
    free(order->host);
    order->host = strdup(timed->host);
    if (order->host && append_series(order, timed, false) == 0)
        return order;
    timeline_destroy(order);
    return NULL;
}

/* -------------------------------------------------------------- at the end */

struct timeline *timeline_copy(const struct timeline *from)
{
    struct timeline *t;

    if (vector_copy(&t, from, 1, sizeof(*t)) < 0)
        return NULL;
    t->known = NULL;
    t->table = (struct hash_table){0};
    t->states = NULL;
    t->room_states = 0;
    t->host = strdup(from->host);
    t->series = NULL;
    t->bytes = NULL;
    t->strip = NULL;
    t->intervals = NULL;
    t->room_series = t->n_series;
    t->room = t->used;
    if (t->host &&
        vector_copy(&t->series, from->series, t->n_series,
                    sizeof(*t->series)) == 0 &&
        vector_copy(&t->bytes, from->bytes, t->used, 1) == 0 &&
        (!from->strip || (t->strip = strip_copy(from->strip))))
        return t;
    timeline_destroy(t);
    return NULL;
}

static int by_host(const void *a, const void *b)
{
    const struct timeline *x = *(struct timeline *const *) a;
    const struct timeline *y = *(struct timeline *const *) b;
    int order = strcmp(x->host, y->host);

    return order ? order : (x->pid > y->pid) - (x->pid < y->pid);
}

size_t timelines_drop_strips(struct timeline **list, size_t n)
{
    size_t rows = 0, kept = n;

    if (n)
        qsort(list, n, sizeof(struct timeline *), by_host);
    for (size_t i = 0; i < kept; i++) {
        const struct timeline *t = list[i];

        /* a row is a process, which may have several timelines */
        rows += t->strip && t->strip->n && !t->mixed &&
                (!i || by_host(&list[i - 1], &list[i]));
        /* ranks decide which processes of the last host have rows */
        if (rows >= STRIP_ROWS &&
            (i + 1 == n || strcmp(list[i + 1]->host, t->host)))
            kept = i + 1;
    }
    for (size_t i = kept; i < n; i++)
        if (list[i]->strip)
            strip_drop_bins(list[i]->strip);
    return kept;
}

/* ---------------------------------------------------------------- reading */

int timeline_reader_init(struct timeline_reader *reader,
                         const struct timeline *timeline)
{
    *reader = (struct timeline_reader){.timeline = timeline,
                                       .at = timeline->bytes,
                                       .end = timeline->bytes + timeline->used};
    reader->states = calloc(timeline->n_series + 1, sizeof(*reader->states));
    return reader->states ? 0 : -1;
}

void timeline_reader_fini(struct timeline_reader *reader)
{
    free(reader->states);
    *reader = (struct timeline_reader){0};
}

bool timeline_next(struct timeline_reader *reader, struct timeline_event *event)
{
    struct jpr_in in = {.at = reader->at, .end = reader->end};
    struct timeline_state *s;

    /* also of a timeline without operations */
    if (reader->at == reader->end || !reader->timeline->n_series)
        return false;
    event->series =
        (uint32_t) jpr_get_bounded(&in, reader->timeline->n_series - 1);
    s = &reader->states[event->series];
    event->start_us = reader->last_us = jpr_get_delta(&in, reader->last_us);
    event->time_us = jpr_get_u64(&in);
    event->sn = s->sn = jpr_get_delta(&in, s->sn + 1);
    event->bytes = s->bytes = jpr_get_delta(&in, s->bytes);
    if (reader->timeline->series[event->series].p2p)
        s->peer = (uint32_t) jpr_get_delta(&in, s->peer);
    event->peer = s->peer;
    reader->at = in.at;
    return !in.bad;
}
