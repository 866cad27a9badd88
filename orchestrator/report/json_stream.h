/* json_stream.h - write JSON as it comes, without a tree in memory.
 *
 * For tables of tens of thousands of rows, of which a json_t costs ten times
 * what writing it does. Layout, escapes and digits are jansson's with
 * JSON_INDENT(1) and 15 significant digits, so a part may come from either.
 * Text is cleaned; what is not finite becomes null. key is NULL in an array;
 * keys are the program's own and need no escape. A failure is remembered until
 * json_stream_close.
 */
#ifndef JP_REPORT_JSON_STREAM_H
#define JP_REPORT_JSON_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "orchestrator/report/json_out.h"

enum { JSON_STREAM_ROOM = 32 << 10 };

struct jp_json_stream {
    FILE *out;
    unsigned depth;
    bool any; /* something stands in this object or array already */
    bool failed;
    size_t used;
    char bytes[JSON_STREAM_ROOM];
};

/* Begins the root, an object. */
void json_stream_open(struct jp_json_stream *s, FILE *out);
/* Ends it, with a newline. 0, or -1 where anything failed. */
int json_stream_close(struct jp_json_stream *s, struct jp_error *err);

/* The root goes on with all members of object, which json made and is taken
 * over. */
void json_stream_members(struct jp_json_stream *s, const struct jp_json *json,
                         json_t *object);

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
void json_stream_null(struct jp_json_stream *s, const char *key);

#endif
