/* fuzz_trace.c - any bytes as a trace of the example plugin, to the result. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/ops.h"
#include "plugins/nccl_example/example_reader.h"
#include "tests/fuzz/fuzz_result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the reader may hand out at all. */
static void look(const void *data, size_t size)
{
    struct record r;
    struct jp_tracefile file;
    enum trace_status status;
    uint64_t n = 0;

    if (tracefile_open_bytes(&file, data, size, "raw/n/t_1_2.json", NULL) < 0)
        abort();
    while ((status = tracefile_next(&file, &r)) <= TRACE_OP_BAD) {
        if (status == TRACE_OP_BAD) {
            assert(file.why && file.line);
            continue;
        }
        n++;
        assert(r.rank < RECORD_MAX_RANKS && r.peer < RECORD_MAX_RANKS);
        assert(r.bytes <= RECORD_MAX_BYTES && r.sn < UINT64_MAX);
        assert(r.exec_us <= RECORD_MAX_TIME_US);
        assert(r.exec_unknown == !r.exec_us && r.id.len <= RECORD_MAX_ID);
        assert(r.busbw_micro <= RECORD_MAX_BUSBW_MICRO);
        assert(record_is_word(r.func.text, r.func.len, RECORD_MAX_FUNC));
    }
    assert(status == TRACE_OP_END && n == file.records);
    tracefile_close(&file);
}

static void read_trace(struct join *join, const void *data, size_t size,
                       uint32_t index, struct source_facts *file)
{
    fuzz_read("example", "raw/n/t.json", false, join, data, size, index, file);
}

static void check(const struct jp_result *r)
{
    struct ops_reader reader = {.ops = r->ops};

    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(&reader, i);

        assert(op->n <= r->comms[op->comm].n_ranks);
        assert(op->n_exec <= op->n && op->n_busbw == op->n_exec);
        assert(!op->n_exec == !op->exec_sum_us);
    }
    assert(r->quality.records <= r->quality.expected ||
           r->quality.expected_kind == JP_EXPECT_NONE);
}

static void finish(struct join *join, struct source_facts *file)
{
    struct jp_logfile log = {.path = (char[]){"fuzz"}};
    struct jp_logwalk walk = {.logs = &log, .n_logs = 1};

    fuzz_result(join, &walk, file, check);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct join_budget budget = {.limit = 1 << 22, .journal_limit = 1 << 20};
    struct join *whole = join_create(&budget, true);
    struct join *a = join_create(&budget, false);
    struct join *b = join_create(&budget, false);
    struct source_facts file = {0}, half = {0};

    if (!whole || !a || !b)
        abort();
    trace_lex_begins((const char *) data, size);
    look(data, size);
    read_trace(whole, data, size, 0, &file);
    join_sort_strays(whole);
    finish(whole, &file);
    budget.used = budget.journal_used = 0;
    read_trace(a, data, size / 2, 0, &half);
    read_trace(b, data + size / 2, size - size / 2, 1, &half);
    join_sort_strays(a);
    join_sort_strays(b);
    if (!a->conflict && !b->conflict && join_merge(a, b) == JOIN_OK) {
        join_sort_strays(a);
        if (!a->conflict)
            finish(a, &half);
    }
    join_destroy(whole);
    join_destroy(a);
    join_destroy(b);
    aggregate_clear_facts(&file);
    aggregate_clear_facts(&half);
    return 0;
}
