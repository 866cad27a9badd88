/* silence.h - how long before the end of a step's tasks the last operation
 * ended.
 *
 * Logs of ended operations show a hang only because they stop. The length of
 * the silence distinguishes it from a pause of the program: it is compared
 * with the longest silence before. If the nodes' clocks are far apart
 * (limits.h), all times are those of the clock that is ahead, and only
 * operations of its node count.
 */
#ifndef JP_INSIGHT_SILENCE_H
#define JP_INSIGHT_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/collect/nodes.h"

struct jp_silence {
    bool ended_well; /* all tasks ended without an error, so the step did not
                        hang */
    bool known;      /* the end of every node is known */
    uint64_t us; /* from the last recorded operation to the first node's end; 0:
                    unknown */
    uint64_t before_us; /* the longest silence before that; up to 2/4096 of the
                           run too long */
};

/* nodes may be NULL. 0, or -1 without memory. */
int silence_measure(const struct jp_result *result,
                    const struct jp_nodes *nodes, struct jp_silence *silence);

#endif
