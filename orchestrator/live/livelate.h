/* livelate.h - which rank makes the others wait while the step runs, by the
 * nodes' snapshots.
 *
 * The idea is that of the report (orchestrator/insight/late.h): between two
 * barriers all ranks of a communicator spend the same time, in communication or
 * on their own. Who communicates less than the others has spent more on its
 * own, and that is what the others wait for. Snapshots tell for what share of
 * the last half minute each process was in operations; neither clocks nor the
 * order of operations are needed. A process' excess is what it is below the
 * median of the others of a communicator, all its communicators counting by the
 * time that is spent in them. The node mate of a late rank waits for it in one
 * communicator and comes late to another, so that it is as busy as all others;
 * ranks of a late node are below their likes on other nodes.
 *
 *     struct livelate late = {0};
 *     ... livelate_add(&late, &snap) for each node ...
 *     livelate_finish(&late);
 *     ... late.processes[], the worst first ...
 *     livelate_fini(&late);
 */
#ifndef JP_LIVE_LIVELATE_H
#define JP_LIVE_LIVELATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/live/livesnap.h"

enum livelate_limit {
    LIVELATE_SHARE, /* share of its time; a rank with less is not named */
    LIVELATE_PART,  /* share of what the others spend in communication */
    /* multiple of the others' median distance from their median */
    LIVELATE_SPREAD,
    LIVELATE_FEW, /* LIVELATE_SHARE with less than four ranks */
    /* share of its communication: communicators with less are ignored */
    LIVELATE_WEIGHT,
    LIVELATE_N_LIMITS
};

struct livelate_row {
    const char *name;
    double value;
    const char *reason;
};
extern const struct livelate_row livelate_rows[LIVELATE_N_LIMITS];

/* A communicator of which it is a member. */
struct livelate_member {
    uint64_t hash;
    char name[LIVE_COMM_NAME_LEN];
    int64_t n_ranks, rank;
    uint32_t process;
    double share; /* share of its time, in this communicator */
};

struct livelate_process {
    char node[LIVE_NODE_LEN];
    int64_t pid, task;
    /* share of its time spent in operations; above 1 if they overlap */
    double share;
    bool known;  /* its time is known, and an operation ended recently */
    bool judged; /* the figures below are valid */
    /* share of its time that others wait for it; below 0: it waits */
    double excess;
    bool late;
    /* the communicator that shows most of it */
    uint64_t hash;
    char name[LIVE_COMM_NAME_LEN];
    int64_t rank, n_ranks;
    double weight, needed, most; /* sums for livelate_finish */
};

/* The owner sets it to zeros. */
struct livelate {
    struct livelate_process *processes;
    size_t n, room;
    struct livelate_member *members;
    size_t n_members, members_room;
    uint32_t n_late;
};

/* Returns 0, or -1 when out of memory. */
int livelate_add(struct livelate *late, const struct live_snap *snap);
/* Judges the ranks; the latest comes first. */
int livelate_finish(struct livelate *late);
void livelate_fini(struct livelate *late);

#endif
