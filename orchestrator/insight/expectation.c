/* expectation.c - the expected bandwidth of a communicator: from the site's
 * peaks first, then from the baseline. */
#include "orchestrator/insight/expectation.h"

#include <math.h>
#include <string.h>

#include "orchestrator/insight/limits.h"

const char *expectation_word(enum jp_against against)
{
    static const char *const words[JP_N_AGAINST] = {
        [JP_AGAINST_PEAKS] = "peaks",
        [JP_AGAINST_BASELINE] = "baseline",
        [JP_AGAINST_LIKES] = "likes",
        [JP_AGAINST_OWN] = "own",
    };

    return words[against];
}

/* Returns true for a label that names a link. */
static bool is_told(const char *word)
{
    return word && strcmp(word, "none") && strcmp(word, "unknown");
}

/* Lowers *bound (GB/s of bus bandwidth) to what one leg of a communicator can
 * do, if that is known and less; *row is then the row of peaks it comes from.
 */
static void weigh_leg(const struct jp_peaks *peaks, const struct peaks_leg *leg,
                      double *bound, const struct peaks_row **row)
{
    const struct peaks_row *found = peaks_find(peaks, leg);
    double own = found ? peaks_bound(found, leg) : INFINITY;

    if (own < *bound) {
        *bound = own;
        *row = found;
    }
}

/* Returns the row of the link that limits a communicator, and its bound:
 * between nodes the adapter that all ranks of a node share, within a node the
 * link of one rank. Without labels NCCL's type of the communicator serves as
 * the link. NULL: no peak is known; then nothing is claimed. */
static const struct peaks_row *find_row(const struct jp_expectation *x,
                                        const struct jp_comm *c,
                                        const char *coll, double *bound)
{
    uint32_t hosts = c->n_hosts > 1 ? (uint32_t) c->n_hosts : 1;
    bool crosses = hosts > 1 && (!c->inter || strcmp(c->inter, "none"));
    struct peaks_leg leg = {.gpu = x->gpu ? x->gpu : "",
                            .function = coll,
                            .n_ranks = c->n_ranks,
                            .ranks_per_node = 1};
    const struct peaks_row *row = NULL;

    if (crosses) {
        bool labelled = is_told(c->fabric) || is_told(c->inter);

        /* With uneven nodes the one with the fewest ranks limits all of them;
         * it may have a single rank. */
        leg.ranks_per_node = c->n_ranks % hosts ? 1 : c->n_ranks / hosts;
        leg.link = is_told(c->inter) ? c->inter : comm_type_name(c->type);
        if (!labelled || is_told(c->inter))
            weigh_leg(x->peaks, &leg, bound, &row);
        /* A node with one rank has no leg within the node. */
        if (!row || leg.ranks_per_node == 1)
            return row;
        leg.ranks_per_node = 1;
    } else if (!is_told(c->fabric)) {
        leg.link = comm_type_name(c->type);
        weigh_leg(x->peaks, &leg, bound, &row);
    }
    if (is_told(c->fabric)) {
        leg.link = c->fabric;
        weigh_leg(x->peaks, &leg, bound, &row);
    }
    return row;
}

/* Fills out from the peaks. Small messages cannot reach the peak, so `share` of
 * it is expected for this size. Slow is what takes `net_peaks_min` longer. */
static void find_peak(const struct jp_expectation *x, const struct jp_comm *c,
                      const char *coll, uint64_t bytes,
                      struct jp_expected_bw *out)
{
    double bound = INFINITY;
    const struct peaks_row *row = find_row(x, c, coll, &bound);
    double share = row ? peaks_share(row, bytes) : 0;

    if (!(share > 0))
        return;
    out->against = JP_AGAINST_PEAKS;
    out->gbs = bound * share;
    out->low_gbs = out->least_gbs = out->gbs /
                                    (1 + limits_get(JP_LIMIT_NET_PEAKS));
    out->high_gbs = bound;
}

/* Fills out from the baseline, if it has enough reports of the cell.
 *
 * The unit of comparison is a report's median, not an operation: operations of
 * one step depend on each other. Slow needs both: longer than the median report
 * by `net_baseline_min`, and `net_baseline_spread_min` times as far below it as
 * the 5 % quantile of reports. The first ignores differences that do not
 * matter; the second guards against false alarms where steps vary anyway.
 */
static void find_earlier(const struct jp_expectation *x,
                         const struct jp_comm *c, const char *coll,
                         uint64_t bytes, struct jp_expected_bw *out)
{
    const struct jp_baseline_cell *cell;
    struct jp_netkey key;
    double usual, low;

    netcells_key(c, x->gpu ? x->gpu : "", coll, bytes, &key);
    cell = baseline_find(x->baseline, &key);
    if (!cell)
        return;
    out->reports = cell->medians.total;
    if ((double) out->reports < limits_get(JP_LIMIT_NET_REPORTS))
        return;
    usual = bwhist_quantile(&cell->medians, 0.5);
    low = bwhist_quantile(&cell->medians, 0.05);
    out->against = JP_AGAINST_BASELINE;
    out->gbs = usual;
    out->least_gbs =
        fmax(0, fmin(usual / (1 + limits_get(JP_LIMIT_NET_BASELINE)),
                     usual - limits_get(JP_LIMIT_NET_SPREAD) * (usual - low)));
    out->low_gbs = bwhist_quantile(&cell->ops, 0.05);
    out->high_gbs = bwhist_quantile(&cell->ops, 0.95);
}

void expectation_find(const struct jp_expectation *x, const struct jp_comm *c,
                      const char *coll, uint64_t bytes,
                      struct jp_expected_bw *out)
{
    *out = (struct jp_expected_bw){
        .gbs = NAN, .least_gbs = NAN, .low_gbs = NAN, .high_gbs = NAN};
    if (x && x->peaks)
        find_peak(x, c, coll, bytes, out);
    if (x && x->baseline && out->against == JP_AGAINST_NOTHING)
        find_earlier(x, c, coll, bytes, out);
}
