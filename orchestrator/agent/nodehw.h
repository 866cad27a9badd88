/* nodehw.h - make topology.xml and hardware.json of this node.
 *
 * The XML is the site's (topology_file, %N for the node) or hwloc's; hwloc, the
 * GPUs' driver and the adapters are asked in children with a time limit.
 */
#ifndef JP_AGENT_NODEHW_H
#define JP_AGENT_NODEHW_H

#include "common/error.h"

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

#endif
