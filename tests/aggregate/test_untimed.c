/* test_untimed.c - records without a time, and traces in a join. */
#include "orchestrator/aggregate/aggregate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "orchestrator/aggregate/join_parts.h"
#include "orchestrator/aggregate/timeline.h"
#include "tests/aggregate/jpr_maker.h"
#include "tests/aggregate/op_of.h"
#include "tests/common/tempdir.h"

static struct jp_result *run(const char *dir, unsigned threads)
{
    const struct jp_aggregate_options options = {.threads = threads};

    return result_of(dir, &options);
}

/* A trace of AllReduce 0 to n - 1 of 1,000 bytes; exec 0: no KernelCh. */
static void put_trace(const char *dir, const char *name, unsigned rank,
                      unsigned from, unsigned n, unsigned exec_us)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    fputs("[\n", out);
    for (unsigned i = from; i < from + n; i++) {
        fprintf(
            out,
            "{\"name\": \"AllReduce\", \"cat\": \"COLL\", \"ph\": \"b\", "
            "\"ts\": 1.0, \"args\": {\"SeqNum\": %u, \"CommHash\": 9, "
            "\"Rank\": %u, \"Count\": 1000, \"Datatype\": \"ncclInt8\"}},\n",
            i, rank);
        if (exec_us)
            fprintf(out,
                    "{\"name\": \"KernelCh\", \"cat\": \"GPU\", \"ph\": \"b\", "
                    "\"ts\": 2.0, \"args\": {\"StartGpuClk\": 1000, "
                    "\"StopGpuClk\": %u}},\n",
                    1000 + 1000 * exec_us);
        fputs("{\"name\": \"AllReduce\", \"cat\": \"COLL\", \"ph\": \"e\", "
              "\"ts\": 1.5},\n",
              out);
    }
    fputs("{}]\n", out);
    fclose(out);
    free(tempdir_file(dir, name, 0600, text));
    free(text);
}

static char *raw(const char *dir, const char *node)
{
    char *path = tempdir_path(dir, "raw");

    mkdir(path, 0700);
    free(path);
    path = malloc(strlen(dir) + strlen(node) + 8);
    assert_non_null(path);
    snprintf(path, strlen(dir) + strlen(node) + 8, "%s/raw/%s", dir, node);
    assert_int_equal(mkdir(path, 0700), 0);
    return path;
}

/* A record without a time is neither the shortest nor the last, and nothing is
 * known of its operation's waits. */
static void no_time_is_not_the_shortest(void **state)
{
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        struct jp_result *r;

        put_trace(*state, "a_9_0.json", 0, 0, 2, 30);
        put_trace(*state, "b_9_1.json", 1, 0, 2, 0);
        put_trace(*state, "c_9_2.json", 2, 0, 2, 20);
        r = run(*state, threads);
        assert_int_equal(r->n_ops, 2);
        assert_int_equal(op_of(r, 0).n, 3);
        assert_int_equal(op_of(r, 0).n_exec, 2);
        assert_int_equal(op_of(r, 0).exec_min_us, 20);
        assert_int_equal(op_of(r, 0).exec_max_us, 30);
        assert_int_equal(op_of(r, 0).exec_second_us, 30);
        assert_int_equal(op_of(r, 0).exec_sum_us, 50);
        assert_int_equal(op_of(r, 0).min_rank, UINT32_MAX);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(r->ranks[i].timed_ops, 0);
        assert_int_equal(r->quality.untimed_records, 2);
        assert_int_equal(r->quality.nan_busbw, 2);
        assert_int_equal(r->cells[0].exec.n, 2);
        assert_int_equal(r->cells[0].net_busbw.n, 0);
        result_destroy(r);
    }
}

/* No times at all: NCCL before 2.26.3 within one node. */
static void no_time_at_all(void **state)
{
    struct jp_result *r;

    put_trace(*state, "a_9_0.txt", 0, 0, 2, 0);
    put_trace(*state, "b_9_1.txt", 1, 0, 2, 0);
    r = run(*state, 1);
    assert_int_equal(r->n_ops, 2);
    assert_int_equal(op_of(r, 0).n_exec, 0);
    assert_int_equal(op_of(r, 0).exec_max_us, 0);
    assert_int_equal(r->cells[0].exec.n, 0);
    assert_int_equal(r->cells[0].busbw.n, 0);
    assert_int_equal(r->ranks[0].timed_ops, 0);
    assert_int_equal(r->quality.untimed_records, 4);
    result_destroy(r);
}

/* Recordings of interfaces v1 to v3 have no times, either. */
static void recordings_without_times(void **state)
{
    struct jp_result *r;

    for (unsigned rank = 0; rank < 2; rank++) {
        const struct jpr_comm comm = {.known = true,
                                      .id = 1,
                                      .name = "c",
                                      .rank = rank,
                                      .gpu_pci = "",
                                      .gpu_uuid = ""};
        struct jpr_op op = {
            .func = "AllReduce", JPR_MAKER_NO_TEXTS, .bytes = 64};
        char *path = tempdir_path(*state, rank ? "b.jpr" : "a.jpr");
        FILE *f = fopen(path, "w");
        struct jpr_maker *maker;

        assert_non_null(f);
        maker = jpr_maker_create(f);
        jpr_maker_header(maker, "h", 1 + rank, rank, NULL);
        jpr_maker_comm(maker, &comm);
        jpr_maker_times(&op, JPR_MAKER_MONO_NS, rank ? 10 : 0);
        jpr_maker_op(maker, &op);
        jpr_maker_destroy(maker);
        fclose(f);
        free(path);
    }
    r = run(*state, 2);
    assert_int_equal(op_of(r, 0).n, 2);
    assert_int_equal(op_of(r, 0).n_exec, 1);
    assert_int_equal(op_of(r, 0).exec_min_us, 10);
    assert_int_equal(op_of(r, 0).exec_second_us, 10); /* there is no second */
    assert_int_equal(r->ranks[0].last_ops, 0);
    assert_int_equal(r->quality.untimed_records, 1);
    result_destroy(r);
}

/* Sizes and bandwidths come from ranks and hosts: 4 ranks on 2 nodes. */
static void sizes_and_bandwidths_are_found(void **state)
{
    char *n1 = raw(*state, "n1"), *n2 = raw(*state, "n2");
    struct jp_result *r;

    for (unsigned rank = 0; rank < 4; rank++) {
        char name[32];

        snprintf(name, sizeof(name), "t_9_%u.json", rank);
        put_trace(rank < 2 ? n1 : n2, name, rank, 0, 1, 10 + rank);
    }
    r = run(*state, 2);
    assert_int_equal(r->n_comms, 1);
    assert_string_equal(r->comms[0].id, "0x9");
    assert_int_equal(r->comms[0].n_ranks, 4);
    assert_int_equal(r->comms[0].nnodes, 2);
    assert_int_equal(r->comms[0].type, JP_COMM_MIXED);
    assert_string_equal(r->comms[0].evidence, "hosts");
    assert_string_equal(r->ranks[3].host, "n2");
    assert_int_equal(op_of(r, 0).min_rank, 0);
    /* 1,000 B in 10 us are 0.1 GB/s, times 2 (n - 1) / n */
    assert_int_equal(op_of(r, 0).busbw_max_micro, 150000);
    assert_int_equal(r->ranks[0].caused_us, 6);
    assert_int_equal(op_of(r, 0).dump_max_us, 0);
    assert_int_equal(r->n_windows, 0);
    result_destroy(r);
    free(n1);
    free(n2);
}

/* Numbers that no rank recorded are lost, because traces have no size filter.
 */
static void gaps_of_traces_are_losses(void **state)
{
    struct jp_result *r;

    put_trace(*state, "a_9_0.json", 0, 5, 3, 30);
    put_trace(*state, "b_9_1.json", 1, 5, 3, 30);
    r = run(*state, 2);
    assert_int_equal(r->quality.records, 6);
    assert_int_equal(r->quality.expected_kind, JP_EXPECT_BOUND);
    assert_int_equal(r->quality.expected, 16);
    assert_int_equal(r->quality.overflow_records, 10);
    assert_int_equal(r->quality.unseen_records, 0);
    assert_int_equal(r->quality.traces, 2);
    assert_int_equal(r->quality.trace_most[JP_TRACE_COLL], 3);
    assert_int_equal(r->quality.n_notes, 2);
    assert_non_null(strstr(r->quality.notes[0].what, "misses at least 5"));
    result_destroy(r);
}

/* In a communicator that turns out to have one rank, no rank waits. */
static void one_rank_is_not_timed(void **state)
{
    struct jp_result *r;

    put_trace(*state, "a_9_0.json", 0, 0, 3, 30);
    r = run(*state, 1);
    assert_int_equal(r->comms[0].type, JP_COMM_SINGLE_RANK);
    assert_int_equal(r->ranks[0].timed_ops, 0);
    assert_int_equal(op_of(r, 0).busbw_max_micro, 0);
    assert_string_equal(r->comms[0].evidence, "ranks");
    result_destroy(r);
}

/* A file that has only the name of a trace is not read; if it is not ours,
 * there is a note. */
static void other_files_are_left_alone(void **state)
{
    static const char *const names[] = {"job.json", "node.json", "summary.json",
                                        "log.txt",  "x.txt",     "other.json"};
    struct jp_result *r;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        free(tempdir_file(*state, names[i], 0600, "{\"a\": 1}\n"));
    r = run(*state, 2);
    assert_int_equal(r->quality.files, 0);
    assert_int_equal(r->quality.bad_lines, 0);
    assert_int_equal(r->quality.skipped_files, 1);
    assert_int_equal(r->quality.n_notes, 1);
    assert_non_null(strstr(r->quality.notes[0].path, "other.json"));
    result_destroy(r);
    free(tempdir_file(*state, "other.json", 0600, "[\n"));
    r = run(*state, 2); /* a trace whose program was killed */
    assert_int_equal(r->quality.files, 1);
    assert_int_equal(r->quality.cut_files, 1);
    result_destroy(r);
}

/* Adding a record to a row gives the same as folding the record's own row into
 * it. */
static void adds_as_it_folds(void **state)
{
    uint64_t random = 7;

    (void) state;
    for (unsigned round = 0; round < 2000; round++) {
        struct join_row added = {0}, folded = {0}, one;

        for (unsigned i = 0; i < 12; i++) {
            struct record r = {.bytes = 64, .rank = i};

            random = random * UINT64_C(6364136223846793005) + 1442695;
            r.exec_us = random >> 33 & 3; /* ties, and unknown ones */
            r.exec_unknown = !r.exec_us;
            r.busbw_nan = (random >> 36 & 7) == 0;
            r.busbw_micro = r.busbw_nan ? 0 : random >> 40 & 7;
            r.dump_us = random >> 44 & 7;
            join_row_add(&added, &r);
            join_row_fill(&one, &r);
            join_row_fold(&folded, &one);
            assert_memory_equal(&added, &folded, sizeof(added));
        }
    }
}

/* A log whose AllReduces have start and end, if timed, and whose Sends have
 * not. The first record is an AllReduce. */
static void put_mixed(const char *dir, unsigned n, bool timed)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    for (unsigned i = 0; i < n; i++) {
        uint64_t at = UINT64_C(1700000000000000) + i * UINT64_C(1000);

        fprintf(
            out,
            "{\"header\":{\"id\":\"0x9\",\"comm_name\":\"\",\"rank\":0,"
            "\"n_ranks\":2,\"nnodes\":1},\"metadata\":{"
            "\"inspector_output_format_version\":\"v4.0\",\"git_rev\":\"x\","
            "\"rec_mechanism\":\"nccl_profiler_interface\","
            "\"dump_timestamp_us\":%llu,\"hostname\":\"h\",\"pid\":7},",
            (unsigned long long) at + 900);
        if (i % 2)
            fprintf(out,
                    "\"p2p_perf\":{\"p2p\":\"Send\",\"p2p_sn\":%u,"
                    "\"p2p_peer\":1,\"p2p_msg_size_bytes\":64,"
                    "\"p2p_exec_time_us\":%u,\"p2p_timing_source\":"
                    "\"kernel_gpu\",\"p2p_algobw_gbs\":1.0,"
                    "\"p2p_busbw_gbs\":1.0}}\n",
                    i, 100 + i);
        else
            fprintf(out,
                    "\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":%u,"
                    "\"coll_msg_size_bytes\":64,\"coll_exec_time_us\":%u,"
                    "\"coll_timing_source\":\"kernel_gpu\","
                    "\"coll_algobw_gbs\":1.0,\"coll_busbw_gbs\":1.0",
                    i / 2, 100 + i);
        if (!(i % 2) && timed)
            fprintf(out,
                    ",\"event_trace_ts\":{\"coll_start_ts\":%llu,"
                    "\"coll_stop_ts\":%llu,\"kernel_events\":["
                    "{\"channel_id\":0,\"kernel_start_ts\":%llu,"
                    "\"kernel_stop_ts\":%llu,\"kernel_record_ts\":%llu}]}",
                    (unsigned long long) at, (unsigned long long) at + 100 + i,
                    (unsigned long long) at, (unsigned long long) at + 100 + i,
                    (unsigned long long) at + 100 + i);
        if (!(i % 2))
            fputs("}}\n", out);
    }
    fclose(out);
    free(tempdir_file(dir, "h-pid7.log", 0600, text));
    free(text);
}

/* A file of which some records have start and end and others have not shows the
 * order of all of them, as one without any does; also if it is read in pieces.
 */
static void order_of_all(void **state)
{
    enum { RECORDS = 2000 };

    for (int timed = 0; timed < 2; timed++)
        for (int pieces = 0; pieces < 2; pieces++) {
            const struct jp_aggregate_options options = {
                .threads = pieces ? 3 : 1, .piece_bytes = pieces ? 60000 : 0};
            struct timeline_reader reader;
            struct timeline_event e;
            struct jp_result *r;
            unsigned n = 0;

            put_mixed(*state, RECORDS, timed);
            r = result_of(*state, &options);
            assert_int_equal(r->n_timelines, timed);
            if (timed) {
                assert_int_equal(r->timelines[0]->n, RECORDS / 2);
                assert_true(r->timelines[0]->ordered);
            }
            assert_int_equal(r->n_sequences, 1);
            assert_int_equal(r->sequences[0]->n, RECORDS);
            assert_int_equal(r->sequences[0]->left, 0);
            assert_int_equal(timeline_reader_init(&reader, r->sequences[0]), 0);
            for (; timeline_next(&reader, &e); n++) {
                assert_int_equal(e.time_us, 100 + n);
                assert_int_equal(e.start_us, 0);
                assert_int_equal(r->sequences[0]->series[e.series].p2p, n % 2);
            }
            assert_int_equal(n, RECORDS);
            timeline_reader_fini(&reader);
            result_destroy(r);
        }
}

int main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, tempdir_make, tempdir_drop)
    const struct CMUnitTest tests[] = {
        TEST(no_time_is_not_the_shortest),
        TEST(no_time_at_all),
        TEST(recordings_without_times),
        TEST(sizes_and_bandwidths_are_found),
        TEST(gaps_of_traces_are_losses),
        TEST(one_rank_is_not_timed),
        TEST(other_files_are_left_alone),
        cmocka_unit_test(adds_as_it_folds),
        TEST(order_of_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
