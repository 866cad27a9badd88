/* replay.h - how long the run would have taken without a cause of waits.
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
 *   one before, if the time after the start is steadier than after the end.
 * - Operations of one launch begin together and follow the same one.
 *
 * Passes. The first pass follows each process's own clock. Members leave an
 * operation together, which aligns their clocks. The pass is made twice; the
 * second time starts with the clocks that the first has found, and gives net,
 * the mean over members. Members of an AlltoAll (uneven sizes), a Broadcast or
 * a Reduce leave at different times, which are kept. The next pass is the model
 * with nothing changed. If it misses the run's length by more than the limit,
 * or if too many operations have missing members, the replay is not `usable`
 * and nothing is claimed. An operation with a missing member (lost records)
 * ends for each of the others when it did in the recording.
 *
 * Bounds. At most REPLAY_EVENTS operations of processes, some 110 B each. If
 * there are more, only the first part of all timelines is replayed, equally
 * long for each; `part` is then set, and the gain is of that part of the run. A
 * pass takes O(operations of processes).
 */
#ifndef JP_INSIGHT_REPLAY_H
#define JP_INSIGHT_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/identity/processes.h"

enum { REPLAY_EVENTS = 1 << 21 };

struct operations; /* orchestrator/identity/operations.h */
struct replay;

struct replay_state {
    bool usable;        /* otherwise the other fields say why not */
    bool part;          /* only the start of the run was replayed */
    uint64_t events;    /* operations of processes in the replay */
    uint64_t lacking;   /* of these, in operations without all members */
    double recorded_us; /* the recorded length of the longest process */
    double replayed_us; /* the replayed length of the same one, with nothing
                           changed */
    double share;       /* share of the recorded operations in `events` */
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
void replay_destroy(struct replay *replay); /* takes NULL */

/* The share of the run's time that the cause takes. 0.11: the run would be 11 %
 * shorter without it. NAN: there are no peers or similar communicators to
 * compare with. 0, or -1: no memory. Only for a usable replay. */
int replay_without(struct replay *replay, const struct replay_cause *cause,
                   double *gain);

enum { WHATIF_FINDINGS = 8 }; /* the first so many findings are replayed */

/* Sets gain and gain_kind of findings, which need no order, and adds a clause
 * to their text. Late ranks and nodes whose mending saves less than
 * `late_told_min`, by own times `own_cost_min`, are dropped. The run is
 * replayed where a finding names a cause that a replay can take away; *state,
 * of the replay, is all zeros else. 0, or -1 without memory. */
int whatif_findings(const struct jp_result *result,
                    const struct jp_processes *processes,
                    struct jp_findings *findings, struct replay_state *state);

/* The run in memory. For replay*.c and whatif.c only. */

#define REPLAY_NONE UINT32_MAX

/* One process in one operation. What it follows is an event of the same
 * process. */
struct replay_event {
    double own_us;  /* time from what it follows to its arrival */
    double time_us; /* time from its arrival to its end */
    float net_us;   /* its end after the last arrival, in the first pass */
    uint32_t op, process;
    uint32_t after;   /* NONE: the first */
    uint32_t before;  /* the event before it in its communicator; NONE: there is
                         none that it must wait for */
    uint16_t place;   /* number within its launch */
    bool after_start; /* it follows the start of `after`, not its end */
    uint8_t role;     /* of a pair: 1: it sends, 2: to or from a higher rank */
    signed char beside; /* 1: what ended last overlapped it; -1: it did not */
    bool queued;        /* it began right after the end of `before`: it waited
                           in line, and its own time is hidden */
};

struct replay_op {
    uint64_t bytes;    /* of one of its messages */
    float net_us;      /* after the last arrival */
    float scale;       /* times net; 1 */
    uint32_t key;      /* its communicator and function, or its pair */
    uint32_t comm;     /* of the result */
    uint32_t first, n; /* its events in members */
    uint32_t expected, arrived;
    bool over, pair;
    bool loose; /* its members leave at different times */
};

/* What operations are numbered by: (communicator, function), or a pair. */
struct replay_key {
    uint64_t key;
    uint64_t low; /* its first sequence number */
    bool based;
    uint32_t count[2]; /* Recvs and Sends of the current process */
    uint32_t stamp;    /* number of the current process + 1 */
    uint32_t *ops;     /* operation by number; NONE: none */
    size_t n;
};

/* A communicator as the current process uses it. */
struct replay_stream {
    uint32_t stamp; /* number of the current process + 1 */
    uint32_t count; /* number of its AlltoAlls; later of its events */
    uint32_t last;  /* event */
    uint64_t end_us;
};

struct replay {
    const struct jp_result *r;
    const struct jp_processes *p;
    const struct operations *from; /* while events are collected */
    struct replay_key *keys;
    uint32_t n_keys;
    size_t room_keys;
    struct hash_table key_table;
    struct replay_stream *streams; /* by communicator */
    struct replay_op *ops;
    uint32_t n_ops;
    size_t room_ops;
    struct replay_event *events;
    uint32_t n_events, room_events;
    double *starts; /* start of events after their process' first one, us; only
                       while events are collected */
    uint32_t *members;   /* events of operations */
    uint32_t *first;     /* [process] of its events, and the end */
    double *recorded_us; /* [process] from its first start to its last end */
    uint64_t *from_us;   /* [process] its first start, since 1970 */
    uint32_t longest;    /* the process of the longest */
    double base_us;      /* the whole run's length with nothing changed */
    /* during a pass */
    const double *own; /* own times that replace the events'; NULL: none */
    bool calibrates;   /* in the first pass */
    double *begin;     /* [process] when it begins */
    double *found;     /* [process] how far its clock has moved by then */
    bool *afloat;      /* [process] its clock is not aligned yet */
    bool *queued;
    uint32_t *cursor, *ready;
    double *arrive, *leave; /* [event] */
};

/* Fills events, operations and members, and `part` and `share`. 0, or -1: no
 * memory. */
int replay_build(struct replay *replay, struct replay_state *state);

static inline uint64_t replay_mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xD6E8FEB86659FD93);
    return x ^ x >> 32;
}

/* The kind of an operation in any communicator: function and number of ranks.
 */
static inline uint64_t replay_kind_of(const struct replay *x, uint32_t event)
{
    const struct replay_op *op = &x->ops[x->events[event].op];
    uint64_t func = op->pair ? UINT32_MAX : (uint32_t) x->keys[op->key].key;

    return replay_mix(func << 32 | x->r->comms[op->comm].n_ranks);
}

/* Replays and returns the run's length, and in *own that of the longest
 * process. NAN: the replay does not reach the end. */
double replay_pass(struct replay *replay, double *own);

#endif
