/* topo_json.c - topologies for programs. */
#include "orchestrator/topo/topo_print.h"

#include <inttypes.h>
#include <stdlib.h>

/* Every setter of jansson takes NULL and says so; the last one is asked. */
static void put(json_t *object, const char *key, json_t *value, int *bad)
{
    *bad |= json_object_set_new(object, key, value) < 0;
}

static void append(json_t *array, json_t *value, int *bad)
{
    *bad |= json_array_append_new(array, value) < 0;
}

static json_t *text_or_null(const char *text)
{
    return *text ? json_string(text) : json_null();
}

static json_t *number_or_null(int n)
{
    return n >= 0 ? json_integer(n) : json_null();
}

static json_t *gpu_json(const struct topo *t, size_t i, int *bad)
{
    static const char *const vendors[] = {"nvidia", "amd", "intel"};
    const struct topo_gpu *g = &t->gpus[i];
    const struct topo_near *near = &t->near[i];
    json_t *row = json_object();
    bool used = near->hca >= 0;

    put(row, "index", json_integer((json_int_t) i), bad);
    put(row, "busid", text_or_null(g->busid), bad);
    put(row, "vendor", json_string(vendors[g->vendor]), bad);
    put(row, "model", text_or_null(g->model), bad);
    put(row, "package", number_or_null(g->package), bad);
    put(row, "nvml", number_or_null(g->nvml), bad);
    put(row, "nvlink",
        g->links == TOPO_LINKS_UNKNOWN
            ? json_null()
            : json_boolean(g->links == TOPO_LINKS_SOME),
        bad);
    put(row, "nvswitch_gbs",
        g->switch_mbs >= 1000 ? json_real((double) g->switch_mbs / 1000)
                              : json_null(),
        bad);
    put(row, "nvswitch", json_boolean(g->switch_mbs > 0), bad);
    put(row, "mig", json_boolean(g->mig), bad);
    put(row, "hca", used ? json_string(t->hcas[near->hca].name) : json_null(),
        bad);
    put(row, "hca_path",
        used ? json_string(topo_level_word[near->level]) : json_null(), bad);
    put(row, "rail", number_or_null(near->rail), bad);
    return row;
}

static json_t *hca_json(const struct topo_hca *h, int *bad)
{
    static const char *const ports[] = {"unknown", "down", "active"};
    json_t *row = json_object();

    put(row, "name", json_string(h->name), bad);
    put(row, "busid", text_or_null(h->busid), bad);
    put(row, "kind", json_string(topo_net_word[h->net]), bad);
    put(row, "port", json_string(ports[h->port]), bad);
    put(row, "rate_gbits",
        h->rate_gbits > 0 ? json_real(h->rate_gbits) : json_null(), bad);
    put(row, "package", number_or_null(h->package), bad);
    return row;
}

static json_t *levels_json(const struct topo *t, int *bad)
{
    size_t n = t->n_gpus + t->n_hcas;
    json_t *rows = json_array();

    for (size_t i = 0; i < n; i++) {
        json_t *row = json_array();

        for (size_t k = 0; k < n; k++)
            append(row, json_string(topo_level_word[topo_level(t, i, k)]), bad);
        append(rows, row, bad);
    }
    return rows;
}

/* GB/s one way; 0 none, null unknown, -1 there at a speed nobody told. */
static json_t *links_json(const struct topo *t, int *bad)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < t->n_gpus; i++) {
        json_t *row = json_array();

        for (size_t k = 0; k < t->n_gpus; k++) {
            enum topo_nvlink link = i == k ? TOPO_NV_NO : topo_nvlink(t, i, k);
            uint64_t mbs = topo_nvlink_mbs(t, i, k);

            append(row,
                   link == TOPO_NV_UNKNOWN ? json_null()
                   : link == TOPO_NV_NO    ? json_integer(0)
                   : mbs >= 1000           ? json_real((double) mbs / 1000)
                                           : json_integer(-1),
                   bad);
        }
        append(rows, row, bad);
    }
    return rows;
}

static json_t *nodes_json(const struct jp_shapes *s, int shape, int *bad)
{
    json_t *array = json_array();

    for (size_t i = 0; i < s->n_nodes; i++)
        if (s->nodes[i].shape == shape)
            append(array, json_string(s->nodes[i].name), bad);
    return array;
}

struct oddities {
    json_t *array;
    int *bad;
};

static void add_odd(void *arg, const char *kind, const char *text)
{
    struct oddities *o = arg;
    json_t *row = json_object();

    put(row, "kind", json_string(kind), o->bad);
    put(row, "text", json_string(text), o->bad);
    append(o->array, row, o->bad);
}

static json_t *shape_json(const struct jp_shapes *s, size_t at, int *bad)
{
    const struct topo *t = s->shapes[at].topo;
    struct oddities odd = {json_array(), bad};
    json_t *row = json_object(), *gpus = json_array(), *hcas = json_array();
    char text[24];

    put(row, "shape", json_string(shapes_letter(at, text)), bad);
    snprintf(text, sizeof(text), "%016" PRIx64, s->shapes[at].hash);
    put(row, "hash", json_string(text), bad);
    put(row, "product", text_or_null(t->product), bad);
    put(row, "nodes", nodes_json(s, (int) at, bad), bad);
    put(row, "hwloc", text_or_null(t->hwloc), bad);
    put(row, "virtual_machine", json_boolean(t->virtual_machine), bad);
    put(row, "packages", json_integer(t->n_packages), bad);
    put(row, "numa_nodes", json_integer(t->n_numa), bad);
    put(row, "nvswitches_on_pci", json_integer(t->n_switches), bad);
    put(row, "nvlink_from", json_string(topo_source_word[t->links_from]), bad);
    for (size_t i = 0; i < t->n_gpus; i++)
        append(gpus, gpu_json(t, i, bad), bad);
    put(row, "gpus", gpus, bad);
    for (size_t i = 0; i < t->n_hcas; i++)
        append(hcas, hca_json(&t->hcas[i], bad), bad);
    put(row, "hcas", hcas, bad);
    put(row, "levels", levels_json(t, bad), bad);
    put(row, "nvlink_gbs", links_json(t, bad), bad);
    topo_oddities(t, add_odd, &odd);
    put(row, "warnings", odd.array, bad);
    return row;
}

json_t *topo_json(const struct jp_shapes *s)
{
    json_t *root = json_object(), *shapes = json_array(),
           *missing = json_array();
    int bad = 0;

    put(root, "schema_version", json_integer(1), &bad);
    for (size_t i = 0; i < s->n_shapes; i++)
        append(shapes, shape_json(s, i, &bad), &bad);
    put(root, "shapes", shapes, &bad);
    for (size_t i = 0; i < s->n_nodes; i++) {
        json_t *row;

        if (!s->nodes[i].why && !s->nodes[i].note)
            continue;
        row = json_object();
        put(row, "node", json_string(s->nodes[i].name), &bad);
        put(row, "why",
            json_string(s->nodes[i].why ? s->nodes[i].why : s->nodes[i].note),
            &bad);
        append(missing, row, &bad);
    }
    put(root, "notes", missing, &bad);
    if (!bad)
        return root;
    json_decref(root);
    return NULL;
}
