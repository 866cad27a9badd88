/* launch.h - srun's side of what runs beside the tasks: a step of its own.
 *
 * A keeper, no child of srun, starts `jobprof-node run` on the step's nodes by
 * a second, overlapping srun, and ends that one when the first is gone and its
 * step does not end by itself.
 */
#ifndef JP_AGENT_LAUNCH_H
#define JP_AGENT_LAUNCH_H

#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

struct launch {
    const char *dir;   /* the step's */
    const char *nodes; /* "n[1-4]" */
    uint32_t n_nodes, job_id;
    uint32_t kill_wait_s;
    uint32_t cpus; /* of a node that it runs on, at least 1 */
    pid_t srun;    /* whom it serves */
};

/* Starts it. -1: nothing runs. */
int launch_start(const struct launch *launch, struct jp_error *err);

/* Waits at most wait_ms until each node has said that it is ready or not; how
 * many are ready. *ended: it ended before, the nodes' marks aside. */
uint32_t launch_await(const struct launch *launch, uint32_t wait_ms,
                      int *ended);

/* What the inner srun's log says first, one line; "" nothing. */
void launch_complaint(const struct launch *launch, char *buf, size_t len);

#endif
