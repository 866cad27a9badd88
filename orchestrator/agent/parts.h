/* parts.h - what each option besides --nccl-profile adds to a launch: its
 * settings in job.conf, its variables, a line that describes it. */
#ifndef JP_AGENT_PARTS_H
#define JP_AGENT_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "common/plan.h"
#include "orchestrator/agent/facts.h"
#include "plugins/clock/clock_conf.h"

/* --- utilisation --------------------------------------------------------- */

/* Fills conf->util_* and policy.util_period_ms (0: this step takes no samples).
 * conf->policy must already be the site's. */
int utilpart_fill(const struct jp_plan *plan, struct jp_jobconf *conf,
                  struct jp_error *err);

/* Writes "a sample every 1 s, at most 64 MiB a node", or that no samples are
 * taken, to buf. Returns buf. */
const char *utilpart_describe(const struct jp_jobconf *conf, char *buf,
                              size_t len);

/* --- CUDA calls (cuda=1) ------------------------------------------------- */

/* With cuda=1: adds the setting and the tasks' variables to conf. A CUDA
 * injection library that the user has set is kept. Lines for the user are
 * appended to *note. Call utilpart_fill first. */
int cudapart_fill(const struct launch_facts *facts, const struct jp_plan *plan,
                  const char *step_dir, struct jp_jobconf *conf, char **note,
                  struct jp_error *err);

/* Removes the library from conf->env if this node does not have it. Returns
 * false then, and *path is the library's path (caller frees; NULL without
 * memory). */
bool cudapart_check(struct jp_jobconf *conf, char **path);

/* --- clocks -------------------------------------------------------------- */

/* Fills conf->clock_*. The cadence is 0 if this step does not probe clocks;
 * otherwise a new key is generated. conf must already have the number of nodes
 * and the other settings. xla=1 adds variables for the tasks. Lines for the
 * user are appended to *note. */
int clockpart_fill(const struct jp_plan *plan, const struct plan_input *env,
                   const char *step_dir, struct jp_jobconf *conf, char **note,
                   struct jp_error *err);

/* Appends the reason why the clocks of this step cannot be probed, if there is
 * one. */
int clockpart_note_trouble(const struct jp_plan *plan, uint32_t nodes,
                           char **note, struct jp_error *err);

/* With xla=1, CLOCKPART_FILE is written into the step's directory. */
#define CLOCKPART_FILE "dist_prof_config.json"
int clockpart_write(const struct jp_jobconf *conf, const char *step_dir,
                    struct jp_error *err);

/* The settings in effect, in the format of XLA's guide, each with its source.
 * *block is NULL if clocks are not probed. Caller frees. */
int clockpart_block(const struct jp_jobconf *conf, char **block,
                    struct jp_error *err);
/* The same for settings without a step. */
int clockpart_block_of(const struct jp_plan *plan, const struct plan_input *env,
                       char **block, struct jp_error *err);

/* Writes "clocks: a probe of each neighbour every 20 ms", or that clocks are
 * not probed, to buf. Returns buf. */
const char *clockpart_describe(const struct jp_jobconf *conf, char *buf,
                               size_t len);

/* Reads the agent's clock settings. Values outside a knob's range are clamped.
 * Returns false if clocks are not probed or job.conf has no key. */
bool clockpart_read(const struct jp_jobconf *conf, struct clock_conf *out);

/* --- nsys: which ranks run under it, and how ----------------------------- */

/* Refuses a value of the option that this Slurm cannot carry out. text must
 * have passed the option's grammar. err contains a command line that does it by
 * hand. */
int nsyspart_check(const char *text, struct jp_error *err);

/* Whether the step gets a report for nsys alone. */
bool nsyspart_is_step(const struct jp_plan *plan);

/* Fills conf->nsys_* and adds the tasks' variables to conf->env. Lines for the
 * user are appended to *note. */
int nsyspart_fill(const struct launch_facts *facts, const struct jp_plan *plan,
                  const char *step_dir, struct jp_jobconf *conf, char **note,
                  struct jp_error *err);

/* Appends the reason why nsys does not run, if it was requested. */
int nsyspart_note(const struct jp_plan *plan, char **note,
                  struct jp_error *err);

/* Writes "nsys: the first rank of each node, traces cuda,nvtx", or that no rank
 * runs under nsys, to buf. Returns buf. */
const char *nsyspart_describe(const struct jp_jobconf *conf, char *buf,
                              size_t len);

/* --- Copper's daemons beside the tasks ----------------------------------- */

/* Why Copper does not run in this step; NULL: it runs. */
const char *copperpart_refusal(const struct launch_facts *facts,
                               const struct jp_plan *plan);

/* Fills Copper's settings in job.conf, which must already have the job's ids,
 * and adds COPPER_MOUNT to its variables. Lines for the user are appended to
 * *note. */
int copperpart_fill(const struct launch_facts *facts,
                    const struct jp_plan *plan, struct jp_jobconf *conf,
                    char **note, struct jp_error *err);

#endif
