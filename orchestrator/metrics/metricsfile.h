/* metricsfile.h - a step's file in the folder of node_exporter's textfile
 * collector.
 *
 * The site sets the folder (metrics.textfile_dir); the job's user writes the
 * file. The folder therefore belongs to root and has the sticky bit (1777, or
 * 3770 with a group of all users), and the files belong to the users. A name
 * stands for one step, node and user:
 *
 *     jobprof-<job>.<step>-n<node's number>-<uid>.prom        mode 0644
 *
 * A file appears complete, by rename. Links are not followed. If the name is
 * taken by another user's file, that file is kept and an error is reported:
 * this step has no metrics then. A folder in which other users could replace
 * files is not used.
 */
#ifndef JP_METRICS_METRICSFILE_H
#define JP_METRICS_METRICSFILE_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* The agent of a file not written for this many seconds is gone. */
#define METRICSFILE_STALE_S 900

enum { METRICSFILE_NAME_BYTES = 128 };

/* The owner of a file. */
struct metricsfile_step {
    uint64_t job; /* job id of the component */
    const char *step;
    uint32_t nodeid; /* index within the component */
};

/* Formats the file's name to buf. Returns buf. */
char *metricsfile_name(const struct metricsfile_step *step,
                       char buf[METRICSFILE_NAME_BYTES]);

/* Opens the folder if it can be trusted. Returns a descriptor, or -1; err then
 * says what to change. */
int metricsfile_open(const char *folder, struct jp_error *err);

/* Replaces the file's contents by these bytes. */
int metricsfile_write(const char *folder, const struct metricsfile_step *step,
                      const void *bytes, size_t n, struct jp_error *err);

/* Removes the file if it exists and is ours. */
void metricsfile_remove(const char *folder,
                        const struct metricsfile_step *step);

/* Removes stale files with such names, and the temporary files of their
 * writers: our own, or as root those of all users. *n: number of files (may be
 * NULL). dry: only counts. */
int metricsfile_clean(const char *folder, int dry, size_t *n,
                      struct jp_error *err);

#endif
