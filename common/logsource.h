/* logsource.h - the bytes of a log file, plain or gzip, read with care.
 *
 * A file may be truncated, grow or be replaced while it is read, so the size at
 * open counts, and nothing is mapped. gzip is recognised by the first two
 * bytes, not by the name. Several members may follow one another. Decompression
 * stops at LOGSOURCE_MAX_RATIO times the compressed bytes (+ 16 MiB), so that a
 * small file cannot keep a report busy forever. A mark of byte order (UTF-8) at
 * the beginning of a file is left out. common/lines.h reads lines.
 */
#ifndef JP_COMMON_LOGSOURCE_H
#define JP_COMMON_LOGSOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

/* Inspector's logs compress 25:1, deflate's limit is 1032:1. */
#define LOGSOURCE_MAX_RATIO 300

/* A file ends at a hole of more than LOGSOURCE_HOLE bytes, or where its holes
 * are more than LOGSOURCE_HOLES bytes in all. A log has none, and a sparse file
 * of 1 TB occupies no disk space but would keep a reader busy for minutes. */
#define LOGSOURCE_HOLE (UINT64_C(1) << 20)
#define LOGSOURCE_HOLES (UINT64_C(64) << 20)

struct jp_logsource;

/* Whether a file with these first two bytes is gzip. */
static inline bool logsource_is_packed(const void *two)
{
    const unsigned char *bytes = two;

    return bytes[0] == 0x1f && bytes[1] == 0x8b;
}

/* Opens a regular file; a symbolic link, FIFO or device is refused and never
 * blocks. NULL and err on failure. */
struct jp_logsource *logsource_open(const char *path, struct jp_error *err);
/* Opens a plain file at an offset, without checking for gzip. */
struct jp_logsource *logsource_open_at(const char *path, uint64_t offset,
                                       struct jp_error *err);
/* The same for an open descriptor, which is taken over, also on failure. A
 * regular file is read from its beginning, as above. Everything else (a pipe,
 * standard input) and files without a size (/proc) are read to their end
 * without gzip and holes: the caller bounds the bytes and waits for them. path
 * is for errors. */
struct jp_logsource *logsource_open_fd(int fd, const char *path,
                                       struct jp_error *err);
/* A whole log in memory, borrowed until the close (tests, fuzzing). */
struct jp_logsource *logsource_open_memory(const void *data, size_t len,
                                           struct jp_error *err);

/* Makes a compressed source that was just opened use zlib instead of a faster
 * library (inflate.h). 0, or -1 without memory. */
int logsource_use_zlib(struct jp_logsource *source, struct jp_error *err);

/* Reads up to cap bytes into buf. Returns 0 at the end, -1 and err if reading
 * failed; then the source is at its end. */
ssize_t logsource_read(struct jp_logsource *source, char *buf, size_t cap,
                       struct jp_error *err);

/* The descriptor of a source that may block (a pipe), for poll(); else -1. */
int logsource_stream(const struct jp_logsource *source);
/* Whether parts of the file can be read by themselves: it is plain and has no
 * holes (LOGSOURCE_HOLE) at which it would end early. */
bool logsource_is_divisible(struct jp_logsource *source);
/* Why a file ended early ("compressed data is cut", "there is a hole in it"),
 * or NULL. */
const char *logsource_damage(const struct jp_logsource *source);
/* The number of bytes taken from the file so far, after the offset; of a
 * compressed file, compressed bytes. */
uint64_t logsource_consumed(const struct jp_logsource *source);

void logsource_close(struct jp_logsource *source);

#endif
