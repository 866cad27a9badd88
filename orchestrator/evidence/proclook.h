/* proclook.h - read the state of a process and all its threads from /proc.
 *
 * Reading /proc of a process in kernel state D may block, so proclook_take
 * reads it in a child with a time limit. Everything is readable with the same
 * uid, except what a thread waits for: that needs the permission to trace it,
 * and is "" otherwise.
 */
#ifndef JP_EVIDENCE_PROCLOOK_H
#define JP_EVIDENCE_PROCLOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/evidence/evidence.h"
#include "orchestrator/ingest/hangs.h"

#define PROCLOOK_THREADS 512

struct proclook_thread {
    int64_t tid;
    char name[32];
    char state; /* R S D T t Z X ... */
    uint64_t cpu_ms;
    char wchan[48];
    char syscall[64]; /* number and arguments, "running", or "" */
};

struct proclook {
    int64_t pid;
    bool there, late; /* late: /proc did not answer in time */
    bool foreign;     /* of another job: nothing else is filled in */
    uint64_t left_out;
    uint32_t n_threads;
    struct proclook_thread threads[PROCLOOK_THREADS];
    uint64_t tracer;
    uint64_t read_bytes, written_bytes;
    char pipe[512], dump[512]; /* of PyTorch's flight recorder; "" */
    char ras[80];              /* value of NCCL_RAS_ADDR, or "" */
    bool no_ras;               /* NCCL_RAS_ENABLE=0 is set */
    bool has_task;
    int64_t task;    /* SLURM_PROCID */
    char path[2048]; /* the user's PATH; "" if it is too long */
};

struct proclook_ask {
    const char *root; /* prefix in place of / */
    int64_t pid;
    uint64_t job; /* required SLURM_JOB_ID; 0: any */
    bool again;   /* read only the threads */
    uint32_t limit_ms;
};

/* Fills *look, which must be zeroed memory of child_alloc. Sets all members. */
void proclook_take(const struct proclook_ask *ask, struct proclook *look);

/* Finds a thread; NULL: not found. */
const struct proclook_thread *proclook_thread(const struct proclook *look,
                                              int64_t tid);

/* Sends SIGCONT if a tool was killed while it traced the process and left it
 * stopped. Watches for settle_ms, because the stop may come late. before: the
 * state before the tool ran. */
void proclook_wake(const char *root, const struct proclook *before,
                   uint32_t settle_ms);

/* A task of a step. Among several processes with its SLURM_PROCID, this is the
 * one with the most threads. */
struct proclook_task {
    int64_t pid, task;
    uint32_t threads;
};

struct proclook_step {
    uint64_t job;
    const char *step; /* SLURM_STEP_ID */
    const char *node; /* node name in Slurm; NULL: any on this host */
};

/* Lists the tasks of this user's step on this node, ordered by number, at most
 * max. May block. */
size_t proclook_tasks(const char *root, const struct proclook_step *step,
                      struct proclook_task *tasks, size_t max);

/* Chooses the processes of a node to examine and collects the facts for a RAS
 * query, from the recordings of a running step.
 *
 * A missing rank is one that has not entered an operation that others are in.
 * Up to TARGETS_VICTIMS of the waiting ranks are examined as well. If nothing
 * is in flight or no recorder runs, all tasks of the node are taken, without
 * roles.
 */

#define TARGETS_TEXT 600

struct targets {
    struct jp_hangs hangs;
    uint64_t recordings; /* number of the step's recordings visible here */
    bool unread;         /* some of them were not read in time */
    char answer[TARGETS_TEXT];
    struct evidence_target list[EVIDENCE_TARGETS];
    size_t n;
    uint64_t left_out; /* processes beyond the limit */
    /* from this node's processes. nccl_release: oldest NCCL release
     * (JP_NCCL_RELEASE); 0: unknown. quiet_ms: time since the last communicator
     * was made; UINT64_MAX: none was made. entries: number of ranks, summed
     * over all communicators */
    uint32_t nccl_release;
    uint64_t quiet_ms, entries;
};

struct targets_step {
    const char *dir, *node, *root;
    uint64_t job;
    const char *step; /* SLURM_STEP_ID */
    bool own;         /* the missing ranks are known: read only raw/<node>/ and
                       * choose no process */
};

/* Returns 0, and the caller frees with targets_fini; or -1 without memory, or
 * if the recordings cannot be read. */
int targets_find(const struct targets_step *step, struct targets *out,
                 struct jp_error *err);
void targets_fini(struct targets *targets);

/* Fills the order from *found, which it borrows: the operations in flight, the
 * hang's sentence if the order has none, and whether and how to query RAS.
 * nccl: JP_NCCL_RELEASE; 0: the release in the recordings. */
void targets_set(const struct targets *found, uint32_t nccl,
                 struct evidence_order *order);

#endif
