/* rankrows_print.c - ranks as a table and as JSON. */
#include <inttypes.h>

#include "orchestrator/ingest/jsontext.h"
#include "orchestrator/show/rankrows.h"

static int finish(FILE *out, struct jp_error *err)
{
    return fflush(out) != 0 || ferror(out) ? error_set(err, "output failed: %m")
                                           : 0;
}

/* Or "-". */
static const char *known(bool is, uint64_t value, char buf[24])
{
    snprintf(buf, 24, "%" PRIu64, value);
    return is ? buf : "-";
}

int rankrows_print(const struct jp_rankrows *rows, FILE *out,
                   struct jp_error *err)
{
    fprintf(out, "%-18s %-12s %6s %-20s %8s %9s %9s %8s %11s %11s %11s %9s\n",
            "communicator", "name", "rank", "host", "pid", "records", "timed",
            "last", "time us", "waited us", "caused us", "Send/Recv");
    for (size_t i = 0; i < rows->n; i++) {
        const struct rankrow *r = &rows->at[i];
        char exec[24], wait[24], pid[24];

        fprintf(out,
                "%-18s %-12.12s %6" PRIu64 " %-20s %8s %9" PRIu64 " %9" PRIu64
                " %8" PRIu64 " %11s %11s %11" PRIu64 " %9" PRIu64 "\n",
                r->id, r->name[0] ? r->name : "-", r->rank, r->host,
                known(r->pid >= 0, (uint64_t) r->pid, pid), r->records,
                r->timed_ops, r->last_ops, known(r->waits, r->exec_us, exec),
                known(r->waits, r->wait_us, wait), r->caused_us,
                r->p2p_records);
    }
    fprintf(out, "%zu row%s of csv/ranks.csv", rows->n,
            rows->n == 1 ? "" : "s");
    if (rows->left_out)
        fprintf(out, ", %" PRIu64 " left out", rows->left_out);
    fputs("; times of single ranks by function and size went with the logs\n",
          out);
    return finish(out, err);
}

static void json_row(const struct rankrow *r, FILE *out)
{
    fputs("{\"comm\":", out);
    jsontext_put(out, r->id);
    fputs(",\"name\":", out);
    jsontext_put(out, r->name);
    fprintf(out, ",\"rank\":%" PRIu64 ",\"host\":", r->rank);
    jsontext_put(out, r->host);
    fputs(",\"pid\":", out);
    if (r->pid >= 0)
        fprintf(out, "%" PRId64, r->pid);
    else
        fputs("null", out);
    fprintf(out,
            ",\"records\":%" PRIu64 ",\"timed_ops\":%" PRIu64
            ",\"last_ops\":%" PRIu64 ",\"caused_us\":%" PRIu64
            ",\"p2p_records\":%" PRIu64,
            r->records, r->timed_ops, r->last_ops, r->caused_us,
            r->p2p_records);
    if (r->waits)
        fprintf(out, ",\"exec_us\":%" PRIu64 ",\"wait_us\":%" PRIu64,
                r->exec_us, r->wait_us);
    fputc('}', out);
}

int rankrows_print_json(const struct jp_rankrows *rows, FILE *out,
                        struct jp_error *err)
{
    fprintf(out,
            "{\"schema_version\":1,\"source\":\"csv\",\"left_out\":%" PRIu64
            ",\"ranks\":[",
            rows->left_out);
    for (size_t i = 0; i < rows->n; i++) {
        fputs(i ? ",\n " : "\n ", out);
        json_row(&rows->at[i], out);
    }
    fputs("]}\n", out);
    return finish(out, err);
}
