/* expected.c - derive from job, nodes and communicators what should be there.
 */
#include "orchestrator/insight/expected.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

double expected_coverage(const struct jp_result *result)
{
    const struct jp_quality *q = result ? &result->quality : NULL;

    if (!q || q->expected_kind == JP_EXPECT_NONE || q->expected == 0 ||
        q->records > q->expected)
        return -1;
    return (double) q->records / (double) q->expected;
}

bool expected_may_filter(const struct jp_jobconf *conf)
{
    return !conf || !conf->nccl_mode || strcmp(conf->nccl_mode, "recorder") ||
           expected_filter(conf);
}

double expected_judged_coverage(const struct jp_jobconf *conf,
                                const struct jp_result *result)
{
    const struct jp_quality *q = result ? &result->quality : NULL;
    double coverage = expected_coverage(result), seen;

    if (coverage < 0 || q->expected_kind != JP_EXPECT_BOUND)
        return coverage;
    /* they are among the expected only if some rank lacks what another has */
    seen = (double) q->expected;
    if (q->records < q->expected)
        seen -= (double) q->unseen_records;
    if (seen < (double) q->records)
        return coverage;
    if (!expected_may_filter(conf))
        return (double) q->records / (seen + (double) q->unseen_records);
    return expected_filter(conf) ? (double) q->records / seen : coverage;
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

bool expected_is_filter(const struct jp_setting *setting)
{
    if (!strcmp(setting->key, "min_size"))
        return strcmp(setting->value, "0") && strcmp(setting->value, "0 B");
    return !strcmp(setting->key, "p2p") && !strcmp(setting->value, "off");
}

const struct jp_setting *expected_filter(const struct jp_jobconf *conf)
{
    for (size_t i = 0; conf && i < conf->n_settings; i++)
        if (expected_is_filter(&conf->settings[i]))
            return &conf->settings[i];
    return NULL;
}
