/* reader.h - one line of an Inspector log becomes one record.
 *
 * Format: NVIDIA's Inspector v4.0 JSON lines, as its plugin and our recorder
 * write them: {"header":{..},"metadata":{..},"coll_perf":{..}} or "p2p_perf".
 * Read leniently: any order of keys, blanks, escapes, unknown keys however
 * nested (verbose traces among them), an absent comm_name, timing source or
 * metadata. n_ranks and nnodes both 0 are "not told" (our recorder under NCCL
 * before 2.27): such a line has no bandwidth. Trusted is nothing: rank <
 * n_ranks <= 1,048,576, 1 <= nnodes <= n_ranks, id is 0x and at most 16 hex
 * digits, names of hosts and functions are printable ASCII of limited length,
 * numbers have limits.
 *
 * With a cache the reader speculates on a line's structure: what is laid out as
 * lines before it is compared instead of parsed (reader_cache.h), any surprise
 * goes to the generic parser, which alone defines the meaning. The record is
 * the same either way, and the ways are counted.
 */
#ifndef JP_NCCL_INSPECTOR_READER_H
#define JP_NCCL_INSPECTOR_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/badkind.h"

#define INSPECTOR_MAX_RANKS (1u << 20)
#define INSPECTOR_MAX_ID 18    /* "0x" and 16 digits */
#define INSPECTOR_MAX_NAME 127 /* communicator; longer is cut */
#define INSPECTOR_MAX_HOST 255 /* longer is refused, as all that follows */
#define INSPECTOR_MAX_FUNC 31
#define INSPECTOR_MAX_TIME_US 1000000000000ull /* 11 days */
/* 1e7 GB/s: a sum over 2^20 ranks stays in 64 bits */
#define INSPECTOR_MAX_BUSBW_MICRO 10000000000000ull
#define INSPECTOR_MAX_BYTES (1ull << 50)
#define INSPECTOR_MAX_SERIES 1024

/* Bytes of a line or of the reader; not NUL-terminated; len 0: absent. */
struct inspector_text {
    const char *text;
    size_t len;
};

struct inspector_record {
    struct inspector_text id;   /* "0x..." as written */
    struct inspector_text name; /* clean UTF-8; "unknown" counts as absent */
    struct inspector_text host;
    struct inspector_text func; /* "AllReduce", "Send" ... */
    int64_t pid;                /* -1 absent */
    uint64_t dump_us;           /* realtime of the writing; 0 absent */
    uint64_t start_us, end_us;  /* realtime of its first and last event on the
                                   rank; 0 not told */
    uint64_t sn; /* per (communicator, function); p2p: per rank */
    uint64_t bytes;
    uint64_t exec_us;
    uint64_t busbw_micro;           /* 1e-6 GB/s; 0 if busbw_nan */
    uint32_t rank, n_ranks, nnodes; /* the last two 0: not told */
    uint32_t peer;                  /* p2p only */
    /* not 0: all records with this number that come from one cache agree in id,
     * name, host, pid, rank, n_ranks, nnodes, func and p2p; modulo
     * INSPECTOR_MAX_SERIES the numbers at one time are distinct */
    uint64_t series;
    bool p2p;
    bool has_sn;       /* always true for a collective */
    bool busbw_nan;    /* nan, inf or absent */
    bool exec_unknown; /* exec_us is 0, which no operation takes: no time */
    bool gaps_lost;    /* no filter on sizes: numbers that are missing in sn
                          were lost (traces; never set by this reader) */
};

enum inspector_line {
    INSPECTOR_RECORD,
    INSPECTOR_BLANK, /* nothing but blanks */
    INSPECTOR_OTHER, /* a JSON object, but no coll_perf or p2p_perf in it */
    INSPECTOR_BAD    /* why and bad say what */
};

/* Whether a name may be a host's or a function's: printable ASCII without
 * blanks, quotes, commas and slashes, of 1 to max bytes: what may stand in a
 * CSV cell or a path without care. */
bool inspector_good_word(const char *text, size_t len, size_t max);

/* Of the records read, how many were compared, parsed and kept for comparing,
 * or parsed because they are laid out in a way that is not known (which way
 * one goes then depends on that line alone). */
struct inspector_ways {
    uint64_t speculated, learned, odd;
};

/* What speculation remembers, from file to file; one a thread. NULL without
 * memory. Destroy takes NULL. */
struct inspector_cache;
struct inspector_cache *inspector_cache_create(void);
void inspector_cache_destroy(struct inspector_cache *cache);

/* One a thread; zero-initialised by its owner, nothing to free. */
struct inspector_reader {
    struct inspector_cache *cache; /* borrowed; NULL: no speculation */
    struct inspector_ways ways;    /* counted only with a cache */
    char why[64];    /* of the last INSPECTOR_BAD: "bad \"coll_sn\"" */
    enum jp_bad bad; /* its kind */
    char name[INSPECTOR_MAX_NAME + 1];
    char host[INSPECTOR_MAX_HOST + 2];
    char func[INSPECTOR_MAX_FUNC + 2];
    char id[INSPECTOR_MAX_ID + 2];
};

/* Reads a line of len bytes (without its newline). Texts in *out are borrowed
 * from the line or the reader until the next call. *out is undefined unless
 * INSPECTOR_RECORD is returned. */
enum inspector_line inspector_read_line(struct inspector_reader *reader,
                                        const char *line, size_t len,
                                        struct inspector_record *out);

/* The line at the front of len bytes, with its newline, without looking for
 * that first: only where speculation succeeds. *used bytes were taken. False:
 * ask inspector_read_line. */
bool inspector_read_ahead(struct inspector_reader *reader, const char *text,
                          size_t len, struct inspector_record *out,
                          size_t *used);

#endif
