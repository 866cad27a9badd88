/* timeline.h - what one process did, in its order: the arrivals and times of
 * its operations, packed in some 8 bytes each.
 *
 * Made while a file is read, of records with start and end, and read from its
 * begin when the run is replayed (orchestrator/replay/replay.h). Times are
 * microseconds of the process' own clock.
 *
 * A timeline holds no more operations than its limit. Later ones are left out,
 * so a timeline is the begin of its file without a gap; intervals.h has what of
 * the rest single stalls need. All timelines of a run share TIMELINE_EVENTS in
 * equal parts. A series is what its operations have in
 * common; a timeline has at most TIMELINE_SERIES. */
#ifndef JP_AGGREGATE_TIMELINE_H
#define JP_AGGREGATE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash.h"
#include "common/record.h"
#include "orchestrator/aggregate/strip.h"

enum {
    TIMELINE_SERIES = 1024,
    TIMELINE_EVENTS = 1 << 22, /* the most in a run; mostly 32 MiB */
    TIMELINE_EVENT_BYTES = 64, /* the most that one takes */
    TIMELINE_KNOWN = 64,       /* series found by number, not by text */
};

struct timeline_series {
    char id[RECORD_MAX_ID + 1];
    char func[RECORD_MAX_FUNC + 1];
    uint32_t n_ranks, nnodes; /* 0: not recorded */
    uint32_t rank;
    bool p2p;
    uint64_t low, high; /* the smallest and the largest sequence number */
};

/* Of the last operation of a series: the next one is packed as differences to
 * it. */
struct timeline_state {
    uint64_t sn, bytes;
    uint32_t peer;
};

/* In the strip of an order: what ended in a bin. Equal texts, other sizes. */
enum timeline_order_key {
    TIMELINE_ORDER_US,  /* how long it took, in sum: STRIP_SMALL */
    TIMELINE_ORDER_OPS, /* the number of operations: STRIP_MEDIUM */
    TIMELINE_ORDER_KEYS
};

struct intervals;

struct timeline {
    char *host; /* "": unknown. Owned */
    int64_t pid;
    uint64_t instance; /* as in struct record */
    uint64_t n;        /* operations in it */
    uint64_t left;     /* operations beyond the limit, which are left out */
    bool mixed;        /* holds several processes, so it is not used */
    bool ordered;      /* of a result: its file has a sequence as well, with
                          these operations, too */
    struct timeline_series *series;
    uint32_t n_series;
    size_t room_series;
    struct hash_table table;       /* of the series */
    struct timeline_state *states; /* by series, owned; NULL: nothing will be
                                      added */
    size_t room_states;
    uint8_t *bytes;
    size_t used, room;
    uint64_t limit;             /* the most that n may be */
    uint64_t first_us, last_us; /* start of the first and the last operation */
    struct strip *strip; /* of all operations, including those left out. Owned.
                            NULL: not wanted. Of an order it has the keys of
                            enum timeline_order_key, and is NULL if they are not
                            known */
    struct intervals *intervals; /* of all operations, too. Owned. NULL: not
                                    wanted, or not known; of an order always */
    /* Records with this record.series are of this process and of series[at].
     * The numbers hold while one reader reads the file. [TIMELINE_KNOWN],
     * owned; NULL: none yet, as in a timeline from a partial. */
    struct timeline_known {
        uint64_t series;
        uint32_t at;
    } * known;
};

/* A timeline of `limit` operations at most, on the heap, with intervals and a
 * strip of `bins` bins (0: without both). NULL: no memory. timeline_destroy
 * takes NULL. */
struct timeline *timeline_create(uint64_t limit, uint64_t bins);
void timeline_destroy(struct timeline *timeline);

/* The same for records without start and end, of which their order and how long
 * each took is known: it has no intervals, and its strip is filled by
 * timeline_add_time. */
struct timeline *timeline_create_order(uint64_t limit, uint64_t bins);

/* Adds to the strip of an order that an operation took so long, and about when
 * it ended; 0: it is not known, so there is no strip any more. */
void timeline_add_time(struct timeline *order, uint64_t time_us,
                       uint64_t end_us);

/* Adds a record that has start and end. 0, or -1: no memory. */
int timeline_add(struct timeline *timeline, const struct record *record);

/* Appends the next piece of the same file. 0, or -1: no memory. */
int timeline_join(struct timeline *into, const struct timeline *next);

/* Returns the same operations on the heap without their starts: their order and
 * how long each took. NULL: no memory. */
struct timeline *timeline_order(const struct timeline *timed);

/* Copies a timeline to which nothing will be added, without what adding needs
 * and without its intervals. NULL: no memory. */
struct timeline *timeline_copy(const struct timeline *timeline);

/* Drops the bins of strips that no row of the page can show: rows are those of
 * the first STRIP_ROWS processes in order of host. Sorts the list by host.
 * Returns how many at its begin have kept theirs. */
size_t timelines_drop_strips(struct timeline **list, size_t n);

/* One operation of a timeline. */
struct timeline_event {
    uint32_t series; /* index into timeline->series */
    uint32_t peer;   /* Send and Recv: the other rank */
    uint64_t sn, bytes;
    uint64_t start_us, time_us; /* start since 1970; end - start */
};

struct timeline_reader {
    const struct timeline *timeline;
    const uint8_t *at, *end;
    uint64_t last_us;
    struct timeline_state *states; /* by series */
};

/* 0, or -1: no memory. timeline_reader_fini frees what init allocated. */
int timeline_reader_init(struct timeline_reader *reader,
                         const struct timeline *timeline);
void timeline_reader_fini(struct timeline_reader *reader);
/* Reads the next operation. False: there is none. */
bool timeline_next(struct timeline_reader *reader,
                   struct timeline_event *event);

#endif
