/* tables.h - every table of a report. */
#ifndef JP_REPORT_TABLES_H
#define JP_REPORT_TABLES_H

#include "orchestrator/report/table.h"

extern const struct jp_table table_cells, table_comms, table_ranks, table_ops,
    table_pairs, table_node_pairs, table_windows, table_busy, table_network,
    table_findings, table_hypotheses, table_busy_windows, table_quality,
    table_algorithms;

/* Attempts (tables_findings.c). */
extern const struct jp_table table_attempts;

/* A finding of another kind than those of the insight, such as a feature's.
 * Members that are not set are null. */
struct tables_finding {
    const char *kind, *text, *next;
    const char *comm;    /* id of the communicator */
    uint64_t comm_index; /* unless comm is NULL */
    const char *host;
    int64_t pid;             /* 0: unknown */
    const double *from, *to; /* NULL or NAN: unknown */
    const double *share, *cost_us;
};

/* Writes its members into an open object of findings[]: all the keys that each
 * finding has. */
void tables_finding(struct jp_json_stream *s, const struct tables_finding *f);

/* All tables; ends with NULL. Each has a file in csv/ if a column is in CSV.
 * The docs are also made from them. */
extern const struct jp_table *const tables[];

/* For files of tables: how rows are counted and found, by functions of these
 * names. */
#define JP_FOUND_BY(name) .count = count_##name, .find = find_##name

/* The first columns of a row of ops.csv are communicator and function;
 * tables_op_csv writes the others. */
enum { TABLES_OP_BEGINNING = 3 };
void tables_op_csv(struct jp_csv *csv, const struct jp_row *row);

#endif
