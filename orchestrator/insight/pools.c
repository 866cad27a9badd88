/* pools.c - tell from counts and gaps that pools were too small. */
#include "orchestrator/insight/pools.h"

#include <inttypes.h>
#include <string.h>

#include "common/figure.h"
#include "common/num.h"
#include "common/profiler.h"

/* Defaults of 2.29 and later, 2.23 to 2.27, 2.28; 0: no such pool then. */
static const struct {
    const char *env;
    uint64_t defaults[3];
} pools[JP_TRACE_POOLS] = {
    [JP_TRACE_COLL] = {"NCCL_PROFILE_COLL_POOL_SIZE", {8, 16, 256}},
    [JP_TRACE_P2P] = {"NCCL_PROFILE_P2P_POOL_SIZE", {8, 1024, 256}},
    [JP_TRACE_GROUP_API] = {"NCCL_PROFILE_GROUP_API_POOL_SIZE", {8, 0, 256}},
    [JP_TRACE_GROUP] = {"NCCL_PROFILE_GROUP_POOL_SIZE", {0, 16, 0}},
};

static bool keeps_last(const struct jp_jobconf *conf)
{
    return conf && profiler_get(conf->nccl_mode)->keeps_last;
}

const char *pools_planned_loss(const struct jp_jobconf *conf)
{
    return conf && conf->nccl_mode && !profiler_get(conf->nccl_mode)->counts &&
                   conf->lost && *conf->lost
               ? conf->lost
               : NULL;
}

const char *pools_lost_tail(const struct jp_jobconf *conf)
{
    return keeps_last(conf) ? NULL : pools_planned_loss(conf);
}

/* Slots of a pool as the launch set them; 0: it did not. */
static uint64_t planned_slots(const struct jp_jobconf *conf, const char *name)
{
    uint64_t slots = 0;

    for (size_t i = 0; conf && i < conf->n_env; i++)
        if (!strcmp(conf->env[i].name, name) &&
            num_parse_u64(conf->env[i].value, 0, UINT64_MAX, &slots, NULL) < 0)
            slots = 0;
    return slots;
}

/* Is `most` what pool i holds? */
static bool is_full(const struct jp_jobconf *conf, unsigned i, uint64_t most)
{
    uint64_t slots = planned_slots(conf, pools[i].env);

    if (!most || slots)
        return most && most >= slots;
    for (size_t k = 0; k < 3; k++)
        if (pools[i].defaults[k] == most)
            return true;
    return false;
}

bool pools_overran(const struct jp_jobconf *conf, const struct jp_quality *q)
{
    bool full = q->overflow_records > 0;

    if (!keeps_last(conf) || conf->kept_ops >= conf->planned_ops)
        return false;
    for (unsigned i = 0; i < JP_TRACE_POOLS; i++)
        full |= is_full(conf, i, q->trace_most[i]);
    return full;
}

static void check_counts(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_jobconf *conf = e->conf;

    /* pools that were made as large as the run are full at its end */
    if (keeps_last(conf) && conf->planned_ops &&
        conf->kept_ops >= conf->planned_ops)
        return;
    for (unsigned i = 0; i < JP_TRACE_POOLS; i++) {
        uint64_t most = e->result->quality.trace_most[i];

        if (!is_full(conf, i, most))
            continue;
        sentence_add(s,
                     "a trace holds as many events as a pool (%s=%" PRIu64
                     "): what was dropped besides is not known",
                     pools[i].env, most);
        return;
    }
}

void pools_check(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;
    unsigned before = s->clauses;

    if (q->overflow_records)
        sentence_add(s,
                     "%s record%s dropped by the example plugin's full pools "
                     "(NCCL_PROFILE_*_POOL_SIZE), by sequence numbers",
                     FIG_COUNT(q->overflow_records),
                     plural(q->overflow_records));
    if (q->traces)
        check_counts(e, s);
    if (s->clauses > before && keeps_last(e->conf) &&
        pools_planned_loss(e->conf))
        sentence_add(s, "the plan said: it %s", e->conf->lost);
}
