/* export.h - profilers' files in the formats of others. */
#ifndef JP_EXPORT_EXPORT_H
#define JP_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/clockmap.h"
#include "common/error.h"
#include "common/record.h"
#include "orchestrator/ingest/logwalk.h"
#include "orchestrator/metrics/metrics.h"
#include "orchestrator/parquet/parquet.h"
#include "plugins/nccl_example/trace_read.h"
#include "plugins/nccl_recorder/recfile.h"

struct export_done {
    uint64_t files; /* written */
    uint64_t ops;
    uint64_t left_out; /* operations whose communicator or time is unknown */
};

/* Inspector's JSON lines, one file `<stem>.log` for each of
 * the recorder's in `dir`, which keeps the folders below the inputs; or, with
 * dir NULL, all lines to out. -1: output failed. */
int export_inspector(struct jp_recwalk *walk, const char *dir, FILE *out,
                     struct export_done *done, struct jp_error *err);

/* One trace of all files in JSON Trace Event Format (chrome://tracing,
 * ui.perfetto.dev), valid JSON whatever the files hold:
 *
 *   process   a process of the program; pid is its rank in the job
 *             (insight/processes.h) where it has one that is not taken yet,
 *             else a number from 1,000,000 on
 *   thread    a communicator; operations that overlap go to further lanes of
 *             it, those in flight at the end to a lane of their own
 *   "X"       an operation from its kernel's start to its end as the host saw
 *             them; where there is no kernel, from the enqueueing on
 *   "B"       an operation that had not ended
 *
 * The recorder's files, then those of other profilers, each as a process:
 * Inspector's verbose logs by the events' host times (which plain ones lack:
 * left out), the example plugin's traces (one a communicator) by their process'
 * own clock. The walk's counts then include them.
 *
 * Exports of nsys (.sqlite) add kernels and copies: to the process of their
 * rank, a thread a stream (export_nsys.h), by utcEpochNs.
 *
 * Times are us since the earliest header's wall clock, which
 * otherData.origin_unix_us holds. They are on the clock of one node where
 * clocks (common/clockmap.h) says how far the others are from it, by the method
 * that otherData.clocks names; NULL: each host's clock is as good as its NTP.
 * Within a process, "X" events are ordered by time as far as a buffer of
 * 32,768 operations reaches. Memory: 20 MB. -1: output failed. */
int export_chrome(struct jp_recwalk *walk, const struct clockmap *clocks,
                  FILE *out, struct export_done *done, struct jp_error *err);

/* --- export_parquet.c: a report's tables as Parquet ------------------------
 */

struct export_parquet_done {
    uint64_t files, rows;
    uint64_t odd; /* time stamps that Parquet cannot hold: null */
};

/* csv_dir/NAME.csv of every table of a report (report/tables.h) becomes
 * out_dir/NAME.parquet: a column a column, of the type that its table's
 * description says (parquet.h), an empty cell null. Files of other names are
 * left alone; out_dir is made where there is one. -1 and err: a file cannot be
 * read or written, or is damaged ("path:line: why"); those before it are
 * there. */
int export_parquet(const char *csv_dir, const char *out_dir,
                   enum parquet_codec codec, struct export_parquet_done *done,
                   struct jp_error *err);
/* One of these files, to a stream. Adds to *done. */
int export_parquet_csv(const char *csv, FILE *out, enum parquet_codec codec,
                       struct export_parquet_done *done, struct jp_error *err);

/* The exporter's parquet_files/: each log of the inputs becomes
 * dir/<stem>.parquet with a row for each record of a collective, under the
 * names that NCCL Inspector's exporter gives its columns. Logs of one name get
 * a number behind it ("rank0~2"). dir is made. -1: it cannot be read or
 * written. */
int export_parquet_logs(const char *const *inputs, size_t n, const char *dir,
                        enum parquet_codec codec,
                        struct export_parquet_done *done, struct jp_error *err);

/* --- export_metrics.c: a report as metrics ---------------------------------
 */

/* Adds what a step's report tells (orchestrator/metrics/metrics.h):
 * summary.json, and busy.csv, ranks.csv, comms.csv and ops.csv where they are
 * there. with_time: samples have the time of the step's last operation. -1 and
 * err: no report (errno ENODATA), or a damaged file. */
int export_metrics(const char *step_dir, bool with_time,
                   struct metrics_set *set, struct jp_error *err);

/* --- inspector_line_format: an operation as a line of Inspector's format v4.0
 * -
 *
 * Layout, order of keys, escapes and number formats are those of NVIDIA's
 * Inspector 2.30 (plugins/profiler/inspector/inspector_json.cc), so every
 * reader of its files reads ours. Two members differ in meaning: `git_rev` is
 * the recorder ("jobprof-0.1.0"), and `dump_timestamp_us` is the wall clock at
 * the operation's end, not at the time of writing. Inspector has no operations
 * of the copy engines: they get the function "AllGather-CE" (recfile.h).
 */

/* Room for any line: two escaped texts, a function, numbers. */
#define INSPECTOR_LINE_BYTES 8192

/* Writes the line with its newline and returns its length; 0: the header or
 * the operation's communicator is missing. */
size_t inspector_line_format(char out[INSPECTOR_LINE_BYTES],
                             const struct jp_recfile *file,
                             const struct jpr_op *op);

/* --- trace_event.c: an operation as the members of a trace event ------------
 */

/* Start and end of an operation in the trace, CLOCK_MONOTONIC: those of its
 * kernel, else its time from the enqueueing on. False: no time is known. */
bool trace_event_span(const struct jpr_op *op, uint64_t *start_ns,
                      uint64_t *end_ns);

/* An object with the members name, cat and args of an operation; caller frees.
 * NULL without memory. */
char *trace_event_describe(const struct jp_recfile *file,
                           const struct jpr_op *op);

/* The same of a record of another profiler. op: the example plugin's operation
 * that it was made of, or NULL. */
char *trace_event_of_record(const struct record *record,
                            const struct trace_op *op);

#endif
