/* netkey_json.c - write network cells as JSON, and read them without trust. */
#include "orchestrator/report/netkey_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/figure.h"
#include "common/quote.h"
#include "orchestrator/report/text_out.h"
#include "orchestrator/report/summary_file.h"

static bool is_told(const char *word)
{
    return strcmp(word, "unknown") && strcmp(word, "none");
}

char *netnames_link(const struct jp_netkey *key, char *buf)
{
    bool fabric = is_told(key->fabric), inter = is_told(key->inter);

    if (fabric || inter)
        snprintf(buf, NETNAMES_LEN, "%s%s%s", fabric ? key->fabric : "",
                 fabric && inter ? ", " : "", inter ? key->inter : "");
    else
        snprintf(buf, NETNAMES_LEN, "%s", comm_type_name(key->type));
    return buf;
}

char *netnames_shape(const struct jp_netkey *key, char *buf)
{
    snprintf(buf, NETNAMES_LEN, "%" PRIu32 " rank%s on %" PRIu32 " node%s",
             key->n_ranks, plural(key->n_ranks), key->n_hosts,
             plural(key->n_hosts));
    return buf;
}

char *netnames_series(const struct jp_netkey *key, char *buf)
{
    char link[NETNAMES_LEN], shape[NETNAMES_LEN];

    snprintf(buf, NETNAMES_LEN, "%.31s, %.40s, %.60s", key->coll,
             netnames_link(key, link), netnames_shape(key, shape));
    return buf;
}

char *netnames_kind(const struct jp_netkey *key, char *buf)
{
    char link[NETNAMES_LEN];

    snprintf(buf, NETNAMES_LEN, "%.40s, %" PRIu32 "r/%" PRIu32 "n",
             netnames_link(key, link), key->n_ranks, key->n_hosts);
    return buf;
}

/* --- write network cells as JSON, and read them without trust */

void netkey_put(struct jp_json_stream *s, const struct jp_netkey *key)
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

void netkey_put_quantiles(struct jp_json_stream *s, const char *name,
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
        if (!hist->counts[i])
            continue;
        json_stream_array(s, NULL);
        json_stream_count(s, NULL, hist->first + i);
        json_stream_count(s, NULL, hist->counts[i]);
        json_stream_end_array(s);
    }
    json_stream_end_array(s);
}

/* --- reading -------------------------------------------------------------- */

/* As it would be written: what cleaning changes was not written by us. */
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
    memset(out, 0, size);
    memcpy(out, text, strlen(text));
    return 0;
}

static int read_u32(const json_t *row, const char *name, uint32_t *out,
                    struct jp_error *err)
{
    uint64_t value;

    if (!summary_file_count(row, name, &value) || value > UINT32_MAX)
        return error_set(err, "\"%s\" is not a count below 2^32", name);
    *out = (uint32_t) value;
    return 0;
}

static int read_type(const json_t *row, enum jp_comm_type *out,
                     struct jp_error *err)
{
    const char *text = summary_file_text(row, "comm_type");

    for (int i = 0; i < JP_COMM_N_TYPES; i++)
        if (!strcmp(text, comm_type_name((enum jp_comm_type) i))) {
            *out = (enum jp_comm_type) i;
            return 0;
        }
    return error_set(err, "\"comm_type\": no such type: \"%s\"", QUOTE(text));
}

static int read_size(const json_t *row, uint32_t *out, struct jp_error *err)
{
    uint64_t bytes;

    if (!summary_file_count(row, "size_from_bytes", &bytes))
        return error_set(err, "\"size_from_bytes\" is not a count");
    *out = netcells_size(bytes);
    if (netcells_bytes(*out) != bytes)
        return error_set(err,
                         "\"size_from_bytes\": no class of sizes begins "
                         "with %" PRIu64,
                         bytes);
    return 0;
}

int netkey_read(const json_t *row, struct jp_netkey *key, struct jp_error *err)
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

int netkey_read_hist(const json_t *row, const char *name,
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
            return error_set(err,
                             "\"%s\"[%zu] is no pair of a bucket and a "
                             "count",
                             name, i);
        if (at <= before || at >= BWHIST_BUCKETS)
            return error_set(err,
                             "\"%s\"[%zu]: bucket %" JSON_INTEGER_FORMAT
                             " is not behind the one before and below %d",
                             name, i, at, BWHIST_BUCKETS);
        before = at;
        if (bwhist_add(hist, (uint32_t) at,
                       (uint64_t) json_integer_value(count)) < 0)
            return error_set(err,
                             "\"%s\": out of memory, or more than can be "
                             "counted",
                             name);
    }
    return 0;
}
