/* machine.c - make a node's topology.xml and hardware.json from a few lines. */
#include "machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine_hw.h"

#define MAX_DEPTH 16
#define MAX_DEVICES MACHINE_DEVICES
#define WORDS 8

/* An open level: number of elements to close, and of bridges for the children
 * of a switch. */
struct level {
    int elements;
    int is_switch;
    int root_bus, root_devs;   /* of a host bridge; 0: not a host bridge */
    int numa_first, numa_next; /* of a package */
};

struct maker {
    FILE *xml;
    struct level level[MAX_DEPTH];
    int depth;
    int gp, domain, bus, numa, packages, hcas;
    int nvml[MAX_DEVICES], nvsw[MAX_DEVICES];
    int n_nvml, n_nvsw, nonuma;
    unsigned long direct[MAX_DEVICES][MAX_DEVICES];
    unsigned long to_switch[MAX_DEVICES];
    int has_matrix, has_switch_row;
    char here[16]; /* bus id of the last device */
    int restricted;
    char matrix[32];
    char speed[40]; /* an attribute */
    int hidden;     /* bridges are omitted from the XML */
    struct machine_hw hw;
};

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *fmt,
                                                                ...)
{
    va_list ap;

    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(99);
}

static int split(const char *line, char *buf, size_t size, char **words)
{
    int n = 0;
    char *rest = buf;

    if (strlen(line) >= size)
        die("long line: %s", line);
    strncpy(buf, line, size);
    while (n < WORDS && (words[n] = strsep(&rest, " ")))
        n += *words[n] != '\0';
    for (int i = n; i < WORDS; i++)
        words[i] = buf + strlen(line);
    return n;
}

static void close_to(struct maker *m, int depth)
{
    while (m->depth > depth)
        for (int i = m->level[--m->depth].elements; i > 0; i--)
            fputs("</object>\n", m->xml);
}

static struct level *open_level(struct maker *m)
{
    if (m->depth == MAX_DEPTH)
        die("too deep");
    memset(&m->level[m->depth], 0, sizeof(struct level));
    return &m->level[m->depth++];
}

static void info(struct maker *m, const char *name, const char *value)
{
    fprintf(m->xml, "<info name=\"%s\" value=\"%s\"/>\n", name, value);
}

static void bridge(struct maker *m)
{
    fprintf(m->xml,
            "<object type=\"Bridge\" gp_index=\"%d\" bridge_type=\"1-1\" "
            "depth=\"1\" bridge_pci=\"%04x:[%02x-ff]\" "
            "pci_busid=\"%04x:%02x:00.0\" "
            "pci_type=\"0604 [1000:c030] [1000:a096] b0\">\n",
            m->gp++, m->domain, m->bus & 0xff, m->domain, m->bus & 0xff);
    m->bus++;
}

/* Opens a PCI device, below a port of its own inside a switch. */
static struct level *device(struct maker *m, const char *class_id,
                            const char *vendor, const char *id,
                            const char *subtype)
{
    struct level *above = m->depth ? &m->level[m->depth - 1] : NULL;
    int port = above && above->is_switch;
    int on_root = above && above->root_bus && !m->hidden;
    int dev = on_root ? above->root_devs++ : 0, bus;
    struct level *level = open_level(m);

    if (port)
        bridge(m);
    bus = (on_root ? above->root_bus : m->bus) & 0xff;
    fprintf(m->xml,
            "<object type=\"PCIDev\" gp_index=\"%d\"%s "
            "pci_busid=\"%04x:%02x:%02x.0\" pci_type=\"%s [%s:%s] [0000:0000] "
            "a1\"%s>\n",
            m->gp++, subtype, m->domain, bus, dev, class_id, vendor, id,
            m->speed);
    snprintf(m->here, sizeof(m->here), "%04x:%02x:%02x.0",
             (unsigned) m->domain & 0xffff, (unsigned) bus, dev);
    level->elements = 1 + port;
    return level;
}

static void add_gpu(struct maker *m, char **w)
{
    if (m->hw.n_gpus == MAX_DEVICES)
        die("too many GPUs");
    device(m, "0302", "10de", w[1], "");
    snprintf(m->hw.busid[m->hw.n_gpus++], 16, "%s", m->here);
    if (strcmp(w[2], "nvml") == 0) {
        m->nvml[m->n_nvml] = m->gp;
        fprintf(m->xml,
                "<object type=\"OSDev\" gp_index=\"%d\" name=\"nvml%d\" "
                "subtype=\"NVML\" osdev_type=\"1\">\n",
                m->gp++, m->n_nvml);
        info(m, "NVIDIAUUID", m->hw.busid[m->hw.n_gpus - 1]);
        fputs("</object>\n", m->xml);
        m->n_nvml++;
    }
    m->bus++;
}

/* A GPU with one or several devices of its vendor's library; the matrix has the
 * first one of each. */
static void add_foreign(struct maker *m, char **w, int amd)
{
    int parts = amd && *w[2] ? atoi(w[2]) : 1;

    if (m->n_nvml == MAX_DEVICES)
        die("too many GPUs");
    device(m, amd ? "1200" : "0380", amd ? "1002" : "8086", w[1], "");
    m->nvml[m->n_nvml++] = m->gp;
    for (int i = 0; i < parts; i++)
        fprintf(m->xml,
                "<object type=\"OSDev\" gp_index=\"%d\" name=\"%s%d\" "
                "subtype=\"%s\" osdev_type=\"5\"/>\n",
                m->gp + i, amd ? "rsmi" : "ze", i, amd ? "RSMI" : "LevelZero");
    m->gp += parts;
    m->bus++;
}

static void add_dev(struct maker *m, char **w)
{
    device(m, w[1], w[2], w[3], "");
    m->bus++;
}

static void add_hca(struct maker *m, char **w)
{
    static const struct kind {
        const char *name, *class_id, *vendor, *id;
    } kinds[] = {
        {"ib", "0207", "15b3", "1021"},  {"roce", "0200", "15b3", "1021"},
        {"efa", "0200", "1d0f", "efa1"}, {"slingshot", "0200", "17db", "0501"},
        {"opa", "0208", "8086", "24f0"}, {"vf-roce", "0200", "15b3", "1016"},
        {"", "0207", "15b3", "101e"}};
    size_t k = 0;
    int rdma;

    while (*kinds[k].name && strcmp(kinds[k].name, w[2]) != 0)
        k++;
    rdma = strcmp(w[2], "slingshot") != 0;
    device(m, kinds[k].class_id, kinds[k].vendor, kinds[k].id, "");
    fprintf(m->xml,
            "<object type=\"OSDev\" gp_index=\"%d\" name=\"%s\" "
            "osdev_type=\"%d\">\n",
            m->gp++, w[1], rdma ? 3 : 2);
    if (rdma && strcmp(w[3], "hidden") != 0)
        info(m, "Port1State", strcmp(w[3], "down") == 0 ? "1" : "4");
    if (rdma)
        info(m, "SysImageGUID", *w[4] ? w[4] : w[1]);
    if (rdma)
        info(m, "Port1LID", strcmp(kinds[k].class_id, "0207") ? "0x0" : "0x7");
    fputs("</object>\n", m->xml);
    m->bus++;
}

static void add_nvsw(struct maker *m, char **w)
{
    if (m->n_nvsw == MAX_DEVICES)
        die("too many NVSwitches");
    device(m, "0680", "10de", w[1],
           strcmp(w[2], "marked") == 0 ? " subtype=\"NVSwitch\"" : "");
    m->nvsw[m->n_nvsw++] = m->gp - 1;
    m->bus++;
}

/* memory: all its NUMA nodes are local to all of its CPUs. */
static void add_package(struct maker *m, int numa, int memory)
{
    struct level *level = open_level(m);
    unsigned bits = ((1u << numa) - 1) << m->numa;
    char nodes[40] = "";

    if (!m->nonuma)
        snprintf(nodes, sizeof(nodes), " nodeset=\"0x%08x\"", bits);
    fprintf(m->xml,
            "<object type=\"Package\" os_index=\"%d\" gp_index=\"%d\"%s%s>\n",
            m->packages++, m->gp++, nodes,
            !m->restricted ? ""
            : m->numa      ? " cpuset=\"0x0\" complete_cpuset=\"0x0\""
                           : " cpuset=\"0x1\" complete_cpuset=\"0x1\"");
    for (int i = 0; i < numa && !m->nonuma; i++)
        fprintf(m->xml,
                "<object type=\"NUMANode\" os_index=\"%d\" gp_index=\"%d\" "
                "cpuset=\"0x%08x\" nodeset=\"0x%08x\"/>\n",
                m->numa + i, m->gp++,
                m->restricted && m->numa + i ? 0
                : memory                     ? 1u << m->numa
                                             : 1u << (m->numa + i),
                1u << (m->numa + i));
    level->elements = 1;
    level->numa_next = m->numa;
    m->numa += numa;
}

/* The objects that make up most of a real file. */
static void add_cores(struct maker *m, int n)
{
    for (int i = 0; i < n; i++) {
        fprintf(m->xml,
                "<object type=\"L2Cache\" gp_index=\"%d\" cpuset=\"0x%08x\" "
                "complete_cpuset=\"0x%08x\" nodeset=\"0x00000001\" "
                "complete_nodeset=\"0x00000001\" cache_size=\"2097152\" "
                "depth=\"2\" cache_linesize=\"64\" cache_associativity=\"16\" "
                "cache_type=\"0\">\n<object type=\"Core\" os_index=\"%d\" "
                "gp_index=\"%d\" cpuset=\"0x%08x\" nodeset=\"0x00000001\">\n",
                m->gp, 1u << (i % 32), 1u << (i % 32), i, m->gp + 1,
                1u << (i % 32));
        m->gp += 2;
        for (int pu = 0; pu < 2; pu++)
            fprintf(m->xml,
                    "<object type=\"PU\" os_index=\"%d\" gp_index=\"%d\" "
                    "cpuset=\"0x%08x\" complete_cpuset=\"0x%08x\" "
                    "nodeset=\"0x00000001\" "
                    "complete_nodeset=\"0x00000001\"/>\n",
                    2 * i + pu, m->gp++, 1u << (i % 32), 1u << (i % 32));
        fputs("</object>\n</object>\n", m->xml);
    }
}

static void add_numa(struct maker *m)
{
    struct level *parent = &m->level[m->depth - 1], *level;

    fprintf(m->xml,
            "<object type=\"Group\" gp_index=\"%d\" nodeset=\"0x%08x\"%s>\n",
            m->gp++, 1u << parent->numa_next,
            m->restricted && parent->numa_next ? " cpuset=\"0x0\"" : "");
    parent->numa_next++;
    level = open_level(m);
    level->elements = 1;
}

static void add_root(struct maker *m, char **w)
{
    struct level *level = open_level(m);

    m->domain = *w[1] ? (int) strtol(w[1], NULL, 16) : 0;
    m->bus = (m->bus | 0xf) + 1;
    level->root_bus = m->bus;
    fprintf(m->xml,
            "<object type=\"Bridge\" gp_index=\"%d\" bridge_type=\"0-1\" "
            "depth=\"0\" bridge_pci=\"%04x:[%02x-ff]\">\n",
            m->gp++, m->domain, m->bus & 0xff);
    level->elements = 1;
}

static void add_ports(struct maker *m, int is_switch)
{
    int in_switch = m->depth && m->level[m->depth - 1].is_switch;
    struct level *level = open_level(m);

    level->elements = 1 + is_switch + in_switch;
    for (int i = 0; i < level->elements; i++)
        bridge(m);
    level->is_switch = is_switch;
}

static int add_matrix(struct maker *m, char **w)
{
    unsigned long mbs = strtoul(w[1], NULL, 10);

    if (strcmp(w[0], "all") == 0) {
        for (int i = 0; i < m->n_nvml; i++)
            for (int k = 0; k < m->n_nvml; k++)
                m->direct[i][k] = i == k ? 0 : mbs;
    } else if (strcmp(w[0], "pair") == 0) {
        int a = atoi(w[1]), b = atoi(w[2]);

        m->direct[a][b] = m->direct[b][a] = strtoul(w[3], NULL, 10);
    } else if (strcmp(w[0], "matrix") == 0) {
        snprintf(m->matrix, sizeof(m->matrix), "%s", w[1]);
    } else if (strcmp(w[0], "toswitch") == 0) {
        m->has_switch_row = 1;
        for (int i = 0; i < m->n_nvsw && i + 1 < WORDS; i++)
            m->to_switch[i] = strtoul(w[i + 1], NULL, 10);
    } else {
        return 0;
    }
    m->has_matrix = 1;
    return 1;
}

static void add_line(struct maker *m, char **w)
{
    if (strcmp(w[0], "arch") == 0)
        info(m, "Architecture", w[1]);
    else if (strcmp(w[0], "hwloc") == 0)
        info(m, "hwlocVersion", w[1]);
    else if (strcmp(w[0], "nonuma") == 0)
        m->nonuma = 1;
    else if (strcmp(w[0], "restricted") == 0)
        m->restricted = 1;
    else if (strcmp(w[0], "pcispeed") == 0)
        snprintf(m->speed, sizeof(m->speed),
                 strcmp(w[1], "0") ? " pci_link_speed=\"%s\"" : "", w[1]);
    else if (strcmp(w[0], "nobridges") == 0)
        m->hidden = 1;
    else if (strcmp(w[0], "pkg") == 0 || strcmp(w[0], "pkgs") == 0)
        add_package(m, *w[1] ? atoi(w[1]) : 1, strcmp(w[2], "memory") == 0);
    else if (strcmp(w[0], "numa") == 0)
        add_numa(m);
    else if (strcmp(w[0], "cores") == 0)
        add_cores(m, atoi(w[1]));
    else if (strcmp(w[0], "root") == 0)
        add_root(m, w);
    else if (strcmp(w[0], "port") == 0 || strcmp(w[0], "switch") == 0)
        add_ports(m, *w[0] == 's');
    else if (strcmp(w[0], "gpu") == 0)
        add_gpu(m, w);
    else if (strcmp(w[0], "amd") == 0 || strcmp(w[0], "intel") == 0)
        add_foreign(m, w, *w[0] == 'a');
    else if (strcmp(w[0], "dev") == 0)
        add_dev(m, w);
    else if (strcmp(w[0], "hca") == 0 || strcmp(w[0], "vf") == 0)
        add_hca(m, w);
    else if (strcmp(w[0], "nvsw") == 0)
        add_nvsw(m, w);
    else if (strcmp(w[0], "hw") == 0)
        machine_hw_line(&m->hw, w);
    else if (!add_matrix(m, w))
        die("unknown word: %s", w[0]);
}

/* As hwloc writes it: ten numbers per line, regardless of rows. */
static void put_number(struct maker *m, int *n, unsigned long value)
{
    if (*n % 10 == 0)
        fprintf(m->xml, "%s<u64values length=\"0\">",
                *n ? "</u64values>\n" : "");
    fprintf(m->xml, "%lu ", value);
    ++*n;
}

static void put_matrix(struct maker *m)
{
    int switches = m->has_switch_row ? m->n_nvsw : 0, n = 0;
    int all = m->n_nvml + switches;

    fprintf(m->xml,
            "<distances2hetero nbobjs=\"%d\" kind=\"25\" "
            "name=\"%s\">\n<indexes length=\"0\">",
            all, *m->matrix ? m->matrix : "NVLinkBandwidth");
    for (int i = 0; i < all; i++)
        fprintf(m->xml, "%s:%d ", i < m->n_nvml ? "OSDev" : "PCIDev",
                i < m->n_nvml ? m->nvml[i] : m->nvsw[i - m->n_nvml]);
    fputs("</indexes>\n", m->xml);
    for (int i = 0; i < all; i++) {
        for (int k = 0; k < all; k++) {
            int a = i < k ? i : k, b = i < k ? k : i;

            put_number(m, &n,
                       i == k           ? 1000000
                       : b < m->n_nvml  ? m->direct[a][b]
                       : a >= m->n_nvml ? 0
                                        : m->to_switch[b - m->n_nvml]);
        }
    }
    fputs("</u64values>\n</distances2hetero>\n", m->xml);
}

/* Returns the line after "[name]"; NULL if there is none. */
static FILE *find(const char *file, const char *name)
{
    char line[160], head[80];
    FILE *in = fopen(file, "r");

    if (!in)
        die("%s: cannot be read", file);
    snprintf(head, sizeof(head), "[%s]\n", name);
    while (fgets(line, sizeof(line), in))
        if (strcmp(line, head) == 0)
            return in;
    fclose(in);
    return NULL;
}

static void add_lines(struct maker *m, FILE *in)
{
    char line[160], buf[160], *words[WORDS];

    while (fgets(line, sizeof(line), in) && *line != '[') {
        int indent = (int) strspn(line, " ");

        line[strcspn(line, "\n")] = '\0';
        if (!*line || *line == '#')
            continue;
        close_to(m, indent / 2);
        if (strncmp(line, "product ", 8) == 0)
            info(m, "DMIProductName", line + 8);
        else if (strncmp(line, "vendor ", 7) == 0)
            info(m, "DMISysVendor", line + 7);
        else if (split(line + indent, buf, sizeof(buf), words))
            add_line(m, words);
    }
    close_to(m, 0);
}

int machine_make(const char *file, const char *name, const char *host,
                 char **xml, char **hardware)
{
    struct maker m = {.gp = 2};
    FILE *in = find(file, name);
    size_t size;

    *xml = *hardware = NULL;
    if (!in)
        return -1;
    m.xml = open_memstream(xml, &size);
    if (!m.xml)
        die("no memory");
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
          "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
          "<topology version=\"2.0\">\n"
          "<object type=\"Machine\" os_index=\"0\" gp_index=\"1\" "
          "nodeset=\"0x000000ff\">\n",
          m.xml);
    info(&m, "HostName", host);
    add_lines(&m, in);
    fputs("</object>\n", m.xml);
    if (m.has_matrix)
        put_matrix(&m);
    fputs("</topology>\n", m.xml);
    fclose(m.xml);
    fclose(in);
    *hardware = machine_hw_text(&m.hw);
    return 0;
}
