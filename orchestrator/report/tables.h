/* tables.h - every table of a report. */
#ifndef JP_REPORT_TABLES_H
#define JP_REPORT_TABLES_H

#include "orchestrator/report/table.h"

extern const struct jp_table table_cells, table_comms, table_ranks, table_ops,
    table_pairs, table_node_pairs, table_windows, table_busy, table_network,
    table_findings, table_hypotheses, table_busy_windows, table_quality;

/* Utilisation (tables_util.c); no row without report->util. */
extern const struct jp_table table_util, table_util_totals;

/* What coincides with findings (tables_cause.c); none without report->causes.
 */
extern const struct jp_table table_causes, table_bottlenecks, table_iteration;
/* iteration{} and bottlenecks[] of summary.json. */
void tables_pace_json(struct jp_json_stream *s, const struct jp_report *report);
/* The causes of a row of table_findings, as an array of its object. */
void tables_cause_json(struct jp_json_stream *s, const struct jp_row *row);

/* The nodes' clocks (tables_clock.c); no row where there is one node. */
extern const struct jp_table table_clock, table_arrivals;
/* clock{} of summary.json. */
void tables_clock_json(struct jp_json_stream *s,
                       const struct jp_report *report);

/* Of exports of Nsight Systems (tables_nsys.c); none without report->nsys. */
extern const struct jp_table table_cuda;
extern const struct jp_table *const tables_cuda[]; /* with it; NULL ends them */
/* cuda{} of summary.json; the line of summary.txt. */
void tables_cuda_json(struct jp_json_stream *s, const struct jp_report *report);
void tables_cuda_line(const struct jp_report *report, FILE *out);
extern const struct jp_table table_nsys_sums, table_nsys_ranks, table_nsys_gaps;
extern const struct jp_table *const tables_nsys[]; /* these; NULL ends them */
/* nsys{} of summary.json; the part of summary.txt: -1: no memory. */
void tables_nsys_json(struct jp_json_stream *s, const struct jp_report *report);
int tables_nsys_text(const struct jp_report *report, FILE *out);

/* Of the evidence of a hang (tables_hang.c); none without report->hang. */
extern const struct jp_table *const tables_hang[]; /* NULL ends them */
/* hang{} of summary.json; a line of summary.txt and its part; -1: no memory. */
void tables_hang_json(struct jp_json_stream *s, const struct jp_report *report);
void tables_hang_line(const struct jp_report *report, FILE *out);
int tables_hang_text(const struct jp_report *report, FILE *out);

/* All, NULL at the end: a file of csv/ each, where a column is in it; docs. */
extern const struct jp_table *const tables[];

/* Of a Copper cache (tables_copper.c); none has a row without report->copper.
 */
extern const struct jp_table table_copper_totals, table_copper_operations,
    table_copper_ranks, table_copper_ranges, table_copper_outliers,
    table_copper_classes, table_copper_paths, table_copper_roots,
    table_copper_cache, table_copper_series, table_copper_launches,
    table_copper_searches, table_copper_notes;
/* Of table_copper_ranges, those that some rank tells. */
extern const struct jp_table table_copper_known_ranges;
/* The busiest paths of each category. */
extern const struct jp_table *const tables_copper_hot[COPPER_N_CATEGORIES];
/* All but the hot ones, which are in table_copper_paths; NULL at the end. */
extern const struct jp_table *const tables_copper[];

/* For these files.
 *
 * count_NAME and find_NAME over an array of struct jp_copper. */
#define JP_COPPER_ARRAY(name, member, n)                                       \
    static size_t count_##name(const struct jp_report *report)                 \
    {                                                                          \
        return report->copper ? report->copper->n : 0;                         \
    }                                                                          \
    static void find_##name(struct jp_row *row)                                \
    {                                                                          \
        row->at = &row->report->copper->member[row->index];                    \
    }

/* The same of those i for which a row is there; n of them are looked at. */
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

/* A row of ops.csv behind its first columns: communicator and function. */
enum { TABLES_OP_BEGINNING = 3 };
void tables_op_csv(struct jp_csv *csv, const struct jp_row *row);

#endif
