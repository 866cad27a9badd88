/* judge_build.c - operations, roles and columns from timelines.
 *
 * Way through: judge_build, note_keys (numbers of operations begin at the
 * lowest one that any process has), put_process (a process's records become
 * items, with a key, a number and a kind), find_roles, place_items (keys become
 * operations, kinds become columns of the role), follow_starts (operations
 * beside the computation).
 */
#include "orchestrator/judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "common/hash.h"
#include "common/keymap.h"
#include "common/vector.h"
#include "orchestrator/aggregate/pauses.h"
#include "orchestrator/identity/exchanges.h"
#include "orchestrator/identity/follows.h"
#include "orchestrator/identity/operations.h"

#define MOST (1u << 23) /* operations, and columns times members / 4 */
#define ROUNDS 64       /* of refining roles */
#define STEP 1.05       /* counts of a kind that differ by less are equal */
#define FUNC_EXCHANGE 0xFFFFu
#define FUNC_MESSAGE 0xFFFEu

/* Where hashes of kinds and roles start. Unlike hash_start(), it is the same in
 * each process, as the order of roles and columns is that of these hashes. */
#define ROLE_START UINT64_C(0x7FB5D329728EA185)

/* What operations are numbered by: (communicator, function), the AlltoAlls of a
 * communicator, or the messages from one rank to another one. */
struct key {
    uint64_t low, high; /* sequence numbers of all processes */
    bool based;         /* low and high are set */
    bool counted;       /* numbers are counted, as sequence numbers have gaps */
    uint32_t members;   /* processes with records */
    uint32_t n;         /* numbers in use: 0 to n - 1 */
    uint32_t base;      /* number of its first operation, of all */
    uint32_t comm, func;
    /* of the current process: */
    uint32_t stamp; /* its number + 1 */
    uint32_t count; /* so far */
    uint16_t kind;  /* index into its kinds */
};

/* A kind of operation of one process. */
struct kind {
    uint64_t name;
    uint32_t count, n; /* operations; numbers in use */
    uint16_t was;      /* its index before sorting by name */
};

/* A process exchanges messages with another one. */
struct edge {
    uint32_t process, peer;
    uint64_t side;
};

/* A communicator as the current process uses it. */
struct stream {
    uint32_t stamp;      /* number of the process + 1 */
    uint32_t index;      /* among its communicators of as many ranks */
    uint32_t item;       /* of the open AlltoAll that is made of messages */
    uint64_t started_us; /* ... its start */
    uint32_t uses;       /* operations in which all wait for each other */
    uint32_t last, two;  /* the last item, and the one before; NONE */
    uint32_t pauses;     /* so many pauses of the recording came before */
};

/* What is known of a process since the recording was off. Of what it began then
 * there is no record, and it may still be in flight: it has ended when the next
 * operation of its stream begins. Until all streams have had one, own times may
 * be waits for it. A stream that is not used again must not hide the rest, so
 * no more than a block of the run is unknown. */
struct back {
    uint32_t pauses;  /* so far */
    uint32_t streams; /* that have had an operation since the last one */
    uint32_t left;    /* items that may be unknown */
};

/* Items while keys and kinds have no place yet. */
struct draft {
    uint32_t key;
    uint16_t kind;
    /* By start and end (identity/follows.h): */
    uint32_t place;   /* its kind at its place of a step; 0: it does not follow
                         the one before */
    uint32_t between; /* ... with what ended in between; 0: nothing did */
    float since_us;   /* since the start of the one before */
    float after_us;   /* since its end */
};

struct build {
    struct judge_run *run;
    const struct jp_result *r;
    const struct jp_processes *p;
    struct operations from;
    struct keymap map;
    struct key *keys;
    uint32_t n_keys;
    size_t room_keys;
    struct draft *drafts; /* [item] */
    struct follows habits;
    struct kind *kinds; /* of process i: kind_at[i] to kind_at[i + 1] */
    uint32_t *kind_at;
    size_t n_kinds, room_kinds;
    struct edge *edges;
    size_t n_edges, room_edges;
    struct exchanges exchanges;
    struct stream *streams; /* [communicator] */
    uint32_t *used;         /* communicators of the current process */
    uint32_t n_used, n_items;
    uint64_t longest; /* operations of the longest timeline */
};

/* Returns the key's index, added if needed; KEYMAP_NONE: no memory. */
static uint32_t key_get(struct build *b, uint64_t what, uint64_t pair)
{
    uint32_t at = keymap_find(&b->map, what, pair);

    if (at != KEYMAP_NONE)
        return at;
    if (VECTOR_ROOM(b->keys, (size_t) b->n_keys + 1, b->room_keys) < 0 ||
        keymap_add(&b->map, what, pair, b->n_keys) < 0)
        return KEYMAP_NONE;
    b->keys[b->n_keys] = (struct key){.low = UINT64_MAX};
    return b->n_keys++;
}

static uint64_t coll_name(uint32_t comm, uint32_t func)
{
    return (uint64_t) comm << 16 | func;
}

/* --- sources -------------------------------------------------------------- */

/* Numbers of a key begin with the lowest of all processes. 0 or -1. */
static int note_keys(struct build *b, const struct operations_source *source)
{
    const struct timeline *t = source->timeline;

    for (uint32_t i = 0; i < t->n_series && !t->mixed; i++) {
        const struct timeline_series *series = &t->series[i];
        const struct operations_series *at = &source->series[i];
        uint32_t k;

        if (!at->good || series->p2p)
            continue;
        k = key_get(b, coll_name(at->comm, at->func), 0);
        if (k == KEYMAP_NONE)
            return -1;
        if (series->low < b->keys[k].low)
            b->keys[k].low = series->low;
        if (series->high > b->keys[k].high)
            b->keys[k].high = series->high;
        b->keys[k].based = true;
    }
    if (t->n > b->longest)
        b->longest = t->n;
    return 0;
}

/* Returns true if nearly all operations have start and end. Otherwise all are
 * known by their order and by how long each took: of one with a start it is not
 * known how much of what came before was a wait. */
static bool is_timed(const struct jp_result *r)
{
    double without = 0, all = 0;

    for (size_t i = 0; i < r->n_sequences; i++)
        without += (double) (r->sequences[i]->n + r->sequences[i]->left);
    for (size_t i = 0; i < r->n_timelines; i++) {
        double n = (double) (r->timelines[i]->n + r->timelines[i]->left);

        all += n;
        without -= r->timelines[i]->ordered ? n : 0;
    }
    return without <= (1 - JUDGE_WHOLE) * (all + without);
}

/* Makes the sources, sorted by process. 0 or -1. */
static int find_sources(struct build *b)
{
    /* operations of a process while the recording was off, at the mean */
    uint64_t paused = b->p->n ? b->r->quality.paused_records / b->p->n : 0;

    b->streams = calloc(b->r->n_comms + 1, sizeof(*b->streams));
    b->used = calloc(b->r->n_comms + 1, sizeof(*b->used));
    if (!b->streams || !b->used ||
        exchanges_init(&b->exchanges, b->r, b->run->timed) < 0 ||
        operations_init(&b->from, b->r, b->p, !b->run->timed) < 0)
        return -1;
    for (size_t i = 0; i < b->from.n_sources; i++)
        if (note_keys(b, &b->from.sources[i]) < 0)
            return -1;
    /* functions share numbers, or a damaged file has wild ones */
    for (uint32_t k = 0; k < b->n_keys; k++)
        b->keys[k].counted = b->keys[k].high - b->keys[k].low >
                             2 * (b->longest + paused) + 1024;
    operations_sort(&b->from);
    return 0;
}

/* --- one process ---------------------------------------------------------- */

/* Appends the records of a source, without those that only some processes have.
 * Returns 0 or -1. */
static int unpack(const struct build *b, const struct operations_source *source,
                  struct operation *raw, size_t *n)
{
    struct operations_reader reader;
    struct operation next;

    if (operations_open(&reader, source) < 0)
        return -1;
    while (operations_next(&reader, &next))
        if (next.rank < EXCHANGES_RANKS * 256u &&
            !(b->run->timed && pauses_have(&b->r->quality, next.start_us)))
            raw[(*n)++] = next;
    operations_close(&reader);
    return 0;
}

/* Returns the stream; it starts anew with each process. */
static struct stream *stream_get(struct build *b, uint32_t comm,
                                 uint32_t process)
{
    struct stream *s = &b->streams[comm];

    if (s->stamp == process + 1)
        return s;
    *s = (struct stream){
        .stamp = process + 1, .last = FOLLOWS_NONE, .two = FOLLOWS_NONE};
    for (uint32_t i = 0; i < b->n_used; i++)
        s->index += b->r->comms[b->used[i]].n_ranks ==
                    b->r->comms[comm].n_ranks;
    b->used[b->n_used++] = comm;
    return s;
}

/* Returns the kind's index of the current process, added if needed; -1: no
 * memory, or too many. */
static int kind_get(struct build *b, uint32_t process, uint64_t name)
{
    size_t from = b->kind_at[process];
    struct kind *added;

    for (size_t i = from; i < b->n_kinds; i++)
        if (b->kinds[i].name == name)
            return (int) (i - from);
    if (b->n_kinds - from >= UINT16_MAX)
        return -1;
    added = VECTOR_ADD(b->kinds, b->n_kinds, b->room_kinds);
    if (!added)
        return -1;
    added->name = name;
    added->was = (uint16_t) (b->n_kinds - 1 - from);
    return added->was;
}

/* Notes that a process exchanges messages with a peer. 0 or -1. */
static int add_edge(struct build *b, uint32_t process,
                    const struct operation *raw, uint64_t side)
{
    size_t rank = processes_rank(b->p, b->r, raw->comm, raw->peer);
    struct edge *added;

    if (rank == SIZE_MAX)
        return 0;
    added = VECTOR_ADD(b->edges, b->n_edges, b->room_edges);
    if (!added)
        return -1;
    *added = (struct edge){process, (uint32_t) b->p->of_rank[rank], side};
    return 0;
}

/* Starts a key for the process: its kind. 0 or -1. */
static int begin_key(struct build *b, uint32_t k, uint32_t process,
                     const struct operation *raw, uint32_t func)
{
    const struct stream *s = &b->streams[raw->comm];
    uint64_t side = func == FUNC_MESSAGE
                        ? 1u + raw->sends + 2u * (raw->peer > raw->rank)
                        : 0;
    uint64_t name = hash_word(ROLE_START, (uint64_t) func << 8 | side);
    int kind;

    name = hash_word(name, b->r->comms[raw->comm].n_ranks);
    kind = kind_get(b, process, hash_word(name, s->index));

    if (kind < 0)
        return -1;
    b->keys[k].stamp = process + 1;
    b->keys[k].count = 0;
    b->keys[k].kind = (uint16_t) kind;
    b->keys[k].members++;
    b->keys[k].comm = raw->comm;
    b->keys[k].func = func;
    return func == FUNC_MESSAGE ? add_edge(b, process, raw, side) : 0;
}

/* Adds an item. 0 or -1. */
static int put_item(struct build *b, uint32_t process,
                    const struct operation *raw, bool exchange)
{
    uint32_t func = exchange   ? FUNC_EXCHANGE
                    : raw->p2p ? FUNC_MESSAGE
                               : raw->func;
    uint64_t src = raw->sends ? raw->rank : raw->peer;
    uint64_t dst = raw->sends ? raw->peer : raw->rank;
    uint32_t k = key_get(b, coll_name(raw->comm, func),
                         func == FUNC_MESSAGE ? src << 32 | dst : 0);
    struct judge_item *item = &b->run->items[b->n_items];
    struct kind *kind;
    struct key *key;
    bool by_sn;

    if (k == KEYMAP_NONE || (b->keys[k].stamp != process + 1 &&
                             begin_key(b, k, process, raw, func) < 0))
        return -1;
    key = &b->keys[k];
    kind = &b->kinds[b->kind_at[process] + key->kind];
    by_sn = !raw->p2p && !key->counted;
    *item = (struct judge_item){
        .op = by_sn ? (uint32_t) (raw->sn - key->low) : key->count,
        .col = by_sn ? (uint32_t) (raw->sn - key->low) : kind->count,
        .time_us = (float) raw->time_us};
    b->drafts[b->n_items++] = (struct draft){.key = k, .kind = key->kind};
    key->count++;
    kind->count++;
    b->streams[raw->comm].uses += func != FUNC_MESSAGE;
    if (item->op >= key->n)
        key->n = item->op + 1;
    if (item->col >= kind->n)
        kind->n = item->col + 1;
    return 0;
}

/* Adds a message of an AlltoAll: to the launch that is open, or to a new one.
 * Returns 0 or -1. */
static int put_exchange(struct build *b, uint32_t process,
                        const struct operation *raw, struct stream *s)
{
    uint64_t time_us = raw->time_us;
    struct judge_item *item;

    if (exchanges_begins(&b->exchanges, raw)) {
        s->item = b->n_items;
        s->started_us = raw->start_us;
        return put_item(b, process, raw, true);
    }
    item = &b->run->items[s->item];
    if (b->run->timed) /* until the last of its messages has ended */
        time_us += raw->start_us - s->started_us;
    if ((float) time_us > item->time_us)
        item->time_us = (float) time_us;
    return 0;
}

/* Returns what an item is, for identity/follows.h: also by its size, where all
 * ranks have the same. */
static uint64_t what_of(const struct build *b, const struct draft *draft,
                        size_t kinds, const struct operation *raw)
{
    uint64_t name = b->kinds[kinds + draft->kind].name;

    return !raw->p2p && collective_is_barrier(b->from.funcs[raw->func])
               ? hash_word(name, raw->bytes)
               : name;
}

/* What is known of the items of a process while it is read. */
struct timing {
    uint64_t start_us;
    uint64_t what;
};

/* from: the first item of the process. */
static struct follows_moment moment_of(const struct build *b, uint32_t from,
                                       uint32_t i, const struct timing *times)
{
    double start_us = (double) times[i - from].start_us;

    return (struct follows_moment){times[i - from].what, start_us,
                                   start_us +
                                       (double) b->run->items[i].time_us};
}

/* Notes of a collective what it may follow in its stream: the one before, if
 * all between them was recorded. Returns true if there is one. */
static bool set_place(struct build *b, uint32_t from, uint32_t i,
                      const struct timing *times,
                      const struct follows_flight *flight,
                      struct follows_lag *lag)
{
    struct draft *draft = &b->drafts[i];
    const struct key *key = &b->keys[draft->key];
    struct stream *s = &b->streams[key->comm];
    uint32_t before = s->last, two = s->two;
    struct follows_moment operation, last;

    s->two = before;
    s->last = i;
    if (before == FOLLOWS_NONE || key->func == FUNC_MESSAGE)
        return false;
    operation = moment_of(b, from, i, times);
    last = moment_of(b, from, before, times);
    if (pauses_us(&b->r->quality, times[before - from].start_us,
                  times[i - from].start_us))
        return false;
    *lag = follows_lag_of(&operation, &last,
                          two != FOLLOWS_NONE ? times[two - from].what : 0,
                          (uint32_t) b->r->comms[key->comm].n_ranks);
    if (lag->us[FOLLOWS_END] < -FOLLOWS_NEAR_US)
        return false;
    /* of the hash 32 bits do: there are some hundred kinds at most */
    lag->kind = draft->place = (uint32_t) lag->kind;
    draft->after_us = (float) lag->us[FOLLOWS_END];
    draft->since_us = (float) lag->us[FOLLOWS_START];
    if (flight->ended != FOLLOWS_NONE && flight->ended != before) {
        *lag =
            follows_lag_between(*lag, times[flight->ended - from].what,
                                operation.start_us - (double) flight->ended_us);
        lag->kind = draft->between = (uint32_t) lag->kind;
    }
    return true;
}

/* Returns true if the own time before an item is known. paused: the recording
 * was off since the item before; n: the items of the process. */
static bool is_back(struct build *b, struct back *back, uint32_t item,
                    bool paused, uint32_t n)
{
    struct stream *s = &b->streams[b->keys[b->drafts[item].key].comm];
    bool all, first;

    if (paused) {
        back->pauses++;
        back->streams = 0;
        back->left = n / JUDGE_BLOCKS;
    }
    all = !back->pauses || back->streams >= b->n_used;
    first = s->pauses != back->pauses;
    s->pauses = back->pauses;
    back->streams += first;
    if (paused || first)
        return false;
    if (all || !back->left)
        return true;
    back->left--;
    return false;
}

/* Sets own times of a process whose records have start and end, from what ended
 * last, and learns what its operations follow. times: of its items. Arrivals,
 * and its clock, are in recorded time. 0 or -1. */
static int set_own(struct build *b, uint32_t process,
                   const struct timing *times)
{
    struct judge_run *run = b->run;
    uint32_t from = run->first[process], to = run->first[process + 1];
    size_t most = follows_most(b->p->n, to - from), n = 0;
    struct follows_lag *lags = calloc(most + 1, sizeof(*lags));
    struct follows_flight flight = {.ended = FOLLOWS_NONE};
    const struct jp_quality *q = &run->r->quality;
    struct back back = {0};
    uint64_t off_us = 0;
    double clock = 0;
    int rc;

    if (!lags)
        return -1;
    for (uint32_t i = from; i < to; i++) {
        struct judge_item *item = &run->items[i];
        uint64_t at_us = times[i - from].start_us;
        double start = (double) (at_us - times->start_us);
        uint64_t paused_us = pauses_us(q, times->start_us, at_us);
        bool known = is_back(b, &back, i, paused_us > off_us, to - from);

        off_us = paused_us;
        item->own_us = known ? (float) fmax(start - clock, 0) : NAN;
        item->at = (float) (start - (double) off_us);
        clock = fmax(clock, start + (double) item->time_us);
        follows_land(&flight, at_us);
        if (set_place(b, from, i, times, &flight, &lags[n]) && n < most)
            n++;
        follows_take_off(&flight, i, at_us + (uint64_t) item->time_us);
    }
    if (to > from)
        clock -= (double) pauses_us(q, times->start_us,
                                    times->start_us + (uint64_t) clock);
    run->clock[process] = clock;
    rc = follows_learn(&b->habits, lags, n);
    free(lags);
    return rc;
}

/* Makes the items of a process from its sources. 0 or -1. */
static int put_process(struct build *b, uint32_t process,
                       const struct operations_source *sources, size_t n)
{
    size_t room = 0, count = 0;
    struct operation *raw;
    struct timing *times;
    int rc = 0;

    for (size_t i = 0; i < n; i++) {
        room += sources[i].timeline->n;
        b->run->cut[process] |= sources[i].timeline->left > 0;
    }
    b->kind_at[process] = (uint32_t) b->n_kinds;
    b->n_used = 0;
    raw = calloc(room + 1, sizeof(*raw));
    times = calloc(room + 1, sizeof(*times));
    rc = raw && times ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = unpack(b, &sources[i], raw, &count);
    if (rc == 0 && count && b->run->timed)
        qsort(raw, count, sizeof(*raw), operations_by_start);
    if (rc == 0)
        rc = exchanges_start(&b->exchanges, raw, count);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        struct stream *s = stream_get(b, raw[i].comm, process);
        uint32_t before = b->n_items;

        if (exchanges_has(&b->exchanges, &raw[i]))
            rc = put_exchange(b, process, &raw[i], s);
        else if (!raw[i].p2p || raw[i].peer != raw[i].rank)
            rc = put_item(b, process, &raw[i], false);
        if (b->n_items > before)
            times[before - b->run->first[process]] = (struct timing){
                raw[i].start_us,
                what_of(b, &b->drafts[before], b->kind_at[process], &raw[i])};
    }
    b->run->closest[process] = UINT32_MAX;
    for (uint32_t i = 0, most = 0; i < b->n_used; i++)
        if (b->streams[b->used[i]].uses > most) {
            most = b->streams[b->used[i]].uses;
            b->run->closest[process] = b->used[i];
        }
    b->run->first[process + 1] = b->n_items;
    if (rc == 0 && b->run->timed)
        rc = set_own(b, process, times);
    free(raw);
    free(times);
    return rc;
}

/* --- roles ---------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct kind *x = a, *y = b;

    return x->name < y->name ? -1 : x->name > y->name;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

    return x < y ? -1 : x > y;
}

/* Sorts values into *sorted and returns how many differ. */
static uint32_t count_values(const uint64_t *values, size_t n, uint64_t *sorted)
{
    uint32_t differ = 0;

    memcpy(sorted, values, n * sizeof(*values));
    if (n)
        qsort(sorted, n, sizeof(*sorted), by_value);
    for (size_t i = 0; i < n; i++)
        if (!i || sorted[i] != sorted[i - 1])
            sorted[differ++] = sorted[i];
    return differ;
}

/* Where the work of a process starts, by the attempt or program that it is of.
 * Two that follow each other may do the same operations, but nobody waits for a
 * process of the other one. */
static uint64_t start_of(const struct build *b, size_t process)
{
    const struct jp_process *who = &b->p->list[process];
    int64_t attempt = b->r->ranks[b->p->by_process[who->first]].restarts;

    return attempt > 0 ? hash_word(ROLE_START, (uint64_t) attempt) : 0;
}

/* A kind of a process, when counts of all processes are compared. */
struct counted {
    uint64_t name;
    uint32_t count, at; /* at: its index */
};

static int by_name_and_count(const void *a, const void *b)
{
    const struct counted *x = a, *y = b;

    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return x->count < y->count ? -1 : x->count > y->count;
}

/* Numbers how often processes have a kind, in [kind]: counts that are next to
 * each other and hardly differ have one number. Where the recording was off for
 * a while, each process stopped and began again at a moment of its own, and may
 * have one operation of a kind more each time. 0 or -1. */
static int number_counts(const struct build *b, uint32_t *number)
{
    struct counted *all = calloc(b->n_kinds + 1, sizeof(*all));
    double apart = (double) b->r->quality.n_pauses;
    uint32_t next = 0;

    if (!all)
        return -1;
    for (uint32_t k = 0; k < b->n_kinds; k++)
        all[k] = (struct counted){b->kinds[k].name, b->kinds[k].count, k};
    if (b->n_kinds)
        qsort(all, b->n_kinds, sizeof(*all), by_name_and_count);
    for (size_t i = 0; i < b->n_kinds; i++) {
        if (!i || all[i].name != all[i - 1].name)
            next = 0;
        else if (all[i].count > STEP * all[i - 1].count + apart)
            next++;
        number[all[i].at] = next;
    }
    free(all);
    return 0;
}

/* Sets the role of each process. 0 or -1. */
static int find_roles(struct build *b)
{
    size_t n = b->p->n;
    uint32_t *number = calloc(b->n_kinds + 1, sizeof(*number));
    uint64_t *work = calloc(n + 1, sizeof(*work));
    uint64_t *next = calloc(n + 1, sizeof(*next));
    uint64_t *sorted = calloc(n + 1, sizeof(*sorted));
    uint32_t roles, more;
    int rc = number && work && next && sorted ? number_counts(b, number) : -1;

    if (rc < 0)
        goto out;
    for (size_t i = 0; i < n; i++) {
        work[i] = start_of(b, i);
        for (size_t k = b->kind_at[i]; k < b->kind_at[i + 1]; k++)
            work[i] += hash_word(b->kinds[k].name, number[k]);
    }
    roles = count_values(work, n, sorted);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < n; i++)
            next[i] = hash_word(ROLE_START, work[i]);
        for (size_t e = 0; e < b->n_edges; e++)
            next[b->edges[e].process] +=
                hash_word(hash_word(ROLE_START, work[b->edges[e].peer]),
                          b->edges[e].side);
        more = count_values(next, n, sorted);
        memcpy(work, next, n * sizeof(*work));
        if (more == roles)
            break;
        roles = more;
    }
    for (size_t i = 0; i < n; i++)
        b->run->role[i] =
            (uint32_t) ((uint64_t *) bsearch(&work[i], sorted, more,
                                             sizeof(*sorted), by_value) -
                        sorted);
    b->run->n_roles = more;
out:
    free(number);
    free(work);
    free(next);
    free(sorted);
    return rc;
}

/* --- places --------------------------------------------------------------- */

static struct judge_key describe_key(const struct build *b,
                                     const struct key *key)
{
    bool messages = key->func == FUNC_EXCHANGE || key->func == FUNC_MESSAGE;
    bool numbered = !messages && !key->counted;

    return (struct judge_key){.comm = key->comm,
                              .func = key->func == FUNC_EXCHANGE ? "AlltoAll"
                                      : key->func == FUNC_MESSAGE
                                          ? "message"
                                          : b->from.funcs[key->func],
                              .low = numbered ? key->low : 0,
                              .base = key->base,
                              .numbered = numbered};
}

/* Numbers the operations of all keys. 0 or -1. */
static int place_ops(struct build *b)
{
    struct judge_run *run = b->run;
    uint64_t n = 0;

    for (uint32_t k = 0; k < b->n_keys; k++) {
        b->keys[k].base = (uint32_t) n;
        n += b->keys[k].n;
        if (n > MOST) {
            run->why = "sequence numbers have large gaps";
            return 0;
        }
    }
    run->n_ops = (uint32_t) n;
    run->expected = calloc(n + 1, sizeof(*run->expected));
    run->net_us = calloc(n + 1, sizeof(*run->net_us));
    run->key = calloc(n + 1, sizeof(*run->key));
    run->keys = calloc((size_t) b->n_keys + 1, sizeof(*run->keys));
    run->n_keys = b->n_keys;
    if (!run->expected || !run->net_us || !run->key || !run->keys)
        return -1;
    for (uint32_t k = 0; k < b->n_keys; k++)
        run->keys[k] = describe_key(b, &b->keys[k]);
    for (uint32_t k = 0; k < b->n_keys; k++)
        for (uint32_t i = 0; i < b->keys[k].n; i++) {
            run->expected[b->keys[k].base + i] = b->keys[k].members;
            run->key[b->keys[k].base + i] = k;
        }
    for (uint32_t i = 0; i < b->n_items; i++)
        run->items[i].op += b->keys[b->drafts[i].key].base;
    return 0;
}

/* Gives each kind of a role its columns: as many as its longest member has.
 * Kinds of members are sorted by name, so they are in one order. 0 or -1. */
static int place_items(struct build *b)
{
    struct judge_run *run = b->run;
    size_t n = b->p->n, most = 0;
    uint32_t *longest; /* [role][kind] */
    uint32_t *at;      /* [kind of a process before sorting] its column */
    uint64_t cells = 0;
    int rc = -1;

    run->cols = calloc(run->n_roles + 1, sizeof(*run->cols));
    for (size_t i = 0; i < n; i++) {
        size_t kinds = b->kind_at[i + 1] - b->kind_at[i];

        if (kinds)
            qsort(b->kinds + b->kind_at[i], kinds, sizeof(*b->kinds), by_name);
        most = kinds > most ? kinds : most;
    }
    if (run->n_roles * most > MOST) {
        run->why = "processes have too many kinds of operations";
        return 0;
    }
    longest = calloc(run->n_roles * most + 1, sizeof(*longest));
    at = calloc(most + 1, sizeof(*at));
    if (!run->cols || !longest || !at)
        goto out;
    rc = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = b->kind_at[i]; k < b->kind_at[i + 1]; k++) {
            uint32_t *have = &longest[run->role[i] * most + k - b->kind_at[i]];

            *have = b->kinds[k].n > *have ? b->kinds[k].n : *have;
        }
    for (size_t i = 0; i < n; i++) {
        uint32_t col = 0;

        for (size_t k = b->kind_at[i]; k < b->kind_at[i + 1]; k++) {
            at[b->kinds[k].was] = col;
            col += longest[run->role[i] * most + k - b->kind_at[i]];
        }
        run->cols[run->role[i]] = col;
        cells += col;
        for (uint32_t k = run->first[i]; k < run->first[i + 1]; k++)
            run->items[k].col += at[b->drafts[k].kind];
    }
    if (cells > 2 * (uint64_t) MOST)
        run->why = "sequence numbers have large gaps";
out:
    free(longest);
    free(at);
    return rc;
}

/* --- operations beside the computation ------------------------------------ */

/* Of an operation: its members that follow the start of the one before, those
 * of them whose own time is hidden, and those to which it seems to begin anew.
 */
struct members {
    uint32_t n, hidden, anew;
};

/* Returns the habit of an item if it follows the start of the one before in its
 * stream; else NULL. */
static const struct follows_habit *start_habit(const struct build *b,
                                               const struct draft *draft)
{
    const struct follows_habit *h =
        draft->place ? follows_find(&b->habits, draft->place) : NULL;

    return h && follows_start(h) &&
                   !(draft->between && follows_what_ended(follows_find(
                                           &b->habits, draft->between)))
               ? h
               : NULL;
}

/* Marks the items of a process that follow the start of the one before. Where
 * either of both waited in line, its own time is hidden by the wait. */
static void mark_starts(struct build *b, uint32_t process, struct members *of)
{
    struct judge_run *run = b->run;

    for (uint32_t i = run->first[process]; i < run->first[process + 1]; i++)
        b->streams[b->keys[b->drafts[i].key].comm].last = FOLLOWS_NONE;
    for (uint32_t i = run->first[process]; i < run->first[process + 1]; i++) {
        struct judge_item *item = &run->items[i];
        const struct draft *draft = &b->drafts[i];
        struct stream *s = &b->streams[b->keys[draft->key].comm];
        const struct follows_habit *h = start_habit(b, draft);
        const double us[FOLLOWS_N] = {
            [FOLLOWS_END] = (double) draft->after_us,
            [FOLLOWS_START] = (double) draft->since_us};
        uint32_t before = s->last;

        s->last = i;
        if (!h)
            continue;
        item->after_start = 1;
        item->hidden = draft->after_us <= FOLLOWS_QUEUED_US ||
                       (before != FOLLOWS_NONE &&
                        run->items[before].after_start &&
                        b->drafts[before].after_us <= FOLLOWS_QUEUED_US);
        of[item->op].n++;
        of[item->op].hidden += item->hidden;
        of[item->op].anew += follows_anew(h, us);
    }
}

/* Sets own times of items that follow the start of the one before, if their
 * operation does not begin anew. Where those of half of the members or more are
 * hidden, there is little to compare with: then what counts is how long after
 * the end of the one before each arrives. 0 or -1. */
static int follow_starts(struct build *b)
{
    struct judge_run *run = b->run;
    struct members *of = calloc((size_t) run->n_ops + 1, sizeof(*of));

    if (!of)
        return -1;
    for (uint32_t p = 0; p < b->p->n; p++)
        mark_starts(b, p, of);
    for (uint32_t i = 0; i < run->first[b->p->n]; i++) {
        struct judge_item *item = &run->items[i];
        const struct members *m = &of[item->op];

        if (2 * m->anew > m->n)
            item->after_start = 0;
        item->in_line = item->after_start && 2 * m->hidden >= m->n;
        if (!item->after_start || item->in_line)
            item->hidden = 0;
        else if (!item->hidden)
            item->own_us = b->drafts[i].since_us;
    }
    free(of);
    return 0;
}

/* Makes the items of all processes. 0 or -1. */
static int put_all(struct build *b)
{
    struct judge_run *run = b->run;
    size_t n = 0, at = 0;
    int rc = find_sources(b);
    const struct operations_source *sources = b->from.sources;
    size_t n_sources = b->from.n_sources;

    for (size_t i = 0; i < n_sources; i++) {
        n += sources[i].timeline->n;
        run->left += sources[i].timeline->left;
    }
    run->items = calloc(n + 1, sizeof(*run->items));
    b->drafts = calloc(n + 1, sizeof(*b->drafts));
    if (!run->items || !b->drafts)
        rc = -1;
    for (uint32_t i = 0; rc == 0 && i < b->p->n; i++) {
        size_t from = at;

        while (at < n_sources && sources[at].process == i)
            at++;
        rc = put_process(b, i, sources + from, at - from);
        run->part |= run->cut[i];
    }
    b->kind_at[b->p->n] = (uint32_t) b->n_kinds;
    return rc;
}

int judge_build(struct judge_run *run)
{
    struct build b = {.run = run, .r = run->r, .p = run->p};
    size_t n = b.p->n;
    int rc = -1;

    run->timed = is_timed(b.r);
    run->first = calloc(n + 2, sizeof(*run->first));
    run->cut = calloc(n + 1, sizeof(*run->cut));
    run->role = calloc(n + 1, sizeof(*run->role));
    run->clock = calloc(n + 1, sizeof(*run->clock));
    run->closest = calloc(n + 1, sizeof(*run->closest));
    b.kind_at = calloc(n + 2, sizeof(*b.kind_at));
    if (run->first && run->cut && run->role && run->clock && run->closest &&
        b.kind_at && put_all(&b) == 0 && place_ops(&b) == 0)
        rc = run->why ? 0 : find_roles(&b);
    if (rc == 0 && !run->why)
        rc = place_items(&b);
    if (rc == 0 && !run->why && run->timed)
        rc = follow_starts(&b);
    free(b.drafts); /* as large as the items, and all of it is used */
    if (rc == 0 && !run->why && run->part)
        rc = judge_kept_fill(run, &b.from);
    keymap_fini(&b.map);
    follows_fini(&b.habits);
    free(b.keys);
    operations_fini(&b.from);
    free(b.kinds);
    free(b.kind_at);
    free(b.edges);
    exchanges_fini(&b.exchanges);
    free(b.streams);
    free(b.used);
    return rc;
}

void judge_build_fini(struct judge_run *run)
{
    free(run->items);
    free(run->first);
    free(run->cut);
    free(run->role);
    free(run->closest);
    free(run->cols);
    free(run->expected);
    free(run->key);
    free(run->keys);
    free(run->net_us);
    free(run->clock);
    judge_kept_fini(run);
}
