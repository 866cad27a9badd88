/* timeline.c - pack what a process did, and unpack it. */
#include "orchestrator/aggregate/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "plugins/nccl_recorder/jpr_frame.h"

enum { FIRST_ROOM = 4096 };

struct timeline *timeline_create(uint64_t limit)
{
    struct timeline *timeline = calloc(1, sizeof(*timeline));

    if (timeline) {
        timeline->limit = limit;
        timeline->pid = -1;
    }
    return timeline;
}

struct timeline *timeline_begin(uint64_t limit, uint64_t bins)
{
    struct timeline *timeline = timeline_create(limit);

    if (timeline && !(timeline->strip = strip_create(bins))) {
        timeline_destroy(timeline);
        return NULL;
    }
    return timeline;
}

void timeline_destroy(struct timeline *timeline)
{
    if (!timeline)
        return;
    strip_destroy(timeline->strip);
    free(timeline->series);
    free(timeline->bytes);
    free(timeline);
}

/* ----------------------------------------------------------------- series */

static uint32_t hash_of(const struct record *r)
{
    uint64_t id = 0, func = 0;
    size_t n = r->id.len < 8 ? r->id.len : 8;

    memcpy(&id, r->id.text + r->id.len - n, n);
    memcpy(&func, r->func.text, r->func.len < 8 ? r->func.len : 8);
    id ^= (func ^ (func >> 29) ^ r->rank) * UINT64_C(0x9E3779B97F4A7C15);
    id *= UINT64_C(0xBF58476D1CE4E5B9);
    return (uint32_t) (id >> 40);
}

static bool is_text(const char *have, const struct record_text *text)
{
    return (!text->len || !strncmp(have, text->text, text->len)) &&
           !have[text->len];
}

static bool is_series(const struct timeline_series *s, const struct record *r)
{
    return s->rank == r->rank && s->n_ranks == r->n_ranks &&
           s->nnodes == r->nnodes && s->p2p == r->p2p &&
           is_text(s->id, &r->id) && is_text(s->func, &r->func);
}

/* 0, or -1 without memory. */
static int grow_series(struct timeline *t)
{
    uint32_t room = t->room_series ? 2 * t->room_series : 16;
    struct timeline_series *more = reallocarray(t->series, room, sizeof(*more));

    if (!more)
        return -1;
    t->series = more;
    t->room_series = room;
    return 0;
}

/* The record's series; NULL: none, and *full says whether for their number. */
static struct timeline_series *series_get(struct timeline *t,
                                          const struct record *r, bool *full)
{
    uint32_t at = hash_of(r) % (2 * TIMELINE_SERIES);
    struct timeline_series *s;

    *full = false;
    for (; t->slots[at]; at = (at + 1) % (2 * TIMELINE_SERIES))
        if (is_series(&t->series[t->slots[at] - 1], r))
            return &t->series[t->slots[at] - 1];
    *full = t->n_series == TIMELINE_SERIES || r->id.len > RECORD_MAX_ID ||
            r->func.len > RECORD_MAX_FUNC;
    if (*full || (t->n_series == t->room_series && grow_series(t) < 0))
        return NULL;
    s = &t->series[t->n_series++];
    t->slots[at] = (uint16_t) t->n_series;
    *s = (struct timeline_series){.n_ranks = r->n_ranks,
                                  .nnodes = r->nnodes,
                                  .rank = r->rank,
                                  .p2p = r->p2p,
                                  .low = UINT64_MAX};
    memcpy(s->id, r->id.text, r->id.len);
    memcpy(s->func, r->func.text, r->func.len);
    return s;
}

/* ----------------------------------------------------------------- events */

/* Room for one more event. 0, or -1 without memory. */
static int grow(struct timeline *t)
{
    size_t room = t->room ? 2 * t->room : FIRST_ROOM;
    uint8_t *more;

    if (t->room - t->used >= TIMELINE_EVENT_BYTES)
        return 0;
    more = realloc(t->bytes, room);
    if (!more)
        return -1;
    t->bytes = more;
    t->room = room;
    return 0;
}

/* jpr_put_u64 and jpr_put_delta where grow() has made room: a timeline takes
 * every record of a run, and this is most of its cost. */
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

static void put(struct timeline *t, struct timeline_series *s,
                const struct record *r)
{
    uint64_t seen = r->end_us > r->start_us ? r->end_us - r->start_us : 0;
    uint8_t *at = t->bytes + t->used;

    at = put_u64(at, (uint64_t) (s - t->series));
    at = put_delta(at, r->start_us, t->last_us);
    /* a host that looks late may see start and end at once */
    at = put_u64(at, seen > r->exec_us ? seen : r->exec_us);
    at = put_delta(at, r->sn, s->sn + 1);
    at = put_delta(at, r->bytes, s->bytes);
    if (s->p2p)
        at = put_delta(at, r->peer, s->peer);
    t->used = (size_t) (at - t->bytes);
    t->last_us = r->start_us;
    if (!t->n)
        t->first_us = r->start_us;
    s->low = r->sn < s->low ? r->sn : s->low;
    s->high = r->sn > s->high ? r->sn : s->high;
    s->sn = r->sn;
    s->bytes = r->bytes;
    s->peer = r->peer;
}

/* Notes whose record it is. */
static void note_process(struct timeline *t, const struct record *r)
{
    if (!t->n && !t->left) {
        t->pid = r->pid;
        if (r->host.len) /* else the text may be NULL */
            memcpy(t->host, r->host.text,
                   r->host.len < RECORD_MAX_HOST ? r->host.len
                                                 : RECORD_MAX_HOST);
        return;
    }
    t->mixed |= t->pid != r->pid || !is_text(t->host, &r->host);
}

int timeline_add(struct timeline *t, const struct record *r)
{
    uint64_t slot = (r->series ^ r->series >> 5) % TIMELINE_KNOWN;
    struct timeline_known *known = &t->known[slot];
    bool is_known = r->series && known->series == r->series, full;
    struct timeline_series *s;

    if (!is_known)
        note_process(t, r);
    if (t->strip && strip_add(t->strip, r) < 0)
        return -1;
    if (t->left || t->n >= t->limit) {
        t->left++;
        return 0;
    }
    s = is_known ? &t->series[known->at] : series_get(t, r, &full);
    if (!s && full) {
        t->left++;
        return 0;
    }
    if (!s || grow(t) < 0)
        return -1;
    if (r->series && !is_known)
        *known = (struct timeline_known){r->series, (uint32_t) (s - t->series)};
    put(t, s, r);
    t->n++;
    return 0;
}

static struct record_text text_of(const char *text)
{
    return (struct record_text){text, strlen(text)};
}

int timeline_join(struct timeline *into, const struct timeline *next)
{
    struct timeline_reader reader;
    struct timeline_event e;
    struct strip *strip = into->strip;
    int rc = timeline_reader_init(&reader, next);

    into->strip = NULL; /* it takes the next one's as a whole */
    while (rc == 0 && timeline_next(&reader, &e)) {
        const struct timeline_series *s = &next->series[e.series];
        const struct record r = {.id = text_of(s->id),
                                 .func = text_of(s->func),
                                 .host = text_of(next->host),
                                 .pid = next->pid,
                                 .n_ranks = s->n_ranks,
                                 .nnodes = s->nnodes,
                                 .rank = s->rank,
                                 .p2p = s->p2p,
                                 .sn = e.sn,
                                 .bytes = e.bytes,
                                 .peer = e.peer,
                                 .start_us = e.start_us,
                                 .end_us = e.start_us + e.time_us};

        rc = timeline_add(into, &r);
    }
    timeline_reader_fini(&reader);
    into->strip = strip;
    if (rc == 0 && strip && next->strip)
        rc = strip_join(strip, next->strip);
    if (next->left && !next->n) /* nothing to add says whose it is */
        into->mixed |= into->pid != next->pid || strcmp(into->host, next->host);
    into->left += next->left;
    into->mixed |= next->mixed;
    return rc;
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

/* --- foreign ones --- */

/* Notes an operation; false: out of all bounds, or its series is not the next
 * new one. */
static bool settle_event(struct timeline *t, const struct timeline_event *e,
                         uint32_t *seen)
{
    struct timeline_series *s = &t->series[e->series];

    if (e->series > *seen || e->start_us > INT64_MAX ||
        e->time_us > INT64_MAX || e->peer >= RECORD_MAX_RANKS)
        return false;
    *seen += e->series == *seen;
    if (!t->n++)
        t->first_us = e->start_us;
    t->last_us = e->start_us;
    s->low = e->sn < s->low ? e->sn : s->low;
    s->high = e->sn > s->high ? e->sn : s->high;
    return true;
}

bool timeline_settle(struct timeline *t, uint64_t n, uint64_t limit)
{
    struct timeline_reader reader;
    struct timeline_event e;
    uint32_t seen = 0, kept = 0;
    size_t used = 0;
    bool good = timeline_reader_init(&reader, t) == 0;

    for (uint32_t i = 0; i < t->n_series; i++) {
        t->series[i].low = UINT64_MAX;
        t->series[i].high = 0;
    }
    t->n = t->limit = 0;
    while (good && t->n < n && t->n < limit) {
        good = timeline_next(&reader, &e) && settle_event(t, &e, &seen);
        kept = seen;
    }
    used = good ? (size_t) (reader.at - t->bytes) : 0;
    for (uint64_t k = t->n; good && k < n; k++) /* those left out, too */
        good = timeline_next(&reader, &e) && e.series <= seen &&
               (seen += e.series == seen);
    good = good && reader.at == reader.end && seen == t->n_series;
    timeline_reader_fini(&reader);
    t->left += n - t->n;
    t->used = used;
    t->n_series = kept;
    return good;
}
