/* sim_plugin.h - find, load and unload the profiler plugin as NCCL does.
 *
 * NCCL_PROFILER_PLUGIN is a file name, or a NAME for libnccl-profiler-NAME.so.
 * If it is unset, the file is libnccl-profiler.so. "none" means no plugin,
 * "STATIC_PLUGIN" the program itself. The newest table that the release knows
 * is used. The simulator always uses v6; a shim for each older table
 * (sim_shim_old.c, sim_shim_new.c) leaves out what that interface does not
 * have, as NCCL's own shims do.
 *
 * Source: NVIDIA/nccl 2.30, src/plugin/profiler.cc, plugin_open.cc, profiler/.
 */
#ifndef JP_SIM_PLUGIN_H
#define JP_SIM_PLUGIN_H

#include "plugins/nccl_recorder/nccl_profiler.h"

/* Returns the mask of events. There is one for the whole process, as in NCCL:
 * init() gets its address, and the plugin may change it at any time. */
int sim_plugin_mask(void);

/* Sets the mask to `left`, or gives it back: what RAS does from outside of the
 * process (CONTROL PROFILER_MASK, 2.31), also for communicators to come. */
void sim_plugin_mute(int muted, int left);

/* Initialises the plugin for a communicator, and loads it the first time. After
 * a failure, which is printed, the program runs without it. *context stays NULL
 * without a profiler. interface > 0 forces a table. Thread-safe. */
void sim_plugin_init(int interface, uint64_t comm_hash, const char *comm_name,
                     int n_nodes, int n_ranks, int rank, void **context);

/* Finalizes a communicator; the last one unloads the plugin. */
void sim_plugin_finalize(void *context);

/* Returns the loaded plugin as v6, or NULL. */
struct jp_nccl_plugin_v6 *sim_plugin_get(void);

/* Returns "name (v5)" or "none", for the summary; static. */
const char *sim_plugin_describe(void);

/* NCCL's logger, to stdout; INFO lines only with NCCL_DEBUG=INFO. */
void sim_plugin_log(int level, unsigned long subsys, const char *file, int line,
                    const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
