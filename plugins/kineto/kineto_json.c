/* kineto_json.c - the events of a trace, one after the other, in bounded
 * memory.
 *
 * An event is parsed where it lies in the buffer. If the buffer ends within it,
 * more is read and the event is parsed again from its begin; that happens once
 * in a buffer. Members of the file that are not events are skipped byte by
 * byte, whatever their size. */
#include "plugins/kineto/kineto.h"

#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "common/vector.h"

/* Bytes that are read at once. The buffer grows for a larger event. */
#define BLOCK ((size_t) 256 << 10)

/* What a parse of a value has found. */
enum parse { PARSE_GOOD, PARSE_MORE, PARSE_BAD, PARSE_DEEP };

/* A place in the buffer. */
struct place {
    const char *at, *end;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static enum parse skip_blanks(struct place *p)
{
    while (p->at < p->end && is_blank(*p->at))
        p->at++;
    return p->at < p->end ? PARSE_GOOD : PARSE_MORE;
}

/* Reads a string; its first quote is the next byte. */
static enum parse read_string(struct place *p, struct kineto_text *text)
{
    const char *start = p->at + 1, *at = start;

    for (;;) {
        at = memchr(at, '"', (size_t) (p->end - at));
        if (!at)
            return PARSE_MORE;
        if (at[-1] == '\\') {
            size_t n = 1;

            while (at - n > start && at[-(ptrdiff_t) n - 1] == '\\')
                n++;
            /* an odd number of backslashes escapes the quote */
            if (n % 2 && at - n >= start) {
                at++;
                continue;
            }
        }
        text->at = start;
        text->len = (size_t) (at - start);
        p->at = at + 1;
        return PARSE_GOOD;
    }
}

/* Skips an object or array, without recursion. */
static enum parse skip_nested(struct place *p)
{
    struct kineto_text text;
    unsigned depth = 0;

    while (p->at < p->end) {
        switch (*p->at) {
        case '"': {
            enum parse rc = read_string(p, &text);

            if (rc != PARSE_GOOD)
                return rc;
            continue;
        }
        case '{':
        case '[':
            if (++depth > KINETO_DEPTH)
                return PARSE_DEEP;
            break;
        case '}':
        case ']':
            if (--depth == 0) {
                p->at++;
                return PARSE_GOOD;
            }
            break;
        default:
            break;
        }
        p->at++;
    }
    return PARSE_MORE;
}

/* Reads any value: of a string what is within the quotes, else all of it. */
static enum parse read_value(struct place *p, struct kineto_text *text)
{
    const char *start = p->at;

    if (*p->at == '"')
        return read_string(p, text);
    if (*p->at == '{' || *p->at == '[') {
        enum parse rc = skip_nested(p);

        *text = (struct kineto_text){start, (size_t) (p->at - start)};
        return rc;
    }
    while (p->at < p->end && *p->at != ',' && *p->at != '}' && *p->at != ']' &&
           !is_blank(*p->at)) {
        /* a quote, a bracket or a colon within a number: not JSON */
        if (*p->at == '"' || *p->at == '{' || *p->at == '[' || *p->at == ':')
            return PARSE_BAD;
        p->at++;
    }
    if (p->at == p->end)
        return PARSE_MORE;
    *text = (struct kineto_text){start, (size_t) (p->at - start)};
    return text->len ? PARSE_GOOD : PARSE_BAD;
}

/* --- the members of an event ---------------------------------------------- */

#define MEMBER(name, member)                                                   \
    {                                                                          \
        name, sizeof(name) - 1, offsetof(struct raw, member)                   \
    }

/* An event as it is in the file. */
struct raw {
    struct kineto_text ph, cat;
    struct kineto_event event;
};

struct member {
    const char *name;
    size_t len, offset;
};

static const struct member event_members[] = {
    MEMBER("ph", ph),           MEMBER("cat", cat),
    MEMBER("name", event.name), MEMBER("pid", event.pid),
    MEMBER("tid", event.tid),   MEMBER("ts", event.ts),
    MEMBER("dur", event.dur),   {NULL, 0, 0},
};
static const struct member args_members[] = {
    MEMBER("device", event.device),
    MEMBER("stream", event.stream),
    MEMBER("correlation", event.correlation),
    MEMBER("External id", event.external),
    MEMBER("external id", event.external), /* up to 1.12 */
    MEMBER("Collective name", event.coll),
    MEMBER("In msg nelems", event.in_nelems),
    MEMBER("Out msg nelems", event.out_nelems),
    MEMBER("Group size", event.group_size),
    MEMBER("dtype", event.dtype),
    MEMBER("Process Group Name", event.group_name),
    MEMBER("Process Group Description", event.group_desc),
    MEMBER("Process Group Ranks", event.group_ranks),
    MEMBER("Seq", event.seq),
    MEMBER("In split size", event.split),
    MEMBER("Input Dims", event.dims),
    MEMBER("Input dims", event.dims), /* up to 1.12 */
    MEMBER("Input type", event.types),
    {NULL, 0, 0},
};

/* Where the value of a key goes; NULL: it is not needed. */
static struct kineto_text *find_member(struct raw *raw,
                                       const struct member *members,
                                       struct kineto_text key)
{
    for (const struct member *m = members; m->name; m++)
        if (m->len == key.len && m->name[0] == key.at[0] &&
            !memcmp(m->name, key.at, key.len))
            return (struct kineto_text *) (void *) ((char *) raw + m->offset);
    return NULL;
}

/* Reads an object, whose brace is the next byte. Of an event, args is read as
 * an object of its own. */
static enum parse read_object(struct place *p, struct raw *raw,
                              const struct member *members)
{
    enum parse rc;

    p->at++;
    while ((rc = skip_blanks(p)) == PARSE_GOOD) {
        struct kineto_text key, value, *into;

        if (*p->at == '}') {
            p->at++;
            return PARSE_GOOD;
        }
        /* Kineto leaves a comma without a member in some releases */
        if (*p->at == ',') {
            p->at++;
            continue;
        }
        if (*p->at != '"')
            return PARSE_BAD;
        if ((rc = read_string(p, &key)) != PARSE_GOOD ||
            (rc = skip_blanks(p)) != PARSE_GOOD)
            return rc;
        if (*p->at != ':')
            return PARSE_BAD;
        p->at++;
        if ((rc = skip_blanks(p)) != PARSE_GOOD)
            return rc;
        if (members == event_members && *p->at == '{' && key.len == 4 &&
            !memcmp(key.at, "args", 4)) {
            rc = read_object(p, raw, args_members);
        } else {
            rc = read_value(p, &value);
            into = rc == PARSE_GOOD ? find_member(raw, members, key) : NULL;
            if (into)
                *into = value;
        }
        if (rc != PARSE_GOOD)
            return rc;
    }
    return rc;
}

static bool is_text(struct kineto_text text, const char *word)
{
    return text.len == strlen(word) && !memcmp(text.at, word, text.len);
}

static enum kineto_cat find_cat(struct kineto_text cat)
{
    static const struct {
        const char *word;
        enum kineto_cat cat;
    } rows[] = {
        {"kernel", KINETO_KERNEL},
        {"cuda_runtime", KINETO_RUNTIME},
        {"cpu_op", KINETO_CPU},
        {"user_annotation", KINETO_ANNOTATION},
        {"cuda_driver", KINETO_RUNTIME},
        {"hip_runtime", KINETO_RUNTIME},
        /* up to 1.12 */
        {"Kernel", KINETO_KERNEL},
        {"Runtime", KINETO_RUNTIME},
        {"Operator", KINETO_CPU},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (is_text(cat, rows[i].word))
            return rows[i].cat;
    return KINETO_OTHER;
}

/* --- the file ------------------------------------------------------------- */

int kineto_lex_init(struct kineto_lex *lex, kineto_fill *fill, void *arg)
{
    *lex = (struct kineto_lex){.fill = fill, .arg = arg, .room = 2 * BLOCK};
    lex->buf = malloc(lex->room);
    return lex->buf ? 0 : -1;
}

void kineto_lex_fini(struct kineto_lex *lex)
{
    free(lex->buf);
    lex->buf = NULL;
}

/* Reads more bytes behind those from `at` on. False: there are none, or what is
 * there is too long already. */
static bool read_more(struct kineto_lex *lex)
{
    ssize_t n;

    if (lex->eof)
        return false;
    memmove(lex->buf, lex->buf + lex->at, lex->end - lex->at);
    lex->end -= lex->at;
    lex->at = 0;
    if (lex->room - lex->end < BLOCK) {
        if (lex->room >= (size_t) 2 * KINETO_EVENT ||
            vector_resize(&lex->buf, 2 * lex->room, 1) < 0)
            return false;
        lex->room *= 2;
    }
    n = lex->fill(lex->arg, lex->buf + lex->end, lex->room - lex->end);
    if (n <= 0 || (size_t) n > lex->room - lex->end) {
        lex->eof = true;
        lex->failed |= n != 0;
        return false;
    }
    lex->end += (size_t) n;
    lex->bytes += (uint64_t) n;
    return true;
}

/* The next byte that is not blank, or -1 at the end. */
static int look_at_byte(struct kineto_lex *lex)
{
    do {
        while (lex->at < lex->end && is_blank(lex->buf[lex->at]))
            lex->at++;
        if (lex->at < lex->end)
            return (unsigned char) lex->buf[lex->at];
    } while (read_more(lex));
    return -1;
}

/* Skips the rest of an object or array of which `depth` levels are open, of any
 * length. False: the file ends within it. */
static bool skip_open(struct kineto_lex *lex, uint64_t depth)
{
    bool in_string = false, escaped = false;

    for (;;) {
        for (; lex->at < lex->end; lex->at++) {
            char c = lex->buf[lex->at];

            if (escaped)
                escaped = false;
            else if (in_string && c == '\\')
                escaped = true;
            else if (c == '"')
                in_string = !in_string;
            else if (!in_string && (c == '{' || c == '['))
                depth++;
            else if (!in_string && (c == '}' || c == ']') && --depth == 0) {
                lex->at++;
                return true;
            }
        }
        if (!read_more(lex))
            return false;
    }
}

/* Ends the reading. */
static enum kineto_token end(struct kineto_lex *lex, const char *why)
{
    lex->over = true;
    lex->cut = why != NULL;
    lex->why = why;
    return lex->failed ? KINETO_FAILED : KINETO_END;
}

static enum kineto_token broken(struct kineto_lex *lex, enum jp_bad bad,
                                const char *why)
{
    lex->bad = bad;
    lex->why = why;
    return KINETO_BROKEN;
}

/* Gives absent members an empty text in place of none. */
static void fill_absent(struct kineto_event *event)
{
    struct kineto_text *text = &event->name, *last = &event->types;

    for (; text <= last; text++)
        if (!text->at)
            text->at = "";
}

/* Parses the event at lex->at, with as much reading as it takes. */
static enum kineto_token take_event(struct kineto_lex *lex,
                                    struct kineto_event *event)
{
    for (;;) {
        struct raw raw = {.ph = {NULL, 0}};
        struct place p = {lex->buf + lex->at, lex->buf + lex->end};
        enum parse rc = read_object(&p, &raw, event_members);
        size_t len = (size_t) (p.at - (lex->buf + lex->at));

        if (rc == PARSE_GOOD && len <= KINETO_EVENT) {
            lex->at += len;
            if (!is_text(raw.ph, "X"))
                return KINETO_SKIPPED;
            raw.event.cat = find_cat(raw.cat);
            fill_absent(&raw.event);
            *event = raw.event;
            return KINETO_EVENT_X;
        }
        if (rc == PARSE_MORE && lex->end - lex->at <= KINETO_EVENT &&
            read_more(lex))
            continue;
        if (rc == PARSE_MORE && lex->eof)
            return end(lex, "cut: it ends within an event");
        /* go on behind it, if it has an end */
        if (!skip_open(lex, 0))
            return end(lex, "cut: it ends within an event");
        return broken(lex, rc == PARSE_BAD ? JP_BAD_SYNTAX : JP_BAD_LONG,
                      rc == PARSE_BAD    ? "not a JSON object"
                      : rc == PARSE_DEEP ? "nested too deeply"
                                         : "event longer than 1 MiB");
    }
}

/* A number that is not negative. */
static bool count_of(struct kineto_text text, uint64_t *out)
{
    int64_t number;

    if (!kineto_number(text, &number) || number < 0)
        return false;
    *out = (uint64_t) number;
    return true;
}

/* Parses a key and its scalar value at lex->at. 1: *text is a scalar; 2: an
 * object or array is next; 0: the file ends there; -1: not JSON. */
static int take_member(struct kineto_lex *lex, struct kineto_text *key,
                       struct kineto_text *text)
{
    for (;;) {
        struct place p = {lex->buf + lex->at, lex->buf + lex->end};
        enum parse rc = *p.at == '"' ? read_string(&p, key) : PARSE_BAD;

        if (rc == PARSE_GOOD)
            rc = skip_blanks(&p);
        if (rc == PARSE_GOOD && *p.at != ':')
            rc = PARSE_BAD;
        if (rc == PARSE_GOOD) {
            p.at++;
            rc = skip_blanks(&p);
        }
        if (rc == PARSE_GOOD && *p.at != '{' && *p.at != '[') {
            rc = read_value(&p, text);
            if (rc == PARSE_GOOD)
                lex->at = (size_t) (p.at - lex->buf);
            if (rc == PARSE_GOOD)
                return 1;
        } else if (rc == PARSE_GOOD) {
            lex->at = (size_t) (p.at - lex->buf);
            return 2;
        }
        if (rc == PARSE_MORE && lex->end - lex->at <= KINETO_EVENT &&
            read_more(lex))
            continue;
        return rc == PARSE_MORE && lex->eof ? 0 : -1;
    }
}

/* Takes the members of distributedInfo; its brace is the next byte. False: the
 * file ends there, or it is not JSON. */
static bool take_distributed(struct kineto_lex *lex)
{
    int c;

    lex->at++;
    while ((c = look_at_byte(lex)) >= 0) {
        struct kineto_text key, text;
        int rc;

        if (c == '}') {
            lex->at++;
            return true;
        }
        if (c == ',') {
            lex->at++;
            continue;
        }
        rc = take_member(lex, &key, &text);
        if (rc <= 0 || (rc == 2 && !skip_open(lex, 0)))
            return false;
        if (rc == 1 && is_text(key, "rank"))
            lex->head.has_rank = count_of(text, &lex->head.rank);
        else if (rc == 1 && is_text(key, "world_size"))
            lex->head.has_world = count_of(text, &lex->head.world) &&
                                  lex->head.world > 0;
    }
    return false;
}

/* Counts the objects in deviceProperties; its bracket is the next byte. */
static bool take_devices(struct kineto_lex *lex)
{
    int c;

    lex->at++;
    while ((c = look_at_byte(lex)) >= 0) {
        if (c == ']') {
            lex->at++;
            return true;
        }
        if (c == '{') {
            lex->head.devices++;
            if (!skip_open(lex, 0))
                return false;
        } else {
            lex->at++;
        }
    }
    return false;
}

/* Takes a member of the file. False: what follows is not JSON, or the end. */
static bool take_head(struct kineto_lex *lex)
{
    struct kineto_head *head = &lex->head;
    struct kineto_text key, text;
    int rc = take_member(lex, &key, &text);

    if (rc == 1 && is_text(key, "baseTimeNanoseconds"))
        head->has_base = kineto_number(text, &head->base_ns);
    if (rc == 1 && is_text(key, "host_name") &&
        record_is_word(text.at, text.len, RECORD_MAX_HOST)) {
        memcpy(head->host, text.at, text.len);
        head->host[text.len] = '\0';
    }
    if (rc != 2)
        return rc == 1;
    if (is_text(key, "traceEvents") && lex->buf[lex->at] == '[' &&
        !head->has_events) {
        lex->at++;
        lex->in_events = head->has_events = true;
        return true;
    }
    if (is_text(key, "distributedInfo") && lex->buf[lex->at] == '{')
        return take_distributed(lex);
    if (is_text(key, "deviceProperties") && lex->buf[lex->at] == '[')
        return take_devices(lex);
    return skip_open(lex, 0);
}

/* Between events: takes what is there up to the next event. False: the array
 * has ended, and *token is what follows from that, or KINETO_SKIPPED. */
static bool find_event(struct kineto_lex *lex, enum kineto_token *token)
{
    int c;

    while ((c = look_at_byte(lex)) == ',')
        lex->at++;
    if (c == '{')
        return true;
    *token = KINETO_SKIPPED;
    if (c == ']') {
        lex->at++;
        lex->in_events = false;
    } else if (c < 0) {
        *token = end(lex, "cut: its events have no end");
    } else {
        /* something else than an event: skip its first byte */
        lex->at++;
        *token = broken(lex, JP_BAD_SYNTAX, "not an event");
    }
    return false;
}

enum kineto_token kineto_next(struct kineto_lex *lex,
                              struct kineto_event *event)
{
    while (!lex->over) {
        enum kineto_token token;
        int c;

        if (lex->in_events) {
            if (find_event(lex, &token)) {
                lex->events++;
                return take_event(lex, event);
            }
            if (token != KINETO_SKIPPED)
                return token;
            continue;
        }
        c = look_at_byte(lex);
        if (c == '{' && !lex->begun) {
            lex->begun = true;
            lex->at++;
        } else if (c == ',' && lex->begun) {
            lex->at++;
        } else if (c == '}' && lex->begun) {
            lex->closed = true;
            return end(lex, NULL);
        } else if (c < 0 || !take_head(lex)) {
            return end(lex, c < 0 || lex->eof ? "cut: it ends early"
                                              : "not JSON after its events");
        }
    }
    return lex->failed ? KINETO_FAILED : KINETO_END;
}

static bool holds_one(const char *bytes, size_t n, const char *const *words)
{
    for (; *words; words++)
        if (memmem(bytes, n, *words, strlen(*words)))
            return true;
    return false;
}

/* Other programs write the same members of events, so events tell by their
 * categories. Without an event any trace may be one. */
static bool has_own_events(const char *bytes, size_t n)
{
    static const char *const any[] = {"\"ph\"", NULL};
    static const char *const own[] = {"\"cpu_op\"",
                                      "\"user_annotation\"",
                                      "\"cuda_runtime\"",
                                      "\"kernel\"",
                                      "\"gpu_user_annotation\"",
                                      "\"cuda_driver\"",
                                      "\"gpu_memcpy\"",
                                      "\"gpu_memset\"",
                                      "\"python_function\"",
                                      "\"ac2g\"",
                                      "\"cpu_instant_event\"",
                                      "\"hip_runtime\"",
                                      "\"Kernel\"",
                                      "\"Operator\"",
                                      "\"Runtime\"",
                                      NULL};

    return !holds_one(bytes, n, any) || holds_one(bytes, n, own);
}

bool kineto_begins(const char *bytes, size_t n)
{
    static const char *const heads[] = {
        "\"schemaVersion\"", "\"deviceProperties\"", "\"distributedInfo\"",
        "\"baseTimeNanoseconds\"", NULL};
    static const char *const events[] = {"\"traceEvents\"", NULL};
    size_t i = 0;

    while (i < n && is_blank(bytes[i]))
        i++;
    if (i == n || bytes[i] != '{')
        return false;
    return holds_one(bytes, n, heads) ||
           (holds_one(bytes, n, events) && has_own_events(bytes, n));
}

/* --- numbers -------------------------------------------------------------- */

bool kineto_number(struct kineto_text text, int64_t *number)
{
    bool negative = text.len && *text.at == '-';
    int64_t value = 0;

    /* 19 digits may not fit, but a base time has 19 */
    if (text.len <= negative || text.len - negative > 19)
        return false;
    for (size_t i = negative; i < text.len; i++)
        if (text.at[i] < '0' || text.at[i] > '9' ||
            __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, text.at[i] - '0', &value))
            return false;
    *number = negative ? -value : value;
    return true;
}

bool kineto_ns(struct kineto_text text, int64_t *ns)
{
    const char *point = text.len ? memchr(text.at, '.', text.len) : NULL;
    struct kineto_text whole = {text.at,
                                point ? (size_t) (point - text.at) : text.len};
    int64_t value, part = 0, scale = 100;
    bool negative = text.len && *text.at == '-';

    if (!kineto_number(whole, &value) || value > (INT64_C(1) << 61) / 1000 ||
        value < -(INT64_C(1) << 61) / 1000)
        return false;
    for (const char *p = point ? point + 1 : text.at + text.len;
         p < text.at + text.len; p++) {
        /* an exponent is not used by any release for times */
        if (*p < '0' || *p > '9')
            return false;
        part += (*p - '0') * scale;
        scale /= 10;
    }
    *ns = value * 1000 + (negative ? -part : part);
    return true;
}
