/* steplabels.c - label all communicators of a step.
 *
 * steplabels_make is the entry. It reads the nodes' records into shapes, places
 * the ranks (stepranks.c), labels each communicator (label.c), and joins the
 * warnings of all communicators. */
#include "orchestrator/topo/steplabels.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "orchestrator/aggregate/comm_type.h"
#include "orchestrator/topo/rankread.h"

#define MAX_WARNINGS 200 /* of communicators */
#define ALL_WARNINGS (MAX_WARNINGS + 50)
#define NAMES_MAX 120 /* bytes of a list of nodes */
#define ODD_SHARE 4   /* an odd shape has at most one in so many nodes */

/* Kinds in order of urgency: first what is broken, then what is switched off,
 * then what is merely not good. */
static const enum jp_warning_kind urgency[] = {
    JP_WARN_DEAD_NVLINK, JP_WARN_HCA_DOWN,   JP_WARN_TCP,
    JP_WARN_MNNVL_OFF,   JP_WARN_SPLIT_HOST, JP_WARN_ODD_NODE,
    JP_WARN_CROSS_RAIL,  JP_WARN_HCA_SHARED, JP_WARN_HCA_FAR,
    JP_WARN_FORCED_PATH, JP_WARN_NO_NVLINK};

/* A smaller number is more urgent. */
static size_t urgency_of(enum jp_warning_kind kind)
{
    size_t i = 0;

    while (i < sizeof(urgency) / sizeof(*urgency) && urgency[i] != kind)
        i++;
    return i;
}

/* A warning while it is joined, with a flag for each node. */
struct joined {
    enum jp_warning_kind kind;
    const char *text;     /* borrowed from the label */
    bool *nodes;          /* NULL: it concerns communicators */
    size_t comm, n_comms; /* comm: the one with most time */
};

struct joiner {
    /* the result */
    struct jp_step_labels *labels;
    /* for the times of communicators */
    const struct jp_result *result;
    /* in the order of their first occurrence */
    struct joined at[MAX_WARNINGS];
    size_t n;
};

/* Finds or adds the warning. Returns NULL if there are too many. */
static struct joined *find_or_add(struct joiner *j, const struct jp_warning *w)
{
    for (size_t i = 0; i < j->n; i++)
        if (j->at[i].kind == w->kind && strcmp(j->at[i].text, w->text) == 0)
            return &j->at[i];
    if (j->n == MAX_WARNINGS) {
        j->labels->warnings_left_out++;
        return NULL;
    }
    j->at[j->n] = (struct joined){.kind = w->kind, .text = w->text};
    return &j->at[j->n++];
}

/* Adds the warning of one communicator. Returns 0, or -1 without memory. */
static int join(struct joiner *j, size_t comm, const struct jp_warning *w)
{
    struct joined *at = find_or_add(j, w);

    if (!at)
        return 0;
    /* The communicator with most time stands for all. */
    if (!at->n_comms++ ||
        j->result->comms[comm].time_us > j->result->comms[at->comm].time_us)
        at->comm = comm;
    if (w->n_nodes && !at->nodes)
        at->nodes = calloc(j->labels->shapes.n_nodes, sizeof(*at->nodes));
    if (w->n_nodes && !at->nodes)
        return -1;
    for (uint32_t i = 0; i < w->n_nodes; i++)
        at->nodes[w->nodes[i]] = true;
    return 0;
}

/* Takes text over; NULL means that its allocation failed. */
static int add_warning(struct jp_step_labels *s, enum jp_warning_kind kind,
                       char *text, size_t comm, size_t n_comms)
{
    if (!text)
        return -1;
    s->warnings[s->n_warnings++] =
        (struct jp_step_warning){kind, text, comm, n_comms};
    return 0;
}

/* Formats "n[2-3]: GPU3's nearest HCA ..." and adds it. */
static int finish(struct joiner *j, const struct joined *at)
{
    const struct jp_shapes *shapes = &j->labels->shapes;
    uint32_t *nodes;
    char *names, *text;
    size_t n = 0;

    if (!at->nodes)
        return add_warning(j->labels, at->kind, strdup(at->text), at->comm,
                           at->n_comms);
    nodes = calloc(shapes->n_nodes, sizeof(*nodes));
    for (size_t i = 0; nodes && i < shapes->n_nodes; i++)
        if (at->nodes[i])
            nodes[n++] = (uint32_t) i;
    /* Bounded, because a warning may concern a thousand nodes. */
    names = nodes ? shapes_fold(shapes, nodes, n, NAMES_MAX) : NULL;
    text = names ? text_format("%s: %s", names, at->text) : NULL;
    free(names);
    free(nodes);
    return add_warning(j->labels, at->kind, text, at->comm, at->n_comms);
}

/* Joins the warnings of all communicators, then formats each once. */
static int join_all(struct jp_step_labels *s, const struct jp_result *result)
{
    struct joiner *j = calloc(1, sizeof(*j));
    int rc = j ? 0 : -1;

    if (!j)
        return -1;
    j->labels = s;
    j->result = result;
    for (size_t i = 0; rc == 0 && i < s->n_labels; i++)
        for (size_t k = 0; rc == 0 && k < s->labels[i].n_warnings; k++)
            rc = join(j, i, &s->labels[i].warnings[k]);
    for (size_t i = 0; rc == 0 && i < j->n; i++)
        rc = finish(j, &j->at[i]);
    for (size_t i = 0; i < j->n; i++)
        free(j->at[i].nodes);
    free(j);
    return rc;
}

/* --- nodes unlike the others -------------------------------------------- */

/* Formats the first difference of the GPUs. What NVML reported on only one of
 * the two nodes is no difference. */
static void compare_gpus(const struct topo *odd, const struct topo *usual,
                         char *buf, size_t size)
{
    if (odd->n_gpus != usual->n_gpus) {
        snprintf(buf, size, "%zu GPUs, not %zu", odd->n_gpus, usual->n_gpus);
        return;
    }
    for (size_t i = 0; i < odd->n_gpus; i++) {
        const struct topo_gpu *a = &odd->gpus[i], *b = &usual->gpus[i];
        /* Links from different sources are not comparable. */
        bool told = a->links_from == b->links_from;

        /* The checks are in the order of their weight; the first difference is
         * enough. */
        if (a->device != b->device)
            snprintf(buf, size, "GPU%zu is of another model", i);
        else if (told && a->links_up != b->links_up)
            snprintf(buf, size, "GPU%zu has %u active NVLinks, not %u", i,
                     a->links_up, b->links_up);
        else if (told &&
                 (a->links != b->links || a->switch_mbs != b->switch_mbs))
            snprintf(buf, size, "GPU%zu has other NVLinks", i);
        else if (told && a->mig != b->mig)
            snprintf(buf, size, "GPU%zu has MIG %s", i, a->mig ? "on" : "off");
        else if (strcmp(a->busid, b->busid) != 0)
            snprintf(buf, size, "GPU%zu is at %s, not %s", i, a->busid,
                     b->busid);
        else
            continue;
        return;
    }
}

/* Formats the first difference of the HCAs. */
static void compare_hcas(const struct topo *odd, const struct topo *usual,
                         char *buf, size_t size)
{
    /* By enum topo_port. */
    static const char *const ports[] = {"of unknown state", "down", "active"};

    if (odd->n_hcas != usual->n_hcas) {
        snprintf(buf, size, "%zu HCAs, not %zu", odd->n_hcas, usual->n_hcas);
        return;
    }
    for (size_t i = 0; i < odd->n_hcas; i++) {
        const struct topo_hca *a = &odd->hcas[i], *b = &usual->hcas[i];

        /* A different name means that the HCAs after it are shifted as well. */
        if (strcmp(a->name, b->name) != 0)
            snprintf(buf, size, "HCA %s is in the place of %s", a->name,
                     b->name);
        else if (a->port != b->port)
            snprintf(buf, size, "%s is %s, not %s", a->name, ports[a->port],
                     ports[b->port]);
        else
            continue;
        return;
    }
}

/* Formats the first difference that a reader would look for; "" if there is
 * none that counts. */
static void compare_topologies(const struct topo *odd, const struct topo *usual,
                               char *buf, size_t size)
{
    buf[0] = '\0';
    if (strcmp(odd->product, usual->product) != 0) {
        snprintf(buf, size, "it is a %s, not a %s",
                 *odd->product ? odd->product : "machine without a name",
                 *usual->product ? usual->product : "machine without a name");
        return;
    }
    compare_hcas(odd, usual, buf, size);
    if (!*buf)
        compare_gpus(odd, usual, buf, size);
    if (!*buf && odd->n_gpus == usual->n_gpus && odd->n_hcas == usual->n_hcas &&
        memcmp(odd->level, usual->level,
               (odd->n_gpus + odd->n_hcas) * (odd->n_gpus + odd->n_hcas)) != 0)
        snprintf(buf, size, "devices are placed otherwise");
}

/* Adds a warning for each rare shape. Shapes are sorted, most frequent first.
 * If no shape has more than half of the nodes, none is odd. */
static int add_odd_nodes(struct jp_step_labels *s)
{
    size_t all = 0;

    for (size_t i = 0; i < s->shapes.n_shapes; i++)
        all += s->shapes.shapes[i].n_nodes;
    /* Shape 0 is the usual one. */
    for (size_t i = 1; i < s->shapes.n_shapes; i++) {
        const struct jp_shape *shape = &s->shapes.shapes[i];
        char what[200], *names, *text;

        /* Too many to be odd, no clear majority, or no room. */
        if (shape->n_nodes * ODD_SHARE > all ||
            s->shapes.shapes[0].n_nodes * 2 <= all ||
            s->n_warnings == ALL_WARNINGS)
            continue;
        compare_topologies(shape->topo, s->shapes.shapes[0].topo, what,
                           sizeof(what));
        if (!*what)
            continue;
        names = shapes_names(&s->shapes, (int) i, NAMES_MAX);
        text = names
                   ? text_format("%s: differs from %s of the %s nodes: %s",
                                 names, FIG_COUNT(s->shapes.shapes[0].n_nodes),
                                 FIG_COUNT(all), what)
                   : NULL;
        free(names);
        if (add_warning(s, JP_WARN_ODD_NODE, text, 0, 0) < 0)
            return -1;
    }
    return 0;
}

/* Most urgent first, then those of most communicators. */
static int by_urgency(const void *a, const void *b)
{
    const struct jp_step_warning *x = a, *y = b;
    size_t i = urgency_of(x->kind), k = urgency_of(y->kind);

    if (i != k)
        return i < k ? -1 : 1;
    if (x->n_comms != y->n_comms)
        return x->n_comms > y->n_comms ? -1 : 1;
    return strcmp(x->text, y->text);
}

/* Joins the warnings of all labels, and adds those about odd nodes. Returns -1
 * without memory. */
static int collect_warnings(struct jp_step_labels *s,
                            const struct jp_result *result)
{
    s->warnings = calloc(ALL_WARNINGS, sizeof(*s->warnings));
    if (!s->warnings || join_all(s, result) < 0 || add_odd_nodes(s) < 0)
        return -1;
    if (s->n_warnings)
        qsort(s->warnings, s->n_warnings, sizeof(*s->warnings), by_urgency);
    return 0;
}

/* ------------------------------ labels as the result takes them */

/* Makes the label of one communicator. Its sentence follows that of the
 * communicator's type, or replaces it. */
static int make_label(const struct jp_step_labels *s,
                      const struct jp_label *label, const struct jp_comm *comm,
                      struct jp_comm_label *out)
{
    char text[600];

    *out = (struct jp_comm_label){
        .fabric = label_fabric_word[label->fabric],
        .inter = label_inter_word[label->inter],
        .rail = label_rail_word[label->rail],
        .hca_path = label->hca_path,
        .carriers = label->carriers,
        .evidence = label->evidence ? label_evidence_word[label->evidence]
                                    : NULL,
        /* Without evidence the label only adds to the type's sentence. */
        .why =
            label->evidence
                ? text_format("%s: %s", comm_type_name(comm->type), label->why)
                : text_format("%s; %s", comm->why, label->why),
        .warnings = calloc(label->n_warnings + 1, sizeof(*out->warnings))};
    if (!out->why || !out->warnings)
        return -1;
    for (size_t i = 0; i < label->n_warnings; i++) {
        out->warnings[i] =
            text_format("%s: %s", label_warning_word[label->warnings[i].kind],
                        label_warning_text(&label->warnings[i], s->label_nodes,
                                           text, sizeof(text)));
        if (!out->warnings[i])
            return -1;
        out->n_warnings++;
    }
    return 0;
}

/* A record that was ignored becomes a note on the data. */
static int make_notes(const struct jp_step_labels *s, struct jp_labels *out)
{
    /* At most one note for each node, and one on the ranks' records. */
    out->notes = calloc(s->shapes.n_nodes + 2, sizeof(*out->notes));
    if (out->notes && s->left_file) {
        struct jp_file_note *note = &out->notes[out->n_notes++];

        note->path = strdup(s->left_file);
        note->what = strdup(s->left_why);
        if (!note->path || !note->what)
            return -1;
    }
    for (size_t i = 0; out->notes && i < s->shapes.n_nodes; i++) {
        const struct jp_shape_node *node = &s->shapes.nodes[i];
        struct jp_file_note *note = &out->notes[out->n_notes];

        if (!node->note)
            continue;
        out->n_notes++;
        note->path = text_format("../nodes/%s", node->name);
        note->what = text_format("skipped: %s; NVLink and ports are taken "
                                 "from topology.xml, or unknown",
                                 node->note);
        if (!note->path || !note->what)
            return -1;
    }
    return out->notes ? 0 : -1;
}

/* Labels and notes in the form that the result keeps. */
static int describe(const struct jp_step_labels *s,
                    const struct jp_result *result, struct jp_labels *out)
{
    struct jp_labels labels = {0};
    int rc;

    labels.comms = calloc(s->n_labels + 1, sizeof(*labels.comms));
    rc = labels.comms ? make_notes(s, &labels) : -1;
    for (size_t i = 0; rc == 0 && i < s->n_labels; i++) {
        /* Counted first, so that labels_fini frees a label that is only begun.
         */
        labels.n_comms++;
        rc = make_label(s, &s->labels[i], &result->comms[i], &labels.comms[i]);
    }
    if (rc < 0) {
        labels_fini(&labels);
        return -1;
    }
    *out = labels;
    return 0;
}

/* The model of the GPUs of all nodes; "" if it is unknown or there are several.
 */
static const char *only_model(const struct jp_step_labels *s)
{
    const char *model = NULL;

    for (size_t i = 0; i < s->shapes.n_shapes; i++) {
        const struct topo *topo = s->shapes.shapes[i].topo;

        for (size_t k = 0; topo && k < topo->n_gpus; k++) {
            /* One unknown model makes the answer unknown. */
            if (!*topo->gpus[k].model ||
                (model && strcmp(model, topo->gpus[k].model)))
                return "";
            model = topo->gpus[k].model;
        }
    }
    return model ? model : "";
}

/* Counts the adapters of a kind that a topology's GPUs may use; *slowest in
 * Gbit/s. Returns 0 if there are none or they are not known. */
static unsigned count_adapters(const struct topo *topo, enum topo_net net,
                               double *slowest)
{
    unsigned n = 0;

    if (!topo || topo->hcas_untold || topo->narrowed)
        return 0;
    for (size_t i = 0; i < topo->n_hcas; i++) {
        const struct topo_hca *hca = &topo->hcas[i];

        if (hca->net != net || !topo_hca_open(hca))
            continue;
        /* One unknown rate makes the sum unknown. */
        if (!(hca->rate_gbits > 0))
            return 0;
        *slowest = fmin(*slowest, hca->rate_gbits);
        n++;
    }
    /* The others serve storage: no GPU is near. */
    return topo->n_rails && topo->n_rails < n ? topo->n_rails : n;
}

/* One row for each kind of network. */
int steplabels_peaks(const struct jp_step_labels *s,
                     const struct steplabels_rates *rates,
                     struct jp_peaks *peaks)
{
    *peaks = (struct jp_peaks){0};
    if (!s || !s->shapes.n_shapes)
        return 0;
    peaks->rows = calloc(TOPO_NET_OTHER, sizeof(*peaks->rows));
    if (!peaks->rows)
        return -1;
    for (int net = 0; net < TOPO_NET_OTHER; net++) {
        struct peaks_row *row = &peaks->rows[peaks->n];
        double slowest = INFINITY;
        unsigned least = UINT_MAX;
        /* Every node must have this kind, so the smallest number counts. */

        for (size_t i = 0; i < s->shapes.n_shapes; i++) {
            unsigned n = count_adapters(s->shapes.shapes[i].topo,
                                        (enum topo_net) net, &slowest);

            least = n < least ? n : least;
        }
        if (!least)
            continue;
        *row = (struct peaks_row){.max_ranks = rates->max_ranks,
                                  .per_node = least,
                                  .peak_gbs = slowest / 8, /* Gbit/s to GB/s */
                                  .n_sizes = 1};
        snprintf(row->link, sizeof(row->link), "%s", topo_net_word[net]);
        row->sizes[0] = (struct peaks_size){rates->from_bytes, rates->share};
        peaks->n++;
    }
    return 0;
}

/* ----------------------------------- the labels */

void steplabels_destroy(struct jp_step_labels *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_labels; i++)
        label_fini(&s->labels[i]);
    for (size_t i = 0; i < s->n_warnings; i++)
        free(s->warnings[i].text);
    free(s->labels);
    free(s->warnings);
    free(s->label_nodes);
    free(s->places);
    free(s->left_file);
    free(s->left_why);
    shapes_fini(&s->shapes);
    free(s);
}

/* --- nodes ---------------------------------------------------------------- */

/* Adds each node from the job's folder; the step's folder may have NCCL's own
 * file. */
static int read_nodes(struct jp_step_labels *s, const struct jp_nodes *nodes,
                      const char *step_dir, struct jp_error *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < nodes->n_nodes; i++) {
        const char *name = nodes->nodes[i].name;
        const char *dir = nodes_step_dir(&nodes->nodes[i], step_dir);
        char *folder = text_format("%s/../nodes/%s", dir, name);
        char *own = text_format("%s/nodes/%s", dir, name);

        rc = folder && own
                 ? shapes_add_folder(&s->shapes, name, folder, own, err)
                 : error_set(err, "out of memory");
        free(folder);
        free(own);
    }
    return rc < 0 ? -1 : shapes_sort(&s->shapes, err);
}

/* A node's fabrics are its own; the topology is that of its shape. */
static void name_node(const struct jp_step_labels *s, size_t i,
                      const struct jp_node *node, struct jp_label_node *out)
{
    const struct jp_shape_node *known = &s->shapes.nodes[i];

    out->name = known->name;
    /* The step's own record is newer than that of the job. */
    out->boot_id = node->boot_id && *node->boot_id ? node->boot_id
                                                   : known->host.boot_id;
    out->why = known->why;
    if (known->shape >= 0) {
        out->topo = s->shapes.shapes[known->shape].topo;
        out->selves = known->gpus;
    }
}

/* The nodes as label.c takes them. */
static int name_nodes(struct jp_step_labels *s, const struct jp_nodes *nodes)
{
    s->label_nodes = calloc(nodes->n_nodes + 1, sizeof(*s->label_nodes));
    for (size_t i = 0; s->label_nodes && i < nodes->n_nodes; i++)
        name_node(s, i, &nodes->nodes[i], &s->label_nodes[i]);
    return s->label_nodes ? 0 : -1;
}

/* --- communicators -------------------------------------------------------- */

/* Returns the index of the communicator's first rank by binary search; the
 * result's ranks are sorted by communicator. */
static size_t first_rank(const struct jp_result *result, size_t comm)
{
    size_t from = 0, to = result->n_ranks;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (result->ranks[middle].comm < comm)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Labels the communicator at index `at`. */
static int label_one(struct jp_step_labels *s, const struct jp_result *result,
                     const struct jp_nodes *nodes,
                     const struct jp_step_ranks *ranks, size_t at)
{
    const struct jp_comm *comm = &result->comms[at];
    const struct jp_comm_facts *facts = &ranks->comms[at];
    size_t from = first_rank(result, at), to = first_rank(result, at + 1);
    const struct jp_label_comm in = {.n_ranks = comm->n_ranks,
                                     .nnodes = comm->nnodes,
                                     .guessed = comm->guessed,
                                     .collective = comm->ops > 0,
                                     .ranks = ranks->ranks + from,
                                     .n = to - from,
                                     .paths = facts->has_paths ? &facts->paths
                                                               : NULL,
                                     .variables = facts->variables,
                                     .n_variables = facts->n_variables};

    if (label_comm(&in, s->label_nodes, nodes->n_nodes, &s->labels[at]) < 0)
        return -1;
    s->n_labels = at + 1;
    return 0;
}

/* n_labels counts those that are complete, for steplabels_destroy. */
static int label_all(struct jp_step_labels *s, const struct jp_result *result,
                     const struct jp_nodes *nodes,
                     const struct jp_step_ranks *ranks)
{
    s->labels = calloc(result->n_comms + 1, sizeof(*s->labels));
    if (!s->labels)
        return -1;
    for (size_t i = 0; i < result->n_comms; i++)
        if (label_one(s, result, nodes, ranks, i) < 0)
            return -1;
    return 0;
}

/* Notes node and GPU for each rank. */
static int place_ranks(struct jp_step_labels *s, const struct jp_result *result,
                       const struct jp_step_ranks *ranks)
{
    s->places = calloc(result->n_ranks + 1, sizeof(*s->places));
    for (size_t i = 0; s->places && i < result->n_ranks; i++) {
        const struct jp_label_rank *r = &ranks->ranks[i];
        /* A rank may have a node but no known GPU. */
        const struct topo *topo = r->node >= 0 ? s->label_nodes[r->node].topo
                                               : NULL;

        s->places[i].node = r->node;
        s->places[i].gpu = r->gpu;
        if (topo && r->gpu >= 0 && (size_t) r->gpu < topo->n_gpus)
            busid_tidy(topo->gpus[r->gpu].busid, s->places[i].busid);
        else
            memcpy(s->places[i].busid, ranks->busids[i],
                   sizeof(s->places[i].busid));
    }
    return s->places ? 0 : -1;
}

/* Keeps why the ranks' records are not complete. */
static int keep_left(struct jp_step_labels *s,
                     const struct jp_rank_records *records)
{
    if (!records->left_file)
        return 0;
    s->left_file = strdup(records->left_file);
    s->left_why =
        text_format("not read completely (%s); %llu lines are missing in all",
                    records->left_why ? records->left_why : "",
                    (unsigned long long) records->bad_lines);
    return s->left_file && s->left_why ? 0 : -1;
}

/* The stages, in the order in which they depend on each other. */
static int make_labels(struct jp_step_labels *s, const struct jp_result *result,
                       const struct jp_nodes *nodes, const char *step_dir,
                       struct jp_labels *described, struct jp_error *err)
{
    struct jp_step_ranks ranks = {0};
    int rc = -1;

    if (read_nodes(s, nodes, step_dir, err) < 0)
        return -1;
    s->gpu = only_model(s);
    if (name_nodes(s, nodes) == 0 &&
        stepranks_make(result, nodes, &s->shapes, step_dir, &ranks, err) == 0 &&
        keep_left(s, ranks.records) == 0 &&
        label_all(s, result, nodes, &ranks) == 0 &&
        place_ranks(s, result, &ranks) == 0 &&
        collect_warnings(s, result) == 0 && describe(s, result, described) == 0)
        rc = 0;
    stepranks_fini(&ranks);
    return rc < 0 ? error_set(err, "out of memory") : 0;
}

int steplabels_make(struct jp_result *result, const struct jp_nodes *nodes,
                    const char *step_dir, struct jp_step_labels **labels,
                    struct jp_error *err)
{
    struct jp_labels described = {0};
    int rc;

    *labels = NULL;
    /* A step without nodes has no labels, which is no error. */
    if (!result || !nodes || !nodes->n_nodes)
        return 0;
    *labels = calloc(1, sizeof(**labels));
    if (!*labels)
        return error_set(err, "out of memory");
    rc = make_labels(*labels, result, nodes, step_dir, &described, err);
    /* The result changes last, and only if all else succeeded. */
    if (rc == 0)
        rc = result_label(result, &described, err);
    labels_fini(&described);
    if (rc < 0) {
        steplabels_destroy(*labels);
        *labels = NULL;
    }
    return rc;
}
