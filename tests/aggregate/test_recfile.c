/* test_recfile.c - a recorder's operation and its exported line agree. */
#include "plugins/nccl_recorder/recfile.h"
#include "plugins/nccl_inspector/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "orchestrator/export/export.h"
#include "orchestrator/ingest/hangs.h"
#include "tests/aggregate/jpr_maker.h"
#include "tests/common/tempdir.h"

static uint64_t seed = 1;

static uint64_t random64(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* A random number with a random number of bits. */
static uint64_t any_number(void)
{
    uint64_t bits = random64() % 65;

    return bits ? random64() >> (64 - bits) : 0;
}

static void micro_is_what_printf_shows(void **state)
{
    (void) state;
    for (int i = 0; i < 300000; i++) {
        double gbs = (double) any_number() /
                     (double) (any_number() % 1000003 + 1);
        char text[512], *point;
        uint64_t whole, shown;

        if (i % 3 == 0) /* near the ties */
            gbs = (double) (random64() % 100000000) / 2e6 * 1.0;
        snprintf(text, sizeof(text), "%.6f", gbs);
        point = strchr(text, '.');
        whole = strtoull(text, NULL, 10);
        if (point - text > 12)
            continue;
        shown = whole * 1000000 + strtoull(point + 1, NULL, 10);
        if (bandwidth_micro(gbs) != shown)
            fail_msg("%s: %llu", text,
                     (unsigned long long) bandwidth_micro(gbs));
    }
    assert_true(bandwidth_micro(0) == 0);
    assert_true(bandwidth_micro(1e300) == UINT64_MAX);
    assert_true(bandwidth_micro(1e-300) == 0);
    assert_true(bandwidth_micro(0.5e-6) == 0);
    assert_true(bandwidth_micro(1.5e-6) == 2);
}

static void ids_are_cut_as_inspector_cuts(void **state)
{
    static const struct {
        uint64_t hash;
        const char *id;
    } rows[] = {{0, "0x0"},
                {0x77, "0x77"},
                {UINT64_C(0x8a07aed05ae9a0ff), "0x8a07aed05ae9a0"},
                {UINT64_C(0xa07aed05ae9a0f), "0xa07aed05ae9a0f"}};
    char id[RECORD_MAX_ID + 1];

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        recfile_id(rows[i].hash, id);
        assert_string_equal(id, rows[i].id);
    }
}

/* A file in memory with one communicator; the caller frees *bytes. */
static void make_file(struct jp_recfile *file, char **bytes, const char *host,
                      const struct jpr_comm *comm)
{
    size_t n = 0;
    FILE *out = open_memstream(bytes, &n);
    struct jpr_maker *maker = jpr_maker_create(out);
    struct jpr_record record;

    jpr_maker_header(maker, host, 77, 3, NULL);
    jpr_maker_comm(maker, comm);
    jpr_maker_destroy(maker);
    fclose(out);
    assert_int_equal(recfile_open_bytes(file, *bytes, n, "f", NULL), 0);
    while (recfile_next(file, &record, NULL) > 0)
        ;
}

static struct jpr_op any_op(void)
{
    static const char *const funcs[] = {
        "AllReduce", "AllGather",  "Broadcast", "Send",      "Recv",
        "AlltoAll",  "Alt/Gather", "",          "AllGatherV"};
    struct jpr_op op = {.kind = (enum jpr_op_kind)(random64() % 3),
                        .func = funcs[random64() % 9],
                        .seq = any_number(),
                        .bytes = any_number(),
                        .peer = (int64_t) (random64() % 12) - 1,
                        .source = (enum jpr_source)(random64() % 3),
                        .enqueue_start_mono_ns = any_number(),
                        .enqueue_stop_mono_ns = any_number(),
                        .kernel_last_mono_ns = random64() & 1 ? any_number()
                                                              : 0};

    op.exec_ns = any_number() % UINT64_C(2000000000000000);
    return op;
}

static void same_text(const struct record_text *a, const struct record_text *b)
{
    assert_int_equal(a->len, b->len);
    if (a->len)
        assert_memory_equal(a->text, b->text, a->len);
}

static void same_record(const struct record *a, const struct record *b)
{
    same_text(&a->id, &b->id);
    same_text(&a->name, &b->name);
    same_text(&a->host, &b->host);
    same_text(&a->func, &b->func);
    assert_true(a->pid == b->pid && a->dump_us == b->dump_us &&
                a->sn == b->sn && a->bytes == b->bytes &&
                a->exec_us == b->exec_us && a->busbw_micro == b->busbw_micro &&
                a->rank == b->rank && a->n_ranks == b->n_ranks &&
                a->nnodes == b->nnodes && a->peer == b->peer &&
                a->p2p == b->p2p && a->has_sn == b->has_sn &&
                a->busbw_nan == b->busbw_nan);
}

/* Reads an operation in both ways and compares them; true if it is a good one.
 */
static bool compare(struct jp_recfile *file, const struct jpr_op *op)
{
    struct inspector_reader reader = {.why = ""};
    struct record direct, exported;
    char line[INSPECTOR_LINE_BYTES];
    size_t n = inspector_line_format(line, file, op);
    const char *why = recfile_record(file, op, &direct);
    enum inspector_line kind = inspector_read_line(&reader, line, n, &exported);

    assert_true(n > 0 && line[n - 1] == '\n');
    if ((why == NULL) != (kind == INSPECTOR_RECORD))
        fail_msg("%s / %s: %.*s", why ? why : "good", reader.why, (int) n,
                 line);
    if (!why)
        same_record(&direct, &exported);
    return !why;
}

static void lines_say_the_same(void **state)
{
    static const struct {
        const char *host;
        struct jpr_comm comm;
    } rows[] = {
        {"n1", {0, true, 0x77, "dp", 2, 8, 2, "", "", 0}},
        {"n1", {0, true, UINT64_MAX, "", 0, 1, 1, "", "", 0}},
        {"n1", {0, true, 1, "unknown", 1023, 1024, 1, "", "", 0}},
        {"n1", {0, true, 1, "a/b\"\\\xe2\x82\xac", 0, 2, 2, "", "", 0}},
        {"n1", {0, true, 1, "dp", 8, 8, 2, "", "", 0}},
        {"n1", {0, true, 1, "dp", -1, 8, 2, "", "", 0}},
        {"n1", {0, true, 1, "dp", 1, 8, 9, "", "", 0}},
        {"n1", {0, true, 1, "dp", 1, 0, 0, "", "", 0}}, /* v1 to v3 */
        {"n1", {0, true, 1, "dp", 1, 0, 1, "", "", 0}},
        {"n1", {0, true, 1, "dp", 1 << 20, 0, 0, "", "", 0}},
        {"n1", {0, true, 1, "dp", 1, INT64_MAX, 1, "", "", 0}},
        {"n 1", {0, true, 1, "dp", 1, 8, 2, "", "", 0}},
        {"", {0, true, 1, "dp", 1, 8, 2, "", "", 0}},
    };
    unsigned good = 0;

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct jp_recfile file;
        char *bytes = NULL;

        make_file(&file, &bytes, rows[i].host, &rows[i].comm);
        for (int k = 0; k < 20000; k++) {
            struct jpr_op op = any_op();

            good += compare(&file, &op);
        }
        recfile_close(&file);
        free(bytes);
    }
    assert_in_range(good, 10000, 200000);
}

/* The number of an operation's record. */
static uint64_t series_of(struct jp_recfile *file, enum jpr_op_kind kind,
                          uint64_t seq, const char *func)
{
    struct jpr_op op = {.kind = kind, .func = func, .seq = seq, .bytes = 64};
    struct record r;

    assert_null(recfile_record(file, &op, &r));
    return r.series;
}

/* Records with one series number agree as common/record.h requires. There is no
 * number if a file has more functions than are remembered. */
static void numbers_its_series(void **state)
{
    struct jpr_comm comm = {0, true, 1, "dp", 1, 8, 2, "", "", 0};
    struct jp_recfile file;
    char *bytes = NULL;
    uint64_t seen[8];

    (void) state;
    make_file(&file, &bytes, "n1", &comm);
    seen[0] = series_of(&file, JPR_COLL, 1, "AllReduce");
    seen[1] = series_of(&file, JPR_COLL, 1, "Broadcast");
    seen[2] = series_of(&file, JPR_CE, 1, "AllReduce");
    seen[3] = series_of(&file, JPR_COLL, JPR_REPLAY_SEQ + 1, "AllReduce");
    seen[4] = series_of(&file, JPR_P2P, 1, "Send");
    for (int i = 0; i < 5; i++) {
        assert_true(seen[i] != 0);
        for (int k = 0; k < i; k++)
            assert_true(seen[i] != seen[k]);
    }
    assert_true(series_of(&file, JPR_COLL, 2, "AllReduce") == seen[0]);
    assert_true(series_of(&file, JPR_P2P, 2, "Send") == seen[4]);
    for (int i = 0; i < RECFILE_FUNCS; i++) {
        char name[16];

        snprintf(name, sizeof(name), "Func%d", i);
        assert_true(!series_of(&file, JPR_COLL, 1, name) ==
                    (i + 5 >= RECFILE_FUNCS));
    }
    assert_true(series_of(&file, JPR_COLL, 3, "AllReduce") == 0);
    recfile_close(&file);
    free(bytes);
}

/* The longest names of a file are cut in the same way, after a whole character.
 */
static void long_names_are_cut_alike(void **state)
{
    char name[JPR_MAX_TEXT_BYTES + 1];
    struct jpr_comm comm = {0, true, 1, name, 1, 8, 2, "", "", 0};
    struct jpr_op op = {.func = "AllReduce", .bytes = 64, .exec_ns = 9000};

    (void) state;
    for (size_t len = 120; len < 136; len++) {
        struct jp_recfile file;
        char *bytes = NULL;

        for (size_t i = 0; i < len; i++)
            name[i] = (char) ('a' + i % 26);
        memcpy(name + len, "\xe2\x82\xac/tail", 9);
        make_file(&file, &bytes, "n1", &comm);
        assert_true(compare(&file, &op));
        recfile_close(&file);
        free(bytes);
    }
}

static void tells_when_it_ran(void **state)
{
    static const struct {
        uint64_t first, last;
        bool incomplete, start, stop;
    } rows[] = {{5000000, 9000000, false, true, true},
                {5000000, 9000000, true, true, false},
                {5000000, 0, false, true, false},
                {0, 9000000, false, false, true}};
    struct jpr_comm comm = {0, true, 1, "dp", 1, 8, 2, "", "", 0};
    struct jp_recfile file;
    char *bytes = NULL;

    (void) state;
    make_file(&file, &bytes, "n1", &comm);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct jpr_op op = {.func = "AllReduce",
                            .bytes = 64,
                            .exec_ns = 9000,
                            .incomplete = rows[i].incomplete,
                            .kernel_first_mono_ns = rows[i].first,
                            .kernel_last_mono_ns = rows[i].last};
        struct record r;

        assert_null(recfile_record(&file, &op, &r));
        assert_int_equal(
            r.start_us,
            rows[i].start ? recfile_wall_ns(&file, rows[i].first) / 1000 : 0);
        assert_int_equal(
            r.end_us,
            rows[i].stop ? recfile_wall_ns(&file, rows[i].last) / 1000 : 0);
        assert_true(!rows[i].start || r.start_us > UINT64_C(1600000000000000));
    }
    recfile_close(&file);
    free(bytes);
}

static void probes_by_the_first_bytes(void **state)
{
    static const struct {
        const char *name, *text;
        int kind;
    } rows[] = {{"a.jpr", "", 0},
                {"b.jpr", "{\"header\":", 0},
                {"c.log", "\x89JPR\r\n\x1a\n....", 1},
                {"d.log", "\x89JP", 1},
                {"e.jpr", "\x89JPX....", 0}};
    struct jp_error err;
    char *path;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        path = tempdir_file(*state, rows[i].name, 0600, rows[i].text);
        assert_int_equal(recfile_probe(path, &err), rows[i].kind);
        free(path);
    }
    assert_int_equal(recfile_probe("/nonexistent.jpr", &err), -1);
    assert_int_equal(recfile_probe(*state, &err), -1);
    path = tempdir_path(*state, "link.jpr");
    assert_int_equal(symlink("a.jpr", path), 0);
    assert_int_equal(recfile_probe(path, NULL), -1);
    free(path);
}

/* A snapshot replaces the last one; an operation that ends after it is no
 * longer pending. */
static void keeps_the_last_snapshot(void **state)
{
    struct jpr_op a = {.func = "AllReduce", .seq = 1};
    struct jpr_inflight in = {.at_mono_ns = 5, .left = 1, .op = a};
    struct jpr_record snap = {.type = JPR_INFLIGHT, .inflight = &in};
    struct jpr_record op = {.type = JPR_OP, .op = &a};
    struct jp_pending pending = {0};

    (void) state;
    a.datatype = a.algo = a.proto = a.api_func = a.api_datatype = "";
    in.op = a;
    for (int round = 0; round < 3; round++) {
        in.left = 1;
        in.omitted = 7;
        in.op.seq = 1;
        assert_int_equal(pending_add(&pending, &snap), 0);
        in.left = 0;
        in.op.seq = 2;
        assert_int_equal(pending_add(&pending, &snap), 0);
    }
    pending_settle(&pending);
    assert_int_equal(pending.n, 2);
    assert_int_equal(pending.left_out, 7);
    a.seq = 1;
    assert_int_equal(pending_add(&pending, &op), 0);
    assert_int_equal(pending_add(&pending, &op), 0);
    pending_settle(&pending);
    assert_int_equal(pending.n, 1);
    assert_int_equal(pending.ops[0].op.seq, 2);
    in.none = true;
    assert_int_equal(pending_add(&pending, &snap), 0);
    assert_int_equal(pending.n, 0);
    pending_fini(&pending);
}

static bool is_quick(clock_t since)
{
    return clock() - since < 2 * CLOCKS_PER_SEC;
}

/* Many operations after a large snapshot: each is found by its hash, not by a
 * search. */
static void a_large_snapshot_costs_little(void **state)
{
    struct jpr_op a = {.func = "AllReduce", JPR_MAKER_NO_TEXTS, .seq = 5};
    struct jpr_inflight in = {.at_mono_ns = 5, .op = a};
    struct jpr_record snap = {.type = JPR_INFLIGHT, .inflight = &in};
    struct jpr_record op = {.type = JPR_OP, .op = &a};
    struct jp_pending pending = {0};
    clock_t since = clock();

    (void) state;
    for (unsigned i = PENDING_MAX; i-- > 0;) {
        in.left = i;
        assert_int_equal(pending_add(&pending, &snap), 0);
    }
    a.func = "Broadcast";
    for (int i = 0; i < 1000000; i++)
        assert_int_equal(pending_add(&pending, &op), 0);
    a.func = "AllReduce";
    for (int i = 0; i < PENDING_MAX - 3; i++)
        assert_int_equal(pending_add(&pending, &op), 0);
    pending_settle(&pending);
    assert_int_equal(pending.n, 3);
    assert_true(is_quick(since));
    pending_fini(&pending);
}

/* Ids and ranks that were chosen to share one slot, and names without end. */
static void chosen_series_cost_little(void **state)
{
    enum { COMMS = 100000, MOST = 4 * JPR_MAX_COMMS };
    struct progress progress = {0};
    struct jpr_op op = {.func = "AllReduce"};
    clock_t since = clock();
    char name[32];

    (void) state;
    for (uint64_t i = 0; i < COMMS; i++) {
        struct jpr_comm comm = {
            .id = i << 32, .rank = (int64_t) i, .n_ranks = 1 << 20};

        assert_int_equal(progress_op(&progress, &comm, &op, true), 0);
    }
    assert_int_equal(progress.n, COMMS);
    assert_true(is_quick(since));
    op.func = name;
    for (int i = 0; i < 2 * MOST; i++) {
        const struct jpr_comm comm = {.n_ranks = 1};

        snprintf(name, sizeof(name), "f%d", i);
        assert_int_equal(progress_op(&progress, &comm, &op, true), 0);
    }
    assert_int_equal(progress.n, MOST);
    free(progress.rows);
    hash_fini(&progress.series);
}

/* As many counters as a file has bytes, of as many communicators. */
static void counters_cost_little(void **state)
{
    struct jp_recfile file = {.n_comms = JPR_MAX_COMMS};
    struct jpr_comm_counts row = {.counts.produced = 1};
    struct jpr_unseen unseen = {.calls = 1};
    struct jpr_doubts doubts = {
        .reasons = 3, .unsure = UINT64_MAX, .refused = UINT64_MAX};
    struct jpr_counters c = {.doubts = &doubts, .n_doubts = 1};
    clock_t since;
    char name[32];

    (void) state;
    row.func = unseen.func = name;
    file.comms = calloc(file.n_comms, sizeof(*file.comms));
    assert_non_null(file.comms);
    for (uint32_t i = 0; i < file.n_comms; i++) {
        file.comms[i] = calloc(1, sizeof(**file.comms));
        assert_non_null(file.comms[i]);
    }
    since = clock();
    for (doubts.comm = 0; doubts.comm < 20000; doubts.comm++)
        assert_int_equal(recfile_tail_counters(&file, &c), 0);
    assert_true(is_quick(since));
    assert_true(file.tail.unsure > UINT64_MAX / JPR_MAX_COMMS);
    assert_int_equal(file.tail.unsure, file.tail.unsure_by[1]);
    doubts.unsure = doubts.refused = 1; /* the last one of each counts */
    for (doubts.comm = 0; doubts.comm < 20000; doubts.comm++)
        assert_int_equal(recfile_tail_counters(&file, &c), 0);
    assert_int_equal(file.tail.unsure, 20000);
    assert_int_equal(file.tail.unsure_by[0], 20000);
    assert_int_equal(file.tail.refused, 20000);
    c = (struct jpr_counters){
        .rows = &row, .n_rows = 1, .unseen = &unseen, .n_unseen = 1};
    for (uint32_t i = 0; i < 8 * JPR_MAX_COMMS; i++) {
        row.comm = unseen.comm = i / 8;
        snprintf(name, sizeof(name), "f%u", i % 8);
        assert_int_equal(recfile_tail_counters(&file, &c), 0);
    }
    assert_int_equal(file.n_counts, 4 * JPR_MAX_COMMS);
    assert_int_equal(file.n_unseen, 4 * JPR_MAX_COMMS);
    recfile_close(&file);
}

/* Operations that finalize ended were in flight, whatever later snapshots show.
 */
static void keeps_what_was_cut_short(void **state)
{
    struct jpr_op a = {
        .func = "AllReduce", JPR_MAKER_NO_TEXTS, .seq = 1, .incomplete = true};
    struct jpr_inflight in = {.at_mono_ns = 5, .op = a};
    struct jpr_counters counters = {.clocks = {.mono_ns = 9}};
    struct jpr_record snap = {.type = JPR_INFLIGHT, .inflight = &in};
    struct jpr_record op = {.type = JPR_OP, .op = &a};
    struct jpr_record told = {.type = JPR_COUNTERS, .counters = &counters};
    struct jp_pending pending = {0};

    (void) state;
    assert_int_equal(pending_add(&pending, &snap), 0);
    assert_int_equal(pending_add(&pending, &op), 0);
    assert_int_equal(pending_add(&pending, &told), 0);
    in = (struct jpr_inflight){.at_mono_ns = 20, .none = true};
    counters.clocks.mono_ns = 30;
    assert_int_equal(pending_add(&pending, &snap), 0);
    assert_int_equal(pending_add(&pending, &told), 0);
    pending_settle(&pending);
    assert_int_equal(pending.n, 0);
    assert_int_equal(pending.n_cut_short, 1);
    assert_int_equal(pending.cut_short[0].op.seq, 1);
    assert_int_equal(pending.cut_short[0].until_mono_ns, 9);
    pending_clear(&pending);
    assert_int_equal(pending.n_cut_short, 0);
    assert_int_equal(pending_add(&pending, &op), 0);
    pending_settle(&pending);
    assert_int_equal(pending.cut_short[0].until_mono_ns, 0);
    pending_fini(&pending);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(micro_is_what_printf_shows),
        cmocka_unit_test(ids_are_cut_as_inspector_cuts),
        cmocka_unit_test(lines_say_the_same),
        cmocka_unit_test(numbers_its_series),
        cmocka_unit_test(long_names_are_cut_alike),
        cmocka_unit_test(tells_when_it_ran),
        cmocka_unit_test_setup_teardown(probes_by_the_first_bytes, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test(keeps_the_last_snapshot),
        cmocka_unit_test(a_large_snapshot_costs_little),
        cmocka_unit_test(chosen_series_cost_little),
        cmocka_unit_test(counters_cost_little),
        cmocka_unit_test(keeps_what_was_cut_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
