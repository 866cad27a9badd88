/* topodraw_feature.c - the nodes' hardware in a report: pictures of it, and
 * what is odd about it, on the page and in summary.txt.
 *
 * It reads nothing: the labels of the report have the shapes of the nodes, and
 * where each rank is. The warnings are findings of summary.json without this
 * feature, too. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "orchestrator/feature/feature.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/report.h"
#include "orchestrator/report/sections.h"
#include "orchestrator/report/tables.h"
#include "orchestrator/topo/steplabels.h"
#include "orchestrator/topodraw/topodraw.h"

#define MAX_LINES 12   /* lines of summary.txt */
#define MAX_ITEMS 50   /* items of report.html */
#define MAX_SHAPES 12  /* pictures */
#define GPU_TEXT_MAX 3 /* ranks named for one GPU */
#define NAMES_MAX 60

/* The number of shapes that have GPUs: only these are drawn. */
static size_t count_drawn(const struct jp_step_labels *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->shapes.n_shapes; i++)
        n += l->shapes.shapes[i].topo->n_gpus > 0;
    return n;
}

/* Returns true if there is a topology worth showing: nodes without GPUs have
 * none. */
static bool is_telling(const struct jp_step_labels *l)
{
    return count_drawn(l) || l->n_warnings;
}

static bool has_labels(const struct jp_report *report)
{
    return report->labels != NULL;
}

/* --- summary.txt --------------------------------------------------------- */

/* Writes a shape, that is the hardware that several nodes have in common, and
 * the names of these nodes. Returns 0, or -1 when out of memory. */
static int text_shape(const struct jp_step_labels *l, size_t at, FILE *out)
{
    const struct jp_shape *shape = &l->shapes.shapes[at];
    char *names = shapes_names(&l->shapes, (int) at, NAMES_MAX);
    char links[160], letter[8];

    if (!names)
        return -1;
    topo_links_text(shape->topo, links, sizeof(links));
    text_out_line(out, "  shape %s  %s x %s  %zu GPUs, %zu HCAs  %s",
                  shapes_letter(at, letter), FIG_COUNT(shape->n_nodes),
                  *shape->topo->product ? shape->topo->product : "a machine",
                  shape->topo->n_gpus, shape->topo->n_hcas, links);
    text_out_line(out, "           %s", names);
    free(names);
    return 0;
}

static int put_text(const struct jp_report *report, FILE *out)
{
    const struct jp_step_labels *l = report->labels;

    if (!is_telling(l))
        return 0;
    fputs("\nTopology (more: jobprof topo)\n", out);
    /* a shape without GPUs says nothing about communicators */
    for (size_t i = 0; i < l->shapes.n_shapes && i < MAX_SHAPES; i++)
        if (l->shapes.shapes[i].topo->n_gpus && text_shape(l, i, out) < 0)
            return -1;
    for (size_t i = 0; i < l->n_warnings && i < MAX_LINES; i++) {
        const char *word = label_warning_word[l->warnings[i].kind];

        fprintf(out, "  ! %s: ", word);
        text_out_wrap(out, (unsigned) strlen(word) + 6, 6, l->warnings[i].text);
    }
    if (l->n_warnings > MAX_LINES)
        text_out_line(out, "  ... and %s more in summary.json",
                      FIG_COUNT(l->n_warnings - MAX_LINES));
    return 0;
}

/* --- report.html --------------------------------------------------------- */

/* Writes each warning with the communicator of most time and the advice. */
static void html_warnings(const struct jp_step_labels *l,
                          const struct jp_result *r, FILE *out)
{
    if (!l->n_warnings)
        return;
    fputs("<ul>", out);
    for (size_t i = 0; i < l->n_warnings && i < MAX_ITEMS; i++) {
        const struct jp_step_warning *w = &l->warnings[i];

        fprintf(out, "<li><b>%s</b> ", label_warning_word[w->kind]);
        html_out_short(out, w->text, 600);
        /* where it matters most: the communicator of most time */
        if (w->n_comms) {
            fprintf(out,
                    " <span class=\"soft\">(%s communicator%s, most time in ",
                    FIG_COUNT(w->n_comms), plural(w->n_comms));
            html_out_text(out, *rows_comm(r, w->comm)->name
                                   ? rows_comm(r, w->comm)->name
                                   : rows_comm(r, w->comm)->id);
            fputs(")</span>", out);
        }
        fprintf(out, " &rarr; %s</li>\n", label_warning_advice[w->kind]);
    }
    fputs("</ul>", out);
    if (l->n_warnings > MAX_ITEMS)
        fprintf(out, "<p class=\"note\">and %s more</p>",
                FIG_COUNT(l->n_warnings - MAX_ITEMS));
}

/* Whether a rank is on a GPU of a shape. */
static bool is_on(const struct jp_step_place *place,
                  const struct jp_step_labels *l, size_t shape)
{
    return place->node >= 0 && place->gpu >= 0 &&
           l->shapes.nodes[place->node].shape == (int) shape;
}

/* Returns the communicator with most ranks on a shape; among equals the
 * largest. Without any, n_comms. */
static size_t choose_comm(const struct jp_step_labels *l,
                          const struct jp_result *r, size_t shape)
{
    size_t best = r->n_comms, count = 0, most = 0;

    for (size_t i = 0, k; i < r->n_ranks; i = k) {
        size_t comm = r->ranks[i].comm;

        /* ranks are sorted by communicator: count one run */
        for (count = 0, k = i; k < r->n_ranks && r->ranks[k].comm == comm; k++)
            count += is_on(&l->places[k], l, shape);
        if (count > most || (count && count == most &&
                             r->comms[comm].n_ranks > r->comms[best].n_ranks)) {
            best = comm;
            most = count;
        }
    }
    return best;
}

/* Appends a rank to "r0 r8 r16 +5". *count: ranks so far. */
static int add_rank(char **text, unsigned *count, uint32_t rank)
{
    char *longer;

    /* "+5" replaces the last word */
    if (++*count > GPU_TEXT_MAX + 1) {
        char *plus = strrchr(*text, ' ');

        longer = text_format("%.*s +%u", (int) (plus - *text), *text,
                             *count - GPU_TEXT_MAX);
    } else if (*count == GPU_TEXT_MAX + 1) {
        longer = text_format("%s +1", *text);
    } else {
        longer = *text ? text_format("%s r%u", *text, rank)
                       : text_format("r%u", rank);
    }
    free(*text);
    *text = longer;
    return longer ? 0 : -1;
}

/* Writes the ranks of a communicator that are on each GPU of a shape to
 * gpu_text, whose texts the caller frees, also on failure. */
static int name_ranks(const struct jp_step_labels *l, const struct jp_result *r,
                      size_t shape, size_t comm, char *gpu_text[TOPO_MAX_GPUS])
{
    unsigned count[TOPO_MAX_GPUS] = {0};

    for (size_t i = 0; i < r->n_ranks; i++) {
        int gpu = l->places[i].gpu;

        if (r->ranks[i].comm == comm && is_on(&l->places[i], l, shape) &&
            add_rank(&gpu_text[gpu], &count[gpu], r->ranks[i].rank) < 0)
            return -1;
    }
    return 0;
}

/* Draws one shape as SVG. The ranks in the picture, if any, all belong to one
 * communicator, because ranks of several would be ambiguous. */
static int html_shape(const struct jp_step_labels *l, const struct jp_result *r,
                      size_t at, FILE *out)
{
    const struct jp_shape *shape = &l->shapes.shapes[at];
    size_t comm = choose_comm(l, r, at);
    char *gpu_text[TOPO_MAX_GPUS] = {NULL};
    char *names = shapes_names(&l->shapes, (int) at, NAMES_MAX);
    char title[300], letter[8], links[160];
    int rc = -1;

    if (!names || name_ranks(l, r, at, comm, gpu_text) < 0)
        goto out;
    topo_links_text(shape->topo, links, sizeof(links));
    snprintf(title, sizeof(title), "shape %s: %s, %s node%s: %s",
             shapes_letter(at, letter), shape->topo->product,
             FIG_COUNT(shape->n_nodes), plural(shape->n_nodes), names);
    fputs("<div class=\"scroll\">", out);
    topo_svg(shape->topo, (const char *const *) gpu_text, title, out);
    fprintf(out, "</div><p class=\"note\">%s", links);
    if (comm < r->n_comms) {
        fputs(". Ranks are those of communicator ", out);
        html_out_text(out, *r->comms[comm].name ? r->comms[comm].name
                                                : r->comms[comm].id);
    }
    fputs("</p>\n", out);
    rc = 0;
out:
    for (size_t i = 0; i < shape->topo->n_gpus; i++)
        free(gpu_text[i]);
    free(names);
    return rc;
}

/* Writes which nodes left no topology and why: at most 5 of them. */
static void html_missing(const struct jp_step_labels *l, FILE *out)
{
    size_t n = 0;

    for (size_t i = 0; i < l->shapes.n_nodes; i++)
        n += l->shapes.nodes[i].why != NULL;
    if (!n)
        return;
    fprintf(out,
            "<p class=\"note\">%s of %s nodes have no topology:", FIG_COUNT(n),
            FIG_COUNT(l->shapes.n_nodes));
    for (size_t i = 0, shown = 0; i < l->shapes.n_nodes && shown < 5; i++) {
        if (!l->shapes.nodes[i].why)
            continue;
        fputs(shown++ ? "; " : " ", out);
        html_out_text(out, l->shapes.nodes[i].name);
        fputs(" (", out);
        html_out_short(out, l->shapes.nodes[i].why, 200);
        fputc(')', out);
    }
    fputs("</p>\n", out);
}

static int put_section(const struct jp_report *report, FILE *out)
{
    const struct jp_step_labels *l = report->labels;
    const struct jp_result *r = report->result;
    size_t n = 0;

    if (!is_telling(l) || !r)
        return 0;
    html_warnings(l, r, out);
    /* one picture per shape, not per node */
    for (size_t i = 0; i < l->shapes.n_shapes && n < MAX_SHAPES; i++) {
        if (!l->shapes.shapes[i].topo->n_gpus)
            continue;
        n++;
        if (html_shape(l, r, i, out) < 0)
            return -1;
    }
    if (count_drawn(l) > n)
        fprintf(out, "<p class=\"note\">and %s more shapes: jobprof topo</p>\n",
                FIG_COUNT(count_drawn(l) - n));
    html_missing(l, out);
    return 0;
}

/* "1 type of node" */
static bool put_figure(const struct jp_report *report, char *buf)
{
    size_t n = report->labels->shapes.n_shapes;

    if (n)
        snprintf(buf, DRAWER_FIGURE, "%s type%s of node", FIG_COUNT(n),
                 plural(n));
    return n > 0;
}

static const struct jp_html_section sections[] = {
    {.id = "topology",
     .title = "Topology",
     .note = "The nodes' hardware, by their own records. The row of a "
             "communicator below shows how its label was derived.",
     .put = put_section,
     .figure = put_figure,
     .before = "communicators"},
    {.id = NULL}};

/* --- the feature ---------------------------------------------------------- */

/* Nodes without any topology have nothing to look at. */
static const char *command_of(const struct jp_report *report)
{
    return report->labels->shapes.n_shapes ? "jobprof topo" : NULL;
}

const struct feature feature_topodraw = {
    .name = "topodraw",
    .title = "topology",
    .role = FEATURE_HARDWARE,
    .present = has_labels,
    .text = put_text,
    .sections = sections,
    .network_command = command_of,
};
