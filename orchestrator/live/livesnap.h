/* livesnap.h - a node's state while its step runs, in 4 KiB: what the node's
 * agent writes, and what node 0's agent, `jobprof top` and metrics read.
 *
 * live/nodes/<component>.<node's number>.snap of the step directory is written
 * in place by one pwrite() of the whole block, so that a reader may meet a torn
 * one: the sum tells, and it reads again or keeps what it had. A reader judges
 * age by the times inside and never by the file's: on NFS attributes are up to
 * a minute old. The same bytes go to node 0's agent by UDP where the clock
 * module runs (livesend.h); the file is then written more rarely.
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
#include "orchestrator/ingest/stuck.h"

#define LIVE_SNAP_SUFFIX ".snap"

/* What rates and means are taken over. */
#define LIVE_RECENT_MS 30000

enum {
    LIVE_SNAP_VERSION = 2, /* 1 has no logs; it is read, too */
    LIVE_SNAP_BYTES = 4096,
    LIVE_HEAD_BYTES = 64,
    /* what is left of a node's ranks for the table; the rest is counted */
    LIVE_RANKS_MAX = 64,
    LIVE_COMMS_MAX = 256,
    LIVE_FRONTS_MAX = 512,
    LIVE_OPS_MAX = 128,
    LIVE_NODE_LEN = 64,
    LIVE_COMM_NAME_LEN = 24
};

/* Of a node: what decides how soon the next snapshot comes. */
enum live_class { LIVE_EMPTY, LIVE_WORKS, LIVE_WAITS, LIVE_TROUBLE };

/* A process. Sums are since its start. */
struct live_rank {
    int64_t pid;  /* as the recording has it */
    int64_t task; /* SLURM_PROCID, -1: not known */
    enum stuck_state state;
    bool final, damaged, busy;
    /* It is told by a log of what has ended (livelog.h): nothing is known of
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
    /* of the last LIVE_RECENT_MS, older ones counting less and less; they fall
     * to 0 while nothing ends */
    uint64_t rate_milli;     /* operations that ended, in 1,000 s */
    uint64_t share_permille; /* of its time, spent in operations; above 1,000
                                where they overlap */
    /* of its GPU, -1: not known */
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
    uint32_t rank, comm; /* indices here */
    int64_t comm_rank;
    unsigned kind; /* enum jpr_op_kind, or JPR_N_OP_KINDS: only has it */
    char func[RECORD_MAX_FUNC + 1];
    uint64_t begun, ended;
    /* as in live_rank: operations that ended in 1,000 s; their mean time and
     * size by those that were read, 0: none was. The bandwidth is that of
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
    uint64_t left_ranks, left_comms; /* no room */
    uint32_t n_ranks, n_comms, n_fronts, n_ops;
    struct live_rank ranks[LIVE_RANKS_MAX];
    struct live_comm comms[LIVE_COMMS_MAX];
    struct live_front fronts[LIVE_FRONTS_MAX]; /* by communicator */
    struct live_op ops[LIVE_OPS_MAX];          /* likewise */
};

/* Into bytes, at most LIVE_SNAP_BYTES; ranks and communicators that have no
 * room are left out from the end, and counted. Returns the length. */
size_t livesnap_pack(const struct live_snap *snap,
                     uint8_t bytes[LIVE_SNAP_BYTES]);

/* First half of a hash of job.conf in hexadecimal; NULL or "": 0, not known. */
uint64_t livesnap_conf(const char *hash);

/* A head alone, without its sum: a hint of whether the whole is worth reading.
 */
struct livesnap_head {
    uint64_t conf;
    uint32_t nodeid, sequence, due_ms;
    enum live_class class;
    bool last;
};
int livesnap_head(const uint8_t bytes[LIVE_HEAD_BYTES],
                  struct livesnap_head *out);

/* -1: torn, cut, foreign or of another version; *out is undefined then. Nothing
 * in bytes is trusted: indices and numbers are checked, text is made printable.
 */
int livesnap_unpack(const uint8_t *bytes, size_t n, struct live_snap *out,
                    struct jp_error *err);

/* Reads <folder>/<name>. */
int livesnap_read(int folder, const char *name, struct live_snap *out,
                  struct jp_error *err);

/* Adds a node's processes to what hangs.h joins, and tasks[] for stuck.h, from
 * the index hangs->n_processes on (room for LIVE_RANKS_MAX more). 0, or -1
 * without memory. */
int livesnap_join(const struct live_snap *snap, struct hangs_sum *sum,
                  struct stuck_task *tasks);

#endif
