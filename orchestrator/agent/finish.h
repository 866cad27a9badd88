/* finish.h - a node leaves a profiled step.
 *
 * A child writes the records; it is killed after policy.finish_limit_ms. In the
 * time that remains, a second child writes ranks.jsonl, and a third one, at low
 * priority, writes the node's partial. Each file is either complete or absent.
 * Afterwards the node is marked as done, whatever happened to the children, and
 * the last node starts the watcher.
 */
#ifndef JP_AGENT_FINISH_H
#define JP_AGENT_FINISH_H

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "orchestrator/collect/barrier.h"

/* The inputs of a partial. */
struct finish_node {
    const struct jp_seat *seat;
    const char *node;
    uint64_t deadline_ms; /* in terms of clock_mono_ms() */
    uint32_t processes;   /* of the whole step; 0: unknown */
};

/* Writes nodes/<node>/partial.jpp by temp + rename before the deadline, or not
 * at all. Returns 0 if the file is there or there is nothing to write; -1 and
 * err otherwise. Runs in a child, which is killed shortly after the
 * deadline. */
typedef int finish_partial(const struct finish_node *of, struct jp_error *err);

struct finish {
    const struct jp_seat *seat;
    const char *node;
    FILE *tasks;             /* slurmstepd's task lines (tasklines.h) */
    finish_partial *partial; /* may be NULL */
    /* Values fixed by begin. hash: checksum of job.conf. site: the
     * module's config= path. NULL or "": unknown. */
    const char *hash, *site;
};

/* Returns -1 if this node could not be marked as done. If job.conf is refused,
 * the log gets one line and the defaults apply. */
int finish_leave(const struct finish *finish, struct jp_error *err);

#endif
