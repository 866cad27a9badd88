/* clockwalk.c - walks the timelines of all processes side by side, and finds
 * what ranks of several nodes did together.
 *
 * clockwalk_init lists hosts, communicators and series. clockwalk_run takes the
 * records of all timelines in order of time, by a heap, and collects the
 * records of one operation in a struct clockwalk_met (meet). When all are
 * there, or when too many operations are pending, the operation is checked,
 * passed to walk->take and freed (dismiss). clockwalk_check is a walk for the
 * check alone. */
#include "orchestrator/aggregate/clocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "common/hash.h"
#include "common/vector.h"

/* Bytes of operations that are not complete, at most. */
#define PENDING_BYTES ((size_t) 64 << 20)
/* The most records that are compared. More would not improve the lines. */
#define RECORDS_MAX (UINT64_C(1) << 18)
/* Stamps are whole microseconds in most logs. */
#define STAMP_NS 1000
/* Longer operations are not used: such a wait is no lateness, but another run
 * of the same communicator. */
#define LONGEST_NS INT64_C(3600000000000)

/* --- which process is where ----------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

static bool counts(const struct timeline *t)
{
    return t && !t->mixed && t->n && t->host[0];
}

/* Collects the hosts of all timelines, sorted, each once. The names are
 * borrowed. 0, or -1: no memory. */
static int find_hosts(struct clockwalk *w)
{
    uint32_t n = 0;

    w->hosts = calloc(w->n + 1, sizeof(*w->hosts));
    if (!w->hosts)
        return -1;
    for (size_t i = 0; i < w->n; i++)
        if (counts(w->timelines[i]))
            /* borrowed until all are known */
            w->hosts[n++] = w->timelines[i]->host;
    qsort(w->hosts, n, sizeof(*w->hosts), by_name);
    /* equal names are neighbours now */
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || strcmp(w->hosts[i], w->hosts[w->n_hosts - 1]) != 0)
            w->hosts[w->n_hosts++] = w->hosts[i];
    return 0;
}

/* The index of a timeline's host. */
static uint32_t host_of(const struct clockwalk *w, const struct timeline *t)
{
    const char *name = t->host;
    char **at =
        bsearch(&name, w->hosts, w->n_hosts, sizeof(*w->hosts), by_name);

    return (uint32_t) (at - w->hosts);
}

/* Whether a series shows something about clocks: no rank leaves an operation
 * before all have entered. */
static bool tells(const struct timeline_series *s)
{
    return !s->p2p && s->n_ranks != 1 && collective_is_barrier(s->func);
}

/* The number of a series' communicator, which is made if it is new. The hash is
 * used in place of the id: if two ids collide, their bounds contradict each
 * other and are left out. KEYMAP_NONE: no memory. */
static uint32_t comm_get(struct clockwalk *w, const struct timeline_series *s)
{
    uint64_t a = hash_text(hash_start(), s->id),
             b = (uint64_t) s->n_ranks << 32 | s->nnodes;
    uint32_t at = keymap_find(&w->comm_map, a, b);

    if (at != KEYMAP_NONE)
        return at;
    if (VECTOR_DOUBLE(w->comms, w->n_comms) < 0)
        return KEYMAP_NONE;
    if (keymap_add(&w->comm_map, a, b, w->n_comms) < 0)
        return KEYMAP_NONE;
    memset(&w->comms[w->n_comms], 0, sizeof(*w->comms));
    return w->n_comms++;
}

/* The number of a function in a communicator. As above. */
static uint32_t series_get(struct clockwalk *w, uint32_t comm, const char *func)
{
    uint64_t a = hash_text(hash_start(), func);
    uint32_t at = keymap_find(&w->series_map, a, comm);

    if (at != KEYMAP_NONE)
        return at;
    if (VECTOR_DOUBLE(w->series, w->n_series) < 0)
        return KEYMAP_NONE;
    if (keymap_add(&w->series_map, a, comm, w->n_series) < 0)
        return KEYMAP_NONE;
    w->series[w->n_series] = (struct clockwalk_series){.comm = comm};
    return w->n_series++;
}

/* Adds a host to a communicator. Timelines come in order of host, so a host is
 * new or the last one added. 0, or -1: no memory. */
static int note_host(struct clockwalk_comm *c, uint32_t host)
{
    if (c->n_hosts && c->hosts[c->n_hosts - 1] == host)
        return 0;
    if (VECTOR_DOUBLE(c->hosts, c->n_hosts) < 0)
        return -1;
    c->hosts[c->n_hosts++] = host;
    return 0;
}

/* Notes the series of a timeline: walker->series maps them to the walk's. 0, or
 * -1: no memory. */
static int note_timeline(struct clockwalk *w, size_t i)
{
    const struct timeline *t = w->timelines[i];
    struct clockwalk_timeline *walker = &w->walkers[i];

    walker->series = calloc(t->n_series + 1, sizeof(*walker->series));
    if (!walker->series)
        return -1;
    for (uint32_t k = 0; k < t->n_series; k++) {
        const struct timeline_series *s = &t->series[k];
        uint32_t comm, at;

        walker->series[k] = UINT32_MAX;
        if (!tells(s)) /* not barrier-like */
            continue;
        comm = comm_get(w, s);
        at = comm == KEYMAP_NONE ? comm : series_get(w, comm, s->func);
        if (at == KEYMAP_NONE || note_host(&w->comms[comm], walker->host) < 0)
            return -1;
        w->series[at].members++;
        walker->series[k] = at;
    }
    return 0;
}

/* Notes the series of all timelines, in order of host, as note_host expects:
 * a counting sort. 0, or -1: no memory. */
static int note_timelines(struct clockwalk *w)
{
    size_t *first = calloc((size_t) w->n_hosts + 2, sizeof(*first));
    size_t *order = calloc(w->n + 1, sizeof(*order)), known;
    int rc = first && order ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < w->n; i++)
        if (w->walkers[i].host != UINT32_MAX)
            first[w->walkers[i].host + 1]++;
    for (uint32_t host = 0; rc == 0 && host < w->n_hosts; host++)
        first[host + 1] += first[host];
    known = rc == 0 ? first[w->n_hosts] : 0;
    for (size_t i = 0; rc == 0 && i < w->n; i++)
        if (w->walkers[i].host != UINT32_MAX)
            order[first[w->walkers[i].host]++] = i;
    for (size_t i = 0; rc == 0 && i < known; i++)
        rc = note_timeline(w, order[i]);
    free(first);
    free(order);
    return rc;
}

/* Lists the series of all timelines and drops those on one node, which show
 * nothing about its clock. 0, or -1: no memory. */
static int find_series(struct clockwalk *w)
{
    w->walkers = calloc(w->n + 1, sizeof(*w->walkers));
    if (!w->walkers)
        return -1;
    for (size_t i = 0; i < w->n; i++)
        w->walkers[i].host =
            counts(w->timelines[i]) ? host_of(w, w->timelines[i]) : UINT32_MAX;
    if (note_timelines(w) < 0)
        return -1;
    for (size_t i = 0; i < w->n; i++)
        for (uint32_t k = 0;
             w->walkers[i].series && k < w->timelines[i]->n_series; k++) {
            uint32_t *s = &w->walkers[i].series[k];

            if (*s != UINT32_MAX && w->comms[w->series[*s].comm].n_hosts < 2)
                *s = UINT32_MAX;
        }
    return 0;
}

/* --- operations ----------------------------------------------------------- */

/* Bytes of an operation, which has an element for each of its nodes. */
static size_t met_bytes(const struct clockwalk *w, uint32_t series)
{
    return sizeof(struct clockwalk_met) +
           w->comms[w->series[series].comm].n_hosts *
               sizeof(((struct clockwalk_met *) 0)->of[0]);
}

static uint64_t hash_of(uint32_t series, uint64_t sn)
{
    return hash_word(hash_word(hash_start(), series), sn);
}

/* --- operations that do not overlap --------------------------------------- */

/* The last start and the first end of an operation, the nodes that have them,
 * and what they would be without that node. */
struct reach {
    uint32_t last, first;
    int64_t start_ns, next_start_ns, end_ns, next_end_ns;
};

/* Adds a node's stamps. */
static void reach_add(struct reach *r, uint32_t host,
                      const struct clockpair_stamps *s)
{
    if (s->start_ns > r->start_ns) {
        r->next_start_ns = r->start_ns;
        r->start_ns = s->start_ns;
        r->last = host;
    } else if (s->start_ns > r->next_start_ns) {
        r->next_start_ns = s->start_ns;
    }
    if (s->end_ns < r->end_ns) {
        r->next_end_ns = r->end_ns;
        r->end_ns = s->end_ns;
        r->first = host;
    } else if (s->end_ns < r->next_end_ns) {
        r->next_end_ns = s->end_ns;
    }
}

/* Counts an operation of several nodes in walk->gaps, and its gap if its ranks
 * do not overlap. */
static void note_gap(struct clockwalk *w, const struct clockwalk_met *met)
{
    const struct clockwalk_comm *c = &w->comms[w->series[met->series].comm];
    struct reach r = {.start_ns = INT64_MIN,
                      .next_start_ns = INT64_MIN,
                      .end_ns = INT64_MAX,
                      .next_end_ns = INT64_MAX};
    bool by_start, by_end;
    size_t bin;

    for (uint32_t i = 0; i < c->n_hosts; i++)
        if (met->of[i].n) {
            struct clockwalk_gaps *gaps = &w->gaps[c->hosts[i]];

            gaps->operations++;
            gaps->net_ns += ((double) met->net_ns - gaps->net_ns) /
                            (double) gaps->operations;
            reach_add(&r, c->hosts[i], &met->of[i].stamps);
        }
    if (r.start_ns <= r.end_ns)
        return;
    /* four bins for a power of two */
    bin = (size_t) (4 * log2((double) (r.start_ns - r.end_ns)));
    bin = bin < CLOCKWALK_BINS ? bin : CLOCKWALK_BINS - 1;
    /* the gap counts for the node without which it disappears; for both if
     * either removes it */
    by_start = r.next_start_ns <= r.end_ns;
    by_end = r.start_ns <= r.next_end_ns;
    if (by_start || !by_end)
        w->gaps[r.last].n[bin]++;
    if ((by_end || !by_start) && r.first != r.last)
        w->gaps[r.first].n[bin]++;
}

/* The gap in ns that no more than this share of a node's operations exceeds. */
static double gap_ns(const struct clockwalk_gaps *gaps, double share)
{
    uint64_t more = 0;

    /* from the longest gaps down */
    for (size_t i = CLOCKWALK_BINS; i-- > 0;) {
        more += gaps->n[i];
        if ((double) more > share * (double) gaps->operations)
            return exp2((double) (i + 1) / 4);
    }
    return 0;
}

/* How wrong the clock may be without a visible gap, in ns. If at least this
 * share of the operations has a gap, others have wrong times that do not show:
 * half of an operation's time. Otherwise 0. */
static double doubt_ns(const struct clockwalk_gaps *gaps, double share)
{
    uint64_t torn = 0;

    for (size_t i = 0; i < CLOCKWALK_BINS; i++)
        torn += gaps->n[i];
    return torn && (double) torn >= share * (double) gaps->operations
               ? gaps->net_ns / 2
               : 0;
}

/* --- the check of times that a walk makes --------------------------------- */

/* How wrong the distance between the last two starts may be, in ns. */
static double unsure_ns(const struct clockwalk *w,
                        const struct clockwalk_met *met)
{
    uint32_t a = w->walkers[met->last].host, b = w->walkers[met->second].host;

    if (a == b || !w->nodes)
        return STAMP_NS;
    return STAMP_NS + clockmap_unc_ns(w->nodes[a], met->start_ns) +
           clockmap_unc_ns(w->nodes[b], met->next_start_ns);
}

/* Counts which rank came last, once by starts, if the clocks are good enough,
 * and once by the shortest time. */
static void note_arrivals(struct clockwalk *w, const struct clockwalk_met *met)
{
    struct clocks_arrival *last = &w->arrivals[met->last];
    double late = (double) (met->start_ns - met->next_start_ns);
    bool by_start = late > CLOCKMAP_SURE * unsure_ns(w, met);
    bool by_time = met->next_net_ns - met->net_ns > CLOCKMAP_SURE * STAMP_NS;

    w->series[met->series].whole++;
    if (by_start) {
        last->last++;
        last->late_ns += (uint64_t) late;
        last->both += by_time && met->quick == met->last;
    }
    if (by_time)
        w->arrivals[met->quick].quick++;
    /* both methods are certain: do they agree? */
    if (by_start && by_time) {
        w->compared++;
        w->disagreed += met->quick != met->last;
    }
}

/* Checks whether there was a moment at which all ranks were inside. */
static void check_met(struct clockwalk *w, const struct clockwalk_met *met)
{
    const struct clockwalk_comm *c = &w->comms[w->series[met->series].comm];
    int64_t start = INT64_MIN, end = INT64_MAX;
    uint32_t hosts = 0;

    /* the last start and the first end of all nodes */
    for (uint32_t i = 0; i < c->n_hosts; i++) {
        const struct clockpair_stamps *s = &met->of[i].stamps;

        if (!met->of[i].n)
            continue;
        hosts++;
        start = s->start_ns > start ? s->start_ns : start;
        end = s->end_ns < end ? s->end_ns : end;
    }
    /* records of one node only: the others' are missing */
    if (hosts < 2)
        return;
    w->check->operations++;
    if (w->gaps)
        note_gap(w, met);
    if (w->arrivals && met->seen == w->series[met->series].members)
        note_arrivals(w, met);
    if (start > end) {
        w->check->violations++;
        if (start - end > w->check->worst_ns)
            w->check->worst_ns = start - end;
    }
}

/* --- operations that are complete ----------------------------------------- */

/* Checks an operation, calls take for it, and frees it. */
static int dismiss(struct clockwalk *w, struct clockwalk_met *met)
{
    int rc = 0;

    if (w->check)
        check_met(w, met);
    if (w->take)
        rc = w->take(w->take_arg, w, met);
    hash_remove(&w->pending, hash_of(met->series, met->sn), met->place);
    w->met[met->place] = NULL;
    w->free_places[w->n_free++] = met->place;
    /* out of the list by time */
    *(met->older ? &met->older->newer : &w->oldest) = met->newer;
    *(met->newer ? &met->newer->older : &w->newest) = met->older;
    w->pending_bytes -= met_bytes(w, met->series); /* as met_get added it */
    free(met);
    return rc;
}

/* Adds a place for an operation, and room in the list of the free ones for all.
 * 0, or -1: no memory. */
static int add_place(struct clockwalk *w)
{
    if (VECTOR_DOUBLE(w->met, w->n_met) < 0 ||
        VECTOR_DOUBLE(w->free_places, w->n_met) < 0)
        return -1;
    w->met[w->n_met] = NULL;
    w->free_places[w->n_free++] = w->n_met++;
    return 0;
}

/* Finds or makes the operation. NULL: no memory. */
static struct clockwalk_met *met_get(struct clockwalk *w, uint32_t series,
                                     uint64_t sn)
{
    uint64_t hash = hash_of(series, sn);
    size_t bytes = met_bytes(w, series);
    struct clockwalk_met *met;
    uint32_t at;

    for (size_t i = 0; (at = hash_next(&w->pending, hash, &i)) != HASH_NONE;)
        if (w->met[at]->series == series && w->met[at]->sn == sn)
            return w->met[at];
    if (!w->n_free && add_place(w) < 0)
        return NULL;
    met = calloc(1, bytes);
    if (!met)
        return NULL;
    met->series = series;
    met->sn = sn;
    met->place = w->free_places[w->n_free - 1];
    if (hash_add(&w->pending, hash, met->place) < 0) {
        free(met);
        return NULL;
    }
    w->n_free--;
    w->met[met->place] = met;
    /* the newest of the list by time */
    met->older = w->newest;
    *(w->newest ? &w->newest->newer : &w->oldest) = met;
    w->newest = met;
    w->pending_bytes += bytes;
    return met;
}

/* The place of a host among a communicator's hosts; it is one of them. */
static uint32_t place_of(const struct clockwalk_comm *c, uint32_t host)
{
    uint32_t low = 0, high = c->n_hosts;

    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;

        if (c->hosts[middle] <= host)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A time in ns on the common clock, or on the host's own if times are not
 * mapped. */
static int64_t time_of(const struct clockwalk *w, uint32_t host, uint64_t us)
{
    int64_t ns = (int64_t) us * 1000;

    return w->nodes ? ns - clockmap_offset_ns(w->nodes[host], ns) : ns;
}

/* Keeps the two last starts and the two shortest times, and which timelines
 * have them. */
static void note_arrival(struct clockwalk_met *met, uint32_t who, int64_t start,
                         int64_t end)
{
    int64_t net = end - start;

    if (!met->seen || net < met->net_ns) {
        met->next_net_ns = met->seen ? met->net_ns : INT64_MAX;
        met->net_ns = net;
        met->quick = who;
    } else if (net < met->next_net_ns) {
        met->next_net_ns = net;
    }
    if (!met->seen || start > met->start_ns) {
        met->next_start_ns = met->seen ? met->start_ns : INT64_MIN;
        met->second = met->last;
        met->start_ns = start;
        met->last = who;
    } else if (start > met->next_start_ns) {
        met->next_start_ns = start;
        met->second = who;
    }
}

/* Adds a walker's record to its operation. Records without times, or with times
 * that cannot be, are left out. 0, -1: no memory, or what take returned. */
static int meet(struct clockwalk *w, const struct clockwalk_timeline *walker)
{
    const struct timeline_event *e = &walker->event;
    uint32_t series = walker->series[e->series];
    struct clockwalk_met *met;
    int64_t start, end, far;
    uint32_t at;

    if (series == UINT32_MAX || e->time_us == 0 || e->start_us == 0 ||
        e->start_us > CLOCKWALK_MAX_US ||
        e->time_us > (uint64_t) LONGEST_NS / 1000)
        return 0;
    met = met_get(w, series, e->sn);
    if (!met)
        return -1;
    at = place_of(&w->comms[w->series[series].comm], walker->host);
    start = time_of(w, walker->host, e->start_us);
    end = time_of(w, walker->host, e->start_us + e->time_us);
    if (start < w->first_ns[walker->host])
        w->first_ns[walker->host] = start;
    if (end > w->last_ns[walker->host])
        w->last_ns[walker->host] = end;
    note_arrival(met, (uint32_t) (walker - w->walkers), start, end);
    /* the last start and the first end of this node */
    if (!met->of[at].n) {
        met->of[at].stamps.start_ns = start;
        met->of[at].stamps.end_ns = end;
    } else {
        struct clockpair_stamps *s = &met->of[at].stamps;

        if (start > s->start_ns)
            s->start_ns = start;
        if (end < s->end_ns) {
            s->end_mean_ns += (double) (s->end_ns - end);
            s->end_ns = end;
        }
    }
    /* a running mean of the ends, measured from the first end, so that it stays
     * small */
    met->of[at].n++;
    far = end - met->of[at].stamps.end_ns;
    met->of[at].stamps.end_mean_ns +=
        ((double) far - met->of[at].stamps.end_mean_ns) / met->of[at].n;
    if (++met->seen == w->series[series].members)
        return dismiss(w, met);
    /* some ranks of the oldest operation may have no record at all */
    if (w->pending_bytes > PENDING_BYTES)
        return dismiss(w, w->oldest);
    return 0;
}

/* --- side by side --------------------------------------------------------- */

/* Advances to the walker's next record that is used: of a series on several
 * nodes, and of every stride-th operation. False: there is none. */
static bool advance(const struct clockwalk *w,
                    struct clockwalk_timeline *walker)
{
    while (timeline_next(&walker->reader, &walker->event))
        if (walker->series[walker->event.series] != UINT32_MAX &&
            walker->event.sn % w->stride == 0)
            return true;
    return false;
}

/* The order in the heap: time since the timeline's own begin, because clocks
 * may be hours apart. */
static uint64_t progress(const struct clockwalk *w, uint32_t i)
{
    return w->walkers[i].event.start_us - w->walkers[i].begin_us;
}

/* Restores the heap's order from an element downwards. */
static void sift(struct clockwalk *w, size_t at)
{
    for (;;) {
        size_t least = at;

        for (size_t k = 2 * at + 1; k <= 2 * at + 2 && k < w->n_heap; k++)
            if (progress(w, w->heap[k]) < progress(w, w->heap[least]))
                least = k;
        if (least == at)
            return;
        uint32_t swap = w->heap[at];

        w->heap[at] = w->heap[least];
        w->heap[least] = swap;
        at = least;
    }
}

/* Opens a reader for each timeline and makes the heap. 0, or -1: no memory. */
static int open_walkers(struct clockwalk *w)
{
    w->n_heap = 0;
    for (size_t i = 0; i < w->n; i++) {
        struct clockwalk_timeline *walker = &w->walkers[i];

        if (!walker->series)
            continue;
        if (timeline_reader_init(&walker->reader, w->timelines[i]) < 0)
            return -1;
        walker->opened = true;
        if (!advance(w, walker))
            continue;
        walker->begin_us = w->timelines[i]->first_us;
        w->heap[w->n_heap++] = (uint32_t) i;
    }
    for (size_t i = w->n_heap / 2; i-- > 0;)
        sift(w, i);
    return 0;
}

static void close_walkers(struct clockwalk *w)
{
    for (size_t i = 0; w->walkers && i < w->n; i++)
        if (w->walkers[i].opened) {
            timeline_reader_fini(&w->walkers[i].reader);
            w->walkers[i].opened = false;
        }
}

int clockwalk_run(struct clockwalk *w)
{
    int rc = open_walkers(w);

    while (rc == 0 && w->n_heap) {
        struct clockwalk_timeline *walker = &w->walkers[w->heap[0]];

        rc = meet(w, walker);
        /* this timeline is done: the last one takes its place */
        if (!advance(w, walker))
            w->heap[0] = w->heap[--w->n_heap];
        sift(w, 0);
    }
    /* operations without all records */
    while (rc == 0 && w->oldest)
        rc = dismiss(w, w->oldest);
    close_walkers(w);
    return rc;
}

/* How long the longest timeline is. */
static int64_t length_ns(const struct clockwalk *w)
{
    uint64_t longest = 0;

    for (size_t i = 0; i < w->n; i++) {
        const struct timeline *t = w->timelines[i];

        if (counts(t) && t->last_us > t->first_us &&
            t->last_us <= CLOCKWALK_MAX_US &&
            t->last_us - t->first_us > longest)
            longest = t->last_us - t->first_us;
    }
    return (int64_t) longest * 1000;
}

int clockwalk_init(struct clockwalk *w, struct timeline *const *timelines,
                   size_t n)
{
    memset(w, 0, sizeof(*w));
    w->timelines = timelines;
    w->n = n;
    w->stride = 1; /* so that it is at least 1 without records */
    /* first the sum of all records, then the stride that follows from it */
    for (size_t i = 0; i < n; i++)
        w->stride += timelines[i] ? timelines[i]->n : 0;
    w->stride = (w->stride + RECORDS_MAX - 1) / RECORDS_MAX;
    w->heap = calloc(n + 1, sizeof(*w->heap));
    if (!w->heap || find_hosts(w) < 0 || find_series(w) < 0)
        return -1;
    /* one array for both */
    w->first_ns = calloc(2 * (size_t) w->n_hosts + 1, sizeof(*w->first_ns));
    if (!w->first_ns)
        return -1;
    w->last_ns = w->first_ns + w->n_hosts;
    w->length_ns = length_ns(w);
    for (uint32_t i = 0; i < w->n_hosts; i++) {
        w->first_ns[i] = INT64_MAX;
        w->last_ns[i] = INT64_MIN;
    }
    return 0;
}

void clockwalk_fini(struct clockwalk *w)
{
    while (w->oldest) {
        struct clockwalk_met *next = w->oldest->newer;

        free(w->oldest);
        w->oldest = next;
    }
    for (uint32_t i = 0; i < w->n_comms; i++) {
        free(w->comms[i].hosts);
        free(w->comms[i].links);
    }
    for (size_t i = 0; w->walkers && i < w->n; i++)
        free(w->walkers[i].series);
    free(w->walkers);
    free(w->comms);
    free(w->series);
    free(w->hosts);
    free(w->heap);
    free(w->met);
    free(w->free_places);
    hash_fini(&w->pending);
    free(w->nodes);
    free(w->gaps);
    free(w->first_ns);
    keymap_fini(&w->comm_map);
    keymap_fini(&w->series_map);
}

int clockwalk_check(struct timeline *const *timelines, size_t n,
                    const struct clockmap *map, struct clocks_check *check,
                    struct clockwalk_arrivals *out)
{
    struct clocks_arrival *arrivals = out ? out->arrivals : NULL;
    struct clockwalk w;
    int rc = clockwalk_init(&w, timelines, n);

    memset(check, 0, sizeof(*check));
    w.check = check;
    w.arrivals = arrivals;
    /* times are mapped by these */
    if (rc == 0 && map) {
        w.nodes = calloc(w.n_hosts + 1, sizeof(*w.nodes));
        if (out) /* gaps are for arrivals only */
            w.gaps = calloc(w.n_hosts + 1, sizeof(*w.gaps));
        if (!w.nodes || (out && !w.gaps))
            rc = -1;
        for (uint32_t i = 0; rc == 0 && i < w.n_hosts; i++)
            w.nodes[i] = clockmap_find(map, w.hosts[i], strlen(w.hosts[i]));
    }
    /* one host has nothing to compare */
    if (rc == 0 && w.n_hosts > 1)
        rc = clockwalk_run(&w);
    for (size_t i = 0; rc == 0 && arrivals && w.n_hosts > 1 && i < n; i++)
        for (uint32_t k = 0; w.walkers[i].series && k < timelines[i]->n_series;
             k++)
            if (w.walkers[i].series[k] != UINT32_MAX)
                arrivals[i].operations +=
                    w.series[w.walkers[i].series[k]].whole;
    for (uint32_t i = 0; rc == 0 && w.gaps && i < w.n_hosts; i++)
        if (w.nodes[i])
            out->widths_ns[w.nodes[i] - map->nodes] =
                fmax(gap_ns(&w.gaps[i], CLOCKS_TORN_TOLD),
                     doubt_ns(&w.gaps[i], CLOCKS_TORN_DOUBT));
    if (out) {
        out->compared = w.compared;
        out->disagreed = w.disagreed;
    }
    clockwalk_fini(&w);
    return rc;
}
