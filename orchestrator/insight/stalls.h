/* stalls.h - who stops for a moment now and then, and lets the others wait.
 *
 * Rare and large is not often and small: a rank that stands still for 20 ms in
 * every fiftieth operation is last in no more of them than its peers. What is
 * looked at is how long all of an operation's ranks waited for its last one
 * alone: the second-shortest time less the shortest. Of the operations where
 * that is more than T, each of R alike ranks (of all communicators of a shape)
 * is the last in its share, 1/R of them, if nobody stalls more than the others.
 * So the number of one rank's is binomial, and the exact one-sided test
 * (Clopper and Pearson 1934) says how likely so many are by chance; it is taken
 * times the number of ranks, functions and T's that were tried (Bonferroni's
 * inequality: Dunn 1961), and times the chance that so few come at equal
 * distances, where they do. Nothing is assumed of how long anything takes, and
 * three operations may be enough.
 *
 * T's are powers of two. Of operations in a row with the same last rank the
 * first one counts. Operations for which ranks came late together count for
 * nobody. A process is excused where it had itself waited for that long, in
 * another communicator or for messages: waits travel on.
 */
#ifndef JP_INSIGHT_STALLS_H
#define JP_INSIGHT_STALLS_H

#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/late.h"
#include "orchestrator/insight/processes.h"

/* Of one process; us. */
struct jp_stall {
    size_t process, rank; /* of the processes; of the result */
    uint64_t times, ops;  /* stalls, of so many operations */
    double typical_us, largest_us;
    double sum_us;         /* of all */
    double share;          /* ... of its peers' time in communication */
    double cost_us;        /* GPU time that others waited */
    double from_us, to_us; /* of the first and the last; NAN: not known */
    bool regular;          /* at equal distances: */
    double every_us;       /* NAN: not known */
    uint64_t every_ops;    /* of the function */
    double chance;         /* of so many in a job where nobody stalls */
};

struct jp_stalls {
    struct jp_stall *at;
    size_t n;
    bool judged;     /* false: no communicator's times are known */
    double least_us; /* those that come as often as the test needs are told
                        where they are longer; NAN */
};

/* Finds them, and takes `late` back of who is late by stalls only. 0, or -1
 * without memory. Release with stalls_fini. */
int stalls_find(const struct jp_result *result,
                const struct jp_processes *processes,
                struct jp_lateness *lateness, struct jp_stalls *stalls);
void stalls_fini(struct jp_stalls *stalls);

/* Appends them, and says how short ones would have been seen. 0, or -1 without
 * memory. */
int stalls_findings(const struct jp_result *result,
                    const struct jp_processes *processes,
                    const struct jp_stalls *stalls,
                    struct jp_findings *findings);

#endif
