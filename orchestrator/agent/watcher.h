/* watcher.h - start the report of last resort, detached from the step. */
#ifndef JP_AGENT_WATCHER_H
#define JP_AGENT_WATCHER_H

#include "common/error.h"

/* Runs `jobprof report --watch <dir>` as nobody's child in a session of its own
 * with /dev/null as 0, 1, 2. jobprof is the one beside this executable, else
 * the one in the compiled-in bindir. An exec that fails is noted in log.txt. */
int watcher_start(const char *dir, struct jp_error *err);

#endif
