/* stages.c - compare the stages of pipelines. */
#include "orchestrator/insight/stages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/stats.h"

/* Send and Recv of a rank: to and from each neighbour. */
enum { MAX_ROWS = 4 };

struct stages {
    const struct jp_result *r;
    const struct jp_processes *p;
    const struct jp_lateness *lateness;
    double *spent_us; /* [process] in communication */
    double *p2p_us;   /* [rank] of it, in Send and Recv */
    uint32_t *rows;   /* [rank] pairs that it recorded */
    uint64_t *fewest; /* [rank] messages of one of them */
    double run_us;
};

/* The stage that is slowest, of pipelines of so many stages. */
struct slowest {
    uint32_t stage, stages;
    size_t pipelines, comm; /* comm: the first of them */
    double us, error_us;    /* longer than the median of the others */
    double passes;          /* messages of a stage: passes of the pipeline */
    double peers_us;        /* their time in communication */
};

static void add_up(struct stages *s)
{
    for (size_t i = 0; i < s->r->n_p2p; i++) {
        const struct jp_p2p *x = &s->r->p2p[i];
        size_t rank = processes_rank(s->p, s->r, x->comm,
                                     strcmp(x->func, "Send") ? x->dst : x->src);

        if (rank == SIZE_MAX)
            continue;
        s->p2p_us[rank] += (double) x->exec_us;
        if (!s->rows[rank]++ || x->count < s->fewest[rank])
            s->fewest[rank] = x->count;
    }
    for (size_t i = 0; i < s->r->n_ranks; i++)
        s->spent_us[s->p->of_rank[i]] += (double) s->r->ranks[i].exec_us +
                                         (s->lateness[i].grouped_us > 0
                                              ? s->lateness[i].grouped_us
                                              : s->p2p_us[i]);
    s->run_us = s->r->ops ? (double) ops_run_us(s->r->ops) : 0;
    for (size_t i = 0; i < s->p->n; i++)
        s->run_us = fmax(s->run_us, s->spent_us[i]);
}

static bool is_pipeline(const struct stages *s, size_t c)
{
    size_t from = s->p->comm_start[c], to = s->p->comm_start[c + 1];

    if (to - from < 2 || to - from != s->r->comms[c].n_ranks)
        return false;
    for (size_t i = from; i < to; i++)
        if (!s->rows[i] || s->rows[i] > MAX_ROWS ||
            s->lateness[i].grouped_us > 0 || s->r->ranks[i].timed_ops)
            return false;
    return true;
}

static double spent(const struct stages *s, size_t rank)
{
    return s->spent_us[s->p->of_rank[rank]];
}

/* What a stage's rank communicates less than the median of the others. */
static double longer(const struct stages *s, size_t c, uint32_t stage,
                     double *peers_us)
{
    double others[64];
    size_t n = 0, from = s->p->comm_start[c];

    for (size_t i = from; i < s->p->comm_start[c + 1] && n < 64; i++)
        if (i != from + stage)
            others[n++] = spent(s, i);
    *peers_us = stats_median(others, n);
    return *peers_us - spent(s, from + stage);
}

/* One stage of all pipelines of that many. */
static void look(const struct stages *s, uint32_t stages, uint32_t stage,
                 struct slowest *best)
{
    struct slowest own = {.stage = stage, .stages = stages, .passes = INFINITY};
    double squares = 0;

    for (size_t c = 0; c < s->r->n_comms; c++) {
        double us, peers_us;

        if (s->r->comms[c].n_ranks != stages || !is_pipeline(s, c))
            continue;
        us = longer(s, c, stage, &peers_us);
        own.comm = own.pipelines ? own.comm : c;
        own.pipelines++;
        own.passes = fmin(own.passes, (double) s->fewest[s->p->comm_start[c]]);
        own.us += us;
        squares += us * us;
        own.peers_us += peers_us;
    }
    if (own.pipelines < limits_get(JP_LIMIT_STAGE_PIPELINES))
        return;
    own.us /= (double) own.pipelines;
    own.peers_us /= (double) own.pipelines;
    own.error_us =
        sqrt(fmax(squares / (double) own.pipelines - own.us * own.us, 0) /
             (double) (own.pipelines - 1));
    if (!best->pipelines || own.us > best->us)
        *best = own;
}

static struct slowest find_slowest(const struct stages *s)
{
    struct slowest best = {0};

    for (size_t c = 0; c < s->r->n_comms; c++) {
        uint32_t n = s->r->comms[c].n_ranks;
        bool seen = false;

        if (n > 64 || !is_pipeline(s, c))
            continue;
        for (size_t k = 0; k < c && !seen; k++)
            seen = s->r->comms[k].n_ranks == n && is_pipeline(s, k);
        for (uint32_t stage = 0; !seen && stage < n; stage++)
            look(s, n, stage, &best);
    }
    return best;
}

/* Who is late explains a stage that is slow with him. */
static bool is_explained(const struct jp_findings *findings)
{
    for (size_t i = 0; i < findings->n; i++)
        if (findings->at[i].kind == JP_FINDING_LATE_RANK ||
            findings->at[i].kind == JP_FINDING_LATE_NODE)
            return true;
    return false;
}

/* Ranks of the slow stage that were said to have more to do. */
static void drop_many(struct jp_findings *findings)
{
    size_t kept = 0;

    for (size_t i = 0; i < findings->n; i++)
        if (findings->at[i].kind != JP_FINDING_IMBALANCE ||
            findings->at[i].rank >= 0)
            findings->at[kept++] = findings->at[i];
    findings->n = kept;
}

static int tell(const struct slowest *x, struct jp_findings *findings)
{
    struct jp_finding *f;

    drop_many(findings);
    f = findings_add(findings, JP_FINDING_IMBALANCE);
    if (!f)
        return -1;
    f->comm = (int64_t) x->comm;
    f->share = fmin(x->us / x->peers_us, 1);
    f->cost_us = x->us * (double) (x->stages - 1) * (double) x->pipelines;
    snprintf(f->text, sizeof(f->text),
             "stage imbalance: the ranks of stage %u of %u compute longer than "
             "those of the others, by %s, in all %zu pipelines; cost %s of GPU "
             "time, %s of communication",
             x->stage + 1, x->stages, FIG_US(x->us), x->pipelines,
             FIG_US(f->cost_us), FIG_SHARE(f->share));
    snprintf(f->next, sizeof(f->next),
             "give that stage fewer layers; or look at its nodes, if it has no "
             "more to do than the others");
    return 0;
}

static int judge(struct stages *s, struct jp_findings *findings)
{
    struct slowest x;
    double least;

    add_up(s);
    x = find_slowest(s);
    if (!x.pipelines) {
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_STAGE_IMBALANCE,
                       JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "no two pipelines of Send and Recv");
        return 0;
    }
    /* the first stages end last, by at most half a pass through all of them,
     * which the others wait in no operation */
    least = fmax(limits_get(JP_LIMIT_LATE_COST) * s->run_us,
                 limits_get(JP_LIMIT_LATE_ERRORS) * x.error_us);
    least = fmax(least, x.stages / 2.0 * s->run_us / x.passes);
    hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_STAGE_IMBALANCE,
                   JP_HYPOTHESIS_NOT_FOUND,
                   s->run_us > 0 ? least / s->run_us : NAN, NULL);
    if (x.us <= least || is_explained(findings))
        return 0;
    return tell(&x, findings);
}

int stages_findings(const struct jp_result *r, const struct jp_processes *p,
                    const struct jp_lateness *lateness,
                    struct jp_findings *findings)
{
    struct stages s = {.r = r, .p = p, .lateness = lateness};
    int rc = -1;

    if (r->quality.waits_unknown || !p->known) {
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_STAGE_IMBALANCE,
                       JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "processes cannot be told apart, or their waits");
        return 0;
    }
    s.spent_us = calloc(p->n + 1, sizeof(*s.spent_us));
    s.p2p_us = calloc(r->n_ranks + 1, sizeof(*s.p2p_us));
    s.rows = calloc(r->n_ranks + 1, sizeof(*s.rows));
    s.fewest = calloc(r->n_ranks + 1, sizeof(*s.fewest));
    if (s.spent_us && s.p2p_us && s.rows && s.fewest)
        rc = judge(&s, findings);
    free(s.spent_us);
    free(s.p2p_us);
    free(s.rows);
    free(s.fewest);
    return rc;
}
