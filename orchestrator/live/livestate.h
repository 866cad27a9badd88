/* livestate.h - the state of a running step from its nodes' snapshots: each
 * rank's state, what hangs, and what is late. `jobprof top` reads it.
 *
 *     struct livestate state;
 *     livestate_init(&state, &place);
 *     while (livestate_look(&state, &now, &err) > 0)
 *         ... state.word, state.ranks[] ...
 *     livestate_fini(&state);
 *
 * Nothing is requested from the nodes and nothing is written. The snapshots are
 * foreign input (livesnap.h). Rates and shares are those of the last half
 * minute.
 */
#ifndef JP_LIVE_LIVESTATE_H
#define JP_LIVE_LIVESTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/live/livesnap.h"
#include "orchestrator/live/livestall.h"

/* Worst first. */
enum livestate_word {
    LIVESTATE_HANG, /* confirmed, by this program or by node 0 */
    /* an operation is in flight for longer than its kind ever takes */
    LIVESTATE_SUSPECT,
    LIVESTATE_TROUBLE, /* a process is gone or stopped, but none waits yet */
    LIVESTATE_SLOW,    /* ranks make the others wait */
    LIVESTATE_OK,      /* nothing was found, in recent data of all ranks */
    /* nothing was found, but data that could show it is missing or old: `text`
     * says which */
    LIVESTATE_UNJUDGED,
    LIVESTATE_ENDED, /* all nodes have written their last snapshot */
    LIVESTATE_N_WORDS
};
/* "HANG" and so on, for people and JSON. */
extern const char *const livestate_words[LIVESTATE_N_WORDS];

struct livestate_node {
    char node[LIVE_NODE_LEN];
    uint32_t nodeid, sequence, due_ms;
    enum live_class class;
    bool last;
    bool stale; /* it sent nothing for three of its periods */
    uint64_t real_ns;
    /* age of its snapshot, by its clock and that of this program */
    uint64_t age_ms;
    uint64_t left_ranks, left_comms;
    size_t first, n_ranks; /* in ranks[] */
};

struct livestate_rank {
    struct live_rank is;
    size_t node;
    /* in the job (orchestrator/identity/rankrule.h), otherwise in the largest
     * communicator; -1: unknown */
    int64_t rank;
    bool keeps; /* it keeps the others waiting (hung.h) */
    bool late;  /* it makes the others wait (livejoin.h) */
    /* share of the time for which others wait for it; NAN: not judged */
    double caused;
    /* the oldest operation in flight, otherwise the one that took most of the
     * recent time; func "": neither is known */
    bool in_flight;
    int64_t age_ns; /* when the snapshot was taken; -1: unknown. For a log of
                       ended operations: time since it has grown */
    uint64_t seq, bytes, hash;
    int64_t n_ranks;
    char func[RECORD_MAX_FUNC + 1], comm[LIVE_COMM_NAME_LEN];
    double busbw_gbs; /* of the operation that took most of the recent time;
                         NAN: unknown */
};

struct livestate_place {
    const char *dir; /* the step directory; borrowed */
    uint32_t nodes;  /* nodes of the step */
    /* as in livejoin.h: snapshots with another hash belong to an earlier step
     */
    uint64_t conf;
    struct hung_times times;
};

struct livestate {
    struct livestate_place place;
    struct hung stuck; /* state of this program's own looks */
    struct livestall stall;
    size_t n_logs; /* ranks that are known from logs of ended operations */
    /* longest interval at which these are written; 0: unknown */
    uint64_t batch_ms;
    enum livestate_word word;
    char text[640]; /* the verdict as a sentence */
    bool waits; /* UNJUDGED until nodes have written again, which they do every
                   few seconds while somebody watches (livewant.h) */
    uint64_t waited_ms;
    struct livestate_node *nodes;
    size_t n_nodes, nodes_room;
    struct livestate_rank *ranks; /* sorted by node */
    size_t n_ranks, ranks_room;
    uint64_t left_ranks; /* ranks without room in the snapshots */
    uint32_t n_silent;   /* nodes that sent nothing, or nothing recent */
    uint32_t n_late;
    uint32_t n_bad; /* files that are torn, or no snapshots */
    /* joined operations in flight; valid until the next look */
    struct jp_hangs hangs;
    struct live_snap *snap;
};

struct livestate_time {
    uint64_t real_ns, mono_ms;
};

void livestate_init(struct livestate *state,
                    const struct livestate_place *place);
void livestate_fini(struct livestate *state);

/* Reads the snapshots and judges the step. Returns 1 if there are snapshots, 0
 * if there are none, or -1 if they cannot be read; nodes and ranks are then
 * empty, and the verdict is not to be used. */
int livestate_look(struct livestate *state, const struct livestate_time *now,
                   struct jp_error *err);

#endif
