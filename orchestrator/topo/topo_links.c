/* topo_links.c - NVLink as hwloc, the models and the PCI bus tell it. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/topo/gpu_ids.h"
#include "orchestrator/topo/topo_parts.h"

#define SAID_SWITCH "NVIDIANVLinkRemote" /* an info of a GPU: "switch" */

struct linker {
    const struct hwxml *xml;
    const struct topo_places *places;
    struct topo *topo;
    int gpu[HWXML_MAX_MATRIX]; /* of the matrix' rows; -1 none */
    bool is_switch[HWXML_MAX_MATRIX];
};

/* The GPU that an object of the XML is or lies in; -1 none. */
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

/* What the rows of the matrix are. All NVSwitches of a node are one, as for
 * NCCL: hwloc has no links between them. POWER's links to a Package are no way
 * to another GPU. */
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

static void add_link(struct linker *l, size_t row, size_t column, uint64_t mbs)
{
    struct topo *topo = l->topo;
    int from = l->gpu[row], to = l->gpu[column];

    if (from < 0 || from == to || !mbs)
        return;
    if (mbs > UINT32_MAX)
        mbs = UINT32_MAX;
    topo->gpus[from].links = TOPO_LINKS_SOME;
    topo->gpus[from].links_from = topo->links_from = TOPO_FROM_HWLOC;
    if (to >= 0)
        topo->direct[(size_t) from * topo->n_gpus + (size_t) to] = mbs;
    else if (l->is_switch[column])
        topo->gpus[from].switch_mbs += mbs;
}

/* The matrix tells what it has; of its GPUs one without any link has none, as
 * what hwloc cannot read (issue 658) it can read of none of them. */
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

/* A link has one value from either side: the smaller one counts. */
static void make_symmetric(struct topo *topo)
{
    for (size_t i = 0; i < topo->n_gpus; i++) {
        for (size_t k = i + 1; k < topo->n_gpus; k++) {
            uint64_t *a = &topo->direct[i * topo->n_gpus + k];
            uint64_t *b = &topo->direct[k * topo->n_gpus + i];

            *a = *b = *a < *b ? *a : *b;
        }
    }
}

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

/* A GPU cannot have a full set of links to each of several peers: what looks
 * like a mesh is a switch that is no PCI device of this node. */
static void find_hidden_switch(struct linker *l, size_t gpu)
{
    struct topo *topo = l->topo;
    uint64_t *row = &topo->direct[gpu * topo->n_gpus];
    uint64_t capacity = gpu_ids_nvlink_mbs(topo->gpus[gpu].device);
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

/* Links of GPUs that a hidden switch joins are not direct. */
static void drop_switched(struct topo *topo)
{
    for (size_t i = 0; i < topo->n_gpus; i++)
        for (size_t k = 0; k < topo->n_gpus; k++)
            if (topo->gpus[i].links_from == TOPO_INFERRED &&
                topo->gpus[k].links_from == TOPO_INFERRED)
                topo->direct[i * topo->n_gpus + k] = 0;
}

/* What the matrix does not tell: by PCI ids, and by NVSwitches on the bus
 * where there is no matrix. */
static void from_models(struct topo *topo, bool matrix)
{
    for (size_t i = 0; i < topo->n_gpus; i++) {
        struct topo_gpu *gpu = &topo->gpus[i];

        if (gpu->links != TOPO_LINKS_UNKNOWN || gpu->vendor != TOPO_NVIDIA ||
            !*gpu->busid)
            continue;
        if (gpu_ids_no_nvlink(gpu->device)) {
            gpu->links = TOPO_LINKS_NONE;
            gpu->links_from = TOPO_FROM_HWLOC;
        } else if (topo->n_switches && !matrix) {
            gpu->links = TOPO_LINKS_SOME;
            gpu->links_from = TOPO_INFERRED;
            gpu->switch_mbs = gpu_ids_nvlink_mbs(gpu->device);
            if (!gpu->switch_mbs)
                gpu->switch_mbs = 1; /* joined, at a speed nobody told */
        }
    }
}

int topo_links(const struct hwxml *xml, const struct topo_places *places,
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
    make_symmetric(topo);
    matrix = topo->links_from != TOPO_FROM_NOTHING;
    for (size_t i = 0; matrix && i < topo->n_gpus; i++)
        find_hidden_switch(&l, i);
    drop_switched(topo);
    from_models(topo, matrix);
    topo->links_from = TOPO_FROM_NOTHING;
    for (size_t i = 0; i < topo->n_gpus; i++)
        if (topo->gpus[i].links_from > topo->links_from)
            topo->links_from = topo->gpus[i].links_from;
    return 0;
}
