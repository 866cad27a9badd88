/* table.h - the tables of a report: orchestrator/table/, with the rows of
 * struct jp_report. tables.c describes them. */
#ifndef JP_REPORT_TABLE_H
#define JP_REPORT_TABLE_H

#include <string.h>

#include "orchestrator/report/out.h"
#include "orchestrator/report/report.h"
#include "orchestrator/table/table.h"

/* Sets .rows, .n_rows and .row_size for the array result->member. */
#define JP_ROWS(member)                                                        \
    .rows = offsetof(struct jp_result, member),                                \
    .n_rows = offsetof(struct jp_result, n_##member),                          \
    .row_size = sizeof(*((struct jp_result *) 0)->member)

jp_row_weight rows_comm_time; /* time of the slowest ranks, us */
/* number of operations x mean time of the slowest rank, us; < 0: the cell has
 * no known bandwidth */
jp_row_weight rows_cell_busbw;

/* Returns the communicator of a row, never NULL (an empty one if the index is
 * out of range). */
const struct jp_comm *rows_comm(const struct jp_result *result, size_t comm);

/* The rows of a report. extra: what the table's getters need besides. */
static inline struct table_source table_of(const struct jp_report *report,
                                           const void *extra)
{
    return (struct table_source){
        .report = report, .result = report->result, .extra = extra};
}

/* The writers of orchestrator/table/table.h, for a report. */
static inline size_t table_count(const struct jp_table *table,
                                 const struct jp_report *report)
{
    struct table_source source = table_of(report, NULL);

    return table_rows(table, &source);
}

static inline void table_csv(struct jp_csv *csv, const struct jp_table *table,
                             const struct jp_report *report, const void *extra)
{
    struct table_source source = table_of(report, extra);

    table_write_csv(csv, table, &source);
}

/* An array, whose key is the last part of the table's; the caller has opened
 * the objects before it. */
static inline size_t table_json(struct jp_json_stream *s,
                                const struct jp_table *table,
                                const struct jp_report *report,
                                const void *extra)
{
    struct table_source source = table_of(report, extra);
    const char *dot = strrchr(table->json, '.');

    return table_write_json(s, dot ? dot + 1 : table->json, table, &source);
}

/* The same without the brackets of the array. */
static inline size_t table_json_rows(struct jp_json_stream *s,
                                     const struct jp_table *table,
                                     const struct jp_report *report,
                                     const void *extra)
{
    struct table_source source = table_of(report, extra);

    return table_write_json(s, NULL, table, &source);
}

static inline void table_json_row(struct jp_json_stream *s,
                                  const struct jp_table *table,
                                  const struct jp_report *report, size_t index)
{
    struct table_source source = table_of(report, NULL);

    table_write_json_row(s, table, &source, index);
}

static inline int table_html(const struct jp_table *table,
                             const struct jp_report *report, const void *extra,
                             FILE *out)
{
    struct table_source source = table_of(report, extra);

    return table_write_html(table, &source, out);
}

/* Several tables; the list ends with NULL. tables_json writes each of them, and
 * then "left_out": the rows that JSON has no room for, and left_out more. The
 * other two write those that have rows, the page with their titles; they return
 * 0, or -1 when out of memory. */
void tables_json(struct jp_json_stream *s, const struct jp_table *const list[],
                 const struct jp_report *report, size_t left_out);
int tables_html(const struct jp_table *const list[],
                const struct jp_report *report, FILE *out);
int tables_text(const struct jp_table *const list[],
                const struct jp_report *report, FILE *out);

static inline int table_text(const struct jp_table *table,
                             const struct jp_report *report, FILE *out)
{
    struct table_source source = table_of(report, NULL);

    return table_write_text(table, &source, out);
}

#endif
