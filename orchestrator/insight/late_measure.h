/* late_measure.h - what is measured of each rank, and of a kind: for late*.c.
 */
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
    double *grouped_us;   /* [rank] in AlltoAll of Send and Recv; 0: none */
    double *messages;     /* [process] in Send and Recv */
    double *net;          /* [process] the network's own time */
    double *grouped_net;  /* [process] of it, in AlltoAll */
    double *grouped_late; /* [process] how much later than its peers it comes to
                             AlltoAll that are known one by one */
    double *least, *most; /* [process] time in what total lacks */
    double *unseen;       /* [rank] what it may have waited in operations that
                             tell nothing of single ranks */
    double *scratch;      /* 3 * n_ranks */
    float *parts;         /* [rank][JP_SLICES] excess; NAN: not known */
    size_t *kernels;      /* [comm] AlltoAll that are known one by one */
    bool *short_run;      /* [comm] few operations: late_chance() is asked */
    uint32_t *last, *of;  /* [rank][function] operations in which it came last;
                             all, of a communicator's first rank; NULL */
    double run_us;        /* the run's length; 0: not known */
    size_t classes;       /* communicators of one shape */
    size_t *class_of;     /* of a communicator */
    bool evenly;   /* all parts of the run have as much time in messages */
    bool numbered; /* set: the parts' times in messages are known */
};

static inline double late_much(const struct late *late, double peers_us)
{
    return late_worth(late->run_us, peers_us);
}

static inline bool late_is_much(const struct late *late, double excess_us,
                                double peers_us)
{
    return excess_us > late_much(late, peers_us);
}

static inline size_t late_host_of(const struct late *late, size_t rank)
{
    return late->p->list[late->p->of_rank[rank]].host_at;
}

static inline const float *late_parts_of(const struct late *late, size_t rank)
{
    return late->parts + rank * JP_SLICES;
}

/* Fills all of it from r, p, series, out and evenly, and measures out: all but
 * who is late. 0, or -1 without memory; late_measure_fini in any case. */
int late_measure(struct late *late);
void late_measure_fini(struct late *late);

/* The exact binomial test (stats.h): how likely one of all ranks comes last in
 * so many of its communicator's operations of one function, if each were as
 * likely the last one. */
double late_last_chance(const struct late *l, size_t rank);
/* The same; 0 in runs long enough for errors to be known. */
double late_chance(const struct late *l, size_t rank);

/* --- late_spread.c --- */

/* What ranks of communicators of one shape differ by anyway. */
struct late_spread {
    double half_us; /* by the closest half, which no outlier moves */
    double us;      /* as half of few ranks may be close by luck: or, where that
                       is more, by all that are no outliers then */
    double times;   /* how many of it make an outlier */
    double proved;  /* ... where it is proved to come last */
    size_t first;   /* rank of the largest excess */
    double rest_us; /* deviation of all but that one */
};

/* Fewer ranks tell their spread worse: of n independent ones that many more
 * spreads are asked for. */
double late_times_of(size_t n);

/* Deviation from 0, about the others' median, of those who are no outliers. */
double late_deviation(const double *v, size_t n, double outlier);

/* Of a class. Of two ranks, one is as much later as the other is earlier: one
 * value. */
struct late_spread late_class_spread(struct late *l, size_t class);

/* Where groups are small, or a node is half of them, a late node makes the
 * others there early, who then are a large part of the spread. So its ranks are
 * also compared with the others of their groups alone, and these with each
 * other, in all groups of that work, and only such whose network takes as long.
 * The mean that its ranks are later by, if each of them is apart from the
 * others and that mean is unlikely, by its error over the parts of the run and
 * by Student's t for all nodes; else 0. later, n_ranks: of each that was
 * compared. Returns 0, or -1 without memory. */
int late_node_apart(struct late *l, size_t class, size_t host, double *later,
                    double *later_us);

/* Operations of the communicator of the rank's process that has fewest: steps
 * of the program, or a few times as many. */
uint64_t late_steps_of(const struct late *late, size_t rank);

/* Stops that come now and then, to any rank (a wait for samples), move sums
 * over parts of the run by more than what is looked for. Counts as waited, in
 * total, what a process came later by to a few operations. 0, or -1 without
 * memory. */
int late_leave_out_stops(struct late *l);

/* --- late_parts.c --- */

/* Names ranks of a class that are late in some parts of the run only, and says
 * of all that are late when they were. */
void late_judge_parts(struct late *l, size_t class);

#endif
