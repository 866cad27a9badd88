/* clockline.h - the offset of one clock from another one, as a line over time.
 *
 * theta(t) = B - A: the time that clock B shows when clock A shows t, minus t.
 * Two clocks are never read at the same moment. But a message that leaves A at
 * a and reaches B at b proves that theta <= b - a, because it took no negative
 * time, and a message in the other direction proves that theta >= b - a. Probes
 * give such bounds, and so do collectives: a rank that leaves an AllReduce has
 * the data of all others, so A's end is later than B's start.
 *
 * The line is the one with the largest distance from all bounds: it is in the
 * middle between the lower hull of the upper bounds and the upper hull of the
 * lower bounds. It is computed exactly, without parameters (after Geng et al.,
 * Exploiting a Natural Network Effect for Scalable, Fine-grained Clock
 * Synchronization, NSDI 2018, which uses a soft-margin SVM instead).
 *
 * Memory: only the hulls are kept, which have some dozens of points.
 */
#ifndef JP_COMMON_CLOCKLINE_H
#define JP_COMMON_CLOCKLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest difference between the rates of two clocks: a bad crystal has
 * 100e-6, and the kernel slews by at most 500e-6. */
#define CLOCKLINE_MAX_SLOPE 500e-6

struct clockline_point {
    int64_t t_ns, theta_ns;
};

/* Bounds of one kind. Owns the points. */
struct clockline_side {
    struct clockline_point *points; /* the first `hull`: a hull, by t */
    size_t n, hull, room;
    uint64_t added;
};

struct clockline_bounds {
    struct clockline_side upper, lower;
};

/* Frees the points. All zeros is an empty struct; it is empty afterwards. */
void clockline_fini(struct clockline_bounds *bounds);

/* Adds a bound: theta <= (lower: >=) theta_ns when A shows t_ns. The times of
 * all bounds differ by less than 2^62 ns, and so do their thetas. Returns 0, or
 * -1 without memory; then the bound is not added. */
int clockline_add_upper(struct clockline_bounds *bounds, int64_t t_ns,
                        int64_t theta_ns);
int clockline_add_lower(struct clockline_bounds *bounds, int64_t t_ns,
                        int64_t theta_ns);

struct clockline {
    int64_t t0_ns, theta0_ns; /* a point near the line */
    double offset_ns;         /* height of the line above this point */
    double slope;             /* change of theta per ns: 1e-6 is 1 ppm */
    double margin_ns; /* distance to the nearest bounds: half of their gap */
    int64_t first_ns, last_ns; /* time of the first and the last bound */
};

enum clockline_status {
    CLOCKLINE_OK,
    CLOCKLINE_FEW,     /* a side has no bound */
    CLOCKLINE_CROSSED, /* no line with a slope in range: a clock was set */
    CLOCKLINE_NO_MEMORY,
};

/* Computes the line. CLOCKLINE_CROSSED: *line is the one that the bounds
 * contradict least, with a margin below 0. For other errors, *line is
 * undefined. */
enum clockline_status clockline_find(struct clockline_bounds *bounds,
                                     struct clockline *line);

/* theta when A shows t_ns, which is at most 2^52 ns from t0_ns. */
int64_t clockline_at(const struct clockline *line, int64_t t_ns);

/* The range of theta when A shows t_ns, over all lines that obey the bounds.
 * Call it after clockline_find has returned OK for the same bounds. */
void clockline_range(const struct clockline_bounds *bounds,
                     const struct clockline *line, int64_t t_ns, double *low_ns,
                     double *high_ns);

#endif
