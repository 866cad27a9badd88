/* html_nodes.c - section: for which nodes the others waited. */
#include "orchestrator/report/html_sections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/report/html_out.h"
#include "orchestrator/report/procs.h"

#define MAX_ROWS 200

bool html_nodes_present(const struct jp_report *report)
{
    const struct jp_result *r = report->result;

    for (size_t i = 1; r && i < r->n_ranks; i++)
        if (r->ranks[i].host && r->ranks[0].host &&
            strcmp(r->ranks[i].host, r->ranks[0].host))
            return true;
    return false;
}

static void put_row(FILE *out, const struct jp_result *r,
                    const struct jp_proc_node *node, double full)
{
    double share = node->timed_ops
                       ? (double) node->last_ops / (double) node->timed_ops
                       : NAN;

    html_out_row(out);
    html_out_cell(out, *node->host ? node->host : "-");
    html_out_figure(out, FIG_COUNT(node->n_procs), node->n_procs);
    html_out_figure(out, FIG_SHARE(share), share);
    html_out_bar(out, FIG_US((double) node->caused_us),
                 (double) node->caused_us, (double) node->caused_us / full);
    if (r->quality.waits_unknown)
        html_out_figure(out, "-", NAN);
    else
        html_out_figure(out, FIG_US((double) node->wait_us),
                        (double) node->wait_us);
    html_out_row_end(out);
}

static void put_table(FILE *out, const struct jp_result *r,
                      const struct jp_procs *procs, const uint32_t *places,
                      size_t n)
{
    static const struct jp_html_column columns[] = {
        {"Node", NULL, false},
        {"Processes", "that left records", true},
        {"Last in",
         "share of its processes' operations in which one of them "
         "arrived last",
         true},
        {"Wait caused",
         "what other ranks waited for its processes, summed over ranks and "
         "operations",
         true},
        {"Own wait", "what its processes waited for others", true},
    };
    double full = n ? (double) procs->nodes[places[0]].caused_us : 0;

    html_out_table(out, columns, sizeof(columns) / sizeof(*columns), true);
    for (size_t i = 0; i < n; i++)
        put_row(out, r, &procs->nodes[places[i]], full > 0 ? full : 1);
    html_out_table_end(out, sizeof(columns) / sizeof(*columns),
                       procs->n_nodes - n, "csv/ranks.csv");
}

int html_nodes_put(const struct jp_report *report, FILE *out)
{
    struct jp_procs procs;
    uint32_t *places;
    size_t n = 0;
    int rc = -1;

    if (procs_make(report->result, &procs) < 0)
        return -1;
    places = procs_heaviest_nodes(&procs, MAX_ROWS, &n);
    if (places) {
        html_out_chart(out, "nodes", "Wait caused and suffered, by node");
        put_table(out, report->result, &procs, places, n);
        rc = 0;
    }
    free(places);
    procs_fini(&procs);
    return rc;
}
