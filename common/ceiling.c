/* ceiling.c - hold a job.conf's limits against compiled-in ceilings. */
#include "common/ceiling.h"

#include "common/defaults.h"
#include "common/plan.h"

#define ROW(key, min, max, reason)                                             \
    {                                                                          \
#key, offsetof(struct jp_policy, key), min, max, reason                \
    }

const struct ceiling ceilings[] = {
    ROW(finish_limit_ms, 100, 5000, "the module kills finish after 6 s"),
    ROW(alldone_wait_ms, 0, 60000, "four times the default"),
    ROW(report_limit_ms, 0, 120000, "four times the default"),
    ROW(report_threads, 0, JP_REPORT_THREADS_MAX,
        "what the default takes at most"),
    ROW(report_nice, 0, 19, "the kernel's range"),
    ROW(claim_stale_ms, 500, 120000,
        "a claim lives on so long without its owner"),
    ROW(watcher_delay_ms, 100, 60000,
        "the watcher looks four times in this time"),
    ROW(watcher_life_ms, 1000, 300000, "five times the default"),
    ROW(util_period_ms, 0, 60000, "a report of slower samples says little"),
    ROW(util_disk_mib, 1, 4096, "64 times the default"),
};
const size_t n_ceilings = sizeof(ceilings) / sizeof(*ceilings);

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

static uint32_t value_of(const struct jp_policy *policy, size_t offset)
{
    return *(const uint32_t *) ((const char *) policy + offset);
}

unsigned ceiling_apply(struct jp_policy *policy, const struct jp_policy *site)
{
    unsigned moved = 0;

    for (size_t i = 0; i < n_ceilings; i++) {
        const struct ceiling *row = &ceilings[i];
        uint32_t *value = (uint32_t *) ((char *) policy + row->offset);
        uint32_t max = row->max, was = *value;

        if (site && value_of(site, row->offset) > max)
            max = value_of(site, row->offset);
        if (*value > max)
            *value = max;
        if (*value < row->min)
            *value = row->min;
        moved += *value != was;
    }
    return moved;
}
