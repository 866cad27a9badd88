/* test_many.c - a hundred thousand communicators, functions or peers in one
 * file: time and memory are bounded, and what is left out is counted. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#include "orchestrator/aggregate/aggregate.h"
#include "tests/common/tempdir.h"

/* Limits of memory in MB: of the join, and of the whole program with and
 * without a limit of the join. */
enum {
    CELLS = 70000,
    MANY = 100000,
    LIMIT_MB = 48,
    ROOM_MB = 160,
    SECONDS = 30
};
enum { NO_LIMIT_MB = 1 << 20, FREE_ROOM_MB = 360 };

static FILE *create(const char *dir, const char *name)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    return f;
}

static void header(FILE *f, uint64_t id, unsigned n_ranks)
{
    fprintf(f,
            "{\"header\":{\"id\":\"0x%" PRIx64 "\",\"rank\":0,\"n_ranks\":%u,"
            "\"nnodes\":1},\"metadata\":{\"dump_timestamp_us\":1,\"hostname\":"
            "\"n1\",\"pid\":9},",
            id, n_ranks);
}

static void communicators(FILE *f, uint64_t i)
{
    header(f, i * UINT64_C(0x9e3779b97f4a7c15) >> 8, 2);
    fputs("\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":0,"
          "\"coll_msg_size_bytes\":64,\"coll_exec_time_us\":5}}\n",
          f);
}

static void functions(FILE *f, uint64_t i)
{
    header(f, 1, 2);
    fprintf(f,
            "\"coll_perf\":{\"coll\":\"F%" PRIu64 "\",\"coll_sn\":0,"
            "\"coll_msg_size_bytes\":64,\"coll_exec_time_us\":5}}\n",
            i);
}

static void peers(FILE *f, uint64_t i)
{
    header(f, 1, 1u << 20);
    fprintf(f,
            "\"p2p_perf\":{\"p2p\":\"Send\",\"p2p_sn\":%" PRIu64
            ",\"p2p_peer\":%" PRIu64 ",\"p2p_msg_size_bytes\":64,"
            "\"p2p_exec_time_us\":5,\"p2p_busbw_gbs\":1.0}}\n",
            i + 1, i);
}

static void numbers_far_apart(FILE *f, uint64_t i)
{
    header(f, 1, 2);
    fprintf(f,
            "\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":%" PRIu64
            ",\"coll_msg_size_bytes\":64,\"coll_exec_time_us\":5}}\n",
            i * UINT64_C(0x9e3779b97f4a7c15) >> 1);
}

static void sizes_of_one_number(FILE *f, uint64_t i)
{
    header(f, 1, 2);
    fprintf(f,
            "\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":7,"
            "\"coll_msg_size_bytes\":%" PRIu64 ",\"coll_exec_time_us\":5}}\n",
            i + 1);
}

static void traced_communicators(FILE *f, uint64_t i)
{
    fprintf(
        f,
        "%s{\"name\":\"AllReduce\",\"cat\":\"COLL\",\"ph\":\"b\",\"ts\":1.0,"
        "\"args\":{\"SeqNum\":0,\"CommHash\":%" PRIu64 ",\"Rank\":0,"
        "\"Count\":1,\"Datatype\":\"ncclInt8\"}},\n"
        "{\"cat\":\"COLL\",\"ph\":\"e\",\"ts\":2.0},\n%s",
        i ? "" : "[\n", i + 1, i + 1 < MANY ? "" : "{}]\n");
}

static const struct {
    const char *name, *file;
    void (*put)(FILE *f, uint64_t i);
} rows[] = {
    {"communicators", "a.log", communicators},
    {"functions", "a.log", functions},
    {"peers", "a.log", peers},
    {"numbers far apart", "a.log", numbers_far_apart},
    {"sizes of one number", "a.log", sizes_of_one_number},
    {"communicators of a trace", "t.json", traced_communicators},
};

/* Memory and time of a sanitizer or of memcheck do not count. */
static bool is_measured(void)
{
#ifdef __SANITIZE_ADDRESS__
    return false;
#else
    return !getenv("JP_MEMCHECK");
#endif
}

static long peak_kb(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

static void many(void **state, size_t row, uint64_t limit_mb, long room_mb)
{
    const struct jp_aggregate_options options = {
        .threads = 1, .memory_bytes = limit_mb << 20};
    const char *dir = *state;
    FILE *f = create(dir, rows[row].file);
    struct jp_error err = {""};
    long before = peak_kb();
    const struct jp_quality *q;
    struct jp_result *r;
    clock_t start;

    for (uint64_t i = 0; i < MANY; i++)
        rows[row].put(f, i);
    fclose(f);
    start = clock();
    r = aggregate_run(&dir, 1, &options, &err);
    if (!r)
        fail_msg("%s: %s", rows[row].name, err.text);
    q = &r->quality;
    print_message("%s: %" PRIu64 " records, %" PRIu64 " left out, %.2f s, peak "
                  "%ld MB (%ld before)\n",
                  rows[row].name, q->records, q->left_out_records,
                  (double) (clock() - start) / CLOCKS_PER_SEC, peak_kb() / 1024,
                  before / 1024);
    assert_true(q->records > 0);
    assert_int_equal(q->records + q->left_out_records, MANY);
    assert_true(limit_mb == LIMIT_MB || q->records == MANY);
    assert_int_equal(q->bad_lines, 0);
    if (is_measured()) {
        assert_true(clock() - start < (clock_t) SECONDS * CLOCKS_PER_SEC);
        assert_true(peak_kb() < room_mb * 1024);
    }
    result_destroy(r);
}

#define MANY_OF(n, name)                                                       \
    static void name(void **state)                                             \
    {                                                                          \
        many(state, n, LIMIT_MB, ROOM_MB);                                     \
    }
MANY_OF(0, many_communicators)
MANY_OF(1, many_functions)
MANY_OF(2, many_peers)
MANY_OF(3, many_numbers)
MANY_OF(4, many_sizes)
MANY_OF(5, many_traced)

/* Each has its cell, also if their numbers take more than 16 bits. */
static void many_cells(void **state)
{
    const struct jp_aggregate_options options = {.threads = 1};
    const char *dir = *state;
    FILE *f = create(dir, "a.log");
    struct jp_error err = {""};
    struct jp_result *r;

    for (uint64_t i = 0; i < 2 * (uint64_t) CELLS; i++) {
        header(f, 1, 2);
        fprintf(f,
                "\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":%" PRIu64
                ",\"coll_msg_size_bytes\":%" PRIu64
                ",\"coll_exec_time_us\":%" PRIu64 "}}\n",
                i, i % CELLS + 1, i % CELLS + (i < CELLS ? 1 : 3));
    }
    fclose(f);
    r = aggregate_run(&dir, 1, &options, &err);
    if (!r)
        fail_msg("%s", err.text);
    assert_int_equal(r->n_cells, CELLS);
    for (size_t i = 0; i < CELLS; i++) {
        assert_int_equal(r->cells[i].bytes, i + 1);
        assert_int_equal(r->cells[i].ops, 2);
        assert_true(r->cells[i].exec.mean == (double) (i + 2));
    }
    result_destroy(r);
}

/* A communicator with a few operations does not take the room of many. */
static void many_free_communicators(void **state)
{
    many(state, 0, NO_LIMIT_MB, FREE_ROOM_MB);
}

#define IN_DIR(test)                                                           \
    cmocka_unit_test_setup_teardown(test, tempdir_make, tempdir_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(many_communicators),
        IN_DIR(many_functions),
        IN_DIR(many_peers),
        IN_DIR(many_numbers),
        IN_DIR(many_sizes),
        IN_DIR(many_traced),
        IN_DIR(many_cells),
        IN_DIR(many_free_communicators), /* last: peaks only grow */
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
