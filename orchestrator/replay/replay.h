/* replay.h - how long the run would have taken without a fault.
 *
 * Whoever says what a fault costs, or what mending it saves, asks here.
 *
 * Definitions. L(F) is how long the replayed run takes without the faults F,
 * L() with nothing changed. Of the faults of a list A, as shares of L():
 *
 * - alone: what mending one of them saves, all others left as they are
 *     alone(i) = 1 - L({i}) / L()
 * - all: what mending all of them saves
 *     all = 1 - L(A) / L()
 * - last: what mending it saves once all others are mended. That is what it
 *   would cost if it were the only fault
 *     last(i) = (L(A without i) - L(A)) / L()
 * - share: all of it shared out, so that no second is counted twice
 *     w(i) = max(alone(i), last(i)),  share(i) = all * w(i) / sum of w
 *
 * Two ranks that are late in the same operations hide each other: alone is
 * small for both, last is large for both. Of a single fault all four are equal.
 * What mending one of several saves depends on the order; these are the first
 * and the last place in it (Shapley 1953 has the mean over all orders).
 *
 * A fault is taken away so:
 * - processes that are late, all along or in parts, or that stall: the excess
 *   of their own times over the median of their peers becomes as large, and as
 *   often, as that of a peer over the others. Peers are processes with the same
 *   sequence of operations that no fault of the list is about
 * - slow links: net of operations becomes that of their likes, or what it was
 *   before
 * - stages: each has as much to do as the mean of all
 * - turns: before each operation the own time becomes the mean of the role.
 *   Without that of each process as a whole (Lin et al., "Understanding
 *   Stragglers in Large Model Training Using What-if Analysis", OSDI 2025: the
 *   run against one with evened times)
 *
 * Model. Each process is a sequence of operations. It reaches each of them
 * after some time of its own, counted from what the operation follows. An
 * operation ends when its last member has arrived, plus its time without
 * waiting (net). A Send and its Recv are one operation of two members; the
 * messages of an AlltoAll are one operation of all ranks:
 *
 * - arrival = end of what it follows + own time (time of the recording)
 * - end = arrival of the last member + net
 *
 * Where the members of an operation had met before it, by something that no
 * record has (identity/barriers.h), each has the shortest of their own times,
 * and waits for the last one.
 *
 * Times come from the timelines (aggregate/timeline.h). Each is on the clock of
 * one process; only differences on one clock are used.
 *
 * What an operation follows. It follows the operation of its process that ended
 * last before it began, and the one before it in its communicator (a stream).
 * - Operations may overlap: one that is still in flight is not waited for.
 * - What ended last may have ended beside the operation. That is assumed if
 *   most members are then nearer to their usual time after the one before in
 *   their stream.
 * - In a stream beside the computation an operation follows the start of the
 *   one before, if the time after the start is steadier than after the end,
 *   and steadier than after what another stream ended in between
 *   (identity/follows.h). If it begins anew it follows what ended last.
 * - Operations of one launch begin together and follow the same one.
 *
 * Messages that a rank launches together, as the Recv and the Send of a stage,
 * all have the end of the launch in the recording. Each may have ended before.
 * So they do not align clocks, unless a process has nothing else, and their net
 * is that of the member that left first.
 *
 * Passes. The first pass follows each process's own clock. Members leave an
 * operation together, which aligns their clocks. The pass is made twice; the
 * second time starts with the clocks that the first has found, and gives net,
 * the mean over members. Members of an AlltoAll (uneven sizes), a Broadcast or
 * a Reduce leave at different times, which are kept. The next pass is the model
 * with nothing changed. If it misses the run's length by more than REPLAY_OFF,
 * or if more than REPLAY_LACKING of the operations have missing members, the
 * replay is not `usable` and nothing is claimed. An operation with a missing
 * member (lost records) ends for each of the others when it did in the
 * recording.
 *
 * Bounds. At most REPLAY_EVENTS operations of processes, some 75 B each. If
 * there are more, only the first part of all timelines is replayed, equally
 * long for each; `part` is then set, and the gain is of that part of the run. A
 * pass takes O(operations of processes).
 */
#ifndef JP_REPLAY_REPLAY_H
#define JP_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/identity/processes.h"

enum { REPLAY_EVENTS = 1 << 22 };

/* Of the run's length, by which the replay may miss it: gains worth telling are
 * a few hundredths of the run. */
#define REPLAY_OFF 0.01
/* ... where the question is only whether a cost is worth a search: a replay
 * that misses more has stopped, or follows another order. */
#define REPLAY_FAR 0.1
/* Of the operations, that may have missing members: an arrival that was not
 * recorded causes no wait in the replay. */
#define REPLAY_LACKING 0.02

struct operations; /* orchestrator/identity/operations.h */
struct replay;

struct replay_state {
    bool usable;        /* gains may be told; otherwise the other fields say why
                           not */
    bool follows;       /* it is near enough to tell what is worth a search */
    bool part;          /* only the start of the run was replayed */
    bool by_order;      /* of a run without start and end (replay_of_order) */
    uint64_t events;    /* operations of processes in the replay */
    uint64_t lacking;   /* of these, in operations without all members */
    double recorded_us; /* the recorded length of the longest process */
    double replayed_us; /* the replayed length of the same one, with nothing
                           changed */
    double run_us;      /* the replayed length of the run; 0: none */
};

enum replay_kind {
    REPLAY_LATE,   /* the processes' own times become those of their peers: late
                      ones, and those that stall */
    REPLAY_NET,    /* slow links: net of operations becomes that of their
                      likes (same function, size, numbers of ranks and hosts),
                      or what it was before from_us, or in the first tenth */
    REPLAY_STAGES, /* own times of groups of processes are evened, their sum
                      kept */
};

/* The cause to take away. Borrowed during the call. */
struct replay_cause {
    enum replay_kind kind;
    const size_t *processes; /* LATE: the late ones; STAGES: those of all
                                stages. Indexes into processes->list */
    const uint32_t *stage;   /* STAGES: the stage number of each */
    size_t n;
    const char
        *host; /* NET: a host; operations with it are slow. NULL or "": any */
    int64_t comm;   /* NET: a communicator; -1: any */
    double from_us; /* NET: slow from then on, since 1970; NAN: always */
    bool grows;     /* NET: it becomes slower and slower */
};

/* Borrows the result (with its timelines) and the processes until destroy.
 * *state has whether the replay is usable. NULL: no memory. */
struct replay *replay_create(const struct jp_result *result,
                             const struct jp_processes *processes,
                             struct replay_state *state);

/* An operation of a process of which only the order is known, and how long it
 * took. */
struct replay_step {
    uint32_t op;   /* number of the operation, of all */
    uint32_t kind; /* equal for processes that do the same */
    float own_us;  /* from the end of the one before to its arrival */
    float time_us;
    bool joined; /* it began with the one before, which it did not wait for */
    bool apart;  /* it has no other members: they did not wait for it */
};

struct replay_order {
    const struct replay_step *steps; /* of process i: first[i] to first[i + 1],
                                        in the order in which they ended */
    const uint32_t *first;
    uint32_t n, n_ops;
    const uint32_t *comm; /* [op] of the result */
    const float *net_us;  /* [op] without waiting */
    uint64_t lacking;     /* of the steps, in operations without all members */
    double run_us;        /* how long the clocks run that gave own times */
};

/* The same of a run without start and end. Clocks by durations lack what all
 * processes compute alike, so gains are shares of state->run_us, which is
 * shorter than the run. Where operations run beside the computation, each of
 * them has the same delay once more, so such a gain is an upper bound. Own
 * times become the peers' median; links are not compared. Borrows the result
 * and the processes until destroy. NULL: no memory. */
struct replay *replay_of_order(const struct jp_result *result,
                               const struct jp_processes *processes,
                               const struct replay_order *order,
                               struct replay_state *state);
void replay_destroy(struct replay *replay); /* takes NULL */

/* What one of several causes costs, as shares of the run's time. NAN: it cannot
 * be taken away, as there are no peers or similar communicators to compare
 * with. */
struct replay_gain {
    double alone; /* 0.11: the run would be 11 % shorter without it */
    double last;  /* ... if the others were gone already */
    double share; /* of what all of them cost */
};

/* What is worth mending about it: it alone, or after the others. */
static inline double replay_worth(const struct replay_gain *gain)
{
    return gain->alone > gain->last ? gain->alone : gain->last;
}

/* Below this share of the run a gain may be noise of the replay. */
#define REPLAY_SURE 0.005
/* ... and the replay has missed something if others waited that many times as
 * long. */
#define REPLAY_SURED 4

/* Of the waits, that the replay has with nothing changed if it follows how they
 * come about. */
#define REPLAY_REPRODUCED 0.5

/* Returns how long, with nothing changed, all other members of its operations
 * wait for a process alone: until the last one, from the one before it.
 * Messages between two processes are not in it. */
double replay_alone(const struct replay *replay, size_t process);

/* Returns true if others wait, for that share of the run, and the replay says
 * that nothing is saved, because it does not follow the order in which
 * operations overlap. replayed: the share for which they wait in the replay
 * with nothing changed; NAN: unknown. If it has the waits, they are in vain:
 * whoever waited then waits for somebody else. */
static inline bool replay_misses(const struct replay_gain *gain, double waited,
                                 double replayed)
{
    double worth = replay_worth(gain);

    return worth < REPLAY_SURE && waited > REPLAY_SURED * worth &&
           waited > REPLAY_SURE && !(replayed >= REPLAY_REPRODUCED * waited);
}

/* Sets *longer_us to how much longer the replay takes if own times of each
 * process become longer by rate[process] of themselves: 0.1 is a tenth more,
 * -0.1 a tenth less. Of a run without start and end own times lack what all
 * processes compute alike: there rate is us before each operation, and no own
 * time becomes less than 0. The first `from` of its operations, a share, stay
 * as they are. added_us[process]: how much longer its own times are together,
 * of which operations of one launch have one. Needs no peers. By noise
 * *longer_us may have the other sign. 0, or -1: no memory. */
int replay_scaled(struct replay *replay, const double *rate, double from,
                  double *longer_us, double *added_us);

/* What evenly shared work would save, as shares of the run's time. */
struct replay_evened {
    double whole; /* each process has as much to do as the mean of its role */
    double each;  /* ... in each interval between two operations */
};

/* Fills *out for a run without the n causes, as far as these can be taken away.
 * role[process]: equal numbers do the same work. The first `from` of each
 * process's operations, a share, stay as they are. What ranks lose because
 * another one has more to do each time is out->each - out->whole. 0, or -1: no
 * memory. Only for a replay that follows the run. */
int replay_evened(struct replay *replay, const struct replay_cause *causes,
                  size_t n, const uint32_t *role, double from,
                  struct replay_evened *out);

/* Fills gains[n] of n causes. *all: without all that can be taken away; NAN:
 * none can. 0, or -1: no memory. Only for a replay that follows the run. */
int replay_gains(struct replay *replay, const struct replay_cause *causes,
                 size_t n, struct replay_gain *gains, double *all);

#endif
