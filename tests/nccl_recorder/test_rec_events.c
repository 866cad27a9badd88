/* test_rec_events.c - events that only later interfaces have: API calls, copy
 * engines, network steps. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/nccl_recorder/rec_asserts.h"

static void *start_event(struct rec_scene *s, void *comm,
                         struct jp_nccl_descr_v6 *d)
{
    void *handle = NULL;

    CHECK(s->api->start(comm, &handle, d) == 0);
    return handle;
}

static void with_api(struct rec_scene *s)
{
    void *comm = scene_comm(s, "api", 0xa, 0, 4);
    struct jp_nccl_descr_v6 api = {.type = JP_NCCL_COLL_API};
    struct jp_nccl_descr_v6 coll = {.type = JP_NCCL_COLL};
    struct jp_nccl_descr_v6 p2p = {.type = JP_NCCL_P2P};
    void *op;

    api.coll_api.func = "AllGather";
    api.coll_api.count = 1000;
    api.coll_api.datatype = "ncclFloat32";
    api.coll_api.graph_captured = true;
    coll.parent = start_event(s, comm, &api);
    CHECK(s->api->stop(coll.parent) == 0);
    coll.coll.func = "AllGather";
    coll.coll.seq = 5;
    coll.coll.count = 4000;
    coll.coll.datatype = "ncclInt8";
    coll.coll.root = 3;
    coll.coll.algo = "RING";
    coll.coll.proto = "LL128";
    coll.coll.n_channels = 1;
    op = start_event(s, comm, &coll);
    CHECK(s->api->stop(coll.parent) == 0); /* too late: ignored */
    scene_kernel_stop(s, scene_kernel(s, comm, op, 0, 1000), 3000);
    CHECK(s->api->stop(op) == 0);

    api.type = JP_NCCL_P2P_API;
    api.p2p_api.func = "SomethingNew";
    api.p2p_api.count = 1ULL << 50; /* more than a handle can hold */
    api.p2p_api.datatype = "ncclSomeType";
    api.p2p_api.graph_captured = false;
    p2p.parent = start_event(s, comm, &api);
    p2p.p2p.func = "Send";
    p2p.p2p.count = 8;
    p2p.p2p.datatype = "ncclFloat64";
    p2p.p2p.peer = 2;
    p2p.p2p.n_channels = 1;
    op = start_event(s, comm, &p2p);
    CHECK(s->api->stop(op) == 0);
    scene_kernel_stop(s, scene_kernel(s, comm, op, 0, 1000), 3000);
    CHECK(s->api->finalize(comm) == 0);
}

static void the_api_is_known(void **state)
{
    struct rec_result r;
    int v;

    (void) state;
    for (v = 5; v <= 6; v++) {
        rec_harness_run(with_api, v, &r);
        assert_ok(r);
        assert_int_equal(r.n_ops, 2);
        assert_int_equal(
            has(&r, "\"func\":\"AllGather\",\"seq\":5,\"bytes\":4000,"
                    "\"count\":4000,\"datatype\":\"ncclInt8\",\"root\":3,"
                    "\"peer\":-1,\"algo\":\"RING\",\"proto\":\"LL128\","
                    "\"channels\":1,\"api\":\"AllGather\",\"api_count\":1000,"
                    "\"api_datatype\":\"ncclFloat32\",\"graph\":true,"),
            1);
        assert_int_equal(
            has(&r, "\"func\":\"Send\",\"seq\":1,\"bytes\":64,\"count\":8,"
                    "\"datatype\":\"ncclFloat64\",\"root\":-1,\"peer\":2,"
                    "\"algo\":\"\",\"proto\":\"\",\"channels\":1,"
                    "\"api\":\"SomethingNew\",\"api_count\":0,"
                    "\"api_datatype\":\"ncclSomeType\",\"graph\":false,"),
            1);
        rec_harness_fini(&r);
    }
}

static void *call(struct rec_scene *s, void *comm, const char *func,
                  bool graph_captured)
{
    struct jp_nccl_descr_v6 api = {.type = JP_NCCL_COLL_API};
    void *handle;

    api.coll_api.func = func;
    api.coll_api.graph_captured = graph_captured;
    handle = start_event(s, comm, &api);
    CHECK(s->api->stop(handle) == 0);
    return handle;
}

static void operation_of(struct rec_scene *s, void *comm, const char *func,
                         void *call_handle)
{
    struct jp_nccl_descr_v6 coll = {.type = JP_NCCL_COLL};
    void *op;

    coll.parent = call_handle;
    coll.coll.func = func;
    coll.coll.n_channels = 1;
    op = start_event(s, comm, &coll);
    CHECK(s->api->stop(op) == 0);
    scene_kernel_stop(s, scene_kernel(s, comm, op, 0, 1000), 3000);
}

/* Six rounds. Five calls of Broadcast get no operation, as in NCCL 2.29 with
 * AllGatherV; five of Reduce are captured in a graph. The writer looks at the
 * counts at any time; half of the calls come `gap_us` later. */
static void calls(struct rec_scene *s, void *comm, unsigned gap_us)
{
    void *handle;
    int i;

    for (i = 0; i < 6; i++) {
        if (i == 3)
            usleep(gap_us);
        handle = call(s, comm, "Broadcast", false);
        if (i == 0)
            operation_of(s, comm, "Broadcast", handle);
        handle = call(s, comm, "AllReduce", false);
        operation_of(s, comm, "AllReduce", handle);
        handle = call(s, comm, "Reduce", true);
        if (i == 0)
            operation_of(s, comm, "Reduce", handle);
    }
}

static void wait_for_all(struct rec_scene *s)
{
    scene_wait(s, "{\"type\":\"op\",", 8);
    scene_wait(s, "\"func\":\"Broadcast\",\"calls\":5}", 1);
}

static void unseen_finalize(struct rec_scene *s)
{
    void *comm = scene_comm(s, "unseen", 0xb, 0, 4);

    calls(s, comm, 0);
    CHECK(s->api->finalize(comm) == 0); /* waits 40 ms for the writer */
    wait_for_all(s);
    _exit(0);
}

static void unseen_killed(struct rec_scene *s)
{
    void *comm = scene_comm(s, "unseen", 0xb, 0, 4);

    calls(s, comm, 0);
    wait_for_all(s);
    _exit(0);
}

/* The first two are written before the others are made. */
static void unseen_by_and_by(struct rec_scene *s)
{
    void *comm = scene_comm(s, "unseen", 0xb, 0, 4);

    calls(s, comm, 2500000);
    wait_for_all(s);
    _exit(0);
}

/* A call in a group that is still open does not count as one without operation.
 */
static void in_flight(struct rec_scene *s)
{
    void *comm = scene_comm(s, "unseen", 0xb, 0, 4);
    void *handle;

    calls(s, comm, 0);
    handle = call(s, comm, "AllGather", false);
    usleep(100000);
    operation_of(s, comm, "AllGather", handle);
    scene_wait(s, "{\"type\":\"op\",", 9);
    wait_for_all(s);
    _exit(0);
}

static unsigned long calls_in(const char *line)
{
    const char *at = strstr(line, "\"calls\":");

    assert_non_null(at);
    return strtoul(at + strlen("\"calls\":"), NULL, 10);
}

/* Only calls of Broadcast are written, never fewer than before, and five in the
 * end. Returns how many lines have them. */
static int broadcasts_told(const struct rec_result *r)
{
    static const char unseen[] = "{\"type\":\"unseen\",\"comm\":\"0xb\","
                                 "\"name\":\"unseen\",\"func\":\"Broadcast\",";
    unsigned long told = 0, now;
    const char *at;
    int n = 0;

    for (at = r->text; (at = strstr(at, unseen)); at++, n++) {
        now = calls_in(at);
        assert_true(now >= told);
        told = now;
    }
    assert_int_equal(told, 5);
    assert_int_equal(has(r, "{\"type\":\"unseen\""), n);
    return n;
}

static void calls_without_operation_are_counted(void **state)
{
    rec_scenario_fn *const all[] = {unseen_finalize, unseen_killed,
                                    unseen_by_and_by, in_flight};
    struct rec_result r;
    int i, n;

    (void) state;
    for (i = 0; i < 8; i++) {
        rec_harness_run(all[i % 4], 5 + i / 4, &r);
        assert_ok(r);
        assert_int_equal(r.n_ops, all[i % 4] == in_flight ? 9 : 8);
        n = broadcasts_told(&r);
        if (all[i % 4] == unseen_by_and_by)
            assert_true(n >= 2);
        rec_harness_fini(&r);
    }
}

/* 100 operations, each with a start, a stop, and a kernel's start, record and
 * stop. */
static void much(struct rec_scene *s)
{
    void *comm = scene_comm(s, "cost", 0xc, 0, 4);
    int i;

    for (i = 0; i < 100; i++) {
        void *op = scene_coll(s, comm, "AllReduce", (uint64_t) i, 4096, 1);

        CHECK(s->api->stop(op) == 0);
        scene_kernel_stop(s, scene_kernel(s, comm, op, 0, 1000), 3000);
    }
    CHECK(s->api->finalize(comm) == 0);
}

static void its_own_cost_is_told(void **state)
{
    unsigned long long events = 0, timed = 0, ns = 0, life = 0, writer = 0;
    const char *at, *last = NULL;
    struct rec_result r;

    (void) state;
    rec_harness_run(much, 6, &r);
    assert_ok(r);
    for (at = r.text; (at = strstr(at, "{\"type\":\"cost\"")); at++)
        last = at;
    assert_non_null(last);
    assert_int_equal(sscanf(last,
                            "{\"type\":\"cost\",\"events\":%llu,\"timed\":%llu,"
                            "\"timed_ns\":%llu,\"life_ns\":%llu,"
                            "\"writer_ns\":%llu}",
                            &events, &timed, &ns, &life, &writer),
                     5);
    assert_int_equal(events, 500);
    assert_int_equal(timed, 500 / 64);
    assert_in_range(ns, timed, timed * 50000);
    assert_in_range(life, 1, 60000000000);
    assert_true(writer > 0);
    rec_harness_fini(&r);
}

static void copy_engine(struct rec_scene *s)
{
    void *comm = scene_comm(s, "ce", 0xce, 0, 4);
    struct jp_nccl_descr_v6 ce = {.type = JP_NCCL_CE_COLL};
    struct jp_nccl_descr_v6 sync = {.type = JP_NCCL_CE_SYNC};
    void *op;

    ce.ce_coll.seq = 9;
    ce.ce_coll.func = "AlltoAll";
    ce.ce_coll.count = 256;
    ce.ce_coll.datatype = "ncclFloat16";
    ce.ce_coll.sync_strategy = "MC";
    op = start_event(s, comm, &ce);
    sync.parent = op;
    CHECK(op && start_event(s, comm, &sync) == NULL);
    usleep(2000);
    CHECK(s->api->stop(op) == 0);
    CHECK(s->api->finalize(comm) == 0);
}

static void copy_engines_are_recorded(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(copy_engine, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 1);
    assert_int_equal(has(&r, "\"kind\":\"ce\",\"func\":\"AlltoAll\",\"seq\":9,"
                             "\"bytes\":512,"),
                     1);
    assert_int_equal(has(&r, "\"algo\":\"MC\","), 1);
    assert_int_equal(has(&r, "\"exec_ns\":0,"), 1);
    HAS_ROW(r, "0xce", "AlltoAll", 1, 1, 0);
    rec_harness_fini(&r);
}

static void one_step(struct rec_scene *s, void *comm, void *proxy,
                     const int *states)
{
    struct jp_nccl_descr_v6 d = {.type = JP_NCCL_PROXY_STEP, .parent = proxy};
    union jp_nccl_args_v4 args = {.proxy_step = {1000}};
    void *step = start_event(s, comm, &d);
    int i;

    CHECK(step != NULL);
    for (i = 0; i < 3; i++) {
        CHECK(s->api->record(step, states[i], &args) == 0);
        usleep((useconds_t) (2000 * (i + 1)));
    }
    CHECK(s->api->stop(step) == 0);
    CHECK(s->api->stop(step) == 0); /* a second stop does nothing */
    CHECK(s->api->record(step, states[0], &args) == 0);
}

static void with_net(struct rec_scene *s)
{
    static const int send[] = {JP_NCCL_STEP_SEND_GPU_WAIT,
                               JP_NCCL_STEP_SEND_PEER_WAIT,
                               JP_NCCL_STEP_SEND_WAIT};
    static const int recv[] = {JP_NCCL_STEP_RECV_WAIT,
                               JP_NCCL_STEP_RECV_FLUSH_WAIT,
                               JP_NCCL_STEP_RECV_GPU_WAIT};
    struct jp_nccl_descr_v6 d = {.type = JP_NCCL_PROXY_OP};
    void *comm, *op, *proxies[2];

    setenv("JOBPROF_RECORDER_NET", "1", 1);
    comm = scene_comm(s, "net", 0x4e7, 0, 4);
    op = scene_coll(s, comm, "AllReduce", 0, 4096, 1);
    CHECK(s->api->stop(op) == 0);
    d.parent = op;
    d.proxy_op.pid = getpid();
    proxies[0] = start_event(s, comm, &d);
    proxies[1] = start_event(s, comm, &d);
    scene_kernel_stop(s, scene_kernel(s, comm, op, 0, 1000), 3000);
    one_step(s, comm, proxies[0],
             send); /* the operation ends with its proxies */
    CHECK(s->api->stop(proxies[0]) == 0);
    one_step(s, comm, proxies[1], recv);
    CHECK(s->api->stop(proxies[1]) == 0);
    CHECK(s->api->finalize(comm) == 0);
}

static void waits_are_summed(void **state)
{
    static const char *const keys[] = {"send_gpu", "send_peer",  "send",
                                       "recv",     "recv_flush", "recv_gpu"};
    struct rec_result r;
    int i;

    (void) state;
    rec_harness_run(with_net, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 1);
    assert_int_equal(has(&r, "\"incomplete\":false,"), 1);
    assert_int_equal(has(&r, "\"net_steps\":2,\"net_bytes\":2000}"), 1);
    for (i = 0; i < 6; i++) {
        char key[32];
        const char *at;

        snprintf(key, sizeof(key), "\"%s\":", keys[i]);
        at = strstr(r.text, key);
        assert_non_null(at);
        assert_in_range(strtoull(at + strlen(key), NULL, 10),
                        2000000 * (i % 3 + 1), 20000000000);
    }
    rec_harness_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_api_is_known),
        cmocka_unit_test(calls_without_operation_are_counted),
        cmocka_unit_test(its_own_cost_is_told),
        cmocka_unit_test(copy_engines_are_recorded),
        cmocka_unit_test(waits_are_summed),
    };

    return cmocka_run_group_tests_name("recorder events", tests, NULL, NULL);
}
