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
#include "orchestrator/report/summary_file.h"

/* --- a network cell's key and distributions as JSON, both ways ------------ */

/* Writes the distribution as an array: [[bucket, count], ...]. */
void netkey_put_hist(struct jp_json_stream *s, const char *name,
                     const struct jp_bwhist *hist);

/* Reads the key and the histogram of a row of summary.json's "network", which
 * is foreign. Returns 0, or -1 and err, which names the bad member. *key and
 * *hist then hold what was read so far. *hist is empty before the call; the
 * caller calls bwhist_fini in any case. */
int netkey_read_row(const json_t *row, struct jp_netkey *key,
                    struct jp_bwhist *hist, struct jp_error *err);

#define NETKEY_NAME 160

enum netkey_form {
    NETKEY_LINK,  /* "nvswitch, ib"; "mixed" without labels */
    NETKEY_SHAPE, /* "16 ranks on 2 nodes" */
    NETKEY_BRIEF, /* "nvswitch, ib, 16r/2n" */
    NETKEY_SERIES /* "AllReduce, nvswitch, ib, 16 ranks on 2 nodes" */
};

/* Writes the name to buf, which has NETKEY_NAME bytes, and returns it. */
char *netkey_name(const struct jp_netkey *key, enum netkey_form form,
                  char *buf);

/* --- baselines (docs/dev/baseline-format.md), and the reports that they are
 * made of. All of it is foreign input.
 * ------------------------------------------ */

#define BASELINE_FORMAT "jobprof-baseline"
#define BASELINE_VERSION 1

/* Reads the baseline in path. owned: the file must belong to root or to us, and
 * nobody else may write to it. That is required of a file that the site's
 * configuration names. */
int baseline_file_read(const char *path, bool owned, struct jp_baseline *out,
                       struct jp_error *err);

/* Returns the JSON of a file, of a baseline or a summary, for
 * baseline_file_add. The caller drops the reference. Returns NULL and err on
 * failure. */
json_t *baseline_file_load(const char *path, struct jp_error *err);

/* Writes a baseline. Equal baselines give equal bytes. */
int baseline_file_write(const struct jp_baseline *baseline, FILE *out,
                        struct jp_error *err);

enum baseline_added {
    BASELINE_ADDED,
    BASELINE_LEFT_OUT,   /* a report that is not fit, or that is in the
                            baseline already: the reason is in why */
    BASELINE_UNREADABLE, /* not a baseline or a report: see err */
    BASELINE_CONFLICT    /* cannot be merged: see err */
};

/* Adds a report to a baseline, which may be empty ({0}). degraded: also accepts
 * a report whose network was slow. *to is unchanged if nothing could be read;
 * free it with baseline_fini. */
enum baseline_added baseline_file_add_report(const struct summary_file *report,
                                             bool degraded,
                                             struct jp_baseline *to, char *why,
                                             size_t size, struct jp_error *err);
/* The same of parsed JSON, of a baseline or of a report. */
enum baseline_added baseline_file_add(json_t *root, bool degraded,
                                      struct jp_baseline *to, char *why,
                                      size_t size, struct jp_error *err);

#endif
