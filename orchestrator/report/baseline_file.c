/* baseline_file.c - read and write baselines. */
#include "orchestrator/report/baseline_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/report/json_out.h"
#include "orchestrator/report/netkey_json.h"
#include "orchestrator/report/summary_file.h"
#include "orchestrator/report/version.h"

#define FINGERPRINT_LEN 16

bool baseline_file_is(const json_t *root)
{
    return !strcmp(summary_file_text(root, "format"), BASELINE_FORMAT);
}

/* --- reading -------------------------------------------------------------- */

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
        b->n_reports++;
    }
    return 0;
}

static int read_cell(const json_t *row, const struct jp_baseline *b,
                     struct jp_baseline_cell *cell, struct jp_error *err)
{
    if (netkey_read(row, &cell->key, err) < 0 ||
        netkey_read_hist(row, "ops_histogram", &cell->ops, err) < 0 ||
        netkey_read_hist(row, "medians_histogram", &cell->medians, err) < 0)
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
        b->n_cells++;
        if (read_cell(json_array_get(list, i), b, &b->cells[i], err) < 0)
            return error_wrap(err, "cells[%zu]", i);
        if (i && netkey_compare(&b->cells[i - 1].key, &b->cells[i].key) >= 0)
            return error_set(err, "cells[%zu] is not in order", i);
    }
    return 0;
}

int baseline_file_parse(const json_t *root, struct jp_baseline *out,
                        struct jp_error *err)
{
    struct jp_baseline b = {0};
    uint64_t version = 0;

    if (!baseline_file_is(root))
        return error_set(err, "is no baseline (\"format\" is not "
                              "\"" BASELINE_FORMAT "\")");
    if (!summary_file_count(root, "version", &version) ||
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

static json_t *parse_text(const char *path, const char *text, size_t len,
                          struct jp_error *err)
{
    json_error_t why;
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);

    if (!root)
        error_set(err, "%s:%d: %s", path, why.line, why.text);
    return root;
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
    if ((!owned || fileio_check_site(fd, path, err) == 0) &&
        fileio_read_fd(fd, path, BASELINE_MAX_BYTES, &text, &len, err) == 0)
        root = parse_text(path, text, len, err);
    if (root) {
        rc = baseline_file_parse(root, out, err);
        if (rc < 0)
            error_wrap(err, "%s", path);
    }
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

    if (fileio_read(path, true, BASELINE_MAX_BYTES, &text, &len, err) == 0)
        root = parse_text(path, text, len, err);
    free(text);
    return root;
}

/* --- writing -------------------------------------------------------------- */

static json_t *cell_row(struct jp_json *j, const struct jp_baseline_cell *cell)
{
    json_t *row = json_out_object(j);

    netkey_put(j, row, &cell->key);
    json_out_count(j, row, "reports", cell->medians.total);
    json_out_count(j, row, "ops", cell->ops.total);
    netkey_put_quantiles(j, row, "net_busbw_gbs", &cell->ops);
    netkey_put_quantiles(j, row, "medians_gbs", &cell->medians);
    netkey_put_hist(j, row, "ops_histogram", &cell->ops);
    netkey_put_hist(j, row, "medians_histogram", &cell->medians);
    return row;
}

int baseline_file_write(const struct jp_baseline *b, FILE *out,
                        struct jp_error *err)
{
    struct jp_json j = {0};
    json_t *root = json_out_object(&j), *reports = json_out_array(&j);
    json_t *cells = json_out_array(&j);

    json_out_text(&j, root, "format", BASELINE_FORMAT);
    json_out_count(&j, root, "version", BASELINE_VERSION);
    json_out_text(&j, root, "generator", "jobprof " JP_VERSION);
    for (size_t i = 0; i < b->n_reports; i++) {
        char text[FINGERPRINT_LEN + 1];

        snprintf(text, sizeof(text), "%016" PRIx64, b->reports[i]);
        json_out_append(&j, reports, json_string(text));
    }
    json_out_put(&j, root, "reports", reports);
    for (size_t i = 0; i < b->n_cells; i++)
        json_out_append(&j, cells, cell_row(&j, &b->cells[i]));
    json_out_put(&j, root, "cells", cells);
    return json_out_dump(&j, root, out, err);
}
