/* hca.c - read the network adapters' ports from sysfs. */
#include "orchestrator/topo/hca.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/child.h"
#include "common/num.h"
#include "orchestrator/topo/sysfile.h"

/* HPE's Cassini, the Slingshot adapter. */
#define VENDOR_CRAY "17db"

const char *const hca_kind_word[JP_N_HCA_KINDS] = {
    [JP_HCA_UNKNOWN] = "unknown",     [JP_HCA_IB] = "ib",
    [JP_HCA_ROCE] = "roce",           [JP_HCA_EFA] = "efa",
    [JP_HCA_SLINGSHOT] = "slingshot", [JP_HCA_OPA] = "opa",
};

/* One device while its ports are read. */
struct scan {
    struct jp_hcas *out;
    struct jp_hca base; /* what its ports share */
    char node_type[JP_HCA_TEXT];
};

static struct jp_hca *add(struct jp_hcas *out, const struct jp_hca *base)
{
    if (out->n == JP_HCA_MAX) {
        snprintf(out->trouble, sizeof(out->trouble), "more than %d ports",
                 JP_HCA_MAX);
        return NULL;
    }
    out->ports[out->n] = *base;
    return &out->ports[out->n++];
}

/* "0x15b3" to "15b3". */
static void read_id(int folder, const char *name, char out[8])
{
    char text[16];

    sysfile_text(folder, name, text, sizeof(text));
    out[0] = '\0';
    if (strncmp(text, "0x", 2) == 0 && strlen(text) == 6)
        memcpy(out, text + 2, 5);
}

static int add_netdev(void *arg, int folder, const char *name)
{
    struct jp_hca *port = arg;

    (void) folder;
    if (port->n_netdevs < JP_HCA_NETDEVS &&
        strlen(name) < sizeof(port->netdevs[0]))
        memcpy(port->netdevs[port->n_netdevs++], name, strlen(name) + 1);
    return 0;
}

/* What `device`, a link to the PCI function, says. */
static void read_function(int folder, struct jp_hca *base)
{
    int device = openat(folder, "device", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char name[JP_HCA_TEXT];
    int net;

    busid_tidy(sysfile_link(folder, "device", name, sizeof(name)), base->busid);
    if (device < 0)
        return;
    read_id(device, "vendor", base->vendor);
    read_id(device, "device", base->device);
    sysfile_link(device, "driver", base->driver, sizeof(base->driver));
    base->vf = sysfile_link(device, "physfn", name, sizeof(name))[0] != '\0';
    net = openat(device, "net", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (net >= 0)
        sysfile_each(net, JP_HCA_NETDEVS, add_netdev, base, NULL);
    close(device);
}

/* node_type is "1: CA" of InfiniBand and RoCE, "4: RNIC" of iWARP. */
static enum jp_hca_kind kind_of(const struct jp_hca *port,
                                const char *node_type)
{
    bool adapter = strncmp(node_type, "1:", 2) == 0;

    if (strcmp(port->driver, "efa") == 0)
        return JP_HCA_EFA;
    if (strcmp(port->driver, "hfi1") == 0)
        return JP_HCA_OPA;
    if (strcmp(port->link_layer, "InfiniBand") == 0 && adapter)
        return JP_HCA_IB;
    if (strcmp(port->link_layer, "Ethernet") == 0 && adapter)
        return JP_HCA_ROCE;
    return JP_HCA_UNKNOWN;
}

/* "4: ACTIVE" to "ACTIVE". */
static void read_state(int folder, const char *name, char *out, size_t size)
{
    char text[JP_HCA_TEXT];
    const char *word;

    sysfile_text(folder, name, text, sizeof(text));
    word = strchr(text, ':');
    word = word ? word + 1 + strspn(word + 1, " ") : text;
    snprintf(out, size, "%.*s", (int) size - 1, word);
}

/* "400 Gb/sec (4X NDR)" to 400; 0 for anything else. */
static double parse_rate(const char *text)
{
    char *end;
    double rate = strtod(text, &end);

    return end != text && strncmp(end, " Gb/sec", 7) == 0 && rate > 0 &&
                   rate < 1e6
               ? rate
               : 0;
}

static int read_port(void *arg, int ports, const char *name)
{
    struct scan *scan = arg;
    char text[JP_HCA_TEXT];
    struct jp_hca *port;
    uint64_t number;
    int folder;

    if (num_parse_u64(name, 1, 1024, &number, NULL) < 0)
        return 0;
    folder = openat(ports, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return 0;
    port = add(scan->out, &scan->base);
    if (port) {
        port->port = (uint32_t) number;
        sysfile_text(folder, "link_layer", port->link_layer,
                     sizeof(port->link_layer));
        read_state(folder, "state", port->state, sizeof(port->state));
        read_state(folder, "phys_state", port->phys_state,
                   sizeof(port->phys_state));
        port->rate_gbits =
            parse_rate(sysfile_text(folder, "rate", text, sizeof(text)));
        sysfile_text(folder, "gids/0", port->gid, sizeof(port->gid));
        port->kind = kind_of(port, scan->node_type);
    }
    close(folder);
    return 0;
}

static int read_rdma(void *arg, int class, const char *name)
{
    struct scan scan = {.out = arg};
    int folder = openat(class, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int ports;

    if (folder < 0 || strlen(name) >= sizeof(scan.base.name)) {
        if (folder >= 0)
            close(folder);
        return 0;
    }
    memcpy(scan.base.name, name, strlen(name) + 1);
    read_function(folder, &scan.base);
    sysfile_text(folder, "node_type", scan.node_type, sizeof(scan.node_type));
    sysfile_text(folder, "node_guid", scan.base.node_guid,
                 sizeof(scan.base.node_guid));
    sysfile_text(folder, "sys_image_guid", scan.base.sys_image_guid,
                 sizeof(scan.base.sys_image_guid));
    ports = openat(folder, "ports", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ports >= 0)
        sysfile_each(ports, JP_HCA_MAX, read_port, &scan, NULL);
    close(folder);
    return 0;
}

/* Whether a device of /sys/class/infiniband is on that function. */
static bool has_rdma(const struct jp_hcas *out, const char *busid)
{
    for (uint32_t i = 0; i < out->n; i++)
        if (*busid && strcmp(out->ports[i].busid, busid) == 0)
            return true;
    return false;
}

static int read_net(void *arg, int class, const char *name)
{
    struct jp_hcas *out = arg;
    struct jp_hca base = {.kind = JP_HCA_SLINGSHOT};
    int folder = openat(class, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char text[JP_HCA_TEXT];
    struct jp_hca *port;
    uint64_t mbits = 0;

    if (folder < 0)
        return 0; /* a file, bonding_masters */
    read_function(folder, &base);
    if (strcmp(base.vendor, VENDOR_CRAY) == 0 && !has_rdma(out, base.busid) &&
        strlen(name) < sizeof(base.name) && (port = add(out, &base))) {
        memcpy(port->name, name, strlen(name) + 1);
        sysfile_text(folder, "operstate", text, sizeof(text));
        snprintf(port->state, sizeof(port->state), "%s",
                 strcmp(text, "up") == 0 ? "ACTIVE" : "DOWN");
        sysfile_text(folder, "speed", text, sizeof(text));
        if (num_parse_u64(text, 1, 100000000, &mbits, NULL) == 0)
            port->rate_gbits = (double) mbits / 1000;
    }
    close(folder);
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct jp_hca *x = a;
    const struct jp_hca *y = b;
    int rc = busid_compare(x->busid, y->busid);

    if (rc == 0)
        rc = strcmp(x->name, y->name);
    return rc ? rc : (x->port > y->port) - (x->port < y->port);
}

static void read_all(const char *root, struct jp_hcas *out)
{
    int more = 0;
    int class;

    class = sysfile_folder(root, "sys/class/infiniband");
    if (class >= 0)
        sysfile_each(class, JP_HCA_MAX, read_rdma, out, &more);
    class = sysfile_folder(root, "sys/class/net");
    if (class >= 0)
        sysfile_each(class, 4096, read_net, out, &more);
    if (more && !out->trouble[0])
        snprintf(out->trouble, sizeof(out->trouble), "too many devices");
    qsort(out->ports, out->n, sizeof(*out->ports), by_place);
}

struct question {
    const char *root;
    struct jp_hcas *answer; /* shared */
};

static int ask(void *arg, int out)
{
    const struct question *q = arg;

    (void) out;
    read_all(q->root, q->answer);
    return 0;
}

struct jp_hcas *hca_ask(const char *root, uint32_t limit_ms)
{
    struct jp_hcas *copy = malloc(sizeof(*copy));
    struct jp_hcas *shared = child_alloc(sizeof(*shared));

    if (copy && shared) {
        struct question q = {root, shared};
        const struct child child = {
            .work = ask, .arg = &q, .limit_ms = limit_ms, .dies_with_us = true};
        struct child_result r;
        enum child_end end = child_run(&child, &r);

        memcpy(copy, shared, sizeof(*copy));
        if (!child_succeeded(end, &r))
            snprintf(copy->trouble, sizeof(copy->trouble),
                     end == CHILD_LATE ? "no answer within %u ms"
                                       : "the process that asked ended",
                     limit_ms);
    }
    child_free(shared, sizeof(*shared));
    if (shared)
        return copy;
    free(copy);
    return NULL;
}
