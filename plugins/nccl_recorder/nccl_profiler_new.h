/* NCCL's profiler interface v4 to v6: the communicator is told to init().
 *
 * Mind the arguments of init(): v4 has the hash after the name, v5 and v6
 * have it second. Include nccl_profiler.h.
 */
#ifndef JP_NCCL_PROFILER_NEW_H
#define JP_NCCL_PROFILER_NEW_H

struct jp_nccl_kernel_ch_v4 {
    uint8_t channel;
    uint64_t gpu_ns; /* globaltimer at the kernel's start; 0: not known */
};

/* Arguments of recordEventState() since v4; NULL for the group API states. */
union jp_nccl_args_v4 {
    struct {
        size_t trans_bytes;
    } proxy_step;
    struct {
        int appended;
    } proxy_ctrl;
    struct {
        void *data;
    } net_plugin;
    struct {
        uint64_t gpu_ns; /* globaltimer at the kernel's end */
    } kernel_ch;
};

/* ------------------------------------------------------------------ v4 -- */

struct jp_nccl_coll_v4 {
    uint64_t seq; /* counts per communicator and function, from 0 */
    const char *func;
    const void *send_buf;
    void *recv_buf;
    size_t count;
    int root;
    const char *datatype;
    uint8_t n_channels;
    uint8_t n_warps;
    const char *algo;
    const char *proto;
};

struct jp_nccl_p2p_v4 {
    const char *func;
    void *buf;
    const char *datatype;
    size_t count;
    int peer;
    uint8_t n_channels;
};

struct jp_nccl_descr_v4 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct jp_nccl_coll_v4 coll;
        struct jp_nccl_p2p_v4 p2p;
        struct jp_nccl_proxy_op proxy_op;
        struct jp_nccl_proxy_step proxy_step;
        struct jp_nccl_kernel_ch_v4 kernel_ch;
        struct jp_nccl_net_plugin net_plugin;
    };
};

struct jp_nccl_plugin_v4 {
    const char *name;
    int (*init)(void **context, int *mask, const char *comm_name,
                uint64_t comm_hash, int n_nodes, int n_ranks, int rank,
                jp_nccl_log_fn *log);
    int (*start)(void *context, void **handle, struct jp_nccl_descr_v4 *descr);
    int (*stop)(void *handle);
    int (*record)(void *handle, int state, union jp_nccl_args_v4 *args);
    int (*finalize)(void *context);
};

/* ------------------------------------------------------------------ v5 -- */

struct jp_nccl_group_api {
    bool graph_captured;
    int depth;
};

struct jp_nccl_coll_api {
    const char *func;
    size_t count;
    const char *datatype;
    int root;
    void *stream;
    bool graph_captured;
};

struct jp_nccl_p2p_api {
    const char *func;
    size_t count;
    const char *datatype;
    void *stream;
    bool graph_captured;
};

struct jp_nccl_kernel_launch {
    void *stream;
};

struct jp_nccl_coll_v5 {
    uint64_t seq;
    const char *func;
    const void *send_buf;
    void *recv_buf;
    size_t count;
    int root;
    const char *datatype;
    uint8_t n_channels;
    uint8_t n_warps;
    const char *algo;
    const char *proto;
    void *parent_group; /* what `parent` was until v4 */
};

struct jp_nccl_p2p_v5 {
    const char *func;
    void *buf;
    const char *datatype;
    size_t count;
    int peer;
    uint8_t n_channels;
    void *parent_group;
};

struct jp_nccl_descr_v5 {
    uint64_t type;
    void *parent;
    int rank;
    union {
        struct jp_nccl_group_api group_api;
        struct jp_nccl_coll_api coll_api;
        struct jp_nccl_p2p_api p2p_api;
        struct jp_nccl_kernel_launch kernel_launch;
        struct jp_nccl_coll_v5 coll;
        struct jp_nccl_p2p_v5 p2p;
        struct jp_nccl_proxy_op proxy_op;
        struct jp_nccl_proxy_step proxy_step;
        struct jp_nccl_kernel_ch_v4 kernel_ch;
        struct jp_nccl_net_plugin net_plugin;
    };
};

struct jp_nccl_plugin_v5 {
    const char *name;
    int (*init)(void **context, uint64_t comm_hash, int *mask,
                const char *comm_name, int n_nodes, int n_ranks, int rank,
                jp_nccl_log_fn *log);
    int (*start)(void *context, void **handle, struct jp_nccl_descr_v5 *descr);
    int (*stop)(void *handle);
    int (*record)(void *handle, int state, union jp_nccl_args_v4 *args);
    int (*finalize)(void *context);
};

/* ------------------------------------------------------------------ v6 -- */

/* A collective done by the copy engines; its time is not in the events. */
struct jp_nccl_ce_coll {
    uint64_t seq;
    const char *func;
    const void *send_buf;
    void *recv_buf;
    size_t count;
    int root;
    const char *datatype;
    const char *sync_strategy;
    bool intra_batch_sync;
    uint32_t batch_bytes;
    uint32_t n_batches;
    uint32_t ce_seq;
    void *stream;
};

struct jp_nccl_ce_sync {
    bool is_complete;
    int n_ranks;
};

struct jp_nccl_ce_batch {
    int n_ops;
    size_t total_bytes;
    bool intra_sync;
};

struct jp_nccl_descr_v6 {
    uint64_t type;
    void *parent;
    int rank;
    union {
        struct jp_nccl_group_api group_api;
        struct jp_nccl_coll_api coll_api;
        struct jp_nccl_p2p_api p2p_api;
        struct jp_nccl_kernel_launch kernel_launch;
        struct jp_nccl_coll_v5 coll;
        struct jp_nccl_p2p_v5 p2p;
        struct jp_nccl_proxy_op proxy_op;
        struct jp_nccl_proxy_step proxy_step;
        struct jp_nccl_kernel_ch_v4 kernel_ch;
        struct jp_nccl_net_plugin net_plugin;
        struct jp_nccl_ce_coll ce_coll;
        struct jp_nccl_ce_sync ce_sync;
        struct jp_nccl_ce_batch ce_batch;
    };
};

struct jp_nccl_plugin_v6 {
    const char *name;
    int (*init)(void **context, uint64_t comm_hash, int *mask,
                const char *comm_name, int n_nodes, int n_ranks, int rank,
                jp_nccl_log_fn *log);
    int (*start)(void *context, void **handle, struct jp_nccl_descr_v6 *descr);
    int (*stop)(void *handle);
    int (*record)(void *handle, int state, union jp_nccl_args_v4 *args);
    int (*finalize)(void *context);
};

#endif
