/* livesnap.h - a node's state while its step runs, mostly in 4 KiB: written by
 * the node's agent, read by node 0's agent, `jobprof top` and metrics.
 *
 * live/nodes/<component>.<node's number>.snap of the step directory is
 * overwritten in place by one pwrite() of as many blocks of 4 KiB as it needs.
 * A reader may therefore meet a torn snapshot; the sum shows it, and the reader
 * tries again or keeps its previous state. A snapshot's age is judged by the
 * times inside, never by those of the file: on NFS the file's attributes are up
 * to a minute old. If the clock module runs, the same bytes go to node 0's
 * agent by UDP (livelink.h), and the file is written less often. A snapshot of
 * more than 4 KiB goes by its file only.
 *
 *   offset  bytes
 *   0       8      "JPLIVE\r\n"
 *   8       4      version
 *   12      4      bytes of the body
 *   16      8      first half of the hash of job.conf; 0: unknown
 *   24      4      node's number in the step
 *   28      4      sequence number of the snapshot, from 1 on
 *   32      8      CLOCK_REALTIME, ns
 *   40      8      CLOCK_MONOTONIC, ns
 *   48      4      milliseconds until the next one is due
 *   52      1      enum live_class, the node's worst
 *   53      1      1: the last one, the agent ends
 *   54      6      0
 *   60      4      CRC-32 of head and body, this field taken as 0
 *
 * Numbers are little-endian. The body consists of varints and texts as in a
 * recording (plugins/nccl_recorder/jpr_frame.h): the node's name; the number of
 * ranks left out; the ranks; the communicators, worst first, each after a 1,
 * with its fronts and operations; a 0; the number of communicators left out.
 * New members are appended to a row only with a new version number. A process
 * with several GPUs lists them, and its fronts and operations have a number:
 * 1 is the first of them, 0: unknown.
 */
#ifndef JP_LIVE_LIVESNAP_H
#define JP_LIVE_LIVESNAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/defaults.h"
#include "common/error.h"
#include "orchestrator/ingest/hangs.h"
#include "orchestrator/ingest/hung.h"

#define LIVE_SNAP_SUFFIX ".snap"

/* The time over which rates and means are taken. */
#define LIVE_RECENT_MS 30000

enum {
    LIVE_SNAP_VERSION = 5, /* version 1 has no logs, version 2 no launchers'
                              numbers, version 3 no GPUs, and version 4 writes
                              unknown rates as 0; all are still read */
    LIVE_BLOCK_BYTES = 4096,
    LIVE_SNAP_BYTES = 64 * LIVE_BLOCK_BYTES,
    LIVE_HEAD_BYTES = 64,
    /* most ranks of a node in the table; the rest is only counted */
    LIVE_RANKS_MAX = JP_WATCHED_PROCESSES,
    LIVE_COMMS_MAX = 1024,
    LIVE_FRONTS_MAX = 8192,
    LIVE_OPS_MAX = 1024,
    /* most GPUs of processes that have several; of others the processes are
     * told only */
    LIVE_GPUS_MAX = 1024,
    LIVE_GPU_LEN = 32,
    LIVE_JOINED_MAX = LIVE_RANKS_MAX + LIVE_GPUS_MAX,
    LIVE_NODE_LEN = 64,
    LIVE_COMM_NAME_LEN = 24
};

/* Class of a node. It decides how soon the next snapshot is written. */
enum live_class { LIVE_EMPTY, LIVE_WORKS, LIVE_WAITS, LIVE_TROUBLE };

/* A process. Sums are since its start. */
struct live_rank {
    int64_t pid;  /* as in the recording */
    int64_t task; /* Slurm's id, if the process is a task itself; -1: unknown */
    /* the numbers that launchers gave it; -1: none */
    int64_t numbers[LAUNCHED_KINDS];
    bool numbered; /* there is one */
    enum hung_state state;
    bool final, damaged, busy;
    /* The process is known from a log of ended operations (livelog.c):
     * operations in flight are unknown, produced equals over, and counted_ns is
     * the time of the log's last growth. */
    bool logs;
    uint64_t longest_ms; /* longest time without a growth so far; 0: not learnt
                            yet */
    uint64_t batch_ms;   /* interval at which the log is written; 0: unknown */
    int64_t counted_ns;  /* wall clock: last message of its recorder, or of the
                            kernel if the process is stopped or gone */
    uint64_t produced, over; /* operations begun; ended, lost or left out */
    uint64_t bytes;          /* of the operations that ended */
    uint64_t in_flight;
    uint64_t cpu_ms; /* processor time */
    /* The next two are unknown (and 0): the counters of its operations were not
     * seen twice yet. */
    bool unrated;
    /* over the last LIVE_RECENT_MS, with fading weights; they fall to 0 while
     * nothing ends */
    uint64_t rate_milli; /* operations ended per 1,000 s */
    /* share of its time spent in operations; above 1,000 if they overlap */
    uint64_t share_permille;
    /* its GPUs in the snapshot's list, where it has several */
    uint32_t first_gpu, n_gpus;
    /* of the process's only GPU; -1: unknown */
    int32_t gpu_permille, gpu_mhz, gpu_watts;
};

struct live_comm {
    uint64_t hash;
    int64_t n_ranks;
    char name[LIVE_COMM_NAME_LEN];
};

/* The position of a rank in a (communicator, function): struct progress_row. */
struct live_front {
    uint32_t rank, comm; /* indices into ranks and comms of this snapshot */
    uint32_t gpu;        /* 1: the first of the process's; 0: unknown */
    int64_t comm_rank;
    /* enum jpr_op_kind; JPR_N_OP_KINDS: membership only, without operations */
    unsigned kind;
    char func[RECORD_MAX_FUNC + 1];
    uint64_t begun, ended;
    /* As in live_rank: operations ended per 1,000 s. Mean time and size are
     * those of the operations that were read; 0: none was. The bandwidth is
     * that of common/bandwidth.h for one such operation. */
    uint64_t rate_milli, mean_us, mean_bytes;
};

/* An operation in flight: struct hangs_op. */
struct live_op {
    uint32_t rank, comm;
    uint32_t gpu; /* as in live_front */
    int64_t comm_rank, peer;
    enum jpr_op_kind kind;
    char func[RECORD_MAX_FUNC + 1];
    uint64_t seq, bytes;
    int64_t start_ns, until_ns, limit_ns;
    bool captured, unsure, cut_short;
    uint32_t channels, started, stopped;
};

struct live_snap {
    uint64_t conf;
    uint32_t nodeid, sequence;
    uint64_t real_ns, mono_ns;
    uint32_t due_ms;
    enum live_class class;
    bool last;
    char node[LIVE_NODE_LEN];
    uint64_t left_ranks, left_comms; /* numbers left out for lack of room */
    uint32_t n_ranks, n_comms, n_fronts, n_ops, n_gpus;
    struct live_rank ranks[LIVE_RANKS_MAX];
    struct live_comm comms[LIVE_COMMS_MAX];
    /* both sorted by communicator once they were unpacked */
    struct live_front fronts[LIVE_FRONTS_MAX];
    struct live_op ops[LIVE_OPS_MAX];
    char gpus[LIVE_GPUS_MAX][LIVE_GPU_LEN]; /* PCI bus ids */
};

/* Packs a snapshot into at most LIVE_SNAP_BYTES. Ranks and communicators
 * without room are left out from the end, and counted. Returns the length; the
 * rest of its last block is 0. */
size_t livesnap_pack(const struct live_snap *snap,
                     uint8_t bytes[LIVE_SNAP_BYTES]);

/* First half of a hash of job.conf in hexadecimal. NULL or "" gives 0: unknown.
 */
uint64_t livesnap_conf(const char *hash);

/* Reads a head alone, without checking the sum. It shows whether the rest is
 * worth reading. Returns 0, or -1 if it is no head of a snapshot. */
struct livesnap_head {
    uint64_t conf;
    uint32_t nodeid, sequence, due_ms;
    uint64_t real_ns;
    enum live_class class;
    bool last;
};
int livesnap_head(const uint8_t bytes[LIVE_HEAD_BYTES],
                  struct livesnap_head *out);

/* Returns 0; or -1 if the bytes are torn, truncated, foreign or of another
 * version, and *out is undefined. Nothing in bytes is trusted: indices and
 * numbers are checked, and text is made printable. */
int livesnap_unpack(const uint8_t *bytes, size_t n, struct live_snap *out,
                    struct jp_error *err);

/* Reads <folder>/<name>. */
int livesnap_read(int folder, const char *name, struct live_snap *out,
                  struct jp_error *err);

/* Adds a node's processes to the input of hangs.h, and tasks[] for hung.h,
 * from index hangs->n_processes on (room for LIVE_JOINED_MAX more). Returns 0,
 * or -1 when out of memory. */
int livesnap_join(const struct live_snap *snap, struct hangs_sum *sum,
                  struct hung_task *tasks);

#endif
