/* The recorder's operations through each of its six interfaces. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/nccl_recorder/rec_harness.h"

#define assert_ok(r) assert_int_equal((r).status, 0)

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
    const char *header = v <= 3 ? "\"n_ranks\":0,\"nnodes\":0}"
                                : "\"n_ranks\":8,\"nnodes\":2}";
    const char *source = v <= 2   ? "collective_cpu"
                         : v == 3 ? "kernel_cpu"
                                  : "kernel_gpu";
    struct rec_result r;
    char text[64];

    rec_harness_run(one_of_each, v, &r);
    assert_ok(r);
    assert_int_equal(r.n_lines, 3);
    assert_int_equal(
        rec_harness_count(r.log,
                          "\"coll\":\"AllReduce\","
                          "\"coll_sn\":0,\"coll_msg_size_bytes\":1048576,"),
        1);
    assert_int_equal(
        rec_harness_count(r.log, "{\"p2p\":\"Send\",\"p2p_sn\":1,"
                                 "\"p2p_peer\":5,\"p2p_msg_size_bytes\":"),
        1);
    assert_int_equal(
        rec_harness_count(r.log, "{\"p2p\":\"Recv\",\"p2p_sn\":2,"
                                 "\"p2p_peer\":6,\"p2p_msg_size_bytes\":"),
        1);
    assert_int_equal(rec_harness_count(
                         r.log,
                         "{\"header\":{\"id\":\""
                         "0x8a07aed05ae9a0\",\"comm_name\":\"dp\",\"rank\":3,"),
                     3);
    assert_int_equal(rec_harness_count(r.log, header), 3);
    assert_true(rec_harness_count(r.log, source) >= (v == 3 ? 1 : 3));
    if (v >= 4)
        assert_non_null(strstr(r.log, "\"coll_exec_time_us\":1499,"
                                      "\"coll_timing_source\":\"kernel_gpu\","
                                      "\"coll_algobw_gbs\":0.699517,"
                                      "\"coll_busbw_gbs\":1.224155}}\n"));
    snprintf(text, sizeof(text), "\"nccl_interface\":\"v%d\"", v);
    assert_non_null(strstr(r.counts, text));
    assert_non_null(strstr(r.counts,
                           "\"produced\":{\"AllReduce\":1,"
                           "\"Send\":1,\"Recv\":1},\"written\":{\"AllReduce\":"
                           "1,\"Send\":1,\"Recv\":1},\"lost\":{},"
                           "\"finalized\":true}]}"));
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

    CHECK(s->api->stop(op) == 0); /* enqueued; the kernels come later */
    usleep(300000);
    k = scene_kernel(s, comm, op, 0, 1000);
    CHECK(k != NULL);
    scene_kernel_stop(s, k, 21000);
    k = scene_kernel(s, comm, op, 1, 1000);
    CHECK(k != NULL); /* after the first channel is done, too */
    scene_kernel_stop(s, k, 31000);
    CHECK(scene_kernel(s, comm, op, 2, 1000) == NULL);   /* it is over */
    next = scene_coll(s, comm, "AllGather", 8, 4096, 1); /* in its slot */
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
    assert_int_equal(r.n_lines, 2);
    assert_non_null(strstr(r.log, "\"coll_exec_time_us\":30,"));
    assert_non_null(strstr(r.log, "\"coll_exec_time_us\":50,"));
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
        CHECK(s->api->finalize(comm) == 0); /* once more does nothing */
    }
}

static void pending_finalize(struct rec_scene *s)
{
    leave_pending(s, 1);
    _exit(0); /* finalize alone must have written it */
}

static void pending_exit(struct rec_scene *s)
{
    leave_pending(s, 0);
}

static void pending_is_written(void **state)
{
    rec_scenario_fn *const both[] = {pending_finalize, pending_exit};
    struct rec_result r;
    int i;

    (void) state;
    for (i = 0; i < 2; i++) {
        rec_harness_run(both[i], 6, &r);
        assert_ok(r);
        assert_int_equal(r.n_lines, 2);
        assert_non_null(strstr(r.log, "\"coll_sn\":0,\"coll_msg_size_bytes\":"
                                      "4096,\"coll_exec_time_us\":42,"));
        assert_non_null(strstr(r.log,
                               "\"coll_sn\":1,\"coll_msg_size_bytes\":"
                               "4096,\"coll_exec_time_us\":0,"
                               "\"coll_timing_source\":\"collective_cpu\","
                               "\"coll_algobw_gbs\":0.000000,"));
        assert_non_null(strstr(r.log, "\"comm_name\":\"unknown\""));
        assert_non_null(strstr(r.counts, i == 0 ? "\"finalized\":true"
                                                : "\"finalized\":false"));
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
        if (d.type == JP_NCCL_COLL || d.type == JP_NCCL_P2P)
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
    assert_int_equal(r.n_lines, 1);
    assert_non_null(strstr(r.log,
                           "{\"header\":{\"id\":\"0xffffffffffffff\","
                           "\"comm_name\":\"a\\/b\\\"c\\td??\xc3\xa9\","));
    assert_non_null(strstr(r.log, "{\"coll\":\"Invalid\",\"coll_sn\":0,"
                                  "\"coll_msg_size_bytes\":0,"));
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
    d.proxy_op.pid++; /* PXN: another process's operation */
    CHECK(s->api->start(comm, &foreign, &d) == 0 && foreign == NULL);
    CHECK(s->api->stop(op) == 0);
    usleep(20000);
    CHECK(s->api->stop(proxy) == 0);
    usleep(1200000);
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
    assert_int_equal(r.n_lines, 1);
    assert_int_equal(sscanf(strstr(r.log, "coll_exec_time_us"),
                            "coll_exec_time_us\":%u", &us),
                     1);
    assert_in_range(us, 20000, 400000);
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

static void many_threads(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(threaded, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_lines, 16000);
    assert_non_null(strstr(r.counts, "\"records_written\":16000,"
                                     "\"records_lost\":0,"));
    assert_int_equal(rec_harness_count(r.counts, "\"AllReduce\":2000"), 16);
    rec_harness_fini(&r);
}

static void too_many(struct rec_scene *s)
{
    void *comm = scene_comm(s, "full", 1, 0, 2);
    uint64_t i;

    for (i = 0; i < 65546; i++)
        scene_coll(s, comm, "AllReduce", i, 64, 1);
    CHECK(scene_coll(s, comm, "AllReduce", i, 64, 1) == NULL);
    CHECK(s->api->finalize(comm) == 0);
}

static void full_table_is_counted(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(too_many, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_lines, 65536);
    assert_non_null(strstr(r.counts, "\"produced\":{\"AllReduce\":65547},"
                                     "\"written\":{\"AllReduce\":65536},"
                                     "\"lost\":{\"AllReduce\":11}"));
    rec_harness_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_interface),
        cmocka_unit_test(children_may_come_late),
        cmocka_unit_test(pending_is_written),
        cmocka_unit_test(strange_calls_do_no_harm),
        cmocka_unit_test(quiet_operations_end),
        cmocka_unit_test(many_threads),
        cmocka_unit_test(full_table_is_counted),
    };

    return cmocka_run_group_tests_name("recorder operations", tests, NULL,
                                       NULL);
}
