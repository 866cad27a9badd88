/* targets.h - which processes of a node are looked at, and what a question to
 * RAS needs to know: by the recordings of a step that still runs.
 *
 * Missing are ranks that never entered an operation that others are in; up to
 * TARGETS_VICTIMS of those that wait for them are looked at, too. Where nothing
 * is in flight, or no recorder runs, all tasks of the node are taken, and
 * nothing is said of who waits for whom.
 */
#ifndef JP_EVIDENCE_TARGETS_H
#define JP_EVIDENCE_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/evidence/evidence.h"
#include "orchestrator/ingest/hangs.h"

#define TARGETS_VICTIMS 2
#define TARGETS_TEXT 600

struct targets {
    struct jp_hangs hangs;
    uint64_t recordings; /* of the step, as this node sees them */
    bool unread;         /* some of them: the time was over */
    char answer[TARGETS_TEXT];
    struct evidence_target list[EVIDENCE_TARGETS];
    size_t n;
    uint64_t left_out; /* no room */
    /* of this node's processes: the oldest release of NCCL
     * (JP_NCCL_RELEASE), 0: not known; since
     * when no communicator was made, UINT64_MAX: none was; and the ranks of all
     * communicators, summed */
    uint32_t nccl_release;
    uint64_t quiet_ms, entries;
};

struct targets_step {
    const char *dir, *node, *root;
    uint64_t job;
    const char *step; /* SLURM_STEP_ID */
    bool own;         /* who is missing is known: only raw/<node>/ is read, and
                         nobody is chosen */
};

/* 0, then targets_fini is due; -1: no memory, or the recordings cannot be read.
 */
int targets_find(const struct targets_step *step, struct targets *out,
                 struct jp_error *err);
void targets_fini(struct targets *targets);

/* Sets what the order needs of *found, which it borrows: what is in flight, the
 * hang's sentence where the order has none, whether RAS is asked and how.
 * nccl: JP_NCCL_RELEASE, or 0: as recordings tell. */
void targets_set(const struct targets *found, uint32_t nccl,
                 struct evidence_order *order);

#endif
