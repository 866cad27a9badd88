/* topo_bare.c - a topology of hardware.json alone: nobody told the PCI tree. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/topo/busid.h"
#include "orchestrator/topo/topo_parts.h"

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static int by_gpu(const void *a, const void *b)
{
    return busid_compare(((const struct topo_gpu *) a)->busid,
                         ((const struct topo_gpu *) b)->busid);
}

static int by_hca(const void *a, const void *b)
{
    const struct topo_hca *x = a, *y = b;
    int order = strcmp(x->busid, y->busid);

    return order ? order : strcmp(x->name, y->name);
}

static void list_gpus(const json_t *gpus, struct topo *topo)
{
    const json_t *entry;
    size_t i;

    json_array_foreach(gpus, i, entry)
    {
        struct topo_gpu *gpu = &topo->gpus[topo->n_gpus];

        if (topo->n_gpus == TOPO_MAX_GPUS) {
            topo->left_out++;
            continue;
        }
        if (busid_tidy(text_of(entry, "busid"), gpu->busid) < 0 ||
            topo_find_gpu(topo, gpu->busid) >= 0)
            continue;
        gpu->package = gpu->nvml = gpu->self.minor = -1;
        topo->n_gpus++;
    }
    qsort(topo->gpus, topo->n_gpus, sizeof(*topo->gpus), by_gpu);
}

static bool has_hca(const struct topo *topo, const char *name)
{
    for (size_t i = 0; i < topo->n_hcas; i++)
        if (strcmp(topo->hcas[i].name, name) == 0)
            return true;
    return false;
}

/* An entry is a port. Virtual functions are not told from others' here, so they
 * are left out. */
static void list_hcas(const json_t *hcas, struct topo *topo)
{
    const json_t *entry;
    size_t i;

    json_array_foreach(hcas, i, entry)
    {
        struct topo_hca *hca = &topo->hcas[topo->n_hcas];

        if (topo->n_hcas == TOPO_MAX_HCAS) {
            topo->left_out++;
            continue;
        }
        topo_copy(hca->name, sizeof(hca->name), text_of(entry, "name"));
        if (!*hca->name || has_hca(topo, hca->name) ||
            json_is_true(json_object_get(entry, "vf")))
            continue;
        busid_tidy(text_of(entry, "busid"), hca->busid);
        hca->net = TOPO_NET_OTHER;
        hca->package = -1;
        topo->n_hcas++;
    }
    qsort(topo->hcas, topo->n_hcas, sizeof(*topo->hcas), by_hca);
}

static int finish(struct topo *topo)
{
    size_t n = topo->n_gpus + topo->n_hcas;

    topo->level = malloc(n * n + 1);
    topo->direct =
        calloc(topo->n_gpus * topo->n_gpus + 1, sizeof(*topo->direct));
    if (!topo->level || !topo->direct)
        return -1;
    memset(topo->level, TOPO_UNSURE, n * n + 1);
    for (size_t i = 0; i < n; i++)
        topo->level[i * n + i] = TOPO_SELF;
    topo->has_pci = n > 0;
    return topo_nearest(topo);
}

struct topo *topo_bare(const char *hardware, struct jp_error *err)
{
    json_error_t why;
    json_t *root = json_loads(hardware, JSON_REJECT_DUPLICATES, &why);
    struct topo *topo = calloc(1, sizeof(*topo));

    if (!root)
        error_set(err, "hardware.json:%d: %s", why.line, why.text);
    if (topo) {
        topo->gpus = calloc(TOPO_MAX_GPUS + 1, sizeof(*topo->gpus));
        topo->hcas = calloc(TOPO_MAX_HCAS + 1, sizeof(*topo->hcas));
    }
    if (root && topo && topo->gpus && topo->hcas) {
        list_gpus(json_object_get(root, "gpus"), topo);
        list_hcas(json_object_get(root, "hcas"), topo);
        topo->hcas_untold = strcmp(text_of(root, "hcas_probe"), "ok") != 0;
    }
    if (!root || !topo || !topo->gpus || !topo->hcas || finish(topo) < 0) {
        if (root)
            error_set(err, "out of memory");
        topo_destroy(topo);
        topo = NULL;
    }
    json_decref(root);
    return topo;
}
