/* shape.h - one number for all nodes that are wired alike.
 *
 * A hash of hwloc's XML without what tells equal machines apart: host and
 * kernel names, serial numbers, UUIDs, GUIDs, addresses, sizes of memory and
 * what a job's cgroup allows. What counts stays: objects, their places, PCI ids
 * and classes, models, port states, distances. It works on the text, by lines
 * and attributes, so that a thousand nodes cost a thousand readings and not a
 * thousand imports.
 */
#ifndef JP_TOPO_SHAPE_H
#define JP_TOPO_SHAPE_H

#include <stddef.h>

#define JP_SHAPE_LEN 17

/* 16 hexadecimal digits into out. Any text has one, also one that is no XML. */
void shape_hash(const char *xml, size_t len, char out[JP_SHAPE_LEN]);

#endif
