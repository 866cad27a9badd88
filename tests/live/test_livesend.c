/* test_livesend.c - snapshots by UDP to node 0's agent: packets, and both ends
 * on the loopback. Clocks are the test's; sockets are real. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/fileio.h"
#include "orchestrator/live/livejoin.h"
#include "orchestrator/live/livelink.h"
#include "plugins/peers.h"
#include "tests/common/skip.h"
#include "tests/common/tempdir.h"
#include "tests/live/growtask.h"

#define HASH "0123456789abcdef00"
#define SUSPECT_MS 30000
#define UDP_MOST 65507

static const struct module_net lo = {.interfaces = "lo", .key = {1, 2, 3}};

/* --- packets -------------------------------------------------------------- */

static struct peer_seal seal_of(const struct module_net *conf, const char *hash)
{
    struct peer_seal seal;

    livepacket_seal(&seal, conf->key, hash);
    return seal;
}

static void reads_what_was_written(void **state)
{
    struct peer_seal seal = seal_of(&lo, HASH);
    uint8_t data[LIVEPACKET_MOST], bytes[LIVEPACKET_BYTES];

    (void) state;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t) (i * 7);
    for (uint16_t total = LIVE_HEAD_BYTES; total <= LIVEPACKET_MOST; total++) {
        struct livepacket p = {.type = LIVEPACKET_PART,
                               .total = total,
                               .chunk = total,
                               .seq = total,
                               .epoch = 1u << 31,
                               .nodeid = 70000,
                               .component = UINT64_MAX,
                               .data = data,
                               .n = total},
                          back = {.n = 0};
        size_t len = livepacket_write(&p, &seal, bytes);

        assert_int_equal(len, LIVEPACKET_HEAD + total);
        assert_int_equal(livepacket_read(bytes, len, &seal, &back), 0);
        assert_int_equal(back.total, total);
        assert_int_equal(back.seq, total);
        assert_int_equal(back.epoch, 1u << 31);
        assert_int_equal(back.nodeid, 70000);
        assert_int_equal(back.component, UINT64_MAX);
        assert_int_equal(back.n, total);
        assert_memory_equal(back.data, data, total);
        assert_int_equal(back.parts, 1);
    }
}

/* Every changed byte is noticed, and every byte too many or too few. */
static void refuses_what_was_changed(void **state)
{
    struct peer_seal seal = seal_of(&lo, HASH), other = seal_of(&lo, "beef");
    struct module_net foreign = lo;
    uint8_t data[700] = {5}, bytes[LIVEPACKET_BYTES + 1] = {0};
    const struct livepacket p = {.type = LIVEPACKET_PART,
                                 .total = 700,
                                 .chunk = 700,
                                 .seq = 1,
                                 .data = data,
                                 .n = 700};
    size_t len = livepacket_write(&p, &seal, bytes);
    struct livepacket back = {.seq = 99};

    (void) state;
    for (size_t i = 0; i < len; i++) {
        bytes[i] ^= 0x10;
        assert_int_equal(livepacket_read(bytes, len, &seal, &back), -1);
        bytes[i] ^= 0x10;
    }
    for (size_t n = 0; n < sizeof(bytes); n++)
        assert_int_equal(livepacket_read(bytes, n, &seal, &back),
                         n == len ? 0 : -1);
    assert_int_equal(back.seq, 1);
    /* of another step, or of another job.conf of it */
    foreign.key[31] ^= 1;
    assert_int_equal(livepacket_read(bytes, len, &other, &back), -1);
    other = seal_of(&foreign, HASH);
    assert_int_equal(livepacket_read(bytes, len, &other, &back), -1);
}

/* With a correct seal: what a faulty sender of the step could send. */
static void refuses_shapes(void **state)
{
    static const struct {
        struct livepacket p;
        int rc;
    } rows[] = {
        {{.seq = 1, .total = 64, .chunk = 64, .n = 64}, 0},
        {{.seq = 0, .total = 64, .chunk = 64, .n = 64}, -1},
        {{.seq = 1, .total = 63, .chunk = 63, .n = 63}, -1},
        {{.seq = 1, .total = 4097, .chunk = 4096, .n = 4096}, -1},
        {{.seq = 1, .total = 4096, .chunk = 4096, .n = 4095}, -1},
        {{.seq = 1, .total = 1024, .chunk = 512, .n = 512}, 0},
        {{.seq = 1, .total = 1024, .chunk = 512, .part = 1, .n = 512}, 0},
        {{.seq = 1, .total = 1024, .chunk = 512, .part = 2, .n = 512}, -1},
        {{.seq = 1, .total = 1024, .chunk = 512, .part = 2}, -1},
        {{.seq = 1, .total = 1025, .chunk = 512, .part = 2, .n = 1}, 0},
        {{.seq = 1, .total = 1024, .chunk = 511, .n = 511}, -1},
        {{.seq = 1, .total = 1024, .chunk = 0}, -1},
        {{.seq = 1, .total = 1024, .chunk = 0, .part = 255}, -1},
        {{.seq = 1, .total = 1024, .chunk = 2048, .n = 1024}, -1},
        {{.type = LIVEPACKET_TAKEN, .seq = 1}, 0},
        {{.type = LIVEPACKET_TAKEN, .seq = 0}, -1},
        {{.type = LIVEPACKET_TAKEN, .seq = 1, .n = 1}, -1},
        {{.type = LIVEPACKET_TAKEN, .seq = 1, .part = 1}, -1},
        {{.type = LIVEPACKET_TAKEN, .seq = 1, .total = 64}, -1},
    };
    struct peer_seal seal = seal_of(&lo, HASH);
    uint8_t data[LIVEPACKET_MOST] = {0}, bytes[LIVEPACKET_BYTES];

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct livepacket p = rows[i].p, back;
        size_t len;

        p.data = data;
        len = livepacket_write(&p, &seal, bytes);
        if (livepacket_read(bytes, len, &seal, &back) != rows[i].rc)
            fail_msg("row %zu", i);
    }
}

/* --- both ends ------------------------------------------------------------ */

struct ends {
    char *dir;
    struct livelink *hear;
    struct livelink *send;
    int fd; /* a socket that sends without livelink */
    struct sockaddr_in to;
    uint8_t taken[LIVEPACKET_MOST];
    size_t n_taken, slot;
    unsigned times;
    int rc; /* of take */
};

static int keep_taken(void *arg, uint64_t component, uint32_t nodeid,
                      size_t *slot, const uint8_t *bytes, size_t n,
                      uint64_t now_ms)
{
    struct ends *e = arg;

    (void) now_ms;
    assert_int_equal(component, 7);
    assert_int_equal(nodeid, 3);
    e->slot = *slot;
    *slot = 42;
    if (e->rc == 0) {
        memcpy(e->taken, bytes, n);
        e->n_taken = n;
        e->times++;
    }
    return e->rc;
}

static struct livelink *make_send(const struct ends *e,
                                  const struct module_net *conf)
{
    const struct livelink_place send = {.dir = e->dir,
                                        .component = 7,
                                        .nodeid = 3,
                                        .net = conf,
                                        .conf_hash = HASH};
    struct livelink *made = livelink_create(&send, NULL);

    assert_non_null(made);
    return made;
}

/* Creates the taking end, for a step of that many nodes. */
static void begin_hear(struct ends *e, uint32_t nodes,
                       int (*take)(void *, uint64_t, uint32_t, size_t *,
                                   const uint8_t *, size_t, uint64_t),
                       void *arg)
{
    const struct livelink_place place = {.dir = e->dir,
                                         .nodes = nodes,
                                         .net = &lo,
                                         .conf_hash = HASH,
                                         .take = take,
                                         .arg = arg};
    char *path = tempdir_path(e->dir, "live/nodes/" LIVEPACKET_PEER);
    struct peer_place peer;

    livelink_destroy(e->hear);
    e->hear = livelink_create(&place, NULL);
    assert_non_null(e->hear);
    assert_int_equal(livelink_announce(e->hear, NULL), 0);
    assert_int_equal(peer_read_file(path, &peer, NULL), 0);
    e->to = (struct sockaddr_in){.sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                 .sin_port = htons(peer.port)};
    free(path);
}

static void begin_ends(struct ends *e, void **state)
{
    char *path;

    memset(e, 0, sizeof(*e));
    e->dir = tempdir_path(*state, "step");
    path = tempdir_path(e->dir, "live/nodes");
    assert_int_equal(fileio_mkdirs(path, NULL), 0);
    free(path);
    begin_hear(e, 4, keep_taken, e);
    e->send = make_send(e, &lo);
    e->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(e->fd >= 0);
}

static void end_ends(struct ends *e)
{
    livelink_destroy(e->hear);
    livelink_destroy(e->send);
    close(e->fd);
    free(e->dir);
}

/* A packet that the loopback has accepted is in the receiver's socket. */
static void put_bytes(const struct ends *e, const void *bytes, size_t n)
{
    assert_int_equal(sendto(e->fd, bytes, n, 0,
                            (const struct sockaddr *) &e->to, sizeof(e->to)),
                     n);
}

static void put_part(const struct ends *e, const uint8_t *data, uint32_t epoch,
                     uint32_t seq, uint16_t total, uint16_t chunk, uint8_t part)
{
    struct peer_seal seal = seal_of(&lo, HASH);
    size_t begins = (size_t) part * chunk, left = total - begins;
    const struct livepacket p = {.type = LIVEPACKET_PART,
                                 .part = part,
                                 .total = total,
                                 .chunk = chunk,
                                 .seq = seq,
                                 .epoch = epoch,
                                 .nodeid = 3,
                                 .component = 7,
                                 .data = data + begins,
                                 .n = left < chunk ? left : chunk};
    uint8_t bytes[LIVEPACKET_BYTES];

    put_bytes(e, bytes, livepacket_write(&p, &seal, bytes));
    livelink_look(e->hear, 0);
}

static void delivers(void **state)
{
    static const size_t sizes[] = {64, 65, 511, 512, 513, 1400, 2900, 4096};
    uint8_t data[LIVEPACKET_MOST];
    struct ends e;
    uint64_t now = 1000;

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t) (i * 13);
    begin_ends(&e, state);
    assert_false(livelink_counts(e.send)->works);
    for (unsigned i = 0; i < 8; i++, now += 5000) {
        assert_true(livelink_send(e.send, data, sizes[i], i + 1, now));
        livelink_look(e.hear, now + 500);
        assert_int_equal(e.times, i + 1);
        assert_int_equal(e.n_taken, sizes[i]);
        assert_memory_equal(e.taken, data, sizes[i]);
        assert_true(e.slot == (i ? 42 : SIZE_MAX));
        assert_false(livelink_look(e.send, now + 1000));
        assert_true(livelink_counts(e.send)->works);
    }
    /* nothing is sent if the size is not that of a snapshot */
    assert_false(livelink_send(e.send, data, 63, 90, now));
    assert_false(livelink_send(e.send, data, 4097, 91, now));
    assert_int_equal(livelink_counts(e.send)->sent, 8);
    assert_int_equal(livelink_counts(e.send)->taken, 8);
    assert_int_equal(livelink_counts(e.send)->lost, 0);
    assert_int_equal(livelink_counts(e.hear)->taken, 8);
    assert_int_equal(livelink_counts(e.hear)->refused, 0);
    end_ends(&e);
}

/* Answers that arrive a period after their snapshots are valid. */
static void takes_late_answers(void **state)
{
    uint8_t data[LIVEPACKET_MOST] = {0};
    struct ends e;

    begin_ends(&e, state);
    for (uint32_t i = 1; i <= 20; i++) {
        assert_true(livelink_send(e.send, data, 64, i, 1000ull * i));
        assert_false(livelink_look(e.send, 1000ull * i));
        livelink_look(e.hear, 1000ull * i);
    }
    assert_true(livelink_counts(e.send)->works);
    assert_int_equal(livelink_counts(e.send)->lost, 0);
    end_ends(&e);
}

/* In any order, each once, and only parts that belong together. */
static void gathers_parts(void **state)
{
    uint8_t data[LIVEPACKET_MOST], other[LIVEPACKET_MOST];
    struct ends e;

    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = (uint8_t) (i * 31);
        other[i] = (uint8_t) ~data[i];
    }
    begin_ends(&e, state);
    put_part(&e, data, 1, 1, 4096, 1400, 2);
    put_part(&e, data, 1, 1, 4096, 1400, 0);
    assert_int_equal(e.times, 0);
    put_part(&e, other, 1, 1, 4096, 1400, 0); /* again */
    put_part(&e, other, 1, 1, 4095, 1400, 1); /* of another size */
    put_part(&e, other, 1, 1, 4096, 1500, 1);
    assert_int_equal(e.times, 0);
    assert_int_equal(livelink_counts(e.hear)->refused, 3);
    put_part(&e, data, 1, 1, 4096, 1400, 1);
    assert_int_equal(e.times, 1);
    assert_int_equal(e.n_taken, 4096);
    assert_memory_equal(e.taken, data, 4096);
    /* a newer snapshot replaces the older one, which is lost */
    put_part(&e, other, 1, 2, 4096, 2048, 0);
    put_part(&e, data, 1, 3, 4096, 2048, 0);
    put_part(&e, other, 1, 2, 4096, 2048, 1);
    assert_int_equal(e.times, 1);
    put_part(&e, data, 1, 3, 4096, 2048, 1);
    assert_int_equal(e.times, 2);
    assert_memory_equal(e.taken, data, 4096);
    /* the largest number of parts */
    for (uint8_t i = 0; i < 8; i++)
        put_part(&e, other, 1, 4, 4096, 512, i);
    assert_int_equal(e.times, 3);
    assert_memory_equal(e.taken, other, 4096);
    assert_int_equal(livelink_counts(e.hear)->refused, 4);
    end_ends(&e);
}

static void refuses_replays(void **state)
{
    uint8_t data[LIVEPACKET_MOST] = {0};
    struct ends e;
    char text[8];

    begin_ends(&e, state);
    put_part(&e, data, 5, 7, 100, 100, 0);
    put_part(&e, data, 5, 7, 100, 100, 0); /* again */
    put_part(&e, data, 5, 6, 100, 100, 0); /* an older one */
    put_part(&e, data, 4, 9, 100, 100, 0); /* of an earlier agent */
    assert_int_equal(e.times, 1);
    assert_int_equal(livelink_counts(e.hear)->refused, 3);
    /* only one answer: repeating a packet has no effect */
    assert_true(recv(e.fd, text, sizeof(text), MSG_DONTWAIT) > 0);
    assert_true(recv(e.fd, text, sizeof(text), MSG_DONTWAIT) < 0);
    put_part(&e, data, 6, 1, 100, 100, 0); /* a restarted agent */
    assert_int_equal(e.times, 2);
    /* a snapshot without room is not answered */
    assert_true(recv(e.fd, text, sizeof(text), MSG_DONTWAIT) > 0);
    e.rc = -1;
    put_part(&e, data, 6, 2, 100, 100, 0);
    assert_true(recv(e.fd, text, sizeof(text), MSG_DONTWAIT) < 0);
    end_ends(&e);
}

/* From more nodes than the step has, and from other components. */
static void knows_as_many_as_there_are(void **state)
{
    struct peer_seal seal = seal_of(&lo, HASH);
    uint8_t data[LIVEPACKET_MOST] = {0}, bytes[LIVEPACKET_BYTES];
    struct ends e;

    begin_ends(&e, state);
    e.rc = 0;
    put_part(&e, data, 1, 1, 100, 100, 0);
    for (uint32_t i = 0; i < 100; i++) {
        const struct livepacket p = {.type = LIVEPACKET_PART,
                                     .total = 1024,
                                     .chunk = 512,
                                     .seq = 1,
                                     .nodeid = i * 8,
                                     .component = i,
                                     .data = data,
                                     .n = 512};

        put_bytes(&e, bytes, livepacket_write(&p, &seal, bytes));
        livelink_look(e.hear, 0);
    }
    assert_int_equal(livelink_counts(e.hear)->refused, 97);
    put_part(&e, data, 1, 2, 100, 100, 0);
    assert_int_equal(e.times, 2);
    end_ends(&e);
}

/* Datagrams of any size, between those of the step. */
static void passes_over_what_is_foreign(void **state)
{
    static uint8_t junk[UDP_MOST];
    uint8_t data[LIVEPACKET_MOST] = {0};
    unsigned sent = 0;
    struct ends e;

    begin_ends(&e, state);
    memcpy(junk, "PRSN\1", 5);
    for (size_t n = 0; n <= UDP_MOST; n += n < 4300 ? 1 : 4001) {
        put_bytes(&e, junk, n);
        sent++;
        livelink_look(e.hear, 0);
    }
    put_bytes(&e, junk, UDP_MOST);
    livelink_look(e.hear, 0);
    assert_int_equal(livelink_counts(e.hear)->refused, sent + 1);
    assert_int_equal(e.times, 0);
    put_part(&e, data, 1, 1, 4096, 4096, 0);
    assert_int_equal(e.times, 1);
    /* a flood ends a look, not the agent; the rest is read later */
    for (int i = 0; i < 400; i++)
        put_bytes(&e, junk, 48);
    livelink_look(e.hear, 0);
    assert_in_range(livelink_counts(e.hear)->refused, sent + 1,
                    sent + 1 + LIVEHEAR_BAD + 16);
    end_ends(&e);
}

/* Without answers there are few attempts, and ever fewer. */
static void tries_ever_less(void **state)
{
    uint8_t data[LIVEPACKET_MOST] = {0};
    uint64_t now = 1000;
    uint32_t seq = 0;
    struct ends e;
    char *path;

    begin_ends(&e, state);
    path = tempdir_path(e.dir, "live/nodes/" LIVEPACKET_PEER);
    assert_true(livelink_send(e.send, data, 64, ++seq, now));
    assert_false(livelink_look(e.send, now + LIVESEND_WAIT_MS - 1));
    assert_true(livelink_look(e.send, now + LIVESEND_WAIT_MS));
    assert_false(livelink_look(e.send, now + LIVESEND_WAIT_MS + 1)); /* once */
    for (; now < 3600000; now += 1000) { /* an hour at the fastest pace */
        livelink_send(e.send, data, 64, ++seq, now);
        livelink_look(e.send, now);
    }
    assert_in_range(livelink_counts(e.send)->sent, 10, 80);
    assert_false(livelink_counts(e.send)->works);
    /* the agent appears: from the next attempt on it works */
    while (!livelink_send(e.send, data, 64, ++seq, now))
        now += 1000;
    for (int i = 0; i < 100; i++)
        livelink_look(e.hear, now);
    livelink_look(e.send, now + 1000);
    assert_true(livelink_counts(e.send)->works);
    /* without an address nothing is sent */
    livelink_destroy(e.send);
    unlink(path);
    e.send = make_send(&e, &lo);
    assert_false(livelink_send(e.send, data, 64, 1, now));
    assert_int_equal(livelink_counts(e.send)->sent, 0);
    free(tempdir_file(e.dir, "live/nodes/" LIVEPACKET_PEER, 0600, "{}\n"));
    assert_false(livelink_send(e.send, data, 64, 2, now));
    free(path);
    end_ends(&e);
}

static void needs_the_key(void **state)
{
    struct module_net foreign = lo;
    uint8_t data[LIVEPACKET_MOST] = {0};
    struct ends e;

    begin_ends(&e, state);
    livelink_destroy(e.send);
    foreign.key[0] ^= 1;
    e.send = make_send(&e, &foreign);
    assert_true(livelink_send(e.send, data, 2000, 1, 1000));
    livelink_look(e.hear, 1500);
    assert_int_equal(e.times, 0);
    assert_in_range(livelink_counts(e.hear)->refused, 1, 2);
    assert_true(livelink_look(e.send, 1000 + LIVESEND_WAIT_MS));
    assert_false(livelink_counts(e.send)->works);
    end_ends(&e);
}

/* --- a route with an MTU ------------------------------------------------- */

/* The sizes of packets on a loopback with that MTU; 77: network namespaces are
 * not available. */
static int packets_at(const char *dir, int mtu)
{
    struct ifreq lo_is = {.ifr_name = "lo"};
    struct ends e = {.dir = (char *) dir};
    struct peer_place peer = {.port = 9, .n_addresses = 1};
    uint8_t data[LIVEPACKET_MOST] = {0}, bytes[LIVEPACKET_BYTES + 1];
    struct sockaddr_in own = {.sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(own);
    char *path;
    int fd, n = 0;

    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0 && unshare(CLONE_NEWNET) < 0)
        return 77;
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    lo_is.ifr_mtu = mtu;
    if (ioctl(fd, SIOCSIFMTU, &lo_is) < 0)
        return 77;
    lo_is.ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
    if (ioctl(fd, SIOCSIFFLAGS, &lo_is) < 0 ||
        bind(fd, (struct sockaddr *) &own, sizeof(own)) < 0 ||
        getsockname(fd, (struct sockaddr *) &own, &len) < 0)
        return 77;
    peer.port = ntohs(own.sin_port);
    snprintf(peer.addresses[0].address, PEER_ADDRESS_LEN, "127.0.0.1");
    path = tempdir_path(dir, "live/nodes/" LIVEPACKET_PEER);
    if (peer_write_file(path, &peer, NULL) < 0)
        return 1;
    e.send = make_send(&e, &lo);
    if (!livelink_send(e.send, data, sizeof(data), 1, 1000))
        return 2;
    for (ssize_t got; (got = recv(fd, bytes, sizeof(bytes), 0)) >= 0; n++)
        if (got + 28 > mtu && mtu >= 1280)
            return 3; /* it was fragmented on the way */
    return 10 + n;
}

static void fits_the_way(void **state)
{
    static const struct {
        int mtu, packets;
    } rows[] = {{65536, 1}, {9000, 1}, {2500, 2},
                {1500, 3},  {1280, 4}, {600, 8}};
    char *path = tempdir_path(*state, "live/nodes");

    assert_int_equal(fileio_mkdirs(path, NULL), 0);
    free(path);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        pid_t pid = fork();
        int status;

        if (pid == 0)
            _exit(packets_at(*state, rows[i].mtu));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 77)
            skip_check("no network namespaces here");
        assert_int_equal(WEXITSTATUS(status), 10 + rows[i].packets);
    }
}

/* --- node 0 of many ------------------------------------------------------- */

static double cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

static int keep_joined(void *arg, uint64_t component, uint32_t nodeid,
                       size_t *slot, const uint8_t *bytes, size_t n,
                       uint64_t now_ms)
{
    return livejoin_keep(arg, component, nodeid, slot, bytes, n, now_ms);
}

#define MANY 4096

/* A snapshot of 2.9 KB in three parts. */
static void put_snap(const struct ends *e, uint32_t node, uint32_t seq)
{
    static struct live_snap snap;
    struct peer_seal seal = seal_of(&lo, HASH);
    uint8_t data[LIVE_SNAP_BYTES] = {0}, bytes[LIVEPACKET_BYTES];
    struct livepacket p = {.type = LIVEPACKET_PART,
                           .total = 2900,
                           .chunk = 1404,
                           .seq = seq,
                           .nodeid = node,
                           .component = 7};

    snap = (struct live_snap){
        .nodeid = node, .sequence = seq, .real_ns = 1, .class = LIVE_WORKS};
    livesnap_pack(&snap, data);
    for (; p.part < 3; p.part++) {
        p.data = data + (size_t) p.part * 1404;
        p.n = p.part < 2 ? 1404 : 2900 - 2 * 1404;
        put_bytes(e, bytes, livepacket_write(&p, &seal, bytes));
    }
}

static void hears_4096_nodes(void **state)
{
    struct jp_onhang report = {.kind = ONHANG_REPORT};
    struct hung_times times;
    const struct livejoin_place place = {
        .alert = {.dir = *state, .step = "0", .on_hang = &report},
        .nodes = MANY,
        .times = &times};
    struct livejoin *join;
    struct ends e;
    double spent = 0, before;

    hung_times_set(&times, SUSPECT_MS);
    join = livejoin_create(&place);
    begin_ends(&e, state);
    begin_hear(&e, MANY, keep_joined, join);
    for (uint32_t round = 1; round <= 3; round++)
        for (uint32_t i = 0; i < MANY; i++) {
            put_snap(&e, i, round);
            if (i % 16 != 15)
                continue;
            before = cpu_ms();
            livelink_look(e.hear, round * 5000);
            spent += cpu_ms() - before;
        }
    print_message("# node 0: %.1f us of a processor a snapshot of three "
                  "parts\n",
                  spent * 1e3 / (3.0 * MANY));
    assert_int_equal(livelink_counts(e.hear)->taken, 3 * MANY);
    assert_int_equal(livelink_counts(e.hear)->refused, 0);
    livejoin_destroy(join);
    end_ends(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_was_written),
        cmocka_unit_test(refuses_what_was_changed),
        cmocka_unit_test(refuses_shapes),
#define IN_FOLDER(test)                                                        \
    cmocka_unit_test_setup_teardown(test, tempdir_make, tempdir_drop)
        IN_FOLDER(delivers),
        IN_FOLDER(takes_late_answers),
        IN_FOLDER(gathers_parts),
        IN_FOLDER(refuses_replays),
        IN_FOLDER(knows_as_many_as_there_are),
        IN_FOLDER(passes_over_what_is_foreign),
        IN_FOLDER(tries_ever_less),
        IN_FOLDER(needs_the_key),
        IN_FOLDER(fits_the_way),
        IN_FOLDER(hears_4096_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
