/* fuzz_result.c - what a fuzz target's join must come to. */
#include "tests/fuzz/fuzz_result.h"

#include <assert.h>
#include <stdlib.h>

#include "orchestrator/aggregate/ops.h"

void fuzz_read(const char *backend, const char *path, bool evidence,
               struct join *join, const void *data, size_t size, uint32_t index,
               struct source_facts *facts)
{
    struct reader_states *states = reader_states_create();
    atomic_bool stop = false;
    _Atomic uint64_t done = 0;
    const struct join_reading reading = {.join = join,
                                         .states = states,
                                         .stop = &stop,
                                         .done = &done,
                                         .evidence = evidence,
                                         .timelines = true,
                                         .timeline_events = 1 << 12,
                                         .strip_bins = 256};
    const struct reader_input in = {.path = path,
                                    .data = data ? data : "",
                                    .len = size,
                                    .to = UINT64_MAX,
                                    .stop = &stop,
                                    .done = &done};

    if (!states)
        abort();
    join_begin_file(join, index);
    aggregate_read(&reading, backend_find(backend), &in, facts);
    reader_states_destroy(states);
}

static void check_busy(const struct jp_result *r)
{
    for (size_t i = 0; i < r->n_busy; i++) {
        const struct jp_busy *b = &r->busy[i];
        uint64_t sum = 0;

        for (size_t k = 0; k < r->n_busy_slices; k++) {
            assert(b->slice_us[k] <= r->busy_slice_us);
            sum += b->slice_us[k];
        }
        assert(sum == b->busy_us && b->from_us <= b->to_us);
    }
}

static void check_any(const struct jp_result *r)
{
    uint64_t records = 0, of_ranks = 0;
    struct ops_reader reader = {.ops = r->ops};

    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(&reader, i);

        assert(op->n > 0 && op->n_busbw <= op->n);
        assert(op->coll < r->n_coll_names && op->comm < r->n_comms);
        assert(op->exec_min_us <= op->exec_second_us);
        assert(op->exec_second_us <= op->exec_max_us);
        assert(op->exec_max_us <= op->exec_sum_us);
        records += op->n;
    }
    for (size_t i = 0; i < r->n_ranks; i++) {
        of_ranks += r->ranks[i].records;
        assert(r->ranks[i].last_ops <= r->ranks[i].timed_ops);
    }
    assert(records == r->quality.coll_records && of_ranks == records);
    check_busy(r);
}

void fuzz_result(struct join *join, const struct jp_logwalk *walk,
                 struct source_facts *files,
                 void (*check)(const struct jp_result *r))
{
    static const struct jp_aggregate_options options = {
        .tags = "3:forward;4:my step"};
    struct build b = {.join = join,
                      .walk = walk,
                      .files = files,
                      .options = &options,
                      .row_limit = 100};

    b.result = calloc(1, sizeof(*b.result));
    if (!b.result || result_build(&b) < 0)
        abort();
    check_any(b.result);
    if (check)
        check(b.result);
    result_destroy(b.result);
    free(b.comm_at);
    free(b.comm_from);
    free(b.func_at);
}
