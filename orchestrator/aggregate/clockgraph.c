/* clockgraph.c - weighted least squares over the edges between clocks. */
#include "orchestrator/aggregate/clockgraph.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/collective.h"
#include "common/clockmap.h"
#include "orchestrator/aggregate/clockpair.h"
#include "orchestrator/aggregate/keymap.h"
#include "orchestrator/aggregate/timeline.h"

struct clocks_check;

#define PENDING_BYTES ((size_t) 64 << 20)
#define PENDING_BITS 16
/* Records that are compared; more would make no line better. */
#define RECORDS_MAX (UINT64_C(1) << 18)
/* Waits that are not lateness, but another run of the same communicator: an
 * operation this long says nothing. */
#define LONGEST_NS INT64_C(3600000000000)

/* --- who is where --------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

bool clockwalk_counts(const struct timeline *t)
{
    return t && !t->mixed && t->n && t->host[0];
}

/* The hosts of all timelines, each once. */
static int find_hosts(struct clockwalk *w)
{
    uint32_t n = 0;

    w->hosts = calloc(w->n + 1, sizeof(*w->hosts));
    if (!w->hosts)
        return -1;
    for (size_t i = 0; i < w->n; i++)
        if (clockwalk_counts(w->timelines[i]))
            /* borrowed until all are known */
            w->hosts[n++] = w->timelines[i]->host;
    qsort(w->hosts, n, sizeof(*w->hosts), by_name);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || strcmp(w->hosts[i], w->hosts[w->n_hosts - 1]) != 0)
            w->hosts[w->n_hosts++] = w->hosts[i];
    return 0;
}

static uint32_t host_of(const struct clockwalk *w, const struct timeline *t)
{
    const char *name = t->host;
    char **at =
        bsearch(&name, w->hosts, w->n_hosts, sizeof(*w->hosts), by_name);

    return (uint32_t) (at - w->hosts);
}

/* FNV-1a; what collides is told by the bounds, which then contradict. */
static uint64_t hash(const char *text, uint64_t h)
{
    for (; *text; text++)
        h = (h ^ (uint8_t) *text) * 0x100000001b3ull;
    return h;
}

static bool tells(const struct timeline_series *s)
{
    return !s->p2p && s->n_ranks != 1 && collective_is_barrier(s->func);
}

static uint32_t comm_get(struct clockwalk *w, const struct timeline_series *s)
{
    uint64_t a = hash(s->id, 0xcbf29ce484222325ull),
             b = (uint64_t) s->n_ranks << 32 | s->nnodes;
    uint32_t at = keymap_find(&w->comm_map, a, b);

    if (at != KEYMAP_NONE)
        return at;
    if ((w->n_comms & (w->n_comms - 1)) == 0) {
        struct clockwalk_comm *more = realloc(
            w->comms, (w->n_comms ? 2 * w->n_comms : 1) * sizeof(*more));

        if (!more)
            return KEYMAP_NONE;
        w->comms = more;
    }
    if (keymap_add(&w->comm_map, a, b, w->n_comms) < 0)
        return KEYMAP_NONE;
    memset(&w->comms[w->n_comms], 0, sizeof(*w->comms));
    return w->n_comms++;
}

static uint32_t series_get(struct clockwalk *w, uint32_t comm, const char *func)
{
    uint64_t a = hash(func, 0xcbf29ce484222325ull);
    uint32_t at = keymap_find(&w->series_map, a, comm);

    if (at != KEYMAP_NONE)
        return at;
    if ((w->n_series & (w->n_series - 1)) == 0) {
        struct clockwalk_series *more = realloc(
            w->series, (w->n_series ? 2 * w->n_series : 1) * sizeof(*more));

        if (!more)
            return KEYMAP_NONE;
        w->series = more;
    }
    if (keymap_add(&w->series_map, a, comm, w->n_series) < 0)
        return KEYMAP_NONE;
    w->series[w->n_series] = (struct clockwalk_series){.comm = comm};
    return w->n_series++;
}

/* Timelines come by host, so that a host is new or the last one. */
static int note_host(struct clockwalk_comm *c, uint32_t host)
{
    if (c->n_hosts && c->hosts[c->n_hosts - 1] == host)
        return 0;
    if ((c->n_hosts & (c->n_hosts - 1)) == 0) {
        uint32_t *more = realloc(c->hosts, (c->n_hosts ? 2 * c->n_hosts : 1) *
                                               sizeof(*more));

        if (!more)
            return -1;
        c->hosts = more;
    }
    c->hosts[c->n_hosts++] = host;
    return 0;
}

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
        if (!tells(s))
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

/* What stays on one node tells nothing of its clock. */
static int find_series(struct clockwalk *w)
{
    w->walkers = calloc(w->n + 1, sizeof(*w->walkers));
    if (!w->walkers)
        return -1;
    for (size_t i = 0; i < w->n; i++)
        w->walkers[i].host = clockwalk_counts(w->timelines[i])
                                 ? host_of(w, w->timelines[i])
                                 : UINT32_MAX;
    for (uint32_t host = 0; host < w->n_hosts; host++)
        for (size_t i = 0; i < w->n; i++)
            if (w->walkers[i].host == host && note_timeline(w, i) < 0)
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

static size_t met_bytes(const struct clockwalk *w, uint32_t series)
{
    return sizeof(struct clockwalk_met) +
           w->comms[w->series[series].comm].n_hosts *
               sizeof(((struct clockwalk_met *) 0)->of[0]);
}

static struct clockwalk_met **bucket_of(struct clockwalk *w, uint32_t series,
                                        uint64_t sn)
{
    uint64_t h = (sn * 0x9e3779b97f4a7c15ull) ^
                 ((uint64_t) series * 0xc2b2ae3d27d4eb4full);

    return &w->buckets[(h * 0x9e3779b97f4a7c15ull) >> (64 - PENDING_BITS)];
}

/* Hands an operation over and forgets it. */
static int dismiss(struct clockwalk *w, struct clockwalk_met *met)
{
    struct clockwalk_met **at = bucket_of(w, met->series, met->sn);
    int rc = w->take(w, met);

    while (*at != met)
        at = &(*at)->next;
    *at = met->next;
    *(met->older ? &met->older->newer : &w->oldest) = met->newer;
    *(met->newer ? &met->newer->older : &w->newest) = met->older;
    w->pending -= met_bytes(w, met->series);
    free(met);
    return rc;
}

static struct clockwalk_met *met_get(struct clockwalk *w, uint32_t series,
                                     uint64_t sn)
{
    struct clockwalk_met **bucket = bucket_of(w, series, sn), *met;
    size_t bytes = met_bytes(w, series);

    for (met = *bucket; met; met = met->next)
        if (met->series == series && met->sn == sn)
            return met;
    met = calloc(1, bytes);
    if (!met)
        return NULL;
    met->series = series;
    met->sn = sn;
    met->next = *bucket;
    *bucket = met;
    met->older = w->newest;
    *(w->newest ? &w->newest->newer : &w->oldest) = met;
    w->newest = met;
    w->pending += bytes;
    return met;
}

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

static int64_t time_of(const struct clockwalk *w, uint32_t host, uint64_t us)
{
    int64_t ns = (int64_t) us * 1000;

    return w->nodes ? ns - clockmap_offset_ns(w->nodes[host], ns) : ns;
}

/* Who came last, by its start and by its time in the operation. */
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
    /* the mean of the ends, as it is with this one */
    met->of[at].n++;
    far = end - met->of[at].stamps.end_ns;
    met->of[at].stamps.end_mean_ns +=
        ((double) far - met->of[at].stamps.end_mean_ns) / met->of[at].n;
    if (++met->seen == w->series[series].members)
        return dismiss(w, met);
    if (w->pending > PENDING_BYTES)
        return dismiss(w, w->oldest);
    return 0;
}

/* --- side by side --------------------------------------------------------- */

/* The walker's next record that tells something. False: there is none. */
static bool advance(const struct clockwalk *w,
                    struct clockwalk_timeline *walker)
{
    while (timeline_next(&walker->reader, &walker->event))
        if (walker->series[walker->event.series] != UINT32_MAX &&
            walker->event.sn % w->stride == 0)
            return true;
    return false;
}

static uint64_t progress(const struct clockwalk *w, uint32_t i)
{
    return w->walkers[i].event.start_us - w->walkers[i].begin_us;
}

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

/* Every operation once, whole where the timelines have it whole. */
int clockwalk_run(struct clockwalk *w)
{
    int rc = open_walkers(w);

    while (rc == 0 && w->n_heap) {
        struct clockwalk_timeline *walker = &w->walkers[w->heap[0]];

        rc = meet(w, walker);
        if (!advance(w, walker))
            w->heap[0] = w->heap[--w->n_heap];
        sift(w, 0);
    }
    while (rc == 0 && w->oldest)
        rc = dismiss(w, w->oldest);
    close_walkers(w);
    return rc;
}

int clockwalk_init(struct clockwalk *w, struct timeline *const *timelines,
                   size_t n)
{
    memset(w, 0, sizeof(*w));
    w->timelines = timelines;
    w->n = n;
    w->stride = 1;
    for (size_t i = 0; i < n; i++)
        w->stride += timelines[i] ? timelines[i]->n : 0;
    w->stride = (w->stride + RECORDS_MAX - 1) / RECORDS_MAX;
    w->heap = calloc(n + 1, sizeof(*w->heap));
    w->buckets = calloc((size_t) 1 << PENDING_BITS, sizeof(*w->buckets));
    if (!w->heap || !w->buckets || find_hosts(w) < 0 || find_series(w) < 0)
        return -1;
    w->first_ns = calloc(2 * (size_t) w->n_hosts + 1, sizeof(*w->first_ns));
    if (!w->first_ns)
        return -1;
    w->last_ns = w->first_ns + w->n_hosts;
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
    for (uint32_t i = 0; i < w->n_pairs; i++)
        clockpair_fini(&w->pairs[i]);
    free(w->pairs);
    free(w->walkers);
    free(w->comms);
    free(w->series);
    free(w->hosts);
    free(w->heap);
    free(w->buckets);
    free(w->nodes);
    free(w->first_ns);
    keymap_fini(&w->comm_map);
    keymap_fini(&w->series_map);
    keymap_fini(&w->pair_map);
}

/* An edge is left out from such a contradiction on. */
#define CONTRADICTS 5.0
#define CONTRADICTS_NS 200.0
/* Of those left out, at most this part of the edges. */
#define LEFT_OUT_PART 10
/* A step of the solver makes the error smaller by some factor; a graph of
 * 1,024 clocks needs some 60. */
#define STEPS_MAX 2000
#define ACCURACY 1e-20 /* of the squared norm */

/* The edges of each clock: those of clock i are at[first[i]] to
 * at[first[i + 1]]. */
struct graph {
    struct clockgraph_edge *edges;
    size_t n_edges, n;
    uint32_t reference;
    size_t *first, *at;
    /* by clock */
    double *x, *b, *r, *p, *q, *diagonal, *distance;
    uint32_t *queue;
    bool *seen;
    double *d; /* by edge: what is left of theta */
};

static double weight(const struct clockgraph_edge *e)
{
    double unc = fmax(e->unc_ns, CLOCKGRAPH_LEAST_NS);

    return e->left_out ? 0 : 1 / (unc * unc);
}

static void graph_fini(struct graph *g)
{
    free(g->first);
    free(g->at);
    free(g->x);
    free(g->queue);
    free(g->seen);
    free(g->d);
}

static int graph_init(struct graph *g)
{
    size_t n = g->n;
    double *columns = calloc(7 * n, sizeof(*columns));

    g->x = columns;
    g->first = calloc(n + 2, sizeof(*g->first));
    g->at = calloc(2 * g->n_edges, sizeof(*g->at));
    g->queue = calloc(n, sizeof(*g->queue));
    g->seen = calloc(n, sizeof(*g->seen));
    g->d = calloc(g->n_edges, sizeof(*g->d));
    if (!columns || !g->first || !g->at || !g->queue || !g->seen || !g->d)
        return -1;
    g->b = columns + n;
    g->r = columns + 2 * n;
    g->p = columns + 3 * n;
    g->q = columns + 4 * n;
    g->diagonal = columns + 5 * n;
    g->distance = columns + 6 * n;
    for (size_t e = 0; e < g->n_edges; e++) {
        g->first[g->edges[e].from + 2]++;
        g->first[g->edges[e].to + 2]++;
    }
    for (size_t i = 2; i < n + 2; i++)
        g->first[i] += g->first[i - 1];
    for (size_t e = 0; e < g->n_edges; e++) {
        g->at[g->first[g->edges[e].from + 1]++] = e;
        g->at[g->first[g->edges[e].to + 1]++] = e;
    }
    return 0;
}

static uint32_t other_end(const struct clockgraph_edge *e, uint32_t clock)
{
    return e->from == clock ? e->to : e->from;
}

/* Offsets along a tree from the reference: whole numbers, however far apart
 * the clocks are. Returns how many clocks it reaches. */
static size_t follow_tree(struct graph *g, struct clockgraph_clock *clocks)
{
    size_t head = 0, tail = 0;

    memset(g->seen, 0, g->n * sizeof(*g->seen));
    g->seen[g->reference] = true;
    g->queue[tail++] = g->reference;
    clocks[g->reference].offset_ns = 0;
    while (head < tail) {
        uint32_t at = g->queue[head++];

        for (size_t k = g->first[at]; k < g->first[at + 1]; k++) {
            const struct clockgraph_edge *e = &g->edges[g->at[k]];
            uint32_t to = other_end(e, at);
            int64_t offset = clocks[at].offset_ns +
                             (e->from == at ? e->theta_ns : -e->theta_ns);

            if (g->seen[to] || e->left_out || offset > CLOCKGRAPH_FAR_NS ||
                offset < -CLOCKGRAPH_FAR_NS)
                continue;
            g->seen[to] = true;
            clocks[to].offset_ns = offset;
            g->queue[tail++] = to;
        }
    }
    for (size_t i = 0; i < g->n; i++)
        clocks[i].reachable = g->seen[i];
    return tail;
}

/* q = L p, with the reference held at 0. */
static void multiply(struct graph *g, const double *p, double *q)
{
    memset(q, 0, g->n * sizeof(*q));
    for (size_t i = 0; i < g->n_edges; i++) {
        const struct clockgraph_edge *e = &g->edges[i];
        double flow = weight(e) * (p[e->to] - p[e->from]);

        q[e->to] += flow;
        q[e->from] -= flow;
    }
    q[g->reference] = 0;
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Conjugate gradients with the diagonal as preconditioner; the graph is sparse
 * and the reference makes it definite where it is connected. */
static void relax(struct graph *g)
{
    size_t n = g->n;
    double *z = g->q, rho, goal;

    memset(g->b, 0, n * sizeof(*g->b));
    memset(g->diagonal, 0, n * sizeof(*g->diagonal));
    for (size_t i = 0; i < g->n_edges; i++) {
        const struct clockgraph_edge *e = &g->edges[i];
        double w = g->seen[e->from] ? weight(e) : 0;

        g->diagonal[e->from] += w;
        g->diagonal[e->to] += w;
        g->b[e->to] += w * g->d[i];
        g->b[e->from] -= w * g->d[i];
    }
    g->b[g->reference] = 0;
    memset(g->x, 0, n * sizeof(*g->x));
    memcpy(g->r, g->b, n * sizeof(*g->r));
    for (size_t i = 0; i < n; i++)
        g->p[i] = g->diagonal[i] > 0 ? g->r[i] / g->diagonal[i] : 0;
    rho = dot(g->r, g->p, n);
    goal = rho * ACCURACY;
    for (int step = 0; step < STEPS_MAX && rho > goal; step++) {
        double alpha, next;

        multiply(g, g->p, g->q);
        alpha = dot(g->p, g->q, n);
        if (!(alpha > 0))
            break;
        alpha = rho / alpha;
        for (size_t i = 0; i < n; i++) {
            g->x[i] += alpha * g->p[i];
            g->r[i] -= alpha * g->q[i];
        }
        for (size_t i = 0; i < n; i++)
            z[i] = g->diagonal[i] > 0 ? g->r[i] / g->diagonal[i] : 0;
        next = dot(g->r, z, n);
        for (size_t i = 0; i < n; i++)
            g->p[i] = z[i] + next / rho * g->p[i];
        rho = next;
    }
}

/* Solves with the edges that are not left out; residuals of all. */
static void solve(struct graph *g, struct clockgraph_clock *clocks)
{
    follow_tree(g, clocks);
    for (size_t i = 0; i < g->n_edges; i++) {
        const struct clockgraph_edge *e = &g->edges[i];

        g->d[i] = g->seen[e->from] && g->seen[e->to]
                      ? (double) (e->theta_ns - (clocks[e->to].offset_ns -
                                                 clocks[e->from].offset_ns))
                      : 0;
    }
    relax(g);
    for (size_t i = 0; i < g->n_edges; i++) {
        struct clockgraph_edge *e = &g->edges[i];

        e->residual_ns = fabs(g->x[e->to] - g->x[e->from] - g->d[i]);
    }
}

/* The edge that contradicts most, if its clocks are joined without it, too. */
static struct clockgraph_edge *worst(struct graph *g,
                                     struct clockgraph_clock *clocks)
{
    struct clockgraph_edge *found = NULL;
    double most = CONTRADICTS;
    size_t reached;

    for (size_t i = 0; i < g->n_edges; i++) {
        struct clockgraph_edge *e = &g->edges[i];
        double by = e->residual_ns / (e->unc_ns + CONTRADICTS_NS);

        if (!e->left_out && by > most) {
            most = by;
            found = e;
        }
    }
    if (!found)
        return NULL;
    reached = follow_tree(g, clocks);
    found->left_out = true;
    if (follow_tree(g, clocks) == reached)
        return found;
    found->left_out = false;
    follow_tree(g, clocks);
    return NULL;
}

/* The uncertainties along the best way from the reference: Bellman and Ford,
 * whose rounds are few in graphs of this kind. */
static void uncertainties(struct graph *g, struct clockgraph_clock *clocks)
{
    bool changed = true;

    for (size_t i = 0; i < g->n; i++)
        g->distance[i] = i == g->reference ? 0 : INFINITY;
    for (size_t round = 0; changed && round < g->n; round++) {
        changed = false;
        for (size_t i = 0; i < g->n_edges; i++) {
            const struct clockgraph_edge *e = &g->edges[i];
            double unc = fmax(e->unc_ns, CLOCKGRAPH_LEAST_NS);
            double *from = &g->distance[e->from], *to = &g->distance[e->to];

            if (e->left_out)
                continue;
            if (*from + unc < *to) {
                *to = *from + unc;
                changed = true;
            }
            if (*to + unc < *from) {
                *from = *to + unc;
                changed = true;
            }
        }
    }
    for (size_t i = 0; i < g->n; i++)
        clocks[i].unc_ns = clocks[i].reachable ? g->distance[i] : 0;
    for (size_t i = 0; i < g->n_edges; i++) {
        const struct clockgraph_edge *e = &g->edges[i];
        struct clockgraph_clock *ends[] = {&clocks[e->from], &clocks[e->to]};

        for (int k = 0; k < 2 && !e->left_out; k++)
            if (ends[k]->reachable && (k ? e->to : e->from) != g->reference)
                ends[k]->unc_ns = fmax(ends[k]->unc_ns, e->residual_ns);
    }
}

int clockgraph_solve(struct clockgraph_edge *edges, size_t n_edges,
                     uint32_t reference, struct clockgraph_clock *clocks,
                     size_t n_clocks)
{
    struct graph g = {.edges = edges,
                      .n_edges = n_edges,
                      .n = n_clocks,
                      .reference = reference};
    size_t left = n_edges / LEFT_OUT_PART + 1;

    memset(clocks, 0, n_clocks * sizeof(*clocks));
    for (size_t i = 0; i < n_edges; i++)
        edges[i].left_out = false;
    if (graph_init(&g) < 0) {
        graph_fini(&g);
        return -1;
    }
    solve(&g, clocks);
    while (left-- && worst(&g, clocks))
        solve(&g, clocks);
    for (size_t i = 0; i < n_clocks; i++)
        if (clocks[i].reachable && fabs(g.x[i]) < (double) CLOCKGRAPH_FAR_NS)
            clocks[i].offset_ns += llround(g.x[i]);
    uncertainties(&g, clocks);
    graph_fini(&g);
    return 0;
}
