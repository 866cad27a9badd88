/* test_counts.c - how many records there should be, by the recorder's counters;
 * and sizes that were not recorded. */
#include "orchestrator/aggregate/aggregate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/aggregate/jpr_maker.h"
#include "tests/aggregate/op_of.h"
#include "tests/common/tempdir.h"

static struct jp_result *run(const char *dir, unsigned threads)
{
    const struct jp_aggregate_options options = {.threads = threads};

    return result_of(dir, &options);
}

/* Processes with a number from here on are on another host. */
enum { ELSEWHERE = 50 };

/* A recorder's file of process `process` of a task: one AllReduce of a rank of
 * a communicator, at a time, with counters. */
static void put_process_at(const char *dir, const char *name, unsigned process,
                           unsigned task, const struct jpr_comm *of,
                           uint64_t mono_ns, bool final, uint64_t lost,
                           uint64_t left_out)
{
    const struct jpr_comm comm = {.known = true,
                                  .id = of->id,
                                  .name = "c",
                                  .rank = of->rank,
                                  .n_ranks = of->n_ranks,
                                  .n_nodes = 1,
                                  .gpu_pci = "",
                                  .gpu_uuid = ""};
    struct jpr_op op = {.func = "AllReduce", JPR_MAKER_NO_TEXTS, .bytes = 64};
    char path[512];
    FILE *f;
    struct jpr_maker *maker;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    maker = jpr_maker_create(f);
    jpr_maker_header(maker, process < ELSEWHERE ? "h" : "a", 1 + process, task,
                     "JOBPROF_X=1: unknown");
    jpr_maker_comm(maker, &comm);
    jpr_maker_times(&op, mono_ns, 10);
    jpr_maker_op(maker, &op);
    jpr_maker_counters(maker, mono_ns, final, lost, left_out);
    jpr_maker_destroy(maker);
    fclose(f);
}

static void put_process(const char *dir, const char *name, unsigned process,
                        const struct jpr_comm *of, bool final, uint64_t lost,
                        uint64_t left_out)
{
    put_process_at(dir, name, process, process, of, JPR_MAKER_MONO_NS, final,
                   lost, left_out);
}

/* The same in a communicator of two ranks. */
static void put_recording(const char *dir, const char *name, unsigned rank,
                          bool final, uint64_t lost, uint64_t left_out)
{
    const struct jpr_comm of = {.id = 1, .rank = rank, .n_ranks = 2};

    put_process(dir, name, rank, &of, final, lost, left_out);
}

/* Processes are the ranks of the job, whether or not a communicator has all of
 * them. */
static void counts_ranks_by_processes(void **state)
{
    struct jp_result *r;
    char name[16];

    for (unsigned i = 0; i < 7; i++) {
        const struct jpr_comm of = {
            .id = 1 + i / 4, .rank = i % 4, .n_ranks = 4};

        snprintf(name, sizeof(name), "%u.jpr", i);
        put_process(*state, name, i, &of, true, 0, 0);
    }
    r = run(*state, 1); /* one of the second group is missing */
    assert_int_equal(r->quality.ranks_seen, 7);
    assert_int_equal(r->quality.ranks_expected, 7);
    assert_int_equal(r->quality.short_comms, 1);
    assert_int_equal(r->quality.expected_kind, JP_EXPECT_BOUND);
    result_destroy(r);

    put_process(*state, "7.jpr", 7,
                &(struct jpr_comm){.id = 2, .rank = 3, .n_ranks = 4}, true, 0,
                0);
    r = run(*state, 2);
    assert_int_equal(r->quality.ranks_seen, 8);
    assert_int_equal(r->quality.ranks_expected, 8);
    assert_int_equal(r->quality.short_comms, 0);
    assert_int_equal(r->quality.expected_kind, JP_EXPECT_COUNTED);
    result_destroy(r);

    /* the same process in a communicator of two is no further rank; the other
     * one of it is missing */
    put_process(*state, "8.jpr", 7,
                &(struct jpr_comm){.id = 3, .rank = 0, .n_ranks = 2}, true, 0,
                0);
    r = run(*state, 1);
    assert_int_equal(r->quality.ranks_seen, 8);
    assert_int_equal(r->quality.short_comms, 1);
    result_destroy(r);

    /* one process with all ranks of a communicator */
    for (unsigned i = 0; i < 12; i++) {
        snprintf(name, sizeof(name), "g%u.jpr", i);
        put_process(*state, name, 20,
                    &(struct jpr_comm){.id = 4, .rank = i, .n_ranks = 12}, true,
                    0, 0);
    }
    r = run(*state, 1);
    assert_int_equal(r->quality.ranks_seen, 8 + 12);
    assert_int_equal(r->quality.ranks_expected, 8 + 12);
    result_destroy(r);
}

/* A job that was started anew has its ranks once. Nobody told of the attempts:
 * the first one was cut short. */
static void counts_ranks_of_attempts_once(void **state)
{
    struct jp_result *r;
    char name[16];

    for (unsigned cut = 0; cut < 2; cut++) {
        for (unsigned i = 0; i < 9; i++) {
            const bool second = i >= 4;
            const struct jpr_comm of = {.id = 1 + second,
                                        .rank = second ? i - 4 : i,
                                        .n_ranks = second ? 5 : 4};

            snprintf(name, sizeof(name), "%u.jpr", i);
            put_process_at(*state, name, i, i, &of,
                           JPR_MAKER_MONO_NS + second * JPR_MAKER_MONO_NS,
                           second || !cut, 0, 0);
        }
        for (unsigned threads = 1; threads <= 2; threads++) {
            r = run(*state, threads);
            assert_int_equal(r->quality.ranks_seen, cut ? 5 : 9);
            assert_int_equal(r->quality.ranks_expected, cut ? 5 : 9);
            assert_int_equal(r->n_ranks, 9);
            for (size_t i = 0; i < r->n_ranks; i++)
                assert_int_equal(r->ranks[i].restarts,
                                 cut ? r->ranks[i].pid > 4 : -1);
            result_destroy(r);
        }
    }
}

/* Two programs, one after the other, each to its end: of one set of tasks they
 * have its ranks once; of the tasks of two jobs they are two jobs. */
static void counts_ranks_of_programs_once(void **state)
{
    struct jp_result *r;
    char name[16];

    for (unsigned same = 0; same < 2; same++) {
        for (unsigned i = 0; i < 8; i++) {
            const struct jpr_comm of = {
                .id = 1 + i / 4, .rank = i % 4, .n_ranks = 4};

            snprintf(name, sizeof(name), "%u.jpr", i);
            put_process_at(*state, name, i, same ? i % 4 : i, &of,
                           JPR_MAKER_MONO_NS + i / 4 * JPR_MAKER_MONO_NS, true,
                           0, 0);
        }
        r = run(*state, 1);
        assert_int_equal(r->quality.ranks_seen, same ? 4 : 8);
        assert_int_equal(r->quality.ranks_expected, same ? 4 : 8);
        assert_int_equal(r->quality.programs, same ? 2 : 0);
        for (size_t i = 0; i < r->n_ranks; i++)
            assert_int_equal(r->ranks[i].restarts,
                             same ? r->ranks[i].pid > 4 : -1);
        result_destroy(r);
    }
    /* one of the second program is of another task */
    put_process_at(*state, "7.jpr", 7, 9,
                   &(struct jpr_comm){.id = 2, .rank = 3, .n_ranks = 4},
                   2 * JPR_MAKER_MONO_NS, true, 0, 0);
    r = run(*state, 1);
    assert_int_equal(r->quality.ranks_seen, 8);
    assert_int_equal(r->quality.programs, 0);
    result_destroy(r);
}

/* The same of programs that have two communicators each. A single process of
 * another task is enough to make them two jobs, whatever communicator it is in.
 */
static void looks_at_all_tasks_of_programs(void **state)
{
    struct jp_result *r;
    char name[16];

    for (unsigned same = 0; same < 2; same++) {
        for (unsigned i = 0; i < 8; i++) {
            const struct jpr_comm of = {
                .id = 1 + i / 2, .rank = i % 2, .n_ranks = 2};

            snprintf(name, sizeof(name), "%u.jpr", i);
            put_process_at(*state, name, i, i == 7 && !same ? 9 : i % 4, &of,
                           JPR_MAKER_MONO_NS + i / 4 * JPR_MAKER_MONO_NS, true,
                           0, 0);
        }
        r = run(*state, 1);
        assert_int_equal(r->quality.ranks_seen, same ? 4 : 8);
        assert_int_equal(r->quality.programs, same ? 2 : 0);
        result_destroy(r);
    }
}

/* A job that was started anew: of its communicators some have moved to another
 * host, and one has not. */
static void looks_at_all_hosts_of_attempts(void **state)
{
    struct jp_result *r;
    char name[16];

    for (unsigned i = 0; i < 6; i++) {
        const struct jpr_comm of = {
            .id = 1 + i / 2, .rank = i % 2, .n_ranks = 2};

        snprintf(name, sizeof(name), "%u.jpr", i);
        put_process_at(*state, name, i < 4 ? i : i - 4 + ELSEWHERE, i, &of,
                       JPR_MAKER_MONO_NS + (i >= 2) * JPR_MAKER_MONO_NS, i >= 2,
                       0, 0);
    }
    r = run(*state, 1);
    assert_int_equal(r->quality.ranks_seen, 4);
    for (size_t i = 0; i < r->n_ranks; i++)
        assert_int_equal(r->ranks[i].restarts, r->ranks[i].pid > 2);
    result_destroy(r);
}

/* Writes a log of Inspector: 30 AllReduces of 1 ms from a time on, one each
 * 10 ms, of which 10 are written at once; if `ends`, these are of one
 * communicator, as where each is written when it ends. */
static void put_log(const char *dir, unsigned process, unsigned node,
                    unsigned of, bool ends, uint64_t from_us)
{
    char name[32], *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    for (unsigned i = 0; i < 30; i++)
        fprintf(out,
                "{\"header\":{\"id\":\"0x%u\",\"rank\":%u,\"n_ranks\":4,"
                "\"nnodes\":2},\"metadata\":{\"dump_timestamp_us\":%llu,"
                "\"hostname\":\"n%u\",\"pid\":%u},\"coll_perf\":{\"coll\":"
                "\"AllReduce\",\"coll_sn\":%u,\"coll_msg_size_bytes\":64,"
                "\"coll_exec_time_us\":1000}}\n",
                of + (ends ? i / 10 * 2 : 0), process % 4,
                (unsigned long long) from_us + (i / 10 + 1) * 100000, node,
                100 + process, i);
    assert_int_equal(fclose(out), 0);
    snprintf(name, sizeof(name), "%u.log", process);
    free(tempdir_file(dir, name, 0600, text));
    free(text);
}

/* Logs name no task: programs of the same hosts, one after the other, count
 * once, unless the step has more tasks than one of them has processes. */
static void counts_ranks_of_programs_in_logs(void **state)
{
    enum { APART, AT_ONCE, SOON, OTHER_TASKS, AT_END, OTHER_HOSTS, CASES };

    for (unsigned kind = 0; kind < CASES; kind++) {
        const struct jp_aggregate_options options = {
            .threads = 1, .processes = kind == OTHER_TASKS ? 8 : 4};
        struct jp_result *r;

        for (unsigned i = 0; i < 8; i++)
            put_log(*state, i, i % 4 / 2 + (kind == OTHER_HOSTS && i > 3),
                    i / 4, kind == AT_END,
                    1700000000000000 + i / 4 *
                                           (kind == AT_ONCE ? 10000
                                            : kind == SOON  ? 250000
                                                            : 5000000));
        r = result_of(*state, &options);
        assert_int_equal(r->quality.programs, kind == APART ? 2 : 0);
        assert_int_equal(r->quality.ranks_seen, kind == APART ? 4 : 8);
        for (size_t i = 0; i < r->n_ranks; i++)
            assert_int_equal(r->ranks[i].restarts,
                             kind == APART ? r->ranks[i].pid > 103 : -1);
        result_destroy(r);
    }
}

/* Counted once every file has counters and every rank was seen. */
static void counts_what_the_recorder_counted(void **state)
{
    static const char line[] =
        "{\"header\":{\"id\":\"0x1\",\"rank\":1,\"n_ranks\":2,"
        "\"nnodes\":1},\"metadata\":{\"hostname\":\"h\",\"pid\":2},"
        "\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":0,"
        "\"coll_msg_size_bytes\":64,\"coll_exec_time_us\":10}}\n";
    struct jp_result *r;

    put_recording(*state, "a.jpr", 0, true, 3, 0);
    r = run(*state, 1); /* rank 1 was not counted */
    assert_int_equal(r->quality.expected_kind, JP_EXPECT_BOUND);
    assert_int_equal(r->quality.expected, 4);
    assert_int_equal(r->quality.lost, 3);
    assert_int_equal(r->quality.recordings, 1);
    assert_int_equal(r->quality.n_notes, 2); /* lost; the header's note */
    result_destroy(r);
    free(tempdir_file(*state, "b.log", 0600, line)); /* has no counters */
    r = run(*state, 1);
    assert_int_equal(r->quality.expected_kind, JP_EXPECT_BOUND);
    assert_int_equal(r->quality.records, 2);
    assert_int_equal(op_of(r, 0).n, 2); /* both formats join */
    result_destroy(r);
    put_recording(*state, "b.log", 1, false, 0,
                  5); /* recognised by its bytes */
    r = run(*state, 2);
    assert_int_equal(r->quality.expected_kind, JP_EXPECT_COUNTED);
    assert_int_equal(r->quality.expected, 10);
    assert_int_equal(r->quality.records, 2);
    assert_int_equal(r->quality.lost, 3);
    assert_int_equal(r->quality.capped, 5);
    assert_int_equal(r->quality.cut_files, 0);
    assert_int_equal(r->quality.cut_recordings, 1);
    assert_int_equal(op_of(r, 0).dump_max_us, JPR_MAKER_REAL_NS / 1000 + 20);
    assert_int_equal(op_of(r, 0).n_start, 2);
    assert_int_equal(op_of(r, 0).start_min_us, JPR_MAKER_REAL_NS / 1000 + 10);
    assert_int_equal(op_of(r, 0).start_max_us, JPR_MAKER_REAL_NS / 1000 + 10);
    assert_int_equal(op_of(r, 0).end_max_us, JPR_MAKER_REAL_NS / 1000 + 20);
    result_destroy(r);
}

/* A process that has the same rank twice under one id shows that NCCL gave two
 * communicators that id. One with two ranks of a communicator does not. */
static void sees_one_id_of_two_communicators(void **state)
{
    for (unsigned second = 0; second < 2; second++) {
        char *path = tempdir_path(*state, "twins.jpr");
        FILE *f = fopen(path, "w");
        struct jpr_maker *maker = jpr_maker_create(f);
        struct jpr_op op = {
            .func = "AllReduce", JPR_MAKER_NO_TEXTS, .bytes = 64};
        struct jp_result *r;

        jpr_maker_header(maker, "h", 1, 0, NULL);
        for (unsigned i = 0; i < 2; i++) {
            const struct jpr_comm comm = {.index = i,
                                          .known = true,
                                          .id = 9,
                                          .name = "",
                                          .rank = i * second,
                                          .n_ranks = 2,
                                          .n_nodes = 1,
                                          .gpu_pci = "",
                                          .gpu_uuid = ""};

            jpr_maker_comm(maker, &comm);
        }
        jpr_maker_times(&op, JPR_MAKER_MONO_NS, 10);
        jpr_maker_op(maker, &op);
        jpr_maker_counters(maker, JPR_MAKER_MONO_NS, true, 0, 0);
        jpr_maker_destroy(maker);
        fclose(f);
        r = run(*state, 1);
        assert_int_equal(r->quality.twin_recordings, second ? 0 : 1);
        result_destroy(r);
        free(path);
    }
}

/* A recorder's file with counters of a communicator of two ranks, and one
 * record of it, or none. */
static void put_counted(const char *dir, const char *name, unsigned rank,
                        uint64_t id, bool record)
{
    const struct jpr_comm comms[] = {
        {.index = 0,
         .known = true,
         .id = 1 + rank,
         .name = "",
         .n_ranks = 1,
         .n_nodes = 1,
         .gpu_pci = "",
         .gpu_uuid = ""},
        {.index = 1,
         .known = true,
         .id = id,
         .name = "",
         .rank = rank,
         .n_ranks = 2,
         .n_nodes = 1,
         .gpu_pci = "",
         .gpu_uuid = ""},
    };
    struct jpr_op op = {
        .func = "AllReduce", JPR_MAKER_NO_TEXTS, .comm = record, .bytes = 64};
    char path[512];
    FILE *f;
    struct jpr_maker *maker;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    maker = jpr_maker_create(f);
    jpr_maker_header(maker, "h", 1 + rank, rank, NULL);
    jpr_maker_comm(maker, &comms[0]);
    jpr_maker_comm(maker, &comms[1]);
    jpr_maker_times(&op, JPR_MAKER_MONO_NS, 10);
    jpr_maker_op(maker, &op);
    maker->rows[maker->counters.n_rows++] = (struct jpr_comm_counts){
        .comm = 1, .func = "Reduce", .counts = {.produced = 9, .lost = 9}};
    jpr_maker_counters(maker, JPR_MAKER_MONO_NS, true, 0, 0);
    jpr_maker_destroy(maker);
    fclose(f);
}

/* Counters count, whichever file has the communicator's records, in any order.
 */
static void counts_in_any_order(void **state)
{
    for (unsigned i = 0; i < 6; i++) {
        struct jp_result *r;
        unsigned first = i % 2;

        put_counted(*state, "a.jpr", first, 7, first);
        put_counted(*state, "b.jpr", !first, 7, !first);
        r = run(*state, 1 + i / 2);
        assert_int_equal(r->n_comms, 2);
        assert_string_equal(r->comms[1].id, "0x7");
        assert_int_equal(r->comms[1].ranks_seen, 1);
        assert_int_equal(r->comms[1].produced, 9 + 9 + 1);
        assert_int_equal(r->comms[1].lost, 9 + 9);
        result_destroy(r);
    }
}

/* A communicator without any record is not in the result. */
static void needs_records(void **state)
{
    struct jp_result *r;

    put_counted(*state, "a.jpr", 0, 8, false);
    r = run(*state, 1);
    assert_int_equal(r->n_comms, 1);
    assert_string_equal(r->comms[0].id, "0x1");
    assert_int_equal(r->quality.ranks_expected, 1);
    result_destroy(r);
}

/* Sizes that were not recorded come from the ranks and hosts seen. */
static void guesses_sizes(void **state)
{
    static const char line[] =
        "{\"header\":{\"id\":\"0x1\",\"rank\":%u,\"n_ranks\":0,"
        "\"nnodes\":0},\"metadata\":{\"hostname\":\"h%u\",\"pid\":%u},"
        "\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":0,"
        "\"coll_msg_size_bytes\":64,\"coll_exec_time_us\":%u,"
        "\"coll_busbw_gbs\":0.000000}}\n";

    for (unsigned i = 0; i < 4; i++) {
        char name[16], text[512];

        snprintf(name, sizeof(name), "%u.log", i);
        snprintf(text, sizeof(text), line, i, i / 2, i + 1, 10 + i);
        free(tempdir_file(*state, name, 0600, text));
    }
    for (unsigned threads = 1; threads <= 2; threads++) {
        struct jp_result *r = run(*state, threads);

        assert_int_equal(r->n_comms, 1);
        assert_int_equal(r->comms[0].n_ranks, 4);
        assert_int_equal(r->comms[0].nnodes, 2);
        assert_int_equal(r->comms[0].ops_complete, 1);
        assert_string_equal(r->comms[0].evidence, "hosts");
        assert_int_equal(r->quality.nan_busbw, 4);
        assert_int_equal(r->ranks[0].last_ops, 1);
        assert_int_equal(r->ranks[0].caused_us, 1 + 2 + 3);
        result_destroy(r);
    }
}

#define IN_DIR(test)                                                           \
    cmocka_unit_test_setup_teardown(test, tempdir_make, tempdir_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(counts_what_the_recorder_counted),
        IN_DIR(counts_ranks_by_processes),
        IN_DIR(counts_ranks_of_attempts_once),
        IN_DIR(counts_ranks_of_programs_once),
        IN_DIR(looks_at_all_tasks_of_programs),
        IN_DIR(looks_at_all_hosts_of_attempts),

        IN_DIR(counts_ranks_of_programs_in_logs),
        IN_DIR(sees_one_id_of_two_communicators),
        IN_DIR(counts_in_any_order),
        IN_DIR(needs_records),
        IN_DIR(guesses_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
