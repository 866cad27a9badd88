/* nodeagent.h - one process per node and step, beside the tasks.
 *
 * Runs its modules (plugins/module.h) from begin on until the tasks of the step
 * have ended, SIGTERM arrives, or the step's report exists. Then it writes its
 * remaining data within 150 ms. It never delays the end of a step. It records
 * its own cost in nodes/<node>/agent.json (docs/contracts.md).
 */
#ifndef JP_AGENT_NODEAGENT_H
#define JP_AGENT_NODEAGENT_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "plugins/module.h"

struct nodeagent {
    struct module_place place;
    const struct node_module *const *modules; /* terminated by NULL */
};

/* A module that exceeds its budget samples less often; this is its longest
 * period. */
#define NODEAGENT_PERIOD_MAX_MS 60000

/* Runs until the end of the step. Returns -1 if it could not start. */
int nodeagent_run(const struct nodeagent *agent, struct jp_error *err);

/* The modules of this jobprof, terminated by NULL. */
extern const struct node_module *const nodeagent_modules[];

#endif
