/* busy.h - when a process had at least one operation in flight.
 *
 * The union of the intervals that one file tells, as sums in up to BUSY_SLOTS
 * equal slots whose width is a power of two of microseconds and whose edges are
 * multiples of it: sums of different files fold into each other exactly.
 *
 * An interval is from the start to the end that a record tells, which is when
 * the host saw them; but no shorter than the execution time, which the GPU
 * measured: a host that looks late may see both at once.
 *
 * Intervals come roughly in order. The last BUSY_KEPT (of which those that
 * touch are one) are kept, earlier ones go into the slots; an interval that
 * comes so late that it reaches back into these is cut there and counted
 * (`clipped`). Of a piece of a split file the first BUSY_HEAD are kept, too, so
 * that the end of the piece before can be joined to them.
 */
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
    uint64_t us[BUSY_SLOTS];
};

/* Of one file, or of a piece of it. */
struct busy {
    char host[RECORD_MAX_HOST + 1];
    int64_t pid;
    bool mixed;              /* its records are of several processes */
    uint64_t timed;          /* records with start and end */
    uint64_t clipped;        /* intervals that came too late */
    uint64_t from_us, to_us; /* first start, last end */
    struct busy_slots slots;
    /* while it is read */
    struct busy_spans last, head;
    uint64_t low_us, high_us; /* what the slots hold lies between */
    bool piece;
};

/* Heap. NULL without memory. Destroy takes NULL. */
struct busy *busy_create(bool piece);
void busy_destroy(struct busy *busy);

/* Adds a record that tells start and end. 0, or -1 without memory. */
int busy_add(struct busy *busy, const struct record *record);

/* Joins the next piece of the file, which is then good for busy_destroy only.
 * 0, or -1 without memory. */
int busy_join(struct busy *into, struct busy *next);

/* After the last record: all goes into the slots. */
void busy_end(struct busy *busy);

/* Do numbers from a file make sense? */
bool busy_slots_good(const struct busy_slots *slots);

#endif
