/* trace_read.c - reads a trace: bytes become objects, and events of one
 * operation are put together.
 *
 * The first half is the lexer: trace_lex_next() reads one object of the array
 * and keeps the members that are in `keys`. The second half, trace_read_next(),
 * adds up what the events between "b" and "e" of an operation say:
 * take_begin(), take_child(), settle_operation(). example_reader.h describes
 * the format.
 */
#include "plugins/nccl_example/example_reader.h"

#include <string.h>

#include "common/num.h"

/* --- a trace, byte by byte ------------------------------------------------ */

enum { AT_END = -1 };

/* A name and its length. */
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

/* Sets the members one by one: `buf` need not be cleared. */
static void trace_lex_init(struct trace_lex *lex, trace_fill *fill, void *arg)
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

/* Returns the next byte without taking it, or AT_END where there is none. */
static int peek(struct trace_lex *lex)
{
    ssize_t n;

    if (lex->at < lex->end)
        return (unsigned char) lex->buf[lex->at];
    if (lex->eof)
        return AT_END;
    n = lex->fill(lex->arg, lex->buf, sizeof(lex->buf));
    /* the end, a failure, or a source that breaks its word */
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

/* Takes the byte that peek() has seen. */
static void take_byte(struct trace_lex *lex)
{
    lex->line += lex->buf[lex->at++] == '\n';
}

/* As peek(), within an object; also AT_END where the object is too long. */
static int peek_inside(struct trace_lex *lex)
{
    return lex->left ? peek(lex) : AT_END;
}

static bool is_blank(int c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Returns whether a byte is a control character, which a text file has not. */
static bool is_control(int c)
{
    return c >= 0 && c < 0x20 && !is_blank(c);
}

/* Takes a byte of an object. */
static void step(struct trace_lex *lex)
{
    lex->left--;
    lex->binary |= is_control(lex->buf[lex->at]);
    take_byte(lex);
}

/* Skips blanks and `also`. Returns the next other byte without taking it. */
static int skip(struct trace_lex *lex, int also)
{
    int c;

    while ((c = peek_inside(lex)) != AT_END && (is_blank(c) || c == also))
        step(lex);
    return c;
}

/* Sets why the object is refused. Its length and the end of the file explain
 * more than the place where they were met. Returns -1. */
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

/* A string or word, as far as it is kept. */
struct text {
    size_t len;
    bool cut;
    char bytes[TRACE_MAX_TEXT + 1];
};

/* Adds a byte, up to the limit. A NUL counts as cut, as texts end with one. */
static void put_byte(struct text *text, int c)
{
    if (text->len < TRACE_MAX_TEXT && c)
        text->bytes[text->len++] = (char) c;
    else
        text->cut = true;
}

/* Reads a string; its first quote is the next byte. An escape becomes the
 * character after the backslash. */
static int read_string(struct trace_lex *lex, struct text *text)
{
    int c;

    text->len = 0;
    text->cut = false;
    step(lex);
    while ((c = peek_inside(lex)) != '"') {
        if (c == '\\') {
            step(lex);
            c = peek_inside(lex);
        }
        /* a string does not span lines: the rest of this one is damaged */
        if (c == AT_END || c == '\n')
            return broken(lex, "string without an end");
        put_byte(text, c);
        step(lex);
    }
    step(lex);
    text->bytes[text->len] = '\0';
    return 0;
}

/* Reads a number, or any word without quotes. */
static int read_word(struct trace_lex *lex, struct text *text)
{
    int c;

    text->len = 0;
    text->cut = false;
    while ((c = peek_inside(lex)) != AT_END && !is_blank(c) &&
           !strchr(",{}[]\":", c)) {
        put_byte(text, c);
        step(lex);
    }
    text->bytes[text->len] = '\0';
    return text->len || text->cut ? 0 : broken(lex, "value missing");
}

/* Skips a nested object or array, without recursion. Braces and brackets need
 * not match, as nothing inside is used. */
static int skip_nested(struct trace_lex *lex)
{
    struct text text;
    size_t depth = 0;
    int c;

    do {
        c = peek_inside(lex);
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

/* Keeps the value of a known key. The last one of a key counts. */
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

/* Reads a value. Only "args" of the event itself is looked into. */
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
    if (!name->cut) /* a name that long is none of ours */
        store(fields, in_args, name, &value);
    return 0;
}

/* Reads from the opening brace to after the closing one. Recurses once, for
 * "args". */
static int read_members(struct trace_lex *lex, struct trace_fields *fields,
                        bool in_args)
{
    struct text name;
    int c;

    step(lex);
    /* commas are skipped like blanks, however many there are */
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

/* After an object that cannot be read: skips to the next line, or to an object
 * that begins here. */
static void resume(struct trace_lex *lex)
{
    int c;

    while ((c = peek(lex)) != AT_END && c != '\n' && c != '{') {
        lex->binary |= is_control(c);
        take_byte(lex);
    }
    if (lex->binary && lex->bad == JP_BAD_SYNTAX)
        lex->bad = JP_BAD_BYTES;
}

/* Skips what is between objects. Returns the next byte without taking it.
 * `closed` remembers whether the last thing was a closing bracket. */
static int between(struct trace_lex *lex)
{
    int c;

    while ((c = peek(lex)) != AT_END &&
           (is_blank(c) || c == ',' || c == '[' || c == ']')) {
        if (!is_blank(c))
            lex->closed = c == ']';
        take_byte(lex);
    }
    return c;
}

/* Reads the next object of the array into *fields. */
static enum trace_token trace_lex_next(struct trace_lex *lex,
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
    lex->left = TRACE_MAX_OBJECT; /* a fresh limit for each object */
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

/* --- by its first bytes --------------------------------------------------- */

/* Returns the place of the next byte that is not blank. */
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
    if (i == n) /* an empty or cut array */
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

/* --- events of one operation, put together -------------------------------- */

static const struct {
    const char *name;
    const char *number; /* as 2.23 writes it */
    uint64_t bytes;
} datatypes[] = {
    {"ncclInt8", "0", 1},        {"ncclUint8", "1", 1},
    {"ncclInt32", "2", 4},       {"ncclUint32", "3", 4},
    {"ncclInt64", "4", 8},       {"ncclUint64", "5", 8},
    {"ncclFloat16", "6", 2},     {"ncclFloat32", "7", 4},
    {"ncclFloat64", "8", 8},     {"ncclBfloat16", "9", 2},
    {"ncclFloat8e4m3", "10", 1}, {"ncclFloat8e5m2", "11", 1},
    {"Unknown", "", 1},
};

/* Returns the bytes of one element of a datatype as a trace names it
 * ("ncclBfloat16"; the enum's number up to 2.23); 0: unknown. "Unknown" is
 * NCCL's name for ncclUint8. */
static uint64_t trace_read_elem_bytes(const char *datatype)
{
    for (size_t i = 0; *datatype && i < sizeof(datatypes) / sizeof(*datatypes);
         i++)
        if (!strcmp(datatypes[i].name, datatype) ||
            !strcmp(datatypes[i].number, datatype))
            return datatypes[i].bytes;
    return 0;
}

void trace_read_init(struct trace_reader *reader, trace_fill *fill, void *arg)
{
    trace_lex_init(&reader->lex, fill, arg);
    reader->is_open = reader->bad_next = false;
    reader->events = reader->others = 0;
    memset(reader->pools, 0, sizeof(reader->pools));
    reader->cut = false;
    reader->why = NULL;
    reader->bad = JP_BAD_SYNTAX;
    reader->line = 0;
}

/* Returns whether a value is there and was not cut. */
static bool has(const struct trace_fields *f, enum trace_key key)
{
    return f->has >> key & 1 && !(f->cut >> key & 1);
}

/* Reads an unsigned number; returns false unless it is there in full. */
static bool number(const struct trace_fields *f, enum trace_key key,
                   uint64_t *out)
{
    return has(f, key) &&
           num_parse_u64(f->text[key], 0, UINT64_MAX, out, NULL) == 0;
}

/* Returns the first three digits of a fraction; missing ones count as 0. */
static uint64_t thousandths(const char *digits)
{
    uint64_t value = 0;

    for (int i = 0; i < 3; i++) {
        bool more = *digits >= '0' && *digits <= '9';

        value = value * 10 + (more ? (uint64_t) (*digits - '0') : 0);
        digits += more;
    }
    return value;
}

/* Returns ts ("57.589999" microseconds) in ns; 0: absent, bad or never set. */
static uint64_t time_ns(const struct trace_fields *f)
{
    const char *text = f->text[TRACE_TS], *dot = strchr(text, '.');
    size_t whole = dot ? (size_t) (dot - text) : strlen(text);
    char digits[TRACE_MAX_TEXT + 1];
    uint64_t us;

    if (!has(f, TRACE_TS))
        return 0;
    memcpy(digits, text, whole);
    digits[whole] = '\0';
    if ((dot && dot[1 + strspn(dot + 1, "0123456789")]) ||
        num_parse_u64(digits, 0, UINT64_MAX / 1000 - 1, &us, NULL) < 0)
        return 0;
    return us * 1000 + (dot ? thousandths(dot + 1) : 0);
}

/* Returns whether a value is this text; false if it is absent. */
static bool is(const struct trace_fields *f, enum trace_key key,
               const char *text)
{
    return !strcmp(f->text[key], text);
}

/* Returns what kind of mistake a refused number is. */
static enum jp_bad kind_of(const struct trace_fields *f, enum trace_key key)
{
    const char *text = f->text[key];

    return !(f->has >> key & 1) ? JP_BAD_MISSING
           : f->cut >> key & 1  ? JP_BAD_VALUE
           : strlen(text) == 0  ? JP_BAD_TYPE
                                : badkind_of_number(text, strlen(text), true);
}

/* Sets the kind of a mistake and returns the reason. Bytes that are not text
 * explain any mistake. */
static const char *refuse(struct trace_reader *r, enum jp_bad bad,
                          const char *why)
{
    r->bad = r->lex.binary ? JP_BAD_BYTES : bad;
    return why;
}

/* Takes hash and rank of the communicator; both may be absent. Returns NULL, or
 * why they are bad. */
static const char *take_comm(struct trace_reader *r, struct trace_op *op)
{
    const struct trace_fields *f = &r->fields;
    bool has_hash = number(f, TRACE_COMM_HASH, &op->comm_hash);

    op->has_comm = has_hash && number(f, TRACE_RANK, &op->rank);
    if (op->has_comm || !(f->has & (1u << TRACE_COMM_HASH | 1u << TRACE_RANK)))
        return NULL;
    return refuse(r, kind_of(f, has_hash ? TRACE_RANK : TRACE_COMM_HASH),
                  "bad \"CommHash\" or \"Rank\"");
}

/* Takes count and datatype. Returns NULL, or why they are bad. */
static const char *take_size(struct trace_reader *r, struct trace_op *op)
{
    const struct trace_fields *f = &r->fields;

    if (!number(f, TRACE_COUNT, &op->count))
        return refuse(r, kind_of(f, TRACE_COUNT), "bad \"Count\"");
    if (has(f, TRACE_DATATYPE))
        op->elem_bytes = trace_read_elem_bytes(f->text[TRACE_DATATYPE]);
    if (!op->elem_bytes)
        return refuse(
            r, f->has >> TRACE_DATATYPE & 1 ? JP_BAD_VALUE : JP_BAD_MISSING,
            "unknown \"Datatype\"");
    return NULL;
}

/* Takes the "b" event of an operation. Returns NULL, or what is missing or bad.
 */
static const char *take_begin(struct trace_reader *r, struct trace_op *op)
{
    const struct trace_fields *f = &r->fields;
    const char *func = f->text[TRACE_NAME], *why;
    uint64_t pid;

    *op = (struct trace_op){.p2p = is(f, TRACE_CAT, "P2P"),
                            .ce = is(f, TRACE_CAT, "CE_COLL"),
                            .start_ns = time_ns(f),
                            .line = f->line,
                            .pid = -1};
    if (!strncmp(func, "nccl", 4)) /* 2.23 */
        func += 4;
    if (!has(f, TRACE_NAME) || !*func)
        return refuse(r, JP_BAD_MISSING, "no name");
    memcpy(op->func, func, strlen(func) + 1);
    memcpy(op->algo, f->text[TRACE_ALGORITHM], sizeof(op->algo));
    memcpy(op->proto, f->text[TRACE_PROTOCOL], sizeof(op->proto));
    why = take_comm(r, op);
    if (why)
        return why;
    if (op->p2p && !number(f, TRACE_PEER, &op->peer))
        return refuse(r, kind_of(f, TRACE_PEER), "bad \"Peer\"");
    if (op->ce && !number(f, TRACE_EVENT_ID, &op->seq))
        return refuse(r, kind_of(f, TRACE_EVENT_ID), "bad \"eventId\"");
    if (!op->p2p && !op->ce && !number(f, TRACE_SEQ_NUM, &op->seq))
        return refuse(r, kind_of(f, TRACE_SEQ_NUM), "bad \"SeqNum\"");
    why = take_size(r, op);
    if (why)
        return why;
    /* useful, but not needed */
    if (!number(f, TRACE_CHANNELS, &op->channels))
        op->channels = 0;
    if (number(f, TRACE_PID, &pid) && pid <= INT32_MAX)
        op->pid = (int64_t) pid;
    return NULL;
}

/* Keeps the longest span, and counts the valid ones. */
static void keep_longest(uint64_t *longest, uint32_t *n, uint64_t from,
                         uint64_t to)
{
    if (!from || to <= from)
        return;
    ++*n;
    if (to - from > *longest)
        *longest = to - from;
}

/* Takes a channel's begin or end. The GPU's clock is in the begin, the host's
 * span needs both. Channels follow each other in the file, so one open begin is
 * enough. */
static void take_kernel(struct trace_children *c, const struct trace_fields *f,
                        bool begins)
{
    uint64_t start, stop;

    if (!begins) {
        keep_longest(&c->host_ns, &c->host_timed, c->kernel_begin_ns,
                     time_ns(f));
        c->kernel_begin_ns = 0;
        return;
    }
    c->kernels++;
    c->kernel_begin_ns = time_ns(f);
    if (number(f, TRACE_START_CLK, &start) && number(f, TRACE_STOP_CLK, &stop))
        keep_longest(&c->gpu_ns, &c->gpu_timed, start, stop);
}

/* Takes a ProxyOp's begin or end. */
static void take_proxy(struct trace_children *c, const struct trace_fields *f,
                       bool begins)
{
    uint64_t now = time_ns(f);

    c->proxy_unsure |= !now;
    if (begins) {
        if (!c->proxy_begun++ || now < c->proxy_first_ns)
            c->proxy_first_ns = now;
    } else {
        c->proxy_ended++;
        if (now > c->proxy_last_ns)
            c->proxy_last_ns = now;
    }
}

/* Decides how long the operation took, closes it and copies it to *out. */
static void settle_operation(struct trace_reader *r, bool ended,
                             struct trace_op *out)
{
    const struct trace_children *c = &r->children;
    struct trace_op *op = &r->op;

    r->is_open = false;
    op->ended = ended;
    op->kernels = c->kernels;
    if (!ended) {
        op->time = TRACE_TIME_NONE; /* the longest channel may be missing */
    } else if (op->ce) {
        op->time = c->ce_ns ? TRACE_TIME_GPU : TRACE_TIME_NONE;
        op->exec_ns = c->ce_ns;
    } else if (c->gpu_timed) { /* best source first */
        op->time = TRACE_TIME_GPU;
        op->exec_ns = c->gpu_ns;
        op->kernels_timed = c->gpu_timed;
    } else if (c->host_timed) {
        op->time = TRACE_TIME_HOST;
        op->exec_ns = c->host_ns;
        op->kernels_timed = c->host_timed;
    } else if (c->proxy_begun && c->proxy_begun == c->proxy_ended &&
               !c->proxy_unsure && c->proxy_last_ns > c->proxy_first_ns) {
        op->time = TRACE_TIME_PROXY;
        op->exec_ns = c->proxy_last_ns - c->proxy_first_ns;
    }
    *out = *op;
}

/* Reports a bad object at its line. */
static enum trace_status bad(struct trace_reader *r, const char *why)
{
    r->why = why;
    r->line = r->fields.line;
    return TRACE_OP_BAD;
}

/* Counts the event, and by its "b" the use of the pools. */
static void count_event(struct trace_reader *r)
{
    static const char *const categories[TRACE_POOLS] = {
        [TRACE_COLL] = "COLL",
        [TRACE_P2P] = "P2P",
        [TRACE_GROUP_API] = "GROUP_API",
        [TRACE_GROUP] = "GROUP",
    };

    r->events++;
    for (unsigned i = 0; i < TRACE_POOLS && is(&r->fields, TRACE_PH, "b"); i++)
        r->pools[i] += is(&r->fields, TRACE_CAT, categories[i]);
}

/* Returns the time in a CE_COLL's "b", or 0. */
static uint64_t ce_time_ns(const struct trace_fields *f)
{
    uint64_t us;

    return number(f, TRACE_GPU_US, &us) && us < UINT64_MAX / 1000 ? us * 1000
                                                                  : 0;
}

/* Returns whether the event is an operation. */
static bool is_op(const struct trace_fields *f)
{
    return is(f, TRACE_CAT, "COLL") || is(f, TRACE_CAT, "P2P") ||
           is(f, TRACE_CAT, "CE_COLL");
}

/* Takes a part of the open operation. */
static void take_child(struct trace_reader *r, bool begins)
{
    const struct trace_fields *f = &r->fields;

    if (is(f, TRACE_CAT, "GPU"))
        take_kernel(&r->children, f, begins);
    else if (is(f, TRACE_CAT, "PROXY"))
        take_proxy(&r->children, f, begins);
}

/* Takes the event in r->fields. Returns true if *status is the answer for the
 * caller. An operation that begins while another one is open closes that one.
 */
static bool take_event(struct trace_reader *r, struct trace_op *out,
                       enum trace_status *status)
{
    const struct trace_fields *f = &r->fields;
    bool begins = is(f, TRACE_PH, "b"), ends = is(f, TRACE_PH, "e");
    bool was_open = r->is_open;
    struct trace_op next;
    const char *why;

    if (!begins && !ends)
        return false;
    if (!is_op(f)) {
        if (was_open)
            take_child(r, begins);
        return false;
    }
    *status = TRACE_OP;
    if (ends) {
        if (!time_ns(f)) /* never ended: the time is an old one */
            r->children.ce_ns = 0;
        if (was_open)
            settle_operation(r, true, out);
        return was_open;
    }
    /* a begin: close the open operation, then open this one if it is good */
    why = take_begin(r, &next);
    if (was_open)
        settle_operation(r, false, out);
    r->is_open = !why;
    r->op = next;
    r->children = (struct trace_children){.ce_ns = ce_time_ns(f)};
    if (why)
        *status = bad(r, why);
    r->bad_next = why && was_open; /* the closed operation is reported first,
                                      the mistake with the next call */
    if (was_open)
        *status = TRACE_OP;
    return why || was_open;
}

enum trace_status trace_read_next(struct trace_reader *r, struct trace_op *out)
{
    enum trace_status status = TRACE_OP_END;
    enum trace_token token;

    if (r->bad_next) { /* left over from the last call */
        r->bad_next = false;
        return TRACE_OP_BAD;
    }
    while ((token = trace_lex_next(&r->lex, &r->fields)) == TRACE_OBJECT) {
        if (!has(&r->fields, TRACE_CAT)) {
            r->others += r->fields.has != 0; /* the one at the end is empty */
            continue;
        }
        count_event(r);
        if (take_event(r, out, &status))
            return status;
    }
    /* a broken object at the end of the file is just cut */
    if (token == TRACE_BROKEN && !r->lex.eof) {
        r->bad = r->lex.bad;
        return bad(r, r->lex.why);
    }
    /* the end of the file; an open operation is its last one */
    r->cut = !r->lex.closed;
    if (r->is_open) {
        settle_operation(r, false, out);
        return TRACE_OP;
    }
    return token == TRACE_FAILED ? TRACE_OP_FAILED : TRACE_OP_END;
}
