/* stepranks.h - where a step's ranks are, and what their processes told.
 */
#ifndef JP_TOPO_STEPRANKS_H
#define JP_TOPO_STEPRANKS_H

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/topo/label.h"
#include "orchestrator/topo/shapes.h"

/* What is known of one communicator besides its ranks. */
struct jp_comm_facts {
    struct jp_label_paths paths;
    bool has_paths;
    struct jp_label_variable *variables; /* texts owned by the ranks' records */
    size_t n_variables;
};

struct jp_step_ranks {
    struct jp_label_rank *ranks; /* of the result's ranks, in order */
    struct jp_comm_facts *comms; /* of the result's communicators */
    size_t n_comms;
    void *records; /* private */
};

/* shapes' nodes are nodes->nodes, in order. What cannot be read counts as
 * unknown. -1 without memory. */
int stepranks_make(const struct jp_result *result, const struct jp_nodes *nodes,
                   const struct jp_shapes *shapes, const char *step_dir,
                   struct jp_step_ranks *ranks, struct jp_error *err);
void stepranks_fini(struct jp_step_ranks *ranks);

#endif
