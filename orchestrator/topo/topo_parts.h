/* topo_parts.h - the steps in which a topology is made, of hwloc's XML or
 * NCCL's.
 *
 * Each takes what the earlier ones left in the model.
 */
#ifndef JP_TOPO_TOPO_PARTS_H
#define JP_TOPO_TOPO_PARTS_H

#include "orchestrator/topo/hwxml.h"
#include "orchestrator/topo/topo.h"

/* Where the devices of the model stand in the XML; -1 not there. */
struct topo_places {
    int gpu[TOPO_MAX_GPUS];
    int hca[TOPO_MAX_HCAS];
};

/* GPUs and HCAs, in PCI order. -1 without memory. */
int topo_devices(const struct hwxml *xml, struct topo *topo,
                 struct topo_places *places);

/* NVLink by hwloc's matrix, by the model, by an NVSwitch on the bus. */
int topo_links(const struct hwxml *xml, const struct topo_places *places,
               struct topo *topo);

/* Each GPU's HCA, and rails; again where ports have changed. */
int topo_nearest(struct topo *topo);

/* Copies text, other than printable ASCII as '?', cut to fit, without
 * blanks at its end. */
void topo_copy(char *out, size_t size, const char *text);

/* --- a node's topology as NCCL and RCCL write it ------------------------- */

/* NCCL_TOPO_DUMP_FILE names what NCCL writes, NCCL_TOPO_FILE what it reads
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
 * (NVLink across hosts) the first one counts. */

/* Whether its outermost element is that of such a file. */
bool nccltopo_probe(const char *text, size_t len);

/* As hwxml_parse: text is taken over, also on failure. */
struct hwxml *nccltopo_parse(char *text, size_t len, struct jp_error *err);

#endif
