/* supervise.h - one runner on one node: start, wait, stop, collect, in time.
 *
 * It stops on its own SIGTERM, when the node's tasks have ended, when the step
 * is reported or its directory is gone, and when its parent is gone; then it
 * has KillWait less a reserve for the end of what it runs.
 */
#ifndef JP_AGENT_SUPERVISE_H
#define JP_AGENT_SUPERVISE_H

#include "common/error.h"
#include "plugins/backend.h"

/* Runs runner for the step in dir, until it has ended. 0: it did what it
 * should; -1: err says what not, and so does the step's log. */
int supervise(const struct backend_runner *runner, const char *dir,
              const char *node, struct jp_error *err);

/* The time in milliseconds that the end of what a runner has started may take.
 */
uint32_t supervise_budget(const struct jp_jobconf *conf);

#endif
