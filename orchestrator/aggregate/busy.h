/* busy.h - when a process had at least one operation in flight.
 *
 * The union of the intervals in one file, as sums in up to BUSY_SLOTS equal
 * slots. Their width is a power of two of microseconds, and their edges are
 * multiples of it, so sums of different files fold into each other exactly.
 *
 * An interval goes from a record's start to its end, which is when the host saw
 * them. It is no shorter than the execution time, which the GPU measured,
 * because a host that looks late may see both at once.
 *
 * Intervals come roughly in order. The last BUSY_KEPT are kept (those that
 * touch are one); earlier ones go into the slots. An interval that comes so
 * late that it reaches back into these is cut there and counted (`clipped`). Of
 * a piece of a split file the first BUSY_HEAD are also kept, so that the end of
 * the piece before can be joined to them. */
#ifndef JP_AGGREGATE_BUSY_H
#define JP_AGGREGATE_BUSY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/record.h"

enum { BUSY_SLOTS = 256, BUSY_KEPT = 16384, BUSY_HEAD = 2048 };

struct busy_span {
    uint64_t from, to; /* us since 1970 */
};

struct busy_spans {
    struct busy_span *at;
    size_t n, room;
};

struct busy_slots {
    unsigned shift; /* width is 1 << shift us */
    uint64_t first; /* number of the first slot: its time >> shift */
    unsigned n;     /* 0: nothing yet */
    uint64_t *us;   /* room of BUSY_SLOTS; in a partial, to which nothing is
                       added, of n. Owned by struct busy */
};

/* The busy time of one file, or of a piece of it. */
struct busy {
    char host[RECORD_MAX_HOST + 1];
    int64_t pid;
    uint64_t instance;       /* as in struct record */
    bool mixed;              /* its records are of several processes */
    uint64_t timed;          /* records with start and end */
    uint64_t clipped;        /* intervals that came too late */
    uint64_t from_us, to_us; /* first start, last end */
    struct busy_slots slots;
    /* only while the file is read */
    struct busy_spans last, head;
    uint64_t low_us, high_us; /* what the slots hold lies between */
    bool piece;
};

/* On the heap. NULL: no memory. Destroy takes NULL. */
struct busy *busy_create(bool piece);
void busy_destroy(struct busy *busy);

/* Adds a record that has start and end. 0, or -1: no memory. */
int busy_add(struct busy *busy, const struct record *record);

/* Joins the next piece of the file. Only busy_destroy may follow for it. 0, or
 * -1: no memory. */
int busy_join(struct busy *into, struct busy *next);

/* Call it after the last record: moves all intervals into the slots. */
void busy_end(struct busy *busy);

/* Whether slots that come from a file are possible. */
bool busy_slots_good(const struct busy_slots *slots);

#endif
