/* clockpair.c - windows of two clocks, from bounds and ends. */
#include "orchestrator/aggregate/clockpair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/sorted.h"

/* Ranks leave an operation within this part of its own time: a ring passes its
 * last chunk on, and NCCL cuts a channel's buffer into 8 steps. */
#define LEAVING 16.0
/* Stamps are whole microseconds in most logs. */
#define STAMP_NS 500.0
/* Bins with an end that a line through ends needs. */
#define ENDS_LEAST 6
/* Clocks that are farther apart, by 18 years, are none. */
#define FAR_NS ((int64_t) 1 << 59)
/* A line is carried on beyond its window; a quartz leaves it by so much. */
#define BEYOND 1e-6

void clockpair_init(struct clockpair *pair, uint32_t a, uint32_t b,
                    int64_t window_ns)
{
    *pair = (struct clockpair){.a = a, .b = b, .window_ns = window_ns};
}

void clockpair_fini(struct clockpair *pair)
{
    clockline_fini(&pair->bounds);
    free(pair->windows);
    memset(pair, 0, sizeof(*pair));
}

/* --- the line through the ends --------------------------------------------
 */

/* What the ends add to the line of the bounds: level at t0_ns and slope, by the
 * medians of Theil and Sen, which a quarter of wrong points does not move. */
struct correction {
    double level_ns, slope, scatter_ns;
    double net_ns; /* typical of the operations that it is made of */
    size_t n;
};

static bool correct(const struct clockpair *pair, const struct clockline *line,
                    struct correction *c)
{
    static const struct correction none;
    double t[CLOCKPAIR_BINS], y[CLOCKPAIR_BINS], work[CLOCKPAIR_BINS];
    double slopes[CLOCKPAIR_BINS * (CLOCKPAIR_BINS - 1) / 2];
    size_t n = 0, m = 0;

    *c = none;
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
    c->scatter_ns = 1.4826 * sorted_median(work, n);
    c->n = n;
    return true;
}

/* --- windows -------------------------------------------------------------- */

static double clip(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* Whether the ends are no farther from the middle of the bounds than ranks may
 * differ in leaving: then both sides are late now and then, and the middle is
 * the better one of the two. */
static bool agrees(const struct clockline *line, const struct correction *c)
{
    double half = (double) (line->last_ns - line->first_ns) / 2;

    return fabs(c->level_ns) + fabs(c->slope) * half <=
           STAMP_NS + c->net_ns / LEAVING;
}

/* The line of the window's bounds and ends. False: there is none. */
static bool settle(struct clockpair *pair, struct clockpair_window *w)
{
    struct clockline line;
    struct correction c;
    int64_t *thetas[] = {&w->theta_first_ns, &w->theta_last_ns};
    double unc = 0;
    bool has_ends, agree;

    switch (clockline_find(&pair->bounds, &line)) {
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
    if (has_ends)
        unc = fmin(unc, STAMP_NS + c.net_ns / LEAVING +
                            3 * 1.2533 * c.scatter_ns / sqrt((double) c.n));
    w->unc_ns = unc;
    return true;
}

static int close_window(struct clockpair *pair)
{
    struct clockpair_window w = {.first_ns = pair->begin_ns,
                                 .last_ns = pair->begin_ns};

    if (pair->n_windows == pair->room) {
        size_t room = pair->room ? 2 * pair->room : 4;
        struct clockpair_window *more =
            realloc(pair->windows, room * sizeof(*more));

        if (!more)
            return -1;
        pair->windows = more;
        pair->room = room;
    }
    if (settle(pair, &w))
        pair->windows[pair->n_windows++] = w;
    clockline_fini(&pair->bounds);
    memset(pair->ends, 0, sizeof(pair->ends));
    pair->open = false;
    return 0;
}

int clockpair_add(struct clockpair *pair, const struct clockpair_stamps *a,
                  const struct clockpair_stamps *b, int64_t net_ns)
{
    int64_t t = a->end_ns, into;
    struct clockpair_end *bin;

    if (llabs(b->end_ns - a->end_ns) > FAR_NS)
        return 0;
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
            0)
        return -1;
    into = (t - pair->begin_ns) / (pair->window_ns / CLOCKPAIR_BINS + 1);
    bin = &pair->ends[into < 0                ? 0
                      : into < CLOCKPAIR_BINS ? into
                                              : CLOCKPAIR_BINS - 1];
    net_ns = net_ns > 0 ? net_ns : 1;
    if (!bin->net_ns || net_ns < bin->net_ns)
        *bin = (struct clockpair_end){
            .t_ns = t,
            .theta_ns = b->end_ns - a->end_ns +
                        llround(b->end_mean_ns - a->end_mean_ns),
            .net_ns = net_ns};
    return 0;
}

int clockpair_end(struct clockpair *pair)
{
    return pair->open ? close_window(pair) : 0;
}

/* How far a moment is from a window. */
static int64_t distance(const struct clockpair_window *w, int64_t t_ns)
{
    if (t_ns < w->first_ns)
        return w->first_ns - t_ns;
    return t_ns > w->last_ns ? t_ns - w->last_ns : 0;
}

/* What a window's line says of that moment, and how sure. */
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

/* The window that is nearest; NULL: all are crossed. */
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

/* The last window may be short, and its line unsure: a neighbour that agrees
 * with it and is surer replaces it. One that does not agree is of a clock that
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
