/* limits.c - the table of limits. */
#include "orchestrator/insight/limits.h"

const struct jp_limit limits_table[JP_N_LIMITS] = {
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
