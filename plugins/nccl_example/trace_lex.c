/* trace_lex.c - take a trace apart, byte by byte. */
#include "plugins/nccl_example/trace_lex.h"

#include <string.h>

enum { AT_END = -1 };

#define K(text) text, sizeof(text) - 1
static const struct {
    const char *name;
    size_t len;
    enum trace_key key;
    bool in_args;
} keys[] = {
    {K("name"), TRACE_NAME, false},
    {K("cat"), TRACE_CAT, false},
    {K("ph"), TRACE_PH, false},
    {K("ts"), TRACE_TS, false},
    {K("pid"), TRACE_PID, false},
    {K("SeqNum"), TRACE_SEQ_NUM, true},
    {K("CommHash"), TRACE_COMM_HASH, true},
    {K("Rank"), TRACE_RANK, true},
    {K("Peer"), TRACE_PEER, true},
    {K("Count"), TRACE_COUNT, true},
    {K("Datatype"), TRACE_DATATYPE, true},
    {K("Algorithm"), TRACE_ALGORITHM, true},
    {K("Protocol"), TRACE_PROTOCOL, true},
    {K("nChannels"), TRACE_CHANNELS, true},
    {K("nMaxChannels"), TRACE_CHANNELS, true},
    {K("StartGpuClk"), TRACE_START_CLK, true},
    {K("StopGpuClk"), TRACE_STOP_CLK, true},
    {K("eventId"), TRACE_EVENT_ID, true},
    {K("count"), TRACE_COUNT, true},
    {K("datatype"), TRACE_DATATYPE, true},
    {K("strategy"), TRACE_ALGORITHM, true},
    {K("duration_gpu_us"), TRACE_GPU_US, true},
};

void trace_lex_init(struct trace_lex *lex, trace_fill *fill, void *arg)
{
    lex->fill = fill;
    lex->arg = arg;
    lex->at = lex->end = 0;
    lex->line = 1;
    lex->bytes = 0;
    lex->left = 0;
    lex->why = NULL;
    lex->bad = JP_BAD_SYNTAX;
    lex->eof = lex->failed = lex->closed = lex->binary = false;
}

/* The next byte, which stays; AT_END where there is none. */
static int peek(struct trace_lex *lex)
{
    ssize_t n;

    if (lex->at < lex->end)
        return (unsigned char) lex->buf[lex->at];
    if (lex->eof)
        return AT_END;
    n = lex->fill(lex->arg, lex->buf, sizeof(lex->buf));
    if (n <= 0 || (size_t) n > sizeof(lex->buf)) {
        lex->eof = true;
        lex->failed = n != 0;
        return AT_END;
    }
    lex->at = 0;
    lex->end = (size_t) n;
    lex->bytes += (uint64_t) n;
    return (unsigned char) lex->buf[0];
}

static void take(struct trace_lex *lex)
{
    lex->line += lex->buf[lex->at++] == '\n';
}

/* Inside of an object: AT_END, too, where it is too long. */
static int look(struct trace_lex *lex)
{
    return lex->left ? peek(lex) : AT_END;
}

static bool is_blank(int c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_control(int c)
{
    return c >= 0 && c < 0x20 && !is_blank(c);
}

static void step(struct trace_lex *lex)
{
    lex->left--;
    lex->binary |= is_control(lex->buf[lex->at]);
    take(lex);
}

/* The next byte that is neither blank nor `also`; it stays. */
static int skip(struct trace_lex *lex, int also)
{
    int c;

    while ((c = look(lex)) != AT_END && (is_blank(c) || c == also))
        step(lex);
    return c;
}

static int broken(struct trace_lex *lex, const char *why)
{
    lex->bad = lex->left ? JP_BAD_SYNTAX : JP_BAD_LONG;
    if (!lex->left)
        why = "object longer than 1 MiB";
    else if (lex->eof)
        why = "cut";
    lex->why = why;
    return -1;
}

struct text {
    size_t len;
    bool cut;
    char bytes[TRACE_MAX_TEXT + 1];
};

static void put(struct text *text, int c)
{
    if (text->len < TRACE_MAX_TEXT && c)
        text->bytes[text->len++] = (char) c;
    else
        text->cut = true;
}

/* A string; its first quote is the next byte. Escapes stand for the character
 * behind the backslash. */
static int read_string(struct trace_lex *lex, struct text *text)
{
    int c;

    text->len = 0;
    text->cut = false;
    step(lex);
    while ((c = look(lex)) != '"') {
        if (c == '\\') {
            step(lex);
            c = look(lex);
        }
        if (c == AT_END || c == '\n')
            return broken(lex, "string without an end");
        put(text, c);
        step(lex);
    }
    step(lex);
    text->bytes[text->len] = '\0';
    return 0;
}

/* A number, or any word without quotes. */
static int read_word(struct trace_lex *lex, struct text *text)
{
    int c;

    text->len = 0;
    text->cut = false;
    while ((c = look(lex)) != AT_END && !is_blank(c) &&
           !strchr(",{}[]\":", c)) {
        put(text, c);
        step(lex);
    }
    text->bytes[text->len] = '\0';
    return text->len || text->cut ? 0 : broken(lex, "value missing");
}

/* An object or array that nobody wants. Recurses nowhere. */
static int skip_nested(struct trace_lex *lex)
{
    struct text text;
    size_t depth = 0;
    int c;

    do {
        c = look(lex);
        if (c == AT_END)
            return broken(lex, "object without an end");
        if (c == '"') {
            if (read_string(lex, &text) < 0)
                return -1;
            continue;
        }
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        step(lex);
    } while (depth);
    return 0;
}

static void store(struct trace_fields *fields, bool in_args,
                  const struct text *name, const struct text *value)
{
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        uint32_t bit = UINT32_C(1) << keys[i].key;

        if (keys[i].in_args != in_args || keys[i].len != name->len ||
            memcmp(keys[i].name, name->bytes, name->len) != 0)
            continue;
        fields->has |= bit;
        fields->cut &= ~bit;
        if (value->cut)
            fields->cut |= bit;
        memcpy(fields->text[keys[i].key], value->bytes, value->len + 1);
    }
}

static int read_members(struct trace_lex *lex, struct trace_fields *fields,
                        bool in_args);

static int read_value(struct trace_lex *lex, struct trace_fields *fields,
                      bool in_args, const struct text *name)
{
    struct text value;
    int c = skip(lex, ' ');

    if (c == '{' && !in_args && !strcmp(name->bytes, "args"))
        return read_members(lex, fields, true);
    if (c == '{' || c == '[')
        return skip_nested(lex);
    if ((c == '"' ? read_string(lex, &value) : read_word(lex, &value)) < 0)
        return -1;
    if (!name->cut)
        store(fields, in_args, name, &value);
    return 0;
}

/* From the opening brace to behind the closing one. Its depth is two. */
static int read_members(struct trace_lex *lex, struct trace_fields *fields,
                        bool in_args)
{
    struct text name;
    int c;

    step(lex);
    while ((c = skip(lex, ',')) != '}') {
        if (c != '"')
            return broken(lex, "key missing");
        if (read_string(lex, &name) < 0)
            return -1;
        if (skip(lex, ' ') != ':')
            return broken(lex, "colon missing");
        step(lex);
        if (read_value(lex, fields, in_args, &name) < 0)
            return -1;
    }
    step(lex);
    return 0;
}

/* Behind an object that cannot be read: to the next line, or to an object that
 * begins right here. */
static void resume(struct trace_lex *lex)
{
    int c;

    while ((c = peek(lex)) != AT_END && c != '\n' && c != '{') {
        lex->binary |= is_control(c);
        take(lex);
    }
    if (lex->binary && lex->bad == JP_BAD_SYNTAX)
        lex->bad = JP_BAD_BYTES;
}

/* Past what stands between objects, to the next byte that does not. */
static int between(struct trace_lex *lex)
{
    int c;

    while ((c = peek(lex)) != AT_END &&
           (is_blank(c) || c == ',' || c == '[' || c == ']')) {
        if (!is_blank(c))
            lex->closed = c == ']';
        take(lex);
    }
    return c;
}

enum trace_token trace_lex_next(struct trace_lex *lex,
                                struct trace_fields *fields)
{
    int c = between(lex);

    fields->has = fields->cut = 0;
    for (size_t i = 0; i < TRACE_N_KEYS; i++)
        fields->text[i][0] = '\0';
    fields->line = lex->line;
    if (c == AT_END)
        return lex->failed ? TRACE_FAILED : TRACE_END;
    lex->closed = lex->binary = false;
    lex->left = TRACE_MAX_OBJECT;
    lex->bad = JP_BAD_SYNTAX;
    if (c != '{')
        lex->why = "not an object";
    else if (read_members(lex, fields, false) == 0)
        return TRACE_OBJECT;
    if (lex->failed)
        return TRACE_FAILED;
    resume(lex);
    return TRACE_BROKEN;
}

/* --- by its first bytes --- */

static size_t skip_blanks(const char *bytes, size_t i, size_t n)
{
    while (i < n && bytes[i] && strchr(" \t\r\n", bytes[i]))
        i++;
    return i;
}

bool trace_lex_begins(const char *bytes, size_t n)
{
    static const char *const first[] = {"\"name\"", "\"cat\"",  "\"ph\"",
                                        "\"ts\"",   "\"pid\"",  "\"tid\"",
                                        "\"id\"",   "\"args\"", "}"};
    size_t i = skip_blanks(bytes, 0, n);

    if (i == n || bytes[i] != '[')
        return false;
    i = skip_blanks(bytes, i + 1, n);
    if (i == n)
        return true;
    if (bytes[i] != '{')
        return false;
    i = skip_blanks(bytes, i + 1, n);
    for (size_t k = 0; k < sizeof(first) / sizeof(*first); k++) {
        size_t len = strlen(first[k]);

        if (!memcmp(bytes + i, first[k], n - i < len ? n - i : len))
            return true;
    }
    return false;
}
