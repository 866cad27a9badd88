/* likes.h - how far each communicator is behind those that are like it.
 *
 * Likes are communicators of one size and name, with collectives or without,
 * that have done about as many operations. One is behind where it has fewer
 * than the most of them, by what fits into few steps, and had no fewer in the
 * middle of the run: it has not less to do in each step then.
 */
#ifndef JP_INSIGHT_LIKES_H
#define JP_INSIGHT_LIKES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/insight/processes.h"

struct jp_likes {
    const struct jp_result *r; /* both borrowed */
    const struct jp_processes *p;
    /* of each communicator: what its likes have done more than it, 0: none or
     * not known; how many these are, with it, 0: not compared; how many of them
     * are not behind; steps of the program, at least a part of them that its
     * gradients are not cut into */
    uint64_t *lag;
    size_t *likes;
    size_t *even;
    uint64_t *steps;
    size_t *lags_of; /* of each process: its communicators that lag */
    size_t n_lags;
    bool unsure; /* whether one lags */
};

/* 0, or -1 without memory. Release with likes_fini. */
int likes_compare(struct jp_likes *likes, const struct jp_result *result,
                  const struct jp_processes *processes);
void likes_fini(struct jp_likes *likes);

/* An order of communicators in which those of one shape are equal. */
typedef int likes_order(const struct jp_comm *x, const struct jp_comm *y);

/* Numbers communicators from 0 on, those of one shape alike: class_of has room
 * for each of them. Writes how many numbers there are. 0, or -1 without memory.
 */
int likes_number(const struct jp_result *result, likes_order *order,
                 size_t *class_of, size_t *n_classes);

/* One number of ranks and of nodes, about as many operations, one name: these
 * run over the same links. */
likes_order likes_by_place;

/* One number of ranks, about as many operations, one name but for the number
 * that it ends in: these wait for the same work, wherever they are. */
likes_order likes_by_work;

/* What a communicator has done: operations, or records of Send and Recv. */
static inline uint64_t likes_done(const struct jp_comm *comm)
{
    return comm->ops ? comm->ops : comm->p2p_records;
}

#endif
