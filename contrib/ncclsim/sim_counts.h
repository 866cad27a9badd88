/* What the program really issued, for checking what a profiler says of it. */
#ifndef JP_SIM_COUNTS_H
#define JP_SIM_COUNTS_H

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "contrib/ncclsim/sim_model.h"

enum { SIM_MAX_ROWS = 32 };

/* Operations of one communicator by function and size. */
struct jp_sim_counts {
    uint64_t in_flight; /* of all: entered, never to end */
    int n;
    struct {
        enum jp_nccl_func func;
        uint64_t bytes;
        uint64_t ops;
    } rows[SIM_MAX_ROWS];
};

/* Only the thread that owns the counts adds; any other may put them. */
void sim_counts_add(struct jp_sim_counts *counts, enum jp_nccl_func func,
                    uint64_t bytes, int in_flight);

/* All operations counted. */
uint64_t sim_counts_total(const struct jp_sim_counts *counts);

/* Writes a communicator as a JSON object:
 *   {"id":"0x12229d2dd95525","hash":"0x12229d2dd95525aa","name":"tp",
 *    "rank":0,"n_ranks":4,"nnodes":1,"in_flight":0,
 *    "functions":{"AllGather":{"ops":400,"bytes":1258291200}},
 *    "cells":[{"func":"AllGather","bytes":2097152,"ops":200},
 *             {"func":"AllGather","bytes":4194304,"ops":200}]}
 * id is Inspector's form of the hash; bytes are Inspector's message sizes;
 * operations in flight are counted among the others. */
void sim_counts_put(FILE *out, const struct jp_sim_counts *counts,
                    const struct jp_sim_group *group, uint64_t hash, int rank);

/* Opens the file of this rank: PATH/counts-<rank>.json where PATH is a
 * directory, else PATH with "%r" replaced by the rank, else PATH.<rank> in a
 * run of several. NULL on failure; caller closes. */
FILE *sim_counts_open(const char *path, int rank, int n_ranks,
                      struct jp_error *err);

#endif
