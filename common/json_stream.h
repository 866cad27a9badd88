/* json_stream.h - write JSON value by value, without a tree in memory.
 *
 * All JSON that jobprof prints goes through it, except for small documents that
 * are built as trees (report/json_tree.h). Numbers that are not
 * finite become null. key is NULL in an array; keys are the program's own and
 * need no escape. An error is kept until json_stream_close.
 */
#ifndef JP_COMMON_JSON_STREAM_H
#define JP_COMMON_JSON_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

enum { JSON_STREAM_ROOM = 32 << 10 };

enum json_style {
    /* A file: one value per line, like jansson's JSON_INDENT(1) with 15
     * significant digits, so that parts may come from either. Text is
     * cleaned. */
    JSON_FILE,
    /* For pipes: one line for each object of an array. Characters that could
     * harm a terminal are escaped, so that nothing of a text is lost. */
    JSON_LINES,
    /* An object as a part of something else: nothing but values, no line break
     * at the end. Text as in JSON_LINES. */
    JSON_PART,
    /* Within a page's <script>, or an attribute between apostrophes: nothing
     * but values, no line break at the end, reals with four significant digits.
     * Text is cleaned, cut to 96 bytes, and has no < > & and '. */
    JSON_SCRIPT,
};

struct jp_json_stream {
    FILE *out;
    enum json_style style;
    unsigned depth;
    bool any; /* this object or array already has an entry */
    bool failed;
    const char *key; /* the key of the next value, from json_stream_key */
    size_t used;
    char bytes[JSON_STREAM_ROOM];
};

/* Starts the root, an object. */
void json_stream_open(struct jp_json_stream *s, enum json_style style,
                      FILE *out);
/* Ends the root, with a line break if the style has line breaks. Returns 0, or
 * -1 and err if any write has failed. */
int json_stream_close(struct jp_json_stream *s, struct jp_error *err);

/* Sets the key of the next value, which then gets NULL as key. */
void json_stream_key(struct jp_json_stream *s, const char *key);

void json_stream_object(struct jp_json_stream *s, const char *key);
void json_stream_array(struct jp_json_stream *s, const char *key);
void json_stream_end_object(struct jp_json_stream *s);
void json_stream_end_array(struct jp_json_stream *s);

/* NULL becomes null. */
void json_stream_text(struct jp_json_stream *s, const char *key,
                      const char *text);
/* An array of at most max texts. */
void json_stream_texts(struct jp_json_stream *s, const char *key,
                       char *const *texts, size_t n, size_t max);
/* Values above INT64_MAX are given as INT64_MAX. */
void json_stream_count(struct jp_json_stream *s, const char *key,
                       uint64_t value);
/* A count, or null where it is not known. */
void json_stream_known(struct jp_json_stream *s, const char *key, bool known,
                       uint64_t value);
void json_stream_int(struct jp_json_stream *s, const char *key, int64_t value);
void json_stream_real(struct jp_json_stream *s, const char *key, double value);
/* With that number of digits after the point. */
void json_stream_fixed(struct jp_json_stream *s, const char *key, double value,
                       int decimals);
/* thousandths / 1000, exactly. */
void json_stream_milli(struct jp_json_stream *s, const char *key,
                       int64_t thousandths);
void json_stream_bool(struct jp_json_stream *s, const char *key, bool value);
void json_stream_null(struct jp_json_stream *s, const char *key);

/* Writes the members of an object that another stream has written as text. */
void json_stream_members(struct jp_json_stream *s, const char *object);

#endif
