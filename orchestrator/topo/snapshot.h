/* snapshot.h - topology.xml: a node's hardware as hwloc sees it.
 *
 * hwloc's v2 XML with all I/O objects and with what the job's cgroup hides,
 * once per job and node. It loads hwloc's discovery without the components that
 * hang (gl, opencl), need a CUDA context (cuda) or move the thread over all
 * CPUs (x86).
 */
#ifndef JP_TOPO_SNAPSHOT_H
#define JP_TOPO_SNAPSHOT_H

#include <stddef.h>

#include "common/error.h"

/* Returns the XML (caller frees) and its length, or NULL. Changes HWLOC_*
 * variables of this process. */
char *snapshot_take(size_t *len, struct jp_error *err);

#endif
