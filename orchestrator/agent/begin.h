/* begin.h - a node joins a profiled step.
 *
 * begin_locate finds the step's directory where srun has named none. begin_join
 * is the only part that the tasks wait for; it handles a few small files.
 * begin_linger does the slow work while the tasks run. It stops on SIGTERM or
 * when its work is done.
 */
#ifndef JP_AGENT_BEGIN_H
#define JP_AGENT_BEGIN_H

#include <stdint.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "orchestrator/collect/barrier.h"
#include "plugins/clock/clock_conf.h"

/* The settings that resolve would use on this node. NULL: not given. */
struct begin_settings {
    const char *config, *default_mode, *nccl, *copper, *util, *clock, *nsys;
    uint32_t nodeid; /* index of the node within its component */
    uint32_t nodes;  /* number of nodes in the step */
};

/* Computes the step directory from the same settings as srun, and joins it if
 * job.conf is there. Without srun (srun --async), node 0 resolves the settings
 * and the other nodes wait for it, up to a time limit. *dir is malloc'ed. NULL
 * with return value 0: the step is not profiled. */
int begin_locate(const struct begin_settings *settings, char **dir,
                 struct jp_error *err);

/* The settings in job.conf that the node agent needs. */
struct begin_told {
    struct jp_policy policy; /* clamped to the site's ceilings */
    struct clock_conf clock; /* cadence_us 0: clocks are not probed */
};

/* Creates the folders, token and node.json of this node. *pairs is the answer
 * for the SPANK module, final dot included (caller frees). A node that can
 * write to the directory but cannot profile is marked as done at once, so that
 * no other node waits for it. Also fails if the directory belongs to another
 * user, if job.conf does not match SLURM_JOBPROF_HASH, or if the step is over.
 * Nothing reads job.conf after this call, because the tasks may change it. */
int begin_join(const struct jp_seat *seat, const char *node, char **pairs,
               struct begin_told *told, struct jp_error *err);

/* Writes a description of the clock settings to the step's log, for the process
 * that has created the step's directory. dir may be NULL. */
void begin_log_clocks(const char *dir, const struct jp_jobconf *conf);

/* Records the node's topology and hardware, once per job. Errors go to log.txt.
 * config: path of the site file; NULL: the installed one. */
void begin_linger(const char *dir, const char *node, const char *config);

#endif
