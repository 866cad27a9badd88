/* liveusual.h - how long a process's operations usually take, learnt from
 * operations in flight for a second or more. Shorter ones are only counted, so
 * ended operations need not be read. */
#ifndef JP_LIVE_LIVEUSUAL_H
#define JP_LIVE_LIVEUSUAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/ingest/hangs.h"
#include "orchestrator/ingest/stuck.h"
#include "plugins/nccl_recorder/recfile.h"

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
