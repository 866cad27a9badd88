/* tables.h - every table of a report. */
#ifndef JP_REPORT_TABLES_H
#define JP_REPORT_TABLES_H

#include "orchestrator/report/table.h"

extern const struct jp_table table_cells, table_comms, table_ranks, table_ops,
    table_pairs, table_node_pairs, table_windows, table_busy, table_network,
    table_findings, table_hypotheses, table_busy_windows, table_quality,
    table_algorithms;

/* Utilisation (busy.c); no rows if report->util is NULL. */
extern const struct jp_table table_util, table_util_totals;

/* Causes that coincide with findings (tables_findings.c); no rows if
 * report->causes is NULL. */
extern const struct jp_table table_causes, table_bottlenecks, table_iteration,
    table_attempts;
/* Writes iteration{} and bottlenecks[] of summary.json. */
void tables_pace_json(struct jp_json_stream *s, const struct jp_report *report);

/* The nodes' clocks (tables_clock.c); no rows if there is only one node. */
extern const struct jp_table table_clock, table_arrivals;
/* Writes clock{} of summary.json. */
void tables_clock_json(struct jp_json_stream *s,
                       const struct jp_report *report);

/* Counters of CUDA's calls (tables_cuda.c) and exports of Nsight Systems
 * (tables_nsys.c). No rows if report->cuda or report->nsys is NULL. */
extern const struct jp_table table_cuda;
/* table_cuda and its companions; ends with NULL */
extern const struct jp_table *const tables_cuda[];
/* Writes cuda{} of summary.json. */
void tables_cuda_json(struct jp_json_stream *s, const struct jp_report *report);
extern const struct jp_table table_nsys_sums, table_nsys_ranks, table_nsys_gaps;
/* these three; ends with NULL */
extern const struct jp_table *const tables_nsys[];
/* Write nsys{} of summary.json, and the part in summary.txt. -1: out of memory.
 */
void tables_nsys_json(struct jp_json_stream *s, const struct jp_report *report);
int tables_nsys_text(const struct jp_report *report, FILE *out);

/* Evidence of a hang (tables_hang.c); no rows if report->hang is NULL. */
extern const struct jp_table *const tables_hang[]; /* ends with NULL */
/* Write hang{} of summary.json, and the tables in summary.txt. -1: out of
 * memory. */
void tables_hang_json(struct jp_json_stream *s, const struct jp_report *report);
int tables_hang_text(const struct jp_report *report, FILE *out);

/* All tables; ends with NULL. Each has a file in csv/ if a column is in CSV.
 * The docs are also made from them. */
extern const struct jp_table *const tables[];

/* Tables of a Copper cache (tables_copper.c); no rows if report->copper is
 * NULL. */
extern const struct jp_table table_copper_totals, table_copper_operations,
    table_copper_ranks, table_copper_ranges, table_copper_outliers,
    table_copper_classes, table_copper_paths, table_copper_roots,
    table_copper_cache, table_copper_series, table_copper_launches,
    table_copper_searches, table_copper_notes;
/* The rows of table_copper_ranges that at least one rank reports. */
extern const struct jp_table table_copper_known_ranges;
/* The busiest paths of each category. */
extern const struct jp_table *const tables_copper_hot[COPPER_N_CATEGORIES];
/* All but the hot ones, whose rows are in table_copper_paths; ends with NULL.
 */
extern const struct jp_table *const tables_copper[];

/* For the files tables_copper*.c.
 *
 * Defines count_NAME and find_NAME over an array of struct jp_copper. */
#define JP_COPPER_ARRAY(name, member, n)                                       \
    static size_t count_##name(const struct jp_report *report)                 \
    {                                                                          \
        return report->copper ? report->copper->n : 0;                         \
    }                                                                          \
    static void find_##name(struct jp_row *row)                                \
    {                                                                          \
        row->at = &row->report->copper->member[row->index];                    \
    }

/* The same for those of n elements i that satisfy is_there. */
#define JP_COPPER_SOME(name, member, n, is_there)                              \
    static size_t count_##name(const struct jp_report *report)                 \
    {                                                                          \
        const struct jp_copper *c = report->copper;                            \
        size_t found = 0;                                                      \
                                                                               \
        for (size_t i = 0; c && i < (n); i++)                                  \
            found += is_there;                                                 \
        return found;                                                          \
    }                                                                          \
    static void find_##name(struct jp_row *row)                                \
    {                                                                          \
        const struct jp_copper *c = row->report->copper;                       \
        size_t left = row->index + 1, i = 0;                                   \
                                                                               \
        for (; left; i++)                                                      \
            left -= is_there;                                                  \
        row->at = &c->member[i - 1];                                           \
    }

#define JP_FOUND_BY(name) .count = count_##name, .find = find_##name

/* The first columns of a row of ops.csv are communicator and function;
 * tables_op_csv writes the others. */
enum { TABLES_OP_BEGINNING = 3 };
void tables_op_csv(struct jp_csv *csv, const struct jp_row *row);

#endif
