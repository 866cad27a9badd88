/* silence.h - for how long nothing had ended when a step's tasks ended.
 *
 * Logs of ended operations say nothing of what hangs, but that they stop. A
 * silence is told from a pause of the program by its length: beside the longest
 * one that the run had before. Where nodes' clocks are far apart (limits.h),
 * everything is measured by the one that is ahead, of operations that its node
 * had part in.
 */
#ifndef JP_INSIGHT_SILENCE_H
#define JP_INSIGHT_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/collect/nodes.h"

struct jp_silence {
    bool ended_well;    /* all tasks are known to have ended without an error: a
                           step that did so did not hang */
    bool known;         /* every node's end is */
    uint64_t us;        /* from the last operation that a record tells of to the
                           first node's end; 0: not known */
    uint64_t before_us; /* the longest before that, or up to two 4096th parts of
                           the run more */
};

/* nodes may be NULL. 0, or -1 without memory. */
int silence_measure(const struct jp_result *result,
                    const struct jp_nodes *nodes, struct jp_silence *silence);

#endif
