/* clockpair.c - the clocks of two nodes, window by window, from the bounds and
 * the ends of their common operations.
 *
 * clocks.h has the idea (two nodes' clocks). clockpair_make_all chooses the
 * pairs of nodes (make_links) and walks the run's operations (clockwalk.c). add
 * collects a pair's operations of a window, and settle finds its line: from the
 * bounds (find_line, without the wrong ones), corrected by the ends of the
 * shortest operations (correct). clockpair_theta reads a line off for a
 * moment. */
#include "orchestrator/aggregate/clocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/sorted.h"
#include "common/vector.h"

/* Ranks leave an operation within this part of its own time: a ring passes its
 * last chunk on, and NCCL cuts a channel's buffer into 8 steps. */
#define LEAVING 16.0
/* Stamps are whole microseconds in most logs. */
#define STAMP_NS 500.0
/* A line through ends needs so many bins that have an end. */
#define ENDS_LEAST 6
/* Clocks that are farther apart (18 years) are errors. */
#define FAR_NS ((int64_t) 1 << 59)
/* A line also counts beyond its window; a quartz drifts from it by so much. */
#define BEYOND 1e-6
#define WINDOW_NS INT64_C(4000000000) /* of a pair's line, at least */
#define PAIRS_A_NODE 16               /* the most that are compared */
/* A communicator of so many nodes compares all pairs. A larger one compares
 * STRIDES chords of the circle of its nodes. */
#define ALL_PAIRS 7
#define STRIDES 3 /* chords of each node */

/* --- the line through the ends -------------------------------------------- */

/* What the ends add to the line of the bounds: level at t0_ns and slope, by the
 * medians of Theil and Sen, which a quarter of wrong points does not move. */
struct correction {
    double level_ns, slope, scatter_ns;
    double net_ns; /* the median of its operations */
    size_t n;
};

/* Computes the correction. False: there are too few bins with an end. */
static bool correct(const struct clockpair *pair, const struct clockline *line,
                    struct correction *c)
{
    static const struct correction none;
    double t[CLOCKPAIR_BINS], y[CLOCKPAIR_BINS], work[CLOCKPAIR_BINS];
    double slopes[CLOCKPAIR_BINS * (CLOCKPAIR_BINS - 1) / 2];
    size_t n = 0, m = 0;

    *c = none;
    /* the ends, relative to the line of the bounds */
    for (int i = 0; i < CLOCKPAIR_BINS; i++) {
        const struct clockpair_end *e = &pair->ends[i];

        if (!e->net_ns)
            continue;
        t[n] = (double) (e->t_ns - line->t0_ns);
        y[n] = (double) (e->theta_ns - clockline_at(line, e->t_ns));
        work[n++] = (double) e->net_ns;
    }
    if (n < ENDS_LEAST)
        return false;
    qsort(work, n, sizeof(*work), sorted_ascending);
    c->net_ns = sorted_median(work, n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (t[i] != t[j])
                slopes[m++] = (y[i] - y[j]) / (t[i] - t[j]);
    if (m == 0)
        return false;
    qsort(slopes, m, sizeof(*slopes), sorted_ascending);
    c->slope = sorted_median(slopes, m);
    for (size_t i = 0; i < n; i++)
        work[i] = y[i] - c->slope * t[i];
    qsort(work, n, sizeof(*work), sorted_ascending);
    c->level_ns = sorted_median(work, n);
    for (size_t i = 0; i < n; i++)
        work[i] = fabs(y[i] - c->slope * t[i] - c->level_ns);
    qsort(work, n, sizeof(*work), sorted_ascending);
    /* the median deviation, scaled to the standard deviation of a normal
     * distribution */
    c->scatter_ns = 1.4826 * sorted_median(work, n);
    c->n = n;
    return true;
}

/* --- a few wrong bounds --------------------------------------------------- */

/* The interval that an operation leaves for theta, relative to a line through
 * the ends. */
struct interval {
    double low, high;
    bool wrong;
};

/* An end of an interval, for the sweep over all of them. */
struct edge {
    double at;
    int by; /* one begins, one ends */
};

static int by_edge(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return y->by - x->by; /* intervals that touch have a point in common */
}

/* The middle of the range that lies in the largest number of intervals. */
static double deepest(const struct interval *at, size_t n, struct edge *edges)
{
    double begin = 0, end = 0;
    int depth = 0, most = 0;

    for (size_t i = 0; i < n; i++) {
        edges[2 * i] = (struct edge){at[i].low, 1};
        edges[2 * i + 1] = (struct edge){at[i].high, -1};
    }
    qsort(edges, 2 * n, sizeof(*edges), by_edge);
    for (size_t i = 0; i < 2 * n; i++) {
        depth += edges[i].by;
        if (depth > most) {
            most = depth;
            begin = edges[i].at;
            end = i + 1 < 2 * n ? edges[i + 1].at : begin;
        }
    }
    return begin + (end - begin) / 2;
}

/* The slope of the ends: of each bin the operation whose ends are in the middle
 * of the others', then the median of the bins' slopes (Theil and Sen). A wrong
 * operation is mostly a short one, so the shortest ones would not do. */
static double slope_of_ends(const struct clockpair *pair, double *work)
{
    double t[CLOCKPAIR_BINS], y[CLOCKPAIR_BINS];
    double slopes[CLOCKPAIR_BINS * (CLOCKPAIR_BINS - 1) / 2];
    size_t bins = pair->n_ops < CLOCKPAIR_BINS ? pair->n_ops : CLOCKPAIR_BINS;
    int64_t t0 = pair->ops[0].end_a_ns;
    int64_t theta0 = pair->ops[0].end_b_ns - t0;
    size_t m = 0;

    for (size_t k = 0; k < bins; k++) {
        size_t from = k * pair->n_ops / bins, to = (k + 1) * pair->n_ops / bins;
        size_t n = 0;

        t[k] = 0;
        for (size_t i = from; i < to; i++) {
            const struct clockpair_op *op = &pair->ops[i];

            t[k] += (double) (op->end_a_ns - t0) / (double) (to - from);
            work[n++] = (double) (op->end_b_ns - op->end_a_ns - theta0);
        }
        qsort(work, n, sizeof(*work), sorted_ascending);
        y[k] = sorted_median(work, n);
    }
    for (size_t i = 0; i < bins; i++)
        for (size_t j = 0; j < i; j++)
            if (t[i] != t[j])
                slopes[m++] = (y[i] - y[j]) / (t[i] - t[j]);
    if (m == 0)
        return 0;
    qsort(slopes, m, sizeof(*slopes), sorted_ascending);
    return fmax(-CLOCKLINE_MAX_SLOPE,
                fmin(CLOCKLINE_MAX_SLOPE, sorted_median(slopes, m)));
}

/* Whether few operations are wrong and right ones lie between them. If a clock
 * was set, all operations before or after it are wrong, except those with wide
 * intervals. */
static bool is_scattered(const struct interval *at, size_t n, size_t wrong)
{
    size_t first = n, last = 0;

    for (size_t i = 0; i < n; i++)
        if (at[i].wrong) {
            first = first == n ? i : first;
            last = i;
        }
    if (!wrong || wrong * CLOCKPAIR_WRONG > n)
        return false;
    return wrong <= 2 || (2 * wrong <= n - first && 2 * wrong <= last + 1);
}

/* Keeps the end of an operation if it is the shortest in its part of the
 * window. */
static void note_end(struct clockpair *pair, const struct clockpair_op *op)
{
    int64_t into = (op->end_a_ns - pair->begin_ns) /
                   (pair->window_ns / CLOCKPAIR_BINS + 1);
    struct clockpair_end *bin =
        &pair->ends[into < 0                ? 0
                    : into < CLOCKPAIR_BINS ? into
                                            : CLOCKPAIR_BINS - 1];

    if (!bin->net_ns || op->net_ns < bin->net_ns)
        *bin = (struct clockpair_end){.t_ns = op->end_a_ns,
                                      .theta_ns = op->theta_ns,
                                      .net_ns = op->net_ns};
}

/* Collects the bounds, and pair's ends, of the operations that agree with most
 * others. Returns how many do not agree. 0: too many do not, or all of these
 * lie in a row. -1: no memory. */
static int64_t leave_out(struct clockpair *pair,
                         struct clockline_bounds *bounds)
{
    size_t n = pair->n_ops, wrong = 0;
    struct interval *at = calloc(n + 1, sizeof(*at));
    struct edge *edges = calloc(2 * n + 1, sizeof(*edges));
    double *work = calloc(n + 1, sizeof(*work));
    int64_t rc = at && edges && work ? 0 : -1;

    if (rc == 0 && n) {
        const struct clockpair_op *op = pair->ops;
        int64_t t0 = op[0].end_a_ns, theta0 = op[0].end_b_ns - t0;
        double slope = slope_of_ends(pair, work), middle;

        for (size_t i = 0; i < n; i++) {
            at[i].low = (double) (op[i].start_b_ns - op[i].end_a_ns - theta0) -
                        slope * (double) (op[i].end_a_ns - t0);
            at[i].high = (double) (op[i].end_b_ns - op[i].start_a_ns - theta0) -
                         slope * (double) (op[i].start_a_ns - t0);
        }
        middle = deepest(at, n, edges);
        for (size_t i = 0; i < n; i++)
            wrong += at[i].wrong = at[i].low > middle || at[i].high < middle;
        /* otherwise a clock was set, and nothing is left out */
        if (is_scattered(at, n, wrong)) {
            rc = (int64_t) wrong;
            memset(pair->ends, 0, sizeof(pair->ends));
        }
        for (size_t i = 0; rc > 0 && i < n; i++) {
            if (at[i].wrong)
                continue;
            note_end(pair, &op[i]);
            if (clockline_add_upper(bounds, op[i].start_a_ns,
                                    op[i].end_b_ns - op[i].start_a_ns) < 0 ||
                clockline_add_lower(bounds, op[i].end_a_ns,
                                    op[i].start_b_ns - op[i].end_a_ns) < 0)
                rc = -1;
        }
    }
    free(at);
    free(edges);
    free(work);
    return rc;
}

/* Finds the line between the bounds; where some are wrong, between most of
 * them. w->wrong: how many are wrong. */
static enum clockline_status find_line(struct clockpair *pair,
                                       struct clockpair_window *w,
                                       struct clockline *line)
{
    enum clockline_status status = clockline_find(&pair->bounds, line);
    struct clockline_bounds fewer = {0};
    int64_t wrong;

    if (status != CLOCKLINE_CROSSED)
        return status;
    wrong = leave_out(pair, &fewer);
    if (wrong < 0)
        status = CLOCKLINE_NO_MEMORY;
    else if (wrong > 0)
        status = clockline_find(&fewer, line);
    if (wrong <= 0 || status != CLOCKLINE_OK) {
        clockline_fini(&fewer);
        return status;
    }
    w->wrong = (uint32_t) wrong;
    clockline_fini(&pair->bounds);
    pair->bounds = fewer;
    return CLOCKLINE_OK;
}

/* --- windows -------------------------------------------------------------- */

static double clip(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* Whether the ends are as close to the middle of the bounds as ranks leave
 * together. Then both nodes are late at times, and the middle is the better
 * estimate. */
static bool agrees(const struct clockline *line, const struct correction *c)
{
    double half = (double) (line->last_ns - line->first_ns) / 2;

    return fabs(c->level_ns) + fabs(c->slope) * half <=
           STAMP_NS + c->net_ns / LEAVING;
}

/* The median of the time that the last rank spent in the window's operations. A
 * few wrong ones do not change it. 0: no memory. */
static double typical_ns(const struct clockpair *pair)
{
    double *work = calloc(pair->n_ops + 1, sizeof(*work)), net = 0;

    for (size_t i = 0; work && i < pair->n_ops; i++)
        work[i] = (double) pair->ops[i].net_ns;
    if (work && pair->n_ops) {
        qsort(work, pair->n_ops, sizeof(*work), sorted_ascending);
        net = sorted_median(work, pair->n_ops);
    }
    free(work);
    return net;
}

/* Finds the window's line from bounds and ends. False: there is none. A window
 * with bounds that contradict each other is kept, because it shows that a clock
 * was set. */
static bool settle_window(struct clockpair *pair, struct clockpair_window *w)
{
    struct clockline line;
    struct correction c;
    int64_t *thetas[] = {&w->theta_first_ns, &w->theta_last_ns};
    double unc = 0;
    bool has_ends, agree;

    switch (find_line(pair, w, &line)) {
    case CLOCKLINE_OK:
        break;
    case CLOCKLINE_CROSSED:
        w->crossed = true;
        return true;
    default:
        return false;
    }
    w->first_ns = line.first_ns;
    w->last_ns = line.last_ns;
    has_ends = correct(pair, &line, &c);
    agree = has_ends && agrees(&line, &c);
    /* both ends of the line: moved by the correction, but within the bounds */
    for (int i = 0; i < 2; i++) {
        int64_t t = i ? w->last_ns : w->first_ns, at = clockline_at(&line, t);
        double low, high, by = 0;

        clockline_range(&pair->bounds, &line, t, &low, &high);
        low -= (double) at;
        high -= (double) at;
        if (has_ends && !agree)
            by = clip(c.level_ns + c.slope * (double) (t - line.t0_ns), low,
                      high);
        *thetas[i] = at + llround(by);
        unc = fmax(unc, fmax(high - by, by - low));
    }
    /* the ends' own uncertainty: how ranks leave, and the error of a median */
    if (has_ends)
        unc = fmin(unc, STAMP_NS + c.net_ns / LEAVING +
                            3 * 1.2533 * c.scatter_ns / sqrt((double) c.n));
    w->doubted_ns = STAMP_NS + typical_ns(pair) / LEAVING;
    w->unc_ns = unc;
    return true;
}

/* Ends the open window and empties it for the next one. 0, or -1: no memory. */
static int close_window(struct clockpair *pair)
{
    struct clockpair_window w = {.first_ns = pair->begin_ns,
                                 .last_ns = pair->begin_ns};

    if (VECTOR_ROOM(pair->windows, pair->n_windows + 1, pair->room) < 0)
        return -1;
    if (settle_window(pair, &w))
        pair->windows[pair->n_windows++] = w;
    clockline_fini(&pair->bounds);
    memset(pair->ends, 0, sizeof(pair->ends));
    pair->n_ops = 0;
    pair->open = false;
    return 0;
}

/* Keeps an operation of the open window. 0, or -1 without memory. */
static int keep_op(struct clockpair *pair, const struct clockpair_op *op)
{
    if (VECTOR_ROOM(pair->ops, pair->n_ops + 1, pair->room_ops) < 0)
        return -1;
    pair->ops[pair->n_ops++] = *op;
    return 0;
}

/* Adds an operation; they come roughly in order of time. net_ns: how long it
 * kept the rank that came last. 0, or -1: no memory. */
static int add_stamps(struct clockpair *pair, const struct clockpair_stamps *a,
                      const struct clockpair_stamps *b, int64_t net_ns)
{
    const struct clockpair_op op = {
        .start_a_ns = a->start_ns,
        .end_a_ns = a->end_ns,
        .start_b_ns = b->start_ns,
        .end_b_ns = b->end_ns,
        .theta_ns = b->end_ns - a->end_ns +
                    llround(b->end_mean_ns - a->end_mean_ns),
        .net_ns = net_ns > 0 ? net_ns : 1};
    int64_t t = a->end_ns;

    if (llabs(b->end_ns - a->end_ns) > FAR_NS)
        return 0;
    /* a window goes on until it has enough bounds */
    if (pair->open && t - pair->begin_ns >= pair->window_ns &&
        pair->bounds.upper.added >= CLOCKPAIR_BOUNDS && close_window(pair) < 0)
        return -1;
    if (!pair->open) {
        pair->open = true;
        pair->begin_ns = t;
    }
    if (clockline_add_upper(&pair->bounds, a->start_ns,
                            b->end_ns - a->start_ns) < 0 ||
        clockline_add_lower(&pair->bounds, a->end_ns, b->start_ns - a->end_ns) <
            0 ||
        keep_op(pair, &op) < 0)
        return -1;
    note_end(pair, &op);
    return 0;
}

/* --- the pairs of a run --------------------------------------------------- */

/* The number of a pair of nodes, which is made if it is new. KEYMAP_NONE: no
 * memory, or there are enough pairs. */
static uint32_t pair_get(struct clockpairs *p, uint32_t a, uint32_t b)
{
    uint32_t at = keymap_find(&p->map, a, b);

    if (at != KEYMAP_NONE || p->n == p->room) /* known, or enough */
        return at;
    if (keymap_add(&p->map, a, b, p->n) < 0)
        return KEYMAP_NONE;
    p->list[p->n] =
        (struct clockpair){.a = a, .b = b, .window_ns = p->window_ns};
    return p->n++;
}

/* Appends the links between host i and host i + stride, modulo their number.
 * Returns the number of links. */
static size_t add_links(struct clockwalk_comm *c, size_t n, uint32_t stride)
{
    for (uint32_t i = 0; i < c->n_hosts; i++) {
        uint32_t j = (i + stride) % c->n_hosts;

        /* across the circle: i to j is j to i */
        if (2 * stride == c->n_hosts && j < i)
            continue;
        c->links[n++] = (struct link){.i = i < j ? i : j, .j = i < j ? j : i};
    }
    return n;
}

/* Chooses the pairs of nodes that a communicator compares. A large one compares
 * neighbours on the circle of its nodes, chords of a quarter to a half of the
 * circle, and chords of a third of these: so the way between any two nodes is
 * short. 0, or -1: no memory. */
static int make_links(struct clockpairs *p, struct clockwalk_comm *c)
{
    size_t room = (size_t) c->n_hosts *
                  (c->n_hosts <= ALL_PAIRS ? c->n_hosts : STRIDES);
    uint32_t top = 1;

    if (c->n_hosts < 2)
        return 0;
    c->links = calloc(room, sizeof(*c->links));
    if (!c->links)
        return -1;
    /* few nodes: each with each */
    if (c->n_hosts <= ALL_PAIRS) {
        for (uint32_t i = 0; i < c->n_hosts; i++)
            for (uint32_t j = i + 1; j < c->n_hosts; j++)
                c->links[c->n_links++] = (struct link){.i = i, .j = j};
    } else {
        while (4 * top <= c->n_hosts)
            top *= 2;
        c->n_links = add_links(c, 0, 1);
        if (top > 1)
            c->n_links = add_links(c, c->n_links, top);
        if (top > 3)
            c->n_links = add_links(c, c->n_links, top / 3);
    }
    for (size_t k = 0; k < c->n_links; k++)
        c->links[k].pair =
            pair_get(p, c->hosts[c->links[k].i], c->hosts[c->links[k].j]);
    return 0;
}

/* The walk's callback: adds an operation to the pairs that its communicator
 * compares. 0, or -1: no memory. */
static int pair_met(void *arg, const struct clockwalk *w,
                    const struct clockwalk_met *met)
{
    const struct clockpairs *p = arg;
    const struct clockwalk_comm *c = &w->comms[w->series[met->series].comm];

    for (size_t k = 0; k < c->n_links; k++) {
        const struct link *link = &c->links[k];

        if (link->pair == KEYMAP_NONE || !met->of[link->i].n ||
            !met->of[link->j].n)
            continue;
        if (add_stamps(&p->list[link->pair], &met->of[link->i].stamps,
                       &met->of[link->j].stamps, met->net_ns) < 0)
            return -1;
    }
    return 0;
}

int clockpair_make_all(struct clockpairs *p, struct clockwalk *w)
{
    int64_t length = w->length_ns;
    uint64_t left_out = 0;

    p->window_ns = length / CLOCKPAIR_WINDOWS > WINDOW_NS
                       ? length / CLOCKPAIR_WINDOWS
                       : WINDOW_NS;
    p->room = w->n_hosts * PAIRS_A_NODE; /* no more are made */
    p->list = calloc(p->room, sizeof(*p->list));
    if (!p->list)
        return -1;
    for (uint32_t i = 0; i < w->n_comms; i++)
        if (make_links(p, &w->comms[i]) < 0)
            return -1;
    w->take = pair_met;
    w->take_arg = p;
    if (clockwalk_run(w) < 0)
        return -1;
    for (uint32_t i = 0; i < p->n; i++) {
        /* end the last window */
        if (p->list[i].open && close_window(&p->list[i]) < 0)
            return -1;
        for (size_t k = 0; k < p->list[i].n_windows; k++)
            left_out += p->list[i].windows[k].wrong;
    }
    /* where some bounds are wrong, others may be wrong without a contradiction:
     * the lines are as uncertain as that */
    for (uint32_t i = 0; left_out && i < p->n; i++)
        for (size_t k = 0; k < p->list[i].n_windows; k++) {
            struct clockpair_window *at = &p->list[i].windows[k];

            at->unc_ns = fmax(at->unc_ns, at->doubted_ns);
        }
    if (w->check)
        w->check->left_out = left_out;
    return 0;
}

static void fini_pair(struct clockpair *pair)
{
    clockline_fini(&pair->bounds);
    free(pair->ops);
    free(pair->windows);
    memset(pair, 0, sizeof(*pair));
}

void clockpair_fini_all(struct clockpairs *p)
{
    for (uint32_t i = 0; i < p->n; i++)
        fini_pair(&p->list[i]);
    free(p->list);
    keymap_fini(&p->map);
}

/* --- a window's line read off --------------------------------------------- */

/* How far a moment is from a window. */
static int64_t distance(const struct clockpair_window *w, int64_t t_ns)
{
    if (t_ns < w->first_ns)
        return w->first_ns - t_ns;
    return t_ns > w->last_ns ? t_ns - w->last_ns : 0;
}

/* Reads the offset off a window's line at a moment, and its uncertainty, which
 * grows with the distance from the window. */
static void read_off(const struct clockpair_window *w, int64_t t_ns,
                     int64_t *theta_ns, double *unc_ns)
{
    double span = (double) (w->last_ns - w->first_ns), slope = 0;
    double away = (double) distance(w, t_ns);

    if (span > 0)
        slope = clip((double) (w->theta_last_ns - w->theta_first_ns) / span,
                     -CLOCKLINE_MAX_SLOPE, CLOCKLINE_MAX_SLOPE);
    *theta_ns = w->theta_first_ns +
                llround(slope * (double) (t_ns - w->first_ns));
    *unc_ns = w->unc_ns;
    if (away > 0)
        *unc_ns += away * (BEYOND + (span > 0 ? 2 * w->unc_ns / span
                                              : CLOCKLINE_MAX_SLOPE));
}

/* The nearest window. NULL: the bounds of all windows contradict each other. */
static const struct clockpair_window *nearest(const struct clockpair *pair,
                                              int64_t t_ns)
{
    const struct clockpair_window *best = NULL;
    int64_t away = INT64_MAX;

    for (size_t i = 0; i < pair->n_windows; i++) {
        const struct clockpair_window *w = &pair->windows[i];

        if (!w->crossed && distance(w, t_ns) < away) {
            away = distance(w, t_ns);
            best = w;
        }
    }
    return best;
}

/* The last window may be short and its line uncertain. The window before
 * replaces it if it agrees and is more certain. If they do not agree, a clock
 * was set in between. */
bool clockpair_theta(const struct clockpair *pair, int64_t t_ns,
                     int64_t *theta_ns, double *unc_ns)
{
    const struct clockpair_window *best = nearest(pair, t_ns), *other;
    int64_t theta;
    double unc;

    if (!best)
        return false;
    read_off(best, t_ns, theta_ns, unc_ns);
    for (int side = -1; side <= 1; side += 2) {
        if (side < 0 ? best == pair->windows
                     : best == &pair->windows[pair->n_windows - 1])
            continue;
        other = best + side;
        if (other->crossed)
            continue;
        read_off(other, t_ns, &theta, &unc);
        if (unc < *unc_ns &&
            fabs((double) (theta - *theta_ns)) <= unc + *unc_ns) {
            *theta_ns = theta;
            *unc_ns = unc;
        }
    }
    return true;
}
