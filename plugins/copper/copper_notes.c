/* copper_notes.c - a daemon's other files: names, summary.md, address book,
 * tree, log.
 *
 * copper_name_parse says what a file is, by its name alone. The readers take
 * what they recognise in a file and ignore the rest, because these texts are
 * written for people and change between releases. */

#include <string.h>

#include "plugins/copper/copper_counts.h"

/* --- names of Copper's files --- */

const char *const copper_tag_names[COPPER_N_TAGS] = {
    "final",          "pre-destroy", "runtime-snapshot",
    "ioctl-snapshot", "pre-reset",   "before"};

/* How the name of each kind of file ends. */
static const struct {
    const char *suffix;
    enum copper_kind kind;
} suffixes[] = {
    {"-profiling_aggregate.csv", COPPER_FILE_AGGREGATE},
    {"-profiling_operations.csv", COPPER_FILE_OPERATIONS},
    {"-profiling_top_paths.csv", COPPER_FILE_TOP},
    {"-profiling_summary.md", COPPER_FILE_SUMMARY},
    {"-md_table_cache_event.output", COPPER_FILE_TABLE_METADATA},
    {"-data_table_cache_event.output", COPPER_FILE_TABLE_DATA},
    {"-tree_table_cache_event.output", COPPER_FILE_TABLE_TREE},
    {"-md_ttl_cache_event.output", COPPER_FILE_TABLE_TTL},
    {"-operation_count.output", COPPER_FILE_DUMP_COUNT},
    {"-operation_time.output", COPPER_FILE_DUMP_TIME},
    {"-operation_cache_hit.output", COPPER_FILE_DUMP_HIT},
    {"-operation_cache_miss.output", COPPER_FILE_DUMP_MISS},
    {"-operation_cache_neg.output", COPPER_FILE_DUMP_NEG},
    {"-data_cache_size.output", COPPER_FILE_SIZE_DATA},
    {"-tree_cache_size.output", COPPER_FILE_SIZE_TREE},
    {"-md_cache_size.output", COPPER_FILE_SIZE_METADATA},
    {"-ioctl_cache_event.output", COPPER_FILE_OTHER},
    {"-cache_tables.output", COPPER_FILE_OTHER},
    {"-output.log", COPPER_FILE_LOG},
};

/* Removes the end from the text: *len becomes smaller. false: it ends
 * otherwise. */
static bool strip(const char *text, size_t *len, const char *end)
{
    size_t n = strlen(end);

    /* something must be left before the end */
    if (*len <= n || memcmp(text + *len - n, end, n))
        return false;
    *len -= n;
    return true;
}

/* The tag that a folder is named after, and the number of a copy; false:
 * another folder. */
static bool tag_of(const char *folder, struct copper_name *name)
{
    for (unsigned t = 0; t < COPPER_N_TAGS; t++) {
        size_t n = strlen(copper_tag_names[t]);

        if (strncmp(folder, copper_tag_names[t], n))
            continue;
        name->tag = t;
        name->copy = 0;
        if (!folder[n])
            return true;
        /* only snapshots have copies: "runtime-snapshot-3" */
        if ((t == COPPER_TAG_RUNTIME || t == COPPER_TAG_IOCTL) &&
            folder[n] == '-' &&
            copper_u64(folder + n + 1, strlen(folder + n + 1), &name->copy))
            return true;
    }
    return false;
}

/* "<host>-<pid>". The host may contain dashes and digits, so the text is read
 * from its end. */
static bool host_and_pid(const char *text, size_t len, struct copper_name *name)
{
    size_t digits = 0, host;
    uint64_t pid;

    /* the digits at the end are the pid */
    while (digits < len && text[len - digits - 1] >= '0' &&
           text[len - digits - 1] <= '9')
        digits++;
    if (!digits || digits + 1 >= len || text[len - digits - 1] != '-')
        return false;
    host = len - digits - 1;
    /* longer than any host's name, or no process id */
    if (host >= COPPER_HOST_MAX ||
        !copper_u64(text + len - digits, digits, &pid) || pid > INT32_MAX)
        return false;
    memcpy(name->host, text, host);
    name->host[host] = '\0';
    name->pid = (int64_t) pid;
    return true;
}

/* Files of the cluster, without host and pid. */
static bool cluster_file(const char *file, struct copper_name *name)
{
    name->kind = !strcmp(file, "copper_address_book.txt") ? COPPER_FILE_BOOK
                 : !strcmp(file, "node_file.txt")         ? COPPER_FILE_NODES
                                                          : COPPER_N_FILES;
    return name->kind < COPPER_N_FILES;
}

bool copper_name_parse(const char *folder, const char *file,
                       struct copper_name *name)
{
    struct copper_name n = {.kind = COPPER_N_FILES};
    bool in_tag = tag_of(folder, &n);
    size_t len = strlen(file);

    if (!strcmp(folder, "cluster")) /* output of Copper's own tool */
        return false;
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
        if (strip(file, &len, suffixes[i].suffix)) {
            n.kind = suffixes[i].kind;
            break;
        }
    /* no known ending: a file of the cluster, or not one of Copper's */
    if (n.kind == COPPER_N_FILES) {
        if (!cluster_file(file, &n))
            return false;
        *name = n;
        return true;
    }
    /* The tag also stands in the name. A copied file may lie in another folder:
     * then the name decides. */
    for (unsigned t = COPPER_TAG_PRE_DESTROY; t <= COPPER_TAG_PRE_RESET; t++) {
        char end[32] = "-";

        strncat(end, copper_tag_names[t], sizeof(end) - 2);
        if (in_tag ? n.tag == t && strip(file, &len, end)
                   : strip(file, &len, end))
            n.tag = t;
    }
    if (!host_and_pid(file, len, &n))
        return false;
    *name = n;
    return true;
}

/* --- side files --- */

/* The text between the first two backquotes. */
static bool quoted(const char *text, size_t len, const char **value, size_t *n)
{
    const char *a = memchr(text, '`', len);
    const char *b = a ? memchr(a + 1, '`', len - (size_t) (a + 1 - text))
                      : NULL;

    if (!b)
        return false;
    *value = a + 1;
    *n = (size_t) (b - a - 1);
    return true;
}

/* A line of the summary: "- Profiling mode: `top-path`". */
static void take_bullet(const char *text, size_t len, struct copper_settings *s)
{
    const char *value;
    uint64_t number;
    size_t n;

    if (!quoted(text, len, &value, &n))
        return;
    if (copper_begins(text, len, "- Profiling mode:") && n < sizeof(s->mode)) {
        memcpy(s->mode, value, n);
        s->mode[n] = '\0';
    } else if (copper_begins(text, len, "- Full path outputs enabled:")) {
        s->full = copper_is(value, n, "yes");
        /* what is left are numbers */
    } else if (copper_u64(value, n, &number) && number <= INT32_MAX) {
        if (copper_begins(text, len, "- Metadata ENOENT TTL (ms):"))
            s->ttl_ms = (int64_t) number;
        else if (copper_begins(text, len, "- Top-path limit:"))
            s->top_n = (int64_t) number;
    }
}

int copper_summary_read(struct copper_stream *stream,
                        struct copper_settings *out, struct jp_error *err)
{
    struct copper_settings s = {.ttl_ms = -1, .top_n = -1, .full = -1};
    const char *text;
    size_t len;
    int rc = copper_stream_line(stream, &text, &len, err);

    if (rc < 0)
        return -1;
    if (rc == 0)
        return error_set(err, "empty");
    if (!copper_is(text, len, "# Copper Profiling Summary"))
        return copper_stream_bad(stream, err, "no heading of a summary");
    while ((rc = copper_stream_line(stream, &text, &len, err)) > 0) {
        /* the settings end at the first heading */
        if (copper_begins(text, len, "## "))
            break;
        take_bullet(text, len, &s);
    }
    if (rc < 0)
        return -1;
    if (rc == 0)
        return copper_stream_bad(stream, err, "cut within the settings");
    *out = s;
    return 0;
}

int copper_book_next(struct copper_stream *stream, const char **host,
                     size_t *len, struct jp_error *err)
{
    const char *text;
    size_t n;
    int rc;

    while ((rc = copper_stream_line(stream, &text, &n, err)) > 0) {
        size_t k = 0;

        /* the host ends at the first blank */
        while (k < n && text[k] != ' ' && text[k] != '\t' && text[k] != '\r')
            k++;
        if (!k)
            continue;
        *host = text;
        *len = k;
        return 1;
    }
    return rc;
}

/* Copper's own table: the smallest fanout with which n nodes have at most five
 * levels; 7 for more nodes. */
unsigned copper_tree_fanout(uint64_t n)
{
    static const struct {
        uint64_t most;
        unsigned fanout;
    } table[] = {{31, 2}, {121, 3}, {341, 4}, {781, 5}, {1555, 6}};

    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        if (n <= table[i].most)
            return table[i].fanout;
    return 7;
}

/* Levels have 1, fanout, fanout^2 ... nodes, in the order of the book. */
unsigned copper_tree_level(uint64_t i, unsigned fanout)
{
    uint64_t width = 1, before = 0;
    unsigned level = 0;

    /* before: nodes on the levels above; width: nodes of this level */
    while (i - before >= width) {
        before += width;
        width *= fanout;
        level++;
    }
    return level;
}

/* --- start-up times and settings from a daemon's log --- */

/* What follows the word in the line, or NULL. *rest: how many bytes. */
static const char *after(const char *text, size_t len, const char *word,
                         size_t *rest)
{
    const char *at = len ? memmem(text, len, word, strlen(word)) : NULL;

    if (!at)
        return NULL;
    /* the caller reads on from here */
    at += strlen(word);
    *rest = len - (size_t) (at - text);
    return at;
}

/* The digits right after the word; false: there are none. */
static bool number_after(const char *text, size_t len, const char *word,
                         int64_t *value)
{
    size_t rest = 0, n = 0;
    const char *at = after(text, len, word, &rest);
    uint64_t number;

    while (at && n < rest && at[n] >= '0' && at[n] <= '9')
        n++;
    if (!at || !copper_u64(at, n, &number) || number > INT64_MAX)
        return false;
    *value = (int64_t) number;
    return true;
}

/* Reads n digits and the character `end` after them. */
static bool digits(const char **text, unsigned n, char end, int64_t *value)
{
    uint64_t number;

    /* the caller has checked the length of the line */
    if (!copper_u64(*text, n, &number) || (*text)[n] != end)
        return false;
    *text += n + 1;
    *value = (int64_t) number;
    return true;
}

/* Days from 1970 to a date of the Gregorian calendar (days_from_civil, by
 * Howard Hinnant). */
static int64_t days(int64_t year, int64_t month, int64_t day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t era = y / 400, of_era = y % 400;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 +
                      day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year -
           719468;
}

/* "2026-11-21 09-02-44.589 [", as microseconds without a time zone. */
static bool take_stamp(const char *text, size_t len, int64_t *us)
{
    int64_t y, mo, d, h, mi, s, ms;

    if (len < 25 || !digits(&text, 4, '-', &y) || !digits(&text, 2, '-', &mo) ||
        !digits(&text, 2, ' ', &d) || !digits(&text, 2, '-', &h) ||
        !digits(&text, 2, '-', &mi) || !digits(&text, 2, '.', &s) ||
        !digits(&text, 3, ' ', &ms) || mo < 1 || mo > 12 || d < 1 || d > 31)
        return false;
    /* local time as if it were UTC: only differences are used */
    *us = (((days(y, mo, d) * 24 + h) * 60 + mi) * 60 + s) * 1000000 +
          ms * 1000;
    return true;
}

/* Keeps the first number that follows the word in any line. */
static void first(const char *text, size_t len, const char *word,
                  int64_t *value)
{
    int64_t n;

    if (*value < 0 && number_after(text, len, word, &n))
        *value = n;
}

/* Settings that the daemon logs at its start. */
static void take_settings(const char *text, size_t len,
                          struct copper_settings *s)
{
    size_t rest;

    first(text, len, "metadata ENOENT TTL (ms): ", &s->ttl_ms);
    first(text, len, "profile_top_n: ", &s->top_n);
    if (s->full < 0 && after(text, len, "profile_paths_full: ", &rest))
        s->full = after(text, len, "profile_paths_full: enabled", &rest) !=
                  NULL;
}

/* Times of the start-up. */
static void take_startup(const char *text, size_t len, struct copper_log *log)
{
    size_t rest;

    first(text, len, "provider registration completed after ",
          &log->registration_us);
    if (after(text, len, "first successful parent rpc_", &rest))
        first(text, len, " completed after ", &log->first_rpc_us);
    if (after(text, len, "parent readiness confirmed", &rest)) {
        first(text, len, " after ", &log->parent_us);
        first(text, len, " across ", &log->probes);
    }
    if (after(text, len, "timed out waiting for parent readiness", &rest))
        /* the daemon goes on without its parent's confirmation */
        log->timed_out = true;
    first(text, len, "requested number of tree segments: ", &log->trees);
}

#define ADDRESS_LEN 128 /* longest address */

/* The daemon's level in the tree. The log first gives its own address, twice in
 * one word; later the whole tree, a line "(depth 2) na+sm://2763-0" for each
 * daemon. */
static void take_level(const char *text, size_t len, char own[ADDRESS_LEN],
                       struct copper_log *log)
{
    size_t rest, n = strlen(own);
    const char *at = after(text, len, "match found ", &rest);
    int64_t level;

    /* both halves of the word are equal */
    if (at && rest && rest % 2 == 0 && rest / 2 < ADDRESS_LEN &&
        !memcmp(at, at + rest / 2, rest / 2)) {
        memcpy(own, at, rest / 2);
        own[rest / 2] = '\0';
        return;
    }
    if (log->level < 0 && n && len > n &&
        number_after(text, len, "(depth ", &level) && level <= 64 &&
        !memcmp(text + len - n, own, n) && text[len - n - 1] == ' ')
        log->level = (int) level;
}

int copper_log_read(struct copper_stream *stream, struct copper_log *out,
                    struct jp_error *err)
{
    struct copper_log log = {
        .start_us = -1,
        .registration_us = -1,
        .first_rpc_us = -1,
        .parent_us = -1,
        .probes = -1,
        .level = -1,
        .trees = -1,
        .settings = {.ttl_ms = -1, .top_n = -1, .full = -1}};
    char own[ADDRESS_LEN] = "";
    const char *text;
    size_t len;
    int rc;

    while ((rc = copper_stream_line(stream, &text, &len, err)) > 0) {
        int64_t us;

        if (log.start_us < 0 && take_stamp(text, len, &us))
            log.start_us = us;
        take_settings(text, len, &log.settings);
        take_startup(text, len, &log);
        take_level(text, len, own, &log);
        /* start-up comes first; the rest may be a line for every lookup */
        if (stream->bytes > COPPER_LOG_BYTES)
            break;
    }
    if (rc < 0)
        return -1;
    *out = log;
    return 0;
}

/* A time stamp, then "[level] (function)". */
bool copper_log_probe(const char *head, size_t len)
{
    const char *newline = len ? memchr(head, '\n', len) : NULL;
    size_t line = newline ? (size_t) (newline - head) : len, rest;
    int64_t us;

    return take_stamp(head, line, &us) && after(head, line, "] (", &rest);
}
