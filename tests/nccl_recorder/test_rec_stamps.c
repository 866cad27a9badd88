/* test_rec_stamps.c - which time stamps are used, by direct calls of
 * rec_trust.c: cases that need too many operations or threads to reach through
 * the library.
 */

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "plugins/nccl_recorder/rec_comm.h"
#include "tests/common/skip.h"

/* A communicator that runs for weeks: stale stamps are found after 2^31
 * operations as well. */
static void many_operations(void **state)
{
    struct jp_rec_trust trust = {0};
    struct jp_rec_place place = {.link = JP_REC_LINK_SEND};

    (void) state;
    atomic_store(&trust.n_ops, UINT64_C(3000000000));
    atomic_fetch_add(&trust.launch.by_others, 1);
    rec_trust_op(&trust, 100, false, &place);
    assert_int_equal(rec_trust_start(&trust, 0, &place, 1000, 0), JP_REC_FRESH);
    assert_int_equal(rec_trust_stop(&trust, 0, &place, 1000, 2000),
                     JP_REC_FRESH);
    atomic_fetch_add(&trust.launch.by_others, 1);
    rec_trust_op(&trust, 200, false, &place);
    assert_int_equal(rec_trust_start(&trust, 0, &place, 1000, 0), JP_REC_STALE);
}

/* Once requests have ended they stay off, even if the init of another thread
 * writes the mask that it computed before. */
static void asking_ends_for_good(void **state)
{
    static int mask = JP_NCCL_COLL | JP_NCCL_KERNEL_CH;
    struct jp_rec_thread thread = {0};
    struct jp_rec_trust trust = {0};

    (void) state;
    rec_trust_init(true, 6, &mask);
    rec_trust_mask();
    assert_int_equal(mask, JP_NCCL_COLL | JP_NCCL_KERNEL_CH);
    rec_trust_call(&trust, &thread, true, 0);
    assert_int_equal(mask, JP_NCCL_COLL | JP_NCCL_PROXY_OP);
    mask = JP_NCCL_COLL | JP_NCCL_KERNEL_CH;
    rec_trust_mask();
    assert_int_equal(mask, JP_NCCL_COLL | JP_NCCL_PROXY_OP);
}

/* The program unloads a second NCCL, and its mask is gone. Any library that
 * nothing else has loaded can stand for it. */
static void mask_of_an_unloaded_library(void **state)
{
    void *library = dlopen("libBrokenLocale.so.1", RTLD_NOW | RTLD_LOCAL);
    int *mask = library ? dlsym(library, "__ctype_get_mb_cur_max") : NULL;

    (void) state;
    if (!mask)
        skip_check("no libBrokenLocale here");
    rec_trust_init(false, 6, mask);
    assert_int_equal(dlclose(library), 0);
    assert_null(dlopen("libBrokenLocale.so.1", RTLD_NOW | RTLD_NOLOAD));
    rec_trust_mask();
}

static void take_stale(struct jp_rec_trust *trust, int n)
{
    struct jp_rec_place place = {.link = JP_REC_LINK_SEND};

    for (int i = 0; i < n; i++) {
        atomic_fetch_add(&trust->launch.by_others, 1);
        rec_trust_op(trust, 100, false, &place);
        assert_int_equal(rec_trust_start(trust, 0, &place, 0, 0), JP_REC_STALE);
    }
}

/* A stale stamp now and then costs only that operation its time. */
static void few_stale_stamps(void **state)
{
    struct jp_rec_trust trust = {0};

    (void) state;
    for (int i = 0; i < 10; i++) {
        take_stale(&trust, 7);
        assert_int_equal(atomic_load(&trust.reasons), 0);
        atomic_fetch_add(&trust.n_ops, 10000);
    }
    take_stale(&trust, 8);
    assert_int_equal(atomic_load(&trust.reasons), JPR_DOUBT_STALE);
    assert_int_equal(rec_comm_sum(&trust.n_unsure), 78);
}

/* Sends and Recvs of a channel in launches of their own, at the times of their
 * kernels, one after the other. The progress thread lags: it has reported all
 * Sends before it looks at the Recvs. */
static void recvs_are_reported_late(void **state)
{
    enum { LAUNCHES = 40 };
    struct jp_rec_trust trust = {0};
    struct jp_rec_place places[LAUNCHES] = {0};

    (void) state;
    for (int i = 0; i < LAUNCHES; i++) {
        places[i].link = i % 2 ? JP_REC_LINK_RECV : JP_REC_LINK_SEND;
        atomic_fetch_add(&trust.launch.by_others, 1);
        rec_trust_op(&trust, 100, false, &places[i]);
    }
    for (int first = 0; first < 2; first++) {
        for (int i = first; i < LAUNCHES; i += 2) {
            uint64_t start = 1000 + 100 * (uint64_t) i;

            assert_int_equal(rec_trust_start(&trust, 0, &places[i], start, 0),
                             JP_REC_FRESH);
            assert_int_equal(
                rec_trust_stop(&trust, 0, &places[i], start, start + 90),
                JP_REC_FRESH);
        }
    }
    assert_int_equal(atomic_load(&trust.reasons), 0);
    assert_int_equal(rec_comm_sum(&trust.n_unsure), 0);
}

/* The progress thread lags by a lap of the ring, and reports operations with
 * the stamps of those 64 later until it has caught up: which it did is known
 * only then. */
static void first_stamps_are_those_of_later_works(void **state)
{
    enum { WORKS = 200, LAP = 64, LAGS = 70, STEP = 100, LONG = 90 };
    struct jp_rec_trust trust = {0};
    struct jp_rec_place places[WORKS] = {0};
    struct {
        uint64_t start, stop;
        bool late, refused;
    } ops[WORKS];
    int n_right = 0;

    (void) state;
    for (int i = 0; i < WORKS; i++) {
        atomic_fetch_add(&trust.launch.by_others, 1);
        rec_trust_op(&trust, 100, false, &places[i]);
    }
    for (int i = 0; i < WORKS; i++) {
        int work = i < LAGS ? i + LAP : i; /* whose stamps are there */
        enum jp_rec_stamp start, stop;

        ops[i].start = STEP * (uint64_t) (work + 1);
        ops[i].stop = ops[i].start + LONG;
        start = rec_trust_start(&trust, 0, &places[i], ops[i].start, 0);
        stop = rec_trust_stop(&trust, 0, &places[i], ops[i].start, ops[i].stop);
        assert_int_not_equal(start, JP_REC_STALE);
        ops[i].late = start == JP_REC_LATE || stop == JP_REC_LATE;
        ops[i].refused = start == JP_REC_DOUBTFUL || stop == JP_REC_DOUBTFUL;
    }
    for (int i = 0; i < WORKS; i++) {
        bool used = !ops[i].refused &&
                    !(ops[i].late &&
                      rec_trust_is_overrun(&trust, ops[i].start, ops[i].stop));

        assert_true(i >= LAGS || !used);
        n_right += i >= LAGS && used;
    }
    /* after the catching up, all that begin behind the wrong stamps count */
    assert_int_equal(n_right, WORKS - LAGS - LAP);
    assert_int_equal(atomic_load(&trust.reasons), 0);
}

/* Many operations are queued and none has the stamps of another one: all are
 * late, and all are used once the last ones were reported. */
static void a_long_queue(void **state)
{
    enum { WORKS = 300 };
    struct jp_rec_trust trust = {0};
    struct jp_rec_place places[WORKS] = {0};

    (void) state;
    for (int i = 0; i < WORKS; i++) {
        atomic_fetch_add(&trust.launch.by_others, 1);
        rec_trust_op(&trust, 100, false, &places[i]);
    }
    for (int i = 0; i < WORKS; i++) {
        uint64_t start = 1000 + 100 * (uint64_t) i;

        assert_int_equal(rec_trust_start(&trust, 0, &places[i], start, 0),
                         JP_REC_LATE);
        assert_int_equal(
            rec_trust_stop(&trust, 0, &places[i], start, start + 90),
            JP_REC_LATE);
        assert_false(rec_trust_is_overrun(&trust, start, start + 90));
        assert_int_equal(
            rec_trust_is_proven(&trust, JP_REC_LINK_SEND, 1, 1 << 0),
            i >= WORKS - 60);
    }
    assert_true(rec_trust_is_proven(&trust, JP_REC_LINK_SEND, WORKS, 1 << 0));
}

/* The GPU's clock is this much ahead of the host's. */
static const uint64_t ahead_ns = 7000000000;

/* Reports for four seconds, so that the clocks are known to run alike: each
 * stamp is seen 2 us later. */
static void run_clocks(struct jp_rec_trust *trust)
{
    rec_trust_init(true, 6, NULL);
    rec_trust_comm(trust, "0000:01:00.0");
    for (uint64_t t = 1000000000; t < 5000000000; t += 50000000) {
        struct jp_rec_place place = {.link = JP_REC_LINK_SEND};
        uint64_t start = t + ahead_ns;

        atomic_fetch_add(&trust->launch.by_others, 1);
        rec_trust_op(trust, t, false, &place);
        assert_int_equal(rec_trust_start(trust, 0, &place, start, t + 2000),
                         JP_REC_FRESH);
        assert_int_equal(rec_trust_stop(trust, 0, &place, start, start + 10000),
                         JP_REC_FRESH);
    }
}

/* The program calls every 20 us, and each kernel runs at once. Only the
 * progress thread is away for a while: a stamp of before the launch of the
 * operation 64 later is the operation's own. One of that operation is not. */
static void calls_that_are_not_early(void **state)
{
    enum { WORKS = 150, STEP_NS = 20000, BEGIN_NS = 5000 };
    struct jp_rec_trust trust = {0}, other;
    struct jp_rec_place places[WORKS] = {0};
    uint64_t t = 6000000000, start;

    (void) state;
    run_clocks(&trust);
    for (int i = 0; i < WORKS; i++) {
        atomic_fetch_add(&trust.launch.by_others, 1);
        rec_trust_op(&trust, t + STEP_NS * (uint64_t) i, false, &places[i]);
    }
    other = trust;
    for (int i = 0; i < 64; i++) {
        start = t + ahead_ns + STEP_NS * (uint64_t) i + BEGIN_NS;
        assert_int_equal(rec_trust_start(&trust, 0, &places[i], start, 0),
                         JP_REC_FRESH);
        assert_int_equal(
            rec_trust_stop(&trust, 0, &places[i], start, start + 9000),
            JP_REC_FRESH);
        start += 64 * STEP_NS;
        assert_int_equal(rec_trust_start(&other, 0, &places[i], start, 0),
                         JP_REC_LATE);
        assert_false(
            rec_trust_is_proven(&other, JP_REC_LINK_SEND, places[i].number, 1));
    }
}

/* A connection is used so rarely that a lap of the ring lies between two
 * reports: the second one shows nothing about the first one. */
static void a_lap_between_two_reports(void **state)
{
    enum { WORKS = 300, FIRST = 10, SECOND = 290 };
    struct jp_rec_trust trust = {0};
    struct jp_rec_place places[WORKS] = {0};

    (void) state;
    for (int i = 0; i < WORKS; i++) {
        atomic_fetch_add(&trust.launch.by_others, 1);
        rec_trust_op(&trust, 100, false, &places[i]);
    }
    assert_int_equal(rec_trust_start(&trust, 0, &places[FIRST], 5000, 0),
                     JP_REC_LATE);
    assert_int_equal(rec_trust_stop(&trust, 0, &places[FIRST], 5000, 5090),
                     JP_REC_LATE);
    assert_false(rec_trust_is_overrun(&trust, 5000, 5090));
    rec_trust_start(&trust, 0, &places[SECOND], 9000, 0);
    assert_true(rec_trust_is_overrun(&trust, 5000, 5090));
    assert_false(rec_trust_is_overrun(&trust, 9000, 9090));
}

/* Operations that are not recorded count: they take entries of the ring. */
static void skipped_operations_count(void **state)
{
    struct jp_rec_trust trust = {0};
    struct jp_rec_place place = {0};

    (void) state;
    atomic_fetch_add(&trust.launch.by_others, 1);
    rec_trust_op(&trust, 100, false, &place);
    for (int i = 0; i < 64; i++)
        rec_trust_skip(&trust);
    assert_int_equal(rec_trust_start(&trust, 0, &place, 1000, 0), JP_REC_LATE);
    assert_false(
        rec_trust_is_proven(&trust, JP_REC_LINK_SEND, place.number, 1 << 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_operations),
        cmocka_unit_test(asking_ends_for_good),
        cmocka_unit_test(few_stale_stamps),
        cmocka_unit_test(recvs_are_reported_late),
        cmocka_unit_test(first_stamps_are_those_of_later_works),
        cmocka_unit_test(a_long_queue),
        cmocka_unit_test(calls_that_are_not_early),
        cmocka_unit_test(a_lap_between_two_reports),
        cmocka_unit_test(skipped_operations_count),
        cmocka_unit_test(mask_of_an_unloaded_library),
    };

    return cmocka_run_group_tests_name("recorder stamps", tests, NULL, NULL);
}
