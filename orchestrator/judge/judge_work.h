/* judge_work.h - what judge.c and judge_name.c share: judge.c measures each
 * process's excess, judge_name.c says who is named. */
#ifndef JP_JUDGE_WORK_H
#define JP_JUDGE_WORK_H

#include "orchestrator/judge/judge.h"

#define START_BLOCKS 4 /* JUDGE_START, with the block that it ends in */
#define UNLIKE                                                                 \
    2.0 /* times the usual error of its role: a process has noise of its own,  \
           which its blocks alone must show */

struct work {
    struct judge *j;
    struct judge_run *run;
    const struct jp_processes *p;
    float *excess;         /* [item] NAN: nothing to compare with */
    uint32_t *members;     /* processes sorted by role */
    uint32_t *mates;       /* processes sorted by by_mates */
    uint32_t *role_from;   /* [role] its first in members; n_roles + 1 */
    double *scratch;       /* [3 x processes + JUDGE_BLOCKS] */
    struct rest *rest;     /* [role] for compare_rest */
    struct placed *placed; /* [process] likewise */
    const double **blocks; /* [process] or [host] for find_window */
    bool *stall;           /* [item], or [kept interval], by judge_stall.c */
    uint32_t *of_key, *of_item; /* [key], [item of a process] for add_work */
    double worth_us;
};

/* --- judge_name.c --------------------------------------------------------- */

/* Returns the variance of blocks by the differences of neighbours, which do not
 * count what comes, goes or grows as noise (von Neumann 1941). */
double judge_neighbours(const double *blocks);

/* Returns the degrees of freedom of the error of so many blocks. */
unsigned judge_freedom_of(unsigned blocks);

/* Sums up how long all others of their operations waited for each process
 * alone: alone_us. 0, or -1: no memory. */
int judge_sum_alone(struct work *work);

/* Names nodes and processes that are late, all along or in a part of the run.
 * named: set for the processes. 0, or -1: no memory. */
int judge_name_all(struct work *work, bool *named);

#endif
