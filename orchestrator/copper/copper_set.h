/* copper_set.h - the counters that a daemon wrote at one moment. */
#ifndef JP_COPPER_COPPER_SET_H
#define JP_COPPER_COPPER_SET_H

#include "orchestrator/copper/copper_build.h"

/* How far a set of files can be trusted, best first. */
enum copper_grade {
    COPPER_SET_WHOLE,
    COPPER_SET_HALF,
    COPPER_SET_CONTRADICTORY,
    COPPER_SET_NOTHING
};

/* The files that a daemon wrote at one moment. */
struct copper_set {
    enum copper_tag tag;
    uint64_t copy;
    int64_t mtime_us;
    bool has_totals, has_ops, dumps;
    bool since; /* of dumps: since those before the step */
    enum copper_grade grade;
    struct copper_totals totals;
    struct copper_ops ops;
    struct jp_error why; /* what is wrong with it; "" nothing */
};

/* "final", ..., "ioctl dumps". */
const char *copper_set_source(const struct copper_set *set);
bool copper_set_is_snapshot(enum copper_tag tag);

/* Reads the set of its tag and copy, and grades it. What is wrong is noted and
 * in why; -1: out of memory, or stopped. */
int copper_set_load(struct copper_build *b, const struct copper_daemon *d,
                    struct copper_set *set);
/* Puts whole dumps of an ioctl in place of best, less those made before the
 * step where there are some. */
int copper_set_attached(struct copper_build *b, const struct copper_daemon *d,
                        struct copper_set *best);

#endif
