/* index_page.c - lay out the list of steps. */
#include "orchestrator/report/index_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>

#include "common/figure.h"
#include "orchestrator/report/html_out.h"
#include "orchestrator/report/index_trend.h"
#include "orchestrator/report/summary_file.h"

#define MAX_ROWS 500 /* the latest steps */

static void put_word(FILE *out, const char *word)
{
    const char *name = *word ? word : "NODATA";

    fputs("<td><b class=\"", out);
    html_out_text(out, name);
    fputs("\">", out);
    html_out_text(out, *word ? word : "-");
    fputs("</b></td>", out);
}

static void put_number(FILE *out, const json_t *step, const char *key)
{
    uint64_t n;

    if (summary_file_count(step, key, &n))
        html_out_figure(out, FIG_COUNT(n), (double) n);
    else
        html_out_figure(out, "-", NAN);
}

static void put_step(FILE *out, const json_t *step)
{
    double coverage = summary_file_real(step, "coverage");
    uint64_t created = 0;

    summary_file_count(step, "created_us", &created);
    html_out_row(out);
    fputs("<td><a href=\"", out);
    html_out_text(out, summary_file_text(step, "report"));
    fputs("\">", out);
    html_out_text(out, summary_file_text(step, "id"));
    fputs("</a></td>", out);
    put_word(out, summary_file_text(step, "verdict"));
    html_out_prose(out, summary_file_text(step, "text"));
    put_number(out, step, "nodes");
    put_number(out, step, "ntasks");
    html_out_figure(out, FIG_SHARE(coverage), coverage);
    html_out_cell(out, FIG_UTC(created));
    html_out_prose(out, summary_file_text(step, "command"));
    html_out_row_end(out);
}

static void put_heading(FILE *out, const json_t *facts)
{
    uint64_t id = 0;

    fputs("<h1>jobprof", out);
    if (summary_file_count(facts, "id", &id)) {
        fprintf(out, " &middot; job %" PRIu64 " &middot; ", id);
        html_out_short(out, summary_file_text(facts, "name"), 200);
        fputs(" &middot; ", out);
        html_out_short(out, summary_file_text(facts, "user"), 200);
    }
    fputs("</h1>\n", out);
}

void index_page_write(const json_t *job, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Step", NULL, false},
        {"Verdict", NULL, false},
        {"Summary", NULL, false},
        {"Nodes", NULL, true},
        {"Tasks", NULL, true},
        {"Coverage",
         "records read of those "
         "expected",
         true},
        {"Started", NULL, false},
        {"Command", NULL, false},
    };
    const size_t n_columns = sizeof(columns) / sizeof(*columns);
    const json_t *steps = json_object_get(job, "steps");
    size_t n = json_array_size(steps);
    size_t from = n > MAX_ROWS ? n - MAX_ROWS : 0;

    html_out_begin(out, "jobprof: steps of the job");
    fputs("<main>\n", out);
    put_heading(out, json_object_get(job, "job"));
    index_trend_write(steps, out);
    fputs("<section><h2>Steps</h2>\n", out);
    html_out_table(out, columns, n_columns, true);
    for (size_t i = from; i < n; i++)
        put_step(out, json_array_get(steps, i));
    html_out_table_end(out, n_columns, from, "job.json");
    fputs("</section></main>\n", out);
    html_out_end(out);
}
