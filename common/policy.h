/* policy.h - the rows of struct jp_policy: one description of each limit, for
 * job.conf, the settings files, and the processes that may not trust job.conf.
 *
 * The limits of a step are rows of policy.c; those of what an option runs are
 * rows of its profiler (policy of struct jp_profiler).
 */
#ifndef JP_COMMON_POLICY_H
#define JP_COMMON_POLICY_H

#include <stddef.h>
#include <stdint.h>

#include "common/jobconf.h"
#include "common/knob.h"

struct jp_policy_row {
    const char *key;     /* in job.conf's group "policy" */
    size_t at;           /* its uint32_t in struct jp_policy */
    uint32_t by_default; /* common/defaults.h has the reasons */
    /* The range that counts of a job.conf, which the job may change, unless
     * the site sets more. */
    uint32_t min, max;
    const char *reason; /* of max, a clause */
    /* Its key in a settings file, in the group "policy". Times are milliseconds
     * in the policy. Without a name: it is a knob of its option
     * (policy_knob). */
    struct jp_knob site;
};

/* The i-th row; NULL: there are no more. */
const struct jp_policy_row *policy_row(size_t i);

/* The value that a row describes. */
static inline uint32_t *policy_value(struct jp_policy *policy,
                                     const struct jp_policy_row *row)
{
    return (uint32_t *) ((char *) policy + row->at);
}

/* Sets all defaults. */
void policy_defaults(struct jp_policy *policy);

#endif
