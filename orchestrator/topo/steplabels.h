/* steplabels.h - the labels of a step's communicators, from its nodes' records.
 *
 * Everything is owned by struct jp_step_labels; steplabels_destroy frees.
 */
#ifndef JP_TOPO_STEPLABELS_H
#define JP_TOPO_STEPLABELS_H

#include "common/peaks.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/topo/busid.h"
#include "orchestrator/topo/label.h"
#include "orchestrator/topo/shapes.h"

/* A warning, joined over all communicators that it concerns. */
struct jp_step_warning {
    enum jp_warning_kind kind;
    char *text;     /* with the names of the nodes */
    size_t comm;    /* of those, the one with most time */
    size_t n_comms; /* 0: it concerns nodes, not communicators */
};

/* Where a rank is. */
struct jp_step_place {
    int node;             /* index in nodes->nodes; -1: unknown */
    int gpu;              /* index in the node's topology; -1: unknown */
    char busid[JP_BUSID]; /* of its GPU; "": unknown */
};

struct jp_step_labels {
    struct jp_label *labels; /* one for each communicator of the result */
    size_t n_labels;
    struct jp_shapes shapes;
    struct jp_step_warning *warnings; /* most urgent kinds first */
    size_t n_warnings, warnings_left_out;
    /* the model of the GPUs of all nodes; "" if it is unknown, or there are
     * several. Borrowed from the shapes */
    const char *gpu;
    struct jp_label_node *label_nodes; /* one for each of nodes->nodes */
    struct jp_step_place *places;      /* of the result's ranks, in order */
    char *left_file, *left_why;        /* a file of the ranks that was not read
                                          completely, and why; NULL: none */
};

/* Reads the nodes' records of the step's job (<step_dir>/../nodes) and of the
 * step, and labels the result's communicators (result_label), with notes on
 * records that were ignored. Returns 0 with *labels NULL if there is no result,
 * or the step has no nodes. Returns -1 without memory; then *labels is NULL and
 * the result unchanged. */
int steplabels_make(struct jp_result *result, const struct jp_nodes *nodes,
                    const char *step_dir, struct jp_step_labels **labels,
                    struct jp_error *err);

/* Fills *peaks with what the nodes' adapters can do by their own rates: a row
 * for each kind of network that every node has, with as many adapters as the
 * node with the fewest uses. Messages of `from_bytes` or more are expected to
 * reach `share` of the rate, in communicators of at most `max_ranks`. No rows
 * if a rate or the list of adapters is unknown, or labels is NULL. Returns -1
 * without memory; peaks_fini frees. */
struct steplabels_rates {
    uint64_t from_bytes;
    double share;
    uint32_t max_ranks;
};
int steplabels_peaks(const struct jp_step_labels *labels,
                     const struct steplabels_rates *rates,
                     struct jp_peaks *peaks);

void steplabels_destroy(struct jp_step_labels *labels);

/* --- where a step's ranks are, and what their processes report ----------- */

/* What is known of one communicator besides its ranks. */
struct jp_comm_facts {
    struct jp_label_paths paths;
    bool has_paths;
    /* texts are owned by the ranks' records */
    struct jp_label_variable *variables;
    size_t n_variables;
};

struct jp_step_ranks {
    struct jp_label_rank *ranks; /* of the result's ranks, in order */
    char (*busids)[JP_BUSID];    /* of their GPUs, also of those that no
                                    topology has; "": unknown */
    struct jp_comm_facts *comms; /* of the result's communicators */
    size_t n_comms;
    void *records; /* private */
};

/* The nodes of shapes are nodes->nodes, in order. What cannot be read counts as
 * unknown. Returns -1 without memory. */
int stepranks_make(const struct jp_result *result, const struct jp_nodes *nodes,
                   const struct jp_shapes *shapes, const char *step_dir,
                   struct jp_step_ranks *ranks, struct jp_error *err);
void stepranks_fini(struct jp_step_ranks *ranks);

#endif
