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
    /* Of the last operation: the next one is packed as differences to it. */
    uint64_t sn, bytes;
    uint32_t peer;
};

/* What one process did over the whole run, in bins of time.
 *
 * A timeline has every operation, but ends when its limit is reached. A strip
 * has all of the run in bounded memory: for each kind of operation
 * (communicator, function, class of size) how long the process was in it, bin
 * by bin. The width of a bin is a power of two of microseconds, and its edges
 * are multiples of that; bins become twice as wide when the run outgrows them.
 * So strips of pieces of a file, and of files, add up exactly.
 *
 * An operation is counted from its end backwards for its execution time, which
 * is when the GPU was in it; from start to end if that is unknown. Times are
 * microseconds of the process' own clock. */

enum {
    STRIP_MIN_BINS = 128, /* where a run has a great many processes */
    STRIP_MAX_BINS = 4096,
    STRIP_KEYS = 48,      /* kinds of a process; the rest is only counted */
    STRIP_KNOWN = 64,     /* series that are found without their texts */
    STRIP_MAX_SHIFT = 40, /* width of a bin: 2^40 us are 12 days */
};

/* Sizes by what limits an operation: latency, both, bandwidth. */
enum strip_size { STRIP_SMALL, STRIP_MEDIUM, STRIP_LARGE, STRIP_N_SIZES };

struct strip_key {
    char id[RECORD_MAX_ID + 1];
    char func[RECORD_MAX_FUNC + 1];
    enum strip_size size;
    bool p2p;
    uint32_t *us; /* time in each bin; saturates at UINT32_MAX */
};

struct strip {
    unsigned room;  /* bins at most */
    unsigned shift; /* a bin is 1 << shift us wide */
    unsigned n;     /* bins in use; 0: the strip is empty */
    uint64_t first; /* number of the first bin: its time >> shift */
    struct strip_key *keys;
    unsigned n_keys;
    uint64_t left; /* operations of kinds beyond STRIP_KEYS */
    struct strip_known {
        uint64_t series;            /* record.series; 0: unused */
        uint8_t key[STRIP_N_SIZES]; /* index into keys + 1; 0: unknown */
    } known[STRIP_KNOWN];
};

struct intervals;

struct timeline {
    char host[RECORD_MAX_HOST + 1];
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
    struct hash_table table; /* of the series */
    uint8_t *bytes;
    size_t used, room;
    uint64_t limit;             /* the most that n may be */
    uint64_t first_us, last_us; /* start of the first and the last operation */
    struct strip *strip; /* of all operations, including those left out. Owned.
                            NULL: not wanted */
    struct intervals *intervals; /* of all operations, too. Owned. NULL: not
                                    wanted, or not known */
    /* Records with this record.series are of this process and of series[at].
     * The numbers hold while one reader reads the file. */
    struct timeline_known {
        uint64_t series;
        uint32_t at;
    } known[TIMELINE_KNOWN];
};

/* A timeline of `limit` operations at most, on the heap, with intervals and a
 * strip of `bins` bins (0: without both). NULL: no memory. timeline_destroy
 * takes NULL. */
struct timeline *timeline_create(uint64_t limit, uint64_t bins);
void timeline_destroy(struct timeline *timeline);

/* Adds a record that has start and end. 0, or -1: no memory. */
int timeline_add(struct timeline *timeline, const struct record *record);

/* Appends the next piece of the same file. 0, or -1: no memory. */
int timeline_join(struct timeline *into, const struct timeline *next);

/* Returns the same operations on the heap without their starts: their order and
 * how long each took. NULL: no memory. */
struct timeline *timeline_order(const struct timeline *timed);

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
    struct timeline_state {
        uint64_t sn, bytes;
        uint32_t peer;
    } * states; /* by series */
};

/* 0, or -1: no memory. timeline_reader_fini frees what init allocated. */
int timeline_reader_init(struct timeline_reader *reader,
                         const struct timeline *timeline);
void timeline_reader_fini(struct timeline_reader *reader);
/* Reads the next operation. False: there is none. */
bool timeline_next(struct timeline_reader *reader,
                   struct timeline_event *event);

#define STRIP_MEDIUM_BYTES (UINT64_C(64) << 10) /* the smallest medium size */
#define STRIP_LARGE_BYTES (UINT64_C(4) << 20)

enum strip_size strip_size_of(uint64_t bytes);

/* How many bins a process gets if its timeline may have so many operations. Few
 * processes get many bins each, and all strips of a run share one limit. */
uint64_t strip_bins(uint64_t timeline_events);

/* A strip on the heap. bins is limited to STRIP_MIN_BINS to STRIP_MAX_BINS.
 * NULL: no memory. strip_destroy takes NULL. */
struct strip *strip_create(uint64_t bins);
void strip_destroy(struct strip *strip);

/* Adds a record that has start and end. 0, or -1: no memory. */
int strip_add(struct strip *strip, const struct record *record);

/* Adds another strip. -1: no memory; a part of it may have been added. */
int strip_join(struct strip *into, const struct strip *from);

/* For reading a strip from a file: makes room for n bins from number `first`
 * on, all zero. Call it before strip_new_key. False: out of bounds. */
bool strip_begin(struct strip *strip, unsigned shift, uint64_t first,
                 unsigned n);
/* Adds a key with zero bins. NULL: too many keys, or no memory. */
struct strip_key *strip_new_key(struct strip *strip, const char *id,
                                const char *func, enum strip_size size,
                                bool p2p);

#endif
