/* barriers.h - collectives before which their members have met already.
 *
 * If all members reach a collective at the same moment, though they had ended
 * what they did before at different times, then something that no record has
 * made them wait for each other: a barrier of another library, a read of one
 * file, or a trace whose starts were aligned. Most of the time of each member
 * before the collective is waiting then, and only that of the last one, the
 * shortest, is known to be its own. Taken for own time, the waits would name
 * whoever came first.
 *
 * Members leave a collective together. So they have reached it at the same
 * moment if it took as long for each of them, whatever their clocks say. A few
 * members may do so by chance, and so may members whose times before it hardly
 * differ.
 */
#ifndef JP_IDENTITY_BARRIERS_H
#define JP_IDENTITY_BARRIERS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { BARRIER_MEMBERS = 4 }; /* at least */
/* Of the difference of their times before it: members that reach a collective
 * within so small a part do so at the same moment. Where times before it have
 * nothing to do with each other, four members do so in four of a million. */
#define BARRIER_TOGETHER 0.01F
/* Shorter waits are not worth it, and durations are whole microseconds. */
#define BARRIER_LEAST_US 1000

/* A collective, of the members that were added. Starts as zeros. */
struct barrier {
    uint32_t members;
    float least_us, most_us;         /* how long it took */
    float own_least_us, own_most_us; /* their times before it */
};

static inline void barrier_add(struct barrier *b, float time_us, float own_us)
{
    bool first = !b->members++;

    b->least_us = first ? time_us : fminf(b->least_us, time_us);
    b->most_us = first ? time_us : fmaxf(b->most_us, time_us);
    b->own_least_us = first ? own_us : fminf(b->own_least_us, own_us);
    b->own_most_us = first ? own_us : fmaxf(b->own_most_us, own_us);
}

/* Returns true if all of its members were added, and had met before it. */
static inline bool barrier_is_met(const struct barrier *b, uint32_t members)
{
    float apart_us = b->own_most_us - b->own_least_us;

    return b->members == members && members >= BARRIER_MEMBERS &&
           apart_us > BARRIER_LEAST_US &&
           b->most_us - b->least_us <= BARRIER_TOGETHER * apart_us;
}

#endif
