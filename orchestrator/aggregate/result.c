/* result.c - free what an aggregation gave. */
#include <stdlib.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/ops.h"

static void free_comm(struct jp_comm *comm)
{
    for (size_t i = 0; i < comm->n_hosts; i++)
        free(comm->hosts[i]);
    for (size_t i = 0; i < comm->n_warnings; i++)
        free(comm->warnings[i]);
    free(comm->warnings);
    free(comm->hosts);
    free(comm->name);
    free(comm->why);
}

void result_destroy(struct jp_result *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n_comms; i++)
        free_comm(&r->comms[i]);
    for (size_t i = 0; i < r->n_ranks; i++)
        free(r->ranks[i].host);
    for (size_t i = 0; i < r->n_coll_names; i++)
        free(r->coll_names[i]);
    for (size_t i = 0; i < r->quality.n_notes; i++) {
        free(r->quality.notes[i].path);
        free(r->quality.notes[i].what);
    }
    for (unsigned i = 0; i < JP_BAD_KINDS; i++)
        free(r->quality.bad[i].path);
    free(r->quality.notes);
    free(r->coll_names);
    free(r->comms);
    free(r->ranks);
    free(r->slices);
    free(r->cells);
    ops_destroy(r->ops);
    free(r->p2p);
    for (size_t i = 0; i < r->n_hosts; i++)
        free(r->hosts[i]);
    free(r->hosts);
    free(r->p2p_nodes);
    free(r->windows);
    for (size_t i = 0; i < r->n_busy; i++)
        free(r->busy[i].host);
    free(r->busy);
    free(r->busy_slices);
    free(r);
}
