/* replay_build.c - make operations and their members from timelines.
 *
 * Timelines have the operations of a process with start, duration and sequence
 * number (orchestrator/identity/operations.h). put_sources turns those of a
 * process into events; op_get joins events of different processes to one
 * operation, by key and number. Clocks of different processes are never
 * compared.
 */
#include "orchestrator/replay/replay_run.h"

#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "common/hash.h"
#include "common/vector.h"
#include "orchestrator/aggregate/pauses.h"
#include "orchestrator/identity/exchanges.h"
#include "orchestrator/identity/follows.h"
#include "orchestrator/identity/operations.h"

/* --- keys of operations --------------------------------------------------- */

/* Returns the index of the key with that value, added if needed; NONE: out of
 * memory. */
static uint32_t key_get(struct replay *x, uint64_t key)
{
    uint64_t hash = hash_word(hash_start(), key);
    uint32_t at;

    for (size_t i = 0; (at = hash_next(&x->key_table, hash, &i)) != HASH_NONE;)
        if (x->keys[at].key == key)
            return at;
    if (VECTOR_ROOM(x->keys, (size_t) x->n_keys + 1, x->room_keys) < 0 ||
        hash_add(&x->key_table, hash, x->n_keys) < 0)
        return REPLAY_NONE;
    x->keys[x->n_keys] = (struct replay_key){.key = key};
    return x->n_keys++;
}

/* Returns the operation of a key with that number, made like `as` if it is new.
 * NONE: out of memory, or the number is implausibly large, as damaged files may
 * contain anything. */
static uint32_t op_get(struct replay *x, uint32_t k, uint64_t number,
                       const struct replay_op *as)
{
    struct replay_key *key = &x->keys[k];

    if (number >= REPLAY_EVENTS)
        return REPLAY_NONE;
    if (number >= key->n) {
        size_t n = number + number / 2 + 16;

        if (vector_resize(&key->ops, n, sizeof(*key->ops)) < 0)
            return REPLAY_NONE;
        memset(key->ops + key->n, 0xff, (n - key->n) * sizeof(*key->ops));
        key->n = n;
    }
    if (key->ops[number] == REPLAY_NONE) {
        if (VECTOR_ROOM(x->ops, (size_t) x->n_ops + 1, x->room_ops) < 0)
            return REPLAY_NONE;
        x->ops[x->n_ops] = *as;
        key->ops[number] = x->n_ops++;
    }
    return key->ops[number];
}

/* --- timelines of one process --------------------------------------------- */

static uint64_t coll_key(uint32_t comm, uint32_t func)
{
    return (uint64_t) comm << 32 | func;
}

/* Returns the key of a pair; bit 63 marks it. Ranks are below 2^20 and the
 * communicator's index below 2^22, so the parts do not overlap. */
static uint64_t pair_key(uint32_t comm, uint32_t src, uint32_t dst)
{
    return UINT64_C(1) << 63 | (uint64_t) (comm & 0x3FFFFF) << 40 |
           (uint64_t) src << 20 | dst;
}

/* stands for the function of an AlltoAll made of messages */
#define EXCHANGE_FUNC (OPERATIONS_FUNCS + 1)

/* Finds the key of each collective's series. Numbers of a key count from the
 * lowest one that any process has, since recordings may begin in the middle.
 * Returns 0 or -1. */
static int find_keys(struct replay *x, const struct operations_source *source)
{
    for (uint32_t i = 0; i < source->timeline->n_series; i++) {
        const struct timeline_series *s = &source->timeline->series[i];
        struct operations_series *to = &source->series[i];
        struct replay_key *key;

        if (!to->good || s->p2p)
            continue;
        to->key = key_get(x, coll_key(to->comm, to->func));
        if (to->key == REPLAY_NONE)
            return -1;
        key = &x->keys[to->key];
        if (!key->based || s->low < key->low)
            key->low = s->low;
        key->based = true;
    }
    return 0;
}

/* Appends a timeline's operations that begin within horizon_us of its first
 * one, at most `most` in all. Their times are in recorded time: a pause of the
 * recording is nobody's computation (aggregate/pauses.h). What only some
 * processes have recorded is left out. Returns -1 without memory. */
static int unpack(const struct jp_quality *q,
                  const struct operations_source *source, uint64_t horizon_us,
                  struct operation *raw, size_t *n, size_t most)
{
    uint64_t first_us = source->timeline->first_us;
    uint64_t begin_us = first_us - pauses_us(q, 0, first_us);
    struct operations_reader reader;
    struct operation next;
    int rc = operations_open(&reader, source);

    while (rc == 0 && *n < most && operations_next(&reader, &next)) {
        if (pauses_have(q, next.start_us))
            continue;
        next.start_us -= pauses_us(q, 0, next.start_us);
        if (next.start_us > begin_us && next.start_us - begin_us > horizon_us)
            continue;
        raw[(*n)++] = next;
    }
    operations_close(&reader);
    return rc;
}

/* --- from records to operations ------------------------------------------- */

/* Whether one launch of the process has both messages. Of a group, Send and
 * Recv begin together; the same message again is another launch. */
static bool is_twice(const struct operation *raw, size_t n)
{
    for (size_t i = 0; i < n && raw->p2p; i++)
        if (raw[i].sends == raw[n].sends && raw[i].peer == raw[n].peer)
            return true;
    return false;
}

/* Returns how many operations from here on belong to one launch: same
 * communicator, begun together, and overlapping. */
static size_t launch_length(const struct operation *raw, size_t n)
{
    size_t k = 1;

    while (k < n && raw[k].comm == raw->comm && raw[k].p2p == raw->p2p &&
           raw[k].start_us - raw->start_us <= OPERATIONS_LAUNCH_US &&
           raw[k].start_us < raw->start_us + raw->time_us && !is_twice(raw, k))
        k++;
    return k;
}

/* Returns the number of the process's next message with this peer and
 * direction. Sender and receiver count alike, so the k-th Send and the k-th
 * Recv are one message. The counts start anew with each process. */
static uint32_t next_number(struct replay *x, uint32_t k, uint32_t process,
                            bool sends)
{
    struct replay_key *key = &x->keys[k];

    if (key->stamp != process + 1)
        key->count[0] = key->count[1] = 0;
    key->stamp = process + 1;
    return key->count[sends]++;
}

/* Returns the stream: a communicator as used by this process. It starts anew
 * with each process. */
static struct replay_stream *stream_get(struct replay *x, uint32_t comm,
                                        uint32_t process)
{
    struct replay_stream *s = &x->streams[comm];

    if (s->stamp != process + 1)
        *s = (struct replay_stream){
            .stamp = process + 1, .last = REPLAY_NONE, .exchange = REPLAY_NONE};
    return s;
}

/* Returns the operation that a record belongs to; NONE: it cannot be numbered.
 * Collectives have sequence numbers; messages and AlltoAlls are counted. */
static uint32_t find_op(struct replay *x, uint32_t process,
                        const struct operation *raw, bool exchange)
{
    struct replay_op op = {.comm = raw->comm, .bytes = raw->bytes, .scale = 1};
    bool sends = raw->sends && !exchange;
    uint64_t name = exchange ? coll_key(raw->comm, EXCHANGE_FUNC)
                    : raw->p2p
                        ? pair_key(raw->comm, sends ? raw->rank : raw->peer,
                                   sends ? raw->peer : raw->rank)
                        : coll_key(raw->comm, raw->func);
    uint32_t key = key_get(x, name);

    if (key == REPLAY_NONE)
        return key;
    op.key = key;
    op.pair = raw->p2p && !exchange;
    op.expected = op.pair ? 2 : x->r->comms[raw->comm].n_ranks;
    op.loose = exchange ||
               (!raw->p2p && !collective_is_barrier(x->from->funcs[raw->func]));
    if (!raw->p2p)
        return raw->sn < x->keys[key].low
                   ? REPLAY_NONE
                   : op_get(x, key, raw->sn - x->keys[key].low, &op);
    return op_get(x, key,
                  exchange ? stream_get(x, raw->comm, process)->count++
                           : next_number(x, key, process, sends),
                  &op);
}

/* Sets what the event follows, and its own time. If nothing has ended yet, it
 * follows the start of the event before; the first one follows the begin of the
 * process. */
static void follow(struct replay *x, uint32_t i, uint32_t first,
                   uint64_t start_us, const struct follows_flight *f)
{
    struct replay_event *e = &x->events[i];

    e->after = f->ended;
    e->after_start = f->ended == REPLAY_NONE && i > first;
    if (e->after_start) {
        e->after = i - 1;
        e->own_us = (float) (x->starts[i] - x->starts[i - 1]);
    } else if (e->after != REPLAY_NONE) {
        e->own_us = (float) ((double) start_us - (double) f->ended_us);
    }
}

/* Returns the process's role in a pair. Direction and the peer's side
 * distinguish the stages of a pipeline. */
static uint8_t role_of(const struct operation *raw, bool exchange)
{
    if (!raw->p2p || exchange)
        return 0;
    return (uint8_t) (raw->sends | (raw->peer > raw->rank) << 1);
}

/* Adds one launch: an event for each record. An AlltoAll made of messages has
 * one event for all of them; it begins with the first one, and extend_exchange
 * adds the others. first: first event of the process; from_us: its time. */
static void put_launch(struct replay *x, uint32_t process, uint32_t first,
                       const struct operation *raw, size_t n, bool exchange,
                       struct follows_flight *f, uint64_t from_us)
{
    struct replay_stream *s = stream_get(x, raw->comm, process);
    uint32_t put = 0, at = x->n_events;
    uint64_t time_us = 0;

    if (exchange)
        s->exchange = REPLAY_NONE;
    for (size_t i = 0; i < n; i++)
        if (raw[i].time_us > time_us)
            time_us = raw[i].time_us;
    for (size_t i = 0; i < n; i++) {
        struct replay_event *e = &x->events[x->n_events];
        uint32_t op = find_op(x, process, &raw[i], exchange);

        if (op == REPLAY_NONE)
            continue;
        *e = (struct replay_event){
            .op = op,
            .process = process,
            .time_us = (float) raw[i].time_us,
            .role = role_of(&raw[i], exchange),
            .place = (uint16_t) (put < UINT16_MAX ? put : UINT16_MAX),
            .before = s->last != REPLAY_NONE &&
                              s->end_us <= raw->start_us + FOLLOWS_NEAR_US
                          ? s->last
                          : REPLAY_NONE,
        };
        x->starts[x->n_events] = (double) (raw->start_us - from_us);
        if (put) {
            e->after = x->events[at].after;
            e->after_start = x->events[at].after_start;
            e->own_us = x->events[at].own_us;
        } else {
            follow(x, x->n_events, first, raw->start_us, f);
        }
        x->ops[op].n++;
        x->n_events++;
        put++;
    }
    for (uint32_t i = at; put > 1 && i < x->n_events; i++)
        x->ops[x->events[i].op].shared |= x->ops[x->events[i].op].pair;
    if (put) { /* the last one stands for the launch: launch_end */
        s->last = x->n_events - 1;
        s->end_us = raw->start_us + time_us;
        if (exchange) {
            s->exchange = s->last;
            s->exchange_us = raw->start_us;
        }
        follows_take_off(f, x->n_events - 1, raw->start_us + time_us);
    }
}

/* Adds another message to the open AlltoAll, which ends with the last of its
 * messages. */
static void extend_exchange(struct replay *x, uint32_t process,
                            const struct operation *raw,
                            struct follows_flight *f)
{
    struct replay_stream *s = stream_get(x, raw->comm, process);
    uint64_t end_us = raw->start_us + raw->time_us;
    float time_us = (float) (end_us - s->exchange_us);

    if (s->exchange == REPLAY_NONE || time_us <= x->events[s->exchange].time_us)
        return;
    x->events[s->exchange].time_us = time_us;
    if (s->last == s->exchange)
        s->end_us = end_us;
    if (f->ended == s->exchange)
        f->ended_us = end_us;
    for (unsigned i = 0; i < f->n; i++)
        if (f->open[i].operation == s->exchange)
            f->open[i].end_us = end_us;
}

/* Adds the events of a process from its records, which are sorted by start. */
static void put_process(struct replay *x, uint32_t process,
                        struct exchanges *exchanges,
                        const struct operation *raw, size_t n)
{
    struct follows_flight flight = {.ended = REPLAY_NONE};
    uint32_t first = x->n_events;
    uint64_t end_us = 0;
    size_t length;

    x->first[process] = first;
    for (size_t i = 0; i < n; i += length) {
        bool exchange = exchanges_has(exchanges, &raw[i]);

        length = exchange ? 1 : launch_length(raw + i, n - i);
        follows_land(&flight, raw[i].start_us);
        if (exchange && !exchanges_begins(exchanges, &raw[i]))
            extend_exchange(x, process, &raw[i], &flight);
        else
            put_launch(x, process, first, raw + i, length, exchange, &flight,
                       raw->start_us);
        for (size_t k = i; k < i + length; k++)
            if (raw[k].start_us + raw[k].time_us > end_us)
                end_us = raw[k].start_us + raw[k].time_us;
    }
    x->recorded_us[process] = n ? (double) (end_us - raw->start_us) : 0;
}

/* --- making --------------------------------------------------------------- */

/* Leaves out messages to oneself, for which no rank waits, but for those of an
 * AlltoAll. Returns how many records are left. */
static size_t drop_own(const struct exchanges *exchanges, struct operation *raw,
                       size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (!raw[i].p2p || raw[i].peer != raw[i].rank ||
            exchanges_has(exchanges, &raw[i]))
            raw[kept++] = raw[i];
    return kept;
}

/* Adds the events of a process from its timelines. Returns 0 or -1. */
static int put_sources(struct replay *x, uint32_t process,
                       struct exchanges *exchanges,
                       const struct operations_source *sources, size_t n,
                       uint64_t horizon_us)
{
    size_t room = 0, count = 0;
    struct operation *raw;
    int rc = -1;

    for (size_t i = 0; i < n; i++)
        room += sources[i].timeline->n;
    if (room > x->room_events - x->n_events)
        room = x->room_events - x->n_events;
    raw = calloc(room + 1, sizeof(*raw));
    if (!raw)
        goto out;
    for (size_t i = 0; i < n; i++)
        if (unpack(&x->r->quality, &sources[i], horizon_us, raw, &count, room) <
            0)
            goto out;
    if (count)
        qsort(raw, count, sizeof(*raw), operations_by_start);
    if (exchanges_start(exchanges, raw, count) < 0)
        goto out;
    count = drop_own(exchanges, raw, count);
    put_process(x, process, exchanges, raw, count);
    x->from_us[process] = count ? raw->start_us : 0;
    rc = 0;
out:
    free(raw);
    return rc;
}

/* Returns how much of each process is replayed, in us from its start. A
 * truncated timeline is complete until its last operation, and all events
 * together must fit into REPLAY_EVENTS. All processes get the same length,
 * because operations beyond it would have missing members. */
static uint64_t find_horizon(const struct jp_quality *q,
                             const struct operations_source *sources, size_t n,
                             uint64_t known)
{
    uint64_t horizon = UINT64_MAX;

    for (size_t i = 0; i < n; i++) {
        const struct timeline *t = sources[i].timeline;
        uint64_t span = t->last_us > t->first_us ? t->last_us - t->first_us : 0;

        if (sources[i].process == SIZE_MAX || !t->n)
            continue;
        span -= pauses_us(q, t->first_us, t->last_us);
        if (t->left && span < horizon)
            horizon = span;
        if (known > REPLAY_EVENTS && span / known * REPLAY_EVENTS < horizon)
            horizon = span / known * REPLAY_EVENTS;
    }
    return horizon;
}

int replay_build(struct replay *x, struct replay_state *state)
{
    size_t n = x->r->n_timelines, at = 0;
    uint64_t known = 0, all = 0, horizon_us;
    const struct operations_source *sources;
    struct operations whole;
    struct exchanges exchanges;
    int rc = operations_init(&whole, x->r, x->p, false);

    if (exchanges_init(&exchanges, x->r, true) < 0)
        rc = -1;

    x->from = &whole;
    /* the order of keys is that of the result */
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = find_keys(x, &whole.sources[i]);
    operations_sort(&whole);
    sources = whole.sources;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        known += sources[i].timeline->n;
        all += sources[i].timeline->n + sources[i].timeline->left;
    }
    x->room_events = known < REPLAY_EVENTS ? (uint32_t) known : REPLAY_EVENTS;
    horizon_us = rc == 0 ? find_horizon(&x->r->quality, sources, n, known) : 0;
    x->events = calloc(x->room_events + 1, sizeof(*x->events));
    x->starts = calloc(x->room_events + 1, sizeof(*x->starts));
    rc = x->events && x->starts ? rc : -1;
    for (uint32_t p = 0; rc == 0 && p < x->p->n; p++) {
        size_t from = at;

        while (at < n && sources[at].process == p)
            at++;
        rc = put_sources(x, p, &exchanges, sources + from, at - from,
                         horizon_us);
    }
    x->first[x->p->n] = x->n_events;
    state->part = all > known || known > REPLAY_EVENTS;
    operations_fini(&whole);
    exchanges_fini(&exchanges);
    x->from = NULL;
    return rc;
}

/* A counting sort by operation. */
int replay_find_members(struct replay *x)
{
    uint32_t at = 0;

    x->members = calloc(x->n_events + 1, sizeof(*x->members));
    if (!x->members)
        return -1;
    for (uint32_t i = 0; i < x->n_ops; i++) {
        x->ops[i].first = at;
        at += x->ops[i].n;
        x->ops[i].n = 0;
    }
    for (uint32_t i = 0; i < x->n_events; i++) {
        struct replay_op *op = &x->ops[x->events[i].op];

        x->members[op->first + op->n++] = i;
    }
    return 0;
}
