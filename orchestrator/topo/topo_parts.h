/* topo_parts.h - the steps of making a topology from hwloc's XML or NCCL's.
 *
 * Each step uses what the earlier ones have left in the model. */
#ifndef JP_TOPO_TOPO_PARTS_H
#define JP_TOPO_TOPO_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/topo/topo.h"

/* PCI vendors of GPUs and of network adapters. */
#define VENDOR_NVIDIA 0x10de
#define VENDOR_AMD 0x1002
#define VENDOR_INTEL 0x8086
#define VENDOR_MELLANOX 0x15b3
#define VENDOR_AMAZON 0x1d0f
#define VENDOR_CRAY 0x17db
#define VENDOR_CORNELIS 0x434e /* Omni-Path */
#define VENDOR_CHELSIO 0x1425  /* iWARP */
#define VENDOR_CISCO 0x1137    /* usNIC */

/* --- hwxml.c ------------------------------------------------------------ */

/* The objects of a topology that hwloc has exported as XML.
 *
 * The formats of hwloc 1.x, 2.x and 3.x are read here without hwloc, so that
 * any jobprof reads any node's record the same way: hwloc 2 rejects what 3
 * writes, drops NVLink with the default filters, and its importer is not made
 * for hostile input. Objects that contain an I/O object or are one are kept;
 * cores, caches, memory and threads are only counted. Every length, number and
 * index is checked; the limits are below. Format: hwloc's hwloc2.dtd and
 * topology-xml.c. */

#define HWXML_MAX_BYTES (64u << 20)
#define HWXML_MAX_OBJECTS 65536 /* limit of kept objects */
#define HWXML_MAX_INFOS 65536
#define HWXML_MAX_LINKS 65536
#define HWXML_MAX_MATRIX 256 /* limit of objects in an NVLink matrix */

enum hwxml_type {
    HWXML_OTHER, /* Machine, Package, Group, Die, NUMANode of 1.x, ... */
    HWXML_BRIDGE,
    HWXML_PCI,
    HWXML_OS
};

/* Kinds of an OS device; a set, as in hwloc 3. */
enum {
    HWXML_OS_GPU = 1,
    HWXML_OS_COPROC = 2,
    HWXML_OS_NETWORK = 4,
    HWXML_OS_OPENFABRICS = 8
};

struct hwxml_pci {
    uint32_t domain;
    uint8_t bus, dev, func;
    uint16_t class_id, vendor, device;
    uint32_t link_mbs; /* of the PCI link, MB/s; 0: unknown */
};

struct hwxml_info {
    const char *name, *value;
    int next; /* next info of the same object; -1: none */
};

struct hwxml_object {
    enum hwxml_type type;
    int parent;            /* index; -1: the root. Parents precede children */
    const char *type_name; /* "Package" */
    const char *name;      /* of an OS device; "" */
    const char *subtype;   /* "" */
    const char *nodeset;   /* bitmap; NULL: none */
    unsigned nodeset_weight;
    /* of the NUMA nodes below (hwloc 2 and later): the CPUs that they are local
     * to. HBM next to DRAM, or a GPU's memory, is no separate place. NULL:
     * unknown */
    const char *numa_cpus;
    bool many_numa_cpus; /* the NUMA nodes below are local to different CPUs */
    bool host_bridge, has_pci;
    int first_bus; /* the bus directly below a bridge; -1: unknown */
    unsigned os_kinds;
    /* if has_pci: of a PCI device, or of a bridge's upstream side */
    struct hwxml_pci pci;
    uint64_t gp_index;
    int first_info; /* index into infos; -1: none */
    /* from NCCL's or RCCL's file only */
    bool active;        /* the adapter's port is active */
    uint32_t rate_mbps; /* of the port, Mbit/s; 0: unknown */
    bool is_gpu;        /* the file says so, whatever the PCI class */
    bool has_all_links; /* the library itself listed the GPU's links */
    unsigned sm;        /* a GPU's compute capability, 90 for 9.0; 0: unknown */
    const char *gcn;    /* an AMD GPU's architecture, "gfx942"; NULL: unknown */
};

/* What a link leads to, by the PCI class in the file. */
enum hwxml_end {
    HWXML_END_UNKNOWN,
    HWXML_END_GPU,
    HWXML_END_SWITCH,
    HWXML_END_CPU
};

/* Links of a GPU to one neighbour, in NCCL's file. */
struct hwxml_link {
    int object;         /* the GPU's PCI device */
    const char *target; /* bus id; "": unknown */
    enum hwxml_end end;
    unsigned count; /* 0: unknown */
};

/* The links in a matrix of bandwidths. */
enum hwxml_fabric { HWXML_NVLINK, HWXML_XGMI, HWXML_XELINK };

/* NVLinkBandwidth, XGMIBandwidth or XeLinkBandwidth, MB/s in one direction;
 * rows and columns are objects. */
struct hwxml_matrix {
    size_t n;
    int object[HWXML_MAX_MATRIX]; /* index; -1: an object that was not kept */
    uint64_t *value;              /* n * n, row by row */
    enum hwxml_fabric fabric;
    bool by_user; /* added by a user, not found by hwloc */
};

struct hwxml {
    char *text; /* all strings point into it */
    struct hwxml_object *objects;
    size_t n_objects;
    struct hwxml_info *infos;
    size_t n_infos;
    unsigned n_numa;
    int version;     /* 1, 2 or 3 */
    bool restricted; /* made inside a job that has only some CPUs; packages and
                        groups without CPUs are still separate places */
    bool has_matrix; /* of more than one object */
    struct hwxml_matrix matrix;
    /* HWLOC; NCCL or RCCL: the library's own file, with links in place of a
     * matrix */
    enum topo_source from;
    struct hwxml_link *links;
    size_t n_links;
    int root_info; /* infos outside of objects (3.x); -1: none */
};

/* Takes text over (allocated, text[len] is NUL), also on failure. Returns NULL
 * if it is not a topology; the error has the line. */
struct hwxml *hwxml_parse(char *text, size_t len, struct jp_error *err);
void hwxml_destroy(struct hwxml *xml);

/* For readers of other formats: appends an object; *room is the allocated size.
 * Returns its number, or -1. */
int hwxml_add(struct hwxml *xml, size_t *room,
              const struct hwxml_object *object, struct jp_error *err);

/* The value of an object's info, or NULL. HWXML_MACHINE: an info of the root
 * object, or one outside of all objects. */
#define HWXML_MACHINE (-1)
const char *hwxml_info(const struct hwxml *xml, int object, const char *name);

/* The XML objects of the model's devices. */
struct topo_places {
    int gpu[TOPO_MAX_GPUS];
    int hca[TOPO_MAX_HCAS];
};

/* Fills in GPUs and HCAs in PCI order, and NVLink as hwloc's matrix, NCCL's
 * links, the GPUs' models or an NVSwitch on the bus show it. Returns -1 without
 * memory. */
int topo_devices(const struct hwxml *xml, struct topo *topo,
                 struct topo_places *places);

/* Finds each GPU's HCAs, and the rails; called again after ports have changed.
 * Returns -1 without memory. */
int topo_nearest(struct topo *topo);

/* Copies text, truncated to size, without blanks at its end; anything but
 * printable ASCII becomes '?'. */
void topo_copy(char *out, size_t size, const char *text);

/* --- a node's topology as NCCL and RCCL write it ------------------------- */

/* NCCL_TOPO_DUMP_FILE names what NCCL writes, NCCL_TOPO_FILE what it reads
 * instead of the machine (clouds ship one for virtual machines). Both are the
 * same XML, NCCL's of version 1 and RCCL's of version 2 (NCCL 2.30 and RCCL
 * 2.21: graph/xml.cc, graph/topo.cc):
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
 * RCCL has <xgmi> in place of <nvlink>, and gpu has gcn="gfx942". The elements
 * become the objects of hwloc's XML (above), so that the later steps are the
 * same. A cpu is a NUMA node with one host bridge, because NCCL knows no
 * others. A switch is one element here, and a pair of ports in hwloc. Sockets
 * (port 0) are not adapters. Of several hosts (NVLink across hosts) only the
 * first one counts.
 *
 * Files that people write have a part of this. What is not there is unknown:
 * NCCL itself fills it in from the machine. A gpu with a rank was written by
 * the library, which lists all links; without a rank its links may be missing.
 */

/* Parses such a file, or hwloc's XML if the outermost element is not NCCL's. As
 * hwxml_parse: text is taken over, also on failure. */
struct hwxml *nccltopo_read(char *text, size_t len, struct jp_error *err);

/* --- xmlscan.c ---------------------------------------------------------- */

/* Iterates over the elements of a small, foreign XML text.
 *
 * Accepts what hwloc writes and people edit: elements, attributes, text,
 * comments, processing instructions, CDATA, a DOCTYPE without declarations (so
 * no entity can grow), the five named entities and numeric ones. Everything
 * else is an error. Nothing is allocated: names and values are terminated and
 * decoded in place, and live as long as the text. */

#define XMLSCAN_MAX_DEPTH 256
#define XMLSCAN_MAX_ATTRS 64

enum xmlscan_event {
    XMLSCAN_ERROR = -1,
    XMLSCAN_END,   /* after the outermost element */
    XMLSCAN_OPEN,  /* name, attrs */
    XMLSCAN_CLOSE, /* name; also of <a/> */
    XMLSCAN_TEXT   /* text, not decoded; text of blanks is left out */
};

struct xmlscan {
    /* content of the last event */
    const char *name;
    struct xmlscan_attr {
        const char *name, *value;
    } attrs[XMLSCAN_MAX_ATTRS];
    unsigned n_attrs;
    const char *text;
    unsigned depth; /* number of open elements, including the last event's */

    /* private */
    char *begin, *at, *end;
    char held; /* the character that a terminating NUL has replaced */
    bool closing, left, over;
    const char *open[XMLSCAN_MAX_DEPTH];
};

/* text[len] is NUL. The text is modified, and stays the caller's, as does scan.
 */
void xmlscan_init(struct xmlscan *scan, char *text, size_t len);

enum xmlscan_event xmlscan_next(struct xmlscan *scan, struct jp_error *err);

/* Returns the line of the last event. */
unsigned xmlscan_line(const struct xmlscan *scan);

/* Returns the value of an attribute of the last element, or NULL. */
const char *xmlscan_attr(const struct xmlscan *scan, const char *name);

#endif
