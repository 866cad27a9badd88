/* util_probe.h - samples of one node, one step and its tasks, from Linux.
 *
 * The step is its cgroup (v2 or v1) if it has one, otherwise the sum of its
 * tasks. Counters become rates. A counter that goes backwards (after a reset,
 * or a restart of an adapter) makes an unknown figure, never a spike.
 *
 * root replaces / in tests ("" is the machine). */
#ifndef JP_UTIL_PROBE_H
#define JP_UTIL_PROBE_H

#include "common/error.h"
#include "plugins/util/util_gpu.h"
#include "common/procfs.h"
#include "plugins/util/util_rows.h"

/* Takes a row. Returns -1 if it cannot. */
typedef int util_put(void *arg, enum util_kind kind, const struct util_row *row,
                     struct jp_error *err);

/* --- the tasks of one step on one node, and what each of them does ------- */

/* A task is all processes of the user that have the step, the node and the same
 * SLURM_PROCID in their environment. This finds tasks whatever way of tracking
 * processes Slurm uses. */

struct util_tasks;

struct util_step {
    const char *root;
    uint64_t job; /* SLURM_JOB_ID in the tasks' environment */
    const char *step;
    const char *node; /* Slurm's name: a host may have several slurmd */
    uint32_t uid;
};

/* Borrows both. Returns NULL without memory. */
struct util_tasks *util_tasks_create(const struct util_step *step,
                                     struct procfs_reader *reader);

/* What a sample finds for all tasks together. */
struct util_tasks_now {
    size_t seen;         /* number of tasks seen so far */
    struct util_row sum; /* of all tasks */
};

/* One sample. With many processes, tasks take turns, and their figures hold
 * until the next turn; memory, processors and switches until the fourth one.
 * Returns -1 without memory; *now is unchanged then. */
int util_tasks_take(struct util_tasks *tasks, uint64_t mono_us,
                    struct util_tasks_now *now, struct jp_error *err);

/* Passes a row of each task that has a process now to put, with these times.
 * Returns -1 if put failed. */
int util_tasks_put(const struct util_tasks *tasks, uint64_t t_us,
                   uint64_t mono_us, util_put *put, void *arg,
                   struct jp_error *err);
/* Their processes, as of the last sample. */
void util_tasks_pids(const struct util_tasks *tasks, struct procfs_pids *out);
void util_tasks_some(const struct util_tasks *tasks, struct procfs_some *out);

void util_tasks_destroy(struct util_tasks *tasks); /* accepts NULL */

struct util_probe;

/* Borrows the strings of step. Returns NULL without memory. */
struct util_probe *util_probe_create(const struct util_step *step);

/* One sample of everything, passed row by row to put. The first sample has
 * levels only; rates need two. agent_us: processor time of the sampler itself
 * so far. Returns -1 if put failed, or without memory. */
int util_probe_take(struct util_probe *probe, uint64_t t_us, uint64_t mono_us,
                    uint64_t agent_us, util_put *put, void *arg,
                    struct jp_error *err);

/* The step's processes, as of the last sample. Returns the number of tasks that
 * were seen so far. */
size_t util_probe_seen(const struct util_probe *probe, struct procfs_pids *out);
/* Some of them. */
void util_probe_some(const struct util_probe *probe, struct procfs_some *out);

void util_probe_destroy(struct util_probe *probe); /* accepts NULL */

#endif
