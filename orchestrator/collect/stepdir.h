/* stepdir.h - the places in a step directory, its log, and the barrier that
 * finds the last node to leave.
 *
 * The directory belongs to the user of the job, so everything here runs as that
 * user. Its content is still foreign input: folders that are symbolic links are
 * refused. Layout: docs/dev/contracts.md, section 2.
 */
#ifndef JP_COLLECT_STEPDIR_H
#define JP_COLLECT_STEPDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define JP_STEPDIR_NAME_MAX 200

/* Files of a running step, which its node agents write; the alerts are kept. */
#define LIVE_FOLDER "live"
#define LIVE_NODES LIVE_FOLDER "/nodes"
#define LIVE_WANT LIVE_FOLDER "/live.want"
#define LIVE_ALERTS LIVE_FOLDER "/alerts.jsonl"

/* Whether a name may be part of a path: [A-Za-z0-9._-]+, not starting with a
 * dot, at most JP_STEPDIR_NAME_MAX bytes. NULL: no. */
bool stepdir_name_ok(const char *name);

/* Whether path is a real folder, not a link to one. */
bool stepdir_is_folder(const char *path);

/* Whether path is a real folder of the calling user to which nobody else can
 * write. In another one, files could at any moment turn into links, or into
 * scripts that we run. For root, the folders of the path must also belong to
 * root (common/ownplace.h). */
int stepdir_check_own(const char *path, struct jp_error *err);

/* The same, and holds the step directory and the job's (ownplace_hold): from
 * now on this process works there, whatever others do to the folders above
 * them. Call it first in every program that writes to a step. */
int stepdir_hold(const char *dir, struct jp_error *err);

/* Ends stepdir_hold. */
void stepdir_release(const char *dir);

/* Makes the folders of a node: done/, nodes/<node>/, raw/<node>/. */
int stepdir_prepare(const char *dir, const char *node, struct jp_error *err);

/* Whether dir/name exists (a dangling link counts). */
bool stepdir_has(const char *dir, const char *name);

/* The job's directory: dir without its last component. Caller frees; NULL: no
 * memory. */
char *stepdir_job_dir(const char *dir);

/* Appends "ISO-TIME host program[pid]: text" to <dir>/log.txt in one write.
 * Errors are ignored, because a log is no reason to stop. errno is kept. */
void stepdir_log(const char *dir, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* --- the last node to leave a step: tokens, done marks and alldone -------- */

/* Each node of each component has a seat. Entering makes pending/C.K. Leaving
 * makes done/C.K, removes the token, tries rmdir(pending), and on success or
 * ENOENT counts done/. A node that counts all nodes makes alldone/, and the
 * only one whose mkdir succeeds is the last node. (With tokens and rmdir alone,
 * 22 of 300 short steps had two last nodes.) Source: docs/dev/contracts.md,
 * section 2. */

struct jp_seat {
    const char *dir;    /* the step directory */
    uint64_t component; /* job id of the component */
    uint32_t nodeid;    /* within the component */
    uint32_t nodes;     /* of the whole step (SLURM_STEP_NUM_NODES) */
};

/* Whether the step's report is finished: summary.json exists and done/ does
 * not. (With done/, it is a user's report of a running step, or its writer was
 * killed before it has cleared the step; the step still needs its report.) */
bool barrier_is_reported(const char *dir);

/* Makes the token. done/ must exist. Fails with EALREADY if this node has left
 * already, or all nodes are done. */
int barrier_enter(const struct jp_seat *seat, struct jp_error *err);

enum barrier_state {
    BARRIER_OTHERS, /* other nodes are still in the step */
    BARRIER_LAST,   /* this call has made alldone/ */
    BARRIER_GONE    /* no done/: a report has already cleared the step */
};

/* Leaves the step. May be called twice. *out is not set on failure. */
int barrier_leave(const struct jp_seat *seat, enum barrier_state *out,
                  struct jp_error *err);

/* The number of tokens in pending/: nodes that have entered and not left. */
uint32_t barrier_count_pending(const char *dir);

/* Removes owner, pending/, done/, alldone/, run/ and the live files after a
 * report. A finish that leaves at the same moment can fill a folder again, so
 * it tries a few times. */
void barrier_clear(const char *dir);
/* Whether none of them exists. A process that makes a report may be killed
 * while it removes them. */
bool barrier_is_clear(const char *dir);

#endif
