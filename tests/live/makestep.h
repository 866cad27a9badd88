/* makestep.h - the directory of a running step with snapshots, written by the
 * live module's own code, for tests of their readers. */
#ifndef JP_TESTS_LIVE_MAKESTEP_H
#define JP_TESTS_LIVE_MAKESTEP_H

#include <stdint.h>

#include "orchestrator/live/livesnap.h"

enum makestep_kind {
    MAKESTEP_OK,    /* all ranks move */
    MAKESTEP_HANG,  /* rank `who` never entered AllReduce 900 of dp */
    MAKESTEP_LATE,  /* rank `who` makes the others wait */
    MAKESTEP_GONE,  /* the process of rank `who` is gone, nobody waits yet */
    MAKESTEP_ENDED, /* the nodes have written their last snapshots */
    MAKESTEP_N_KINDS
};
extern const char *const makestep_words[MAKESTEP_N_KINDS];

struct makestep {
    uint32_t nodes, ranks; /* ranks: of each node */
    enum makestep_kind kind;
    uint32_t who;
    uint64_t real_ns; /* time of the snapshots */
    uint32_t due_ms;  /* 0: 5 s */
};

/* Fills in the snapshot of node i. */
void makestep_snap(const struct makestep *step, uint32_t i,
                   struct live_snap *snap);

/* Writes job.conf and live/nodes/ to dir, which must exist. Returns 0 or -1. */
int makestep_write(const struct makestep *step, const char *dir);

#endif
