/* livemetrics.h - a node's metrics while a step runs, as a file for
 * node_exporter's textfile collector (orchestrator/metrics/metricsfile.h).
 *
 * Written at most each place->metrics->period_ms: what the node's snapshot has,
 * bandwidths by size (livecells.h), and on the node that joins all snapshots
 * the verdict and who makes the others wait.
 */
#ifndef JP_LIVE_LIVEMETRICS_H
#define JP_LIVE_LIVEMETRICS_H

#include "orchestrator/live/livejoin.h"
#include "orchestrator/live/livenode.h"
#include "plugins/module.h"

struct livemetrics;

/* Borrows place. Returns NULL if the site wants no metrics, or when out of
 * memory. */
struct livemetrics *livemetrics_create(const struct module_place *place);
void livemetrics_destroy(struct livemetrics *metrics); /* accepts NULL */

struct livemetrics_look {
    const struct module_time *now;
    struct livenode *node;
    const struct livejoin *join; /* NULL: another node joins the snapshots */
    struct live_snap *snap;      /* the call fills it in */
};

/* Writes where it is due. A node without a recording has no file. -1: the file
 * cannot be written; it is tried again when the next one is due. */
int livemetrics_look(struct livemetrics *metrics,
                     const struct livemetrics_look *look, struct jp_error *err);

/* Removes the file. */
void livemetrics_end(struct livemetrics *metrics);

#endif
