/* topo_print.c - topologies as JSON (topo_json) and on a terminal (topo_print).
 */
#include "orchestrator/topodraw/topodraw.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/figure.h"
#include "common/num.h"
#include "common/quote.h"
#include "orchestrator/table/table.h"
#include "orchestrator/topo/label.h"

/* --------------------------------------------------------- as JSON */

/* Members are documented in docs/measuring.md. */

/* The topology that a row belongs to. */
static const struct topo *topo_of(const struct jp_row *row)
{
    return row->extra;
}

static const struct topo_near *near_of(const struct jp_row *row)
{
    return &topo_of(row)->near[row->index];
}

JP_GETTER(gpu_index, topo_gpu, (void) at; value_count(v, row->index))
JP_GETTER(gpu_vendor, topo_gpu, {
    /* By enum topo_vendor. */
    static const char *const vendors[TOPO_N_VENDORS] = {"nvidia", "amd",
                                                        "intel", ""};

    value_name(v, vendors[at->vendor]);
})
/* Negative numbers stand for unknown. */
JP_GETTER(gpu_package, topo_gpu, value_signed(v, at->package))
JP_GETTER(gpu_nvml, topo_gpu, value_signed(v, at->nvml))
JP_GETTER(gpu_links, topo_gpu, value_bool(v, at->links == TOPO_LINKS_SOME);
          if (at->links == TOPO_LINKS_UNKNOWN) v->type = JP_VALUE_UNKNOWN)
/* Below 1 GB/s the speed stands for "joined, at an unknown speed". */
JP_GETTER(gpu_switch_gbs, topo_gpu,
          value_finite(v, at->switch_mbs >= 1000
                              ? (double) at->switch_mbs / 1000
                              : NAN))
JP_GETTER(gpu_switch, topo_gpu, value_bool(v, at->switch_mbs > 0))
JP_GETTER(gpu_partitions, topo_gpu,
          value_known(v, at->partitions > 0, at->partitions))
/* A GPU may have no HCA with an active port. */
JP_GETTER(gpu_hca, topo_gpu, {
    int hca = near_of(row)->hca;

    (void) at;
    value_text(v, hca >= 0 ? topo_of(row)->hcas[hca].name : NULL);
})
/* The level's word, as in the matrix. */
JP_GETTER(gpu_hca_path, topo_gpu, {
    const struct topo_near *near = near_of(row);

    (void) at;
    value_text(v, near->hca >= 0 ? topo_level_word[near->level] : NULL);
})
JP_GETTER(gpu_rail, topo_gpu, (void) at; value_signed(v, near_of(row)->rail))

/* Writes the lists of a GPU. */
static void put_gpu_lists(struct jp_json_stream *s, const struct jp_row *row)
{
    const struct topo_near *near = near_of(row);

    json_stream_array(s, "hcas");
    for (unsigned k = 0; k < near->nics.n; k++)
        json_stream_text(s, NULL, topo_of(row)->hcas[near->nics.hca[k]].name);
    json_stream_end_array(s);
    json_stream_array(s, "rails");
    /* `rails` is a set of bits. */
    for (unsigned k = 0; k < 64; k++)
        if (near->rails >> k & 1)
            json_stream_count(s, NULL, k);
    json_stream_end_array(s);
}

/* key, kind, flags, place in JSON */
static const struct jp_column gpu_columns[] = {
    {"index", JP_COL_RANK, 0, 1, .get = get_gpu_index},
    {"busid", JP_COL_TEXT, 0, 2, JP_CHARS(struct topo_gpu, busid),
     JP_IF_CHARS(struct topo_gpu, busid)},
    {"vendor", JP_COL_TEXT, 0, 3, .get = get_gpu_vendor},
    {"model", JP_COL_TEXT, 0, 4, JP_CHARS(struct topo_gpu, model),
     JP_IF_CHARS(struct topo_gpu, model)},
    {"package", JP_COL_RANK, 0, 5, .get = get_gpu_package},
    {"nvml", JP_COL_RANK, 0, 6, .get = get_gpu_nvml},
    {"nvlink", JP_COL_BOOL, 0, 7, .get = get_gpu_links},
    {"nvswitch_gbs", JP_COL_GBS, 0, 8, .get = get_gpu_switch_gbs},
    {"nvswitch", JP_COL_BOOL, 0, 9, .get = get_gpu_switch},
    {"mig", JP_COL_BOOL, 0, 10, JP_FIELD(struct topo_gpu, mig)},
    {"partitions", JP_COL_COUNT, 0, 11, .get = get_gpu_partitions},
    {"hca", JP_COL_TEXT, 0, 12, .get = get_gpu_hca},
    {"hca_path", JP_COL_TEXT, 0, 13, .get = get_gpu_hca_path},
    {"rail", JP_COL_RANK, 0, 14, .get = get_gpu_rail},
};
static const struct jp_table gpu_table = {.name = "gpus",
                                          JP_COLUMNS(gpu_columns),
                                          .row_size = sizeof(struct topo_gpu),
                                          .max_json = SIZE_MAX,
                                          .json_more = put_gpu_lists};

JP_GETTER(hca_kind, topo_hca, value_text(v, topo_net_word[at->net]))
JP_GETTER(hca_port, topo_hca, {
    /* By enum topo_port. */
    static const char *const ports[] = {"unknown", "down", "active"};

    value_text(v, ports[at->port]);
})
JP_GETTER(hca_rate, topo_hca,
          value_finite(v, at->rate_gbits > 0 ? at->rate_gbits : NAN))
JP_GETTER(hca_package, topo_hca, value_signed(v, at->package))
JP_GETTER(hca_pci_gbs, topo_hca,
          value_finite(v, at->pci_mbs ? (double) at->pci_mbs / 1000 : NAN))

/* key, kind, flags, place in JSON */
static const struct jp_column hca_columns[] = {
    {"name", JP_COL_TEXT, 0, 1, JP_CHARS(struct topo_hca, name)},
    {"busid", JP_COL_TEXT, 0, 2, JP_CHARS(struct topo_hca, busid),
     JP_IF_CHARS(struct topo_hca, busid)},
    {"kind", JP_COL_TEXT, 0, 3, .get = get_hca_kind},
    {"port", JP_COL_TEXT, 0, 4, .get = get_hca_port},
    {"rate_gbits", JP_COL_NUMBER, 0, 5, .get = get_hca_rate},
    {"package", JP_COL_RANK, 0, 6, .get = get_hca_package},
    {"pci_gbs", JP_COL_GBS, 0, 7, .get = get_hca_pci_gbs},
    /* A management port, which NCCL ignores. */
    {"managing", JP_COL_BOOL, 0, 8, JP_FIELD(struct topo_hca, narrow)},
};
static const struct jp_table hca_table = {.name = "hcas",
                                          JP_COLUMNS(hca_columns),
                                          .row_size = sizeof(struct topo_hca),
                                          .max_json = SIZE_MAX};

/* Writes the matrix of levels, GPUs first. */
static void put_levels(struct jp_json_stream *s, const struct topo *t)
{
    size_t n = t->n_gpus + t->n_hcas;

    json_stream_array(s, "levels");
    for (size_t i = 0; i < n; i++) {
        json_stream_array(s, NULL);
        for (size_t k = 0; k < n; k++)
            json_stream_text(s, NULL, topo_level_word[topo_level(t, i, k)]);
        json_stream_end_array(s);
    }
    json_stream_end_array(s);
}

/* Writes GB/s in one direction; 0: none, null: unknown, -1: present at an
 * unknown speed. */
static void put_links(struct jp_json_stream *s, const struct topo *t)
{
    json_stream_array(s, "nvlink_gbs");
    for (size_t i = 0; i < t->n_gpus; i++) {
        json_stream_array(s, NULL);
        for (size_t k = 0; k < t->n_gpus; k++) {
            /* A GPU has no link to itself. */
            enum topo_nvlink link = i == k ? TOPO_NV_NO : topo_nvlink(t, i, k);
            uint64_t mbs = topo_nvlink_mbs(t, i, k);

            if (link == TOPO_NV_UNKNOWN)
                json_stream_null(s, NULL);
            else if (link == TOPO_NV_NO)
                json_stream_count(s, NULL, 0);
            else if (mbs >= 1000)
                json_stream_real(s, NULL, (double) mbs / 1000);
            else
                json_stream_int(s, NULL, -1);
        }
        json_stream_end_array(s);
    }
    json_stream_end_array(s);
}

/* Finds what is odd about a shape for a program that uses all of its GPUs.
 * Calls line for each finding. */
static void find_oddities(const struct topo *topo,
                          void (*line)(void *arg, const char *kind,
                                       const char *text),
                          void *arg)
{
    /* Different boot ids make two hosts of the same topology. */
    struct jp_label_node nodes[] = {{.name = "", .boot_id = "a", .topo = topo},
                                    {.name = "", .boot_id = "b", .topo = topo}};
    struct jp_label_rank ranks[2 * TOPO_MAX_GPUS];
    struct jp_label_comm comm = {.nnodes = 2, .ranks = ranks};
    struct jp_label label;

    /* The warnings of the labels are reused: this is a communicator over two
     * nodes of the shape. Warnings without nodes concern the communicator, not
     * the machine. */
    for (size_t i = 0; i < topo->n_gpus; i++)
        for (int node = 0; node < 2; node++, comm.n++)
            ranks[comm.n] = (struct jp_label_rank){.rank = (uint32_t) comm.n,
                                                   .node = node,
                                                   .host = "",
                                                   .gpu = (int) i,
                                                   .sure = true};
    comm.n_ranks = (uint32_t) comm.n;
    /* A shape without GPUs has nothing to find. */
    if (!comm.n || label_comm(&comm, nodes, 2, &label) < 0)
        return;
    for (size_t i = 0; i < label.n_warnings; i++)
        if (label.warnings[i].n_nodes)
            line(arg, label_warning_word[label.warnings[i].kind],
                 label.warnings[i].text);
    label_fini(&label);
}

/* Writes one finding of find_oddities. */
static void put_odd(void *arg, const char *kind, const char *text)
{
    struct jp_json_stream *s = arg;

    json_stream_object(s, NULL);
    json_stream_text(s, "kind", kind);
    json_stream_text(s, "text", text);
    json_stream_end_object(s);
}

/* A text; null if it is empty, which is unknown. */
static void put_name(struct jp_json_stream *s, const char *key,
                     const char *text)
{
    json_stream_text(s, key, *text ? text : NULL);
}

/* Writes one shape, with everything that topo_print shows, and the numbers
 * behind it. */
static void put_shape(struct jp_json_stream *s, const struct jp_shapes *shapes,
                      size_t at)
{
    const struct topo *t = shapes->shapes[at].topo;
    char text[24];

    json_stream_object(s, NULL);
    json_stream_text(s, "shape", shapes_letter(at, text));
    /* 64 bits do not fit into a number of JSON. */
    snprintf(text, sizeof(text), "%016" PRIx64, shapes->shapes[at].hash);
    json_stream_text(s, "hash", text);
    put_name(s, "product", t->product);
    json_stream_array(s, "nodes");
    for (size_t i = 0; i < shapes->n_nodes; i++)
        if (shapes->nodes[i].shape == (int) at)
            json_stream_text(s, NULL, shapes->nodes[i].name);
    json_stream_end_array(s);
    put_name(s, "hwloc", t->hwloc);
    json_stream_bool(s, "virtual_machine", t->virtual_machine);
    json_stream_text(s, "places_from", topo_source_word[t->places_from]);
    json_stream_count(s, "packages", t->n_packages);
    json_stream_count(s, "numa_nodes", t->n_numa);
    json_stream_count(s, "nvswitches_on_pci", t->n_switches);
    json_stream_text(s, "nvlink_from", topo_source_word[t->links_from]);
    table_write_json(s, "gpus", &gpu_table,
                     &(const struct table_source){
                         .rows = t->gpus, .n = t->n_gpus, .extra = t});
    table_write_json(s, "hcas", &hca_table,
                     &(const struct table_source){
                         .rows = t->hcas, .n = t->n_hcas, .extra = t});
    put_levels(s, t);
    put_links(s, t);
    json_stream_array(s, "warnings");
    find_oddities(t, put_odd, s);
    json_stream_end_array(s);
    json_stream_end_object(s);
}

int topo_json(const struct jp_shapes *shapes, FILE *out, struct jp_error *err)
{
    struct jp_json_stream s;

    json_stream_open(&s, JSON_FILE, out);
    /* Increased when a member changes its meaning. */
    json_stream_count(&s, "schema_version", 1);
    json_stream_array(&s, "shapes");
    for (size_t i = 0; i < shapes->n_shapes; i++)
        put_shape(&s, shapes, i);
    json_stream_end_array(&s);
    /* Notes: why a node has no topology, or which record was ignored. */
    json_stream_array(&s, "notes");
    for (size_t i = 0; i < shapes->n_nodes; i++) {
        const struct jp_shape_node *node = &shapes->nodes[i];

        /* Most nodes have neither. */
        if (!node->why && !node->note)
            continue;
        json_stream_object(&s, NULL);
        json_stream_text(&s, "node", node->name);
        json_stream_text(&s, "why", node->why ? node->why : node->note);
        json_stream_end_object(&s);
    }
    json_stream_end_array(&s);
    return json_stream_close(&s, err);
}

/* ----------------------------------------------- on a terminal */

#define NAMES_MAX 60 /* of a list of nodes */
#define WIDE 200     /* width of a matrix that goes to a file */

/* Labels all GPUs of the node, as one communicator. */
static int label_all(const struct topo *topo, struct jp_label *label)
{
    const struct jp_label_node node = {
        .name = "", .boot_id = "a", .topo = topo};
    struct jp_label_rank ranks[TOPO_MAX_GPUS];
    const struct jp_label_comm comm = {.n_ranks = (uint32_t) topo->n_gpus,
                                       .nnodes = 1,
                                       .ranks = ranks,
                                       .n = topo->n_gpus};

    for (size_t i = 0; i < topo->n_gpus; i++)
        ranks[i] = (struct jp_label_rank){
            .rank = (uint32_t) i, .host = "", .gpu = (int) i, .sure = true};
    return label_comm(&comm, &node, 1, label);
}

/* The first reason why the fabric is unknown. */
static const char *why_unknown(const struct topo *topo)
{
    static const char *const links[TOPO_N_VENDORS] = {
        [TOPO_NVIDIA] = "their NVLinks are not recorded",
        [TOPO_AMD] = "they are not NVIDIA's (RCCL runs on them), and their "
                     "XGMI links are not recorded",
        [TOPO_INTEL] = "they are not NVIDIA's, and their Xe Links are not "
                       "recorded",
        [TOPO_VENDOR_UNKNOWN] = "neither their vendor nor their links are "
                                "recorded"};

    for (size_t a = 0; a < topo->n_gpus; a++)
        for (size_t b = a + 1; b < topo->n_gpus; b++)
            if (topo_nvlink(topo, a, b) == TOPO_NV_UNKNOWN)
                return links[topo->gpus[a].vendor];
    return "the PCI paths between some of them are not recorded";
}

/* The fabric of a node is that of a communicator over all its GPUs. */
void topo_links_text(const struct topo *topo, char *buf, size_t size)
{
    struct jp_label label;
    uint64_t most = 0;
    char speed[48] = "";

    buf[0] = '\0';
    /* A single GPU has no fabric. */
    if (topo->n_gpus < 2 || label_all(topo, &label) < 0)
        return;
    for (size_t i = 0; i < topo->n_gpus; i++)
        /* GPUs of one node may differ; the fastest one is shown. */
        most = topo_nvlink_all_mbs(topo, i) > most
                   ? topo_nvlink_all_mbs(topo, i)
                   : most;
    if (most >= 1000)
        snprintf(speed, sizeof(speed), ", %.4g GB/s a GPU each way",
                 (double) most / 1000);
    if (label.fabric == JP_FABRIC_UNKNOWN)
        snprintf(buf, size, "fabric unknown: %s", why_unknown(topo));
    else
        snprintf(buf, size, "%s%s (%s)", label_fabric_word[label.fabric], speed,
                 label_evidence_word[label.evidence]);
    label_fini(&label);
}

/* "8 HCAs, active", or their numbers by state. */
static void count_ports(const struct topo *t, char *buf, size_t size)
{
    size_t active = 0, down = 0;
    int n;

    for (size_t i = 0; i < t->n_hcas; i++) {
        active += t->hcas[i].port == TOPO_PORT_ACTIVE;
        down += t->hcas[i].port == TOPO_PORT_DOWN;
    }
    /* "not told" in the output is a state that was not recorded. */
    n = snprintf(buf, size, "%zu HCA%s", t->n_hcas, plural(t->n_hcas));
    if (active && active == t->n_hcas)
        snprintf(buf + n, size - (size_t) n, ", active");
    else if (t->n_hcas)
        snprintf(buf + n, size - (size_t) n,
                 " (%zu active, %zu down, %zu unknown)", active, down,
                 t->n_hcas - active - down);
}

/* Whether all GPUs are of one model, by name and PCI id. */
static bool one_model(const struct topo *t)
{
    for (size_t i = 1; i < t->n_gpus; i++)
        if (strcmp(t->gpus[i].model, t->gpus->model) != 0 ||
            t->gpus[i].device != t->gpus->device)
            return false;
    return true;
}

/* " NVIDIA H200"; without a name, vendor and PCI device id. */
static void name_model(const struct topo *t, char *buf, size_t size)
{
    static const char *const vendors[TOPO_N_VENDORS] = {
        "NVIDIA 10de", "AMD 1002", "Intel 8086", "PCI ????"};

    buf[0] = '\0';
    if (!t->n_gpus)
        return;
    if (!one_model(t))
        snprintf(buf, size, " of several models");
    else if (*t->gpus->model)
        snprintf(buf, size, " %s", t->gpus->model);
    else if (t->gpus->device)
        snprintf(buf, size, " %s:%04x", vendors[t->gpus->vendor],
                 t->gpus->device);
}

/* The lines below a shape's heading. */
static void print_facts(const struct topo *t, FILE *out)
{
    char links[160], ports[96], model[80], partitions[40] = "";
    unsigned n = 0;

    topo_links_text(t, links, sizeof(links));
    count_ports(t, ports, sizeof(ports));
    name_model(t, model, sizeof(model));
    for (size_t i = 0; i < t->n_gpus; i++)
        /* Only AMD GPUs have partitions. */
        n += t->gpus[i].partitions;
    if (n)
        snprintf(partitions, sizeof(partitions), " (%u partitions)", n);
    quote_printf(out, "  %zu GPU%s%s%s%s%s; %s\n", t->n_gpus, plural(t->n_gpus),
                 model, partitions, *links ? ", " : "", links,
                 t->hcas_untold && !t->n_hcas ? "HCAs were not recorded"
                                              : ports);
    if (t->places_from == TOPO_FROM_RCCL)
        fputs("  places are those of RCCL's own topology file\n", out);
    else if (t->places_from == TOPO_FROM_NCCL)
        fputs("  places are those of NCCL's own topology file\n", out);
    else if (t->virtual_machine)
        fputs("  a virtual machine: the PCI tree is what its hypervisor "
              "shows\n",
              out);
    if (!t->has_pci)
        fputs("  recorded without PCI devices: GPUs and HCAs are unknown\n",
              out);
    if (t->left_out)
        fprintf(out, "  %zu more devices are left out\n", t->left_out);
}

/* "NV450" is GB/s in one direction; "NV" alone is NVLink at an unknown speed;
 * otherwise the level. */
static void cell_of(const struct topo *t, size_t a, size_t b, char *buf,
                    size_t size)
{
    static const char *const words[TOPO_N_VENDORS] = {"NV", "XG", "Xe", "?"};
    enum topo_nvlink link = a < t->n_gpus && b < t->n_gpus && a != b
                                ? topo_nvlink(t, a, b)
                                : TOPO_NV_NO;
    uint64_t mbs = link == TOPO_NV_DIRECT || link == TOPO_NV_SWITCH
                       ? topo_nvlink_mbs(t, a, b)
                       : 0;

    if (mbs >= 1000)
        snprintf(buf, size, "%s%.4g", words[t->gpus[a].vendor],
                 (double) mbs / 1000);
    else if (mbs)
        snprintf(buf, size, "%s", words[t->gpus[a].vendor]);
    else
        snprintf(buf, size, "%s", topo_level_word[topo_level(t, a, b)]);
}

/* A device's name in the matrix: GPUs by number, HCAs by their own name. */
static const char *name_of(const struct topo *t, size_t device, char *buf,
                           size_t size)
{
    if (device >= t->n_gpus)
        return t->hcas[device - t->n_gpus].name;
    snprintf(buf, size, "GPU%zu", device);
    return buf;
}

/* Prints columns [from, to) of a row of the matrix; row < 0: its heading.
 * Padding is written before the next cell, so lines have no trailing blanks. */
static void print_row(const struct topo *t, int row, int first, size_t from,
                      size_t to, FILE *out)
{
    char text[32], name[32];
    int pad = first;

    if (row >= 0)
        pad -= quote_printf(out, "  %s",
                            name_of(t, (size_t) row, text, sizeof(text))) -
               2;
    else
        fputs("  ", out);
    for (size_t i = from; i < to; i++) {
        const char *head = name_of(t, i, name, sizeof(name));
        int width = (int) strlen(head);

        snprintf(text, sizeof(text), "%s", head);
        if (row >= 0)
            cell_of(t, (size_t) row, i, text, sizeof(text));
        /* quote_printf returns what it wrote, which may be more than the name's
         * length. */
        quote_printf(out, "%*s  %s", pad, "", text);
        /* A column is at least 5 wide, so that "NV450" fits. */
        pad = (width < 5 ? 5 : width) - (int) strlen(text);
        pad = pad < 0 ? 0 : pad;
    }
    fputc('\n', out);
}

/* Returns the width of the terminal; for a file $COLUMNS, or a default. */
static int columns_of(FILE *out)
{
    const char *set = getenv("COLUMNS");
    struct winsize size;
    uint64_t columns = WIDE;

    if (isatty(fileno(out)) && ioctl(fileno(out), TIOCGWINSZ, &size) == 0 &&
        size.ws_col)
        return size.ws_col;
    if (set)
        (void) num_parse_u64(set, 20, 10000, &columns, NULL);
    return (int) columns;
}

/* Prints the matrix in blocks of columns that fit the terminal. A block has at
 * least one column. */
static void print_matrix(const struct topo *t, FILE *out)
{
    int n = (int) (t->n_gpus + t->n_hcas), first = 4;
    /* first: width of the column of names. */
    char text[32];

    for (int i = 0; i < n; i++) {
        int len = (int) strlen(name_of(t, (size_t) i, text, sizeof(text)));

        first = len > first ? len : first;
    }
    for (size_t from = 0, to; from < (size_t) n; from = to) {
        /* Two blanks, and the column of names. */
        int left = columns_of(out) - 2 - first;

        /* Add columns while they fit. */
        for (to = from; to < (size_t) n; to++) {
            int len = (int) strlen(name_of(t, to, text, sizeof(text)));

            left -= 2 + (len < 5 ? 5 : len);
            if (left < 0 && to > from)
                break;
        }
        fputc('\n', out);
        for (int row = -1; row < n; row++)
            print_row(t, row, first, from, to, out);
    }
}

/* "  rail 3", "  rails 0-3,8" */
static void list_rails(uint64_t rails, char *buf, size_t size)
{
    size_t n = (size_t) snprintf(buf, size, "  rail%s",
                                 rails & (rails - 1) ? "s" : "");
    /* " 0-3,8": a blank before the first rail, commas after it. */
    const char *between = " ";

    /* [from, to) is a run of set bits. */
    for (int from = 0, to; from < 64; from = to + 1) {
        for (to = from; to < 64 && rails >> to & 1; to++)
            ;
        if (to == from || n + 8 > size)
            continue;
        n += (size_t) snprintf(buf + n, size - n, "%s%d", between, from);
        if (to - from > 1)
            n += (size_t) snprintf(buf + n, size - n, "-%d", to - 1);
        between = ",";
    }
}

/* Adapters that NCCL ignores. */
static void print_narrow(const struct topo *t, FILE *out)
{
    for (size_t i = 0; i < t->n_hcas; i++)
        if (t->hcas[i].narrow)
            quote_printf(out,
                         "  %s has a PCI link of %.3g GB/s, far less than "
                         "others: it is used for management, and not by "
                         "GPUs\n",
                         t->hcas[i].name, (double) t->hcas[i].pci_mbs / 1000);
}

/* One GPU: its package, its HCAs, their distance, kind and rails. */
static void print_gpu(const struct topo *t, size_t i, FILE *out)
{
    const struct topo_gpu *g = &t->gpus[i];
    const struct topo_near *near = &t->near[i];
    char name[24], rail[80] = "";

    snprintf(name, sizeof(name), "GPU%zu", i);
    quote_printf(out, "  %-6s %-14s", name, *g->busid ? g->busid : "no bus id");
    if (g->package >= 0)
        fprintf(out, "package %d  ", g->package);
    if (near->hca < 0) {
        fputs(!t->hcas_untold ? "no active HCA\n" : "HCAs not recorded\n", out);
        return;
    }
    /* Without a level the rail would be a guess. */
    if (near->rails && near->level != TOPO_UNSURE)
        list_rails(near->rails, rail, sizeof(rail));
    for (unsigned k = 0; k < near->nics.n; k++)
        quote_printf(out, "%s ", t->hcas[near->nics.hca[k]].name);
    quote_printf(out, "%s (%s)%s%s\n", topo_level_word[near->level],
                 topo_net_word[t->hcas[near->hca].net], rail,
                 t->hcas[near->hca].port == TOPO_PORT_UNKNOWN
                     ? "  its port's state was not recorded"
                     : "");
}

/* Prints one finding of find_oddities. */
static void print_odd(void *arg, const char *kind, const char *text)
{
    quote_printf(arg, "  ! %s: %s\n", kind, text);
}

/* One shape: heading, facts, matrix, GPUs, findings. */
static int print_shape(const struct jp_shapes *s, size_t at, FILE *out)
{
    const struct topo *t = s->shapes[at].topo;
    /* The nodes come first in the block: users look for theirs. */
    char *names = shapes_names(s, (int) at, NAMES_MAX);
    char letter[8];

    if (!names)
        return -1;
    quote_printf(out, "%sshape %s  %s  %zu node%s: %s\n", at ? "\n" : "",
                 shapes_letter(at, letter),
                 *t->product ? t->product : "a machine", s->shapes[at].n_nodes,
                 plural(s->shapes[at].n_nodes), names);
    free(names);
    print_facts(t, out);
    if (t->n_gpus + t->n_hcas)
        print_matrix(t, out);
    if (t->n_gpus)
        fputc('\n', out);
    for (size_t i = 0; i < t->n_gpus; i++)
        print_gpu(t, i, out);
    print_narrow(t, out);
    find_oddities(t, print_odd, out);
    return 0;
}

/* Nodes without a topology, and records that were ignored. */
static void print_missing(const struct jp_shapes *s, FILE *out)
{
    for (size_t i = 0; i < s->n_nodes; i++) {
        const struct jp_shape_node *node = &s->nodes[i];

        if (node->why)
            quote_printf(out, "\n%s: no topology: %s\n", node->name, node->why);
        if (node->note)
            quote_printf(out, "\n%s: skipped: %s\n", node->name, node->note);
    }
}

/* devices: the legend has something to explain. */
int topo_print(const struct jp_shapes *s, FILE *out, struct jp_error *err)
{
    bool devices = false, foreign = false;

    for (size_t i = 0; i < s->n_shapes; i++) {
        for (size_t k = 0; k < s->shapes[i].topo->n_gpus; k++)
            foreign |= s->shapes[i].topo->gpus[k].vendor == TOPO_AMD ||
                       s->shapes[i].topo->gpus[k].vendor == TOPO_INTEL;
        devices |= s->shapes[i].topo->n_gpus + s->shapes[i].topo->n_hcas > 0;
        if (print_shape(s, i, out) < 0)
            return error_set(err, "out of memory");
    }
    print_missing(s, out);
    /* The legend explains only what was printed. */
    if (devices)
        fputs("\nNVn NVLink, n GB/s one way (NV: of unknown speed); PIX one "
              "PCIe switch, PXB several,\nPHB the host bridge, NODE another "
              "one of the NUMA node, SYS between NUMA nodes, ? unknown.\nGPUs "
              "and HCAs are in PCI order, which may differ from CUDA's.\n",
              out);
    if (foreign)
        fputs("XGn is AMD's XGMI, Xen Intel's Xe Link.\n", out);
    if (fflush(out) || ferror(out))
        /* A full disk is only noticed at the end. */
        return error_set(err, "cannot be written");
    return 0;
}
