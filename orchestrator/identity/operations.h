/* operations.h - timelines of a result as the operations of its processes.
 *
 * A timeline names communicators and functions by text, and ranks by their
 * number in a communicator. Here they become numbers of the result, and each
 * timeline gets its process. Both who judges own times (orchestrator/judge) and
 * who replays a run (orchestrator/replay/replay.h) read timelines by this.
 */
#ifndef JP_IDENTITY_OPERATIONS_H
#define JP_IDENTITY_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/timeline.h"
#include "orchestrator/identity/processes.h"

/* Most different names of functions; series of further ones are not good. */
enum { OPERATIONS_FUNCS = 64 };

/* Starts of one launch differ by up to this. */
#define OPERATIONS_LAUNCH_US 20

/* An operation as recorded in a timeline. */
struct operation {
    uint64_t start_us, time_us, sn, bytes;
    uint32_t comm; /* of the result */
    uint32_t func; /* index into funcs */
    uint32_t rank, peer;
    bool p2p, sends;
};

/* What the operations of a timeline's series have in common. */
struct operations_series {
    uint32_t comm, func;
    uint32_t key; /* for the caller */
    bool good;    /* comm and func are known, and there are several ranks */
};

struct operations_source {
    const struct timeline *timeline;
    struct operations_series *series; /* owned */
    size_t process;                   /* SIZE_MAX: unknown, or several */
    size_t order;                     /* number in the result */
};

struct operations {
    const struct jp_processes *processes;
    const struct jp_result *result;
    const char *funcs[OPERATIONS_FUNCS]; /* borrowed from the timelines */
    uint32_t n_funcs;
    struct operations_source *sources; /* in the order of the result */
    size_t n_sources;
    uint32_t *comms; /* of the result, by id. For operations.c only */
};

/* Makes the sources of all timelines; or, where sequences are wanted, of these
 * and of the timelines of files that have none. Borrows the result and the
 * processes until fini. Returns 0, or -1 without memory; o is all zeros
 * then. */
int operations_init(struct operations *o, const struct jp_result *result,
                    const struct jp_processes *processes, bool sequences);
void operations_fini(struct operations *o);

/* Sorts the sources by process; those of a process stay in their order. */
void operations_sort(struct operations *o);

/* Returns the result's communicator of a series; UINT32_MAX: unknown. */
uint32_t operations_comm(const struct operations *o,
                         const struct timeline_series *series);

struct operations_reader {
    const struct operations_source *source;
    struct timeline_reader timeline;
};

/* Reads the operations of one source. 0, or -1 without memory;
 * operations_close frees what open allocated. */
int operations_open(struct operations_reader *reader,
                    const struct operations_source *source);
void operations_close(struct operations_reader *reader);
/* Reads the next one. Leaves out operations of series that are not good, and
 * impossible times. False: there is none. */
bool operations_next(struct operations_reader *reader, struct operation *to);

/* For qsort of struct operation: by start, then by communicator, so that the
 * messages of a launch are neighbours. */
int operations_by_start(const void *a, const void *b);

#endif
