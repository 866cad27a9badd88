/* join_messages.c - what is kept of a rank's Send and Recv: bandwidths in
 * buckets, the longest message of each AlltoAll, and times over the run.
 *
 * Three independent parts, each with add, merge and what reads it: rates
 * (struct join_rates), kernels (struct join_kernels) and times over the run
 * (struct join_messages). join.h has their purpose. All are sums or maxima of
 * integers, so the order of records does not matter. */
#include "orchestrator/aggregate/join_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/vector.h"
#include "orchestrator/aggregate/aggregate.h"

/* --- bandwidths in buckets --- */

/* parts of a power of two, and the room of a first allocation in entries */
#define PARTS 16
#define PARTS_BITS 4
#define FIRST_ROOM 8

/* The bucket of a message. JOIN_RATE_BUCKETS: bytes or time is 0, so it has no
 * bandwidth. */
static uint32_t bucket_of(uint64_t bytes, uint64_t exec_us)
{
    uint64_t micro;
    unsigned shift;

    if (!bytes || !exec_us)
        return JOIN_RATE_BUCKETS;
    /* GB/s are 1000 bytes a us */
    if (__builtin_mul_overflow(bytes, UINT64_C(1000), &micro))
        micro = UINT64_MAX;
    micro /= exec_us;
    /* small numbers have a bucket each */
    if (micro < 2 * PARTS)
        return (uint32_t) micro;
    /* the leading bit and the 4 bits after it: 16 to 31 after the shift */
    shift = 63 - (unsigned) __builtin_clzll(micro) - PARTS_BITS;
    return (uint32_t) ((shift << PARTS_BITS) + (micro >> shift));
}

/* Least value of a bucket, in 1e-6 GB/s. */
static double lower(uint32_t bucket)
{
    if (bucket < 2 * PARTS)
        return bucket;
    /* the reverse of bucket_of */
    return ldexp(PARTS + bucket % PARTS, (int) (bucket / PARTS) - 1);
}

/* The index of the first entry that is not below a bucket. Entries are sorted
 * by bucket, so this is where a new one goes. */
static uint32_t place_of(const struct join_rates *rates, uint32_t bucket)
{
    uint32_t from = 0, to = rates->n;

    while (from < to) {
        uint32_t middle = (from + to) / 2;

        if (rates->at[middle].bucket < bucket)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Makes room for one more entry; the array doubles at powers of two from
 * FIRST_ROOM on. 0, or -1: the memory limit, or no memory. */
static int reserve_rate(struct join *join, struct join_rates *rates)
{
    uint32_t n = rates->n, room = n ? 2 * n : FIRST_ROOM;

    if (n && (n < FIRST_ROOM || (n & (n - 1))))
        return 0;
    if (!join_charge(join, (room - n) * sizeof(*rates->at)))
        return -1;
    return vector_resize(&rates->at, room, sizeof(*rates->at));
}

int join_rates_add(struct join *join, struct join_rates *rates, uint32_t bucket,
                   uint32_t count)
{
    uint32_t at = place_of(rates, bucket);
    struct join_rate *rate;

    if (at < rates->n && rates->at[at].bucket == bucket) {
        rate = &rates->at[at];
        if (__builtin_add_overflow(rate->count, count, &rate->count))
            rate->count = UINT32_MAX;
        return 0;
    }
    if (reserve_rate(join, rates) < 0)
        return -1;
    /* insert: most messages of a rank fall into few buckets, so this is rare */
    rate = rates->at + at;
    memmove(rate + 1, rate, (rates->n - at) * sizeof(*rate));
    *rate = (struct join_rate){bucket, count};
    rates->n++;
    return 0;
}

int join_rates_merge(struct join *join, struct join_rates *into,
                     const struct join_rates *from)
{
    for (uint32_t i = 0; i < from->n; i++)
        if (join_rates_add(join, into, from->at[i].bucket, from->at[i].count) <
            0)
            return -1;
    return 0;
}

double join_rates_quantile(const struct join_rates *rates, double q)
{
    double total = 0, before = 0, rank;

    for (uint32_t i = 0; i < rates->n; i++)
        total += rates->at[i].count;
    /* position among the sorted messages, from 0 */
    rank = q * (total - 1);
    for (uint32_t i = 0; i < rates->n; i++) {
        double count = rates->at[i].count, from = lower(rates->at[i].bucket);
        /* messages are taken to lie evenly within their bucket */
        double part = (rank - before + 0.5) / count;

        if (before + count > rank)
            return (from +
                    (lower(rates->at[i].bucket + 1) - from) * fmin(part, 1)) /
                   1e6;
        before += count;
    }
    return NAN;
}

/* Messages are alike if the quantile FASTEST is at most ALIKE times the one
 * that is used. Otherwise sizes differ, or some took another path. */
#define FASTEST 0.97
#define ALIKE 1.15

double join_rates_fast(const struct join_rates *rates)
{
    double fast = join_rates_quantile(rates, JP_P2P_SLOWER);

    return join_rates_quantile(rates, FASTEST) > ALIKE * fast ? NAN : fast;
}

/* --- AlltoAlls of Send and Recv --- */
#define BLOCK_BYTES (sizeof(struct join_kernel_block) + 16)

/* The number of ranks of the member's communicator; 0: unknown. */
static uint32_t ranks_of(const struct join *join,
                         const struct join_member *member)
{
    return join->comms[member->comm]->n_ranks;
}

/* Whether the limit was reached: then no rank has times of AlltoAlls. */
static bool is_off(const struct join *join)
{
    return atomic_load(&join->budget->kernels_off);
}

/* Takes a block's bytes from the limit of kernels, half of that of the journal.
 * AlltoAlls are few beside the messages. False: kernels are off. */
static bool fits(struct join *join)
{
    struct join_budget *budget = join->budget;
    uint64_t used = atomic_fetch_add(&budget->kernels_used, BLOCK_BYTES);

    if (used + BLOCK_BYTES > budget->journal_limit / 2)
        atomic_store(&budget->kernels_off, true);
    return !is_off(join);
}

/* Finds or makes a block of kernels. NULL: no memory, or kernels are off. */
static struct join_kernel_block *
block_get(struct join *join, struct blockmap *blocks, uint64_t number)
{
    struct join_kernel_block *block = blockmap_find(blocks, number);

    if (block || !fits(join) || !join_charge(join, BLOCK_BYTES))
        return block;
    block = calloc(1, sizeof(*block));
    if (!block)
        return NULL;
    block->number = number;
    if (blockmap_add(blocks, block) == 0)
        return block;
    free(block);
    return NULL;
}

/* Adds n messages of one kernel, the longest of which took us. 0, or -1: no
 * memory. */
static int add_messages(struct join *join, struct blockmap *blocks,
                        uint64_t kernel, uint32_t us, unsigned n)
{
    struct join_kernel_block *block =
        block_get(join, blocks, kernel / JOIN_KERNEL_BLOCK);
    unsigned k = kernel % JOIN_KERNEL_BLOCK;

    if (!block)
        /* a limit that is reached is no failure */
        return is_off(join) ? 0 : -1;
    if (block->us[k] < us)
        block->us[k] = us;
    block->n[k] = (uint16_t) (block->n[k] + n > UINT16_MAX ? UINT16_MAX
                                                           : block->n[k] + n);
    return 0;
}

/* The messages of one AlltoAll on one rank: to and from each rank, with or
 * without itself. */
static unsigned per_of(uint32_t n_ranks, bool self)
{
    return 2 * (n_ranks - !self);
}

/* Adds a message to the kernel that it belongs to by its number, counted in
 * both ways. Messages to itself show that the second way is wrong, so they are
 * left out of it. */
static int add_kernel(struct join *join, struct join_member *member,
                      const struct record *r)
{
    struct blockmap *blocks = member->traffic->kernels.blocks;
    uint32_t n = ranks_of(join, member);
    /* a message has a share of the time, and waited all of it */
    uint64_t time_us = r->launch_us ? r->launch_us : r->exec_us;
    uint32_t us = time_us > UINT32_MAX ? UINT32_MAX : (uint32_t) time_us;

    if (n < JOIN_KERNEL_MIN_RANKS || n > JOIN_KERNEL_MAX_RANKS || !r->has_sn ||
        !r->sn || r->exec_unknown || is_off(join))
        return 0;
    if (add_messages(join, &blocks[0], (r->sn - 1) / per_of(n, true), us, 1) <
        0)
        return -1;
    /* small communicators form an AlltoAll only if ranks send to themselves */
    if (r->peer == r->rank || n < JOIN_KERNEL_ALONE_RANKS)
        return 0;
    return add_messages(join, &blocks[1], (r->sn - 1) / per_of(n, false), us,
                        1);
}

int join_kernels_put(struct join *join, struct join_member *member, bool self,
                     uint64_t kernel, uint32_t us)
{
    struct join_traffic *traffic = join_traffic_get(join, member);

    /* a complete kernel counts as all its messages */
    return traffic ? add_messages(join, &traffic->kernels.blocks[!self], kernel,
                                  us, per_of(ranks_of(join, member), self))
                   : -1;
}

/* Adds the kernels of another join's member: ranks may log to several files. */
static int merge_kernels(struct join *into, struct join_kernels *to,
                         const struct join_kernels *from)
{
    for (int self = 0; self < 2; self++) {
        const struct blockmap *blocks = &from->blocks[self];

        for (size_t i = 0; i < blockmap_slots(blocks); i++) {
            const struct join_kernel_block *b = (void *) blocks->slots[i];

            for (unsigned k = 0; b && k < JOIN_KERNEL_BLOCK; k++)
                if (b->n[k] && add_messages(into, &to->blocks[self],
                                            b->number * JOIN_KERNEL_BLOCK + k,
                                            b->us[k], b->n[k]) < 0)
                    return -1;
        }
    }
    return 0;
}

static void kernels_fini(struct join_kernels *kernels)
{
    for (int self = 0; self < 2; self++) {
        struct blockmap *blocks = &kernels->blocks[self];

        for (size_t i = 0; i < blockmap_slots(blocks); i++)
            free(blocks->slots[i]);
        blockmap_fini(blocks);
    }
}

bool join_kernels_fit(const struct join *join, const struct join_member *member,
                      bool *self)
{
    uint32_t n = ranks_of(join, member);
    uint64_t own = (uint64_t) member->rank << 32 | member->rank;

    if (n < JOIN_KERNEL_MIN_RANKS || n > JOIN_KERNEL_MAX_RANKS)
        return false;
    /* Send to itself, which has the key of join_p2p_get */
    *self = keymap_find(&join->p2p_map, (uint64_t) member->comm << 1, own) !=
            KEYMAP_NONE;
    return member->p2p_rows == per_of(n, *self) &&
           (*self || n >= JOIN_KERNEL_ALONE_RANKS);
}

const struct blockmap *join_kernels_of(const struct join *join,
                                       const struct join_member *member,
                                       unsigned *per)
{
    const struct blockmap *blocks;
    bool self;

    if (is_off(join) || !join_kernels_fit(join, member, &self))
        return NULL;
    *per = per_of(ranks_of(join, member), self);
    blocks = &join_traffic_of(member)->kernels.blocks[!self];
    return blocks->n ? blocks : NULL;
}

/* --- how long messages took, over the run --- */

#define FIRST_PARTS 16

/* Joins neighbouring parts until they are 1 << shift messages each. */
static void widen_messages(struct join_messages *m, unsigned shift)
{
    for (; m->shift < shift; m->shift++)
        for (uint32_t k = 0; k < m->room; k++) {
            uint64_t us = 0;

            /* k is written after 2k was read, so it works in place */
            for (uint32_t i = 2 * k; i < 2 * k + 2 && i < m->room; i++)
                us += m->us[i];
            m->us[k] = us > UINT32_MAX ? UINT32_MAX : (uint32_t) us;
        }
}

/* The least shift by which a message's number (from 0) falls into one of the
 * JOIN_MESSAGE_PARTS parts. */
static unsigned shift_of(uint64_t number)
{
    unsigned bits = number ? 64 - (unsigned) __builtin_clzll(number) : 0;
    unsigned most = 63 - (unsigned) __builtin_clzll(JOIN_MESSAGE_PARTS);

    return bits > most ? bits - most : 0;
}

/* Makes room for part k. 0, or -1: the memory limit, or no memory. */
static int reach(struct join *join, struct join_messages *m, uint32_t k)
{
    uint32_t room = m->room ? m->room : FIRST_PARTS;

    if (k < m->room)
        return 0;
    while (room <= k)
        room *= 2;
    if (!join_charge(join, (room - m->room) * sizeof(*m->us)))
        return -1;
    if (vector_resize(&m->us, room, sizeof(*m->us)) < 0)
        return -1;
    memset(m->us + m->room, 0, (room - m->room) * sizeof(*m->us));
    m->room = room;
    return 0;
}

/* Adds a time to a part, which saturates. */
static inline void add_to(uint32_t *part, uint32_t us)
{
    if (__builtin_add_overflow(*part, us, part))
        *part = UINT32_MAX;
}

int join_messages_put(struct join *join, struct join_messages *m,
                      unsigned shift, uint32_t part, uint32_t us)
{
    widen_messages(m, shift);
    /* the member's parts may be wider than the given one */
    part = (uint32_t) ((uint64_t) part >> (m->shift - shift));
    if (reach(join, m, part) < 0)
        return -1;
    add_to(&m->us[part], us);
    return 0;
}

/* Adds a message's time to its part. Messages without a number or a time are
 * left out. 0, or -1: the memory limit, or no memory. */
static int add_part(struct join *join, struct join_messages *m,
                    const struct record *r)
{
    uint64_t number = r->sn ? r->sn - 1 : 0;
    uint32_t us = r->exec_us > UINT32_MAX ? UINT32_MAX : (uint32_t) r->exec_us;

    if (!r->has_sn || r->exec_unknown)
        return 0;
    if (number >> m->shift < m->room) { /* most often */
        add_to(&m->us[number >> m->shift], us);
        return 0;
    }
    if (number >> m->shift >= JOIN_MESSAGE_PARTS)
        widen_messages(m, shift_of(number));
    return join_messages_put(join, m, m->shift, (uint32_t) (number >> m->shift),
                             us);
}

/* Adds the parts of another join's member. */
static int merge_parts(struct join *join, struct join_messages *into,
                       const struct join_messages *from)
{
    widen_messages(into, from->shift);
    for (uint32_t k = 0; k < from->room; k++)
        if (from->us[k] &&
            join_messages_put(join, into, from->shift, k, from->us[k]) < 0)
            return -1;
    return 0;
}

uint32_t join_messages_parts(const struct join_messages *m)
{
    uint32_t n = m->room;

    while (n && !m->us[n - 1])
        n--;
    return n;
}

/* --- the three together --- */

struct join_traffic *join_traffic_get(struct join *join,
                                      struct join_member *member)
{
    if (!member->traffic && join_charge(join, sizeof(*member->traffic)))
        member->traffic = calloc(1, sizeof(*member->traffic));
    return member->traffic;
}

const struct join_traffic *join_traffic_of(const struct join_member *member)
{
    static const struct join_traffic none;

    return member->traffic ? member->traffic : &none;
}

/* Counts how fast a message was. */
static int add_rate(struct join *join, struct join_member *member,
                    struct join_p2p *p2p, const struct record *r)
{
    uint32_t bucket = bucket_of(r->bytes, r->exec_us);

    if (bucket == JOIN_RATE_BUCKETS)
        return 0;
    if (member->p2p_rows <= JOIN_P2P_ROWS &&
        join_rates_add(join, &p2p->rates, bucket, 1) < 0)
        return -1;
    return join_rates_add(join, &member->traffic->rates, bucket, 1);
}

int join_messages_add(struct join *join, struct join_member *member,
                      struct join_p2p *p2p, const struct record *r)
{
    return !join_traffic_get(join, member) ||
                   add_rate(join, member, p2p, r) < 0 ||
                   add_part(join, &member->traffic->messages, r) < 0
               ? -1
               : add_kernel(join, member, r);
}

int join_messages_merge(struct join *into, struct join_member *to,
                        const struct join_member *from)
{
    const struct join_traffic *theirs = from->traffic;
    struct join_traffic *traffic = theirs ? join_traffic_get(into, to) : NULL;

    if (!theirs)
        return 0;
    return !traffic ||
                   join_rates_merge(into, &traffic->rates, &theirs->rates) <
                       0 ||
                   merge_parts(into, &traffic->messages, &theirs->messages) < 0
               ? -1
               : merge_kernels(into, &traffic->kernels, &theirs->kernels);
}

void join_messages_fini(struct join_member *member)
{
    if (!member->traffic)
        return;
    free(member->traffic->rates.at);
    kernels_fini(&member->traffic->kernels);
    free(member->traffic->messages.us);
    free(member->traffic);
    member->traffic = NULL;
}
