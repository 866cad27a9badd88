/* proof_net.c - pictures of the network: bandwidth over the run beside its
 * baseline, by communicator, and between pairs of nodes.
 */
#include "orchestrator/report/proof.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/netcells.h"
#include "orchestrator/report/chart.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/table.h"

#define BARS_DRAWN 12
#define NODES_DRAWN 6

/* --- what is looked at: one function and size of communicators of a kind ---
 */

struct look {
    const struct jp_report *report;
    const struct jp_finding *f;
    const struct jp_cell *cell; /* the heaviest cell of the kind */
    const struct jp_comm *like; /* NULL: any communicator of the cell's type */
    struct jp_bwhist *slices;   /* by time, over the finding's communicators */
    struct jp_bwhist *comms;    /* by communicator, over all of the kind */
    /* before the change; or of the other communicators */
    struct jp_bwhist base;
    unsigned n_slices;
    double from_slice; /* slice of the change; NAN: none */
    bool failed;
};

static bool spans_host(const struct jp_comm *c, const char *host)
{
    for (size_t i = 0; i < c->n_hosts; i++)
        if (!strcmp(c->hosts[i], host))
            return true;
    return false;
}

/* Returns true if the finding is about this communicator. */
static bool is_slow(const struct look *l, size_t comm)
{
    if (l->f->comm >= 0)
        return (size_t) l->f->comm == comm;
    return !*l->f->host ||
           spans_host(rows_comm(l->report->result, comm), l->f->host);
}

/* Returns the cell of most time: of the finding's communicator, else of those
 * that span nodes, else of all. NULL: no cell has a network bandwidth. */
static const struct jp_cell *find_cell(const struct jp_report *report,
                                       const struct jp_comm *like)
{
    const struct jp_result *r = report->result;
    const struct jp_cell *best = NULL;
    double most = -1;

    for (size_t i = 0; i < r->n_cells; i++) {
        const struct jp_cell *c = &r->cells[i];
        double us = (double) c->exec.n * c->exec.mean;

        if (!c->net_busbw.n || (like && c->type != like->type))
            continue;
        if (!like && c->type == JP_COMM_NVLINK_ONLY)
            us /= 1e6;
        if (us > most) {
            most = us;
            best = c;
        }
    }
    return best;
}

static int take(void *arg, const struct jp_chart_op *op)
{
    struct look *l = arg;
    const struct jp_result *r = l->report->result;
    const struct jp_comm *comm = &r->comms[op->op->comm];
    uint32_t bucket;
    int rc = 0;

    if (comm->type != l->cell->type || op->op->bytes != l->cell->bytes ||
        strcmp(r->coll_names[op->op->coll], l->cell->coll) != 0 ||
        !(op->net_gbs > 0) || (l->like && comm->n_ranks != l->like->n_ranks))
        return 0;
    bucket = bwhist_bucket(op->net_gbs);
    rc = bwhist_add(&l->comms[op->op->comm], bucket, 1);
    if (rc == 0 && op->slice < l->n_slices && is_slow(l, op->op->comm)) {
        rc = bwhist_add(&l->slices[op->slice], bucket, 1);
        if (rc == 0 && (double) op->slice < l->from_slice)
            rc = bwhist_add(&l->base, bucket, 1);
    }
    return rc;
}

static void look_fini(struct look *l)
{
    for (unsigned i = 0; l->slices && i < l->n_slices; i++)
        bwhist_fini(&l->slices[i]);
    for (size_t i = 0; l->comms && i < l->report->result->n_comms; i++)
        bwhist_fini(&l->comms[i]);
    bwhist_fini(&l->base);
    free(l->slices);
    free(l->comms);
}

/* Returns 0; -1 when out of memory; 1 if there is nothing of the kind. Call
 * look_fini in any case. */
static int look_make(const struct jp_report *report, const struct jp_finding *f,
                     struct jp_chart_view *view, struct look *l)
{
    double from;

    *l = (struct look){.report = report, .f = f, .from_slice = NAN};
    if (f->comm >= 0)
        l->like = rows_comm(report->result, (size_t) f->comm);
    l->cell = find_cell(report, l->like);
    if (!l->cell || !view->slices)
        return 1;
    l->n_slices = view->slices;
    l->slices = calloc(l->n_slices, sizeof(*l->slices));
    l->comms = calloc(report->result->n_comms + 1, sizeof(*l->comms));
    from = (f->from_us - (double) view->from_us) / (double) view->width_us;
    l->from_slice = isfinite(from) && from > 0    ? from
                    : f->kind == JP_FINDING_DRIFT ? (double) l->n_slices / 10
                                                  : NAN;
    if (!l->slices || !l->comms)
        return -1;
    return chart_view_walk(view, take, l);
}

/* --- bandwidth over the run -------------------------------------------------
 */

/* The usual range and its middle. */
struct band {
    double low, mid, high; /* GB/s; NAN: unknown */
    const char *what;
};

static struct band find_band(const struct look *l)
{
    const struct jp_insight *x = l->report->insight;
    struct band band = {NAN, NAN, NAN, ""};

    if (l->base.total) {
        band = (struct band){
            bwhist_quantile(&l->base, 0.1), bwhist_quantile(&l->base, 0.5),
            bwhist_quantile(&l->base, 0.9), "before the change"};
        if (l->f->kind == JP_FINDING_DRIFT)
            band.what = "in the first tenth";
        return band;
    }
    for (size_t i = 0; x && i < x->network.n; i++) {
        const struct jp_netcell *c = &x->network.at[i];

        if (!strcmp(c->key.coll, l->cell->coll) &&
            c->key.type == l->cell->type &&
            c->key.size == netcells_size(l->cell->bytes) &&
            x->expected[i].gbs > 0)
            band = (struct band){x->expected[i].low_gbs, x->expected[i].gbs,
                                 x->expected[i].high_gbs, "expected"};
    }
    return band;
}

static double y_of(double gbs, double most)
{
    return 100 - 100 * gbs / most;
}

static void put_band(FILE *out, const struct look *l, const struct band *band,
                     double most)
{
    if (!isfinite(band->mid))
        return;
    if (isfinite(band->low) && isfinite(band->high))
        fprintf(out,
                "<rect class=\"band\" x=\"0\" y=\"%.2f\" width=\"%u\" "
                "height=\"%.2f\"/>",
                y_of(band->high, most), l->n_slices,
                y_of(band->low, most) - y_of(band->high, most));
    fprintf(out,
            "<line class=\"base\" x1=\"0\" x2=\"%u\" y1=\"%.2f\" "
            "y2=\"%.2f\"/>",
            l->n_slices, y_of(band->mid, most), y_of(band->mid, most));
}

/* The line is broken at slices without a value. */
static void put_line(FILE *out, const struct look *l, double most)
{
    bool down = false;

    fputs("<path class=\"series\" d=\"", out);
    for (unsigned i = 0; i < l->n_slices; i++) {
        if (!l->slices[i].total) {
            down = false;
            continue;
        }
        fprintf(out, "%c%.1f %.2f", down ? 'L' : 'M', i + 0.5,
                y_of(bwhist_quantile(&l->slices[i], 0.5), most));
        down = true;
    }
    fputs("\"/>", out);
}

static double find_most(const struct look *l, const struct band *band)
{
    double most = isfinite(band->high) ? band->high : 0;

    if (isfinite(band->mid))
        most = fmax(most, band->mid);
    for (unsigned i = 0; i < l->n_slices; i++)
        if (l->slices[i].total)
            most = fmax(most, bwhist_quantile(&l->slices[i], 0.5));
    return 1.08 * most;
}

static void put_labels(FILE *out, const struct look *l,
                       const struct jp_chart_view *view,
                       const struct band *band)
{
    bool changed = isfinite(l->f->from_us) && isfinite(l->from_slice) &&
                   l->f->kind != JP_FINDING_DRIFT;

    fprintf(out, "<div class=\"scale\"><span>%s</span>",
            FIG_UTC(view->from_us));
    if (changed)
        fprintf(out, "<span class=\"limit\">slower from %s on</span>",
                FIG_UTC((uint64_t) l->f->from_us) + 11);
    fprintf(out, "<span>+%s</span></div>\n",
            FIG_US((double) (view->width_us * view->slices)));
    fputs("<p class=\"key\"><i class=\"series\"></i> network&#39;s bandwidth, "
          "median",
          out);
    if (isfinite(band->mid))
        fprintf(out, " <i class=\"band\"></i> %s: %s GB/s", band->what,
                FIG_GBS(band->mid));
    fputs("</p>\n", out);
}

static void put_caption(FILE *out, const struct look *l, const char *kind,
                        const char *how)
{
    char caption[200];

    snprintf(caption, sizeof(caption),
             "Network bandwidth of %.40s of %s%s%s, %s", l->cell->coll,
             FIG_BYTES(l->cell->bytes), l->like ? " in " : "",
             l->like && *l->like->name ? l->like->name
             : l->like                 ? l->like->id
                                       : "",
             how);
    html_out_proof(out, kind, caption);
}

static int put_course(const struct look *l, const struct jp_chart_view *view,
                      FILE *out)
{
    struct band band = find_band(l);
    double most = find_most(l, &band);

    if (!(most > 0))
        return 1;
    put_caption(out, l, "course", "over the run");
    fprintf(out,
            "<div class=\"plot\"><span class=\"top\">%s GB/s</span>"
            "<svg viewBox=\"0 0 %u 100\" preserveAspectRatio=\"none\" "
            "aria-hidden=\"true\">",
            FIG_GBS(most), l->n_slices);
    put_band(out, l, &band, most);
    if (isfinite(l->f->from_us) && isfinite(l->from_slice) &&
        l->f->kind != JP_FINDING_DRIFT)
        fprintf(out,
                "<line class=\"limit\" x1=\"%.2f\" x2=\"%.2f\" y1=\"0\" "
                "y2=\"100\"/>",
                l->from_slice, l->from_slice);
    put_line(out, l, most);
    fputs("</svg></div>\n", out);
    put_labels(out, l, view, &band);
    html_out_proof_end(out, NULL);
    return 0;
}

/* --- by communicator --------------------------------------------------------
 */

struct bar {
    size_t comm;
    double gbs;
    bool hit;
};

static int by_gbs(const void *a, const void *b)
{
    const struct bar *x = a, *y = b;

    if (x->gbs != y->gbs)
        return x->gbs < y->gbs ? -1 : 1;
    return x->comm < y->comm ? -1 : 1;
}

static void put_bar(FILE *out, const struct jp_comm *c, const struct bar *bar,
                    double most)
{
    fprintf(out, "<div class=\"row%s\"><span class=\"who\"><strong>",
            bar->hit ? " hit" : "");
    html_out_short(out, *c->name ? c->name : c->id, 24);
    fputs("</strong> ", out);
    for (size_t i = 0; i < c->n_hosts && i < 2; i++) {
        fputs(i ? ", " : "", out);
        html_out_short(out, c->hosts[i], 24);
    }
    fprintf(out,
            "%s</span><svg class=\"cells\" viewBox=\"0 0 100 1\" "
            "preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect "
            "class=\"%s\" width=\"%.1f\" height=\"1\"/></svg><span "
            "class=\"num\">%s GB/s</span></div>\n",
            c->n_hosts > 2 ? ", ..." : "", bar->hit ? "col hit" : "col",
            100 * bar->gbs / most, FIG_GBS(bar->gbs));
}

static int put_bars(const struct look *l, FILE *out)
{
    const struct jp_result *r = l->report->result;
    struct bar *bars = calloc(r->n_comms + 1, sizeof(*bars));
    size_t n = 0;
    char note[120] = "";

    if (!bars)
        return -1;
    for (size_t c = 0; c < r->n_comms; c++)
        if (l->comms[c].total)
            bars[n++] = (struct bar){c, bwhist_quantile(&l->comms[c], 0.5),
                                     is_slow(l, c)};
    if (n < 2) {
        free(bars);
        return 1;
    }
    qsort(bars, n, sizeof(*bars), by_gbs);
    put_caption(out, l, "bars", "by communicator, slowest first");
    for (size_t i = 0; i < n && i < BARS_DRAWN; i++)
        put_bar(out, &r->comms[bars[i].comm], &bars[i], bars[n - 1].gbs);
    if (n > BARS_DRAWN)
        snprintf(note, sizeof(note), "%s more, up to %s GB/s.",
                 FIG_COUNT(n - BARS_DRAWN), FIG_GBS(bars[n - 1].gbs));
    html_out_proof_end(out, note);
    free(bars);
    return 0;
}

/* --- between pairs of nodes --------------------------------------------------
 */

/* GB/s, from both sides' records; NAN: no message. */
static double pair_gbs(const struct jp_result *r, const char *from,
                       const char *to)
{
    uint64_t bytes = 0, us = 0;

    for (size_t i = 0; i < r->n_p2p_nodes; i++) {
        const struct jp_p2p_node *p = &r->p2p_nodes[i];

        if (strcmp(p->src_host, from) != 0 || strcmp(p->dst_host, to) != 0)
            continue;
        bytes += p->bytes;
        us += p->exec_us;
    }
    return us ? (double) bytes / (double) us / 1e3 : NAN;
}

static bool has_messages(const struct jp_result *r, const char *host)
{
    for (size_t i = 0; i < r->n_p2p_nodes; i++)
        if (strcmp(r->p2p_nodes[i].src_host, r->p2p_nodes[i].dst_host) != 0 &&
            (!strcmp(r->p2p_nodes[i].src_host, host) ||
             !strcmp(r->p2p_nodes[i].dst_host, host)))
            return true;
    return false;
}

/* Picks the finding's nodes first, then nodes that exchange data with them,
 * then others. Returns their number. */
static size_t pick_nodes(const struct jp_result *r, const char *text,
                         const char **nodes)
{
    size_t n = 0;

    for (int round = 0; round < 3; round++)
        for (size_t h = 0; h < r->n_hosts && n < NODES_DRAWN; h++) {
            const char *host = r->hosts[h];
            const char *at = strstr(text, host);
            bool named = at &&
                         !(at[strlen(host)] >= '0' && at[strlen(host)] <= '9');
            bool near = false, is = false;

            for (size_t k = 0; k < n; k++) {
                is |= nodes[k] == host;
                near |= isfinite(pair_gbs(r, nodes[k], host));
            }
            if (!is && *host && has_messages(r, host) &&
                (round == 0   ? named
                 : round == 1 ? near
                              : true))
                nodes[n++] = host;
        }
    return n;
}

static int put_matrix(const struct jp_report *report,
                      const struct jp_finding *f, FILE *out)
{
    const struct jp_result *r = report->result;
    const char *nodes[NODES_DRAWN];
    size_t n = pick_nodes(r, f->text, nodes);
    double most = 0, least = INFINITY;

    for (size_t i = 0; i < n * n; i++) {
        double gbs = i / n == i % n ? NAN
                                    : pair_gbs(r, nodes[i / n], nodes[i % n]);

        if (isfinite(gbs)) {
            most = fmax(most, gbs);
            least = fmin(least, gbs);
        }
    }
    if (n < 2 || !(most > 0))
        return 1;
    html_out_proof(out, "matrix",
                   "Bandwidth of Send and Recv between nodes, GB/s");
    fputs("<div class=\"scroll\"><table><thead><tr><th scope=\"col\">from "
          "\\ to</th>",
          out);
    for (size_t k = 0; k < n; k++) {
        fputs("<th scope=\"col\">", out);
        html_out_short(out, nodes[k], 20);
        fputs("</th>", out);
    }
    fputs("</tr></thead><tbody>\n", out);
    for (size_t i = 0; i < n; i++) {
        fputs("<tr><th scope=\"row\">", out);
        html_out_short(out, nodes[i], 20);
        fputs("</th>", out);
        for (size_t k = 0; k < n; k++) {
            double gbs = i == k ? NAN : pair_gbs(r, nodes[i], nodes[k]);

            if (!isfinite(gbs))
                fputs("<td>&middot;</td>", out);
            else
                fprintf(out, "<td class=\"%s\">%s</td>",
                        gbs <= least * 1.05 && least < 0.9 * most ? "hit"
                                                                  : "fill",
                        FIG_GBS(gbs));
        }
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
    html_out_proof_end(out, "Marked: the slowest. A dot: no message.");
    return 0;
}

int proof_network(const struct jp_report *report, const struct jp_finding *f,
                  FILE *out)
{
    struct jp_chart_view view;
    struct look l;
    int rc;

    if (!f || !report->result || !report->processes)
        return 1;
    if (f->messages)
        return put_matrix(report, f, out);
    if (chart_view_make(report->result, report->processes, &view) < 0)
        return -1;
    rc = look_make(report, f, &view, &l);
    if (rc == 0 && f->against == JP_AGAINST_LIKES)
        rc = put_bars(&l, out);
    else if (rc == 0)
        rc = put_course(&l, &view, out);
    look_fini(&l);
    chart_view_fini(&view);
    return rc;
}
