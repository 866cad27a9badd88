/* export.h - convert profilers' files to the formats of other tools. */
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
#include "plugins/nccl_example/example_reader.h"
#include "plugins/nccl_recorder/recfile.h"

struct export_done {
    uint64_t files; /* number of files written */
    uint64_t ops;
    uint64_t left_out; /* operations of unknown communicator or time */
};

/* Writes Inspector's JSON lines: one file `<stem>.log` for each of the
 * recorder's files, in `dir`, with the same folders as below the inputs. dir
 * NULL: writes all lines to out. Returns -1 if the output failed. */
int export_inspector(struct jp_recwalk *walk, const char *dir, FILE *out,
                     struct export_done *done, struct jp_error *err);

/* Writes one trace of all files in JSON Trace Event Format (chrome://tracing,
 * ui.perfetto.dev). It is valid JSON whatever the files contain:
 *
 *   process   a process of the program. pid is its rank in the job
 *             (identity/processes.h) if it has one that is still free;
 *             otherwise a number from 1,000,000 up
 *   thread    a communicator. Overlapping operations get further lanes;
 *             those in flight at the end get a lane of their own
 *   "X"       an operation, from its kernel's start to its end as seen by the
 *             host; without a kernel, from its enqueueing
 *   "B"       an operation that had not ended
 *
 * The recorder's files come first. Files of other profilers follow, each as a
 * process: Inspector's verbose logs by the events' host times (plain logs have
 * none and are left out), and the example plugin's traces (one per
 * communicator) by their process's own clock. The walk's counts then include
 * them.
 *
 * Files of features add events of GPUs, such as kernels and copies, to the
 * process of their rank, one thread per stream (struct feature_events).
 *
 * Times are in us since the wall clock of the earliest header, which is stored
 * in otherData.origin_unix_us. If clocks (common/clockmap.h) has the offsets of
 * the nodes' clocks, all times are on the clock of one node, and
 * otherData.clocks names the method. clocks NULL: each host's clock is used as
 * it is. Within a process, "X" events are ordered by time as far as a buffer of
 * 32,768 operations allows. Memory: 20 MB. Returns -1 if the output failed. */
int export_chrome(struct jp_recwalk *walk, const struct clockmap *clocks,
                  FILE *out, struct export_done *done, struct jp_error *err);

/* --- export_metrics.c: a report as metrics -------------------------------- */

/* Adds the metrics of a step's report (orchestrator/metrics/metrics.h), from
 * summary.json and, if present, busy.csv, ranks.csv, comms.csv and ops.csv.
 * with_time: samples get the time of the step's last operation. Returns -1 and
 * err if there is no report (errno ENODATA) or a file is damaged. */
int export_metrics(const char *step_dir, bool with_time,
                   struct metrics_set *set, struct jp_error *err);

/* --- an operation as a line of Inspector's format v4.0 --------------------
 *
 * Layout, order of keys, escapes and number formats are those of NVIDIA's
 * Inspector 2.30 (plugins/profiler/inspector/inspector_json.cc), so every
 * reader of its files can read ours. Two members differ in meaning: `git_rev`
 * is the recorder ("jobprof-0.1.0"), and `dump_timestamp_us` is the wall clock
 * at the operation's end, not at the time of writing. Inspector has no
 * operations of the copy engines; they get the function "AllGather-CE"
 * (recfile.h). */

/* Longest line: two escaped strings, a function, and numbers. */
#define INSPECTOR_LINE_BYTES 8192

/* Formats the line with its line break and returns its length; 0: the header or
 * the operation's communicator is missing. */
size_t inspector_line_format(char out[INSPECTOR_LINE_BYTES],
                             const struct jp_recfile *file,
                             const struct jpr_op *op);

/* --- trace_event.c: an operation as the members of a trace event ---------- */

/* Computes start and end of an operation in the trace (CLOCK_MONOTONIC): those
 * of its kernel, or without a kernel the time from its enqueueing. Returns
 * false if no time is known. */
bool trace_event_span(const struct jpr_op *op, uint64_t *start_ns,
                      uint64_t *end_ns);

/* Makes an object with the members name, cat and args of an operation. Caller
 * frees. Returns NULL without memory. */
char *trace_event_describe(const struct jp_recfile *file,
                           const struct jpr_op *op);

/* The same for a record of another profiler. op: the example plugin's operation
 * that it came from, or NULL. */
char *trace_event_of_record(const struct record *record,
                            const struct trace_op *op);

#endif
