/* lines.h - read a foreign file line by line in bounded memory and time.
 *
 * This is the only line reader. A file may be sparse, grow, be replaced, hold
 * NUL bytes, one endless line or nothing but line breaks; it may be a pipe that
 * stays silent. A row says how much of a kind of file is read: lines_limits has
 * those of files that several rooms read, a feature's reader has its own. What
 * is left out is counted, and the first case is described with the file, the
 * number of the line and the beginning of its text:
 *
 *     ranks.jsonl:12: a line of over 262144 bytes ("{"rank": ...")
 *     ranks.jsonl:1000001: more than 1000000 lines
 *     ranks.jsonl:7: it has a hole
 *
 * Bytes come from common/logsource.h: gzip is read like plain text, and a file
 * ends at a large hole.
 */
#ifndef JP_COMMON_LINES_H
#define JP_COMMON_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

enum lines_kind {
    LINES_RANKS,   /* nodes/NODE/ranks.jsonl */
    LINES_STARTS,  /* nodes/NODE/starts.jsonl */
    LINES_TASKS,   /* nodes/NODE/tasks.jsonl */
    LINES_WORKERS, /* nodes/NODE/ends.jsonl */
    LINES_ENDS,    /* slurmstepd's lines about tasks that have ended */
    LINES_DEBUG,   /* NCCL's log (NCCL_DEBUG_FILE) */
    LINES_XLA,     /* probe windows of a program's XLA */
    LINES_TABLE,   /* a report's CSV files */
    LINES_KERNEL,  /* /proc */
    LINES_SOCKETS, /* /proc/net/tcp */
    LINES_LOG,     /* an Inspector's log: inspector_reader.c cuts it itself */
    LINES_KINDS
};

/* Limits that also size the buffers of readers which cut lines themselves, for
 * speed or because they read backwards. */
enum { LINES_LOG_LINE = 1 << 20, LINES_TABLE_LINE = 1 << 16 };

/* What happens to a line that is too long or has a NUL byte. */
enum lines_odd {
    LINES_SKIP,  /* it is left out and counted */
    LINES_CUT,   /* its beginning is returned, the rest is left out */
    LINES_REFUSE /* it is an error, as is every other limit */
};

struct lines_limit {
    const char *name; /* of the files, for the documentation */
    uint64_t bytes;   /* of a file, decompressed; 0: as large as it is */
    uint32_t line;    /* bytes of a line without its line break */
    uint64_t lines;   /* of a file, empty ones included; 0: any */
    uint32_t time_ms; /* for reading it; 0: any */
    enum lines_odd odd;
    const char *reason;
};

extern const struct lines_limit lines_limits[LINES_KINDS];

struct jp_lines;

/* Opens a regular file; a link, FIFO or device is refused and never blocks.
 * NULL and err on failure (errno kept). name is borrowed until the close. */
struct jp_lines *lines_open(const char *path, const struct lines_limit *limit,
                            struct jp_error *err);
/* The last limit.bytes of a plain file, without the line that is cut there. */
struct jp_lines *lines_open_tail(const char *path,
                                 const struct lines_limit *limit,
                                 struct jp_error *err);
/* Anything that can be read: a pipe, a file of /proc, standard input. A regular
 * file is read from its beginning. The descriptor is taken over, also on
 * failure. name is for messages. */
struct jp_lines *lines_open_fd(int fd, const char *name,
                               const struct lines_limit *limit,
                               struct jp_error *err);
/* Bytes in memory, borrowed until the close. */
struct jp_lines *lines_open_memory(const void *bytes, size_t len,
                                   const char *name,
                                   const struct lines_limit *limit,
                                   struct jp_error *err);
void lines_close(struct jp_lines *lines);

/* Shortens the time limit: reading ends at this time (CLOCK_MONOTONIC). */
void lines_end_at(struct jp_lines *lines, uint64_t deadline_ms);

/* Reads the next line, without its line break ("\n" or "\r\n") and with a NUL
 * after it. *text can be changed and is valid until the next call. Returns 1; 0
 * at the end, also where a limit ends the reading; -1 and err if reading failed
 * or (LINES_REFUSE) at a limit. After 0 and -1 there are no more lines. */
int lines_next(struct jp_lines *lines, char **text, size_t *len,
               struct jp_error *err);

/* The number of the line read last, from 1. */
uint64_t lines_number(const struct jp_lines *lines);
/* The bytes read so far, decompressed. */
uint64_t lines_bytes(const struct jp_lines *lines);
/* Whether the line read last had no line break. */
bool lines_is_cut(const struct jp_lines *lines);

/* What was left out so far. */
struct lines_left {
    uint64_t too_long, with_nul; /* lines that were skipped or cut */
    bool early;      /* the end was not reached: a limit, a hole, damage */
    const char *why; /* the first of these without its place; NULL: nothing */
    uint64_t line;   /* its number */
    struct jp_error first; /* the same with file, line and text */
};
const struct lines_left *lines_left(const struct jp_lines *lines);

#endif
