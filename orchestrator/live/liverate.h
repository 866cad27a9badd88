/* liverate.h - how fast a process communicates: operations, their time and
 * size over the last LIVE_RECENT_MS; and how long its operations usually take.
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

#include "orchestrator/ingest/hangs.h"
#include "orchestrator/ingest/stuck.h"
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

/* What the file that operations are read of tells besides: how many of a series
 * have ended so far, and which communicator the series' number is of. */
struct liverate_source {
    const void *of;
    bool (*ended)(const void *of, const struct liverate_series *series,
                  uint64_t *out);
    bool (*is_comm)(const void *of, uint32_t comm, uint64_t hash,
                    int64_t n_ranks, int64_t rank);
};

/* A recording, borrowed. */
struct liverate_source liverate_recording(const struct jp_recfile *file);

/* The turn's number at that time of day; a new one is due where it differs. */
uint64_t liverate_turn(uint64_t real_ns);

/* An operation that was read. us 0: its time is not known. */
void liverate_add(struct liverate *rate, const struct liverate_series *key,
                  uint64_t bytes, uint64_t us);
void liverate_op(struct liverate *rate, const struct jpr_op *op);

/* A turn is over: takes how many have ended by now. */
void liverate_pass(struct liverate *rate, const struct liverate_source *source,
                   uint64_t mono_ns);

/* Fill in the figures of the rank, and of a front, which is named already and
 * of one of comms. */
void liverate_rank(const struct liverate *rate, uint64_t mono_ns,
                   struct live_rank *rank);
void liverate_front(const struct liverate *rate,
                    const struct liverate_source *source, uint64_t mono_ns,
                    const struct live_comm *comms, struct live_front *front);

/* --- how long operations usually take ------------------------------------ */

/* Learnt from operations in flight for a second or more. Shorter ones are only
 * counted, so ended operations need not be read. */

/* Most operations of a process that are in flight for long at one time, and
 * most pairs (communicator, function) with known lengths. */
enum { LIVEUSUAL_LONGS_MAX = 64, LIVEUSUAL_SERIES_MAX = 256 };

struct liveusual_series {
    uint32_t comm;
    enum jpr_op_kind kind;
    char func[RECORD_MAX_FUNC + 1];
    struct stuck_usual lengths;
};

/* An operation that was in flight for long at the last look. */
struct liveusual_long {
    uint32_t comm;
    enum jpr_op_kind kind;
    char func[RECORD_MAX_FUNC + 1];
    uint64_t seq, start_ns, age_ns;
    bool seen; /* also in flight at this look */
};

/* The lengths of a process's operations; the owner sets it to zeros. */
struct liveusual {
    struct liveusual_series *series;
    size_t n;
    struct liveusual_long longs[LIVEUSUAL_LONGS_MAX];
    size_t n_longs;
};

void liveusual_fini(struct liveusual *usual);

/* Takes what is in flight for a second or more, and learns from those that
 * ended since the last look. An end is seen at most one look late. */
void liveusual_look(struct liveusual *usual, const struct stuck_times *times,
                    const struct jp_recfile *file,
                    const struct jp_pending *pending, uint64_t mono_ns);

/* The usual length of such operations; NULL: none has ended. */
const struct stuck_usual *liveusual_find(const struct liveusual *usual,
                                         const struct jp_recfile *file,
                                         const struct hangs_op *op);

#endif
