/* limits.h - every limit that decides a verdict's word, with its reason. */
#ifndef JP_INSIGHT_LIMITS_H
#define JP_INSIGHT_LIMITS_H

#include <stddef.h>

enum jp_limit_id {
    JP_LIMIT_HANG,
    JP_LIMIT_COVERAGE,
    JP_LIMIT_BAD_LINES,
    JP_LIMIT_LATE_OPS,
    JP_LIMIT_LATE_SHARE,
    JP_LIMIT_LATE_COST,
    JP_LIMIT_LATE_SLOWER,
    JP_LIMIT_LATE_LEAST,
    JP_LIMIT_LATE_ERRORS,
    JP_LIMIT_LATE_SPREAD,
    JP_LIMIT_LATE_NODE,
    JP_LIMIT_LATE_OWN,
    JP_LIMIT_STALL_STEPS,
    JP_LIMIT_NET_OPS,
    JP_LIMIT_NET_FIT,
    JP_LIMIT_NET_CHANGE,
    JP_LIMIT_NET_LIKES,
    JP_LIMIT_NET_PEAKS,
    JP_LIMIT_NET_BASELINE,
    JP_LIMIT_NET_REPORTS,
    JP_LIMIT_NET_SHARE,
    JP_LIMIT_NET_PAIRS,
    JP_LIMIT_SMALL_SHARE,
    JP_LIMIT_IMBALANCE,
    JP_N_LIMITS
};

enum jp_limit_unit { JP_LIMIT_IS_SHARE, JP_LIMIT_IS_US, JP_LIMIT_IS_NUMBER };

struct jp_limit {
    const char *name; /* as documents and reports call it */
    double value;     /* a share is 0..1 */
    enum jp_limit_unit unit;
    const char *text; /* what happens beyond it, one sentence */
    const char *reason;
};

extern const struct jp_limit limits_table[JP_N_LIMITS];

#endif
