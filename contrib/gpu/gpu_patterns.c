/* gpu_patterns.c - what ncclrun can do with NCCL.
 *
 * Each pattern is a function and a row of the table at the end. What is issued
 * between gpu_span_begin and gpu_span_end is timed and written, so that run.sh
 * can compare it with what the recorder has kept. */
#include "contrib/gpu/gpu_patterns.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SMALL_BYTES = 1024,    /* sent by protocol LL */
    LARGE_BYTES = 4 << 20, /* sent by protocol SIMPLE */
    WARM_UP = 5,
    WARM_UP_LESS = 1024, /* the size of warm-ups differs, so that they can be
                            distinguished */
    LATENCY_FROM = 8,
    LATENCY_TO = 128 << 20,
};

int gpu_all_reduce(struct gpu_rank *r, void *comm, uint64_t bytes,
                   struct jp_error *err)
{
    return gpu_nccl_check(
        &r->api,
        r->api.nccl.all_reduce(r->send, r->recv, bytes / sizeof(float),
                               GPU_NCCL_FLOAT, GPU_NCCL_SUM, comm, r->stream),
        "ncclAllReduce", err);
}

int gpu_all_reduces(struct gpu_rank *r, void *comm, uint64_t bytes, int n,
                    struct jp_error *err)
{
    int i;

    for (i = 0; i < n; i++) {
        if (gpu_span_begin(r, "AllReduce", bytes, 1, err) < 0 ||
            gpu_all_reduce(r, comm, bytes, err) < 0 || gpu_span_end(r, err) < 0)
            return -1;
    }
    return 0;
}

/* Begins a group call. */
static int group_start(struct gpu_rank *r, struct jp_error *err)
{
    return gpu_nccl_check(&r->api, r->api.nccl.group_start(), "ncclGroupStart",
                          err);
}

/* Ends a group call. */
static int group_end(struct gpu_rank *r, struct jp_error *err)
{
    return gpu_nccl_check(&r->api, r->api.nccl.group_end(), "ncclGroupEnd",
                          err);
}

/* Writes what was issued and destroys the communicator. */
static int finish(struct gpu_rank *r, struct jp_error *err)
{
    void *comm = r->comm;

    r->comm = NULL;
    if (gpu_rank_write(r, err) < 0)
        return -1;
    return gpu_nccl_check(&r->api, r->api.nccl.destroy(comm), "ncclCommDestroy",
                          err);
}

/* --------------------------------------------------------------- patterns */

/* AllReduces one by one. */
static int all_reduce(struct gpu_rank *r, const struct gpu_size *size,
                      struct jp_error *err)
{
    if (gpu_rank_join(r, &r->comm, err) < 0 ||
        gpu_all_reduces(r, r->comm, size->bytes - WARM_UP_LESS, WARM_UP, err) <
            0 ||
        gpu_all_reduces(r, r->comm, size->bytes, size->count, err) < 0)
        return -1;
    return finish(r, err);
}

/* Sends to and receives from one peer. Each peer has a part of the buffers. */
static int send_recv(struct gpu_rank *r, uint64_t bytes, int peer,
                     struct jp_error *err)
{
    const struct gpu_nccl *nccl = &r->api.nccl;
    size_t at = (size_t) peer * bytes;

    if (gpu_nccl_check(&r->api,
                       nccl->send(r->send + at, bytes, GPU_NCCL_INT8, peer,
                                  r->comm, r->stream),
                       "ncclSend", err) < 0)
        return -1;
    return gpu_nccl_check(&r->api,
                          nccl->recv(r->recv + at, bytes, GPU_NCCL_INT8, peer,
                                     r->comm, r->stream),
                          "ncclRecv", err);
}

/* Sends small and large messages to and from all others in one group. */
static int mixed_group(struct gpu_rank *r, struct jp_error *err)
{
    int n = r->n_ranks - 1;
    int i;

    if (gpu_span_begin(r, "Send", SMALL_BYTES, n, err) < 0 ||
        gpu_span_also(r, "Recv", SMALL_BYTES, n, err) < 0 ||
        gpu_span_also(r, "Send", LARGE_BYTES, n, err) < 0 ||
        gpu_span_also(r, "Recv", LARGE_BYTES, n, err) < 0 ||
        group_start(r, err) < 0)
        return -1;
    for (i = 1; i <= n; i++) {
        int peer = (r->rank + i) % r->n_ranks;

        if (send_recv(r, SMALL_BYTES, peer, err) < 0 ||
            send_recv(r, LARGE_BYTES, peer, err) < 0)
            return -1;
    }
    return group_end(r, err) < 0 ? -1 : gpu_span_end(r, err);
}

/* Groups of mixed messages. */
static int mixed(struct gpu_rank *r, const struct gpu_size *size,
                 struct jp_error *err)
{
    int i;

    if (gpu_rank_join(r, &r->comm, err) < 0)
        return -1;
    for (i = 0; i < size->count; i++) {
        if (mixed_group(r, err) < 0)
            return -1;
    }
    return finish(r, err);
}

/* Runs AlltoAlls as frameworks do: a part to and from each rank, including
 * itself. */
static int all_to_alls(struct gpu_rank *r, uint64_t bytes, int n,
                       struct jp_error *err)
{
    uint64_t part = bytes / (unsigned) r->n_ranks;
    int i, peer;

    for (i = 0; i < n; i++) {
        if (gpu_span_begin(r, "Send", part, r->n_ranks, err) < 0 ||
            gpu_span_also(r, "Recv", part, r->n_ranks, err) < 0 ||
            group_start(r, err) < 0)
            return -1;
        for (peer = 0; peer < r->n_ranks; peer++) {
            if (send_recv(r, part, peer, err) < 0)
                return -1;
        }
        if (group_end(r, err) < 0 || gpu_span_end(r, err) < 0)
            return -1;
    }
    return 0;
}

/* AlltoAlls, then AllReduces on the same communicator, and AllReduces of half
 * the size on another one that has no messages to itself. */
static int all_to_all(struct gpu_rank *r, const struct gpu_size *size,
                      struct jp_error *err)
{
    uint64_t half = size->bytes / 2;
    void *other;

    if (gpu_rank_join(r, &r->comm, err) < 0 ||
        gpu_rank_join(r, &other, err) < 0 ||
        all_to_alls(r, size->bytes, size->count, err) < 0 ||
        gpu_all_reduces(r, r->comm, size->bytes, size->count, err) < 0 ||
        gpu_all_reduces(r, other, half - WARM_UP_LESS, WARM_UP, err) < 0 ||
        gpu_all_reduces(r, other, half, size->count, err) < 0)
        return -1;
    if (finish(r, err) < 0)
        return -1;
    return gpu_nccl_check(&r->api, r->api.nccl.destroy(other),
                          "ncclCommDestroy", err);
}

/* Hangs: the last rank does not enter the last AlltoAll. */
static int hang(struct gpu_rank *r, const struct gpu_size *size,
                struct jp_error *err)
{
    int is_missing = r->rank == r->n_ranks - 1;

    if (gpu_rank_join(r, &r->comm, err) < 0 ||
        all_to_alls(r, size->bytes, size->count, err) < 0 ||
        gpu_rank_write(r, err) < 0)
        return -1;
    if (!is_missing && all_to_alls(r, size->bytes, 1, err) < 0)
        return -1;
    usleep((useconds_t) size->seconds_us);
    if (!is_missing &&
        r->api.cuda.stream_query(r->stream) != GPU_CUDA_NOT_READY)
        return error_set(err, "the AlltoAll did not hang");
    return raise(SIGKILL); /* as Slurm would end it */
}

/* ------------------------------------------------------------------ graphs */

/* Captures AllReduces into a graph. */
static int capture(struct gpu_rank *r, const struct gpu_size *size, void **exec,
                   struct jp_error *err)
{
    const struct gpu_cuda *cuda = &r->api.cuda;
    void *graph;
    int i;

    if (gpu_cuda_check(&r->api,
                       cuda->begin_capture(r->stream, GPU_CUDA_CAPTURE_RELAXED),
                       "cudaStreamBeginCapture", err) < 0)
        return -1;
    for (i = 0; i < size->per_launch; i++) {
        if (gpu_all_reduce(r, r->comm, size->bytes, err) < 0)
            return -1;
    }
    if (gpu_cuda_check(&r->api, cuda->end_capture(r->stream, &graph),
                       "cudaStreamEndCapture", err) < 0 ||
        gpu_cuda_check(&r->api, cuda->graph_instantiate(exec, graph, 0),
                       "cudaGraphInstantiateWithFlags", err) < 0)
        return -1;
    return gpu_cuda_check(&r->api, cuda->graph_destroy(graph),
                          "cudaGraphDestroy", err);
}

/* Replays a graph. eager: after this number of replays there is an eager
 * AllReduce of half the size; 0: none. */
static int replay(struct gpu_rank *r, const struct gpu_size *size, int eager,
                  struct jp_error *err)
{
    void *exec;
    int i;

    if (gpu_rank_join(r, &r->comm, err) < 0 || capture(r, size, &exec, err) < 0)
        return -1;
    for (i = 1; i <= size->count; i++) {
        if (gpu_span_begin(r, "AllReduce", size->bytes, size->per_launch, err) <
                0 ||
            gpu_cuda_check(&r->api, r->api.cuda.graph_launch(exec, r->stream),
                           "cudaGraphLaunch", err) < 0 ||
            gpu_span_end(r, err) < 0)
            return -1;
        if (eager && i % eager == 0 &&
            gpu_all_reduces(r, r->comm, size->bytes / 2, 1, err) < 0)
            return -1;
    }
    if (gpu_rank_sync(r, err) < 0 ||
        gpu_cuda_check(&r->api, r->api.cuda.graph_exec_destroy(exec),
                       "cudaGraphExecDestroy", err) < 0)
        return -1;
    return finish(r, err);
}

static int graph(struct gpu_rank *r, const struct gpu_size *size,
                 struct jp_error *err)
{
    return replay(r, size, 0, err);
}

static int graph_mix(struct gpu_rank *r, const struct gpu_size *size,
                     struct jp_error *err)
{
    return replay(r, size, 10, err);
}

/* ------------------------------------------------------- groups, latencies */

/* Runs n AllReduces in one group, as one span. */
static int group_of(struct gpu_rank *r, uint64_t bytes, int n,
                    struct jp_error *err)
{
    int i;

    if (gpu_span_begin(r, "AllReduce", bytes, n, err) < 0 ||
        group_start(r, err) < 0)
        return -1;
    for (i = 0; i < n; i++) {
        if (gpu_all_reduce(r, r->comm, bytes, err) < 0)
            return -1;
    }
    return group_end(r, err) < 0 ? -1 : gpu_span_end(r, err);
}

/* Groups of AllReduces. */
static int groups(struct gpu_rank *r, const struct gpu_size *size,
                  struct jp_error *err)
{
    int i;

    if (gpu_rank_join(r, &r->comm, err) < 0 ||
        gpu_all_reduces(r, r->comm, size->bytes - WARM_UP_LESS, WARM_UP, err) <
            0)
        return -1;
    for (i = 0; i < size->count; i++) {
        if (group_of(r, size->bytes, size->per_launch, err) < 0)
            return -1;
    }
    return finish(r, err);
}

/* AllReduces of many sizes: per size one span of all operations, after a
 * warm-up. */
static int latency(struct gpu_rank *r, const struct gpu_size *size,
                   struct jp_error *err)
{
    uint64_t bytes;
    int i;

    if (gpu_rank_join(r, &r->comm, err) < 0)
        return -1;
    for (bytes = LATENCY_FROM; bytes <= size->bytes; bytes *= 2) {
        for (i = -WARM_UP; i < size->count; i++) {
            if (i == 0 &&
                (gpu_rank_sync(r, err) < 0 ||
                 gpu_span_begin(r, "AllReduce", bytes, size->count, err) < 0))
                return -1;
            if (gpu_all_reduce(r, r->comm, bytes, err) < 0)
                return -1;
        }
        if (gpu_span_end(r, err) < 0 ||
            gpu_untimed(r, "AllReduce", bytes, WARM_UP, err) < 0)
            return -1;
    }
    return finish(r, err);
}

/* ----------------------------------------------------------------- the table
 */

static const struct gpu_pattern patterns[] = {
    {"allreduce",
     all_reduce,
     {1000, 1, 64 << 20, 0},
     "COUNT AllReduces, after 5 of 1 KB less"},
    {"sendrecv",
     mixed,
     {100, 1, LARGE_BYTES, 0},
     "COUNT groups of Send and Recv of 1 KB and 4 MB to and from all others"},
    {"alltoall",
     all_to_all,
     {100, 1, 64 << 20, 0},
     "COUNT AlltoAlls of Sends and Recvs, COUNT AllReduces, and 5 + COUNT of\n"
     "        half the size on another communicator"},
    {"hang",
     hang,
     {100, 1, 1 << 20, 5000000},
     "COUNT AlltoAlls, then one that the last rank does not enter; killed\n"
     "        after SECONDS, exit status 3"},
    {"graph",
     graph,
     {1000, 4, 1 << 20, 0},
     "PER AllReduces captured in a CUDA graph, replayed COUNT times"},
    {"graph-mix",
     graph_mix,
     {1000, 4, 1 << 20, 0},
     "the same, with an eager AllReduce after each tenth replay"},
    {"group",
     groups,
     {100, 32, 4 << 20, 0},
     "COUNT groups of PER AllReduces, after 5 of 1 KB less"},
    {"latency",
     latency,
     {50, 1, LATENCY_TO, 0},
     "AllReduces from 8 bytes on, doubled up to BYTES, COUNT of each size"},
    {"edge-eight",
     gpu_edge_eight,
     {20, 8, 1 << 20, 0},
     "COUNT AllReduces on each of PER communicators in turn"},
    {"edge-split",
     gpu_edge_split,
     {20, 1, 1 << 20, 0},
     "a communicator and one split from it"},
    {"edge-abort",
     gpu_edge_abort,
     {20, 1, 1 << 20, 0},
     "a communicator that is aborted, idle"},
    {"edge-nonblocking",
     gpu_edge_nonblocking,
     {20, 1, 1 << 20, 0},
     "a communicator whose calls do not block"},
    {"edge-windows",
     gpu_edge_windows,
     {20, 1, 1 << 20, 0},
     "symmetric windows, which bring kernels that NCCL tells no events of"},
    {"edge-fork",
     gpu_edge_fork,
     {20, 1, 1 << 20, 0},
     "children in between: one that exits at once, one that runs a program"},
    {"edge-exit",
     gpu_edge_exit,
     {20, 1, 1 << 20, 0},
     "_exit(2) with a live communicator"},
};

enum { N_PATTERNS = sizeof(patterns) / sizeof(patterns[0]) };

const struct gpu_pattern *gpu_pattern_find(const char *name)
{
    int i;

    for (i = 0; i < N_PATTERNS; i++) {
        if (strcmp(patterns[i].name, name) == 0)
            return &patterns[i];
    }
    return NULL;
}

void gpu_patterns_help(FILE *out)
{
    int i;

    for (i = 0; i < N_PATTERNS; i++)
        fprintf(out, "  %s\n        %s\n", patterns[i].name, patterns[i].help);
}

size_t gpu_pattern_bytes(const struct gpu_size *size)
{
    /* "sendrecv" has a large part for each rank */
    size_t least = (size_t) LARGE_BYTES * GPU_MAX_RANKS;

    return size->bytes > least ? size->bytes : least;
}
