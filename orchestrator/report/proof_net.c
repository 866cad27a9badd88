/* proof_net.c - pictures of the network: bandwidth over the run beside its
 * baseline, by communicator, and between pairs of nodes.
 *
 * proof_network chooses one of the three. For the first two, look_make picks
 * the function and size of most time (find_cell) and sorts its operations into
 * histograms: by slice of time and by communicator, and before and after the
 * change that the finding names. */
#include "orchestrator/report/proof.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/netcells.h"
#include "orchestrator/report/chart.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/picture.h"
#include "orchestrator/report/table.h"

#define BARS_DRAWN 12 /* the slowest communicators */
#define NODES_DRAWN 6 /* rows of the matrix */

/* --- operations of one function and size --- */

/* The operations that a picture is about, sorted into histograms of GB/s. */
struct look {
    const struct jp_report *report;
    const struct jp_finding *f;
    const struct jp_cell *cell; /* the heaviest of the kind */
    const struct jp_comm *like; /* NULL: any of the cell's type */
    struct jp_bwhist *slices;   /* of the finding's communicators, by time */
    struct jp_bwhist *others;   /* of the others, by time */
    struct jp_bwhist *sides[2]; /* by communicator: before and after the
                                   change; NULL once `slow` is known */
    bool *slow;                 /* by communicator: it became slower; NULL: it
                                   is unknown which ones did */
    struct jp_bwhist after;     /* after the change; without one, of the
                                   whole run */
    struct jp_bwhist *comms;    /* of every communicator of the kind */
    struct jp_bwhist base;      /* before the change */
    unsigned n_slices;          /* slices of the run, as in the view */
    double from_slice;          /* slice of the change; NAN: none */
    bool failed;
};

/* Returns true if a rank of the communicator ran on the host. */
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
    /* the first walk decided */
    if (l->slow)
        return l->slow[comm];
    /* no node is named: all communicators of the kind */
    return !*l->f->host ||
           spans_host(rows_comm(l->report->result, comm), l->f->host);
}

/* Returns the cell of most time of the finding's communicator type, or of any
 * type if the finding names no communicator. NULL: no cell has a network
 * bandwidth. */
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
            /* cells within a node only if nothing else is there */
            us /= 1e6;
        if (us > most) {
            most = us;
            best = c;
        }
    }
    return best;
}

/* Returns -1 for a slice before the change, 1 for one after it, 0 for neither.
 * A drift is measured from the first tenth of the run to the last one. */
static int side_of(const struct look *l, unsigned slice)
{
    double n = (double) l->n_slices, at = (double) slice;

    if (!isfinite(l->from_slice) || slice >= l->n_slices)
        return 0;
    if (at < l->from_slice)
        return -1;
    if (l->f->kind == JP_FINDING_DRIFT)
        return at >= 0.9 * n;
    return at > l->from_slice;
}

/* Returns true if the operation is of the chosen function and size, in a
 * communicator of the finding's size. */
static bool is_looked_at(const struct look *l, const struct jp_chart_op *op)
{
    const struct jp_result *r = l->report->result;
    const struct jp_comm *comm = &r->comms[op->op->comm];

    return comm->type == l->cell->type && op->op->bytes == l->cell->bytes &&
           !strcmp(r->coll_names[op->op->coll], l->cell->coll) &&
           op->net_gbs > 0 && (!l->like || comm->n_ranks == l->like->n_ranks);
}

/* First walk: sorts operations by communicator and side of the change. Returns
 * 0, or -1 when out of memory. */
static int take_side(void *arg, const struct jp_chart_op *op)
{
    struct look *l = arg;
    int side = side_of(l, op->slice);

    /* near the change, or of another kind */
    if (!side || !is_looked_at(l, op))
        return 0;
    return bwhist_add(&l->sides[side > 0][op->op->comm],
                      bwhist_bucket(op->net_gbs), 1);
}

/* Second walk: sorts operations by communicator, by slice, and into those
 * before and after the change. Returns 0, or -1 when out of memory. */
static int sort_operation(void *arg, const struct jp_chart_op *op)
{
    struct look *l = arg;
    uint32_t bucket;
    int rc, side;

    if (!is_looked_at(l, op))
        return 0;
    bucket = bwhist_bucket(op->net_gbs);
    rc = bwhist_add(&l->comms[op->op->comm], bucket, 1);
    /* an operation without a time is in no slice */
    if (rc < 0 || op->slice >= l->n_slices)
        return rc;
    if (!is_slow(l, op->op->comm))
        return bwhist_add(&l->others[op->slice], bucket, 1);
    rc = bwhist_add(&l->slices[op->slice], bucket, 1);
    side = isfinite(l->from_slice) ? side_of(l, op->slice) : 1;
    if (rc == 0 && side)
        rc = bwhist_add(side < 0 ? &l->base : &l->after, bucket, 1);
    return rc;
}

/* Frees n histograms and the list; accepts NULL. */
static void hists_free(struct jp_bwhist *list, size_t n)
{
    for (size_t i = 0; list && i < n; i++)
        bwhist_fini(&list[i]);
    free(list);
}

static void sides_free(struct look *l)
{
    for (int side = 0; side < 2; side++) {
        hists_free(l->sides[side], l->report->result->n_comms);
        l->sides[side] = NULL;
    }
}

static void look_fini(struct look *l)
{
    hists_free(l->slices, l->n_slices);
    hists_free(l->others, l->n_slices);
    hists_free(l->comms, l->report->result->n_comms);
    sides_free(l);
    bwhist_fini(&l->base);
    bwhist_fini(&l->after);
    free(l->slow);
}

/* Finds which communicators became slower: by at least half of the ratio that
 * the finding gives. If the finding names a communicator or a node, or if none
 * became slower, l->slow stays NULL, and all that the finding is about are
 * drawn. Returns 0, or -1 when out of memory. */
static int find_slow(struct look *l, const struct jp_chart_view *view)
{
    size_t n = l->report->result->n_comms, found = 0;
    /* half of the slowdown that the finding gives */
    double least = 1 + (l->f->ratio - 1) / 2;
    bool *slow;
    int rc;

    if (l->f->comm >= 0 || *l->f->host || !isfinite(l->from_slice) ||
        !(l->f->ratio > 1))
        return 0;
    l->sides[0] = calloc(n + 1, sizeof(*l->sides[0]));
    l->sides[1] = calloc(n + 1, sizeof(*l->sides[1]));
    slow = calloc(n + 1, sizeof(*slow));
    rc = l->sides[0] && l->sides[1] && slow
             ? chart_view_walk(view, take_side, l)
             : -1;
    for (size_t c = 0; rc == 0 && c < n; c++)
        /* only communicators with operations on both sides can be compared */
        if (l->sides[0][c].total && l->sides[1][c].total) {
            slow[c] = bwhist_quantile(&l->sides[0][c], 0.5) >
                      least * bwhist_quantile(&l->sides[1][c], 0.5);
            found += slow[c];
        }
    sides_free(l);
    if (found)
        l->slow = slow;
    else
        free(slow);
    return rc;
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
    l->others = calloc(l->n_slices, sizeof(*l->others));
    l->comms = calloc(report->result->n_comms + 1, sizeof(*l->comms));
    /* the slice in which the change began, with a fraction */
    from = (f->from_us - (double) view->from_us) / (double) view->width_us;
    l->from_slice = isfinite(from) && from > 0    ? from
                    : f->kind == JP_FINDING_DRIFT ? (double) l->n_slices / 10
                                                  : NAN;
    if (!l->slices || !l->others || !l->comms || find_slow(l, view) < 0)
        return -1;
    return chart_view_walk(view, sort_operation, l);
}

/* --- bandwidth over the run ----------------------------------------------- */

/* The usual range of bandwidth, and its middle. */
struct band {
    double low, mid, high; /* GB/s; NAN: unknown */
    const char *what;
};

/* Returns what the band is called in the key. */
static const char *expected_words(enum jp_against against)
{
    return against == JP_AGAINST_PEAKS      ? "by its peak"
           : against == JP_AGAINST_BASELINE ? "in earlier steps"
                                            : "expected";
}

/* Returns what the bandwidth is compared with: the operations before the
 * change, else the expectation of the heaviest cell of this kind, else nothing.
 */
static struct band find_band(const struct look *l)
{
    const struct jp_insight *x = l->report->insight;
    struct band band = {NAN, NAN, NAN, ""};
    double most = 0;

    /* the run itself is the best comparison */
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
            x->expected[i].gbs > 0 && c->time_us > most) {
            most = c->time_us; /* of several shapes, the heaviest */
            band = (struct band){x->expected[i].low_gbs, x->expected[i].gbs,
                                 x->expected[i].high_gbs,
                                 expected_words(x->expected[i].against)};
        }
    }
    return band;
}

/* Writes the median of each slice; NaN where a slice has no operations. */
static void put_medians(struct jp_json_stream *figures, const char *key,
                        const struct jp_bwhist *slices, unsigned n)
{
    json_stream_array(figures, key);
    for (unsigned i = 0; i < n; i++)
        json_stream_real(figures, NULL,
                         slices[i].total ? bwhist_quantile(&slices[i], 0.5)
                                         : NAN);
    json_stream_end_array(figures);
}

/* Returns the highest median of a slice; 0 if no slice has operations. */
static double highest(const struct jp_bwhist *slices, unsigned n)
{
    double most = 0;

    for (unsigned i = 0; i < n; i++)
        if (slices[i].total)
            most = fmax(most, bwhist_quantile(&slices[i], 0.5));
    return most;
}

/* Returns the upper end of the axis, with a small margin. */
static double find_most(const struct look *l, const struct band *band)
{
    double most = isfinite(band->high) ? band->high : 0;

    if (isfinite(band->mid))
        most = fmax(most, band->mid);
    most = fmax(most, highest(l->slices, l->n_slices));
    return 1.08 * fmax(most, highest(l->others, l->n_slices));
}

/* Returns true if the finding has a moment from which on it was slower. A drift
 * has none. */
static bool has_change(const struct look *l)
{
    return isfinite(l->f->from_us) && isfinite(l->from_slice) &&
           l->f->kind != JP_FINDING_DRIFT;
}

/* Writes the words of the change above its line. They end at the line if it is
 * far to the right, so that they stay in the picture. */
static void put_change(FILE *out, const struct look *l,
                       const struct jp_chart_view *view)
{
    double at = 100 * l->from_slice / l->n_slices;

    fprintf(out,
            "<span class=\"at\" style=\"%s:%.1f%%\">slower from +%s on"
            "</span>",
            at > 60 ? "right" : "left", at > 60 ? 100 - at : at,
            FIG_US(l->f->from_us - (double) view->from_us));
}

/* Writes the ends of the time axis, and the key with the figures. */
static void put_labels(FILE *out, const struct look *l,
                       const struct jp_chart_view *view,
                       const struct band *band)
{
    fprintf(out, "<div class=\"scale\"><span>%s</span>",
            FIG_UTC(view->from_us));
    fprintf(out, "<span>+%s</span></div>\n",
            FIG_US((double) (view->width_us * view->slices)));
    fputs("<p class=\"key\"><i class=\"series\"></i> median", out);
    if (l->after.total)
        fprintf(out, " %s: <strong>%s GB/s</strong>",
                l->f->kind == JP_FINDING_DRIFT ? "in the last tenth"
                : has_change(l)                ? "since the change"
                                               : "in this step",
                FIG_GBS(bwhist_quantile(&l->after, 0.5)));
    /* only what the picture shows is in its key */
    if (isfinite(band->mid))
        fprintf(out, " <i class=\"band\"></i> %s: <strong>%s GB/s</strong>",
                band->what, FIG_GBS(band->mid));
    if (highest(l->others, l->n_slices) > 0)
        fputs(" <i class=\"others\"></i> the other communicators", out);
    fputs("</p>\n", out);
}

/* Opens the picture. The caption names function, size, and the communicators.
 * how: further words. */
static void put_caption(FILE *out, const struct look *l, const char *kind,
                        const char *how)
{
    char caption[240], where[80] = "";
    size_t slow = 0;

    for (size_t c = 0; l->slow && c < l->report->result->n_comms; c++)
        slow += l->slow[c];
    if (l->like)
        snprintf(where, sizeof(where), " in %.60s",
                 *l->like->name ? l->like->name : l->like->id);
    else if (slow && slow < l->f->comms) /* the others have other sizes */
        snprintf(where, sizeof(where), " in %s of the %s communicators",
                 FIG_COUNT(slow), FIG_COUNT(l->f->comms));
    else if (slow)
        snprintf(where, sizeof(where), " in %s communicator%s", FIG_COUNT(slow),
                 plural(slow));
    snprintf(caption, sizeof(caption), "Network bandwidth of %.40s of %s%s%s",
             l->cell->coll, FIG_BYTES(l->cell->bytes), where, how);
    html_out_proof(out, kind, caption);
}

/* Draws the bandwidth over the run. Returns 0, or 1 if there is none. */
static int put_course(const struct look *l, const struct jp_chart_view *view,
                      FILE *out)
{
    struct band band = find_band(l);
    double most = find_most(l, &band);
    struct jp_json_stream figures;

    if (!(most > 0))
        return 1;
    put_caption(out, l, "course", "");
    fprintf(out,
            "<div class=\"plot\"><span class=\"top\">%s GB/s</span>"
            "<span class=\"zero\">0</span>",
            FIG_GBS(most));
    if (has_change(l))
        put_change(out, l, view);
    picture_begin(&figures, "course", out);
    json_stream_real(&figures, "most", most);
    picture_numbers(&figures, "band",
                    (const double[]){band.low, band.mid, band.high}, 3);
    json_stream_real(&figures, "change", has_change(l) ? l->from_slice : NAN);
    put_medians(&figures, "others", l->others, l->n_slices);
    put_medians(&figures, "series", l->slices, l->n_slices);
    picture_end(&figures);
    fputs("</div>\n", out);
    put_labels(out, l, view, &band);
    html_out_proof_end(out, NULL);
    return 0;
}

/* --- by communicator ------------------------------------------------------ */

/* A communicator's median bandwidth; hit: the finding is about it. */
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

/* Draws a communicator's bar, relative to the fastest. */
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
    fprintf(out, "%s</span>", c->n_hosts > 2 ? ", ..." : "");
    picture_bar(out, bar->gbs / most, bar->hit ? "hit" : "");
    fprintf(out, "<span class=\"num\">%s GB/s</span></div>\n",
            FIG_GBS(bar->gbs));
}

/* Draws the communicators of the kind, slowest first. Returns as a
 * proof_picture. */
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
    /* of several that have no node in common, those that are slowest */
    for (size_t i = 0; l->f->comm < 0 && !*l->f->host && i < n; i++)
        bars[i].hit = i < l->f->comms;
    put_caption(out, l, "bars", ", by communicator, slowest first");
    for (size_t i = 0; i < n && i < BARS_DRAWN; i++)
        put_bar(out, &r->comms[bars[i].comm], &bars[i], bars[n - 1].gbs);
    if (n > BARS_DRAWN)
        snprintf(note, sizeof(note), "%s more, up to %s GB/s.",
                 FIG_COUNT(n - BARS_DRAWN), FIG_GBS(bars[n - 1].gbs));
    html_out_proof_end(out, note);
    free(bars);
    return 0;
}

/* --- between pairs of nodes ----------------------------------------------- */

/* Returns the bandwidth from one node to another, GB/s, from the records of
 * both sides; NaN if there was no message. */
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
    /* 1 byte per us is 1e6 bytes a second, a thousandth of 1 GB/s */
    return us ? (double) bytes / (double) us / 1e3 : NAN;
}

/* Returns true if the node exchanged data with another one. */
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

    /* round 0: named; 1: with messages to or from those; 2: any */
    for (int round = 0; round < 3; round++)
        for (size_t h = 0; h < r->n_hosts && n < NODES_DRAWN; h++) {
            const char *host = r->hosts[h];
            const char *at = strstr(text, host);
            /* the name must not be the start of a longer one: node1 in node12
             */
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

/* Draws the bandwidths between the nodes that the finding names and some
 * others. Returns as a proof_picture. */
static int put_matrix(const struct jp_report *report,
                      const struct jp_finding *f, FILE *out)
{
    const struct jp_result *r = report->result;
    const char *nodes[NODES_DRAWN];
    size_t n = pick_nodes(r, f->text, nodes);
    double most = 0, least = INFINITY;

    /* the range first: the marks depend on it */
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

            /* the same node, or no message */
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
    /* the finding is about Send and Recv */
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
