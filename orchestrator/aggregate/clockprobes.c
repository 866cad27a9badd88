/* clockprobes.c - from what agents measured of each other's clocks to a map of
 * times, and one map from this one and the one by collectives.
 *
 * solve_at solves for all clocks at one moment, choose_times has the moments,
 * add_points makes the map's points from each solution and from the nodes' wall
 * clocks. clockprobes_add, for clocks.c, compares both maps and joins them
 * (choose_map). */
#include "orchestrator/aggregate/clocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/backend.h"

/* The most points around the steps of wall clocks, besides those over the run.
 */
#define STEPS_MAX 256
/* Just before and after the moment in which a wall clock was set. */
#define BESIDE_NS 1000
/* A line is also used beyond its window. A quartz drifts from it by so much, as
 * a part of the time. */
#define BEYOND 1e-6

/* --- all clocks at one moment --------------------------------------------- */

/* Work space to solve for all clocks at one moment. */
struct solver {
    const struct clockprobes *probes;
    uint32_t reference; /* of files */
    struct clockgraph_edge *edges;
    struct clockgraph_clock *clocks;
    int64_t *times; /* of the points, by the reference's clock, ascending */
    size_t n_times;
};

/* Measures an edge when its first clock shows t_ns, by the line of the nearest
 * window. */
static void measure_edge(const struct clockprobes_edge *e, int64_t t_ns,
                         struct clockgraph_edge *out)
{
    const struct clock_window *w;
    size_t low = 0, high = e->n;
    int64_t away = 0;

    while (high - low > 1) { /* the last one that has begun, or the first */
        size_t middle = low + (high - low) / 2;

        if (e->windows[middle].start_ns <= t_ns)
            low = middle;
        else
            high = middle;
    }
    w = &e->windows[low];
    if (t_ns > w->end_ns && low + 1 < e->n &&
        w[1].start_ns - t_ns < t_ns - w->end_ns)
        w++;
    if (t_ns < w->start_ns)
        away = w->start_ns - t_ns;
    else if (t_ns > w->end_ns)
        away = t_ns - w->end_ns;
    *out = (struct clockgraph_edge){
        .from = e->from,
        .to = e->to,
        .theta_ns = w->beta_ns +
                    llround(w->slope * (double) (t_ns - w->start_ns)),
        .unc_ns = w->unc_ns + BEYOND * (double) away};
}

/* Solves for all clocks when the reference shows t_ns, beginning from the
 * offsets so far. first: takes each pair's first window, which is near enough
 * to begin with. 0, or -1: no memory. */
static int solve_at(struct solver *s, int64_t t_ns, bool first)
{
    const struct clockprobes *p = s->probes;

    for (size_t i = 0; i < p->n_edges; i++) {
        const struct clockprobes_edge *e = &p->edges[i];

        measure_edge(e,
                     first ? e->windows[0].start_ns
                           : t_ns + s->clocks[e->from].offset_ns,
                     &s->edges[i]);
    }
    return clockgraph_solve(s->edges, p->n_edges, s->reference, s->clocks,
                            p->n_files);
}

/* --- points over the run -------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Finds the range of the reference's time that the windows cover. first > last:
 * there are no windows that the reference reaches. */
static void find_range(const struct solver *s, int64_t *first, int64_t *last)
{
    const struct clockprobes *p = s->probes;

    *first = INT64_MAX;
    *last = INT64_MIN;
    for (size_t i = 0; i < p->n_edges; i++) {
        const struct clockprobes_edge *e = &p->edges[i];
        int64_t offset = s->clocks[e->from].offset_ns;

        if (!s->clocks[e->from].reachable)
            continue;
        if (e->windows[0].start_ns - offset < *first)
            *first = e->windows[0].start_ns - offset;
        if (e->windows[e->n - 1].end_ns - offset > *last)
            *last = e->windows[e->n - 1].end_ns - offset;
    }
}

/* Finds what the reference shows at the moment in which a wall clock of a file
 * was set. The file's offset at that moment is not that of the run's begin, so
 * it is solved for twice. 0, or -1: no memory. */
static int find_step(struct solver *s, size_t file, int64_t mono_ns,
                     int64_t *t_ns)
{
    *t_ns = mono_ns - s->clocks[file].offset_ns;
    for (int pass = 0; pass < 2; pass++) {
        if (solve_at(s, *t_ns, false) < 0)
            return -1;
        *t_ns = mono_ns - s->clocks[file].offset_ns;
    }
    return 0;
}

/* Adds the moments just before and just after each step of a wall clock, so
 * that the map has no slope across a step. 0, or -1: no memory. */
static int add_steps(struct solver *s, int64_t first, int64_t last)
{
    const struct clockprobes *p = s->probes;
    size_t room = s->n_times + 2 * STEPS_MAX;
    int64_t t;

    for (size_t i = 0; i < p->n_files; i++)
        for (size_t k = 1; k < p->files[i].n_walls; k++) {
            if (!s->clocks[i].reachable || s->n_times + 2 > room)
                continue;
            if (find_step(s, i, p->files[i].walls[k].mono_ns, &t) < 0)
                return -1;
            if (t <= first || t >= last)
                continue;
            s->times[s->n_times++] = t - BESIDE_NS;
            s->times[s->n_times++] = t + BESIDE_NS;
        }
    return 0;
}

/* Chooses the moments of the points: at equal distances, and around steps. 0,
 * or -1: no memory. */
static int choose_times(struct solver *s)
{
    const struct clockprobes *p = s->probes;
    const struct clock_file *f = &p->files[s->reference];
    int64_t window = (int64_t) (f->window_ms ? f->window_ms : 4000) * 1000000;
    size_t most = p->points, n;
    int64_t first, last;

    find_range(s, &first, &last);
    if (first >= last)
        return 0;
    n = (size_t) ((last - first) / window) + 1;
    n = n > most ? most : n;
    s->times = calloc(n + 1 + 2 * STEPS_MAX, sizeof(*s->times));
    if (!s->times)
        return -1;
    for (size_t k = 0; k <= n; k++)
        s->times[s->n_times++] = first + (int64_t) ((double) (last - first) *
                                                    (double) k / (double) n);
    if (add_steps(s, first, last) < 0)
        return -1;
    qsort(s->times, s->n_times, sizeof(*s->times), by_time);
    return 0;
}

/* Adds a point to a node. A wall clock that is set back shows some times twice,
 * and a time stamp may mean either of them: such points become as uncertain as
 * the step. */
static void add_point(struct clockmap_node *node, struct clockmap_point p)
{
    struct clockmap_point *last =
        node->n_points ? &node->points[node->n_points - 1] : NULL;
    double back;

    if (last && p.t_ns <= last->t_ns) {
        back = fabs((double) (p.offset_ns - last->offset_ns));
        for (size_t i = node->n_points; i && node->points[i - 1].t_ns >= p.t_ns;
             i--)
            node->points[i - 1].unc_ns = fmax(node->points[i - 1].unc_ns, back);
        return;
    }
    node->points[node->n_points++] = p;
    node->aligned = true;
}

/* Adds a point to each node that has a file and is reachable. file_of: the file
 * of each node of the map. t_ns: by the reference's clock. */
static void add_points(const struct solver *s, const uint32_t *file_of,
                       int64_t t_ns, struct clockmap *map)
{
    const struct clockprobes *p = s->probes;
    int64_t here, there;

    /* no wall clock known then */
    if (!clock_file_wall(&p->files[s->reference], t_ns, &here))
        return;
    for (size_t i = 0; i < map->n_nodes; i++) {
        const struct clockgraph_clock *c;
        struct clockmap_point point;
        int64_t mono;

        if (i == map->reference || file_of[i] == UINT32_MAX)
            continue;
        c = &s->clocks[file_of[i]];
        mono = t_ns + c->offset_ns;
        if (!c->reachable ||
            !clock_file_wall(&p->files[file_of[i]], mono, &there))
            continue;
        point.t_ns = mono + there;
        /* wall clock against wall clock */
        point.offset_ns = c->offset_ns + there - here;
        point.unc_ns = c->unc_ns;
        add_point(&map->nodes[i], point);
        map->method = CLOCKMAP_PROBES;
    }
}

/* --- the map -------------------------------------------------------------- */

static int by_node(const void *a, const void *b)
{
    const struct clock_file *x = a, *y = b;

    return strcmp(x->node, y->node);
}

/* The file of a host: that of the node of this name, or of the only node with
 * this hostname. UINT32_MAX: none, or several. */
static uint32_t file_of_host(const struct clockprobes *p, const char *host)
{
    const struct clock_file *found;
    struct clock_file key = {.node = ""};
    uint32_t at = UINT32_MAX;

    if (strlen(host) < sizeof(key.node)) {
        strncpy(key.node, host, sizeof(key.node) - 1);
        found = bsearch(&key, p->files, p->n_files, sizeof(*p->files), by_node);
        if (found)
            return (uint32_t) (found - p->files);
    }
    for (uint32_t i = 0; i < p->n_files; i++) {
        if (strcmp(p->files[i].host, host) != 0)
            continue;
        if (at != UINT32_MAX)
            return UINT32_MAX; /* several nodes match */
        at = i;
    }
    return at;
}

/* Adds the nodes of files that belong to no host of the map, by Slurm's name.
 * None is added if no file belongs to any of its hosts, because then the files
 * may be of the same nodes by other names. 0, or -1: no memory. */
static int add_hosts(const struct clockprobes *p, struct clockmap *map)
{
    bool *known = calloc(p->n_files + 1, sizeof(*known));
    size_t found = 0;
    int rc = known ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < map->n_nodes; i++) {
        uint32_t at = file_of_host(p, map->nodes[i].host);

        if (at == UINT32_MAX)
            continue;
        known[at] = true;
        found++;
    }
    if (map->n_nodes && !found)
        memset(known, true, p->n_files);
    for (size_t i = 0; rc == 0 && i < p->n_files; i++)
        if (!known[i])
            rc = clockmap_add(map, p->files[i].node);
    free(known);
    return rc;
}

/* Makes the map's nodes, with room for `points` points each. The reference
 * needs none. 0, or -1: no memory. */
static int make_nodes(struct clockmap *map, const char *const *hosts,
                      size_t n_hosts, size_t points)
{
    map->nodes = calloc(n_hosts + 1, sizeof(*map->nodes));
    if (!map->nodes)
        return -1;
    for (size_t i = 0; i < n_hosts; i++) {
        map->nodes[i].host = strdup(hosts[i]);
        map->n_nodes++;
        if (!map->nodes[i].host)
            return -1;
        if (!points || i == map->reference)
            continue;
        map->nodes[i].points = calloc(points, sizeof(*map->nodes[i].points));
        if (!map->nodes[i].points)
            return -1;
    }
    return 0;
}

/* Makes all points of the map. 0, or -1: no memory. */
static int solve_all(struct solver *s, const uint32_t *file_of,
                     const char *const *hosts, size_t n_hosts,
                     struct clockmap *map)
{
    if (solve_at(s, 0, true) < 0 || choose_times(s) < 0)
        return -1;
    if (make_nodes(map, hosts, n_hosts, s->n_times) < 0)
        return -1;
    for (size_t k = 0; k < s->n_times; k++) {
        /* From point to point an offset moves only by its drift, so one pass is
         * enough. The first point has no such estimate and takes two. */
        for (int pass = k ? 1 : 0; pass < 2; pass++)
            if (solve_at(s, s->times[k], false) < 0)
                return -1;
        add_points(s, file_of, s->times[k], map);
    }
    map->nodes[map->reference].aligned = map->method == CLOCKMAP_PROBES;
    return 0;
}

/* The first host that has a file, if the preferred one has none. */
static size_t choose_reference(const uint32_t *file_of, size_t n, size_t wanted)
{
    if (wanted < n && file_of[wanted] != UINT32_MAX)
        return wanted;
    for (size_t i = 0; i < n; i++)
        if (file_of[i] != UINT32_MAX)
            return i;
    return n;
}

int clockprobes_map(const struct clockprobes *probes, const char *const *hosts,
                    size_t n_hosts, size_t reference, struct clockmap *map)
{
    struct solver s = {.probes = probes};
    uint32_t *file_of;
    int rc = 0;

    memset(map, 0, sizeof(*map));
    if (!probes->n_edges || !n_hosts)
        return 0;
    file_of = calloc(n_hosts, sizeof(*file_of));
    s.edges = calloc(probes->n_edges, sizeof(*s.edges));
    s.clocks = calloc(probes->n_files, sizeof(*s.clocks));
    if (!file_of || !s.edges || !s.clocks)
        rc = -1;
    for (size_t i = 0; rc == 0 && i < n_hosts; i++)
        file_of[i] = file_of_host(probes, hosts[i]);
    if (rc == 0) {
        map->reference = choose_reference(file_of, n_hosts, reference);
        /* else no host has a file */
        if (map->reference < n_hosts) {
            s.reference = file_of[map->reference];
            rc = solve_all(&s, file_of, hosts, n_hosts, map);
        }
    }
    free(file_of);
    free(s.edges);
    free(s.clocks);
    free(s.times);
    if (rc < 0 || map->method != CLOCKMAP_PROBES)
        clockmap_fini(map);
    return rc;
}

/* --- two maps ------------------------------------------------------------- */

/* How far both maps differ in C_node - C_reference at a point of map a, in ns.
 * *allowed: what their uncertainties allow. */
static double difference(const struct clockmap *a, const struct clockmap *b,
                         size_t node, int64_t t_ns, double *allowed)
{
    const struct clockmap_node *ref_b = &b->nodes[a->reference];
    int64_t offset = clockmap_offset_ns(&a->nodes[node], t_ns);
    int64_t t_ref = t_ns - offset;

    *allowed = clockmap_unc_ns(&a->nodes[node], t_ns) +
               clockmap_unc_ns(&b->nodes[node], t_ns) +
               clockmap_unc_ns(ref_b, t_ref);
    return fabs((double) (offset - clockmap_offset_ns(&b->nodes[node], t_ns) +
                          clockmap_offset_ns(ref_b, t_ref)));
}

/* Whether a time lies between the points of a node. The reference has none and
 * is always within. */
static bool is_within(const struct clockmap_node *node, int64_t t_ns)
{
    return !node->n_points || (t_ns >= node->points[0].t_ns &&
                               t_ns <= node->points[node->n_points - 1].t_ns);
}

/* Compares one node at all points of map a that map b covers, and adds it to
 * the check. */
static void compare_node(const struct clockmap *a, const struct clockmap *b,
                         size_t i, struct clockprobes_check *check)
{
    const struct clockmap_node *node = &a->nodes[i];
    double most = -1, apart_ns = 0, allowed_ns = 0;
    size_t far = 0, seen = 0;

    for (size_t k = 0; k < node->n_points; k++) {
        int64_t t = node->points[k].t_ns;
        double allowed, by;

        if (!is_within(&b->nodes[i], t))
            continue;
        by = difference(a, b, i, t, &allowed);
        seen++;
        far += by > allowed;
        if (by - allowed > most || seen == 1) {
            most = by - allowed;
            apart_ns = by;
            allowed_ns = allowed;
        }
    }
    if (!seen)
        return;
    check->compared++;
    check->apart += 2 * far > seen; /* most of the time */
    if (!check->done ||
        apart_ns - allowed_ns > (check->apart_us - check->allowed_us) * 1000) {
        check->worst = i;
        check->apart_us = apart_ns / 1000;
        check->allowed_us = allowed_ns / 1000;
    }
    check->done = true;
}

/* Whether both maps have the same nodes and times that can be compared. */
static bool comparable(const struct clockmap *a, const struct clockmap *b)
{
    return a->n_nodes == b->n_nodes && a->method != CLOCKMAP_NONE &&
           b->method != CLOCKMAP_NONE && b->nodes[a->reference].aligned;
}

/* Compares two maps of the same hosts: how many nodes are apart, and which one
 * most. */
static void compare_maps(const struct clockmap *a, const struct clockmap *b,
                         struct clockprobes_check *check)
{
    memset(check, 0, sizeof(*check));
    if (!comparable(a, b))
        return;
    for (size_t i = 0; i < a->n_nodes; i++)
        if (i != a->reference && a->nodes[i].aligned && b->nodes[i].aligned)
            compare_node(a, b, i, check);
}

/* --- one map of two ------------------------------------------------------- */

/* Takes nodes that map does not reach, and other does, from there, if both have
 * the same reference. other keeps them as not aligned. */
static void fill_map(struct clockmap *map, struct clockmap *other)
{
    if (map->n_nodes != other->n_nodes || map->reference != other->reference)
        return;
    for (size_t i = 0; i < map->n_nodes; i++) {
        struct clockmap_node *node = &map->nodes[i], *from = &other->nodes[i];

        if (node->aligned || !from->aligned || !from->n_points)
            continue;
        free(node->points);
        node->points = from->points;
        node->n_points = from->n_points;
        node->aligned = true;
        *from = (struct clockmap_node){.host = from->host};
    }
}

/* Raises the uncertainty of map's nodes on which the two maps disagree: where
 * they differ by more than both allow, to their difference. */
static void doubt_map(struct clockmap *map, const struct clockmap *other)
{
    if (!comparable(map, other))
        return;
    for (size_t i = 0; i < map->n_nodes; i++) {
        struct clockmap_node *node = &map->nodes[i];
        struct clockprobes_check check = {0};

        if (i != map->reference && node->aligned && other->nodes[i].aligned)
            compare_node(map, other, i, &check);
        if (!check.apart)
            continue;
        for (size_t k = 0; k < node->n_points; k++) {
            struct clockmap_point *p = &node->points[k];
            double allowed, by = difference(map, other, i, p->t_ns, &allowed);

            if (is_within(&other->nodes[i], p->t_ns) && by > allowed)
                p->unc_ns = fmax(p->unc_ns, by);
        }
    }
}

/* --- both ways together --------------------------------------------------- */

/* Finds whether the probes are in doubt, of two maps that disagree: if equally
 * many operations do not overlap by both, neither is known to be right; if by
 * the probes many do not overlap and by the collectives nearly all of these do,
 * the probes may be wrong. Else time stamps may be wrong, which affects the
 * collectives alone. Returns 0, or -1 without memory. */
static int judge_probes(const struct jp_clocks *clocks,
                        struct timeline *const *timelines, size_t n,
                        const struct clockmap *probes, bool *doubt)
{
    struct clocks_check a, b;

    if (clockwalk_check(timelines, n, probes, &a, NULL) < 0 ||
        clockwalk_check(timelines, n, &clocks->map, &b, NULL) < 0)
        return -1;
    *doubt =
        a.violations == b.violations ||
        ((double) a.violations > CLOCKS_TORN_SHARE * (double) a.operations &&
         (double) b.violations < CLOCKS_TORN_LEFT * (double) a.violations);
    return 0;
}

/* Makes one map from the one by collectives and the one by probes, which is
 * empty afterwards. Probes win: they measure clocks, and collectives only bound
 * them. Where the probes are in doubt, they are as uncertain as both differ, so
 * that nothing follows from the difference. */
static int choose_map(struct jp_clocks *clocks,
                      struct timeline *const *timelines, size_t n,
                      struct clockmap *probes)
{
    struct clockmap other = {0};
    bool doubt = true; /* where both agree, it changes nothing */

    clockmap_settle(probes);
    clockmap_settle(&clocks->map);
    compare_maps(probes, &clocks->map, &clocks->probes.check);
    if (clocks->probes.check.apart &&
        judge_probes(clocks, timelines, n, probes, &doubt) < 0)
        return -1;
    other = clocks->map;
    clocks->map = *probes;
    memset(probes, 0, sizeof(*probes));
    clocks->probes.used = true;
    if (doubt)
        doubt_map(&clocks->map, &other);
    fill_map(&clocks->map, &other);
    clockmap_fini(&other);
    return 0;
}

/* Makes the map by probes and joins it with that by collectives. 0, or -1: no
 * memory. */
static int map_probes(struct jp_clocks *clocks,
                      struct timeline *const *timelines, size_t n,
                      const struct clockprobes *read)
{
    struct clockmap *own = &clocks->map, map = {0};
    const char **hosts = NULL;
    int rc = add_hosts(read, own);

    if (rc == 0 && own->n_nodes > 1) {
        if (own->method == CLOCKMAP_ONE_NODE)
            own->method = CLOCKMAP_NONE; /* it reaches other nodes */
        hosts = calloc(own->n_nodes, sizeof(*hosts));
        rc = hosts ? 0 : -1;
    }
    for (size_t i = 0; hosts && i < own->n_nodes; i++)
        hosts[i] = own->nodes[i].host;
    if (hosts)
        rc = clockprobes_map(read, hosts, own->n_nodes, own->reference, &map);
    for (size_t i = 0; i < map.n_nodes; i++)
        clocks->probes.nodes += map.nodes[i].aligned;
    clocks->probes.tied = map.method == CLOCKMAP_PROBES;
    if (rc == 0 && clocks->probes.tied)
        rc = choose_map(clocks, timelines, n, &map);
    clockmap_fini(&map);
    free(hosts);
    return rc;
}

int clockprobes_add(struct jp_clocks *clocks, struct timeline *const *timelines,
                    size_t n, const char *nodes)
{
    struct clockprobes read;
    int rc;

    if (!nodes)
        return 0;
    if (backend_clocks(nodes, &read) < 0)
        return -1;
    clocks->probes = (struct clocks_probes){
        .files = read.n_files,
        .bad_files = read.bad_files,
        .windows = read.windows,
        .bad_windows = read.bad_windows,
        .exchanges = read.exchanges,
        .wanted_us = read.wanted_us,
        .cadence_us = read.paced ? (uint32_t) (read.paced_us / read.paced) : 0,
        .cpu_permille = read.cpu_permille,
        .failures = read.failures,
        .by_xla = read.by_xla,
        .xla_ambiguous = read.xla_ambiguous};
    rc = read.n_files ? map_probes(clocks, timelines, n, &read) : 0;
    clockprobes_fini(&read);
    return rc;
}
