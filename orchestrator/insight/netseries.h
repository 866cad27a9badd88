/* netseries.h - the network's own time, communicator by communicator, over the
 * run.
 *
 * In a barrier-like operation the last rank does not wait, so the shortest
 * time is the network's. A series is one communicator, function and size in
 * order of sequence numbers, without its first twentieth and without the warm-
 * up (jp_warmup). Whether the network changed during the run is asked of all
 * series of a communicator together (nettrend.h).
 */
#ifndef JP_INSIGHT_NETSERIES_H
#define JP_INSIGHT_NETSERIES_H

#include <stdbool.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/insight/netcells.h"
#include "orchestrator/insight/nettrend.h"

struct jp_netseries {
    size_t comm;
    const char *coll; /* borrowed from the result */
    uint64_t bytes;
    size_t ops;
    enum nettrend_course course;
    bool passed;                /* NET_STEP: it also went back, at to_us */
    double before_us, after_us; /* medians; for a line, its ends */
    double from_us, to_us;      /* the slower part, since 1970; NAN: unknown */
    double excess_us;           /* the additional time of all ranks */
    double change_error;        /* of log(after / before); NAN: unknown */
    double median_us;
    /* Of nettrend.h; NAN and 0: operations are too short to judge. */
    double noise;
    unsigned blocks;
    /* Warm-up: the number of operations, the sum of their mean times over
     * ranks, when the last was written (NAN: unknown). usual_us: the usual mean
     * time. */
    size_t warm_ops;
    double warm_us, warm_until_us, usual_us;
    double gbs_us; /* median_us times its bus bandwidth; NAN: unknown */
    double net_us; /* the network's own time of all operations and ranks */
};

struct jp_netserieses {
    struct jp_netseries *at;
    size_t n;
    double time_us;   /* of all complete operations, all ranks */
    double net_us;    /* the same of the network's own time */
    uint64_t *fewest; /* by communicator: complete operations of its important
                         function that has the fewest */
};

/* Makes every series with enough complete operations, and the cells of all
 * operations after the warm-up. gpu: the model, "" if unknown. 0, or -1: no
 * memory. Free list with netseries_fini; free cells with netcells_fini, also
 * after -1. */
int netseries_read(const struct jp_result *result, const char *gpu,
                   struct jp_netcells *cells, struct jp_netserieses *list);
void netseries_fini(struct jp_netserieses *list);

/* First operations that take far longer than later ones.
 *
 * During the first operations of a communicator NCCL connects, registers
 * buffers and tunes, and the program compiles. The warm-up of a kind
 * (communicator, function, size) is at its start and has a fifth of its
 * operations at most. Its last operation and half of all of them take
 * warmup_times_min times the median of the operations after that fifth. Times
 * are means over ranks, because a rank that is not ready makes the others
 * wait. The job has a warm-up if kinds with half of its time have one.
 */
struct jp_warmup {
    size_t kinds,
        of_kinds;    /* kinds with a warm-up; kinds that were looked at */
    uint64_t ops;    /* operations of the warm-up; 0: none, and all below is 0,
                        or NAN */
    double times;    /* mean time / usual time */
    double until_us; /* end of the last one, since 1970; NAN: unknown */
    double took_us;  /* additional time in all, per rank */
};

/* Returns the number of warm-up operations among n times. scratch: room for n.
 * *usual_us: the median after the first fifth. */
size_t warmup_length(const double *us, size_t n, double *scratch,
                     double *usual_us);

/* Combines the kinds' warm-ups. */
void warmup_sum(const struct jp_netserieses *kinds, struct jp_warmup *warmup);

/* Writes one sentence about the warm-up. begin_us: start of the first record,
 * 0: unknown. looked: false if too much data is missing. */
#define JP_WARMUP_TEXT 400
void warmup_text(const struct jp_warmup *warmup, bool looked, uint64_t begin_us,
                 char text[JP_WARMUP_TEXT]);

#endif
