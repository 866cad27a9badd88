/* site.h - generates the steps of a simulated cluster, for tests of jobprof
 * history.
 *
 * Jobs of up to 16 nodes run on random nodes. Two nodes are bad: each makes the
 * others wait in 60 % of the steps it takes part in. The rest is what the
 * statistics must not mistake for a bad node: a node of 5 % of the steps is
 * late by chance; in one job of ten, one node is late in all steps (its share
 * of the data is larger); and the program of one user always has more to do on
 * its first node. */
#ifndef JP_TESTS_HISTORY_SITE_H
#define JP_TESTS_HISTORY_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "orchestrator/history/history.h"

enum { SITE_USERS = 20, SITE_NODES_OF_JOB = 16, SITE_BAD = 2 };

struct site {
    unsigned nodes;         /* n001 to ... */
    unsigned bad[SITE_BAD]; /* numbers of nodes; 0: none */
    uint64_t random, job;
    unsigned steps_left, step_no, n, user;
    unsigned members[SITE_NODES_OF_JOB]; /* of the current job, ascending */
    unsigned lazy; /* late in all steps of this job; 0: none */
    /* what the texts of the last step point to */
    char texts[6][256];
    char list[512];
    char hosts[4][16];
};

/* BAD has SITE_BAD numbers, or is NULL for a cluster without a bad node. The
 * same SEED gives the same steps. */
void site_init(struct site *site, unsigned nodes, const unsigned *bad,
               uint64_t seed);

/* Fills in the next step. Its texts point into SITE and are valid until the
 * next call. */
void site_next(struct site *site, struct history_step *step);

#endif
