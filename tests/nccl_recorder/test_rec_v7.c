/* test_rec_v7.c - what NCCL's interface v7 adds: tags of the program, phases of
 * symmetric kernels, kernels that are reported in another order; and pauses of
 * the recording. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "contrib/ncclsim/sim_shim.h"
#include "tests/nccl_recorder/rec_asserts.h"

enum { V7 = 7 };

static void *coll(struct rec_scene *s, void *comm, uint64_t seq, uint64_t tag,
                  bool symmetric, int n_channels)
{
    sim_shim_more = (struct jp_sim_more){.tag = tag, .symmetric = symmetric};
    return scene_coll(s, comm, "AllReduce", seq, 4096, n_channels);
}

/* ---------------------------------------------------- tags and phases ----- */

static void phases(struct rec_scene *s)
{
    void *comm = scene_comm(s, "c", 1, 0, 2);
    void *op = coll(s, comm, 0, 77, true, 2), *head, *next, *plain;
    void *kernel;

    /* with the first symmetric operation, not before */
    CHECK(scene_mask & JP_NCCL_KERNEL_PHASE);
    CHECK(s->api->stop(op) == 0);
    kernel = scene_kernel(s, comm, op, 0, 1000);
    sim_shim_phases(comm, kernel, 0,
                    (const uint64_t[]){1000, 4000, 9000, 9500});
    scene_kernel_stop(s, kernel, 9500);
    kernel = scene_kernel(s, comm, op, 1, 1000);
    /* the longest of the channels counts, and no phase may be missing */
    sim_shim_phases(comm, kernel, 1,
                    (const uint64_t[]){1000, 6000, 9000, 9000});
    scene_kernel_stop(s, kernel, 9000);

    /* two of a launch: only the first has channels, the other is over at once
     */
    CHECK(scene_launch(s, comm) == NULL);
    head = coll(s, comm, 1, 0, true, 1);
    next = coll(s, comm, 2, 0, true, 0);
    CHECK(s->api->stop(head) == 0 && s->api->stop(next) == 0);
    kernel = scene_kernel(s, comm, head, 0, 20000);
    /* stamps before the kernel's start are not its own */
    sim_shim_phases(comm, kernel, 0,
                    (const uint64_t[]){19000, 19500, 25000, 25500});
    scene_kernel_stop(s, kernel, 26000);

    /* those of another kernel mean nothing: it waits within the second one */
    CHECK(scene_launch(s, comm) == NULL);
    plain = coll(s, comm, 3, 0, false, 1);
    CHECK(s->api->stop(plain) == 0);
    kernel = scene_kernel(s, comm, plain, 0, 30000);
    sim_shim_phases(comm, kernel, 0,
                    (const uint64_t[]){30000, 30100, 39000, 39500});
    scene_kernel_stop(s, kernel, 40000);
    CHECK(s->api->finalize(comm) == 0);
}

static void keeps_tags_and_phases(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(phases, V7, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 4);
    assert_int_equal(has(&r, "\"interface\":7"), 1);
    assert_int_equal(has(&r, "\"tag\":77,\"symmetric\":true,\"sync_ns\":5000,"
                             "\"compute_ns\":5000,\"close_ns\":500"),
                     1);
    assert_int_equal(has(&r, "\"symmetric\":true"), 3);
    /* without the middle one there are none */
    assert_int_equal(has(&r, "\"sync_ns\""), 1);
    assert_int_equal(has(&r, "\"incomplete\":true"), 0);
    assert_int_equal(has(&r, "\"exec_ns\":10000,"), 1);
    assert_int_equal(has(&r, "\"exec_ns\":6000,"), 1);
    rec_harness_fini(&r);
}

/* --------------------------------------- another order, copies, graphs ---- */

static void out_of_order(struct rec_scene *s)
{
    void *comm = scene_comm(s, "c", 1, 0, 2);
    void *ops[40], *kernels[40];

    for (int i = 0; i < 40; i++) {
        scene_launch(s, comm);
        ops[i] = coll(s, comm, (uint64_t) i, 0, false, 1);
        CHECK(s->api->stop(ops[i]) == 0);
    }
    /* each pair the other way round: v7 reports in no fixed order */
    for (int i = 0; i < 40; i += 2)
        for (int k = i + 1; k >= i; k--) {
            kernels[k] =
                scene_kernel(s, comm, ops[k], 0, 10000 + 1000 * (uint64_t) k);
            CHECK(kernels[k] != NULL);
            scene_kernel_stop(s, kernels[k], 10800 + 1000 * (uint64_t) k);
        }
    CHECK(s->api->finalize(comm) == 0);
}

static void believes_any_order(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(out_of_order, V7, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 40);
    assert_int_equal(has(&r, "\"exec_ns\":800,"), 40);
    rec_harness_fini(&r);
    /* older releases report in order: there these are stamps of others */
    rec_harness_run(out_of_order, 6, &r);
    assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 1);
    rec_harness_fini(&r);
}

static void copy_to_oneself(struct rec_scene *s)
{
    void *comm = scene_comm(s, "c", 1, 3, 8);
    void *op = scene_p2p(s, comm, "Send", 3, 4096, 1);

    CHECK(s->api->stop(op) == 0);
    scene_kernel_stop(s, scene_kernel(s, comm, op, 0, 1000), 3000);
    scene_launch(s, comm);
    op = coll(s, comm, 0, 0, false, 1);
    CHECK(s->api->stop(op) == 0);
    scene_kernel_stop(s, scene_kernel(s, comm, op, 0, 5000), 9000);
    CHECK(s->api->finalize(comm) == 0);
}

static void counts_copies_to_oneself(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(copy_to_oneself, V7, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 2);
    assert_int_equal(has(&r, "\"exec_ns\":2000,"), 1);
    assert_int_equal(has(&r, "\"exec_ns\":4000,"), 1);
    assert_int_equal(has(&r, "\"unsure\":true"), 0);
    rec_harness_fini(&r);
}

/* ------------------------------------------------------------- pauses ----- */

static void whole(struct rec_scene *s, void *comm, uint64_t from, uint64_t to)
{
    for (uint64_t seq = from; seq < to; seq++) {
        scene_launch(s, comm);
        scene_whole(s, comm, seq, 10);
    }
}

static void by_mask(struct rec_scene *s)
{
    void *comm = scene_comm(s, "c", 1, 0, 2);
    int mask;

    whole(s, comm, 0, 5);
    mask = scene_mask;
    scene_mask = 0; /* RAS: PROFILER_MASK 0; NCCL goes on to count */
    usleep(350000);
    scene_mask = mask;
    whole(s, comm, 25, 30);
    usleep(250000);
    CHECK(s->api->finalize(comm) == 0);
}

/* RAS: PROFILER_MASK coll,kernelch. What is left of the operations is dropped:
 * the stretch has only a part of them. */
static void by_part(struct rec_scene *s)
{
    void *comm = scene_comm(s, "c", 1, 0, 2);
    int mask;

    whole(s, comm, 0, 5);
    mask = scene_mask;
    scene_mask = JP_NCCL_COLL | JP_NCCL_KERNEL_CH;
    usleep(350000);
    for (uint64_t seq = 5; seq < 9; seq++)
        CHECK(scene_coll(s, comm, "AllReduce", seq, 4096, 1) == NULL);
    scene_mask = mask;
    usleep(350000);
    whole(s, comm, 9, 12);
    usleep(250000);
    CHECK(s->api->finalize(comm) == 0);
}

/* RAS: PROFILER_MASK coll,p2p. NCCL announces channels and reports none: an
 * operation is over once a later one is launched, and has no time. */
static void without_kernels(struct rec_scene *s)
{
    void *comm = scene_comm(s, "c", 1, 0, 2);

    whole(s, comm, 0, 5);
    scene_mask = JP_NCCL_COLL | JP_NCCL_P2P;
    for (uint64_t seq = 5; seq < 9; seq++) {
        scene_launch(s, comm);
        CHECK(s->api->stop(scene_coll(s, comm, "AllReduce", seq, 4096, 2)) ==
              0);
        usleep(150000);
    }
    scene_wait(s, "\"seq\":7,", 1);
    CHECK(s->api->finalize(comm) == 0);
}

static void by_file(struct rec_scene *s)
{
    void *comm = scene_comm(s, "c", 1, 0, 2);
    char path[4096];

    whole(s, comm, 0, 5);
    snprintf(path, sizeof(path), "%s/record.off", s->dir);
    fclose(fopen(path, "w"));
    usleep(350000);
    for (uint64_t seq = 5; seq < 12; seq++)
        CHECK(scene_coll(s, comm, "AllReduce", seq, 4096, 1) == NULL);
    CHECK(scene_p2p(s, comm, "Send", 1, 4096, 1) == NULL);
    CHECK(unlink(path) == 0);
    usleep(350000);
    whole(s, comm, 12, 15);
    CHECK(s->api->finalize(comm) == 0);
}

static void tells_pauses(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(by_mask, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 10);
    assert_true(has(&r, "\"type\":\"pause\"") > 0);
    assert_true(has(&r, "\"why\":1,\"skipped\":20}") > 0);
    assert_int_equal(has(&r, "\"why\":2"), 0);
    rec_harness_fini(&r);

    rec_harness_run(by_part, 7, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 8);
    assert_true(has(&r, "\"why\":1,\"skipped\":4}") > 0);
    rec_harness_fini(&r);

    rec_harness_run(without_kernels, 7, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 9);
    assert_true(has(&r, "\"unsure\":true") >= 4);
    assert_int_equal(has(&r, "\"incomplete\":true"), 0);
    assert_int_equal(has(&r, "\"type\":\"pause\""), 0);
    rec_harness_fini(&r);

    rec_harness_run(by_file, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 8);
    assert_true(has(&r, "\"why\":2,\"skipped\":8}") > 0);
    assert_int_equal(has(&r, "\"type\":\"unseen\""), 0);
    HAS_ROW(r, "0x1", "AllReduce", 8, 8, 0);
    rec_harness_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_tags_and_phases),
        cmocka_unit_test(believes_any_order),
        cmocka_unit_test(counts_copies_to_oneself),
        cmocka_unit_test(tells_pauses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
