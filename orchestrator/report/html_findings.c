/* html_findings.c - section: what was found wrong, and what to do about it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "common/figure.h"
#include "orchestrator/report/html_out.h"
#include "orchestrator/report/html_sections.h"

#define MAX_ROWS 50

bool html_findings_present(const struct jp_report *report)
{
    return report->insight && report->result && report->insight->findings.n;
}

/* "rank 3 of TP1, world rank 19, gpu-node-0312, pid 4711", as far as known. */
static void put_who(FILE *out, const struct jp_result *r,
                    const struct jp_finding *f)
{
    const struct jp_comm *comm = f->comm >= 0 && (uint64_t) f->comm < r->n_comms
                                     ? &r->comms[f->comm]
                                     : NULL;
    char text[400];
    size_t n = 0;

    text[0] = '\0';
    if (f->rank >= 0)
        n += (size_t) snprintf(text + n, sizeof(text) - n, "rank %" PRId64 "%s",
                               f->rank, comm ? " of " : "");
    if (comm)
        n += (size_t) snprintf(text + n, sizeof(text) - n, "%.64s",
                               comm->name && *comm->name ? comm->name
                                                         : comm->id);
    if (f->world_rank >= 0)
        n += (size_t) snprintf(text + n, sizeof(text) - n,
                               "%sworld rank %" PRId64, n ? ", " : "",
                               f->world_rank);
    if (*f->host)
        n += (size_t) snprintf(text + n, sizeof(text) - n, "%s%.100s",
                               n ? ", " : "", f->host);
    if (f->pid >= 0)
        snprintf(text + n, sizeof(text) - n, "%spid %" PRId64, n ? ", " : "",
                 f->pid);
    html_out_prose(out, *text ? text : "-");
}

static void put_known(FILE *out, const char *figure, double value)
{
    html_out_figure(out, isfinite(value) && value >= 0 ? figure : "-",
                    value >= 0 ? value : NAN);
}

static void put_row(FILE *out, const struct jp_result *r,
                    const struct jp_finding *f)
{
    html_out_row(out);
    html_out_cell(out, finding_kind_name(f->kind));
    html_out_prose(out, f->text);
    put_who(out, r, f);
    put_known(out, FIG_SHARE(f->share), f->share);
    put_known(out, FIG_US(f->cost_us), f->cost_us);
    html_out_cell(out, isfinite(f->from_us) && f->from_us > 0
                           ? FIG_UTC((uint64_t) f->from_us)
                           : "-");
    html_out_prose(out, *f->next ? f->next : "-");
    html_out_row_end(out);
}

int html_findings_put(const struct jp_report *report, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Kind", NULL, false},
        {"What", NULL, false},
        {"Where", "as far as it is known", false},
        {"Share", "of the time in communication", true},
        {"GPU time", "that others waited", true},
        {"Since", "as records were written", false},
        {"What to do", NULL, false},
    };
    const size_t n_columns = sizeof(columns) / sizeof(*columns);
    const struct jp_findings *all = &report->insight->findings;
    size_t n = all->n < MAX_ROWS ? all->n : MAX_ROWS;

    html_out_table(out, columns, n_columns, false);
    for (size_t i = 0; i < n; i++)
        put_row(out, report->result, &all->at[i]);
    html_out_table_end(out, n_columns, all->n - n, "summary.json");
    return 0;
}
