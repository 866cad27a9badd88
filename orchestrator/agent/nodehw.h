/* nodehw.h - a node's topology.xml and hardware.json, once per job.
 *
 * The XML comes from the site (topology_file, %N for the node) or from hwloc.
 * hwloc, the GPU driver and the network adapters are queried in children with a
 * time limit.
 *
 * The files are in <job dir>/nodes/<node>/. Steps of one job that begin at the
 * same time on a node share them: the step that creates topology.lock (O_EXCL)
 * writes the files, and the others do nothing. A lock without files that is
 * older than JP_NODEHW_STALE_S was left by a killed process.
 */
#ifndef JP_AGENT_NODEHW_H
#define JP_AGENT_NODEHW_H

#include "common/error.h"

#define JP_NODEHW_STALE_S 300

/* Blocks SIGTERM, SIGINT, SIGHUP and SIGALRM but for windows: the long parts of
 * the functions below. There, each of them removes the unfinished files and
 * ends the process with status 0. `begin` receives SIGTERM when its step exits,
 * and SIGKILL 200 ms later. One process, one thread. */
void nodehw_init(void);

struct jp_nodehw {
    const char *folder; /* folder of this node in the job's directory; exists */
    const char *node;   /* node name in Slurm */
    const char *config; /* path of the site file; NULL: the installed one */
};

/* Writes whichever of the two files is missing; hardware.json also if there is
 * no topology. Returns 0, and err says what is missing or was done instead ("":
 * nothing). Returns -1 if a file could not be written. Call it after
 * nodehw_init(), with the window closed; it opens a window for its long
 * parts. */
int nodehw_make(const struct jp_nodehw *job, struct jp_error *err);

/* Writes the files, unless hardware.json, the last of them, exists or another
 * step is writing it; returns 0 in these cases, too. config: path of the site
 * file; NULL: the installed one. With 0, err says what is missing or was done
 * instead ("": nothing). Call it after nodehw_init(), with the window
 * closed. */
int nodehw_share(const char *job_dir, const char *node, const char *config,
                 struct jp_error *err);

#endif
