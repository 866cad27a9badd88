/* fake_links.c - NVLinks, fabric and field values of the stand-in for
 * libnvidia-ml.so.1.
 *
 * Machines are a table: how many links lead to which GPU or switch. Link
 * versions are NVML's enumeration, speeds are MB/s in one direction. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contrib/fakegpu/fake_nvml.h"

enum { MAX_LINKS = 36 };
/* What the links lead to: other GPUs in a hybrid cube mesh or directly,
 * switches that are visible or hidden, or CPUs. */
enum peers { CUBE, MESH, SWITCHES, HIDDEN, HIDDEN_UNKNOWN, CPUS };

static const struct machine {
    const char *name;
    int gpus;
    enum peers peers;
    unsigned version, links, mbs;
    int switch_links[8]; /* SWITCHES: number of links of a GPU to each switch */
    int fabric;          /* a part of an NVLink domain over several hosts */
    unsigned c2c;        /* links to the CPU's memory */
} machines[] = {
    {"v100", 8, CUBE, 2, 6, 25781, {0}, 0, 0},
    {"a100", 8, SWITCHES, 5, 12, 25000, {2, 2, 2, 2, 2, 2}, 0, 0},
    {"a100x4", 4, MESH, 5, 12, 25000, {0}, 0, 0},
    {"h100", 8, SWITCHES, 6, 18, 26562, {5, 4, 4, 5}, 0, 0},
    {"h100x4", 4, MESH, 6, 18, 26562, {0}, 0, 0},
    {"b200", 8, HIDDEN, 7, 18, 50000, {0}, 0, 0},
    {"nvl72", 4, HIDDEN_UNKNOWN, 7, 18, 50000, {0}, 1, 2},
    {"power9", 4, CPUS, 2, 6, 25781, {0}, 0, 0},
};

/* Number of links between two GPUs in a DGX-1 with V100. */
static const int cube[8][8] = {
    {0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0},
    {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
    {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
    {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0},
};

/* Returns the machine of FAKEGPU_MACHINE, or NULL. */
static const struct machine *find_machine(void)
{
    const char *name = getenv("FAKEGPU_MACHINE");

    for (size_t i = 0; name && i < sizeof(machines) / sizeof(*machines); i++)
        if (strcmp(machines[i].name, name) == 0)
            return &machines[i];
    return NULL;
}

int fakegpu_machine_count(void)
{
    const struct machine *m = find_machine();

    return m ? m->gpus : 1;
}

/* Returns the number of the peer that a link leads to, or -1. */
static int peer_of(const struct machine *m, int gpu, unsigned link)
{
    int n = m->peers == SWITCHES || m->peers == CPUS ? 8 : m->gpus;

    for (int i = 0; i < n; i++) {
        unsigned links = m->peers == SWITCHES ? (unsigned) m->switch_links[i]
                         : m->peers == CUBE   ? (unsigned) cube[gpu][i]
                         : m->peers == MESH && i != gpu
                             ? m->links / (unsigned) (m->gpus - 1)
                             : 0;

        if (link < links)
            return i;
        /* links are numbered peer by peer */
        link -= links;
    }
    return -1;
}

/* Whether a variable lists GPU:link. */
static int is_listed(const char *variable, int gpu, unsigned link)
{
    char word[16];

    snprintf(word, sizeof(word), "%d:%u", gpu, link);
    return fakegpu_lists(variable, word);
}

/* Whether the link is off for nvmlDeviceGetNvLinkState, which does not
 * distinguish a sleeping link. */
static int is_off(int gpu, unsigned link)
{
    return is_listed("FAKEGPU_DEAD", gpu, link) ||
           is_listed("FAKEGPU_ASLEEP", gpu, link);
}

/* Returns the link's state as field 165 has it: 0 inactive, 1 active, 2 asleep.
 */
static int state_of(int gpu, unsigned link)
{
    return is_listed("FAKEGPU_DEAD", gpu, link)     ? 0
           : is_listed("FAKEGPU_ASLEEP", gpu, link) ? 2
                                                    : 1;
}

/* Returns SUCCESS and the machine if the GPU has that link. */
static int get_link(const char *function, const void *device, unsigned link,
                    const struct machine **m)
{
    if (fakegpu_fails(function))
        return UNKNOWN;
    *m = find_machine();
    if (!fake_nvml_is_gpu(device) || link >= MAX_LINKS)
        return INVALID_ARGUMENT;
    if (!*m)
        return NOT_SUPPORTED;
    return link < (*m)->links ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetNvLinkState(void *device, unsigned link, int *active)
{
    const struct machine *m;
    int rc = get_link(__func__, device, link, &m);

    if (rc == SUCCESS)
        *active = fakegpu_garbage("links")
                      ? 7
                      : !is_off(fake_nvml_index(device), link);
    return rc;
}

int nvmlDeviceGetNvLinkVersion(void *device, unsigned link, unsigned *version)
{
    const struct machine *m;
    int rc = get_link(__func__, device, link, &m);

    if (rc == SUCCESS)
        *version = fakegpu_garbage("links") ? UINT32_MAX : m->version;
    return rc;
}

int nvmlDeviceGetNvLinkCapability(void *device, unsigned link, int capability,
                                  unsigned *result)
{
    const struct machine *m;
    int rc = get_link(__func__, device, link, &m);

    if (rc == SUCCESS)
        *result = capability == 0;
    return rc;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(void *device, unsigned link, int *type)
{
    static const int types[] = {[CUBE] = 0,
                                [MESH] = 0,
                                [SWITCHES] = 2,
                                [HIDDEN] = 2,
                                [HIDDEN_UNKNOWN] = 0xff,
                                [CPUS] = 1};
    const struct machine *m;
    int rc = get_link(__func__, device, link, &m);

    if (rc == SUCCESS)
        *type = fakegpu_garbage("links") ? -5 : types[m->peers];
    return rc;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link,
                                        struct fake_pci *pci)
{
    const struct machine *m;
    int rc = get_link(__func__, device, link, &m);
    int peer;

    if (rc != SUCCESS)
        return rc;
    memset(pci, 0, sizeof(*pci));
    peer = peer_of(m, fake_nvml_index(device), link);
    if (fakegpu_garbage("links"))
        memset(pci->id, 0xA5, sizeof(pci->id)); /* and no end */
    else if (m->peers == SWITCHES)
        snprintf(pci->id, sizeof(pci->id), "00000000:C%d:00.0", peer);
    else if (m->peers == HIDDEN || m->peers == HIDDEN_UNKNOWN)
        snprintf(pci->id, sizeof(pci->id), "FFFFFFFF:FF:FF.0");
    else if (m->peers == CPUS)
        snprintf(pci->id, sizeof(pci->id), "00000004:00:01.%u", link / 3);
    else
        snprintf(pci->id, sizeof(pci->id), "00000000:%02X:00.0",
                 (unsigned) fakegpu_bus(peer) & 0xff);
    return SUCCESS;
}

/* Returns the value of a field; -1: this GPU does not have it. 84 to 137: speed
 * of a link, old; 164: speed; 165: state; 170 to 172: links to the CPU. */
static long get_field(const struct machine *m, int gpu, unsigned id,
                      unsigned scope)
{
    int old = (id >= 84 && id <= 89 && id - 84 < m->links) ||
              (id >= 132 && id <= 137 && id - 126 < m->links);

    if (old && m->version < 6)
        return (long) m->mbs;
    if (id == 170)
        return (long) m->c2c;
    if (id == 171 || id == 172)
        return scope < m->c2c ? (id == 171 ? 1 : 44712) : -1;
    if (m->version < 6 || scope >= m->links)
        return -1;
    return id == 164 ? (long) m->mbs : id == 165 ? state_of(gpu, scope) : -1;
}

int nvmlDeviceGetFieldValues(void *device, int n, struct fake_field *fields)
{
    const struct machine *m = find_machine();

    if (fakegpu_fails(__func__))
        return UNKNOWN;
    if (!fake_nvml_is_gpu(device) || n < 1)
        return INVALID_ARGUMENT;
    for (int i = 0; i < n; i++) {
        if (fields[i].id == 138 || fields[i].id == 139) { /* traffic */
            fields[i].result = fake_load_number(
                device, fields[i].id == 138 ? "nvlink_tx" : "nvlink_rx",
                &fields[i].value.ull);
            fields[i].type = 3;
            continue;
        }
        long value = m ? get_field(m, fake_nvml_index(device), fields[i].id,
                                   fields[i].scope)
                       : -1;

        fields[i].result = value < 0 ? NOT_SUPPORTED : SUCCESS;
        fields[i].type = fakegpu_garbage("links") ? 77 : 1;
        fields[i].value.ui = (unsigned) value;
    }
    return SUCCESS;
}

/* The caller sets the number and size of the layout in the first member. */
int nvmlDeviceGetGpuFabricInfoV(void *device, struct fake_fabric *info)
{
    int newest = fakegpu_number("FAKEGPU_FABRIC", 3, 3);
    int clique = fakegpu_number("FAKEGPU_CLIQUE", 1000, 1);
    const struct machine *m = find_machine();
    unsigned layout = info->version >> 24;

    if (fakegpu_fails(__func__))
        return UNKNOWN;
    if (!fake_nvml_is_gpu(device))
        return INVALID_ARGUMENT;
    if (layout < 2 || layout > (unsigned) newest)
        return VERSION_MISMATCH;
    info->state = m && m->fabric ? 3 : 0;
    info->status = 0;
    info->clique = m && m->fabric ? (unsigned) clique : 0;
    memset(info->cluster, m && m->fabric ? 0xC5 : 0, sizeof(info->cluster));
    info->health_mask = 0x1025;
    if (layout == 3)
        info->health = m && m->fabric ? 1 : 0;
    if (fakegpu_garbage("links"))
        info->state = info->health = 0xEE;
    return SUCCESS;
}
