/* whatif.h - what mending the findings of a run saves. */
#ifndef JP_INSIGHT_WHATIF_H
#define JP_INSIGHT_WHATIF_H

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/identity/processes.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/judge/judge.h"

enum { WHATIF_FINDINGS = 8 }; /* the first so many findings are replayed */

/* Sets gain, gain_last, gain_all and gain_kind of findings, which need no
 * order, and adds a clause to their text. Late ranks and nodes whose mending
 * saves less than `late_told_min`, by own times `own_cost_min`, neither alone
 * nor after the others, are dropped. The run is replayed where a finding names
 * a cause that a replay can take away: by the judge's replay if it has one.
 * judge: may be NULL. 0, or -1 without memory. */
int whatif_findings(const struct jp_result *result,
                    const struct jp_processes *processes,
                    const struct judge *judge, struct jp_findings *findings);

#endif
