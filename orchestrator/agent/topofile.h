/* topofile.h - <job dir>/nodes/<node>/topology.xml, once per job and node.
 *
 * Steps of one job that begin together on a node share it: topology.lock
 * (O_EXCL) says who makes it, the others leave it alone. A lock without a file
 * that is older than JP_TOPOFILE_STALE_S was left by a killed one.
 */
#ifndef JP_AGENT_TOPOFILE_H
#define JP_AGENT_TOPOFILE_H

#include "common/error.h"

#define JP_TOPOFILE_STALE_S 300

/* Makes the file unless it is there or being made; 0 also then. After
 * cleanup_init(), with the window closed. */
int topofile_make(const char *job_dir, const char *node, struct jp_error *err);

#endif
