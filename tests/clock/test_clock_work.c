/* test_clock_work.c - clock modules of several nodes in one process, with real
 * sockets on the loopback and clocks that are shifted by known amounts.
 *
 * The checks must hold on a busy machine: lines must lie within their own
 * margins and uncertainties. tests/clock/spaces.test prints how exact they
 * are. */
#include "plugins/clock/clock_read.h"
#include "plugins/clock/clock_work.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fileio.h"
#include "orchestrator/aggregate/clocks.h"
#include "plugins/clock/clock_peers.h"
#include "tests/common/tempdir.h"

#define SECOND INT64_C(1000000000)
#define NODES 4

static const char *const names[] = {"n0", "n1", "n2", "n3"};

struct field {
    char *dir;
    int epoll;
    uint32_t n;
    struct clock_conf conf[NODES];
    struct clock_shift shift[NODES];
    struct module_place place[NODES];
    struct clock_work *works[NODES];
    char log[1000];
    int64_t began;
    /* What each module is told that it costs, as a part of a processor. 0: it
     * keeps its pace. */
    double share;
    /* a relay in front of node 0, through which other nodes' packets pass */
    int relay;
    struct sockaddr_in behind, asker;
    struct sockaddr_in also; /* gets a copy of each packet, if it has a port */
    unsigned lost_of_100, passed, dropped, copied;
    uint64_t wakeups; /* of all nodes */
    uint64_t seed;
};

static int64_t mono(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t) t.tv_sec * SECOND + t.tv_nsec;
}

static void take_log(void *arg, const char *line)
{
    struct field *f = arg;

    snprintf(f->log + strlen(f->log), sizeof(f->log) - strlen(f->log), "%s\n",
             line);
}

static void field_init(struct field *f, char *dir, uint32_t n)
{
    char *nodes = tempdir_path(dir, "nodes");

    *f = (struct field){.dir = dir, .n = n, .relay = -1, .began = mono()};
    f->epoll = epoll_create1(EPOLL_CLOEXEC);
    assert_int_equal(mkdir(nodes, 0700), 0);
    for (uint32_t i = 0; i < n; i++) {
        char *folder = text_format("%s/%s", nodes, names[i]);

        assert_int_equal(mkdir(folder, 0700), 0);
        free(folder);
        f->conf[i] = (struct clock_conf){.cadence_us = 20000,
                                         .window_ms = 1000,
                                         .spacing_us = 100,
                                         .snapshot_ms = 100,
                                         .net = {"lo", {1, 2, 3}}};
        f->shift[i] =
            (struct clock_shift){.offset_ns = (int64_t) (i * 3140000000u),
                                 .ppm = 12.5 * i,
                                 .from_ns = f->began};
        f->place[i] =
            (struct module_place){.dir = dir,
                                  .node = names[i],
                                  .job = 42,
                                  .step = "0",
                                  .disk_bytes = 1 << 20,
                                  .settings[OPTION_CLOCK] = &f->conf[i],
                                  .nodes = names,
                                  .n_nodes = n,
                                  .log = take_log,
                                  .log_arg = f};
    }
    free(nodes);
}

static void field_start(struct field *f)
{
    struct jp_error err = {""};

    for (uint32_t i = 0; i < f->n; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};

        f->works[i] = clock_work_create(&f->place[i], &f->shift[i], &err);
        if (!f->works[i])
            fail_msg("%s", err.text);
        assert_int_equal(epoll_ctl(f->epoll, EPOLL_CTL_ADD,
                                   clock_module.fd(f->works[i]), &event),
                         0);
    }
}

static void field_kill(struct field *f, uint32_t i)
{
    epoll_ctl(f->epoll, EPOLL_CTL_DEL, clock_module.fd(f->works[i]), NULL);
    clock_module.destroy(f->works[i]);
    f->works[i] = NULL;
}

/* Loses some packets of a hundred. */
static void pass_on(struct field *f)
{
    uint8_t bytes[200];
    struct sockaddr_in from;
    socklen_t len = sizeof(from);
    ssize_t n;

    while ((n = recvfrom(f->relay, bytes, sizeof(bytes), MSG_DONTWAIT,
                         (struct sockaddr *) &from, &len)) > 0) {
        const struct sockaddr_in *to = &f->behind;

        if (from.sin_port == f->behind.sin_port)
            to = &f->asker;
        else
            f->asker = from;
        f->seed = f->seed * 6364136223846793005u + 1442695040888963407u;
        if ((f->seed >> 33) % 100 < f->lost_of_100)
            f->dropped++;
        else
            (void) !sendto(f->relay, bytes, (size_t) n, 0,
                           (const struct sockaddr *) to, sizeof(*to));
        if (f->also.sin_port)
            f->copied += sendto(f->relay, bytes, (size_t) n, 0,
                                (const struct sockaddr *) &f->also,
                                sizeof(f->also)) == n;
        f->passed++;
        len = sizeof(from);
    }
}

static void field_run(struct field *f, int64_t ns)
{
    int64_t end = mono() + ns;
    struct epoll_event events[8];
    struct jp_error err = {""};

    while (mono() < end) {
        struct module_time cost = {
            .module_us =
                (uint64_t) (f->share * (double) (mono() - f->began) / 1000)};
        int64_t left_ms = (end - mono()) / 1000000;
        int n = epoll_wait(f->epoll, events, 8,
                           left_ms < 0    ? 0
                           : left_ms < 20 ? (int) left_ms
                                          : 20);

        for (int i = 0; i < n; i++)
            if (events[i].data.u32 == NODES)
                pass_on(f);
            else if (f->wakeups++,
                     f->works[events[i].data.u32] &&
                         clock_module.tick(f->works[events[i].data.u32], &cost,
                                           &err) < 0)
                fail_msg("%s", err.text);
    }
}

static void field_end(struct field *f)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (f->works[i]) {
            clock_module.finish(f->works[i]);
            field_kill(f, i);
        }
    if (f->relay >= 0)
        close(f->relay);
    close(f->epoll);
}

static void read_windows(const struct field *f, struct clockprobes *probes)
{
    char *nodes = tempdir_path(f->dir, "nodes");

    assert_int_equal(clock_probes_read(nodes, probes), 0);
    assert_int_equal(probes->n_files, f->n);
    assert_int_equal(probes->bad_files, 0);
    for (size_t i = 0; i < probes->n_files; i++)
        assert_int_equal(probes->files[i].bad_lines, 0);
    free(nodes);
}

/* The truth: the time at which the shifted clock of node i shows t. */
static int64_t shifted(const struct field *f, uint32_t of, uint32_t by,
                       int64_t t)
{
    const struct clock_shift *s = &f->shift[by];
    double machine = (double) (t - s->offset_ns - s->from_ns) /
                     (1 + s->ppm * 1e-6);

    return clock_shift_apply(&f->shift[of], s->from_ns + llround(machine));
}

/* Every line lies within its margin, and nearly always within its
 * uncertainty. */
static void check_windows(const struct field *f,
                          const struct clockprobes *probes, unsigned least)
{
    unsigned windows = 0, beyond = 0;

    for (size_t i = 0; i < probes->n_edges; i++)
        for (size_t k = 0; k < probes->edges[i].n; k++) {
            const struct clock_window *w = &probes->edges[i].windows[k];
            int64_t at = w->start_ns + (w->end_ns - w->start_ns) / 2;
            int64_t found = w->beta_ns +
                            llround(w->slope * (double) (at - w->start_ns));
            int64_t truth =
                shifted(f, probes->edges[i].to, probes->edges[i].from, at) - at;
            double by = fabs((double) (found - truth));

            if (by > 2 * w->margin_ns + 1000)
                fail_msg("%s of %s: %.0f ns off, margin %.0f",
                         names[probes->edges[i].from],
                         names[probes->edges[i].to], by, w->margin_ns);
            beyond += by > 3 * w->unc_ns + w->margin_ns;
            windows++;
        }
    if (windows < least || beyond * 10 > windows)
        fail_msg("%u windows, %u beyond", windows, beyond);
}

/* The map, compared with true times. */
static void check_map(const struct field *f, const struct clockprobes *probes,
                      size_t reference, uint32_t but)
{
    struct clockmap map;

    assert_int_equal(clockprobes_map(probes, names, f->n, reference, &map), 0);
    assert_int_equal(map.method, CLOCKMAP_PROBES);
    assert_int_equal(map.reference, reference);
    for (uint32_t i = 0; i < f->n; i++) {
        const struct clockmap_node *node = &map.nodes[i];

        assert_string_equal(node->host, names[i]);
        assert_int_equal(node->aligned, i != but);
        for (size_t k = 0; k < node->n_points; k++) {
            /* there is no step here: the wall clock is the machine's, shifted
             * in the same way */
            int64_t ahead, mono_ns, truth;

            assert_true(clock_file_wall(&probes->files[i], 0, &ahead));
            mono_ns = node->points[k].t_ns - ahead;
            truth = mono_ns - shifted(f, (uint32_t) reference, i, mono_ns);
            if (fabs((double) (node->points[k].offset_ns - truth)) >
                5 * node->points[k].unc_ns + 20000)
                fail_msg("%s: %.0f ns off", names[i],
                         (double) (node->points[k].offset_ns - truth));
        }
    }
    clockmap_fini(&map);
}

static void shifted_clocks(void **state)
{
    struct clockprobes probes;
    struct field f;

    field_init(&f, *state, NODES);
    field_start(&f);
    field_run(&f, SECOND);
    f.wakeups = 0;
    field_run(&f, 5 * SECOND);
    /* two beats and a spacing in 20 ms, of 4 nodes; with a wake-up for each
     * packet there would be three times as many */
    assert_true(f.wakeups < 4 * 5 * 150 + 100);
    field_end(&f);
    read_windows(&f, &probes);
    assert_int_equal(probes.n_edges, 6);
    check_windows(&f, &probes, 12);
    check_map(&f, &probes, 0, NODES);
    check_map(&f, &probes, 2, NODES);
    clockprobes_fini(&probes);
}

/* Without the kernel's stamps. */
static void user_stamps(void **state)
{
    struct clockprobes probes;
    struct field f;

    field_init(&f, *state, 2);
    f.shift[0].user_stamps = f.shift[1].user_stamps = true;
    field_start(&f);
    field_run(&f, 4 * SECOND);
    field_end(&f);
    read_windows(&f, &probes);
    assert_int_equal(probes.n_edges, 1);
    assert_true(probes.edges[0].windows[0].user_stamps);
    check_windows(&f, &probes, 1);
    clockprobes_fini(&probes);
}

/* The wall clock of a node is set by 5 s: lines go on, and the map has the
 * step. */
static void wall_is_set(void **state)
{
    struct clockprobes probes;
    const struct clockmap_node *node;
    struct clockmap map;
    struct field f;
    int64_t before, after;

    field_init(&f, *state, 2);
    f.shift[1].step_at_ns = f.began + 3 * SECOND;
    f.shift[1].step_ns = 5 * SECOND;
    f.shift[1].offset_ns = 0;
    field_start(&f);
    field_run(&f, 6 * SECOND);
    field_end(&f);
    read_windows(&f, &probes);
    check_windows(&f, &probes, 3);
    assert_non_null(strstr(f.log, "n1 was set by 5.000"));
    assert_int_equal(probes.files[1].n_walls, 2);
    assert_true(probes.files[1].walls[1].is_set);
    assert_int_equal(probes.files[0].n_walls, 1);
    assert_int_equal(clockprobes_map(&probes, names, 2, 0, &map), 0);
    node = &map.nodes[1];
    before = clockmap_offset_ns(node, node->points[0].t_ns);
    after = clockmap_offset_ns(node, node->points[node->n_points - 1].t_ns);
    assert_true(llabs(before) < 1000000);
    assert_true(llabs(after - 5 * SECOND) < 1000000);
    /* the step is where it was: 10 ms before and behind it. The first offset is
     * 0, so that machine and node show the same until then */
    {
        struct timespec t;
        int64_t real;

        clock_gettime(CLOCK_REALTIME, &t);
        real = (int64_t) t.tv_sec * SECOND + t.tv_nsec - mono() +
               f.shift[1].step_at_ns;
        assert_true(llabs(clockmap_offset_ns(node, real - 100000000)) <
                    1000000);
        assert_true(
            llabs(clockmap_offset_ns(node, real + 5 * SECOND + 1000000000) -
                  5 * SECOND) < 1000000);
    }
    clockmap_fini(&map);
    clockprobes_fini(&probes);
}

/* One node ends in the middle, another one has a wrong key: the others find
 * each other, and the map lists the nodes that it does not have. */
static void killed_and_foreign(void **state)
{
    struct clockprobes probes;
    struct field f;

    field_init(&f, *state, NODES);
    f.conf[3].net.key[0] ^= 1;
    field_start(&f);
    field_run(&f, 3 * SECOND);
    field_kill(&f, 2);
    field_run(&f, 3 * SECOND);
    field_end(&f);
    read_windows(&f, &probes);
    assert_int_equal(probes.n_edges, 3);
    check_windows(&f, &probes, 5);
    check_map(&f, &probes, 0, 3);
    clockprobes_fini(&probes);
}

static int read_peer(const char *dir, struct peer_place *peer)
{
    char *path = tempdir_path(dir, "nodes/n0/" CLOCK_PEER_FILE);
    int rc = peer_read_file(path, peer, NULL);

    free(path);
    return rc;
}

static int write_peer(const char *dir, const struct peer_place *peer)
{
    char *path = tempdir_path(dir, "nodes/n0/" CLOCK_PEER_FILE);
    int rc = peer_write_file(path, peer, NULL);

    free(path);
    return rc;
}

/* Puts the relay in front of node 0 by changing its peer file. */
static void field_relay(struct field *f)
{
    struct sockaddr_in own = {.sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = NODES};
    socklen_t len = sizeof(own);
    struct peer_place peer;

    f->relay = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(f->relay, (struct sockaddr *) &own, sizeof(own)), 0);
    assert_int_equal(getsockname(f->relay, (struct sockaddr *) &own, &len), 0);
    assert_int_equal(read_peer(f->dir, &peer), 0);
    f->behind = own;
    f->behind.sin_port = htons(peer.port);
    peer.port = ntohs(own.sin_port);
    snprintf(peer.addresses[0].address, PEER_ADDRESS_LEN, "127.0.0.1");
    peer.n_addresses = 1;
    assert_int_equal(write_peer(f->dir, &peer), 0);
    epoll_ctl(f->epoll, EPOLL_CTL_ADD, f->relay, &event);
}

/* Two steps at the same time on the same nodes, with different shifts. The
 * first node of the second step also gets every packet of the first step. Each
 * step finds its own clocks. */
static void two_steps(void **state)
{
    struct clockprobes probes;
    struct peer_place peer;
    struct field steps[2];
    struct field *a = &steps[0], *b = &steps[1];
    char *dirs[2];

    for (int i = 0; i < 2; i++) {
        dirs[i] = tempdir_path(*state, i ? "b" : "a");
        assert_int_equal(mkdir(dirs[i], 0700), 0);
        field_init(&steps[i], dirs[i], 2);
    }
    b->shift[1].offset_ns = -7 * SECOND;
    b->shift[1].ppm = -30;
    for (uint32_t i = 0; i < 2; i++) {
        b->place[i].step = "1";
        b->conf[i].net.key[0] ^= 0x55; /* srun makes a key for each step */
    }
    field_start(a);
    field_start(b);
    assert_int_equal(read_peer(b->dir, &peer), 0);
    a->also = (struct sockaddr_in){.sin_family = AF_INET,
                                   .sin_port = htons(peer.port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    field_relay(a);
    for (int64_t end = mono() + 5 * SECOND; mono() < end;) {
        field_run(a, 2000000);
        field_run(b, 2000000);
    }
    assert_true(a->copied > 20);
    for (int i = 0; i < 2; i++) {
        field_end(&steps[i]);
        read_windows(&steps[i], &probes);
        assert_int_equal(probes.n_edges, 1);
        check_windows(&steps[i], &probes, 1);
        check_map(&steps[i], &probes, 0, UINT32_MAX);
        clockprobes_fini(&probes);
        free(dirs[i]);
    }
}

/* A relay that loses a third of the packets. */
static void relayed(void **state)
{
    struct clockprobes probes;
    struct field f;

    field_init(&f, *state, 2);
    f.conf[0].window_ms = f.conf[1].window_ms = 4000;
    field_start(&f);
    f.lost_of_100 = 30;
    field_relay(&f);
    field_run(&f, 8 * SECOND);
    field_end(&f);
    assert_true(f.dropped > 20);
    read_windows(&f, &probes);
    assert_true(probes.failures > 10);
    check_windows(&f, &probes, 1);
    clockprobes_fini(&probes);
}

/* A neighbour that starts late is found. */
/* A node that costs too much asks less often, down to what a long window needs,
 * and its neighbour follows; the files and the log say so. */
static void keeps_its_budget(void **state)
{
    struct clockprobes probes;
    struct field f;
    uint32_t slowest = 0;

    field_init(&f, *state, 2);
    for (int i = 0; i < 2; i++) {
        f.conf[i].cadence_us = 800;
        f.conf[i].cpu_permille = 5;
    }
    f.share = 0.03; /* whatever the cadence is */
    field_start(&f);
    field_run(&f, 12 * SECOND);
    field_end(&f);
    read_windows(&f, &probes);
    check_windows(&f, &probes, 1);
    assert_int_equal(probes.wanted_us, 800);
    assert_int_equal(probes.cpu_permille, 5);
    assert_true(probes.paced >= 2);
    for (size_t i = 0; i < probes.n_edges; i++)
        for (size_t k = 0; k < probes.edges[i].n; k++)
            if (probes.edges[i].windows[k].cadence_us > slowest)
                slowest = probes.edges[i].windows[k].cadence_us;
    /* four windows of a second for sixteen exchanges */
    assert_int_equal(slowest, 250000);
    assert_non_null(strstr(f.log, "probed every 250.0 ms in the end, not every "
                                  "0.8 ms, to take no more than 0.5 % of a "
                                  "processor"));
    clockprobes_fini(&probes);
}

/* Within its budget a node asks as often as requested. */
static void is_within_its_budget(void **state)
{
    struct clockprobes probes;
    struct field f;

    field_init(&f, *state, 2);
    for (int i = 0; i < 2; i++) {
        f.conf[i].cadence_us = 10000;
        f.conf[i].cpu_permille = 50;
    }
    f.share = 0.001;
    field_start(&f);
    field_run(&f, 10 * SECOND);
    field_end(&f);
    read_windows(&f, &probes);
    assert_int_equal(probes.edges[0].windows[probes.edges[0].n - 1].cadence_us,
                     10000);
    assert_null(strstr(f.log, "probed every"));
    clockprobes_fini(&probes);
}

static void late_peer(void **state)
{
    struct clock_work *late;
    struct clockprobes probes;
    struct field f;

    field_init(&f, *state, 2);
    f.n = 1;
    field_start(&f);
    field_run(&f, 2 * SECOND);
    f.n = 2;
    late = clock_work_create(&f.place[1], &f.shift[1], NULL);
    assert_non_null(late);
    f.works[1] = late;
    epoll_ctl(f.epoll, EPOLL_CTL_ADD, clock_module.fd(late),
              &(struct epoll_event){.events = EPOLLIN, .data.u32 = 1});
    field_run(&f, 4 * SECOND);
    field_end(&f);
    read_windows(&f, &probes);
    assert_int_equal(probes.n_edges, 1);
    check_windows(&f, &probes, 1);
    clockprobes_fini(&probes);
}

static uint64_t cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t) t.tv_sec * 1000000 + (uint64_t) t.tv_nsec / 1000;
}

/* Packets of all sizes, and as many as the machine can send: exchanges go on
 * before and afterwards, and no call takes long. */
static void flood(void **state)
{
    static uint8_t bytes[65507];
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct clockprobes probes;
    struct peer_place peer;
    const struct module_time no_cost = {.module_us = 0};
    struct jp_error err;
    uint64_t spent = 0;
    struct field f;

    field_init(&f, *state, 2);
    field_start(&f);
    field_run(&f, 2 * SECOND);
    assert_int_equal(read_peer(f.dir, &peer), 0);
    to.sin_port = htons(peer.port);
    for (size_t n = 0; n <= sizeof(bytes); n += n < 200 ? 1 : 997) {
        (void) !sendto(s, bytes, n, 0, (struct sockaddr *) &to, sizeof(to));
        if (n % 20 == 0)
            field_run(&f, 1000000);
    }
    for (int i = 0; i < 20000; i++) {
        uint64_t before;

        (void) !sendto(s, bytes, 80, MSG_DONTWAIT, (struct sockaddr *) &to,
                       sizeof(to));
        before = cpu_us();
        if (i % 64 == 0)
            assert_int_equal(clock_module.tick(f.works[0], &no_cost, &err), 0);
        spent += cpu_us() - before;
    }
    /* a thousand bad packets a second are read, not 20,000 */
    assert_true(spent < 1000000);
    close(s);
    field_run(&f, 4 * SECOND);
    field_end(&f);
    read_windows(&f, &probes);
    check_windows(&f, &probes, 2);
    clockprobes_fini(&probes);
}

/* The module does not run, and says why. */
static void refused(void **state)
{
    struct jp_error err = {"x"};
    struct field f;

    field_init(&f, *state, 2);
    f.place[0].n_nodes = 1;
    assert_null(clock_work_create(&f.place[0], NULL, &err));
    assert_string_equal(err.text, "");
    f.place[0].n_nodes = 2;
    f.conf[0].cadence_us = 0;
    assert_null(clock_work_create(&f.place[0], NULL, &err));
    assert_string_equal(err.text, "");
    f.place[0].settings[OPTION_CLOCK] = NULL;
    assert_null(clock_work_create(&f.place[0], NULL, &err));
    assert_string_equal(err.text, "");
    f.place[1].node = "n9";
    assert_null(clock_work_create(&f.place[1], NULL, &err));
    assert_non_null(strstr(err.text, "list"));
    f.place[1].node = "n1";
    strcpy(f.conf[1].net.interfaces, "=nothing");
    assert_null(clock_work_create(&f.place[1], NULL, &err));
    assert_non_null(strstr(err.text, "nothing"));
    strcpy(f.conf[1].net.interfaces, "lo");
    f.place[1].dir = "/proc/no-such-folder";
    assert_null(clock_work_create(&f.place[1], NULL, &err));
    assert_non_null(strstr(err.text, "clock.jsonl"));
    f.n = 0;
    field_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shifted_clocks, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(user_stamps, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(wall_is_set, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(killed_and_foreign, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(two_steps, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(relayed, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(keeps_its_budget, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(is_within_its_budget, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(late_peer, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(flood, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(refused, tempdir_make, tempdir_drop),
    };

    return cmocka_run_group_tests_name("clock_work", tests, NULL, NULL);
}
