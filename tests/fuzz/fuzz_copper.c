/* fuzz_copper.c - any bytes as each of Copper's files. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/copper/copper_counts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void open_bytes(struct copper_stream *stream, const void *data,
                       size_t size)
{
    if (copper_stream_bytes(stream, data, size, NULL) < 0)
        abort();
}

/* A failure says why, and where there is a line, which. */
static void check_error(int rc, const struct jp_error *err)
{
    assert(rc >= -1 && (rc < 0) == (*err->text != '\0'));
}

static void read_counts(const void *data, size_t size)
{
    struct copper_totals totals = {.odd = {""}}, sum;
    struct copper_ops ops = {.odd = {""}}, diff;
    struct copper_cache_size cache;
    struct copper_stream s;
    struct jp_error err;

    open_bytes(&s, data, size);
    err = (struct jp_error){""};
    check_error(copper_totals_read(&s, &totals, &err), &err);
    copper_stream_close(&s);
    open_bytes(&s, data, size);
    err = (struct jp_error){""};
    check_error(copper_ops_read(&s, &ops, &err), &err);
    copper_stream_close(&s);
    for (unsigned d = 0; d < COPPER_N_DUMPS; d++) {
        open_bytes(&s, data, size);
        err = (struct jp_error){""};
        check_error(copper_dump_read(&s, d, &ops, &err), &err);
        copper_stream_close(&s);
    }
    copper_ops_sum(&ops, &sum);
    copper_counts_agree(&totals, &ops, &err);
    if (copper_ops_since(&ops, &ops, &diff, &err) < 0)
        abort();
    copper_ops_sum(&diff, &sum);
    for (size_t i = 0; i < COPPER_N_METRICS; i++)
        assert(!sum.value[i]);
    open_bytes(&s, data, size);
    err = (struct jp_error){""};
    check_error(copper_cache_size_read(&s, &cache, &err), &err);
    copper_stream_close(&s);
}

static void read_rows(struct copper_rows *rows, struct copper_stream *stream)
{
    struct jp_error err = {""};
    struct copper_row row;
    uint64_t n = 0;
    int rc;

    while ((rc = copper_rows_next(rows, &row, &err)) > 0) {
        n++;
        assert(row.category < COPPER_N_CATEGORIES);
        assert(row.len < COPPER_PATH_MAX && strlen(row.path) == row.len);
        copper_row_events(&row);
    }
    check_error(rc, &err);
    assert(n == rows->rows && copper_rows_next(rows, &row, &err) == 0);
    copper_rows_fini(rows);
    copper_stream_close(stream);
}

static void read_notes(const void *data, size_t size)
{
    struct copper_settings settings;
    struct copper_log log;
    struct copper_stream s;
    struct jp_error err = {""};
    const char *host;
    size_t len;
    int rc;

    open_bytes(&s, data, size);
    check_error(copper_summary_read(&s, &settings, &err), &err);
    copper_stream_close(&s);
    open_bytes(&s, data, size);
    err = (struct jp_error){""};
    rc = copper_log_read(&s, &log, &err);
    check_error(rc, &err);
    assert(rc < 0 || (log.level >= -1 && log.level <= 64));
    copper_stream_close(&s);
    open_bytes(&s, data, size);
    err = (struct jp_error){""};
    while ((rc = copper_book_next(&s, &host, &len, &err)) > 0)
        assert(len > 0);
    check_error(rc, &err);
    copper_stream_close(&s);
    copper_log_probe(data, size);
}

static void parse_name(const uint8_t *data, size_t size)
{
    static const char *const folders[] = {"final", "pre-destroy",
                                          "runtime-snapshot-3", "x", "cluster"};
    struct copper_name name;
    char text[300];

    if (size >= sizeof(text))
        size = sizeof(text) - 1;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
        if (copper_name_parse(folders[i], text, &name)) {
            assert(strcmp(folders[i], "cluster"));
            assert(name.kind < COPPER_N_FILES && name.tag < COPPER_N_TAGS);
            assert(strlen(name.host) < COPPER_HOST_MAX);
        }
    copper_name_parse(text, "h-1-profiling_aggregate.csv", &name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct copper_stream s;
    struct copper_rows rows;

    read_counts(data, size);
    open_bytes(&s, data, size);
    copper_rows_init(&rows, &s, COPPER_TOP_PATHS);
    read_rows(&rows, &s);
    for (unsigned c = 0; c < COPPER_N_CATEGORIES; c++) {
        open_bytes(&s, data, size);
        copper_rows_init(&rows, &s, (int) c);
        read_rows(&rows, &s);
    }
    read_notes(data, size);
    parse_name(data, size);
    return 0;
}
