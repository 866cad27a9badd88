/* test_join.c - the join of duplicates, gaps, limits and any order. */
#include "orchestrator/aggregate/aggregate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "orchestrator/aggregate/dist.h"
#include "tests/aggregate/op_of.h"
#include "tests/common/tempdir.h"

/* A record; unset fields are those of `usual` below. */
struct line {
    const char *id, *name, *func, *host;
    unsigned rank, n_ranks, nnodes, pid;
    uint64_t sn, bytes, exec_us;
    double busbw;
};

/* Appends lines to a log of the test's folder. */
static void put(const char *dir, const char *file, const struct line *lines,
                size_t n)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, file);
    f = fopen(path, "a");
    assert_non_null(f);
    for (size_t i = 0; i < n; i++) {
        const struct line *l = &lines[i];

        fprintf(f,
                "{\"header\":{\"id\":\"%s\",\"comm_name\":\"%s\",\"rank\":%u,"
                "\"n_ranks\":%u,\"nnodes\":%u},\"metadata\":{"
                "\"dump_timestamp_us\":%" PRIu64 ",\"hostname\":\"%s\",\"pid\":"
                "%u},\"coll_perf\":{\"coll\":\"%s\",\"coll_sn\":%" PRIu64
                ",\"coll_msg_size_bytes\":%" PRIu64
                ",\"coll_exec_time_us\":%" PRIu64 ",\"coll_busbw_gbs\":%f}}\n",
                l->id ? l->id : "0x1", l->name ? l->name : "c", l->rank,
                l->n_ranks ? l->n_ranks : 2, l->nnodes ? l->nnodes : 1,
                1000 + l->sn, l->host ? l->host : "h", l->pid ? l->pid : 1,
                l->func ? l->func : "AllReduce", l->sn,
                l->bytes ? l->bytes : 64, l->exec_us ? l->exec_us : 10,
                l->busbw > 0 ? l->busbw : 1);
    }
    fclose(f);
}

#define PUT(dir, file, ...)                                                    \
    do {                                                                       \
        const struct line lines_[] = {__VA_ARGS__};                            \
        put(dir, file, lines_, sizeof(lines_) / sizeof(*lines_));              \
    } while (0)

static struct jp_result *run(const char *dir, unsigned threads, uint64_t memory)
{
    const struct jp_aggregate_options options = {.threads = threads,
                                                 .memory_bytes = memory};

    return result_of(dir, &options);
}

static void fails_only_when_it_must(void **state)
{
    const char *none = "/nonexistent/input";
    struct jp_error err = {""};
    struct jp_result *r;

    assert_null(aggregate_run(&none, 1, NULL, &err));
    assert_non_null(strstr(err.text, "/nonexistent/input"));
    assert_null(aggregate_run(&none, 1, NULL, NULL));
    r = aggregate_run((const char *const *) state, 1, NULL, &err); /* empty */
    assert_non_null(r);
    assert_int_equal(r->quality.files + r->quality.records + r->n_ops, 0);
    assert_int_equal(r->quality.expected_kind, JP_EXPECT_NONE);
    result_destroy(r);
    result_destroy(NULL);
}

static int stop(void *arg, uint64_t done, uint64_t total)
{
    ++*(int *) arg;
    return done <= total;
}

static void stops_when_told(void **state)
{
    int calls = 0;
    const struct jp_aggregate_options options = {.progress = stop,
                                                 .progress_arg = &calls};
    struct jp_error err = {""};

    PUT(*state, "a.log", {.sn = 1});
    assert_null(aggregate_run((const char *const *) state, 1, &options, &err));
    assert_string_equal(err.text, "stopped");
    assert_int_equal(calls, 1);
}

/* A log and its compressed or renamed copy, different values: the first path
 * wins, whichever file is larger and however many threads. */
static void keeps_the_first_of_duplicates(void **state)
{
    PUT(*state, "a.log", {.sn = 0, .exec_us = 5});
    PUT(*state, "b.log", {.sn = 0, .exec_us = 7}, {.sn = 1, .exec_us = 7},
        {.sn = 1, .exec_us = 8});
    PUT(*state, "c.log", {.sn = 0, .exec_us = 9}, {.sn = 2, .exec_us = 9});
    for (unsigned threads = 1; threads <= 3; threads++) {
        struct jp_result *r = run(*state, threads, 0);

        assert_int_equal(r->quality.duplicate_records, 3);
        assert_int_equal(r->quality.records, 3);
        assert_int_equal(r->n_ops, 3);
        assert_int_equal(op_of(r, 0).exec_sum_us, 5);
        assert_int_equal(op_of(r, 1).exec_sum_us, 7);
        assert_int_equal(op_of(r, 2).exec_sum_us, 9);
        assert_int_equal(r->quality.shared_ranks, 0);
        result_destroy(r);
    }
}

/* Two processes as one rank: the result counts it and names the smaller one. */
static void tells_shared_ranks(void **state)
{
    PUT(*state, "a.log", {.sn = 0, .host = "z", .pid = 1});
    PUT(*state, "b.log", {.sn = 1, .host = "b", .pid = 3});
    for (unsigned threads = 1; threads <= 2; threads++) {
        struct jp_result *r = run(*state, threads, 0);

        assert_int_equal(r->quality.shared_ranks, 1);
        assert_int_equal(r->quality.duplicate_records, 0);
        assert_int_equal(r->n_ranks, 1);
        assert_string_equal(r->ranks[0].host, "b");
        assert_int_equal(r->ranks[0].pid, 3);
        assert_int_equal(r->ranks[0].records, 2);
        result_destroy(r);
    }
}

/* A communicator that was closed after all its ranks were read gets records
 * from another file; so does one that is still open. */
static void takes_what_comes_late(void **state)
{
    PUT(*state, "a.log", {.rank = 0, .exec_us = 10}, {.id = "0x2", .rank = 1});
    PUT(*state, "b.log", {.rank = 1, .exec_us = 12},
        {.id = "0x3", .n_ranks = 1});
    PUT(*state, "c.log", {.rank = 1, .sn = 1, .exec_us = 30},
        {.id = "0x3", .n_ranks = 1, .sn = 1}, {.id = "0x2", .rank = 0});
    PUT(*state, "d.log", {.rank = 0, .sn = 1, .exec_us = 20},
        {.id = "0x2", .rank = 0, .sn = 70}, {.id = "0x2", .rank = 1, .sn = 70});
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct jp_result *r = run(*state, threads, 0);

        assert_int_equal(r->quality.records, 10);
        assert_int_equal(r->n_comms, 3);
        assert_int_equal(r->n_ops, 6);
        for (size_t i = 0; i < r->n_ops; i++)
            assert_int_equal(op_of(r, i).n, r->comms[op_of(r, i).comm].n_ranks);
        assert_int_equal(r->n_ranks, 5); /* 0x3 has one */
        assert_string_equal(r->comms[1].id, "0x1");
        assert_int_equal(r->ranks[1].comm, 1);
        assert_int_equal(r->ranks[1].timed_ops, 2);
        assert_int_equal(r->ranks[1].exec_us, 30);
        assert_int_equal(r->ranks[1].last_ops, 2);
        assert_int_equal(r->ranks[1].caused_us, 12);
        assert_int_equal(r->ranks[2].wait_us, 12);
        result_destroy(r);
    }
}

/* A second size is another operation, also if two threads see it first, and a
 * record that a rank repeats there is dropped. */
static void parts_sizes(void **state)
{
    PUT(*state, "a.log", {.rank = 0, .bytes = 64}, {.rank = 0, .bytes = 32},
        {.rank = 0, .bytes = 32, .exec_us = 99}, {.rank = 0, .bytes = 96});
    PUT(*state, "b.log", {.rank = 1, .bytes = 32, .pid = 2},
        {.rank = 1, .bytes = 64, .pid = 2});
    for (unsigned threads = 1; threads <= 2; threads++) {
        struct jp_result *r = run(*state, threads, 0);

        assert_int_equal(r->n_ops, 3);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(op_of(r, i).bytes, 32 * (i + 1));
            assert_int_equal(op_of(r, i).n, i < 2 ? 2 : 1);
            assert_int_equal(op_of(r, i).exec_max_us, 10);
        }
        assert_int_equal(r->quality.duplicate_records, 1);
        assert_int_equal(r->quality.records, 5);
        assert_int_equal(r->quality.expected, 5);
        assert_int_equal(r->ranks[0].timed_ops, 0); /* two sizes: not timed */
        result_destroy(r);
    }
}

/* Equal ids with other sizes are other communicators; names make no difference.
 */
static void parts_communicators_by_shape(void **state)
{
    struct jp_result *r;

    PUT(*state, "a.log", {.n_ranks = 2, .nnodes = 1, .name = "y"},
        {.n_ranks = 2, .nnodes = 2}, {.n_ranks = 4, .nnodes = 2},
        {.n_ranks = 1, .nnodes = 1}, {.id = "0x01"}, {.id = "0xAB"},
        {.id = "0xab", .rank = 1});
    PUT(*state, "b.log", {.n_ranks = 2, .nnodes = 1, .rank = 1, .name = "x"},
        {.n_ranks = 2, .nnodes = 1, .rank = 1, .name = "unknown", .sn = 1});
    r = run(*state, 2, 0);
    assert_int_equal(r->n_comms, 6);
    assert_int_equal(r->comms[0].type, JP_COMM_SINGLE_RANK);
    assert_string_equal(r->comms[1].id, "0x01");
    assert_string_equal(r->comms[2].name, "x");
    assert_int_equal(r->comms[2].ranks_seen, 2);
    assert_int_equal(r->comms[3].ranks_seen, 2); /* 0xAB is 0xab */
    assert_int_equal(r->comms[4].type, JP_COMM_HCA_ONLY);
    assert_int_equal(r->comms[5].type, JP_COMM_MIXED);
    result_destroy(r);
}

/* Wide gaps cost nothing; the largest numbers do not wrap. */
static void takes_any_gap(void **state)
{
    struct jp_result *r;

    PUT(*state, "a.log", {.sn = UINT64_MAX - 1}, {.sn = 0},
        {.sn = UINT64_C(1) << 40}, {.sn = 5000000});
    r = run(*state, 1, 1 << 20);
    assert_int_equal(r->n_ops, 4);
    assert_int_equal(op_of(r, 1).sn, 5000000);
    assert_true(op_of(r, 3).sn == UINT64_MAX - 1);
    assert_true(r->quality.expected ==
                UINT64_MAX); /* rank 1 has none of them */
    assert_int_equal(r->quality.left_out_records, 0);
    assert_true(r->n_windows > 0);
    result_destroy(r);
}

/* Gaps of all ranks are loss only if ranks differ elsewhere. */
static void judges_gaps(void **state)
{
    struct jp_result *r;

    PUT(*state, "a.log", {.sn = 0}, {.sn = 3});
    PUT(*state, "b.log", {.sn = 0, .rank = 1, .pid = 2},
        {.sn = 3, .rank = 1, .pid = 2});
    r = run(*state, 1, 0);
    assert_int_equal(r->quality.expected, 4);
    assert_int_equal(r->quality.unseen_records, 4);
    result_destroy(r);
    PUT(*state, "a.log", {.sn = 4});
    r = run(*state, 1, 0);
    assert_int_equal(r->quality.expected, 10);
    assert_int_equal(r->quality.unseen_records, 4);
    assert_int_equal(r->quality.records, 5);
    result_destroy(r);
}

/* Beyond the limit records are left out and counted, the same ones whatever the
 * number of threads. */
static void keeps_to_the_bound(void **state)
{
    struct line many[600];
    uint64_t left_out[2];

    for (unsigned i = 0; i < 600; i++)
        many[i] = (struct line){.sn = 64 * (uint64_t) i};
    put(*state, "a.log", many, 600);
    for (unsigned i = 0; i < 600; i++)
        many[i].rank = 1;
    put(*state, "b.log", many, 600);
    for (unsigned threads = 1; threads <= 2; threads++) {
        struct jp_result *r = run(*state, threads, 1 << 20);

        left_out[threads - 1] = r->quality.left_out_records;
        assert_int_equal(r->quality.records + left_out[threads - 1], 1200);
        assert_in_range(left_out[threads - 1], 100, 1100);
        result_destroy(r);
    }
    assert_int_equal(left_out[0], left_out[1]);
}

/* Too many times for the limit: waits are unknown, and the rest is right. */
static void gives_up_waits_first(void **state)
{
    enum { RANKS = 40, OPS = 640 };
    static struct line lines[OPS];
    struct jp_result *r;
    char name[16];

    for (unsigned rank = 0; rank < RANKS; rank++) {
        for (unsigned i = 0; i < OPS; i++)
            lines[i] = (struct line){
                .rank = rank, .n_ranks = RANKS, .sn = i, .exec_us = 10 + rank};
        snprintf(name, sizeof(name), "%u.log", rank);
        put(*state, name, lines, OPS);
    }
    r = run(*state, 2, 0);
    assert_false(r->quality.waits_unknown);
    assert_int_equal(r->ranks[3].wait_us, 3 * OPS);
    assert_int_equal(r->ranks[3].exec_us, 13 * OPS);
    result_destroy(r);
    r = run(*state, 1, 190000);
    assert_int_equal(r->quality.left_out_records, 0);
    assert_true(r->quality.waits_unknown);
    assert_int_equal(r->ranks[3].wait_us, 0);
    assert_int_equal(r->ranks[0].last_ops, OPS);
    assert_int_equal(r->ranks[0].caused_us, OPS * (RANKS - 1) * RANKS / 2);
    result_destroy(r);
}

/* Times of neighbours in every order of magnitude, in and out of order. */
static void keeps_times_far_apart(void **state)
{
    static const uint64_t times[] = {
        100000, 10,    90000, 70000000, 3,           165000, 165535,
        165536, 84000, 83616, 83615,    10000000000, 1,      50};
    enum { OPS = sizeof(times) / sizeof(*times) };
    uint64_t sum = 0;

    for (unsigned i = 0; i < OPS; i++) {
        uint64_t sn = i * 5 % OPS; /* not in order */

        PUT(*state, "a.log", {.sn = sn, .exec_us = times[sn]});
        PUT(*state, i % 2 ? "b.log" : "c.log",
            {.rank = 1, .sn = sn, .exec_us = times[sn] + 7});
        sum += times[i] < UINT32_MAX ? times[i] : 0;
    }
    for (unsigned threads = 1; threads <= 3; threads++) {
        struct jp_result *r = run(*state, threads, 0);

        assert_int_equal(r->n_ranks, 2);
        assert_int_equal(r->ranks[0].timed_ops, OPS - 1); /* one is too long */
        assert_int_equal(r->ranks[0].exec_us, sum);
        assert_int_equal(r->ranks[1].exec_us, sum + 7 * (OPS - 1));
        assert_int_equal(r->ranks[1].wait_us, 7 * (OPS - 1));
        assert_int_equal(r->ranks[0].caused_us, 7 * (OPS - 1));
        result_destroy(r);
    }
}

#define P2P(rank, func, peer, sn)                                              \
    "{\"header\":{\"id\":\"0x1\",\"rank\":" rank                               \
    ",\"n_ranks\":2,\"nnodes\":1},\"metadata\":{\"dump_timestamp_us\":1000,"   \
    "\"hostname\":\"h\",\"pid\":" rank "},\"p2p_perf\":{\"p2p\":\"" func       \
    "\",\"p2p_sn\":" sn ",\"p2p_peer\":" peer                                  \
    ",\"p2p_msg_size_bytes\":64,\"p2p_exec_time_us\":5,"                       \
    "\"p2p_busbw_gbs\":1.0}}\n"

/* One counter from 1 for both functions of a rank. */
static void expects_send_and_recv(void **state)
{
    static const char *const logs[][2] = {
        {P2P("0", "Send", "1", "1") P2P("0", "Recv", "1", "2"),
         P2P("1", "Recv", "0", "1") P2P("1", "Send", "0", "2")},
        {P2P("0", "Recv", "1", "2"), /* the same is missing on both sides */
         P2P("1", "Send", "0", "2")},
        {P2P("0", "Recv", "1", "2"), /* more is missing on one side */
         P2P("1", "Recv", "0", "1") P2P("1", "Send", "0", "2")},
    };
    static const unsigned want[][3] = {{4, 4, 0}, {2, 2, 2}, {3, 4, 1}};

    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
        for (unsigned threads = 1; threads <= 2; threads++) {
            struct jp_result *r;

            free(tempdir_file(*state, "a.log", 0600, logs[i][0]));
            free(tempdir_file(*state, "b.log", 0600, logs[i][1]));
            r = run(*state, threads, 0);
            assert_int_equal(r->quality.expected_kind, JP_EXPECT_BOUND);
            assert_int_equal(r->quality.p2p_records, want[i][0]);
            assert_int_equal(r->quality.expected, want[i][1]);
            assert_int_equal(r->quality.unseen_records, want[i][2]);
            result_destroy(r);
        }
}

static void notes_odd_files(void **state)
{
    struct jp_result *r;
    char name[16], path[512];

    PUT(*state, "good.log", {.sn = 0});
    for (int i = 0; i < 120; i++) {
        snprintf(name, sizeof(name), "%03d.log", i);
        free(tempdir_file(*state, name, 0600, "rubbish\nmore\n"));
    }
    snprintf(path, sizeof(path), "%s/a.log", (const char *) *state);
    assert_int_equal(symlink("good.log", path), 0);
    r = run(*state, 2, 0);
    assert_int_equal(r->quality.files, 121);
    assert_int_equal(r->quality.skipped_files, 1);
    assert_int_equal(r->quality.bad_lines, 240);
    assert_int_equal(r->quality.n_notes, 100);
    assert_int_equal(r->quality.notes_left_out, 21);
    assert_non_null(strstr(r->quality.notes[0].path, "/000.log"));
    assert_string_equal(r->quality.notes[0].what,
                        "line 1: not a JSON object (and 1 more bad lines)");
    result_destroy(r);
}

static void explains_types(void **state)
{
    static const struct {
        unsigned nnodes;
        const char *host, *evidence, *why;
    } rows[] = {
        {1, "h", "records+hosts", "as many hosts as domains"},
        {2, "h", "contradicted", "fewer hosts than domains"},
        {1, "other", "records", "more hosts than domains"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char id[8];

        snprintf(id, sizeof(id), "0x%zu", i);
        PUT(*state, "a.log", {.id = id, .nnodes = rows[i].nnodes});
        PUT(*state, "b.log",
            {.id = id,
             .nnodes = rows[i].nnodes,
             .rank = 1,
             .pid = 2,
             .host = rows[i].host});
    }
    PUT(*state, "a.log", {.id = "0x9", .n_ranks = 9});
    for (size_t i = 0; i < 4; i++) {
        struct jp_result *r = run(*state, 1, 0);
        const struct jp_comm *c = r->comms;

        while (c->id[2] != (i < 3 ? '0' + (char) i : '9'))
            c++;
        assert_string_equal(c->evidence, i < 3 ? rows[i].evidence : "records");
        if (!strstr(c->why, i < 3 ? rows[i].why : "ranks are missing"))
            fail_msg("%s", c->why);
        result_destroy(r);
    }
}

/* 1 to 101, the last first: the percentile p is 1 + p. */
static void gives_percentiles(void **state)
{
    double values[101], scratch[101];
    struct jp_dist dist;

    (void) state;
    for (size_t i = 0; i < 101; i++)
        values[i] = (double) (101 - i);
    dist_make(values, scratch, 101, &dist);
    assert_int_equal(dist.n, 101);
    assert_true(dist.min == 1 && dist.p5 == 6 && dist.p50 == 51);
    assert_true(dist.p95 == 96 && dist.p99 == 100 && dist.max == 101);
    assert_true(dist.mean == 51);
    dist_make(values, scratch, 2, &dist);
    assert_true(dist.p5 == 1.05 && dist.p95 == 1.95);
    dist_make(values, scratch, 0, &dist);
    assert_true(dist.n == 0 && dist.p5 == 0 && dist.max == 0);
}

#define IN_DIR(test)                                                           \
    cmocka_unit_test_setup_teardown(test, tempdir_make, tempdir_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(fails_only_when_it_must),
        IN_DIR(stops_when_told),
        IN_DIR(keeps_the_first_of_duplicates),
        IN_DIR(tells_shared_ranks),
        IN_DIR(takes_what_comes_late),
        IN_DIR(parts_sizes),
        IN_DIR(parts_communicators_by_shape),
        IN_DIR(takes_any_gap),
        IN_DIR(judges_gaps),
        IN_DIR(keeps_to_the_bound),
        IN_DIR(gives_up_waits_first),
        IN_DIR(keeps_times_far_apart),
        IN_DIR(expects_send_and_recv),
        IN_DIR(notes_odd_files),
        IN_DIR(explains_types),
        cmocka_unit_test(gives_percentiles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
