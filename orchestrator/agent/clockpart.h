/* clockpart.h - the clock settings of job.conf and their description. */
#ifndef JP_AGENT_CLOCKPART_H
#define JP_AGENT_CLOCKPART_H

#include <stdbool.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "common/plan.h"
#include "plugins/clock/clock_conf.h"

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

#endif
