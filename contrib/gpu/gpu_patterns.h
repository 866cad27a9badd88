/* What ncclrun can do with NCCL: a row for each pattern. */
#ifndef JP_GPU_PATTERNS_H
#define JP_GPU_PATTERNS_H

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "contrib/gpu/gpu_rank.h"

/* What a pattern returns besides 0 and -1. */
enum { GPU_NOT_THERE = 77 }; /* the release cannot do it */

/* Its numbers; 0: the pattern's own. */
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

/* NULL: there is none of that name. */
const struct gpu_pattern *gpu_pattern_find(const char *name);
void gpu_patterns_help(FILE *out);

/* The room that its buffers need. */
size_t gpu_pattern_bytes(const struct gpu_size *size);

/* One AllReduce of floats, no span of its own. */
int gpu_all_reduce(struct gpu_rank *r, void *comm, uint64_t bytes,
                   struct jp_error *err);

/* `n` of them, each a span. */
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
