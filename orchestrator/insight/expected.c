/* expected.c - derive from job, nodes and communicators what should be there.
 */
#include "orchestrator/insight/expected.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/num.h"
#include "common/profiler.h"
#include "orchestrator/insight/pools.h"

/* Ranges of missing ranks named before "..." */
#define RANGES_NAMED 6

uint32_t expected_tasks(const struct jp_jobconf *conf,
                        const struct jp_nodes *nodes)
{
    if (nodes && nodes->step_tasks)
        return nodes->step_tasks;
    return conf ? conf->ntasks : 0;
}

uint32_t expected_nodes(const struct jp_jobconf *conf,
                        const struct jp_nodes *nodes)
{
    if (nodes && nodes->step_nodes)
        return nodes->step_nodes;
    return conf ? conf->nnodes : 0;
}

const struct jp_comm *expected_largest_comm(const struct jp_result *result)
{
    const struct jp_comm *largest = NULL;

    for (size_t i = 0; result && i < result->n_comms; i++)
        if (!largest || result->comms[i].n_ranks > largest->n_ranks)
            largest = &result->comms[i];
    return largest;
}

uint32_t expected_ranks(const struct jp_jobconf *conf,
                        const struct jp_nodes *nodes,
                        const struct jp_result *result)
{
    if (result && result->quality.ranks_expected)
        return result->quality.ranks_expected;
    return expected_tasks(conf, nodes);
}

/* A setting that stands for a variable that the user set himself. */
static bool is_own(const struct jp_setting *setting)
{
    return setting->source && !strcmp(setting->source, "environment") &&
           !strncmp(setting->key, "NCCL_", 5);
}

/* Is it what jobprof would have set, too? */
static bool is_planned(const struct jp_jobconf *conf,
                       const struct jp_setting *setting)
{
    for (size_t i = 0; i < conf->n_env; i++)
        if (!strcmp(conf->env[i].name, setting->key))
            return !strcmp(conf->env[i].value, setting->value);
    return false;
}

const struct jp_setting *expected_own_variable(const struct jp_jobconf *conf,
                                               size_t i)
{
    for (size_t k = 0; conf && k < conf->n_settings; k++)
        if (is_own(&conf->settings[k]) &&
            !is_planned(conf, &conf->settings[k]) && i-- == 0)
            return &conf->settings[k];
    return NULL;
}

const char *expected_own_plugin(const struct jp_jobconf *conf)
{
    const struct jp_setting *own;

    for (size_t i = 0; (own = expected_own_variable(conf, i)); i++)
        if (!strcmp(own->key, "NCCL_PROFILER_PLUGIN"))
            return own->value;
    return NULL;
}

bool expected_may_filter(const struct jp_jobconf *conf)
{
    const char *min_size = conf ? jobconf_find(conf, "min_size") : NULL;

    if (!conf || !conf->nccl_mode || expected_own_plugin(conf))
        return true;
    if (profiler_get(conf->nccl_mode)->counts)
        return false;
    for (size_t i = 0; i < conf->n_settings; i++)
        if (is_own(&conf->settings[i]) &&
            strstr(conf->settings[i].key, "MIN_SIZE"))
            return true;
    return !min_size || expected_filter(conf);
}

/* Are the counters of whole nodes missing? */
static bool lacks_nodes(const struct jp_nodes *nodes)
{
    return nodes && (nodes->n_missing || nodes->n_nodes < nodes->step_nodes);
}

/* Did the user say it of this step? Files speak of jobs in general. */
static bool is_told(const struct jp_jobconf *conf, const char *key)
{
    for (size_t i = 0; i < conf->n_settings; i++) {
        const struct jp_setting *s = &conf->settings[i];

        if (!strcmp(s->key, key))
            return s->source && (!strcmp(s->source, "option") ||
                                 !strcmp(s->source, "environment"));
    }
    return false;
}

/* A task that failed, or still runs, has not done all of its operations. */
static bool has_ended_well(const struct jp_nodes *nodes)
{
    for (size_t i = 0; nodes && i < nodes->n_nodes; i++)
        if (!nodes->nodes[i].finished)
            return false;
    return nodes && !nodes->tasks_failed;
}

/* Did the plan know how many operations there are, and that the last are not
 * written? */
static bool knows_tail(const struct jp_jobconf *conf,
                       const struct jp_nodes *nodes)
{
    return pools_lost_tail(conf) && conf->kept_ops < conf->planned_ops &&
           is_told(conf, "iterations") && is_told(conf, "colls") &&
           !expected_may_filter(conf) && has_ended_well(nodes);
}

struct jp_expected expected_records(const struct jp_jobconf *conf,
                                    const struct jp_nodes *nodes,
                                    const struct jp_result *result)
{
    const struct jp_quality *q = result ? &result->quality : NULL;
    struct jp_expected x = {.coverage = -1, .judged = -1};
    uint64_t unseen, excused, planned, numbered;

    if (!q || q->expected_kind == JP_EXPECT_NONE || q->expected == 0 ||
        (q->expected_kind == JP_EXPECT_COUNTED && lacks_nodes(nodes)))
        return x;
    x.kind = q->expected_kind;
    x.records = q->expected;
    if (q->records > q->expected)
        return x;
    unseen = x.kind == JP_EXPECT_BOUND ? q->unseen_records : 0;
    /* they are among the expected only if some rank lacks what another has */
    x.excludes_unseen = unseen && q->records == q->expected;
    if (x.excludes_unseen && !expected_may_filter(conf)) {
        x.records = x.records > UINT64_MAX - unseen ? UINT64_MAX
                                                    : x.records + unseen;
        x.excludes_unseen = false;
    }
    planned = num_mul(conf ? conf->planned_ops : 0,
                      expected_ranks(conf, nodes, result));
    numbered = x.records;
    if (x.kind == JP_EXPECT_BOUND && planned > x.records) {
        bool overran = pools_overran(conf, q);

        x.tail = !overran && knows_tail(conf, nodes);
        if (overran || x.tail) {
            x.kind = JP_EXPECT_PLANNED;
            x.records = planned;
            x.excludes_unseen = false;
        }
    }
    x.coverage = (double) q->records / (double) x.records;
    if (x.tail) {
        x.judged = (double) q->records / (double) numbered;
        return x;
    }
    x.judged = x.coverage;
    excused = !x.excludes_unseen && expected_may_filter(conf) &&
                      expected_filter(conf)
                  ? unseen
                  : 0;
    if (excused <= UINT64_MAX - q->capped)
        excused += q->capped;
    if (x.records > excused && x.records - excused >= q->records)
        x.judged = (double) q->records / (double) (x.records - excused);
    return x;
}

/* Adds "from-to" to the list in buf, at most RANGES_NAMED times. */
static void add_range(char *buf, size_t size, unsigned *n, uint32_t from,
                      uint32_t to)
{
    size_t len = strlen(buf);

    if (++*n > RANGES_NAMED + 1)
        return;
    if (*n == RANGES_NAMED + 1)
        snprintf(buf + len, size - len, ", ...");
    else if (from == to)
        snprintf(buf + len, size - len, "%s%" PRIu32, *n > 1 ? ", " : "", from);
    else
        snprintf(buf + len, size - len, "%s%" PRIu32 "-%" PRIu32,
                 *n > 1 ? ", " : "", from, to);
}

uint32_t expected_missing_ranks(const struct jp_result *result,
                                const struct jp_comm *comm, char *buf,
                                size_t size)
{
    size_t at = (size_t) (comm - result->comms);
    uint32_t next = 0, missing = 0; /* next: the lowest rank not judged yet */
    unsigned n = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < result->n_ranks; i++) {
        const struct jp_rank *rank = &result->ranks[i];

        if (rank->comm != at || rank->rank < next ||
            rank->rank >= comm->n_ranks ||
            (rank->records == 0 && rank->p2p_records == 0))
            continue;
        if (rank->rank > next) {
            add_range(buf, size, &n, next, rank->rank - 1);
            missing += rank->rank - next;
        }
        next = rank->rank + 1;
    }
    if (next < comm->n_ranks) {
        add_range(buf, size, &n, next, comm->n_ranks - 1);
        missing += comm->n_ranks - next;
    }
    return missing;
}

static bool is_size_filter(const struct jp_setting *setting)
{
    return !strcmp(setting->key, "min_size") && strcmp(setting->value, "0") &&
           strcmp(setting->value, "0 B");
}

static bool is_obeyed(const struct jp_jobconf *conf)
{
    return conf && !profiler_get(conf->nccl_mode)->counts;
}

bool expected_is_filter(const struct jp_jobconf *conf,
                        const struct jp_setting *setting)
{
    return is_obeyed(conf) &&
           (is_size_filter(setting) ||
            (!strcmp(setting->key, "p2p") && !strcmp(setting->value, "off")));
}

const struct jp_setting *expected_filter(const struct jp_jobconf *conf)
{
    for (size_t i = 0; is_obeyed(conf) && i < conf->n_settings; i++)
        if (is_size_filter(&conf->settings[i]))
            return &conf->settings[i];
    return NULL;
}
