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
    double *grouped_us;   /* [rank] in AlltoAll of Send and Recv; 0: none */
    double *net;          /* [process] the network's own time */
    double *grouped_net;  /* [process] of it, in AlltoAll */
    double *least, *most; /* [process] time in what total lacks */
    double *scratch;      /* 3 * n_ranks */
    double run_us;        /* the run's length; 0: not known */
    size_t classes;       /* communicators of one shape */
    size_t *class_of;     /* of a communicator */
};

static inline double late_limit(enum jp_limit_id id)
{
    return limits_table[id].value;
}

#define LATE_COMPUTES 0.05 /* of a run, to know how much slower */

/* Does the run lose enough by it, or is it so much slower where it computes? */
static inline bool late_is_much(const struct late *late, double excess_us,
                                double peers_us)
{
    double run = late->run_us, computes = run - peers_us;

    return excess_us > late_limit(JP_LIMIT_LATE_COST) * run ||
           (computes > LATE_COMPUTES * run &&
            excess_us > late_limit(JP_LIMIT_LATE_SLOWER) * computes &&
            excess_us > late_limit(JP_LIMIT_LATE_LEAST) * run);
}

static inline size_t late_host_of(const struct late *late, size_t rank)
{
    return late->p->processes[late->p->of_rank[rank]].host_at;
}

/* Fills total. 0, or -1 without memory. */
int late_add_up(struct late *late);

/* Fills least and most: waits in a Broadcast, Reduce or AlltoAll cannot be told
 * rank by rank, as no times are kept of them but the shortest and the longest.
 * 0, or -1 without memory. */
int late_add_hidden(struct late *late);

/* Fills hidden_us of what is measured. */
void late_hide(struct late *l);

/* Says who is late, from what is measured. 0, or -1 without memory. */
int late_decide(struct late *late);

/* Takes `late` back where others, or overlap, explain it. 0, or -1 without
 * memory. */
int late_excuse(struct late *late);

#endif
