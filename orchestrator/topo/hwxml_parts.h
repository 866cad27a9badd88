/* hwxml_parts.h - what the two halves of the reader share. */
#ifndef JP_TOPO_HWXML_PARTS_H
#define JP_TOPO_HWXML_PARTS_H

#include "orchestrator/topo/hwxml.h"
#include "orchestrator/topo/xmlscan.h"

/* The scan is at the opening of a distances2 or distances2hetero element; it
 * is left at its close. Objects are all read by then. */
int hwxml_read_matrix(struct hwxml *xml, struct xmlscan *scan,
                      struct jp_error *err);

/* Hexadecimal or decimal digits up to a character of `stops`. NULL: none, or
 * over max. Returns where it stopped. */
const char *hwxml_number(const char *text, unsigned base, uint64_t max,
                         uint64_t *out);

#endif
