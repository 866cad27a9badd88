/* gpu_rank.h - a rank of ncclrun: its GPU, its buffers, and what it has issued.
 *
 * The rank writes what it has issued, and its duration by CUDA events, as JSON
 * lines to OUT/ops-<rank>.json:
 *   {"rank":0,"n_ranks":2,"pid":4711,"nccl":23007,"gpus":1}
 *   {"span":0,"op":"AllReduce","bytes":1048576,"n":1,"us":312.4}
 *   {"wall_us":401230}
 *   {"thread":"NCCL Progress 0","cpu_us":12}
 *
 * A span is the time between two events: a launch of one or several operations.
 * It has `n` operations of `bytes` each, as NCCL reports one (a rank's part of
 * an AlltoAll). If they differ, there are several lines, each with the time of
 * the whole span. "us" is 0 if it was not timed. "op" is the operation that
 * NCCL runs, such as the Sends and Recvs of an AlltoAll. */
#ifndef JP_GPU_RANK_H
#define JP_GPU_RANK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "contrib/gpu/gpu_api.h"

enum { GPU_MAX_RANKS = 64 };

/* How ranks get ids of communicators from rank 0: forked ranks by pipes, others
 * by files FILE.0, FILE.1, ... that all of them can read. */
struct gpu_ids {
    int pipes[GPU_MAX_RANKS][2];
    const char *file; /* NULL: pipes */
    int n;            /* number of ids so far */
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
    void *comm;        /* NULL: none, or destroyed */
    char *send, *recv; /* on the GPU */
    size_t bytes;      /* size of each */
    FILE *out;         /* NULL: not open */
    struct gpu_line *lines;
    size_t n_lines, max_lines;
    int n_spans;
    int64_t since_us; /* begin of the first span */
};

/* Chooses GPU number `local`, modulo their number, and allocates buffers of
 * `bytes`. The caller sets r->api, rank, n_ranks and ids. */
int gpu_rank_init(struct gpu_rank *r, int local, size_t bytes,
                  struct jp_error *err);

/* Creates a communicator of all ranks, which must call this together. */
int gpu_rank_join(struct gpu_rank *r, void **comm, struct jp_error *err);

/* Gets the id of the next communicator, the same for all ranks. */
int gpu_rank_id(struct gpu_rank *r, struct gpu_id *id, struct jp_error *err);

/* Opens out/ops-<rank>.json. */
int gpu_rank_open(struct gpu_rank *r, const char *out, struct jp_error *err);

/* Operations that are enqueued between these two calls are a span of n
 * operations. */
int gpu_span_begin(struct gpu_rank *r, const char *op, uint64_t bytes, int n,
                   struct jp_error *err);
int gpu_span_end(struct gpu_rank *r, struct jp_error *err);

/* Adds further operations to the span that has begun. */
int gpu_span_also(struct gpu_rank *r, const char *op, uint64_t bytes, int n,
                  struct jp_error *err);

/* Adds operations outside of a span, which are counted but not timed. */
int gpu_untimed(struct gpu_rank *r, const char *op, uint64_t bytes, int n,
                struct jp_error *err);

/* Waits for the GPU, writes all lines and closes the file. Call it before a
 * communicator is destroyed: its threads must still exist. */
int gpu_rank_write(struct gpu_rank *r, struct jp_error *err);

int gpu_rank_sync(struct gpu_rank *r, struct jp_error *err);

int64_t gpu_now_us(void);

#endif
