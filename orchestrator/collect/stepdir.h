/* stepdir.h - the places inside a step directory and its log.
 *
 * The directory belongs to the user who runs the job, so everything here runs
 * as that user; what is below it is still foreign input: folders that turn out
 * to be symbolic links are refused. Layout: docs/contracts.md, section 2.
 */
#ifndef JP_COLLECT_STEPDIR_H
#define JP_COLLECT_STEPDIR_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

#define JP_STEPDIR_NAME_MAX 200

/* While the step runs (orchestrator/live/livesnap.h); alerts stay. */
#define LIVE_FOLDER "live"
#define LIVE_NODES LIVE_FOLDER "/nodes"
#define LIVE_WANT LIVE_FOLDER "/live.want"
#define LIVE_ALERTS LIVE_FOLDER "/alerts.jsonl"

/* Whether a name may be part of a path: [A-Za-z0-9._-]+, not starting with a
 * dot, at most JP_STEPDIR_NAME_MAX bytes. NULL: no. */
bool stepdir_name_ok(const char *name);

/* Whether path is a real folder, not a link to one. */
bool stepdir_is_folder(const char *path);

/* Whether path is a real folder of the calling user. In another user's folder,
 * files could at any moment turn into links, or into scripts that we run. For
 * root, the folders of the path must also belong to root (common/fileio.h). */
int stepdir_check_own(const char *path, struct jp_error *err);

/* Makes what a node needs: done/, nodes/<node>/, raw/<node>/. */
int stepdir_prepare(const char *dir, const char *node, struct jp_error *err);

/* Whether dir/name exists (a dangling link counts). */
bool stepdir_has(const char *dir, const char *name);

/* The job's directory: dir without its last component. Caller frees; NULL when
 * out of memory. */
char *stepdir_job_dir(const char *dir);

/* Appends "ISO-TIME host program[pid]: text" to <dir>/log.txt in one write.
 * Trouble is ignored: a log is no reason to stop. errno is kept. */
void stepdir_log(const char *dir, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
