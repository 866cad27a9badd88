/* gpu_patterns.h - what ncclrun can do with NCCL: one row per pattern. */
#ifndef JP_GPU_PATTERNS_H
#define JP_GPU_PATTERNS_H

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "contrib/gpu/gpu_rank.h"

/* Result of a pattern besides 0 and -1. */
enum { GPU_NOT_THERE = 77 }; /* the release cannot do it */

/* The numbers of a pattern; 0: its default. */
struct gpu_size {
    int count;          /* launches, or replays of the graph */
    int per_launch;     /* operations in each */
    uint64_t bytes;     /* of each operation; alltoall: of all parts together */
    int64_t seconds_us; /* hang: until the end */
};

struct gpu_pattern {
    const char *name;
    int (*run)(struct gpu_rank *r, const struct gpu_size *size,
               struct jp_error *err);
    struct gpu_size size;
    const char *help;
};

/* Returns the pattern of that name, or NULL. */
const struct gpu_pattern *gpu_pattern_find(const char *name);
void gpu_patterns_help(FILE *out);

/* Returns the size of the buffers that a pattern needs. */
size_t gpu_pattern_bytes(const struct gpu_size *size);

/* Runs one AllReduce of floats, without a span. */
int gpu_all_reduce(struct gpu_rank *r, void *comm, uint64_t bytes,
                   struct jp_error *err);

/* Runs `n` of them, each with a span. */
int gpu_all_reduces(struct gpu_rank *r, void *comm, uint64_t bytes, int n,
                    struct jp_error *err);

/* The edge set (gpu_edges.c). */
int gpu_edge_eight(struct gpu_rank *r, const struct gpu_size *size,
                   struct jp_error *err);
int gpu_edge_split(struct gpu_rank *r, const struct gpu_size *size,
                   struct jp_error *err);
int gpu_edge_abort(struct gpu_rank *r, const struct gpu_size *size,
                   struct jp_error *err);
int gpu_edge_nonblocking(struct gpu_rank *r, const struct gpu_size *size,
                         struct jp_error *err);
int gpu_edge_windows(struct gpu_rank *r, const struct gpu_size *size,
                     struct jp_error *err);
int gpu_edge_fork(struct gpu_rank *r, const struct gpu_size *size,
                  struct jp_error *err);
int gpu_edge_exit(struct gpu_rank *r, const struct gpu_size *size,
                  struct jp_error *err);

#endif
