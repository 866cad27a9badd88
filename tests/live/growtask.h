/* growtask.h - a task's recording that grows as a recorder writes it. */
#ifndef JP_TESTS_GROWTASK_H
#define JP_TESTS_GROWTASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "orchestrator/live/livenode.h"
#include "tests/aggregate/jpr_maker.h"

/* Rank 3 of 4 in the communicator "dp", whose operations are AllReduce. */
struct task {
    char *text;
    size_t len, shown; /* written; in the file by now */
    FILE *out;
    struct jpr_maker *maker;
    char *path;
    uint64_t seq;
    struct jpr_op op;
};

/* Seconds after the recording's beginning. */
struct livenode_time at(double seconds);

/* A recording n1-pid<PID>.jpr in dir, of that rank and task. */
void task_begin(struct task *t, const char *dir, uint64_t pid, int64_t rank);
/* The same, on a GPU. */
void task_begin_gpu(struct task *t, const char *dir, uint64_t pid, int64_t rank,
                    const char *bus);
/* An operation that ended. */
void task_op(struct task *t, double start, double seconds);
/* The next one is in flight. */
void task_hangs(struct task *t, double since, double now);
void task_counters(struct task *t, double now, bool final);
/* All but the last `without` bytes into the file. */
void task_show(struct task *t, size_t without);
void task_end(struct task *t);

#endif
