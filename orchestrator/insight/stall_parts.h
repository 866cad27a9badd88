/* stall_parts.h - between stall*.c: which communicators stopped short. */
#ifndef JP_INSIGHT_STALL_PARTS_H
#define JP_INSIGHT_STALL_PARTS_H

#include <stdbool.h>

#include "orchestrator/insight/people.h"

struct stall {
    const struct jp_result *r;
    const struct jp_people *p;
    /* of each communicator: what its likes have done more than it, 0: none or
     * not known; how many these are, with it; steps of the program, at least a
     * part of them that its gradients are not cut into */
    uint64_t *lag;
    size_t *likes;
    uint64_t *steps;
    size_t *lags_of; /* of each process: its communicators that lag */
    size_t n_lags;
    bool unsure; /* whether one lags */
};

/* What a communicator has done: operations, or records of Send and Recv. */
uint64_t stall_done(const struct jp_comm *comm);

/* A communicator is short of its likes (size, name, about as many operations)
 * where it has less than the most of them, by what fits into few steps, and had
 * no less in the middle of the run: it has not less to do in each step then.
 * 0, or -1 without memory. Release with stall_fini. */
int stall_compare(struct stall *stall, const struct jp_result *result,
                  const struct jp_people *people);
void stall_fini(struct stall *stall);

/* The communicator that stopped first; SIZE_MAX: the data does not tell. */
size_t stall_find_first(const struct stall *stall);

/* Who is short of the last operations of a communicator that all others have,
 * and alone so: its records stopped first. SIZE_MAX: nobody, or several. */
size_t stall_find_silent(const struct stall *stall);

#endif
