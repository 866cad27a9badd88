/* nccltopo.h - a node's topology as NCCL and RCCL write it.
 *
 * NCCL_TOPO_DUMP_FILE names what NCCL writes, NCCL_TOPO_FILE what it reads
 * instead of the machine (clouds ship one for virtual machines). Both are the
 * same XML of version 1 (NCCL 2.30: graph/xml.cc, graph/topo.cc):
 *
 *   <system version="1">
 *     <cpu numaid="0" host_hash="0x..">
 *       <pci busid="ffff:ff:01.0" class="0x060400">            a switch
 *         <pci busid="0001:00:00.0" class="0x030200" vendor= device=>
 *           <gpu dev="0" sm="90" rank="0" gdr="1">
 *             <nvlink target="fffffff:ffff:ff" count="18" tclass="0x068000"/>
 *         <pci busid="0101:00:00.0" class="0x020700">
 *           <nic> <net name="mlx5_0" dev="0" speed="400000" port="1" guid=/>
 *
 * RCCL has <xgmi> in place of <nvlink>. It becomes the objects that hwloc's XML
 * has (hwxml.h), so what follows is the same. A cpu is a NUMA node with one
 * host bridge: NCCL knows no other. A switch is one element here and a pair of
 * ports there. Sockets (no guid, no port) are no adapters. Of several hosts
 * (NVLink across hosts) the first one counts.
 */
#ifndef JP_TOPO_NCCLTOPO_H
#define JP_TOPO_NCCLTOPO_H

#include "orchestrator/topo/hwxml.h"

/* Whether its outermost element is that of such a file. */
bool nccltopo_probe(const char *text, size_t len);

/* As hwxml_parse: text is taken over, also on failure. */
struct hwxml *nccltopo_parse(char *text, size_t len, struct jp_error *err);

#endif
