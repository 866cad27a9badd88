/* confine.h - bounds that the kernel holds for what may outlive a job.
 *
 * finish and the watcher run outside of the job's cgroups, begin and Copper's
 * keeper beside the tasks or srun. Whatever job.conf says, and whatever signals
 * the user's other processes send, such a process ends: CPU time and address
 * space are rlimits, and a timer of the kernel's sends SIGKILL, which also ends
 * a process that is stopped.
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
    CONFINE_REPORT, /* by srun */
    CONFINE_WATCHER
};

struct confine_row {
    const char *name;
    uint64_t as_bytes; /* RLIMIT_AS; none under a sanitizer */
    uint32_t cpu_s;    /* RLIMIT_CPU; a report's come on top */
    uint32_t life_s;   /* until SIGKILL; a report's come on top; 0: no timer */
    const char *reason;
};

/* One row a role. */
extern const struct confine_row confine_rows[];
extern const size_t n_confine_rows;

/* What a watcher with this policy may take at most, from its start on. copper:
 * Copper's daemons may have KillWait to write their files. */
uint32_t confine_life_s(const struct jp_policy *policy, bool copper);

/* Bounds this process by its role's row. policy: of a report's roles, already
 * within the ceilings; else NULL. -1: a bound could not be set; the others
 * are. */
int confine_self(enum confine_role role, const struct jp_policy *policy,
                 struct jp_error *err);

/* SIGKILL for this process after so many milliseconds; not inherited by what it
 * forks, and gone with exec. */
int confine_timer(uint64_t ms, struct jp_error *err);

#endif
