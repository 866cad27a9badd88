/* test_rec_trust.c - which of NCCL's kernel events the recorder requests, and
 * which it uses.
 *
 * NCCL's behaviour in each case was read in its source and seen by driving its
 * own functions: docs/dev/recorder-format.md, "Kernel events".
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/nccl_recorder/rec_asserts.h"

enum { NOT_ASKED = 1, SELF_COPY = 2, BROADCAST = 4, GRAPH_MIX = 8, STALE = 16 };

/* A call of the program; returns its handle. A collective unless `peer` >= 0.
 */
static void *call(struct rec_scene *s, void *comm, const char *func, int root,
                  bool captured)
{
    struct jp_nccl_descr_v6 d = {.type = JP_NCCL_COLL_API};
    void *handle = NULL;

    d.coll_api.func = func;
    d.coll_api.root = root;
    d.coll_api.count = 1024;
    d.coll_api.datatype = "ncclInt8";
    d.coll_api.graph_captured = captured;
    CHECK(s->api->start(comm, &handle, &d) == 0);
    CHECK(s->api->stop(handle) == 0);
    return handle;
}

/* The program's calls from here on are of a new group. */
static void group(struct rec_scene *s, void *comm, int depth)
{
    struct jp_nccl_descr_v6 d = {.type = JP_NCCL_GROUP_API};
    void *handle = (void *) 1;

    d.group_api.depth = depth;
    CHECK(s->api->start(comm, &handle, &d) == 0 && handle == NULL);
}

/* An enqueued operation of `api`, in a launch of its own. */
static void *launch(struct rec_scene *s, void *comm, void *api, uint64_t seq,
                    int n_channels)
{
    struct jp_nccl_descr_v6 d = {.type = JP_NCCL_COLL, .parent = api};
    void *plan = scene_launch(s, comm);
    void *op = NULL;

    if (s->version <= 4 && !plan)
        return NULL; /* NCCL does not report it */
    d.coll.func = "AllReduce";
    d.coll.seq = seq;
    d.coll.count = 1024;
    d.coll.datatype = "ncclInt8";
    d.coll.n_channels = (uint8_t) n_channels;
    CHECK(s->api->start(comm, &op, &d) == 0);
    CHECK(s->api->stop(op) == 0 && s->api->stop(plan) == 0);
    return op;
}

/* Reports its only channel; false: its start was not used. */
static bool report(struct rec_scene *s, void *comm, void *op, uint64_t from_ns,
                   uint64_t to_ns)
{
    void *kernel = scene_kernel(s, comm, op, 0, from_ns);

    if (kernel)
        scene_kernel_stop(s, kernel, to_ns);
    return kernel != NULL;
}

static int doubts(const struct rec_result *r, const char *comm, int reasons)
{
    char text[96];

    snprintf(text, sizeof(text), "\"doubts\",\"comm\":\"%s\",", comm);
    if (!strstr(r->text, text))
        return reasons == 0;
    for (const char *at = r->text; (at = strstr(at, text)); at++) {
        const char *value = strstr(at, "\"reasons\":");

        if (value && atoi(value + strlen("\"reasons\":")) == reasons)
            return 1;
    }
    return 0;
}

/* Returns how many lines have both texts. */
static int count_with(const char *lines, const char *a, const char *b)
{
    int n = 0;

    for (const char *at = lines; (at = strstr(at, a)); at++) {
        const char *end = strchr(at, '\n');
        const char *other = strstr(at, b);

        n += other && (!end || other < end);
    }
    return n;
}

/* ----------------------------------------------------- what is requested -- */

static void many(struct rec_scene *s)
{
    void *comm = scene_comm(s, "world", 0xa, 0, 2);
    uint64_t i;

    for (i = 0; i < 1000; i++)
        CHECK(launch(s, comm, NULL, i, 1) != NULL);
    CHECK(s->api->finalize(comm) == 0);
}

/* Without a handle for Group NCCL 2.23 to 2.27 reports no operation. */
static void every_launch_is_told(void **state)
{
    struct rec_result r;
    int v;

    (void) state;
    for (v = 1; v <= 6; v++) {
        rec_harness_run(many, v, &r);
        assert_ok(r);
        assert_int_equal(r.n_ops, 1000);
        HAS_ROW(r, "0xa", "AllReduce", 1000, 1000, 0);
        rec_harness_fini(&r);
    }
}

static void asks(struct rec_scene *s)
{
    CHECK(launch(s, scene_comm(s, "world", 0xa, 0, 2), NULL, 0, 1) != NULL);
    CHECK(!!(scene_mask & JP_NCCL_KERNEL_CH) == (getenv("TEST_ASKS") != NULL));
}

static void kernels_where_they_are_safe(void **state)
{
    static const struct {
        const char *kernels; /* NULL: not set */
        int from;            /* the first interface with kernel events */
        int bad;
    } rows[] = {
        {NULL, 5, 0}, {"auto", 5, 0}, {"0", 7, 0},
        {"1", 4, 0},  {"2", 5, 1},    {"", 5, 1},
    };
    struct rec_result r;

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].kernels)
            setenv("JOBPROF_RECORDER_KERNELS", rows[i].kernels, 1);
        for (int v = 1; v <= 6; v++) {
            bool wanted = v >= rows[i].from;

            if (wanted)
                setenv("TEST_ASKS", "1", 1);
            rec_harness_run(asks, v, &r);
            assert_ok(r);
            assert_int_equal(has(&r, "\"kernels\":1"), wanted);
            assert_int_equal(has(&r, "\"kernels\":0"), !wanted);
            assert_int_equal(has(&r, "is not auto, 0 or 1, so it is ignored"),
                             rows[i].bad);
            rec_harness_fini(&r);
            unsetenv("TEST_ASKS");
        }
        unsetenv("JOBPROF_RECORDER_KERNELS");
    }
}

/* With one processor kernels=auto is 0, and the file says why. */
static void no_kernels_with_one_processor(void **state)
{
    static const char *const words[] = {NULL, "auto", "1"};
    cpu_set_t before, one;
    struct rec_result r;
    int cpu = 0;

    (void) state;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    while (!CPU_ISSET(cpu, &before))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        bool wanted = words[i] && strcmp(words[i], "1") == 0;

        if (words[i])
            setenv("JOBPROF_RECORDER_KERNELS", words[i], 1);
        if (wanted)
            setenv("TEST_ASKS", "1", 1);
        rec_harness_run(asks, 6, &r);
        assert_ok(r);
        assert_int_equal(has(&r, "\"kernels\":1"), wanted);
        assert_int_equal(has(&r, "this process has one processor"), !wanted);
        rec_harness_fini(&r);
        unsetenv("JOBPROF_RECORDER_KERNELS");
        unsetenv("TEST_ASKS");
    }
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

/* ------------------------------------------------- counters that differ -- */

static void to_oneself(struct rec_scene *s)
{
    void *comm = scene_comm(s, "ep", 0xa, 0, 4);
    void *other = scene_comm(s, "tp", 0xb, 0, 4);
    void *send, *recv, *self, *before;

    before = launch(s, comm, NULL, 0, 1);
    CHECK(scene_launch(s, comm) == NULL); /* 2.28 on: not needed */
    self = scene_p2p(s, comm, "Send", 0, 4096, 1);
    send = scene_p2p(s, comm, "Send", 1, 4096, 1);
    recv = scene_p2p(s, comm, "Recv", 3, 4096, 1);
    CHECK(s->api->stop(self) == 0 && s->api->stop(send) == 0 &&
          s->api->stop(recv) == 0);
    CHECK(report(s, comm, before, 1000, 21000)); /* enqueued earlier */
    /* the copy's stamps, reported before the kernel has run */
    CHECK(!report(s, comm, send, 31000, 41000));
    CHECK(!report(s, comm, recv, 31000, 41000));
    scene_wait(s, "{\"type\":\"op\",", 2); /* `before` and the copy */
    usleep(700000);
    CHECK(report(s, other, launch(s, other, NULL, 0, 1), 1000, 51000));
    scene_wait(s, "{\"type\":\"op\",", 3);
    _exit(0);
}

/* They seem to hang until a later launch comes. */
static void a_copy_to_oneself_shifts_the_stamps(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(to_oneself, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 3);
    assert_int_equal(has(&r, "\"exec_us\":20,"), 1);
    assert_int_equal(has(&r, "\"exec_us\":50,"), 1);
    assert_int_equal(has(&r, "\"unsure\":true"), 0);
    assert_int_equal(rec_harness_count(r.inflight, "\"unsure\":true") > 0, 1);
    assert_true(doubts(&r, "0xa", SELF_COPY));
    assert_true(doubts(&r, "0xb", 0));
    rec_harness_fini(&r);
}

static void to_oneself_and_on(struct rec_scene *s)
{
    void *comm = scene_comm(s, "ep", 0xa, 0, 4);
    void *op;

    CHECK(s->api->stop(scene_p2p(s, comm, "Recv", 0, 4096, 1)) == 0);
    op = launch(s, comm, NULL, 7, 1);
    CHECK(!report(s, comm, op, 1000, 2000));
    CHECK(launch(s, comm, NULL, 8, 1) != NULL);
    scene_wait(s, "{\"type\":\"op\",", 2);
    scene_wait(s, "\"func\":\"AllReduce\",\"seq\":8,", 1);
    _exit(0);
}

static void a_later_launch_ends_it(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(to_oneself_and_on, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 2);
    assert_int_equal(has(&r, "\"func\":\"AllReduce\",\"seq\":7,"), 1);
    assert_int_equal(has(&r, "\"kernel_first\":0,\"kernel_last\":0,"
                             "\"gpu_first\":0,\"gpu_last\":0,\"exec_ns\":0,"),
                     2);
    assert_int_equal(has(&r, "\"incomplete\":true"), 0);
    assert_int_equal(has(&r, "\"unsure\":true"), 1);
    rec_harness_fini(&r);
}

/* With an open proxy an operation is not over, whatever comes later; with a
 * closed one it is. */
static void by_proxies(struct rec_scene *s)
{
    struct jp_nccl_descr_v6 d = {.type = JP_NCCL_PROXY_OP};
    void *comm = scene_comm(s, "ep", 0xa, 0, 4);
    void *ops[2], *proxies[2];

    CHECK(s->api->stop(scene_p2p(s, comm, "Recv", 0, 4096, 1)) == 0);
    for (int i = 0; i < 2; i++) {
        ops[i] = launch(s, comm, NULL, (uint64_t) i, 1);
        d.parent = ops[i];
        d.proxy_op.pid = getpid();
        proxies[i] = NULL;
        CHECK(s->api->start(comm, &proxies[i], &d) == 0 && proxies[i]);
    }
    usleep(20000);
    CHECK(s->api->stop(proxies[1]) == 0);
    scene_wait(s, "{\"type\":\"op\",", 2);
    usleep(300000);
    _exit(0);
}

static void network_transfers_tell_the_end(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(by_proxies, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 2);
    assert_int_equal(has(&r, "\"func\":\"AllReduce\",\"seq\":1,"), 1);
    assert_int_equal(has(&r, "\"func\":\"AllReduce\",\"seq\":0,"), 0);
    rec_harness_fini(&r);
}

/* The first operation hangs in the network. NCCL 2.23 to 2.26 report the
 * proxies of the others only when it is their turn. */
static void behind_a_proxy(struct rec_scene *s)
{
    struct jp_nccl_descr_v6 d = {.type = JP_NCCL_PROXY_OP};
    void *comm = scene_comm(s, "ib", 0xa, 0, 4);
    void *proxy = NULL;

    for (uint64_t i = 0; i < 4; i++) {
        d.parent = launch(s, comm, NULL, i, 1);
        d.proxy_op.pid = getpid();
        if (i == 1)
            CHECK(s->api->start(comm, &proxy, &d) == 0 && proxy);
    }
    scene_wait(s, "{\"type\":\"op\",", 1);
    usleep(300000);
    if (getenv("TEST_ABORT"))
        CHECK(s->api->finalize(comm) == 0);
    else
        _exit(0);
}

static void what_waits_behind_a_proxy(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(behind_a_proxy, 3, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 1); /* the one before */
    assert_int_equal(has(&r, "\"func\":\"AllReduce\",\"seq\":0,"), 1);
    /* that one certainly waits */
    assert_true(rec_harness_count(r.inflight, "\"seq\":1,") > 0);
    assert_int_equal(count_with(r.inflight, "\"seq\":1,", "\"unsure\":true"),
                     0);
    assert_true(count_with(r.inflight, "\"seq\":2,", "\"unsure\":true") > 0);
    rec_harness_fini(&r);

    setenv("TEST_ABORT", "1", 1);
    rec_harness_run(behind_a_proxy, 3, &r);
    unsetenv("TEST_ABORT");
    assert_ok(r);
    assert_int_equal(r.n_ops, 4);
    assert_int_equal(count_with(r.text, "\"seq\":1,", "\"incomplete\":true"),
                     1);
    assert_int_equal(count_with(r.text, "\"seq\":1,", "\"unsure\":true"), 0);
    assert_int_equal(has(&r, "\"unsure\":true"), 3);
    rec_harness_fini(&r);
}

static void broadcasts(struct rec_scene *s)
{
    void *comm = scene_comm(s, "world", 0xa, 0, 4);
    const char *how = getenv("TEST_GROUPS");

    group(s, comm, 2);
    call(s, comm, "Broadcast", 0, false);
    if (*how == 'a') /* another group */
        group(s, comm, 1);
    else if (*how == 'n') /* an inner one */
        group(s, comm, 3);
    call(s, comm, "Broadcast", *how == 's' ? 0 : 1, false);
    CHECK(!(scene_mask & JP_NCCL_KERNEL_CH) == !!getenv("TEST_MERGES"));
    CHECK(!(scene_mask & JP_NCCL_PROXY_OP) == !getenv("TEST_MERGES"));
    (void) report(s, comm, launch(s, comm, NULL, 0, 1), 1000, 2000);
    CHECK(s->api->finalize(comm) == 0);
}

/* After an AllGatherV NCCL 2.29 and 2.30 can wait forever for kernel events, so
 * none are requested any more. */
static void broadcasts_of_several_roots(void **state)
{
    static const struct {
        const char *groups;
        int v;
        bool merges;
    } rows[] = {
        {"one group", 6, true},  {"another group", 6, false},
        {"nested", 6, true},     {"same root", 6, false},
        {"one group", 5, false},
    };
    struct rec_result r;

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        setenv("TEST_GROUPS", rows[i].groups, 1);
        if (rows[i].merges)
            setenv("TEST_MERGES", "1", 1);
        rec_harness_run(broadcasts, rows[i].v, &r);
        assert_ok(r);
        assert_int_equal(r.n_ops, 1);
        assert_true(doubts(&r, "0xa", rows[i].merges ? BROADCAST : 0));
        assert_int_equal(has(&r, "\"unsure\":true"), rows[i].merges);
        rec_harness_fini(&r);
        unsetenv("TEST_MERGES");
    }
    setenv("NCCL_ALLGATHERV_ENABLE", "0", 1);
    setenv("TEST_GROUPS", "one group", 1);
    rec_harness_run(broadcasts, 6, &r);
    assert_ok(r);
    assert_true(doubts(&r, "0xa", 0));
    rec_harness_fini(&r);
    unsetenv("NCCL_ALLGATHERV_ENABLE");
    unsetenv("TEST_GROUPS");
}

/* ---------------------------------------------------------------- graphs -- */

enum { REPLAYS = 1000, IN_GRAPH = 4 };

static void replay(struct rec_scene *s, void *comm, void *api, uint64_t k)
{
    for (uint64_t i = 0; i < IN_GRAPH; i++) {
        uint64_t n = k * IN_GRAPH + i;

        CHECK(report(s, comm, launch(s, comm, api, n, 1), 1000 + n * 10000,
                     8000 + n * 10000));
    }
}

static void graph_only(struct rec_scene *s)
{
    void *comm = scene_comm(s, "g", 0xa, 0, 2);
    void *api = call(s, comm, "AllReduce", 0, true);

    CHECK(scene_mask & JP_NCCL_KERNEL_CH);
    for (uint64_t k = 0; k < REPLAYS; k++)
        replay(s, comm, api, k);
    CHECK(s->api->finalize(comm) == 0);
}

static void graphs_alone_are_right(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(graph_only, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, REPLAYS * IN_GRAPH);
    assert_int_equal(has(&r, "\"exec_us\":7,\"source\":\"kernel_gpu\""),
                     REPLAYS * IN_GRAPH);
    assert_int_equal(has(&r, "\"seq\":3999,"), 1);
    assert_true(doubts(&r, "0xa", 0));
    rec_harness_fini(&r);
}

/* After an eager call in between replays are not counted, and their stamps are
 * old. */
static void graph_mixed(struct rec_scene *s)
{
    void *comm = scene_comm(s, "g", 0xa, 0, 2);
    void *api = call(s, comm, "AllReduce", 0, true);
    void *eager, *op;

    replay(s, comm, api, 0);
    eager = call(s, comm, "AllReduce", 0, false);
    CHECK(report(s, comm, launch(s, comm, eager, 4, 1), 51000, 58000));
    op = launch(s, comm, api, 5, 1);
    CHECK(!report(s, comm, op, 31000, 38000));
    op = launch(s, comm, eager, 6, 1);
    CHECK(!report(s, comm, op, 61000, 68000));
    CHECK(s->api->finalize(comm) == 0);
}

static void graphs_and_eager_calls(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(graph_mixed, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, IN_GRAPH + 3);
    assert_int_equal(has(&r, "\"exec_us\":7,"), IN_GRAPH + 1);
    assert_int_equal(has(&r, "\"unsure\":true"), 2);
    assert_true(doubts(&r, "0xa", GRAPH_MIX));
    rec_harness_fini(&r);
}

/* Without kernel events NCCL does not number replays. */
static void unnumbered(struct rec_scene *s)
{
    void *comm = scene_comm(s, "g", 0xa, 0, 2);
    void *eager = call(s, comm, "AllReduce", 0, false);
    void *api = call(s, comm, "AllReduce", 0, true);

    CHECK(!(scene_mask & JP_NCCL_KERNEL_CH));
    CHECK(launch(s, comm, eager, 0, 1) != NULL);
    for (int i = 0; i < 5; i++)
        CHECK(launch(s, comm, api, 1, 1) != NULL);
    CHECK(launch(s, comm, eager, 1, 1) != NULL);
    CHECK(s->api->finalize(comm) == 0);
}

static void replays_without_numbers(void **state)
{
    struct rec_result r;

    (void) state;
    setenv("JOBPROF_RECORDER_KERNELS", "0", 1);
    rec_harness_run(unnumbered, 6, &r);
    unsetenv("JOBPROF_RECORDER_KERNELS");
    assert_ok(r);
    assert_int_equal(r.n_ops, 7);
    assert_int_equal(has(&r, "\"seq\":0,"), 1);
    assert_int_equal(has(&r, "\"seq\":1,"), 1);
    assert_int_equal(has(&r, "\"seq\":1099511627776,"), 1);
    assert_int_equal(has(&r, "\"seq\":1099511627780,"), 1);
    assert_int_equal(has(&r, "\"unsure\":true"), 7);
    assert_true(doubts(&r, "0xa", NOT_ASKED));
    rec_harness_fini(&r);
}

/* A captured Broadcast is counted once, and not at replays. */
static void captured(struct rec_scene *s)
{
    void *comm = scene_comm(s, "g", 0xa, 0, 2);
    void *api = call(s, comm, "AllReduce", 0, true);

    CHECK(scene_mask & JP_NCCL_KERNEL_CH); /* a graph alone changes nothing */
    call(s, comm, "Broadcast", 0, true);
    CHECK(!(scene_mask & JP_NCCL_KERNEL_CH) == (s->version >= 6));
    CHECK(launch(s, comm, api, 0, 1) != NULL);
    CHECK(s->api->finalize(comm) == 0);
}

static void a_captured_broadcast(void **state)
{
    struct rec_result r;

    (void) state;
    for (int v = 5; v <= 6; v++) {
        rec_harness_run(captured, v, &r);
        assert_ok(r);
        assert_int_equal(r.n_ops, 1);
        assert_true(doubts(&r, "0xa", v == 6 ? BROADCAST : 0));
        rec_harness_fini(&r);
    }
}

/* Before 2.28 a number that comes again is that of a replay. */
static void frozen(struct rec_scene *s)
{
    void *comm = scene_comm(s, "g", 0xa, 0, 2);

    for (uint64_t i = 0; i < 10; i++)
        CHECK(launch(s, comm, NULL, i < 4 ? i : 4, 1) != NULL);
    CHECK(s->api->finalize(comm) == 0);
}

static void frozen_numbers(void **state)
{
    struct rec_result r;

    (void) state;
    for (int v = 3; v <= 4; v++) {
        rec_harness_run(frozen, v, &r);
        assert_ok(r);
        assert_int_equal(r.n_ops, 10);
        assert_int_equal(has(&r, "\"seq\":4,"), 1);
        assert_int_equal(has(&r, "\"seq\":1099511627780,"), 1);
        rec_harness_fini(&r);
    }
}

/* ---------------------------------------------------------------- stamps -- */

static void old_stamps(struct rec_scene *s)
{
    void *comm = scene_comm(s, "stale", 0xa, 0, 2);
    void *a, *b;

    CHECK(report(s, comm, launch(s, comm, NULL, 0, 1), 1000, 21000));
    CHECK(!report(s, comm, launch(s, comm, NULL, 1, 1), 1000, 21000));
    CHECK(!report(s, comm, launch(s, comm, NULL, 2, 1), 0, 0));
    CHECK(report(s, comm, launch(s, comm, NULL, 3, 1), 21000, 31000));
    for (uint64_t i = 4; i < 10; i++)
        CHECK(!report(s, comm, launch(s, comm, NULL, i, 1), 22000, 31000));
    /* no events are used any more, though these might be true */
    CHECK(!report(s, comm, launch(s, comm, NULL, 10, 1), 41000, 51000));
    /* operations of a batch share their stamps */
    comm = scene_comm(s, "batch", 0xb, 0, 2);
    CHECK(scene_launch(s, comm) == NULL);
    a = scene_coll(s, comm, "AllReduce", 0, 1024, 1);
    b = scene_coll(s, comm, "AllReduce", 1, 1024, 1);
    CHECK(s->api->stop(a) == 0 && s->api->stop(b) == 0);
    CHECK(report(s, comm, a, 1000, 21000) && report(s, comm, b, 1032, 21032));
    scene_wait(s, "\"comm\":\"0xb\",\"name\":\"batch\",\"kind\":\"coll\"", 2);
    CHECK(s->api->finalize(comm) == 0);
}

static void stamps_of_earlier_operations(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(old_stamps, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 13);
    assert_int_equal(has(&r, "\"exec_us\":20,"), 3);
    assert_int_equal(has(&r, "\"exec_us\":10,"), 1);
    assert_int_equal(has(&r, "\"unsure\":true"), 9);
    assert_true(doubts(&r, "0xa", STALE));
    assert_true(doubts(&r, "0xb", 0));
    rec_harness_fini(&r);
}

/* Exit status of a scenario that took too long to show anything. */
enum { TOO_SLOW = 7 };

static uint64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t) ts.tv_sec * 1000 + (uint64_t) ts.tv_nsec / 1000000;
}

/* Stamps that are not used do not show that an earlier operation is over. */
static void stale_behind(struct rec_scene *s)
{
    void *comm = scene_comm(s, "stale", 0xa, 0, 2);
    uint64_t start_ms = now_ms();
    void *op, *kernel;

    CHECK(launch(s, comm, NULL, 0, 1) != NULL); /* hangs */
    op = launch(s, comm, NULL, 1, 2);
    kernel = scene_kernel(s, comm, op, 0, 1000);
    CHECK(kernel != NULL);
    if (getenv("TEST_REVERSED")) /* refused, before all events are unused */
        scene_kernel_stop(s, kernel, 900);
    else
        scene_kernel_stop(s, kernel, 2000000);
    /* the writer looks at the operations meanwhile */
    if (getenv("TEST_PAUSE_MS"))
        usleep((unsigned) atoi(getenv("TEST_PAUSE_MS")) * 1000);
    CHECK(scene_kernel(s, comm, op, 1, 0) == NULL);
    /* nobody can know after half a second of silence that a stamp will come */
    if (now_ms() - start_ms > 450)
        _exit(TOO_SLOW);
    CHECK(launch(s, comm, NULL, 2, 1) != NULL);
    scene_wait(s, "{\"type\":\"op\",", 1);
    usleep(1200000);
    _exit(0);
}

/* Runs stale_behind; again if the machine was too busy. */
static void run_stale_behind(struct rec_result *r)
{
    for (int i = 0; i < 20; i++) {
        rec_harness_run(stale_behind, 6, r);
        if (!WIFEXITED(r->status) || WEXITSTATUS(r->status) != TOO_SLOW)
            return;
        rec_harness_fini(r);
    }
    fail_msg("the machine is too busy: 20 times more than 450 ms");
}

static void stale_stamps_overtake_nothing(void **state)
{
    struct rec_result r;

    (void) state;
    run_stale_behind(&r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 1);
    assert_int_equal(has(&r, "\"seq\":1,"), 1);
    /* nor a time of the operation's own */
    assert_int_equal(has(&r, "\"kernel_first\":0,\"kernel_last\":0,"
                             "\"gpu_first\":0,\"gpu_last\":0,\"exec_ns\":0,"),
                     1);
    assert_int_equal(has(&r, "\"unsure\":1,\"refused\":0"), 1);
    rec_harness_fini(&r);

    setenv("TEST_REVERSED", "1", 1);
    run_stale_behind(&r);
    unsetenv("TEST_REVERSED");
    assert_ok(r);
    assert_int_equal(r.n_ops, 1);
    assert_int_equal(has(&r, "\"refused\":1"), 0);
    rec_harness_fini(&r);
}

/* The same if the writer sees the first channel's stop before the stale stamp
 * of the second one comes: it looks every 200 ms. */
static void later_stale_stamps_overtake_nothing(void **state)
{
    struct rec_result r;

    (void) state;
    setenv("TEST_PAUSE_MS", "300", 1);
    run_stale_behind(&r);
    unsetenv("TEST_PAUSE_MS");
    assert_ok(r);
    assert_int_equal(r.n_ops, 1);
    assert_int_equal(has(&r, "\"seq\":1,"), 1);
    rec_harness_fini(&r);
}

/* The progress thread lags by more than 64 operations. It reports all starts,
 * the first ones with stamps of later operations. */
enum { LAG = 160, STEP = 16 };

static void overrun(struct rec_scene *s)
{
    void *comm = scene_comm(s, "lag", 0xa, 0, 2);
    void *ops[LAG], *kernels[LAG];

    for (uint64_t i = 0; i < LAG; i++)
        ops[i] = launch(s, comm, NULL, i, 1);
    for (uint64_t i = 0; i < LAG; i += STEP) { /* it reports some at a time */
        if (i == 2 * STEP && getenv("TEST_SLOWLY"))
            scene_wait(s, "{\"type\":\"op\",", 2 * STEP);
        for (uint64_t k = i; k < i + STEP; k++) {
            uint64_t work = k + (LAG - 1 - k) / 64 * 64; /* last in its slot */

            kernels[k] = scene_kernel(s, comm, ops[k], 0, 10000 * (work + 1));
            CHECK(kernels[k] != NULL);
        }
        for (uint64_t k = i; k < i + STEP; k++) {
            uint64_t work = k + (LAG - 1 - k) / 64 * 64;

            scene_kernel_stop(s, kernels[k], 10000 * (work + 1) + 9000);
        }
    }
    ops[0] = launch(s, comm, NULL, LAG, 1);
    CHECK(report(s, comm, ops[0], 10000 * (LAG + 1), 10000 * (LAG + 1) + 7000));
    CHECK(s->api->finalize(comm) == 0);
}

/* The same if the first ones are in the file before anything shows that. */
static void an_overrun_ring(void **state)
{
    struct rec_result r;

    (void) state;
    for (int slowly = 0; slowly < 2; slowly++) {
        if (slowly)
            setenv("TEST_SLOWLY", "1", 1);
        rec_harness_run(overrun, 6, &r);
        unsetenv("TEST_SLOWLY");
        assert_ok(r);
        assert_int_equal(r.n_ops, LAG + 1);
        assert_int_equal(has(&r, "\"exec_us\":7,"), 1);
        assert_int_equal(has(&r, "\"unsure\":true"), 0);
        assert_true(doubts(&r, "0xa", 0));
        /* those of the first lap looked right until a stamp ran backwards */
        assert_int_equal(has(&r, "\"exec_us\":0,\"source\":\"kernel_gpu\""),
                         LAG);
        assert_int_equal(has(&r, "\"exec_us\":9,"), 0);
        assert_true(!slowly || has(&r, "\"later\":") >= 2 * STEP);
        assert_true(has(&r, "\"refused\":160}") >= 1);
        rec_harness_fini(&r);
    }
}

/* A program that is far ahead of the GPU, and a progress thread that is not.
 * How it ends: all are reported, or the half: the process is killed, or the
 * communicator ends. */
static void far_ahead(struct rec_scene *s)
{
    const char *end = getenv("TEST_END");
    void *comm = scene_comm(s, "ahead", 0xa, 0, 2);
    void *ops[LAG];

    for (uint64_t i = 0; i < LAG; i++)
        ops[i] = launch(s, comm, NULL, i, 1);
    for (uint64_t i = 0; i < LAG; i++) {
        if (i == LAG / 2) {
            scene_wait(s, "{\"type\":\"op\",", LAG / 2);
            if (end && !strcmp(end, "kill"))
                raise(SIGKILL);
            if (end)
                break;
        }
        CHECK(report(s, comm, ops[i], 10000 * (i + 1), 10000 * (i + 1) + 9000));
    }
    if (!end)
        scene_wait(s, "\"exec_us\":9,", LAG);
    CHECK(s->api->finalize(comm) == 0);
}

/* A long queue looks as a thread that lags does. All are written at once, and
 * have their times once it is empty. */
static void a_queue_that_empties(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(far_ahead, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, LAG);
    assert_int_equal(has(&r, "\"exec_us\":9,"), LAG);
    assert_true(has(&r, "\"later\":") >= LAG / 2);
    assert_int_equal(has(&r, "\"refused\":0}"), 0);
    rec_harness_fini(&r);
}

/* No record is lost, and no time is told that nothing has proven. */
static void a_queue_in_a_killed_process(void **state)
{
    struct rec_result r;

    (void) state;
    setenv("TEST_END", "kill", 1);
    rec_harness_run(far_ahead, 6, &r);
    unsetenv("TEST_END");
    assert_true(WIFSIGNALED(r.status) && WTERMSIG(r.status) == SIGKILL);
    assert_int_equal(r.n_ops, LAG / 2);
    assert_int_equal(r.n_bad, 0);
    assert_int_equal(has(&r, "\"gpu_first\":0,\"gpu_last\":0,\"exec_ns\":0,"),
                     LAG / 2);
    assert_int_equal(has(&r, "\"kernel_last\":0,"), 0);
    rec_harness_fini(&r);
}

static void a_queue_that_never_empties(void **state)
{
    struct rec_result r;

    (void) state;
    setenv("TEST_END", "finalize", 1);
    rec_harness_run(far_ahead, 6, &r);
    unsetenv("TEST_END");
    assert_ok(r);
    assert_int_equal(r.n_ops, LAG);
    assert_int_equal(has(&r, "\"incomplete\":true"), LAG / 2);
    assert_int_equal(has(&r, "\"exec_us\":9,"), 0);
    assert_true(has(&r, "\"refused\":80}") >= 1);
    rec_harness_fini(&r);
}

/* CollNet announces no number of channels: the recorder waits for the first. */
static void collnet(struct rec_scene *s)
{
    void *comm = scene_comm(s, "sharp", 0xa, 0, 2);
    void *op = launch(s, comm, NULL, 0, 0);
    void *kernels[2];

    usleep(900000);
    kernels[0] = scene_kernel(s, comm, op, 0, 1000);
    kernels[1] = scene_kernel(s, comm, op, 1, 1100);
    CHECK(kernels[0] && kernels[1]);
    scene_kernel_stop(s, kernels[0], 61000);
    scene_kernel_stop(s, kernels[1], 60000);
    scene_wait(s, "{\"type\":\"op\",", 1);
    _exit(0);
}

static void no_number_of_channels(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(collnet, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 1);
    assert_int_equal(has(&r, "\"exec_us\":60,\"source\":\"kernel_gpu\""), 1);
    assert_int_equal(has(&r, "\"incomplete\":true"), 0);
    rec_harness_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_launch_is_told),
        cmocka_unit_test(kernels_where_they_are_safe),
        cmocka_unit_test(no_kernels_with_one_processor),
        cmocka_unit_test(a_copy_to_oneself_shifts_the_stamps),
        cmocka_unit_test(a_later_launch_ends_it),
        cmocka_unit_test(network_transfers_tell_the_end),
        cmocka_unit_test(what_waits_behind_a_proxy),
        cmocka_unit_test(broadcasts_of_several_roots),
        cmocka_unit_test(graphs_alone_are_right),
        cmocka_unit_test(graphs_and_eager_calls),
        cmocka_unit_test(replays_without_numbers),
        cmocka_unit_test(a_captured_broadcast),
        cmocka_unit_test(frozen_numbers),
        cmocka_unit_test(stamps_of_earlier_operations),
        cmocka_unit_test(stale_stamps_overtake_nothing),
        cmocka_unit_test(later_stale_stamps_overtake_nothing),
        cmocka_unit_test(an_overrun_ring),
        cmocka_unit_test(a_queue_that_empties),
        cmocka_unit_test(a_queue_in_a_killed_process),
        cmocka_unit_test(a_queue_that_never_empties),
        cmocka_unit_test(no_number_of_channels),
    };

    return cmocka_run_group_tests_name("recorder trust", tests, NULL, NULL);
}
