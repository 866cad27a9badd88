/* record.h - one operation on one rank: what every profiler's reader delivers.
 *
 * This is independent of all formats: Inspector's lines, the recorder's files
 * and the example plugin's traces become this. Readers must respect these
 * limits, because later code does not check them again: rank < n_ranks <=
 * 1,048,576, 1 <= nnodes <= n_ranks (or both 0: unknown), id is "0x" and at
 * most 16 hexadecimal digits, names of hosts and functions are record_is_word,
 * numbers are below the limits here.
 */
#ifndef JP_COMMON_RECORD_H
#define JP_COMMON_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RECORD_MAX_RANKS (1u << 20)
#define RECORD_MAX_ID 18    /* "0x" and 16 digits */
#define RECORD_MAX_NAME 127 /* communicator; longer is cut */
#define RECORD_MAX_HOST 255 /* longer is refused, like everything below */
#define RECORD_MAX_FUNC 31
#define RECORD_MAX_PHASE 31                 /* longer is cut */
#define RECORD_MAX_TIME_US 1000000000000ull /* 11 days */
/* 1e7 GB/s: a sum over 2^20 ranks stays in 64 bits */
#define RECORD_MAX_BUSBW_MICRO 10000000000000ull
#define RECORD_MAX_BYTES (1ull << 50)
#define RECORD_MAX_SERIES 1024

/* Suffixes of a function's name: executed by the copy engines; replayed from a
 * graph. Such operations have numbers of their own. */
#define RECORD_CE "-CE"
#define RECORD_REPLAY "-Graph"

/* By which clock exec_us was taken. A CPU's clock also counts until a thread of
 * NCCL noticed the event, so such a time is less exact. */
enum record_clock {
    RECORD_CLOCK_UNKNOWN,    /* the profiler does not say */
    RECORD_CLOCK_GPU,        /* the kernel's, by the GPU */
    RECORD_CLOCK_KERNEL_CPU, /* the kernel's events, as the CPU saw them */
    RECORD_CLOCK_COLL_CPU,   /* from the call to the last event, by the CPU */
    RECORD_CLOCKS
};

/* Words for a clock as Inspector writes them ("kernel_gpu"), and for NCCL's
 * algorithms and protocols ("RING", "LL128"). Number 0 is unknown, "". A word
 * that is in no table becomes the last number, "other". */
#define RECORD_ALGOS 10
#define RECORD_PROTOS 5
enum record_clock record_clock_find(const char *text, size_t len);
uint8_t record_algo_find(const char *text, size_t len);
uint8_t record_proto_find(const char *text, size_t len);
const char *record_clock_word(unsigned clock);
const char *record_algo_word(unsigned algo);
const char *record_proto_word(unsigned proto);

/* Bytes owned by the reader; not NUL-terminated; len 0: absent. */
struct record_text {
    const char *text;
    size_t len;
};

/* Returns true if a text equals a kept one. */
static inline bool record_text_is(const char *have,
                                  const struct record_text *text)
{
    return (!text->len || !strncmp(have, text->text, text->len)) &&
           !have[text->len];
}

struct record {
    struct record_text id;   /* "0x..." as written */
    struct record_text name; /* clean UTF-8; "unknown" counts as absent */
    struct record_text host;
    struct record_text func; /* "AllReduce", "Send" ... */
    /* The part of a training step in which it was called, as the program says:
     * "backward", "tag 3" (record_is_phase). len 0: it does not say. */
    struct record_text phase;
    int64_t pid; /* -1 absent */
    /* Tells processes with one host and pid apart (their pid namespaces and
     * start times), and the devices of one process; 0: unknown. Any numbers, of
     * which only equality counts. */
    uint64_t instance, device;
    uint64_t dump_us;          /* CLOCK_REALTIME of the writing; 0: absent */
    uint64_t start_us, end_us; /* CLOCK_REALTIME of its first and last event on
                                  the rank; 0: unknown */
    uint64_t sn;               /* per (communicator, function); p2p: per rank */
    uint64_t bytes; /* of the message; 0: unknown, as NCCL does no collective
                       of 0; a Send or Recv may be of 0 */
    uint64_t exec_us;
    uint64_t launch_us;   /* what all operations of its launch took together, of
                             which exec_us is a share; 0: exec_us is its own */
    uint64_t busbw_micro; /* 1e-6 GB/s; 0 if busbw_nan */
    uint32_t rank, n_ranks, nnodes; /* the last two 0: unknown */
    uint32_t peer;                  /* p2p only */
    /* not 0: all records with this number from one reader agree in id, name,
     * host, pid, rank, n_ranks, nnodes, func and p2p. At any time, the numbers
     * in use differ modulo RECORD_MAX_SERIES */
    uint64_t series;
    uint8_t algo, proto; /* numbers of words; 0: unknown */
    uint8_t clock;       /* enum record_clock */
    bool p2p;
    bool has_sn;       /* always true for a collective */
    bool busbw_nan;    /* nan, inf or absent */
    bool exec_unknown; /* exec_us is 0, although every operation takes time */
    bool gaps_lost; /* nothing was filtered by size: numbers that are missing in
                       sn were lost */
};

/* Returns record.instance from the inode of a process's pid namespace and its
 * start time, in ticks after boot; 0: the start is unknown. */
uint64_t process_instance(uint64_t pid_namespace, uint64_t start);

/* Whether a name may be that of a host or a function: 1 to max bytes of
 * printable ASCII without spaces, quotes, commas and slashes, so that it needs
 * no quoting in a CSV cell or a path. */
bool record_is_word(const char *text, size_t len, size_t max);
/* Whether a text may be a phase: 1 to RECORD_MAX_PHASE such bytes, and blanks
 * between them. */
bool record_is_phase(const char *text, size_t len);

/* --- the ways in which a profiler's record can be bad.
 *
 * Readers of all formats return one of these with a reason. Reports count bad
 * records by kind.
 */

enum jp_bad {
    JP_BAD_SYNTAX,  /* not a JSON object, or a broken one */
    JP_BAD_BYTES,   /* the line has NUL, other control bytes or invalid UTF-8 */
    JP_BAD_MISSING, /* a required key is missing */
    JP_BAD_TYPE,    /* a string for a number, a fraction for an integer ... */
    JP_BAD_RANGE, /* a number that is impossible in a record: negative, 1e400 */
    JP_BAD_VALUE, /* an unknown word, or values that contradict each other */
    JP_BAD_LONG,  /* a line or an object of more than 1 MiB */
    JP_BAD_KINDS
};

/* The word for summary.json and quality.csv: "missing_key". */
const char *badkind_key(enum jp_bad kind);
/* The description for people: "a key is missing". */
const char *badkind_text(enum jp_bad kind);

/* Whether the bytes are text: UTF-8 without control bytes except blanks. */
bool badkind_is_text(const char *bytes, size_t len);

/* The reason why a number was refused: JP_BAD_RANGE if it is a number (an
 * integer, if that was wanted), else JP_BAD_TYPE. */
enum jp_bad badkind_of_number(const char *text, size_t len, bool integer);

/* A note about a file. */
struct jp_file_note {
    char *path;
    char *what; /* "cut last line", "line 118: bad ...", "not a regular file" */
};

#endif
