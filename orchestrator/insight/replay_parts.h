/* replay_parts.h - a run that can be replayed: for replay*.c only. */
#ifndef JP_INSIGHT_REPLAY_PARTS_H
#define JP_INSIGHT_REPLAY_PARTS_H

#include "orchestrator/insight/replay.h"

#define REPLAY_NONE UINT32_MAX
#define REPLAY_FUNCS 64 /* names told apart */

/* One process in one operation; what it follows is of its own process. */
struct replay_event {
    double own_us;  /* from what it follows to its arrival */
    double time_us; /* from its arrival to its end */
    float net_us;   /* its end after the last arrival, in the first pass */
    uint32_t op, process;
    uint32_t after;   /* NONE: the first */
    uint32_t before;  /* the one before it in its communicator; NONE: none that
                         it must wait for */
    uint16_t place;   /* in its launch */
    bool after_start; /* of `after`, not its end */
    uint8_t role;     /* of a pair: 1 sends, 2 with a rank above */
    signed char beside; /* what ended last did so beside it: 1; did not: -1 */
    bool queued;        /* then: it waited for the end, its own time is less */
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
    bool loose; /* its members do not leave it together */
};

/* What operations are counted by: (communicator, function), or a pair's. */
struct replay_key {
    uint64_t key;
    uint64_t low; /* its first sequence number */
    bool based;
    uint32_t count[2]; /* of the process at hand: Recvs, Sends */
    uint32_t stamp;    /* which process that is, + 1 */
    uint32_t *ops;     /* by number; NONE: none */
    size_t n;
};

/* A communicator, as the process at hand uses it. */
struct replay_stream {
    uint32_t stamp; /* which process that is, + 1 */
    uint32_t count; /* of its AlltoAlls; later of its events */
    uint32_t last;  /* event */
    uint64_t end_us;
};

struct replay {
    const struct jp_result *r;
    const struct jp_processes *p;
    uint32_t *comms_by_id;
    const char *funcs[REPLAY_FUNCS]; /* borrowed from the timelines */
    uint32_t n_funcs;
    struct replay_key *keys;
    uint32_t n_keys, room_keys;
    uint32_t *slots, n_slots;      /* hash of keys */
    struct replay_stream *streams; /* by communicator */
    struct replay_op *ops;
    uint32_t n_ops, room_ops;
    struct replay_event *events;
    uint32_t n_events, room_events;
    double *starts;      /* of events after their process' first, us; while
                            they are put down */
    uint32_t *members;   /* events of operations */
    uint32_t *first;     /* [process] of its events, and the end */
    double *recorded_us; /* [process] from its first start to its last end */
    uint64_t *from_us;   /* [process] its first start, since 1970 */
    uint32_t longest;    /* the process of the longest */
    double base_us;      /* the whole run's length with nothing changed */
    /* of a pass */
    const double *own; /* in place of the events'; NULL: theirs */
    bool calibrates;   /* the first pass */
    double *begin;     /* [process] when it begins */
    double *found;     /* [process] how far its clock has moved by then */
    bool *afloat;      /* [process] no clock has found its own yet */
    bool *queued;
    uint32_t *cursor, *ready;
    double *arrive, *leave; /* [event] */
};

/* Fills events, operations and members, and `part` and `share`. 0, or -1
 * without memory. */
int replay_build(struct replay *replay, struct replay_state *state);

static inline uint64_t replay_mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xD6E8FEB86659FD93);
    return x ^ x >> 32;
}

/* What it is, whichever the communicator: function and number of ranks. */
static inline uint64_t replay_kind_of(const struct replay *x, uint32_t event)
{
    const struct replay_op *op = &x->ops[x->events[event].op];
    uint64_t func = op->pair ? UINT32_MAX : (uint32_t) x->keys[op->key].key;

    return replay_mix(func << 32 | x->r->comms[op->comm].n_ranks);
}

/* Replays; returns the run's length, and in *own that of the longest process;
 * NAN where it does not come to its end. */
double replay_pass(struct replay *replay, double *own);

#endif
