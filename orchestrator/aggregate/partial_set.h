/* partial_set.h - which nodes' logs a partial may stand for. */
#ifndef JP_AGGREGATE_PARTIAL_SET_H
#define JP_AGGREGATE_PARTIAL_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/aggregate/joinrun.h"
#include "orchestrator/ingest/logwalk.h"
#include "orchestrator/ingest/hangs.h"

/* A node that has a partial and logs. Threads share the array, not a node. */
struct partial_node {
    char *path;      /* of the partial */
    char *name;      /* of the node */
    size_t first, n; /* its logs in the walk */
    size_t skip;     /* length of "<raw>/<node>/" */
    uint64_t bytes;  /* of these logs */
    bool good;       /* its files are as they were */
    bool used;       /* merged */
    char why[200];   /* why it is not good, or "" */
};

struct partial_set {
    struct partial_node *nodes;
    size_t n;
};

/* Adds to the walk the logs that folder/<node>/partial.jpp were made from,
 * where none of that node's is left below raw. 0, or -1 without memory. */
int partial_set_recall(struct jp_logwalk *walk, const char *raw,
                       const char *folder);

/* Looks into folder/<node>/partial.jpp for the folders <node> in raw, whose
 * logs the walk holds. 0, or -1 without memory. */
int partial_set_init(struct partial_set *set, const struct jp_logwalk *walk,
                     const char *raw, const char *folder);
void partial_set_fini(struct partial_set *set);

/* Merges a node's partial into join and fills its elements of files, whose
 * timelines have at most so many operations. Else
 * JOIN_LEFT_OUT: nothing has changed, node->why says why; read its logs.
 * JOIN_OK with join->conflict: the caller joins again, without partials. */
enum join_status partial_set_read(struct partial_node *node,
                                  const struct jp_logwalk *walk,
                                  struct join *join, uint64_t events,
                                  struct source_facts *files);

/* Adds what the recordings of a node that was merged tell of hangs. 0; 1: it
 * cannot be read any more, nothing was added; -1: no memory. */
int partial_set_hangs(const struct partial_node *node,
                      const struct jp_logwalk *walk, struct hangs_sum *sum);

#endif
