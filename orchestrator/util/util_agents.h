/* util_agents.h - what the nodes' agents say of themselves and of the tasks.
 *
 * From nodes/<node>/agent.json: what sampling cost, whether it became rarer,
 * what went wrong, and the frameworks that tasks have loaded. The files are
 * foreign input: what is bad in them is left out.
 */
#ifndef JP_UTIL_AGENTS_H
#define JP_UTIL_AGENTS_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/collect/nodes.h"
#include "plugins/util/util_loaded.h"

#define JP_AGENTS_TEXT 300 /* of util_agents_text */

struct jp_agents {
    uint32_t nodes; /* with a record; 0: there was no agent */
    uint64_t cpu_us, lived_us, wakeups, bytes; /* of all together */
    uint64_t max_rss;    /* of the largest, with its child; bytes */
    uint32_t slowed;     /* nodes that sampled less often than was asked for */
    uint32_t slowest_ms; /* the longest period among them */
    uint32_t troubled;   /* nodes where something went wrong */
    char trouble[200];   /* what, on the first of them; "" nothing */
    struct util_loaded loaded;
    uint32_t on[UTIL_LOADED_MAX]; /* nodes that have it */
};

/* Reads all nodes' records; period_ms: as job.conf says, 0: not known. */
void util_agents_load(const char *step_dir, const struct jp_nodes *nodes,
                      uint32_t period_ms, struct jp_agents *out);

/* The only version of a framework that all nodes have loaded, or NULL. */
const char *util_agents_version(const struct jp_agents *agents,
                                const char *name);

/* "2 agents took 0.21 % of a processor each, ...": what sampling cost, into
 * buf; "" without agents. Returns buf. */
char *util_agents_text(const struct jp_agents *agents, char *buf, size_t size);
/* "torch 2.4.0, nccl 2.21.5" into buf; "" for none. Returns buf. */
char *util_agents_loaded(const struct jp_agents *agents, char *buf,
                         size_t size);

#endif
