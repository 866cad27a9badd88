/* clockgraph.c - weighted least squares over the edges between clocks.
 *
 * Offsets may be years and have to be exact to nanoseconds, which a double
 * cannot be. So follow_tree sums up whole numbers along a tree, and relax
 * solves only for the small rest in doubles. Edges that contradict the others
 * are left out one by one (worst), and all is solved again. At the end come the
 * uncertainties. */
#include "orchestrator/aggregate/clocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clockmap.h"

/* An edge is left out if it misses the solution by more than CONTRADICTS times
 * (its uncertainty + CONTRADICTS_NS). */
#define CONTRADICTS 5.0
#define CONTRADICTS_NS 200.0
/* At most one edge in so many is left out, and one more. */
#define LEFT_OUT_PART 10
/* The most steps of the solver. Each makes the error smaller by some factor; a
 * graph of 1,024 clocks needs some 60. */
#define STEPS_MAX 2000
#define ACCURACY 1e-20 /* of the squared norm */

/* The graph, and the columns of the solver. The edges of clock i are
 * at[first[i]] to at[first[i + 1] - 1]. */
struct graph {
    struct clockgraph_edge *edges;
    size_t n_edges, n;
    uint32_t reference;
    size_t *first, *at;
    /* by clock */
    double *x, *b, *r, *p, *q, *diagonal, *distance;
    uint32_t *queue;
    bool *seen;
    double *d; /* by edge: the residual of theta */
    double *w; /* by edge: its weight, while it is solved */
};

/* The weight of an edge: 1 / uncertainty^2; 0 if it is left out. */
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
    free(g->w);
}

/* Lists the edges of each clock by a counting sort. 0, or -1: no memory;
 * graph_fini frees what is there. */
static int graph_init(struct graph *g)
{
    size_t n = g->n;
    /* one allocation for all columns by clock; x is its begin */
    double *columns = calloc(7 * n, sizeof(*columns));

    g->x = columns;
    g->first = calloc(n + 2, sizeof(*g->first));
    g->at = calloc(2 * g->n_edges, sizeof(*g->at));
    g->queue = calloc(n, sizeof(*g->queue));
    g->seen = calloc(n, sizeof(*g->seen));
    g->d = calloc(g->n_edges, sizeof(*g->d));
    g->w = calloc(g->n_edges, sizeof(*g->w));
    if (!columns || !g->first || !g->at || !g->queue || !g->seen || !g->d ||
        !g->w)
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

/* Sums up the edges along a tree from the reference: whole numbers, however far
 * apart the clocks are. Returns how many clocks it reaches. */
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

/* q = L p, with the graph's Laplacian L and the reference held at 0. */
static void multiply(struct graph *g, const double *p, double *q)
{
    memset(q, 0, g->n * sizeof(*q));
    for (size_t i = 0; i < g->n_edges; i++) {
        const struct clockgraph_edge *e = &g->edges[i];
        double flow = g->w[i] * (p[e->to] - p[e->from]);

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

/* Solves L x = b for the rest by conjugate gradients with the diagonal as
 * preconditioner. The graph is sparse, and the reference makes L definite where
 * it is connected. */
static void relax(struct graph *g)
{
    size_t n = g->n;
    double *z = g->q, rho, goal;

    memset(g->b, 0, n * sizeof(*g->b));
    memset(g->diagonal, 0, n * sizeof(*g->diagonal));
    for (size_t i = 0; i < g->n_edges; i++)
        g->w[i] = weight(&g->edges[i]);
    /* b: the pull of the edges' residuals on each clock */
    for (size_t i = 0; i < g->n_edges; i++) {
        const struct clockgraph_edge *e = &g->edges[i];
        double w = g->seen[e->from] ? g->w[i] : 0;

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
        if (!(alpha > 0)) /* also NAN */
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

/* Solves with the edges that are not left out, and computes the residuals of
 * all. */
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

/* Leaves out the edge that contradicts most, if the graph stays connected
 * without it. NULL: no edge contradicts, or the worst one is needed. */
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

/* How wrong an edge is, in ns: its own uncertainty, or its residual if that is
 * larger. */
static double error_of(const struct clockgraph_edge *e)
{
    return fmax(fmax(e->unc_ns, CLOCKGRAPH_LEAST_NS), e->residual_ns);
}

/* The errors along the best path from the reference, by Bellman-Ford. Such
 * graphs need few rounds. */
static void measure_ways(struct graph *g)
{
    bool changed = true;

    for (size_t i = 0; i < g->n; i++)
        g->distance[i] = i == g->reference ? 0 : INFINITY;
    for (size_t round = 0; changed && round < g->n; round++) {
        changed = false;
        for (size_t i = 0; i < g->n_edges; i++) {
            const struct clockgraph_edge *e = &g->edges[i];
            double error = error_of(e);
            double *from = &g->distance[e->from], *to = &g->distance[e->to];

            if (e->left_out)
                continue;
            if (*from + error < *to) {
                *to = *from + error;
                changed = true;
            }
            if (*to + error < *from) {
                *from = *to + error;
                changed = true;
            }
        }
    }
}

/* Sets the uncertainty of each clock. Where other edges tie two clocks better,
 * the residual of a noisy edge is its own error. Beyond CLOCKMAP_SURE times
 * that, either of its ends may be wrong. */
static void uncertainties(struct graph *g, struct clockgraph_clock *clocks)
{
    measure_ways(g);
    for (size_t i = 0; i < g->n; i++)
        clocks[i].unc_ns = clocks[i].reachable ? g->distance[i] : 0;
    for (size_t i = 0; i < g->n_edges; i++) {
        const struct clockgraph_edge *e = &g->edges[i];
        struct clockgraph_clock *ends[] = {&clocks[e->from], &clocks[e->to]};

        if (e->left_out ||
            e->residual_ns <=
                CLOCKMAP_SURE * fmax(e->unc_ns, CLOCKGRAPH_LEAST_NS))
            continue;
        for (int k = 0; k < 2; k++)
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
    /* without it all residuals change */
    while (left-- && worst(&g, clocks))
        solve(&g, clocks);
    for (size_t i = 0; i < n_clocks; i++)
        if (clocks[i].reachable && fabs(g.x[i]) < (double) CLOCKGRAPH_FAR_NS)
            clocks[i].offset_ns += llround(g.x[i]);
    uncertainties(&g, clocks);
    graph_fini(&g);
    return 0;
}
