/* exporter_csv.c - the rows of one summary_*.csv. */
#include <inttypes.h>

#include "orchestrator/report/csv_out.h"
#include "orchestrator/report/exporter_files.h"
#include "orchestrator/report/exporter_words.h"

#define MAX_LIST 16 /* communicators that share an id differ in few sizes */

/* The distinct sizes of the row's communicators, in order. */
static void put_sizes(const struct exporter_table *table,
                      const struct exporter_row *row, bool nodes, FILE *out)
{
    const struct jp_comm *comms = table->result->comms;
    uint64_t least = 0; /* of those not yet written */

    for (unsigned n = 0;; n++) {
        uint64_t next = UINT64_MAX;

        for (size_t i = row->from; i < row->to; i++) {
            const struct jp_comm *comm = &comms[table->keys[i].comm];
            uint64_t value = nodes ? comm->nnodes : comm->n_ranks;

            if (value >= least && value < next)
                next = value;
        }
        if (next == UINT64_MAX)
            break;
        if (n == MAX_LIST) {
            fputs(" ...", out);
            break;
        }
        fprintf(out, "%s%" PRIu64, n ? " " : "", next);
        least = next + 1;
    }
}

static void put_row(const struct exporter_table *table,
                    const struct exporter_cell *cell,
                    const struct exporter_row *row, const char *size, FILE *out)
{
    struct jp_csv csv = {.out = out};
    char word[EXPORTER_WORD];

    csv_out_text(&csv, row->id);
    fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%s,%" PRIu64 ",[", row->sn,
            cell->bytes, exporter_real(row->mean, word), row->records);
    put_sizes(table, row, false, out);
    fputs("],[", out);
    put_sizes(table, row, true, out);
    fprintf(out, "],%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s", row->start_us,
            row->end_us, row->end_us - row->start_us, size);
    fprintf(out, ",%s", exporter_datetime(row->start_us, word));
    fprintf(out, ",%s", exporter_datetime(row->end_us, word));
    fprintf(out, ",%s\n", exporter_duration(row->end_us - row->start_us, word));
}

void exporter_csv(const struct exporter_table *table,
                  const struct exporter_cell *cell, FILE *out)
{
    char size[EXPORTER_WORD];

    exporter_size(cell->bytes, size);
    fputs("id,coll_sn,coll_msg_size_bytes,mean_coll_busbw_gbs,log_count,"
          "n_ranks,nnodes,coll_start_timestamp_us,coll_end_timestamp_us,"
          "coll_duration_us,human_readable_coll_msg_size_bytes,"
          "coll_start_datetime,coll_end_datetime,coll_duration_human\n",
          out);
    for (size_t at = cell->from; at < cell->to;) {
        struct exporter_row row;

        at = exporter_table_row(table, cell, at, &row);
        put_row(table, cell, &row, size, out);
    }
}
