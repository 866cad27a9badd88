/* liverate.h - how fast a process communicates: operations, their time and
 * size over the last LIVE_RECENT_MS.
 *
 * How many end is known from the recording's counters; their time and size is
 * the mean of a few that are read every LIVERATE_SAMPLE_MS, at the same seconds
 * of the day on all nodes, so that ranks are compared by the same operations.
 * Each turn makes what was before count less, so that a rank that changes its
 * ways shows it within half a minute, in bounded memory.
 */
#ifndef JP_LIVE_LIVERATE_H
#define JP_LIVE_LIVERATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/live/livesnap.h"
#include "plugins/nccl_recorder/recfile.h"

#define LIVERATE_SAMPLE_MS 5000
/* operations of a file at a turn, plus the rest of their block */
#define LIVERATE_OPS 64
#define LIVERATE_SERIES_MAX 256

struct liverate_series {
    uint32_t comm;
    enum jpr_op_kind kind;
    char func[RECORD_MAX_FUNC + 1]; /* name as in the file */
    bool told;                      /* the counters have named it */
    /* ended operations by the counters of the last turn */
    uint64_t ended;
    double recent;                /* operations that ended recently */
    double n, n_timed, us, bytes; /* sums over operations read recently */
};

/* The rates of a process; the owner sets it to zeros. */
struct liverate {
    struct liverate_series *series;
    size_t n;
    uint64_t turn_ns; /* time of the last turn, monotonic; 0: none yet */
    double seconds;   /* seconds that `recent` covers */
};

void liverate_fini(struct liverate *rate);

/* Number of the turn at that time of day. A new turn is due when the number
 * changes. */
uint64_t liverate_turn(uint64_t real_ns);

/* Adds an operation that was read. */
void liverate_op(struct liverate *rate, const struct jpr_op *op);

/* Ends a turn: takes the current values of the file's counters. */
void liverate_pass(struct liverate *rate, const struct jp_recfile *file,
                   uint64_t mono_ns);

/* Fill in the figures of the rank, or of a front of the communicator with that
 * hash. The caller has already named the front. */
void liverate_rank(const struct liverate *rate, uint64_t mono_ns,
                   struct live_rank *rank);
void liverate_front(const struct liverate *rate, const struct jp_recfile *file,
                    uint64_t mono_ns, uint64_t hash, int64_t n_ranks,
                    struct live_front *front);

#endif
