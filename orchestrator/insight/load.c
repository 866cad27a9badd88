/* load.c - how a program spreads its messages.
 *
 * Two looks: small messages, and ranks that receive far more than others. None
 * of these is a fault of a node, and what they cost is not known, so their
 * findings leave the verdict OK. stages.c looks for a stage of a pipeline that
 * computes longer.
 */
#include "orchestrator/insight/looks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/insight/limits.h"

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
             "%s of %s collectives after the start are below %s and take %s of "
             "the network's time, which for them is latency",
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

int load_findings(const struct jp_result *r, const struct jp_processes *p,
                  const struct jp_netcells *cells, struct jp_findings *findings)
{
    return add_small(cells, findings) < 0 ? -1 : add_imbalance(r, p, findings);
}
