/* steplabels_apply.c - write labels into a result's communicators. */
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "orchestrator/aggregate/comm_type.h"
#include "orchestrator/topo/steplabels.h"

#define MAX_NOTES 100 /* on the data, in all */

/* A communicator's new texts, until all are there. */
struct texts {
    char *why;
    char **warnings;
    size_t n_warnings;
};

static void free_texts(struct texts *texts, size_t n)
{
    for (size_t i = 0; texts && i < n; i++) {
        for (size_t k = 0; k < texts[i].n_warnings; k++)
            free(texts[i].warnings[k]);
        free(texts[i].warnings);
        free(texts[i].why);
    }
    free(texts);
}

/* A label's sentence stands behind the type's, or in its place. */
static int make_texts(const struct jp_step_labels *s,
                      const struct jp_label *label, const struct jp_comm *comm,
                      struct texts *out)
{
    char text[600];

    if (label->evidence)
        out->why =
            fileio_path("%s: %s", comm_type_name(comm->type), label->why);
    else
        out->why = fileio_path("%s; %s", comm->why, label->why);
    out->warnings = calloc(label->n_warnings + 1, sizeof(*out->warnings));
    if (!out->why || !out->warnings)
        return -1;
    for (size_t i = 0; i < label->n_warnings; i++) {
        out->warnings[i] =
            fileio_path("%s: %s", label_warning_word[label->warnings[i].kind],
                        label_warning_text(&label->warnings[i], s->label_nodes,
                                           text, sizeof(text)));
        if (!out->warnings[i])
            return -1;
        out->n_warnings++;
    }
    return 0;
}

static void put_label(const struct jp_label *label, struct texts *texts,
                      struct jp_comm *comm)
{
    comm->fabric = label_fabric_word[label->fabric];
    comm->inter = label_inter_word[label->inter];
    comm->rail = label_rail_word[label->rail];
    comm->hca_path = label->hca_path;
    if (label->evidence)
        comm->evidence = label_evidence_word[label->evidence];
    free(comm->why);
    comm->why = texts->why;
    comm->warnings = texts->warnings;
    comm->n_warnings = texts->n_warnings;
    *texts = (struct texts){0};
}

/* A record that was left aside is a line among the notes on the data. */
static int add_note(struct jp_quality *q, const struct jp_shape_node *node)
{
    struct jp_file_note *more =
        reallocarray(q->notes, q->n_notes + 1, sizeof(*more));
    struct jp_file_note *note = more ? &more[q->n_notes] : NULL;

    if (!more)
        return -1;
    q->notes = more;
    note->path = fileio_path("../nodes/%s", node->name);
    note->what = fileio_path("left aside: %s; NVLink and ports are as "
                             "topology.xml tells, or unknown",
                             node->note);
    if (!note->path || !note->what) {
        free(note->path);
        free(note->what);
        return -1;
    }
    q->n_notes++;
    return 0;
}

static int add_notes(const struct jp_step_labels *s, struct jp_quality *q)
{
    for (size_t i = 0; i < s->shapes.n_nodes; i++) {
        if (!s->shapes.nodes[i].note)
            continue;
        if (q->n_notes >= MAX_NOTES)
            q->notes_left_out++;
        else if (add_note(q, &s->shapes.nodes[i]) < 0)
            return -1;
    }
    return 0;
}

int steplabels_apply(const struct jp_step_labels *s, struct jp_result *result,
                     struct jp_error *err)
{
    struct texts *texts;
    int rc = 0;

    if (!s)
        return 0;
    texts = calloc(s->n_labels + 1, sizeof(*texts));
    for (size_t i = 0; texts && rc == 0 && i < s->n_labels; i++)
        rc = make_texts(s, &s->labels[i], &result->comms[i], &texts[i]);
    if (!texts || rc < 0 || add_notes(s, &result->quality) < 0) {
        free_texts(texts, s->n_labels);
        return error_set(err, "out of memory");
    }
    for (size_t i = 0; i < s->n_labels; i++)
        put_label(&s->labels[i], &texts[i], &result->comms[i]);
    free_texts(texts, s->n_labels);
    return 0;
}

const char *steplabels_gpu(const struct jp_step_labels *s)
{
    const char *model = NULL;

    for (size_t i = 0; s && i < s->shapes.n_shapes; i++) {
        const struct topo *topo = s->shapes.shapes[i].topo;

        for (size_t k = 0; topo && k < topo->n_gpus; k++) {
            if (!*topo->gpus[k].model ||
                (model && strcmp(model, topo->gpus[k].model)))
                return "";
            model = topo->gpus[k].model;
        }
    }
    return model ? model : "";
}
