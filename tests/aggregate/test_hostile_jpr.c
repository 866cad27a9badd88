/* test_hostile_jpr.c - recordings that are wrong, cut or compressed: the good
 * rest is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include <cmocka.h>

#include "orchestrator/aggregate/aggregate.h"
#include "plugins/nccl_recorder/launches.h"
#include "tests/aggregate/op_of.h"
#include "tests/aggregate/jpr_maker.h"
#include "tests/common/tempdir.h"

struct bytes {
    char *at;
    size_t n;
};

static struct bytes squeeze(const struct bytes *raw)
{
    struct bytes b = {malloc(raw->n + 1024), 0};
    z_stream z = {0};

    assert_non_null(b.at);
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, 0), Z_OK);
    z.next_in = (Bytef *) raw->at;
    z.avail_in = (uInt) raw->n;
    z.next_out = (Bytef *) b.at;
    z.avail_out = (uInt) (raw->n + 1024);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    b.n = z.total_out;
    deflateEnd(&z);
    return b;
}

static const struct jpr_comm dp = {0, true, 1, "dp", 1, 4, 2, "", "", 0};
static const struct jpr_comm odd = {1, true, 2, "odd", 9, 4, 2, "", "", 0};

static struct jpr_op good_op(uint64_t seq)
{
    struct jpr_op op = {.func = "AllReduce",
                        .datatype = "ncclInt8",
                        .algo = "",
                        .proto = "",
                        .api_func = "",
                        .api_datatype = "",
                        .seq = seq,
                        .count = 64,
                        .bytes = 64,
                        .peer = -1};

    jpr_maker_times(&op, JPR_MAKER_MONO_NS + seq * 1000000, 50);
    return op;
}

/* A file of n good operations in blocks of `block`, and one more (NULL: none)
 * after the first. */
static struct bytes make(const char *host, unsigned n, unsigned block,
                         const struct jpr_op *more)
{
    struct bytes b = {0};
    FILE *out = open_memstream(&b.at, &b.n);
    struct jpr_maker *maker = jpr_maker_create(out);

    jpr_maker_header(maker, host, 77, 0, NULL);
    jpr_maker_comm(maker, &dp);
    jpr_maker_comm(maker, &odd);
    for (unsigned i = 0; i < n; i++) {
        struct jpr_op op = good_op(i);

        jpr_maker_op(maker, &op);
        if (i == 0 && more)
            jpr_maker_op(maker, more);
        if (i % block == block - 1)
            jpr_maker_flush(maker);
    }
    jpr_maker_flush(maker);
    jpr_maker_counters(maker, JPR_MAKER_MONO_NS + 900000000, true, 0, 0);
    jpr_maker_destroy(maker);
    fclose(out);
    return b;
}

static struct jp_result *run(const char *dir)
{
    const struct jp_aggregate_options options = {.threads = 1};

    return result_of(dir, &options);
}

static const struct row {
    const char *name;
    struct jpr_op op;
    enum jp_bad kind; /* JP_BAD_KINDS: it is good */
} rows[] = {
    {"good", {.bytes = 1}, JP_BAD_KINDS},
    {"an hour", {.exec_ns = UINT64_C(3600000000000)}, JP_BAD_KINDS},
    {"communicator unknown", {.comm = 7}, JP_BAD_MISSING},
    {"communicator of no such rank", {.comm = 1}, JP_BAD_VALUE},
    {"sequence number", {.seq = UINT64_MAX}, JP_BAD_RANGE},
    {"size", {.bytes = UINT64_MAX}, JP_BAD_RANGE},
    {"time", {.exec_ns = UINT64_C(2000000000000000)}, JP_BAD_RANGE},
    {"function", {.func = "a/b"}, JP_BAD_VALUE},
    {"no function", {.func = ""}, JP_BAD_VALUE},
    {"peer", {.kind = JPR_P2P, .func = "Send", .peer = 4}, JP_BAD_VALUE},
};

static struct jpr_op op_of_row(const struct row *row)
{
    struct jpr_op op = good_op(row->op.seq ? row->op.seq : 1000);

    op.kind = row->op.kind;
    op.comm = row->op.comm;
    op.bytes = row->op.bytes ? row->op.bytes : op.bytes;
    op.exec_ns = row->op.exec_ns ? row->op.exec_ns : op.exec_ns;
    op.func = row->op.func ? row->op.func : op.func;
    op.peer = row->op.peer ? row->op.peer : op.peer;
    return op;
}

static void bad_operations_by_kind(void **state)
{
    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(*rows); i++) {
        const struct row *row = &rows[i / 2];
        bool bad = row->kind < JP_BAD_KINDS;
        struct jpr_op op = op_of_row(row);
        struct bytes b = make("n1", 3, 8, &op), packed = squeeze(&b);
        const struct jp_quality *q;
        struct jp_result *r;

        tempdir_bytes(*state, "a.jpr", i % 2 ? packed.at : b.at,
                      i % 2 ? packed.n : b.n);
        r = run(*state);
        q = &r->quality;
        if (q->records != 3u + !bad || q->bad_lines != bad ||
            q->recordings != 1 || q->cut_recordings || q->damaged_blocks)
            fail_msg("%s: %u records, %u bad", row->name, (unsigned) q->records,
                     (unsigned) q->bad_lines);
        if (bad) {
            assert_int_equal(q->bad[row->kind].n, 1);
            assert_int_equal(q->bad[row->kind].line, 2);
            assert_non_null(strstr(q->bad[row->kind].path, "a.jpr"));
        }
        result_destroy(r);
        free(b.at);
        free(packed.at);
    }
}

/* A compressed file gives the same as the file; cut anywhere, it gives its
 * whole blocks. */
static void packed_says_the_same(void **state)
{
    struct bytes b = make("n1", 3000, 100, NULL), packed = squeeze(&b);
    uint64_t before = 0;
    struct jp_result *r;

    tempdir_bytes(*state, "a.jpr.gz", packed.at, packed.n);
    r = run(*state);
    assert_int_equal(r->quality.records, 3000);
    assert_int_equal(r->quality.expected_kind, JP_EXPECT_BOUND);
    assert_int_equal(r->quality.cut_recordings, 0);
    assert_int_equal(r->quality.bytes_read, b.n);
    assert_int_equal(r->quality.n_notes, 0);
    result_destroy(r);
    for (size_t cut = 2; cut < packed.n; cut += packed.n / 16) {
        tempdir_bytes(*state, "a.jpr.gz", packed.at, cut);
        r = run(*state);
        assert_in_range(r->quality.records, before, 3000);
        assert_int_equal(r->quality.damaged_blocks, 0);
        assert_true(r->quality.n_notes > 0);
        before = r->quality.records;
        result_destroy(r);
    }
    assert_true(before > 1500);
    free(b.at);
    free(packed.at);
}

/* A file that still grows, or was left by a killed writer: its whole blocks
 * count. */
static void every_prefix_counts(void **state)
{
    struct bytes b = make("n1", 1000, 100, NULL);
    uint64_t before = 0;

    for (size_t n = 0; n <= b.n; n += n == b.n       ? 1
                                      : b.n - n < 97 ? b.n - n
                                                     : 97) {
        struct jp_result *r;

        tempdir_bytes(*state, "a.jpr", b.at, n);
        r = run(*state);
        assert_in_range(r->quality.records, before, 1000);
        assert_int_equal(r->quality.damaged_blocks + r->quality.bad_lines, 0);
        assert_int_equal(r->quality.cut_recordings, n > 0 && n < b.n);
        before = r->quality.records;
        result_destroy(r);
    }
    assert_int_equal(before, 1000);
    free(b.at);
}

/* A damaged block costs its own operations, wherever it is. */
static void damage_costs_a_block(void **state)
{
    struct bytes b = make("n1", 3000, 100, NULL), packed;

    for (size_t at = 200; at < b.n - 200; at += b.n / 12)
        for (int gz = 0; gz < 2; gz++) {
            struct jp_result *r;

            b.at[at] ^= 0x10;
            packed = squeeze(&b);
            tempdir_bytes(*state, gz ? "a.jpr.gz" : "a.jpr",
                          gz ? packed.at : b.at, gz ? packed.n : b.n);
            b.at[at] ^= 0x10;
            free(packed.at);
            r = run(*state);
            assert_int_equal(r->quality.records, 2900);
            assert_int_equal(r->quality.damaged_blocks, gz ? 2 : 1);
            assert_non_null(strstr(r->quality.notes[0].what, "offset "));
            result_destroy(r);
            if (gz) {
                char path[512];

                snprintf(path, sizeof(path), "%s/a.jpr.gz", (char *) *state);
                remove(path);
            }
        }
    free(b.at);
}

/* A file and then 256 MB of zeros, compressed. */
static void bombs(void **state)
{
    enum { BOMB = 256 << 20 };
    struct bytes b = make("n1", 300, 100, NULL), packed, zeros;
    struct bytes fill = {calloc(1, BOMB), BOMB};
    struct jp_result *r;

    assert_non_null(fill.at);
    packed = squeeze(&b);
    zeros = squeeze(&fill);
    packed.at = realloc(packed.at, packed.n + zeros.n);
    assert_non_null(packed.at);
    memcpy(packed.at + packed.n, zeros.at, zeros.n);
    tempdir_bytes(*state, "a.jpr.gz", packed.at, packed.n + zeros.n);
    r = run(*state);
    assert_int_equal(r->quality.records, 300);
    assert_int_equal(r->quality.cut_recordings, 1);
    assert_non_null(
        strstr(r->quality.notes[0].what, "expands more than 300 to 1"));
    result_destroy(r);
    free(b.at);
    free(fill.at);
    free(packed.at);
    free(zeros.at);
}

/* Kept as long as the process runs. */
static struct jpr_zip *shared_zip(void)
{
    static struct jpr_zip *zip;

    if (!zip)
        zip = jpr_zip_create();
    return zip;
}

/* Blocks that are 200 times their size, in a file that is packed again. */
static void bombs_inside(void **state)
{
    enum { BLOCKS = 64, LATER_TYPE = 200 };
    struct bytes b = make("n1", 300, 100, NULL);
    const size_t block = JPR_MAX_RAW_BYTES + JPR_FRAME_BYTES;
    uint8_t *zeros = calloc(1, JPR_MAX_RAW_BYTES), *frame = malloc(block);
    struct jpr_zip *zip = shared_zip();
    struct bytes all = {malloc(b.n + BLOCKS * 8192), JPR_HEAD_BYTES}, packed;
    struct jp_result *r;
    size_t n;

    assert_true(zeros && frame && zip && all.at);
    n = jpr_frame_write((enum jpr_block) LATER_TYPE, zeros, JPR_MAX_RAW_BYTES,
                        zip, frame, block);
    assert_in_range(n, 1, 8191);
    memcpy(all.at, b.at, JPR_HEAD_BYTES);
    for (int i = 0; i < BLOCKS; i++, all.n += n)
        memcpy(all.at + all.n, frame, n);
    memcpy(all.at + all.n, b.at + JPR_HEAD_BYTES, b.n - JPR_HEAD_BYTES);
    all.n += b.n - JPR_HEAD_BYTES;
    packed = squeeze(&all);
    tempdir_bytes(*state, "a.jpr", packed.at, packed.n);
    r = run(*state);
    assert_int_equal(r->quality.records, 0);
    assert_int_equal(r->quality.cut_recordings, 1);
    assert_non_null(
        strstr(r->quality.notes[0].what, "expands more than 300 to 1"));
    result_destroy(r);
    free(zeros);
    free(frame);
    free(all.at);
    free(packed.at);
    free(b.at);
}

/* ------------------------------------------------------ a launch's times -- */

struct taken {
    uint64_t n, us, most_us;
    char func[RECORD_MAX_FUNC + 1];
};

static int take(void *arg, const struct record *record)
{
    struct taken *t = arg;

    t->n++;
    t->us += record->exec_us;
    t->most_us = record->exec_us > t->most_us ? record->exec_us : t->most_us;
    memcpy(t->func, record->func.text, record->func.len);
    return 0;
}

static void add(struct launches *launches, const char *func, bool p2p,
                uint64_t bytes, uint64_t first_ns)
{
    struct record record = {.func = {func, strlen(func)},
                            .p2p = p2p,
                            .n_ranks = 2,
                            .bytes = bytes,
                            .exec_us = 5000};
    struct jpr_op op = {.enqueue_start_mono_ns = 1,
                        .enqueue_stop_mono_ns = UINT64_MAX,
                        .gpu_first_ns = first_ns,
                        .gpu_last_ns = first_ns + 5000000};

    assert_int_equal(launches_add(launches, &op, &record, BANDWIDTH_ONE), 0);
}

/* Times and sizes that cannot be added up: each operation keeps its own. */
static void absurd_launches_are_not_shared(void **state)
{
    enum { MANY = 20000 };
    struct taken t = {0};
    struct launches *launches = launches_create(take, &t);

    (void) state;
    assert_non_null(launches);
    assert_int_equal(launches_flush(launches), 0); /* of nothing */
    add(launches, "AllReduce", false, 64, 1);
    add(launches, "AllReduce", false, 64, UINT64_MAX / 2);
    assert_int_equal(launches_flush(launches), 0);
    assert_int_equal(t.most_us, 5000);
    for (int i = 0; i < MANY; i++)
        add(launches, "AllReduce", false, RECORD_MAX_BYTES, 1);
    assert_int_equal(launches_flush(launches), 0);
    assert_int_equal(t.n, MANY + 2);
    assert_int_equal(t.most_us, 5000);
    launches_destroy(launches);
}

/* The first name counts, whatever is in its place later. */
static void launches_keep_names(void **state)
{
    char name[] = "AllReduce";
    struct taken t = {0};
    struct launches *launches = launches_create(take, &t);

    (void) state;
    assert_non_null(launches);
    add(launches, name, false, 64, 1);
    memcpy(name, "Gather\0\0", 9);
    assert_int_equal(launches_flush(launches), 0);
    assert_string_equal(t.func, "AllReduce");
    launches_destroy(launches);
}

/* A file with one launch for all operations, and no two at one time. */
static void a_launch_without_end_costs_little(void **state)
{
    enum { MANY = 200000 };
    struct taken t = {0};
    struct launches *launches = launches_create(take, &t);
    clock_t since = clock();

    (void) state;
    assert_non_null(launches);
    for (uint64_t i = 0; i < MANY; i++)
        add(launches, i % 2 ? "Send" : "Recv", true, 64,
            1 + i * UINT64_C(1000000000));
    assert_int_equal(launches_flush(launches), 0);
    assert_int_equal(t.n, MANY);
    assert_int_equal(t.us, MANY * UINT64_C(5000));
    /* memcheck takes 30 times as long */
    assert_true(getenv("JP_MEMCHECK") || clock() - since < 4 * CLOCKS_PER_SEC);
    launches_destroy(launches);
}

/* Files that a crashed node, a full disk or a wrong `cat` leaves behind. */
static void odd_ends(void **state)
{
    struct bytes b = make("n1", 300, 100, NULL);
    struct bytes other = make("n2", 10, 100, NULL);
    size_t cap = b.n + other.n + 70000;
    char *all = calloc(1, cap);
    struct jp_result *r;

    assert_non_null(all);
    memcpy(all, b.at, b.n);
    tempdir_bytes(*state, "a.jpr", all, b.n + 70000); /* zeros */
    r = run(*state);
    assert_int_equal(r->quality.records, 300);
    assert_int_equal(r->quality.damaged_blocks, 0);
    result_destroy(r);
    memcpy(all + b.n, other.at, other.n); /* another file's head is damage */
    tempdir_bytes(*state, "a.jpr", all, b.n + other.n);
    r = run(*state);
    assert_in_range(r->quality.damaged_blocks, 1, 4);
    assert_int_equal(r->quality.records, 300);
    result_destroy(r);
    memset(all + b.n, 'x', 70000);
    tempdir_bytes(*state, "a.jpr", all, b.n + 70000);
    r = run(*state);
    assert_int_equal(r->quality.records, 300);
    assert_int_equal(r->quality.damaged_blocks, 1);
    result_destroy(r);
    free(all);
    free(b.at);
    free(other.at);
}

#define IN_DIR(test)                                                           \
    cmocka_unit_test_setup_teardown(test, tempdir_make, tempdir_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(bad_operations_by_kind),
        IN_DIR(packed_says_the_same),
        IN_DIR(every_prefix_counts),
        IN_DIR(damage_costs_a_block),
        IN_DIR(bombs),
        IN_DIR(bombs_inside),
        cmocka_unit_test(absurd_launches_are_not_shared),
        cmocka_unit_test(launches_keep_names),
        cmocka_unit_test(a_launch_without_end_costs_little),
        IN_DIR(odd_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
