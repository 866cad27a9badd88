/* policy.c - limits and times of the protocol, a row each. */
#include "common/policy.h"

#include "common/defaults.h"
#include "common/profiler.h"

#define MINUTE (60 * JP_SECOND)

/* A row; key is also the member's name. least and most are those of the
 * settings file. */
#define ROW(key, number, min, max, reason, name, kind, least, most, help)      \
    {                                                                          \
#key, offsetof(struct jp_policy, key), number, min, max, reason,       \
        {                                                                      \
            JP_KNOB(name, kind, least, most, NULL, NULL, help)                 \
        }                                                                      \
    }

static const struct jp_policy_row rows[] = {
    ROW(finish_limit_ms, JP_DEF_FINISH_LIMIT_MS, 100, 5000,
        "the module kills finish after 6 s", "finish_limit", JP_KNOB_TIME,
        JP_SECOND / 10, 5 * JP_SECOND,
        "time limit of a node's finish, which is then killed"),
    ROW(alldone_wait_ms, JP_DEF_ALLDONE_WAIT_MS, 0, 60000,
        "four times the default", "alldone_wait", JP_KNOB_TIME, 0, 10 * MINUTE,
        "time that the report waits for the nodes"),
    ROW(report_limit_ms, JP_DEF_REPORT_LIMIT_MS, 0, 120000,
        "four times the default", "report_limit", JP_KNOB_TIME, JP_SECOND,
        60 * MINUTE, "time that srun waits for the report"),
    ROW(report_threads, JP_DEF_REPORT_THREADS, 0, JP_REPORT_THREADS_MAX,
        "what the default takes at most", "report_threads", JP_KNOB_COUNT, 0,
        64, "threads of a report; 0: one for each CPU, at most 8"),
    ROW(report_nice, JP_DEF_REPORT_NICE, 0, 19, "the kernel's range",
        "report_nice", JP_KNOB_COUNT, 0, 19, "niceness of a report in srun"),
    ROW(claim_stale_ms, JP_DEF_CLAIM_STALE_MS, 500, 120000,
        "the time a claim stays without its owner", "claim_stale", JP_KNOB_TIME,
        3 * JP_SECOND, 10 * MINUTE,
        "time without a heartbeat after which another process takes over a "
        "report"),
    ROW(watcher_delay_ms, JP_DEF_WATCHER_DELAY_MS, 100, 60000,
        "the watcher checks four times in it", "watcher_delay", JP_KNOB_TIME,
        JP_SECOND, 10 * MINUTE,
        "time that the watcher waits for srun's report"),
    ROW(watcher_life_ms, JP_DEF_WATCHER_LIFE_MS, 1000, 300000,
        "five times the default", "watcher_life", JP_KNOB_TIME, JP_SECOND,
        60 * MINUTE, "time limit of the watcher"),
    ROW(hang_suspect_ms, JP_DEF_HANG_SUSPECT_MS, 0, 3600000,
        "an hour is not the start of a hang", "hang_suspect", JP_KNOB_TIME, 0,
        60 * MINUTE,
        "time in flight after which an operation may hang; 0: no check for "
        "hangs"),
};
#undef ROW
enum { ROWS = sizeof(rows) / sizeof(*rows) };

const struct jp_policy_row *policy_row(size_t i)
{
    if (i < ROWS)
        return &rows[i];
    i -= ROWS;
    for (size_t k = 0; profiler_registry[k]; k++)
        for (const struct jp_policy_row *row = profiler_registry[k]->policy;
             row && row->key; row++)
            if (!i--)
                return row;
    return NULL;
}

void policy_defaults(struct jp_policy *policy)
{
    const struct jp_policy_row *row;

    /* The row of this number belongs to an option that a build may lack. */
    *policy = (struct jp_policy){.disk_mib = JP_DEF_AGENT_DISK_MIB};
    for (size_t i = 0; (row = policy_row(i)); i++)
        *policy_value(policy, row) = row->by_default;
}
