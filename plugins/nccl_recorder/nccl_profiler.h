/* NCCL's public profiler interface, releases v1 to v6, in our own words.
 *
 * NCCL loads one profiler library per process and looks up a table named
 * ncclProfiler_vN, newest first; the table's layout and the event's layout
 * are one ABI per N. This header holds what all releases share; the tables
 * stand in nccl_profiler_old.h (v1 to v3) and nccl_profiler_new.h (v4 to v6).
 *
 *   interface  first NCCL   what it adds
 *   v1         2.23         functions and datatypes as numbers
 *   v2         2.24         functions and datatypes as names
 *   v3         2.26         KernelCh and NetPlugin events
 *   v4         2.27         communicator facts in init(), GPU time stamps
 *   v5         2.28         API and kernel launch events, a 64-bit type
 *   v6         2.29         copy engine events
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

/* Every callback returns one of NCCL's result numbers; we know two. */
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
};

/* Numbers of functions and datatypes, which only v1 hands over. */
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

/* NCCL's own logger, given to init() since v4; INFO shows with NCCL_DEBUG=INFO
 * only. INIT is the subsystem under which NCCL itself reports its plugins. */
enum { JP_NCCL_LOG_WARN = 2, JP_NCCL_LOG_INFO = 3 };
enum { JP_NCCL_LOG_INIT = 0x1 };

typedef void jp_nccl_log_fn(int level, unsigned long subsys, const char *file,
                            int line, const char *fmt, ...);

/* MAXCHANNELS in NCCL: a channel's number is below it. */
#define JP_NCCL_MAX_CHANNELS 64

#include "plugins/nccl_recorder/nccl_profiler_old.h"
#include "plugins/nccl_recorder/nccl_profiler_new.h"

#endif
