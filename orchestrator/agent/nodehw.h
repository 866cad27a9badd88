/* nodehw.h - a node's topology.xml and hardware.json, once per job.
 *
 * The XML is the site's (topology_file, %N for the node) or hwloc's; hwloc, the
 * GPUs' driver and the adapters are asked in children with a time limit.
 *
 * The files stand in <job dir>/nodes/<node>/. Steps of one job that begin
 * together on a node share them: topology.lock (O_EXCL) says who makes them,
 * the others leave it alone. A lock without files that is older than
 * JP_NODEHW_STALE_S was left by a killed one.
 */
#ifndef JP_AGENT_NODEHW_H
#define JP_AGENT_NODEHW_H

#include "common/error.h"

#define JP_NODEHW_STALE_S 300

struct jp_nodehw {
    const char *folder; /* of this node in the job's directory; it exists */
    const char *node;   /* Slurm's name */
    const char *config; /* site file; NULL: the installed one */
};

/* Makes those of the two files that are not there, hardware.json also where
 * there is no topology (0 and err: what is missing or was done instead, "" :
 * nothing). -1: it could not be written. After cleanup_init(), with the window
 * closed; what may take long is done in a window. */
int nodehw_make(const struct jp_nodehw *job, struct jp_error *err);

/* Makes the files unless hardware.json, the last of them, is there or being
 * made; 0 also then. config: the site file; NULL: the installed one. With 0 err
 * says what is missing or was done instead, "" nothing. After cleanup_init(),
 * with the window closed. */
int nodehw_share(const char *job_dir, const char *node, const char *config,
                 struct jp_error *err);

#endif
