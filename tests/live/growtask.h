/* growtask.h - write a task's recording piece by piece, as the recorder does.
 */
#ifndef JP_TESTS_GROWTASK_H
#define JP_TESTS_GROWTASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "orchestrator/live/livenode.h"
#include "tests/aggregate/jpr_maker.h"

/* A task of rank 3 of 4 in the communicator "dp"; its operations are AllReduce.
 */
struct task {
    char *text;
    size_t len, shown; /* bytes made; bytes in the file so far */
    FILE *out;
    struct jpr_maker *maker;
    char *path;
    uint64_t seq;
    struct jpr_op op;
};

/* The time that many seconds after the recording's beginning. */
struct livenode_time at(double seconds);

/* Begins a recording n1-pid<PID>.jpr in dir, of that rank and task. */
void task_begin(struct task *t, const char *dir, uint64_t pid, int64_t rank);
/* The same for a task on a GPU. */
void task_begin_gpu(struct task *t, const char *dir, uint64_t pid, int64_t rank,
                    const char *bus);
/* Adds an operation that has ended. */
void task_op(struct task *t, double start, double seconds);
/* Adds the next operation, in flight. */
void task_hangs(struct task *t, double since, double now);
void task_counters(struct task *t, double now, bool final);
/* Writes all but the last `without` bytes to the file. */
void task_show(struct task *t, size_t without);
void task_end(struct task *t);

#endif
