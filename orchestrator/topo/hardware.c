/* hardware.c - format hardware.json. */
#include "config.h"

#include "orchestrator/topo/hardware.h"

#include <stdio.h>
#include <stdint.h>
#include <stdbool.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/utsname.h>

#include "common/fileio.h"

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
static const char *const fabric_word[] = {"not_supported", "not_started",
                                          "in_progress", "completed"};
static const char *const health_word[] = {NULL, "healthy", "unhealthy",
                                          "limited"};
static const char *const source_word[] = {
    [JP_TOPO_NONE] = "none",
    [JP_TOPO_HWLOC] = "hwloc",
    [JP_TOPO_SITE] = "site",
};

/* null where it was not told, or is not UTF-8. */
static json_t *text(const char *value)
{
    json_t *json = *value ? json_string(value) : NULL;

    return json ? json : json_null();
}

static json_t *number(int64_t value)
{
    return value < 0 ? json_null() : json_integer((json_int_t) value);
}

static json_t *truth(int value)
{
    return value < 0 ? json_null() : json_boolean(value);
}

/* Without memory a member is missing, which the format allows. */
static void set(json_t *object, const char *key, json_t *value)
{
    (void) json_object_set_new(object, key, value);
}

static json_t *make_link(const struct jp_nvml_link *link)
{
    json_t *json = json_object();

    set(json, "link", json_integer(link->link));
    set(json, "state", json_string(state_word[link->state]));
    set(json, "p2p", truth(link->p2p));
    set(json, "version", number(link->version));
    set(json, "speed_mbs", number(link->speed_mbs));
    set(json, "remote", json_string(remote_word[link->remote]));
    set(json, "remote_busid", text(link->remote_busid));
    return json;
}

static json_t *make_links(const struct jp_nvml_gpu *gpu)
{
    json_t *json = gpu->links_asked ? json_array() : json_null();

    for (uint32_t i = 0; gpu->links_asked && i < gpu->n_links; i++)
        json_array_append_new(json, make_link(&gpu->links[i]));
    return json;
}

/* null where all is zero: such GPUs are in no cluster. */
static json_t *cluster(const uint8_t u[16])
{
    static const uint8_t zero[16];
    char *out;
    json_t *json;

    if (memcmp(u, zero, sizeof(zero)) == 0)
        return json_null();
    out = fileio_path("%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
                      "%02x%02x%02x%02x%02x%02x",
                      u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8],
                      u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
    json = text(out ? out : "");
    free(out);
    return json;
}

static json_t *make_fabric(const struct jp_nvml_fabric *fabric)
{
    json_t *json = fabric->asked ? json_object() : json_null();

    if (!fabric->asked)
        return json;
    set(json, "state",
        json_string(fabric->state <= 3 ? fabric_word[fabric->state]
                                       : "unknown"));
    set(json, "status", json_integer(fabric->status));
    set(json, "cluster_uuid", cluster(fabric->cluster));
    set(json, "clique", json_integer(fabric->clique));
    set(json, "health",
        fabric->health >= 1 && fabric->health <= 3
            ? json_string(health_word[fabric->health])
            : json_null());
    set(json, "health_mask", number(fabric->health_mask));
    return json;
}

static json_t *make_mig(const struct jp_nvml_gpu *gpu)
{
    json_t *json = gpu->mig < 0 ? json_null() : json_object();
    json_t *devices;

    if (gpu->mig < 0)
        return json;
    devices = json_array();
    for (uint32_t i = 0; i < gpu->n_migs; i++)
        json_array_append_new(devices, text(gpu->migs[i]));
    set(json, "mode", json_boolean(gpu->mig));
    set(json, "devices", devices);
    return json;
}

static json_t *make_c2c(const struct jp_nvml_gpu *gpu)
{
    json_t *json = gpu->c2c_links < 0 ? json_null() : json_object();

    if (gpu->c2c_links < 0)
        return json;
    set(json, "links", json_integer(gpu->c2c_links));
    set(json, "speed_mbs", number(gpu->c2c_speed_mbs));
    return json;
}

static json_t *make_gpus(const struct jp_nvml *nvml)
{
    json_t *json = json_array();

    for (uint32_t i = 0; i < nvml->n_gpus; i++) {
        const struct jp_nvml_gpu *gpu = &nvml->gpus[i];
        json_t *one = json_object();

        set(one, "busid", text(gpu->busid));
        set(one, "uuid", text(gpu->uuid));
        set(one, "minor", number(gpu->minor));
        set(one, "model", text(gpu->model));
        set(one, "links", make_links(gpu));
        set(one, "c2c", make_c2c(gpu));
        set(one, "fabric", make_fabric(&gpu->fabric));
        set(one, "mig", make_mig(gpu));
        json_array_append_new(json, one);
    }
    return json;
}

static json_t *make_hca(const struct jp_hca *port)
{
    json_t *json = json_object();
    json_t *netdevs = json_array();

    for (uint32_t i = 0; i < port->n_netdevs; i++)
        json_array_append_new(netdevs, text(port->netdevs[i]));
    set(json, "name", text(port->name));
    set(json, "port", json_integer(port->port));
    set(json, "busid", text(port->busid));
    set(json, "vendor", text(port->vendor));
    set(json, "device", text(port->device));
    set(json, "kind", json_string(hca_kind_word[port->kind]));
    set(json, "link_layer", text(port->link_layer));
    set(json, "state", text(port->state));
    set(json, "phys_state", text(port->phys_state));
    set(json, "rate_gbits",
        port->rate_gbits > 0 ? json_real(port->rate_gbits) : json_null());
    set(json, "node_guid", text(port->node_guid));
    set(json, "sys_image_guid", text(port->sys_image_guid));
    set(json, "gid", text(port->gid));
    set(json, "netdevs", netdevs);
    set(json, "vf", json_boolean(port->vf));
    return json;
}

static json_t *make_hcas(const struct jp_hcas *hcas)
{
    json_t *json = json_array();

    for (uint32_t i = 0; i < hcas->n; i++)
        json_array_append_new(json, make_hca(&hcas->ports[i]));
    return json;
}

static json_t *make_topology(const struct jp_hardware *hw)
{
    bool there = hw->source != JP_TOPO_NONE;
    json_t *json = json_object();

    set(json, "file", text(there ? "topology.xml" : ""));
    set(json, "source", json_string(source_word[hw->source]));
    set(json, "hwloc", text(hw->hwloc));
    set(json, "shape", text(there ? hw->shape : ""));
    set(json, "bytes", json_integer((json_int_t) hw->xml_bytes));
    set(json, "why", json_string(there ? "" : hw->why));
    return json;
}

static json_t *make_nvml(const struct jp_nvml *nvml)
{
    json_t *json = json_object();

    set(json, "probe", json_string(probe_word[nvml->probe]));
    set(json, "text", json_string(nvml->text));
    set(json, "driver", text(nvml->driver));
    set(json, "gpus",
        nvml->probe == JP_NVML_OK ? json_integer(nvml->n_told) : json_null());
    return json;
}

/* This boot's id: the key by which containers of a machine are one node. */
static json_t *boot_id(void)
{
    char *id = NULL;
    json_t *json;

    if (fileio_read("/proc/sys/kernel/random/boot_id", false, 128, &id, NULL,
                    NULL) < 0)
        return json_null();
    id[strcspn(id, "\n")] = '\0';
    json = text(id);
    free(id);
    return json;
}

char *hardware_format(const struct jp_hardware *hw, size_t *len,
                      struct jp_error *err)
{
    json_t *json = json_object();
    struct utsname uts = {0};
    struct timeval now;
    char *out = NULL;

    uname(&uts);
    gettimeofday(&now, NULL);
    set(json, "schema", json_integer(1));
    set(json, "node", text(hw->node));
    set(json, "hostname", text(uts.nodename));
    set(json, "boot_id", boot_id());
    set(json, "topology_addr", text(hw->topology_addr));
    set(json, "jobprof", json_string(PACKAGE_VERSION));
    set(json, "made_us",
        json_integer((json_int_t) now.tv_sec * 1000000 + now.tv_usec));
    set(json, "topology", make_topology(hw));
    set(json, "nvml", make_nvml(hw->nvml));
    set(json, "gpus", make_gpus(hw->nvml));
    set(json, "hcas_probe",
        json_string(hw->hcas->trouble[0] ? hw->hcas->trouble : "ok"));
    set(json, "hcas", make_hcas(hw->hcas));
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

/* --- one number for all nodes that are wired alike -------------------------
 */

/* Names of infos that differ between equal machines, and how they begin. */
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

/* Ports have these with their number in the middle: Port1GID0, Port1LID. */
static const char *const personal_ports[] = {"GID", "LID", "LMC"};

/* Attributes of objects; sets of what is allowed depend on the job. */
static const char *const attributes[] = {
    "local_memory",
    "allowed_cpuset",
    "allowed_nodeset",
};

#define N(array) (sizeof(array) / sizeof(*(array)))

static bool begins(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);

    return (size_t) (end - p) >= n && memcmp(p, word, n) == 0;
}

/* Whether an info of that name, which ends in a quote, is personal. */
static bool is_personal(const char *name, const char *end)
{
    const char *quote = memchr(name, '"', (size_t) (end - name));

    if (!quote)
        return false;
    for (size_t i = 0; i < N(personal); i++)
        if (begins(name, quote, personal[i]) &&
            name + strlen(personal[i]) == quote)
            return true;
    if (!begins(name, quote, "Port"))
        return false;
    for (name += 4; name < quote && *name >= '0' && *name <= '9'; name++)
        ;
    for (size_t i = 0; i < N(personal_ports); i++)
        if (begins(name, quote, personal_ports[i]))
            return true;
    return false;
}

/* Whether a line says nothing of the shape. */
static bool is_left_out(const char *p, const char *end)
{
    if (begins(p, end, "<page_type"))
        return true;
    if (begins(p, end, "<?xml") || begins(p, end, "<!DOCTYPE"))
        return true;
    return begins(p, end, "<info name=\"") &&
           is_personal(p + strlen("<info name=\""), end);
}

/* Where an attribute that is left out ends, with its blank; p: it is none. */
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
        quote = memchr(at + 2, '"', (size_t) (end - at - 2));
        return quote ? quote + 1 : p;
    }
    return p;
}

/* FNV-1a, 64 bits. */
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
        hash = (hash ^ (unsigned char) *p) * 0x100000001b3u;
    }
    return (hash ^ '\n') * 0x100000001b3u;
}

void hardware_shape(const char *xml, size_t len, char out[JP_SHAPE_LEN])
{
    uint64_t hash = 0xcbf29ce484222325u;
    const char *end = xml + len;

    while (xml < end) {
        const char *line = memchr(xml, '\n', (size_t) (end - xml));

        if (!line)
            line = end;
        hash = add_line(hash, xml, line);
        xml = line + (line < end);
    }
    snprintf(out, JP_SHAPE_LEN, "%016llx", (unsigned long long) hash);
}
