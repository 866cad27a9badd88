/* netseries.h - the network's own time, communicator by communicator, over the
 * run.
 *
 * In a barrier-like operation the last arriver waits for nobody: the shortest
 * time is the network's. A series is one communicator, function and size in
 * order of sequence numbers; its first twentieth, and what warmup.h recognises
 * as warm-up, is left out. The rest is cut into NETSERIES_BLOCKS blocks, of
 * which the medians are looked at: jitter of single operations does not move
 * them. A constant, a step, a line and a hump (a step up, and one back) are
 * fitted to their logarithms; one is believed where it explains `net_fit` times
 * what it leaves and amounts to `net_change`: that of step and line which
 * leaves less, or the hump where it leaves less than half of that.
 */
#ifndef JP_INSIGHT_NETSERIES_H
#define JP_INSIGHT_NETSERIES_H

#include <stdbool.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/insight/netcells.h"

#define NETSERIES_BLOCKS 20

enum netseries_course { NET_STEADY, NET_STEP, NET_LINE };

struct jp_netseries {
    size_t comm;
    const char *coll; /* borrowed from the result */
    uint64_t bytes;
    size_t ops;
    enum netseries_course course;
    bool passed;                /* NET_STEP: and it went back at to_us */
    double before_us, after_us; /* medians; of a line its ends */
    double from_us, to_us; /* since 1970, of what is slower; NAN: unknown */
    double excess_us;      /* what that took more than before, all ranks */
    double change_error;   /* of log(after / before); NAN: not known */
    double median_us;
    double noise; /* what the blocks' logarithms scatter by, standard deviation;
                     NAN: not judged, as operations are too short */
    /* warm-up: how many operations, the sum of their ranks' mean times, when
     * the last was written (NAN: unknown); the usual one of such times */
    size_t warm_ops;
    double warm_us, warm_until_us, usual_us;
    double gbs_us; /* median_us times its bus bandwidth; NAN: not known */
};

struct jp_netserieses {
    struct jp_netseries *at;
    size_t n;
    double time_us;   /* of all complete operations of all series, all ranks */
    uint64_t *fewest; /* of each communicator: complete operations of the
                         function with fewest, among those of weight */
};

/* Every series with enough complete operations; cells (begun, may be NULL) get
 * those of all series but for the warm-up. 0, or -1 without memory. Release
 * with netseries_fini. */
int netseries_read(const struct jp_result *result, struct jp_netcells *cells,
                   struct jp_netserieses *list);
void netseries_fini(struct jp_netserieses *list);

#endif
