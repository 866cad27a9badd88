/* site.h - an imagined site, for tests of jobprof history: jobs on random
 * nodes, some of which make the others wait.
 *
 * Two nodes are bad: late in six of ten of their steps. Beside that, any node
 * may be late in a step; in some jobs one node is late in all of its steps
 * (its part of the data is larger); one user's program always has more to do
 * on its first node.
 */
#ifndef JP_TESTS_HISTORY_SITE_H
#define JP_TESTS_HISTORY_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "orchestrator/history/history.h"

enum { SITE_USERS = 20, SITE_NODES_OF_JOB = 16, SITE_BAD = 2 };

struct site {
    unsigned nodes;         /* n001 to ... */
    unsigned bad[SITE_BAD]; /* 0: none */
    uint64_t random, job;
    unsigned steps_left, step_no, n, user;
    unsigned members[SITE_NODES_OF_JOB]; /* of the job, in order */
    unsigned lazy;                       /* late in all its steps; 0: none */
    char texts[6][256];
    char list[512];
    char hosts[4][16];
};

void site_init(struct site *site, unsigned nodes, const unsigned *bad,
               uint64_t seed);

/* The next step; what it borrows lives until the next one. */
void site_next(struct site *site, struct history_step *step);

#endif
