/* topo_devices.c - find a node's GPUs and HCAs among hwloc's objects, and the
 * links between GPUs.
 *
 * The file begins with tables of PCI ids, then links (find_links), then devices
 * (topo_devices, the entry at the end). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "orchestrator/topo/busid.h"
#include "orchestrator/topo/hardware.h"
#include "orchestrator/topo/topo_parts.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* Ranges of PCI device ids, both ends included, of models that have no NVLink.
 */
static const struct range {
    uint16_t first, last;
    const char *what;
} no_nvlink[] = {
    {0x0001, 0x15ef, "Tesla to Maxwell"}, /* 0 is "unknown" */
    {0x15f1, 0x15f8, "P100 PCIe"},
    {0x15fa, 0x1d7f, "Maxwell GM2xx, Pascal but GP100"},
    {0x1db3, 0x1db4, "V100 FHHL, PCIe 16 GB"},
    {0x1db6, 0x1db6, "V100 PCIe 32 GB"},
    {0x1df6, 0x1df6, "V100S PCIe"},
    {0x1eb4, 0x1eb4, "T4G"},
    {0x1eb8, 0x1eb8, "T4"},
    {0x1f00, 0x1fff, "TU106, TU117: RTX 2070 and below"},
    {0x2180, 0x21ff, "TU116: GTX 1660"},
    {0x2236, 0x2237, "A10, A10G"},
    {0x2400, 0x25ff, "GA103 to GA107: A2, A16, RTX A2000, A4000"},
    {0x2680, 0x28ff, "Ada: L4, L20, L40, L40S, RTX 6000 Ada"},
    {0x2b80, 0x2dff, "GB20x: RTX PRO Blackwell, RTX 50"},
};

/* All links of a model together: number of links times the speed of one, in one
 * direction. */
static const struct capacity {
    uint16_t first, last;
    uint64_t mbs;
    const char *what;
} capacities[] = {
    {0x15f9, 0x15f9, 80000, "P100 SXM2: 4 x 20 GB/s"},
    {0x1db1, 0x1db1, 150000, "V100 SXM2: 6 x 25 GB/s"},
    {0x1db5, 0x1db5, 150000, "V100 SXM2 32 GB"},
    {0x1db8, 0x1db8, 150000, "V100 SXM3"},
    {0x1df5, 0x1df5, 150000, "V100 SXM2 16 GB"},
    {0x20b0, 0x20b3, 300000, "A100 SXM4: 12 x 25 GB/s"},
    {0x20bd, 0x20bd, 200000, "A800 SXM4 40 GB: 8 x 25 GB/s"},
    {0x20f3, 0x20f3, 200000, "A800 SXM4 80 GB"},
    {0x2324, 0x2324, 200000, "H800: 8 x 25 GB/s"},
    {0x2329, 0x2329, 450000, "H20"},
    {0x2330, 0x2330, 450000, "H100 SXM5: 18 x 25 GB/s"},
    {0x2335, 0x2336, 450000, "H200 SXM5, H100 SXM5 64 GB"},
    {0x2339, 0x2339, 450000, "H100 SXM5 96 GB"},
    {0x2342, 0x2348, 450000, "GH200"},
    {0x2901, 0x2901, 900000, "B200: 18 x 50 GB/s"},
    {0x2941, 0x2941, 900000, "GB200"},
    {0x3182, 0x3182, 900000, "B300"},
    {0x31c2, 0x31c2, 900000, "GB300"},
};

static const uint16_t with_c2c[] = {0x2342, 0x2345, 0x2348, 0x2941, 0x31c2};

/* NVSwitches of V100, A100 and H100 systems. */
static const uint16_t switches[] = {0x1ac0, 0x1ac1, 0x1ac2, 0x1af1, 0x22a3};

/* MI25, MI50, MI60: data-center GPUs with the PCI class of a graphics card. */
static bool is_instinct(uint16_t device)
{
    return (device >= 0x6860 && device <= 0x686c) ||
           (device >= 0x66a0 && device <= 0x66a3);
}

/* Whether the model has neither NVLink nor a connector for a bridge. */
static bool gpu_ids_no_nvlink(uint16_t device)
{
    for (size_t i = 0; i < COUNT(no_nvlink); i++)
        if (device >= no_nvlink[i].first && device <= no_nvlink[i].last)
            return true;
    return false;
}

/* Bandwidth of all links of the model, MB/s in one direction; 0: unknown. */
static uint64_t nvlink_mbs(uint16_t device)
{
    for (size_t i = 0; i < COUNT(capacities); i++)
        if (device >= capacities[i].first && device <= capacities[i].last)
            return capacities[i].mbs;
    return 0;
}

/* Whether the GPU is on the same module as a Grace CPU, joined by NVLink-C2C.
 */
static bool has_c2c(uint16_t device)
{
    for (size_t i = 0; i < COUNT(with_c2c); i++)
        if (device == with_c2c[i])
            return true;
    return false;
}

/* Whether the PCI device is an NVSwitch: a known id, or class 0680 with an id
 * above those of nForce chipsets, which have the same class. */
static bool is_nvswitch(uint16_t class_id, uint16_t device)
{
    for (size_t i = 0; i < COUNT(switches); i++)
        if (device == switches[i])
            return true;
    return class_id == 0x0680 && device > switches[0];
}

/* ------------------ NVLink from hwloc, NCCL's file, the models and the bus */

#define SAID_SWITCH "NVIDIANVLinkRemote" /* an info of a GPU: "switch" */

/* State while links are found. */
struct linker {
    const struct hwxml *xml;
    const struct topo_places *places;
    struct topo *topo;
    int gpu[HWXML_MAX_MATRIX]; /* GPU of each row of the matrix; -1: none */
    bool is_switch[HWXML_MAX_MATRIX];
    bool unsure[TOPO_MAX_GPUS]; /* a link leads nobody knows where */
};

/* Returns the GPU that an object is or belongs to; -1: none. */
static int gpu_of(const struct linker *l, int object)
{
    while (object >= 0 && l->xml->objects[object].type != HWXML_OTHER) {
        for (size_t i = 0; i < l->topo->n_gpus; i++)
            if (l->places->gpu[i] == object)
                return (int) i;
        object = l->xml->objects[object].parent;
    }
    return -1;
}

/* Finds out what the rows of the matrix are. All NVSwitches of a node count as
 * one, as in NCCL, because hwloc has no links between them. On POWER a row may
 * be a Package: its links do not lead to another GPU. */
static void name_rows(struct linker *l)
{
    const struct hwxml_matrix *m = &l->xml->matrix;

    for (size_t i = 0; i < m->n; i++) {
        int object = m->object[i];

        l->gpu[i] = gpu_of(l, object);
        l->is_switch[i] = l->gpu[i] < 0 && object >= 0 &&
                          l->xml->objects[object].type == HWXML_PCI;
    }
}

/* As for hardware.json. A current GPU has 2 % of it. */
#define MAX_LINK_MBS 10000000

static void add_link(struct linker *l, size_t row, size_t column, uint64_t mbs)
{
    struct topo *topo = l->topo;
    int from = l->gpu[row], to = l->gpu[column];

    if (from < 0 || from == to || !mbs)
        return;
    if (mbs > MAX_LINK_MBS)
        mbs = 1; /* present, at an unknown speed */
    topo->gpus[from].links = TOPO_LINKS_SOME;
    topo->gpus[from].links_from = topo->links_from = TOPO_FROM_HWLOC;
    if (to >= 0)
        topo->direct[(size_t) from * topo->n_gpus + (size_t) to] = mbs;
    else if (l->is_switch[column])
        topo->gpus[from].switch_mbs += mbs;
}

/* Takes the matrix. A GPU in it without any link has none: what hwloc cannot
 * read (its issue 658), it cannot read for any GPU. */
static void from_matrix(struct linker *l)
{
    const struct hwxml_matrix *m = &l->xml->matrix;

    name_rows(l);
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < m->n; k++)
            if (i != k)
                add_link(l, i, k, m->value[i * m->n + k]);
    for (size_t i = 0; l->topo->links_from && i < m->n; i++) {
        int gpu = l->gpu[i];

        if (gpu < 0 || l->topo->gpus[gpu].links != TOPO_LINKS_UNKNOWN)
            continue;
        l->topo->gpus[gpu].links = TOPO_LINKS_NONE;
        l->topo->gpus[gpu].links_from = TOPO_FROM_HWLOC;
    }
}

/* Speed of one NVLink in MB/s, one direction, by the GPU's compute capability.
 * NCCL's own table has measured bandwidths; these are the link's nominal
 * speeds. */
static uint64_t link_mbs(unsigned sm)
{
    return sm >= 100 ? 50000 : sm >= 70 ? 25000 : sm >= 60 ? 20000 : 1;
}

/* Speed of one XGMI link in MB/s, one direction, as AMD's data sheets have it.
 * RCCL writes the architecture with and without "gfx"; 910 was its word for
 * 90a. 1: unknown. */
static uint64_t xgmi_mbs(const char *gcn)
{
    static const struct {
        const char *gcn;
        uint64_t mbs;
    } speeds[] = {
        {"906", 46000}, /* MI50, MI60 */
        {"908", 46000}, /* MI100 */
        {"90a", 50000}, /* MI200 */
        {"910", 50000}, /* the same */
        {"940", 64000}, /* MI300 */
        {"941", 64000}, /* MI300 */
        {"942", 64000}, /* MI300 */
        {"950", 76800}, /* MI350 */
    };

    if (gcn && strncmp(gcn, "gfx", 3) == 0)
        gcn += 3;
    for (size_t i = 0; gcn && i < COUNT(speeds); i++)
        if (strcmp(gcn, speeds[i].gcn) == 0)
            return speeds[i].mbs;
    return 1;
}

int topo_find_gpu(const struct topo *topo, const char *busid)
{
    char tidy[JP_BUSID];

    if (busid_tidy(busid, tidy) < 0)
        return -1;
    for (size_t i = 0; i < topo->n_gpus; i++)
        if (strcmp(topo->gpus[i].busid, tidy) == 0)
            return (int) i;
    /* A partition of an AMD GPU has a function number that is not on the PCI
     * bus. */
    tidy[strlen(tidy) - 1] = '0';
    for (size_t i = 0; i < topo->n_gpus; i++)
        if (topo->gpus[i].vendor == TOPO_AMD &&
            strcmp(topo->gpus[i].busid, tidy) == 0)
            return (int) i;
    return -1;
}

/* Takes one link of NCCL's or RCCL's file. NCCL itself writes the class of an
 * NVSwitch for a remote that it cannot see; without any class the other end is
 * unknown, unless it is a GPU of this file. */
static void take_link(struct linker *l, const struct hwxml_link *link)
{
    const struct hwxml_object *object = &l->xml->objects[link->object];
    struct topo *topo = l->topo;
    int at = gpu_of(l, link->object), peer;
    struct topo_gpu *gpu = at >= 0 ? &topo->gpus[at] : NULL;
    uint64_t mbs;

    if (!gpu || link->end == HWXML_END_CPU)
        return;
    gpu->links = TOPO_LINKS_SOME;
    gpu->links_from = topo->links_from = l->xml->from;
    mbs = gpu->vendor == TOPO_AMD ? xgmi_mbs(object->gcn)
                                  : link_mbs(object->sm);
    /* an unknown number of links is a link of unknown speed */
    mbs = link->count ? link->count * mbs : 1;
    peer = topo_find_gpu(topo, link->target);
    if (link->end == HWXML_END_SWITCH)
        gpu->switch_mbs += mbs;
    else if (peer >= 0 && peer != at)
        topo->direct[(size_t) at * topo->n_gpus + (size_t) peer] += mbs;
    else if (link->end == HWXML_END_UNKNOWN)
        l->unsure[at] = true;
}

/* Takes the links of NCCL's or RCCL's file. The links that it has of a GPU are
 * all, because NCCL looks no further. A GPU without any has none only if the
 * library itself listed them. */
static void from_links(struct linker *l)
{
    struct topo *topo = l->topo;

    for (size_t i = 0; i < l->xml->n_links; i++)
        take_link(l, &l->xml->links[i]);
    for (size_t i = 0; i < topo->n_gpus; i++) {
        struct topo_gpu *gpu = &topo->gpus[i];
        bool all = l->xml->objects[l->places->gpu[i]].has_all_links;

        if (l->unsure[i]) {
            gpu->links = TOPO_LINKS_UNKNOWN;
        } else if (gpu->links == TOPO_LINKS_UNKNOWN && all) {
            gpu->links = TOPO_LINKS_NONE;
            gpu->links_from = topo->links_from = l->xml->from;
        }
    }
}

/* Both ends of a link report a value; the smaller one counts. An end whose
 * links are not all known may not report it. */
static void make_symmetric(struct topo *topo)
{
    for (size_t i = 0; i < topo->n_gpus; i++) {
        for (size_t k = i + 1; k < topo->n_gpus; k++) {
            uint64_t *a = &topo->direct[i * topo->n_gpus + k];
            uint64_t *b = &topo->direct[k * topo->n_gpus + i];

            if (!*a && topo->gpus[i].links == TOPO_LINKS_UNKNOWN)
                *a = *b;
            else if (!*b && topo->gpus[k].links == TOPO_LINKS_UNKNOWN)
                *b = *a;
            else
                *a = *b = *a < *b ? *a : *b;
        }
    }
}

/* Whether an info of the GPU says that its links lead to a switch. */
static bool said_switch(const struct linker *l, size_t gpu)
{
    for (size_t i = 0; i < l->xml->n_objects; i++) {
        const char *remote = hwxml_info(l->xml, (int) i, SAID_SWITCH);

        if (remote && strcmp(remote, "switch") == 0 &&
            gpu_of(l, (int) i) == (int) gpu)
            return true;
    }
    return false;
}

/* A GPU cannot have all its links to each of several peers. What looks like a
 * mesh with more bandwidth than the model has is a switch that is not a PCI
 * device of this node. */
static void find_hidden_switch(struct linker *l, size_t gpu)
{
    struct topo *topo = l->topo;
    uint64_t *row = &topo->direct[gpu * topo->n_gpus];
    uint64_t capacity = topo->gpus[gpu].vendor == TOPO_NVIDIA
                            ? nvlink_mbs(topo->gpus[gpu].device)
                            : 0;
    uint64_t sum = 0, most = 0;

    for (size_t i = 0; i < topo->n_gpus; i++) {
        sum += row[i];
        most = row[i] > most ? row[i] : most;
    }
    if (!sum || !((capacity && sum > capacity) || said_switch(l, gpu)))
        return;
    topo->gpus[gpu].switch_mbs = most;
    topo->gpus[gpu].links_from = TOPO_INFERRED;
}

/* Links between GPUs behind a hidden switch are not direct ones. */
static void drop_switched(struct topo *topo)
{
    for (size_t i = 0; i < topo->n_gpus; i++)
        for (size_t k = 0; k < topo->n_gpus; k++)
            if (topo->gpus[i].links_from == TOPO_INFERRED &&
                topo->gpus[k].links_from == TOPO_INFERRED)
                topo->direct[i * topo->n_gpus + k] = 0;
}

/* Fills in what no record shows: from PCI ids, and without a matrix from
 * NVSwitches on the bus. */
static void from_models(struct topo *topo, bool matrix, enum topo_source from)
{
    for (size_t i = 0; i < topo->n_gpus; i++) {
        struct topo_gpu *gpu = &topo->gpus[i];

        if (gpu->links != TOPO_LINKS_UNKNOWN || gpu->links_from ||
            gpu->vendor != TOPO_NVIDIA || !*gpu->busid)
            continue;
        if (gpu_ids_no_nvlink(gpu->device)) {
            gpu->links = TOPO_LINKS_NONE;
            gpu->links_from = from; /* the record that has the id */
        } else if (topo->n_switches && !matrix) {
            gpu->links = TOPO_LINKS_SOME;
            gpu->links_from = TOPO_INFERRED;
            gpu->switch_mbs = nvlink_mbs(gpu->device);
            if (!gpu->switch_mbs)
                gpu->switch_mbs = 1; /* joined, at an unknown speed */
        }
    }
}

static int find_links(const struct hwxml *xml, const struct topo_places *places,
                      struct topo *topo)
{
    struct linker l = {.xml = xml, .places = places, .topo = topo};
    bool matrix;

    topo->direct =
        calloc(topo->n_gpus * topo->n_gpus + 1, sizeof(*topo->direct));
    if (!topo->direct)
        return -1;
    if (xml->has_matrix)
        from_matrix(&l);
    from_links(&l);
    make_symmetric(topo);
    matrix = topo->links_from != TOPO_FROM_NOTHING;
    for (size_t i = 0; matrix && i < topo->n_gpus; i++)
        find_hidden_switch(&l, i);
    drop_switched(topo);
    from_models(topo, matrix, xml->from);
    /* The node's source is the best of its GPUs. */
    topo->links_from = TOPO_FROM_NOTHING;
    for (size_t i = 0; i < topo->n_gpus; i++)
        if (topo->gpus[i].links_from > topo->links_from)
            topo->links_from = topo->gpus[i].links_from;
    return 0;
}

/* ---------------------- GPUs and HCAs among hwloc's objects */

/* A device that was found, for sorting. */
struct found {
    int object;
    struct hwxml_pci pci;
    bool has_pci;
    bool dropped; /* another object stands for the same card */
};

struct finder {
    const struct hwxml *xml;
    /* in PCI order after init */
    struct found *gpus, *hcas;
    size_t n_gpus, n_hcas;
    /* of each object: the PCI device that it is or lies in; -1 none */
    int *pci_of;
};

static bool is_package(const struct hwxml_object *o)
{
    return strcmp(o->type_name, "Package") == 0 ||
           strcmp(o->type_name, "Socket") == 0;
}

/* In hwloc 1 trees a package is inside its NUMA node, and I/O devices are
 * beside the package. Returns the package with the same nodeset; -1: none. */
static int package_beside(const struct hwxml *xml, int object)
{
    const char *nodes;

    while (object >= 0 && xml->objects[object].type != HWXML_OTHER)
        object = xml->objects[object].parent;
    nodes = object > 0 ? xml->objects[object].nodeset : NULL;
    for (size_t i = 0; nodes && i < xml->n_objects; i++)
        if (is_package(&xml->objects[i]) && xml->objects[i].nodeset &&
            strcmp(xml->objects[i].nodeset, nodes) == 0)
            return (int) i;
    return -1;
}

/* Returns the number of the package that contains an object, in order: 0, 1,
 * ...; -1: none. */
static int topo_package_of(const struct hwxml *xml, int object)
{
    int at = object, number = -1;

    while (at >= 0 && !is_package(&xml->objects[at]))
        at = xml->objects[at].parent;
    if (at < 0)
        at = package_beside(xml, object);
    for (int i = 0; at >= 0 && i <= at; i++)
        number += is_package(&xml->objects[i]);
    return number;
}

/* PCI class 03xx is a display controller, 1200 a processing accelerator. A
 * graphics card (0300) of AMD or Intel may be part of the CPU, so it does not
 * count, except for AMD's data-center models. Only files made for NCCL leave
 * the vendor out, and they list no other display controllers. */
static bool is_gpu(const struct hwxml_object *o)
{
    const struct hwxml_pci *pci = &o->pci;

    if (o->is_gpu)
        return true;
    switch (pci->vendor) {
    case 0:
        return pci->class_id >> 8 == 3 || pci->class_id == 0x1200;
    case VENDOR_NVIDIA:
        return pci->class_id == 0x0300 || pci->class_id == 0x0302;
    case VENDOR_AMD:
        return pci->class_id == 0x0380 || pci->class_id == 0x1200 ||
               (pci->class_id == 0x0300 && is_instinct(pci->device));
    case VENDOR_INTEL:
        return pci->class_id == 0x0380;
    default:
        return false;
    }
}

/* Whether this is an NVML object of a GPU whose PCI device is not in the XML.
 */
static bool is_bare_gpu(const struct hwxml_object *o, int pci)
{
    return o->type == HWXML_OS && pci < 0 && strcmp(o->subtype, "NVML") == 0;
}

/* The name proves nothing: hsi0 is InfiniBand on POWER9 and Slingshot
 * elsewhere. */
static bool is_slingshot(const struct hwxml_object *o,
                         const struct hwxml_pci *pci)
{
    return o->os_kinds & HWXML_OS_NETWORK &&
           (strcmp(o->subtype, "Slingshot") == 0 ||
            (pci && pci->vendor == VENDOR_CRAY));
}

/* Mellanox device ids of virtual functions. */
static bool is_virtual_function(const struct hwxml_pci *pci)
{
    static const uint16_t mlx[] = {0x1002, 0x1004, 0x1012, 0x1014, 0x1016,
                                   0x1018, 0x101a, 0x101c, 0x101e, 0xa2d3};

    for (size_t i = 0; i < sizeof(mlx) / sizeof(*mlx); i++)
        if (pci->vendor == VENDOR_MELLANOX && pci->device == mlx[i])
            return true;
    return false;
}

/* PCI order; devices without a PCI address come last. */
static int by_pci(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    const struct hwxml_pci *p = &x->pci, *q = &y->pci;

    if (x->has_pci != y->has_pci)
        return x->has_pci ? -1 : 1;
    if (p->domain != q->domain)
        return p->domain < q->domain ? -1 : 1;
    if (p->bus != q->bus)
        return p->bus < q->bus ? -1 : 1;
    if (p->dev != q->dev)
        return p->dev < q->dev ? -1 : 1;
    if (p->func != q->func)
        return p->func < q->func ? -1 : 1;
    return x->object < y->object ? -1 : 1;
}

/* Sorts one object into the lists of GPUs and HCAs. */
static void look_at(struct finder *f, size_t i)
{
    const struct hwxml_object *o = &f->xml->objects[i];
    int at = f->pci_of[i];
    const struct hwxml_pci *pci = at >= 0 ? &f->xml->objects[at].pci : NULL;
    const struct found found = {.object = (int) i,
                                .pci = pci ? *pci : (struct hwxml_pci){0},
                                .has_pci = pci != NULL};

    if ((o->type == HWXML_PCI && is_gpu(o)) || is_bare_gpu(o, at))
        f->gpus[f->n_gpus++] = found;
    else if (o->type == HWXML_OS &&
             (o->os_kinds & HWXML_OS_OPENFABRICS || is_slingshot(o, pci)))
        f->hcas[f->n_hcas++] = found;
}

/* Whether both are on one card: by GUID, otherwise by bus. */
static bool same_card(const struct finder *f, const struct found *a,
                      const struct found *b)
{
    const char *x = hwxml_info(f->xml, a->object, "SysImageGUID");
    const char *y = hwxml_info(f->xml, b->object, "SysImageGUID");

    if (x && y)
        return strcmp(x, y) == 0;
    return a->pci.domain == b->pci.domain && a->pci.bus == b->pci.bus;
}

/* A virtual function counts only if nothing else of its card is visible, as in
 * a virtual machine. NCCL treats both as one adapter. */
static void drop_virtual(struct finder *f)
{
    size_t kept = 0;

    for (size_t i = 0; i < f->n_hcas; i++)
        for (size_t k = 0; k < f->n_hcas; k++)
            f->hcas[i].dropped |= is_virtual_function(&f->hcas[i].pci) &&
                                  !is_virtual_function(&f->hcas[k].pci) &&
                                  same_card(f, &f->hcas[i], &f->hcas[k]);
    for (size_t i = 0; i < f->n_hcas; i++)
        if (!f->hcas[i].dropped)
            f->hcas[kept++] = f->hcas[i];
    f->n_hcas = kept;
}

/* Whether it is known to be another vendor's than NVIDIA. */
static bool is_foreign(const struct found *gpu)
{
    return gpu->has_pci && gpu->pci.vendor && gpu->pci.vendor != VENDOR_NVIDIA;
}

/* NCCL only uses NVIDIA GPUs. Next to those, the graphics unit of a CPU does
 * not count. */
static void drop_foreign(struct finder *f)
{
    size_t ours = 0, kept = 0;

    for (size_t i = 0; i < f->n_gpus; i++)
        ours += !f->gpus[i].has_pci || f->gpus[i].pci.vendor == VENDOR_NVIDIA;
    for (size_t i = 0; ours && i < f->n_gpus; i++)
        if (!is_foreign(&f->gpus[i]))
            f->gpus[kept++] = f->gpus[i];
    if (ours)
        f->n_gpus = kept;
}

/* Whether OS devices were filtered out of the XML: there is a network adapter
 * on the PCI bus, and no OS device at all. */
static bool lacks_os_devices(const struct hwxml *xml)
{
    bool network = false;

    for (size_t i = 0; i < xml->n_objects; i++) {
        const struct hwxml_object *o = &xml->objects[i];

        if (o->type == HWXML_OS)
            return false;
        network |= o->type == HWXML_PCI &&
                   (o->pci.class_id >> 8 == 0x02 || o->pci.class_id == 0x0c06);
    }
    return network;
}

/* out stays "" for a device without a PCI address. */
static void format_busid(const struct found *found, char out[24])
{
    if (found->has_pci)
        snprintf(out, 24, "%04x:%02x:%02x.%x", found->pci.domain,
                 found->pci.bus, found->pci.dev, found->pci.func);
}

void topo_copy(char *out, size_t size, const char *text)
{
    size_t n = 0;

    for (; text && *text && n + 1 < size; text++)
        out[n++] = *text >= ' ' && *text <= '~' ? *text : '?';
    while (n && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
}

/* Takes what NVML's object of the GPU says. */
static void read_nvml(const struct hwxml *xml, int object, struct topo_gpu *gpu)
{
    const struct hwxml_object *o = &xml->objects[object];
    const char *model = hwxml_info(xml, object, "GPUModel");
    const char *uuid = hwxml_info(xml, object, "NVIDIAUUID");
    const char *state = hwxml_info(xml, object, "NVIDIAFabricState");
    const char *cluster = hwxml_info(xml, object, "NVIDIAFabricClusterUUID");
    const char *clique = hwxml_info(xml, object, "NVIDIAFabricCliqueId");
    uint64_t n = 0;

    if (model)
        topo_copy(gpu->model, sizeof(gpu->model), model);
    if (uuid)
        topo_copy(gpu->self.uuid, sizeof(gpu->self.uuid), uuid);
    if (strncmp(o->name, "nvml", 4) == 0 &&
        num_parse_u64(o->name + 4, 0, 1000, &n, NULL) == 0)
        gpu->nvml = (int) n;
    if (!state)
        return;
    gpu->self.fabric.told = true;
    gpu->self.fabric.completed = strcmp(state, "completed") == 0;
    if (cluster && strspn(cluster, "0-") != strlen(cluster))
        topo_copy(gpu->self.fabric.uuid, sizeof(gpu->self.fabric.uuid),
                  cluster);
    if (clique && num_parse_u64(clique, 0, UINT32_MAX, &n, NULL) == 0)
        gpu->self.fabric.clique = (uint32_t) n;
}

/* Counts the partitions of an AMD GPU: its library lists each as a device. A
 * single one is the GPU itself. */
static unsigned count_partitions(const struct finder *f, int pci)
{
    unsigned n = 0;

    for (size_t i = 0; i < f->xml->n_objects; i++)
        n += f->xml->objects[i].type == HWXML_OS && f->pci_of[i] == pci &&
             strcmp(f->xml->objects[i].subtype, "RSMI") == 0;
    return n > 1 ? n : 0;
}

/* An NVML object without a PCI device is NVIDIA's. */
static enum topo_vendor vendor_of(const struct found *found)
{
    if (!found->has_pci)
        return TOPO_NVIDIA;
    switch (found->pci.vendor) {
    case VENDOR_NVIDIA:
        return TOPO_NVIDIA;
    case VENDOR_AMD:
        return TOPO_AMD;
    case VENDOR_INTEL:
        return TOPO_INTEL;
    default:
        return TOPO_VENDOR_UNKNOWN;
    }
}

/* Names an AMD GPU by its architecture. RCCL's older files have "910" for
 * gfx90a, and "908" for gfx908. */
static void read_gcn(const char *gcn, struct topo_gpu *gpu)
{
    char text[32];

    if (!gcn)
        return;
    snprintf(text, sizeof(text), "AMD %s%.16s",
             strncmp(gcn, "gfx", 3) == 0 ? "" : "gfx",
             strcmp(gcn, "910") == 0 ? "90a" : gcn);
    topo_copy(gpu->model, sizeof(gpu->model), text);
}

static void fill_gpu(const struct finder *f, const struct found *found,
                     struct topo_gpu *gpu)
{
    const struct hwxml *xml = f->xml;

    gpu->nvml = gpu->self.minor = -1;
    gpu->vendor = vendor_of(found);
    gpu->device = found->pci.device;
    gpu->package = topo_package_of(xml, found->object);
    gpu->c2c = gpu->vendor == TOPO_NVIDIA && has_c2c(gpu->device);
    format_busid(found, gpu->busid);
    gpu->partitions = count_partitions(f, found->object);
    read_gcn(xml->objects[found->object].gcn, gpu);
    if (hwxml_info(xml, found->object, "PCIDevice"))
        topo_copy(gpu->model, sizeof(gpu->model),
                  hwxml_info(xml, found->object, "PCIDevice"));
    /* Its OS devices follow it in the XML. */
    for (size_t i = (size_t) found->object; i < xml->n_objects; i++)
        if ((int) i == found->object ||
            (xml->objects[i].type == HWXML_OS && f->pci_of[i] >= 0 &&
             f->pci_of[i] == found->object))
            read_nvml(xml, (int) i, gpu);
}

/* Omni-Path has LIDs and calls its link layer InfiniBand, so only its name, its
 * vendor and its PCI class (0208, fabric controller) tell it apart. */
static bool is_opa(const char *name, const struct hwxml_pci *pci)
{
    return hca_name_is_opa(name) || pci->vendor == VENDOR_CORNELIS ||
           (pci->vendor == VENDOR_INTEL && pci->class_id == 0x0208);
}

/* The kind of network, from vendor and PCI class. Ethernet adapters with RDMA
 * count as RoCE, if the vendor shows that they are not EFA or Slingshot. */
static enum topo_net net_of(const struct hwxml *xml, const struct found *found)
{
    const struct hwxml_object *o = &xml->objects[found->object];
    const char *lid = hwxml_info(xml, found->object, "Port1LID");
    /* All zero without a PCI device. */
    const struct hwxml_pci *pci = &found->pci;

    if (is_slingshot(o, found->has_pci ? pci : NULL) ||
        pci->vendor == VENDOR_CRAY)
        return TOPO_NET_SLINGSHOT;
    if (pci->vendor == VENDOR_AMAZON)
        return TOPO_NET_EFA;
    if (is_opa(o->name, pci))
        return TOPO_NET_OPA;
    if (pci->vendor == VENDOR_CHELSIO || pci->vendor == VENDOR_CISCO ||
        pci->class_id == 0x0208)
        return TOPO_NET_OTHER;
    if (pci->class_id == 0x0207 || pci->class_id == 0x0c06 ||
        (lid && strcmp(lid, "0x0") != 0))
        return TOPO_NET_IB;
    if (!pci->class_id || !pci->vendor)
        return TOPO_NET_UNKNOWN;
    return pci->class_id == 0x0200 || (pci->class_id == 0x0280 && lid)
               ? TOPO_NET_ROCE
               : TOPO_NET_OTHER;
}

/* "Port1State" and so on; 4 is active (IBV_PORT_ACTIVE). */
static void read_ports(const struct hwxml *xml, int object,
                       struct topo_hca *hca)
{
    char name[16];

    for (int i = 1; i <= 4; i++) {
        const char *state;

        snprintf(name, sizeof(name), "Port%dState", i);
        state = hwxml_info(xml, object, name);
        if (state && strcmp(state, "4") == 0)
            hca->active_ports |= 1u << (i - 1);
        if (state)
            hca->port = TOPO_PORT_DOWN;
    }
    if (hca->active_ports)
        hca->port = TOPO_PORT_ACTIVE;
}

static void fill_hca(const struct finder *f, const struct found *found,
                     struct topo_hca *hca)
{
    topo_copy(hca->name, sizeof(hca->name),
              f->xml->objects[found->object].name);
    format_busid(found, hca->busid);
    hca->package = topo_package_of(f->xml, found->object);
    hca->net = net_of(f->xml, found);
    hca->pci_mbs = found->has_pci ? found->pci.link_mbs : 0;
    read_ports(f->xml, found->object, hca);
    if (f->xml->objects[found->object].active)
        hca->port = TOPO_PORT_ACTIVE;
    hca->rate_gbits = f->xml->objects[found->object].rate_mbps / 1000.0;
}

/* Collects and sorts the devices. pci_of needs parents before children, as in
 * the XML. */
static int init(struct finder *f, const struct hwxml *xml)
{
    size_t n = xml->n_objects + 1;

    f->xml = xml;
    f->gpus = calloc(n, sizeof(*f->gpus));
    f->hcas = calloc(n, sizeof(*f->hcas));
    f->pci_of = calloc(n, sizeof(*f->pci_of));
    if (!f->gpus || !f->hcas || !f->pci_of)
        return -1;
    for (size_t i = 0; i < xml->n_objects; i++) {
        const struct hwxml_object *o = &xml->objects[i];

        f->pci_of[i] = o->type == HWXML_PCI ? (int) i
                       : o->type == HWXML_OS && o->parent >= 0
                           ? f->pci_of[o->parent]
                           : -1;
        look_at(f, i);
    }
    drop_virtual(f);
    drop_foreign(f);
    qsort(f->gpus, f->n_gpus, sizeof(*f->gpus), by_pci);
    qsort(f->hcas, f->n_hcas, sizeof(*f->hcas), by_pci);
    return 0;
}

/* Limits a count, and counts the rest. */
static size_t at_most(size_t n, size_t max, size_t *left_out)
{
    if (n <= max)
        return n;
    *left_out += n - max;
    return max;
}

int topo_devices(const struct hwxml *xml, struct topo *topo,
                 struct topo_places *places)
{
    struct finder f = {0};
    int rc = init(&f, xml);

    if (rc == 0) {
        topo->n_gpus = at_most(f.n_gpus, TOPO_MAX_GPUS, &topo->left_out);
        /* Adapters are OS devices, so none can be found without these. */
        topo->hcas_untold = lacks_os_devices(xml);
        topo->n_hcas = at_most(f.n_hcas, TOPO_MAX_HCAS, &topo->left_out);
        topo->gpus = calloc(topo->n_gpus + 1, sizeof(*topo->gpus));
        topo->hcas = calloc(topo->n_hcas + 1, sizeof(*topo->hcas));
        rc = topo->gpus && topo->hcas ? 0 : -1;
    }
    for (size_t i = 0; rc == 0 && i < topo->n_gpus; i++) {
        fill_gpu(&f, &f.gpus[i], &topo->gpus[i]);
        places->gpu[i] = f.gpus[i].object;
    }
    for (size_t i = 0; rc == 0 && i < topo->n_hcas; i++) {
        fill_hca(&f, &f.hcas[i], &topo->hcas[i]);
        places->hca[i] = f.hcas[i].object;
    }
    for (size_t i = 0; rc == 0 && i < xml->n_objects; i++) {
        const struct hwxml_object *o = &xml->objects[i];

        topo->n_switches += o->type == HWXML_PCI &&
                            o->pci.vendor == VENDOR_NVIDIA &&
                            (strcmp(o->subtype, "NVSwitch") == 0 ||
                             is_nvswitch(o->pci.class_id, o->pci.device));
    }
    free(f.gpus);
    free(f.hcas);
    free(f.pci_of);
    return rc == 0 ? find_links(xml, places, topo) : -1;
}
