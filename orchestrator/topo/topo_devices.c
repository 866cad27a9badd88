/* topo_devices.c - find a node's GPUs and HCAs among hwloc's objects. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "common/num.h"
#include "orchestrator/topo/gpu_ids.h"
#include "orchestrator/topo/topo_parts.h"

#define VENDOR_NVIDIA 0x10de
#define VENDOR_AMD 0x1002
#define VENDOR_INTEL 0x8086
#define VENDOR_MELLANOX 0x15b3
#define VENDOR_AMAZON 0x1d0f
#define VENDOR_CRAY 0x17db
#define VENDOR_CHELSIO 0x1425 /* iWARP */
#define VENDOR_CISCO 0x1137   /* usNIC */

/* An HCA that was found, while it is sorted. */
struct found {
    int object;
    struct hwxml_pci pci;
    bool has_pci;
    bool dropped;
};

struct finder {
    const struct hwxml *xml;
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

/* In hwloc 1's trees a package lies in its NUMA node, and I/O beside it: it is
 * the one with the same nodes. */
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

int topo_package_of(const struct hwxml *xml, int object)
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

/* 03xx is a display of any kind, 1200 a processing accelerator. A graphics
 * card of AMD or Intel (0300) may be part of the CPU: it is none, but for AMD's
 * of data centres that say so. */
static bool is_gpu(const struct hwxml_pci *pci)
{
    switch (pci->vendor) {
    case VENDOR_NVIDIA:
        return pci->class_id == 0x0300 || pci->class_id == 0x0302;
    case VENDOR_AMD:
        return pci->class_id == 0x0380 || pci->class_id == 0x1200 ||
               (pci->class_id == 0x0300 && gpu_ids_is_instinct(pci->device));
    case VENDOR_INTEL:
        return pci->class_id == 0x0380;
    default:
        return false;
    }
}

/* A GPU of which the XML shows no PCI device: NVML's own object. */
static bool is_bare_gpu(const struct hwxml_object *o, int pci)
{
    return o->type == HWXML_OS && pci < 0 && strcmp(o->subtype, "NVML") == 0;
}

/* A name is no proof: hsi0 is InfiniBand on POWER9, and Slingshot elsewhere. */
static bool is_slingshot(const struct hwxml_object *o,
                         const struct hwxml_pci *pci)
{
    return o->os_kinds & HWXML_OS_NETWORK &&
           (strcmp(o->subtype, "Slingshot") == 0 ||
            (pci && pci->vendor == VENDOR_CRAY));
}

static bool is_virtual_function(const struct hwxml_pci *pci)
{
    static const uint16_t mlx[] = {0x1002, 0x1004, 0x1012, 0x1014, 0x1016,
                                   0x1018, 0x101a, 0x101c, 0x101e, 0xa2d3};

    for (size_t i = 0; i < sizeof(mlx) / sizeof(*mlx); i++)
        if (pci->vendor == VENDOR_MELLANOX && pci->device == mlx[i])
            return true;
    return false;
}

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

static void look_at(struct finder *f, size_t i)
{
    const struct hwxml_object *o = &f->xml->objects[i];
    int at = f->pci_of[i];
    const struct hwxml_pci *pci = at >= 0 ? &f->xml->objects[at].pci : NULL;
    const struct found found = {.object = (int) i,
                                .pci = pci ? *pci : (struct hwxml_pci){0},
                                .has_pci = pci != NULL};

    if ((o->type == HWXML_PCI && is_gpu(pci)) || is_bare_gpu(o, at))
        f->gpus[f->n_gpus++] = found;
    else if (o->type == HWXML_OS &&
             (o->os_kinds & HWXML_OS_OPENFABRICS || is_slingshot(o, pci)))
        f->hcas[f->n_hcas++] = found;
}

/* One card: by its GUID, else by the bus. */
static bool same_card(const struct finder *f, const struct found *a,
                      const struct found *b)
{
    const char *x = hwxml_info(f->xml, a->object, "SysImageGUID");
    const char *y = hwxml_info(f->xml, b->object, "SysImageGUID");

    if (x && y)
        return strcmp(x, y) == 0;
    return a->pci.domain == b->pci.domain && a->pci.bus == b->pci.bus;
}

/* A virtual function counts where its card shows nothing else: in a virtual
 * machine. NCCL takes both for one adapter. */
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

/* NCCL runs on NVIDIA's alone: what a CPU has built in is none beside them. */
static void drop_foreign(struct finder *f)
{
    size_t ours = 0, kept = 0;

    for (size_t i = 0; i < f->n_gpus; i++)
        ours += !f->gpus[i].has_pci || f->gpus[i].pci.vendor == VENDOR_NVIDIA;
    for (size_t i = 0; ours && i < f->n_gpus; i++)
        if (!f->gpus[i].has_pci || f->gpus[i].pci.vendor == VENDOR_NVIDIA)
            f->gpus[kept++] = f->gpus[i];
    if (ours)
        f->n_gpus = kept;
}

/* PCI devices without any OS device: these were filtered out of the XML, and an
 * adapter is one. */
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

static void format_busid(const struct found *found, char out[24])
{
    if (found->has_pci)
        snprintf(out, 24, "%04x:%02x:%02x.%x", found->pci.domain,
                 found->pci.bus, found->pci.dev, found->pci.func);
}

/* What NVML's object below the GPU (or itself) says. */
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

static void fill_gpu(const struct finder *f, const struct found *found,
                     struct topo_gpu *gpu)
{
    const struct hwxml *xml = f->xml;

    gpu->nvml = gpu->self.minor = -1;
    gpu->vendor = found->pci.vendor == VENDOR_AMD     ? TOPO_AMD
                  : found->pci.vendor == VENDOR_INTEL ? TOPO_INTEL
                                                      : TOPO_NVIDIA;
    gpu->device = found->pci.device;
    gpu->package = topo_package_of(xml, found->object);
    gpu->c2c = gpu->vendor == TOPO_NVIDIA && gpu_ids_has_c2c(gpu->device);
    format_busid(found, gpu->busid);
    for (size_t i = (size_t) found->object; i < xml->n_objects; i++)
        if ((int) i == found->object ||
            (xml->objects[i].type == HWXML_OS && f->pci_of[i] >= 0 &&
             f->pci_of[i] == found->object))
            read_nvml(xml, (int) i, gpu);
}

static enum topo_net net_of(const struct hwxml *xml, const struct found *found)
{
    const struct hwxml_object *o = &xml->objects[found->object];
    const char *lid = hwxml_info(xml, found->object, "Port1LID");
    uint16_t class_id = found->has_pci ? found->pci.class_id : 0;

    if (is_slingshot(o, found->has_pci ? &found->pci : NULL))
        return TOPO_NET_SLINGSHOT;
    if (found->pci.vendor == VENDOR_AMAZON)
        return TOPO_NET_EFA;
    if (found->pci.vendor == VENDOR_CHELSIO ||
        found->pci.vendor == VENDOR_CISCO || class_id == 0x0208)
        return TOPO_NET_OTHER; /* 0208: Omni-Path */
    if (class_id == 0x0207 || class_id == 0x0c06 ||
        (lid && strcmp(lid, "0x0") != 0))
        return TOPO_NET_IB;
    return class_id == 0x0200 || (class_id == 0x0280 && lid) ? TOPO_NET_ROCE
                                                             : TOPO_NET_OTHER;
}

/* Port1State ...: 4 is active. */
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
    read_ports(f->xml, found->object, hca);
}

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

        topo->n_switches +=
            o->type == HWXML_PCI && o->pci.vendor == VENDOR_NVIDIA &&
            (strcmp(o->subtype, "NVSwitch") == 0 ||
             gpu_ids_is_nvswitch(o->pci.class_id, o->pci.device));
    }
    free(f.gpus);
    free(f.hcas);
    free(f.pci_of);
    return rc;
}
