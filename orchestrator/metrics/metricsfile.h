/* metricsfile.h - a step's file in the folder of node_exporter's textfile
 * collector.
 *
 * The folder is the site's (metrics.textfile_dir), the writer is the job's
 * user. So the folder is root's with the sticky bit (1777, or 3770 with a group
 * that all users are in); files are the users'. A name is that of one step,
 * node and user:
 *
 *     jobprof-<job>.<step>-n<node's number>-<uid>.prom        mode 0644
 *
 * A file appears whole, by rename. No link is followed, and a name that is
 * another user's stays his: then this step has no metrics, which is said. A
 * folder where somebody else could replace files is not written to.
 */
#ifndef JP_METRICS_METRICSFILE_H
#define JP_METRICS_METRICSFILE_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* A file that has not been written for so long is of an agent that is gone. */
#define METRICSFILE_STALE_S 900

enum { METRICSFILE_NAME_BYTES = 128 };

/* Whose file it is. */
struct metricsfile_step {
    uint64_t job; /* the component's */
    const char *step;
    uint32_t nodeid; /* within it */
};

/* The file's name. Returns buf. */
char *metricsfile_name(const struct metricsfile_step *step,
                       char buf[METRICSFILE_NAME_BYTES]);

/* The folder, if it can be trusted: a descriptor, or -1 and err, which says
 * what to change. */
int metricsfile_open(const char *folder, struct jp_error *err);

/* Replaces the file by these bytes. */
int metricsfile_write(const char *folder, const struct metricsfile_step *step,
                      const void *bytes, size_t n, struct jp_error *err);

/* Removes it, if it is there and ours. */
void metricsfile_remove(const char *folder,
                        const struct metricsfile_step *step);

/* Removes files of such names that are stale, with what their writers have left
 * of temporary ones: our own, as root everybody's. *n: how many (may be NULL).
 * dry: only counts. */
int metricsfile_clean(const char *folder, int dry, size_t *n,
                      struct jp_error *err);

#endif
