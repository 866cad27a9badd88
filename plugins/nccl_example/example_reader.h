/* example_reader.h - the example plugin's trace as the records that the join
 * takes.
 *
 * A thin layer over trace_read.c, whose functions are below, as recfile.h is
 * over the recorder's files; bounds are those of common/record.h.
 *
 * - id: NCCL's hash as Inspector prints it (recfile_id). If an event does not
 *   have it, hash and rank are taken from the file's name,
 *   `..._<hash>_<rank>.json`.
 * - host: the name of the folder if that is in one named "raw", as the launch
 *   makes it (raw/<node>/); else unknown.
 * - n_ranks and nnodes are 0, "unknown": see join_guess_sizes. The bandwidth is
 *   therefore bytes / time; the join applies the factor of the size that it
 *   finds.
 * - function of a collective by the copy engines: "AllGather-CE", as in
 *   recfile.h.
 * - dump time, start and end: 0, unknown, as each process' ts have an origin of
 *   their own. Send and Recv have no sequence number.
 */
#ifndef JP_NCCL_EXAMPLE_TRACEFILE_H
#define JP_NCCL_EXAMPLE_TRACEFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/logsource.h"
#include "common/record.h"

/* --- trace_read.c ------------------------------------------------------- */

/* The operations in a trace of NVIDIA's example plugin.
 *
 * Source: print_event.c or .cc of NVIDIA/nccl's example plugin, 2.23 to 2.30.
 * An operation is a COLL, P2P or CE_COLL event. KernelCh (category GPU) and
 * ProxyOp (PROXY) events between its "b" and its "e" belong to it.
 *
 * CE_COLL is a collective of the copy engines (2.29 on). Its eventId counts
 * those of the communicator that found room in the pool, over all functions. It
 * replaces the sequence number, which is not written; communicator and rank are
 * only in the file's name. Its time is duration_gpu_us if it has ended (an "e"
 * with a time; otherwise the value is an older operation's). duration_cpu_us is
 * not used, as a thread that looks every 500 us measures it.
 *
 * All other categories are skipped. CE_SYNC and CE_BATCH are parts of a
 * CE_COLL's time. NET (SendGpuWait, SendWait, RecvWait ...), NET_IB and
 * NET_SOCK are steps of many channels that overlap, so no sum of them is a part
 * of the operation's time; jobprof's recorder sums such waits where they occur.
 *
 * The time of an operation comes from the best source that is there (`time`):
 *   TRACE_TIME_GPU    longest channel, StopGpuClk - StartGpuClk (ns); CE_COLL:
 *                     duration_gpu_us
 *   TRACE_TIME_HOST   longest channel, KernelCh's "b" to "e"
 *   TRACE_TIME_PROXY  first ProxyOp's begin to the last one's end, where all
 *                     have ended
 *   TRACE_TIME_NONE   unknown: the event's own "e" is the end of enqueueing
 * An event that never ended has ts 0.000000 on its "e" (2.28 to 2.30 end
 * KernelCh of all channels but the first like that); such an end is not used.
 * ts are microseconds since an origin of the process that is written nowhere,
 * so no two files can be aligned.
 *
 * Sizes of communicators are not in a trace. A full pool drops operations
 * silently, the first or the last. SeqNum, which counts per communicator and
 * function, shows how many.
 */

/* --- the objects of a Chrome trace's array, one after the other.
 *
 * Only what the example plugin's events need: the members of an object and
 * those of its "args", as text. The reader is as lenient as the plugin: any
 * order of keys, unknown keys however nested (skipped), words without quotes
 * (2.28's datatype and "(nil)"), too many or too few commas, `{}]` at the end.
 * An object that cannot be read is reported, and reading continues after the
 * end of its line. Nothing is trusted: an object has at most TRACE_MAX_OBJECT
 * bytes, a value is cut at TRACE_MAX_TEXT, and no memory is allocated.
 */

#define TRACE_MAX_OBJECT (1024 * 1024)
#define TRACE_MAX_TEXT 63
#define TRACE_BLOCK (64 * 1024)

/* The first five are members of the event, the others of its "args". */
enum trace_key {
    TRACE_NAME,
    TRACE_CAT,
    TRACE_PH,
    TRACE_TS,
    TRACE_PID,
    TRACE_SEQ_NUM,
    TRACE_COMM_HASH,
    TRACE_RANK,
    TRACE_PEER,
    TRACE_COUNT,
    TRACE_DATATYPE,
    TRACE_ALGORITHM,
    TRACE_PROTOCOL,
    TRACE_CHANNELS, /* nChannels; nMaxChannels up to 2.26 */
    TRACE_START_CLK,
    TRACE_STOP_CLK,
    TRACE_EVENT_ID, /* this and the next: of CE_COLL */
    TRACE_GPU_US,
    TRACE_N_KEYS
};

/* Values of one object, NUL-terminated; "" where the bit in `has` is not set.
 */
struct trace_fields {
    uint32_t has;  /* 1 << enum trace_key */
    uint32_t cut;  /* longer than TRACE_MAX_TEXT, or with a NUL */
    uint64_t line; /* where the object begins, from 1 */
    char text[TRACE_N_KEYS][TRACE_MAX_TEXT + 1];
};

enum trace_token {
    TRACE_OBJECT,
    TRACE_BROKEN, /* lex->why and fields->line have the reason and place */
    TRACE_END,
    TRACE_FAILED /* the source failed; nothing follows */
};

/* Reads up to cap bytes into buf. Returns how many; 0 at the end; -1: failed.
 */
typedef ssize_t trace_fill(void *arg, char *buf, size_t cap);

struct trace_lex {
    trace_fill *fill;
    void *arg;
    char buf[TRACE_BLOCK];
    size_t at, end;
    size_t left;     /* bytes that the object may still take */
    uint64_t line;   /* of the next byte, from 1 */
    uint64_t bytes;  /* read so far */
    const char *why; /* of the last TRACE_BROKEN, constant */
    enum jp_bad bad; /* its kind */
    bool binary;     /* the last object has bytes that are not text */
    bool eof, failed;
    bool closed; /* at the end: the array had its closing bracket */
};

/* Returns whether the first bytes of a file begin an array of trace events.
 * Fewer bytes than needed to know are enough if there is a bracket. */
bool trace_lex_begins(const char *bytes, size_t n);

enum trace_time {
    TRACE_TIME_NONE,
    TRACE_TIME_PROXY,
    TRACE_TIME_HOST,
    TRACE_TIME_GPU
};

/* Categories that have a pool each. */
enum trace_pool {
    TRACE_COLL,
    TRACE_P2P,
    TRACE_GROUP_API,
    TRACE_GROUP,
    TRACE_POOLS
};

struct trace_op {
    bool p2p;      /* then there is no seq, and peer is the other rank */
    bool ce;       /* seq is the eventId */
    bool has_comm; /* comm_hash and rank are known; else only the file's name
                      has them */
    bool ended;    /* its "e" was seen */
    char func[TRACE_MAX_TEXT + 1]; /* without the "nccl" of 2.23 */
    char algo[TRACE_MAX_TEXT + 1], proto[TRACE_MAX_TEXT + 1];
    uint64_t comm_hash, rank, seq, peer;
    uint64_t count, elem_bytes; /* elem_bytes: of the datatype; 0: unknown */
    uint64_t channels;          /* as in the file; 0: unknown */
    int64_t pid;                /* -1: unknown */
    uint64_t start_ns;          /* of the enqueueing; origin as above */
    uint32_t kernels,
        kernels_timed; /* KernelCh events; with a time by `time` */
    enum trace_time time;
    uint64_t exec_ns; /* 0 for TRACE_TIME_NONE */
    uint64_t line;    /* in the file */
};

/* What the children of the operation being read have shown. */
struct trace_children {
    uint64_t kernel_begin_ns; /* of the open KernelCh; 0: none */
    uint64_t gpu_ns, host_ns; /* longest channel */
    uint64_t ce_ns;           /* of a CE_COLL, if it has ended */
    uint32_t kernels, gpu_timed, host_timed;
    uint64_t proxy_first_ns, proxy_last_ns;
    uint32_t proxy_begun, proxy_ended;
    bool proxy_unsure; /* a ProxyOp without a begin or an end */
};

struct trace_reader {
    struct trace_lex lex;
    struct trace_fields fields;
    bool is_open, bad_next;
    struct trace_op op;
    struct trace_children children;
    uint64_t events;             /* objects that were events */
    uint64_t pools[TRACE_POOLS]; /* of these that begin */
    uint64_t others; /* objects that were no events: without a category */
    bool cut;        /* at the end: the file is cut */
    const char *why; /* of the last TRACE_OP_BAD */
    enum jp_bad bad; /* its kind */
    uint64_t line;   /* its line */
};

enum trace_status {
    TRACE_OP,
    TRACE_OP_BAD, /* an operation is bad: why and line; the next call continues
                     after it */
    TRACE_OP_END,
    TRACE_OP_FAILED /* the source did */
};

void trace_read_init(struct trace_reader *reader, trace_fill *fill, void *arg);
/* Reads the next operation into *out, in the order of the file. */
enum trace_status trace_read_next(struct trace_reader *reader,
                                  struct trace_op *out);

/* --- example_reader.c --------------------------------------------------- */

/* What a file has of one communicator and function. */
struct tracefile_series {
    uint64_t comm_hash;
    char func[RECORD_MAX_FUNC + 1];
    uint64_t n, last; /* operations, and the largest SeqNum */
};

/* series that are counted; further ones are only read */
#define TRACEFILE_SERIES 64

struct jp_tracefile {
    struct jp_logsource *source;
    struct trace_reader *reader;
    struct trace_op op; /* of the last record */
    char host[RECORD_MAX_HOST + 1];
    size_t host_len;
    bool named; /* the file's name has these two: */
    uint64_t name_hash, name_rank;
    char id[RECORD_MAX_ID + 1];
    char func[TRACE_MAX_TEXT + 8]; /* of the last record */
    const char *why;               /* of the last TRACE_OP_BAD, constant */
    enum jp_bad bad;               /* its kind */
    uint64_t line;
    uint64_t records; /* good ones */
    uint64_t untimed; /* of these, without a time */
    uint64_t partly;  /* with the time of some channels only, as the others have
                         no end */
    struct tracefile_series series[TRACEFILE_SERIES];
    unsigned n_series;
};

/* Returns 0 or -1. Only after 0 tracefile_close() must be called. */
int tracefile_open(struct jp_tracefile *file, const char *path,
                   struct jp_error *err);
/* The same for bytes, borrowed until the close, as if they were the file at
 * path. */
int tracefile_open_bytes(struct jp_tracefile *file, const void *bytes, size_t n,
                         const char *path, struct jp_error *err);
void tracefile_close(struct jp_tracefile *file);

/* TRACE_OP: *out is a record; its texts are borrowed until the next call.
 * TRACE_OP_BAD: see why and line of *file. */
enum trace_status tracefile_next(struct jp_tracefile *file, struct record *out);

/* Returns how many operations are missing from the file, by its sequence
 * numbers. */
uint64_t tracefile_missing(const struct jp_tracefile *file);

#endif
