/* jpr.h - what a recorder file contains: the records, and the numbers of the
 * format.
 *
 * Shared by the plugin, which writes, and jpr_read.h, which reads. The layout
 * on disk is in docs/dev/recorder-format.md. Times are ns. `_mono_ns` is
 * CLOCK_MONOTONIC of the writing process; the clock triples of the header and
 * the counters tie it to wall time. `gpu_ns` is the GPU's globaltimer, an
 * unrelated clock. A time of 0 is unknown.
 */
#ifndef JP_JPR_H
#define JP_JPR_H

#include <stdbool.h>
#include <stdint.h>

/* Version 2 adds JPR_ROW_UNSURE, struct jpr_doubts and jpr_header.kernels;
 * version 4 adds phases and tags of operations, and pauses; version 8 adds
 * times that come later. A reader takes all of them. There is no version
 * between: a flipped bit of the head, which has no checksum, must not make one
 * version of another. */
enum { JPR_VERSION = 8, JPR_OLDEST_VERSION = 1 };

/* Bounds that writer and reader share; a reader refuses a file beyond them. */
enum {
    JPR_MAX_RAW_BYTES = 1 << 20, /* payload of a block before compression */
    JPR_MAX_TEXT_BYTES = 1024,   /* one string, without a final NUL */
    JPR_MAX_STRINGS = 4096,      /* dictionary of a block */
    JPR_MAX_TEMPLATES = 16384,   /* different operations of a block */
    JPR_MAX_COMMS = 1 << 16,     /* communicators of a file */
    JPR_MAX_VARIABLES = 64,      /* environment variables in a header */
    JPR_MAX_NOTES = 16,
    JPR_MAX_PIDS = 33, /* the kernel's nested pid namespaces, and the first */
    /* operations that wait for their times at once, and how far behind an
     * operation its times are looked for */
    JPR_MAX_LATER = 1 << 14,
    JPR_MAX_LATER_BYTES = 16 << 20,
    JPR_MAX_TIMES_BYTES = 1 << 16, /* payload of a block of times */
};

/* The three clocks, read one right after the other. */
struct jpr_clocks {
    uint64_t mono_ns; /* CLOCK_MONOTONIC */
    uint64_t real_ns; /* CLOCK_REALTIME, since 1970 */
    uint64_t raw_ns;  /* CLOCK_MONOTONIC_RAW */
};

struct jpr_variable {
    const char *name;
    const char *value;
};

/* One per file, before anything else. Strings are never NULL. */
struct jpr_header {
    struct jpr_clocks clocks;
    const char *recorder; /* "jobprof 0.1.0" */
    const char *hostname;
    const char *boot_id; /* "" without /proc */
    uint64_t pid;
    uint64_t pid_namespace; /* inode of /proc/self/ns/pid; 0: unknown */
    const char *job;        /* SLURM_JOB_ID and so on; "" outside a step */
    const char *step;
    int64_t procid; /* -1: unknown; the same below */
    int64_t nodeid;
    int64_t localid;
    uint64_t interface;      /* 1 to 7: ncclProfiler_vN */
    uint64_t nccl_release;   /* 23007 is 2.30.7; 0: unknown */
    uint64_t memory_bytes;   /* limit of the recorder's memory */
    uint64_t disk_bytes;     /* cap of this file; 0: none */
    uint64_t min_free_bytes; /* 0: none */
    bool net;                /* network waits were requested */
    uint32_t n_variables;
    struct jpr_variable variables[JPR_MAX_VARIABLES];
    uint32_t n_notes; /* settings that were ignored, why nothing is recorded */
    const char *notes[JPR_MAX_NOTES];
    bool kernels;   /* kernel events (KernelCh) were requested when the file
                       began; version 1: true */
    uint64_t start; /* of the process: field 22 of /proc/self/stat, in ticks
                       after boot; 0: unknown, as in files of older releases */
};

/* Who the process is, as only itself knows; one per file, after the header.
 * Files of older releases have none. */
struct jpr_process {
    /* what launchers told it (common/launched.h), of the variables that are
     * set */
    uint32_t n_variables;
    struct jpr_variable variables[JPR_MAX_VARIABLES];
    /* its id in each pid namespace, from the one that its /proc belongs to down
     * to its own; none: unknown */
    uint32_t n_pids;
    uint64_t pids[JPR_MAX_PIDS];
};

/* One per communicator, before its first operation. */
struct jpr_comm {
    uint32_t index;   /* the communicator's number in the file */
    bool known;       /* false: NCCL gave neither id nor name (v1 to v3) */
    uint64_t id;      /* NCCL's 64-bit hash */
    const char *name; /* "" when none was set */
    int64_t rank;
    int64_t n_ranks;      /* 0: unknown (v1 to v3) */
    int64_t n_nodes;      /* NVLink domains, not hosts; 0: unknown */
    const char *gpu_pci;  /* "0000:4f:00.0"; "" where there is no GPU */
    const char *gpu_uuid; /* "GPU-..."; "" where there is no GPU */
    uint64_t init_mono_ns;
};

enum jpr_op_kind { JPR_COLL, JPR_P2P, JPR_CE, JPR_N_OP_KINDS };

/* Sequence numbers from here to twice that are the recorder's own. Without
 * kernel events NCCL gives all replays of a captured collective one number. The
 * recorder's numbers count per communicator and function. */
#define JPR_REPLAY_SEQ (UINT64_C(1) << 40)

/* Source of the execution time, best first; the three of NVIDIA's Inspector. */
enum jpr_source {
    JPR_KERNEL_GPU,     /* GPU time stamps of the kernel's channels */
    JPR_KERNEL_CPU,     /* when the host saw those channels */
    JPR_COLLECTIVE_CPU, /* host: from being enqueued until the last child
                           stopped */
};

/* Network waits, summed over the steps of an operation. */
enum jpr_wait {
    JPR_WAIT_SEND_GPU,  /* the sender waits for data from its GPU */
    JPR_WAIT_SEND_PEER, /* ... for credit from the receiver */
    JPR_WAIT_SEND,      /* ... for the network */
    JPR_WAIT_RECV,      /* the receiver waits for the network */
    JPR_WAIT_RECV_FLUSH,
    JPR_WAIT_RECV_GPU,
    JPR_N_WAITS,
};

/* One operation. Strings are never NULL, "" is "unknown". */
struct jpr_op {
    uint32_t comm; /* index of a struct jpr_comm */
    enum jpr_op_kind kind;
    /* collectives, CE: NCCL's number; p2p: counted by the recorder */
    uint64_t seq;
    const char *func;     /* "AllReduce" */
    const char *datatype; /* "ncclFloat32" */
    const char *algo;     /* "RING"; CE: the synchronisation strategy */
    const char *proto;    /* "LL128" */
    uint64_t count;
    uint64_t bytes; /* count times the datatype's size, as enqueued */
    int64_t root;   /* -1 for p2p */
    int64_t peer;   /* -1 for collectives */
    uint32_t n_channels;
    const char *api_func; /* what the program called (v5+), else "" */
    const char *api_datatype;
    uint64_t api_count;
    bool graph_captured;

    uint64_t enqueue_start_mono_ns;
    uint64_t enqueue_stop_mono_ns; /* 0: the call never returned */
    uint64_t kernel_first_mono_ns; /* first channel's start, host */
    uint64_t kernel_last_mono_ns;  /* last channel's stop, host */
    uint64_t gpu_first_ns;         /* the same by the GPU */
    uint64_t gpu_last_ns;
    uint64_t exec_ns; /* longest channel; exec_ns / 1000 is Inspector's us */
    enum jpr_source source;
    bool incomplete; /* ended without its last child: its times are not complete
                      */
    bool overtaken; /* ... because later ones had ended: it is over, not pending
                     */
    bool unsure; /* no event shows when it ended, see enum jpr_doubt: its time
                    is unknown. In flight: it may have ended */

    /* For operations in flight (JPR_INFLIGHT) and incomplete ones. */
    uint32_t channels_started;
    uint32_t channels_stopped;

    bool has_net;
    uint64_t wait_ns[JPR_N_WAITS];
    uint64_t net_steps;
    uint64_t net_bytes;

    /* From version 4 on (NCCL's v7). The tag is the program's; 0: none. */
    uint64_t tag;
    bool symmetric; /* done by a symmetric kernel */
    /* The phases of a symmetric kernel, the longest of its channels: the wait
     * for the other ranks before it begins and before it ends, and what is
     * between. */
    bool has_phases;
    uint64_t sync_ns, compute_ns, close_ns;

    /* From version 8 on: nothing had proven whose the GPU's time stamps were
     * when the operation was written. Its times by the GPU are in a later block
     * of times under this number, from 1 on; the reader fills them in. Where
     * they never came, exec_ns is 0. 0: they came with it. */
    uint64_t later;
};

/* The times of an operation by the GPU, as in struct jpr_op, once they were
 * proven to be its own. */
struct jpr_times {
    uint64_t number; /* jpr_op.later */
    uint64_t gpu_first_ns, gpu_last_ns, exec_ns;
    uint64_t sync_ns, compute_ns, close_ns;
    bool has_phases;
};

/* The last state of an operation in flight. A snapshot is a run of these with
 * the same `at_mono_ns`; it replaces the one before it. */
struct jpr_inflight {
    uint64_t at_mono_ns;
    uint32_t left; /* how many of this snapshot follow; 0: this is the last */
    /* operations in flight that the snapshot had no room for */
    uint32_t omitted;
    bool none; /* nothing was in flight: `op` is empty */
    struct jpr_op op;
};

/* In a final record produced = written + lost + left_out. Before that the
 * difference is in flight, or over and not written yet. */
struct jpr_counts {
    uint64_t produced; /* started by NCCL */
    uint64_t written;  /* records in this file */
    uint64_t lost;     /* no room in memory, or the file took no more */
    uint64_t left_out; /* on purpose, at the cap of the file */
};

struct jpr_comm_counts {
    uint32_t comm;
    const char *func;
    bool finalized; /* of the communicator */
    struct jpr_counts counts;
};

/* Calls of the program (v5, v6; without those captured in a graph) for which
 * NCCL reported no operation. Only their number is known. A call whose
 * operation is still to come also counts until then. */
struct jpr_unseen {
    uint32_t comm;
    const char *func; /* of the API: "Broadcast" */
    uint64_t calls;
};

/* Why the kernel events of a communicator are not used. From then on its
 * operations have no time (`unsure`). They count as over when their network
 * transfers have ended or the communicator had a later launch. Sources and
 * releases: docs/dev/recorder-format.md, "Kernel events". Bits. */
enum jpr_doubt {
    JPR_DOUBT_NOT_ASKED =
        1, /* kernels=0, or a release where they are not safe */
    JPR_DOUBT_SELF_COPY =
        2, /* a Send to oneself: counts of host and device differ */
    JPR_DOUBT_BROADCAST = 4, /* Broadcasts of several roots in a group, or
                                one in a graph (2.29, 2.30) */
    JPR_DOUBT_GRAPH_MIX = 8, /* graph replays after eager calls */
    JPR_DOUBT_STALE = 16, /* time stamps of earlier operations were reported */
    JPR_DOUBTS = 31,
};

struct jpr_doubts {
    uint32_t comm;
    uint64_t reasons; /* enum jpr_doubt */
    uint64_t unsure;  /* operations without kernel events for these reasons */
    /* other operations with time stamps that contradict others or the host's
     * clock: over, but their time is unknown */
    uint64_t refused;
};

/* A stretch of time in which nothing was recorded on purpose, to 100 ms
 * (rec_pause.c). */
enum jpr_pause_why {
    JPR_PAUSE_BY_MASK = 1, /* NCCL raised no events: RAS, PROFILER_MASK */
    JPR_PAUSE_BY_FILE = 2, /* the folder had a JPR_PAUSE_FILE: jobprof record */
};

#define JPR_PAUSE_FILE "record.off"

/* Bound of a file. */
enum { JPR_MAX_PAUSES = 32 };

struct jpr_pause {
    uint64_t from_ns; /* CLOCK_MONOTONIC */
    uint64_t to_ns;   /* 0: it had not ended */
    uint64_t why;     /* enum jpr_pause_why */
    /* Operations in it: by a mask, collectives by their numbers, as far as
     * later ones show them; by a file, all. */
    uint64_t skipped;
};

/* Why there was no room for records. Bits. */
enum jpr_limit {
    JPR_LIMIT_DISK = 1,     /* the cap of the file: disk= */
    JPR_LIMIT_MIN_FREE = 2, /* little of the file system was free: min_free= */
    JPR_LIMIT_WRITE = 4,    /* a write failed: `error` says why */
    JPR_LIMITS = 7,
};

/* Whether there is room, from here on in the file. Once it is full, only some
 * operations follow. */
struct jpr_room {
    bool full;
    uint64_t limits;   /* enum jpr_limit: those that were reached so far */
    uint64_t since_ns; /* the first of them, CLOCK_MONOTONIC; 0: none */
    uint64_t error;    /* errno of the first failed write; 0: none */
};

/* The recorder's own cost in the process, from the header's clocks to the
 * clocks of these counters. */
struct jpr_cost {
    bool told;          /* false: an older file; the rest is 0 */
    uint64_t events;    /* callbacks that NCCL made */
    uint64_t timed;     /* of these, how many were timed, a sample */
    uint64_t timed_ns;  /* their sum, with the clock reads */
    uint64_t life_ns;   /* init and finalize of communicators, in the program */
    uint64_t writer_ns; /* CPU time of the writing thread */
};

/* Sums since the start of the process. A counters record holds the rows that
 * changed; the last row of a communicator and function counts. */
struct jpr_counters {
    struct jpr_clocks clocks;
    bool final; /* the process or its last communicator has ended; if nothing
                   follows, the file is complete */
    struct jpr_counts kinds[JPR_N_OP_KINDS];
    uint64_t in_flight;
    uint64_t lost_steps;   /* network steps that are in no wait */
    uint64_t lost_comms;   /* communicators without a place */
    uint64_t lost_foreign; /* their operations */
    uint64_t n_rows;
    const struct jpr_comm_counts *rows;
    /* changed rows; 0 calls: the operations came after all */
    uint64_t n_unseen;
    const struct jpr_unseen *unseen;
    struct jpr_cost cost;
    uint64_t n_doubts; /* changed rows; from version 2 on */
    const struct jpr_doubts *doubts;
    uint64_t n_pauses; /* all of the process; from version 4 on */
    const struct jpr_pause *pauses;
};

#endif
