/* confine.c - limits that the kernel enforces on processes that may outlive a
 * job. The table confine_rows has all limits with their reasons; confine_self
 * applies one row. */
#include "orchestrator/agent/agent.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "common/defaults.h"
#include "common/jobconf.h"
#include "common/plan.h"
#include "common/policy.h"

/* --- ceilings of a job.conf ---------------------------------------------- */

void ceiling_site(const char *config, struct jp_policy *site)
{
    struct jp_sitefile none = {0}, file;

    if (plan_load_site(config, &file, NULL) < 0) {
        sitefile_policy(&none, site);
        return;
    }
    sitefile_policy(&file, site);
    sitefile_fini(&file);
}

unsigned ceiling_apply(struct jp_policy *policy, const struct jp_policy *site)
{
    struct jp_policy own = site ? *site : (struct jp_policy){0};
    const struct jp_policy_row *row;
    unsigned moved = 0;

    for (size_t i = 0; (row = policy_row(i)); i++) {
        uint32_t *value = policy_value(policy, row);
        uint32_t max = row->max, was = *value;

        /* Root may raise a ceiling, never the job. */
        if (*policy_value(&own, row) > max)
            max = *policy_value(&own, row);
        if (*value > max)
            *value = max;
        if (*value < row->min)
            *value = row->min;
        moved += *value != was;
    }
    return moved;
}

/* --- limits of a process ------------------------------------------------- */

#define GIB (1ULL << 30)
/* Seconds beyond the limits that a process enforces on itself: the kernel's
 * limit is for a process that is stuck or stopped. */
#define SPARE_S 30

/* Sanitizers reserve terabytes of address space for their shadow. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) ||     \
    __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

const struct confine_row confine_rows[] = {
    [CONFINE_BEGIN] = {"begin", 16 * GIB, 120, 150,
                       "hwloc and NVML map hundreds of MB; its own alarm comes "
                       "after 120 s"},
    [CONFINE_AGENT] = {"agent", 16 * GIB, 86400, 0,
                       "its child maps NVML; a month within its budget of "
                       "processor time is 4 hours"},
    [CONFINE_FINISH] = {"finish", 16 * GIB, 60, 15,
                        "threads of the partial reserve 128 MB each; the "
                        "module kills it after 6 s"},
    [CONFINE_KEEPER] = {"keeper", 1 * GIB, 3600, 0,
                        "two looks a second while a step of weeks runs"},
    [CONFINE_REPORT] = {"report", 64 * GIB, 60, 0,
                        "a step of thousands of ranks takes a few GB; the "
                        "module kills it in time"},
    [CONFINE_WATCHER] = {"watcher", 64 * GIB, 60, SPARE_S,
                         "as srun's report, but without a kill"},
};
const size_t n_confine_rows = sizeof(confine_rows) / sizeof(*confine_rows);

/* Milliseconds as seconds, rounded up. */
static uint32_t seconds_of_ms(uint64_t ms)
{
    return (uint32_t) ((ms + 999) / 1000);
}

uint32_t confine_life_s(const struct jp_policy *policy, bool has_runner)
{
    return seconds_of_ms((uint64_t) policy->watcher_life_ms +
                         policy->alldone_wait_ms + policy->report_limit_ms) +
           (has_runner ? CEILING_KILL_WAIT_S : 0) +
           confine_rows[CONFINE_WATCHER].life_s;
}

/* The longest CPU time in seconds of a report with this policy: all its threads
 * for the whole time limit, and the fixed part. */
static uint32_t report_cpu_s(const struct jp_policy *policy)
{
    uint32_t threads = policy->report_threads ? policy->report_threads
                                              : JP_REPORT_THREADS_MAX;

    return confine_rows[CONFINE_WATCHER].cpu_s +
           threads * seconds_of_ms(policy->report_limit_ms);
}

/* Sets a limit, but never raises the current one. soft: the limit of this
 * process. hard: the limit up to which a successor may raise it. -1: errno. */
static int lower_limit(int what, uint64_t soft, uint64_t hard)
{
    struct rlimit now;

    if (getrlimit(what, &now) < 0)
        return -1;
    if (now.rlim_max == RLIM_INFINITY || now.rlim_max > hard)
        now.rlim_max = hard;
    now.rlim_cur = soft < now.rlim_max ? soft : now.rlim_max;
    return setrlimit(what, &now);
}

int confine_timer(uint64_t ms, struct jp_error *err)
{
    struct sigevent kill = {.sigev_notify = SIGEV_SIGNAL,
                            .sigev_signo = SIGKILL};
    const struct itimerspec at = {
        .it_value = {(time_t) (ms / 1000), (long) (ms % 1000) * 1000000}};
    timer_t timer;

    /* CLOCK_BOOTTIME also counts the time for which a host sleeps, and cannot
     * be set. */
    if (timer_create(CLOCK_BOOTTIME, &kill, &timer) < 0 ||
        timer_settime(timer, 0, &at, NULL) < 0)
        return error_set(err, "no timer: %s", strerror(errno));
    return 0;
}

/* The hard limit of CPU time. finish starts the watcher, and begin becomes the
 * agent; both successors need more CPU time and inherit this limit. */
static uint64_t hard_cpu_s(enum confine_role role, uint64_t cpu_s)
{
    static const struct jp_policy most = {.report_limit_ms = 3600000,
                                          .report_threads = 64};

    if (role == CONFINE_BEGIN)
        return confine_rows[CONFINE_AGENT].cpu_s;
    return role == CONFINE_FINISH ? report_cpu_s(&most) : cpu_s;
}

/* The hard limit of address space; a watcher needs more than finish. */
static uint64_t hard_as(enum confine_role role)
{
    return confine_rows[role == CONFINE_FINISH ? CONFINE_WATCHER : role]
        .as_bytes;
}

/* All limits are tried: one that cannot be set does not prevent the others. */
int confine_self(enum confine_role role, const struct jp_policy *policy,
                 struct jp_error *err)
{
    const struct confine_row *row = &confine_rows[role];
    uint64_t cpu_s = policy ? report_cpu_s(policy) : row->cpu_s;
    uint64_t life_s = policy && row->life_s ? confine_life_s(policy, true)
                                            : row->life_s;
    int rc = 0;

    if (lower_limit(RLIMIT_CPU, cpu_s, hard_cpu_s(role, cpu_s)) < 0)
        rc = error_set(err, "no limit of CPU time: %s", strerror(errno));
    if (!IS_SANITIZED &&
        lower_limit(RLIMIT_AS, row->as_bytes, hard_as(role)) < 0)
        rc = error_set(err, "no limit of memory: %s", strerror(errno));
    if (life_s && confine_timer(life_s * 1000, err) < 0)
        rc = -1;
    return rc;
}
