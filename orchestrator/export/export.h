/* export.h - profilers' files in the formats of others. */
#ifndef JP_EXPORT_EXPORT_H
#define JP_EXPORT_EXPORT_H

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "orchestrator/ingest/recwalk.h"

struct export_done {
    uint64_t files; /* written */
    uint64_t ops;
    uint64_t left_out; /* operations whose communicator or time is not told */
};

/* Inspector's JSON lines (inspector_line.h), one file `<stem>.log` for each of
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
 * Times are us since the earliest header's wall clock, which
 * otherData.origin_unix_us tells; each host's clock is as good as its NTP.
 * Within a process, "X" events are ordered by time as far as a buffer of
 * 32,768 operations reaches. Memory: 20 MB. -1: output failed. */
int export_chrome(struct jp_recwalk *walk, FILE *out, struct export_done *done,
                  struct jp_error *err);

#endif
