/* test_rec_over.c - operations whose end NCCL does not report, or reports while
 * the recorder ends them. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/common/fewer.h"
#include "tests/nccl_recorder/rec_asserts.h"

/* -------------------------------------------------------- to oneself -- */

enum { ROUNDS = 8000 };

/* The part of an AlltoAll to oneself: channels are announced, none is reported.
 */
static void to_oneself(struct rec_scene *s)
{
    void *comm = scene_comm(s, "world", 0x5e1f, 3, 8);
    void *other = scene_comm(s, "other", 0x5e20, 3, 8);
    uint64_t i;

    for (i = 0; i < ROUNDS; i++) {
        void *send = scene_p2p(s, comm, "Send", 3, 4096, 2);
        void *recv = scene_p2p(s, comm, "Recv", 3, 4096, 2);

        CHECK(send && recv);
        CHECK(s->api->stop(send) == 0 && s->api->stop(recv) == 0);
        scene_whole(s, other, i, 50);
        if (i % 50 == 0)
            usleep(2000);
    }
    /* the writer may lag on a busy machine */
    scene_wait(s, "{\"type\":\"op\",", 3 * ROUNDS * 3 / 4 + 1);
    _exit(0); /* before finalize could end anything */
}

static void messages_to_oneself_end(void **state)
{
    struct rec_result r;
    int v;

    (void) state;
    for (v = 5; v <= 6; v++) {
        rec_harness_run(to_oneself, v, &r);
        assert_ok(r);
        assert_true(r.n_ops > 3 * ROUNDS * 3 / 4);
        assert_int_equal(rec_harness_counts(r.text, "0x5e1f", "Send").lost, 0);
        assert_int_equal(rec_harness_counts(r.text, "0x5e20", "AllReduce").lost,
                         0);
        assert_int_equal(has(&r, "\"incomplete\":true"), 0);
        assert_true(has(&r, "\"peer\":3,") > ROUNDS);
        assert_int_equal(has(&r, "\"peer\":3,"), has(&r, "\"exec_ns\":0,"));
        rec_harness_fini(&r);
    }
}

/* Before 2.28 it is over, like any message, when a later launch comes. */
static void to_oneself_once(struct rec_scene *s)
{
    void *comm = scene_comm(s, "world", 1, 3, 8);

    CHECK(scene_launch(s, comm) != NULL);
    CHECK(s->api->stop(scene_p2p(s, comm, "Send", 3, 4096, 2)) == 0);
    CHECK(scene_launch(s, comm) != NULL);
    CHECK(s->api->stop(scene_p2p(s, comm, "Send", 4, 4096, 2)) == 0);
    scene_wait(s, "{\"type\":\"op\",", 1);
    _exit(0);
}

static void old_messages_to_oneself_end(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(to_oneself_once, 3, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 1);
    assert_int_equal(has(&r, "\"peer\":3,"), 1);
    rec_harness_fini(&r);
}

/* ------------------------------------------------- fewer than announced -- */

static void report(struct rec_scene *s, void *comm, void *op, int n)
{
    int c;

    for (c = 0; c < n; c++)
        scene_kernel_stop(s, scene_kernel(s, comm, op, c, 1000), 31000);
}

static void *enqueue(struct rec_scene *s, void *comm, uint64_t seq, int n)
{
    void *op = scene_coll(s, comm, "AllReduce", seq, 4096, n);

    CHECK(s->api->stop(op) == 0);
    return op;
}

static void too_few(struct rec_scene *s)
{
    void *comm = scene_comm(s, "few", 1, 0, 2);
    void *other = scene_comm(s, "other", 2, 0, 2);
    void *grouped[2];

    enqueue(s, other, 100, 2); /* no operation of its communicator follows */
    report(s, comm, enqueue(s, comm, 0, 4), 3);
    enqueue(s, comm, 1, 2);
    report(s, comm, enqueue(s, comm, 2, 2), 2);
    /* one launch: its second operation is over, its first one hangs */
    grouped[0] = scene_coll(s, comm, "AllReduce", 3, 4096, 2);
    grouped[1] = scene_coll(s, comm, "AllReduce", 4, 4096, 1);
    CHECK(s->api->stop(grouped[0]) == 0 && s->api->stop(grouped[1]) == 0);
    report(s, comm, grouped[0], 1);
    report(s, comm, grouped[1], 1);
    usleep(1500000);
    scene_wait(s, "{\"type\":\"op\",", 4);
    CHECK(scene_kernel(s, comm, grouped[0], 1, 1000) != NULL);
    _exit(0);
}

/* A progress thread that lags reports Recvs long before the Sends before them:
 * its two connections are apart. */
static void sends_behind(struct rec_scene *s)
{
    void *comm = scene_comm(s, "apart", 1, 0, 2);
    void *send = scene_p2p(s, comm, "Send", 1, 4096, 1);
    void *recv;

    CHECK(s->api->stop(send) == 0);
    scene_launch(s, comm);
    recv = scene_p2p(s, comm, "Recv", 1, 4096, 1);
    CHECK(s->api->stop(recv) == 0);
    report(s, comm, recv, 1);
    usleep(1500000);
    report(s, comm, send, 1);
    scene_wait(s, "\"func\":\"Send\"", 1);
    _exit(0);
}

static void recvs_overtake_no_sends(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(sends_behind, 6, &r);
    assert_ok(r);
    assert_int_equal(has(&r, "\"func\":\"Send\""), 1);
    assert_int_equal(has(&r, "\"incomplete\":true"), 0);
    rec_harness_fini(&r);
}

static void fewer_channels_than_announced(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(too_few, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 4);
    assert_int_equal(has(&r, "\"incomplete\":true"), 2);
    assert_int_equal(has(&r, "\"overtaken\":true}"), 2);
    assert_int_equal(has(&r, "\"incomplete\":true,\"started\":3,"
                             "\"stopped\":3,\"overtaken\":true}"),
                     1);
    assert_int_equal(has(&r, "\"incomplete\":true,\"started\":0,"
                             "\"stopped\":0,\"overtaken\":true}"),
                     1);
    assert_int_equal(has(&r, "\"func\":\"AllReduce\",\"seq\":3,"), 0);
    assert_int_equal(has(&r, "\"func\":\"AllReduce\",\"seq\":100,"), 0);
    assert_non_null(strstr(r.inflight, "\"func\":\"AllReduce\",\"seq\":3,"));
    assert_non_null(strstr(r.inflight, "\"func\":\"AllReduce\",\"seq\":100,"));
    rec_harness_fini(&r);
}

/* The GPU's clock stands still: the stamps are of different operations, and the
 * time is unknown. The host's times do not help, as it may see both at once. */
static void clock_back(struct rec_scene *s)
{
    void *comm = scene_comm(s, "back", 1, 0, 2);
    void *op = enqueue(s, comm, 0, 1);
    void *kernel = scene_kernel(s, comm, op, 0, 5000);

    usleep(20000);
    scene_kernel_stop(s, kernel, 5000);
    CHECK(s->api->finalize(comm) == 0);
}

static void a_useless_gpu_time(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(clock_back, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 1);
    assert_int_equal(has(&r, "\"gpu_first\":0,\"gpu_last\":0,\"exec_ns\":0,"
                             "\"exec_us\":0,\"source\":\"kernel_gpu\""),
                     1);
    assert_int_equal(has(&r, "\"incomplete\":true"), 0);
    assert_true(has(&r, "\"name\":\"back\",\"reasons\":0,\"unsure\":0,"
                        "\"refused\":1}") > 0);
    rec_harness_fini(&r);
}

/* ------------------------------------------------------ events meanwhile -- */

enum { LIVES = 1000, CHANNELS = 60 };

struct proxy {
    struct rec_scene *scene;
    void *_Atomic comm;
    void *_Atomic op;
    atomic_int stage; /* 0 wait, 1 go, 2 kernels are stopping, -1 end */
};

static void *stop_kernels(void *data)
{
    struct proxy *p = data;
    void *kernels[CHANNELS];
    int c, stage;

    while ((stage = atomic_load(&p->stage)) >= 0) {
        if (stage != 1) {
            sched_yield();
            continue;
        }
        for (c = 0; c < CHANNELS; c++)
            kernels[c] = scene_kernel(p->scene, p->comm, p->op, c, 1000);
        atomic_store(&p->stage, 2);
        for (c = 0; c < CHANNELS - 1; c++)
            scene_kernel_stop(p->scene, kernels[c], 9000);
        atomic_store(&p->stage, 0);
    }
    return NULL;
}

static void busy_finalize(struct rec_scene *s)
{
    struct proxy p = {.scene = s};
    pthread_t thread;
    uint64_t i;

    CHECK(scene_comm(s, "stays", 1, 0, 2) != NULL);
    CHECK(pthread_create(&thread, NULL, stop_kernels, &p) == 0);
    for (i = 0; i < LIVES; i++) {
        p.comm = scene_comm(s, "short", 100 + i, 0, 2);
        p.op = enqueue(s, p.comm, 0, CHANNELS);
        atomic_store(&p.stage, 1);
        while (atomic_load(&p.stage) == 1)
            sched_yield();
        CHECK(s->api->finalize(p.comm) == 0);
        while (atomic_load(&p.stage) != 0)
            sched_yield();
        CHECK(scene_coll(s, p.comm, "AllReduce", 1, 64, 1) == NULL);
    }
    atomic_store(&p.stage, -1);
    pthread_join(thread, NULL);
    scene_wait(s, "\"produced\":1000,\"written\":1000,", 1);
    _exit(0);
}

static void finalize_leaves_nothing(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(busy_finalize, 5, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, LIVES);
    assert_true(has(&r, "\"produced\":1000,\"written\":1000,\"lost\":0,"
                        "\"left_out\":0,\"in_flight\":0,") > 0);
    rec_harness_fini(&r);
}

static void *finalize_comm(void *data)
{
    struct proxy *p = data;

    CHECK(p->scene->api->finalize(p->comm) == 0);
    return NULL;
}

/* The thread that ends a communicator may have a small stack. */
static void small_stack(struct rec_scene *s)
{
    struct proxy p = {.scene = s, .comm = scene_comm(s, "small", 1, 0, 2)};
    pthread_attr_t attr;
    pthread_t thread;

    enqueue(s, p.comm, 0, 1);
    pthread_attr_init(&attr);
    CHECK(pthread_attr_setstacksize(&attr, 96 << 10) == 0);
    CHECK(pthread_create(&thread, &attr, finalize_comm, &p) == 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

static void finalize_on_a_small_stack(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(small_stack, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 1);
    rec_harness_fini(&r);
}

enum { COPIES = FEWER(500000) };

struct caller {
    struct rec_scene *scene;
    void *comm;
    atomic_int ready;
};

/* Messages to oneself: they are over once they are enqueued. */
static void *send_copies(void *data)
{
    struct caller *c = data;

    atomic_fetch_add(&c->ready, 1);
    while (atomic_load(&c->ready) < 2)
        sched_yield();
    for (int i = 0; i < COPIES; i++)
        c->scene->api->stop(scene_p2p(c->scene, c->comm, "Send", 3, 4096, 2));
    return NULL;
}

/* The driver's thread replays a graph while the program's calls NCCL for the
 * same communicator. */
static void replay_beside_calls(struct rec_scene *s)
{
    struct caller c = {.scene = s, .comm = scene_comm(s, "both", 0xb, 3, 8)};
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, send_copies, &c) == 0);
    send_copies(&c);
    pthread_join(thread, NULL);
    CHECK(s->api->finalize(c.comm) == 0);
}

static void two_threads_count_all(void **state)
{
    struct rec_counts counts;
    struct rec_result r;

    (void) state;
    rec_harness_run(replay_beside_calls, 6, &r);
    assert_ok(r);
    counts = rec_harness_counts(r.text, "0xb", "Send");
    assert_int_equal(counts.produced, 2 * COPIES);
    assert_int_equal(counts.written + counts.lost + counts.left_out,
                     2 * COPIES);
    rec_harness_fini(&r);
}

static atomic_int running;

static void *start_for_ever(void *data)
{
    struct rec_scene *s = data;
    void *comm = scene_comm(s, "ever", (uint64_t) pthread_self(), 0, 2);
    uint64_t i;

    atomic_fetch_add(&running, 1);
    for (i = 0;; i++)
        scene_coll(s, comm, "AllReduce", i, 64, 1);
    return NULL;
}

static void exit_meanwhile(struct rec_scene *s)
{
    pthread_t thread;
    int i;

    for (i = 0; i < 2; i++)
        CHECK(pthread_create(&thread, NULL, start_for_ever, s) == 0);
    while (atomic_load(&running) < 2)
        usleep(100);
    usleep(20000);
}

/* Reads the last counters of collectives. */
static void the_end_adds_up(void **state)
{
    unsigned long long produced, written, lost, left_out, in_flight;
    const char *at, *last = NULL;
    struct rec_result r;

    (void) state;
    rec_harness_run(exit_meanwhile, 6, &r);
    assert_ok(r);
    for (at = r.text; (at = strstr(at, "\"final\":true,\"kind\":\"coll\""));
         at++)
        last = strstr(at, "\"produced\"");
    assert_non_null(last);
    assert_int_equal(sscanf(last,
                            "\"produced\":%llu,\"written\":%llu,\"lost\":%llu,"
                            "\"left_out\":%llu,\"in_flight\":%llu",
                            &produced, &written, &lost, &left_out, &in_flight),
                     5);
    assert_int_equal(produced, written + lost + left_out + in_flight);
    assert_int_equal(written, r.n_ops);
    rec_harness_fini(&r);
}

/* Stands for the driver's function in scenarios with a GPU: the recorder
 * compares the GPU's clock with the host's. */
#define SHARED __attribute__((visibility("default")))
static bool has_gpu;
SHARED int cuCtxGetDevice(int *device);
SHARED int cuDeviceGetPCIBusId(char *out, int size, int device);

int cuCtxGetDevice(int *device)
{
    *device = 0;
    return has_gpu ? 0 : 1;
}

int cuDeviceGetPCIBusId(char *out, int size, int device)
{
    (void) device;
    snprintf(out, (size_t) size, "0000:01:00.0");
    return 0;
}

static void *launch(struct rec_scene *s, void *comm, uint64_t seq,
                    int n_channels)
{
    void *plan = scene_launch(s, comm);
    void *op = scene_coll(s, comm, "AllReduce", seq, 1024, n_channels);

    CHECK(s->api->stop(op) == 0 && s->api->stop(plan) == 0);
    return op;
}

/* The GPU's clock: the host's, a day behind. */
static uint64_t gpu_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t) ts.tv_sec * 1000000000 + (uint64_t) ts.tv_nsec -
           UINT64_C(86400000000000);
}

/* Two windows of a second make the clocks comparable. Then come a span longer
 * than the operation existed, and a start before its launch. */
static void impossible_times(struct rec_scene *s)
{
    void *comm, *op, *kernel;
    uint64_t from;

    has_gpu = true;
    comm = scene_comm(s, "clocks", 0xa, 0, 2);
    for (uint64_t i = 0; i < 3; i++) {
        op = launch(s, comm, i, 1);
        from = gpu_now();
        kernel = scene_kernel(s, comm, op, 0, from);
        CHECK(kernel != NULL);
        usleep(3000);
        scene_kernel_stop(s, kernel, from + 2500000);
        usleep(1100000);
    }
    op = launch(s, comm, 3, 1);
    from = gpu_now();
    kernel = scene_kernel(s, comm, op, 0, from);
    CHECK(kernel != NULL);
    usleep(3000);
    scene_kernel_stop(s, kernel, from + UINT64_C(20000000000));
    usleep(10000);
    from = gpu_now();
    CHECK(launch(s, comm, 4, 1) != NULL);
    usleep(10000);
    /* a channel without an earlier launch */
    op = launch(s, comm, 5, 2);
    CHECK(scene_kernel(s, comm, op, 1, from - 5000000) == NULL);
    scene_wait(s, "{\"type\":\"op\",", 4);
    scene_wait(s, "\"unsure\":1,\"refused\":1", 1);
    _exit(0);
}

static void the_gpus_clock(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(impossible_times, 6, &r);
    assert_ok(r);
    assert_int_equal(has(&r, "\"exec_us\":2500,\"source\":\"kernel_gpu\""), 3);
    assert_int_equal(has(&r, "\"exec_us\":0,\"source\":\"kernel_gpu\""), 1);
    assert_int_equal(has(&r, "\"unsure\":1,\"refused\":1"), 1);
    rec_harness_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_to_oneself_end),
        cmocka_unit_test(old_messages_to_oneself_end),
        cmocka_unit_test(recvs_overtake_no_sends),
        cmocka_unit_test(fewer_channels_than_announced),
        cmocka_unit_test(a_useless_gpu_time),
        cmocka_unit_test(the_gpus_clock),
        cmocka_unit_test(finalize_leaves_nothing),
        cmocka_unit_test(finalize_on_a_small_stack),
        cmocka_unit_test(two_threads_count_all),
        cmocka_unit_test(the_end_adds_up),
    };

    return cmocka_run_group_tests_name("recorder ends", tests, NULL, NULL);
}
