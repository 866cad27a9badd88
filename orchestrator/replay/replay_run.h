/* replay_run.h - the replayed run in memory. For this room only. */
#ifndef JP_REPLAY_REPLAY_RUN_H
#define JP_REPLAY_REPLAY_RUN_H

#include <math.h>

#include "common/hash.h"
#include "orchestrator/replay/replay.h"

#define REPLAY_NONE UINT32_MAX

/* One process in one operation. What it follows is an event of the same
 * process. There may be REPLAY_EVENTS, so an event is as small as it can be. */
struct replay_event {
    float own_us;  /* time from what it follows to its arrival */
    float time_us; /* time from its arrival to its end */
    uint32_t op, process;
    uint32_t after;  /* NONE: the first */
    uint32_t before; /* the event before it in its communicator; NONE: there is
                        none that it must wait for */
    uint16_t place;  /* number within its launch */
    bool after_start : 1; /* it follows the start of `after`, not its end */
    bool queued : 1;      /* it began right after the end of `before`: it waited
                             in line, and its own time is hidden */
    bool anew : 1;        /* it seems to begin anew; while it is decided */
    signed beside : 2;    /* 1: what ended last overlapped it; -1: it did not */
    unsigned role : 2; /* of a pair: 1: it sends, 2: to or from a higher rank */
};

struct replay_op {
    uint64_t bytes;    /* of one of its messages */
    double latest;     /* the last arrival; set when it is over */
    float net_us;      /* after the last arrival */
    float scale;       /* times net; 1 */
    uint32_t key;      /* its communicator and function, or its pair */
    uint32_t comm;     /* of the result */
    uint32_t first, n; /* its events in members */
    uint32_t expected, arrived;
    bool over, pair;
    bool loose;  /* its members leave at different times */
    bool shared; /* a message that a member has launched with others: that
                    member's end is the launch's, which may be later */
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
    uint32_t exchange; /* event of the open AlltoAll made of messages; NONE */
    uint64_t exchange_us; /* ... its start */
};

struct replay {
    const struct jp_result *r;
    const struct jp_processes *p;
    const struct operations *from; /* while events are collected */
    bool by_order;                 /* of a run without start and end */
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
    double *starts;  /* start of events after their process' first one, us; only
                        while events are collected */
    uint32_t *kinds; /* [event] of a run by its order; else NULL */
    uint32_t *members;   /* events of operations */
    uint32_t *first;     /* [process] of its events, and the end */
    double *recorded_us; /* [process] from its first start to its last end */
    uint64_t *from_us;   /* [process] its first start, since 1970 */
    uint32_t longest;    /* the process of the longest */
    double base_us;      /* the whole run's length with nothing changed */
    double *alone; /* [process] how long others wait for it alone then, us */
    /* during a pass */
    const float *own; /* own times that replace the events'; NULL: none */
    bool calibrates;  /* in the first pass */
    double *begin;    /* [process] when it begins */
    double *found;    /* [process] how far its clock has moved by then */
    bool *afloat;     /* [process] its clock is not aligned yet */
    bool *by_shared;  /* [process] it has `shared` operations only, so that they
                         align its clock; in the first pass */
    bool *queued;
    uint32_t *cursor, *ready;
    double *arrive; /* [event] */
    float *net_us; /* [event] its end after the last arrival, in the first pass;
                      NULL: no operation is loose */
};

/* Fills events and operations, and `part`. 0, or -1: no memory. */
int replay_build(struct replay *replay, struct replay_state *state);

/* The same of a run by its order. 0, or -1: no memory. */
int replay_put_order(struct replay *replay, const struct replay_order *order);

/* Sets usable and follows: whether the replay with nothing changed is the run.
 */
static inline void replay_judge(struct replay_state *state)
{
    double off = fabs(state->replayed_us - state->recorded_us);
    bool whole = state->run_us > 0 &&
                 (double) state->lacking <=
                     REPLAY_LACKING * (double) state->events;

    state->usable = whole && off <= REPLAY_OFF * state->recorded_us;
    state->follows = whole && off <= REPLAY_FAR * state->recorded_us;
}

/* Returns the number of a process's events. */
static inline uint32_t replay_count(const struct replay *x, size_t process)
{
    return x->first[process + 1] - x->first[process];
}

/* Lists the events of each operation. 0, or -1: no memory. */
int replay_find_members(struct replay *replay);

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

/* What work an event is: equal for processes that do the same. */
static inline uint64_t replay_work_of(const struct replay *x, uint32_t event)
{
    return x->kinds ? x->kinds[event]
                    : replay_kind_of(x, event) ^ x->events[event].role;
}

/* How work is evened. */
struct replay_evening {
    const uint32_t *role; /* [process] */
    double from; /* this share of a process's operations stay as they are */
    bool each;   /* each interval; else a process's own times as a whole */
};

/* Evens own[event] over the processes of a role. 0, or -1: no memory. */
int replay_even(struct replay *replay, const struct replay_evening *how,
                float *own);

/* Replays and returns the run's length, and in *own that of the longest
 * process. NAN: the replay does not reach the end. */
double replay_pass(struct replay *replay, double *own);

#endif
