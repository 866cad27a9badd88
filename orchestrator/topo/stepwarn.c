/* stepwarn.c - what is odd about a step's media, each thing once. */
#include "orchestrator/topo/stepwarn.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"

#define MAX_WARNINGS 200 /* of communicators */
#define ALL_WARNINGS (MAX_WARNINGS + 50)
#define NAMES_MAX 120 /* bytes of a list of nodes */
#define ODD_SHARE 4   /* at most a quarter of the nodes are odd */

/* Kinds in order of urgency: what is broken, what is switched off, what is
 * merely not good. */
static const enum jp_warning_kind urgency[] = {
    JP_WARN_DEAD_NVLINK, JP_WARN_HCA_DOWN,   JP_WARN_TCP,
    JP_WARN_MNNVL_OFF,   JP_WARN_SPLIT_HOST, JP_WARN_ODD_NODE,
    JP_WARN_CROSS_RAIL,  JP_WARN_HCA_SHARED, JP_WARN_HCA_FAR,
    JP_WARN_FORCED_PATH, JP_WARN_NO_NVLINK};

static size_t urgency_of(enum jp_warning_kind kind)
{
    size_t i = 0;

    while (i < sizeof(urgency) / sizeof(*urgency) && urgency[i] != kind)
        i++;
    return i;
}

/* A warning while it is joined: a flag for each node that it is about. */
struct joined {
    enum jp_warning_kind kind;
    const char *text; /* borrowed */
    bool *nodes;      /* NULL: about communicators */
    size_t comm, n_comms;
};

struct joiner {
    struct jp_step_labels *labels;
    const struct jp_result *result;
    struct joined at[MAX_WARNINGS];
    size_t n;
};

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

/* 0, or -1 without memory. */
static int join(struct joiner *j, size_t comm, const struct jp_warning *w)
{
    struct joined *at = find_or_add(j, w);

    if (!at)
        return 0;
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

static int add(struct jp_step_labels *s, enum jp_warning_kind kind, char *text,
               size_t comm, size_t n_comms)
{
    if (!text)
        return -1;
    s->warnings[s->n_warnings++] =
        (struct jp_step_warning){kind, text, comm, n_comms};
    return 0;
}

/* "n[2-3]: GPU3's nearest HCA ..." */
static int finish(struct joiner *j, const struct joined *at)
{
    const struct jp_shapes *shapes = &j->labels->shapes;
    uint32_t *nodes;
    char *names, *text;
    size_t n = 0;

    if (!at->nodes)
        return add(j->labels, at->kind, strdup(at->text), at->comm,
                   at->n_comms);
    nodes = calloc(shapes->n_nodes, sizeof(*nodes));
    for (size_t i = 0; nodes && i < shapes->n_nodes; i++)
        if (at->nodes[i])
            nodes[n++] = (uint32_t) i;
    names = nodes ? shapes_fold(shapes, nodes, n, NAMES_MAX) : NULL;
    text = names ? fileio_path("%s: %s", names, at->text) : NULL;
    free(names);
    free(nodes);
    return add(j->labels, at->kind, text, at->comm, at->n_comms);
}

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

/* --- nodes unlike the others ------------------------------------------------
 */

/* What NVML told of one node's job and not of the other's is no difference. */
static void compare_gpus(const struct topo *odd, const struct topo *usual,
                         char *buf, size_t size)
{
    if (odd->n_gpus != usual->n_gpus) {
        snprintf(buf, size, "%zu GPUs, not %zu", odd->n_gpus, usual->n_gpus);
        return;
    }
    for (size_t i = 0; i < odd->n_gpus; i++) {
        const struct topo_gpu *a = &odd->gpus[i], *b = &usual->gpus[i];
        bool told = a->links_from == b->links_from;

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
            snprintf(buf, size, "GPU%zu stands at %s, not %s", i, a->busid,
                     b->busid);
        else
            continue;
        return;
    }
}

static void compare_hcas(const struct topo *odd, const struct topo *usual,
                         char *buf, size_t size)
{
    static const char *const ports[] = {"of unknown state", "down", "active"};

    if (odd->n_hcas != usual->n_hcas) {
        snprintf(buf, size, "%zu HCAs, not %zu", odd->n_hcas, usual->n_hcas);
        return;
    }
    for (size_t i = 0; i < odd->n_hcas; i++) {
        const struct topo_hca *a = &odd->hcas[i], *b = &usual->hcas[i];

        if (strcmp(a->name, b->name) != 0)
            snprintf(buf, size, "HCA %s stands where %s is", a->name, b->name);
        else if (a->port != b->port)
            snprintf(buf, size, "%s is %s, not %s", a->name, ports[a->port],
                     ports[b->port]);
        else
            continue;
        return;
    }
}

/* The first difference that a reader would look for; "" none that counts. */
static void compare(const struct topo *odd, const struct topo *usual, char *buf,
                    size_t size)
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

/* Shapes are sorted, the most frequent first. Where no shape has more than half
 * of the nodes nobody is odd. */
static int add_odd_nodes(struct jp_step_labels *s)
{
    size_t all = 0;

    for (size_t i = 0; i < s->shapes.n_shapes; i++)
        all += s->shapes.shapes[i].n_nodes;
    for (size_t i = 1; i < s->shapes.n_shapes; i++) {
        const struct jp_shape *shape = &s->shapes.shapes[i];
        char what[200], *names, *text;

        if (shape->n_nodes * ODD_SHARE > all ||
            s->shapes.shapes[0].n_nodes * 2 <= all ||
            s->n_warnings == ALL_WARNINGS)
            continue;
        compare(shape->topo, s->shapes.shapes[0].topo, what, sizeof(what));
        if (!*what)
            continue;
        names = shapes_names(&s->shapes, (int) i, NAMES_MAX);
        text = names ? fileio_path("%s: unlike %zu of the %zu nodes: %s", names,
                                   s->shapes.shapes[0].n_nodes, all, what)
                     : NULL;
        free(names);
        if (add(s, JP_WARN_ODD_NODE, text, 0, 0) < 0)
            return -1;
    }
    return 0;
}

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

int stepwarn_collect(struct jp_step_labels *s, const struct jp_result *result)
{
    s->warnings = calloc(ALL_WARNINGS, sizeof(*s->warnings));
    if (!s->warnings || join_all(s, result) < 0 || add_odd_nodes(s) < 0)
        return -1;
    if (s->n_warnings)
        qsort(s->warnings, s->n_warnings, sizeof(*s->warnings), by_urgency);
    return 0;
}
