/* gpu_api.h - NCCL and the CUDA runtime, loaded from the machine's libraries.
 *
 * ncclrun is compiled on machines where neither is installed. These are its own
 * declarations of the few functions that it calls, after the reference manuals
 * of NCCL (nccl.h, public part) and of the CUDA runtime. Handles are pointers,
 * enumerations are ints, success is 0. */
#ifndef JP_GPU_API_H
#define JP_GPU_API_H

#include <stddef.h>

#include "common/error.h"

/* ncclUniqueId, which is passed by value. */
struct gpu_id {
    char bytes[128];
};

/* ncclConfig_t up to the members that 2.27 added. NCCL reads `size` bytes, and
 * uses its defaults for what is newer than `version`. Integers that are not set
 * are INT_MIN. */
struct gpu_config {
    size_t size;
    unsigned magic, version;
    int blocking;
    int cga_size, min_ctas, max_ctas;
    const char *net_name;
    int split_share, traffic_class;
    const char *comm_name;
    int collnet, cta_policy, shrink_share, nvls_ctas;
};

enum {
    GPU_NCCL_IN_PROGRESS = 7,
    GPU_NCCL_FLOAT = 7,
    GPU_NCCL_INT8 = 0,
    GPU_NCCL_SUM = 0,
    GPU_NCCL_WIN_SYMMETRIC = 1,
    GPU_NCCL_CONFIG_VERSION = 21400,
    GPU_NCCL_SPLIT_VERSION = 21700, /* has split_share */
    GPU_NCCL_NAMED_VERSION = 22700, /* has comm_name */
    GPU_NCCL_NO_COLOR = -1,
    GPU_CUDA_NOT_READY = 600,
    GPU_CUDA_CAPTURE_RELAXED = 2,
    GPU_CUDA_NON_BLOCKING = 1,
};

#define GPU_NCCL_MAGIC 0xcafebeefU /* magic number of a config */

struct gpu_cuda {
    int (*get_device_count)(int *n);
    int (*set_device)(int device);
    const char *(*get_error_string)(int rc);
    int (*malloc)(void **out, size_t bytes);
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_sync)(void *stream);
    int (*stream_query)(void *stream);
    int (*event_create)(void **event);
    int (*event_destroy)(void *event);
    int (*event_record)(void *event, void *stream);
    int (*event_elapsed)(float *ms, void *start, void *stop);
    int (*begin_capture)(void *stream, int mode);
    int (*end_capture)(void *stream, void **graph);
    int (*graph_instantiate)(void **exec, void *graph, unsigned long long);
    int (*graph_launch)(void *exec, void *stream);
    int (*graph_exec_destroy)(void *exec);
    int (*graph_destroy)(void *graph);
};

/* NCCL's functions; NULL: the release does not have it. */
struct gpu_nccl {
    int (*get_version)(int *version);
    const char *(*get_error_string)(int rc);
    int (*get_unique_id)(struct gpu_id *id);
    int (*init_rank)(void **comm, int n_ranks, struct gpu_id id, int rank);
    int (*init_rank_config)(void **comm, int n_ranks, struct gpu_id id,
                            int rank, struct gpu_config *config);
    int (*split)(void *comm, int color, int key, void **out,
                 struct gpu_config *config);
    int (*finalize)(void *comm);
    int (*destroy)(void *comm);
    int (*abort)(void *comm);
    int (*get_async_error)(void *comm, int *error);
    int (*all_reduce)(const void *send, void *recv, size_t count, int type,
                      int op, void *comm, void *stream);
    int (*send)(const void *buf, size_t count, int type, int peer, void *comm,
                void *stream);
    int (*recv)(void *buf, size_t count, int type, int peer, void *comm,
                void *stream);
    int (*all_gather)(const void *send, void *recv, size_t count, int type,
                      void *comm, void *stream);
    int (*reduce_scatter)(const void *send, void *recv, size_t count, int type,
                          int op, void *comm, void *stream);
    int (*broadcast)(const void *send, void *recv, size_t count, int type,
                     int root, void *comm, void *stream);
    int (*reduce)(const void *send, void *recv, size_t count, int type, int op,
                  int root, void *comm, void *stream);
    int (*all_to_all)(const void *send, void *recv, size_t count, int type,
                      void *comm, void *stream);
    int (*init_all)(void **comms, int n, const int *devices);
    int (*shrink)(void *comm, int *leaving, int n, void **out,
                  struct gpu_config *config, int flags);
    const char *(*get_last_error)(void *comm);
    int (*group_start)(void);
    int (*group_end)(void);
    int (*mem_alloc)(void **out, size_t bytes);
    int (*window_register)(void *comm, void *buf, size_t bytes, void **window,
                           int flags);
    int (*window_deregister)(void *comm, void *window);
};

struct gpu_api {
    struct gpu_cuda cuda;
    struct gpu_nccl nccl;
    int version; /* 23007: 2.30.7 */
};

/* Loads both libraries. nccl: path or name of libnccl.so.2. cudart: that of the
 * CUDA runtime, or NULL for the first one that is found. They are never
 * unloaded. */
int gpu_api_open(struct gpu_api *api, const char *nccl, const char *cudart,
                 struct jp_error *err);

/* Return 0 for success, otherwise -1 with the library's own text in err. */
int gpu_cuda_check(const struct gpu_api *api, int rc, const char *what,
                   struct jp_error *err);
int gpu_nccl_check(const struct gpu_api *api, int rc, const char *what,
                   struct jp_error *err);

#endif
