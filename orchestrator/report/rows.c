/* rows.c - what the rows of a report's tables weigh, whose they are, and
 * several tables at once. */
#include "orchestrator/report/table.h"

double rows_comm_time(const struct jp_result *result, size_t row)
{
    return (double) result->comms[row].time_us;
}

double rows_cell_busbw(const struct jp_result *result, size_t row)
{
    const struct jp_cell *cell = &result->cells[row];

    return cell->busbw.max > 0 ? (double) cell->exec.n * cell->exec.mean : -1;
}

const struct jp_comm *rows_comm(const struct jp_result *result, size_t comm)
{
    static char empty[] = "";
    static const struct jp_comm none = {
        .name = empty, .why = empty, .evidence = ""};

    return comm < result->n_comms ? &result->comms[comm] : &none;
}

void tables_json(struct jp_json_stream *s, const struct jp_table *const list[],
                 const struct jp_report *report, size_t left_out)
{
    for (size_t i = 0; list[i]; i++)
        left_out += table_json(s, list[i], report, NULL);
    json_stream_count(s, "left_out", left_out);
}

int tables_html(const struct jp_table *const list[],
                const struct jp_report *report, FILE *out)
{
    int rc = 0;

    for (size_t i = 0; list[i] && rc == 0; i++) {
        if (!table_count(list[i], report))
            continue;
        fputs("<h3>", out);
        html_out_text(out, list[i]->title);
        fputs("</h3>\n", out);
        rc = table_html(list[i], report, NULL, out);
    }
    return rc;
}

int tables_text(const struct jp_table *const list[],
                const struct jp_report *report, FILE *out)
{
    int rc = 0;

    for (size_t i = 0; list[i] && rc == 0; i++)
        if (table_count(list[i], report))
            rc = table_text(list[i], report, out);
    return rc;
}
