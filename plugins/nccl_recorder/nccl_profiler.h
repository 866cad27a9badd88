/* NCCL's public profiler interface, releases v1 to v7, in our own words.
 *
 * NCCL loads one profiler library per process and looks up a table named
 * ncclProfiler_vN, newest first. The layouts of the table and of the events are
 * one ABI for each N. The first part of this header is what all releases share;
 * v1 to v3 and v4 to v7 follow.
 *
 *   interface  first NCCL   what it adds
 *   v1         2.23         functions and datatypes as numbers
 *   v2         2.24         functions and datatypes as names
 *   v3         2.26         KernelCh and NetPlugin events
 *   v4         2.27         communicator facts in init(), GPU time stamps
 *   v5         2.28         API and kernel launch events, a 64-bit type
 *   v6         2.29         copy engine events
 *   v7         2.31.2       phases of a kernel, a tag of the program
 *
 * Source of every layout: NVIDIA/nccl, src/include/plugin/profiler/ at the
 * releases named (v1, v2: src/include/nccl_profiler.h). Sizes and offsets
 * were taken from those headers by a compiler (x86-64) and are asserted.
 */
#ifndef JP_NCCL_PROFILER_H
#define JP_NCCL_PROFILER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Every callback returns one of NCCL's result numbers, of which we need two. */
enum jp_nccl_result {
    JP_NCCL_SUCCESS = 0,
    JP_NCCL_SYSTEM_ERROR = 2,
};

/* Bits of the activation mask and values of an event's `type`. */
enum jp_nccl_event_type {
    JP_NCCL_GROUP = 1 << 0,          /* one launched plan */
    JP_NCCL_COLL = 1 << 1,           /* a collective being enqueued */
    JP_NCCL_P2P = 1 << 2,            /* a Send or Recv being enqueued */
    JP_NCCL_PROXY_OP = 1 << 3,       /* network side of one channel */
    JP_NCCL_PROXY_STEP = 1 << 4,     /* one network transfer of a ProxyOp */
    JP_NCCL_PROXY_CTRL = 1 << 5,     /* progress thread asleep, appending */
    JP_NCCL_KERNEL_CH = 1 << 6,      /* v3: GPU side of one channel */
    JP_NCCL_NET_PLUGIN = 1 << 7,     /* v3: whatever a net plugin reports */
    JP_NCCL_GROUP_API = 1 << 8,      /* v5: ncclGroupStart to ncclGroupEnd */
    JP_NCCL_COLL_API = 1 << 9,       /* v5: the user's collective call */
    JP_NCCL_P2P_API = 1 << 10,       /* v5: the user's Send or Recv call */
    JP_NCCL_KERNEL_LAUNCH = 1 << 11, /* v5 */
    JP_NCCL_CE_COLL = 1 << 12,       /* v6: a copy engine collective */
    JP_NCCL_CE_SYNC = 1 << 13,       /* v6 */
    JP_NCCL_CE_BATCH = 1 << 14,      /* v6 */
    JP_NCCL_KERNEL_PHASE = 1 << 15,  /* v7: a part of a KernelCh */
};

/* What recordEventState() reports; 0 to 7 were retired with v4. */
enum jp_nccl_state {
    JP_NCCL_STEP_SEND_GPU_WAIT = 8,
    JP_NCCL_STEP_SEND_WAIT = 9,
    JP_NCCL_STEP_RECV_WAIT = 10,
    JP_NCCL_STEP_RECV_FLUSH_WAIT = 11,
    JP_NCCL_STEP_RECV_GPU_WAIT = 12,
    JP_NCCL_CTRL_IDLE = 13,
    JP_NCCL_CTRL_ACTIVE = 14,
    JP_NCCL_CTRL_SLEEP = 15,
    JP_NCCL_CTRL_WAKEUP = 16,
    JP_NCCL_CTRL_APPEND = 17,
    JP_NCCL_CTRL_APPEND_END = 18,
    JP_NCCL_OP_IN_PROGRESS = 19,       /* v4 */
    JP_NCCL_STEP_SEND_PEER_WAIT = 20,  /* v4 */
    JP_NCCL_NET_PLUGIN_UPDATE = 21,    /* v4 */
    JP_NCCL_KERNEL_CH_STOP = 22,       /* v4: carries the GPU's stop time */
    JP_NCCL_GROUP_START_API_STOP = 23, /* v5 */
    JP_NCCL_GROUP_END_API_START = 24,  /* v5 */
    JP_NCCL_KERNEL_PHASE_STOP = 31,    /* v7: carries the phase's end */
};

/* Numbers of functions and datatypes; only v1 passes numbers. */
enum jp_nccl_func {
    JP_NCCL_BROADCAST = 0,
    JP_NCCL_REDUCE,
    JP_NCCL_ALL_GATHER,
    JP_NCCL_REDUCE_SCATTER,
    JP_NCCL_ALL_REDUCE,
    JP_NCCL_SEND_RECV,
    JP_NCCL_SEND,
    JP_NCCL_RECV,
    JP_NCCL_N_FUNCS,
};

enum jp_nccl_datatype {
    JP_NCCL_INT8 = 0,
    JP_NCCL_UINT8,
    JP_NCCL_INT32,
    JP_NCCL_UINT32,
    JP_NCCL_INT64,
    JP_NCCL_UINT64,
    JP_NCCL_FLOAT16,
    JP_NCCL_FLOAT32,
    JP_NCCL_FLOAT64,
    JP_NCCL_BFLOAT16,
    JP_NCCL_FLOAT8E4M3,
    JP_NCCL_FLOAT8E5M2,
    JP_NCCL_N_DATATYPES,
};

/* NCCL's own logger, which init() gets since v4. INFO is shown only with
 * NCCL_DEBUG=INFO. INIT is the subsystem under which NCCL itself reports its
 * plugins. */
enum { JP_NCCL_LOG_WARN = 2, JP_NCCL_LOG_INFO = 3 };
enum { JP_NCCL_LOG_INIT = 0x1 };

typedef void jp_nccl_log_fn(int level, unsigned long subsys, const char *file,
                            int line, const char *fmt, ...);

/* MAXCHANNELS in NCCL: channel numbers are below it. */
#define JP_NCCL_MAX_CHANNELS 64

/* NCCL's profiler interface v1 to v3: the communicator comes with the event.
 *
 * init() gets no facts. Name, hash and rank of the communicator come with each
 * Coll and P2p event, its size never.
 */

/* A ProxyOp event, the same in all seven interfaces. `pid` is the process that
 * issued the operation. With PXN it may be another one, and its handles mean
 * nothing here. */
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

struct jp_nccl_coll_v3 { /* as in v2, without traffic_bytes */
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
/* NCCL's profiler interface v4 to v7: init() gets the communicator.
 *
 * Note the order of init()'s arguments: v4 has the hash after the name, v5 and
 * later have it second.
 */

struct jp_nccl_kernel_ch_v4 {
    uint8_t channel;
    uint64_t gpu_ns; /* globaltimer at the kernel's start; 0: unknown */
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

/* ------------------------------------------------------------------ v7 -- */

/* The program's tag of a call (ncclCollConfig_t.userProfilerTag); 0: none. NCCL
 * keeps numbers with the highest bit for itself. */

struct jp_nccl_coll_api_v7 {
    const char *func;
    size_t count;
    const char *datatype;
    int root;
    void *stream;
    bool graph_captured;
    uint64_t tag;
};

struct jp_nccl_p2p_api_v7 {
    const char *func;
    size_t count;
    const char *datatype;
    void *stream;
    bool graph_captured;
    uint64_t tag;
};

struct jp_nccl_coll_v7 {
    uint64_t seq;
    const char *func;
    const void *send_buf;
    void *recv_buf;
    size_t count;
    int root;
    const char *datatype;
    uint8_t n_channels; /* of a symmetric launch: 0 but for its first one */
    uint8_t n_warps;
    const char *algo;
    const char *proto;
    void *parent_group;
    const char *variant; /* of a symmetric kernel; else NULL */
    bool symmetric;      /* done by a symmetric kernel */
    uint64_t tag;
};

struct jp_nccl_p2p_v7 {
    const char *func;
    void *buf;
    const char *datatype;
    size_t count;
    int peer;
    uint8_t n_channels;
    void *parent_group;
    uint64_t tag;
};

struct jp_nccl_ce_coll_v7 {
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
    uint64_t tag;
};

/* Phases of a kernel. NCCL reports those of a channel once it is over, each
 * with its start, its end (JP_NCCL_KERNEL_PHASE_STOP) and its stop one right
 * after the other, before the channel's own stop; one without duration is left
 * out. Only symmetric kernels meet the other ranks at their begin and at their
 * end: there the initial one is the wait for them. In the others it is the time
 * in which a block loads its work, and the waits are in the second one
 * (src/device/common.h, src/device/symmetric). */
enum jp_nccl_phase {
    JP_NCCL_PHASE_SYNC,
    JP_NCCL_PHASE_COMPUTE,
    JP_NCCL_PHASE_CLOSE,
    JP_NCCL_N_PHASES,
};

struct jp_nccl_kernel_phase {
    uint8_t channel;
    uint8_t phase; /* enum jp_nccl_phase */
    const char *name;
    uint64_t gpu_ns; /* its start */
};

struct jp_nccl_descr_v7 {
    uint64_t type;
    void *parent;
    int rank;
    union {
        struct jp_nccl_group_api group_api;
        struct jp_nccl_coll_api_v7 coll_api;
        struct jp_nccl_p2p_api_v7 p2p_api;
        struct jp_nccl_kernel_launch kernel_launch;
        struct jp_nccl_coll_v7 coll;
        struct jp_nccl_p2p_v7 p2p;
        struct jp_nccl_proxy_op proxy_op;
        struct jp_nccl_proxy_step proxy_step;
        struct jp_nccl_kernel_ch_v4 kernel_ch;
        struct jp_nccl_net_plugin net_plugin;
        struct jp_nccl_ce_coll_v7 ce_coll;
        struct jp_nccl_ce_sync ce_sync;
        struct jp_nccl_ce_batch ce_batch;
        struct jp_nccl_kernel_phase kernel_phase;
    };
};

struct jp_nccl_plugin_v7 {
    const char *name;
    int (*init)(void **context, uint64_t comm_hash, int *mask,
                const char *comm_name, int n_nodes, int n_ranks, int rank,
                jp_nccl_log_fn *log);
    int (*start)(void *context, void **handle, struct jp_nccl_descr_v7 *descr);
    int (*stop)(void *handle);
    int (*record)(void *handle, int state, union jp_nccl_args_v4 *args);
    int (*finalize)(void *context);
};

#endif
