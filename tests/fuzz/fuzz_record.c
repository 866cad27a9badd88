/* fuzz_record.c - any bytes as a log, plain and compressed, or as a recorder's
 * file, to the result, the exports and what is pending. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "orchestrator/aggregate/join.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/export/export.h"
#include "plugins/nccl_recorder/jpr_frame.h"
#include "tests/aggregate/both_ways.h"
#include "tests/fuzz/fuzz_result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The same operation by way of a line. */
static void compare_line(struct jp_recfile *source, const struct jpr_op *op)
{
    struct inspector_reader reader = {.why = ""};
    struct record direct, exported;
    char line[INSPECTOR_LINE_BYTES];
    size_t n = inspector_line_format(line, source, op);
    const char *why = recfile_record(source, op, &direct);

    assert(n > 0 || why);
    if (n == 0)
        return;
    assert((inspector_read_line(&reader, line, n, &exported) ==
            INSPECTOR_RECORD) == !why);
    assert(why || (direct.busbw_micro == exported.busbw_micro &&
                   direct.dump_us == exported.dump_us &&
                   direct.exec_us == exported.exec_us));
}

/* All that reads a recorder's file but the join. */
static void look_at_recording(const void *data, size_t size)
{
    struct jp_recfile source;
    struct jp_pending pending = {0};
    struct jpr_record record;
    uint64_t start, end;
    char *text;
    int rc, ops = 0;

    if (recfile_open_bytes(&source, data, size, "fuzz", NULL) < 0)
        return;
    while ((rc = recfile_next(&source, &record, NULL)) != 0) {
        if (rc < 0 || pending_add(&pending, &record) < 0 ||
            record.type != JPR_OP || ++ops > 200)
            continue;
        compare_line(&source, record.op);
        if (trace_event_span(record.op, &start, &end))
            assert(start <= end);
        text = trace_event_describe(&source, record.op);
        assert(text && text[strlen(text) - 1] == '}');
        free(text);
    }
    pending_settle(&pending);
    assert(pending.n <= PENDING_MAX);
    pending_fini(&pending);
    recfile_close(&source);
}

/* False: it is no recording. */
static bool read_recording(struct join *join, const void *data, size_t size,
                           uint32_t index, struct source_facts *file)
{
    fuzz_read("recorder", "fuzz", true, join, data, size, index, file);
    if (!file->unreadable && join_end_file(join) < 0)
        abort();
    return !file->unreadable;
}

/* The same for lines. */
static void read_bytes(struct join *join, const void *data, size_t size,
                       uint32_t index, struct source_facts *file)
{
    struct inspector_details details;

    inspector_details_read(data, size, &details);
    assert(details.algobw.len <= size && details.git_rev.len <= size);
    fuzz_read("inspector", "fuzz", true, join, data, size, index, file);
    if (join_end_file(join) < 0)
        abort();
}

static void check(const struct jp_result *r)
{
    uint64_t of_cells = 0;
    struct ops_reader reader = {.ops = r->ops};

    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(&reader, i);

        assert(op->n <= r->comms[op->comm].n_ranks);
    }
    for (size_t i = 0; i < r->n_ranks; i++)
        assert(r->ranks[i].rank < r->comms[r->ranks[i].comm].n_ranks);
    for (size_t i = 0; i < r->n_cells; i++)
        of_cells += r->cells[i].records;
    assert(of_cells == r->quality.coll_records);
    if (r->quality.expected_kind == JP_EXPECT_BOUND)
        assert(r->quality.records <= r->quality.expected);
}

/* The whole way to a result. */
static void finish(struct join *join, struct source_facts *file)
{
    struct jp_logfile log = {.path = (char[]){"fuzz"}};
    struct jp_logwalk walk = {.logs = &log, .n_logs = 1};

    fuzz_result(join, &walk, file, check);
}

/* The same blocks, stored and with right checks, which no mutation finds.
 * Returns the length. */
static size_t seal(const uint8_t *data, size_t size, uint8_t *out, size_t cap)
{
    size_t at = JPR_HEAD_BYTES, n = JPR_HEAD_BYTES;

    jpr_head_write(out);
    while (at + JPR_FRAME_BYTES < size) {
        size_t len = data[at + 8] | (size_t) data[at + 9] << 8;

        if (len > size - at - JPR_FRAME_BYTES)
            len = size - at - JPR_FRAME_BYTES;
        n += jpr_frame_write((enum jpr_block)(data[at + 4] & 7),
                             data + at + JPR_FRAME_BYTES, len, NULL, out + n,
                             cap - n);
        at += JPR_FRAME_BYTES + len;
    }
    return n;
}

/* A recorder's file to the result and past everything else that reads it. */
static bool try_recording(const uint8_t *data, size_t size,
                          struct join_budget *budget)
{
    struct join *join = join_create(budget, true);
    struct source_facts file = {0};
    bool good;

    if (!join)
        abort();
    budget->used = 0;
    good = read_recording(join, data, size, 0, &file);
    if (good) {
        look_at_recording(data, size);
        join_sort_strays(join);
        finish(join, &file);
    }
    join_destroy(join);
    aggregate_clear_facts(&file);
    return good;
}

static size_t squeeze(const uint8_t *data, size_t size, unsigned char *out,
                      size_t cap)
{
    z_stream z = {0};
    size_t n;

    if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    z.next_in = (unsigned char *) (uintptr_t) data;
    z.avail_in = (uInt) size;
    z.next_out = out;
    z.avail_out = (uInt) cap;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    n = z.total_out;
    deflateEnd(&z);
    return n;
}

/* The same bytes compressed say the same. */
static void compare_gzip(const uint8_t *data, size_t size,
                         struct join_budget *budget, const struct join *plain,
                         struct source_facts *file)
{
    size_t cap = size + size / 8 + 256;
    unsigned char *packed = malloc(cap);
    struct join *join = join_create(budget, true);
    struct source_facts again = {0};

    if (!packed || !join)
        abort();
    read_bytes(join, packed, squeeze(data, size, packed, cap), 0, &again);
    join_sort_strays(join);
    assert(join->coll_records == plain->coll_records);
    assert(join->p2p_records == plain->p2p_records);
    assert(join->duplicates == plain->duplicates);
    assert(again.bad_lines == file->bad_lines && again.cut == file->cut);
    join_destroy(join);
    aggregate_clear_facts(&again);
    free(packed);
}

/* Two threads' halves, folded. */
static void merge_halves(const uint8_t *data, size_t size,
                         struct join_budget *budget)
{
    struct join *a = join_create(budget, false);
    struct join *b = join_create(budget, false);
    struct source_facts file = {0};

    if (!a || !b)
        abort();
    read_bytes(a, data, size / 2, 0, &file);
    read_bytes(b, data + size / 2, size - size / 2, 1, &file);
    join_sort_strays(a);
    join_sort_strays(b);
    if (!a->conflict && !b->conflict && join_merge(a, b) == JOIN_OK) {
        join_sort_strays(a);
        if (!a->conflict)
            finish(a, &file);
    }
    join_destroy(a);
    join_destroy(b);
    aggregate_clear_facts(&file);
}

/* Speculation and the generic parser agree on every line, when it is new, and
 * when lines like it are known. */
static void compare_ways(const uint8_t *data, size_t size)
{
    struct inspector_reader reader = {.cache = inspector_cache_create()};

    if (!reader.cache)
        abort();
    assert(!both_ways_differ(&reader, (const char *) data, size));
    assert(!both_ways_differ(&reader, (const char *) data, size));
    inspector_cache_destroy(reader.cache);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct join_budget budget = {.limit = 1 << 22, .journal_limit = 1 << 20};
    struct join *join = join_create(&budget, true);
    struct source_facts file = {0};
    uint8_t *sealed;

    if (!join)
        abort();
    if (try_recording(data, size, &budget)) {
        sealed = malloc(2 * size + JPR_HEAD_BYTES);
        if (!sealed)
            abort();
        try_recording(sealed,
                      seal(data, size, sealed, 2 * size + JPR_HEAD_BYTES),
                      &budget);
        free(sealed);
        join_destroy(join);
        join_phases_fini(&budget);
        return 0;
    }
    compare_ways(data, size);
    budget.used = 0;
    read_bytes(join, data, size, 0, &file);
    join_sort_strays(join);
    if (size < 2 || data[0] != 0x1f || data[1] != 0x8b) {
        budget.used = 0;
        compare_gzip(data, size, &budget, join, &file);
    }
    finish(join, &file);
    join_destroy(join);
    aggregate_clear_facts(&file);
    budget.used = 0;
    merge_halves(data, size, &budget);
    join_phases_fini(&budget);
    return 0;
}
