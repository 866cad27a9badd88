/* live.h - the node agent's module that reports hangs while a step runs.
 *
 * Each node follows its recordings and keeps a snapshot in the step directory
 * (livesnap.h). It writes the snapshot at once when the node's state changes,
 * every 30 s while all is well, and every 5 s while somebody watches. The agent
 * of node 0 joins the snapshots, applies the rule of hung.h, and reports to the
 * user (livejoin.h). The module needs the recorder's files or a profiler's logs
 * of ended operations; otherwise it is off. */
#ifndef JP_LIVE_LIVE_H
#define JP_LIVE_LIVE_H

#include "plugins/module.h"

extern const struct node_module live_module;
/* Sees how the processes with recordings end (ends_module.c). */
extern const struct node_module ends_module;

#endif
