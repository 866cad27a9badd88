/* baseline_file.h - baselines on disk, and the network cells of baselines and
 * summaries. */
#ifndef JP_REPORT_BASELINE_FILE_H
#define JP_REPORT_BASELINE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "common/json_stream.h"
#include "orchestrator/insight/expectation.h"
#include "orchestrator/insight/netcells.h"

/* --- a network cell's key and distributions as JSON, both ways ------------ */

/* Writes the distribution as an array: [[bucket, count], ...]. */
void netkey_put_hist(struct jp_json_stream *s, const char *name,
                     const struct jp_bwhist *hist);

/* Read a key or a distribution from foreign JSON. Return 0, or -1 and err,
 * which names the bad key. *key and *hist then hold what was read so far. *hist
 * is empty before the call; the caller calls fini in any case. */
int netkey_read(const json_t *row, struct jp_netkey *key, struct jp_error *err);
int netkey_read_hist(const json_t *row, const char *name,
                     struct jp_bwhist *hist, struct jp_error *err);

#define NETNAMES_LEN 160

/* "nvswitch, ib"; "mixed" without labels. Each of these functions writes to
 * buf, which has NETNAMES_LEN bytes, and returns it. */
char *netnames_link(const struct jp_netkey *key, char *buf);
/* "16 ranks on 2 nodes" */
char *netnames_shape(const struct jp_netkey *key, char *buf);
/* "nvswitch, ib, 16r/2n": the short form, with the ranks and nodes */
char *netnames_kind(const struct jp_netkey *key, char *buf);
/* "AllReduce, nvswitch, ib, 16 ranks on 2 nodes" */
char *netnames_series(const struct jp_netkey *key, char *buf);

/* --- baselines (docs/baseline-format.md), and the reports that they are made
 * of. All of it is foreign input. ------------------------------------------ */

#define BASELINE_FORMAT "jobprof-baseline"
#define BASELINE_VERSION 1

/* Returns true if root is a baseline rather than a summary. */
bool baseline_file_is(const json_t *root);

/* Reads a baseline from parsed JSON. On failure (-1 and err), *out is
 * unchanged. On success, free *out with baseline_fini. */
int baseline_file_parse(const json_t *root, struct jp_baseline *out,
                        struct jp_error *err);

/* Reads the baseline in path. owned: the file must belong to root or to us, and
 * nobody else may write to it. That is required of a file that the site's
 * configuration names. */
int baseline_file_read(const char *path, bool owned, struct jp_baseline *out,
                       struct jp_error *err);

/* Returns the JSON of a file, or of summary.json if path is a step's folder.
 * The caller drops the reference. Returns NULL and err on failure. */
json_t *baseline_file_load(const char *path, struct jp_error *err);

/* Writes a baseline. Equal baselines give equal bytes. */
int baseline_file_write(const struct jp_baseline *baseline, FILE *out,
                        struct jp_error *err);

/* Makes a baseline of one report. degraded: also accepts a report whose network
 * was slow. Returns 0; 1 if the report is not fit for a baseline, with the
 * reason in why; or -1 and err. *out changes only if 0 is returned. */
int baseline_from_summary(const json_t *root, bool degraded,
                          struct jp_baseline *out, char *why, size_t size,
                          struct jp_error *err);

#endif
