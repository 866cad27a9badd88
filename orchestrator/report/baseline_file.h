/* baseline_file.h - baselines on disk (docs/baseline-format.md), and the
 * reports that they are made of. All of it is foreign input.
 */
#ifndef JP_REPORT_BASELINE_FILE_H
#define JP_REPORT_BASELINE_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "orchestrator/insight/expectation.h"

#define BASELINE_FORMAT "jobprof-baseline"
#define BASELINE_VERSION 1

/* Is it a baseline, and no summary? */
bool baseline_file_is(const json_t *root);

/* From JSON that was parsed. -1: *out is unchanged; else baseline_fini frees.
 */
int baseline_file_parse(const json_t *root, struct jp_baseline *out,
                        struct jp_error *err);

/* Reads path; owned: it must be root's or ours and not be writable by others
 * (what the site's file names). */
int baseline_file_read(const char *path, bool owned, struct jp_baseline *out,
                       struct jp_error *err);

/* The JSON of a file or of a step's summary.json, whichever it is; NULL and
 * err. Caller decrefs. */
json_t *baseline_file_load(const char *path, struct jp_error *err);

/* The same baseline gives the same bytes. */
int baseline_file_write(const struct jp_baseline *baseline, FILE *out,
                        struct jp_error *err);

/* The baseline that one report makes. 0; 1: it has nothing for a baseline, why
 * says why (degraded: slow ones are taken, too); -1: err. *out is only changed
 * with 0. */
int baseline_from_summary(const json_t *root, bool degraded,
                          struct jp_baseline *out, char *why, size_t size,
                          struct jp_error *err);

#endif
