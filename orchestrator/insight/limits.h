/* limits.h - the limits that decide a finding or the verdict, with their
 * reasons.
 *
 * report.html lists them at its foot ("How the verdict is decided"). To add
 * one, add a row to limits_rows.h. A feature keeps its limits in its own folder
 * (`limits` of struct feature). The page lists these after the rows of this
 * table.
 *
 * Own times and clocks have constants of their own, with their reasons, in
 * orchestrator/judge/ (judge.h, and the top of each file) and in
 * orchestrator/aggregate/clocks.h. One of them has a row here only if a rule of
 * this room, or a document for users, refers to it.
 */
#ifndef JP_INSIGHT_LIMITS_H
#define JP_INSIGHT_LIMITS_H

#include <stddef.h>

/* JP_LIMIT_HANG, ... */
#define LIMIT(id, name, value, unit, text, reason) id,
enum jp_limit_id {
#include "orchestrator/insight/limits_rows.h"
    JP_N_LIMITS
};
#undef LIMIT

enum jp_limit_unit {
    JP_LIMIT_IS_SHARE,
    JP_LIMIT_IS_US,
    JP_LIMIT_IS_NUMBER,
    JP_LIMIT_IS_BYTES
};

struct jp_limit {
    const char *name; /* as documents and reports call it */
    double value;     /* a share is between 0 and 1 */
    enum jp_limit_unit unit;
    const char *text;   /* what the limit decides; {} stands for the value, and
                           occurs once */
    const char *reason; /* why it has that value */
};

extern const struct jp_limit limits_table[JP_N_LIMITS];

static inline double limits_get(enum jp_limit_id id)
{
    return limits_table[id].value;
}

#endif
