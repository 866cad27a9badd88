/* begin.h - a node joins a profiled step.
 *
 * begin_locate finds the step's directory where srun has named none; begin_join
 * is what the tasks wait for: a few small files. begin_linger is the rest,
 * while the tasks run, until SIGTERM or the end of it.
 */
#ifndef JP_AGENT_BEGIN_H
#define JP_AGENT_BEGIN_H

#include <stdint.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "orchestrator/collect/barrier.h"
#include "plugins/clock/clock_conf.h"

/* The settings that a resolve on this node would use; NULL: not given. */
struct begin_settings {
    const char *config, *default_mode, *nccl, *copper, *util, *clock;
    uint32_t nodeid; /* within its component */
    uint32_t nodes;  /* of the step */
};

/* Computes the step directory from the same settings as srun, and joins it if
 * job.conf is there. Without srun (srun --async) node 0 resolves and the others
 * wait a bounded time. *dir is malloc'ed; NULL with 0: the step is not
 * profiled. */
int begin_locate(const struct begin_settings *settings, char **dir,
                 struct jp_error *err);

/* What job.conf tells the node's agent. */
struct begin_told {
    struct jp_policy policy; /* within the ceilings */
    struct clock_conf clock; /* cadence_us 0: no clocks are probed */
};

/* Folders, token and node.json of this node; *pairs is the answer for the
 * module, dot included (caller frees). A node that can write the directory but
 * cannot profile is marked as done at once, so that nobody waits for it. Fails
 * also where the directory is somebody else's, job.conf is not the one that
 * SLURM_JOBPROF_HASH names, or the step is over. After it nothing needs the
 * file, which the tasks may change. */
int begin_join(const struct jp_seat *seat, const char *node, char **pairs,
               struct begin_told *told, struct jp_error *err);

/* Puts what the clocks' settings are into the step's log, for whoever has made
 * its directory. dir may be NULL. */
void begin_log_clocks(const char *dir, const struct jp_jobconf *conf);

/* The node's topology and hardware, once per job; trouble goes to log.txt.
 * config: the site file; NULL: the installed one. */
void begin_linger(const char *dir, const char *node, const char *config);

#endif
