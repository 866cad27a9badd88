/* load.c - too small messages, and more for one rank than for the others. */
#include "orchestrator/insight/load.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/insight/limits.h"

/* From the cells, which hold each operation but for the warm-up: sizes that
 * come a few times each add up, too. */
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
                       "too many kinds of operations to add up");
    else if (all < limits_get(JP_LIMIT_SMALL_OPS))
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_SMALL_MESSAGES,
                       JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "%s operation%s of %.0f that are needed", FIG_COUNT(all),
                       plural(all), limits_get(JP_LIMIT_SMALL_OPS));
    else
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_SMALL_MESSAGES,
                       JP_HYPOTHESIS_NOT_FOUND,
                       limits_get(JP_LIMIT_SMALL_SHARE), NULL);
    if (cells->full)
        return 0; /* the shares are not known */
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

/* A communicator's rank that receives most. */
struct most {
    size_t rank; /* of the result */
    double bytes, mean;
};

static int add_uneven(const struct jp_result *r, const struct jp_processes *p,
                      size_t comm, const struct most *most,
                      struct jp_findings *findings)
{
    const struct jp_rank *rank = &r->ranks[most->rank];
    const struct jp_process *who = &p->list[p->of_rank[most->rank]];
    struct jp_finding *f = findings_add(findings, JP_FINDING_IMBALANCE);

    if (!f)
        return -1;
    f->comm = (int64_t) comm;
    f->rank = rank->rank;
    f->world_rank = p->known ? who->world_rank : -1;
    f->pid = rank->pid;
    snprintf(f->host, sizeof(f->host), "%s", rank->host);
    snprintf(
        f->text, sizeof(f->text),
        "rank %u of %.40s (%.64s) receives %s by Send and Recv, %.1f times "
        "the mean of its communicator",
        rank->rank,
        *r->comms[comm].name ? r->comms[comm].name : r->comms[comm].id,
        rank->host, FIG_BYTES((uint64_t) most->bytes),
        most->bytes / most->mean);
    snprintf(
        f->next, sizeof(f->next),
        "look at how work is assigned (experts, sequence lengths, stages)");
    return 0;
}

/* Ranks' received bytes of one communicator. */
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
    if (add_small(cells, findings) < 0)
        return -1;
    return add_imbalance(r, p, findings);
}
