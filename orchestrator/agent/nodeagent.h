/* nodeagent.h - one process a node and step, beside the tasks.
 *
 * It runs modules (plugins/module.h) from begin on until the step's tasks have
 * gone, it is sent SIGTERM, or the step's report is there; then it writes what
 * it has within 150 ms. It never holds a step's end, and says what it has cost
 * itself: nodes/<node>/agent.json (docs/contracts.md).
 */
#ifndef JP_AGENT_NODEAGENT_H
#define JP_AGENT_NODEAGENT_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "plugins/module.h"

struct nodeagent {
    struct module_place place;
    const struct node_module *const *modules; /* NULL ends them */
};

/* A module that takes more than its budget samples less often, down to this. */
#define NODEAGENT_PERIOD_MAX_MS 60000

/* Runs until the end. -1: it could not begin. */
int nodeagent_run(const struct nodeagent *agent, struct jp_error *err);

/* The modules of this jobprof; NULL ends them. */
extern const struct node_module *const nodeagent_modules[];

#endif
