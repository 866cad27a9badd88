/* baseline_file.h - baselines on disk, and the network cells in them and in
 * summaries.
 */
#ifndef JP_REPORT_BASELINE_FILE_H
#define JP_REPORT_BASELINE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "common/json_stream.h"
#include "orchestrator/insight/expectation.h"
#include "orchestrator/insight/netcells.h"

/* --- a network cell's key and distributions as JSON, both ways ------------ */

/* [[bucket, count], ...] */
void netkey_put_hist(struct jp_json_stream *s, const char *name,
                     const struct jp_bwhist *hist);

/* From foreign JSON; -1 and err names the key. *key, *hist (empty before; fini
 * in any case) as far as they were read. */
int netkey_read(const json_t *row, struct jp_netkey *key, struct jp_error *err);
int netkey_read_hist(const json_t *row, const char *name,
                     struct jp_bwhist *hist, struct jp_error *err);

#define NETNAMES_LEN 160

/* "nvswitch, ib"; without labels "mixed". Each into buf of NETNAMES_LEN, which
 * it returns. */
char *netnames_link(const struct jp_netkey *key, char *buf);
/* "16 ranks on 2 nodes" */
char *netnames_shape(const struct jp_netkey *key, char *buf);
/* "nvswitch, ib, 16r/2n": ranks and nodes in short */
char *netnames_kind(const struct jp_netkey *key, char *buf);
/* "AllReduce, nvswitch, ib, 16 ranks on 2 nodes" */
char *netnames_series(const struct jp_netkey *key, char *buf);

/* --- baselines (docs/baseline-format.md), and the reports that they are made
 * of. All of it is foreign input. ------------------------------------------ */

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
