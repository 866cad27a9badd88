/* netseries.h - the network's own time, communicator by communicator, over the
 * run.
 *
 * In a barrier-like operation the last arriver waits for nobody: the shortest
 * time is the network's. A series is one communicator, function and size in
 * order of sequence numbers; its first twentieth, and what is recognised as
 * warm-up (jp_warmup), is left out. The rest is cut into NETSERIES_BLOCKS
 * blocks, of which the medians are looked at: jitter of single operations does
 * not move them. A constant, a step, a line and a hump (a step up, and one
 * back) are fitted to their logarithms; one is believed where it explains
 * `net_fit` times what it leaves and amounts to `net_change`: that of step and
 * line which leaves less, or the hump where it leaves less than half of that.
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

/* First operations that take far longer than later ones.
 *
 * With the first operations of a communicator NCCL connects, registers buffers
 * and tunes, and the program compiles. Recognised is, of each kind
 * (communicator, function, size), the first stretch of at most a fifth of its
 * operations of which half and the last take warmup_times_min times the median
 * of those behind that fifth, as the mean over ranks: who is not ready lets the
 * others wait. Of the job, where it is so in half of its kinds by time.
 */
struct jp_warmup {
    size_t kinds, of_kinds; /* that have one; that were looked at */
    uint64_t ops;           /* recognised; 0: none, and the rest below is 0 */
    double times;           /* as long as usual, on average */
    double until_us;        /* of the last one, since 1970; NAN: not known */
    double took_us;         /* longer than usual, in all, per rank */
};

/* How many of n times are warm-up. scratch: room for n. *usual_us is the median
 * behind the first fifth. */
size_t warmup_length(const double *us, size_t n, double *scratch,
                     double *usual_us);

/* What the kinds say together. */
void warmup_sum(const struct jp_netserieses *kinds, struct jp_warmup *warmup);

/* One sentence. begin_us: of the first record, 0: not known. looked: false
 * where missing data forbids to look. */
#define JP_WARMUP_TEXT 400
void warmup_text(const struct jp_warmup *warmup, bool looked, uint64_t begin_us,
                 char text[JP_WARMUP_TEXT]);

#endif
