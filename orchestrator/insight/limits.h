/* limits.h - every limit that decides a verdict's word, with its reason. */
#ifndef JP_INSIGHT_LIMITS_H
#define JP_INSIGHT_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

enum jp_limit_id {
    JP_LIMIT_HANG,
    JP_LIMIT_COVERAGE,
    JP_LIMIT_BAD_LINES,
    JP_N_LIMITS
};

struct jp_limit {
    const char *name; /* as documents and reports call it */
    double value;     /* a share, 0..1, or microseconds */
    bool is_time;     /* microseconds */
    const char *text; /* what happens beyond it, one sentence */
    const char *reason;
};

extern const struct jp_limit limits_table[JP_N_LIMITS];

#endif
