/* stalls.h - ranks that stop for a moment now and then, so that the others
 * wait.
 *
 * Rare and long delays do not show in how often a rank is last: a rank that
 * stops for 20 ms in every fiftieth operation is last about as often as its
 * peers. So the measure is how long all ranks of an operation waited for the
 * last one alone: the second-shortest time less the shortest. stalls_count.h
 * has the test of how often and how long that was for one rank. Its probability
 * is multiplied by the number of ranks, functions and lengths that were tried
 * (Bonferroni's inequality: Dunn 1961), and, if stalls come at equal distances,
 * by the probability of that. If no other rank was waited for nearly as long,
 * one or two long stalls may be enough.
 *
 * Of consecutive operations with the same last rank, the first one counts.
 * Operations to which several ranks came late together do not count.
 *
 * A rank is not named for what it only passes on:
 *  - its process must spend most of the time on its own, in all communicators
 *    together (late.h),
 *  - it must not have waited as long in another communicator, beyond what the
 *    other ranks waited elsewhere, too,
 *  - the ranks of another communicator must not come as late beside it without
 *    having waited for it there: a pipeline's stage whose network is slow.
 * Late ranks that waited for a stall and are as late as that rank are not late
 * by themselves.
 */
#ifndef JP_INSIGHT_STALLS_H
#define JP_INSIGHT_STALLS_H

#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/late.h"
#include "orchestrator/insight/processes.h"

/* The stalls of one process; times in us. */
struct jp_stall {
    size_t process, rank; /* of the processes; of the result */
    uint64_t times, ops;  /* stalls, and operations in all */
    double typical_us, largest_us;
    double sum_us;  /* of all */
    double share;   /* ... as a share of its peers' time in communication */
    double cost_us; /* GPU time that other ranks waited */
    double from_us, to_us; /* time of the first and the last; NAN: unknown */
    bool regular;          /* they come at equal distances: */
    double every_us;       /* NAN: not known */
    uint64_t every_ops;    /* of the function */
    double chance;         /* probability of so many if nobody stalls */
};

struct jp_stalls {
    struct jp_stall *at;
    size_t n;
    bool judged;     /* false: the times of all communicators are unknown */
    double least_us; /* stalls that are longer and as frequent as the test needs
                        would have been found; NAN: unknown */
};

/* Finds the stalls, and removes from `late` the ranks that are late by stalls
 * only. 0, or -1: no memory. Free with stalls_fini. */
int stalls_find(const struct jp_result *result,
                const struct jp_processes *processes,
                const struct jp_netserieses *series,
                struct jp_lateness *lateness, struct jp_stalls *stalls);
void stalls_fini(struct jp_stalls *stalls);

/* Appends the findings, and sets the shortest stall that would have been found.
 * 0, or -1: no memory. */
int stalls_findings(const struct jp_result *result,
                    const struct jp_processes *processes,
                    const struct jp_stalls *stalls,
                    struct jp_findings *findings);

#endif
