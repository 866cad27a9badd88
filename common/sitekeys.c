/* sitekeys.c - the table of a settings file's keys. */
#include "common/sitekeys.h"

#include <string.h>

#define MINUTE (60 * JP_SECOND)
#define DAY (24 * 60 * MINUTE)

const char *const sitekeys_groups[5] = {"nccl", "copper", "util", "policy", ""};

/* What only the site says about NCCL profiles, whichever profiler makes them.
 */
static const struct jp_knob site_nccl[] = {
    {JP_KNOB("default_partitions", JP_KNOB_LIST, 0, 0, NULL, NULL,
             "partitions that the default is for")},
    {JP_KNOB("default_accounts", JP_KNOB_LIST, 0, 0, NULL, NULL,
             "accounts that the default is for")},
    {JP_KNOB("default_gres", JP_KNOB_LIST, 0, 0, NULL, NULL,
             "generic resources of which a job must have one")},
    {JP_KNOB("default_min_time", JP_KNOB_TIME, JP_SECOND, 366 * DAY, NULL, NULL,
             "least time limit of a job that the default is for")},
    {JP_KNOB("node_huge_pages", JP_KNOB_WORD, 0, 0, "0|1", NULL,
             "whether transparent huge pages are \"always\" on the nodes")},
    {JP_KNOB("node_memory", JP_KNOB_SIZE, 64 << 20, 1ULL << 50, NULL, NULL,
             "memory of the site's smallest node")},
    {JP_KNOB("known_bad", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "another nccl-known-bad.conf than the installed one")},
    {0}};

/* What only the site says about its nodes and links; at the top level. */
static const struct jp_knob site_nodes[] = {
    {JP_KNOB("topology_file", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "a node's topology as hwloc XML; %N is the node's name")},
    {JP_KNOB("nvml_library", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "another libnvidia-ml.so.1 than the system's")},
    {JP_KNOB("peaks_file", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "what the links can do: peaks.conf")},
    {JP_KNOB("baseline_file", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "what they did in earlier steps, by jobprof baseline")},
    {JP_KNOB("inspector_folder", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "a job's Inspector logs made without jobprof; %j is the job")},
    {JP_KNOB("container_binds", JP_KNOB_LIST, 0, 0, NULL, NULL,
             "variables that tell container runtimes what to mount")},
    {JP_KNOB("container_paths", JP_KNOB_MOUNTS, 0, 0, NULL, NULL,
             "how the host's paths read inside containers")},
    {JP_KNOB("container_steps", JP_KNOB_WORD, 0, 0, "asked|all", "asked",
             "steps that container_paths is for")},
    {0}};

static const struct {
    struct jp_knob knob;
    size_t offset;
} policies[] = {
#define POLICY(key, kind, min, max, member, help)                              \
    {                                                                          \
        {JP_KNOB(key, kind, min, max, NULL, NULL, help)},                      \
            offsetof(struct jp_policy, member)                                 \
    }
    POLICY("finish_limit", JP_KNOB_TIME, JP_SECOND / 10, 5 * JP_SECOND,
           finish_limit_ms, "a node's finish, then it is killed"),
    POLICY("alldone_wait", JP_KNOB_TIME, 0, 10 * MINUTE, alldone_wait_ms,
           "the report waits for the nodes"),
    POLICY("report_limit", JP_KNOB_TIME, JP_SECOND, 60 * MINUTE,
           report_limit_ms, "srun waits for the report"),
    POLICY("report_threads", JP_KNOB_COUNT, 0, 64, report_threads,
           "threads of a report; 0: one a CPU, at most 8"),
    POLICY("report_nice", JP_KNOB_COUNT, 0, 19, report_nice,
           "niceness of a report in srun"),
    POLICY("claim_stale", JP_KNOB_TIME, 3 * JP_SECOND, 10 * MINUTE,
           claim_stale_ms, "a report without a heartbeat is given up"),
    POLICY("watcher_delay", JP_KNOB_TIME, JP_SECOND, 10 * MINUTE,
           watcher_delay_ms, "the watcher waits for srun's report"),
    POLICY("watcher_life", JP_KNOB_TIME, JP_SECOND, 60 * MINUTE,
           watcher_life_ms, "the watcher ends after"),
    POLICY("util_disk", JP_KNOB_COUNT, 1, 4096, util_disk_mib,
           "MiB a node that samples of utilisation may take"),
#undef POLICY
};

#define N(array) (sizeof(array) / sizeof(*(array)))

static void add_key(struct sitekey *keys, size_t *n, const char *group,
                    const struct jp_knob *knob, bool site_only)
{
    if (*n < SITEKEYS_MAX)
        keys[(*n)++] = (struct sitekey){group, knob->name, knob, site_only,
                                        SITEKEY_NO_POLICY};
}

static void add_knobs(const struct jp_grammar *grammar, struct sitekey *keys,
                      size_t *n)
{
    bool nccl = grammar->id == OPTION_NCCL;

    for (size_t i = 0; i < grammar->n_knobs && *n < SITEKEYS_MAX; i++) {
        const struct jp_knob *knob = &grammar->knobs[i];
        struct sitekey key = {grammar->group, knob->name, knob, false,
                              SITEKEY_NO_POLICY};

        if (nccl && !strcmp(knob->name, "mode"))
            continue; /* it belongs to plan, which no file asks for */
        if (nccl &&
            (!strcmp(knob->name, "dir") || !strcmp(knob->name, "summary")))
            key.group = "";
        if (nccl && !strcmp(knob->name, "nccl"))
            key.key = "version";
        if (grammar->id == OPTION_UTIL && !strcmp(knob->name, "period")) {
            key.group = "policy";
            key.key = "util_period";
            key.policy_offset = offsetof(struct jp_policy, util_period_ms);
        }
        keys[(*n)++] = key;
    }
}

/* Rows that {0} ends; of nobody but the site. */
static void add_site(const char *group, const struct jp_knob *rows,
                     struct sitekey *keys, size_t *n)
{
    for (; rows && rows->name; rows++)
        add_key(keys, n, group, rows, true);
}

static void add_option(const struct jp_grammar *grammar, struct sitekey *keys,
                       size_t *n)
{
    add_key(keys, n, grammar->group, &grammar->by_default, false);
    add_knobs(grammar, keys, n);
    if (grammar->id == OPTION_NCCL)
        add_site(grammar->group, site_nccl, keys, n);
    for (size_t i = 0; profiler_registry[i]; i++)
        if (profiler_registry[i]->option == grammar->id)
            add_site(grammar->group, profiler_registry[i]->site_keys, keys, n);
}

size_t sitekeys_all(struct sitekey keys[SITEKEYS_MAX])
{
    size_t n = 0;

    for (enum jp_option i = 0; i < OPTIONS; i++)
        add_option(grammar_of(i), keys, &n);
    add_site("", site_nodes, keys, &n);
    for (size_t i = 0; i < N(policies) && n < SITEKEYS_MAX; i++) {
        add_key(keys, &n, "policy", &policies[i].knob, true);
        keys[n - 1].policy_offset = policies[i].offset;
    }
    return n;
}
