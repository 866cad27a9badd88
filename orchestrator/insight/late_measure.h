/* late_measure.h - what is measured of each rank and each class, for late.c. A
 * class is all communicators of one shape. Times are in us over the whole run
 * where nothing else is said. */
#ifndef JP_INSIGHT_LATE_MEASURE_H
#define JP_INSIGHT_LATE_MEASURE_H

#include <math.h>

#include "orchestrator/insight/late.h"
#include "orchestrator/insight/limits.h"

struct late {
    const struct jp_result *r;
    const struct jp_processes *p;
    const struct jp_netserieses *series;
    struct jp_lateness *out;
    double *total;        /* [process][JP_SLICES] time in communication */
    double *grouped_us;   /* [rank] time in AlltoAll made of Send and Recv; 0:
                             none */
    double *messages;     /* [process] time in Send and Recv */
    double *net;          /* [process] time in communication without waiting */
    double *grouped_net;  /* [process] the part of net in AlltoAll that is not
                             known operation by operation */
    double *grouped_late; /* [process] how much later than its peers it comes to
                             AlltoAll operations that are known one by one */
    double *least, *most; /* [process] least and most time in operations that
                             total does not contain */
    double *scratch;      /* room for 3 * n_ranks values */
    float *parts;         /* [rank][JP_SLICES] excess; NAN: unknown */
    size_t *kernels;      /* [comm] AlltoAll operations known one by one */
    bool only_kernels; /* the job has no other operation in which all ranks wait
                          for each other, so these are judged like such */
    double *proof_us;  /* [comm] a rank that is later to all operations by this
                          in  sum, or less, is not the last one often enough to
                          be  named; 0: there are enough operations */
    bool *short_run;   /* [comm] few operations: how often a rank comes last
                          decides, too */
    uint32_t *last, *of; /* [rank][function] operations in which it came last;
                            all operations, at a communicator's first rank; NULL
                            before they are counted. After all functions comes
                            the AlltoAll of Send and Recv */
    double run_us;       /* the run's length; 0: unknown */
    size_t classes;      /* number of classes */
    size_t *class_of;    /* [comm] */
    size_t *pipeline; /* [process] one that messages join with it, which may be
                         itself; NULL outside of late.c's excuses */
    bool evenly;   /* in: spread time in messages evenly over the run's parts */
    bool numbered; /* out: the time in messages of each part is known, of one
                      rank at least */
};

/* late_worth for this run. */
static inline double late_much(const struct late *late, double peers_us)
{
    return late_worth(late->run_us, peers_us);
}

static inline bool late_is_much(const struct late *late, double excess_us,
                                double peers_us)
{
    return excess_us > late_much(late, peers_us);
}

/* Index of the rank's host. */
static inline size_t late_host_of(const struct late *late, size_t rank)
{
    return late->p->list[late->p->of_rank[rank]].host_at;
}

/* The rank's excess in each part of the run. */
static inline const float *late_parts_of(const struct late *late, size_t rank)
{
    return late->parts + rank * JP_SLICES;
}

/* Fills the struct from r, p, series, out and evenly, and measures all of out
 * except who is late. 0, or -1 without memory; call late_measure_fini in either
 * case. */
int late_measure(struct late *late);
void late_measure_fini(struct late *late);

/* The exact binomial test (stats.h): the probability that any of all ranks
 * comes last in as many of its communicator's operations of one function, if
 * each rank is equally likely to be the last one. */
double late_last_chance(const struct late *l, size_t rank);

#endif
