/* liveusual.h - how long a process' operations usually take, learnt from what
 * is in flight: that of a second and more. Shorter ones are only counted, so
 * that no ended operation need be read.
 */
#ifndef JP_LIVE_LIVEUSUAL_H
#define JP_LIVE_LIVEUSUAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/ingest/hangs.h"
#include "orchestrator/ingest/stuck.h"
#include "plugins/nccl_recorder/recfile.h"

/* Operations of a process that have been in flight for long at one time, and
 * (communicator, function) of which lengths are known. */
enum { LIVEUSUAL_LONGS_MAX = 64, LIVEUSUAL_SERIES_MAX = 256 };

struct liveusual_series {
    uint32_t comm;
    enum jpr_op_kind kind;
    char func[RECORD_MAX_FUNC + 1];
    struct stuck_usual lengths;
};

/* In flight for long at the last look. */
struct liveusual_long {
    uint32_t comm;
    enum jpr_op_kind kind;
    char func[RECORD_MAX_FUNC + 1];
    uint64_t seq, start_ns, age_ns;
    bool seen; /* at this look */
};

/* Of a process; zero-initialised by its owner. */
struct liveusual {
    struct liveusual_series *series;
    size_t n;
    struct liveusual_long longs[LIVEUSUAL_LONGS_MAX];
    size_t n_longs;
};

void liveusual_fini(struct liveusual *usual);

/* What is in flight for a second and more, and what of that has ended since the
 * last look. Ends are seen late by a look at most. */
void liveusual_look(struct liveusual *usual, const struct stuck_times *times,
                    const struct jp_recfile *file,
                    const struct jp_pending *pending, uint64_t mono_ns);

/* Of such operations; NULL: none has ended. */
const struct stuck_usual *liveusual_find(const struct liveusual *usual,
                                         const struct jp_recfile *file,
                                         const struct hangs_op *op);

#endif
