/* late_parts.h - between late*.c: what is measured and judged. */
#ifndef JP_INSIGHT_LATE_PARTS_H
#define JP_INSIGHT_LATE_PARTS_H

#include "orchestrator/insight/late.h"
#include "orchestrator/insight/limits.h"

struct late {
    const struct jp_result *r;
    const struct jp_people *p;
    const struct jp_netserieses *series;
    struct jp_lateness *out;
    double *total;        /* [process][JP_SLICES] time in communication */
    double *least, *most; /* [process] time in what total lacks */
    double *scratch;      /* 3 * n_ranks */
    size_t classes;       /* communicators of one shape */
    size_t *class_of;     /* of a communicator */
};

static inline double late_limit(enum jp_limit_id id)
{
    return limits_table[id].value;
}

/* Fills total. 0, or -1 without memory. */
int late_add_up(struct late *late);

/* Fills least and most: waits in a Broadcast, Reduce or AlltoAll cannot be told
 * rank by rank, as no times are kept of them but the shortest and the longest.
 * 0, or -1 without memory. */
int late_add_hidden(struct late *late);

/* Says who is late, from what is measured. 0, or -1 without memory. */
int late_decide(struct late *late);

#endif
