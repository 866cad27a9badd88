/* topology.c - the nodes' topology, and oddities of what communicators run
 * over, in summary.txt, summary.json and the page. */
#include "orchestrator/report/sections.h"

#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/table.h"
#include "orchestrator/report/tables.h"
#include "orchestrator/topo/shapes.h"

#define MAX_LINES 12    /* lines of summary.txt */
#define MAX_ITEMS 50    /* items of report.html */
#define MAX_FINDINGS 50 /* findings of summary.json */
#define MAX_SHAPES 12   /* pictures */
#define NAMES_MAX 60

/* Returns one sentence: what to do about a warning; "" for a warning of another
 * version. */
static const char *topology_advice(enum jp_warning_kind kind)
{
    static const char *const advice[JP_N_WARNINGS] = {
        [JP_WARN_NO_NVLINK] = "expect PCIe speed there; tensor parallelism "
                              "belongs on GPUs that NVLink joins",
        [JP_WARN_HCA_DOWN] = "check that port's cable, switch and driver",
        [JP_WARN_HCA_FAR] = "use GPUs near an HCA, or expect less bandwidth",
        [JP_WARN_HCA_SHARED] = "see what NCCL_IB_HCA leaves out, and whether "
                               "the idle one may be used",
        [JP_WARN_CROSS_RAIL] = "order ranks so that a group has the same local "
                               "rank on every node",
        [JP_WARN_MNNVL_OFF] = "check IMEX and NCCL_MNNVL_ENABLE",
        [JP_WARN_SPLIT_HOST] = "give its containers one NCCL_HOSTID and one "
                               "/dev/shm",
        [JP_WARN_FORCED_PATH] = "unset it unless it is intended",
        [JP_WARN_TCP] = "see why NCCL does not take the HCA: NCCL_IB_DISABLE, "
                        "NCCL_NET, libibverbs, permissions, a port down on "
                        "another node",
        [JP_WARN_DEAD_NVLINK] =
            "check that GPU's NVLinks (nvidia-smi nvlink -s)",
        [JP_WARN_ODD_NODE] = "drain it if steps with it are slower",
    };

    /* no advice for a kind that this table does not have */
    return (unsigned) kind < JP_N_WARNINGS && advice[kind] ? advice[kind] : "";
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

/* Returns true if there is a topology worth showing: nodes without GPUs have
 * none. */
static bool is_telling(const struct jp_step_labels *l)
{
    return l && (l->n_pictures || l->n_warnings);
}

int topology_text(const struct jp_step_labels *l, FILE *out)
{
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
        fprintf(out, " &rarr; %s</li>\n", topology_advice(w->kind));
    }
    fputs("</ul>", out);
    if (l->n_warnings > MAX_ITEMS)
        fprintf(out, "<p class=\"note\">and %s more</p>",
                FIG_COUNT(l->n_warnings - MAX_ITEMS));
}

/* Draws one shape as SVG. The ranks in the picture, if any, all belong to one
 * communicator, because ranks of several would be ambiguous. */
static int html_shape(const struct jp_step_labels *l,
                      const struct jp_step_picture *p,
                      const struct jp_result *r, FILE *out)
{
    const struct jp_shape *shape = &l->shapes.shapes[p->shape];
    char *names = shapes_names(&l->shapes, (int) p->shape, NAMES_MAX);
    char title[300], letter[8], links[160];

    if (!names)
        return -1;
    topo_links_text(shape->topo, links, sizeof(links));
    snprintf(title, sizeof(title), "shape %s: %s, %s node%s: %s",
             shapes_letter(p->shape, letter), shape->topo->product,
             FIG_COUNT(shape->n_nodes), plural(shape->n_nodes), names);
    /* the title has a copy */
    free(names);
    fputs("<div class=\"scroll\">", out);
    topo_svg(shape->topo, (const char *const *) p->gpu_text, title, out);
    fprintf(out, "</div><p class=\"note\">%s", links);
    if (p->comm < r->n_comms) {
        fputs(". Ranks are those of communicator ", out);
        html_out_text(out, *r->comms[p->comm].name ? r->comms[p->comm].name
                                                   : r->comms[p->comm].id);
    }
    fputs("</p>\n", out);
    return 0;
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

int topology_html(const struct jp_report *report, FILE *out)
{
    const struct jp_step_labels *l = report->labels;
    const struct jp_result *r = report->result;

    if (!is_telling(l) || !r)
        return 0;
    html_warnings(l, r, out);
    /* one picture per shape, not per node */
    for (size_t i = 0; i < l->n_pictures && i < MAX_SHAPES; i++)
        if (html_shape(l, &l->pictures[i], r, out) < 0)
            return -1;
    if (l->n_pictures > MAX_SHAPES)
        fprintf(out, "<p class=\"note\">and %s more shapes: jobprof topo</p>\n",
                FIG_COUNT(l->n_pictures - MAX_SHAPES));
    html_missing(l, out);
    return 0;
}

/* --- summary.json --------------------------------------------------------- */

void topology_findings(struct jp_json_stream *s, const struct jp_step_labels *l,
                       const struct jp_result *r)
{
    for (size_t i = 0; l && r && i < l->n_warnings && i < MAX_FINDINGS; i++) {
        const struct jp_step_warning *w = &l->warnings[i];

        json_stream_object(s, NULL);
        tables_finding(
            s, &(struct tables_finding){
                   .kind = "topology",
                   .comm = w->n_comms ? rows_comm(r, w->comm)->id : NULL,
                   .comm_index = w->comm,
                   .text = w->text,
                   .next = topology_advice(w->kind)});
        json_stream_text(s, "topology", label_warning_word[w->kind]);
        json_stream_end_object(s);
    }
}
