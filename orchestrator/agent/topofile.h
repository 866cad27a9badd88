/* topofile.h - a node's topology.xml and hardware.json, once per job.
 *
 * They stand in <job dir>/nodes/<node>/. Steps of one job that begin together
 * on a node share them: topology.lock (O_EXCL) says who makes them, the others
 * leave it alone. A lock without files that is older than JP_TOPOFILE_STALE_S
 * was left by a killed one.
 */
#ifndef JP_AGENT_TOPOFILE_H
#define JP_AGENT_TOPOFILE_H

#include "common/error.h"

#define JP_TOPOFILE_STALE_S 300

/* Makes the files unless hardware.json, the last of them, is there or being
 * made; 0 also then. config: the site file; NULL: the installed one. With 0 err
 * says what is missing or was done instead, "" nothing. After cleanup_init(),
 * with the window closed. */
int topofile_make(const char *job_dir, const char *node, const char *config,
                  struct jp_error *err);

#endif
