/* livestate.h - a step while it runs, by its nodes' snapshots: each rank's
 * state, who hangs, who is late. `jobprof top` and the like read it.
 *
 *     struct livestate state;
 *     livestate_init(&state, &place);
 *     while (livestate_look(&state, &now, &err) > 0)
 *         ... state.verdict, state.ranks[] ...
 *     livestate_fini(&state);
 *
 * Nothing is asked of the nodes and nothing is written. The snapshots are
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
    LIVESTATE_HANG, /* confirmed, here or by node 0 */
    /* in flight for longer than operations of its kind ever take */
    LIVESTATE_SUSPECT,
    LIVESTATE_TROUBLE,  /* a process is gone or stopped, but none waits yet */
    LIVESTATE_SLOW,     /* ranks make the others wait */
    LIVESTATE_OK,       /* looked for, and none found */
    LIVESTATE_UNJUDGED, /* no recent word from any node */
    LIVESTATE_ENDED,    /* all nodes have written their last snapshot */
    LIVESTATE_N_WORDS
};
/* "HANG" and so on, for people and JSON. */
extern const char *const livestate_words[LIVESTATE_N_WORDS];

struct livestate_node {
    char node[LIVE_NODE_LEN];
    uint32_t nodeid, sequence, due_ms;
    enum live_class class;
    bool last;
    bool stale; /* no word for three of its periods */
    uint64_t real_ns;
    uint64_t age_ms; /* age of its snapshot, from its clock and ours */
    uint64_t left_ranks, left_comms;
    size_t first, n_ranks; /* in ranks[] */
};

struct livestate_rank {
    struct live_rank is;
    size_t node;
    /* rank by task, else in its largest communicator; -1: unknown */
    int64_t rank;
    bool keeps; /* it keeps the others waiting, by the rule of hung.h */
    bool late;  /* it makes the others wait, by livejoin.h */
    /* share of its time that others wait for it; NAN: not judged */
    double caused;
    /* its oldest operation in flight, else what it did most of late; func "":
     * neither is known */
    bool in_flight;
    int64_t age_ns; /* when the snapshot was taken; -1: not known. Where a log
                       tells only what has ended, since it has grown last */
    uint64_t seq, bytes, hash;
    int64_t n_ranks;
    char func[RECORD_MAX_FUNC + 1], comm[LIVE_COMM_NAME_LEN];
    double busbw_gbs; /* of what it did most of late; NAN: not known */
};

struct livestate_place {
    const char *dir; /* the step directory; borrowed */
    uint32_t nodes;  /* nodes of the step */
    /* as in livejoin.h: other snapshots belong to an earlier step */
    uint64_t conf;
    struct hung_times times;
};

struct livestate {
    struct livestate_place place;
    struct hung stuck; /* of our own looks */
    struct livestall stall;
    size_t n_logs;     /* ranks that are told by logs of what has ended */
    uint64_t batch_ms; /* of which a batch comes so often; 0: not known */
    enum livestate_word word;
    char text[640]; /* the verdict as a sentence */
    uint64_t waited_ms;
    struct livestate_node *nodes;
    size_t n_nodes, nodes_room;
    struct livestate_rank *ranks; /* sorted by node */
    size_t n_ranks, ranks_room;
    uint64_t left_ranks; /* ranks without room in the snapshots */
    uint32_t n_silent;   /* nodes without any word, or without a recent one */
    uint32_t n_late;
    uint32_t n_bad; /* files that were torn or are no snapshots */
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

/* Takes a new look. Returns 1 if there are snapshots, 0 if there are none, -1
 * if they cannot be read; state is then unchanged, except that its nodes and
 * ranks are empty. */
int livestate_look(struct livestate *state, const struct livestate_time *now,
                   struct jp_error *err);

#endif
