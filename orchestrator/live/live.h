/* live.h - the node agent's module that tells of hangs while a step runs.
 *
 * Each node follows its recordings and keeps a snapshot in the step directory
 * (livesnap.h): at once when its state changes, every 30 s while all is well,
 * every 5 s while somebody watches. Node 0's agent joins them, applies the rule
 * of hung.h and tells the user (livejoin.h). It needs the recorder's files;
 * with another profiler, or none, the module is off.
 */
#ifndef JP_LIVE_LIVE_H
#define JP_LIVE_LIVE_H

#include "plugins/module.h"

extern const struct node_module live_module;

#endif
