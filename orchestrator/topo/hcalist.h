/* hcalist.h - which adapters and ports a value of NCCL_IB_HCA leaves.
 *
 * [^][=]NAME[:PORT[:RAIL[:PLANE]]],...: names are prefixes, whole ones behind
 * "="; "^" leaves all but these. A name without a port (or with -1) is all of
 * its ports, a port that is no number none. Of more than 32 names the first
 * count; without any all match. NCCL 2.30: net_ib/init.cc, misc/utils.cc.
 */
#ifndef JP_TOPO_HCALIST_H
#define JP_TOPO_HCALIST_H

#include <stdint.h>

/* A bit for each port that is left of adapter `name`, bit 0 of port 1; 0: the
 * adapter is left out. */
uint32_t hcalist_ports(const char *value, const char *name);

#endif
