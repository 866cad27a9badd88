/* utilpart.h - the utilisation settings of job.conf. */
#ifndef JP_AGENT_UTILPART_H
#define JP_AGENT_UTILPART_H

#include "common/error.h"
#include "common/jobconf.h"
#include "common/plan.h"

/* Fills conf->util_* and policy.util_period_ms (0: this step takes no samples).
 * conf->policy must already be the site's. */
int utilpart_fill(const struct jp_plan *plan, struct jp_jobconf *conf,
                  struct jp_error *err);

/* Writes "a sample every 1 s, at most 64 MiB a node", or that no samples are
 * taken, to buf. Returns buf. */
const char *utilpart_describe(const struct jp_jobconf *conf, char *buf,
                              size_t len);

#endif
