/* ceiling.h - what a job.conf may ask of a process that outlives the step.
 *
 * job.conf lies in the user's directory, and the job may write it. Its limits
 * and times count up to these ceilings only; what the site file (root's) sets
 * higher is the ceiling then.
 */
#ifndef JP_COMMON_CEILING_H
#define JP_COMMON_CEILING_H

#include <stddef.h>
#include <stdint.h>

#include "common/jobconf.h"

struct ceiling {
    const char *key; /* of job.conf's group "policy" */
    size_t offset;   /* in struct jp_policy */
    uint32_t min, max;
    const char *reason; /* half a sentence */
};

/* One row a member of struct jp_policy. */
extern const struct ceiling ceilings[];
extern const size_t n_ceilings;

/* Of the KillWait that job.conf names. Sites that set more do not get the
 * watcher's report of a step with Copper. */
#define CEILING_KILL_WAIT_S 300

/* The policy of the site file, the defaults where there is none or it cannot be
 * read. config: its path, or NULL for the installed one. */
void ceiling_site(const char *config, struct jp_policy *site);

/* Moves what lies outside of the table's range, or above site's value where
 * that is higher, into it. site may be NULL. Returns how many were moved. */
unsigned ceiling_apply(struct jp_policy *policy, const struct jp_policy *site);

#endif
