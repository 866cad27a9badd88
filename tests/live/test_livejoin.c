/* test_livejoin.c - node 0 joins the words of 4,096 nodes: time, and who is
 * named. */
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

/* Rank 8 * node + i; the last of all never enters operation 1000. */
static void put_node(int folder, uint32_t node, uint64_t now_ns, bool hangs)
{
    static struct live_snap snap;
    uint8_t bytes[LIVE_SNAP_BYTES];
    char name[64];
    FILE *f;
    int fd;

    snap = (struct live_snap){.nodeid = node,
                              .sequence = (uint32_t) (now_ns / 1000000000),
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
                               .state = in ? STUCK_WAITS : STUCK_OUTSIDE,
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
    livesnap_pack(&snap, bytes);
    snprintf(name, sizeof(name), "7.%u.snap", node);
    fd = openat(folder, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    f = fdopen(fd, "w");
    assert_int_equal(fwrite(bytes, 1, sizeof(bytes), f), sizeof(bytes));
    fclose(f);
}

static double cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

static void joins_4096_nodes(void **state)
{
    struct stuck_times times;
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
    char *path;
    int folder;

    path = tempdir_path(*state, "live/nodes");
    assert_int_equal(fileio_mkdirs(path, NULL), 0);
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(path);
    stuck_times_set(&times, SUSPECT_MS);
    join = livejoin_create(&place);
    for (uint32_t i = 0; i < NODES; i++)
        put_node(folder, i, at(1).real_ns, false);
    healthy = cpu_ms();
    for (int now = 1; now < 1000; now++) {
        const struct livejoin_time t = {at(now).real_ns, (uint64_t) now * 1000};

        assert_int_equal(livejoin_look(join, &t, false, NULL), 0);
    }
    healthy = cpu_ms() - healthy;
    assert_int_equal(livejoin_state(join)->phase, STUCK_QUIET);
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
    assert_int_equal(livejoin_state(join)->phase, STUCK_CONFIRMED);
    assert_int_equal(count(said, "rank 32767 (n4095 pid 7) never entered "
                                 "AllReduce 1000 of world"),
                     2);
    livejoin_destroy(join);
    close(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(joins_4096_nodes, tempdir_make,
                                        tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
