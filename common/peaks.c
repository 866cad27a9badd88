/* peaks.c - read peaks.conf and find the bandwidth that a link should reach.
 *
 * peaks_find selects a row for a communicator, peaks_bound computes the highest
 * bandwidth by it, peaks_share the part that is expected for a size. The file
 * is read row by row (siteflat.h): each parse_*() function handles one key.
 */
#include "common/peaks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/knob.h"
#include "common/num.h"
#include "common/quote.h"
#include "common/siteflat.h"
#include "common/vector.h"

void peaks_fini(struct jp_peaks *peaks)
{
    if (!peaks)
        return;
    free(peaks->rows);
    *peaks = (struct jp_peaks){0};
}

/* whether text contains part, ignoring case (strcasestr is not in POSIX) */
static bool has_part(const char *text, const char *part)
{
    size_t len = strlen(part);

    for (; *text; text++)
        if (!strncasecmp(text, part, len))
            return true;
    return false;
}

/* Whether a row applies to a leg. A key that is missing applies to
 * everything. */
static bool holds(const struct peaks_row *row, const struct peaks_leg *leg)
{
    return !strcmp(row->link, leg->link) &&
           (!*row->gpu || has_part(leg->gpu, row->gpu)) &&
           (!*row->function || !strcmp(row->function, leg->function)) &&
           (!row->max_ranks || leg->n_ranks <= row->max_ranks);
}

const struct peaks_row *peaks_find(const struct jp_peaks *peaks,
                                   const struct peaks_leg *leg)
{
    for (size_t i = 0; i < peaks->n; i++)
        if (holds(&peaks->rows[i], leg))
            return &peaks->rows[i];
    return NULL;
}

double peaks_bound(const struct peaks_row *row, const struct peaks_leg *leg)
{
    uint32_t links = leg->ranks_per_node;

    /* Ranks of a node share its links. */
    if (row->per_node && row->per_node < links)
        links = row->per_node;
    return row->peak_gbs * links;
}

double peaks_share(const struct peaks_row *row, uint64_t bytes)
{
    double share = 0;

    /* The sizes ascend: the last one that is not above bytes applies. */
    for (size_t i = 0; i < row->n_sizes && row->sizes[i].from_bytes <= bytes;
         i++)
        share = row->sizes[i].share;
    return share;
}

/* --- the keys of peaks.conf --- */

/* The largest number of ranks in a row; a larger one is a mistake. */
#define MAX_RANKS 10000000

/* A knob, for its check and its message with the valid words. */
static const struct jp_knob link_knob = {
    .name = "link", .kind = JP_KNOB_WORD, .words = PEAKS_LINKS};

/* The state of one load. */
struct loader {
    struct jp_peaks list;
    struct peaks_row row; /* the row that is being read */
};

/* --- values --------------------------------------------------------------- */

/* Copies a text of at most size - 1 bytes. */
static int read_text(const config_setting_t *s, char *out, size_t size,
                     struct jp_error *err)
{
    const char *text = sitelist_text(s, err);

    if (!text || sitelist_check_text(text, size - 1, err) < 0)
        return -1;
    memcpy(out, text, strlen(text) + 1);
    return 0;
}

/* A whole number from 1 to MAX_RANKS. */
static int read_count(const config_setting_t *s, uint32_t *out,
                      struct jp_error *err)
{
    int type = config_setting_type(s);
    long long v = config_setting_get_int64(s);

    if (type != CONFIG_TYPE_INT && type != CONFIG_TYPE_INT64)
        return error_set(err, "is not a whole number");
    if (v < 1 || v > MAX_RANKS)
        return error_set(err, "%lld is not from 1 to %d", v, MAX_RANKS);
    *out = (uint32_t) v;
    return 0;
}

/* A number above 0 and at most max, written with or without a point. */
static int read_real(const config_setting_t *s, double max, double *out,
                     struct jp_error *err)
{
    double v;

    switch (config_setting_type(s)) {
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        v = (double) config_setting_get_int64(s);
        break;
    case CONFIG_TYPE_FLOAT:
        v = config_setting_get_float(s);
        break;
    default:
        return error_set(err, "is not a number");
    }
    if (!isfinite(v) || v <= 0 || v > max)
        return error_set(err, "%g is not above 0 and at most %g", v, max);
    *out = v;
    return 0;
}

/* link: one of PEAKS_LINKS. */
static int parse_link(void *arg, const config_setting_t *s,
                      struct jp_error *err)
{
    struct peaks_row *row = arg;
    const char *text = sitelist_text(s, err);

    if (!text || knob_check(&link_knob, text, err) < 0)
        return -1;
    snprintf(row->link, sizeof(row->link), "%s", text);
    return 0;
}

/* gpu: a part of the model's name. */
static int parse_gpu(void *arg, const config_setting_t *s, struct jp_error *err)
{
    struct peaks_row *row = arg;
    return read_text(s, row->gpu, sizeof(row->gpu), err);
}

/* function: a collective as NCCL names it. */
static int parse_function(void *arg, const config_setting_t *s,
                          struct jp_error *err)
{
    struct peaks_row *row = arg;
    return read_text(s, row->function, sizeof(row->function), err);
}

/* max_ranks: the row applies to communicators of at most this size. */
static int parse_max_ranks(void *arg, const config_setting_t *s,
                           struct jp_error *err)
{
    struct peaks_row *row = arg;
    return read_count(s, &row->max_ranks, err);
}

/* per_node: links that the ranks of a node share. */
static int parse_per_node(void *arg, const config_setting_t *s,
                          struct jp_error *err)
{
    struct peaks_row *row = arg;
    return read_count(s, &row->per_node, err);
}

/* peak: the bus bandwidth of one link in GB/s. */
static int parse_peak(void *arg, const config_setting_t *s,
                      struct jp_error *err)
{
    struct peaks_row *row = arg;
    return read_real(s, PEAKS_MAX_GBS, &row->peak_gbs, err);
}

/* One entry of the list expect: ("16M", 0.6). Sizes must ascend. */
static int parse_size(const config_setting_t *pair, struct peaks_row *row,
                      struct jp_error *err)
{
    struct peaks_size *size = &row->sizes[row->n_sizes];
    const char *text;

    if (!config_setting_is_list(pair) || config_setting_length(pair) != 2)
        return error_set(err, "has an entry that is not (SIZE, SHARE)");
    text = config_setting_get_string(config_setting_get_elem(pair, 0));
    if (!text)
        return error_set(err, "a size is not a string in quotes");
    if (num_parse_size(text, 0, UINT64_MAX, &size->from_bytes, err) < 0 ||
        read_real(config_setting_get_elem(pair, 1), 1, &size->share, err) < 0)
        return -1;
    /* peaks_share depends on the order. */
    if (row->n_sizes && size[-1].from_bytes >= size->from_bytes)
        return error_set(err, "\"%s\" is not larger than the size before it",
                         QUOTE(text));
    /* Only complete entries count. */
    row->n_sizes++;
    return 0;
}

/* expect: the shares of the peak that are expected, by size. */
static int parse_expect(void *arg, const config_setting_t *s,
                        struct jp_error *err)
{
    struct peaks_row *row = arg;
    int n = config_setting_length(s);

    if (!config_setting_is_list(s) || n < 1)
        return error_set(err, "is not a list ( (SIZE, SHARE), ... )");
    if (n > PEAKS_MAX_SIZES)
        return error_set(err, "%d sizes are too many (at most %d)", n,
                         PEAKS_MAX_SIZES);
    for (int i = 0; i < n; i++)
        if (parse_size(config_setting_get_elem(s, (unsigned) i), row, err) < 0)
            return -1;
    return 0;
}

static const struct sitelist_key keys[] = {
    {"link", parse_link, false},        {"gpu", parse_gpu, true},
    {"function", parse_function, true}, {"max_ranks", parse_max_ranks, true},
    {"per_node", parse_per_node, true}, {"peak", parse_peak, false},
    {"expect", parse_expect, false},
};

/* Starts an empty row (sitelist_format). */
static void *begin_row(void *arg)
{
    struct loader *ld = arg;

    ld->row = (struct peaks_row){.per_node = 0};
    return &ld->row;
}

/* Appends a complete row; it owns nothing. */
static int take_row(void *arg, void *read, const char *where,
                    struct jp_error *err)
{
    struct loader *ld = arg;
    struct peaks_row *row = VECTOR_DOUBLE_ADD(ld->list.rows, ld->list.n);

    (void) where;
    if (!row)
        return error_set(err, "out of memory");
    memcpy(row, read, sizeof(*row));
    return 0;
}

static const struct sitelist_format format = {
    .name = "peaks",
    .max_rows = PEAKS_MAX_ROWS,
    .keys = keys,
    .n_keys = sizeof(keys) / sizeof(*keys),
    .begin = begin_row,
    .take = take_row,
};

/* Rows with mistakes are reported and left out; the others count. */
int peaks_load(const char *path, peaks_report *report, void *arg,
               struct jp_peaks *out, struct jp_error *err)
{
    struct loader ld = {.list = {0}};
    struct jp_error one = {""};

    if (sitelist_read(path, &format, &ld, report, arg, &one) == 0) {
        *out = ld.list;
        return 0;
    }
    peaks_fini(&ld.list);
    if (report)
        report(arg, one.text);
    return error_set(err, "%s", one.text);
}
