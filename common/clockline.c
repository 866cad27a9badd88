/* clockline.c - the line with the largest margin between two hulls.
 *
 * Bounds are collected as points of two sides and reduced to convex hulls now
 * and then (reduce). clockline_find searches the slope at which the gap between
 * the hulls is widest (best_slope); the line is in the middle of the gap.
 * clockline_range computes how far any line between the hulls can deviate.
 * clockline.h has the model and its source.
 */
#include "common/clockline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/vector.h"

/* How many points are collected before they are reduced to a hull. */
#define WAIT_POINTS 128

void clockline_fini(struct clockline_bounds *bounds)
{
    free(bounds->upper.points);
    free(bounds->lower.points);
    memset(bounds, 0, sizeof(*bounds));
}

/* --- hulls ---------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const struct clockline_point *x = a, *y = b;

    if (x->t_ns != y->t_ns)
        return x->t_ns < y->t_ns ? -1 : 1;
    return (x->theta_ns > y->theta_ns) - (x->theta_ns < y->theta_ns);
}

/* The cross product: above 0 if c is to the left of the line from a to b.
 * Differences are below 2^63, their products below 2^126. */
static __int128 turn(const struct clockline_point *a,
                     const struct clockline_point *b,
                     const struct clockline_point *c)
{
    return (__int128) (b->t_ns - a->t_ns) * (c->theta_ns - a->theta_ns) -
           (__int128) (b->theta_ns - a->theta_ns) * (c->t_ns - a->t_ns);
}

/* Keeps only the points of the lower hull (sign 1) or of the upper hull (-1):
 * upper bounds matter where they are lowest. Andrew's monotone chain; O(n log
 * n). */
static void reduce(struct clockline_side *side, int sign)
{
    struct clockline_point *p = side->points;
    size_t n = 0;

    if (side->n == side->hull)
        return;
    qsort(p, side->n, sizeof(*p), by_time);
    for (size_t i = 0; i < side->n; i++) {
        if (n && p[n - 1].t_ns == p[i].t_ns) {
            /* of points with the same time, the first is the lowest, the last
             * the highest */
            if (sign > 0)
                continue;
            n--;
        }
        while (n >= 2 && sign * turn(&p[n - 2], &p[n - 1], &p[i]) <= 0)
            n--;
        p[n++] = p[i];
    }
    side->n = side->hull = n;
}

/* Adds a point. Reduces only if that is likely to free enough room, so that the
 * cost per point stays constant on average. -1: no memory. */
static int add_point(struct clockline_side *side, int sign, int64_t t_ns,
                     int64_t theta_ns)
{
    if (side->n == side->room && side->n - side->hull >= WAIT_POINTS / 2)
        reduce(side, sign);
    if (side->n == side->room) {
        size_t room = side->n + WAIT_POINTS;

        if (vector_resize(&side->points, room, sizeof(*side->points)) < 0)
            return -1;
        side->room = room;
    }
    side->points[side->n++] =
        (struct clockline_point){.t_ns = t_ns, .theta_ns = theta_ns};
    side->added++;
    return 0;
}

int clockline_add_upper(struct clockline_bounds *bounds, int64_t t_ns,
                        int64_t theta_ns)
{
    return add_point(&bounds->upper, 1, t_ns, theta_ns);
}

int clockline_add_lower(struct clockline_bounds *bounds, int64_t t_ns,
                        int64_t theta_ns)
{
    return add_point(&bounds->lower, -1, t_ns, theta_ns);
}

/* --- the line --------------------------------------------------------------
 */

/* The slope from a hull's point i to the next one, which must exist. */
static long double slope_after(const struct clockline_side *side, size_t i)
{
    const struct clockline_point *p = side->points;

    return (long double) (p[i + 1].theta_ns - p[i].theta_ns) /
           (long double) (p[i + 1].t_ns - p[i].t_ns);
}

/* The height of a point above a line of that slope through (t0, theta0). */
static long double height(const struct clockline_point *p,
                          const struct clockline *line, long double slope)
{
    return (long double) (p->theta_ns - line->theta0_ns) -
           slope * (long double) (p->t_ns - line->t0_ns);
}

/* The best slope. The gap between the hulls along a slope is a concave function
 * of the slope: it grows while the lowest upper bound is earlier than the
 * highest lower bound. As the slope grows, the former moves forward along its
 * hull, and the latter moves backward. So the best slope is that of an edge at
 * which their order changes, or any slope of a range in which both have the
 * same time; then the middle of the range is taken. */
static double best_slope(const struct clockline_bounds *bounds)
{
    const struct clockline_side *up = &bounds->upper, *low = &bounds->lower;
    size_t u = 0, l = low->n - 1;
    long double slope = -CLOCKLINE_MAX_SLOPE, flat = NAN;

    /* the points that support the line with the steepest fall */
    while (u + 1 < up->n && slope_after(up, u) <= slope)
        u++;
    while (l > 0 && slope_after(low, l - 1) <= slope)
        l--;
    while (up->points[u].t_ns <= low->points[l].t_ns) {
        long double next_u = u + 1 < up->n ? slope_after(up, u) : INFINITY,
                    next_l = l > 0 ? slope_after(low, l - 1) : INFINITY;
        long double next = next_u < next_l ? next_u : next_l;

        if (up->points[u].t_ns == low->points[l].t_ns && isnan(flat))
            flat = slope;
        /* The limit comes before the next edge. */
        if (next >= CLOCKLINE_MAX_SLOPE) {
            slope = CLOCKLINE_MAX_SLOPE;
            break;
        }
        slope = next;
        if (next_u <= next_l)
            u++;
        if (next_l <= next_u)
            l--;
    }
    return (double) (isnan(flat) ? slope : (flat + slope) / 2);
}

/* The lowest upper bound and the highest lower bound, as heights above the
 * line. */
static void support(const struct clockline_bounds *bounds,
                    const struct clockline *line, long double *high,
                    long double *low)
{
    *high = INFINITY;
    *low = -INFINITY;
    for (size_t i = 0; i < bounds->upper.n; i++) {
        long double h = height(&bounds->upper.points[i], line, line->slope);

        *high = h < *high ? h : *high;
    }
    for (size_t i = 0; i < bounds->lower.n; i++) {
        long double h = height(&bounds->lower.points[i], line, line->slope);

        *low = h > *low ? h : *low;
    }
}

enum clockline_status clockline_find(struct clockline_bounds *bounds,
                                     struct clockline *line)
{
    const struct clockline_side *up = &bounds->upper, *low = &bounds->lower;
    struct clockline found = {0};
    long double high, deep;

    reduce(&bounds->upper, 1);
    reduce(&bounds->lower, -1);
    if (!up->n || !low->n)
        return CLOCKLINE_FEW;
    found.first_ns = up->points[0].t_ns < low->points[0].t_ns
                         ? up->points[0].t_ns
                         : low->points[0].t_ns;
    found.last_ns = up->points[up->n - 1].t_ns > low->points[low->n - 1].t_ns
                        ? up->points[up->n - 1].t_ns
                        : low->points[low->n - 1].t_ns;
    found.t0_ns = found.first_ns + (found.last_ns - found.first_ns) / 2;
    found.theta0_ns = up->points[up->n / 2].theta_ns;
    found.slope = best_slope(bounds);
    support(bounds, &found, &high, &deep);
    found.offset_ns = (double) ((high + deep) / 2);
    found.margin_ns = (double) ((high - deep) / 2);
    *line = found;
    return found.margin_ns < 0 ? CLOCKLINE_CROSSED : CLOCKLINE_OK;
}

int64_t clockline_at(const struct clockline *line, int64_t t_ns)
{
    return line->theta0_ns +
           llround(line->offset_ns +
                   line->slope * (double) (t_ns - line->t0_ns));
}

/* The highest (or lowest) value at t of a line of that slope between the hulls.
 * Over the slopes, this is the minimum of many straight lines, so its maximum
 * is at an edge of a hull or at the end of the slopes that leave a gap. */
static double reach(const struct clockline_bounds *bounds,
                    const struct clockline *line, int64_t t_ns,
                    long double slope, bool high)
{
    struct clockline tilted = *line;
    long double up, low;

    tilted.slope = (double) slope;
    support(bounds, &tilted, &up, &low);
    return (double) ((high ? up : low) +
                     slope * (long double) (t_ns - line->t0_ns));
}

/* The last slope towards `toward` that leaves a gap between the hulls, by
 * bisection: 60 steps exceed the precision of a double. */
static double slope_limit(const struct clockline_bounds *bounds,
                          const struct clockline *line, double toward)
{
    double inside = line->slope, outside = toward;

    for (int i = 0; i < 60; i++) {
        struct clockline tilted = *line;
        long double up, low;

        tilted.slope = i ? (inside + outside) / 2 : toward;
        support(bounds, &tilted, &up, &low);
        if (up >= low) {
            inside = tilted.slope;
            if (!i)
                break;
        } else {
            outside = tilted.slope;
        }
    }
    return inside;
}

void clockline_range(const struct clockline_bounds *bounds,
                     const struct clockline *line, int64_t t_ns, double *low_ns,
                     double *high_ns)
{
    const struct clockline_side *sides[] = {&bounds->upper, &bounds->lower};
    double ends[] = {slope_limit(bounds, line, -CLOCKLINE_MAX_SLOPE),
                     slope_limit(bounds, line, CLOCKLINE_MAX_SLOPE)};

    *high_ns = reach(bounds, line, t_ns, line->slope, true);
    *low_ns = reach(bounds, line, t_ns, line->slope, false);
    for (int i = 0; i < 2; i++) {
        *high_ns = fmax(*high_ns, reach(bounds, line, t_ns, ends[i], true));
        *low_ns = fmin(*low_ns, reach(bounds, line, t_ns, ends[i], false));
        for (size_t k = 0; k + 1 < sides[i]->n; k++) {
            long double slope = slope_after(sides[i], k);

            if (slope < ends[0] || slope > ends[1])
                continue;
            *high_ns = fmax(*high_ns, reach(bounds, line, t_ns, slope, true));
            *low_ns = fmin(*low_ns, reach(bounds, line, t_ns, slope, false));
        }
    }
    *high_ns += (double) line->theta0_ns;
    *low_ns += (double) line->theta0_ns;
}
