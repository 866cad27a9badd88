/* whatif.h - what mending a finding would win. */
#ifndef JP_INSIGHT_WHATIF_H
#define JP_INSIGHT_WHATIF_H

#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/processes.h"
#include "orchestrator/insight/replay.h"

enum { WHATIF_FINDINGS = 8 }; /* as many are replayed, the first */

/* Sets gain and gain_kind of sorted findings, and adds a clause to their text.
 * The run is replayed where a finding names a cause that a replay can take
 * away; *state, of the replay, is all zeros else. 0, or -1 without memory. */
int whatif_findings(const struct jp_result *result,
                    const struct jp_processes *processes,
                    struct jp_findings *findings, struct replay_state *state);

#endif
