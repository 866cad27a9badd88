/* snapshot.h - topology.xml: a node's hardware as hwloc sees it.
 *
 * hwloc's v2 XML with all I/O objects and with what the job's cgroup hides,
 * once per job and node. It loads hwloc's discovery without the components that
 * hang in a driver (gl, opencl, nvml, rsmi, levelzero; nvml.h asks NVML itself,
 * in a child), need a CUDA context (cuda) or move the thread over all CPUs
 * (x86), and without their plugins, which would load those drivers' libraries.
 */
#ifndef JP_TOPO_SNAPSHOT_H
#define JP_TOPO_SNAPSHOT_H

#include <stddef.h>

#include "common/error.h"

/* Returns the XML (caller frees) and its length, or NULL. Changes HWLOC_*
 * variables of this process. */
char *snapshot_take(size_t *len, struct jp_error *err);

/* hwloc's interface in use, "2.9.0". */
const char *snapshot_version(void);

#endif
