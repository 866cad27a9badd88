/* clocks.c - one time for all nodes, from what their ranks did together and
 * what their agents measured.
 *
 * clocks_align makes a map by collectives: it compares pairs of nodes
 * (clockpair.c), and solves for all clocks at points over the run
 * (solve_points, clockgraph.c). clocks_make adds the probes (clockprobes.c) and
 * finds which process came last by the map. clocks_text formats all of it as
 * one sentence. */
#include "orchestrator/aggregate/clocks.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"

/* the most passes of solve_at */
#define PASSES 8
/* The moment in which a clock was set is found to this precision. */
#define STEP_NS INT64_C(1000000)
/* A clock that goes back by less was not set. */
#define SET_BACK_NS INT64_C(1000000)
/* So many nodes are tried as reference, until one reaches half of the nodes. */
#define TRIED 64

/* --- all nodes ------------------------------------------------------------ */

/* Work space to solve for all clocks at one moment. */
struct solver {
    const struct clockwalk *w; /* has the nodes */
    const struct clockpairs *pairs;
    struct clockgraph_edge *edges;   /* measured at this moment */
    size_t n;                        /* of edges */
    struct clockgraph_clock *clocks; /* the solution */
    int64_t *before;                 /* by clock */
};

/* Measures all pairs when the reference shows t_ns. Each pair's line is read at
 * the time that its clock shows then by the offsets so far. */
static void measure_at(struct solver *s, int64_t t_ns)
{
    s->n = 0;
    for (uint32_t i = 0; i < s->pairs->n; i++) {
        const struct clockpair *p = &s->pairs->list[i];
        struct clockgraph_edge *e = &s->edges[s->n];

        *e = (struct clockgraph_edge){.from = p->a, .to = p->b};
        /* the element is used only if there is a line */
        s->n += clockpair_theta(p, t_ns + s->clocks[p->a].offset_ns,
                                &e->theta_ns, &e->unc_ns);
    }
}

/* The same with each pair's first window, which is near enough to begin with.
 */
static void measure_first(struct solver *s)
{
    s->n = 0;
    for (uint32_t i = 0; i < s->pairs->n; i++) {
        const struct clockpair *p = &s->pairs->list[i];
        struct clockgraph_edge *e = &s->edges[s->n];

        *e = (struct clockgraph_edge){.from = p->a, .to = p->b};
        s->n += p->n_windows && clockpair_theta(p, p->windows[0].first_ns,
                                                &e->theta_ns, &e->unc_ns);
    }
}

/* Solves for all clocks when the reference shows t_ns. A pair's line is read at
 * a moment that is wrong by the error of an offset, so the result is wrong by
 * the drift in that time. Each pass therefore divides the error by some 10,000.
 */
static int solve_at(struct solver *s, int64_t t_ns, uint32_t reference)
{
    int64_t moved = INT64_MAX;

    for (int pass = 0; pass < PASSES && moved > 1; pass++) {
        measure_at(s, t_ns);
        /* no pair has a window */
        if (s->n == 0)
            return 0;
        for (uint32_t i = 0; i < s->w->n_hosts; i++)
            s->before[i] = s->clocks[i].offset_ns;
        if (clockgraph_solve(s->edges, s->n, reference, s->clocks,
                             s->w->n_hosts) < 0)
            return -1;
        /* how far the offsets have moved in this pass */
        moved = 0;
        for (uint32_t i = 0; i < s->w->n_hosts; i++) {
            int64_t by = llabs(s->clocks[i].offset_ns - s->before[i]);

            moved = by > moved ? by : moved;
        }
    }
    return 0;
}

/* Chooses the node from which most others are reached, and of several the
 * first. The solution for it is left in s->clocks. 0, or -1: no memory. */
static int choose_reference(struct solver *s, uint32_t *reference)
{
    size_t most = 0;

    for (uint32_t r = 0; r < s->w->n_hosts; r++) {
        size_t reached = 0;

        measure_first(s);
        if (s->n == 0)
            return 0;
        if (clockgraph_solve(s->edges, s->n, r, s->clocks, s->w->n_hosts) < 0)
            return -1;
        for (uint32_t i = 0; i < s->w->n_hosts; i++)
            reached += s->clocks[i].reachable;
        if (reached > most) {
            most = reached;
            *reference = r;
        }
        /* no node of another part of the graph can reach more */
        if (2 * reached >= s->w->n_hosts || r + 1 == TRIED)
            break;
    }
    measure_first(s);
    return s->n ? clockgraph_solve(s->edges, s->n, *reference, s->clocks,
                                   s->w->n_hosts)
                : 0;
}

/* Makes the map's nodes, with room for `points` points each. The reference
 * needs none. 0, or -1: no memory. */
static int make_nodes(const struct clockwalk *w, struct clockmap *map,
                      size_t points)
{
    map->nodes = calloc(w->n_hosts, sizeof(*map->nodes));
    if (!map->nodes)
        return -1;
    for (uint32_t i = 0; i < w->n_hosts; i++) {
        map->nodes[i].host = strdup(w->hosts[i]);
        map->n_nodes++;
        if (!map->nodes[i].host)
            return -1;
        if (points && i != map->reference) {
            map->nodes[i].points =
                calloc(points, sizeof(*map->nodes[i].points));
            if (!map->nodes[i].points)
                return -1;
        }
    }
    map->nodes[map->reference].aligned = true;
    return 0;
}

/* Adds a point to each node that is reachable. t_ns: by the reference's clock.
 * Points ascend by the node's own clock. */
static void add_points(struct clockmap *map,
                       const struct clockgraph_clock *clocks, int64_t t_ns)
{
    for (size_t i = 0; i < map->n_nodes; i++) {
        struct clockmap_node *node = &map->nodes[i];
        struct clockmap_point p = {.t_ns = t_ns + clocks[i].offset_ns,
                                   .offset_ns = clocks[i].offset_ns,
                                   .unc_ns = clocks[i].unc_ns};

        /* the reference has no points */
        if (!node->points || !clocks[i].reachable)
            continue;
        if (node->n_points && node->points[node->n_points - 1].t_ns >= p.t_ns) {
            const struct clockmap_point *last =
                &node->points[node->n_points - 1];

            /* the clock was set back and shows some times twice: they are taken
             * for the earlier ones */
            if (fabs((double) (p.offset_ns - last->offset_ns)) <=
                (double) SET_BACK_NS)
                continue;
            p.t_ns = last->t_ns + 1;
        }
        node->aligned = true;
        map->method = CLOCKMAP_COLLECTIVES;
        node->points[node->n_points++] = p;
    }
}

/* Whether a clock moved by more than drift between two moments. */
static bool is_set(const struct solver *s,
                   const struct clockgraph_clock *before, double passed_ns)
{
    for (uint32_t i = 0; i < s->w->n_hosts; i++) {
        const struct clockgraph_clock *now = &s->clocks[i];
        double moved =
            fabs((double) now->offset_ns - (double) before[i].offset_ns);

        /* more than the fastest drift and both uncertainties allow */
        if (before[i].reachable && now->reachable &&
            moved > CLOCKLINE_MAX_SLOPE * passed_ns + before[i].unc_ns +
                        now->unc_ns)
            return true;
    }
    return false;
}

/* Adds the points on both sides of a moment in which a clock was set, which
 * lies between `from`, whose solution is `before`, and `to`, whose solution is
 * in s->clocks. Bisects until STEP_NS. 0, or -1: no memory. */
static int find_step(struct solver *s, struct clockmap *map,
                     struct clockgraph_clock *before, int64_t from, int64_t to)
{
    size_t bytes = s->w->n_hosts * sizeof(*before);
    struct clockgraph_clock *after = malloc(bytes);
    int rc = after ? 0 : -1;

    if (rc == 0)
        memcpy(after, s->clocks, bytes);
    while (rc == 0 && to - from > STEP_NS) {
        int64_t middle = from + (to - from) / 2;

        rc = solve_at(s, middle, (uint32_t) map->reference);
        /* no step before the middle: it is in the second half */
        if (rc == 0 && s->n && !is_set(s, before, (double) (middle - from))) {
            memcpy(before, s->clocks, bytes);
            from = middle;
        } else {
            memcpy(after, s->clocks, bytes);
            to = middle;
        }
    }
    if (rc == 0) {
        add_points(map, before, from);
        add_points(map, after, to);
    }
    free(after);
    return rc;
}

/* Makes points at the start and the end of the run and one for each window
 * between them, and two more where a clock was set. */
static int solve_points(struct solver *s, struct clockmap *map, int64_t first,
                        int64_t last, size_t n)
{
    size_t bytes = s->w->n_hosts * sizeof(*s->clocks);
    struct clockgraph_clock *before = calloc(1, bytes);
    int64_t at = first;
    int rc = before ? 0 : -1;

    for (size_t k = 0; rc == 0 && k <= n; k++) {
        int64_t t = first + (int64_t) ((double) (last - first) * (double) k /
                                       (double) n);

        rc = solve_at(s, t, (uint32_t) map->reference);
        if (rc < 0 || !s->n) /* no pair has a line */
            break;
        if (k && is_set(s, before, (double) (t - at))) {
            rc = find_step(s, map, before, at, t);
            if (rc == 0)
                rc = solve_at(s, t, (uint32_t) map->reference);
        }
        add_points(map, s->clocks, t);
        memcpy(before, s->clocks, bytes);
        at = t;
    }
    free(before);
    return rc;
}

/* Chooses a reference and makes the map's points. 0, or -1: no memory. */
static int solve_all(struct solver *s, struct clockmap *map)
{
    const struct clockwalk *w = s->w;
    uint32_t reference = 0;
    int64_t first, last;
    size_t n;

    if (choose_reference(s, &reference) < 0)
        return -1;
    first = w->first_ns[reference];
    last = w->last_ns[reference];
    map->reference = reference;
    /* no operation with times: no node is aligned */
    if (first >= last)
        return make_nodes(w, map, 0);
    n = 1 + (size_t) ((last - first) / s->pairs->window_ns);
    if (n > CLOCKPAIR_WINDOWS)
        n = CLOCKPAIR_WINDOWS;
    if (make_nodes(w, map, 3 * (n + 1)) < 0)
        return -1;
    return solve_points(s, map, first, last, n);
}

int clocks_align(struct timeline *const *timelines, size_t n,
                 struct clockmap *map, struct clocks_check *check)
{
    struct clockwalk w;
    struct clockpairs pairs = {0};
    struct solver s = {.w = &w, .pairs = &pairs};
    int rc = clockwalk_init(&w, timelines, n);

    memset(map, 0, sizeof(*map));
    if (check)
        memset(check, 0, sizeof(*check));
    w.check = check;
    /* one node has one clock, if all of its processes are on it */
    if (rc == 0 && w.n_hosts == 1)
        map->method = CLOCKMAP_ONE_NODE;
    if (rc == 0 && w.n_hosts < 2)
        rc = w.n_hosts ? make_nodes(&w, map, 0) : 0;
    else if (rc == 0)
        rc = clockpair_make_all(&pairs, &w);
    if (rc == 0 && w.n_hosts > 1) {
        s.edges = calloc(pairs.n + 1, sizeof(*s.edges));
        s.clocks = calloc(w.n_hosts, sizeof(*s.clocks));
        s.before = calloc(w.n_hosts, sizeof(*s.before));
        rc = s.edges && s.clocks && s.before ? solve_all(&s, map) : -1;
    }
    free(s.before);
    free(s.edges);
    free(s.clocks);
    clockpair_fini_all(&pairs);
    clockwalk_fini(&w);
    if (rc < 0)
        clockmap_fini(map);
    return rc;
}

/* --- what a report shows -------------------------------------------------- */

/* A node's row: offset in the middle of the run, drift, uncertainty. */
static struct jp_clock figures_of(const struct clockmap *map, size_t i)
{
    const struct clockmap_node *node = &map->nodes[i];
    const struct clockmap_point *first, *last;
    struct jp_clock c = {.host = node->host,
                         .aligned = node->aligned,
                         .reference = node->aligned && i == map->reference};

    if (!node->n_points)
        return c;
    first = &node->points[0];
    last = &node->points[node->n_points - 1];
    c.offset_us = (double) clockmap_offset_ns(
                      node, first->t_ns + (last->t_ns - first->t_ns) / 2) /
                  1000;
    if (last->t_ns > first->t_ns)
        c.drift_ppm = (double) (last->offset_ns - first->offset_ns) /
                      (double) (last->t_ns - first->t_ns) * 1e6;
    for (size_t k = 0; k < node->n_points; k++)
        c.unc_us = fmax(c.unc_us, node->points[k].unc_ns / 1000);
    return c;
}

static int by_process(const void *a, const void *b)
{
    const struct clocks_arrival *x = a, *y = b;
    int order = strcmp(x->host, y->host);

    if (order || x->pid != y->pid)
        return order ? order : x->pid < y->pid ? -1 : 1;
    return (x->instance > y->instance) - (x->instance < y->instance);
}

/* Raises the uncertainty of a map by collectives to what its operations show.
 * The map is no better than the operations overlap with it: where they do not,
 * hosts saw starts late or ends early, and the offset may be wrong by as much.
 * Returns whether a node became more uncertain. */
static bool widen_maps(struct jp_clocks *clocks, const double *widths_ns)
{
    struct clockmap *map = &clocks->map;

    if (map->method != CLOCKMAP_COLLECTIVES)
        return false;
    for (size_t i = 0; i < map->n_nodes; i++)
        for (size_t k = 0; k < map->nodes[i].n_points; k++) {
            double *unc = &map->nodes[i].points[k].unc_ns;
            double by = fmax(widths_ns[i], widths_ns[map->reference]);

            if (by <= *unc)
                continue;
            *unc = by;
            clocks->widened_us = fmax(clocks->widened_us, by / 1000);
        }
    return clocks->widened_us > 0;
}

/* Checks the mapped times, and makes the rows of arrivals, one for each
 * process. 0, or -1: no memory. */
static int find_arrivals(struct jp_clocks *clocks,
                         struct timeline *const *timelines, size_t n)
{
    struct clocks_arrival *at = calloc(n + 1, sizeof(*at));
    double *widths = calloc(clocks->map.n_nodes + 1, sizeof(*widths));
    struct clockwalk_arrivals out = {.arrivals = at, .widths_ns = widths};
    size_t kept = 0;
    int rc = at && widths ? 0 : -1;

    /* the first walk also shows how wide the gaps are */
    if (rc == 0)
        rc = clockwalk_check(timelines, n, &clocks->map, &clocks->after, &out);
    if (rc == 0 && widen_maps(clocks, widths)) { /* which process is late is
                                                  * then less certain */
        memset(at, 0, n * sizeof(*at));
        clockmap_settle(&clocks->map);
        rc = clockwalk_check(timelines, n, &clocks->map, &clocks->after, &out);
    }
    free(widths);
    clocks->compared = out.compared;
    clocks->disagreed = out.disagreed;
    /* processes without such operations have no row */
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (!at[i].operations)
            continue;
        at[kept] = at[i];
        at[kept].pid = timelines[i]->pid;
        at[kept].instance = timelines[i]->instance;
        at[kept].host = strdup(timelines[i]->host);
        rc = at[kept++].host ? 0 : -1;
    }
    clocks->arrivals = at;
    clocks->n_arrivals = kept;
    if (rc == 0 && kept)
        qsort(at, kept, sizeof(*at), by_process);
    return rc;
}

struct jp_clocks *clocks_make(struct timeline *const *timelines, size_t n,
                              const char *nodes)
{
    struct jp_clocks *clocks = calloc(1, sizeof(*clocks));

    if (!clocks ||
        clocks_align(timelines, n, &clocks->map, &clocks->before) < 0 ||
        clockprobes_add(clocks, timelines, n, nodes) < 0 ||
        !(clocks->nodes =
              calloc(clocks->map.n_nodes + 1, sizeof(*clocks->nodes))))
        goto fail;
    /* the map is final, but for what find_arrivals raises */
    clockmap_settle(&clocks->map);
    if (clocks->map.n_nodes > 1 && clocks->map.method != CLOCKMAP_NONE &&
        find_arrivals(clocks, timelines, n) < 0)
        goto fail;
    for (size_t i = 0; i < clocks->map.n_nodes; i++)
        clocks->nodes[i] = figures_of(&clocks->map, i);
    return clocks;
fail:
    clocks_destroy(clocks);
    return NULL;
}

void clocks_destroy(struct jp_clocks *clocks)
{
    if (!clocks)
        return;
    clockmap_fini(&clocks->map);
    for (size_t i = 0; i < clocks->n_arrivals; i++)
        free(clocks->arrivals[i].host);
    free(clocks->arrivals);
    free(clocks->nodes);
    free(clocks);
}

const struct clockmap *clocks_map(const struct jp_clocks *clocks)
{
    return clocks && clocks->map.n_nodes > 1 &&
                   clocks->map.method != CLOCKMAP_NONE
               ? &clocks->map
               : NULL;
}

/* --- the same as one sentence --------------------------------------------- */

/* True if starts and times show different last ranks in a large share of the
 * operations in which both are certain (CLOCKS_DISAGREE_SHARE). Waits that
 * overlap computation cause a smaller share in sound runs. */
static bool disagrees(const struct jp_clocks *clocks)
{
    return clocks->compared >= CLOCKS_DISAGREE_LEAST &&
           clocks->disagreed >
               CLOCKS_DISAGREE_SHARE * (double) clocks->compared;
}

/* Says that times of different nodes cannot be compared, and by how much they
 * seem off. */
static void say_unaligned(const struct jp_clocks *clocks, char *buf)
{
    const struct clocks_check *c = &clocks->before;

    if (!c->operations)
        snprintf(buf, CLOCKS_TEXT,
                 "Times of different nodes cannot be compared: no collective "
                 "in which ranks of several nodes wait for each other has a "
                 "start and an end. The difference of their clocks is "
                 "unknown.");
    else if (c->violations)
        snprintf(buf, CLOCKS_TEXT,
                 "Times of different nodes cannot be compared: their clocks "
                 "seem at least %s apart, and %" PRIu64 " of their %" PRIu64
                 " collectives do not overlap as recorded, which no offset "
                 "explains.",
                 FIG_US((double) c->worst_ns / 1000), c->violations,
                 c->operations);
    else
        snprintf(buf, CLOCKS_TEXT,
                 "Times of different nodes cannot be compared: their %" PRIu64
                 " collectives are too few to measure the difference of their "
                 "clocks. As recorded all of them overlap.",
                 c->operations);
}

/* Whether probes and collectives agree, where both are there. */
static void say_check(const struct jp_clocks *clocks, char *buf, size_t size)
{
    const struct clocks_probes *p = &clocks->probes;

    *buf = '\0';
    if (p->files && !p->tied)
        snprintf(buf, size,
                 " Probes of %zu nodes were too few to compare clocks.",
                 p->files);
    else if (p->check.done && !p->check.apart)
        snprintf(buf, size, " Probes and collectives agree.");
    else if (p->check.done)
        snprintf(buf, size,
                 " Probes and collectives disagree on %zu of %zu clocks, on "
                 "that of %.64s by %s where %s is explained: times are those "
                 "of the probes.",
                 p->check.apart, p->check.compared,
                 clocks->nodes[p->check.worst].host, FIG_US(p->check.apart_us),
                 FIG_US(p->check.allowed_us));
}

/* Says that the agents probed less often than requested, because probes have a
 * budget. */
static void say_pace(const struct clocks_probes *p, char *buf, size_t size)
{
    *buf = '\0';
    if (!p->wanted_us || !p->cpu_permille || p->by_xla ||
        p->cadence_us / CLOCK_SLOWED < p->wanted_us)
        return;
    snprintf(buf, size,
             " To take no more than %.1f %% of a processor, agents probed a "
             "node every %s instead of every %s; the uncertainty is that of "
             "these probes.",
             (double) p->cpu_permille / 10, FIG_US((double) p->cadence_us),
             FIG_US((double) p->wanted_us));
}

/* Says how many operations do not overlap on one clock, and what that means. */
static void say_torn(const struct jp_clocks *clocks, char *buf, size_t size)
{
    const struct clocks_check *c = &clocks->after;

    *buf = '\0';
    if (clocks->widened_us <= 0 &&
        (double) c->violations <= CLOCKS_TORN_TOLD * (double) c->operations)
        return;
    snprintf(buf, size,
             " %" PRIu64 " of %" PRIu64
             " operations of several nodes still do not overlap, by up to %s: "
             "some of their recorded times are wrong.",
             c->violations, c->operations, FIG_US((double) c->worst_ns / 1000));
    if (clocks->widened_us > 0)
        snprintf(buf + strlen(buf), size - strlen(buf),
                 " The uncertainty of some nodes' clocks is therefore set to "
                 "%s.",
                 FIG_US(clocks->widened_us));
}

char *clocks_text(const struct jp_clocks *clocks, char *buf)
{
    size_t apart = 0, far = 0, n = clocks->map.n_nodes;
    double unc_us = 0;
    bool near = true;

    *buf = '\0';
    if (n < 2) /* nothing to compare */
        return buf;
    if (clocks->map.method == CLOCKMAP_NONE) {
        say_unaligned(clocks, buf);
        return buf;
    }
    for (size_t i = 0; i < n; i++) {
        const struct jp_clock *c = &clocks->nodes[i];

        apart += !c->aligned;
        near &= !c->aligned || clocks->map.nodes[i].near;
        unc_us = fmax(unc_us, c->unc_us);
        if (fabs(c->offset_us) > fabs(clocks->nodes[far].offset_us))
            far = i;
    }
    if (clocks->nodes[far].offset_us == 0)
        snprintf(buf, CLOCKS_TEXT, "The nodes' clocks agree");
    else
        snprintf(buf, CLOCKS_TEXT, "The clock of %.64s is %s %s that of %.64s",
                 clocks->nodes[far].host,
                 FIG_US(fabs(clocks->nodes[far].offset_us)),
                 clocks->nodes[far].offset_us < 0 ? "behind" : "ahead of",
                 clocks->map.nodes[clocks->map.reference].host);
    snprintf(buf + strlen(buf), CLOCKS_TEXT - strlen(buf),
             "; by %s times of different nodes can be compared within %s.",
             clocks->map.method != CLOCKMAP_PROBES ? "their collectives"
             : clocks->probes.by_xla               ? "probes of the tasks' XLA"
                                                   : "probes between the nodes",
             FIG_US(unc_us));
    say_check(clocks, buf + strlen(buf), CLOCKS_TEXT - strlen(buf));
    say_pace(&clocks->probes, buf + strlen(buf), CLOCKS_TEXT - strlen(buf));
    if (near)
        snprintf(buf + strlen(buf), CLOCKS_TEXT - strlen(buf),
                 " The difference is within the uncertainty, so times stay as "
                 "recorded.");
    if (apart)
        snprintf(buf + strlen(buf), CLOCKS_TEXT - strlen(buf),
                 " The clocks of %zu other nodes could not be compared: their "
                 "times stay as recorded.",
                 apart);
    if (clocks->probes.xla_ambiguous)
        snprintf(
            buf + strlen(buf), CLOCKS_TEXT - strlen(buf),
            " Probes of the tasks' XLA are not used: a process index is on "
            "two nodes.");
    say_torn(clocks, buf + strlen(buf), CLOCKS_TEXT - strlen(buf));
    if (disagrees(clocks))
        snprintf(buf + strlen(buf), CLOCKS_TEXT - strlen(buf),
                 " Starts and times name different ranks as the last in %.0f "
                 "%% of %" PRIu64 " operations: neither is reliable.",
                 100 * (double) clocks->disagreed / (double) clocks->compared,
                 clocks->compared);
    return buf;
}
