/* The profiler plugin as NCCL finds it, loads it and lets go of it.
 *
 * NCCL_PROFILER_PLUGIN is a file name or a NAME for libnccl-profiler-NAME.so;
 * unset, it is libnccl-profiler.so; "none" means none, "STATIC_PLUGIN" the
 * program itself. The newest table that the release knows wins. The program
 * speaks v6 always; older tables get a shim (sim_shim_old.c, sim_shim_new.c)
 * that leaves out what their interface does not know, as NCCL's own shims do.
 *
 * Source: NVIDIA/nccl 2.30, src/plugin/profiler.cc, plugin_open.cc, profiler/.
 */
#ifndef JP_SIM_PLUGIN_H
#define JP_SIM_PLUGIN_H

#include "plugins/nccl_recorder/nccl_profiler.h"

/* The events' mask, one for the whole process as in NCCL: init() gets the
 * address, and the plugin may change it whenever it likes. */
int sim_plugin_mask(void);

/* Brings the plugin up for a communicator: loads it the first time. On any
 * failure the program goes on without, saying so. `*context` stays NULL where
 * there is no profiler. `interface` > 0 forces one. Thread-safe. */
void sim_plugin_init(int interface, uint64_t comm_hash, const char *comm_name,
                     int n_nodes, int n_ranks, int rank, void **context);

/* The opposite, for a communicator; the last one unloads the plugin. */
void sim_plugin_finalize(void *context);

/* The loaded plugin as v6, or NULL. */
struct jp_nccl_plugin_v6 *sim_plugin_get(void);

/* Says "name (v5)" or "none", for the summary; static. */
const char *sim_plugin_describe(void);

/* NCCL's logger: INFO lines show with NCCL_DEBUG=INFO, on stdout. */
void sim_plugin_log(int level, unsigned long subsys, const char *file, int line,
                    const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
