/* NCCL's profiler interface v1 to v3: the communicator travels in the event.
 *
 * init() is told nothing; name, hash and rank of the communicator come with
 * each Coll and P2p event, its size never does. Include nccl_profiler.h.
 */
#ifndef JP_NCCL_PROFILER_OLD_H
#define JP_NCCL_PROFILER_OLD_H

/* A ProxyOp event: the same in all six interfaces. `pid` is the process that
 * issued the operation: with PXN another one, whose handles mean nothing
 * here. */
struct jp_nccl_proxy_op {
    pid_t pid;
    uint8_t channel;
    int peer;
    int n_steps;
    int chunk_bytes;
    int is_send;
};

struct jp_nccl_proxy_step {
    int step;
};

struct jp_nccl_net_plugin {
    int64_t id;
    void *data;
};

/* ------------------------------------------------------------------ v1 -- */

struct jp_nccl_coll_v1 {
    const char *comm_name;
    uint64_t comm_hash;
    uint64_t seq;
    uint8_t func; /* enum jp_nccl_func */
    const void *send_buf;
    void *recv_buf;
    size_t count;
    int root;
    uint8_t datatype; /* enum jp_nccl_datatype */
    uint32_t op;
    size_t traffic_bytes;
    uint8_t max_channels;
    uint8_t n_warps;
    uint8_t algo;
    uint8_t proto;
    int is_collnet;
    int is_nvls;
};

struct jp_nccl_p2p_v1 {
    const char *comm_name;
    uint64_t comm_hash;
    uint8_t func;
    void *buf;
    uint8_t datatype;
    size_t count;
    int peer;
};

struct jp_nccl_descr_v1 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct jp_nccl_coll_v1 coll;
        struct jp_nccl_p2p_v1 p2p;
        struct jp_nccl_proxy_op proxy_op;
        struct jp_nccl_proxy_step proxy_step;
    };
};

/* Arguments of recordEventState(), the same in v1, v2 and v3. */
union jp_nccl_args_v1 {
    struct {
        size_t trans_bytes;
        int steps;
    } proxy_op;
    struct {
        int appended;
    } proxy_ctrl;
};

/* The table a plugin exports as ncclProfiler_v1. */
struct jp_nccl_plugin_v1 {
    const char *name;
    int (*init)(void **context, int *mask);
    int (*start)(void *context, void **handle, struct jp_nccl_descr_v1 *descr);
    int (*stop)(void *handle);
    int (*record)(void *handle, int state, union jp_nccl_args_v1 *args);
    int (*finalize)(void *context);
};

/* ------------------------------------------------------------------ v2 -- */

struct jp_nccl_coll_v2 {
    const char *comm_name;
    uint64_t comm_hash;
    uint64_t seq;
    const char *func; /* "AllReduce", ... */
    const void *send_buf;
    void *recv_buf;
    size_t count;
    int root;
    const char *datatype; /* "ncclFloat32", ...; uint8 comes as "Unknown" */
    size_t traffic_bytes;
    uint8_t max_channels;
    uint8_t n_warps;
    const char *algo;
    const char *proto;
};

struct jp_nccl_p2p_v2 {
    const char *comm_name;
    uint64_t comm_hash;
    const char *func;
    void *buf;
    const char *datatype;
    size_t count;
    int peer;
};

struct jp_nccl_descr_v2 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct jp_nccl_coll_v2 coll;
        struct jp_nccl_p2p_v2 p2p;
        struct jp_nccl_proxy_op proxy_op;
        struct jp_nccl_proxy_step proxy_step;
    };
};

struct jp_nccl_plugin_v2 {
    const char *name;
    int (*init)(void **context, int *mask);
    int (*start)(void *context, void **handle, struct jp_nccl_descr_v2 *descr);
    int (*stop)(void *handle);
    int (*record)(void *handle, int state, union jp_nccl_args_v1 *args);
    int (*finalize)(void *context);
};

/* ------------------------------------------------------------------ v3 -- */

struct jp_nccl_coll_v3 { /* v2's without traffic_bytes */
    const char *comm_name;
    uint64_t comm_hash;
    uint64_t seq;
    const char *func;
    const void *send_buf;
    void *recv_buf;
    size_t count;
    int root;
    const char *datatype;
    uint8_t max_channels;
    uint8_t n_warps;
    const char *algo;
    const char *proto;
};

struct jp_nccl_kernel_ch_v3 {
    uint8_t channel;
};

struct jp_nccl_descr_v3 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct jp_nccl_coll_v3 coll;
        struct jp_nccl_p2p_v2 p2p;
        struct jp_nccl_proxy_op proxy_op;
        struct jp_nccl_proxy_step proxy_step;
        struct jp_nccl_kernel_ch_v3 kernel_ch;
        struct jp_nccl_net_plugin net_plugin;
    };
};

struct jp_nccl_plugin_v3 {
    const char *name;
    int (*init)(void **context, int *mask);
    int (*start)(void *context, void **handle, struct jp_nccl_descr_v3 *descr);
    int (*stop)(void *handle);
    int (*record)(void *handle, int state, union jp_nccl_args_v1 *args);
    int (*finalize)(void *context);
};

#endif
