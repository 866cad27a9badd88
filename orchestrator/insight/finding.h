/* finding.h - one thing that is wrong with a step, and where. */
#ifndef JP_INSIGHT_FINDING_H
#define JP_INSIGHT_FINDING_H

#include <stddef.h>
#include <stdint.h>

#include "orchestrator/insight/expectation.h"

enum jp_finding_kind {
    JP_FINDING_HANG,
    JP_FINDING_CRASH,
    JP_FINDING_LATE_RANK,
    JP_FINDING_LATE_NODE,
    JP_FINDING_STALL,
    JP_FINDING_SLOW_NETWORK,
    JP_FINDING_DRIFT,
    JP_FINDING_UNEVEN,
    JP_FINDING_IMBALANCE,
    JP_FINDING_SMALL_MESSAGES,
    JP_FINDING_GPU_IDLE,
    JP_FINDING_SMALL_KERNELS,
    JP_FINDING_PAGEABLE_COPIES,
    JP_FINDING_SYNC_COPIES,
    JP_FINDING_GPU_IMBALANCE,
    JP_FINDING_LATE_ALLOCATIONS,
    JP_N_FINDINGS
};
const char *finding_kind_name(enum jp_finding_kind kind); /* "late_rank" */

/* How it is known what mending it would win. */
enum jp_gain {
    JP_GAIN_NONE,
    JP_GAIN_REPLAYED, /* the run was replayed without it */
    JP_GAIN_PART,     /* the begin of the run was: more did not fit */
    JP_GAIN_BOUND     /* not known; cost_us counts waits, of which a part was
                         there without it */
};
const char *finding_gain_word(enum jp_gain gain); /* "replayed"; NULL: NONE */

/* What is not known is -1, NAN or "". */
struct jp_finding {
    enum jp_finding_kind kind;
    int64_t comm;     /* index into the result's communicators */
    const char *coll; /* borrowed from the result; NULL: several */
    int64_t rank;     /* in comm */
    int64_t world_rank;
    char host[256];
    int64_t pid;
    double from_us, to_us; /* since 1970, as records were written */
    double share;          /* of time in communication, 0..1 */
    double low, high;      /* of it: 95 of 100 such intervals hold it */
    uint64_t evidence;     /* operations that it is drawn from; 0: unknown */
    double cost_us;        /* GPU time that others waited */
    double gain;           /* of the run's time, 0..1: what it would win */
    enum jp_gain gain_kind;
    enum jp_against against; /* whom a slow network was compared with */
    char text[400];          /* one clause: who, where, how much */
    char next[160];          /* what to do about it */
};

struct jp_hypotheses;

/* A growing list; zero is empty. */
struct jp_findings {
    struct jp_finding *at;
    size_t n;
    struct jp_hypotheses *hypotheses; /* what was looked for; borrowed, may be
                                         NULL */
};

/* Appends one of that kind with nothing known and returns it (borrowed until
 * the next call); NULL without memory. */
struct jp_finding *findings_add(struct jp_findings *list,
                                enum jp_finding_kind kind);
void findings_fini(struct jp_findings *list);

/* Its share, and how far that is from sure: a standard error; NAN: unknown. */
void finding_measure(struct jp_finding *finding, double share, double error);

/* "29.0 % (27.2 to 30.8)"; without the interval where none is known. Returns
 * buf. */
#define JP_FINDING_SHARE 48
char *finding_share(const struct jp_finding *finding,
                    char buf[JP_FINDING_SHARE]);
#define FINDING_SHARE(finding)                                                 \
    finding_share((finding), (char[JP_FINDING_SHARE]){0})

/* By kind as in the enum, then by what it costs. Those that may as well be
 * nothing, by their interval, are dropped. */
void findings_sort(struct jp_findings *list);

#endif
