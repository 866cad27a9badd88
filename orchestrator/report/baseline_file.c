/* baseline_file.c - read and write baselines and the network cells in them.
 *
 * A baseline adds up the network cells of many reports
 * (docs/dev/baseline-format.md). Both a baseline and a summary are foreign
 * input: whatever is read is checked, and an error names the member.
 * baseline_file_add adds either kind to a baseline; baseline_file_read
 * reads the site's file. */
#include "orchestrator/report/baseline_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/fnv.h"
#include "common/jsonload.h"
#include "common/ownplace.h"
#include "common/quote.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/report/summary_file.h"
#include "orchestrator/report/out.h"

/* --- names of network cells ---------------------------------------------- */

/* Returns true if a word of a label is known. */
static bool is_told(const char *word)
{
    return strcmp(word, "unknown") && strcmp(word, "none");
}

/* Writes what the communicators run over, or their type without labels. */
static char *name_link(const struct jp_netkey *key, char *buf)
{
    bool fabric = is_told(key->fabric), inter = is_told(key->inter);

    if (fabric || inter)
        snprintf(buf, NETKEY_NAME, "%s%s%s", fabric ? key->fabric : "",
                 fabric && inter ? ", " : "", inter ? key->inter : "");
    else
        snprintf(buf, NETKEY_NAME, "%s", comm_type_name(key->type));
    return buf;
}

static char *name_shape(const struct jp_netkey *key, char *buf)
{
    snprintf(buf, NETKEY_NAME, "%s rank%s on %s node%s",
             FIG_COUNT(key->n_ranks), plural(key->n_ranks),
             FIG_COUNT(key->n_hosts), plural(key->n_hosts));
    return buf;
}

char *netkey_name(const struct jp_netkey *key, enum netkey_form form, char *buf)
{
    char link[NETKEY_NAME], shape[NETKEY_NAME];

    switch (form) {
    case NETKEY_LINK:
        return name_link(key, buf);
    case NETKEY_SHAPE:
        return name_shape(key, buf);
    case NETKEY_BRIEF:
        snprintf(buf, NETKEY_NAME, "%.40s, %" PRIu32 "r/%" PRIu32 "n",
                 name_link(key, link), key->n_ranks, key->n_hosts);
        break;
    case NETKEY_SERIES:
        snprintf(buf, NETKEY_NAME, "%.31s, %.40s, %.60s", key->coll,
                 name_link(key, link), name_shape(key, shape));
        break;
    }
    return buf;
}

/* --- network cells as JSON ----------------------------------------------- */

/* fabric, inter, comm_type, n_ranks, n_hosts, gpu, coll, size_from_bytes,
 * size_to_bytes. */
static void netkey_put(struct jp_json_stream *s, const struct jp_netkey *key)
{
    json_stream_text(s, "fabric", key->fabric);
    json_stream_text(s, "inter", key->inter);
    json_stream_text(s, "comm_type", comm_type_name(key->type));
    json_stream_count(s, "n_ranks", key->n_ranks);
    json_stream_count(s, "n_hosts", key->n_hosts);
    json_stream_text(s, "gpu", key->gpu);
    json_stream_text(s, "coll", key->coll);
    json_stream_count(s, "size_from_bytes", netcells_bytes(key->size));
    json_stream_count(s, "size_to_bytes", netcells_bytes(key->size + 1));
}

/* Writes p5, p50 and p95; null if a figure is unknown. */
static void netkey_put_quantiles(struct jp_json_stream *s, const char *name,
                                 const struct jp_bwhist *hist)
{
    json_stream_object(s, name);
    json_stream_real(s, "p5", bwhist_quantile(hist, 0.05));
    json_stream_real(s, "p50", bwhist_quantile(hist, 0.5));
    json_stream_real(s, "p95", bwhist_quantile(hist, 0.95));
    json_stream_end_object(s);
}

void netkey_put_hist(struct jp_json_stream *s, const char *name,
                     const struct jp_bwhist *hist)
{
    json_stream_array(s, name);
    for (uint32_t i = 0; i < hist->n; i++) {
        /* only buckets in use: most of them are empty */
        if (!hist->counts[i])
            continue;
        json_stream_array(s, NULL);
        json_stream_count(s, NULL, hist->first + i);
        json_stream_count(s, NULL, hist->counts[i]);
        json_stream_end_array(s);
    }
    json_stream_end_array(s);
}

/* --- network cells, read without trust ----------------------------------- */

/* Accepts only text that cleaning leaves unchanged: we write nothing else. */
static int read_text(const json_t *row, const char *name, bool may_be_empty,
                     char *out, size_t size, struct jp_error *err)
{
    const char *text = json_string_value(json_object_get(row, name));
    char clean[JP_CLEAN_MAX];

    if (!text)
        return error_set(err, "\"%s\" is not a string", name);
    if (!*text && !may_be_empty)
        return error_set(err, "\"%s\" is empty", name);
    if (strlen(text) >= size)
        return error_set(err, "\"%s\" has more than %zu bytes", name, size - 1);
    if (strcmp(text, clean_text(text, JP_CLEAN_UTF8, clean, sizeof(clean))) !=
        0)
        return error_set(err, "\"%s\" has odd characters", name);
    /* no byte of an earlier value remains after the text */
    memset(out, 0, size);
    memcpy(out, text, strlen(text));
    return 0;
}

/* Each of these readers returns 0, or -1 and err, and changes *out only on
 * success. */
static int read_u32(const json_t *row, const char *name, uint32_t *out,
                    struct jp_error *err)
{
    uint64_t value;

    if (!json_tree_count(row, name, &value) || value > UINT32_MAX)
        return error_set(err, "\"%s\" is not a count below 2^32", name);
    *out = (uint32_t) value;
    return 0;
}

/* Accepts the names that comm_type_name gives. */
static int read_type(const json_t *row, enum jp_comm_type *out,
                     struct jp_error *err)
{
    const char *text = json_tree_text(row, "comm_type");

    for (int i = 0; i < JP_COMM_N_TYPES; i++)
        if (!strcmp(text, comm_type_name((enum jp_comm_type) i))) {
            *out = (enum jp_comm_type) i;
            return 0;
        }
    return error_set(err, "\"comm_type\": no such type: \"%s\"", QUOTE(text));
}

/* Reads a class of sizes by its start; any other number of bytes is refused. */
static int read_size(const json_t *row, uint32_t *out, struct jp_error *err)
{
    uint64_t bytes;

    if (!json_tree_count(row, "size_from_bytes", &bytes))
        return error_set(err, "\"size_from_bytes\" is not a count");
    *out = netcells_size(bytes);
    if (netcells_bytes(*out) != bytes)
        return error_set(err,
                         "\"size_from_bytes\": no class of sizes begins "
                         "with %" PRIu64,
                         bytes);
    return 0;
}

/* Reads the members of a cell's key. */
static int read_key(const json_t *row, struct jp_netkey *key,
                    struct jp_error *err)
{
    memset(key, 0, sizeof(*key));
    if (!json_is_object(row))
        return error_set(err, "is not an object");
    if (read_text(row, "fabric", false, key->fabric, sizeof(key->fabric), err) <
            0 ||
        read_text(row, "inter", false, key->inter, sizeof(key->inter), err) <
            0 ||
        read_text(row, "gpu", true, key->gpu, sizeof(key->gpu), err) < 0 ||
        read_text(row, "coll", false, key->coll, sizeof(key->coll), err) < 0 ||
        read_u32(row, "n_ranks", &key->n_ranks, err) < 0 ||
        read_u32(row, "n_hosts", &key->n_hosts, err) < 0 ||
        read_type(row, &key->type, err) < 0)
        return -1;
    return read_size(row, &key->size, err);
}

/* Reads [[bucket, count], ...], buckets ascending, counts above 0. */
static int read_hist(const json_t *row, const char *name,
                     struct jp_bwhist *hist, struct jp_error *err)
{
    const json_t *list = json_object_get(row, name);
    size_t n = json_array_size(list);
    json_int_t before = -1;

    if (!json_is_array(list))
        return error_set(err, "\"%s\" is not an array", name);
    for (size_t i = 0; i < n; i++) {
        const json_t *pair = json_array_get(list, i);
        const json_t *bucket = json_array_get(pair, 0);
        const json_t *count = json_array_get(pair, 1);
        json_int_t at = json_integer_value(bucket);

        if (json_array_size(pair) != 2 || !json_is_integer(bucket) ||
            !json_is_integer(count) || json_integer_value(count) < 1)
            return error_set(
                err, "\"%s\"[%zu] is not a pair of a bucket and a count", name,
                i);
        /* ascending order also excludes a bucket that occurs twice */
        if (at <= before || at >= BWHIST_BUCKETS)
            return error_set(err,
                             "\"%s\"[%zu]: bucket %" JSON_INTEGER_FORMAT
                             " is not above the previous one and below %d",
                             name, i, at, BWHIST_BUCKETS);
        before = at;
        /* fails also when the sum of the counts would overflow */
        if (bwhist_add(hist, (uint32_t) at,
                       (uint64_t) json_integer_value(count)) < 0)
            return error_set(err,
                             "\"%s\": out of memory, or more than can be "
                             "counted",
                             name);
    }
    return 0;
}

int netkey_read_row(const json_t *row, struct jp_netkey *key,
                    struct jp_bwhist *hist, struct jp_error *err)
{
    return read_key(row, key, err) < 0 ||
                   read_hist(row, "histogram", hist, err) < 0
               ? -1
               : 0;
}

#define FINGERPRINT_LEN 16 /* hexadecimal digits */

/* Returns true if root is a baseline rather than a summary. */
static bool is_baseline(const json_t *root)
{
    return !strcmp(json_tree_text(root, "format"), BASELINE_FORMAT);
}

/* --- baselines, read without trust --------------------------------------- */

/* Reads 16 hexadecimal digits. Returns 0, or -1. */
static int read_fingerprint(const json_t *value, uint64_t *out)
{
    const char *text = json_string_value(value);

    *out = 0;
    if (!text || strlen(text) != FINGERPRINT_LEN)
        return -1;
    for (const char *c = text; *c; c++) {
        const char *digit = strchr("0123456789abcdef", *c);

        if (!digit)
            return -1;
        *out = *out << 4 |
               (uint64_t) (digit - (const char *) "0123456789abcdef");
    }
    return 0;
}

/* Reads the fingerprints of the reports in the baseline, ascending. */
static int read_reports(const json_t *root, struct jp_baseline *b,
                        struct jp_error *err)
{
    const json_t *list = json_object_get(root, "reports");
    size_t n = json_array_size(list);

    if (!json_is_array(list))
        return error_set(err, "\"reports\" is not an array");
    if (n > BASELINE_MAX_REPORTS)
        return error_set(err, "%zu reports are too many (at most %d)", n,
                         BASELINE_MAX_REPORTS);
    b->reports = calloc(n + 1, sizeof(*b->reports));
    if (!b->reports)
        return error_set(err, "out of memory");
    for (size_t i = 0; i < n; i++) {
        if (read_fingerprint(json_array_get(list, i), &b->reports[i]) < 0)
            return error_set(err, "reports[%zu] is not 16 digits of 0-9a-f", i);
        if (i && b->reports[i] <= b->reports[i - 1])
            return error_set(err, "reports[%zu] is not in order", i);
        /* counts what is filled, for baseline_fini after an error */
        b->n_reports++;
    }
    return 0;
}

/* Reads a cell. `medians` has one entry per report, so it cannot have more. */
static int read_cell(const json_t *row, const struct jp_baseline *b,
                     struct jp_baseline_cell *cell, struct jp_error *err)
{
    if (read_key(row, &cell->key, err) < 0 ||
        read_hist(row, "ops_histogram", &cell->ops, err) < 0 ||
        read_hist(row, "medians_histogram", &cell->medians, err) < 0)
        return -1;
    if (!cell->medians.total || cell->medians.total > b->n_reports)
        return error_set(
            err, "\"medians_histogram\" counts %" PRIu64 " reports of %zu",
            cell->medians.total, b->n_reports);
    if (cell->ops.total < cell->medians.total)
        return error_set(err, "\"ops_histogram\" counts fewer operations than "
                              "there are reports");
    return 0;
}

/* Reads the cells, ascending by key. */
static int read_cells(const json_t *root, struct jp_baseline *b,
                      struct jp_error *err)
{
    const json_t *list = json_object_get(root, "cells");
    size_t n = json_array_size(list);

    if (!json_is_array(list))
        return error_set(err, "\"cells\" is not an array");
    if (n > BASELINE_MAX_CELLS)
        return error_set(err, "%zu cells are too many (at most %d)", n,
                         BASELINE_MAX_CELLS);
    b->cells = calloc(n + 1, sizeof(*b->cells));
    if (!b->cells)
        return error_set(err, "out of memory");
    for (size_t i = 0; i < n; i++) {
        /* before reading: a half-read cell has memory to free */
        b->n_cells++;
        if (read_cell(json_array_get(list, i), b, &b->cells[i], err) < 0)
            return error_wrap(err, "cells[%zu]", i);
        /* also finds a key that occurs twice */
        if (i && netkey_compare(&b->cells[i - 1].key, &b->cells[i].key) >= 0)
            return error_set(err, "cells[%zu] is not in order", i);
    }
    return 0;
}

/* Reads a baseline into a local, so *out is unchanged on failure. */
static int parse_baseline(const json_t *root, struct jp_baseline *out,
                          struct jp_error *err)
{
    struct jp_baseline b = {0};
    uint64_t version = 0;

    if (!is_baseline(root))
        return error_set(
            err,
            "is not a baseline (\"format\" is not \"" BASELINE_FORMAT "\")");
    /* another version may mean another thing by the same names */
    if (!json_tree_count(root, "version", &version) ||
        version != BASELINE_VERSION)
        return error_set(err,
                         "\"version\" is not %d, the one that this "
                         "program reads",
                         BASELINE_VERSION);
    if (read_reports(root, &b, err) < 0 || read_cells(root, &b, err) < 0) {
        baseline_fini(&b);
        return -1;
    }
    *out = b;
    return 0;
}

int baseline_file_read(const char *path, bool owned, struct jp_baseline *out,
                       struct jp_error *err)
{
    int fd = fileio_open_regular(path, true, err), rc = -1;
    json_t *root = NULL;
    char *text = NULL;
    size_t len;

    if (fd < 0)
        return -1;
    /* check the open file, so that it cannot be exchanged after the check */
    if ((!owned || ownplace_check_site(fd, path, err) == 0) &&
        fileio_read_fd(fd, path, jsonload_limits[JSONLOAD_BASELINE].bytes,
                       &text, &len, err) == 0)
        root = jsonload(JSONLOAD_BASELINE, path, text, len,
                        JSON_REJECT_DUPLICATES, err);
    if (root) {
        rc = parse_baseline(root, out, err);
        if (rc < 0)
            error_wrap(err, "%s", path);
    }
    /* accepts NULL */
    json_decref(root);
    free(text);
    close(fd);
    return rc;
}

json_t *baseline_file_load(const char *path, struct jp_error *err)
{
    json_t *root = NULL;
    char *text = NULL;
    size_t len;

    if (fileio_read(path, true, jsonload_limits[JSONLOAD_SUMMARY].bytes, &text,
                    &len, err) == 0)
        root = jsonload(JSONLOAD_SUMMARY, path, text, len,
                        JSON_REJECT_DUPLICATES, err);
    free(text);
    return root;
}

/* --- writing -------------------------------------------------------------- */

/* Writes a cell. The quantiles are for readers; only the histograms are read
 * again. */
static void put_cell(struct jp_json_stream *s,
                     const struct jp_baseline_cell *cell)
{
    json_stream_object(s, NULL);
    netkey_put(s, &cell->key);
    /* one median per report */
    json_stream_count(s, "reports", cell->medians.total);
    json_stream_count(s, "ops", cell->ops.total);
    netkey_put_quantiles(s, "net_busbw_gbs", &cell->ops);
    netkey_put_quantiles(s, "medians_gbs", &cell->medians);
    netkey_put_hist(s, "ops_histogram", &cell->ops);
    netkey_put_hist(s, "medians_histogram", &cell->medians);
    json_stream_end_object(s);
}

int baseline_file_write(const struct jp_baseline *b, FILE *out,
                        struct jp_error *err)
{
    struct jp_json_stream s;

    json_stream_open(&s, JSON_FILE, out);
    json_stream_text(&s, "format", BASELINE_FORMAT);
    json_stream_count(&s, "version", BASELINE_VERSION);
    json_stream_text(&s, "generator", "jobprof " JP_VERSION);
    json_stream_array(&s, "reports");
    for (size_t i = 0; i < b->n_reports; i++) {
        char text[FINGERPRINT_LEN + 1];

        snprintf(text, sizeof(text), "%016" PRIx64, b->reports[i]);
        /* as hexadecimal text: JSON numbers of 64 bits are not exact everywhere
         */
        json_stream_text(&s, NULL, text);
    }
    json_stream_end_array(&s);
    json_stream_array(&s, "cells");
    /* sorted by key, so equal baselines give equal bytes */
    for (size_t i = 0; i < b->n_cells; i++)
        put_cell(&s, &b->cells[i]);
    json_stream_end_array(&s);
    return json_stream_close(&s, err);
}

/* --- what one report gives to a baseline */

/* Adds bytes to a hash. A callback of json_dump_callback. */
static int take_bytes(const char *text, size_t n, void *arg)
{
    uint64_t *hash = arg;

    *hash = fnv_bytes(*hash, text, n);
    return 0;
}

/* Adds a value in a fixed form: compact, with sorted keys. */
static void take_json(const json_t *value, uint64_t *hash)
{
    json_dump_callback(value, take_bytes, hash,
                       JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY |
                           JSON_REAL_PRECISION(15));
    take_bytes("\n", 1, hash);
}

/* Identifies the run. A job's step keeps its fingerprint however often it is
 * reported. For a folder of logs, it depends on what the ranks did and when. */
static uint64_t fingerprint(const json_t *root)
{
    /* restart and created_us tell apart a requeued job with the same id */
    static const char *const of_job[] = {"id", "step", "restart", "created_us"};
    const json_t *job = json_object_get(root, "job");
    uint64_t hash = FNV_START;

    for (size_t i = 0; i < sizeof(of_job) / sizeof(*of_job); i++)
        take_json(json_object_get(job, of_job[i]), &hash);
    /* a job is identified by its facts; a folder of logs has none */
    if (json_is_integer(json_object_get(job, "id")))
        return hash;
    take_json(json_object_get(root, "ranks"), &hash);
    take_json(json_object_get(root, "windows"), &hash);
    return hash;
}

/* Returns true, with the reason in why, if the report does not show how the
 * network normally behaves. degraded: a slow network is acceptable. */
static bool is_unfit(const struct summary_file *s, bool degraded, char *why,
                     size_t size)
{
    if (summary_file_is(s, "HANG") || summary_file_is(s, "FAILED") ||
        summary_file_is(s, "INCOMPLETE") || summary_file_is(s, "NODATA")) {
        snprintf(why, size, "its verdict is %s", s->verdict.word);
        return true;
    }
    /* the user accepts a slow network */
    if (degraded)
        return false;
    if (summary_file_is(s, "DEGRADED")) {
        snprintf(why, size, "its verdict is DEGRADED");
        return true;
    }
    /* the verdict may be about something worse */
    for (size_t i = 0; i < s->n_findings; i++) {
        const char *kind = s->findings[i].kind;

        if (!strcmp(kind, "slow_network") || !strcmp(kind, "drift")) {
            snprintf(why, size, "it has a finding of %s", kind);
            return true;
        }
    }
    return false;
}

static int by_key(const void *a, const void *b)
{
    const struct jp_baseline_cell *x = a, *y = b;

    return netkey_compare(&x->key, &y->key);
}

/* Adds the row's cell if it has enough operations. */
static int read_row(const json_t *row, struct jp_baseline *b,
                    struct jp_error *err)
{
    struct jp_baseline_cell *cell = &b->cells[b->n_cells];

    if (netkey_read_row(row, &cell->key, &cell->ops, err) < 0) {
        bwhist_fini(&cell->ops);
        return -1;
    }
    /* too few operations for a median */
    if ((double) cell->ops.total < limits_table[JP_LIMIT_NET_OPS].value) {
        bwhist_fini(&cell->ops);
        return 0;
    }
    b->n_cells++;
    /* this report's median is one entry of the histogram of medians */
    return bwhist_add(&cell->medians,
                      bwhist_bucket(bwhist_quantile(&cell->ops, 0.5)), 1) < 0
               ? error_set(err, "out of memory")
               : 0;
}

/* Reads the report's network into cells sorted by key, as a baseline has them.
 */
static int read_rows(const struct summary_file *s, struct jp_baseline *b,
                     struct jp_error *err)
{
    size_t n = s->n_network;

    if (n > NETCELLS_MAX)
        return error_set(err,
                         "%zu rows of \"network\" are too many (at most "
                         "%d)",
                         n, NETCELLS_MAX);
    b->cells = calloc(n + 1, sizeof(*b->cells));
    b->reports = calloc(1, sizeof(*b->reports));
    if (!b->cells || !b->reports)
        return error_set(err, "out of memory");
    for (size_t i = 0; i < n; i++)
        if (read_row(s->network[i].row, b, err) < 0)
            return error_wrap(err, "network[%zu]", i);
    if (b->n_cells)
        qsort(b->cells, b->n_cells, sizeof(*b->cells), by_key);
    /* a baseline has each key once */
    for (size_t i = 1; i < b->n_cells; i++)
        if (!by_key(&b->cells[i - 1], &b->cells[i]))
            return error_set(err, "two rows of \"network\" have one key");
    return 0;
}

/* Makes a baseline of one report. Returns 0; 1 if the report is not fit, with
 * the reason in why; or -1 and err. *out changes only if 0 is returned; the
 * caller frees it. */
static int from_summary(const struct summary_file *s, bool degraded,
                        struct jp_baseline *out, char *why, size_t size,
                        struct jp_error *err)
{
    struct jp_baseline b = {0};

    if (is_unfit(s, degraded, why, size))
        return 1;
    /* summaries of older versions */
    if (!s->network) {
        snprintf(why, size,
                 "it was made by a jobprof that did not keep the "
                 "network's cells: report it again");
        return 1;
    }
    if (read_rows(s, &b, err) < 0) {
        baseline_fini(&b);
        return -1;
    }
    if (!b.n_cells) {
        baseline_fini(&b);
        snprintf(why, size, "no cell has %g complete operations",
                 limits_table[JP_LIMIT_NET_OPS].value);
        return 1;
    }
    /* makes sure that a report is added to a baseline only once */
    b.reports[b.n_reports++] = fingerprint(s->root);
    *out = b;
    return 0;
}

/* Adds a baseline. */
static enum baseline_added merge_baselines(struct jp_baseline *to,
                                           const struct jp_baseline *one,
                                           struct jp_error *err)
{
    return baseline_merge(to, one, err) < 0 ? BASELINE_CONFLICT
                                            : BASELINE_ADDED;
}

enum baseline_added baseline_file_add_report(const struct summary_file *s,
                                             bool degraded,
                                             struct jp_baseline *to, char *why,
                                             size_t size, struct jp_error *err)
{
    struct jp_baseline one = {0};
    int unfit = from_summary(s, degraded, &one, why, size, err);
    enum baseline_added rc;

    if (unfit) {
        rc = unfit < 0 ? BASELINE_UNREADABLE : BASELINE_LEFT_OUT;
        /* the same report must not count twice */
    } else if (baseline_has_report(to, one.reports[0])) {
        snprintf(why, size, "the baseline already contains it");
        rc = BASELINE_LEFT_OUT;
    } else {
        rc = merge_baselines(to, &one, err);
    }
    baseline_fini(&one);
    return rc;
}

enum baseline_added baseline_file_add(json_t *root, bool degraded,
                                      struct jp_baseline *to, char *why,
                                      size_t size, struct jp_error *err)
{
    enum baseline_added rc = BASELINE_UNREADABLE;
    struct jp_baseline one = {0};
    struct summary_file s;

    if (!is_baseline(root)) {
        if (summary_file_take(json_incref(root), NULL, &s, err) == 0)
            rc = baseline_file_add_report(&s, degraded, to, why, size, err);
        summary_file_fini(&s);
    } else if (parse_baseline(root, &one, err) == 0) {
        rc = merge_baselines(to, &one, err);
    }
    baseline_fini(&one);
    return rc;
}
