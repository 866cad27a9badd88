/* test_rec_ops.c - operations through each of the six interfaces: their life,
 * strange callers, times and amounts. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tests/nccl_recorder/rec_asserts.h"

/* ---------------------------------------------------- every interface -- */

static void one_of_each(struct rec_scene *s)
{
    void *comm = scene_comm(s, "dp", 0x8a07aed05ae9a0, 3, 8);
    void *send, *recv;

    scene_whole(s, comm, 0, 1499);
    send = scene_p2p(s, comm, "Send", 5, 4096, 1);
    recv = scene_p2p(s, comm, "Recv", 6, 8192, 1);
    scene_kernel_stop(s, scene_kernel(s, comm, send, 0, 100), 50100);
    CHECK(s->api->stop(send) == 0);
    CHECK(s->api->stop(recv) == 0);
    scene_kernel_stop(s, scene_kernel(s, comm, recv, 0, 100), 60100);
    CHECK(s->api->finalize(comm) == 0);
}

static void check_version(int v)
{
    const char *sizes = v <= 3 ? "\"rank\":3,\"n_ranks\":0,\"nnodes\":0,"
                               : "\"rank\":3,\"n_ranks\":8,\"nnodes\":2,";
    const char *source = v <= 4 ? "collective_cpu" : "kernel_gpu";
    struct rec_result r;
    char text[64];

    rec_harness_run(one_of_each, v, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 3);
    assert_int_equal(has(&r, "\"id\":\"0x8a07aed05ae9a0\",\"name\":\"dp\","),
                     1);
    assert_int_equal(has(&r, sizes), 1);
    assert_int_equal(has(&r, "\"kind\":\"coll\",\"func\":\"AllReduce\","
                             "\"seq\":0,\"bytes\":1048576,\"count\":1048576,"
                             "\"datatype\":\"ncclInt8\",\"root\":0,"
                             "\"peer\":-1,"),
                     1);
    assert_int_equal(has(&r, "\"kind\":\"p2p\",\"func\":\"Send\",\"seq\":1,"
                             "\"bytes\":4096,"),
                     1);
    assert_int_equal(has(&r, "\"func\":\"Recv\",\"seq\":2,\"bytes\":8192,"), 1);
    assert_int_equal(has(&r, "\"peer\":5,") + has(&r, "\"peer\":6,"), 2);
    assert_int_equal(has(&r, source), 3);
    if (v >= 5) {
        assert_int_equal(has(&r, "\"exec_us\":1499,\"source\":\"kernel_gpu\","),
                         1);
        assert_int_equal(has(&r, "\"gpu_first\":1000,\"gpu_last\":1500000,"),
                         1);
    }
    snprintf(text, sizeof(text), "\"interface\":%d,", v);
    assert_int_equal(has(&r, text), 1);
    HAS_ROW(r, "0x8a07aed05ae9a0", "AllReduce", 1, 1, 0);
    HAS_ROW(r, "0x8a07aed05ae9a0", "Send", 1, 1, 0);
    HAS_ROW(r, "0x8a07aed05ae9a0", "Recv", 1, 1, 0);
    assert_string_equal(
        rec_harness_counts(r.text, "0x8a07aed05ae9a0", "Recv").finalized,
        "true");
    assert_int_equal(has(&r, "\"complete\":true,\"cut\":false,"), 1);
    rec_harness_fini(&r);
}

static void each_interface(void **state)
{
    int v;

    (void) state;
    for (v = 1; v <= 6; v++)
        check_version(v);
}

/* ------------------------------------------------------- life of an op -- */

static void late_children(struct rec_scene *s)
{
    void *comm = scene_comm(s, "tp", 1, 0, 2);
    void *op = scene_coll(s, comm, "AllGather", 7, 4096, 2);
    void *next, *k;

    CHECK(s->api->stop(op) == 0); /* enqueued; its kernels come later */
    usleep(300000);
    k = scene_kernel(s, comm, op, 0, 1000);
    CHECK(k != NULL);
    scene_kernel_stop(s, k, 21000);
    k = scene_kernel(s, comm, op, 1, 1000);
    CHECK(k != NULL); /* also after the first channel is done */
    scene_kernel_stop(s, k, 31000);
    CHECK(scene_kernel(s, comm, op, 2, 1000) == NULL); /* it is over */
    /* in the place of the last one */
    next = scene_coll(s, comm, "AllGather", 8, 4096, 1);
    CHECK(scene_kernel(s, comm, op, 0, 1000) == NULL);
    CHECK(s->api->stop(op) == 0);
    scene_kernel_stop(s, scene_kernel(s, comm, next, 0, 1000), 51000);
    CHECK(scene_kernel(s, comm, next, 1, 1000) != NULL); /* not enqueued yet */
    CHECK(s->api->stop(next) == 0);
    CHECK(s->api->finalize(comm) == 0);
}

static void children_may_come_late(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(late_children, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 2);
    assert_int_equal(has(&r, "\"exec_us\":30,"), 1);
    assert_int_equal(has(&r, "\"exec_us\":50,"), 1);
    assert_int_equal(has(&r, "\"incomplete\":true"), 0);
    rec_harness_fini(&r);
}

static void leave_pending(struct rec_scene *s, int finalize)
{
    void *comm = scene_comm(s, NULL, 1, 0, 2);
    void *half = scene_coll(s, comm, "AllReduce", 0, 4096, 2);

    scene_coll(s, comm, "AllReduce", 1, 4096, 2); /* not even enqueued */
    CHECK(s->api->stop(half) == 0);
    scene_kernel_stop(s, scene_kernel(s, comm, half, 0, 1000), 43000);
    CHECK(scene_kernel(s, comm, half, 1, 1000) != NULL); /* never ends */
    if (finalize) {
        CHECK(s->api->finalize(comm) == 0);
        CHECK(s->api->finalize(comm) == 0); /* a second finalize does nothing */
    }
}

static void pending_finalize(struct rec_scene *s)
{
    leave_pending(s, 1);
    scene_wait(s, "{\"type\":\"op\",", 2);
    _exit(0); /* without destructors: finalize alone must have ended it */
}

static void pending_exit(struct rec_scene *s)
{
    leave_pending(s, 0);
}

static void pending_long_exit(struct rec_scene *s)
{
    leave_pending(s, 0);
    usleep(1200000);
}

/* NCCL ends the communicator before it has reported a kernel of it. */
static void unreported(struct rec_scene *s)
{
    void *comm = scene_comm(s, NULL, 1, 0, 2);

    CHECK(s->api->stop(scene_coll(s, comm, "AllReduce", 0, 4096, 2)) == 0);
    CHECK(s->api->stop(scene_coll(s, comm, "AllReduce", 1, 4096, 2)) == 0);
    usleep(1200000);
    CHECK(s->api->finalize(comm) == 0);
}

/* Then it is unknown whether the operations ended: nobody hung. */
static void unreported_is_unsure(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(unreported, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 2);
    assert_int_equal(has(&r, "\"unsure\":true"), 2);
    assert_int_equal(has(&r, "\"incomplete\":true"), 0);
    rec_harness_fini(&r);
}

/* What is pending at finalize is incomplete. Where the program just ends, NCCL
 * does not report what it has not reported yet, so an operation that had an
 * event in the last second may have ended: it is unsure. One that is not even
 * enqueued has not. */
static void pending_is_written(void **state)
{
    rec_scenario_fn *const ends[] = {pending_finalize, pending_long_exit,
                                     pending_exit};
    struct rec_result r;
    int i;

    (void) state;
    for (i = 0; i < 3; i++) {
        rec_harness_run(ends[i], 6, &r);
        assert_ok(r);
        assert_int_equal(r.n_ops, 2);
        assert_int_equal(has(&r, "\"seq\":0,\"bytes\":4096,"), 1);
        assert_int_equal(has(&r, "\"unsure\":true"), i == 2);
        assert_int_equal(has(&r, "\"incomplete\":true"), i == 2 ? 1 : 2);
        assert_int_equal(has(&r, "\"exec_us\":42,\"source\":\"kernel_gpu\","
                                 "\"incomplete\":true,\"started\":2,"
                                 "\"stopped\":1}"),
                         i < 2);
        assert_int_equal(has(&r, "\"enqueue_stop\":0,\"kernel_first\":0,"
                                 "\"kernel_last\":0,\"gpu_first\":0,"
                                 "\"gpu_last\":0,\"exec_ns\":0,\"exec_us\":0,"
                                 "\"source\":\"collective_cpu\","
                                 "\"incomplete\":true,"),
                         1);
        HAS_ROW(r, "0x1", "AllReduce", 2, 2, 0);
        assert_string_equal(
            rec_harness_counts(r.text, "0x1", "AllReduce").finalized,
            i == 0 ? "true" : "false");
        assert_int_equal(has(&r, "\"complete\":true"), 1);
        rec_harness_fini(&r);
    }
}

/* ------------------------------------------------------ strange callers -- */

static void strange(struct rec_scene *s)
{
    struct jp_nccl_plugin_v6 *api = s->api;
    void *comm = scene_comm(s, "a/b\"c\td\x01\xff\xc3\xa9", UINT64_MAX, 0, 1);
    struct jp_nccl_descr_v6 d = {.type = 0};
    void *handle;
    int bit;

    for (bit = 0; bit < 64; bit++) {
        d.type = 1ULL << bit;
        if (d.type == JP_NCCL_COLL || d.type == JP_NCCL_P2P ||
            d.type == JP_NCCL_COLL_API || d.type == JP_NCCL_P2P_API ||
            d.type == JP_NCCL_CE_COLL || d.type == JP_NCCL_GROUP)
            continue;
        handle = (void *) 1;
        CHECK(api->start(comm, &handle, &d) == 0 && handle == NULL);
    }
    d.type = JP_NCCL_COLL; /* everything NULL */
    CHECK(api->start(NULL, &handle, &d) == 0 && handle == NULL);
    CHECK(api->start(comm, &handle, &d) == 0 && handle != NULL);
    CHECK(api->stop(handle) == 0);
    CHECK(api->stop(NULL) == 0);
    CHECK(api->stop((void *) 0xdeadbeefdeadbeef) == 0);
    CHECK(api->record(NULL, JP_NCCL_KERNEL_CH_STOP, NULL) == 0);
    CHECK(api->record(handle, 4711, NULL) == 0);
    CHECK(scene_kernel(s, comm, handle, 64, 1) == NULL);
    CHECK(scene_kernel(s, comm, (void *) 0x1234567, 0, 1) == NULL);
    CHECK(api->finalize(comm) == 0);
    CHECK(api->finalize(NULL) == 0);
}

static void strange_calls_do_no_harm(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(strange, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 1);
    assert_int_equal(has(&r, "\"id\":\"0xffffffffffffffff\","
                             "\"name\":\"a/b\\\"c?d??\xc3\xa9\","),
                     1);
    assert_int_equal(has(&r, "\"func\":\"\",\"seq\":0,\"bytes\":0,"), 1);
    rec_harness_fini(&r);
}

/* ------------------------------------------------------- time and volume -- */

static void quiet_proxies(struct rec_scene *s)
{
    void *comm = scene_comm(s, "old", 1, 0, 2);
    struct jp_nccl_descr_v6 d = {.type = JP_NCCL_PROXY_OP};
    void *op = scene_coll(s, comm, "AllReduce", 0, 64, 1);
    void *proxy = NULL;
    void *foreign = (void *) 1;

    d.parent = op;
    d.proxy_op.pid = getpid();
    CHECK(s->api->start(comm, &proxy, &d) == 0 && proxy != NULL);
    d.proxy_op.pid++; /* PXN: an operation of another process */
    CHECK(s->api->start(comm, &foreign, &d) == 0 && foreign == NULL);
    CHECK(s->api->stop(op) == 0);
    usleep(20000);
    CHECK(s->api->stop(proxy) == 0);
    scene_wait(s, "{\"type\":\"op\",", 1);
    CHECK(s->api->start(comm, &proxy, &d) == 0 && proxy == NULL);
    _exit(0);
}

static void quiet_operations_end(void **state)
{
    struct rec_result r;
    unsigned us = 0;

    (void) state;
    rec_harness_run(quiet_proxies, 2, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 1);
    assert_int_equal(
        sscanf(strstr(r.text, "\"exec_us\""), "\"exec_us\":%u", &us), 1);
    assert_in_range(
        us, 20000,
        900000); /* its last event, not the moment when it was found quiet */
    rec_harness_fini(&r);
}

static void *one_thread(void *scene)
{
    struct rec_scene *s = scene;
    void *comm = scene_comm(s, "thread", (uint64_t) pthread_self(), 0, 2);
    uint64_t i;

    for (i = 0; i < 2000; i++)
        scene_whole(s, comm, i, 10 + i % 100);
    CHECK(s->api->finalize(comm) == 0);
    return NULL;
}

static void threaded(struct rec_scene *s)
{
    pthread_t threads[8];
    int i;

    for (i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, one_thread, s) == 0);
    for (i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
}

/* Eight threads at full speed. On a busy machine the writer may come too late
 * for some records; all that are not written are counted. */
static void many_threads(void **state)
{
    static const char sum[] = "\"produced\":16000,\"written\":";
    struct rec_result r;
    unsigned written = 0, lost = 0;

    (void) state;
    rec_harness_run(threaded, 6, &r);
    assert_ok(r);
    assert_true(has(&r, "\"final\":true,\"kind\":\"coll\",") >= 1);
    /* the sums of a snapshot come last in the final one */
    for (const char *next = strstr(r.text, sum); next;
         next = strstr(next + 1, sum))
        sscanf(next + strlen(sum), "%u,\"lost\":%u,", &written, &lost);
    assert_int_equal(r.n_ops, written);
    assert_int_equal(written + lost, 16000);
    rec_harness_fini(&r);
}

static void too_many(struct rec_scene *s)
{
    void *comm = scene_comm(s, "full", 1, 0, 2);
    uint64_t i;

    for (i = 0; i < 100000; i++)
        scene_coll(s, comm, "AllReduce", i, 64, 1);
    CHECK(scene_coll(s, comm, "AllReduce", i, 64, 1) == NULL);
    CHECK(s->api->finalize(comm) == 0);
}

static void full_table_is_counted(void **state)
{
    struct rec_result r;
    struct rec_counts c;

    (void) state;
    rec_harness_run(too_many, 6, &r);
    assert_ok(r);
    c = rec_harness_counts(r.text, "0x1", "AllReduce");
    assert_int_equal(c.produced, 100001);
    assert_in_range(c.written, 6000, 16000); /* as many as 16 MiB can hold */
    assert_int_equal(c.written, r.n_ops);
    assert_int_equal(c.written + c.lost, c.produced);
    rec_harness_fini(&r);
}

static void a_few(struct rec_scene *s)
{
    void *comm = scene_comm(s, "small", 1, 0, 2);

    for (uint64_t i = 0; i < 100; i++)
        scene_whole(s, comm, i, 50);
    CHECK(s->api->finalize(comm) == 0);
}

/* With the least memory that can be set, and all that can be in it. */
static void the_least_memory(void **state)
{
    struct rec_result r;

    (void) state;
    setenv("JOBPROF_RECORDER_MEM", "6291456", 1);
    for (int v = 6; v <= 7; v++) {
        if (v == 7)
            setenv("JOBPROF_RECORDER_NET", "1", 1);
        rec_harness_run(a_few, v, &r);
        assert_ok(r);
        assert_int_equal(r.n_ops, 100);
        HAS_ROW(r, "0x1", "AllReduce", 100, 100, 0);
        rec_harness_fini(&r);
    }
    unsetenv("JOBPROF_RECORDER_MEM");
    unsetenv("JOBPROF_RECORDER_NET");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_interface),
        cmocka_unit_test(children_may_come_late),
        cmocka_unit_test(pending_is_written),
        cmocka_unit_test(unreported_is_unsure),
        cmocka_unit_test(strange_calls_do_no_harm),
        cmocka_unit_test(quiet_operations_end),
        cmocka_unit_test(many_threads),
        cmocka_unit_test(full_table_is_counted),
        cmocka_unit_test(the_least_memory),
    };

    return cmocka_run_group_tests_name("recorder operations", tests, NULL,
                                       NULL);
}
