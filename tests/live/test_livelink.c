/* test_livelink.c - the agents' modules of two nodes that exchange snapshots by
 * UDP, over a network that loses, repeats and rejects packets. Clocks are the
 * test's; sockets are real. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/fileio.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/live/live.h"
#include "orchestrator/live/livelink.h"
#include "plugins/peers.h"
#include "tests/common/tempdir.h"
#include "tests/live/growtask.h"

#define HASH "0123456789abcdef00"
#define SUSPECT_MS 30000
#define UDP_MOST 65507

static const struct module_net lo = {.interfaces = "lo", .key = {1, 2, 3}};

/* Two nodes, and a relay in front of node 0's agent. */
struct step {
    const char *root;
    char *dir;
    struct jp_onhang on_hang;
    const struct module_net *nets[2]; /* NULL: agents do not talk */
    struct task tasks[2];
    void *nodes[2];
    bool waits; /* node 0's task is in an operation that has not ended */
    double since;
    char log[65536];
    unsigned failures;
    int relay;
    struct sockaddr_in behind, asker;
    enum { PASS, DROP, DROP_SOME, TWICE } how;
    unsigned seen;
};

static void put_log(void *arg, const char *line)
{
    struct step *s = arg;
    size_t used = strlen(s->log);

    snprintf(s->log + used, sizeof(s->log) - used, "%s\n", line);
}

static void *start_node(struct step *s, unsigned i)
{
    static const char *const names[] = {"n0", "n1"};
    const struct module_place place = {.dir = s->dir,
                                       .node = names[i],
                                       .root = s->root,
                                       .job = 7,
                                       .step = "0",
                                       .nodeid = i,
                                       .step_nodes = 2,
                                       .component = 7,
                                       .leads = i == 0,
                                       .records_live = true,
                                       .net = s->nets[i],
                                       .hang_suspect_ms = SUSPECT_MS,
                                       .on_hang = &s->on_hang,
                                       .conf_hash = HASH,
                                       .log = put_log,
                                       .log_arg = s};

    return live_module.start(&place, NULL);
}

static void begin(struct step *s, void **state, const struct module_net *zero,
                  const struct module_net *one)
{
    struct sockaddr_in own = {.sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    memset(s, 0, sizeof(*s));
    s->root = *state;
    s->nets[0] = zero;
    s->nets[1] = one;
    s->dir = tempdir_path(*state, "job/step-0");
    assert_int_equal(onhang_parse("report", NULL, &s->on_hang, NULL), 0);
    for (unsigned i = 0; i < 2; i++) {
        char *raw = tempdir_path(s->dir, i ? "raw/n1" : "raw/n0"), *proc;
        char name[32];

        assert_int_equal(fileio_mkdirs(raw, NULL), 0);
        snprintf(name, sizeof(name), "proc/500%u", i);
        proc = tempdir_path(*state, name);
        assert_int_equal(fileio_mkdirs(proc, NULL), 0);
        free(tempdir_file(proc, "stat", 0600,
                          i ? "5001 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 5 "
                              "0 777 0 0\n"
                            : "5000 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 5 "
                              "0 777 0 0\n"));
        tempdir_status(*state, 5000 + i, geteuid(), "");
        task_begin(&s->tasks[i], raw, 5000 + i, i);
        s->nodes[i] = start_node(s, i);
        assert_non_null(s->nodes[i]);
        free(proc);
        free(raw);
    }
    s->relay = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(
        bind(s->relay, (const struct sockaddr *) &own, sizeof(own)), 0);
}

/* From now on node 1 finds the relay in place of node 0's agent. */
static void use_relay(struct step *s)
{
    char *path = tempdir_path(s->dir, "live/nodes/" LIVEPACKET_PEER);
    struct sockaddr_in own;
    socklen_t len = sizeof(own);
    struct peer_place peer;

    assert_int_equal(peer_read_file(path, &peer, NULL), 0);
    s->behind = (struct sockaddr_in){.sin_family = AF_INET,
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                     .sin_port = htons(peer.port)};
    getsockname(s->relay, (struct sockaddr *) &own, &len);
    peer.port = ntohs(own.sin_port);
    assert_int_equal(peer_write_file(path, &peer, NULL), 0);
    free(path);
}

static void pass_on(struct step *s)
{
    uint8_t bytes[UDP_MOST];
    struct sockaddr_in from;
    socklen_t len = sizeof(from);
    ssize_t n;

    while ((n = recvfrom(s->relay, bytes, sizeof(bytes), 0,
                         (struct sockaddr *) &from, &len)) >= 0) {
        bool answer = from.sin_port == s->behind.sin_port;
        const struct sockaddr_in *to = answer ? &s->asker : &s->behind;

        if (!answer)
            s->asker = from;
        s->seen++;
        for (int i = s->how == DROP || (s->how == DROP_SOME && s->seen % 3 == 0)
                         ? 2
                     : s->how == TWICE ? 0
                                       : 1;
             i < 2; i++)
            (void) !sendto(s->relay, bytes, (size_t) n, 0,
                           (const struct sockaddr *) to, sizeof(*to));
    }
}

static void tick(struct step *s, unsigned i, double now)
{
    struct livenode_time t = at(now);
    const struct module_time time = {.real_us = t.real_ns / 1000,
                                     .mono_us = t.mono_ns / 1000};

    s->failures += live_module.tick(s->nodes[i], &time, NULL) < 0;
}

static void run(struct step *s, int from, int to)
{
    for (int now = from; now < to; now++)
        for (unsigned i = 0; i < 2; i++) {
            struct task *t = &s->tasks[i];

            if (s->waits && i == 0)
                task_hangs(t, s->since, now);
            else if (!s->waits)
                task_op(t, now, 0.2);
            task_counters(t, now, false);
            task_show(t, 0);
            if (s->nodes[i])
                tick(s, i, now + 0.5);
            pass_on(s);
        }
}

static void end(struct step *s)
{
    for (unsigned i = 0; i < 2; i++) {
        if (s->nodes[i]) {
            live_module.finish(s->nodes[i]);
            live_module.destroy(s->nodes[i]);
        }
        task_end(&s->tasks[i]);
    }
    close(s->relay);
    free(s->dir);
}

/* A number that the module writes to agent.json. */
static int64_t number_of(const struct step *s, unsigned i, const char *name)
{
    struct jp_json_stream *stream = calloc(1, sizeof(*stream));
    char *text = NULL, key[64], *found;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    int64_t value;

    json_stream_open(stream, JSON_FILE, out);
    live_module.record(s->nodes[i], stream);
    assert_int_equal(json_stream_close(stream, NULL), 0);
    fclose(out);
    snprintf(key, sizeof(key), "\"%s\"", name);
    found = strstr(text, key);
    value =
        found ? strtoll(found + strlen(key) + strspn(found + strlen(key), ": "),
                        NULL, 10)
              : -1;
    free(text);
    free(stream);
    return value;
}

static struct live_snap *file_of(const struct step *s, unsigned i)
{
    static struct live_snap snap;
    char *path =
        tempdir_path(s->dir, i ? "live/nodes/7.1.snap" : "live/nodes/7.0.snap");

    assert_int_equal(livesnap_read(AT_FDCWD, path, &snap, NULL), 0);
    free(path);
    return &snap;
}

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;

    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

static uint64_t size_of(const struct step *s, const char *name)
{
    char *path = tempdir_path(s->dir, name);
    struct stat st = {.st_size = 0};

    (void) !stat(path, &st);
    free(path);
    return (uint64_t) st.st_size;
}

/* The hang is found, and rank 1 of node 1 is named as missing. */
static void must_find_the_hang(struct step *s, int from)
{
    assert_string_equal(s->log, "");
    s->waits = true;
    s->since = from;
    run(s, from, from + 240);
    assert_int_equal(count(s->log, "step 0 hangs"), 1);
    assert_int_equal(count(s->log, "rank 1 (n1 pid 5001) never entered"), 2);
    assert_int_equal(count(s->log, "\n"), 2);
}

/* Snapshots come by UDP; the file is written less often, but at once if
 * somebody watches. */
static void files_are_rarer(void **state)
{
    static struct step s;
    struct live_snap *snap;
    int64_t files;

    begin(&s, state, &lo, &lo);
    run(&s, 1, 600);
    /* 20 periods of 30 s: the first two are files, because the agent's address
     * is unknown at first */
    assert_in_range(number_of(&s, 1, "udp_sent"), 18, 22);
    assert_in_range(number_of(&s, 1, "files"), 9, 13);
    assert_int_equal(number_of(&s, 1, "udp_lost"), 0);
    assert_int_equal(number_of(&s, 1, "udp_refused"), 0);
    assert_int_equal(number_of(&s, 0, "udp_taken"),
                     number_of(&s, 1, "udp_answered"));
    assert_in_range(number_of(&s, 0, "udp_taken"), 18, 22);
    assert_in_range(number_of(&s, 0, "files"), 18,
                    22); /* the file of node 0 itself */
    snap = file_of(&s, 1);
    assert_int_equal(snap->due_ms,
                     60000); /* readers of the file are not misled */
    files = number_of(&s, 1, "files");
    free(tempdir_file(s.dir, "live/live.want", 0600, ""));
    run(&s, 600, 650);
    assert_in_range(number_of(&s, 1, "files") - files, 8, 12);
    assert_int_equal(file_of(&s, 1)->due_ms, 5000);
    assert_int_equal(file_of(&s, 1)->sequence, number_of(&s, 1, "snapshots"));
    must_find_the_hang(&s, 650);
    assert_int_equal(live_module.bytes(s.nodes[0]),
                     LIVE_BLOCK_BYTES + size_of(&s, LIVE_ALERTS) +
                         size_of(&s, LIVE_WANT));
    assert_true(size_of(&s, LIVE_ALERTS) > 0);
    assert_int_equal(live_module.bytes(s.nodes[1]), LIVE_BLOCK_BYTES);
    live_module.finish(s.nodes[1]);
    assert_int_equal(file_of(&s, 1)->last, true);
    end(&s);
    assert_int_equal(s.failures, 0);
}

/* Where agents do not talk to each other a node does not use UDP, and nothing
 * is missing. */
static void works_without_clocks(void **state)
{
    const struct module_net *const rows[][2] = {
        {NULL, NULL}, {&lo, NULL}, {NULL, &lo}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        static struct step s;
        char *path;

        begin(&s, state, rows[i][0], rows[i][1]);
        run(&s, 1, 300);
        assert_in_range(number_of(&s, 1, "files"), 9, 12);
        assert_int_equal(number_of(&s, 1, "udp_sent"),
                         rows[i][1] == &lo ? 0 : -1);
        path = tempdir_path(s.dir, "live/nodes/" LIVEPACKET_PEER);
        assert_int_equal(access(path, F_OK), rows[i][0] == &lo ? 0 : -1);
        must_find_the_hang(&s, 300);
        end(&s);
        assert_int_equal(s.failures, 0);
        free(path);
        assert_int_equal(fileio_remove_tree(*state, NULL), 0);
        assert_int_equal(mkdir(*state, 0700), 0);
    }
}

/* A network that loses some packets, repeats all, or is blocked: no false
 * alarm, and the hang is found. */
static void holds_on_bad_networks(void **state)
{
    for (int how = DROP; how <= TWICE; how++) {
        static struct step s;

        void *one;

        begin(&s, state, &lo, &lo);
        one = s.nodes[1]; /* it starts a bit later, and finds the relay */
        s.nodes[1] = NULL;
        run(&s, 1, 2);
        use_relay(&s);
        s.nodes[1] = one;
        s.how = how;
        run(&s, 2, 1000);
        assert_string_equal(s.log, "");
        if (how == DROP) {
            assert_int_equal(number_of(&s, 0, "udp_taken"), 0);
            assert_in_range(number_of(&s, 1, "files"), 32, 40);
            assert_in_range(number_of(&s, 1, "udp_sent"), 2, 12);
        } else {
            assert_true(number_of(&s, 0, "udp_taken") > 10);
        }
        if (how == TWICE)
            assert_true(number_of(&s, 0, "udp_refused") > 10);
        must_find_the_hang(&s, 1000);
        end(&s);
        assert_int_equal(s.failures, 0);
        assert_int_equal(fileio_remove_tree(*state, NULL), 0);
        assert_int_equal(mkdir(*state, 0700), 0);
    }
}

/* With the key of another step it is as if the port were blocked. */
static void holds_with_another_key(void **state)
{
    struct module_net other = lo;
    static struct step s;

    other.key[5] ^= 0x40;
    begin(&s, state, &lo, &other);
    run(&s, 1, 300);
    assert_int_equal(number_of(&s, 0, "udp_taken"), 0);
    assert_true(number_of(&s, 0, "udp_refused") > 0);
    assert_in_range(number_of(&s, 1, "files"), 9, 14);
    must_find_the_hang(&s, 300);
    end(&s);
    assert_int_equal(s.failures, 0);
}

/* The joining agent is killed: from the next snapshot on files take over, at
 * the pace that they have without UDP. */
static void files_take_over(void **state)
{
    static struct step s;
    int64_t files, sent;
    int now = 300;

    begin(&s, state, &lo, &lo);
    run(&s, 1, now);
    for (files = number_of(&s, 1, "files"); number_of(&s, 1, "files") == files;
         now++)
        run(&s, now, now + 1);
    run(&s, now, now + 2); /* it is answered */
    now += 2;
    live_module.destroy(s.nodes[0]);
    s.nodes[0] = NULL;
    files = number_of(&s, 1, "files");
    sent = number_of(&s, 1, "udp_sent");
    for (; number_of(&s, 1, "udp_sent") == sent; now++)
        run(&s, now, now + 1);
    assert_int_equal(number_of(&s, 1, "files"), files);
    run(&s, now, now + 6); /* a lost snapshot is in the file 4 s later */
    now += 6;
    assert_int_equal(number_of(&s, 1, "udp_lost"), 1);
    assert_int_equal(number_of(&s, 1, "udp_sent"), sent + 1);
    assert_int_equal(number_of(&s, 1, "files"), files + 1);
    assert_int_equal(file_of(&s, 1)->sequence, number_of(&s, 1, "snapshots"));
    files = number_of(&s, 1, "files");
    run(&s, now, now + 300);
    assert_in_range(number_of(&s, 1, "files") - files, 9, 11);
    assert_int_equal(file_of(&s, 1)->due_ms, 30000);
    assert_string_equal(s.log, "");
    assert_int_equal(s.failures, 0);
    end(&s);
}

/* The step directory is full: snapshots still come by UDP, the error is
 * reported, and nothing blocks. */
static void disk_is_full(void **state)
{
    static struct step s;
    char *path;

    begin(&s, state, &lo, &lo);
    run(&s, 1, 40);
    /* node 1 can no longer write */
    path = tempdir_path(s.dir, "live/nodes/7.1.snap");
    live_module.destroy(s.nodes[1]);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    sleep(1); /* agents that start in the same second cannot be distinguished */
    s.nodes[1] = start_node(&s, 1);
    run(&s, 40, 400);
    assert_true(s.failures > 0);
    assert_true(number_of(&s, 1, "udp_answered") >= 1);
    assert_string_equal(s.log, "");
    end(&s);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define IN_FOLDER(test)                                                        \
    cmocka_unit_test_setup_teardown(test, tempdir_make, tempdir_drop)
        IN_FOLDER(files_are_rarer),       IN_FOLDER(works_without_clocks),
        IN_FOLDER(holds_on_bad_networks), IN_FOLDER(holds_with_another_key),
        IN_FOLDER(files_take_over),       IN_FOLDER(disk_is_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
