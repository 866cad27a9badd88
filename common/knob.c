/* knob.c - check, compare and describe values of settings.
 *
 * A value is text all the way from the user to job.conf. knob_check accepts or
 * refuses it by the knob's kind, knob_number converts a checked one,
 * knob_format_range describes what is valid. A new kind needs a case in each of
 * the three.
 */
#include "common/knob.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/nearest.h"
#include "common/num.h"
#include "common/pattern.h"
#include "common/quote.h"
#include "common/record.h"
#include "common/utf8.h"

/* Limits of a value: words of a WORD, bytes of a TEXT and of a list of
 * ranks. */
#define MAX_WORDS 16
#define NAME_BYTES                                                             \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
#define TEXT_MAX 255
#define TEXT_RANGE "1 to 255 characters of ASCII"
#define LIST_RANGE "names of letters, digits, . - and _, separated by commas"
#define NAMES_RANGE                                                            \
    "names of letters, digits, . - and _, separated by semicolons"
#define RANKS_MAX 256

/* --- the user's labels --------------------------------------------------- */

/* Whether text of len bytes is UTF-8 without control characters (C0 and C1). */
static bool is_clean(const char *text, size_t len)
{
    uint32_t point;
    size_t n;

    for (; len; text += n, len -= n) {
        n = utf8_decode(text, len, &point);
        if (!n || point < 0x20 || (point >= 0x7f && point < 0xa0))
            return false;
    }
    return true;
}

/* A label is KEY:VALUE up to the next ';'. The value may contain further
 * colons, so only the first one separates. */
bool userlabels_next(const char **at, struct userlabel *out)
{
    size_t len = strcspn(*at, ";"), key = strcspn(*at, ":;"), value;

    if (!key || key >= len || key > USERLABELS_KEY ||
        strspn(*at, NAME_BYTES) != key)
        return false;
    value = len - key - 1;
    if (!value || value > USERLABELS_VALUE || !is_clean(*at + key + 1, value))
        return false;
    memcpy(out->key, *at, key);
    out->key[key] = '\0';
    memcpy(out->value, *at + key + 1, value);
    out->value[value] = '\0';
    *at += len + ((*at)[len] == ';');
    return true;
}

/* Checks the user's labels: syntax, number, and no key twice. Quadratic in at
 * most 16 labels. */
static int check_labels(const char *text, struct jp_error *err)
{
    struct userlabel label, other;
    const char *at = text;
    size_t n = 0;

    while (*at) {
        const char *from = at, *before = text;

        /* userlabels_next moves `at` to the next label. */
        if (n++ == USERLABELS_MAX || !userlabels_next(&at, &label))
            return error_set(err,
                             "\"%s\" is not a label (" USERLABELS_RANGE ")",
                             QUOTE(from));
        /* Compare the key with those of all labels before it. */
        while (before < from && userlabels_next(&before, &other))
            if (strcmp(other.key, label.key) == 0)
                return error_set(err, "\"%s\" is given more than once",
                                 label.key);
    }
    return 0;
}

/* --- names of tags ------------------------------------------------------- */

struct usertag {
    uint64_t tag; /* not 0 */
    char name[USERTAGS_NAME + 1];
};

/* Gets the next name, and moves *at past it, as userlabels_next. */
static bool next_tag(const char **at, struct usertag *out)
{
    const char *from = *at;
    struct userlabel label;

    if (!userlabels_next(at, &label) ||
        num_parse_u64(label.key, 1, INT64_MAX, &out->tag, NULL) < 0 ||
        !record_is_phase(label.value, strlen(label.value))) {
        *at = from;
        return false;
    }
    snprintf(out->name, sizeof(out->name), "%.*s", USERTAGS_NAME, label.value);
    return true;
}

char *usertags_name(const char *tags, uint64_t tag, char buf[USERTAGS_NAME + 1])
{
    struct usertag named;

    while (tags && *tags && next_tag(&tags, &named))
        if (named.tag == tag) {
            memcpy(buf, named.name, sizeof(named.name));
            return buf;
        }
    snprintf(buf, USERTAGS_NAME + 1, "tag %" PRIu64, tag);
    return buf;
}

/* Checks names of tags: syntax, number, and that each tag and each name comes
 * once, because two phases of one name would look like one. */
static int check_tags(const char *text, struct jp_error *err)
{
    struct usertag tag, other;
    const char *at = text;
    size_t n = 0;

    while (*at) {
        const char *from = at, *before = text;

        if (n++ == USERLABELS_MAX || !next_tag(&at, &tag))
            return error_set(err,
                             "\"%s\" does not name a tag (" USERTAGS_RANGE ")",
                             QUOTE(from));
        if (!strncmp(tag.name, "tag ", 4) || !strcmp(tag.name, "several") ||
            !strcmp(tag.name, "others"))
            return error_set(err, "\"%s\" is a name of reports themselves",
                             tag.name);
        while (before < from && next_tag(&before, &other)) {
            if (other.tag == tag.tag)
                return error_set(err, "tag %" PRIu64 " has two names", tag.tag);
            if (!strcmp(other.name, tag.name))
                return error_set(err, "two tags have the name \"%s\"",
                                 tag.name);
        }
    }
    return 0;
}

/* --- values --------------------------------------------------------------- */

/* Splits "off|line|card" into buf and words, which point into buf. Returns how
 * many. */
static size_t split_words(const char *text, char *buf, size_t len,
                          const char *words[MAX_WORDS])
{
    size_t n = 0;
    char *rest = buf, *word;

    /* A copy, because strsep writes into it. */
    snprintf(buf, len, "%s", text);
    while (n < MAX_WORDS && (word = strsep(&rest, "|")))
        words[n++] = word;
    return n;
}

/* The index of text among the knob's words. */
static int word_number(const struct jp_knob *knob, const char *text,
                       uint64_t *out, struct jp_error *err)
{
    const char *words[MAX_WORDS], *near;
    char buf[128];
    size_t n = split_words(knob->words, buf, sizeof(buf), words);

    for (size_t i = 0; i < n; i++)
        if (!strcmp(words[i], text)) {
            *out = i;
            return 0;
        }
    near = nearest_find(text, words, n);
    if (near)
        return error_set(err, "\"%s\" is not one of %s; did you mean \"%s\"?",
                         QUOTE(text), knob->words, near);
    return error_set(err, "\"%s\" is not one of %s", QUOTE(text), knob->words);
}

/* A whole number in the knob's range. "5k" is refused with a proposal. */
static int count_number(const struct jp_knob *knob, const char *text,
                        uint64_t *out, struct jp_error *err)
{
    char meant[32];

    if (num_parse_u64(text, knob->min, knob->max, out, err) == 0)
        return 0;
    if (num_suggest_count(text, knob->min, knob->max, meant, sizeof(meant)))
        return error_set(err,
                         "\"%s\" is not a whole number (%" PRIu64 " to %" PRIu64
                         "); did you mean %s?",
                         QUOTE(text), knob->min, knob->max, meant);
    return -1;
}

/* A number with an optional "/s". */
static int rate_number(const struct jp_knob *knob, const char *text,
                       uint64_t *out, struct jp_error *err)
{
    size_t len = strlen(text);
    char digits[32];

    if (len > 2 && !strcmp(text + len - 2, "/s"))
        len -= 2;
    /* num_parse_u64 refuses a text of this length, with its message */
    if (len >= sizeof(digits))
        return num_parse_u64(text, knob->min, knob->max, out, err);
    memcpy(digits, text, len);
    digits[len] = '\0';
    return count_number(knob, digits, out, err);
}

/* An NCCL release as JP_NCCL_RELEASE. */
static int version_number(const char *text, uint64_t *out, struct jp_error *err)
{
    char buf[32], *rest = buf;
    /* "2.27.3": major, minor, and optionally the patch. */
    const char *part[3] = {NULL, NULL, NULL};
    uint64_t v[3] = {0, 0, JP_NCCL_NO_PATCH};

    snprintf(buf, sizeof(buf), "%s", text);
    for (int i = 0; i < 3 && rest; i++)
        part[i] = strsep(&rest, ".");
    if (strlen(text) >= sizeof(buf) || rest || !part[1] ||
        num_parse_u64(part[0], 0, 99, &v[0], NULL) < 0 ||
        num_parse_u64(part[1], 0, 999, &v[1], NULL) < 0 ||
        (part[2] &&
         num_parse_u64(part[2], 0, JP_NCCL_NO_PATCH - 1, &v[2], NULL) < 0))
        return error_set(err,
                         "\"%s\" is not an NCCL release (2.23 or later, like "
                         "2.27 or 2.27.3)",
                         QUOTE(text));
    /* Older releases would run, but could not load a profiler. */
    if (JP_NCCL_VERSION(v[0], v[1]) < JP_NCCL_MIN)
        return error_set(err,
                         "NCCL %s has no profiler interface (2.23 or later)",
                         QUOTE(text));
    *out = JP_NCCL_RELEASE(v[0], v[1], v[2]);
    return 0;
}

/* Kinds without a number return -1 here; knob_equal compares their values as
 * text. */
int knob_number(const struct jp_knob *knob, const char *text, uint64_t *out,
                struct jp_error *err)
{
    bool b;

    if (!text)
        return error_set(err, "not set");
    switch (knob->kind) {
    case JP_KNOB_COUNT_OR_OFF:
        if (!strcmp(text, "off")) {
            *out = 0;
            return 0;
        }
        /* fall through */
    case JP_KNOB_COUNT:
        return count_number(knob, text, out, err);
    case JP_KNOB_RATE:
        return rate_number(knob, text, out, err);
    case JP_KNOB_SIZE:
        return num_parse_size(text, knob->min, knob->max, out, err);
    case JP_KNOB_TIME:
        return num_parse_time_us(text, knob->min, knob->max, out, err);
    case JP_KNOB_BOOL:
        if (num_parse_bool(text, &b, err) < 0)
            return -1;
        *out = b;
        return 0;
    case JP_KNOB_WORD:
        return word_number(knob, text, out, err);
    case JP_KNOB_VERSION:
        return version_number(text, out, err);
    /* These kinds have no number. */
    case JP_KNOB_PATTERN:
    case JP_KNOB_PATH:
    case JP_KNOB_LIST:
    case JP_KNOB_MOUNTS:
    case JP_KNOB_TEXT:
    case JP_KNOB_ON_HANG:
    case JP_KNOB_FILE:
    case JP_KNOB_LABELS:
    case JP_KNOB_TAGS:
    case JP_KNOB_NAMES:
    case JP_KNOB_RANKS:
        break;
    }
    return error_set(err, "\"%s\" is not a number", QUOTE(text));
}

/* Checks a list of names with the separator `between`. */
static int check_list(const char *text, char between, struct jp_error *err)
{
    const char *c = text;

    while (true) {
        /* Each turn reads one name and the separator after it. */
        size_t n = strspn(c, NAME_BYTES);

        if (!n || (c[n] && c[n] != between))
            return error_set(err, "\"%s\" is not a list (%s)", QUOTE(text),
                             between == ',' ? LIST_RANGE : NAMES_RANGE);
        if (!c[n])
            return 0;
        c += n + 1;
    }
}

/* Whether text is a list of ranks, "0;8;16-23": numbers, and ranges in
 * ascending order. */
static bool is_ranges(const char *text)
{
    char copy[RANKS_MAX], *rest = copy, *part;
    uint64_t first, last;

    if (strlen(text) >= sizeof(copy))
        return false;
    memcpy(copy, text, strlen(text) + 1);
    while ((part = strsep(&rest, ";"))) {
        char *end = strchr(part, '-');

        if (end)
            *end++ = '\0';
        if (num_parse_u64(part, 0, UINT32_MAX - 1, &first, NULL) < 0 ||
            num_parse_u64(end ? end : part, first, UINT32_MAX - 1, &last,
                          NULL) < 0)
            return false;
    }
    return true;
}

/* Checks a JP_KNOB_RANKS: one of the knob's words, or a list of ranks. */
static int check_ranks(const struct jp_knob *knob, const char *text,
                       struct jp_error *err)
{
    uint64_t ignored;
    char range[128];

    if (word_number(knob, text, &ignored, NULL) == 0 || is_ranges(text))
        return 0;
    return error_set(err, "\"%s\" is not a list of ranks (%s)", QUOTE(text),
                     knob_format_range(knob, range, sizeof(range)));
}

bool knob_list_has(const char *list, const char *name)
{
    size_t len = strlen(name);

    while (*list) {
        size_t n = strcspn(list, ",");

        /* The whole name must be equal, not only its beginning. */
        if (n == len && !strncmp(list, name, n))
            return true;
        list += n + (list[n] == ',');
    }
    return false;
}

/* Checks a JP_KNOB_TEXT. */
static int check_text(const char *text, struct jp_error *err)
{
    size_t n = 0;

    while (text[n] >= ' ' && text[n] <= '~')
        n++;
    if (!n || text[n] || n > TEXT_MAX)
        return error_set(err, "\"%s\" is not " TEXT_RANGE, QUOTE(text));
    return 0;
}

/* Checks a JP_KNOB_FILE. The file itself is read later, on srun's host. */
static int check_file(const char *text, struct jp_error *err)
{
    for (const unsigned char *c = (const unsigned char *) text; *c; c++)
        if (*c < ' ' || *c == 0x7f)
            return error_set(err, "\"%s\" has a control character",
                             QUOTE(text));
    if (strlen(text) >= PATH_MAX)
        return error_set(err, "\"%s\" is too long", QUOTE(text));
    return 0;
}

/* The kinds with a syntax of their own come first; all others are numbers, and
 * their check is the conversion. */
int knob_check(const struct jp_knob *knob, const char *text,
               struct jp_error *err)
{
    struct jp_onhang on_hang;
    uint64_t ignored;
    char range[64];

    if (!text || !*text)
        return error_set(err, "the value is empty (%s)",
                         knob_format_range(knob, range, sizeof(range)));
    if (knob->kind == JP_KNOB_PATTERN)
        return pattern_check(text, err);
    if (knob->kind == JP_KNOB_PATH)
        return pattern_check_path(text, err);
    if (knob->kind == JP_KNOB_LIST)
        return check_list(text, ',', err);
    if (knob->kind == JP_KNOB_NAMES)
        return check_list(text, ';', err);
    if (knob->kind == JP_KNOB_RANKS)
        return check_ranks(knob, text, err);
    if (knob->kind == JP_KNOB_MOUNTS)
        return mountmap_check(text, err);
    if (knob->kind == JP_KNOB_TEXT)
        return check_text(text, err);
    if (knob->kind == JP_KNOB_FILE)
        return check_file(text, err);
    if (knob->kind == JP_KNOB_LABELS)
        return check_labels(text, err);
    if (knob->kind == JP_KNOB_TAGS)
        return check_tags(text, err);
    if (knob->kind == JP_KNOB_ON_HANG)
        return onhang_parse(text, NULL, &on_hang, err);
    return knob_number(knob, text, &ignored, err);
}

bool knob_equal(const struct jp_knob *knob, const char *a, const char *b)
{
    uint64_t x, y;

    /* Values that are not numbers are compared as text. */
    if (knob_number(knob, a, &x, NULL) < 0 ||
        knob_number(knob, b, &y, NULL) < 0)
        return !strcmp(a, b);
    return x == y;
}

char *knob_format_range(const struct jp_knob *knob, char *buf, unsigned len)
{
    /* The kinds with a fixed description; the others depend on the knob. */
    static const char *const ranges[] = {
        [JP_KNOB_BOOL] = "0|1",
        [JP_KNOB_VERSION] = "2.23 or later",
        [JP_KNOB_TEXT] = TEXT_RANGE,
        [JP_KNOB_ON_HANG] = ONHANG_RANGE,
        [JP_KNOB_FILE] = "a file's path",
        [JP_KNOB_LABELS] = USERLABELS_RANGE,
        [JP_KNOB_TAGS] = USERTAGS_RANGE,
        [JP_KNOB_PATTERN] = "directory pattern",
        [JP_KNOB_PATH] = "absolute path",
        [JP_KNOB_LIST] = LIST_RANGE,
        [JP_KNOB_NAMES] = NAMES_RANGE,
        [JP_KNOB_MOUNTS] = "HOST=INSIDE, absolute paths, separated by commas",
    };
    char lo[32], hi[32];

    switch (knob->kind) {
    case JP_KNOB_COUNT:
    case JP_KNOB_RATE:
    case JP_KNOB_COUNT_OR_OFF:
        snprintf(buf, len, "%s%" PRIu64 " to %" PRIu64 "%s",
                 knob->kind == JP_KNOB_COUNT_OR_OFF ? "off, " : "", knob->min,
                 knob->max, knob->kind == JP_KNOB_RATE ? " a second" : "");
        break;
    case JP_KNOB_SIZE:
        snprintf(buf, len, "%s to %s",
                 num_format_size(knob->min, lo, sizeof(lo)),
                 num_format_size(knob->max, hi, sizeof(hi)));
        break;
    case JP_KNOB_TIME:
        snprintf(buf, len, "%s to %s",
                 num_format_time_us(knob->min, lo, sizeof(lo)),
                 num_format_time_us(knob->max, hi, sizeof(hi)));
        break;
    case JP_KNOB_WORD:
        snprintf(buf, len, "%s", knob->words);
        break;
    case JP_KNOB_RANKS:
        snprintf(buf, len, "%s, or ranks: 0;8;16-23", knob->words);
        break;
    default:
        snprintf(buf, len, "%s", ranges[knob->kind]);
        break;
    }
    return buf;
}

char *knob_format_release(uint32_t release, char *buf, unsigned len)
{
    uint32_t patch = release % 1000;

    if (patch == JP_NCCL_NO_PATCH)
        snprintf(buf, len, "%u.%u", release / 1000000, release / 1000 % 1000);
    else
        snprintf(buf, len, "%u.%u.%u", release / 1000000, release / 1000 % 1000,
                 patch);
    return buf;
}

/* --- the value of on_hang ------------------------------------------------ */

/* Signals that a program may handle. SIGKILL and SIGSTOP cannot be handled. */
static const struct {
    const char *name;
    int number;
} signals[] = {{"HUP", SIGHUP},    {"INT", SIGINT},   {"QUIT", SIGQUIT},
               {"ABRT", SIGABRT},  {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
               {"ALRM", SIGALRM},  {"TERM", SIGTERM}, {"URG", SIGURG},
               {"WINCH", SIGWINCH}};

/* Finds a signal by its name, with or without "SIG". */
static int find_signal(const char *name, struct jp_onhang *out,
                       struct jp_error *err)
{
    /* "SIGUSR1" and "USR1" are the same. */
    if (!strncmp(name, "SIG", 3))
        name += 3;
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        if (!strcmp(signals[i].name, name)) {
            out->signal = signals[i].number;
            snprintf(out->name, sizeof(out->name), "%s", name);
            return 0;
        }
    return error_set(err,
                     "\"%s\" is not one of the signals HUP, INT, QUIT, ABRT, "
                     "USR1, USR2, ALRM, TERM, URG, WINCH",
                     QUOTE(name));
}

/* Stores the command of on_hang. Printable ASCII only, because it is written to
 * job.conf and passed to a shell. */
static int take_command(const char *text, struct jp_onhang *out,
                        struct jp_error *err)
{
    size_t n = 0;

    while (text[n] >= ' ' && text[n] <= '~')
        n++;
    if (text[n] || n >= sizeof(out->command))
        return error_set(err, "\"%s\" is not 1 to 255 characters of ASCII",
                         QUOTE(text));
    memcpy(out->command, text, n + 1);
    return 0;
}

int onhang_parse(const char *text, const char *after, struct jp_onhang *out,
                 struct jp_error *err)
{
    /* The result is built here and assigned at the end, so that a failure
     * changes nothing. */
    struct jp_onhang got = {.kind = ONHANG_REPORT};
    uint64_t us = 0;

    if (!strcmp(text, "off")) {
        got.kind = ONHANG_OFF;
    } else if (!strncmp(text, "signal:", 7)) {
        got.kind = ONHANG_SIGNAL;
        if (find_signal(text + 7, &got, err) < 0)
            return -1;
    } else if (!strcmp(text, "cancel")) {
        got.kind = ONHANG_CANCEL;
        got.after_ms = ONHANG_CANCEL_AFTER_MS;
    } else if (text[0] == '/') {
        got.kind = ONHANG_COMMAND;
        if (take_command(text, &got, err) < 0)
            return -1;
    } else if (strcmp(text, "report") != 0) {
        return error_set(err, "\"%s\" is not one of " ONHANG_RANGE,
                         QUOTE(text));
    }
    /* An explicit delay replaces that of the kind. */
    if (after && num_parse_time_us(after, 0, UINT64_MAX, &us, err) < 0)
        return -1;
    if (after)
        got.after_ms = us / 1000;
    *out = got;
    return 0;
}
