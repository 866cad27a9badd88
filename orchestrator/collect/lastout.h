/* lastout.h - who leaves a step last: tokens, done marks and alldone.
 *
 * Each node of each component holds a seat. Entering makes pending/C.K; leaving
 * makes done/C.K, removes the token, tries rmdir(pending) and, on success or
 * ENOENT, counts done/. Whoever counts all nodes makes alldone/, and the one
 * success of that mkdir is the last node out. (Tokens and rmdir alone made two
 * last nodes in 22 of 300 short steps.) Source: docs/internals.md, section 2.
 */
#ifndef JP_COLLECT_LASTOUT_H
#define JP_COLLECT_LASTOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

struct jp_seat {
    const char *dir;    /* the step directory */
    uint64_t component; /* job id of the component */
    uint32_t nodeid;    /* within the component */
    uint32_t nodes;     /* of the whole step (SLURM_STEP_NUM_NODES) */
};

/* Whether the step's report is finished: summary.json without done/. (With
 * done/ it is a user's report of a running step, or one whose writer was killed
 * before it cleared up: the step still wants its own.) */
bool lastout_is_reported(const char *dir);

/* Makes the token. done/ must exist. Fails with EALREADY where this node has
 * left already or all are done. */
int lastout_enter(const struct jp_seat *seat, struct jp_error *err);

enum jp_lastout {
    JP_LASTOUT_OTHERS, /* other nodes are still in the step */
    JP_LASTOUT_LAST,   /* this call made alldone/ */
    JP_LASTOUT_GONE    /* no done/: a report has cleared the step already */
};

/* Leaves the step. Safe to call twice. *out is unset on failure. */
int lastout_leave(const struct jp_seat *seat, enum jp_lastout *out,
                  struct jp_error *err);

/* Tokens in pending/: nodes that have entered and not left. */
uint32_t lastout_count_pending(const char *dir);
uint32_t lastout_count_done(const char *dir);

/* Removes owner, pending/, done/, alldone/ and run/ after a report. A finish
 * that leaves in the same moment can refill a folder: tried a few times. */
void lastout_clear(const char *dir);
/* Whether nothing of them is there: a reporter may be killed in between. */
bool lastout_is_clear(const char *dir);

#endif
