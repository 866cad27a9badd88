/* topo_hardware.c - add what a node's hardware.json knows better than its XML.
 *
 * topo_hardware overlays the record on a model: GPUs (put_gpu), links
 * (put_links), ports (put_ports). topo_bare, in the first half, makes a model
 * from the record alone. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/jsonload.h"
#include "orchestrator/topo/busid.h"
#include "orchestrator/topo/topo_parts.h"

/* PCI order. */
static int by_gpu(const void *a, const void *b)
{
    return busid_compare(((const struct topo_gpu *) a)->busid,
                         ((const struct topo_gpu *) b)->busid);
}

/* PCI order, then by name: a card has several devices. */
static int by_hca(const void *a, const void *b)
{
    const struct topo_hca *x = a, *y = b;
    int order = strcmp(x->busid, y->busid);

    return order ? order : strcmp(x->name, y->name);
}

/* Adds the GPUs; entries without a bus id and duplicates are skipped. */
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
        if (busid_tidy(jsonload_text(entry, "busid"), gpu->busid) < 0 ||
            topo_find_gpu(topo, gpu->busid) >= 0)
            continue;
        /* -1: unknown */
        gpu->package = gpu->nvml = gpu->self.minor = -1;
        topo->n_gpus++;
    }
    qsort(topo->gpus, topo->n_gpus, sizeof(*topo->gpus), by_gpu);
}

/* Ports of one device share its name. */
static bool has_hca(const struct topo *topo, const char *name)
{
    for (size_t i = 0; i < topo->n_hcas; i++)
        if (strcmp(topo->hcas[i].name, name) == 0)
            return true;
    return false;
}

/* An entry is a port; a device is added once. Virtual functions are left out,
 * because their cards are not known here. */
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
        topo_copy(hca->name, sizeof(hca->name), jsonload_text(entry, "name"));
        /* The slot is reused for the next entry. */
        if (!*hca->name || has_hca(topo, hca->name) ||
            json_is_true(json_object_get(entry, "vf")))
            continue;
        busid_tidy(jsonload_text(entry, "busid"), hca->busid);
        hca->net = TOPO_NET_UNKNOWN;
        hca->package = -1;
        topo->n_hcas++;
    }
    qsort(topo->hcas, topo->n_hcas, sizeof(*topo->hcas), by_hca);
}

/* Levels are unsure between all devices: the record has no PCI tree. */
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
    topo->devices_from = TOPO_FROM_HWLOC; /* sysfs, which hwloc reads, too */
    return topo_nearest(topo);
}

/* calloc leaves everything that the record does not contain unknown. */
struct topo *topo_bare(const char *hardware, struct jp_error *err)
{
    json_t *root = jsonload(JSONLOAD_HARDWARE, "hardware.json", hardware,
                            strlen(hardware), JSON_REJECT_DUPLICATES, err);
    struct topo *topo = calloc(1, sizeof(*topo));

    if (topo) {
        topo->gpus = calloc(TOPO_MAX_GPUS + 1, sizeof(*topo->gpus));
        topo->hcas = calloc(TOPO_MAX_HCAS + 1, sizeof(*topo->hcas));
    }
    if (root && topo && topo->gpus && topo->hcas) {
        list_gpus(json_object_get(root, "gpus"), topo);
        list_hcas(json_object_get(root, "hcas"), topo);
        topo->hcas_untold = strcmp(jsonload_text(root, "hcas_probe"), "ok") !=
                            0;
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

/* ------------------ the record over the model */

#define MAX_LINKS 64 /* of a GPU; NVLink 5 has 18 */

/* The record's entries for the GPUs of the model; NULL: none. */
struct overlay {
    struct topo *topo;
    const json_t *gpu[TOPO_MAX_GPUS];
    bool unsure[TOPO_MAX_GPUS]; /* a link of unknown state, or to a GPU without
                                   a bus id */
};

/* Whether a member is that word. */
static bool says(const json_t *object, const char *key, const char *word)
{
    return strcmp(jsonload_text(object, key), word) == 0;
}

/* The array of the GPU's links; NULL: not known. */
static const json_t *links_of(const struct overlay *o, size_t gpu)
{
    const json_t *links = json_object_get(o->gpu[gpu], "links");

    return json_is_array(links) ? links : NULL;
}

/* Speed in MB/s, one direction: NVML's own figure, otherwise from NVML's
 * enumeration of versions. */
static uint64_t speed_of(const json_t *link)
{
    static const uint64_t by_version[] = {0,     20000, 25000, 25000,
                                          25000, 25000, 25000, 50000};
    json_int_t mbs = json_integer_value(json_object_get(link, "speed_mbs"));
    json_int_t version = json_integer_value(json_object_get(link, "version"));

    if (mbs > 0 && mbs <= 10000000)
        return (uint64_t) mbs;
    if (version > 0 &&
        (size_t) version < sizeof(by_version) / sizeof(*by_version))
        return by_version[version];
    return 1; /* a link of unknown speed */
}

/* Adds one link. Like NCCL, this ignores links that are inactive or without
 * P2P, and takes a remote that is not a known device for an NVSwitch, unless
 * NVML says that it is a GPU. */
static void add_link(struct overlay *o, size_t gpu, const json_t *link)
{
    struct topo *topo = o->topo;
    struct topo_gpu *g = &topo->gpus[gpu];
    int peer = topo_find_gpu(topo, jsonload_text(link, "remote_busid"));

    if (says(link, "state", "unknown")) {
        o->unsure[gpu] = true;
        return;
    }
    if (!says(link, "state", "active") ||
        json_is_false(json_object_get(link, "p2p"))) {
        g->links_down++;
        return;
    }
    g->links_up++;
    g->links = TOPO_LINKS_SOME;
    if (says(link, "remote", "cpu") ||
        (topo->power && peer < 0 && !says(link, "remote", "switch")))
        return; /* POWER's bridges to its CPUs look like NVSwitches */
    if (peer >= 0 && peer != (int) gpu)
        topo->direct[gpu * topo->n_gpus + (size_t) peer] += speed_of(link);
    else if (says(link, "remote", "gpu"))
        o->unsure[gpu] |= !*jsonload_text(link, "remote_busid");
    else
        g->switch_mbs += speed_of(link);
}

/* NVML reports all links of a GPU, so earlier values are replaced. */
static void clear_links(struct topo *topo, size_t gpu)
{
    topo->gpus[gpu].links = TOPO_LINKS_NONE;
    topo->gpus[gpu].links_from = TOPO_FROM_NVML;
    topo->gpus[gpu].links_up = topo->gpus[gpu].links_down = 0;
    topo->gpus[gpu].switch_mbs = 0;
    for (size_t i = 0; i < topo->n_gpus; i++)
        topo->direct[gpu * topo->n_gpus + i] =
            topo->direct[i * topo->n_gpus + gpu] = 0;
}

/* If both ends were queried, the smaller value counts; otherwise the value of
 * the end that was. */
static void settle_pairs(struct overlay *o)
{
    struct topo *topo = o->topo;

    for (size_t i = 0; i < topo->n_gpus; i++) {
        for (size_t k = i + 1; k < topo->n_gpus; k++) {
            uint64_t *a = &topo->direct[i * topo->n_gpus + k];
            uint64_t *b = &topo->direct[k * topo->n_gpus + i];
            bool both = links_of(o, i) && links_of(o, k);

            /* both: keep the smaller; one end: keep the larger, the other is 0
             */
            if (both == (*a < *b))
                *b = *a;
            else
                *a = *b;
        }
    }
}

/* Replaces the links of all GPUs that NVML has reported. */
static void put_links(struct overlay *o)
{
    bool told = false;

    for (size_t i = 0; i < o->topo->n_gpus; i++)
        if (links_of(o, i)) {
            clear_links(o->topo, i);
            told = true;
        }
    if (!told)
        return;
    for (size_t i = 0; i < o->topo->n_gpus; i++) {
        const json_t *links = links_of(o, i), *link;
        size_t k;

        json_array_foreach(links, k, link)
        {
            if (k < MAX_LINKS)
                add_link(o, i, link);
        }
        if (o->unsure[i])
            o->topo->gpus[i].links = TOPO_LINKS_UNKNOWN;
    }
    settle_pairs(o);
    o->topo->links_from = TOPO_FROM_NVML;
}

/* An all-zero UUID means that the GPU is in no cluster. */
static void put_fabric(struct topo_gpu *gpu, const json_t *fabric)
{
    const char *uuid = jsonload_text(fabric, "cluster_uuid");
    json_int_t clique = json_integer_value(json_object_get(fabric, "clique"));

    if (!json_is_object(fabric))
        return;
    /* A state of any kind is an answer. */
    gpu->self.fabric.told = true;
    gpu->self.fabric.completed = says(fabric, "state", "completed");
    gpu->self.fabric.uuid[0] = '\0';
    if (strspn(uuid, "0-") != strlen(uuid))
        topo_copy(gpu->self.fabric.uuid, sizeof(gpu->self.fabric.uuid), uuid);
    gpu->self.fabric.clique =
        clique >= 0 && clique <= UINT32_MAX ? (uint32_t) clique : 0;
}

/* asked: NVML has answered, so the entry's links are complete. */
static void put_gpu(struct overlay *o, const json_t *entry, bool asked)
{
    int at = topo_find_gpu(o->topo, jsonload_text(entry, "busid"));
    const json_t *mig = json_object_get(entry, "mig");
    const json_t *c2c = json_object_get(entry, "c2c");
    const json_t *minor = json_object_get(entry, "minor");
    struct topo_gpu *gpu;

    if (at < 0)
        return;
    gpu = &o->topo->gpus[at];
    if (*jsonload_text(entry, "uuid"))
        topo_copy(gpu->self.uuid, sizeof(gpu->self.uuid),
                  jsonload_text(entry, "uuid"));
    if (*jsonload_text(entry, "model"))
        topo_copy(gpu->model, sizeof(gpu->model),
                  jsonload_text(entry, "model"));
    /* A minor outside of Linux's range is not used. */
    if (json_is_integer(minor) && json_integer_value(minor) >= 0 &&
        json_integer_value(minor) < 65536)
        gpu->self.minor = (int) json_integer_value(minor);
    gpu->mig = json_is_true(json_object_get(mig, "mode"));
    gpu->c2c |= json_integer_value(json_object_get(c2c, "links")) > 0;
    put_fabric(gpu, json_object_get(entry, "fabric"));
    if (asked)
        o->gpu[at] = entry;
}

/* The record and the XML name devices alike. */
static struct topo_hca *find_hca(struct topo *topo, const json_t *entry)
{
    for (size_t i = 0; i < topo->n_hcas; i++)
        if (says(entry, "name", topo->hcas[i].name))
            return &topo->hcas[i];
    return NULL;
}

/* An entry is a port. One active port makes its device active. */
static void put_port(struct topo *topo, const json_t *entry)
{
    struct topo_hca *hca = find_hca(topo, entry);
    double rate = json_number_value(json_object_get(entry, "rate_gbits"));
    json_int_t number = json_integer_value(json_object_get(entry, "port"));

    if (!hca)
        return;
    if (says(entry, "state", "ACTIVE")) {
        hca->port = TOPO_PORT_ACTIVE;
        if (number >= 1 && number <= 32)
            hca->active_ports |= 1u << (number - 1);
    } else if (*jsonload_text(entry, "state") && hca->port == TOPO_PORT_UNKNOWN)
        hca->port = TOPO_PORT_DOWN;
    /* The fastest port stands for the device. */
    if (rate > hca->rate_gbits && rate < 1e6)
        hca->rate_gbits = rate;
    for (int net = 0; net < TOPO_NET_OTHER; net++)
        if (says(entry, "kind", topo_net_word[net]))
            hca->net = (enum topo_net) net;
}

/* The record is as old as the XML, but it names every port. For the devices in
 * it, the XML's states are discarded. */
static void put_ports(struct topo *topo, const json_t *hcas)
{
    const json_t *entry;
    size_t i;

    json_array_foreach(hcas, i, entry)
    {
        struct topo_hca *hca = find_hca(topo, entry);

        if (hca && *jsonload_text(entry, "state")) {
            hca->port = TOPO_PORT_UNKNOWN;
            hca->active_ports = 0;
        }
    }
    json_array_foreach(hcas, i, entry)
    {
        put_port(topo, entry);
    }
}

/* Both texts may be "". */
static void read_host(const json_t *root, struct topo_host *host)
{
    topo_copy(host->boot_id, sizeof(host->boot_id),
              jsonload_text(root, "boot_id"));
    topo_copy(host->hostname, sizeof(host->hostname),
              jsonload_text(root, "hostname"));
}

/* Nothing is changed before the schema was checked. */
int topo_hardware(const char *text, struct topo *topo, struct topo_host *host,
                  struct jp_error *err)
{
    json_t *root = jsonload(JSONLOAD_HARDWARE, "hardware.json", text,
                            strlen(text), JSON_REJECT_DUPLICATES, err);
    struct overlay o = {.topo = topo};
    const json_t *entry;
    bool asked;
    size_t i;

    if (!root)
        return -1;
    if (json_integer_value(json_object_get(root, "schema")) != 1) {
        json_decref(root);
        return error_set(err, "hardware.json: unknown schema");
    }
    if (host)
        read_host(root, host);
    /* without a topology only the host is read */
    asked = topo && says(json_object_get(root, "nvml"), "probe", "ok");
    json_array_foreach(topo ? json_object_get(root, "gpus") : NULL, i, entry)
    {
        put_gpu(&o, entry, asked);
    }
    if (topo) {
        put_links(&o);
        put_ports(topo, json_object_get(root, "hcas"));
    }
    json_decref(root);
    /* Ports may have changed, so the HCAs of each GPU are computed again. */
    return topo && topo_nearest(topo) < 0 ? error_set(err, "out of memory") : 0;
}
