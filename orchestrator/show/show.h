/* show.h - what `jobprof show` prints: after a run's logs were removed, of
 * a hang (--pending), of clocks (--clock). */
#ifndef JP_SHOW_SHOW_H
#define JP_SHOW_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "orchestrator/ingest/hangs.h"
#include "orchestrator/ingest/logwalk.h"
#include "orchestrator/show/show_table.h"

/* --- opsum.c ------------------------------------------------------------ */

struct opsum_filter {
    int64_t rank;     /* job rank; for processes without one, rank in comm; -1:
                       * all */
    const char *node; /* host name, or folder of raw/; NULL: all */
    const char *comm; /* id as reports show it, or name; NULL: all */
    const char *func; /* "AllReduce"; NULL: all */
};

/* Longest name of a step. */
#define OPSUM_STEP_LEN 64

/* Where the operations come from: one of the two. */
struct opsum_input {
    /* the names of the walk's inputs, or of the reports in csv: "53.0". With
     * more than one, rows are of a step each */
    char *const *steps;
    size_t n_steps;
    struct jp_recwalk *walk; /* the recorder's files */
    bool logs;               /* NCCL Inspector's logs among the walk's files
                              * instead */
    char *const *csv;        /* without a walk: reports' csv/ops.csv, which have
                              * only collectives, for all ranks together */
    size_t n_csv;
};

struct opsum_done {
    size_t rows;  /* rows that passed the filter */
    uint64_t bad; /* unreadable lines and files of Inspector's logs */
};

/* Whether the communicator passes the filter. */
bool opsum_is_comm(const struct opsum_filter *filter, const char *id,
                   const char *name);

/* Whether a process passes the filter. world_rank: its job rank; < 0: none.
 * rank: in the communicator. */
bool opsum_is_rank(const struct opsum_filter *filter, int64_t world_rank,
                   uint64_t rank);

/* Adds up the operations that pass the filter: one row per (step, communicator,
 * function, size). Prints them; people get them with the most time first. From
 * a walk without recordings only JSON is printed. Returns 0, or -1: no memory,
 * a csv/ops.csv that cannot be read, or the output failed. */
int opsum_show(const struct opsum_input *input,
               const struct opsum_filter *filter, enum show_form form,
               FILE *out, struct opsum_done *done, struct jp_error *err);

/* --- show_saved.c ------------------------------------------------------- */

/* The data to show: first the recorder's files, then Inspector's logs, then
 * what a report has kept. Other files are read as the recorder's, so that the
 * reader reports the error. */
enum show_source { SHOW_RECORDER, SHOW_LOGS, SHOW_REPORT, SHOW_NOTHING };

/* Chooses the source for folders of inputs, which the walk has searched. The
 * report of a raw/ is in its parent folder. */
enum show_source show_saved_source(char *const *folders, size_t n,
                                   const struct jp_logwalk *walk);

/* Prints the figures of finished reports on standard output. steps: the names
 * of the folders. A filter for ranks
 * or nodes selects rows of csv/ranks.csv, another one totals of csv/ops.csv.
 * filter NULL: prints from summary.json whether the report found a hang.
 * Returns 0; 1 if nothing passes the filter; -1 and err. */
int show_saved_print(char *const *folders, char *const *steps, size_t n,
                     const struct opsum_filter *filter, enum show_form form,
                     struct jp_error *err);

/* --- --pending: which ranks wait for which ------------------------------- */

/* Reads the walk's recordings and prints the answer with its tables, or a JSON
 * object. Without recordings, prints only JSON. Returns 0, or -1: no memory, or
 * the output failed. */
int hangshow_print(struct jp_recwalk *walk, bool json, FILE *out,
                   struct jp_error *err);

/* Parts of it, for hangs from elsewhere: the answer with its tables, and the
 * members of an open JSON object. */
int hangshow_print_text(const struct jp_hangs *hangs, const char *answer,
                        FILE *out, struct jp_error *err);
void hangshow_put_json(struct jp_json_stream *s, const struct jp_hangs *hangs,
                       const char *answer);

#endif
