/* clockxla.h - one time for all nodes, by what the tasks' XLA has measured
 * (plugins/clock/clock_xla.h). */
#ifndef JP_AGGREGATE_CLOCKXLA_H
#define JP_AGGREGATE_CLOCKXLA_H

#include <stdbool.h>

#include "orchestrator/aggregate/clockprobes.h"

/* In <nodes>/../raw each process has written its own file into its node's
 * folder. So a process index is on the node whose folder has its file; where
 * that names two nodes, *ambiguous is set and nothing is taken. Otherwise,
 * where XLA's probes tell of as many nodes as probes does, they take its place:
 * who told the tasks to probe wants theirs. 0, or -1 without memory: probes is
 * released. */
int clockxla_replace(const char *nodes, struct clockprobes *probes,
                     bool *by_xla, bool *ambiguous);

#endif
