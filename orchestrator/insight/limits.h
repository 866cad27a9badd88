/* limits.h - the limits that decide a finding or the verdict, with their
 * reasons.
 *
 * report.html lists them at its foot ("How the verdict is decided"). To add
 * one, add a constant here and a row to limits.c or limits_rows.h. A feature
 * keeps its limits in its own folder (`limits` of struct feature). The page
 * lists these after the rows of this table.
 *
 * Own times and clocks have constants of their own, with their reasons, in
 * orchestrator/judge/judge.h and orchestrator/aggregate/clocks.h. One of them
 * has a row here only if a rule of this room, or a document for users, refers
 * to it.
 */
#ifndef JP_INSIGHT_LIMITS_H
#define JP_INSIGHT_LIMITS_H

#include <stddef.h>

enum jp_limit_id {
    JP_LIMIT_HANG,
    JP_LIMIT_CRASH_NODE,
    JP_LIMIT_CRASH_CLOCKS,
    JP_LIMIT_CRASH_ALONE,
    JP_LIMIT_COVERAGE,
    JP_LIMIT_WHOLE,
    JP_LIMIT_BAD_LINES,
    JP_LIMIT_LATE_OPS,
    JP_LIMIT_LATE_CHANCE,
    JP_LIMIT_PART_RANKS,
    JP_LIMIT_PART_CLEAR,
    JP_LIMIT_PART_REST,
    JP_LIMIT_PART_OWN,
    JP_LIMIT_PART_LENGTH,
    JP_LIMIT_LATE_SLICES,
    JP_LIMIT_LATE_WEIGHT,
    JP_LIMIT_LATE_SHARE,
    JP_LIMIT_LATE_COST,
    JP_LIMIT_LATE_SLOWER,
    JP_LIMIT_LATE_LEAST,
    JP_LIMIT_LATE_TOLD,
    JP_LIMIT_LATE_ERRORS,
    JP_LIMIT_LATE_SPREAD,
    JP_LIMIT_LATE_NODE,
    JP_LIMIT_LATE_STALL,
    JP_LIMIT_LATE_STALL_PART,
    JP_LIMIT_LATE_STALL_STEPS,
    JP_LIMIT_LATE_STALL_OTHERS,
    JP_LIMIT_LATE_COMPUTES,
    JP_LIMIT_LATE_REST,
    JP_LIMIT_LATE_NODE_ERRORS,
    JP_LIMIT_LATE_LED,
    JP_LIMIT_LATE_FAR,
    JP_LIMIT_LATE_AS,
    JP_LIMIT_LATE_SAME,
    JP_LIMIT_LATE_MANY,
    JP_LIMIT_STAGE_PIPELINES,
    JP_LIMIT_STALL_RARE,
    JP_LIMIT_TURNS_COST,
    JP_LIMIT_PHASE_SHARE,
    JP_LIMIT_PHASE_TIMES,
    JP_LIMIT_OWN_ALARM,
    JP_LIMIT_OWN_WORTH,
    JP_LIMIT_STATED,
    JP_LIMIT_HIDDEN_OPS,
    JP_LIMIT_HIDDEN_OVERLAP,
    JP_LIMIT_HIDDEN_LIKE,
    JP_LIMIT_HIDDEN_DOUBT,
    JP_LIMIT_HIDDEN_UNEVEN,
    JP_LIMIT_HIDDEN_CLOCK,
    JP_LIMIT_GROUPED_ROWS,
    JP_LIMIT_GROUPED_BY,
    JP_LIMIT_GROUPED_RANKS,
    JP_LIMIT_GROUPED_ALIKE,
    JP_LIMIT_GROUPED_WHOLE,
    JP_LIMIT_HANG_STEPS,
    JP_LIMIT_HANG_LIKES,
    JP_LIMIT_HANG_BUCKETS,
    JP_LIMIT_HANG_STOPPED,
    JP_LIMIT_HANG_LESS,
    JP_LIMIT_HANG_SILENCE,
    JP_LIMIT_CLOCK_APART,
    JP_LIMIT_NET_OPS,
    JP_LIMIT_NET_WEIGHT,
    JP_LIMIT_NET_US,
    JP_LIMIT_WARMUP_SKIP,
    JP_LIMIT_NET_FIT,
    JP_LIMIT_NET_CHANGE,
    JP_LIMIT_NET_LIKES,
    JP_LIMIT_NET_PEAKS,
    JP_LIMIT_NET_RATE,
    JP_LIMIT_NET_RATE_BYTES,
    JP_LIMIT_NET_RATE_RANKS,
    JP_LIMIT_NET_BASELINE,
    JP_LIMIT_NET_REPORTS,
    JP_LIMIT_NET_JUDGED,
    JP_LIMIT_NET_SHARE,
    JP_LIMIT_NET_FLOOR,
    JP_LIMIT_NET_HUMP,
    JP_LIMIT_NET_MINOR,
    JP_LIMIT_NET_COMMS,
    JP_LIMIT_NET_GROUPS,
    JP_LIMIT_NET_CLEAR,
    JP_LIMIT_NET_SPREAD,
    JP_LIMIT_NET_BW_US,
    JP_LIMIT_NET_BEST,
    JP_LIMIT_NET_PAIRS,
    JP_LIMIT_PAIRS_LIKES,
    JP_LIMIT_PAIRS_MIN,
    JP_LIMIT_PAIRS_ECHO,
    JP_LIMIT_PAIRS_MOST,
    JP_LIMIT_SMALL_SHARE,
    JP_LIMIT_SMALL_BYTES,
    JP_LIMIT_SMALL_OPS,
    JP_LIMIT_IMBALANCE,
    JP_LIMIT_IMBALANCE_RANKS,
    JP_LIMIT_IMBALANCE_BYTES,
    JP_LIMIT_INTERVAL,
    JP_LIMIT_WARMUP_PART,
    JP_LIMIT_WARMUP_TIMES,
    JP_LIMIT_WARMUP_KINDS,
    JP_N_LIMITS
};

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
