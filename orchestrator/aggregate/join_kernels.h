/* join_kernels.h - how long each AlltoAll of Send and Recv kept a rank.
 *
 * NCCL runs the Send and Recv of an AlltoAll as one kernel, which ends with the
 * longest of them: that is how long the rank was in it, whatever the sizes. A
 * rank's messages are numbered, and an AlltoAll has one to and one from each
 * peer, so kernel k has the k-th `per` numbers. Whether a rank sends to itself
 * is known at the end only, so both ways of counting are kept. A kernel counts
 * where all of its messages are there. Longest times and counts do not depend
 * on the order of records.
 */
#ifndef JP_AGGREGATE_JOIN_KERNELS_H
#define JP_AGGREGATE_JOIN_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "orchestrator/aggregate/blockmap.h"

/* Of fewer ranks all may be neighbours in a pipeline; of more, a kernel's
 * messages are too many to be all there. */
enum { JOIN_KERNEL_MIN_RANKS = 4, JOIN_KERNEL_MAX_RANKS = 4096 };
enum { JOIN_KERNEL_BLOCK = 64 };

struct join;
struct join_member;
struct record;

struct join_kernel_block {
    uint64_t number; /* of the kernel / JOIN_KERNEL_BLOCK */
    uint32_t us[JOIN_KERNEL_BLOCK];
    uint16_t n[JOIN_KERNEL_BLOCK]; /* messages */
};

/* [0]: with messages to itself; [1]: without. */
struct join_kernels {
    struct blockmap blocks[2];
};

/* Adds a message of the member. What does not fit the bound for them switches
 * kernels off (budget->kernels_off). 0, or -1 without memory. */
int join_kernels_add(struct join *join, struct join_member *member,
                     const struct record *record);
/* A kernel of `per` messages, as a partial has it. */
int join_kernels_put(struct join *join, struct join_member *member, bool self,
                     uint64_t kernel, uint32_t us);
int join_kernels_merge(struct join *into, struct join_member *to,
                       const struct join_member *from);
void join_kernels_fini(struct join_kernels *kernels);

/* Are its messages those of AlltoAll: to and from each peer? *self: and to
 * itself. */
bool join_kernels_fit(const struct join *join, const struct join_member *member,
                      bool *self);
/* Then its kernels, each of `per` messages. NULL: there are none, or they are
 * off. */
const struct blockmap *join_kernels_of(const struct join *join,
                                       const struct join_member *member,
                                       unsigned *per);

#endif
