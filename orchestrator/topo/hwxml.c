/* hwxml.c - read the objects of a topology that hwloc has exported as XML.
 *
 * hwxml_parse is the entry: read_all walks over the elements (xmlscan.c),
 * read_element keeps the objects that matter, read_matrix takes the NVLink
 * matrix. */

#include <stdlib.h>
#include <string.h>

#include "common/vector.h"
#include "orchestrator/topo/topo_parts.h"

/* Reads digits up to the first character that is none. Returns where it
 * stopped; NULL if there is no digit or the value is above max. */
static const char *read_number(const char *text, unsigned base, uint64_t max,
                               uint64_t *out);

#define KIND_FROM_USER 2 /* hwloc_distances_kind_e */

/* A matrix while its lists are read. */
struct matrix_reader {
    struct hwxml *xml;
    uint64_t *index; /* gp_index of each object */
    /* n: objects of the matrix; the others: read so far */
    size_t n, n_index, n_values;
    /* row by row; taken over by the matrix */
    uint64_t *values;
};

/* Orders pointers to objects by gp_index. */
static int compare_objects(const void *a, const void *b)
{
    const struct hwxml_object *const *x = a, *const *y = b;

    return (*x)->gp_index < (*y)->gp_index   ? -1
           : (*x)->gp_index > (*y)->gp_index ? 1
                                             : 0;
}

/* Finds the matrix's objects by their gp_index: sorts once, then O(log n) each.
 */
static int find_objects(struct matrix_reader *m, struct jp_error *err)
{
    struct hwxml *xml = m->xml;
    const struct hwxml_object **sorted =
        calloc(xml->n_objects, sizeof(struct hwxml_object *));

    if (!sorted)
        return error_set(err, "out of memory");
    for (size_t i = 0; i < xml->n_objects; i++)
        sorted[i] = &xml->objects[i];
    qsort(sorted, xml->n_objects, sizeof(*sorted), compare_objects);
    for (size_t i = 0; i < m->n; i++) {
        const struct hwxml_object key = {.gp_index = m->index[i]};
        const struct hwxml_object *wanted = &key;
        const struct hwxml_object **hit = bsearch(
            &wanted, sorted, xml->n_objects, sizeof(*sorted), compare_objects);

        /* An object that is not kept, such as a NUMA node, is not found. */
        xml->matrix.object[i] = hit ? (int) (*hit - xml->objects) : -1;
    }
    free(sorted);
    return 0;
}

/* Reads "OSDev:42 PCIDev:24 " or "29 32 41 ". The text may come in pieces. */
static int take_indexes(struct matrix_reader *m, const char *text)
{
    while (*(text += strspn(text, " \t\r\n"))) {
        size_t name = strcspn(text, ": \t\r\n");

        if (text[name] == ':')
            text += name + 1;
        if (m->n_index == m->n)
            return -1;
        text = read_number(text, 10, UINT64_MAX, &m->index[m->n_index]);
        if (!text)
            return -1;
        m->n_index++;
    }
    return 0;
}

/* Reads the values, row by row, also in pieces. */
static int take_values(struct matrix_reader *m, const char *text)
{
    while (*(text += strspn(text, " \t\r\n"))) {
        if (m->n_values == m->n * m->n)
            return -1;
        text = read_number(text, 10, UINT64_MAX, &m->values[m->n_values]);
        if (!text)
            return -1;
        m->n_values++;
    }
    return 0;
}

/* Reads to the element's end. m->n 0: only skips it. */
static int read_lists(struct matrix_reader *m, struct xmlscan *scan,
                      struct jp_error *err)
{
    unsigned depth = scan->depth;
    enum { NEITHER, INDEXES, VALUES } list = NEITHER;

    for (;;) {
        enum xmlscan_event event = xmlscan_next(scan, err);
        int rc = 0;

        if (event <= XMLSCAN_END)
            return -1;
        if (event == XMLSCAN_CLOSE && scan->depth == depth)
            return 0;
        if (event == XMLSCAN_OPEN)
            /* The lists come in any order, and in several pieces each. */
            list = strcmp(scan->name, "indexes") == 0     ? INDEXES
                   : strcmp(scan->name, "u64values") == 0 ? VALUES
                                                          : NEITHER;
        else if (event == XMLSCAN_CLOSE)
            list = NEITHER;
        else if (m->n && list == INDEXES)
            rc = take_indexes(m, scan->text);
        else if (m->n && list == VALUES)
            rc = take_values(m, scan->text);
        if (rc < 0)
            return error_set(err, "NVLinkBandwidth: a bad or surplus number");
    }
}

/* Checks the counts and stores the matrix. */
static int keep_matrix(struct matrix_reader *m, struct jp_error *err)
{
    struct hwxml_matrix *matrix = &m->xml->matrix;

    if (m->n_index != m->n || m->n_values != m->n * m->n)
        return error_set(err,
                         "NVLinkBandwidth: %zu objects, but %zu indexes "
                         "and %zu values",
                         m->n, m->n_index, m->n_values);
    if (find_objects(m, err) < 0)
        return -1;
    matrix->n = m->n;
    matrix->value = m->values;
    m->values = NULL;
    m->xml->has_matrix = true;
    return 0;
}

/* *n: number of objects of the matrix; 0 if it is not one of links between
 * GPUs. */
static int size_of(struct hwxml *xml, const struct xmlscan *scan, size_t *n,
                   struct jp_error *err)
{
    const char *name = xmlscan_attr(scan, "name");
    const char *number = xmlscan_attr(scan, "nbobjs");
    const char *indexing = xmlscan_attr(scan, "indexing");
    static const char *const names[] = {[HWXML_NVLINK] = "NVLinkBandwidth",
                                        [HWXML_XGMI] = "XGMIBandwidth",
                                        [HWXML_XELINK] = "XeLinkBandwidth"};
    uint64_t value = 0;
    bool wanted = false;

    *n = 0;
    for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(name, names[i]) == 0)
            xml->matrix.fabric = (enum hwxml_fabric) i, wanted = true;
    if (!wanted)
        return 0;
    if (!number || !read_number(number, 10, HWXML_MAX_MATRIX, &value))
        return error_set(err, "%s: not 0 to %d objects", name,
                         HWXML_MAX_MATRIX);
    /* hwloc writes gp_index; an OS index would mean other objects. */
    if (indexing && strcmp(indexing, "gp") != 0)
        return error_set(err, "%s: not indexed by gp_index", name);
    *n = value;
    return 0;
}

/* The scan is at the start of a distances2 or distances2hetero element, and is
 * left at its end. The format puts all objects before it. */
static int read_matrix(struct hwxml *xml, struct xmlscan *scan,
                       struct jp_error *err)
{
    const char *kind = xmlscan_attr(scan, "kind");
    struct matrix_reader m = {.xml = xml};
    uint64_t bits = 0;
    int rc = -1;

    /* Only the first matrix counts; later ones are skipped. */
    if (!xml->has_matrix && size_of(xml, scan, &m.n, err) < 0)
        return -1;
    if (kind && read_number(kind, 10, 1 << 16, &bits) && m.n)
        xml->matrix.by_user = bits & KIND_FROM_USER;
    /* The indexes could not be resolved. */
    if (m.n && !xml->n_objects)
        return error_set(err, "NVLinkBandwidth before all objects");
    /* n is at most HWXML_MAX_MATRIX, so n * n is harmless. */
    m.index = calloc(m.n + 1, sizeof(*m.index));
    m.values = calloc(m.n * m.n + 1, sizeof(*m.values));
    if (!m.index || !m.values)
        error_set(err, "out of memory");
    else
        rc = read_lists(&m, scan, err);
    if (rc == 0 && m.n)
        rc = keep_matrix(&m, err);
    free(m.index);
    free(m.values);
    return rc;
}

/* --------------- the objects */

/* The stack while reading: for each depth, the kept object that the element is
 * or belongs to. */
struct reader {
    struct hwxml *xml;
    struct xmlscan scan;
    int inside[XMLSCAN_MAX_DEPTH + 1];
    size_t object_room, info_room;
    /* the outermost element was read */
    bool has_topology;
};

void hwxml_destroy(struct hwxml *xml)
{
    if (!xml)
        return;
    free(xml->text);
    free(xml->objects);
    free(xml->infos);
    free(xml->matrix.value);
    free(xml->links);
    free(xml);
}

/* Searches a list of infos; the first of equal names counts. */
static const char *info_of(const struct hwxml *xml, int first, const char *name)
{
    for (int i = first; i >= 0; i = xml->infos[i].next)
        if (strcmp(xml->infos[i].name, name) == 0)
            return xml->infos[i].value;
    return NULL;
}

const char *hwxml_info(const struct hwxml *xml, int object, const char *name)
{
    int at = object == HWXML_MACHINE ? 0 : object;
    const char *value = info_of(xml, xml->objects[at].first_info, name);

    return value || object != HWXML_MACHINE
               ? value
               : info_of(xml, xml->root_info, name);
}

/* Digits above the base end the number. */
static const char *read_number(const char *text, unsigned base, uint64_t max,
                               uint64_t *out)
{
    uint64_t value = 0;
    const char *c = text;

    for (;; c++) {
        int digit = *c >= '0' && *c <= '9'   ? *c - '0'
                    : *c >= 'a' && *c <= 'f' ? *c - 'a' + 10
                    : *c >= 'A' && *c <= 'F' ? *c - 'A' + 10
                                             : 99;

        if (digit >= (int) base)
            break;
        if (value > (max - (unsigned) digit) / base)
            return NULL;
        value = value * base + (unsigned) digit;
    }
    *out = value;
    return c == text ? NULL : c;
}

/* Reads a hexadecimal number that must be followed by `after`. Returns the
 * position after that character; NULL on error or if text is NULL, so that
 * calls can be chained. */
static const char *part(const char *text, uint64_t max, char after,
                        uint64_t *out)
{
    const char *c = text ? read_number(text, 16, max, out) : NULL;

    if (!c || *c != after)
        return NULL;
    return after ? c + 1 : c;
}

/* "0000:1b:00.0" */
static bool read_busid(const char *text, struct hwxml_pci *pci)
{
    uint64_t domain, bus, dev, func;

    text = part(text, UINT32_MAX, ':', &domain);
    text = part(text, 0xff, ':', &bus);
    text = part(text, 0x1f, '.', &dev);
    text = part(text, 7, '\0', &func);
    if (!text)
        return false;
    pci->domain = (uint32_t) domain;
    pci->bus = (uint8_t) bus;
    pci->dev = (uint8_t) dev;
    pci->func = (uint8_t) func;
    return true;
}

/* "63.015385" GB/s to MB/s; 0 if it cannot be read. */
static uint32_t read_speed(const char *text)
{
    uint64_t gbs, part = 0;
    const char *c = read_number(text, 10, 100000, &gbs);

    if (!c || (*c && *c != '.'))
        return 0;
    for (unsigned unit = 100; *c && unit && c[1] >= '0' && c[1] <= '9';
         unit /= 10, c++)
        part += (uint64_t) (c[1] - '0') * unit;
    return (uint32_t) (gbs * 1000 + part);
}

/* "0302 [10de:2330] [10de:16c1] a1" */
static bool read_pci_type(const char *text, struct hwxml_pci *pci)
{
    uint64_t class_id, vendor, device;

    text = part(text, 0xffff, ' ', &class_id);
    if (!text || *text++ != '[')
        return false;
    text = part(text, 0xffff, ':', &vendor);
    text = part(text, 0xffff, ']', &device);
    if (!text)
        return false;
    pci->class_id = (uint16_t) class_id;
    pci->vendor = (uint16_t) vendor;
    pci->device = (uint16_t) device;
    return true;
}

/* Counts the nodes in a bitmap like "0x00000003,,0x1". An infinite bitmap has
 * many. */
static unsigned weigh(const char *bitmap)
{
    unsigned weight = 0;

    if (strstr(bitmap, "0xf...f"))
        return 1000;
    for (const char *c = bitmap; *c; c++) {
        uint64_t digit;
        char one[2] = {*c, '\0'};

        /* "0x" is no digit; commas separate words of 32 bits. */
        if (c[0] == '0' && c[1] == 'x')
            c++;
        else if (read_number(one, 16, 15, &digit))
            weight += (unsigned) __builtin_popcountll(digit);
    }
    return weight;
}

/* hwloc 1 and 2 number the types; 3 has a set of bits. */
static unsigned os_kinds(int version, uint64_t type)
{
    static const unsigned by_number[] = {
        0, HWXML_OS_GPU,   HWXML_OS_NETWORK, HWXML_OS_OPENFABRICS,
        0, HWXML_OS_COPROC};

    if (version < 3)
        return type < sizeof(by_number) / sizeof(*by_number) ? by_number[type]
                                                             : 0;
    return (type & 4 ? HWXML_OS_GPU : 0) | (type & 8 ? HWXML_OS_COPROC : 0) |
           (type & 16 ? HWXML_OS_NETWORK : 0) |
           (type & 32 ? HWXML_OS_OPENFABRICS : 0);
}

/* Whether an object is only counted, because it cannot hold an I/O object. */
static bool is_small(struct hwxml *xml, const char *type)
{
    /* hwloc's types that cannot contain an I/O object. */
    static const char *const small[] = {
        "PU",       "Core",     "Cache",    "L1Cache",  "L2Cache",
        "L1iCache", "L2iCache", "L3iCache", "MemCache", "Misc"};

    /* In hwloc 1 NUMA nodes are part of the tree, so they are kept. */
    if (strcmp(type, "NUMANode") == 0) {
        xml->n_numa++;
        return xml->version > 1; /* a leaf beside the tree since hwloc 2.0 */
    }
    for (size_t i = 0; i < sizeof(small) / sizeof(*small); i++)
        if (strcmp(type, small[i]) == 0)
            return true;
    return false;
}

/* "0004:[00-0a]": returns the bus directly below the bridge; -1: unknown. */
static int read_first_bus(const char *text)
{
    const char *open = text ? strchr(text, '[') : NULL;
    uint64_t bus;

    return open && part(open + 1, 0xff, '-', &bus) ? (int) bus : -1;
}

/* Bridge, PCI device or OS device; anything else is HWXML_OTHER. */
static void read_type(struct reader *r, struct hwxml_object *object)
{
    const char *bridge = xmlscan_attr(&r->scan, "bridge_type");
    const char *kind = xmlscan_attr(&r->scan, "osdev_type");
    uint64_t n;

    if (strcmp(object->type_name, "Bridge") == 0) {
        object->type = HWXML_BRIDGE;
        /* "0-1" is a bridge from the host to PCI, "1-1" a switch. */
        object->host_bridge = !bridge || bridge[0] == '0';
        object->first_bus =
            read_first_bus(xmlscan_attr(&r->scan, "bridge_pci"));
    } else if (strcmp(object->type_name, "PCIDev") == 0) {
        object->type = HWXML_PCI;
    } else if (strcmp(object->type_name, "OSDev") == 0) {
        object->type = HWXML_OS;
        if (kind && read_number(kind, 10, 1 << 16, &n))
            object->os_kinds = os_kinds(r->xml->version, n);
    }
}

static const char *attr_or_empty(const struct xmlscan *scan, const char *name)
{
    const char *value = xmlscan_attr(scan, name);

    return value ? value : "";
}

int hwxml_add(struct hwxml *xml, size_t *room,
              const struct hwxml_object *object, struct jp_error *err)
{
    if (xml->n_objects == HWXML_MAX_OBJECTS)
        return error_set(err, "over %d objects", HWXML_MAX_OBJECTS);
    if (VECTOR_ROOM(xml->objects, xml->n_objects + 1, *room) < 0)
        return error_set(err, "out of memory");
    xml->objects[xml->n_objects] = *object;
    return (int) xml->n_objects++;
}

/* Adds an object with what the element's attributes say. Returns its index, or
 * -1. */
static int read_object(struct reader *r, const char *type, int parent,
                       struct jp_error *err)
{
    struct hwxml *xml = r->xml;
    const char *busid = xmlscan_attr(&r->scan, "pci_busid");
    const char *pci_type = xmlscan_attr(&r->scan, "pci_type");
    const char *gp = xmlscan_attr(&r->scan, "gp_index");
    const char *speed = xmlscan_attr(&r->scan, "pci_link_speed");
    struct hwxml_object o = {.parent = parent,
                             .type_name = type,
                             .name = attr_or_empty(&r->scan, "name"),
                             .subtype = attr_or_empty(&r->scan, "subtype"),
                             .nodeset = xmlscan_attr(&r->scan, "nodeset"),
                             .first_bus = -1,
                             .first_info = -1};

    read_type(r, &o);
    if (o.nodeset)
        /* The weight is computed once; levels ask for it often. */
        o.nodeset_weight = weigh(o.nodeset);
    if (busid && pci_type)
        /* A bridge without an upstream side has no PCI address. */
        o.has_pci = read_busid(busid, &o.pci) &&
                    read_pci_type(pci_type, &o.pci);
    if (speed)
        o.pci.link_mbs = read_speed(speed);
    if (o.type == HWXML_PCI && !o.has_pci)
        return error_set(err, "a PCIDev without a bus id and type that can be "
                              "read");
    if (gp && !read_number(gp, 10, UINT64_MAX, &o.gp_index))
        return error_set(err, "a bad gp_index");
    return hwxml_add(xml, &r->object_room, &o, err);
}

/* Prepends an info to the object's list, or to that of the file (object -1). */
static int add_info(struct reader *r, int object, struct jp_error *err)
{
    struct hwxml *xml = r->xml;
    int *first = object >= 0 ? &xml->objects[object].first_info
                             : &xml->root_info;
    struct hwxml_info info = {xmlscan_attr(&r->scan, "name"),
                              xmlscan_attr(&r->scan, "value"), *first};

    /* An info without a name or a value is ignored. */
    if (!info.name || !info.value)
        return 0;
    if (xml->n_infos == HWXML_MAX_INFOS)
        return error_set(err, "over %d infos", HWXML_MAX_INFOS);
    if (VECTOR_ROOM(xml->infos, xml->n_infos + 1, r->info_room) < 0)
        return error_set(err, "out of memory");
    xml->infos[xml->n_infos] = info;
    *first = (int) xml->n_infos++;
    return 0;
}

/* hwloc 1 files have no version. */
static int read_topology(struct reader *r, struct jp_error *err)
{
    const char *version = xmlscan_attr(&r->scan, "version");
    uint64_t major = 1;

    if (strcmp(r->scan.name, "topology") != 0)
        return error_set(err, "the outermost element is not a topology");
    if (version &&
        (!read_number(version, 10, 1000, &major) || major < 1 || major > 3))
        return error_set(err, "a topology of version \"%s\", not 1 to 3",
                         version);
    r->xml->version = (int) major;
    r->has_topology = true;
    return 0;
}

/* No bit is set. */
static bool is_empty(const char *bitmap)
{
    return strspn(bitmap, "0x,") == strlen(bitmap);
}

/* Tells all ancestors of a NUMA node which CPUs it is local to. */
static void add_numa(struct hwxml *xml, int object, const char *cpus)
{
    if (!cpus || is_empty(cpus))
        return; /* memory without CPUs: HBM or a GPU's */
    /* Up to the root, so that "all CPUs are local to one node" can be asked of
     * any ancestor. */
    for (; object >= 0; object = xml->objects[object].parent) {
        struct hwxml_object *o = &xml->objects[object];

        if (!o->numa_cpus)
            o->numa_cpus = cpus;
        else if (strcmp(o->numa_cpus, cpus) != 0)
            o->many_numa_cpus = true;
    }
}

/* Whether a part of the machine has lost its CPUs, because none of them belongs
 * to the job. */
static bool is_emptied(const struct reader *r, const char *type)
{
    const char *cpus = xmlscan_attr(&r->scan, "cpuset");

    return cpus && is_empty(cpus) &&
           (strcmp(type, "Package") == 0 || strcmp(type, "Group") == 0 ||
            strcmp(type, "Die") == 0);
}

/* Called for each opening element; `inside` is the kept object that contains
 * it. */
static int read_element(struct reader *r, int inside, struct jp_error *err)
{
    const char *type;
    int *here = &r->inside[r->scan.depth];

    *here = inside;
    if (!r->has_topology)
        return read_topology(r, err);
    if (strcmp(r->scan.name, "object") == 0) {
        type = xmlscan_attr(&r->scan, "type");
        if (!type)
            return error_set(err, "an object without a type");
        if (inside < 0 && r->xml->n_objects)
            /* Only the root lies in no kept object. */
            return error_set(err, "a second root object");
        r->xml->restricted |= is_emptied(r, type);
        if (strcmp(type, "NUMANode") == 0 && r->xml->version > 1)
            add_numa(r->xml, inside, xmlscan_attr(&r->scan, "cpuset"));
        if (inside < 0 || !is_small(r->xml, type))
            *here = read_object(r, type, inside, err);
        /* A small object is replaced by its parent. */
        return *here < 0 ? -1 : 0;
    }
    if (strcmp(r->scan.name, "info") == 0)
        return add_info(r, inside, err);
    if (strncmp(r->scan.name, "distances2", 10) == 0)
        return read_matrix(r->xml, &r->scan, err);
    return 0;
}

/* Messages get the line at which reading stopped. */
static int read_all(struct reader *r, struct jp_error *err)
{
    enum xmlscan_event event;
    struct jp_error why = {""};

    r->inside[0] = -1;
    while ((event = xmlscan_next(&r->scan, &why)) > XMLSCAN_END)
        if (event == XMLSCAN_OPEN &&
            read_element(r, r->inside[r->scan.depth - 1], &why) < 0)
            return error_set(err, "line %u: %s", xmlscan_line(&r->scan),
                             why.text);
    if (event == XMLSCAN_ERROR)
        return error_set(err, "line %u: %s", xmlscan_line(&r->scan), why.text);
    if (!r->xml->n_objects)
        return error_set(err, "no objects");
    return 0;
}

/* The strings point into the text, so it lives as long as the result. */
struct hwxml *hwxml_parse(char *text, size_t len, struct jp_error *err)
{
    struct reader *r = calloc(1, sizeof(*r));
    struct hwxml *xml = calloc(1, sizeof(*xml));

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
    xml->from = TOPO_FROM_HWLOC;
    xmlscan_init(&r->scan, text, len);
    /* A NUL would end the text early for all functions on strings. */
    if (memchr(text, '\0', len) || len > HWXML_MAX_BYTES) {
        error_set(err, len > HWXML_MAX_BYTES ? "too large for a topology"
                                             : "not XML: it holds a NUL");
        hwxml_destroy(xml);
        xml = NULL;
    } else if (read_all(r, err) < 0) {
        hwxml_destroy(xml);
        xml = NULL;
    }
    free(r);
    return xml;
}
