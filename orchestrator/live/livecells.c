/* livecells.c - bandwidth and time of a process's operations by function and
 * size. */
#include "orchestrator/live/livenode.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "common/vector.h"
#include "orchestrator/live/live_metrics.h"

void livecells_fini(struct livecells *cells)
{
    free(cells->cells);
    *cells = (struct livecells){.cells = NULL};
}

/* Returns a place for a new cell. If all are taken, returns the cell that was
 * shown least recently and has no new operations; the caller overwrites it.
 * Returns NULL if there is none. */
static struct livecell *place_for(struct livecells *cells)
{
    struct livecell *oldest = NULL;

    if (cells->n < LIVECELLS_MAX) {
        if (VECTOR_DOUBLE(cells->cells, cells->n) < 0)
            return NULL;
        return &cells->cells[cells->n++];
    }
    for (size_t i = 0; i < cells->n; i++) {
        struct livecell *c = &cells->cells[i];

        if (!c->n && (!oldest || c->shown_ns < oldest->shown_ns))
            oldest = c;
    }
    return oldest;
}

/* The GPU is only a label, so it is not compared. */
static bool is_same(const struct livecell *a, const struct livecell *b)
{
    return a->kind == b->kind && a->size == b->size &&
           a->n_ranks == b->n_ranks && a->n_nodes == b->n_nodes &&
           !strcmp(a->func, b->func) && !strcmp(a->algo, b->algo) &&
           !strcmp(a->comm, b->comm);
}

/* Finds or adds the cell with the key's labels. Returns NULL if there is no
 * room. */
static struct livecell *cell_of(struct livecells *cells,
                                const struct livecell *key)
{
    struct livecell *c;

    for (size_t i = 0; i < cells->n; i++)
        if (is_same(&cells->cells[i], key))
            return &cells->cells[i];
    c = place_for(cells);
    if (c)
        *c = *key;
    return c;
}

void livecells_add(struct livecells *cells, struct livecell *key,
                   uint64_t bytes, uint64_t us)
{
    struct livecell *c;
    double busbw;

    /* An operation without a time has no bandwidth. */
    if (!us)
        return;
    key->size = metrics_size_first(bytes);
    c = cell_of(cells, key);
    if (!c)
        return;
    busbw = bandwidth_of(bandwidth_find(key->func), key->n_ranks, bytes, us)
                .bus_gbs;
    c->n++;
    c->us += (double) us;
    if (busbw > 0) {
        /* Inspector's mean of bandwidths is geometric, so logarithms are
         * summed. */
        c->n_busbw++;
        c->log_busbw += log(busbw);
    }
}

/* Turns the sums since the last look into the shown means, and starts new sums.
 * Keeps the old means if there were no operations. */
static void settle_cell(struct livecell *c, uint64_t mono_ns)
{
    if (!c->n)
        return;
    c->shown_us = c->us / (double) c->n;
    c->shown_busbw = c->n_busbw ? exp(c->log_busbw / (double) c->n_busbw) : NAN;
    c->shown_ns = mono_ns;
    c->n = c->n_busbw = 0;
    c->us = c->log_busbw = 0;
}

/* Adds the cell's values to the set. The labels are those of Inspector's files,
 * where "version" is its own. */
static int put_cell(const struct livecell *c, const struct livecells_labels *l,
                    struct metrics_set *set)
{
    const char *name = *c->comm ? c->comm : "unknown";
    char nodes[24], ranks[24], size[40];
    double *v;

#define CELL_LABELS                                                            \
    {"version", "jobprof"}, {"slurm_job_id", l->job}, {"node", l->node},       \
        {"gpu", c->gpu}, {"comm_name", name}, {"n_nodes", nodes},              \
        {"nranks", ranks}, {"message_size", size}, {"step", l->step},          \
        {"rank", l->rank}
    /* Labels are texts, also those that are numbers. */
    snprintf(nodes, sizeof(nodes), "%" PRId64, c->n_nodes);
    snprintf(ranks, sizeof(ranks), "%" PRId64, c->n_ranks);
    metrics_size_text(c->size, size, sizeof(size));
    v = c->kind == JPR_P2P
            ? metrics_add(set, &live_p2p_metrics, CELL_LABELS,
                          {"p2p_operation", c->func})
            : metrics_add(set, &metrics_coll, CELL_LABELS,
                          {"collective", c->func}, {"algo_proto", c->algo});
#undef CELL_LABELS
    if (!v)
        return -1;
    v[METRIC_BUSBW] = c->shown_busbw;
    v[METRIC_TIME] = c->shown_us;
    return 0;
}

int livecells_put(struct livecells *cells, uint64_t mono_ns,
                  const struct livecells_labels *labels,
                  struct metrics_set *set)
{
    for (size_t i = 0; i < cells->n; i++) {
        struct livecell *c = &cells->cells[i];

        settle_cell(c, mono_ns);
        /* A stale cell is not exported: Prometheus would draw a line of
         * constant values. */
        if (c->shown_ns && mono_ns - c->shown_ns <= LIVECELLS_OLD_NS &&
            put_cell(c, labels, set) < 0)
            return -1;
    }
    return 0;
}
