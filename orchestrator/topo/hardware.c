/* hardware.c - read the network adapters' ports, and format hardware.json.
 *
 * Three parts: hca_ask reads sysfs in a child, hardware_format makes the JSON
 * text, hardware_shape hashes hwloc's XML. */
#include "config.h"

#include "orchestrator/topo/hardware.h"

#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/child.h"
#include "common/fileio.h"
#include "common/fnv.h"
#include "common/num.h"
#include "orchestrator/topo/sysfile.h"

/* --- ports of the network adapters --- */

/* PCI vendor of HPE's Slingshot adapter (Cassini). */
#define VENDOR_CRAY "17db"

const char *const hca_kind_word[JP_N_HCA_KINDS] = {
    [JP_HCA_UNKNOWN] = "unknown",     [JP_HCA_IB] = "ib",
    [JP_HCA_ROCE] = "roce",           [JP_HCA_EFA] = "efa",
    [JP_HCA_SLINGSHOT] = "slingshot", [JP_HCA_OPA] = "opa",
};

/* Removes blanks around the first line, and replaces unprintable characters. */
static void tidy_line(char *text)
{
    size_t skip = strspn(text, " \t");

    memmove(text, text + skip, strlen(text + skip) + 1);
    text[strcspn(text, "\n")] = '\0';
    for (size_t n = strlen(text);
         n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'); n--)
        text[n - 1] = '\0';
    for (; *text; text++)
        if (*text < 0x20 || *text > 0x7e)
            *text = '?';
}

/* Copies the first line of folder/name without its end and without surrounding
 * blanks, truncated to size, control characters as '?'. out is "" if the file
 * cannot be read. Returns out. Never blocks: a sysfs file that waits for
 * hardware counts as unreadable. */
static char *read_text(int folder, const char *name, char *out, size_t size)
{
    /* O_NONBLOCK: a file that waits for hardware must not block. */
    int fd = openat(folder, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, size - 1) : 0;

    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = '\0';
    tidy_line(out);
    return out;
}

/* Copies the last component of a link's target; "" if there is none. Returns
 * out. */
static char *read_link(int folder, const char *name, char *out, size_t size)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(folder, name, target, sizeof(target) - 1);
    const char *last;

    target[n > 0 ? n : 0] = '\0';
    last = strrchr(target, '/');
    last = last ? last + 1 : target;
    n = (ssize_t) strlen(last);
    if ((size_t) n >= size)
        n = 0; /* a truncated name is useless */
    memcpy(out, last, (size_t) n);
    out[n] = '\0';
    tidy_line(out);
    return out;
}

/* One device while its ports are read. */
struct scan {
    /* the list that ports are appended to */
    struct jp_hcas *out;
    struct jp_hca base; /* what its ports have in common */
    /* of the device, needed for each port */
    char node_type[JP_HCA_TEXT];
};

/* Appends a port. Returns NULL if there are too many; the list is then
 * incomplete. */
static struct jp_hca *add_port(struct jp_hcas *out, const struct jp_hca *base)
{
    if (out->n == JP_HCA_MAX) {
        snprintf(out->trouble, sizeof(out->trouble), "more than %d ports",
                 JP_HCA_MAX);
        return NULL;
    }
    out->ports[out->n] = *base;
    return &out->ports[out->n++];
}

/* "0x15b3" to "15b3"; "" for anything else. */
static void read_id(int folder, const char *name, char out[8])
{
    char text[16];

    read_text(folder, name, text, sizeof(text));
    out[0] = '\0';
    if (strncmp(text, "0x", 2) == 0 && strlen(text) == 6)
        memcpy(out, text + 2, 5);
}

/* Several network devices belong to one function if it has several ports. */
static int add_netdev(void *arg, int folder, const char *name)
{
    struct jp_hca *port = arg;

    (void) folder;
    if (port->n_netdevs < JP_HCA_NETDEVS &&
        strlen(name) < sizeof(port->netdevs[0]))
        memcpy(port->netdevs[port->n_netdevs++], name, strlen(name) + 1);
    return 0;
}

/* Reads what the link `device` to the PCI function shows. */
static void read_function(int folder, struct jp_hca *base)
{
    int device = openat(folder, "device", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char name[JP_HCA_TEXT];
    int net;

    busid_tidy(read_link(folder, "device", name, sizeof(name)), base->busid);
    if (device < 0)
        return;
    read_id(device, "vendor", base->vendor);
    read_id(device, "device", base->device);
    read_link(device, "driver", base->driver, sizeof(base->driver));
    base->vf = read_link(device, "physfn", name, sizeof(name))[0] != '\0';
    /* RoCE devices have network devices on the same function. */
    net = openat(device, "net", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (net >= 0)
        sysfile_each(net, JP_HCA_NETDEVS, add_netdev, base, NULL);
    close(device);
}

/* node_type is "1: CA" for InfiniBand and RoCE, "4: RNIC" for iWARP. */
static enum jp_hca_kind kind_of(const struct jp_hca *port,
                                const char *node_type)
{
    bool adapter = strncmp(node_type, "1:", 2) == 0;

    /* The driver decides first: EFA's link layer says nothing, and that of
     * Omni-Path is called InfiniBand. */
    if (strcmp(port->driver, "efa") == 0)
        return JP_HCA_EFA;
    if (strcmp(port->driver, "hfi1") == 0 || hca_name_is_opa(port->name))
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

    read_text(folder, name, text, sizeof(text));
    /* Without a colon the whole text is the word. */
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

/* Reads one port. Entries that are no numbers are skipped. */
static int read_port(void *arg, int ports, const char *name)
{
    struct scan *scan = arg;
    char text[JP_HCA_TEXT];
    struct jp_hca *port;
    uint64_t number;
    int folder;

    /* Ports are named by their numbers. */
    if (num_parse_u64(name, 1, 1024, &number, NULL) < 0)
        return 0;
    folder = openat(ports, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return 0;
    /* Each port begins as a copy of what the device's ports have in common. */
    port = add_port(scan->out, &scan->base);
    if (port) {
        port->port = (uint32_t) number;
        read_text(folder, "link_layer", port->link_layer,
                  sizeof(port->link_layer));
        read_state(folder, "state", port->state, sizeof(port->state));
        read_state(folder, "phys_state", port->phys_state,
                   sizeof(port->phys_state));
        port->rate_gbits =
            parse_rate(read_text(folder, "rate", text, sizeof(text)));
        read_text(folder, "gids/0", port->gid, sizeof(port->gid));
        port->kind = kind_of(port, scan->node_type);
    }
    close(folder);
    return 0;
}

/* Reads one device of /sys/class/infiniband. */
static int read_rdma(void *arg, int class, const char *name)
{
    struct scan scan = {.out = arg};
    int folder = openat(class, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int ports;

    /* A name that does not fit would be ambiguous if truncated. */
    if (folder < 0 || strlen(name) >= sizeof(scan.base.name)) {
        if (folder >= 0)
            close(folder);
        return 0;
    }
    memcpy(scan.base.name, name, strlen(name) + 1);
    read_function(folder, &scan.base);
    read_text(folder, "node_type", scan.node_type, sizeof(scan.node_type));
    read_text(folder, "node_guid", scan.base.node_guid,
              sizeof(scan.base.node_guid));
    read_text(folder, "sys_image_guid", scan.base.sys_image_guid,
              sizeof(scan.base.sys_image_guid));
    ports = openat(folder, "ports", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ports >= 0)
        sysfile_each(ports, JP_HCA_MAX, read_port, &scan, NULL);
    close(folder);
    return 0;
}

/* Whether the function has a device in /sys/class/infiniband, which is listed
 * already. */
static bool has_rdma(const struct jp_hcas *out, const char *busid)
{
    for (uint32_t i = 0; i < out->n; i++)
        if (*busid && strcmp(out->ports[i].busid, busid) == 0)
            return true;
    return false;
}

/* Reads a network device; only Slingshot adapters count. */
static int read_net(void *arg, int class, const char *name)
{
    struct jp_hcas *out = arg;
    struct jp_hca base = {.kind = JP_HCA_SLINGSHOT};
    int folder = openat(class, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char text[JP_HCA_TEXT];
    struct jp_hca *port;
    uint64_t mbits = 0;

    if (folder < 0)
        return 0; /* a file such as bonding_masters */
    read_function(folder, &base);
    if (strcmp(base.vendor, VENDOR_CRAY) == 0 && !has_rdma(out, base.busid) &&
        strlen(name) < sizeof(base.name) && (port = add_port(out, &base))) {
        memcpy(port->name, name, strlen(name) + 1);
        read_text(folder, "operstate", text, sizeof(text));
        snprintf(port->state, sizeof(port->state), "%s",
                 strcmp(text, "up") == 0 ? "ACTIVE" : "DOWN");
        /* Mbit/s; -1 while the link is down. */
        read_text(folder, "speed", text, sizeof(text));
        if (num_parse_u64(text, 1, 100000000, &mbits, NULL) == 0)
            port->rate_gbits = (double) mbits / 1000;
    }
    close(folder);
    return 0;
}

/* Sorted, so that the file is the same on each reading. */
static int by_place(const void *a, const void *b)
{
    const struct jp_hca *x = a;
    const struct jp_hca *y = b;
    int rc = busid_compare(x->busid, y->busid);

    if (rc == 0)
        rc = strcmp(x->name, y->name);
    return rc ? rc : (x->port > y->port) - (x->port < y->port);
}

/* RDMA devices first, because read_net skips functions that have one. */
static void read_all(const char *root, struct jp_hcas *out)
{
    int more = 0, rc = 0;
    int class = sysfile_folder(root, "sys/class/infiniband");

    if (class >= 0)
        rc |= sysfile_each(class, JP_HCA_MAX, read_rdma, out, &more);
    /* Slingshot adapters have no RDMA device. */
    class = sysfile_folder(root, "sys/class/net");
    if (class >= 0)
        rc |= sysfile_each(class, 4096, read_net, out, &more);
    /* The first trouble is kept: it is the more specific one. */
    if ((more || rc < 0) && !out->trouble[0])
        snprintf(out->trouble, sizeof(out->trouble), "%s",
                 more ? "too many devices" : "devices cannot be listed");
    qsort(out->ports, out->n, sizeof(*out->ports), by_place);
}

struct question {
    const char *root;
    struct jp_hcas *answer; /* shared with the child */
};

static int ask_adapters(void *arg, int out)
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
        const struct child child = {.work = ask_adapters,
                                    .arg = &q,
                                    .limit_ms = limit_ms,
                                    .dies_with_us = true};
        struct child_result r;
        enum child_end end = child_run(&child, &r);

        /* Ports that were read before the time ran out are kept. */
        memcpy(copy, shared, sizeof(*copy));
        if (!child_succeeded(end, &r))
            snprintf(copy->trouble, sizeof(copy->trouble),
                     end == CHILD_LATE ? "no answer within %u ms"
                                       : "the querying process ended",
                     limit_ms);
    }
    child_free(shared, sizeof(*shared));
    if (shared)
        return copy;
    free(copy);
    return NULL;
}

/* --- hardware.json --- */

/* Words of the format, by the enums of hardware.h. */
static const char *const probe_word[JP_N_NVML_PROBES] = {
    [JP_NVML_OK] = "ok",
    [JP_NVML_ABSENT] = "absent",
    [JP_NVML_ERROR] = "error",
    [JP_NVML_TIMEOUT] = "timeout",
};
static const char *const state_word[] = {
    [JP_LINK_UNKNOWN] = "unknown",
    [JP_LINK_INACTIVE] = "inactive",
    [JP_LINK_ACTIVE] = "active",
};
static const char *const remote_word[JP_N_REMOTES] = {
    [JP_REMOTE_UNKNOWN] = "unknown",
    [JP_REMOTE_GPU] = "gpu",
    [JP_REMOTE_SWITCH] = "switch",
    [JP_REMOTE_CPU] = "cpu",
};
/* NVML's numbers of states, from 0. */
static const char *const fabric_word[] = {"not_supported", "not_started",
                                          "in_progress", "completed"};
/* NVML's numbers of health, from 1. */
static const char *const health_word[] = {NULL, "healthy", "unhealthy",
                                          "limited"};
static const char *const source_word[] = {
    [JP_TOPO_NONE] = "none",
    [JP_TOPO_HWLOC] = "hwloc",
    [JP_TOPO_SITE] = "site",
};

/* null if the text is unknown or not UTF-8. */
static json_t *text(const char *value)
{
    json_t *json = *value ? json_string(value) : NULL;

    return json ? json : json_null();
}

/* Negative numbers stand for unknown. */
static json_t *number(int64_t value)
{
    return value < 0 ? json_null() : json_integer((json_int_t) value);
}

static json_t *truth(int value)
{
    return value < 0 ? json_null() : json_boolean(value);
}

/* Without memory a member is missing, which the format allows. */
static void set_member(json_t *object, const char *key, json_t *value)
{
    (void) json_object_set_new(object, key, value);
}

/* The functions below mirror docs/dev/hardware-format.md, member by member. */
static json_t *make_link(const struct jp_nvml_link *link)
{
    json_t *json = json_object();

    set_member(json, "link", json_integer(link->link));
    set_member(json, "state", json_string(state_word[link->state]));
    set_member(json, "p2p", truth(link->p2p));
    set_member(json, "version", number(link->version));
    set_member(json, "speed_mbs", number(link->speed_mbs));
    set_member(json, "remote", json_string(remote_word[link->remote]));
    set_member(json, "remote_busid", text(link->remote_busid));
    return json;
}

static json_t *make_links(const struct jp_nvml_gpu *gpu)
{
    /* null: not queried; an empty array: no links */
    json_t *json = gpu->links_asked ? json_array() : json_null();

    for (uint32_t i = 0; gpu->links_asked && i < gpu->n_links; i++)
        json_array_append_new(json, make_link(&gpu->links[i]));
    return json;
}

/* null if all bytes are zero: such GPUs are in no cluster. */
static json_t *cluster(const uint8_t u[16])
{
    static const uint8_t zero[16];
    char *out;
    json_t *json;

    if (memcmp(u, zero, sizeof(zero)) == 0)
        return json_null();
    out = text_format("%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
                      "%02x%02x%02x%02x%02x%02x",
                      u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8],
                      u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
    json = text(out ? out : "");
    free(out);
    return json;
}

/* null: the driver does not know fabrics. */
static json_t *make_fabric(const struct jp_nvml_fabric *fabric)
{
    json_t *json = fabric->asked ? json_object() : json_null();

    if (!fabric->asked)
        return json;
    set_member(json, "state",
               /* A newer driver may have more states. */
               json_string(fabric->state <= 3 ? fabric_word[fabric->state]
                                              : "unknown"));
    set_member(json, "status", json_integer(fabric->status));
    set_member(json, "cluster_uuid", cluster(fabric->cluster));
    set_member(json, "clique", json_integer(fabric->clique));
    set_member(json, "health",
               fabric->health >= 1 && fabric->health <= 3
                   ? json_string(health_word[fabric->health])
                   : json_null());
    set_member(json, "health_mask", number(fabric->health_mask));
    return json;
}

/* null: unknown whether MIG is on. */
static json_t *make_mig(const struct jp_nvml_gpu *gpu)
{
    json_t *json = gpu->mig < 0 ? json_null() : json_object();
    json_t *devices;

    if (gpu->mig < 0)
        return json;
    devices = json_array();
    for (uint32_t i = 0; i < gpu->n_migs; i++)
        json_array_append_new(devices, text(gpu->migs[i]));
    set_member(json, "mode", json_boolean(gpu->mig));
    set_member(json, "devices", devices);
    return json;
}

static json_t *make_c2c(const struct jp_nvml_gpu *gpu)
{
    /* null: the driver has no such field. */
    json_t *json = gpu->c2c_links < 0 ? json_null() : json_object();

    if (gpu->c2c_links < 0)
        return json;
    set_member(json, "links", json_integer(gpu->c2c_links));
    set_member(json, "speed_mbs", number(gpu->c2c_speed_mbs));
    return json;
}

/* GPUs are sorted by bus id already. */
static json_t *make_gpus(const struct jp_nvml *nvml)
{
    json_t *json = json_array();

    for (uint32_t i = 0; i < nvml->n_gpus; i++) {
        const struct jp_nvml_gpu *gpu = &nvml->gpus[i];
        json_t *one = json_object();

        set_member(one, "busid", text(gpu->busid));
        set_member(one, "uuid", text(gpu->uuid));
        set_member(one, "minor", number(gpu->minor));
        set_member(one, "model", text(gpu->model));
        set_member(one, "links", make_links(gpu));
        set_member(one, "c2c", make_c2c(gpu));
        set_member(one, "fabric", make_fabric(&gpu->fabric));
        set_member(one, "mig", make_mig(gpu));
        json_array_append_new(json, one);
    }
    return json;
}

/* One port. Its members follow the struct. */
static json_t *make_hca(const struct jp_hca *port)
{
    json_t *json = json_object();
    json_t *netdevs = json_array();

    for (uint32_t i = 0; i < port->n_netdevs; i++)
        json_array_append_new(netdevs, text(port->netdevs[i]));
    set_member(json, "name", text(port->name));
    set_member(json, "port", json_integer(port->port));
    set_member(json, "busid", text(port->busid));
    set_member(json, "vendor", text(port->vendor));
    set_member(json, "device", text(port->device));
    set_member(json, "kind", json_string(hca_kind_word[port->kind]));
    set_member(json, "link_layer", text(port->link_layer));
    set_member(json, "state", text(port->state));
    set_member(json, "phys_state", text(port->phys_state));
    set_member(json, "rate_gbits",
               port->rate_gbits > 0 ? json_real(port->rate_gbits)
                                    : json_null());
    set_member(json, "node_guid", text(port->node_guid));
    set_member(json, "sys_image_guid", text(port->sys_image_guid));
    set_member(json, "gid", text(port->gid));
    set_member(json, "netdevs", netdevs);
    set_member(json, "vf", json_boolean(port->vf));
    return json;
}

/* An empty array means that there are no adapters, if hcas_probe is "ok". */
static json_t *make_hcas(const struct jp_hcas *hcas)
{
    json_t *json = json_array();

    for (uint32_t i = 0; i < hcas->n; i++)
        json_array_append_new(json, make_hca(&hcas->ports[i]));
    return json;
}

/* The file next to this one, or why there is none. */
static json_t *make_topology(const struct jp_hardware *hw)
{
    /* Without a file the shape would be that of nothing. */
    bool there = hw->source != JP_TOPO_NONE;
    json_t *json = json_object();

    set_member(json, "file", text(there ? "topology.xml" : ""));
    set_member(json, "source", json_string(source_word[hw->source]));
    set_member(json, "hwloc", text(hw->hwloc));
    set_member(json, "shape", text(there ? hw->shape : ""));
    set_member(json, "bytes", json_integer((json_int_t) hw->xml_bytes));
    set_member(json, "why", json_string(there ? "" : hw->why));
    return json;
}

static json_t *make_nvml(const struct jp_nvml *nvml)
{
    json_t *json = json_object();

    set_member(json, "probe", json_string(probe_word[nvml->probe]));
    /* tidy_text has made it printable. */
    set_member(json, "text", json_string(nvml->text));
    set_member(json, "driver", text(nvml->driver));
    set_member(json, "gpus",
               nvml->probe == JP_NVML_OK ? json_integer(nvml->n_told)
                                         : json_null());
    return json;
}

/* The id of this boot: containers of one machine have the same. */
static json_t *boot_id(void)
{
    char *id = NULL;
    json_t *json;

    /* Inside a container this is the id of the host's boot as well. */
    if (fileio_read("/proc/sys/kernel/random/boot_id", false, 128, &id, NULL,
                    NULL) < 0)
        return json_null();
    id[strcspn(id, "\n")] = '\0';
    json = text(id);
    free(id);
    return json;
}

/* The members' order is that of docs/dev/hardware-format.md. */
char *hardware_format(const struct jp_hardware *hw, size_t *len,
                      struct jp_error *err)
{
    json_t *json = json_object();
    struct utsname uts = {0};
    struct timeval now;
    char *out = NULL;

    /* Host name and boot id come from the kernel, not from Slurm. */
    uname(&uts);
    gettimeofday(&now, NULL);
    set_member(json, "schema", json_integer(1));
    set_member(json, "node", text(hw->node));
    set_member(json, "hostname", text(uts.nodename));
    set_member(json, "boot_id", boot_id());
    set_member(json, "topology_addr", text(hw->topology_addr));
    /* Readers need the version of the writer, not their own. */
    set_member(json, "jobprof", json_string(PACKAGE_VERSION));
    set_member(json, "made_us",
               json_integer((json_int_t) now.tv_sec * 1000000 + now.tv_usec));
    set_member(json, "topology", make_topology(hw));
    set_member(json, "nvml", make_nvml(hw->nvml));
    set_member(json, "gpus", make_gpus(hw->nvml));
    set_member(json, "hcas_probe",
               json_string(hw->hcas->trouble[0] ? hw->hcas->trouble : "ok"));
    set_member(json, "hcas", make_hcas(hw->hcas));
    if (json)
        out = json_dumps(json, JSON_INDENT(1));
    json_decref(json);
    if (!out) {
        error_set(err, "out of memory");
        return NULL;
    }
    *len = strlen(out);
    return out;
}

/* --- one number for all nodes that are wired alike ------------------------ */

/* Names of infos that differ between equal machines. */
static const char *const personal[] = {
    "HostName",
    "OSRelease",
    "OSVersion",
    "Address",
    "NodeGUID",
    "SysImageGUID",
    "NVIDIAUUID",
    "NVIDIASerial",
    "AMDUUID",
    "AMDSerial",
    "DMIProductSerial",
    "DMIProductUUID",
    "DMIBoardSerial",
    "DMIChassisSerial",
    "DMIBoardAssetTag",
    "DMIChassisAssetTag",
    "LinuxCgroup",
    "ProcessName",
    "hwlocVersion",
    "SerialNumber",
    "XGMIHiveID",
    "LinuxDeviceID",
    "Size",
};

/* Infos of ports have their number in the middle: Port1GID0, Port1LID. These
 * follow it. */
static const char *const personal_ports[] = {"GID", "LID", "LMC"};

/* Attributes of objects; what is allowed depends on the job. */
static const char *const attributes[] = {
    "local_memory",
    "allowed_cpuset",
    "allowed_nodeset",
};

#define N(array) (sizeof(array) / sizeof(*(array)))

/* Whether the text begins with the word. */
static bool begins(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);

    return (size_t) (end - p) >= n && memcmp(p, word, n) == 0;
}

/* Whether an info of that name, which ends at a quote, differs between equal
 * machines. */
static bool is_personal(const char *name, const char *end)
{
    const char *quote = memchr(name, '"', (size_t) (end - name));

    if (!quote)
        return false;
    for (size_t i = 0; i < N(personal); i++)
        if (begins(name, quote, personal[i]) &&
            name + strlen(personal[i]) == quote)
            return true;
    /* The other names of ports have a number in the middle. */
    if (!begins(name, quote, "Port"))
        return false;
    for (name += 4; name < quote && *name >= '0' && *name <= '9'; name++)
        ;
    for (size_t i = 0; i < N(personal_ports); i++)
        if (begins(name, quote, personal_ports[i]))
            return true;
    return false;
}

/* Whether a line does not belong to the shape. */
static bool is_left_out(const char *p, const char *end)
{
    if (begins(p, end, "<page_type"))
        return true;
    /* The declaration names encodings and DTDs. */
    if (begins(p, end, "<?xml") || begins(p, end, "<!DOCTYPE"))
        return true;
    return begins(p, end, "<info name=\"") &&
           is_personal(p + strlen("<info name=\""), end);
}

/* Returns the end of an attribute that is left out, which begins with a blank
 * at p; p if it is none. */
static const char *skip_attribute(const char *p, const char *end)
{
    for (size_t i = 0; *p == ' ' && i < N(attributes); i++) {
        const char *at = p + 1;
        const char *quote;

        if (!begins(at, end, attributes[i]))
            continue;
        at += strlen(attributes[i]);
        if (!begins(at, end, "=\""))
            continue;
        /* Without a closing quote the attribute is not skipped. */
        quote = memchr(at + 2, '"', (size_t) (end - at - 2));
        return quote ? quote + 1 : p;
    }
    return p;
}

/* Adds a line to the hash. */
static uint64_t add_line(uint64_t hash, const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    if (p == end || is_left_out(p, end))
        return hash;
    for (; p < end; p++) {
        const char *behind = skip_attribute(p, end);

        if (behind != p) {
            p = behind - 1;
            continue;
        }
        hash = fnv_byte(hash, (unsigned char) *p);
    }
    return fnv_byte(hash, '\n');
}

/* One pass over the text, without memory of its own. */
void hardware_shape(const char *xml, size_t len, char out[JP_SHAPE_LEN])
{
    uint64_t hash = FNV_START;
    const char *end = xml + len;

    while (xml < end) {
        /* Line by line, because lines are left out as a whole. */
        const char *line = memchr(xml, '\n', (size_t) (end - xml));

        if (!line)
            line = end;
        hash = add_line(hash, xml, line);
        xml = line + (line < end);
    }
    snprintf(out, JP_SHAPE_LEN, "%016llx", (unsigned long long) hash);
}
