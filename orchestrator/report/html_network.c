/* html_network.c - section: what the network did, and what was expected. */
#include <math.h>
#include <stdlib.h>

#include "common/figure.h"
#include "orchestrator/report/html_out.h"
#include "orchestrator/report/html_sections.h"
#include "orchestrator/report/netnames.h"

#define MAX_ROWS 200

bool html_network_present(const struct jp_report *report)
{
    return report->insight && report->insight->network.n;
}

/* "80 to 95"; "-" where there is none. */
static char *range(double low, double high, char *buf)
{
    snprintf(buf, NETNAMES_LEN, "%s to %s", FIG_GBS(low), FIG_GBS(high));
    if (!isfinite(low) || !isfinite(high))
        snprintf(buf, NETNAMES_LEN, "-");
    return buf;
}

static char *against(const struct jp_expected_bw *e, char *buf)
{
    if (e->against == JP_AGAINST_BASELINE)
        snprintf(buf, NETNAMES_LEN, "baseline, %s steps",
                 FIG_COUNT(e->reports));
    else if (e->against == JP_AGAINST_PEAKS)
        snprintf(buf, NETNAMES_LEN, "the site's peaks");
    else
        snprintf(buf, NETNAMES_LEN, "its own best");
    return buf;
}

static void put_row(FILE *out, const struct jp_netcell *c,
                    const struct jp_expected_bw *e)
{
    double measured = bwhist_quantile(&c->gbs, 0.5);
    double share = e->gbs > 0 ? measured / e->gbs : NAN;
    char buf[NETNAMES_LEN];

    html_out_row(out);
    html_out_cell(out, netnames_link(&c->key, buf));
    html_out_cell(out, netnames_shape(&c->key, buf));
    html_out_cell(out, c->key.coll);
    html_out_figure(out, FIG_BYTES(c->bytes), (double) c->bytes);
    html_out_figure(out, FIG_COUNT(c->gbs.total), (double) c->gbs.total);
    html_out_figure(out, FIG_GBS(measured), measured);
    html_out_figure(out,
                    range(bwhist_quantile(&c->gbs, 0.05),
                          bwhist_quantile(&c->gbs, 0.95), buf),
                    measured);
    html_out_figure(out, FIG_GBS(e->gbs), e->gbs);
    html_out_figure(out, range(e->low_gbs, e->high_gbs, buf), e->low_gbs);
    html_out_bar(out, FIG_SHARE(share), share, share < 1 ? share : 1);
    html_out_cell(out, against(e, buf));
    html_out_row_end(out);
}

/* A cell and its time. */
struct place {
    size_t cell;
    double time_us;
};

static int by_time(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->time_us != y->time_us)
        return x->time_us > y->time_us ? -1 : 1;
    return x->cell < y->cell ? -1 : x->cell > y->cell;
}

int html_network_put(const struct jp_report *report, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Runs over", "by the label, else NCCL's type", false},
        {"Communicators", NULL, false},
        {"Function", NULL, false},
        {"Size", "of the message, the least of its class", true},
        {"Ops", NULL, true},
        {"GB/s", "median over operations", true},
        {"p5 to p95", "over operations", true},
        {"Expected", "GB/s", true},
        {"Band", "least and peak, or p5 to p95 of the baseline", true},
        {"Share", "of what is expected", true},
        {"By", "who expects it", false},
    };
    const size_t n_columns = sizeof(columns) / sizeof(*columns);
    const struct jp_insight *x = report->insight;
    struct place *order = calloc(x->network.n + 1, sizeof(*order));
    size_t n = x->network.n < MAX_ROWS ? x->network.n : MAX_ROWS;

    if (!order)
        return -1;
    for (size_t i = 0; i < x->network.n; i++)
        order[i] = (struct place){i, x->network.at[i].time_us};
    qsort(order, x->network.n, sizeof(*order), by_time);
    html_out_chart(out, "network-size",
                   "The network&#39;s bandwidth by message size, and what was "
                   "expected");
    html_out_table(out, columns, n_columns, true);
    for (size_t i = 0; i < n; i++)
        put_row(out, &x->network.at[order[i].cell],
                &x->expected[order[i].cell]);
    html_out_table_end(out, n_columns, x->network.n - n, "csv/network.csv");
    free(order);
    return 0;
}
