/* show.h - what `jobprof show` prints: after a run's logs were removed, of
 * a hang (--pending), of clocks (--clock). */
#ifndef JP_SHOW_SHOW_H
#define JP_SHOW_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "orchestrator/ingest/logwalk.h"
#include "orchestrator/live/livestate.h"
#include "orchestrator/show/show_table.h"

/* --- opsum.c ------------------------------------------------------------ */

/* Totals of the operations of selected ranks, nodes or communicators.
 *
 * One row per (communicator, function, size) that passes the filter.
 */

struct opsum_filter {
    int64_t rank;     /* job rank; for processes without one, rank in comm; -1:
                       * all */
    const char *node; /* host name, or folder of raw/; NULL: all */
    const char *comm; /* id as reports show it, or name; NULL: all */
    const char *func; /* "AllReduce"; NULL: all */
};

struct opsum_row {
    char id[RECORD_MAX_ID + 1];
    char name[RECORD_MAX_NAME + 1];
    char func[RECORD_MAX_FUNC + 1];
    uint64_t bytes, ops;
    uint64_t exec_min_us, exec_max_us, exec_sum_us;
    double busbw_sum;
    uint64_t first_us, last_us; /* wall clock of the operations' ends; 0:
                                 * unknown */
};

struct jp_opsum {
    struct opsum_row *rows; /* sorted by (id, name, func, bytes) */
    size_t n;
    const char *source; /* "recorder", "inspector" or "csv" */
    uint64_t processes; /* processes that passed the filter; csv: reports */
    uint64_t left_out;  /* bad records, or beyond 65,536 rows */
};

/* The key of a row. */
struct opsum_key {
    const char *id, *name, *func;
    uint64_t bytes;
};

/* The contribution of one or several operations to a row. */
struct opsum_some {
    uint64_t ops, exec_min_us, exec_max_us, exec_sum_us;
    double busbw_sum;
    uint64_t first_us, last_us;
};

/* Builds the totals. begin returns 0, or -1 without memory; then nothing has to
 * be freed. put returns 0, or -1 without memory. end takes the result of the
 * puts as rc, and returns as opsum_read does. */
struct opsum_builder {
    struct jp_opsum *sum;
    uint32_t *slots; /* 1 + a row's index; 0: free */
};
int opsum_begin(struct opsum_builder *builder, struct jp_opsum *sum,
                struct jp_error *err);
int opsum_end(struct opsum_builder *builder, int rc, struct jp_error *err);

/* Whether the communicator passes the filter; whether the node is the host, or
 * a folder in the file's path. */
bool opsum_is_comm(const struct opsum_filter *filter, const char *id,
                   const char *name);

/* world_rank: of the process; < 0: none. rank: in a communicator. */
bool opsum_is_rank(const struct opsum_filter *filter, int64_t world_rank,
                   uint64_t rank);

/* Adds up the recorder's files. Returns 0, or -1 without memory. Call
 * opsum_fini only after 0. */
int opsum_read(struct jp_recwalk *walk, const struct opsum_filter *filter,
               struct jp_opsum *sum, struct jp_error *err);
/* Adds up Inspector's logs among the walk's files. *bad: number of unreadable
 * lines and files. */
int opsum_read_lines(const struct jp_recwalk *walk,
                     const struct opsum_filter *filter, struct jp_opsum *sum,
                     uint64_t *bad, struct jp_error *err);
/* Adds up a report's csv/ops.csv, which has only collectives, for all ranks
 * together. Also returns -1 if it cannot be read. */
int opsum_add_csv(struct opsum_builder *builder, const char *path,
                  const struct opsum_filter *filter, struct jp_error *err);
void opsum_fini(struct jp_opsum *sum);

/* Returns 0, or -1: output failed. */
/* SHOW_HUMAN also sorts the rows, most time first. */
int opsum_print(struct jp_opsum *sum, enum show_form form, FILE *out,
                struct jp_error *err);
int opsum_print_json(const struct jp_opsum *sum, FILE *out,
                     struct jp_error *err);

/* Whether one of these folders, or the parent of a raw/, has a report. */
bool show_saved_has(char *const *folders, size_t n);

/* Whether all of them are steps without raw/. Other files of a step, such as
 * the nodes' lists of tasks, are not logs. */
bool show_saved_bare(char *const *folders, size_t n);

/* Prints the tables of csv/ on standard output: ranks if the filter names a
 * rank or a node, otherwise totals of operations. Returns 0; 1 if nothing
 * passes the filter; -1 and err. */
int show_saved_sums(char *const *folders, size_t n,
                    const struct opsum_filter *filter, enum show_form form,
                    struct jp_error *err);

/* Prints from summary.json whether the report found a hang. Returns 0, or -1
 * and err. */
int show_saved_pending(char *const *folders, size_t n, bool json,
                       struct jp_error *err);

/* --- --pending: which ranks wait for which ------------------------------- */

/* Reads the walk's recordings and prints the answer with its tables, or a JSON
 * object. Without recordings, prints only JSON. Returns 0, or -1: no memory, or
 * the output failed. */
int hangshow_print(struct jp_recwalk *walk, bool json, FILE *out,
                   struct jp_error *err);

/* The same for a running step, from its nodes' snapshots. The output includes
 * their age. step: "42.0". */
int hangshow_print_live(const struct livestate *state, const char *step,
                        bool json, FILE *out, struct jp_error *err);

/* --- --clock: the nodes' clocks as their agents have measured them ------- */

struct clockshow_done {
    size_t files, bad_files; /* agents' files; those that could not be read */
    size_t neighbours;       /* rows */
    size_t failed;           /* failed checks, if there is a row */
};

/* Reads <nodes>/<node>/clock.jsonl of the folders. Prints one row per pair of
 * neighbours, then the checks; or a JSON object. node: only this node; NULL:
 * all. Without any file, prints only JSON. Damaged files are reported by say
 * (may be NULL). Returns 0, or -1: no memory, or the output failed. */
int clockshow_print(char *const *nodes, size_t n, const char *node, bool json,
                    FILE *out, void (*say)(const char *text),
                    struct clockshow_done *done, struct jp_error *err);

#endif
