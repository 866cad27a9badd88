/* json_network.c - the network's cells beside what was expected of them. */
#include "orchestrator/report/json_network.h"

#include <math.h>

#include "orchestrator/report/netkey_json.h"

static json_t *expectation_object(struct jp_json *j,
                                  const struct jp_expectation *x)
{
    json_t *object = json_out_object(j);

    json_out_text(j, object, "peaks", x && x->peaks ? x->peaks_path : NULL);
    json_out_text(j, object, "baseline",
                  x && x->baseline ? x->baseline_path : NULL);
    json_out_known(j, object, "baseline_reports", x && x->baseline,
                   x && x->baseline ? x->baseline->n_reports : 0);
    return object;
}

static json_t *expected_object(struct jp_json *j,
                               const struct jp_expected_bw *e)
{
    json_t *object = json_out_object(j);

    json_out_text(j, object, "against", expectation_word(e->against));
    json_out_real(j, object, "busbw_gbs", e->gbs);
    json_out_real(j, object, "least_gbs", e->least_gbs);
    json_out_real(j, object, "low_gbs", e->low_gbs);
    json_out_real(j, object, "high_gbs", e->high_gbs);
    json_out_known(j, object, "reports", e->against == JP_AGAINST_BASELINE,
                   e->reports);
    return object;
}

static json_t *cell_row(struct jp_json *j, const struct jp_netcell *cell,
                        const struct jp_expected_bw *e)
{
    json_t *row = json_out_object(j);

    netkey_put(j, row, &cell->key);
    json_out_count(j, row, "ops", cell->gbs.total);
    json_out_real(j, row, "time_us", round(cell->time_us));
    netkey_put_quantiles(j, row, "net_busbw_gbs", &cell->gbs);
    json_out_put(j, row, "expected", expected_object(j, e));
    netkey_put_hist(j, row, "histogram", &cell->gbs);
    return row;
}

void json_network_put(struct jp_json *j, json_t *root,
                      const struct jp_report *report)
{
    const struct jp_insight *insight = report->insight;
    json_t *list = json_out_array(j);

    for (size_t i = 0; insight && i < insight->network.n; i++)
        json_out_append(
            j, list,
            cell_row(j, &insight->network.at[i], &insight->expected[i]));
    json_out_put(j, root, "expectation",
                 expectation_object(j, report->expectation));
    json_out_put(j, root, "network", list);
}
