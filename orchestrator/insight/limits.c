/* limits.c - the table of limits. Its rows are in limits_rows.h. */
#include "orchestrator/insight/limits.h"

#include "orchestrator/aggregate/aggregate.h"
#include "common/clockmap.h"
#include "orchestrator/judge/judge.h"

_Static_assert(CLOCKMAP_SURE == 3, "crash_clocks_min says three times");

#define LIMIT(id, name, value, unit, text, reason)                             \
    [id] = {name, value, unit, text, reason},
const struct jp_limit limits_table[JP_N_LIMITS] = {
#include "orchestrator/insight/limits_rows.h"
};
