/* comm_type.h - what kind of links a communicator uses, by its size. */
#ifndef JP_AGGREGATE_COMM_TYPE_H
#define JP_AGGREGATE_COMM_TYPE_H

#include "orchestrator/aggregate/aggregate.h"

/* NVIDIA's rule (Inspector's exporter): one rank: single-rank; else nnodes = 1:
 * nvlink-only; nnodes = n_ranks: hca-only; else mixed. */
enum jp_comm_type comm_type_of(uint32_t n_ranks, uint32_t nnodes);

#endif
