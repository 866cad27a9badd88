/* sitekeys.c - the table of a settings file's keys. */
#include "common/sitekeys.h"

#include <string.h>

#define SECOND 1000000ULL
#define MINUTE (60 * SECOND)
#define DAY (24 * 60 * MINUTE)

const char *const sitekeys_groups[4] = {"nccl", "copper", "policy", ""};

static const struct jp_knob default_nccl = {
    "default", JP_KNOB_WORD,
    0,         0,
    0,         "off|auto|inspector|example|recorder",
    "off",     "mode of steps that do not ask for one"};
static const struct jp_knob default_copper = {
    "default", JP_KNOB_WORD,
    0,         0,
    0,         "off|aggregate|top|full",
    "off",     "mode of steps that do not ask for one"};

/* What only the site says about NCCL profiles. */
static const struct jp_knob site_nccl[] = {
    {"default_partitions", JP_KNOB_LIST, 0, 0, 0, NULL, NULL,
     "partitions that the default is for"},
    {"default_accounts", JP_KNOB_LIST, 0, 0, 0, NULL, NULL,
     "accounts that the default is for"},
    {"default_gres", JP_KNOB_LIST, 0, 0, 0, NULL, NULL,
     "generic resources of which a job must have one"},
    {"default_min_time", JP_KNOB_TIME, SECOND, 366 * DAY, 0, NULL, NULL,
     "least time limit of a job that the default is for"},
    {"inspector_release", JP_KNOB_VERSION, 0, 0, 0, NULL, NULL,
     "NCCL release that Inspector's library is of"},
    {"example_release", JP_KNOB_VERSION, 0, 0, 0, NULL, NULL,
     "NCCL release that the example plugin's library is of"},
    {"node_huge_pages", JP_KNOB_WORD, 0, 0, 0, "0|1", NULL,
     "whether transparent huge pages are \"always\" on the nodes"},
    {"node_memory", JP_KNOB_SIZE, 64 << 20, 1ULL << 50, 0, NULL, NULL,
     "memory of the site's smallest node"},
    {"inspector", JP_KNOB_PATH, 0, 0, 0, NULL, NULL,
     "NVIDIA's libnccl-profiler-inspector.so"},
    {"example", JP_KNOB_PATH, 0, 0, 0, NULL, NULL,
     "NVIDIA's libnccl-profiler-example.so"},
    {"recorder", JP_KNOB_PATH, 0, 0, 0, NULL, NULL,
     "another libnccl-profiler-jobprof.so than the installed one"},
    {"known_bad", JP_KNOB_PATH, 0, 0, 0, NULL, NULL,
     "another nccl-known-bad.conf than the installed one"},
};

/* What only the site says about Copper. */
static const struct jp_knob site_copper[] = {
    {"cu_fuse", JP_KNOB_PATH, 0, 0, 0, NULL, NULL,
     "Copper's daemon; without it ROOT/build/cu_fuse"},
    {"address_book", JP_KNOB_PATH, 0, 0, 0, NULL, NULL,
     "the site's address book; without it the daemons find each other"},
    {"net_type", JP_KNOB_TEXT, 0, 0, 0, NULL, NULL, "-net_type of the daemons"},
    {"cores", JP_KNOB_LIST, 0, 0, 0, NULL, NULL,
     "CPUs of a node that its daemon runs on"},
    {"cache_size", JP_KNOB_SIZE, 1, 1ULL << 40, 0, NULL, NULL,
     "files of this size and above are not cached"},
    {"args", JP_KNOB_TEXT, 0, 0, 0, NULL, NULL,
     "further flags of the daemons, blanks between them"},
};

/* What only the site says about its nodes and links; at the top level. */
static const struct jp_knob site_nodes[] = {
    {"topology_file", JP_KNOB_PATH, 0, 0, 0, NULL, NULL,
     "a node's topology as hwloc XML; %N is the node's name"},
    {"nvml_library", JP_KNOB_PATH, 0, 0, 0, NULL, NULL,
     "another libnvidia-ml.so.1 than the system's"},
    {"peaks_file", JP_KNOB_PATH, 0, 0, 0, NULL, NULL,
     "what the links can do: peaks.conf"},
    {"baseline_file", JP_KNOB_PATH, 0, 0, 0, NULL, NULL,
     "what they did in earlier steps, by jobprof baseline"},
    {"container_binds", JP_KNOB_LIST, 0, 0, 0, NULL, NULL,
     "variables that tell container runtimes what to mount"},
    {"container_paths", JP_KNOB_MOUNTS, 0, 0, 0, NULL, NULL,
     "how the host's paths read inside containers"},
    {"container_steps", JP_KNOB_WORD, 0, 0, 0, "asked|all", "asked",
     "steps that container_paths is for"},
};

static const struct {
    struct jp_knob knob;
    size_t offset;
} policies[] = {
#define POLICY(key, kind, min, max, member, help)                              \
    {                                                                          \
        {key, kind, min, max, 0, NULL, NULL, help},                            \
            offsetof(struct jp_policy, member)                                 \
    }
    POLICY("finish_limit", JP_KNOB_TIME, SECOND / 10, 5 * SECOND,
           finish_limit_ms, "a node's finish, then it is killed"),
    POLICY("alldone_wait", JP_KNOB_TIME, 0, 10 * MINUTE, alldone_wait_ms,
           "the report waits for the nodes"),
    POLICY("report_limit", JP_KNOB_TIME, SECOND, 60 * MINUTE, report_limit_ms,
           "srun waits for the report"),
    POLICY("report_threads", JP_KNOB_COUNT, 0, 64, report_threads,
           "threads of a report; 0: one a CPU, at most 8"),
    POLICY("report_nice", JP_KNOB_COUNT, 0, 19, report_nice,
           "niceness of a report in srun"),
    POLICY("claim_stale", JP_KNOB_TIME, 3 * SECOND, 10 * MINUTE, claim_stale_ms,
           "a report without a heartbeat is given up"),
    POLICY("watcher_delay", JP_KNOB_TIME, SECOND, 10 * MINUTE, watcher_delay_ms,
           "the watcher waits for srun's report"),
    POLICY("watcher_life", JP_KNOB_TIME, SECOND, 60 * MINUTE, watcher_life_ms,
           "the watcher ends after"),
#undef POLICY
};

#define N(array) (sizeof(array) / sizeof(*(array)))

static void add_knobs(const struct jp_grammar *grammar, struct sitekey *keys,
                      size_t *n)
{
    for (size_t i = 0; i < grammar->n_knobs; i++) {
        const struct jp_knob *knob = &grammar->knobs[i];
        bool nccl = grammar == &jp_grammar_nccl;
        struct sitekey key = {grammar->group, knob->name, knob, false,
                              SITEKEY_NO_POLICY};

        if (nccl && !strcmp(knob->name, "mode"))
            continue; /* it belongs to plan, which no file asks for */
        if (nccl &&
            (!strcmp(knob->name, "dir") || !strcmp(knob->name, "summary")))
            key.group = "";
        if (nccl && !strcmp(knob->name, "nccl"))
            key.key = "version";
        keys[(*n)++] = key;
    }
}

size_t sitekeys_all(struct sitekey keys[SITEKEYS_MAX])
{
    size_t n = 0;

    keys[n++] = (struct sitekey){"nccl", "default", &default_nccl, false,
                                 SITEKEY_NO_POLICY};
    add_knobs(&jp_grammar_nccl, keys, &n);
    for (size_t i = 0; i < N(site_nccl); i++)
        keys[n++] = (struct sitekey){"nccl", site_nccl[i].name, &site_nccl[i],
                                     true, SITEKEY_NO_POLICY};
    for (size_t i = 0; i < N(site_nodes); i++)
        keys[n++] = (struct sitekey){"", site_nodes[i].name, &site_nodes[i],
                                     true, SITEKEY_NO_POLICY};
    keys[n++] = (struct sitekey){"copper", "default", &default_copper, false,
                                 SITEKEY_NO_POLICY};
    add_knobs(&jp_grammar_copper, keys, &n);
    for (size_t i = 0; i < N(site_copper); i++)
        keys[n++] = (struct sitekey){"copper", site_copper[i].name,
                                     &site_copper[i], true, SITEKEY_NO_POLICY};
    for (size_t i = 0; i < N(policies); i++)
        keys[n++] = (struct sitekey){"policy", policies[i].knob.name,
                                     &policies[i].knob, true,
                                     policies[i].offset};
    return n;
}
