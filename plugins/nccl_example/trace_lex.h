/* trace_lex.h - the objects of a Chrome trace's array, one after the other.
 *
 * Only what the example plugin's events need: the members of an object and
 * those of its "args", as text. Lenient, because the plugin is: any order of
 * keys, unknown keys however nested (skipped), words without quotes (2.28's
 * datatype and "(nil)"), commas too many or too few, `{}]` at the end. An
 * object that cannot be read is told and the next one is looked for behind the
 * end of its line. Nothing is trusted: an object has at most TRACE_MAX_OBJECT
 * bytes, a value is cut at TRACE_MAX_TEXT, memory is the struct itself.
 */
#ifndef JP_EXAMPLE_TRACE_LEX_H
#define JP_EXAMPLE_TRACE_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/badkind.h"

#define TRACE_MAX_OBJECT (1024 * 1024)
#define TRACE_MAX_TEXT 63
#define TRACE_BLOCK (64 * 1024)

/* The first five are members of the event, the others of its "args". */
enum trace_key {
    TRACE_NAME,
    TRACE_CAT,
    TRACE_PH,
    TRACE_TS,
    TRACE_PID,
    TRACE_SEQ_NUM,
    TRACE_COMM_HASH,
    TRACE_RANK,
    TRACE_PEER,
    TRACE_COUNT,
    TRACE_DATATYPE,
    TRACE_ALGORITHM,
    TRACE_PROTOCOL,
    TRACE_CHANNELS, /* nChannels; nMaxChannels up to 2.26 */
    TRACE_START_CLK,
    TRACE_STOP_CLK,
    TRACE_EVENT_ID, /* from here of CE_COLL */
    TRACE_GPU_US,
    TRACE_N_KEYS
};

/* Values of one object, NUL-terminated; "" where has lacks the bit. */
struct trace_fields {
    uint32_t has;  /* 1 << enum trace_key */
    uint32_t cut;  /* longer than TRACE_MAX_TEXT, or with a NUL */
    uint64_t line; /* where the object begins, from 1 */
    char text[TRACE_N_KEYS][TRACE_MAX_TEXT + 1];
};

enum trace_token {
    TRACE_OBJECT,
    TRACE_BROKEN, /* why, and fields->line */
    TRACE_END,
    TRACE_FAILED /* the source did; nothing follows */
};

/* Up to cap bytes into buf; 0: end; -1: failed. */
typedef ssize_t trace_fill(void *arg, char *buf, size_t cap);

struct trace_lex {
    trace_fill *fill;
    void *arg;
    char buf[TRACE_BLOCK];
    size_t at, end;
    size_t left;     /* bytes that the object may still have */
    uint64_t line;   /* of the next byte, from 1 */
    uint64_t bytes;  /* read so far */
    const char *why; /* of the last TRACE_BROKEN, constant */
    enum jp_bad bad; /* its kind */
    bool binary;     /* the last object holds bytes that are no text */
    bool eof, failed;
    bool closed; /* at the end: the array was ended by its bracket */
};

void trace_lex_init(struct trace_lex *lex, trace_fill *fill, void *arg);
enum trace_token trace_lex_next(struct trace_lex *lex,
                                struct trace_fields *fields);

/* Do these first bytes of a file begin an array of trace events? Fewer than it
 * takes to tell do, if there is a bracket. */
bool trace_lex_begins(const char *bytes, size_t n);

#endif
