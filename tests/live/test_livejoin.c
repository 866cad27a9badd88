/* test_livejoin.c - node 0 joins the snapshots of 4,096 nodes: its time, and
 * the rank that it names, by its number in the job; which of a node's snapshots
 * counts; what is reported about a stall. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/fileio.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/live/livejoin.h"
#include "tests/common/tempdir.h"
#include "tests/live/growtask.h"

#define SUSPECT_MS 30000

static void put_log(void *arg, const char *line)
{
    size_t used = strlen(arg);

    snprintf((char *) arg + used, 65536 - used, "%s\n", line);
}

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;

    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

#define NODES 4096
#define A_NODE 8

/* Rank 8 * node + i; the very last one never enters operation 1000. */
static size_t make_node(uint32_t node, uint32_t sequence, uint64_t now_ns,
                        bool hangs, uint8_t bytes[LIVE_SNAP_BYTES])
{
    static struct live_snap snap;

    snap = (struct live_snap){.nodeid = node,
                              .sequence = sequence,
                              .real_ns = now_ns,
                              .due_ms = 30000,
                              .class = hangs ? LIVE_WAITS : LIVE_WORKS,
                              .n_ranks = A_NODE,
                              .n_comms = 1,
                              .comms = {{0xabc, NODES * A_NODE, "world"}}};
    snprintf(snap.node, sizeof(snap.node), "n%u", node);
    for (uint32_t i = 0; i < A_NODE; i++) {
        uint32_t rank = node * A_NODE + i;
        bool in = hangs && rank != NODES * A_NODE - 1;

        snap.ranks[i] =
            (struct live_rank){.pid = i,
                               .task = rank,
                               .state = in ? HUNG_WAITS : HUNG_OUTSIDE,
                               .busy = in,
                               .counted_ns = (int64_t) now_ns};
        snap.fronts[snap.n_fronts++] = (struct live_front){
            .rank = i, .comm_rank = rank, .kind = JPR_N_OP_KINDS};
        snap.fronts[snap.n_fronts++] = (struct live_front){.rank = i,
                                                           .comm_rank = rank,
                                                           .kind = JPR_COLL,
                                                           .func = "AllReduce",
                                                           .begun = 1000u + in,
                                                           .ended = 1000};
        if (in)
            snap.ops[snap.n_ops++] =
                (struct live_op){.rank = i,
                                 .comm_rank = rank,
                                 .peer = -1,
                                 .func = "AllReduce",
                                 .seq = 1000,
                                 .start_ns = (int64_t) JPR_MAKER_REAL_NS,
                                 .until_ns = (int64_t) now_ns,
                                 .limit_ns = 30000000000};
    }
    return livesnap_pack(&snap, bytes);
}

static void put_file(int folder, uint32_t node,
                     const uint8_t bytes[LIVE_SNAP_BYTES])
{
    char name[64];
    FILE *f;
    int fd;

    snprintf(name, sizeof(name), "7.%u.snap", node);
    fd = openat(folder, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    f = fdopen(fd, "w");
    assert_int_equal(fwrite(bytes, 1, LIVE_SNAP_BYTES, f), LIVE_SNAP_BYTES);
    fclose(f);
}

static void put_node(int folder, uint32_t node, uint64_t now_ns, bool hangs)
{
    uint8_t bytes[LIVE_SNAP_BYTES];

    make_node(node, (uint32_t) (now_ns / 1000000000), now_ns, hangs, bytes);
    put_file(folder, node, bytes);
}

static int open_nodes(const char *dir)
{
    char *path = tempdir_path(dir, "live/nodes");
    int folder;

    assert_int_equal(fileio_mkdirs(path, NULL), 0);
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(path);
    return folder;
}

static double cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

static void joins_4096_nodes(void **state)
{
    struct hung_times times;
    struct jp_onhang report = {.kind = ONHANG_REPORT};
    static char said[65536];
    const struct livejoin_place place = {.alert = {.dir = *state,
                                                   .job = 7,
                                                   .step = "0",
                                                   .on_hang = &report,
                                                   .log = put_log,
                                                   .log_arg = said},
                                         .nodes = NODES,
                                         .times = &times};
    struct livejoin *join;
    double healthy, hang = 0;
    int folder = open_nodes(*state);
    unsigned lines;

    hung_times_set(&times, SUSPECT_MS);
    join = livejoin_create(&place);
    for (uint32_t i = 0; i < NODES; i++)
        put_node(folder, i, at(1).real_ns, false);
    healthy = cpu_ms();
    for (int now = 1; now < 1000; now++) {
        const struct livejoin_time t = {at(now).real_ns, (uint64_t) now * 1000};

        assert_int_equal(livejoin_look(join, &t, false, NULL), 0);
    }
    healthy = cpu_ms() - healthy;
    assert_int_equal(livejoin_found(join)->stuck.phase, HUNG_QUIET);
    for (int now = 1000; now < 1400; now += 20) {
        const struct livejoin_time t = {at(now).real_ns, (uint64_t) now * 1000};
        double before;

        for (uint32_t i = 0; i < NODES; i++)
            put_node(folder, i, t.real_ns, true);
        before = cpu_ms();
        assert_int_equal(livejoin_look(join, &t, true, NULL), 0);
        hang += cpu_ms() - before;
    }
    print_message("# %d nodes: %.0f ms of a processor in 1,000 s while all is "
                  "well, %.0f ms a look at a hang\n",
                  NODES, healthy, hang / 20);
    assert_int_equal(livejoin_found(join)->stuck.phase, HUNG_CONFIRMED);
    /* Looks that take long are rare, so that a slow machine may confirm the
     * hang before it was said to be slow. */
    lines = 1 + count(said, "step 0: no progress for ");
    assert_in_range(lines, 1, 2);
    assert_int_equal(count(said, "step 0 hangs, for "), 1);
    assert_int_equal(count(said, "rank 32767 (n4095 pid 7) never entered "
                                 "AllReduce 1000 of world"),
                     lines);
    livejoin_destroy(join);
    close(folder);
}

/* Two nodes of two ranks each, and a communicator tp on each node. Rank 3 of
 * the job, which is rank 1 of its tp, never enters operation 20; node 0's ranks
 * go on. */
static void put_tensor_node(int folder, uint32_t node, uint64_t now_ns)
{
    static struct live_snap snap;
    uint8_t bytes[LIVE_SNAP_BYTES];
    bool hangs = node == 1;
    uint64_t ended = hangs ? 20 : now_ns / 1000000;

    snap = (struct live_snap){.nodeid = node,
                              .sequence = (uint32_t) (now_ns / 1000000000),
                              .real_ns = now_ns,
                              .due_ms = 5000,
                              .class = hangs ? LIVE_WAITS : LIVE_WORKS,
                              .n_ranks = 2,
                              .n_comms = 1,
                              .comms = {{0xabc + node, 2, "tp"}},
                              .n_ops = hangs,
                              .ops = {{.peer = -1,
                                       .func = "AllGather",
                                       .seq = 20,
                                       .start_ns = (int64_t) JPR_MAKER_REAL_NS,
                                       .until_ns = (int64_t) now_ns,
                                       .limit_ns = 30000000000}}};
    snprintf(snap.node, sizeof(snap.node), "n%u", node);
    for (uint32_t i = 0; i < 2; i++) {
        bool waits = hangs && i == 0;

        snap.ranks[i] = (struct live_rank){.pid = 100 + 2 * node + i,
                                           .task = 2 * node + i,
                                           .state = waits   ? HUNG_WAITS
                                                    : hangs ? HUNG_OUTSIDE
                                                            : HUNG_MOVES,
                                           .busy = waits,
                                           .produced = ended + waits,
                                           .over = ended,
                                           .counted_ns = (int64_t) now_ns};
        snap.fronts[snap.n_fronts++] = (struct live_front){
            .rank = i, .comm_rank = i, .kind = JPR_N_OP_KINDS};
        snap.fronts[snap.n_fronts++] =
            (struct live_front){.rank = i,
                                .comm_rank = i,
                                .kind = JPR_COLL,
                                .func = "AllGather",
                                .begun = ended + waits,
                                .ended = ended};
    }
    livesnap_pack(&snap, bytes);
    put_file(folder, node, bytes);
}

/* A hang in a small communicator is reported while the others go on. The alert
 * names the rank as the report's card does, by its number in the job; its
 * number in the communicator stands in brackets. */
static void an_alert_names_the_rank_of_the_job(void **state)
{
    struct hung_times times;
    struct jp_onhang report = {.kind = ONHANG_REPORT};
    static char said[65536];
    const struct livejoin_place place = {.alert = {.dir = *state,
                                                   .job = 7,
                                                   .step = "0",
                                                   .on_hang = &report,
                                                   .log = put_log,
                                                   .log_arg = said},
                                         .nodes = 2,
                                         .times = &times};
    char *path = tempdir_path(*state, LIVE_ALERTS), *alerts = NULL;
    struct livejoin *join;
    int folder = open_nodes(*state);

    hung_times_set(&times, SUSPECT_MS);
    join = livejoin_create(&place);
    for (int now = 40; now < 200; now += 5) {
        const struct livejoin_time t = {at(now).real_ns, (uint64_t) now * 1000};

        put_tensor_node(folder, 0, t.real_ns);
        put_tensor_node(folder, 1, t.real_ns);
        assert_int_equal(livejoin_look(join, &t, true, NULL), 0);
    }
    assert_int_equal(livejoin_found(join)->stuck.phase, HUNG_CONFIRMED);
    /* no progress, and the hang */
    assert_int_equal(count(said, "rank 3 (n1 pid 103, rank 1 of the "
                                 "communicator) never entered AllGather 20 of "
                                 "tp"),
                     2);
    assert_int_equal(fileio_read(path, false, 65536, &alerts, NULL, NULL), 0);
    assert_int_equal(count(alerts, "\"rank\":1,\"world_rank\":3,"), 2);
    free(alerts);
    free(path);
    livejoin_destroy(join);
    close(folder);
}

/* A node has died after its last snapshot by UDP, and its file is older: the
 * file is not taken for news, and operations that have ended since do not hang.
 * The file of a restarted agent does count. */
static void an_older_file_is_no_news(void **state)
{
    struct hung_times times;
    struct jp_onhang report = {.kind = ONHANG_REPORT};
    static char said[65536];
    const struct livejoin_place place = {.alert = {.dir = *state,
                                                   .job = 7,
                                                   .step = "0",
                                                   .on_hang = &report,
                                                   .log = put_log,
                                                   .log_arg = said},
                                         .nodes = 2,
                                         .times = &times};
    uint8_t bytes[LIVE_SNAP_BYTES];
    size_t slot = SIZE_MAX, n;
    struct livejoin *join;
    int folder = open_nodes(*state);

    hung_times_set(&times, SUSPECT_MS);
    join = livejoin_create(&place);
    make_node(0, 1, at(50).real_ns, true, bytes); /* in flight at that time */
    put_file(folder, 0, bytes);
    n = make_node(0, 2, at(60).real_ns, false, bytes);
    assert_int_equal(livejoin_keep(join, 7, 0, &slot, bytes, n, 60000), 0);
    for (int now = 61; now < 600; now++) {
        const struct livejoin_time t = {at(now).real_ns, (uint64_t) now * 1000};

        assert_int_equal(livejoin_look(join, &t, true, NULL), 0);
        assert_int_equal(livejoin_found(join)->stuck.phase, HUNG_QUIET);
    }
    make_node(0, 1, at(600).real_ns, true, bytes); /* restarted */
    put_file(folder, 0, bytes);
    for (int now = 600; now < 700; now++) {
        const struct livejoin_time t = {at(now).real_ns, (uint64_t) now * 1000};

        assert_int_equal(livejoin_look(join, &t, true, NULL), 0);
    }
    assert_true(livejoin_found(join)->stuck.phase != HUNG_QUIET);
    livejoin_destroy(join);
    close(folder);
}

/* Two ranks with logs that grew last at that time. */
static void put_logs(int folder, uint64_t now_ns, uint64_t grown_ns)
{
    static struct live_snap snap;
    uint8_t bytes[LIVE_SNAP_BYTES];

    snap = (struct live_snap){.sequence = (uint32_t) (now_ns / 1000000000),
                              .real_ns = now_ns,
                              .due_ms = 5000,
                              .class = LIVE_WAITS,
                              .n_ranks = 2};
    snprintf(snap.node, sizeof(snap.node), "n0");
    for (uint32_t i = 0; i < 2; i++)
        snap.ranks[i] =
            (struct live_rank){.pid = i + 1,
                               .task = i,
                               .state = i ? HUNG_STOPPED : HUNG_NO_END,
                               .logs = true,
                               .longest_ms = 1000,
                               .counted_ns = (int64_t) grown_ns};
    livesnap_pack(&snap, bytes);
    put_file(folder, 0, bytes);
}

/* The line at the end says how long the logs were silent. */
static void a_stall_is_told_with_its_length(void **state)
{
    struct hung_times times;
    struct jp_onhang report = {.kind = ONHANG_REPORT};
    static char said[65536];
    const struct livejoin_place place = {.alert = {.dir = *state,
                                                   .job = 7,
                                                   .step = "0",
                                                   .on_hang = &report,
                                                   .log = put_log,
                                                   .log_arg = said},
                                         .nodes = 1,
                                         .times = &times};
    struct livejoin *join;
    int folder = open_nodes(*state);

    hung_times_set(&times, SUSPECT_MS);
    join = livejoin_create(&place);
    for (int now = 1; now < 320; now++) {
        const struct livejoin_time t = {at(now).real_ns, (uint64_t) now * 1000};

        put_logs(folder, t.real_ns, at(now < 300 ? 100 : now).real_ns);
        assert_int_equal(livejoin_look(join, &t, true, NULL), 0);
    }
    assert_int_equal(count(said, "\n"), 2);
    assert_int_equal(count(said, "step 0: no progress for "), 1);
    assert_true(count(said, "step 0 makes progress again after 19") +
                    count(said, "step 0 makes progress again after 20") ==
                1);
    livejoin_destroy(join);
    close(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_older_file_is_no_news, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(an_alert_names_the_rank_of_the_job,
                                        tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(a_stall_is_told_with_its_length,
                                        tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(joins_4096_nodes, tempdir_make,
                                        tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
