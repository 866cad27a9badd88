/* likes.h - how far each communicator is behind similar ones.
 *
 * Similar communicators ("likes") have the same size and name, the same kind
 * of operations (collectives, or only Send and Recv), and about the same
 * number of operations. A communicator is behind if it has fewer operations
 * than the most advanced of them, by a few steps at most, and had as many in
 * the middle of the run. Otherwise it only does less in each step.
 */
#ifndef JP_INSIGHT_LIKES_H
#define JP_INSIGHT_LIKES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/identity/processes.h"

struct jp_likes {
    const struct jp_result *r; /* both borrowed */
    const struct jp_processes *p;
    /* By communicator. */
    uint64_t *lag; /* operations that it is behind; 0: none, or unknown */
    size_t *likes; /* similar communicators, itself included; 0: it was not
                      compared */
    size_t *even;  /* number of these that are not behind */
    uint64_t
        *steps; /* the program's steps, estimated by the communicator of one
                   of its ranks with the fewest operations; 0: unknown */
    /* By process: number of its communicators that are behind. */
    size_t *lags_of;
    size_t n_lags;
    bool unsure; /* it is uncertain whether any is behind */
};

/* Compares all communicators. Returns 0, or -1 without memory. Release with
 * likes_fini. */
int likes_compare(struct jp_likes *likes, const struct jp_result *result,
                  const struct jp_processes *processes);
void likes_fini(struct jp_likes *likes);

/* Compares communicators; those of one shape are equal. */
typedef int likes_order(const struct jp_comm *x, const struct jp_comm *y);

/* Numbers the shapes of communicators from 0 on. class_of has room for each
 * communicator; *n_classes gets the number of shapes. 0, or -1: no memory. */
int likes_number(const struct jp_result *result, likes_order *order,
                 size_t *class_of, size_t *n_classes);

/* Same number of ranks and of nodes, about as many operations, same name: such
 * communicators run over the same links. */
likes_order likes_by_place;

/* Same number of ranks, domains and nodes, and the same links (NCCL's type, the
 * labels): times and bandwidths of such communicators can be compared. */
likes_order likes_by_link;

/* Returns the number of a communicator's operations; without collectives, of
 * its records of Send and Recv. */
static inline uint64_t likes_done(const struct jp_comm *comm)
{
    return comm->ops ? comm->ops : comm->p2p_records;
}

#endif
