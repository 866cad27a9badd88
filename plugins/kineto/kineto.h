/* kineto.h - traces of PyTorch's profiler (Kineto), file by file.
 *
 * Source: libkineto/src/output_json.cpp of pytorch/kineto, releases of 2022 to
 * 2026, and what torch.profiler adds. A trace is one JSON object of one rank:
 *
 *     {"schemaVersion": 1, "deviceProperties": [...],
 *      "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2, ...},
 *      "host_name": "n1", "baseTimeNanoseconds": 1700000000000000000,
 *      "traceEvents": [{"ph": "X", "cat": "kernel", "name": ..., "pid": ...,
 *                       "tid": ..., "ts": us, "dur": us, "args": {...}}, ...],
 *      "traceName": "..."}
 *
 * Members may stand on both sides of the events (distributedInfo of traces on
 * demand). What releases differ in, and what is done without it:
 *
 *   baseTimeNanoseconds  from 2.4 on; ts counts from it. Without: ts counts
 *       from 1970.
 *   host_name    from 2026 on. Without: the host that tensorboard_trace_handler
 *       puts into the file's name. Without both the host is unknown, and times
 *       of two ranks are only compared if all GPUs of the job are those of one
 *       machine.
 *   "Collective name", "In msg nelems", "Out msg nelems", "Group size",
 *   "dtype", "Process Group Name" and more in a kernel's args, from 2.2 on.
 *       Without: the function is that of the kernel's name, and sizes are those
 *       of the annotation "nccl:..." in which the kernel was launched (with
 *       record_shapes). The group is then taken to be all ranks if all
 *       collectives run on one stream, or the job has two ranks; otherwise the
 *       collectives are counted, but not joined.
 *   cat: "Kernel", "Runtime" and "Operator" up to 1.12, later "kernel",
 *       "cuda_runtime" and "cpu_op".
 *   dur and ts: whole microseconds up to 2.1, then with three decimals.
 *
 * Which operation of one rank is which of another: by their order of launch
 * within the process group and function, from the first ProfilerStep that is
 * there; a kernel that was launched outside of all steps has no partner that is
 * certain. If two files begin with different steps their groups are different
 * communicators, so that nothing is joined wrongly.
 *
 * Phases of a step: plugins/phasespans.h. The main thread is the one that has
 * the steps.
 *
 * Nothing is trusted: an event has at most KINETO_EVENT bytes and KINETO_DEPTH
 * levels; kernels, launches, annotations and groups are limited, and what is
 * beyond is counted. */
#ifndef JP_PLUGINS_KINETO_KINETO_H
#define JP_PLUGINS_KINETO_KINETO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/record.h"
#include "plugins/traced.h"

enum {
    KINETO_EVENT = 1 << 20, /* bytes of an event, or of a member of the file */
    KINETO_DEPTH = 64,
    KINETO_LAUNCHES = 1 << 20, /* 24 bytes each */
    KINETO_CALLS = 1 << 18,    /* annotations of collectives */
    KINETO_COLLS = 1 << 18,    /* kernels of communication */
    KINETO_GROUPS = 4096,      /* process groups of a rank */
    KINETO_STREAMS = 64,
};

/* --- kineto_json.c: events, one after the other ----------------------------
 */

/* A piece of the file, borrowed until the next call. len 0: absent, and at is
 * "". Escapes are as in the file. */
struct kineto_text {
    const char *at;
    size_t len;
};

enum kineto_cat {
    KINETO_OTHER,
    KINETO_KERNEL,
    KINETO_RUNTIME,
    KINETO_CPU,
    KINETO_ANNOTATION
};

/* An event of phase "X". */
struct kineto_event {
    enum kineto_cat cat;
    struct kineto_text name, pid, tid, ts, dur;
    /* of args */
    struct kineto_text device, stream, correlation, external, coll, in_nelems,
        out_nelems, group_size, dtype, group_name, group_desc, group_ranks, seq,
        split, dims, types;
};

/* What the file says about itself. */
struct kineto_head {
    bool has_rank, has_world, has_base, has_events;
    uint64_t rank, world;
    int64_t base_ns;
    uint32_t devices; /* GPUs of the machine; 0: unknown */
    char host[RECORD_MAX_HOST + 1];
};

enum kineto_token {
    KINETO_EVENT_X, /* *event is filled */
    KINETO_SKIPPED, /* an event of another phase */
    KINETO_BROKEN,  /* an event that cannot be read: lex->why; reading goes on
                       after it if it has an end */
    KINETO_END,
    KINETO_FAILED /* the source failed; nothing follows */
};

/* Reads up to cap bytes into buf. Returns how many; 0 at the end; -1: failed.
 */
typedef ssize_t kineto_fill(void *arg, char *buf, size_t cap);

struct kineto_lex {
    kineto_fill *fill;
    void *arg;
    char *buf;
    size_t at, end, room;
    uint64_t bytes;  /* read so far */
    uint64_t events; /* begun so far: the number of a broken one */
    bool eof, failed, in_events, begun, closed, over;
    bool cut;        /* at the end: the file ends within an object */
    const char *why; /* of the last KINETO_BROKEN, or of the cut; constant */
    enum jp_bad bad;
    struct kineto_head head;
};

/* Whether the first bytes of a file begin such a trace. */
bool kineto_begins(const char *bytes, size_t n);

/* 0, or -1: no memory. kineto_lex_fini frees. */
int kineto_lex_init(struct kineto_lex *lex, kineto_fill *fill, void *arg);
void kineto_lex_fini(struct kineto_lex *lex);
enum kineto_token kineto_next(struct kineto_lex *lex,
                              struct kineto_event *event);

/* A time in microseconds, with or without decimals, as nanoseconds. False: it
 * is none, or beyond +-2^61. */
bool kineto_ns(struct kineto_text text, int64_t *ns);
/* An integer of at most 18 digits; false: it is none. */
bool kineto_number(struct kineto_text text, int64_t *number);

/* --- kineto_names.c: PyTorch's words ----------------------------------------
 */

/* The function of a "Collective name" or of an annotation without its "nccl:"
 * ("_allgather_base": "AllGather"), a constant. NULL: unknown. */
const char *kineto_func(struct kineto_text name);
/* The bytes of a number of a type ("Float", "c10::BFloat16"); 0: unknown. */
unsigned kineto_type_bytes(struct kineto_text type);
/* The numbers of an annotation's "Input Dims" ([[4, 2], []]): the product of
 * the first tensor's, and whether all tensors are that one. False: none. */
bool kineto_elements(struct kineto_text dims, uint64_t *elements);
/* The place of a rank in "[0, 4, 8]"; *n: how many there are. A long list is
 * abbreviated ("[0, 8, ..., 504]"); the place is then known if its ranks are at
 * equal distances, by its size (0: unknown). False: it is not known. */
bool kineto_place(struct kineto_text ranks, uint64_t rank, uint32_t size,
                  uint32_t *place, uint32_t *n);

#endif
