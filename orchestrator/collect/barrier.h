/* barrier.h - who leaves a step last: tokens, done marks and alldone.
 *
 * Each node of each component holds a seat. Entering makes pending/C.K; leaving
 * makes done/C.K, removes the token, tries rmdir(pending) and, on success or
 * ENOENT, counts done/. Whoever counts all nodes makes alldone/, and the one
 * success of that mkdir is the last node out. (Tokens and rmdir alone made two
 * last nodes in 22 of 300 short steps.) Source: docs/contracts.md, section 2.
 */
#ifndef JP_COLLECT_BARRIER_H
#define JP_COLLECT_BARRIER_H

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
bool barrier_is_reported(const char *dir);

/* Makes the token. done/ must exist. Fails with EALREADY where this node has
 * left already or all are done. */
int barrier_enter(const struct jp_seat *seat, struct jp_error *err);

enum barrier_state {
    BARRIER_OTHERS, /* other nodes are still in the step */
    BARRIER_LAST,   /* this call made alldone/ */
    BARRIER_GONE    /* no done/: a report has cleared the step already */
};

/* Leaves the step. Safe to call twice. *out is unset on failure. */
int barrier_leave(const struct jp_seat *seat, enum barrier_state *out,
                  struct jp_error *err);

/* Tokens in pending/: nodes that have entered and not left. */
uint32_t barrier_count_pending(const char *dir);

/* Removes owner, pending/, done/, alldone/ and run/ after a report. A finish
 * that leaves in the same moment can refill a folder: tried a few times. */
void barrier_clear(const char *dir);
/* Whether nothing of them is there: a reporter may be killed in between. */
bool barrier_is_clear(const char *dir);

#endif
