/* hwxml.h - the objects of a topology that hwloc has exported as XML.
 *
 * Reads the formats of hwloc 1.x, 2.x and 3.x itself, so that a record of any
 * node is the same to any jobprof: hwloc 2 refuses what 3 writes, drops NVLink
 * with the default filters, and its importer is not made for hostile input.
 * Kept are the objects that can hold an I/O object or are one; cores, caches,
 * memory and threads are only counted. Every length, number and index is
 * checked; the caps stand below. Format: hwloc's hwloc2.dtd and
 * topology-xml.c.
 */
#ifndef JP_TOPO_HWXML_H
#define JP_TOPO_HWXML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define HWXML_MAX_BYTES (64u << 20)
#define HWXML_MAX_OBJECTS 65536 /* kept ones */
#define HWXML_MAX_INFOS 65536
#define HWXML_MAX_LINKS 65536
#define HWXML_MAX_MATRIX 256 /* objects of an NVLink matrix */

enum hwxml_type {
    HWXML_OTHER, /* Machine, Package, Group, Die, NUMANode of 1.x, ... */
    HWXML_BRIDGE,
    HWXML_PCI,
    HWXML_OS
};

/* What an OS device is; a set, as in hwloc 3. */
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
    int next; /* of the same object; -1 none */
};

struct hwxml_object {
    enum hwxml_type type;
    int parent; /* index; -1: the root. Parents stand before children */
    const char *type_name; /* "Package" */
    const char *name;      /* OS devices; "" none */
    const char *subtype;   /* "" none */
    const char *nodeset;   /* NUL-terminated bitmap; NULL none */
    unsigned nodeset_weight;
    /* of the NUMA nodes below (hwloc 2 on): the CPUs that they are local to.
     * HBM beside DRAM, or a GPU's memory, is no further place. NULL: unknown
     */
    const char *numa_cpus;
    bool many_numa_cpus; /* they are local to different CPUs */
    bool host_bridge, has_pci;
    int first_bus; /* the bus right below a bridge; -1: unknown */
    unsigned os_kinds;
    struct hwxml_pci pci; /* has_pci: of a PCI device or a bridge's upstream */
    uint64_t gp_index;
    int first_info; /* index into infos; -1 none */
    /* by NCCL's file alone */
    bool active;        /* an adapter's port */
    uint32_t rate_mbps; /* of it, Mbit/s; 0: unknown */
    unsigned sm;        /* a GPU's compute capability, 90; 0: unknown */
};

/* Links of a GPU to one neighbour, in NCCL's file. */
struct hwxml_link {
    int object;         /* the GPU's PCI device */
    const char *target; /* bus id */
    bool to_switch, to_cpu;
    unsigned count;
};

/* What a matrix of bandwidth is of. */
enum hwxml_fabric { HWXML_NVLINK, HWXML_XGMI, HWXML_XELINK };

/* NVLinkBandwidth, XGMIBandwidth or XeLinkBandwidth, MB/s one way; rows and
 * columns are objects. */
struct hwxml_matrix {
    size_t n;
    int object[HWXML_MAX_MATRIX]; /* index; -1: an object that is not kept */
    uint64_t *value;              /* n * n, row by row */
    enum hwxml_fabric fabric;
    bool by_user; /* added by somebody, not found by hwloc */
};

struct hwxml {
    char *text; /* what all strings point into */
    struct hwxml_object *objects;
    size_t n_objects;
    struct hwxml_info *infos;
    size_t n_infos;
    unsigned n_numa;
    int version;     /* 1, 2 or 3 */
    bool restricted; /* made inside a job that has some CPUs only: packages and
                        groups without any still separate places */
    bool has_matrix; /* of more than one object */
    struct hwxml_matrix matrix;
    bool by_nccl; /* NCCL's file, with links in place of a matrix */
    struct hwxml_link *links;
    size_t n_links;
    int root_info; /* infos outside of objects (3.x); -1 none */
};

/* Takes text over (malloc'ed, text[len] is NUL), also on failure. NULL: not a
 * topology; the error has the line. */
struct hwxml *hwxml_parse(char *text, size_t len, struct jp_error *err);
void hwxml_destroy(struct hwxml *xml);

/* For readers of other formats. Appends an object; *room is the size of the
 * array. Returns its number, or -1. */
int hwxml_add(struct hwxml *xml, size_t *room,
              const struct hwxml_object *object, struct jp_error *err);

/* The value of an object's info, or NULL. */
const char *hwxml_info(const struct hwxml *xml, int object, const char *name);
/* The machine's: of the root object, or beside it. */
const char *hwxml_machine_info(const struct hwxml *xml, const char *name);

#endif
