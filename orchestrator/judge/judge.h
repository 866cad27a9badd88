/* judge.h - who makes the others wait: own time, measured once.
 *
 * Definitions. Everything in this room is made of these, and each is computed
 * in one place.
 *
 * - Arrival: when a process reaches an operation.
 *     with start and end:  start of the record
 *     durations alone:     end of the operation - duration of the process
 * - End of an operation, with durations alone: the least moment for which no
 *   member arrives before it has ended what it did before (its clock):
 *     end = max over members (clock + duration)
 *   All members leave at that moment. What all members computed alike is not in
 *   it: such clocks run slower than the job's by the same amount for each.
 * - Own time: from the end of what a process did last to its arrival.
 *     own = arrival - clock;  then clock = end
 *   With start and end the clock is the latest end so far, and own is 0 while
 *   an operation is still in flight. Where the members of an operation had met
 *   before it (identity/barriers.h), each has the shortest of their times.
 *   Beside the computation an operation follows the start of the one before it
 *   in its communicator (identity/follows.h): own = arrival - that start. If
 *   either of both waited in line, it is not known.
 * - Net: an operation's time without waiting: the shortest duration of its
 *   members, which is that of the last arrival.
 * - Wait: duration - net.
 * - Recorded time: where the recording was off for a while, clocks stand still
 *   (aggregate/pauses.h), and the own time across that is not known. Parts of
 *   the run are parts of its recorded time.
 * - Role: processes that do the same work: the same kinds of operations (their
 *   function, the number of ranks, the side of a message), as often; refined by
 *   the roles of those with whom they exchange messages, until nothing changes
 *   (Weisfeiler and Leman 1968).
 * - Excess: own time before an operation, less the median of the other
 *   processes of the role before the same operation of theirs (the same kind
 *   and number).
 * - Cost: how much shorter the run would be without the excess: the share of
 *   what all that are named cost together (orchestrator/replay/replay.h has the
 *   formulas).
 *
 * Each interval between two operations is counted once, whatever communicators
 * overlap, so nothing has to be excused. docs/dev/internals.md has an example.
 *
 * Chance. The run is cut into JUDGE_BLOCKS blocks of equal time, or by
 * durations of equally many operations, and the blocks are resampled: from the
 * scatter of a process's excess over the blocks (of one and of two blocks, as
 * noise may last) comes its error. Processes of a role have noise of one kind,
 * so the median of their errors is the least that any of them has. A process
 * whose blocks scatter far more either has noise of its own, which also makes
 * it early, or is late by more in some blocks than in others: its error is that
 * of the blocks in which it is early. A process must exceed its error, and must
 * stand apart from the others by the generalized test for outliers (Rosner
 * 1983). How much is chosen so that JUDGE_FALSE_ALARM of clean jobs name
 * anybody, over all processes and questions. A part of the run is compared with
 * the scatter outside of it and in the blocks in which the process is early; by
 * all of the scatter its chance must be below JUDGE_CONFIRMED. Some noise is
 * single events, such as collections of garbage, which errors do not describe:
 * as many blocks of the role, drawn by chance, must come to as much as a part
 * of the run as seldom (Chernoff 1952). Other noise lasts: how much of it one
 * block carries to the next one is measured, and counts in the error of a part
 * of the run. Where a few processes do not show how they differ, what is known
 * of GPUs counts (JUDGE_DIFFER_KNOWN), or who costs much (JUDGE_TOLD). The
 * smallest effect is the same threshold.
 *
 * Bounds. 4 Mi operations of processes (aggregate/timeline.h), 48 bytes each at
 * most while they are judged. Time is O(n log n) of them. A longer run is
 * judged by what the aggregation keeps of all of it. If records have start and
 * end, that is the own time of each process by bins of time, which give the
 * blocks, and its longest intervals, which give the stalls
 * (aggregate/intervals.h). Bins do not tell waits for an unseen barrier from
 * own time; where there are such waits, only the start is judged. By durations
 * alone it is how long each process was in operations, and in how many, by bins
 * of time (timeline.strip): the rest of a block is its own time; stalls are
 * those of the start. Roles, and what an excess costs, are those of the start
 * in both cases.
 */
#ifndef JP_JUDGE_JUDGE_H
#define JP_JUDGE_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/stats.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/identity/processes.h"
#include "orchestrator/replay/replay.h"

enum { JUDGE_BLOCKS = 32 };

/* A process with so many intervals has enough in each block to know how its
 * blocks differ. */
enum { JUDGE_KNOWN_INTERVALS = 4 * JUDGE_BLOCKS };

/* What noise is, and what is worth a user's minute. */
#define JUDGE_FALSE_ALARM 0.002 /* of clean jobs in which somebody is named */
#define JUDGE_WORTH                                                            \
    0.0125 /* of the run: GPUs of one kind differ by as much                   \
            */
/* Of the run: who costs more by start and end is worth a search, however few
 * there are to compare him with. Of what an all-clear may miss (stated_max) it
 * leaves some to noise. */
#define JUDGE_TOLD 0.029
/* So many processes of a role, a node's GPUs, or fewer hardly show how their
 * own times differ, least of all on busy nodes. */
#define JUDGE_FEW 8
/* Half of what is worth it is what processes of one kind differ by anyway
 * (standard deviation). Where few of them show it, this counts as so many
 * further ones. */
#define JUDGE_DIFFER_KNOWN 6
/* A stall, or a part of the run, needs a second witness, whose chance must be
 * below this. Of a stall it is the process's role, as some roles have longer
 * intervals than others; of a part, all of its scatter. */
#define JUDGE_CONFIRMED 0.01
/* A single interval is a stall from this on (us): page faults and interrupts
 * take less. */
#define JUDGE_STALL_US 1000.0
/* Stalls that come so often recur: two may be two accidents. */
#define JUDGE_RECURS 3
/* Who comes late to a larger part of the operations from the first time to the
 * last one does not stop now and then: it is late. */
#define JUDGE_DENSE 0.25
/* Of the distance of two stalls, by which distances of those differ that come
 * at equal ones: a checkpoint every 100 operations is not at operation 106. */
#define JUDGE_EVEN 0.05
/* Times what is worth a user's minute, and times the longest interval of any
 * other process: all others waited for this one, by far the longest wait of the
 * run, and whoever reads the timeline sees it first. */
#define JUDGE_FACT 2.0
#define JUDGE_FACT_OTHERS 3.0
/* Of the run: ranks warm up in different times. */
#define JUDGE_START 0.1
/* Names are given only where so many operations have all their members, and so
 * many come in an order that all of them share. */
#define JUDGE_WHOLE 0.98
/* Start and end that span a smaller share of the run are not those of one run:
 * all operations lie within each other. */
#define JUDGE_SPAN 0.5
/* Of the run: a job that could be 1.1 times as fast with evened work is one
 * with stragglers (Lin et al., OSDI 2025). With less each job of many processes
 * waits for the slowest of them: where all vary by 2 %, up to 6 %. */
#define JUDGE_TURNS 0.09
/* Clocks that run longer than the job by more count time twice: operations
 * overlap computation. A smaller excess may be an error of the job's length,
 * which is only known to some percent. */
#define JUDGE_OVERLAP 1.05

enum judge_kind {
    JUDGE_LATE,  /* a process, all along */
    JUDGE_ONSET, /* a process, from some time on, or for some time */
    JUDGE_NODE,  /* all processes of a host, all along or in a part */
    JUDGE_STALL, /* a process, by single intervals */
    JUDGE_KINDS
};
extern const char *const judge_kinds[JUDGE_KINDS]; /* "late" */

/* An operation of a process. */
struct judge_place {
    uint32_t comm;    /* of the result */
    const char *func; /* "AllReduce", "AlltoAll" if it is made of messages,
                         "message"; borrowed from the result */
    uint64_t sn;
    bool numbered; /* sn is NCCL's; else it counts those of the records */
};

/* Single intervals in a row, mostly one: between what ended before and an
 * operation. */
struct judge_wait {
    double us, most_us; /* excess: all of them, the longest */
    double own_us;      /* own time of the first */
    uint64_t ops;
    struct judge_place before, in, last; /* of the first; of the last one. func
                                            NULL: unknown */
    uint64_t end_us; /* when it was over, by the process's clock; 0: unknown */
};

struct judge_answer {
    enum judge_kind kind;
    size_t process;   /* index into processes->list; NODE: the worst one */
    size_t host;      /* index into processes->hosts */
    double excess_us; /* over the run; NODE: mean of its processes */
    double error_us;  /* its standard error; STALL: 0 */
    double cost_us;  /* how much shorter the run would be (share of replay.h) */
    double worth_us; /* ... by mending it alone, or after the others */
    double part;     /* of its intervals' excess that is its own */
    /* The part of the run. ONSET, some of NODE: in which he is late; else all
     * of it. */
    double from, to;    /* its begin and end, 0 to 1 */
    unsigned stretches; /* in how many pieces; 0: all of the run */
    double share;       /* of the run */
    uint32_t blocks;    /* as bits */
    uint64_t times;     /* intervals; STALL: those that are stalls */
    double longest_us;  /* STALL: the longest of these */
    double every;       /* STALL: they come after so many operations of his,
                           `rounds` times from the first to the last; 0: not
                           regularly */
    double rounds;
    bool more; /* STALL: there may be more, which were too short to be kept */
    struct judge_wait *waits; /* STALL: [times], owned; else NULL */
};

struct judge_process {
    uint32_t role;    /* processes of one number have one role */
    uint32_t likes;   /* how many these are */
    bool judged;      /* it has others of its role, and enough intervals */
    double total_us;  /* robust: the mean of the blocks without the lowest and
                         the highest fifth, times the blocks */
    double excess_us; /* the same less that of its mates: with whom it shares
                         the communicator that it uses most. What mates have in
                         common is their group's */
    double error_us;  /* standard error of that */
    double below_us;  /* the same by the blocks in which it is ahead */
    double apart_us;  /* as ranks differ anyway, and as is worth it */
    double known_us;  /* as is known of GPUs: who is late all along costs more,
                         as an excess may count one delay several times */
    double least_us;  /* the smallest excess that would have been named */
    double usual_noise; /* median variance of the blocks of its role, by the
                           differences of neighbours */
    double out_us;      /* total_us of its mates on other hosts; NAN: none */
    double comm_us;     /* in operations */
    uint64_t intervals; /* that were compared */
    uint64_t later;     /* ... in which its own time was longer; UINT64_MAX:
                           unknown, as they were compared by blocks */
    double not_in_line; /* the mean excess of those before which less than half
                           of the members waited in line, over the mean of all:
                           before others one delay counts again. NAN: all are
                           such */
    uint32_t closest;   /* the communicator that it uses most; UINT32_MAX */
    double net_us;   /* how much longer its operations take without waiting than
                        the median of the role */
    double alone_us; /* how long all others of its operations, but of messages,
                        waited for it alone: its own duration was the shortest,
                        by so much in all; set where somebody is named */
    double stalls_us; /* sum of its stalls */
    uint64_t stalls;
    double longest_us;              /* of its stalls */
    double blocks_us[JUDGE_BLOCKS]; /* excess of each block, without stalls */
    double own_us[JUDGE_BLOCKS];    /* less that of its mates */
    double work_us[JUDGE_BLOCKS];   /* own time itself, not compared, in blocks
                                       of whole iterations: `rounds` of them, as
                                       long as the run together */
    unsigned rounds;                /* 0: no iterations were found */
};

/* Processes that make the others wait, each time another one. */
struct judge_turns {
    double cost_us; /* how much shorter the run would be; NAN: not known, as the
                       replay does not give the run; 0: below JUDGE_TURNS, and
                       not asked. Without start and end it is the most */
    double excess_us; /* of the slowest ones before each operation, in all */
    double lasting;   /* the part of it that is not of a few moments */
    double most;      /* share of the run that it costs at most */
    size_t
        processes;  /* that were the slowest ones of their role at some time */
    uint64_t times; /* operations before which they were compared */
    uint32_t comm;  /* before whose operations most of it is; UINT32_MAX */
};

struct judge {
    bool usable; /* otherwise `why`, and nothing else, is set */
    const char *why;
    bool timed;      /* by start and end, not by durations alone */
    bool part;       /* only the start of the run was followed */
    double followed; /* ... this share of it */
    bool kept; /* ... but all of it is judged, by what was kept of own times:
                  who is late. net_us is of the start */
    bool kept_stalls; /* ... and who stalls, by the longest intervals */
    bool replayed; /* costs are known. If not, they are NAN, but those of stalls
                      that were kept: operations overlap in an order that no
                      replay follows */
    struct replay *replay; /* by which answers were priced, for who asks what
                              else costs; NULL: nothing was asked */
    struct replay_state replay_state; /* of it */
    uint64_t events;                  /* operations of processes */
    uint64_t lacking; /* ... which a member lacked, or that were out of order */
    double clock_us;  /* the longest clock at the end */
    double run_us;    /* the run: as given, or clock_us */
    bool hidden; /* ranks wait much for barriers that no record has: a replay
                    takes these waits for work */
    uint32_t roles;
    double least_us; /* of all judged processes the smallest excess that would
                        have been named */
    /* The shortest single stall, and the shortest ones that recur
     * (JUDGE_RECURS), that would have been named; INFINITY: none would. */
    double stall_once_us, stall_again_us;
    size_t n_judged;
    size_t crowd; /* processes that stall, if so many were named that nobody is
                     told; else 0 */
    struct judge_process *processes; /* by processes->list */
    struct judge_answer *answers;    /* the costliest first */
    size_t n;
    struct judge_turns turns;
};

/* Measures own times of a result, and says who is late, whatever it costs.
 * run_us: how long the run was, in recorded time; 0: unknown. Frees the
 * intervals of the result's timelines, which nobody else reads. The waits of
 * answers borrow names of the result. NULL: no memory. judge_destroy takes
 * NULL. */
struct judge *judge_measure(struct jp_result *result,
                            const struct jp_processes *processes,
                            double run_us);

/* Prices all answers that have no cost yet, drops those that are not worth it,
 * and sorts the others; then turns. If the replay does not give the run, costs
 * are unknown, and all answers stay. The judge is usable then, unless there is
 * a reason why not. Its replay borrows result and processes. 0, or -1: no
 * memory. */
int judge_price(struct judge *judge, const struct jp_result *result,
                const struct jp_processes *processes);

/* Both, one after the other. NULL: no memory. */
struct judge *judge_run(struct jp_result *result,
                        const struct jp_processes *processes, double run_us);
void judge_destroy(struct judge *judge);

/* Frees the replay, which takes much memory and borrows result and processes.
 */
void judge_drop_replay(struct judge *judge);

/* Returns true if names may be given: the whole run was judged, what they cost
 * is known, start and end span the run, and clocks by durations are no longer
 * than it, as they are where operations overlap computation. */
bool judge_speaks(const struct judge *judge);

/* Returns true if only a part of the run was followed (clock_us of run_us), by
 * start and end: what groups of processes did in it may be compared. */
bool judge_speaks_of_part(const struct judge *judge);

/* Returns true if a judged process of another host has the same role. If not,
 * own times compare the processes of its host with each other only. */
bool judge_has_likes_elsewhere(const struct judge *judge,
                               const struct jp_processes *processes,
                               size_t process);

/* By how much a group of processes computes longer than others, whatever their
 * roles: stages of a pipeline, or all ranks that have more work. */
struct judge_group {
    double us;       /* over the run: the mean of the group less that of the
                        others, without the lowest and the highest fifth of the
                        blocks of whole iterations */
    double error_us; /* its standard error, by the scatter of the blocks */
    double least_us; /* less is chance, as the blocks and the processes of a
                        group differ, or not worth it */
};
enum judge_side { JUDGE_ASIDE, JUDGE_IN, JUDGE_OTHER };

/* Compares processes. side: of each process of the n that were judged.
 * questions: how many groups were looked at to find this one. Returns false if
 * one side is empty, or if they do not have as many iterations. */
bool judge_compare(const struct judge *judge, const enum judge_side *side,
                   size_t n, size_t questions, struct judge_group *out);

/* Sets *cost_us to what the run is longer by because that group computes by_us
 * longer than the others, over the run: the run is replayed without it. Less
 * than by_us where another group is as slow. NAN: no replay follows the run, or
 * there are barriers that no record has. 0, or -1: no memory. */
int judge_group_cost(struct judge *judge, const struct jp_result *result,
                     const struct jp_processes *processes,
                     const enum judge_side *side, double by_us,
                     double *cost_us);

/* Returns true if an answer is that a process is late, all along or in a part
 * of the run. */
static inline bool judge_is_late(const struct judge_answer *answer)
{
    return answer->kind == JUDGE_LATE || answer->kind == JUDGE_ONSET;
}

/* Returns true if an answer is about a process: it alone, or its node. */
bool judge_concerns(const struct judge_answer *answer,
                    const struct jp_processes *processes, size_t process);

/* Returns the standard deviation of a sum of squares with `freedom` degrees of
 * freedom. Few values do not show it well, so what processes differ by anyway,
 * half of worth_us (JUDGE_WORTH of the run), counts as that of
 * JUDGE_DIFFER_KNOWN further ones (Smyth 2004: an empirical Bayes estimate).
 * *freedom: with these. */
double judge_moderate(double worth_us, double squares, double *freedom);

/* Formats one line for people who compare judges: what is named, with figures.
 * Returns buf. */
#define JUDGE_LINE 400
char *judge_line(const struct judge *judge, const struct jp_result *result,
                 const struct jp_processes *processes, char buf[JUDGE_LINE]);

/* --- judge_build.c, judge_walk.c: the matrix. For this room only. --------- */

/* A process in one operation. An AlltoAll of messages is one. */
struct judge_item {
    uint32_t op;  /* number of the operation, of all */
    uint32_t col; /* column of the role's matrix: kind and number */
    float time_us;
    float own_us;
    float at; /* when it arrived, since the process began; then 0 to 1 of the
                 run */
    /* By durations: */
    uint32_t place : 27; /* in the order in which its process's items ended */
    uint32_t joined : 1; /* it began with the one before */
    uint32_t apart : 1;  /* its operation had ended without it */
    /* By start and end: */
    uint32_t after_start : 1; /* it follows the start of the one before in its
                                 communicator */
    uint32_t hidden : 1;      /* ... and waited in line: own_us says nothing */
    uint32_t in_line : 1;     /* ... as half of the members did, or more: own_us
                                 counts from the end of the one before */
};

/* What is kept of a process over the whole run. */
struct judge_kept {
    const struct intervals *of; /* of its timeline; NULL: it has no records, or
                                   durations alone */
    struct judge_place *places; /* [series] of the intervals; owned; sn is not
                                   set */
    const struct strip *strip;  /* its own time; by durations what ended (enum
                                   timeline_order_key). NULL: no records */
    double first_us, last_us;   /* its first start, its last end; by durations
                                   the edges of bins */
    double begin_us;            /* when the run began, by its clock */
    double comm_us;             /* in operations */
    uint64_t ops;
};

/* What operations are numbered by. */
struct judge_key {
    uint32_t comm;
    const char *func;
    uint64_t low;  /* sequence number of its first operation */
    uint32_t base; /* that operation, of all */
    bool numbered;
};

struct judge_run {
    const struct jp_result *r;
    const struct jp_processes *p;
    bool timed, part;
    struct judge_item *items; /* of process i: first[i] to first[i + 1] */
    uint32_t *first;
    bool *cut;         /* [process] its records end before its run does */
    uint64_t left;     /* records that are not in items */
    uint32_t *role;    /* [process] */
    uint32_t *closest; /* [process] the communicator that it uses most, without
                          single messages; UINT32_MAX: none */
    uint32_t n_roles;
    uint32_t *cols;     /* [role] columns of its matrix */
    uint32_t *expected; /* [op] members with records */
    uint32_t *key; /* [op] operations of one key follow each other by number */
    struct judge_key *keys; /* [key] */
    uint32_t n_keys;
    uint32_t n_ops;
    float *net_us; /* [op] */
    double *clock; /* [process] at the end */
    uint64_t lacking;
    struct judge_kept *kept; /* [process] NULL: the items are all of the run, or
                                nothing is known of the rest */
    uint32_t *kept_first;    /* [process] its first interval among those of all;
                                NULL: durations alone */
    float *kept_excess;      /* of each of them. NAN: nothing to compare with */
    double kept_us;          /* the longest time from first start to last end */
    double (*kept_own)[JUDGE_BLOCKS]; /* [process] own time by parts of it */
    const char *why;                  /* NULL: fine */
};

/* Fills items (own times of timed records, too), roles and columns; own times
 * by durations come from judge_walk. 0, or -1: no memory. */
int judge_build(struct judge_run *run);
void judge_build_fini(struct judge_run *run);

/* Follows the clocks of all processes by durations. Sets own_us, at, place,
 * joined, apart and net_us. *end_us: the longest clock at the end. 0, or -1: no
 * memory. */
int judge_walk(struct judge_run *run, double *end_us);

/* --- judge_kept.c: a run longer than its timelines. For this room only. --- */

/* By durations alone: of what is worth a user's minute, what a process may seem
 * late by because it lacks records. */
#define JUDGE_LACKING 0.25

struct operations;

/* Sets kept and what belongs to it, if each process with items has what is
 * needed, of one file. Borrows the result's timelines. 0, or -1: no memory. */
int judge_kept_fill(struct judge_run *run, const struct operations *from);
void judge_kept_fini(struct judge_run *run);

/* Returns in which part of the run, 0 to 1, a process was at that time. */
double judge_kept_at(const struct judge_run *run, size_t process, uint64_t us);

/* By durations alone: drops what is kept unless it shows own times of a run
 * that is run_us long. Call it after the walk. */
void judge_kept_check(struct judge_run *run, double run_us);

/* Returns the longest time that an operation of another process was in flight,
 * without the start. */
double judge_kept_wait(const struct judge_run *run, size_t process);

/* --- judge_name.c. For this room only. ------------------------------------ */

/* Adds an answer, to be filled. Returns NULL: no memory. */
struct judge_answer *judge_add(struct judge *judge,
                               const struct jp_processes *processes,
                               enum judge_kind kind, size_t process);

/* Removes all answers. */
void judge_drop_answers(struct judge *judge);

/* Returns the share of the budget for each of n that are asked one question.
 * Whatever is named by chance alone takes it from here. */
double judge_chance(size_t n);

/* Returns the trimmed mean of n blocks, at most JUDGE_BLOCKS, times n, and its
 * error: the larger one of single blocks and of pairs, as noise may last. */
struct stats_trimmed judge_resample(const double *blocks, unsigned n);

/* Returns the block of a moment, 0 to 1. */
static inline size_t judge_block_of(float at)
{
    return at >= 1 ? JUDGE_BLOCKS - 1 : (size_t) (at * JUDGE_BLOCKS);
}

/* --- judge_turns.c. For this room only. ----------------------------------- */

/* Sets all of turns but its cost. members: processes sorted by role; those of
 * role k begin at from[k]. 0, or -1: no memory. */
int judge_turns_find(struct judge *judge, const struct judge_run *run,
                     const uint32_t *members, const uint32_t *from);

/* Whether a replay may find that they cost more than JUDGE_TURNS. */
bool judge_turns_asked(const struct judge *judge);

/* Sets what they cost in a run without the n causes, by judge->replay. 0, or
 * -1: no memory. */
int judge_turns_price(struct judge *judge, const struct jp_processes *processes,
                      const struct replay_cause *causes, size_t n);

/* --- judge_cost.c: what an answer costs. For this room only. -------------- */

/* Replays a run of which durations alone are known, by the order in which the
 * clocks were followed. 0, or -1: no memory. */
int judge_replay_by_order(struct judge *judge, const struct judge_run *run);

/* Returns what is worth a user's minute: a share of what was judged. */
static inline double judge_worth(const struct judge *j)
{
    return JUDGE_WORTH * (j->part && !j->kept ? j->clock_us : j->run_us);
}

/* Prices the stalls of a run that is longer than its timelines: each wait costs
 * no more than another process was in flight for. */
void judge_price_kept_stalls(struct judge *judge, const struct judge_run *run);

/* --- judge_stall.c: single intervals. For this room only. ----------------- */

/* Sets stall[item] for each interval that is a stall, and sums them up by
 * process. Sets the least that would have been named. Where intervals are kept,
 * both excess and stall are of these. 0, or -1: no memory. */
int judge_stalls_find(struct judge *judge, const struct judge_run *run,
                      const float *excess, double worth_us, bool *stall);

/* Names the processes that stall, without those that are named already. 0, or
 * -1: no memory. */
int judge_stalls_name(struct judge *judge, const struct judge_run *run,
                      const float *excess, const bool *stall,
                      const bool *named);

#endif
