/* nccltopo.c - read a node's topology as NCCL and RCCL write it.
 *
 * The elements become the objects of hwloc's XML (topo_parts.h), so that the
 * rest of the code needs only one model. read_element is called for each
 * opening element; `at` is the stack of open ones. */
#include "common/vector.h"
#include "orchestrator/topo/topo_parts.h"

#include <stdlib.h>
#include <string.h>

#include "orchestrator/topo/busid.h"

/* What an open element is for the elements inside it. */
struct place {
    enum { NOTHING, SYSTEM, CPU, SWITCH, DEVICE, GPU, NIC } kind;
    int object; /* parent object for them; -1: none */
    int device; /* the PCI device that it is or belongs to; -1: none */
};

struct reader {
    struct hwxml *xml;
    struct xmlscan scan;
    struct place at[XMLSCAN_MAX_DEPTH + 1];
    size_t object_room, link_room; /* allocated sizes */
    const char *host; /* host_hash of the first cpu; NULL: it has none */
};

/* Whether the outermost element is <system>. Skips the declaration and
 * comments, but does not parse. */
static bool is_nccl(const char *text, size_t len)
{
    static const char name[] = "<system";
    const char *end = text + len, *at = text;

    while ((at = memchr(at, '<', (size_t) (end - at)))) {
        if ((size_t) (end - at) > sizeof(name) - 1 &&
            memcmp(at, name, sizeof(name) - 1) == 0)
            return true;
        if (end - at > 4 && memcmp(at, "<!--", 4) == 0) {
            at = memmem(at, (size_t) (end - at), "-->", 3);
            if (!at)
                return false;
        } else if (end - at < 2 || (at[1] != '?' && at[1] != '!')) {
            return false;
        }
        at++;
    }
    return false;
}

static const char *attr(const struct reader *r, const char *name)
{
    return xmlscan_attr(&r->scan, name);
}

/* Reads "0x030200" or "128". Returns 0 if it is missing, bad, or above max. */
static uint64_t number(const struct reader *r, const char *name, unsigned base,
                       uint64_t max)
{
    const char *text = attr(r, name);
    uint64_t value = 0;

    if (!text)
        return 0;
    /* "0x" is optional. */
    if (base == 16 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        text += 2;
    for (; *text; text++) {
        unsigned digit = *text >= '0' && *text <= '9' ? (unsigned) *text - '0'
                         : *text >= 'a' && *text <= 'f'
                             ? (unsigned) *text - 'a' + 10
                         : *text >= 'A' && *text <= 'F'
                             ? (unsigned) *text - 'A' + 10
                             : 99;

        if (digit >= base || value > (max - digit) / base)
            return 0;
        value = value * base + digit;
    }
    return value;
}

/* Adds an object without attributes. Returns its index, or -1. */
static int add_object(struct reader *r, int parent, enum hwxml_type type,
                      const char *type_name, struct jp_error *err)
{
    const struct hwxml_object object = {.parent = parent,
                                        .type = type,
                                        .type_name = type_name,
                                        .name = "",
                                        .subtype = "",
                                        .first_bus = -1,
                                        .gp_index = r->xml->n_objects,
                                        .first_info = -1};

    return hwxml_add(r->xml, &r->object_room, &object, err);
}

static int read_system(struct reader *r, struct place *here,
                       struct jp_error *err)
{
    const char *version = attr(r, "version");

    if (strcmp(r->scan.name, "system") != 0)
        return error_set(err, "the outermost element is not a system");
    if (version && strcmp(version, "1") == 0)
        r->xml->from = TOPO_FROM_NCCL;
    else if (version && strcmp(version, "2") == 0)
        r->xml->from = TOPO_FROM_RCCL;
    else
        return error_set(err,
                         "a topology of NCCL's version \"%s\"; 1 (NCCL) and 2 "
                         "(RCCL) are known",
                         version ? version : "");
    /* The objects have the form of hwloc 2. */
    r->xml->version = 2;
    here->kind = SYSTEM;
    here->object = add_object(r, -1, HWXML_OTHER, "Machine", err);
    return here->object < 0 ? -1 : 0;
}

/* A cpu becomes a NUMA node with one host bridge. */
static int read_cpu(struct reader *r, const struct place *in,
                    struct place *here, struct jp_error *err)
{
    const char *host = attr(r, "host_hash"), *numa = attr(r, "numaid");
    int node;

    if (!r->xml->n_numa)
        r->host = host;
    if (host && r->host && strcmp(host, r->host) != 0)
        return 0; /* another host of the same NVLink fabric; only the first one
                     counts */
    node = add_object(r, in->object, HWXML_OTHER, "NUMANode", err);
    if (node < 0)
        return -1;
    /* The text of the number serves as the nodeset; only equality is tested.
     * The kernel's -1 and no number at all leave the place unknown. */
    if (numa && *numa && strcmp(numa, "-1") != 0) {
        r->xml->objects[node].nodeset = numa;
        r->xml->objects[node].nodeset_weight = 1;
    }
    r->xml->n_numa++;
    here->object = add_object(r, node, HWXML_BRIDGE, "Bridge", err);
    if (here->object < 0)
        return -1;
    r->xml->objects[here->object].host_bridge = true;
    here->kind = CPU;
    return 0;
}

/* Reads a PCI class as "0x030200", or "0x0302" without the interface. 0:
 * unknown. */
static uint16_t pci_class(const struct reader *r, const char *name)
{
    const char *text = attr(r, name);
    uint64_t value = number(r, name, 16, 0xffffff);

    if (text && strncmp(text, "0x", 2) == 0)
        text += 2;
    return (uint16_t) (text && strlen(text) > 4 ? value >> 8 : value);
}

/* Reads a PCI vendor or device id. 0: unknown, as is 0xffff, which no device
 * has and which hand-written files put for "none". */
static uint16_t pci_id(const struct reader *r, const char *name)
{
    uint64_t value = number(r, name, 16, 0xffff);

    return value == 0xffff ? 0 : (uint16_t) value;
}

static bool is_gpu_class(uint16_t class_id)
{
    return class_id >> 8 == 3 || class_id == 0x1200;
}

/* Takes the vendor from what only that vendor's GPUs have, if the file does not
 * name it. */
static void name_vendor(struct reader *r, int object, uint16_t vendor)
{
    if (!r->xml->objects[object].pci.vendor)
        r->xml->objects[object].pci.vendor = vendor;
}

/* Sets the PCI address, class and ids from the element's attributes. */
static int set_bus(struct reader *r, int object, struct jp_error *err)
{
    struct hwxml_pci *pci = &r->xml->objects[object].pci;
    const char *busid = attr(r, "busid");
    char tidy[JP_BUSID];
    uint64_t part[4];
    char *at = tidy;

    if (!busid || busid_tidy(busid, tidy) < 0)
        return error_set(err, "a pci without a busid that can be read");
    for (int i = 0; i < 4; i++, at++)
        /* tidy is "dddd:bb:dd.f", so each number ends at one separator. */
        part[i] = strtoull(at, &at, 16);
    *pci = (struct hwxml_pci){.domain = (uint32_t) part[0],
                              .bus = (uint8_t) part[1],
                              .dev = (uint8_t) part[2],
                              .func = (uint8_t) part[3],
                              .class_id = pci_class(r, "class"),
                              .vendor = pci_id(r, "vendor"),
                              .device = pci_id(r, "device")};
    r->xml->objects[object].has_pci = true;
    /* RCCL knows no other GPUs. */
    if (r->xml->from == TOPO_FROM_RCCL && is_gpu_class(pci->class_id))
        name_vendor(r, object, VENDOR_AMD);
    return 0;
}

/* A switch becomes a bridge. Each device below it, and each switch, gets a port
 * (another bridge) of its own, as in hwloc's XML. */
static int read_pci(struct reader *r, const struct place *in,
                    struct place *here, struct jp_error *err)
{
    uint16_t class_id = pci_class(r, "class");
    /* Classes of PCI switches. */
    bool is_switch = class_id == 0x0604 || class_id == 0x0801;
    int parent = in->object;

    if (in->kind == SWITCH)
        parent = add_object(r, parent, HWXML_BRIDGE, "Bridge", err);
    if (parent < 0)
        return -1;
    here->object = add_object(r, parent, is_switch ? HWXML_BRIDGE : HWXML_PCI,
                              is_switch ? "Bridge" : "PCIDev", err);
    if (here->object < 0)
        return -1;
    here->kind = is_switch ? SWITCH : DEVICE;
    if (is_switch)
        return 0; /* hand-written files invent its bus id */
    if (set_bus(r, here->object, err) < 0)
        return -1;
    here->device = here->object;
    if (class_id >> 8 == 2) { /* files without <nic>: the adapter's name is
                                 unknown, so its bus id stands in */
        int nic = add_object(r, here->object, HWXML_OS, "OSDev", err);

        if (nic < 0)
            return -1;
        r->xml->objects[nic].os_kinds = HWXML_OS_OPENFABRICS;
        r->xml->objects[nic].name = attr(r, "busid");
    }
    return 0;
}

/* Takes what a gpu element says of its device. */
static void read_gpu(struct reader *r, int device)
{
    struct hwxml_object *object = &r->xml->objects[device];

    object->is_gpu = true;
    object->has_all_links = attr(r, "rank") != NULL;
    object->sm = (unsigned) number(r, "sm", 10, 1000);
    object->gcn = attr(r, "gcn");
    if (object->gcn || r->xml->from == TOPO_FROM_RCCL)
        name_vendor(r, device, VENDOR_AMD);
}

/* Takes an adapter's name and rate. The first name replaces the one that
 * read_pci invented. */
static int read_net(struct reader *r, const struct place *in,
                    struct jp_error *err)
{
    const char *name = attr(r, "name"), *port = attr(r, "port");
    int object = in->device >= 0 ? in->device + 1 : -1;
    /* NCCL's sockets have port 0 and no GPUDirect; their GUID is a running
     * number. They are not kept. */
    bool socket = port && strcmp(port, "0") == 0 && !number(r, "gdr", 10, 1);

    if (object >= (int) r->xml->n_objects ||
        (object >= 0 && r->xml->objects[object].type != HWXML_OS))
        object = -1;
    if (socket || !name || !*name) {
        if (object >= 0 && socket)
            r->xml->objects[object].os_kinds = HWXML_OS_NETWORK;
        return 0;
    }
    /* Another port of the card, or an adapter that NCCL made of several. An
     * invented name is a bus id, with a colon. */
    if (object < 0 || strchr(r->xml->objects[object].name, ':') == NULL)
        object = add_object(r, in->object, HWXML_OS, "OSDev", err);
    if (object < 0)
        return -1;
    r->xml->objects[object].os_kinds = HWXML_OS_OPENFABRICS;
    r->xml->objects[object].name = name;
    r->xml->objects[object].rate_mbps =
        (uint32_t) number(r, "speed", 10, 100000000);
    /* The library lists active ports only, with their speed. */
    r->xml->objects[object].active = attr(r, "speed") != NULL;
    return 0;
}

/* What a link leads to, by tclass. */
static enum hwxml_end end_of(const struct reader *r)
{
    switch (number(r, "tclass", 16, 0xffffff)) {
    case 0x068000:
        return HWXML_END_SWITCH;
    case 0x068001:
        return HWXML_END_CPU;
    default:
        return is_gpu_class(pci_class(r, "tclass")) ? HWXML_END_GPU
                                                    : HWXML_END_UNKNOWN;
    }
}

/* A link of a GPU; tclass is the PCI class of its other end. */
static int read_link(struct reader *r, const struct place *in,
                     struct jp_error *err)
{
    struct hwxml *xml = r->xml;
    const char *count = attr(r, "count");

    name_vendor(r, in->device,
                strcmp(r->scan.name, "xgmi") == 0 ? VENDOR_AMD : VENDOR_NVIDIA);
    if (count && strcmp(count, "0") == 0)
        return 0;
    if (xml->n_links == HWXML_MAX_LINKS)
        return error_set(err, "over %d links", HWXML_MAX_LINKS);
    if (VECTOR_ROOM(xml->links, xml->n_links + 1, r->link_room) < 0)
        return error_set(err, "out of memory");
    xml->links[xml->n_links++] = (struct hwxml_link){
        .object = in->device,
        .target = attr(r, "target") ? attr(r, "target") : "",
        .end = end_of(r),
        .count = (unsigned) number(r, "count", 10, 1000)};
    return 0;
}

/* Dispatches on the kind of the parent and the element's name; anything else is
 * ignored. */
static int read_element(struct reader *r, struct jp_error *err)
{
    const struct place *in = &r->at[r->scan.depth - 1];
    struct place *here = &r->at[r->scan.depth];
    const char *name = r->scan.name;

    /* An unknown element has no kind, so everything inside it is ignored. */
    *here = (struct place){NOTHING, in->object, in->device};
    if (r->scan.depth == 1)
        return read_system(r, here, err);
    if (in->kind == SYSTEM && strcmp(name, "cpu") == 0)
        return read_cpu(r, in, here, err);
    /* A switch may have no class in the file, so it is read as a device. */
    if ((in->kind == CPU || in->kind == SWITCH || in->kind == DEVICE) &&
        strcmp(name, "pci") == 0)
        return read_pci(r, in, here, err);
    if (in->kind == DEVICE && strcmp(name, "gpu") == 0) {
        here->kind = GPU;
        read_gpu(r, in->device);
    } else if ((in->kind == DEVICE || in->kind == CPU) &&
               strcmp(name, "nic") == 0) {
        here->kind = NIC;
    } else if (in->kind == NIC && strcmp(name, "net") == 0) {
        return read_net(r, in, err);
    } else if (in->kind == GPU &&
               (strcmp(name, "nvlink") == 0 || strcmp(name, "xgmi") == 0)) {
        return read_link(r, in, err);
    }
    return 0;
}

/* Messages get the line at which reading stopped. */
static int read_all(struct reader *r, struct jp_error *err)
{
    enum xmlscan_event event;
    struct jp_error why = {""};

    r->at[0] = (struct place){NOTHING, -1, -1};
    while ((event = xmlscan_next(&r->scan, &why)) > XMLSCAN_END)
        /* Closing elements need no action: the stack is indexed by depth. */
        if (event == XMLSCAN_OPEN && read_element(r, &why) < 0)
            break;
    if (event != XMLSCAN_END)
        return error_set(err, "line %u: %s", xmlscan_line(&r->scan), why.text);
    if (!r->xml->n_numa)
        return error_set(err, "no cpu");
    return 0;
}

static struct hwxml *parse_xml(char *text, size_t len, struct jp_error *err)
{
    struct reader *r = calloc(1, sizeof(*r));
    struct hwxml *xml = calloc(1, sizeof(*xml));
    int rc = -1;

    if (!r || !xml) {
        error_set(err, "out of memory");
        free(text);
        free(xml);
        free(r);
        return NULL;
    }
    r->xml = xml;
    xml->text = text;
    xml->root_info = -1;
    xmlscan_init(&r->scan, text, len);
    if (memchr(text, '\0', len) || len > HWXML_MAX_BYTES)
        error_set(err, "not XML, or too large for a topology");
    else
        rc = read_all(r, err);
    free(r);
    if (rc == 0)
        return xml;
    hwxml_destroy(xml);
    return NULL;
}

struct hwxml *nccltopo_read(char *text, size_t len, struct jp_error *err)
{
    return is_nccl(text, len) ? parse_xml(text, len, err)
                              : hwxml_parse(text, len, err);
}
