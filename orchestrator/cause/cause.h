/* cause.h - what differed where and when a step was held up.
 *
 * For each finding of a late rank or node, a stall, a slow network or a drift:
 * which samples of utilisation were unlike those of its peers at that time, and
 * unlike its own before. A cause is something that coincides with the finding;
 * no more is claimed.
 *
 * A metric of the subject (its task, its GPU, its node, a port) is a cause
 * where
 *  - it is off from the median of its peers, in the bad direction, by at least
 *    the row's limit, and
 *  - by so many standard deviations that chance makes it rarely
 *    (JP_LIMIT_CAUSE_CHANCE): by Student's t with a variance that is moderated
 *    by what members of a kind differ by anyway (Smyth 2004), since two or
 *    three peers say little of it. Their own deviation is by the MAD, with
 *    its factors for small samples (Croux and Rousseeuw 1992), and
 *  - where the finding is of a part of the run, it was less off before or after
 *    that part (JP_LIMIT_CAUSE_CONTRAST).
 * Where there are no peers the subject's own time before stands for them.
 * What a node counts as a whole is used only where the step has the node for
 * itself. A metric that is not there was not looked at.
 */
#ifndef JP_CAUSE_CAUSE_H
#define JP_CAUSE_CAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/cause/samples.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/insight/insight.h"
#include "orchestrator/topo/steplabels.h"

/* The words of `what`, in the order in which one explains another. */
enum jp_cause_what {
    JP_CAUSE_GPU_XID,
    JP_CAUSE_GPU_ECC,
    JP_CAUSE_GPU_THERMAL,
    JP_CAUSE_GPU_POWER,
    JP_CAUSE_GPU_CLOCK,
    JP_CAUSE_GPU_PCIE,
    JP_CAUSE_GPU_SHARED,
    JP_CAUSE_GPU_MEMORY_BANDWIDTH,
    JP_CAUSE_CPU_THROTTLED,
    JP_CAUSE_CPU_STEAL,
    JP_CAUSE_CPU_SHARED,
    JP_CAUSE_MEMORY_PRESSURE,
    JP_CAUSE_FILE_READS,
    JP_CAUSE_FILE_WRITES,
    JP_CAUSE_CPU_OWN,
    JP_CAUSE_PORT_ERRORS,
    JP_CAUSE_PORT_RATE,
    JP_CAUSE_PORT_WAITS,
    JP_CAUSE_PORT_SHARED,
    JP_CAUSES
};
extern const char *const cause_words[JP_CAUSES]; /* "gpu_xid" */

/* What is not known is NAN, "" or 0. */
struct jp_cause {
    enum jp_cause_what what;
    size_t finding; /* index of the findings */
    enum jp_util_scope scope;
    const char *node;     /* borrowed from struct jp_nodes */
    char id[UTIL_ID_MAX]; /* of whom: a rank, a bus id, a port */
    const char *metric;   /* the samples' column, or "cpu" and the like */
    enum util_unit unit;
    double value;      /* of the subject, in the time of the finding */
    double peers;      /* the median of its peers at that time */
    double before;     /* the subject's own in the rest of the run */
    double deviations; /* value is off the peers by so many standard ones */
    double follows;    /* -1 to 1: the correlation of the metric with the waits
                          over the run; NAN: these do not vary */
    uint32_t n_peers;
    uint64_t start_us, end_us; /* when the metric was off */
    bool all_along;            /* from the first operation on */
    double strength;           /* 0 to 1 */
    char text[400];            /* one sentence */
};

/* What was looked at for one finding. */
struct jp_cause_look {
    bool looked;           /* it is of a kind that is looked into */
    size_t first, n;       /* its causes, strongest first */
    unsigned seen;         /* bit of each jp_cause_what that had samples */
    bool shared;           /* some node is: node and ports were left out */
    char *list[JP_CAUSES]; /* the words of seen */
    size_t n_list;
    char why[500]; /* one sentence: the strongest cause, or that none is seen */
};

struct jp_causes {
    struct jp_cause *at; /* by finding, then by strength */
    size_t n;
    struct jp_cause_look *looks; /* of each finding */
    size_t n_looks;
};

/* Which GPU a process has; places may be NULL. */
struct causes_input {
    const struct samples *samples;
    const struct jp_nodes *nodes;
    const struct jp_result *result;       /* may be NULL */
    const struct jp_processes *processes; /* of the result */
    const struct jp_insight *insight;
    const struct jp_step_place *places; /* of each rank of the result; may be
                                           NULL */
};

/* *out is NULL where nothing was sampled. -1: no memory. */
int causes_find(const struct causes_input *in, struct jp_causes **out,
                struct jp_error *err);
void causes_destroy(struct jp_causes *causes); /* takes NULL */

/* The look of a finding; NULL: there is none. causes may be NULL. */
const struct jp_cause_look *causes_look(const struct jp_causes *causes,
                                        size_t finding);

#endif
