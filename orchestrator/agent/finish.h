/* finish.h - a node leaves a profiled step.
 *
 * Records are made by a child within policy.finish_limit_ms and killed beyond;
 * then, in what is left of that time, another one makes ranks.jsonl and a nice
 * one the node's partial, each of them complete or not there. Then, whatever
 * became of them, the node says that it is done, and the last one starts the
 * watcher.
 */
#ifndef JP_AGENT_FINISH_H
#define JP_AGENT_FINISH_H

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "orchestrator/collect/barrier.h"

/* What a partial is made of. */
struct finish_node {
    const struct jp_seat *seat;
    const char *node;
    uint64_t deadline_ms; /* of clock_mono_ms() */
    uint32_t processes;   /* of the whole step; 0: not known */
};

/* Makes nodes/<node>/partial.jpp by temp + rename before the deadline, or not
 * at all. 0: there, or nothing to make one of. -1 and err: why not. Called in a
 * child, which is killed a little later. */
typedef int finish_partial(const struct finish_node *of, struct jp_error *err);

struct finish {
    const struct jp_seat *seat;
    const char *node;
    FILE *tasks;             /* stepd's task lines (tasklines.h) */
    finish_partial *partial; /* may be NULL */
    /* What begin has pinned: job.conf's sum; the module's config=. NULL or "":
     * not known. */
    const char *hash, *site;
};

/* -1: this node could not be marked as done. A job.conf that is refused is one
 * line in the log, and the defaults count. */
int finish_leave(const struct finish *finish, struct jp_error *err);

#endif
