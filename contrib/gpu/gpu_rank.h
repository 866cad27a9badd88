/* A rank of ncclrun: its GPU, its buffers, and what it issued.
 *
 * The rank writes what it issued, and what CUDA events say that took, as JSON
 * lines into OUT/ops-<rank>.json:
 *   {"rank":0,"n_ranks":2,"pid":4711,"nccl":23007,"gpus":1}
 *   {"span":0,"op":"AllReduce","bytes":1048576,"n":1,"us":312.4}
 *   {"wall_us":401230}
 *   {"thread":"NCCL Progress 0","cpu_us":12}
 * A span is what lies between two events: a launch of one or several
 * operations. `n` operations of `bytes` each (what NCCL tells of one: a rank's
 * part of an AlltoAll) are in it; where they differ it has several lines, each
 * with the time of the whole span. "us" is 0 where it was not timed. "op" is
 * what NCCL runs: the Sends and Recvs of an AlltoAll.
 */
#ifndef JP_GPU_RANK_H
#define JP_GPU_RANK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "contrib/gpu/gpu_api.h"

enum { GPU_MAX_RANKS = 64 };

/* How ranks get ids of communicators from rank 0: forked ones by pipes, others
 * by files FILE.0, FILE.1, ... that all of them see. */
struct gpu_ids {
    int pipes[GPU_MAX_RANKS][2];
    const char *file; /* NULL: pipes */
    int n;            /* ids so far */
};

struct gpu_line {
    const char *op;
    uint64_t bytes;
    int n;
    int span;
    void *start, *stop; /* events; NULL: not timed */
};

struct gpu_rank {
    struct gpu_api api;
    int rank, n_ranks;
    int n_gpus;
    struct gpu_ids *ids; /* borrowed */
    void *stream;
    void *comm;        /* NULL: none, or given up */
    char *send, *recv; /* on the GPU */
    size_t bytes;      /* size of each */
    FILE *out;         /* NULL: nothing is written */
    struct gpu_line *lines;
    size_t n_lines, max_lines;
    int n_spans;
    int64_t since_us; /* the first span's */
};

/* Chooses the GPU number `local`, modulo their number, with buffers of `bytes`;
 * r->api, rank, n_ranks and ids are the caller's. */
int gpu_rank_init(struct gpu_rank *r, int local, size_t bytes,
                  struct jp_error *err);

/* A communicator of all ranks; all of them call it together. */
int gpu_rank_join(struct gpu_rank *r, void **comm, struct jp_error *err);

/* The id of the next communicator, the same for all. */
int gpu_rank_id(struct gpu_rank *r, struct gpu_id *id, struct jp_error *err);

/* Opens out/ops-<rank>.json. */
int gpu_rank_open(struct gpu_rank *r, const char *out, struct jp_error *err);

/* What is enqueued between the two is a span of n operations. */
int gpu_span_begin(struct gpu_rank *r, const char *op, uint64_t bytes, int n,
                   struct jp_error *err);
int gpu_span_end(struct gpu_rank *r, struct jp_error *err);

/* The span that has begun has these, too. */
int gpu_span_also(struct gpu_rank *r, const char *op, uint64_t bytes, int n,
                  struct jp_error *err);

/* Operations outside of a span: counted, not timed. */
int gpu_untimed(struct gpu_rank *r, const char *op, uint64_t bytes, int n,
                struct jp_error *err);

/* Waits for the GPU, writes all lines and closes the file. The threads must
 * still be there: before a communicator is destroyed. */
int gpu_rank_write(struct gpu_rank *r, struct jp_error *err);

int gpu_rank_sync(struct gpu_rank *r, struct jp_error *err);

int64_t gpu_now_us(void);

#endif
