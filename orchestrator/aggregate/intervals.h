/* intervals.h - the longest times of a process between its operations, over the
 * whole run in bounded memory.
 *
 * A timeline ends at its limit, and a process may stall later. An interval is a
 * time in which no operation of the process was in flight: own time, as in
 * orchestrator/judge/judge.h, of records with start and end. All of them are
 * added up, over the run and in bins of its time, and the longest ones are
 * kept, each with the operation that ended it. Whatever is longer than least_us
 * is kept, so who looks for longer ones sees all of them.
 *
 * Times are microseconds of the process' own clock. Records may come in the
 * order in which they ended: an operation that began during an interval
 * shortens it.
 */
#ifndef JP_AGGREGATE_INTERVALS_H
#define JP_AGGREGATE_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/aggregate/timeline.h"

enum {
    INTERVALS_LEAST = 32, /* where a run has a great many processes: 1 KiB */
    INTERVALS_MOST = 1024,
    INTERVALS_WAITS = 8,
    INTERVALS_BINS = 1024, /* at most */
};

struct interval {
    uint64_t from_us, to_us; /* without an operation; one began at to_us: */
    uint64_t sn;
    uint32_t nth;    /* operations that came before it; saturates */
    uint32_t series; /* index into intervals.series; UINT32_MAX: unknown */
};

/* A long operation. */
struct interval_wait {
    uint64_t us, end_us; /* us 0: none */
};

struct intervals {
    uint64_t ops;      /* with start and end */
    uint64_t first_us; /* the earliest start */
    uint64_t clock_us; /* the latest end */
    uint64_t own_us;   /* sum of all intervals, as far as they were not
                          shortened long after */
    struct strip *own; /* the same by time: one key. Owned */
    uint64_t least_us; /* all longer intervals are kept */
    uint64_t last_from_us, last_to_us; /* the last interval, kept or not */
    size_t most;                       /* of them are kept */
    struct interval *at;               /* in order of time */
    size_t n, room;
    struct timeline_series *series; /* of the kept ones; without low and high */
    uint32_t n_series;
    struct interval_wait waits[INTERVALS_WAITS]; /* the longest operations, in
                                                    no order */
    unsigned shortest;                           /* index of the shortest */
};

/* For a process whose strip has so many bins, as both have their share of one
 * limit. NULL: no memory. intervals_destroy takes NULL. */
struct intervals *intervals_create(uint64_t bins);
void intervals_destroy(struct intervals *intervals);

/* Adds a record that has start and end. 0, or -1: no memory. */
int intervals_add(struct intervals *intervals, const struct record *record);

/* Appends those of the next piece of the same file. 0, or -1: no memory; a part
 * may have been added. */
int intervals_join(struct intervals *into, const struct intervals *next);

/* Leaves no more than `most`, the longest, and frees what others took. Call it
 * when all are added. Returns 0, or -1 without memory. */
int intervals_cut(struct intervals *intervals);

/* Copies intervals to which nothing will be added. NULL: no memory. */
struct intervals *intervals_copy(const struct intervals *intervals);

/* Returns the longest operation that ended after that share (0 to 1) of the
 * time from the first start to the last end. 0: none is known. */
uint64_t intervals_longest_wait(const struct intervals *intervals,
                                double after);

#endif
