/* hangtask.h - the ranks of a job with a hang: processes that wait for each
 * other, report their operations to the built recorder as NCCL does, and meet a
 * fault at a given iteration.
 *
 * A rank enters three collectives and a Send and Recv per iteration. An
 * operation ends when all of its ranks have entered it. Times of faults are a
 * tenth of those in jobs, for policy.hang_suspect = 3 s. */
#ifndef JP_TESTS_HANGTASK_H
#define JP_TESTS_HANGTASK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { HANG_RANKS = 4, HANG_NODES = 2, HANG_FUNCS = 3, HANG_COMMS = 2 };

/* The fault. */
enum hang_kind {
    HANG_STOPS,   /* a rank stops entering operations */
    HANG_SKIPS,   /* ... leaves out an operation */
    HANG_SIZES,   /* ... enters one with other bytes */
    HANG_INSIDE,  /* all enter it, and it does not end */
    HANG_STOPPED, /* SIGSTOP to a rank */
    HANG_KILLED,  /* SIGKILL */
    HANG_DISK,    /* a rank waits in state D for a file system */
    HANG_CYCLE,   /* all wait in Recv before they send */
    HANG_SLOW,    /* a rank comes late again and again */
    HANG_SAVES,   /* rank 0 writes a checkpoint of 90 s */
    HANG_TESTS,   /* rank 0 evaluates for 90 s */
    HANG_PAUSED,  /* the whole job is suspended for two minutes */
    HANG_FIRST,   /* a communicator's first operation takes two minutes */
    HANG_HELD,    /* a debugger holds a rank for two minutes */
    HANG_HEALTHY, /* rates, noise and short waits of all kinds */
    HANG_N_KINDS
};

/* State of all processes of a job, in shared memory. */
struct hang_job {
    enum hang_kind kind;
    uint64_t seed;
    int victim, at;    /* the rank, the iteration */
    int ends_at;       /* number of iterations if the job ends in order */
    char dir[128];     /* the step directory */
    char blocked[192]; /* HANG_DISK: a folder that never answers, or "" */
    pid_t pids[HANG_RANKS];
    int64_t start_ns;     /* monotonic: iteration 0 */
    _Atomic int reached;  /* iteration of the victim */
    _Atomic bool starved; /* the rank got too little of a processor */
    _Atomic uint64_t begun[HANG_COMMS][HANG_RANKS][HANG_FUNCS];
    _Atomic uint64_t sent[HANG_RANKS], received[HANG_RANKS];
};

/* Runs a rank, and ends the process. */
_Noreturn void hangtask_run(struct hang_job *job, int rank);

#endif
