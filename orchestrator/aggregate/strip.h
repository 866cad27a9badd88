/* strip.h - what one process did over the whole run, in bins of time.
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
    STRIP_ROWS = 4096,    /* processes of a result whose strips have bins: the
                             page draws so many */
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
    } * known; /* [STRIP_KNOWN] owned; NULL: no record was added */
};

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

/* Adds a time, which is not empty, to a key of a strip of other things than
 * records; or takes it away, as far as it is there. */
void strip_add_time(struct strip *strip, unsigned key, uint64_t from_us,
                    uint64_t to_us);
void strip_take_time(struct strip *strip, unsigned key, uint64_t from_us,
                     uint64_t to_us);
/* Adds an amount to the bin of a moment, which is INT64_MAX at most, in each of
 * the first n keys. */
void strip_add_at(struct strip *strip, uint64_t us, const uint64_t *amounts,
                  unsigned n);

/* Frees the room for further bins. Call it when all is added. */
void strip_trim(struct strip *strip);

/* Copies a strip to which nothing will be added. NULL: no memory. */
struct strip *strip_copy(const struct strip *strip);

/* Frees the bins and keys of a strip that nobody draws. Its n and left stay. */
void strip_drop_bins(struct strip *strip);

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
