/* activation.c - decide whether a site's default applies to this job.
 *
 * Facts of the job come from Slurm's variables. The controller is asked only if
 * the variables leave a condition open, because a query delays srun.
 */
#include "common/plan.h"

#include <stdio.h>
#include <string.h>

#include "common/num.h"

#define N(array) (sizeof(array) / sizeof(*(array)))
#define SECOND 1000000ULL

/* Variables that show that the job has a GPU. In the first, "0" is the index of
 * a GPU; in the others, it means none. */
static const char *const gpu_variables[] = {"SLURM_JOB_GPUS", "SLURM_GPUS",
                                            "SLURM_GPUS_ON_NODE",
                                            "SLURM_GPUS_PER_NODE"};

/* Copies a variable; one that is not set or too long leaves buf unchanged. */
static void copy_env(const struct activation_input *in, const char *name,
                     char *buf, size_t len)
{
    const char *value = in->env(in->env_arg, name);

    if (value && strlen(value) < len)
        memcpy(buf, value, strlen(value) + 1);
}

/* A variable with a time in seconds since 1970; 0: not set or malformed. */
static uint64_t env_seconds(const struct activation_input *in, const char *name)
{
    uint64_t v = 0;

    num_parse_u64(in->env(in->env_arg, name), 1, INT64_MAX / SECOND, &v, NULL);
    return v;
}

/* Fills the facts that Slurm's variables contain. */
static void facts_of_env(const struct activation_input *in,
                         struct jp_jobfacts *facts)
{
    uint64_t start = env_seconds(in, "SLURM_JOB_START_TIME");
    uint64_t end = env_seconds(in, "SLURM_JOB_END_TIME");

    copy_env(in, "SLURM_JOB_PARTITION", facts->partition,
             sizeof(facts->partition));
    copy_env(in, "SLURM_JOB_ACCOUNT", facts->account, sizeof(facts->account));
    /* The job's time limit is the difference of its planned times. */
    if (start && end > start)
        facts->time_limit_us = (end - start) * SECOND;
    for (size_t i = 0; i < N(gpu_variables); i++) {
        const char *value = in->env(in->env_arg, gpu_variables[i]);

        if (value && (i == 0 || strcmp(value, "0") != 0))
            snprintf(facts->gres, sizeof(facts->gres), "gpu");
    }
}

/* Appends a condition that holds to the reason: "default for WHAT VALUE", then
 * " and WHAT VALUE". */
static void say_misfit(char *reason, size_t len, const char *what,
                       const char *value)
{
    size_t used = strlen(reason);

    snprintf(reason + used, len - used, "%s%s %s",
             used ? " and " : "default for ", what, value);
}

/* The site's value of a key, or NULL. */
static const char *text_of(const struct jp_sitefile *site, const char *name)
{
    const struct sitefile_value *value = sitefile_find(site, name);

    return value ? value->value : NULL;
}

/* Copies the first of names that is in list to buf. False: there is none. */
static bool common_name(const char *list, const char *names, char *buf,
                        size_t len)
{
    while (*names) {
        size_t n = strcspn(names, ",");

        snprintf(buf, len, "%.*s", (int) n, names);
        if (n && knob_list_has(list, buf))
            return true;
        names += n + (names[n] == ',');
    }
    return false;
}

/* Whether the condition `key` holds: it is not set, or its list has one of
 * names. Appends it to the reason. */
static bool list_holds(const struct jp_sitefile *site, const char *key,
                       const char *what, const char *names, char *reason,
                       size_t len)
{
    const char *list = text_of(site, key);
    char one[256];

    if (!list)
        return true;
    if (!common_name(list, names, one, sizeof(one)))
        return false;
    say_misfit(reason, len, what, one);
    return true;
}

/* Whether the job's time limit is at least the site's minimum. */
static bool time_holds(const struct jp_sitefile *site, uint64_t limit_us,
                       char *reason, size_t len)
{
    const char *text = text_of(site, "nccl.default_min_time");
    char buf[32];
    uint64_t least;

    if (!text)
        return true;
    if (num_parse_time_us(text, 0, UINT64_MAX, &least, NULL) < 0 ||
        limit_us < least)
        return false;
    say_misfit(reason, len, "time limits from",
               num_format_time_us(least, buf, sizeof(buf)));
    return true;
}

/* Whether a known fact already contradicts a condition. Then the controller
 * need not be asked. */
static bool cannot_hold(const struct jp_sitefile *site,
                        const struct jp_jobfacts *facts)
{
    char unused[512] = "";

    return (*facts->partition &&
            !list_holds(site, "nccl.default_partitions", "", facts->partition,
                        unused, sizeof(unused))) ||
           (*facts->account &&
            !list_holds(site, "nccl.default_accounts", "", facts->account,
                        unused, sizeof(unused))) ||
           (facts->time_limit_us &&
            !time_holds(site, facts->time_limit_us, unused, sizeof(unused)));
}

/* Whether all conditions hold; an unknown fact does not meet a condition. */
static bool all_hold(const struct jp_sitefile *site,
                     const struct jp_jobfacts *facts, char *reason, size_t len)
{
    reason[0] = '\0';
    return list_holds(site, "nccl.default_partitions", "partition",
                      facts->partition, reason, len) &&
           list_holds(site, "nccl.default_accounts", "account", facts->account,
                      reason, len) &&
           list_holds(site, "nccl.default_gres", "gres", facts->gres, reason,
                      len) &&
           time_holds(site, facts->time_limit_us, reason, len);
}

/* Whether the condition is set and its fact unknown. */
static bool is_open(const struct jp_sitefile *site, const char *key, bool known)
{
    return !known && text_of(site, key);
}

/* Whether a condition needs a fact that is still unknown. A GPU in the
 * environment does not show which other resources the job has. */
static bool must_ask(const struct jp_sitefile *site,
                     const struct jp_jobfacts *facts)
{
    const char *gres = text_of(site, "nccl.default_gres");

    return is_open(site, "nccl.default_partitions", *facts->partition) ||
           is_open(site, "nccl.default_accounts", *facts->account) ||
           is_open(site, "nccl.default_min_time", facts->time_limit_us != 0) ||
           (gres && !(*facts->gres && knob_list_has(gres, facts->gres)));
}

bool activation_is_bound(const struct jp_sitefile *site)
{
    return text_of(site, "nccl.default_partitions") ||
           text_of(site, "nccl.default_accounts") ||
           text_of(site, "nccl.default_gres") ||
           text_of(site, "nccl.default_min_time");
}

bool activation_holds(const struct activation_input *in, char *reason,
                      size_t len)
{
    struct jp_jobfacts facts = {0};

    facts_of_env(in, &facts);
    /* From the cheapest test to the query. */
    if (cannot_hold(in->site, &facts))
        return false;
    if (in->ask && must_ask(in->site, &facts))
        in->ask(in->ask_arg, &facts);
    return all_hold(in->site, &facts, reason, len);
}
