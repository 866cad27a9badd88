/* stalls.h - ranks that stop for a moment now and then, or once, so that the
 * others wait: what the judge found (judge_stall.c), for people.
 *
 * A stall that comes again is a habit of the rank. A single one is not: nothing
 * is claimed about the rank but that it came late once: who, when, how long,
 * and after which operation it was on its own. Operations in a row are one.
 */
#ifndef JP_INSIGHT_STALLS_H
#define JP_INSIGHT_STALLS_H

#include "orchestrator/insight/finding.h"
#include "orchestrator/identity/processes.h"
#include "orchestrator/judge/judge.h"

struct jp_stalls {
    bool judged; /* false: what follows is unknown */
    /* The shortest single stall, and the shortest ones that come again, that
     * would have been named; INFINITY: none would. */
    double once_us, again_us;
};

/* Appends the findings, and answers the question. 0, or -1: no memory. */
int stalls_findings(const struct jp_result *result,
                    const struct jp_processes *processes,
                    const struct judge *judge, struct jp_findings *findings,
                    struct jp_stalls *stalls);

/* Stops do not count as lateness: leaves the ranks that stop out of the answer
 * "no rank that costs", because their stops may add up to more. All of them,
 * and not those alone that are told. Call it when late ranks were looked for.
 */
void stalls_leave_out(const struct jp_processes *processes,
                      const struct judge *judge, struct jp_hypotheses *h);

#endif
