/* finding.h - one thing that is wrong with a step, and where. */
#ifndef JP_INSIGHT_FINDING_H
#define JP_INSIGHT_FINDING_H

#include <stddef.h>
#include <stdint.h>

#include "orchestrator/insight/expectation.h"

enum jp_finding_kind {
    JP_FINDING_HANG,
    JP_FINDING_LATE_RANK,
    JP_FINDING_LATE_NODE,
    JP_FINDING_SLOW_NETWORK,
    JP_FINDING_DRIFT,
    JP_FINDING_IMBALANCE,
    JP_FINDING_SMALL_MESSAGES,
    JP_N_FINDINGS
};
const char *finding_kind_name(enum jp_finding_kind kind); /* "late_rank" */

/* What is not known is -1, NAN or "". */
struct jp_finding {
    enum jp_finding_kind kind;
    int64_t comm;     /* index into the result's communicators */
    const char *coll; /* borrowed from the result; NULL: several */
    int64_t rank;     /* in comm */
    int64_t world_rank;
    char host[256];
    int64_t pid;
    double from_us, to_us;   /* since 1970, as records were written */
    double share;            /* of time in communication, 0..1 */
    double cost_us;          /* GPU time that others waited */
    enum jp_against against; /* whom a slow network was compared with */
    char text[320];          /* one clause: who, where, how much */
    char next[160];          /* what to do about it */
};

/* A growing list; zero is empty. */
struct jp_findings {
    struct jp_finding *at;
    size_t n;
};

/* Appends one of that kind with nothing known and returns it (borrowed until
 * the next call); NULL without memory. */
struct jp_finding *findings_add(struct jp_findings *list,
                                enum jp_finding_kind kind);
void findings_fini(struct jp_findings *list);

/* By kind as in the enum, then by what it costs. */
void findings_sort(struct jp_findings *list);

#endif
