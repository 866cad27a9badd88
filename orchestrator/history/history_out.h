/* history_out.h - print the tables of many steps, for people and programs. */
#ifndef JP_HISTORY_HISTORY_OUT_H
#define JP_HISTORY_HISTORY_OUT_H

#include <stdio.h>

#include "orchestrator/history/history_sum.h"
#include "orchestrator/metrics/metrics.h"

/* What is printed together with the tables. */
struct history_about {
    const struct history_seen *seen;
    int top;     /* index of one table; -1: the most important ones */
    size_t rows; /* maximum number of rows per table */
};

/* For a terminal: prints what was read, and the tables. */
int history_text_put(const struct history_sum *sum,
                     const struct history_about *about, FILE *out);

/* Writes one object: totals{}, seen{}, and one array per table. */
int history_json_put(const struct history_sum *sum,
                     const struct history_about *about, FILE *out,
                     struct jp_error *err);

/* Writes the metrics of metrics.h's table as OpenMetrics, or in the format of
 * node_exporter's textfile collector. */
int history_metrics_put(const struct history_sum *sum,
                        enum metrics_format format, FILE *out,
                        struct jp_error *err);

/* Prints sentences about what was not read; nothing if everything was read. */
void history_seen_put(const struct history_seen *seen,
                      const struct history_totals *totals, FILE *out);

/* --- steps as rows of a Parquet file: one column for each scalar member of a
 * line, and columns for the finding with the longest wait. */

struct history_parquet;

/* Borrows out. Returns NULL and err on failure. Destroy accepts NULL. */
struct history_parquet *history_parquet_create(FILE *out, struct jp_error *err);
void history_parquet_destroy(struct history_parquet *file);
int history_parquet_add(struct history_parquet *file,
                        const struct history_step *step, const char *user,
                        struct jp_error *err);
int history_parquet_finish(struct history_parquet *file, struct jp_error *err);

#endif
