/* topo.c - make, free and query a node's topology.
 *
 * topo_make is the entry: build finds the devices (topo_devices.c), then the
 * level between each pair of devices (find_levels, between), then the HCAs of
 * each GPU (topo_nearest). The HCAs follow NCCL's own rule, so topo_nearest
 * runs again whenever ports, rates or levels change. */
#include "orchestrator/topo/topo.h"

#include <stdlib.h>
#include <string.h>

#include "orchestrator/topo/busid.h"
#include "orchestrator/topo/topo_parts.h"

/* I/O objects are bridges, PCI devices and OS devices. */
static bool is_io(const struct hwxml *xml, int object)
{
    return xml->objects[object].type != HWXML_OTHER;
}

/* Returns the closest ancestor that is not an I/O object; -1: none. */
static int outside_io(const struct hwxml *xml, int object)
{
    while (object >= 0 && is_io(xml, object))
        object = xml->objects[object].parent;
    return object;
}

static int depth(const struct hwxml *xml, int object)
{
    int n = 0;

    for (; object >= 0; object = xml->objects[object].parent)
        n++;
    return n;
}

/* Returns the first common ancestor; -1: none. */
static int common(const struct hwxml *xml, int a, int b)
{
    int da = depth(xml, a), db = depth(xml, b);

    for (; da > db; da--)
        a = xml->objects[a].parent;
    for (; db > da; db--)
        b = xml->objects[b].parent;
    while (a != b) {
        a = xml->objects[a].parent;
        b = xml->objects[b].parent;
    }
    return a;
}

/* Counts the bridges strictly between a device and its ancestor. */
static unsigned bridges_between(const struct hwxml *xml, int object, int above)
{
    unsigned n = 0;

    for (object = xml->objects[object].parent; object >= 0 && object != above;
         object = xml->objects[object].parent)
        n += xml->objects[object].type == HWXML_BRIDGE;
    return n;
}

/* Two objects are at the same NUMA nodes. An unknown nodeset equals nothing. */
static bool same_nodeset(const struct hwxml_object *a,
                         const struct hwxml_object *b)
{
    return a == b ||
           (a->nodeset && b->nodeset && strcmp(a->nodeset, b->nodeset) == 0);
}

/* hwloc puts every PCI device below a host bridge, unless the XML was written
 * without bridges. */
static bool has_bridge(const struct hwxml *xml, int object)
{
    for (; object >= 0 && is_io(xml, object);
         object = xml->objects[object].parent)
        if (xml->objects[object].type == HWXML_BRIDGE)
            return true;
    return false;
}

/* Whether all CPUs of the object are local to the same NUMA nodes. In a
 * restricted XML the other nodes may have lost their CPUs, so it shows nothing.
 */
static bool one_place(const struct hwxml *xml, const struct hwxml_object *o)
{
    return o->nodeset_weight == 1 ||
           (!xml->restricted && o->numa_cpus && !o->many_numa_cpus);
}

/* The level between devices of two host bridges, from their places outside of
 * the PCI tree. */
static enum topo_level between_roots(const struct hwxml *xml, int a, int b)
{
    int pa = outside_io(xml, a), pb = outside_io(xml, b), lca;
    const struct hwxml_object *x, *y;

    if (pa < 0 || pb < 0)
        return TOPO_UNSURE;
    x = &xml->objects[pa];
    y = &xml->objects[pb];
    /* A machine with one NUMA node, or both bridges at the same single node. */
    if (xml->n_numa <= 1 || one_place(xml, &xml->objects[0]) ||
        (same_nodeset(x, y) && one_place(xml, x)))
        return TOPO_NODE;
    if (!x->nodeset || !y->nodeset || !x->nodeset_weight || !y->nodeset_weight)
        return TOPO_UNSURE;
    /* If one is inside the other, the XML does not show which part of the
     * outer one is near. */
    lca = common(xml, pa, pb);
    return lca == pa || lca == pb || same_nodeset(x, y) ? TOPO_UNSURE
                                                        : TOPO_SYS;
}

/* Whether the device has bridges above it that the XML does not show: its bus
 * is not the one directly below its host bridge. hwloc 1 omitted bridges by
 * default. */
static bool hides_bridges(const struct hwxml *xml, int object)
{
    const struct hwxml_object *o = &xml->objects[object];
    const struct hwxml_object *parent = &xml->objects[o->parent];

    return o->type == HWXML_PCI && parent->host_bridge &&
           parent->first_bus >= 0 && parent->first_bus != o->pci.bus;
}

/* The level between two devices of one host bridge. */
static enum topo_level below_host(const struct hwxml *xml, int a, int b)
{
    if (!hides_bridges(xml, a) && !hides_bridges(xml, b))
        return TOPO_PHB;
    return xml->objects[a].type == HWXML_PCI &&
                   xml->objects[b].type == HWXML_PCI &&
                   xml->objects[a].pci.domain == xml->objects[b].pci.domain &&
                   xml->objects[a].pci.bus == xml->objects[b].pci.bus
               ? TOPO_PIX /* one card */
               : TOPO_UNSURE;
}

/* The level between two different objects, from their common ancestor. */
static enum topo_level between(const struct hwxml *xml, int a, int b)
{
    int lca = common(xml, a, b);
    const struct hwxml_object *at = lca >= 0 ? &xml->objects[lca] : NULL;

    if (!at)
        return TOPO_UNSURE;
    if (a == b || at->type == HWXML_PCI || at->type == HWXML_OS)
        return a == b ? TOPO_SELF : TOPO_PIX;
    /* The ancestor is outside of the PCI tree: two host bridges, or no bridge
     * was recorded. */
    if (at->type == HWXML_OTHER) {
        enum topo_level level = between_roots(xml, a, b);

        return level == TOPO_NODE && !(has_bridge(xml, a) && has_bridge(xml, b))
                   ? TOPO_UNSURE
                   : level;
    }
    if (at->host_bridge)
        return below_host(xml, a, b);
    /* One bridge on each side is the switch's own port, so this is one switch.
     */
    return bridges_between(xml, a, lca) <= 1 &&
                   bridges_between(xml, b, lca) <= 1
               ? TOPO_PIX
               : TOPO_PXB;
}

/* Returns the PCI device that an OS device belongs to; other objects stand for
 * themselves. */
static int device_of(const struct hwxml *xml, int object)
{
    int at = object;

    while (at >= 0 && xml->objects[at].type == HWXML_OS)
        at = xml->objects[at].parent;
    return at >= 0 && xml->objects[at].type == HWXML_PCI ? at : object;
}

/* Fills in the symmetric matrix of levels, GPUs first. O(n^2) pairs with a walk
 * of the tree's depth each. */
static int find_levels(const struct hwxml *xml,
                       const struct topo_places *places, struct topo *topo)
{
    size_t n = topo->n_gpus + topo->n_hcas;
    int object[TOPO_MAX_GPUS + TOPO_MAX_HCAS];

    topo->level = calloc(n * n + 1, 1);
    if (!topo->level)
        return -1;
    for (size_t i = 0; i < n; i++)
        object[i] = device_of(xml, i < topo->n_gpus
                                       ? places->gpu[i]
                                       : places->hca[i - topo->n_gpus]);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = i; k < n; k++) {
            enum topo_level level = i == k ? TOPO_SELF
                                           : between(xml, object[i], object[k]);

            if (i != k && level == TOPO_SELF)
                level = TOPO_PIX; /* two devices of one PCI function */
            topo->level[i * n + k] = topo->level[k * n + i] = (uint8_t) level;
        }
    }
    return 0;
}

/* ---------------------------- HCAs of each GPU, and their rails */

/* The HCAs that are nearest to a GPU; all have the same level. Several are
 * common: a switch often has two GPUs and two HCAs. */
struct ties {
    enum topo_level level;
    size_t n;
    uint8_t hca[TOPO_MAX_HCAS];
};

/* NCCL ranks by bandwidth first: a port slower than the slowest route between
 * sockets in NCCL's model loses against any faster port, wherever that is. PCIe
 * and memory are faster than that route. */
#define SLOW_GBITS 48

/* A management port has one or two PCIe lanes next to adapters with sixteen. It
 * is at most this part of the widest link, and slower than any route between
 * sockets. */
#define NARROW_SHARE 8

/* Marks adapters with a PCI link far narrower than that of the others. */
static void find_narrow(struct topo *topo)
{
    uint32_t widest = 0;

    for (size_t i = 0; i < topo->n_hcas; i++)
        if (topo->hcas[i].pci_mbs > widest)
            widest = topo->hcas[i].pci_mbs;
    for (size_t i = 0; i < topo->n_hcas; i++) {
        uint32_t mbs = topo->hcas[i].pci_mbs;

        topo->hcas[i].narrow = mbs && mbs <= widest / NARROW_SHARE &&
                               /* MB/s to Mbit/s */
                               mbs * 8ull < SLOW_GBITS * 1000ull;
    }
}

/* Whether the port's rate is known and it takes part. */
static bool is_told(const struct topo_hca *hca)
{
    return hca->port == TOPO_PORT_ACTIVE && hca->rate_gbits > 0 && !hca->narrow;
}

/* Whether another port is faster and this one is slower than any route to it.
 */
static bool is_outrun(const struct topo *topo, size_t hca)
{
    const struct topo_hca *slow = &topo->hcas[hca];

    if (!is_told(slow) || slow->rate_gbits >= SLOW_GBITS)
        return false;
    for (size_t i = 0; i < topo->n_hcas; i++)
        if (is_told(&topo->hcas[i]) && !topo->hcas[i].left_out &&
            topo->hcas[i].rate_gbits > slow->rate_gbits)
            return true;
    return false;
}

/* NCCL ignores the slower ones of equally near adapters, for instance a
 * management port next to those of the fabric. A port that is down has no rate,
 * and is kept. */
static void drop_slow(const struct topo *topo, struct ties *ties)
{
    double fastest = 0;
    size_t kept = 0;

    for (size_t i = 0; i < ties->n; i++) {
        const struct topo_hca *hca = &topo->hcas[ties->hca[i]];

        if (hca->port == TOPO_PORT_ACTIVE && hca->rate_gbits > fastest)
            fastest = hca->rate_gbits;
    }
    for (size_t i = 0; i < ties->n; i++) {
        const struct topo_hca *hca = &topo->hcas[ties->hca[i]];

        if (hca->port != TOPO_PORT_ACTIVE || !(hca->rate_gbits > 0) ||
            !(hca->rate_gbits < fastest))
            ties->hca[kept++] = ties->hca[i];
    }
    ties->n = kept;
}

/* Finds the nearest HCAs. active_only: without ports that are down. */
static void find_ties(const struct topo *topo, size_t gpu, bool active_only,
                      struct ties *ties)
{
    memset(ties, 0, sizeof(*ties));
    ties->level = TOPO_UNSURE;
    for (size_t i = 0; i < topo->n_hcas; i++) {
        enum topo_level level = topo_gpu_hca(topo, gpu, i);

        if (topo->hcas[i].left_out || topo->hcas[i].narrow ||
            (active_only && topo->hcas[i].port == TOPO_PORT_DOWN) ||
            is_outrun(topo, i))
            continue;
        if (level < ties->level) {
            ties->level = level;
            ties->n = 0;
        }
        if (level == ties->level)
            ties->hca[ties->n++] = (uint8_t) i;
    }
    drop_slow(topo, ties);
}

/* GPUs share HCAs if they have the same nearest ones. */
static bool same(const struct ties *a, const struct ties *b)
{
    return a->level == b->level && a->n == b->n &&
           memcmp(a->hca, b->hca, a->n) == 0;
}

/* Reverses the bits of a number below a power of two: 0 2 1 3 for four. */
static size_t mirror(size_t n, size_t power)
{
    size_t out = 0;

    for (size_t bit = 1, other = power / 2; bit < power; bit *= 2, other /= 2)
        if (n & bit)
            out |= other;
    return out;
}

/* Which of n shared HCAs a GPU takes, by NCCL's rule (ncclTopoGetLocalNet): its
 * index modulo the number of GPUs that share them, with its bits reversed if n
 * is a power of two. */
static size_t turn_of(size_t gpu, size_t sharers, size_t n)
{
    size_t turn = gpu % sharers;

    return (n & (n - 1) ? turn : mirror(turn, n)) % n;
}

/* The HCAs of one GPU: from its turn on, as many as there are for each GPU
 * (NCCL's channels). HCAs behind more than PCIe switches are shared with
 * others, so only one counts. */
static struct topo_nics share(const struct ties *ties, size_t gpu,
                              size_t sharers)
{
    struct topo_nics nics = {0};
    size_t turn = ties->n ? turn_of(gpu, sharers, ties->n) : 0;
    size_t n = ties->level > TOPO_PXB && ties->n
                   ? 1
                   : (ties->n + sharers - 1) / sharers;

    for (size_t i = 0; i < n && i < TOPO_MAX_NEAR; i++)
        nics.hca[nics.n++] = ties->hca[(turn + i) % ties->n];
    return nics;
}

/* Gives every GPU its nearest HCAs, in turn if GPUs share them. */
static void spread(const struct topo *topo, const struct ties *ties,
                   bool active_only)
{
    for (size_t i = 0; i < topo->n_gpus; i++) {
        struct topo_near *near = &topo->near[i];
        struct topo_nics nics;
        size_t sharers = 0;
        int hca;

        for (size_t k = 0; k < topo->n_gpus; k++)
            sharers += same(&ties[k], &ties[i]);
        nics = share(&ties[i], i, sharers);
        hca = nics.n ? nics.hca[0] : -1;
        if (active_only) {
            near->nics = nics;
            near->hca = hca;
            near->level = ties[i].level;
        } else {
            near->wants = nics;
            near->wanted = hca;
            near->wanted_level = ties[i].level;
        }
    }
}

/* Numbers the wanted HCAs in PCI order, which is their order in the model.
 * Wanted ones are used because ports that are down must not change the numbers.
 */
static void number_rails(struct topo *topo)
{
    int rail_of[TOPO_MAX_HCAS];

    for (size_t i = 0; i < topo->n_hcas; i++) {
        rail_of[i] = -1;
        for (size_t k = 0; k < topo->n_gpus && rail_of[i] < 0; k++)
            if (topo_uses(&topo->near[k].wants, i))
                rail_of[i] = (int) topo->n_rails++;
    }
    for (size_t i = 0; i < topo->n_gpus; i++) {
        struct topo_near *near = &topo->near[i];
        bool all = near->nics.n > 0;

        near->rail = near->hca >= 0 ? rail_of[near->hca] : -1;
        near->rails = 0;
        for (size_t k = 0; k < near->nics.n; k++) {
            int rail = rail_of[near->nics.hca[k]];

            /* `rails` has 64 bits; one HCA without a rail makes the set
             * unknown. */
            all &= rail >= 0 && rail < 64;
            near->rails |= rail >= 0 && rail < 64 ? 1ull << rail : 0;
        }
        if (!all)
            near->rails = 0;
    }
}

/* Whether a faster HCA exists that is farther away. Which of them NCCL takes
 * depends on bandwidths that are not recorded. */
static bool is_contested(const struct topo *topo, const struct topo_near *near)
{
    const struct topo_hca *taken = near->hca >= 0 ? &topo->hcas[near->hca]
                                                  : NULL;

    for (size_t i = 0; taken && is_told(taken) && i < topo->n_hcas; i++)
        if (is_told(&topo->hcas[i]) && !topo->hcas[i].left_out &&
            topo->hcas[i].rate_gbits > taken->rate_gbits)
            return true;
    return false;
}

int topo_nearest(struct topo *topo)
{
    struct ties *ties = calloc(topo->n_gpus + 1, sizeof(*ties));

    if (!topo->near)
        topo->near = calloc(topo->n_gpus + 1, sizeof(*topo->near));
    topo->n_rails = 0;
    find_narrow(topo);
    if (!ties || !topo->near) {
        free(ties);
        return -1;
    }
    /* First as if all ports were active (wanted), then as they are. */
    for (int active_only = 0; active_only < 2; active_only++) {
        for (size_t i = 0; i < topo->n_gpus; i++)
            find_ties(topo, i, active_only, &ties[i]);
        spread(topo, ties, active_only);
    }
    number_rails(topo);
    for (size_t i = 0; i < topo->n_gpus; i++)
        topo->near[i].contested = is_contested(topo, &topo->near[i]);
    free(ties);
    return 0;
}

/* A hypervisor's PCI tree is only believed where it shows switches. */
bool topo_placed(const struct topo *topo, size_t gpu)
{
    return !topo->virtual_machine || topo_by_library(topo) ||
           topo->near[gpu].level <= TOPO_PXB;
}

bool topo_uses(const struct topo_nics *nics, size_t hca)
{
    for (unsigned i = 0; i < nics->n; i++)
        if (nics->hca[i] == hca)
            return true;
    return false;
}

uint64_t topo_nvlink_all_mbs(const struct topo *topo, size_t gpu)
{
    uint64_t sum = topo->gpus[gpu].switch_mbs;

    for (size_t i = 0; i < topo->n_gpus; i++)
        sum += topo->direct[gpu * topo->n_gpus + i];
    return sum;
}

bool topo_passes_nearer(const struct topo *topo, size_t gpu)
{
    const struct topo_near *near = &topo->near[gpu];

    for (size_t i = 0; near->hca >= 0 && i < topo->n_hcas; i++)
        if (topo_hca_open(&topo->hcas[i]) &&
            topo_gpu_hca(topo, gpu, i) < near->level)
            return true;
    return false;
}

/* ----------------------------------- make, free and query a node's topology */

const char *const topo_level_word[TOPO_N_LEVELS] = {"X",    "PIX", "PXB", "PHB",
                                                    "NODE", "SYS", "?"};
const char *const topo_source_word[TOPO_N_SOURCES] = {
    "unknown", "inferred", "hwloc", "nccl", "rccl", "nvml"};
const char *const topo_net_word[TOPO_N_NETS] = {
    "ib", "roce", "efa", "slingshot", "opa", "other", "unknown"};

/* Whether the machine is virtual: its PCI tree is then the hypervisor's. */
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
                                          "Apache Software Foundation",
                                          "Alibaba Cloud",
                                          "Tencent Cloud",
                                          "Huawei Cloud",
                                          "Volcengine"};
    static const char *const products[] = {"KVM",
                                           "HVM domU",
                                           "Virtual Machine",
                                           "Google Compute Engine",
                                           "VirtualBox",
                                           "RHEV Hypervisor",
                                           "OpenStack Nova",
                                           "OpenStack Compute",
                                           "CloudStack KVM Hypervisor"};
    const char *vendor = hwxml_info(xml, HWXML_MACHINE, "DMISysVendor");
    const char *product = hwxml_info(xml, HWXML_MACHINE, "DMIProductName");

    for (size_t i = 0; vendor && i < sizeof(vendors) / sizeof(*vendors); i++)
        if (strcmp(vendor, vendors[i]) == 0)
            return true;
    for (size_t i = 0; product && i < sizeof(products) / sizeof(*products); i++)
        if (strcmp(product, products[i]) == 0)
            return true;
    /* EC2's bare-metal instances have "metal" in their names. */
    return vendor && product && strcmp(vendor, "Amazon EC2") == 0 &&
           !strstr(product, "metal");
}

static void describe(const struct hwxml *xml, struct topo *topo)
{
    const char *product = hwxml_info(xml, HWXML_MACHINE, "DMIProductName");
    const char *arch = hwxml_info(xml, HWXML_MACHINE, "Architecture");

    if (!product)
        product = hwxml_info(xml, HWXML_MACHINE, "PlatformModel");
    topo_copy(topo->product, sizeof(topo->product), product);
    topo_copy(topo->hwloc, sizeof(topo->hwloc),
              hwxml_info(xml, HWXML_MACHINE, "hwlocVersion"));
    topo->virtual_machine = is_virtual(xml);
    topo->power = arch && strncmp(arch, "ppc64", 5) == 0;
    topo->devices_from = topo->places_from = xml->from;
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
        find_levels(xml, &places, topo) == 0 && topo_nearest(topo) == 0) {
        describe(xml, topo);
        return topo;
    }
    error_set(err, "out of memory");
    topo_destroy(topo);
    return NULL;
}

struct topo *topo_make(char *xml, size_t len, struct jp_error *err)
{
    struct hwxml *doc = nccltopo_read(xml, len, err);
    struct topo *topo = doc ? build(doc, err) : NULL;

    hwxml_destroy(doc);
    return topo;
}

/* Returns the index of the device in another model: GPUs by bus id, HCAs by bus
 * id or name. -1: not found. */
static int find_device(const struct topo *topo, size_t device,
                       const struct topo *in)
{
    const struct topo_hca *hca;

    if (device < topo->n_gpus)
        return topo_find_gpu(in, topo->gpus[device].busid);
    hca = &topo->hcas[device - topo->n_gpus];
    for (size_t i = 0; i < in->n_hcas; i++)
        if ((*hca->busid && strcmp(hca->busid, in->hcas[i].busid) == 0) ||
            strcmp(hca->name, in->hcas[i].name) == 0)
            return (int) (in->n_gpus + i);
    return -1;
}

/* Takes links that only NCCL's file shows. */
static void take_links(struct topo *topo, const struct topo *nccl,
                       const int *there)
{
    for (size_t i = 0; i < topo->n_gpus; i++) {
        const struct topo_gpu *other = there[i] >= 0 ? &nccl->gpus[there[i]]
                                                     : NULL;

        if (!other || topo->gpus[i].links != TOPO_LINKS_UNKNOWN ||
            other->links == TOPO_LINKS_UNKNOWN)
            continue;
        /* The links of both directions are copied. */
        topo->gpus[i].links = other->links;
        topo->gpus[i].links_from = other->links_from;
        topo->gpus[i].switch_mbs = other->switch_mbs;
        for (size_t k = 0; k < topo->n_gpus; k++)
            if (there[k] >= 0)
                topo->direct[i * topo->n_gpus + k] =
                    topo->direct[k * topo->n_gpus + i] =
                        nccl->direct[(size_t) there[i] * nccl->n_gpus +
                                     (size_t) there[k]];
        if (other->links_from > topo->links_from)
            topo->links_from = other->links_from;
    }
}

/* Levels of pairs that are in both models come from NCCL's file; other pairs
 * keep theirs. */
int topo_prefer(struct topo *topo, const struct topo *nccl,
                struct jp_error *err)
{
    size_t n = topo->n_gpus + topo->n_hcas, gpus = 0;
    int there[TOPO_MAX_GPUS + TOPO_MAX_HCAS];

    for (size_t i = 0; i < n; i++) {
        there[i] = find_device(topo, i, nccl);
        gpus += i < topo->n_gpus && there[i] >= 0;
    }
    if (!gpus)
        return error_set(err, "none of its GPUs is on this node");
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            if (i != k && there[i] >= 0 && there[k] >= 0)
                topo->level[i * n + k] =
                    /* two devices of one card */
                    there[i] == there[k]
                        ? TOPO_PIX
                        : (uint8_t) topo_level(nccl, (size_t) there[i],
                                               (size_t) there[k]);
    take_links(topo, nccl, there);
    for (size_t i = 0; i < topo->n_hcas; i++)
        if (there[topo->n_gpus + i] >= 0 && !(topo->hcas[i].rate_gbits > 0))
            topo->hcas[i].rate_gbits =
                nccl->hcas[there[topo->n_gpus + i] - (int) nccl->n_gpus]
                    .rate_gbits;
    topo->places_from = nccl->places_from;
    return topo_nearest(topo) < 0 ? error_set(err, "out of memory") : 0;
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
    /* One end without links rules NVLink out, even if the other end is unknown.
     */
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
