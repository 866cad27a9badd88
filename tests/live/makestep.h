/* makestep.h - the directory of a step that runs, with snapshots as the live
 * module writes them, for tests of who reads them.
 */
#ifndef JP_TESTS_LIVE_MAKESTEP_H
#define JP_TESTS_LIVE_MAKESTEP_H

#include <stdint.h>

#include "orchestrator/live/livesnap.h"

enum makestep_kind {
    MAKESTEP_OK,    /* all ranks move */
    MAKESTEP_HANG,  /* rank `who` never entered AllReduce 900 of dp */
    MAKESTEP_LATE,  /* rank `who` makes the others wait */
    MAKESTEP_GONE,  /* the process of rank `who` is gone, nobody waits yet */
    MAKESTEP_ENDED, /* the nodes have written their last word */
    MAKESTEP_N_KINDS
};
extern const char *const makestep_words[MAKESTEP_N_KINDS];

struct makestep {
    uint32_t nodes, ranks; /* ranks: of each node */
    enum makestep_kind kind;
    uint32_t who;
    uint64_t real_ns; /* when the snapshots are taken */
    uint32_t due_ms;  /* 0: 5 s */
};

/* Node i's snapshot. */
void makestep_snap(const struct makestep *step, uint32_t i,
                   struct live_snap *snap);

/* Writes job.conf and live/nodes/ into dir, which exists. 0 or -1. */
int makestep_write(const struct makestep *step, const char *dir);

#endif
