/* topo_levels.c - how far two devices are from each other in the PCI tree. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/topo/topo_parts.h"

static bool is_io(const struct hwxml *xml, int object)
{
    return xml->objects[object].type != HWXML_OTHER;
}

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

/* The first common ancestor; -1 none. */
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

/* Bridges strictly between a device and its ancestor. */
static unsigned bridges_between(const struct hwxml *xml, int object, int above)
{
    unsigned n = 0;

    for (object = xml->objects[object].parent; object >= 0 && object != above;
         object = xml->objects[object].parent)
        n += xml->objects[object].type == HWXML_BRIDGE;
    return n;
}

static bool same_nodeset(const struct hwxml_object *a,
                         const struct hwxml_object *b)
{
    return a == b ||
           (a->nodeset && b->nodeset && strcmp(a->nodeset, b->nodeset) == 0);
}

/* hwloc puts every PCI device below a host bridge, unless bridges were left out
 * of the XML. */
static bool has_bridge(const struct hwxml *xml, int object)
{
    for (; object >= 0 && is_io(xml, object);
         object = xml->objects[object].parent)
        if (xml->objects[object].type == HWXML_BRIDGE)
            return true;
    return false;
}

/* All CPUs of the object are local to the same NUMA nodes. */
static bool one_place(const struct hwxml_object *o)
{
    return o->nodeset_weight == 1 || (o->numa_cpus && !o->many_numa_cpus);
}

/* Two host bridges: what their places outside of the PCI tree tell. */
static enum topo_level between_roots(const struct hwxml *xml, int a, int b)
{
    int pa = outside_io(xml, a), pb = outside_io(xml, b), lca;
    const struct hwxml_object *x, *y;

    if (pa < 0 || pb < 0)
        return TOPO_UNSURE;
    x = &xml->objects[pa];
    y = &xml->objects[pb];
    if (xml->n_numa <= 1 || one_place(&xml->objects[0]) ||
        (same_nodeset(x, y) && one_place(x)))
        return TOPO_NODE;
    if (!x->nodeset || !y->nodeset || !x->nodeset_weight || !y->nodeset_weight)
        return TOPO_UNSURE;
    lca = common(xml, pa, pb); /* one inside the other tells nothing */
    return lca == pa || lca == pb || same_nodeset(x, y) ? TOPO_UNSURE
                                                        : TOPO_SYS;
}

/* A device on another bus than the one right below its host bridge hangs on
 * bridges that the XML does not show: hwloc 1 left them out by default. */
static bool hides_bridges(const struct hwxml *xml, int object)
{
    const struct hwxml_object *o = &xml->objects[object];
    const struct hwxml_object *parent = &xml->objects[o->parent];

    return o->type == HWXML_PCI && parent->host_bridge &&
           parent->first_bus >= 0 && parent->first_bus != o->pci.bus;
}

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

static enum topo_level between(const struct hwxml *xml, int a, int b)
{
    int lca = common(xml, a, b);
    const struct hwxml_object *at = lca >= 0 ? &xml->objects[lca] : NULL;

    if (!at)
        return TOPO_UNSURE;
    if (a == b || at->type == HWXML_PCI || at->type == HWXML_OS)
        return a == b ? TOPO_SELF : TOPO_PIX;
    if (at->type == HWXML_OTHER) {
        enum topo_level level = between_roots(xml, a, b);

        return level == TOPO_NODE && !(has_bridge(xml, a) && has_bridge(xml, b))
                   ? TOPO_UNSURE
                   : level;
    }
    if (at->host_bridge)
        return below_host(xml, a, b);
    return bridges_between(xml, a, lca) <= 1 &&
                   bridges_between(xml, b, lca) <= 1
               ? TOPO_PIX
               : TOPO_PXB;
}

/* An OS device stands for the PCI device that it is in. */
static int device_of(const struct hwxml *xml, int object)
{
    int at = object;

    while (at >= 0 && xml->objects[at].type == HWXML_OS)
        at = xml->objects[at].parent;
    return at >= 0 && xml->objects[at].type == HWXML_PCI ? at : object;
}

int topo_levels(const struct hwxml *xml, const struct topo_places *places,
                struct topo *topo)
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
