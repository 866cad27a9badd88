/* sim_counts.h - count what the program really issued, to check what a profiler
 * reports. */
#ifndef JP_SIM_COUNTS_H
#define JP_SIM_COUNTS_H

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "contrib/ncclsim/sim_model.h"

enum { SIM_MAX_ROWS = 32 };

/* Operations of one communicator by function and size. */
struct jp_sim_counts {
    uint64_t in_flight; /* operations that were entered and never end */
    uint64_t batches;   /* batches of works that the GPU ran together */
    uint64_t batch_ns;  /* sum of their durations */
    int n;
    struct {
        enum jp_nccl_func func;
        uint64_t bytes;
        uint64_t ops;
        uint64_t
            told;    /* operations for which NCCL raised a Coll or P2p event */
        uint64_t ns; /* sum of their durations */
    } rows[SIM_MAX_ROWS];
};

/* Adds an operation. is_issued: it was run, not only captured. is_told: NCCL
 * raised an event for it. Only the thread that owns the counts may call this;
 * any thread may write them. */
void sim_counts_add(struct jp_sim_counts *counts, const struct jp_sim_op *op,
                    int is_issued, int is_told);

/* Adds the batches of a launch; ns: sum of their durations. */
void sim_counts_add_batches(struct jp_sim_counts *counts, int n, uint64_t ns);

/* Returns the number of operations. */
uint64_t sim_counts_total(const struct jp_sim_counts *counts);

/* Writes a communicator as a JSON object:
 *   {"id":"0x12229d2dd95525","hash":"0x12229d2dd95525aa","name":"tp",
 *    "rank":0,"n_ranks":4,"nnodes":1,"in_flight":0,
 *    "batches":400,"batch_ns":4400000,
 *    "functions":{"AllGather":{"ops":400,"bytes":1258291200}},
 *    "cells":[{"func":"AllGather","bytes":2097152,"ops":200,"told":200,
 *              "ns":1400000},
 *             {"func":"AllGather","bytes":4194304,"ops":200,"told":200,
 *              "ns":3000000}]}
 * id is Inspector's form of the hash; bytes are Inspector's message sizes;
 * operations in flight are counted among the others, without their times.
 * "ops" is what the program issued, each replay of a graph too. "ns" is what
 * the operations took, those of a group one after the other; "batch_ns" is what
 * the GPU's batches took, each once, which is the same but for a Send beside a
 * Recv. */
void sim_counts_put(FILE *out, const struct jp_sim_counts *counts,
                    const struct jp_sim_group *group, uint64_t hash, int rank);

/* Opens the file of this rank: PATH/counts-<rank>.json where PATH is a
 * directory, else PATH with "%r" replaced by the rank, else PATH.<rank> in a
 * run of several. NULL on failure; caller closes. */
FILE *sim_counts_open(const char *path, int rank, int n_ranks,
                      struct jp_error *err);

#endif
