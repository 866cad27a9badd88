/* stuck.h - which operations had not ended, and who kept whom waiting.
 *
 * From the recorder's files of a step: every rank's last snapshot of operations
 * in flight, and how far each rank has come in every communicator and function.
 * Collectives of equal (communicator, function, sequence number) are one
 * operation of all ranks; Send and Recv are numbered by each rank on its own
 * and are told one by one.
 *
 * Files are written on their own, some 100 ms apart, so that they must not be
 * compared as if at one moment: a rank is said to have never entered an
 * operation only where its file tells of a time when it should have, its
 * counters at the latest (STUCK_SAME_HOST_NS, STUCK_OTHER_HOST_NS behind the
 * operation's start), or where the process ended in order.
 */
#ifndef JP_INGEST_STUCK_H
#define JP_INGEST_STUCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "orchestrator/ingest/recwalk.h"

/* How far behind the start of an operation in one process the last counters of
 * another one must be for their silence to be evidence. On one host: three
 * flushes of the recorder, as one may be late on a busy host. Between hosts:
 * what clocks without care are apart. */
#define STUCK_SAME_HOST_NS INT64_C(300000000)
#define STUCK_OTHER_HOST_NS INT64_C(1000000000)

/* A process: one of the recorder's files. */
struct stuck_process {
    char host[INSPECTOR_MAX_HOST + 1];
    int64_t pid, task; /* task: SLURM_PROCID, -1 not known */
    bool cut;          /* the file has no final block */
    bool busy;         /* it has an operation in flight */
    bool final;        /* it ended in order: nothing can follow */
    bool damaged;      /* blocks of the file cannot be read */
    /* wall clock since 1970, 0: not known: the last counters, and the last
     * that the file tells at all */
    int64_t counted_ns, last_ns;
};

/* An operation in flight in one process. */
struct stuck_op {
    uint32_t process;
    uint64_t hash; /* the communicator's full id */
    char id[INSPECTOR_MAX_ID + 1];
    char name[INSPECTOR_MAX_NAME + 1];
    char func[INSPECTOR_MAX_FUNC + 1];
    enum jpr_op_kind kind;
    int64_t rank, n_ranks, peer;
    uint64_t seq, bytes;
    int64_t start_ns; /* wall clock since 1970; 0: not known */
    int64_t until_ns; /* when it was in flight still; 0: not known */
    bool cut_short;   /* finalize or exit ended it then, say by a watchdog */
    bool captured;    /* in a graph, and no kernel was seen: may never run */
    bool passed;      /* the process has ended a later one of its function:
                         NCCL has not told this one's end */
    uint32_t channels, started, stopped;
};

enum stuck_state {
    STUCK_NO_FILE, /* nothing is known of the rank */
    STUCK_UNSURE,  /* did not enter as far as its file goes, which is too early
                      to tell */
    STUCK_MISSING, /* has a file and nothing in flight, but never entered */
    STUCK_HELD,    /* never entered, but has something else in flight */
    STUCK_BEGUN,   /* has entered by its counters; no record tells more */
    STUCK_IN_FLIGHT,
    STUCK_DONE,
    STUCK_N_STATES
};

/* One operation of all its ranks; ops[first..first + n_ops) is where it is in
 * flight. */
struct stuck_group {
    size_t first, n_ops;
    int64_t start_ns;    /* the earliest; 0: not known */
    uint32_t starter;    /* its process */
    int64_t age_ns;      /* in flight so long at least; -1: not known */
    uint32_t n_ranks;    /* 0: not told, or Send and Recv: states is NULL */
    uint8_t *states;     /* n_ranks of enum stuck_state */
    uint32_t *processes; /* n_ranks; UINT32_MAX: none */
    uint32_t count[STUCK_N_STATES];
};

struct jp_stuck {
    struct stuck_process *processes;
    size_t n_processes;
    struct stuck_op *ops; /* each group's by rank */
    size_t n_ops;
    struct stuck_group *groups; /* those with ranks missing first, then those
                                   with ranks held up, then those where it
                                   cannot be told; each the oldest first */
    size_t n_groups;
    uint64_t left_out; /* in flight, over the bounds of memory */
};

/* Reads all files of the walk. 0, or -1 without memory. stuck_fini is due only
 * after 0. */
int stuck_read(struct jp_recwalk *walk, struct jp_stuck *stuck,
               struct jp_error *err);
void stuck_fini(struct jp_stuck *stuck);

/* How long at least an operation was in flight; -1: not known. */
int64_t stuck_age_ns(const struct stuck_op *op);

/* Ranks of a state as "3, 5-7, ..." into buf. Returns buf. */
char *stuck_ranks(const struct stuck_group *group, enum stuck_state state,
                  char *buf, size_t size);

/* The answer in a sentence: who is missing where. Returns buf. */
char *stuck_answer(const struct jp_stuck *stuck, char *buf, size_t size);
/* The same of one group. */
char *stuck_answer_of(const struct jp_stuck *stuck,
                      const struct stuck_group *group, char *buf, size_t size);

/* "AllReduce 900 of dp (0x8a07aed05ae9a0)", "Send 3 of ... to rank 2";
 * " since 2026-11-21 21:42:03 UTC (at least 1.995 s)", "" where not known.
 * Both return buf. */
char *stuck_format_op(const struct stuck_op *op, char *buf, size_t size);
char *stuck_format_since(const struct stuck_group *group, char *buf,
                         size_t size);

/* The table for a terminal; a JSON object. 0, or -1: output failed. */
int stuck_print(const struct jp_stuck *stuck, FILE *out, struct jp_error *err);
int stuck_print_json(const struct jp_stuck *stuck, FILE *out,
                     struct jp_error *err);

#endif
