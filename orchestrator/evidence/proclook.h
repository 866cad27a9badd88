/* proclook.h - what /proc tells of a process and all its threads.
 *
 * A process in the kernel's state D may block who reads of it, so it is read in
 * a child with a limit (proclook_take). All is readable with the same uid; what
 * a thread waits for needs the right to trace it, and is "" without.
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
    bool foreign;     /* of another job: nothing more is known */
    uint64_t left_out;
    uint32_t n_threads;
    struct proclook_thread threads[PROCLOOK_THREADS];
    uint64_t tracer;
    uint64_t read_bytes, written_bytes;
    char pipe[512], dump[512]; /* PyTorch's flight recorder; "" */
    char ras[80];              /* NCCL_RAS_ADDR, or "" */
    bool no_ras;               /* NCCL_RAS_ENABLE=0 */
    bool has_task;
    int64_t task;    /* SLURM_PROCID */
    char path[2048]; /* the user's PATH, "" where it is longer */
};

struct proclook_ask {
    const char *root; /* stands in for / */
    int64_t pid;
    uint64_t job; /* SLURM_JOB_ID that it must have; 0: any */
    bool again;   /* only threads are wanted */
    uint32_t limit_ms;
};

/* *look is of child_alloc, zeroed. Always sets all of it. */
void proclook_take(const struct proclook_ask *ask, struct proclook *look);

/* NULL: the thread is not in it. */
const struct proclook_thread *proclook_thread(const struct proclook *look,
                                              int64_t tid);

/* Sends SIGCONT where a tool that was killed while it traced the process has
 * left it stopped; looks for settle_ms, as the signal may come late. before: as
 * it was. */
void proclook_wake(const char *root, const struct proclook *before,
                   uint32_t settle_ms);

/* A task of a step: of the processes with that SLURM_PROCID the one with the
 * most threads. */
struct proclook_task {
    int64_t pid, task;
    uint32_t threads;
};

struct proclook_step {
    uint64_t job;
    const char *step; /* SLURM_STEP_ID */
    const char *node; /* Slurm's name; NULL: any on this host */
};

/* The tasks of this user's step on this node, by number, at most max. May
 * block. */
size_t proclook_tasks(const char *root, const struct proclook_step *step,
                      struct proclook_task *tasks, size_t max);

/* Which processes of a node are looked at, and what a question to
 * RAS needs to know: by the recordings of a step that still runs.
 *
 * Missing are ranks that never entered an operation that others are in; up to
 * TARGETS_VICTIMS of those that wait for them are looked at, too. Where nothing
 * is in flight, or no recorder runs, all tasks of the node are taken, and
 * nothing is said of who waits for whom.
 */

#define TARGETS_TEXT 600

struct targets {
    struct jp_hangs hangs;
    uint64_t recordings; /* of the step, as this node sees them */
    bool unread;         /* some of them: the time was over */
    char answer[TARGETS_TEXT];
    struct evidence_target list[EVIDENCE_TARGETS];
    size_t n;
    uint64_t left_out; /* no room */
    /* of this node's processes: the oldest release of NCCL
     * (JP_NCCL_RELEASE), 0: not known; since
     * when no communicator was made, UINT64_MAX: none was; and the ranks of all
     * communicators, summed */
    uint32_t nccl_release;
    uint64_t quiet_ms, entries;
};

struct targets_step {
    const char *dir, *node, *root;
    uint64_t job;
    const char *step; /* SLURM_STEP_ID */
    bool own;         /* who is missing is known: only raw/<node>/ is read, and
                         nobody is chosen */
};

/* 0, then targets_fini is due; -1: no memory, or the recordings cannot be read.
 */
int targets_find(const struct targets_step *step, struct targets *out,
                 struct jp_error *err);
void targets_fini(struct targets *targets);

/* Sets what the order needs of *found, which it borrows: what is in flight, the
 * hang's sentence where the order has none, whether RAS is asked and how.
 * nccl: JP_NCCL_RELEASE, or 0: as recordings tell. */
void targets_set(const struct targets *found, uint32_t nccl,
                 struct evidence_order *order);

#endif
