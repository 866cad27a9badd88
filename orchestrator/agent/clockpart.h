/* clockpart.h - the clocks' part of job.conf, and what is told of it. */
#ifndef JP_AGENT_CLOCKPART_H
#define JP_AGENT_CLOCKPART_H

#include <stdbool.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "common/plan.h"
#include "plugins/clock/clock_conf.h"

/* Fills conf->clock_...: a cadence of 0 where this step probes no clocks, else
 * with a new key. conf has the step's nodes and its other settings; xla=1 adds
 * variables for the tasks. Lines for the user are added to *note. */
int clockpart_fill(const struct jp_plan *plan, const struct plan_input *env,
                   const char *step_dir, struct jp_jobconf *conf, char **note,
                   struct jp_error *err);

/* Adds what keeps the probes out of a step that would have had them. */
int clockpart_note_trouble(const struct jp_plan *plan, uint32_t nodes,
                           char **note, struct jp_error *err);

/* With xla=1: writes CLOCKPART_FILE into the step's directory. */
#define CLOCKPART_FILE "dist_prof_config.json"
int clockpart_write(const struct jp_jobconf *conf, const char *step_dir,
                    struct jp_error *err);

/* The settings in effect as XLA's guide prints them, with the source of each,
 * as lines; *block is NULL where no clocks are probed. Caller frees. */
int clockpart_block(const struct jp_jobconf *conf, char **block,
                    struct jp_error *err);
/* The same of settings without a step. */
int clockpart_block_of(const struct jp_plan *plan, const struct plan_input *env,
                       char **block, struct jp_error *err);

/* "clocks: a probe of each neighbour every 20 ms", or that there are none, into
 * buf. Returns buf. */
const char *clockpart_describe(const struct jp_jobconf *conf, char *buf,
                               size_t len);

/* What the agent is told. false: no clocks are probed, or job.conf has no key;
 * what it asks is moved into the knobs' ranges. */
bool clockpart_read(const struct jp_jobconf *conf, struct clock_conf *out);

#endif
