/* clockline.h - how far one clock is from another one, as a line over time.
 *
 * theta(t) = B - A: what clock B shows when clock A shows t, less t. Two clocks
 * are never read at the same moment, but a message that leaves A at a and
 * reaches B at b says theta <= b - a, because it took no negative time; one
 * that goes the other way says theta >= b - a. Probes give such bounds, and so
 * do collectives: who leaves an AllReduce has the data of everybody, so A's
 * end lies behind B's start.
 *
 * The line is the one that keeps the largest distance from all bounds: it lies
 * in the middle between the lower hull of the upper bounds and the upper hull
 * of the lower ones. It is found exactly, without any tuning (after Geng et
 * al., Exploiting a Natural Network Effect for Scalable, Fine-grained Clock
 * Synchronization, NSDI 2018, which has a soft-margin SVM in its place).
 *
 * Memory: only hulls are kept, which have some dozens of points.
 */
#ifndef JP_COMMON_CLOCKLINE_H
#define JP_COMMON_CLOCKLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Two clocks do not run apart by more: a bad crystal has 100e-6, and the
 * kernel slews by at most 500e-6. */
#define CLOCKLINE_MAX_SLOPE 500e-6

struct clockline_point {
    int64_t t_ns, theta_ns;
};

/* Bounds of one kind. The points are its own. */
struct clockline_side {
    struct clockline_point *points; /* the first `hull` are a hull, by t */
    size_t n, hull, room;
    uint64_t added;
};

struct clockline_bounds {
    struct clockline_side upper, lower;
};

/* All zeros is empty. Fini leaves it empty. */
void clockline_fini(struct clockline_bounds *bounds);

/* theta <= (or >=) theta_ns when A shows t_ns. The times of all bounds
 * differ by less than 2^62 ns, and so do their thetas.
 * 0, or -1 without memory: the bound is not taken then. */
int clockline_add_upper(struct clockline_bounds *bounds, int64_t t_ns,
                        int64_t theta_ns);
int clockline_add_lower(struct clockline_bounds *bounds, int64_t t_ns,
                        int64_t theta_ns);

struct clockline {
    int64_t t0_ns, theta0_ns;  /* a point near the line */
    double offset_ns;          /* of the line above it */
    double slope;              /* ns of theta a ns of t: 1e-6 is 1 ppm */
    double margin_ns;          /* to the nearest bounds, half of their gap */
    int64_t first_ns, last_ns; /* the bounds lie between */
};

enum clockline_status {
    CLOCKLINE_OK,
    CLOCKLINE_FEW,     /* a side has no bound */
    CLOCKLINE_CROSSED, /* no line with a slope in range: a clock was set */
    CLOCKLINE_NO_MEMORY,
};

/* The line. CLOCKLINE_CROSSED: the one that the bounds contradict least, with a
 * margin below 0; undefined for the others. */
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
