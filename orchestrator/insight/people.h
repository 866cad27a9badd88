/* people.h - the processes of a step: one has a rank in several communicators.
 *
 * A process is (host, pid). Where two ranks of one communicator bear the same
 * (containers that each count their processes from 1 under one host name, or
 * records without hosts), processes cannot be told and `known` is false.
 */
#ifndef JP_INSIGHT_PEOPLE_H
#define JP_INSIGHT_PEOPLE_H

#include <stdbool.h>
#include <stddef.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/collect/nodes.h"

struct jp_process {
    const char *host; /* borrowed from the result */
    int64_t pid;
    int64_t
        world_rank;  /* of the program: by the nodes' records of its tasks, else
                        in a communicator of all processes; -1: unknown */
    size_t host_at;  /* number of the host */
    size_t first, n; /* of its ranks in by_process */
};

struct jp_people {
    bool known;
    struct jp_process *processes;
    size_t n_processes, n_hosts;
    size_t *by_process; /* indices of the result's ranks */
    size_t *of_rank;    /* process of each of the result's ranks */
    size_t *comm_start; /* first rank of each communicator; n_comms + 1 */
};

/* nodes may be NULL. 0, or -1 without memory. Release with people_fini. */
int people_init(struct jp_people *people, const struct jp_result *result,
                const struct jp_nodes *nodes);
void people_fini(struct jp_people *people);

/* Index of a communicator's rank; SIZE_MAX: it has no record. */
size_t people_find(const struct jp_people *people,
                   const struct jp_result *result, size_t comm, uint32_t rank);

#endif
