/* livesnap.h - a node's state while its step runs, in 4 KiB: what the node's
 * agent writes, and what node 0's agent, `jobprof top` and metrics read.
 *
 * live/nodes/<component>.<node's number>.snap of the step directory is written
 * in place by one pwrite() of the whole block, so that a reader may meet a torn
 * one: the sum tells, and it reads again or keeps what it had. A reader judges
 * age by the times inside and never by the file's: on NFS attributes are up to
 * a minute old. The same bytes go to node 0's agent by UDP where the clock
 * module runs (livelink.h); the file is then written more rarely.
 *
 *   offset  bytes
 *   0       8      "JPLIVE\r\n"
 *   8       4      version
 *   12      4      bytes of the body
 *   16      8      first half of the hash of job.conf, 0: not known
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
 * Numbers are little-endian. The body is varints and texts as in a recording
 * (plugins/nccl_recorder/jpr_frame.h): the node's name; how many ranks were
 * left out and how many communicators; the ranks; then communicators, worst
 * first, each behind a 1, with fronts and operations; a 0 ends them. A version
 * appends members at the end of a row's list only with a new number.
 */
#ifndef JP_LIVE_LIVESNAP_H
#define JP_LIVE_LIVESNAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/ingest/hangs.h"
#include "orchestrator/ingest/hung.h"

#define LIVE_SNAP_SUFFIX ".snap"

/* The time over which rates and means are taken. */
#define LIVE_RECENT_MS 30000

enum {
    LIVE_SNAP_VERSION = 2, /* 1 has no logs; it is read, too */
    LIVE_SNAP_BYTES = 4096,
    LIVE_HEAD_BYTES = 64,
    /* most ranks of a node in the table; the rest is only counted */
    LIVE_RANKS_MAX = 64,
    LIVE_COMMS_MAX = 256,
    LIVE_FRONTS_MAX = 512,
    LIVE_OPS_MAX = 128,
    LIVE_NODE_LEN = 64,
    LIVE_COMM_NAME_LEN = 24
};

/* Class of a node; it decides how soon the next snapshot comes. */
enum live_class { LIVE_EMPTY, LIVE_WORKS, LIVE_WAITS, LIVE_TROUBLE };

/* A process. Sums count from its start. */
struct live_rank {
    int64_t pid;  /* as in the recording */
    int64_t task; /* SLURM_PROCID; -1: unknown */
    enum hung_state state;
    bool final, damaged, busy;
    /* It is told by a log of what has ended (livelog.c): nothing is known of
     * operations in flight, produced is over, and counted_ns is when the log
     * has grown last. */
    bool logs;
    uint64_t longest_ms; /* without a growth before that; 0: not learnt yet */
    uint64_t batch_ms;   /* its writer writes so often; 0: not known */
    int64_t counted_ns;  /* wall clock: the last word of its recorder, or of the
                            kernel where the process is stopped or gone */
    uint64_t produced, over; /* operations begun; ended, lost or left out */
    uint64_t bytes;          /* of those that ended */
    uint64_t in_flight;
    uint64_t cpu_ms; /* processor time */
    /* over the last LIVE_RECENT_MS, older values counting less and less; they
     * fall to 0 while nothing ends */
    uint64_t rate_milli; /* operations ended per 1,000 s */
    /* share of its time spent in operations; above 1,000 if they overlap */
    uint64_t share_permille;
    /* of its GPU; -1: unknown */
    int32_t gpu_permille, gpu_mhz, gpu_watts;
};

struct live_comm {
    uint64_t hash;
    int64_t n_ranks;
    char name[LIVE_COMM_NAME_LEN];
};

/* How far a rank has come in a (communicator, function): struct progress_row.
 */
struct live_front {
    uint32_t rank, comm; /* indices into ranks and comms of this snapshot */
    int64_t comm_rank;
    /* enum jpr_op_kind; JPR_N_OP_KINDS: it only has the communicator */
    unsigned kind;
    char func[RECORD_MAX_FUNC + 1];
    uint64_t begun, ended;
    /* As in live_rank: operations ended per 1,000 s. Mean time and size come
     * from those that were read; 0: none was. The bandwidth is that of
     * common/bandwidth.h for one such operation. */
    uint64_t rate_milli, mean_us, mean_bytes;
};

/* In flight: struct hangs_op. */
struct live_op {
    uint32_t rank, comm;
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
    uint64_t left_ranks, left_comms; /* number left out for lack of room */
    uint32_t n_ranks, n_comms, n_fronts, n_ops;
    struct live_rank ranks[LIVE_RANKS_MAX];
    struct live_comm comms[LIVE_COMMS_MAX];
    struct live_front fronts[LIVE_FRONTS_MAX]; /* sorted by communicator */
    struct live_op ops[LIVE_OPS_MAX];          /* sorted by communicator */
};

/* Packs a snapshot into at most LIVE_SNAP_BYTES. Ranks and communicators
 * without room are left out from the end, and counted. Returns the length. */
size_t livesnap_pack(const struct live_snap *snap,
                     uint8_t bytes[LIVE_SNAP_BYTES]);

/* First half of a hash of job.conf in hexadecimal. NULL or "" gives 0: unknown.
 */
uint64_t livesnap_conf(const char *hash);

/* A head alone, without checking the sum: shows if the rest is worth reading.
 */
struct livesnap_head {
    uint64_t conf;
    uint32_t nodeid, sequence, due_ms;
    uint64_t real_ns;
    enum live_class class;
    bool last;
};
int livesnap_head(const uint8_t bytes[LIVE_HEAD_BYTES],
                  struct livesnap_head *out);

/* Returns 0; -1 if torn, cut, foreign or of another version, and then *out is
 * undefined. Nothing in bytes is trusted: indices and numbers are checked, and
 * text is made printable. */
int livesnap_unpack(const uint8_t *bytes, size_t n, struct live_snap *out,
                    struct jp_error *err);

/* Reads <folder>/<name>. */
int livesnap_read(int folder, const char *name, struct live_snap *out,
                  struct jp_error *err);

/* Adds a node's processes to the input of hangs.h, and tasks[] for hung.h,
 * from index hangs->n_processes on (room for LIVE_RANKS_MAX more). Returns 0,
 * or -1 when out of memory. */
int livesnap_join(const struct live_snap *snap, struct hangs_sum *sum,
                  struct hung_task *tasks);

#endif
