/* copper_stream.h - lines of a file that may be anything, through one buffer.
 *
 * Copper's files are mode 0666 in folders of mode 0777: foreign input. A stream
 * holds one buffer of COPPER_LINE_MAX bytes whatever the file's size.
 */
#ifndef JP_PLUGINS_COPPER_STREAM_H
#define JP_PLUGINS_COPPER_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* Longest line. A path has at most 4,095 bytes, each doubled at worst. */
#define COPPER_LINE_MAX (64 * 1024)

struct copper_stream {
    int fd; /* -1: bytes in memory */
    const char *memory;
    size_t memory_left;
    char *buffer; /* of COPPER_BUFFER bytes */
    size_t begin, end;
    uint64_t line;  /* of what was read last, from 1 */
    uint64_t bytes; /* read so far */
    bool eof;
    bool cut; /* the last line had no newline */
};

/* A regular file; links are not followed. */
int copper_stream_open(struct copper_stream *stream, const char *path,
                       struct jp_error *err);
/* Bytes in memory, borrowed until close. */
int copper_stream_bytes(struct copper_stream *stream, const void *bytes,
                        size_t size, struct jp_error *err);
void copper_stream_close(struct copper_stream *stream);

/* 1: a line without its newline, borrowed until the next call, in *text and
 * *len; 0: end; -1: a line over COPPER_LINE_MAX, or reading failed. */
int copper_stream_line(struct copper_stream *stream, const char **text,
                       size_t *len, struct jp_error *err);

/* err: "line N: <formatted>". Returns -1. */
int copper_stream_bad(const struct copper_stream *stream, struct jp_error *err,
                      const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* -- parts of lines; none needs a NUL behind the bytes -- */

/* Are these bytes that word? */
bool copper_is(const char *text, size_t len, const char *word);
bool copper_begins(const char *text, size_t len, const char *word);
/* Decimal digits alone, at most UINT64_MAX. */
bool copper_u64(const char *text, size_t len, uint64_t *value);
/* The same, or a negative number: *wrapped is set and *value 0. */
bool copper_counter(const char *text, size_t len, uint64_t *value,
                    bool *wrapped);
/* "<digits>.<1 to 6 digits>" seconds as microseconds. */
bool copper_seconds(const char *text, size_t len, uint64_t *us);
/* Is line the heading, with or without columns more at its right? Their number
 * goes to *extra. */
bool copper_heading(const char *line, size_t len, const char *heading,
                    size_t *extra);
/* The part up to the next comma; *text and *len move behind it. False: there
 * is none left. */
bool copper_field(const char **text, size_t *len, const char **field,
                  size_t *field_len);

/* The bytes for a message: printable, short. */
#define COPPER_SHOW(text, len)                                                 \
    copper_show((text), (len), (char[COPPER_SHOW_LEN]){""})
#define COPPER_SHOW_LEN 320
const char *copper_show(const char *text, size_t len,
                        char buf[COPPER_SHOW_LEN]);

#endif
