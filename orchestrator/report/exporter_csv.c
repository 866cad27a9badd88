/* exporter_csv.c - the rows of one summary_*.csv. */
#include <inttypes.h>
#include <stdio.h>

#include "orchestrator/report/csv_out.h"
#include "orchestrator/report/exporter_files.h"
#include "orchestrator/report/exporter_words.h"

#define MAX_LIST 16 /* communicators that share an id differ in few sizes */

/* Adds the distinct sizes of the row's communicators, in order, as "[4 8]". */
static void put_sizes(struct jp_csv *csv, const struct exporter_table *table,
                      const struct exporter_row *row, bool nodes)
{
    const struct jp_comm *comms = table->result->comms;
    char list[MAX_LIST * 22 + 8] = "[";
    size_t used = 1;
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
            used += (size_t) snprintf(list + used, sizeof(list) - used, " ...");
            break;
        }
        used += (size_t) snprintf(list + used, sizeof(list) - used,
                                  "%s%" PRIu64, n ? " " : "", next);
        least = next + 1;
    }
    snprintf(list + used, sizeof(list) - used, "]");
    csv_out_text(csv, list);
}

static void put_row(const struct exporter_table *table,
                    const struct exporter_cell *cell,
                    const struct exporter_row *row, const char *size,
                    struct jp_csv *csv)
{
    const uint64_t duration = row->end_us - row->start_us;
    char word[EXPORTER_WORD];

    csv_out_text(csv, row->id);
    csv_out_count(csv, row->sn);
    csv_out_count(csv, cell->bytes);
    csv_out_text(csv, exporter_real(row->mean, word));
    csv_out_count(csv, row->records);
    put_sizes(csv, table, row, false);
    put_sizes(csv, table, row, true);
    csv_out_count(csv, row->start_us);
    csv_out_count(csv, row->end_us);
    csv_out_count(csv, duration);
    csv_out_text(csv, size);
    csv_out_text(csv, exporter_datetime(row->start_us, word));
    csv_out_text(csv, exporter_datetime(row->end_us, word));
    csv_out_text(csv, exporter_duration(duration, word));
    csv_out_end(csv);
}

void exporter_csv(const struct exporter_table *table,
                  const struct exporter_cell *cell, FILE *out)
{
    struct jp_csv csv = {.out = out};
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
        put_row(table, cell, &row, size, &csv);
    }
    csv_out_flush(&csv);
}
