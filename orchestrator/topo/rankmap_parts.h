/* rankmap_parts.h - what rankmap*.c share. */
#ifndef JP_TOPO_RANKMAP_PARTS_H
#define JP_TOPO_RANKMAP_PARTS_H

#include <stdbool.h>

#include "orchestrator/topo/rankmap.h"

/* All that is told of one (host, pid). */
struct rankmap_process {
    const char *host;
    int64_t pid;
    const struct jp_rankmap_fact **facts; /* of it, by (comm, rank) */
    size_t n_facts;
    int32_t node; /* -1: not known */
    int64_t procid, localid;
    uint64_t pid_ns;
    bool many; /* files of several nodes say this host and pid */
    bool
        shared; /* by several ranks of a communicator: no GPU is the process' */
    const struct jp_rankmap_task *task; /* NULL: not known */
};

/* Names of things, sorted, to find them by. */
struct rankmap_name {
    const char *name;
    uint32_t at;
};

struct rankmap {
    const struct jp_rankmap_input *in;
    struct jp_rankmap_fact *bare; /* of each rank: that its process exists */
    const struct jp_rankmap_fact **facts; /* by (host, pid, comm, rank) */
    struct rankmap_process *processes;    /* by (host, pid) */
    size_t n_processes;
    struct rankmap_name *names, *boots, *hosts; /* of nodes */
    size_t n_hosts;
    struct rankmap_name *tasks;      /* by their nodes' names */
    struct jp_rankmap_place *places; /* the answer */
    uint32_t *process_of;            /* of a rank */
    bool *settled; /* a rank's place is exact, or contradicted */
};

/* Makes and frees the indices of nodes and tasks. -1 without memory. */
int rankmap_index_make(struct rankmap *map);
void rankmap_index_free(struct rankmap *map);

/* The node of that Slurm name; the only one of that boot id or host name (node
 * names are host names too). -1: there is none. */
int32_t rankmap_node_by_name(const struct rankmap *map, const char *name);
int32_t rankmap_node_by_boot(const struct rankmap *map, const char *boot);
int32_t rankmap_node_by_host(const struct rankmap *map, const char *host);

/* Sets shared of all processes; after process_of. -1 without memory. */
int rankmap_mark_shared(struct rankmap *map);

/* The first of a node's tasks in map->tasks; *n how many follow. */
const struct rankmap_name *rankmap_tasks(const struct rankmap *map,
                                         const char *node, size_t *n);

/* Sets a place's GPU by its number in the node. */
void rankmap_place_gpu(const struct rankmap *map,
                       struct jp_rankmap_place *place, int32_t node,
                       int32_t gpu);

void rankmap_why(struct jp_rankmap_place *place, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Places the ranks that have a node but no GPU by their order on the node. -1
 * without memory. */
int rankmap_by_order(struct rankmap *map);

#endif
