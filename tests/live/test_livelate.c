/* test_livelate.c - the rank that makes the others wait, on simulated
 * snapshots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "orchestrator/live/livejoin.h"

#define RANKS 16
#define NODE_RANKS 4

/* A step of 4 nodes: tensor-parallel groups of 4 (one node), data-parallel
 * groups of 4 (one rank per node), and a world group that is rarely used. */
static struct live_snap snaps[RANKS / NODE_RANKS];
/* The share of its time that each rank spends in operations of the first two.
 */
static double tp[RANKS], dp[RANKS], world = 0.001;

static void put_front(struct live_snap *snap, uint32_t comm, uint32_t rank,
                      int64_t comm_rank, double share)
{
    struct live_front *front = &snap->fronts[snap->n_fronts++];

    *front = (struct live_front){.rank = rank,
                                 .comm = comm,
                                 .comm_rank = comm_rank,
                                 .kind = JPR_N_OP_KINDS};
    front = &snap->fronts[snap->n_fronts++];
    *front = (struct live_front){.rank = rank,
                                 .comm = comm,
                                 .comm_rank = comm_rank,
                                 .kind = JPR_COLL,
                                 .func = "AllReduce",
                                 .rate_milli = 100000,
                                 .mean_us = (uint64_t) (share * 1e9 / 100000)};
}

static void put_snaps(void)
{
    memset(snaps, 0, sizeof(snaps));
    for (uint32_t n = 0; n < RANKS / NODE_RANKS; n++) {
        struct live_snap *snap = &snaps[n];

        snprintf(snap->node, sizeof(snap->node), "n%u", n);
        snap->n_ranks = NODE_RANKS;
        snap->n_comms = 2 + NODE_RANKS;
        snap->comms[0] = (struct live_comm){0x10 + n, NODE_RANKS, "tp"};
        snap->comms[1] = (struct live_comm){0x1, RANKS, "world"};
        for (uint32_t i = 0; i < NODE_RANKS; i++) {
            snap->comms[2 + i] = (struct live_comm){0x100 + i, 4, "dp"};
            snap->ranks[i] = (struct live_rank){
                .pid = 100 + i,
                .task = n * NODE_RANKS + i,
                .share_permille =
                    (uint64_t) (1000 * (tp[n * NODE_RANKS + i] +
                                        dp[n * NODE_RANKS + i] + world))};
        }
        for (uint32_t i = 0; i < NODE_RANKS; i++)
            put_front(snap, 0, i, i, tp[n * NODE_RANKS + i]);
        for (uint32_t i = 0; i < NODE_RANKS; i++)
            put_front(snap, 1, i, n * NODE_RANKS + i, world);
        for (uint32_t i = 0; i < NODE_RANKS; i++)
            put_front(snap, 2 + i, i, n, dp[n * NODE_RANKS + i]);
    }
}

static void judge(struct livelate *late)
{
    uint8_t bytes[LIVE_SNAP_BYTES];
    static struct live_snap back;

    *late = (struct livelate){0};
    put_snaps();
    for (size_t i = 0; i < RANKS / NODE_RANKS; i++) {
        /* as a reader gets it */
        assert_true(livesnap_pack(&snaps[i], bytes) <= LIVE_SNAP_BYTES);
        assert_int_equal(livesnap_unpack(bytes, sizeof(bytes), &back, NULL), 0);
        assert_int_equal(livelate_add(late, &back), 0);
    }
    assert_int_equal(livelate_finish(late), 0);
    assert_int_equal(late->n, RANKS);
}

static void all_alike(double t, double d)
{
    for (int i = 0; i < RANKS; i++) {
        tp[i] = t + 0.004 * (i % 3);
        dp[i] = d + 0.004 * (i % 2);
    }
}

/* A rank computes 20 % of the time longer: the ranks of its node wait for it in
 * tp, and their peers on other nodes wait for them in dp. */
static void names_the_late_one(void **state)
{
    struct livelate late;

    (void) state;
    for (int who = 0; who < RANKS; who += 5) {
        all_alike(0.1, 0.3);
        for (int i = 0; i < RANKS; i++) {
            if (i / NODE_RANKS == who / NODE_RANKS)
                tp[i] += i == who ? 0 : 0.2;
            else
                dp[i] += 0.2;
        }
        judge(&late);
        assert_int_equal(late.n_late, 1);
        assert_true(late.processes[0].late);
        assert_int_equal(late.processes[0].task, who);
        assert_true(late.processes[0].excess > 0.18 &&
                    late.processes[0].excess < 0.22);
        assert_int_equal(late.processes[0].node[1] - '0', who / NODE_RANKS);
        assert_true(late.processes[0].rank >= 0);
        assert_true(*late.processes[0].name != '\0');
        livelate_fini(&late);
    }
}

/* All ranks of a node are late: in tp they are alike, in dp they are below
 * their peers. */
static void names_a_late_node(void **state)
{
    struct livelate late;

    (void) state;
    all_alike(0.1, 0.3);
    for (int i = 0; i < RANKS; i++)
        if (i / NODE_RANKS != 2)
            dp[i] += 0.2;
    judge(&late);
    assert_int_equal(late.n_late, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(late.processes[i].node, "n2");
        assert_string_equal(late.processes[i].name, "dp");
        assert_int_equal(late.processes[i].rank, 2);
    }
    livelate_fini(&late);
}

/* Ranks that differ by chance, a stage that communicates more, and ranks
 * without data. */
static void names_nobody_else(void **state)
{
    struct livelate late;

    (void) state;
    all_alike(0.1, 0.3);
    judge(&late);
    assert_int_equal(late.n_late, 0);
    assert_true(late.processes[0].judged);
    livelate_fini(&late);
    /* one spends 4 % less: not significant */
    dp[3] -= 0.04;
    judge(&late);
    assert_int_equal(late.n_late, 0);
    livelate_fini(&late);
    /* a node is another stage: no rank of its group differs from the others,
     * and all ranks meet only in the world group, rarely */
    all_alike(0.1, 0.3);
    for (int i = 0; i < RANKS; i++)
        if (i / NODE_RANKS == 2) {
            tp[i] -= 0.08;
            dp[i] = 0;
        }
    judge(&late);
    assert_int_equal(late.n_late, 0);
    livelate_fini(&late);
    /* nothing has ended recently */
    for (int i = 0; i < RANKS; i++)
        tp[i] = dp[i] = 0;
    world = 0;
    judge(&late);
    assert_int_equal(late.n_late, 0);
    assert_false(late.processes[0].judged);
    livelate_fini(&late);
    world = 0.001;
}

/* Two ranks: each has one other to compare with. */
static void judges_two(void **state)
{
    static struct live_snap snap;
    struct livelate late = {0};

    (void) state;
    snap = (struct live_snap){.node = "n0", .n_ranks = 2, .n_comms = 1};
    snap.comms[0] = (struct live_comm){1, 2, "dp"};
    for (uint32_t i = 0; i < 2; i++) {
        put_front(&snap, 0, i, i, i ? 0.2 : 0.5);
        snap.ranks[i].task = i;
        snap.ranks[i].share_permille = i ? 200 : 500;
    }
    assert_int_equal(livelate_add(&late, &snap), 0);
    assert_int_equal(livelate_finish(&late), 0);
    assert_int_equal(late.n_late, 1);
    assert_int_equal(late.processes[0].task, 1);
    assert_true(late.processes[1].excess < 0);
    livelate_fini(&late);
    /* none at all */
    assert_int_equal(livelate_finish(&late), 0);
    livelate_fini(&late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_late_one),
        cmocka_unit_test(names_a_late_node),
        cmocka_unit_test(names_nobody_else),
        cmocka_unit_test(judges_two),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
