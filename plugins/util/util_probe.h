/* util_probe.h - samples of one node, one step and its tasks, from Linux.
 *
 * The step is its cgroup (v2 or v1) where it has one,
 * else the sum of its tasks. Counters become rates; one that goes backwards (a
 * reset, an adapter that was restarted) makes an unknown figure, never a spike.
 *
 * root replaces / in tests ("" is the machine).
 */
#ifndef JP_UTIL_PROBE_H
#define JP_UTIL_PROBE_H

#include "common/error.h"
#include "plugins/util/util_gpu.h"
#include "plugins/util/util_kernel.h"
#include "plugins/util/util_rows.h"

/* --- the tasks of one step on one node, and what each of them does ------- */

/* A task is all processes of the user whose environment names the step, the
 * node and the same SLURM_PROCID, so tasks are found with every way of tracking
 * processes that Slurm has. */

struct util_tasks;

struct util_step {
    const char *root;
    uint64_t job; /* as SLURM_JOB_ID says in the tasks' environment */
    const char *step;
    const char *node; /* Slurm's name: a host may have several slurmd */
    uint32_t uid;
};

/* Borrows both. NULL without memory. */
struct util_tasks *util_tasks_create(const struct util_step *step,
                                     struct util_reader *reader);

/* What a sample finds of all tasks together. */
struct util_tasks_now {
    size_t seen;         /* tasks that were seen so far */
    uint64_t first_pid;  /* one of their processes; 0: there is none */
    struct util_row sum; /* what all of them do together */
};

/* One sample; dt: seconds since the one before, 0: this is the first. With many
 * processes what costs most of them is read by turns, and holds until the next
 * one. -1: no memory; *now is unchanged. */
int util_tasks_take(struct util_tasks *tasks, uint64_t mono_us, double dt,
                    struct util_tasks_now *now, struct jp_error *err);

/* The sample of one of them, without times; NULL: it has no process now. */
const struct util_row *util_tasks_row(const struct util_tasks *tasks, size_t i,
                                      uint32_t *rank);
/* Their processes, as the last sample found them. */
void util_tasks_pids(const struct util_tasks *tasks, struct util_pids *out);

void util_tasks_destroy(struct util_tasks *tasks); /* takes NULL */

struct util_probe;

/* Borrows the strings of step. NULL without memory. */
struct util_probe *util_probe_create(const struct util_step *step);

/* One sample of everything, given row by row. The first one has levels only;
 * rates need two. agent_us: processor time of the sampler itself so far.
 * -1: put failed, or no memory. */
typedef int util_put(void *arg, enum util_kind kind, const struct util_row *row,
                     struct jp_error *err);
int util_probe_take(struct util_probe *probe, uint64_t t_us, uint64_t mono_us,
                    uint64_t agent_us, util_put *put, void *arg,
                    struct jp_error *err);

/* The step's processes, as the last sample found them. Returns how many tasks
 * were seen so far. */
size_t util_probe_seen(const struct util_probe *probe, struct util_pids *out);

void util_probe_destroy(struct util_probe *probe); /* takes NULL */

#endif
