/* json_stream.c - JSON text in jansson's layout, value by value. */
#include "orchestrator/report/json_stream.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "common/decimal.h"
#include "orchestrator/report/clean.h"

#define FLAGS (JSON_INDENT(1) | JSON_REAL_PRECISION(15))

static void flush(struct jp_json_stream *s)
{
    if (fwrite_unlocked(s->bytes, 1, s->used, s->out) != s->used)
        s->failed = true;
    s->used = 0;
}

/* Room for n <= JSON_STREAM_ROOM bytes. */
static char *room(struct jp_json_stream *s, size_t n)
{
    if (s->used + n > JSON_STREAM_ROOM)
        flush(s);
    return s->bytes + s->used;
}

static void put(struct jp_json_stream *s, const char *text, size_t n)
{
    if (n > JSON_STREAM_ROOM) {
        flush(s);
        if (fwrite_unlocked(text, 1, n, s->out) != n)
            s->failed = true;
        return;
    }
    memcpy(room(s, n), text, n);
    s->used += n;
}

static void put_char(struct jp_json_stream *s, char c)
{
    *room(s, 1) = c;
    s->used++;
}

/* jansson hands over what it writes in small pieces. */
static int take_piece(const char *text, size_t n, void *arg)
{
    put(arg, text, n);
    return 0;
}

static void new_line(struct jp_json_stream *s)
{
    memset(room(s, s->depth + 1u), ' ', s->depth + 1u);
    s->bytes[s->used] = '\n';
    s->used += s->depth + 1u;
}

/* What stands before a value. */
static void begin(struct jp_json_stream *s, const char *key)
{
    if (s->any)
        put_char(s, ',');
    s->any = true;
    new_line(s);
    if (!key)
        return;
    put_char(s, '"');
    put(s, key, strlen(key));
    put(s, "\": ", 3);
}

static void go_in(struct jp_json_stream *s, char bracket)
{
    put_char(s, bracket);
    s->depth++;
    s->any = false;
}

static void go_out(struct jp_json_stream *s, char bracket)
{
    s->depth--;
    if (s->any)
        new_line(s);
    put_char(s, bracket);
    s->any = true;
}

void json_stream_open(struct jp_json_stream *s, FILE *out)
{
    s->out = out;
    s->depth = 0;
    s->failed = false;
    s->used = 0;
    errno = 0;
    go_in(s, '{');
}

int json_stream_close(struct jp_json_stream *s, struct jp_error *err)
{
    go_out(s, '}');
    put_char(s, '\n');
    flush(s);
    if (!s->failed)
        return 0;
    return error_set(err, "%s", errno ? strerror(errno) : "cannot be written");
}

void json_stream_members(struct jp_json_stream *s, const struct jp_json *json,
                         json_t *object)
{
    if (!object || json->failed) {
        s->failed = true;
        errno = ENOMEM;
    } else if (json_object_size(object)) {
        if (s->any)
            put_char(s, ',');
        if (json_dump_callback(object, take_piece, s, FLAGS | JSON_EMBED) < 0)
            s->failed = true;
        else
            s->used--; /* JSON_EMBED leaves out the bracket, not the newline
                          before it, a piece of its own and so still here */
        s->any = true;
    }
    json_decref(object);
}

void json_stream_object(struct jp_json_stream *s, const char *key)
{
    begin(s, key);
    go_in(s, '{');
}

void json_stream_array(struct jp_json_stream *s, const char *key)
{
    begin(s, key);
    go_in(s, '[');
}

void json_stream_end_object(struct jp_json_stream *s)
{
    go_out(s, '}');
}

void json_stream_end_array(struct jp_json_stream *s)
{
    go_out(s, ']');
}

/* A value that is seldom, as jansson writes it; taken over. */
static void put_value(struct jp_json_stream *s, json_t *value)
{
    if (!value ||
        json_dump_callback(value, take_piece, s, FLAGS | JSON_ENCODE_ANY) < 0)
        s->failed = true;
    json_decref(value);
}

/* Length of a text that needs neither cleaning nor escapes, most are; 0: look
 * closer. */
static size_t plain_length(const char *text)
{
    size_t n = 0;

    for (; text[n]; n++)
        if (text[n] < 0x20 || text[n] > 0x7e || text[n] == '"' ||
            text[n] == '\\' || n >= JP_CLEAN_MAX / 2)
            return 0;
    return n;
}

void json_stream_text(struct jp_json_stream *s, const char *key,
                      const char *text)
{
    char buf[JP_CLEAN_MAX];
    size_t n;

    if (!text) {
        json_stream_null(s, key);
        return;
    }
    begin(s, key);
    n = plain_length(text);
    if (!n && *text) {
        put_value(
            s, json_string(clean_text(text, JP_CLEAN_UTF8, buf, sizeof(buf))));
        return;
    }
    put_char(s, '"');
    put(s, text, n);
    put_char(s, '"');
}

void json_stream_texts(struct jp_json_stream *s, const char *key,
                       char *const *texts, size_t n, size_t max)
{
    json_stream_array(s, key);
    for (size_t i = 0; i < n && i < max; i++)
        json_stream_text(s, NULL, texts[i]);
    json_stream_end_array(s);
}

void json_stream_count(struct jp_json_stream *s, const char *key,
                       uint64_t value)
{
    char *p;

    begin(s, key);
    p = room(s, JP_DECIMAL_ROOM);
    s->used +=
        (size_t) (decimal_count(value > INT64_MAX ? INT64_MAX : value, p) - p);
}

void json_stream_known(struct jp_json_stream *s, const char *key, bool known,
                       uint64_t value)
{
    if (known)
        json_stream_count(s, key, value);
    else
        json_stream_null(s, key);
}

void json_stream_int(struct jp_json_stream *s, const char *key, int64_t value)
{
    if (value >= 0) {
        json_stream_count(s, key, (uint64_t) value);
        return;
    }
    begin(s, key);
    put_value(s, json_integer(value));
}

void json_stream_real(struct jp_json_stream *s, const char *key, double value)
{
    char *p, *end;

    if (!isfinite(value)) {
        json_stream_null(s, key);
        return;
    }
    begin(s, key);
    p = room(s, JP_DECIMAL_ROOM + 2);
    end = decimal_fifteen(value, p);
    if (!end) {
        put_value(s, json_real(value));
        return;
    }
    if (!memchr(p, '.', (size_t) (end - p))) {
        memcpy(end, ".0", 2); /* so that it stays a real */
        end += 2;
    }
    s->used += (size_t) (end - p);
}

void json_stream_null(struct jp_json_stream *s, const char *key)
{
    begin(s, key);
    put(s, "null", 4);
}
