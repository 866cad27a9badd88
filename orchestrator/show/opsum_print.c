/* opsum_print.c - the summary as a table and as JSON. */
#include <inttypes.h>
#include <string.h>

#include "orchestrator/ingest/jsontext.h"
#include "orchestrator/show/opsum.h"

static int finish(FILE *out, struct jp_error *err)
{
    return fflush(out) != 0 || ferror(out) ? error_set(err, "output failed: %m")
                                           : 0;
}

/* What `processes` counts. */
static const char *unit_of(const struct jp_opsum *sum)
{
    return !strcmp(sum->source, "recorder")    ? "recording"
           : !strcmp(sum->source, "inspector") ? "log"
                                               : "report";
}

int opsum_print(const struct jp_opsum *sum, FILE *out, struct jp_error *err)
{
    fprintf(out, "%-18s %-12s %-16s %14s %10s %10s %10s %10s %10s\n",
            "communicator", "name", "function", "bytes", "operations", "min us",
            "mean us", "max us", "busbw GB/s");
    for (size_t i = 0; i < sum->n; i++) {
        const struct opsum_row *row = &sum->rows[i];
        double n = (double) row->ops;

        fprintf(out,
                "%-18s %-12.12s %-16s %14" PRIu64 " %10" PRIu64 " %10" PRIu64
                " %10.1f %10" PRIu64 " %10.3f\n",
                row->id, row->name[0] ? row->name : "-", row->func, row->bytes,
                row->ops, row->exec_min_us, (double) row->exec_sum_us / n,
                row->exec_max_us, row->busbw_sum / n);
    }
    fprintf(out, "%" PRIu64 " %s%s", sum->processes, unit_of(sum),
            sum->processes == 1 ? "" : "s");
    if (sum->left_out)
        fprintf(out, ", %" PRIu64 " operations left out", sum->left_out);
    fputc('\n', out);
    return finish(out, err);
}

static void json_row(const struct opsum_row *row, FILE *out)
{
    double n = (double) row->ops;

    fprintf(out, "{\"comm\":\"%s\",\"name\":", row->id);
    jsontext_put(out, row->name);
    fputs(",\"func\":", out);
    jsontext_put(out, row->func);
    fprintf(
        out,
        ",\"bytes\":%" PRIu64 ",\"ops\":%" PRIu64 ",\"exec_min_us\":%" PRIu64
        ",\"exec_mean_us\":%.3f,\"exec_max_us\":%" PRIu64
        ",\"busbw_mean_gbs\":%.6f",
        row->bytes, row->ops, row->exec_min_us, (double) row->exec_sum_us / n,
        row->exec_max_us, row->busbw_sum / n);
    if (row->first_us)
        fprintf(out, ",\"first_end_us\":%" PRIu64 ",\"last_end_us\":%" PRIu64,
                row->first_us, row->last_us);
    fputc('}', out);
}

int opsum_print_json(const struct jp_opsum *sum, FILE *out,
                     struct jp_error *err)
{
    fprintf(out,
            "{\"schema_version\":1,\"source\":\"%s\",\"recordings\":%" PRIu64
            ",\"left_out\":%" PRIu64 ",\"rows\":[",
            sum->source, sum->processes, sum->left_out);
    for (size_t i = 0; i < sum->n; i++) {
        fputs(i ? ",\n " : "\n ", out);
        json_row(&sum->rows[i], out);
    }
    fputs("]}\n", out);
    return finish(out, err);
}
