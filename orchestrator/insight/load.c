/* load.c - how a program spreads its messages and its work.
 *
 * Three looks: small messages, ranks that receive far more than others, and a
 * stage of a pipeline that computes longer (add_stages). None of these is a
 * fault of a node, so their findings leave the verdict OK.
 */
#include "orchestrator/insight/looks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/stats.h"

/* Looks for small messages. Works on cells, which contain all operations except
 * the warm-up; series leave out sizes that occur only a few times. Needs
 * `small_ops_min` operations: fewer are not a habit. Returns 0 or -1. */
static int add_small(const struct jp_netcells *cells,
                     struct jp_findings *findings)
{
    uint32_t least = netcells_size(limits_get(JP_LIMIT_SMALL_BYTES));
    double small_us = 0, all_us = 0;
    uint64_t small = 0, all = 0;
    struct jp_finding *f;

    for (size_t i = 0; i < cells->n; i++) {
        const struct jp_netcell *cell = &cells->at[i];

        all_us += cell->time_us;
        all += cell->gbs.total;
        if (cell->key.size < least) {
            small_us += cell->time_us;
            small += cell->gbs.total;
        }
    }
    if (cells->full)
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_SMALL_MESSAGES,
                       JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "too many kinds of operations to sum up");
    else if (all < limits_get(JP_LIMIT_SMALL_OPS))
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_SMALL_MESSAGES,
                       JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "%s operation%s of %s that are needed", FIG_COUNT(all),
                       plural(all), FIG_REAL(limits_get(JP_LIMIT_SMALL_OPS)));
    else
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_SMALL_MESSAGES,
                       JP_HYPOTHESIS_NOT_FOUND,
                       limits_get(JP_LIMIT_SMALL_SHARE), NULL);
    if (cells->full)
        return 0; /* the shares are unknown */
    if (small < limits_get(JP_LIMIT_SMALL_OPS) ||
        small_us < limits_get(JP_LIMIT_SMALL_SHARE) * all_us)
        return 0;
    f = findings_add(findings, JP_FINDING_SMALL_MESSAGES);
    if (!f)
        return -1;
    f->share = small_us / all_us;
    snprintf(f->text, sizeof(f->text),
             "%s of %s collectives are below %s and take %s of the network's "
             "time, which for them is latency",
             FIG_COUNT(small), FIG_COUNT(all),
             FIG_BYTES(limits_get(JP_LIMIT_SMALL_BYTES)), FIG_SHARE(f->share));
    snprintf(f->next, sizeof(f->next),
             "reduce in larger buckets, or several tensors in one group call");
    return 0;
}

/* The rank of a communicator that receives most, and the mean of all. */
struct most {
    size_t rank; /* index into the result */
    double bytes, mean;
};

/* Adds the finding of a rank that receives far more than the mean. 0 or -1. */
static int add_uneven(const struct jp_result *r, const struct jp_processes *p,
                      size_t comm, const struct most *most,
                      struct jp_findings *findings)
{
    const struct jp_rank *rank = &r->ranks[most->rank];
    const struct jp_process *who = &p->list[p->of_rank[most->rank]];
    struct jp_finding *f = findings_add(findings, JP_FINDING_IMBALANCE);
    char name[JP_PROCESS_NAME_LEN];

    if (!f)
        return -1;
    f->comm = (int64_t) comm;
    f->rank = rank->rank;
    f->world_rank = p->known ? who->world_rank : -1;
    f->pid = rank->pid;
    f->process = who - p->list;
    snprintf(f->host, sizeof(f->host), "%s", rank->host);
    snprintf(f->text, sizeof(f->text),
             "%s receives %s by Send and Recv, %.1f times the mean of %.40s",
             processes_describe(p, r, who, name),
             FIG_BYTES((uint64_t) most->bytes), most->bytes / most->mean,
             *r->comms[comm].name ? r->comms[comm].name : r->comms[comm].id);
    snprintf(f->next, sizeof(f->next),
             "check how work is assigned (experts, sequence lengths, stages)");
    return 0;
}

/* Finds the rank of a communicator that received most. bytes: by the result's
 * ranks. */
static struct most find_most(const struct jp_processes *p, const double *bytes,
                             size_t comm)
{
    size_t from = p->comm_start[comm], to = p->comm_start[comm + 1];
    struct most most = {from, 0, 0};

    for (size_t i = from; i < to; i++) {
        most.mean += bytes[i] / (double) (to - from);
        if (bytes[i] > most.bytes) {
            most.bytes = bytes[i];
            most.rank = i;
        }
    }
    return most;
}

/* Looks for such a rank in each communicator that has enough ranks and data.
 * The factor is 2 because inner stages of a pipeline receive from both sides
 * and are no fault. Returns 0 or -1. */
static int add_imbalance(const struct jp_result *r,
                         const struct jp_processes *p,
                         struct jp_findings *findings)
{
    double *bytes = calloc(r->n_ranks + 1, sizeof(*bytes));
    int rc = bytes ? 0 : -1;

    if (r->n_p2p)
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_IMBALANCE,
                       JP_HYPOTHESIS_NOT_FOUND, limits_get(JP_LIMIT_IMBALANCE),
                       NULL);
    else
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_IMBALANCE,
                       JP_HYPOTHESIS_NOT_JUDGED, NAN, "no Send or Recv");
    for (size_t i = 0; bytes && i < r->n_p2p; i++) {
        const struct jp_p2p *x = &r->p2p[i];
        size_t rank = strcmp(x->func, "Recv")
                          ? SIZE_MAX
                          : processes_rank(p, r, x->comm, x->dst);

        if (rank != SIZE_MAX)
            bytes[rank] += (double) x->bytes;
    }
    for (size_t c = 0; rc == 0 && c < r->n_comms; c++) {
        struct most most = find_most(p, bytes, c);

        if (p->comm_start[c + 1] - p->comm_start[c] >=
                limits_get(JP_LIMIT_IMBALANCE_RANKS) &&
            most.mean > limits_get(JP_LIMIT_IMBALANCE_BYTES) &&
            most.bytes > limits_get(JP_LIMIT_IMBALANCE) * most.mean)
            rc = add_uneven(r, p, c, &most, findings);
    }
    free(bytes);
    return rc;
}

/* --- stages of pipelines -------------------------------------------------- */

/* The most rows of Send and Recv of a pipeline's rank: to and from each of two
 * neighbours. */
enum { MAX_ROWS = 4 };

/* The estimator: all ranks of a pipeline run equally long, so a rank that
 * communicates less has computed longer. Null hypothesis: all stages compute
 * equally long; they then differ by the scatter between pipelines only. Unit:
 * us of one rank over the whole run. */
struct stages {
    const struct jp_result *r;
    const struct jp_processes *p;
    const struct jp_lateness *lateness;
    double *spent_us; /* [process] time in communication */
    double *p2p_us;   /* [rank] part of it in Send and Recv */
    uint32_t *rows;   /* [rank] number of pairs recorded */
    uint64_t *fewest; /* [rank] fewest messages of any of its pairs */
    double run_us;
    /* by the clock of the records, not estimated from what the ranks spent */
    bool run_known;
};

/* The slowest stage of all pipelines with a number of stages. */
struct slowest {
    uint32_t stage, stages;
    size_t pipelines, comm; /* comm: the first pipeline */
    double us, error_us;    /* excess over the median of the other stages */
    /* messages of a stage, as each pass through the pipeline has one */
    double passes;
    double peers_us; /* time in communication of the other stages */
};

/* Sums up each process's time in communication, and finds the run's length.
 * AlltoAlls that are known one by one replace the sum of their messages. */
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
    /* Records are written in batches, so by the clock the run may be shorter
     * than what a rank spent in it. Then the longest of these is a lower bound.
     */
    s->run_us = s->r->ops ? (double) ops_run_us(s->r->ops) : 0;
    s->run_known = s->run_us > 0;
    for (size_t i = 0; i < s->p->n; i++) {
        s->run_known &= s->run_us > s->spent_us[i];
        s->run_us = fmax(s->run_us, s->spent_us[i]);
    }
}

/* Returns true if the communicator has records of all ranks, Send and Recv with
 * one or two neighbours, and nothing else. */
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

/* Returns the time of a rank's process in communication. */
static double spent(const struct stages *s, size_t rank)
{
    return s->spent_us[s->p->of_rank[rank]];
}

/* Returns how much less a stage's rank communicates than the median of the
 * other stages, in us. *peers_us: that median. At most 64 stages. */
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

/* Takes the mean of one stage's excess over all pipelines with this number of
 * stages, and its standard error from the scatter among them. *best becomes the
 * stage with the largest mean. One pipeline has no scatter, so there must be
 * `stage_pipelines_min`. */
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

/* Looks at each number of stages once. O(communicators^2), which are few
 * hundred. */
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

/* Returns how often all stages of a pipeline meet in another communicator (such
 * as one of all ranks), by its function with the fewest operations; 0: never.
 */
static uint64_t meetings(const struct stages *s, size_t pipeline)
{
    size_t from = s->p->comm_start[pipeline];
    size_t to = s->p->comm_start[pipeline + 1];
    const struct jp_process *who = &s->p->list[s->p->of_rank[from]];
    uint64_t most = 0;

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t first = s->p->by_process[i], k = from;

        while (k < to && processes_rank_in(s->p, s->r, s->p->of_rank[k],
                                           s->r->ranks[first].comm) != SIZE_MAX)
            k++;
        if (k == to && s->lateness[first].fewest > most)
            most = s->lateness[first].fewest;
    }
    return most;
}

/* Returns the time of a pipeline's messages without waits, each message once,
 * in us. A message waits for the side that comes last, so the faster side shows
 * the network's time. INFINITY: unknown. */
static double messages_us(const struct stages *s, size_t comm)
{
    double us = 0;

    for (size_t i = 0; i < s->r->n_p2p; i++) {
        const struct jp_p2p *x = &s->r->p2p[i], *other = x + 1;
        double gbs = x->fast_gbs;

        if (x->comm != comm || !x->count)
            continue;
        if (i + 1 < s->r->n_p2p && other->comm == comm &&
            other->src == x->src && other->dst == x->dst) {
            /* both sides of a pair are neighbours; one rate may be NAN */
            gbs = fmax(gbs, other->fast_gbs);
            i++;
        }
        if (!(gbs > 0))
            return INFINITY;
        us += (double) x->bytes / (double) x->count / (gbs * 1e3);
    }
    return us;
}

/* Returns true if the run had so few passes that its length is uncertain: it is
 * known up to one batch of records. */
static bool is_short(const struct slowest *x)
{
    return x->passes < limits_get(JP_LIMIT_LATE_OPS);
}

/* Returns what the ranks of all stages do for one message of a pipeline, in us:
 * computation, collectives without waits, and messages. INFINITY: the run's
 * length is not known well enough. */
static double pass_us(const struct stages *s, const struct slowest *x)
{
    size_t from = s->p->comm_start[x->comm];
    double us = 0;

    if (!s->run_known || is_short(x))
        return INFINITY;
    for (size_t i = from; i < s->p->comm_start[x->comm + 1]; i++) {
        const struct jp_process *who = &s->p->list[s->p->of_rank[i]];

        us += fmax(0, s->run_us - spent(s, i));
        for (size_t k = who->first; k < who->first + who->n; k++) {
            const struct jp_rank *rank = &s->r->ranks[s->p->by_process[k]];

            us += (double) rank->exec_us - (double) rank->wait_us;
        }
    }
    return us / x->passes + messages_us(s, x->comm);
}

/* Returns how much longer than others a stage may run without a fault, in us.
 * The first stages end last, and the others wait for that in no operation.
 * Three bounds: half a pass through all stages at the pace of a message; what
 * the stages do for one message (less, where one works after the other); what
 * is left of the run after all stages have met for the last time. Guards
 * against accusing the first stages of short runs. */
static double end_us(const struct stages *s, const struct slowest *x)
{
    double us = x->stages / 2.0 * s->run_us / x->passes;
    uint64_t met = meetings(s, x->comm);

    us = fmin(us, pass_us(s, x));
    return met ? fmin(us, s->run_us / (double) met) : us;
}

/* Drops findings that some ranks have more to do: they are the ranks of the
 * slow stage. */
static void drop_many(struct jp_findings *findings)
{
    size_t kept = 0;

    for (size_t i = 0; i < findings->n; i++)
        if (findings->at[i].kind != JP_FINDING_IMBALANCE ||
            findings->at[i].rank >= 0)
            findings->at[kept++] = findings->at[i];
    findings->n = kept;
}

/* Adds the finding. All other stages of all pipelines lose the excess. 0 or -1.
 */
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
    snprintf(
        f->text, sizeof(f->text),
        "stage %u of %u computes longer than the others, as its ranks wait "
        "%s less, in all %s pipelines; cost %s of GPU time, %s of "
        "communication",
        x->stage + 1, x->stages, FIG_US(x->us), FIG_COUNT(x->pipelines),
        FIG_US(f->cost_us), FIG_SHARE(f->share));
    snprintf(f->next, sizeof(f->next),
             "give that stage fewer layers, or check its nodes if it has the "
             "same work as the others");
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
    if (is_short(&x) && !s->run_known) {
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_STAGE_IMBALANCE,
                       JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "the times of the records do not show how long the run "
                       "was");
        return 0;
    }
    /* Worth a search, and many standard errors: with few pipelines the error
     * itself is uncertain, and the slowest of many stages was picked. */
    least = fmax(late_worth(s->run_us, x.peers_us),
                 limits_get(JP_LIMIT_LATE_ERRORS) * x.error_us);
    least = fmax(least, end_us(s, &x));
    hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_STAGE_IMBALANCE,
                   JP_HYPOTHESIS_NOT_FOUND,
                   s->run_us > 0 ? least / s->run_us : NAN, NULL);
    if (x.us <= least || findings_has_late(findings))
        return 0;
    return tell(&x, findings);
}

/* Looks for the slow stage. Returns 0 or -1. */
static int add_stages(const struct jp_result *r, const struct jp_processes *p,
                      const struct jp_lateness *lateness,
                      struct jp_findings *findings)
{
    struct stages s = {.r = r, .p = p, .lateness = lateness};
    int rc = -1;

    if (r->quality.waits_unknown || !p->known) {
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_STAGE_IMBALANCE,
                       JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "processes or their waits cannot be separated");
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

int load_findings(const struct jp_result *r, const struct jp_processes *p,
                  const struct jp_lateness *lateness,
                  const struct jp_netcells *cells, struct jp_findings *findings)
{
    if (add_stages(r, p, lateness, findings) < 0 ||
        add_small(cells, findings) < 0)
        return -1;
    return add_imbalance(r, p, findings);
}
