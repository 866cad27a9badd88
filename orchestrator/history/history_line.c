/* history_line.c - the table that describes a line of the history, and
 * conversion of steps to lines and back.
 *
 * A line is one JSON object. The parser is written by hand instead of using
 * jansson, because millions of lines are read: it works in place, allocates
 * nothing, and fills the struct by the table. It accepts lines of newer
 * releases (unknown members are skipped) and refuses everything else with the
 * column of the error. */
#include "orchestrator/history/history.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_stream.h"
#include "common/quote.h"

/* --- the table ------------------------------------------------------------ */

#define AT(member) .at = offsetof(struct history_step, member)
#define OF(type, member) .at = offsetof(struct history_##type, member)
#define ROWS(member, table, n)                                                 \
    .at = offsetof(struct history_step, member), .rows = (table),              \
    .size = sizeof(((struct history_step *) 0)->member[0]), .max = (n),        \
    .n_at = offsetof(struct history_step, n_##member)

/* clang-format off */
static const struct history_field findings[] = {
    {"kind", HISTORY_WORD, "", "as in summary.json", OF(finding, kind)},
    {"node", HISTORY_WORD, "", "where", OF(finding, node)},
    {"rank", HISTORY_COUNT, "", "in the job", OF(finding, rank)},
    {"wait_s", HISTORY_REAL, "s", "GPU time for which others waited for it", OF(finding, wait_s)},
    {"share", HISTORY_REAL, "0 to 1", "of the communication time of the ranks concerned", OF(finding, share)},
    {"cause", HISTORY_WORD, "", "the strongest that coincides with it", OF(finding, cause)},
    {"coll", HISTORY_WORD, "", "NCCL's function; absent: several", OF(finding, coll)},
    {0}};

static const struct history_field nets[] = {
    {"over", HISTORY_WORD, "", "between NVLink domains, else inside one (measuring.md)", OF(net, over)},
    {"coll", HISTORY_WORD, "", "NCCL's function", OF(net, coll)},
    {"size_bytes", HISTORY_COUNT, "bytes", "least size of the class", OF(net, size_bytes)},
    {"ops", HISTORY_COUNT, "", "operations", OF(net, ops)},
    {"busbw_gbs", HISTORY_REAL, "GB/s", "median of the network's own bandwidth", OF(net, busbw_gbs)},
    {0}};

static const struct history_field pairs[] = {
    {"from", HISTORY_WORD, "", "node that sends", OF(pair, from)},
    {"to", HISTORY_WORD, "", "node that receives", OF(pair, to)},
    {"bytes", HISTORY_COUNT, "bytes", "sent", OF(pair, bytes)},
    {"busbw_gbs", HISTORY_REAL, "GB/s", "over their messages", OF(pair, busbw_gbs)},
    {0}};

static const struct history_field loaded[] = {
    {"name", HISTORY_WORD, "", "of the library, as job.frameworks has it", OF(named, name)},
    {"version", HISTORY_WORD, "", "absent: not known", OF(named, value)},
    {0}};

static const struct history_field labels[] = {
    {"key", HISTORY_WORD, "", "of the label", OF(named, name)},
    {"value", HISTORY_WORD, "", "the user's own words", OF(named, value)},
    {0}};

static const struct history_field axes[] = {
    {"axis", HISTORY_WORD, "", "tp, pp, dp, cp or ep: tensor, pipeline, data, context, expert", OF(axis, axis)},
    {"ranks", HISTORY_COUNT, "", "of each of its communicators", OF(axis, ranks)},
    {0}};

const struct history_field history_fields[] = {
    {"v", HISTORY_COUNT, "", "version of the line: 1", AT(version), true},
    {"time_us", HISTORY_CLOCK, "us since 1970", "start of the step", AT(time_us), true},
    {"written_us", HISTORY_CLOCK, "us since 1970", "when its report was written", AT(written_us)},
    {"job", HISTORY_COUNT, "", "Slurm's number", AT(job), true},
    {"step", HISTORY_WORD, "", "Slurm's name of the step", AT(step)},
    {"restart", HISTORY_COUNT, "", "how often the job was requeued", AT(restart)},
    {"user", HISTORY_WORD, "", "user name; readers of a sink use the folder's owner", AT(user)},
    {"account", HISTORY_WORD, "", "Slurm's", AT(account)},
    {"partition", HISTORY_WORD, "", "Slurm's", AT(partition)},
    {"name", HISTORY_WORD, "", "of the job", AT(name)},
    {"nodelist", HISTORY_WORD, "", "the step's nodes, as Slurm writes them", AT(nodelist)},
    {"nodes", HISTORY_COUNT, "", "number of nodes", AT(nodes)},
    {"tasks", HISTORY_COUNT, "", "of the step", AT(tasks)},
    {"verdict", HISTORY_WORD, "", "the report's word", AT(verdict), true},
    {"judged", HISTORY_FLAG, "", "late ranks were looked for with enough data", AT(judged)},
    {"coverage", HISTORY_REAL, "0 to 1", "of the expected records", AT(coverage)},
    {"wait_s", HISTORY_REAL, "s", "GPU time for which ranks waited for late ones, of all findings", AT(wait_s)},
    {"gpus", HISTORY_COUNT, "", "GPUs that were sampled", AT(gpus)},
    {"gpu_s", HISTORY_REAL, "s", "sampled time of the GPUs", AT(gpu_s)},
    {"gpu_busy", HISTORY_REAL, "0 to 1", "share of that time in which a kernel ran, mean", AT(gpu_busy)},
    {"gpu_busy_max", HISTORY_REAL, "0 to 1", "largest sample of a GPU", AT(gpu_busy_max)},
    {"gpu_memory_max_bytes", HISTORY_REAL, "bytes", "largest use of a GPU's memory", AT(gpu_memory_max_bytes)},
    {"gpu_power_w", HISTORY_REAL, "W", "power of a GPU, mean", AT(gpu_power_w)},
    {"cpu_cores", HISTORY_REAL, "cores", "processors used by the step's programs on a node, mean", AT(cpu_cores)},
    {"cpu_cores_max", HISTORY_REAL, "cores", "largest sample", AT(cpu_cores_max)},
    {"memory_max_bytes", HISTORY_REAL, "bytes", "memory of the step on a node, largest sample", AT(memory_max_bytes)},
    {"node_busy", HISTORY_REAL, "cores", "busy processors of a node, by any user, mean", AT(node_busy)},
    {"net_in_max_bps", HISTORY_REAL, "bytes/s", "traffic into a node, largest sample", AT(net_in_max_bps)},
    {"net_out_max_bps", HISTORY_REAL, "bytes/s", "traffic out of a node, largest sample", AT(net_out_max_bps)},
    {"mode", HISTORY_WORD, "", "how NCCL was profiled", AT(mode)},
    {"nccl", HISTORY_WORD, "", "release that the tasks had loaded", AT(nccl)},
    {"slurm", HISTORY_WORD, "", "release", AT(slurm)},
    {"jobprof", HISTORY_WORD, "", "release that wrote the report", AT(jobprof)},
    {"overhead", HISTORY_REAL, "0 to 1", "share of the processes' time that the recorder used", AT(overhead)},
    {"report_s", HISTORY_REAL, "s", "time of the report's analysis", AT(report_s)},
    {"findings", HISTORY_ROWS, "", "worst first, at most 16", ROWS(findings, findings, HISTORY_FINDINGS)},
    {"net", HISTORY_ROWS, "", "bandwidth by kind: for each network and function the size with most time, at most 12", ROWS(nets, nets, HISTORY_NETS)},
    {"pairs", HISTORY_ROWS, "", "Send and Recv between nodes, those with most data, at most 32", ROWS(pairs, pairs, HISTORY_PAIRS)},
    {"frameworks", HISTORY_ROWS, "", "what the tasks had loaded, at most 16", ROWS(loaded, loaded, HISTORY_LOADED)},
    {"labels", HISTORY_ROWS, "", "the user's words on the run, at most 16", ROWS(labels, labels, HISTORY_LABELS)},
    {"world_size", HISTORY_COUNT, "", "ranks of the program, where its communicators show it", AT(world_size)},
    {"axes", HISTORY_ROWS, "", "how the program divides its work, where its communicators show it, at most 8", ROWS(axes, axes, HISTORY_AXES)},
    {0}};
/* clang-format on */

/* --- members of a struct by the table ------------------------------------- */

/* Returns the address of a member in the struct that the table describes. */
static void *member(const struct history_field *f, const void *base)
{
    return (char *) (uintptr_t) base + f->at;
}

/* Returns the address of the number of rows of an array. */
static size_t *rows_of(const struct history_field *f, const void *step)
{
    return (size_t *) (void *) ((char *) (uintptr_t) step + f->n_at);
}

/* Sets all members to their unknown values. */
static void set_unknown(const struct history_field *f, void *base)
{
    for (; f->kind; f++)
        switch (f->kind) {
        case HISTORY_WORD:
            *(struct history_text *) member(f, base) =
                (struct history_text){"", 0};
            break;
        case HISTORY_REAL:
            *(double *) member(f, base) = NAN;
            break;
        case HISTORY_ROWS:
            *rows_of(f, base) = 0;
            break;
        default:
            *(uint64_t *) member(f, base) = UINT64_MAX;
        }
}

void history_step_init(struct history_step *step)
{
    set_unknown(history_fields, step);
    step->version = HISTORY_VERSION;
}

const char *history_text_copy(struct history_text text, char *buf, size_t size)
{
    char raw[HISTORY_TEXT + 1];
    /* a line may have longer texts, of which the beginning is enough */
    size_t n = text.len < sizeof(raw) ? text.len : sizeof(raw) - 1;

    memcpy(raw, text.at, n);
    raw[n] = '\0';
    return clean_text(raw, JP_CLEAN_UTF8, buf, size);
}

/* --- a line from a step --------------------------------------------------- */

/* Writes a text. An empty text is unknown and omitted. */
static void put_word(struct jp_json_stream *s, const char *key,
                     struct history_text text)
{
    char *whole = text.len ? strndup(text.at, text.len) : NULL;

    if (whole)
        json_stream_text(s, key, whole);
    /* without memory the line is not written */
    else if (text.len)
        s->failed = true;
    free(whole);
}

/* Writes all known members of a struct. */
static void put_members(struct jp_json_stream *s, const struct history_field *f,
                        const void *base)
{
    for (; f->kind; f++) {
        const void *at = member(f, base);

        /* a member with an unknown value is omitted */
        if (f->kind == HISTORY_WORD) {
            put_word(s, f->key, *(const struct history_text *) at);
        } else if (f->kind == HISTORY_REAL) {
            if (isfinite(*(const double *) at))
                json_stream_real(s, f->key, *(const double *) at);
        } else if (f->kind == HISTORY_ROWS) {
            size_t n = *rows_of(f, base);

            if (n)
                json_stream_array(s, f->key);
            for (size_t i = 0; i < n; i++) {
                json_stream_object(s, NULL);
                put_members(s, f->rows, (const char *) at + i * f->size);
                json_stream_end_object(s);
            }
            if (n)
                json_stream_end_array(s);
        } else if (*(const uint64_t *) at != UINT64_MAX) {
            if (f->kind == HISTORY_FLAG)
                json_stream_bool(s, f->key, *(const uint64_t *) at);
            else
                json_stream_count(s, f->key, *(const uint64_t *) at);
        }
    }
}

int history_line_put(const struct history_step *step, FILE *out,
                     struct jp_error *err)
{
    struct jp_json_stream s;

    /* in one line, without a break at the end */
    json_stream_open(&s, JSON_PART, out);
    put_members(&s, history_fields, step);
    if (json_stream_close(&s, err) < 0)
        return -1;
    return putc('\n', out) == EOF ? error_set(err, "cannot be written: %m") : 0;
}

/* --- a step from a line --------------------------------------------------- */

/* Limit of nesting in the value of an unknown member. */
#define DEPTH 16

/* The parser's position in a line. */
struct scan {
    char *start, *at, *end; /* *end may be written to: it was the line break */
    struct jp_error *err;
};

/* Reports an error with a few bytes of the text at `at`. */
static int wrong(const struct scan *s, const char *at, const char *what)
{
    char shown[24];
    size_t n = (size_t) (s->end - at);

    /* the line may be long and contain anything */
    n = n < sizeof(shown) - 1 ? n : sizeof(shown) - 1;
    memcpy(shown, at, n);
    shown[n] = '\0';
    return error_set(s->err, "%zu: %s at \"%s\"", (size_t) (at - s->start) + 1,
                     what, QUOTE(shown));
}

static void skip_blanks(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t'))
        s->at++;
}

/* Takes the character, after blanks, if it is there. */
static bool take_char(struct scan *s, char c)
{
    skip_blanks(s);
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

/* Parses four hexadecimal digits. Returns -1 for anything else. */
static int hex4(const char *at, const char *end, uint32_t *value)
{
    uint32_t v = 0;

    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = at[i];

        if (c >= '0' && c <= '9')
            v = v << 4 | (uint32_t) (c - '0');
        /* | 32 makes a letter lower-case */
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            v = v << 4 | (uint32_t) ((c | 32) - 'a' + 10);
        else
            return -1;
    }
    *value = v;
    return 0;
}

/* Writes a character as UTF-8, which is never longer than its escape. */
static char *put_point(char *to, uint32_t v)
{
    /* control characters and halves of surrogate pairs become '?' */
    if (v < 0x20 || v == 0x7f || (v >= 0xd800 && v < 0xe000)) {
        *to++ = '?';
    } else if (v < 0x80) {
        *to++ = (char) v;
    } else if (v < 0x800) {
        *to++ = (char) (0xc0 | v >> 6);
        *to++ = (char) (0x80 | (v & 63));
    } else if (v < 0x10000) {
        *to++ = (char) (0xe0 | v >> 12);
        *to++ = (char) (0x80 | (v >> 6 & 63));
        *to++ = (char) (0x80 | (v & 63));
    } else {
        *to++ = (char) (0xf0 | v >> 18);
        *to++ = (char) (0x80 | (v >> 12 & 63));
        *to++ = (char) (0x80 | (v >> 6 & 63));
        *to++ = (char) (0x80 | (v & 63));
    }
    return to;
}

/* Handles the escape after the backslash at s->at. */
static int unescape(struct scan *s, char **to)
{
    static const char plain[] = "\"\\/", control[] = "bfnrt";
    uint32_t v, low;
    char c = s->at + 1 < s->end ? s->at[1] : '\0';

    if (c && strchr(plain, c)) {
        *(*to)++ = c;
    } else if (c && strchr(control, c)) {
        *(*to)++ = '?';
    } else if (c == 'u' && hex4(s->at + 2, s->end, &v) == 0) {
        s->at += 4;
        /* the first half of a surrogate pair needs the second one */
        if (v >= 0xd800 && v < 0xdc00 && s->end - s->at >= 8 &&
            s->at[2] == '\\' && s->at[3] == 'u' &&
            hex4(s->at + 4, s->end, &low) == 0 && low >= 0xdc00 &&
            low < 0xe000) {
            v = 0x10000 + ((v - 0xd800) << 10 | (low - 0xdc00));
            s->at += 6;
        }
        *to = put_point(*to, v);
    } else {
        return wrong(s, s->at, "bad escape");
    }
    /* the backslash and the letter */
    s->at += 2;
    return 0;
}

/* Whether a byte of a string stands for itself. */
static bool is_plain(char c)
{
    return (unsigned char) c >= 0x20 && c != '"' && c != '\\' && c != 0x7f;
}

/* Parses a string and unescapes it in place: the result is never longer than
 * its source. */
static int take_text(struct scan *s, struct history_text *text)
{
    char *begin, *to;

    if (!take_char(s, '"'))
        return wrong(s, s->at, "needs a text");
    /* most strings have no escapes and need not be moved */
    for (begin = s->at; s->at < s->end && is_plain(*s->at); s->at++)
        ;
    for (to = s->at; s->at < s->end && *s->at != '"';) {
        if (*s->at == '\\') {
            if (unescape(s, &to) < 0)
                return -1;
        } else {
            *to++ = is_plain(*s->at) ? *s->at : '?';
            s->at++;
        }
    }
    if (s->at == s->end)
        return wrong(s, begin - 1, "a text without end");
    s->at++;
    *text = (struct history_text){begin, (uint32_t) (to - begin)};
    return 0;
}

/* Whether a digit follows. */
static bool is_digit(const struct scan *s)
{
    return s->at < s->end && *s->at >= '0' && *s->at <= '9';
}

/* Returns 10 to the power of exponent >= 0; exact up to 10^22. */
static double ten_to(int exponent)
{
    static const double small[] = {
        1,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

    return exponent < 23 ? small[exponent] : pow(10, exponent);
}

/* Parses a non-negative number. *whole: it has no fraction and fits in
 * *count. */
static int take_number(struct scan *s, double *real, uint64_t *count,
                       bool *whole)
{
    const char *begin;
    uint64_t v = 0;
    int shift = 0, power = 0;
    bool minus;

    skip_blanks(s);
    begin = s->at;
    if (!is_digit(s))
        return wrong(s, s->at, "needs a number from 0 on");
    /* the digits before the point */
    for (*whole = true; is_digit(s); s->at++)
        /* further digits only shift the decimal point */
        if (v > (UINT64_MAX - 9) / 10) {
            shift++;
            *whole = false;
        } else {
            v = v * 10 + (uint64_t) (*s->at - '0');
        }
    if (s->at < s->end && *s->at == '.') {
        *whole = false;
        for (s->at++; is_digit(s); s->at++)
            if (v <= (UINT64_MAX - 9) / 10) {
                v = v * 10 + (uint64_t) (*s->at - '0');
                shift--;
            }
    }
    if (s->at < s->end && (*s->at | 32) == 'e') {
        *whole = false;
        s->at++;
        minus = s->at < s->end && *s->at == '-';
        s->at += s->at < s->end && (*s->at == '-' || *s->at == '+');
        for (; is_digit(s); s->at++)
            /* no overflow, and far beyond the range of a double */
            power = power < 1000 ? power * 10 + (*s->at - '0') : power;
        shift += minus ? -power : power;
    }
    *count = v;
    *real = shift < 0    ? (double) v / ten_to(-shift)
            : shift == 0 ? (double) v
                         : (double) v * ten_to(shift);
    return *real < 1e300 ? 0 : wrong(s, begin, "a number that is too large");
}

/* Takes the word, after blanks, if it is there. */
static bool take_word(struct scan *s, const char *word)
{
    size_t n = strlen(word);

    skip_blanks(s);
    if ((size_t) (s->end - s->at) < n || memcmp(s->at, word, n) != 0)
        return false;
    s->at += n;
    return true;
}

/* Skips the value of an unknown member. */
static int skip_value(struct scan *s, unsigned depth)
{
    struct history_text text;
    double real;
    uint64_t count;
    bool whole, object;

    skip_blanks(s);
    if (s->at == s->end)
        return wrong(s, s->at, "ends too soon");
    if (*s->at == '"')
        return take_text(s, &text);
    if (take_word(s, "null") || take_word(s, "true") || take_word(s, "false"))
        return 0;
    /* an object, an array, or else a number */
    object = *s->at == '{';
    if (!object && *s->at != '[') {
        /* only members of this table forbid negative numbers */
        s->at += *s->at == '-';
        return take_number(s, &real, &count, &whole);
    }
    /* recursion on foreign input is bounded */
    if (depth == DEPTH)
        return wrong(s, s->at, "nested too deeply");
    s->at++;
    if (take_char(s, object ? '}' : ']'))
        return 0;
    do {
        if (object &&
            (take_text(s, &text) < 0 ||
             (!take_char(s, ':') && wrong(s, s->at, "needs a colon"))))
            return -1;
        if (skip_value(s, depth + 1) < 0)
            return -1;
    } while (take_char(s, ','));
    return take_char(s, object ? '}' : ']') ? 0
                                            : wrong(s, s->at, "needs an end");
}

static int take_object(struct scan *s, const struct history_field *table,
                       void *base, unsigned depth);

/* Parses rows; ignores those beyond the table's limit. */
static int take_rows(struct scan *s, const struct history_field *f, void *base)
{
    size_t *n = rows_of(f, base);

    if (!take_char(s, '['))
        return wrong(s, s->at, "needs an array");
    if (take_char(s, ']'))
        return 0;
    do {
        char *row = (char *) member(f, base) + *n * f->size;

        /* rows beyond the limit are read and dropped */
        if (*n == f->max) {
            if (skip_value(s, 1) < 0)
                return -1;
            continue;
        }
        /* the row may be from an earlier line */
        set_unknown(f->rows, row);
        if (take_object(s, f->rows, row, 1) < 0)
            return -1;
        ++*n;
    } while (take_char(s, ','));
    return take_char(s, ']') ? 0 : wrong(s, s->at, "needs an end");
}

/* Parses the value of a known member. */
static int take_value(struct scan *s, const struct history_field *f, void *base)
{
    void *to = member(f, base);
    uint64_t count;
    double real;
    bool whole;
    char *begin;

    skip_blanks(s);
    begin = s->at;
    /* null means unknown, as a missing member does */
    if (take_word(s, "null"))
        return 0;
    switch (f->kind) {
    case HISTORY_WORD:
        /* also the node list, which is longer than other texts */
        if (take_text(s, to) < 0)
            return -1;
        return ((struct history_text *) to)->len <= HISTORY_LIST
                   ? 0
                   : wrong(s, begin, "a text too long");
    case HISTORY_ROWS:
        return take_rows(s, f, base);
    case HISTORY_FLAG:
        if (take_word(s, "true"))
            *(uint64_t *) to = 1;
        else if (take_word(s, "false"))
            *(uint64_t *) to = 0;
        else
            return wrong(s, begin, "needs true or false");
        return 0;
    default:
        if (take_number(s, &real, &count, &whole) < 0)
            return -1;
        if (f->kind == HISTORY_REAL)
            *(double *) to = real;
        else if (!whole || count > INT64_MAX)
            return wrong(s, begin, "needs a whole number");
        else
            *(uint64_t *) to = count;
        return 0;
    }
}

/* Finds a member. Tries next first, because most lines keep the table's
 * order. */
static const struct history_field *find_field(const struct history_field *table,
                                              const struct history_field *next,
                                              struct history_text key)
{
    /* one comparison for most members instead of 40 */
    const struct history_field *f = next;

    do {
        if (!f->kind)
            f = table;
        if (strncmp(f->key, key.at, key.len) == 0 && !f->key[key.len])
            return f;
        f++;
        if (!f->kind)
            f = table;
        /* once around the table */
    } while (f != (next->kind ? next : table));
    return NULL;
}

static int take_object(struct scan *s, const struct history_field *table,
                       void *base, unsigned depth)
{
    const struct history_field *next = table, *f;
    struct history_text key;

    if (!take_char(s, '{'))
        return wrong(s, s->at, "needs an object");
    if (take_char(s, '}'))
        return 0;
    do {
        if (take_text(s, &key) < 0)
            return -1;
        if (!take_char(s, ':'))
            return wrong(s, s->at, "needs a colon");
        f = find_field(table, next, key);
        /* an unknown member */
        if (!f) {
            /* of a newer release, or of another program */
            if (skip_value(s, depth) < 0)
                return -1;
            continue;
        }
        /* see find */
        next = f + 1;
        /* its rows would be appended to those of the first one */
        if (f->kind == HISTORY_ROWS && *rows_of(f, base))
            return wrong(s, s->at, "a second array of that name");
        if (take_value(s, f, base) < 0)
            return error_wrap(s->err, "%s", f->key);
    } while (take_char(s, ','));
    return take_char(s, '}') ? 0 : wrong(s, s->at, "needs an end");
}

/* Whether a needed member has no value. */
static bool is_missing(const struct history_field *f,
                       const struct history_step *step)
{
    const void *at = member(f, step);

    if (!f->needed)
        return false;
    /* needed members are words and counts */
    return f->kind == HISTORY_WORD ? !((const struct history_text *) at)->len
                                   : *(const uint64_t *) at == UINT64_MAX;
}

int history_line_parse(char *line, size_t len, struct history_step *step,
                       struct jp_error *err)
{
    struct scan s = {line, line, line + len, err};

    /* the rows of arrays are set when they are read */
    set_unknown(history_fields, step);
    if (take_object(&s, history_fields, step, 0) < 0)
        return -1;
    skip_blanks(&s);
    /* files that were edited on Windows */
    if (s.at < s.end && *s.at == '\r')
        s.at++;
    if (s.at != s.end)
        return wrong(&s, s.at, "text after the object");
    for (const struct history_field *f = history_fields; f->kind; f++)
        if (is_missing(f, step))
            return error_set(err, "no \"%s\"", f->key);
    if (step->version != HISTORY_VERSION)
        return error_set(err, "\"v\" is %llu, and this release reads 1",
                         (unsigned long long) step->version);
    return 0;
}

/* --- the schema ----------------------------------------------------------- */

/* Writes the schema of an object, with its rows. */
static void put_schema(struct jp_json_stream *s, const struct history_field *f)
{
    static const char *const types[] = {
        [HISTORY_WORD] = "string",   [HISTORY_COUNT] = "integer",
        [HISTORY_CLOCK] = "integer", [HISTORY_FLAG] = "boolean",
        [HISTORY_REAL] = "number",   [HISTORY_ROWS] = "array"};
    const struct history_field *first = f;

    json_stream_text(s, "type", "object");
    json_stream_array(s, "required");
    for (; f->kind; f++)
        if (f->needed)
            json_stream_text(s, NULL, f->key);
    json_stream_end_array(s);
    json_stream_object(s, "properties");
    for (f = first; f->kind; f++) {
        json_stream_object(s, f->key);
        json_stream_text(s, "type", types[f->kind]);
        json_stream_text(s, "description", f->help);
        if (*f->unit)
            json_stream_text(s, "unit", f->unit);
        /* all numbers of a line are at least 0 */
        if (f->kind != HISTORY_WORD && f->kind != HISTORY_FLAG &&
            f->kind != HISTORY_ROWS)
            json_stream_count(s, "minimum", 0);
        if (f->kind == HISTORY_ROWS) {
            json_stream_count(s, "maxItems", f->max);
            json_stream_object(s, "items");
            put_schema(s, f->rows);
            json_stream_end_object(s);
        }
        json_stream_end_object(s);
    }
    json_stream_end_object(s);
}

int history_schema_put(FILE *out, struct jp_error *err)
{
    struct jp_json_stream s;

    json_stream_open(&s, JSON_FILE, out);
    json_stream_text(&s, "$schema",
                     "https://json-schema.org/draft/2020-12/schema");
    json_stream_text(&s, "title", "a line of jobprof's history: one step");
    /* the same table as the parser's */
    put_schema(&s, history_fields);
    return json_stream_close(&s, err);
}
