/* copper_counts.c - read a daemon's counters and check them against each other:
 * two CSV tables, or dumps made by an ioctl.
 *
 * copper_totals_read reads the aggregate, copper_ops_read the operations; both
 * contain the same sums, which copper_counts_agree compares. copper_dump_read
 * reads one field of all operations, as an ioctl writes it. A file that is cut,
 * or has a bad value, is refused as a whole; unknown rows of a later Copper are
 * noted and skipped. */
#include "plugins/copper/copper_counts.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/figure.h"

/* "<digits>.<1 to 6 digits>" seconds, in microseconds. */
static bool take_seconds(const char *text, size_t len, uint64_t *us)
{
    const char *dot = len ? memchr(text, '.', len) : NULL;
    size_t whole = dot ? (size_t) (dot - text) : len;
    size_t digits = dot ? len - whole - 1 : 0;
    uint64_t seconds, fraction = 0;

    if (!copper_u64(text, whole, &seconds) || digits > 6 ||
        (dot && !copper_u64(dot + 1, digits, &fraction)))
        return false;
    /* "1.5" is 1 s and 500000 us */
    for (; digits < 6; digits++)
        fraction *= 10;
    return !__builtin_mul_overflow(seconds, 1000000u, &seconds) &&
           !__builtin_add_overflow(seconds, fraction, us);
}

/* The aggregate sums 43 counters of 32 bits, each widened with its sign. So a
 * sum is either below 2^38, or within 2^38 of 2^64 if counters wrapped. */
#define WRAPPED (UINT64_C(1) << 63)

const char *const copper_metric_names[COPPER_N_METRICS] = {
    "total_counted_fuse_operations",
    "total_cache_hits",
    "total_cache_misses",
    "total_negative_results",
    "estimated_cache_served_operations_saved_by_copper",
    "metadata_enoent_ttl_stores",
    "metadata_enoent_ttl_serves",
    "metadata_enoent_ttl_expires",
    "metadata_enoent_ttl_clears_on_success_or_non_enoent",
    "estimated_repeated_metadata_lookups_avoided_by_ttl",
    "total_measured_latency_seconds",
};

/* Sorted, for bsearch. */
const char *const copper_op_names[COPPER_N_OPS + 1] = {
    "access",   "bmap",       "chmod",       "chown",     "copy_file_range",
    "create",   "destroy",    "ext_getattr", "fallocate", "flock",
    "flush",    "fsync",      "fsyncdir",    "getattr",   "getxattr",
    "init",     "ioctl",      "link",        "listxattr", "lock",
    "lseek",    "mkdir",      "mknod",       "open",      "opendir",
    "poll",     "read",       "read_buf",    "readdir",   "readlink",
    "release",  "releasedir", "removexattr", "rename",    "rmdir",
    "setxattr", "statfs",     "symlink",     "truncate",  "unlink",
    "utimens",  "write",      "write_buf",   "(other)"};

/* A key without a NUL. */
struct name {
    const char *text;
    size_t len;
};

/* For bsearch: compares a key of any length with a name. */
static int by_name(const void *key, const void *element)
{
    const struct name *name = key;
    const char *other = *(const char *const *) element;
    size_t len = strlen(other);
    int order = memcmp(name->text, other, len < name->len ? len : name->len);

    return order ? order : name->len < len ? -1 : name->len > len;
}

size_t copper_op_find(const char *name, size_t len)
{
    const struct name key = {name, len};
    const char *const *found = bsearch(&key, copper_op_names, COPPER_N_OPS,
                                       sizeof(*copper_op_names), by_name);

    return found ? (size_t) (found - copper_op_names) : COPPER_OTHER_OP;
}

/* Reads the heading, which must be complete. *extra: further columns, of a
 * later Copper. */
static int read_header(struct copper_stream *stream, const char *header,
                       size_t *extra, struct jp_error *err)
{
    const char *text;
    size_t len;
    int rc = copper_stream_line(stream, &text, &len, err);

    if (rc < 0)
        return -1;
    if (rc == 0)
        return error_set(err, "empty");
    if (!copper_heading(text, len, header, extra))
        return copper_stream_bad(stream, err, "\"%s\" is not \"%s\"",
                                 COPPER_SHOW(text, len), header);
    return stream->cut ? copper_stream_bad(stream, err, "cut") : 0;
}

/* Returns 1 for a complete row, 0 at the end, -1 for a row that is cut. */
static int read_row(struct copper_stream *stream, const char **text,
                    size_t *len, struct jp_error *err)
{
    int rc = copper_stream_line(stream, text, len, err);

    if (rc > 0 && stream->cut)
        return copper_stream_bad(stream, err, "cut at \"%s\"",
                                 COPPER_SHOW(*text, *len));
    return rc;
}

/* Skips at most n columns. false: there are more. */
static bool passes_over(const char **text, size_t *len, size_t n)
{
    const char *field;
    size_t size;

    while (n && copper_field(text, len, &field, &size))
        n--;
    return !*text;
}

/* COPPER_N_METRICS: unknown. */
static size_t find_metric(const char *text, size_t len)
{
    size_t i = 0;

    while (i < COPPER_N_METRICS &&
           !copper_is(text, len, copper_metric_names[i]))
        i++;
    return i;
}

/* Takes a row of the aggregate. seen: a bit for each metric, since none may
 * occur twice. */
static int take_metric(const struct copper_stream *stream, const char *text,
                       size_t len, size_t extra, struct copper_totals *t,
                       uint32_t *seen, struct jp_error *err)
{
    const char *name, *value;
    size_t name_len, value_len, i;
    uint64_t n;
    bool good;

    /* always succeeds: a line has at least one field */
    copper_field(&text, &len, &name, &name_len);
    i = find_metric(name, name_len);
    if (i == COPPER_N_METRICS) {
        /* only the first thing that is ignored is noted */
        if (!*t->odd.text)
            copper_stream_bad(stream, &t->odd, "unknown metric \"%s\"",
                              COPPER_SHOW(name, name_len));
        return 0;
    }
    if (*seen & UINT32_C(1) << i)
        return copper_stream_bad(stream, err, "duplicate %s",
                                 copper_metric_names[i]);
    if (!copper_field(&text, &len, &value, &value_len) ||
        !passes_over(&text, &len, extra))
        return copper_stream_bad(stream, err, "%s without one value",
                                 copper_metric_names[i]);
    /* all metrics are counts, except one time */
    good = i == COPPER_LATENCY_US ? take_seconds(value, value_len, &n)
                                  : copper_u64(value, value_len, &n);
    if (!good)
        return copper_stream_bad(stream, err, "%s: bad value \"%s\"",
                                 copper_metric_names[i],
                                 COPPER_SHOW(value, value_len));
    /* not an error: the caller leaves the rank out of sums */
    t->overflow |= n >= WRAPPED;
    t->value[i] = n;
    *seen |= UINT32_C(1) << i;
    return 0;
}

int copper_totals_read(struct copper_stream *stream, struct copper_totals *out,
                       struct jp_error *err)
{
    struct copper_totals t = {.odd = {""}};
    const char *text;
    uint32_t seen = 0;
    size_t len, extra;
    int rc;

    if (read_header(stream, "metric,value", &extra, err) < 0)
        return -1;
    while ((rc = read_row(stream, &text, &len, err)) > 0)
        if (take_metric(stream, text, len, extra, &t, &seen, err) < 0)
            return -1;
    if (rc < 0)
        return -1;
    for (size_t i = 0; i < COPPER_N_METRICS; i++)
        if (!(seen & UINT32_C(1) << i))
            return error_set(err, "ends after line %" PRIu64 " without %s",
                             stream->line, copper_metric_names[i]);
    /* complete: only now the caller's struct changes */
    *out = t;
    return 0;
}

/* Adds an operation to a sum. The limits of take_op keep the sums of Copper's
 * own operations below 2^64. */
static void add_op(struct copper_op *sum, const struct copper_op *op)
{
    sum->calls += op->calls;
    sum->hits += op->hits;
    sum->misses += op->misses;
    sum->negatives += op->negatives;
    sum->time_us += op->time_us;
}

/* Takes a row of the operations. Operations that are unknown are added up in
 * one row. */
static int take_op(const struct copper_stream *stream, const char *text,
                   size_t len, size_t extra, struct copper_ops *ops, bool *seen,
                   struct jp_error *err)
{
    /* the fields of a row; the average is computed, so it is not read */
    enum { NAME, CALLS, HITS, MISSES, NEGATIVES, AVERAGE, TIME, FIELDS };
    /* all fields first, then the numbers, then the name */
    const char *field[FIELDS];
    size_t size[FIELDS], i;
    struct copper_op op = {0};

    for (i = 0; i < FIELDS; i++)
        if (!copper_field(&text, &len, &field[i], &size[i]))
            break;
    if (i < FIELDS || !passes_over(&text, &len, extra))
        return copper_stream_bad(stream, err, "not %d values", FIELDS);
    /* Limits: counters have 32 bits, and the times of all operations must not
     * overflow when they are added. */
    if (!copper_counter(field[CALLS], size[CALLS], &op.calls, &ops->overflow) ||
        !copper_counter(field[HITS], size[HITS], &op.hits, &ops->overflow) ||
        !copper_counter(field[MISSES], size[MISSES], &op.misses,
                        &ops->overflow) ||
        !copper_counter(field[NEGATIVES], size[NEGATIVES], &op.negatives,
                        &ops->overflow) ||
        !take_seconds(field[TIME], size[TIME], &op.time_us) ||
        (op.calls | op.hits | op.misses | op.negatives) > UINT32_MAX ||
        op.time_us >= WRAPPED / COPPER_N_OPS)
        return copper_stream_bad(stream, err, "%s: bad number",
                                 COPPER_SHOW(field[NAME], size[NAME]));
    i = copper_op_find(field[NAME], size[NAME]);
    if (i == COPPER_OTHER_OP && !*ops->odd.text)
        copper_stream_bad(stream, &ops->odd, "unknown operation \"%s\"",
                          COPPER_SHOW(field[NAME], size[NAME]));
    /* unknown operations may share the last row */
    if (i != COPPER_OTHER_OP && seen[i])
        return copper_stream_bad(stream, err, "duplicate %s",
                                 copper_op_names[i]);
    seen[i] = true;
    add_op(&ops->row[i], &op);
    return 0;
}

int copper_ops_read(struct copper_stream *stream, struct copper_ops *out,
                    struct jp_error *err)
{
    bool seen[COPPER_N_OPS + 1] = {false};
    struct copper_ops ops = {.odd = {""}};
    const char *text;
    size_t len, extra = 0;
    int rc;

    if (read_header(stream,
                    "operation,total_calls,cache_hits,cache_misses,"
                    "negative_results,avg_latency_us,total_latency_s",
                    &extra, err) < 0)
        return -1;
    /* columns of a later Copper are noted, once for the file */
    if (extra)
        error_set(&ops.odd, "line 1: %zu unknown column%s", extra,
                  plural(extra));
    while ((rc = read_row(stream, &text, &len, err)) > 0)
        if (take_op(stream, text, len, extra, &ops, seen, err) < 0)
            return -1;
    if (rc == 0)
        *out = ops;
    return rc;
}

void copper_ops_sum(const struct copper_ops *ops, struct copper_totals *out)
{
    struct copper_op sum = {0};

    *out = (struct copper_totals){.overflow = ops->overflow};
    for (size_t i = 0; i <= COPPER_N_OPS; i++)
        add_op(&sum, &ops->row[i]);
    out->value[COPPER_OPERATIONS] = sum.calls;
    /* the row "saved" repeats the hits */
    out->value[COPPER_HITS] = out->value[COPPER_SAVED] = sum.hits;
    out->value[COPPER_MISSES] = sum.misses;
    out->value[COPPER_NEGATIVES] = sum.negatives;
    out->value[COPPER_LATENCY_US] = sum.time_us;
}

int copper_counts_agree(const struct copper_totals *totals,
                        const struct copper_ops *ops, struct jp_error *err)
{
    /* metrics that both files contain */
    static const enum copper_metric both[] = {COPPER_OPERATIONS, COPPER_HITS,
                                              COPPER_MISSES, COPPER_NEGATIVES,
                                              COPPER_LATENCY_US};
    struct copper_totals sum;

    copper_ops_sum(ops, &sum);
    for (size_t i = 0; i < sizeof(both) / sizeof(*both); i++) {
        uint64_t a = totals->value[both[i]], b = sum.value[both[i]];
        /* each of 43 rows was rounded to a microsecond */
        uint64_t slack = both[i] == COPPER_LATENCY_US ? COPPER_N_OPS : 0;

        if ((a > b ? a - b : b - a) > slack)
            return error_set(err,
                             "%s is %" PRIu64 " in the aggregate and %" PRIu64
                             " in the operations",
                             copper_metric_names[both[i]], a, b);
    }
    /* two rows that repeat another one */
    if (totals->value[COPPER_SAVED] != totals->value[COPPER_HITS] ||
        totals->value[COPPER_TTL_AVOIDED] != totals->value[COPPER_TTL_SERVES])
        return error_set(err, "a figure and its repetition differ");
    return 0;
}

/* --- read an ioctl's dumps of counters and cache sizes --- */

/* First lines of the dumps. */
static const char *const titles[COPPER_N_DUMPS] = {
    "Aggregate Operation Counter {",
    "Aggregate Operation Time (microseconds) {",
    "Aggregate Operation Cache Hit {", "Aggregate Operation Cache Miss {",
    "Aggregate Operation Cache Negative {"};

/* The member that a dump fills. */
static uint64_t *field_of(struct copper_op *op, enum copper_dump dump)
{
    switch (dump) {
    case COPPER_DUMP_COUNT:
        return &op->calls;
    case COPPER_DUMP_TIME:
        return &op->time_us;
    case COPPER_DUMP_HIT:
        return &op->hits;
    case COPPER_DUMP_MISS:
        return &op->misses;
    default:
        return &op->negatives;
    }
}

/* The first line must be the title. */
static int read_title(struct copper_stream *stream, const char *title,
                      struct jp_error *err)
{
    const char *text;
    size_t len;
    int rc = copper_stream_line(stream, &text, &len, err);

    if (rc < 0)
        return -1;
    if (rc == 0)
        return error_set(err, "empty");
    if (!copper_is(text, len, title))
        return copper_stream_bad(stream, err, "\"%s\" is not \"%s\"",
                                 COPPER_SHOW(text, len), title);
    return 0;
}

/* "name: value", with a comma except in the last line. A negative value is a
 * counter that wrapped. */
static int take_line(const struct copper_stream *stream, const char *text,
                     size_t len, enum copper_dump dump, struct copper_ops *ops,
                     struct jp_error *err)
{
    const char *colon = len ? memchr(text, ':', len) : NULL;
    size_t name_len = colon ? (size_t) (colon - text) : 0, at = name_len + 2;
    uint64_t value = 0,
             limit = dump == COPPER_DUMP_TIME ? UINT64_MAX / 64 : UINT32_MAX;
    bool wrapped = false;
    size_t i;

    if (len && text[len - 1] == ',')
        len--;
    if (colon && at < len && text[at] == '-') {
        wrapped = true;
        at++;
    }
    if (!colon || at >= len || text[name_len + 1] != ' ' ||
        !copper_u64(text + at, len - at, &value) || value > limit)
        return copper_stream_bad(stream, err, "bad line \"%s\"",
                                 COPPER_SHOW(text, len));
    i = copper_op_find(text, name_len);
    if (i == COPPER_OTHER_OP && !*ops->odd.text)
        copper_stream_bad(stream, &ops->odd, "unknown operation \"%s\"",
                          COPPER_SHOW(text, name_len));
    ops->overflow |= wrapped;
    /* several unknown operations share one row */
    if (!wrapped && i == COPPER_OTHER_OP)
        value = *field_of(&ops->row[i], dump) <= limit - value
                    ? *field_of(&ops->row[i], dump) + value
                    : limit;
    *field_of(&ops->row[i], dump) = wrapped ? 0 : value;
    return 0;
}

int copper_dump_read(struct copper_stream *stream, enum copper_dump dump,
                     struct copper_ops *ops, struct jp_error *err)
{
    /* the caller's struct keeps its other fields */
    struct copper_ops more = *ops;
    const char *text;
    size_t len;
    int rc;

    if (read_title(stream, titles[dump], err) < 0)
        return -1;
    while ((rc = copper_stream_line(stream, &text, &len, err)) > 0) {
        /* a dump without its closing brace was cut: nothing of it is used */
        if (copper_is(text, len, "}")) {
            *ops = more;
            return 0;
        }
        if (take_line(stream, text, len, dump, &more, err) < 0)
            return -1;
    }
    return rc < 0 ? -1
                  : copper_stream_bad(stream, err,
                                      "cut: the closing brace is missing");
}

/* A counter that became smaller was reset in between: the difference would be
 * meaningless. */
int copper_ops_since(const struct copper_ops *later,
                     const struct copper_ops *earlier, struct copper_ops *out,
                     struct jp_error *err)
{
    struct copper_ops diff = *later;

    for (size_t i = 0; i <= COPPER_N_OPS; i++)
        for (unsigned d = 0; d < COPPER_N_DUMPS; d++) {
            /* a copy, because field_of takes no const */
            struct copper_op before = earlier->row[i];
            uint64_t *now = field_of(&diff.row[i], d);
            uint64_t then = *field_of(&before, d);

            if (*now < then)
                return error_set(err,
                                 "%s fell from %" PRIu64 " to %" PRIu64
                                 ": counters were reset in between",
                                 copper_op_names[i], then, *now);
            *now -= then;
        }
    /* a difference of wrapped counters is useless as well */
    diff.overflow |= earlier->overflow;
    *out = diff;
    return 0;
}

int copper_cache_size_read(struct copper_stream *stream,
                           struct copper_cache_size *out, struct jp_error *err)
{
    static const char bytes[] = "Total bytes: ";
    static const char *const counts[] = {"total number of files: ",
                                         "total number of entries: "};
    struct copper_cache_size size = {0};
    bool has_bytes = false, has_count = false;
    const char *text;
    size_t len;
    int rc;

    /* a line for each path, of which only the sums at the end matter */
    while ((rc = copper_stream_line(stream, &text, &len, err)) > 0) {
        if (copper_begins(text, len, bytes))
            has_bytes = copper_u64(text + sizeof(bytes) - 1,
                                   len - sizeof(bytes) + 1, &size.bytes);
        /* files and entries are called differently for each cache */
        for (size_t i = 0; i < 2; i++)
            if (copper_begins(text, len, counts[i]))
                has_count = copper_u64(text + strlen(counts[i]),
                                       len - strlen(counts[i]), &size.entries);
    }
    if (rc < 0)
        return -1;
    /* a file that was cut has no sums */
    if (!has_bytes || !has_count)
        return error_set(err, "ends after line %" PRIu64 " without its sums",
                         stream->line);
    *out = size;
    return 0;
}
