/* limits.c - the table of limits. */
#include "orchestrator/insight/limits.h"

#include "orchestrator/aggregate/aggregate.h"

const struct jp_limit limits_table[JP_N_LIMITS] = {
    [JP_LIMIT_HANG] =
        {
            .name = "hang_min",
            .value = JP_HANG_US,
            .is_time = true,
            .text = "HANG where an operation was in flight at the end, and for "
                    "no less",
            .reason = "operations take milliseconds, and seconds where a rank "
                      "loads data or writes a checkpoint; watchdogs end a hang "
                      "after minutes, so that none is missed",
        },
    [JP_LIMIT_COVERAGE] =
        {
            .name = "coverage_min",
            .value = 0.99,
            .text =
                "INCOMPLETE where fewer of the expected records are present",
            .reason = "one record in a hundred moves neither a median nor a "
                      "rank's share of late arrivals by more than a hundredth",
        },
    [JP_LIMIT_BAD_LINES] =
        {
            .name = "bad_lines_max",
            .value = 0.01,
            .text = "INCOMPLETE where more of the lines could not be read",
            .reason = "a line that cannot be read is a record of unknown rank "
                      "and size, so it is judged as strictly as a lost one",
        },
};
