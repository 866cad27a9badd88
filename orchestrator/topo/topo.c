/* topo.c - make, free and ask a node's topology. */
#include "orchestrator/topo/topo.h"

#include <stdlib.h>
#include <string.h>

#include "orchestrator/topo/busid.h"
#include "orchestrator/topo/topo_parts.h"

const char *const topo_level_word[TOPO_N_LEVELS] = {"X",    "PIX", "PXB", "PHB",
                                                    "NODE", "SYS", "?"};
const char *const topo_source_word[TOPO_FROM_NVML + 1] = {"unknown", "inferred",
                                                          "hwloc", "nvml"};
const char *const topo_net_word[TOPO_N_NETS] = {"ib", "roce", "efa",
                                                "slingshot", "other"};

void topo_copy(char *out, size_t size, const char *text)
{
    size_t n = 0;

    for (; text && *text && n + 1 < size; text++)
        out[n++] = *text >= ' ' && *text <= '~' ? *text : '?';
    while (n && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
}

/* A machine that a hypervisor shows: its PCI tree is the hypervisor's. */
static bool is_virtual(const struct hwxml *xml)
{
    static const char *const vendors[] = {"QEMU",
                                          "Xen",
                                          "VMware, Inc.",
                                          "innotek GmbH",
                                          "Parallels",
                                          "Bochs",
                                          "OpenStack Foundation",
                                          "oVirt",
                                          "Red Hat",
                                          "KubeVirt",
                                          "Nutanix",
                                          "DigitalOcean",
                                          "BHYVE",
                                          "CloudStack",
                                          "Apache Software Foundation"};
    static const char *const products[] = {"KVM",
                                           "HVM domU",
                                           "Virtual Machine",
                                           "Google Compute Engine",
                                           "VirtualBox",
                                           "RHEV Hypervisor",
                                           "OpenStack Nova",
                                           "OpenStack Compute",
                                           "CloudStack KVM Hypervisor"};
    const char *vendor = hwxml_machine_info(xml, "DMISysVendor");
    const char *product = hwxml_machine_info(xml, "DMIProductName");

    for (size_t i = 0; vendor && i < sizeof(vendors) / sizeof(*vendors); i++)
        if (strcmp(vendor, vendors[i]) == 0)
            return true;
    for (size_t i = 0; product && i < sizeof(products) / sizeof(*products); i++)
        if (strcmp(product, products[i]) == 0)
            return true;
    return vendor && product && strcmp(vendor, "Amazon EC2") == 0 &&
           !strstr(product, "metal");
}

static void describe(const struct hwxml *xml, struct topo *topo)
{
    const char *product = hwxml_machine_info(xml, "DMIProductName");
    const char *arch = hwxml_machine_info(xml, "Architecture");

    if (!product)
        product = hwxml_machine_info(xml, "PlatformModel");
    topo_copy(topo->product, sizeof(topo->product), product);
    topo_copy(topo->hwloc, sizeof(topo->hwloc),
              hwxml_machine_info(xml, "hwlocVersion"));
    topo->virtual_machine = is_virtual(xml);
    topo->power = arch && strncmp(arch, "ppc64", 5) == 0;
    topo->n_numa = xml->n_numa;
    for (size_t i = 0; i < xml->n_objects; i++) {
        const struct hwxml_object *o = &xml->objects[i];

        topo->has_pci |= o->type == HWXML_PCI;
        topo->n_packages += strcmp(o->type_name, "Package") == 0 ||
                            strcmp(o->type_name, "Socket") == 0;
    }
}

static struct topo *build(const struct hwxml *xml, struct jp_error *err)
{
    struct topo *topo = calloc(1, sizeof(*topo));
    struct topo_places places;

    if (topo && topo_devices(xml, topo, &places) == 0 &&
        topo_levels(xml, &places, topo) == 0 &&
        topo_links(xml, &places, topo) == 0 && topo_nearest(topo) == 0) {
        describe(xml, topo);
        return topo;
    }
    error_set(err, "out of memory");
    topo_destroy(topo);
    return NULL;
}

struct topo *topo_make(char *xml, size_t len, struct jp_error *err)
{
    struct hwxml *doc = hwxml_parse(xml, len, err);
    struct topo *topo = doc ? build(doc, err) : NULL;

    hwxml_destroy(doc);
    return topo;
}

void topo_destroy(struct topo *topo)
{
    if (!topo)
        return;
    free(topo->gpus);
    free(topo->hcas);
    free(topo->level);
    free(topo->direct);
    free(topo->near);
    free(topo);
}

int topo_find_gpu(const struct topo *topo, const char *busid)
{
    char tidy[JP_BUSID];

    if (busid_tidy(busid, tidy) < 0)
        return -1;
    for (size_t i = 0; i < topo->n_gpus; i++)
        if (strcmp(topo->gpus[i].busid, tidy) == 0)
            return (int) i;
    return -1;
}

int topo_find_uuid(const struct topo *topo, const char *uuid)
{
    for (size_t i = 0; uuid && *uuid && i < topo->n_gpus; i++)
        if (strcmp(topo->gpus[i].self.uuid, uuid) == 0)
            return (int) i;
    return -1;
}

enum topo_level topo_level(const struct topo *topo, size_t a, size_t b)
{
    return topo->level[a * (topo->n_gpus + topo->n_hcas) + b];
}

enum topo_level topo_gpu_hca(const struct topo *topo, size_t gpu, size_t hca)
{
    return topo_level(topo, gpu, topo->n_gpus + hca);
}

enum topo_nvlink topo_nvlink(const struct topo *topo, size_t a, size_t b)
{
    const struct topo_gpu *x = &topo->gpus[a], *y = &topo->gpus[b];

    if (x->mig || y->mig)
        return TOPO_NV_NO; /* a MIG device has no peers */
    if (topo->direct[a * topo->n_gpus + b])
        return TOPO_NV_DIRECT;
    if (x->switch_mbs && y->switch_mbs)
        return TOPO_NV_SWITCH;
    if (x->links == TOPO_LINKS_NONE || y->links == TOPO_LINKS_NONE)
        return TOPO_NV_NO;
    if (x->links == TOPO_LINKS_UNKNOWN || y->links == TOPO_LINKS_UNKNOWN)
        return TOPO_NV_UNKNOWN;
    return TOPO_NV_NO;
}

uint64_t topo_nvlink_mbs(const struct topo *topo, size_t a, size_t b)
{
    uint64_t x = topo->gpus[a].switch_mbs, y = topo->gpus[b].switch_mbs;

    return topo->direct[a * topo->n_gpus + b] + (x < y ? x : y);
}
