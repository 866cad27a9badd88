/* report_limits.c - limits of what a report shows, which decide no verdict. */
#include "orchestrator/report/sections.h"

const struct jp_limit report_limits[REPORT_LIMITS + 1] = {
    [REPORT_LIMIT_SURE_HIGH] =
        {"sure_high_max", 0.25, JP_LIMIT_IS_NUMBER,
         "The page's confidence in a finding is high where the 95 % interval "
         "of its share is narrower than {} times the share",
         "an eighth to each side: the finding is the same at both ends"},
    [REPORT_LIMIT_SURE_MEDIUM] =
        {"sure_medium_max", 0.75, JP_LIMIT_IS_NUMBER,
         "... medium where it is narrower than {} times the share, and low "
         "elsewhere",
         "at the lower end more than half of the share is left: the place is "
         "known, its cost is not"},
    [REPORT_LIMIT_OVERHEAD] =
        {"overhead_share_from", 10e6, JP_LIMIT_IS_US,
         "The recorder's cost is given as a share of the processes' time if "
         "their runs take at least {} on average",
         "most of the cost is paid once, at the start and the end; its share "
         "of a shorter run says nothing about a longer one"},
};
