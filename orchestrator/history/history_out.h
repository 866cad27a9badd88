/* history_out.h - the tables of many steps for people and programs. */
#ifndef JP_HISTORY_HISTORY_OUT_H
#define JP_HISTORY_HISTORY_OUT_H

#include <stdio.h>

#include "orchestrator/history/history_sum.h"
#include "orchestrator/metrics/metrics.h"

/* What goes with the tables. */
struct history_about {
    const struct history_seen *seen;
    int top;     /* one table, or -1: those that matter */
    size_t rows; /* of a table, at most */
};

/* For a terminal: what was read, and the tables. */
int history_text_put(const struct history_sum *sum,
                     const struct history_about *about, FILE *out);

/* One object: totals{}, seen{}, and an array a table. */
int history_json_put(const struct history_sum *sum,
                     const struct history_about *about, FILE *out,
                     struct jp_error *err);

/* Metrics of metrics.h's table: OpenMetrics, or the text that node_exporter's
 * textfile collector reads. */
int history_metrics_put(const struct history_sum *sum,
                        enum metrics_format format, FILE *out,
                        struct jp_error *err);

/* What was not read, in sentences; nothing where all was. */
void history_seen_put(const struct history_seen *seen,
                      const struct history_totals *totals, FILE *out);

/* --- steps as rows of a Parquet file: a column for each member of a line that
 * is no array, and of the findings the first that is late. */

struct history_parquet;

/* out is borrowed. NULL and err. Destroy takes NULL. */
struct history_parquet *history_parquet_create(FILE *out, struct jp_error *err);
void history_parquet_destroy(struct history_parquet *file);
int history_parquet_add(struct history_parquet *file,
                        const struct history_step *step, const char *user,
                        struct jp_error *err);
int history_parquet_finish(struct history_parquet *file, struct jp_error *err);

#endif
