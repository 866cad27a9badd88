/* topo_find.h - the topologies that a user's path means.
 */
#ifndef JP_TOPO_TOPO_FIND_H
#define JP_TOPO_TOPO_FIND_H

#include "orchestrator/topo/shapes.h"

/* Adds what path has: an XML file; a job's directory (nodes/<node>/), or a
 * step's in it; a folder of such node folders; a folder of .xml files. Nodes in
 * order of name; links are not followed below path. Returns how many nodes were
 * added, 0: none, -1 and err. */
long topo_find(const char *path, struct jp_shapes *shapes,
               struct jp_error *err);

#endif
