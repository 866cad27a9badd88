/* steplabels.c - the labels of a step's communicators. */
#include "orchestrator/topo/steplabels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "orchestrator/topo/stepranks.h"
#include "orchestrator/topo/stepwarn.h"

#define GPU_TEXT_MAX 3 /* ranks named of one GPU */

static void destroy_pictures(struct jp_step_labels *s)
{
    for (size_t i = 0; i < s->n_pictures; i++) {
        const struct topo *topo = s->shapes.shapes[s->pictures[i].shape].topo;

        for (size_t k = 0; s->pictures[i].gpu_text && k < topo->n_gpus; k++)
            free(s->pictures[i].gpu_text[k]);
        free(s->pictures[i].gpu_text);
    }
    free(s->pictures);
}

void steplabels_destroy(struct jp_step_labels *s)
{
    if (!s)
        return;
    destroy_pictures(s);
    for (size_t i = 0; i < s->n_labels; i++)
        label_fini(&s->labels[i]);
    for (size_t i = 0; i < s->n_warnings; i++)
        free(s->warnings[i].text);
    free(s->labels);
    free(s->warnings);
    free(s->label_nodes);
    shapes_fini(&s->shapes);
    free(s);
}

/* --- nodes ---------------------------------------------------------------- */

static int read_nodes(struct jp_step_labels *s, const struct jp_nodes *nodes,
                      const char *step_dir, struct jp_error *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < nodes->n_nodes; i++) {
        const char *name = nodes->nodes[i].name;
        char *folder = fileio_path("%s/../nodes/%s", step_dir, name);

        rc = folder ? shapes_add_folder(&s->shapes, name, folder, err)
                    : error_set(err, "out of memory");
        free(folder);
    }
    return rc < 0 ? -1 : shapes_sort(&s->shapes, err);
}

/* Fabrics are a node's own, its topology the shape's. */
static void name_node(const struct jp_step_labels *s, size_t i,
                      const struct jp_node *node, struct jp_label_node *out)
{
    const struct jp_shape_node *known = &s->shapes.nodes[i];

    out->name = known->name;
    out->boot_id = node->boot_id && *node->boot_id ? node->boot_id
                                                   : known->host.boot_id;
    out->why = known->why;
    if (known->shape >= 0) {
        out->topo = s->shapes.shapes[known->shape].topo;
        out->selves = known->gpus;
    }
}

static int name_nodes(struct jp_step_labels *s, const struct jp_nodes *nodes)
{
    s->label_nodes = calloc(nodes->n_nodes + 1, sizeof(*s->label_nodes));
    for (size_t i = 0; s->label_nodes && i < nodes->n_nodes; i++)
        name_node(s, i, &nodes->nodes[i], &s->label_nodes[i]);
    return s->label_nodes ? 0 : -1;
}

/* --- communicators ---------------------------------------------------------
 */

/* The result's ranks are sorted by communicator: its first one. */
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

/* --- pictures ---------------------------------------------------------------
 */

/* The communicator with most ranks on a shape; of those the largest.
 */
static size_t choose_comm(const struct jp_step_labels *s,
                          const struct jp_result *result,
                          const struct jp_step_ranks *ranks, int shape)
{
    size_t best = result->n_comms, count = 0, most = 0;

    for (size_t i = 0, k; i < result->n_ranks; i = k) {
        size_t comm = result->ranks[i].comm;

        for (count = 0, k = i;
             k < result->n_ranks && result->ranks[k].comm == comm; k++) {
            int node = ranks->ranks[k].node;

            count += node >= 0 && ranks->ranks[k].gpu >= 0 &&
                     s->shapes.nodes[node].shape == shape;
        }
        if (count > most ||
            (count && count == most &&
             result->comms[comm].n_ranks > result->comms[best].n_ranks)) {
            best = comm;
            most = count;
        }
    }
    return best;
}

/* "r0 r8 r16 +5" */
static int add_text(char **text, unsigned *count, uint32_t rank)
{
    char *longer;

    if (++*count > GPU_TEXT_MAX + 1) {
        char *plus = strrchr(*text, ' ');

        longer = fileio_path("%.*s +%u", (int) (plus - *text), *text,
                             *count - GPU_TEXT_MAX);
    } else if (*count == GPU_TEXT_MAX + 1) {
        longer = fileio_path("%s +1", *text);
    } else {
        longer = *text ? fileio_path("%s r%u", *text, rank)
                       : fileio_path("r%u", rank);
    }
    free(*text);
    *text = longer;
    return longer ? 0 : -1;
}

static int fill_picture(const struct jp_step_labels *s,
                        const struct jp_result *result,
                        const struct jp_step_ranks *ranks,
                        struct jp_step_picture *p)
{
    unsigned count[TOPO_MAX_GPUS] = {0};

    for (size_t i = first_rank(result, p->comm);
         i < result->n_ranks && result->ranks[i].comm == p->comm; i++) {
        const struct jp_label_rank *r = &ranks->ranks[i];

        if (r->node >= 0 && r->gpu >= 0 &&
            s->shapes.nodes[r->node].shape == (int) p->shape &&
            add_text(&p->gpu_text[r->gpu], &count[r->gpu], r->rank) < 0)
            return -1;
    }
    return 0;
}

static int draw_shapes(struct jp_step_labels *s, const struct jp_result *result,
                       const struct jp_step_ranks *ranks)
{
    s->pictures = calloc(s->shapes.n_shapes + 1, sizeof(*s->pictures));
    if (!s->pictures)
        return -1;
    for (size_t i = 0; i < s->shapes.n_shapes; i++) {
        const struct topo *topo = s->shapes.shapes[i].topo;
        struct jp_step_picture *p = &s->pictures[s->n_pictures];

        if (!topo->n_gpus)
            continue;
        p->shape = i;
        p->comm = choose_comm(s, result, ranks, (int) i);
        p->gpu_text = calloc(topo->n_gpus, sizeof(*p->gpu_text));
        s->n_pictures++;
        if (!p->gpu_text || fill_picture(s, result, ranks, p) < 0)
            return -1;
    }
    return 0;
}

static int make(struct jp_step_labels *s, const struct jp_result *result,
                const struct jp_nodes *nodes, const char *step_dir,
                struct jp_error *err)
{
    struct jp_step_ranks ranks = {0};
    int rc = -1;

    if (read_nodes(s, nodes, step_dir, err) < 0)
        return -1;
    if (name_nodes(s, nodes) == 0 &&
        stepranks_make(result, nodes, &s->shapes, step_dir, &ranks, err) == 0 &&
        label_all(s, result, nodes, &ranks) == 0 &&
        draw_shapes(s, result, &ranks) == 0 && stepwarn_collect(s, result) == 0)
        rc = 0;
    stepranks_fini(&ranks);
    return rc < 0 ? error_set(err, "out of memory") : 0;
}

int steplabels_make(const struct jp_result *result,
                    const struct jp_nodes *nodes, const char *step_dir,
                    struct jp_step_labels **labels, struct jp_error *err)
{
    *labels = NULL;
    if (!result || !nodes || !nodes->n_nodes)
        return 0;
    *labels = calloc(1, sizeof(**labels));
    if (!*labels)
        return error_set(err, "out of memory");
    if (make(*labels, result, nodes, step_dir, err) == 0)
        return 0;
    steplabels_destroy(*labels);
    *labels = NULL;
    return -1;
}
