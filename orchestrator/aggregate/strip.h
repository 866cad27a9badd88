/* strip.h - what one process did over the whole run, in bins of time.
 *
 * A timeline (timeline.h) has every operation, but ends where its memory ends.
 * A strip has all of the run in bounded memory: for each kind of operation
 * (communicator, function, class of size) how long the process was in it, bin
 * by bin. The width of a bin is a power of two of microseconds, and its edges
 * are multiples of that; bins become twice as wide when the run outgrows them.
 * So strips of pieces of a file, and of files, add up exactly.
 *
 * An operation is counted from its end backwards for its execution time, which
 * is when the GPU was in it; from start to end where that is not known. Times
 * are microseconds of the process' own clock.
 */
#ifndef JP_AGGREGATE_STRIP_H
#define JP_AGGREGATE_STRIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/record.h"

enum {
    STRIP_MIN_BINS = 128, /* where a run has a great many processes */
    STRIP_MAX_BINS = 4096,
    STRIP_KEYS = 48,      /* kinds of a process; the rest is only counted */
    STRIP_KNOWN = 64,     /* series that are found without their texts */
    STRIP_MAX_SHIFT = 40, /* width of a bin: 2^40 us are 12 days */
};

/* By what bounds an operation: latency, something between, bandwidth. */
enum strip_size { STRIP_SMALL, STRIP_MEDIUM, STRIP_LARGE, STRIP_N_SIZES };
#define STRIP_MEDIUM_BYTES (UINT64_C(64) << 10) /* the least of them */
#define STRIP_LARGE_BYTES (UINT64_C(4) << 20)

enum strip_size strip_size_of(uint64_t bytes);

struct strip_key {
    char id[RECORD_MAX_ID + 1];
    char func[RECORD_MAX_FUNC + 1];
    enum strip_size size;
    bool p2p;
    uint32_t *us; /* by bin; stays at UINT32_MAX */
};

struct strip {
    unsigned room;  /* bins at most */
    unsigned shift; /* a bin is 1 << shift us wide */
    unsigned n;     /* bins in use; 0: nothing yet */
    uint64_t first; /* number of the first: its time >> shift */
    struct strip_key *keys;
    unsigned n_keys;
    uint64_t left; /* operations of kinds beyond STRIP_KEYS */
    struct strip_known {
        uint64_t series;            /* of record; 0: none */
        uint8_t key[STRIP_N_SIZES]; /* 0: not met, else + 1 */
    } known[STRIP_KNOWN];
};

/* How many bins a process has whose timeline may have so many operations: few
 * processes are drawn finely, and all strips of a run have a bound together. */
uint64_t strip_bins(uint64_t timeline_events);

/* Heap; bins: STRIP_MIN_BINS to STRIP_MAX_BINS, brought into these bounds. NULL
 * without memory. Destroy takes NULL. */
struct strip *strip_create(uint64_t bins);
void strip_destroy(struct strip *strip);

/* Adds a record that tells start and end. 0, or -1 without memory. */
int strip_add(struct strip *strip, const struct record *record);

/* Adds another one's. 0, or -1 without memory: a part of it is in. */
int strip_join(struct strip *into, const struct strip *from);

/* For who reads one from a file: room for n bins from `first` on, all zero;
 * before any key. False: out of bounds. */
bool strip_begin(struct strip *strip, unsigned shift, uint64_t first,
                 unsigned n);
/* A further key, whose bins are zero. NULL: too many, or no memory. */
struct strip_key *strip_new_key(struct strip *strip, const char *id,
                                const char *func, enum strip_size size,
                                bool p2p);

#endif
