/* agents.h - the node agents' records about themselves and the tasks.
 *
 * Read from nodes/<node>/agent.json: the cost of sampling, periods that had to
 * be lengthened, errors, and the frameworks that tasks have loaded. The files
 * are foreign input: bad parts are left out.
 */
#ifndef JP_COLLECT_AGENTS_H
#define JP_COLLECT_AGENTS_H

#include <stddef.h>
#include <stdint.h>

#include "orchestrator/collect/nodes.h"
#include "common/loaded.h"

#define JP_AGENTS_TEXT 300 /* buffer size for agents_text */

/* What a node's agent did not watch for hangs. */
struct jp_unwatched {
    char node[64];
    char why[120];             /* the whole node: its module ended; else "" */
    uint64_t left, left_comms; /* processes, communicators beyond a limit */
    int64_t pids[8];           /* of the first of these processes */
    uint32_t n_pids;
};
#define JP_UNWATCHED_MAX 8

struct jp_agents {
    uint32_t nodes; /* nodes with a record; 0: no agent ran */
    uint64_t cpu_us, lived_us, wakeups, bytes; /* sums over all agents */
    uint64_t max_rss;    /* bytes; of the largest agent, with its child */
    uint32_t slowed;     /* nodes that sampled less often than requested */
    uint32_t slowest_ms; /* the longest period among them */
    uint32_t troubled;   /* nodes with an error */
    char trouble[200];   /* the error of the first of them; "": none */
    struct jp_unwatched unwatched[JP_UNWATCHED_MAX];
    uint32_t n_unwatched; /* nodes; only the first ones are in the list */
    struct loaded_list loaded;
    uint32_t on[LOADED_MAX]; /* number of nodes that have it */
};

/* Reads the records of all nodes. period_ms: from job.conf; 0: unknown. */
void agents_load(const char *step_dir, const struct jp_nodes *nodes,
                 uint32_t period_ms, struct jp_agents *out);

/* The version of a framework if all nodes have loaded the same one, or NULL. */
const char *agents_version(const struct jp_agents *agents, const char *name);

/* Formats the cost of sampling, "2 agents: 0.21 % of a processor each,
 * ...", to buf; "" without agents. Returns buf. */
char *agents_text(const struct jp_agents *agents, char *buf, size_t size);
/* Formats "torch 2.4.0, nccl 2.21.5" to buf; "": none. Returns buf. */
char *agents_loaded(const struct jp_agents *agents, char *buf, size_t size);

#endif
