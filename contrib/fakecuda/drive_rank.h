/* drive_rank.h - a rank of drive: its communicators, what it calls, and the
 * truth that it writes down.
 *
 * truth-<rank>.csv has a line for each operation:
 * communicator,rank,n_ranks,function,count,peer,in_group,begin,end,complete
 * Counts are elements of four bytes; times are CLOCK_MONOTONIC in ns: of the
 * call's begin and end, and of the event behind the operation in its stream (0:
 * not known). Lines that begin with # are notes. A call that fails ends the
 * process: drive is a test's program. */
#ifndef JP_DRIVE_RANK_H
#define JP_DRIVE_RANK_H

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "contrib/gpu/gpu_api.h"

enum { DRIVE_NAME = 32, DRIVE_MAX_ARGS = 32 };

/* Exit statuses. */
enum {
    DRIVE_FAILED = 1,
    DRIVE_USAGE = 2,
    DRIVE_NCCL = 7, /* a call of NCCL failed */
    DRIVE_HUNG = 9, /* hung as requested */
    DRIVE_SKIPPED = 77,
};

struct drive {
    struct gpu_api api;
    uint64_t (*event_ns)(void *event); /* of the stand-in */
    int rank, ranks;
    const char *meet; /* folder in which the ranks meet */
    FILE *truth;
    pthread_mutex_t lock; /* of truth */
    char *const *args;    /* KEY=VALUE */
    int n_args;
};

/* An operation that was called and is not in the truth yet. */
struct drive_call;

struct drive_comm {
    struct drive *d;
    void *nccl, *stream, *from, *to;
    char name[DRIVE_NAME];
    int rank, n;
    bool is_quiet, is_async, in_group;
    struct drive_call *calls; /* owned */
    size_t n_calls, room;
    size_t group; /* the first call of the group */
};

/* Returns an argument of the command line, or the default. */
long drive_arg(const struct drive *d, const char *key, long otherwise);
const char *drive_text(const struct drive *d, const char *key,
                       const char *otherwise);

uint64_t drive_now_ns(void);
void drive_sleep_us(long us);

/* Ends the process where a call of NCCL did not succeed and is not in progress.
 */
void drive_must(const struct drive *d, int rc, const char *what);

/* Writes a note with the time. */
void drive_note(struct drive *d, const char *text);

/* Makes a communicator. `where` names the meeting of its ranks. */
struct drive_comm drive_comm_create(struct drive *d, const char *where,
                                    const char *name, int rank, int n);
/* The same, and does not block; returns once it is there. */
struct drive_comm drive_comm_create_async(struct drive *d, const char *where,
                                          const char *name);
/* Splits; a rank of color GPU_NCCL_NO_COLOR gets nccl == NULL. */
struct drive_comm drive_comm_split(const struct drive_comm *comm, int color,
                                   int key, const char *name, int rank, int n);
/* Leaves out the last rank; not for that rank. */
struct drive_comm drive_comm_shrink(const struct drive_comm *comm,
                                    const char *name);
/* Takes a communicator of NCCL over. */
struct drive_comm drive_comm_take(struct drive *d, void *nccl, const char *name,
                                  int rank, int n);
/* Waits until NCCL has done what it was asked for. */
void drive_comm_settle(struct drive_comm *comm);
/* Finalizes, destroys, frees what is ours. */
void drive_comm_destroy(struct drive_comm *comm);

/* Calls a function of NCCL by its name; peer is the root, too. */
void drive_op(struct drive_comm *comm, const char *func, size_t count,
              int peer);
void drive_group_start(struct drive_comm *comm);
void drive_group_end(struct drive_comm *comm);
/* What drive_group_end() does after NCCL has ended the group. */
void drive_group_mark(struct drive_comm *comm);

/* Waits for the stream. */
void drive_wait(struct drive_comm *comm);
/* Waits, and writes the operations to the truth. */
void drive_flush(struct drive_comm *comm);
/* Writes the operations without waiting: they never complete. */
void drive_give_up(struct drive_comm *comm);

/* A scenario, and what it takes: drive_scenes.c. */
struct drive_scene {
    const char *name, *help;
    void (*run)(struct drive *d);
    bool one_process; /* all ranks are this process */
};

/* Ends with a name of NULL. */
extern const struct drive_scene drive_scenes[];

#endif
