/* modules.c - what the node agent runs, a line a module, in the order in which
 * it starts them. */
#include "orchestrator/agent/agent.h"

extern const struct node_module clock_module;
extern const struct node_module ends_module;
extern const struct node_module live_module;
extern const struct node_module util_module;

/* clang-format off */
const struct node_module *const nodeagent_modules[] = {
    &util_module,
    &clock_module,
    &live_module,
    &ends_module,
    &env_module,
    NULL,
};
/* clang-format on */
