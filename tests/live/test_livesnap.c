/* test_livesnap.c - pack a node's state into 4 KiB, and unpack it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "orchestrator/live/livesnap.h"

static void fill(struct live_snap *snap, uint32_t ranks, uint32_t comms)
{
    *snap = (struct live_snap){.conf = 0x1122334455667788,
                               .nodeid = 7,
                               .sequence = 9,
                               .real_ns = UINT64_C(1700000000000000000),
                               .mono_ns = 5,
                               .due_ms = 30000,
                               .class = LIVE_WAITS,
                               .node = "node-7",
                               .n_ranks = ranks,
                               .n_comms = comms};
    for (uint32_t i = 0; i < ranks; i++)
        snap->ranks[i] = (struct live_rank){
            .pid = 100000 + i,
            .task = i,
            .state = HUNG_WAITS,
            .busy = true,
            .counted_ns = (int64_t) snap->real_ns - 300000000,
            .produced = 1000000 + i,
            .over = 999999,
            .bytes = UINT64_C(1) << 40,
            .in_flight = 1,
            .cpu_ms = 123456,
            /* of every second one, so that both layouts come back */
            .numbered = i % 2,
            .numbers = {-1, -1, -1, -1, -1}};
    for (uint32_t i = 1; i < ranks; i += 2)
        snap->ranks[i].numbers[LAUNCHED_OMPI] = i;
    for (uint32_t c = 0; c < comms; c++) {
        snap->comms[c] = (struct live_comm){
            .hash = 0x8a07aed05ae9a000 + c, .n_ranks = 512, .name = "dp"};
        for (uint32_t i = 0; i < ranks && snap->n_fronts + 2 <= LIVE_FRONTS_MAX;
             i++) {
            snap->fronts[snap->n_fronts++] =
                (struct live_front){.rank = i,
                                    .comm = c,
                                    .comm_rank = 8 * c + i,
                                    .kind = JPR_N_OP_KINDS};
            snap->fronts[snap->n_fronts++] =
                (struct live_front){.rank = i,
                                    .comm = c,
                                    .comm_rank = 8 * c + i,
                                    .kind = JPR_COLL,
                                    .func = "AllReduce",
                                    .begun = 123456,
                                    .ended = 123455};
        }
    }
    snap->ops[snap->n_ops++] =
        (struct live_op){.comm_rank = 3,
                         .peer = -1,
                         .kind = JPR_COLL,
                         .func = "Odd\xc3\xa9",
                         .seq = 123455,
                         .bytes = 1 << 20,
                         .start_ns = (int64_t) snap->real_ns - 31000000000,
                         .until_ns = (int64_t) snap->real_ns - 300000000,
                         .limit_ns = 30000000000,
                         .unsure = true,
                         .channels = 4,
                         .started = 2};
}

static void comes_back(void **state)
{
    static struct live_snap snap, back;
    uint8_t bytes[LIVE_SNAP_BYTES];
    struct jp_error err;
    size_t n;

    (void) state;
    fill(&snap, 8, 5);
    /* one of the processes has two GPUs */
    snap.n_gpus = snap.ranks[3].n_gpus = 2;
    strcpy(snap.gpus[0], "0000:1b:00.0");
    strcpy(snap.gpus[1], "0000:43:00.0");
    for (uint32_t i = 0; i < snap.n_fronts; i++)
        if (snap.fronts[i].rank == 3)
            snap.fronts[i].gpu = 1 + i % 2;
    snap.ops[0].rank = 3;
    /* a rate of another one is known, and not that of all others */
    for (uint32_t i = 0; i < 8; i++)
        snap.ranks[i].unrated = i != 5;
    snap.ranks[5].rate_milli = 12500;
    snap.ranks[5].share_permille = 400;
    snap.ops[0].gpu = 2;
    n = livesnap_pack(&snap, bytes);
    print_message("# 8 ranks in 5 communicators: %zu bytes\n", n);
    assert_true(n <= LIVE_SNAP_BYTES);
    if (livesnap_unpack(bytes, sizeof(bytes), &back, &err) < 0)
        fail_msg("%s", err.text);
    assert_memory_equal(back.ranks, snap.ranks, 8 * sizeof(*back.ranks));
    assert_memory_equal(back.comms, snap.comms, 5 * sizeof(*back.comms));
    assert_memory_equal(back.fronts, snap.fronts, 80 * sizeof(*back.fronts));
    assert_int_equal(back.n_fronts, 80);
    assert_int_equal(back.n_ops, 1);
    assert_memory_equal(back.ops, snap.ops, sizeof(*back.ops));
    assert_string_equal(back.node, "node-7");
    assert_int_equal(back.n_gpus, 2);
    assert_string_equal(back.gpus[0], "0000:1b:00.0");
    assert_string_equal(back.gpus[1], "0000:43:00.0");
    assert_int_equal(back.conf, snap.conf);
    assert_int_equal(back.left_comms + back.left_ranks, 0);
    assert_int_equal(back.class, LIVE_WAITS);
}

/* What does not fit is counted, and what is there is complete. */
static void is_never_too_long(void **state)
{
    static struct live_snap snap, back;
    uint8_t bytes[LIVE_SNAP_BYTES];

    (void) state;
    for (uint32_t ranks = 1; ranks <= LIVE_RANKS_MAX; ranks += 73)
        for (uint32_t comms = 1; comms <= LIVE_COMMS_MAX; comms += 93) {
            size_t n;

            fill(&snap, ranks, comms);
            n = livesnap_pack(&snap, bytes);
            assert_true(n <= LIVE_SNAP_BYTES);
            assert_int_equal(livesnap_unpack(bytes, n, &back, NULL), 0);
            assert_int_equal(back.n_ranks + back.left_ranks, ranks);
            assert_int_equal(back.n_comms + back.left_comms, comms);
            assert_true(back.n_comms > 0);
            assert_int_equal(back.comms[0].hash, snap.comms[0].hash);
            for (uint32_t i = 1; i < back.n_comms; i++)
                assert_true(back.comms[i].hash > back.comms[i - 1].hash);
        }
}

/* Every truncation and every flipped bit is noticed. */
static void refuses_what_is_torn(void **state)
{
    static struct live_snap snap, back;
    uint8_t bytes[LIVE_SNAP_BYTES], other[LIVE_SNAP_BYTES];
    size_t n;

    (void) state;
    fill(&snap, 2, 2);
    n = livesnap_pack(&snap, bytes);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(livesnap_unpack(bytes, i, &back, NULL), -1);
    for (size_t bit = 0; bit < 8 * n; bit++) {
        memcpy(other, bytes, sizeof(other));
        other[bit / 8] ^= (uint8_t) (1 << bit % 8);
        assert_int_equal(livesnap_unpack(other, n, &back, NULL), -1);
    }
    /* half of the next snapshot */
    snap.sequence++;
    snap.ranks[0].produced += 1000;
    snap.ops[0].seq++;
    livesnap_pack(&snap, other);
    memcpy(other + n / 2, bytes + n / 2, n - n / 2);
    assert_int_equal(livesnap_unpack(other, n, &back, NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back),
        cmocka_unit_test(is_never_too_long),
        cmocka_unit_test(refuses_what_is_torn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
