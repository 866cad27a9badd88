/* confine.h - limits that the kernel enforces on processes that may outlive a
 * job.
 *
 * finish and the watcher run outside the job's cgroups; begin and Copper's
 * keeper run beside the tasks or srun. Each of them must end, whatever job.conf
 * says and whatever signals other processes of the user send. CPU time and
 * address space are limited by rlimits. A kernel timer sends SIGKILL, which
 * also ends a stopped process.
 */
#ifndef JP_AGENT_CONFINE_H
#define JP_AGENT_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/jobconf.h"

enum confine_role {
    CONFINE_BEGIN,
    CONFINE_AGENT,
    CONFINE_FINISH,
    CONFINE_KEEPER,
    CONFINE_REPORT, /* run by srun */
    CONFINE_WATCHER
};

struct confine_row {
    const char *name;
    uint64_t as_bytes; /* RLIMIT_AS; not set under a sanitizer */
    uint32_t cpu_s;    /* RLIMIT_CPU, plus that of a report */
    uint32_t life_s;   /* seconds until SIGKILL, plus those of a report; 0: no
                        * timer */
    const char *reason;
};

/* One row per role. */
extern const struct confine_row confine_rows[];
extern const size_t n_confine_rows;

/* The longest time in seconds that a watcher with this policy may run. copper:
 * true adds KillWait, in which Copper's daemons may write their files. */
uint32_t confine_life_s(const struct jp_policy *policy, bool copper);

/* Limits this process by the row of its role. policy: for roles that make
 * reports, already clamped to the ceilings; otherwise NULL. Returns -1 if a
 * limit could not be set; the other limits are in effect. */
int confine_self(enum confine_role role, const struct jp_policy *policy,
                 struct jp_error *err);

/* Sends SIGKILL to this process after ms milliseconds. Children do not inherit
 * the timer, and exec removes it. */
int confine_timer(uint64_t ms, struct jp_error *err);

#endif
