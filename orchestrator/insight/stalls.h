/* stalls.h - ranks that stop for a moment now and then, so that the others
 * wait.
 *
 * Rare and long delays do not show in how often a rank is last: a rank that
 * stops for 20 ms in every fiftieth operation is last about as often as its
 * peers. So the measure is how long all ranks of an operation waited for the
 * last one alone: the second-shortest time less the shortest. stalls_count.c
 * tests how often and how long that was for one rank (below). Its probability
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
#include "orchestrator/insight/netseries.h"
#include "orchestrator/identity/processes.h"

/* The stalls of one process; times in us. */
struct jp_stall {
    size_t process, rank; /* of the processes; of the result */
    uint64_t times, ops;  /* stalls in the rank's communicator: consecutive
                             operations are one; and operations in all */
    uint64_t elsewhere;   /* stalls in the process's other communicators */
    double typical_us, largest_us; /* of `times` */
    double sum_us;                 /* of all of these */
    double share;   /* ... as a share of its peers' time in communication */
    double cost_us; /* GPU time that other ranks waited, for these and those
                       elsewhere */
    double from_us, to_us; /* time of the first and the last; NAN: unknown */
    bool regular;          /* they come at equal distances: */
    double every_us;       /* NAN: not known */
    uint64_t every_ops;    /* of the function */
    double chance;         /* probability of so many if nobody stalls */
    bool minor; /* by itself no rank would be named that is as late all along,
                   and none seemed late because of it */
};

/* A single wait of all others for one process, in consecutive operations of a
 * communicator; times in us. */
struct jp_once {
    size_t process, rank; /* of the processes; of the result */
    unsigned func;        /* stalls_func_name */
    uint64_t sn, last_sn, ops;
    double us, largest_us; /* in all of them, and in one */
    double net_us;         /* their time without the wait */
    double share;          /* of its peers' time in communication */
    double cost_us; /* GPU time that others waited, also for those who waited
                       for  it and then came late elsewhere */
    double at_us;   /* since 1970; 0: unknown */
    /* By the process's timeline, since the operation before of the same kind:
     * how much longer it was on its own than usually; NAN: unknown. The
     * operation after which it was for longest, and for how long; "": unknown.
     */
    double own_us;
    char before[80];
    double gap_us;
};

struct jp_stalls {
    struct jp_stall *at;
    size_t n;
    struct jp_once *once; /* longest first */
    size_t n_once;
    double once_us;   /* no other rank made all others wait for longer at once,
                         after the start of the run, and a longer wait would have
                         been named; NAN: unknown */
    double untold_us; /* such a wait was there, or would not have stood out
                         among those that were; 0: none */
    bool judged;      /* false: the times of all communicators are unknown */
    bool rare;        /* there are fewer operations than stalls must be */
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

/* --- stalls_count.c ----------------------------------------------------- */

/* In how many operations each rank was the only last one, by
 * how much, and how probable that is if no rank stops more than the others.
 *
 * Counted are AllReduce, AllGather, ReduceScatter, AlltoAll, and that of Send
 * and Recv, after the job's warm-up. A length T is one of STALLS_LENGTHS powers
 * of two times stall_min.
 *
 * How often. If all R ranks of a kind (likes.h) stop alike, each of them is the
 * last one in 1/R of the operations in which one rank was waited for longer
 * than T: its number is binomial (Clopper and Pearson 1934). The same is tested
 * among the ranks of its communicator alone; the smaller of both chances
 * counts, doubled for two tests.
 *
 * How long. Of independent values from a tail that falls with the power A, the
 * n largest exceed the next one by a factor of g with the probability g^(-A n)
 * (Renyi 1953). So where no other rank was waited for that long even once, the
 * binomial probability is multiplied by (longest of others / T)^(A n). A is
 * stall_tail.
 *
 * Where. What all ranks do at one place of a step, such as waiting for samples,
 * does not hide what one of them does elsewhere. A step has as many operations
 * of a function as its number has times the greatest common divisor of all
 * numbers. Places with far more stops than the mean are crowded; the operations
 * of the other places are counted again, as a class of their own. Which places
 * are crowded does not depend on which ranks stop there, so the same test
 * applies.
 */

enum { STALLS_LENGTHS = 14 };

/* Functions, the last one an AlltoAll made of Send and Recv; then the same ones
 * without crowded places. */
enum { STALLS_EXCHANGE = 4, STALLS_FUNCS, STALLS_CLASSES = 2 * STALLS_FUNCS };

/* Operations of one class in which the rank was the only last one, by more than
 * a length. */
struct stalls_tally {
    /* first operation of each run of consecutive ones, and all of them */
    uint32_t times[STALLS_LENGTHS], ops[STALLS_LENGTHS];
    float us[STALLS_LENGTHS];
    float all_us;  /* total time the others waited, for delays of any length */
    float most_us; /* longest of these delays */
};

/* Ranks of communicators of one shape, with the tallies of all their
 * operations. */
struct stalls_kind {
    uint64_t times[STALLS_LENGTHS];
    size_t ranks;
    size_t most_rank;        /* of the result: with the longest delay */
    double most_us, next_us; /* that delay, and the longest of another rank */
};

/* Operations of one communicator and function. */
struct stalls_series {
    uint64_t ops, first_sn, last_sn;
    uint64_t from_sn; /* the first one after the warm-up */
    uint64_t places;  /* in a step; 1: not known */
};

/* Places of a step, of a kind and a function. */
struct stalls_places {
    uint64_t n;
    uint32_t *stops; /* [place] waits for one rank alone; NULL: not counted */
    double most;     /* more of them: the place is crowded */
};

struct stalls_counts {
    const struct jp_result *r; /* borrowed, as p */
    const struct jp_processes *p;
    struct stalls_tally *tallies; /* [rank of the result][STALLS_CLASSES] */
    size_t *kind_of;              /* [comm] */
    struct stalls_kind *kinds;    /* [kind][STALLS_CLASSES] */
    size_t n_kinds;
    struct stalls_series *series; /* [comm][STALLS_FUNCS] */
    struct stalls_places *places; /* [kind][STALLS_FUNCS] */
    /* [comm][STALLS_LENGTHS] waits longer than a length in Reduce and Gather,
     * where the root alone waits: it comes late to what follows */
    double *roots_us;
    double tried;  /* number of hypotheses */
    uint64_t told; /* number of operations that identify who was
                      last */
};

/* Counts. Returns 0, or -1: no memory. Free with stalls_counts_fini in both
 * cases. series: for the warm-up. */
int stalls_counts_init(const struct jp_result *result,
                       const struct jp_processes *processes,
                       const struct jp_netserieses *series,
                       struct stalls_counts *counts);
void stalls_counts_fini(struct stalls_counts *counts);

static inline const struct stalls_tally *
stalls_tally(const struct stalls_counts *c, size_t rank, unsigned class)
{
    return &c->tallies[rank * STALLS_CLASSES + class];
}

static inline const struct stalls_kind *
stalls_kind(const struct stalls_counts *c, size_t rank, unsigned class)
{
    return &c->kinds[c->kind_of[c->r->ranks[rank].comm] * STALLS_CLASSES +
                     class];
}

/* Returns the probability that any rank is last so often and so long if none
 * stalls more than others. */
double stalls_chance(const struct stalls_counts *c, size_t rank, unsigned class,
                     unsigned k);

/* Returns true if every rank number of the communicator occurs once. */
bool stalls_is_whole(const struct stalls_counts *c, size_t comm);

/* A counted operation, and who was last alone. */
struct stalls_event {
    size_t rank; /* of the result */
    unsigned func;
    uint64_t sn, place; /* place: of a step */
    bool placed;        /* places of a step are known */
    bool crowded;       /* the place */
    double us, at_us;   /* how long; since 1970, 0: unknown */
    double net_us;      /* time of the operation without waits */
    double gap_us;      /* us, but not 0 where others came late as well */
    /* lengths that `us` exceeds, and that it exceeded in the operation before,
     * if the same rank was last in it */
    unsigned over, again;
};

/* Returns the share of the operations that the warm-up takes; 0: there is none.
 */
double stalls_warm_share(const struct jp_netserieses *series);

/* "AllReduce"; NULL for STALLS_EXCHANGE, which is made of Send and Recv. */
const char *stalls_func_name(unsigned func);

/* Calls `each` for them; timed: with at_us. Returns 0, or -1: no memory. */
typedef void stalls_each(void *arg, const struct stalls_event *event);
int stalls_events(struct stalls_counts *counts, bool timed, stalls_each *each,
                  void *arg);

/* --- stalls_once.c ------------------------------------------------------ */

struct stalls_once_list {
    struct jp_once *at; /* that may be reported. The caller frees */
    size_t n;
    /* [process][each] longest of the others, after the start; us 0: none */
    struct jp_once *others;
    size_t each;
    double untold_us;     /* the longest of these; 0: none */
    double named_from_us; /* a longer one would stand out; 0: any */
    double run_us;        /* of the run */
    bool judged;          /* each process has operations enough */
};

/* Collects single waits that are longer than `stall_once_min` of the run, and
 * the longest of the others. 0, or -1: no memory. Free with
 * stalls_once_list_fini in both cases. */
int stalls_once_collect(struct stalls_counts *counts, double run_us,
                        struct stalls_once_list *list);

void stalls_once_list_fini(struct stalls_once_list *list);

/* Other waits that a wait is compared with. */
enum { STALLS_OTHERS = 16 };

/* Returns from which length on a wait stands out among n others, longest first:
 * one that is as long comes with a probability of at most stall_chance_max, if
 * all ranks come late alike.
 *
 * Of independent values from a tail that falls with the power A, longest first,
 * the numbers i log(us[i] / us[i + 1]), i from 1, are independent and
 * exponential with the mean 1/A (Renyi 1953). So the one of the wait and the
 * longest other is compared with the mean of the next ones. Where these are
 * few, A is stall_tail at least. */
double stalls_once_from(const double *us, size_t n);

/* Fills own_us, before and gap_us, if there is a timeline. 0, or -1: no memory.
 */
int stalls_once_before(const struct jp_result *result,
                       const struct jp_processes *processes,
                       struct jp_once *once);

/* Appends the finding. 0, or -1: no memory. */
int stalls_once_tell(const struct jp_result *result,
                     const struct jp_processes *processes,
                     const struct jp_once *once, struct jp_findings *findings);

#endif
