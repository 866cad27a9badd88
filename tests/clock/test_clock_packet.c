/* test_clock_packet.c - packets and their seal, interfaces by NCCL's rules, the
 * graph of neighbours, and the files by which they meet. */
#include <setjmp.h>
#include <arpa/inet.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fileio.h"
#include "plugins/clock/clock_packet.h"
#include "plugins/clock/clock_peers.h"
#include "tests/common/tempdir.h"

/* The example of the paper (appendix A), and the first vectors of its
 * authors. */
static void siphash_vectors(void **state)
{
    static const uint8_t wide[][16] = {
        {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14,
         0xc7, 0x55, 0x02, 0x93},
        {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11,
         0x9b, 0x22, 0xfc, 0x45},
        {0x81, 0x77, 0x22, 0x8d, 0xa4, 0xa4, 0x5d, 0xc7, 0xfc, 0xa3, 0x8b, 0xde,
         0xf6, 0x0a, 0xff, 0xe4},
    };
    uint8_t key[16], text[16];
    uint64_t out[2];

    (void) state;
    for (uint8_t i = 0; i < 16; i++)
        key[i] = text[i] = i;
    peer_siphash(key, text, 15, 0, out);
    assert_true(out[0] == UINT64_C(0xa129ca6149be45e5) && out[1] == 0);
    peer_siphash(key, text, 0, 0, out);
    assert_true(out[0] == UINT64_C(0x726fdb47dd0e0e31));
    for (size_t n = 0; n < 3; n++) {
        peer_siphash(key, text, n, 1, out);
        for (int i = 0; i < 16; i++)
            assert_int_equal((uint8_t) (out[i / 8] >> (i % 8 * 8)), wide[n][i]);
    }
}

static struct peer_seal seal_of(uint8_t first, uint64_t job, const char *step)
{
    uint8_t key[MODULE_KEY_BYTES] = {first};
    struct peer_seal seal;

    peer_seal_init(&seal, key, job, step);
    return seal;
}

static const struct clock_packet example = {
    .type = CLOCK_STAMPS,
    .from = 7,
    .to = 65535,
    .flags = CLOCK_NO_STAMP,
    .epoch = 1700000000,
    .seq = 42,
    .t_rx = {-1, INT64_MAX},
    .r_tx = {INT64_MIN, 12345678901234567},
    .real_less_mono = 1690000000000000000,
    .cadence_us = 66666,
};

static void packets(void **state)
{
    struct peer_seal seal = seal_of(1, 12, "3");
    uint8_t bytes[CLOCK_PACKET_BYTES];
    struct clock_packet p;

    (void) state;
    clock_packet_write(&example, &seal, bytes);
    assert_memory_equal(bytes, "PRCK", 4);
    assert_int_equal(clock_packet_read(bytes, sizeof(bytes), &seal, &p), 0);
    assert_int_equal(p.type, example.type);
    assert_int_equal(p.from, example.from);
    assert_int_equal(p.to, example.to);
    assert_int_equal(p.flags, example.flags);
    assert_int_equal(p.epoch, example.epoch);
    assert_int_equal(p.seq, example.seq);
    assert_memory_equal(p.t_rx, example.t_rx, sizeof(p.t_rx));
    assert_memory_equal(p.r_tx, example.r_tx, sizeof(p.r_tx));
    assert_true(p.real_less_mono == example.real_less_mono);
    assert_int_equal(p.cadence_us, example.cadence_us);
}

/* A changed bit, another length, another step: the packet is refused and
 * nothing changes. */
static void forgeries(void **state)
{
    static const struct {
        uint8_t key;
        uint64_t job;
        const char *step;
    } others[] = {{2, 12, "3"}, {1, 13, "3"}, {1, 12, "4"}, {1, 1, "2.3"}};
    struct peer_seal seal = seal_of(1, 12, "3"), other;
    static uint8_t big[65507];
    struct clock_packet p = {.seq = 99};

    (void) state;
    clock_packet_write(&example, &seal, big);
    for (size_t i = 0; i < 8 * (size_t) CLOCK_PACKET_BYTES; i++) {
        big[i / 8] ^= (uint8_t) (1 << i % 8);
        assert_int_equal(clock_packet_read(big, CLOCK_PACKET_BYTES, &seal, &p),
                         -1);
        big[i / 8] ^= (uint8_t) (1 << i % 8);
    }
    for (size_t n = 0; n <= sizeof(big); n++)
        if (n != CLOCK_PACKET_BYTES)
            assert_int_equal(clock_packet_read(big, n, &seal, &p), -1);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        other = seal_of(others[i].key, others[i].job, others[i].step);
        assert_int_equal(clock_packet_read(big, CLOCK_PACKET_BYTES, &other, &p),
                         -1);
    }
    assert_int_equal(p.seq, 99);
    assert_int_equal(clock_packet_read(big, CLOCK_PACKET_BYTES, &seal, &p), 0);
}

static void interfaces(void **state)
{
    static const struct {
        const char *list, *name;
        bool matches;
    } table[] = {
        {"eth", "eth0", true},        {"eth", "xeth0", false},
        {"eth0", "eth01", true},      {"=eth0", "eth01", false},
        {"=eth0", "eth0", true},      {"ib,eth", "eth3", true},
        {"ib,eth", "docker0", false}, {"^docker,lo", "docker0", false},
        {"^docker,lo", "lo", false},  {"^docker,lo", "eth0", true},
        {"^=eth0", "eth0", false},    {"^=eth0", "eth01", true},
        {"=eth1,ib0", "ib0", true},   {"=eth1,ib0", "ib01", false},
        {"eth0:3", "eth0", true},     {"", "eth0", false},
        {"^", "eth0", true},          {"=", "eth0", false},
        {",", "eth0", false},         {",,eth", "eth0", true},
    };
    struct peer_iface all[] = {{"lo", "127.0.0.1"},
                               {"docker0", "172.17.0.1"},
                               {"eth0", "10.0.0.1"},
                               {"ib0", "10.1.0.1"}};

    (void) state;
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        if (peer_iface_matches(table[i].list, table[i].name) !=
            table[i].matches)
            fail_msg("\"%s\" and \"%s\"", table[i].list, table[i].name);
    assert_int_equal(peer_iface_choose("ib", all, 4), 1);
    assert_string_equal(all[0].name, "ib0");
    assert_int_equal(peer_iface_choose("", all, 4), 2);
    assert_string_equal(all[0].name, "ib0");
    assert_string_equal(all[1].name, "eth0");
    assert_int_equal(peer_iface_choose(NULL, all + 2, 2), 1);
    assert_string_equal(all[2].name, "docker0");
    assert_int_equal(peer_iface_choose("tun", all, 4), 0);
    assert_int_equal(peer_iface_choose("lo", all, 0), 0);
}

/* Every machine has at least its loopback. */
static void own_interfaces(void **state)
{
    struct peer_iface found[PEER_ADDRESSES];
    struct jp_error err = {""};

    (void) state;
    assert_true(peer_iface_find("lo", found, &err) > 0);
    assert_string_equal(found[0].name, "lo");
    assert_true(peer_iface_find("", found, &err) > 0);
    assert_int_equal(peer_iface_find("=no-such", found, &err), 0);
    assert_non_null(strstr(err.text, "no-such"));
}

/* Number of nodes that can be reached from node 0; *far: steps to the
 * furthest. */
static size_t reached(uint32_t n, uint32_t *far)
{
    uint32_t *distance = calloc(n, sizeof(*distance)),
             *queue = calloc(n, sizeof(*queue)), peers[CLOCK_DEGREE];
    bool asks[CLOCK_DEGREE];
    size_t head = 0, tail = 0;

    queue[tail++] = 0;
    distance[0] = 1;
    while (head < tail) {
        uint32_t at = queue[head++];
        size_t k = clock_peers_of(n, at, peers, asks);

        *far = distance[at] - 1;
        while (k--)
            if (!distance[peers[k]]) {
                distance[peers[k]] = distance[at] + 1;
                queue[tail++] = peers[k];
            }
    }
    free(queue);
    free(distance);
    return tail;
}

/* Every node has at most six neighbours, whose neighbour it is as well; one of
 * two asks; all nodes are connected. */
static void graph(void **state)
{
    (void) state;
    for (uint32_t n = 1; n <= 1100; n += n < 130 ? 1 : 97) {
        uint32_t far = 0, asked = 0, edges = 0;

        for (uint32_t i = 0; i < n; i++) {
            uint32_t peers[CLOCK_DEGREE], back[CLOCK_DEGREE];
            bool asks[CLOCK_DEGREE], asked_back[CLOCK_DEGREE];
            size_t k = clock_peers_of(n, i, peers, asks);

            assert_true(k <= CLOCK_DEGREE);
            assert_true(n < 3 || k >= 2);
            for (size_t j = 0; j < k; j++) {
                size_t m = clock_peers_of(n, peers[j], back, asked_back);
                bool found = false;

                assert_true(peers[j] < n && peers[j] != i);
                assert_true(!j || peers[j] > peers[j - 1]);
                while (m--)
                    if (back[m] == i) {
                        assert_int_not_equal(asks[j], asked_back[m]);
                        found = true;
                    }
                assert_true(found);
                asked += asks[j];
            }
            edges += (uint32_t) k;
        }
        assert_int_equal(2 * asked, edges);
        assert_int_equal(reached(n, &far), n);
        assert_true(n != 1100 || far <= 16);
    }
}

/* A file written by one agent and read by another; damaged files; addresses for
 * both kinds of sockets. */
static void meeting(void **state)
{
    static const char *const bad[] = {
        "",
        "{}",
        "{\"node_id\":1,\"epoch\":2,\"port\":3}",
        "{\"node_id\":1,\"epoch\":2,\"port\":0,\"addr0\":\"10.0.0.1\"}",
        "{\"node_id\":1,\"epoch\":2,\"port\":70000,\"addr0\":\"10.0.0.1\"}",
        "{\"node_id\":1,\"epoch\":2,\"port\":3,\"addr0\":\"n1.example.org\"}",
        "{\"node_id\":-1,\"epoch\":2,\"port\":3,\"addr0\":\"10.0.0.1\"}",
        "{\"node_id\":1,\"epoch\":2,\"port\":3,\"addr0\":\"10.0.0.1",
    };
    struct peer_place peer = {.node_id = 3,
                              .epoch = 17,
                              .port = 4711,
                              .n_addresses = 2,
                              .addresses = {{"eth0", "10.0.0.1"},
                                            {"eth1", "fd00::1"}}},
                      read;
    struct sockaddr_storage to;
    char *dir = *state, *nodes = tempdir_path(dir, "nodes");
    char *node = tempdir_path(dir, "nodes/n3");
    char *path = tempdir_path(dir, "nodes/n3/" CLOCK_PEER_FILE);
    socklen_t len;

    assert_int_equal(peer_read_file(path, &read, NULL), -1);
    assert_int_equal(mkdir(nodes, 0700) | mkdir(node, 0700), 0);
    assert_int_equal(peer_write_file(path, &peer, NULL), 0);
    assert_int_equal(peer_read_file(path, &read, NULL), 0);
    assert_int_equal(read.node_id, 3);
    assert_int_equal(read.epoch, 17);
    assert_int_equal(read.port, 4711);
    assert_int_equal(read.n_addresses, 2);
    assert_string_equal(read.addresses[1].address, "fd00::1");
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(peer_parse(bad[i], &read, NULL), -1);
    assert_int_equal(read.port, 4711);
    assert_true(peer_address("10.0.0.1", 1, &to, &len));
    assert_int_equal(len, sizeof(struct sockaddr_in));
    assert_true(peer_address("fd00::1", 1, &to, &len));
    assert_int_equal(len, sizeof(struct sockaddr_in6));
    assert_false(peer_address("n1", 1, &to, &len));
    free(nodes);
    free(node);
    free(path);
}

/* --- sockets -------------------------------------------------------------- */

/* The address and port that a socket is bound to, as text. */
static void bound_to(int fd, char text[INET6_ADDRSTRLEN], uint16_t *port)
{
    struct sockaddr_storage own = {0};
    socklen_t len = sizeof(own);
    const struct sockaddr_in *v4 = (void *) &own;
    const struct sockaddr_in6 *v6 = (void *) &own;

    assert_int_equal(getsockname(fd, (struct sockaddr *) &own, &len), 0);
    *port = ntohs(v4->sin_port);
    if (own.ss_family == AF_INET6)
        inet_ntop(AF_INET6, &v6->sin6_addr, text, INET6_ADDRSTRLEN);
    else
        inet_ntop(AF_INET, &v4->sin_addr, text, INET6_ADDRSTRLEN);
}

/* Each socket is at one of the addresses, never at all addresses of the
 * machine; what cannot be bound leaves the list, with a word on it. */
static void sockets_are_bound(void **state)
{
    static const struct peer_iface tables[][3] = {
        {{"lo", "127.0.0.1"}, {"lo", "127.0.0.2"}, {"lo", "127.0.0.3"}},
        {{"lo", "127.0.0.1"}, {"e0", "198.51.100.1"}, {"lo", "127.0.0.3"}},
        {{"e0", "198.51.100.1"}, {"lo", "127.0.0.2"}, {"e0", "2001:db8::1"}},
        {{"e0", "198.51.100.1"}, {"e0", "198.51.100.2"}, {"e0", "nowhere"}},
    };
    static const size_t bound[] = {3, 2, 1, 0};

    (void) state;
    for (size_t t = 0; t < sizeof(bound) / sizeof(*bound); t++) {
        struct peer_iface list[PEER_ADDRESSES];
        int fds[PEER_ADDRESSES];
        struct jp_error err = {"before"};
        uint16_t port = 0, at;
        char text[INET6_ADDRSTRLEN];

        memcpy(list, tables[t], sizeof(tables[t]));
        assert_int_equal(peer_bind_all(list, 3, fds, &port, &err), bound[t]);
        assert_int_equal(*err.text != 0, bound[t] < 3);
        if (*err.text)
            assert_non_null(strstr(err.text, "198.51.100.1"));
        for (size_t i = 0; i < bound[t]; i++) {
            bound_to(fds[i], text, &at);
            assert_string_equal(text, list[i].address);
            assert_int_equal(at, port);
            close(fds[i]);
        }
    }
}

/* IPv6 beside IPv4, on one port; a socket of IPv6 takes no IPv4. */
static void both_kinds(void **state)
{
    struct peer_iface list[PEER_ADDRESSES] = {{"lo", "127.0.0.1"},
                                              {"lo", "::1"}};
    int fds[PEER_ADDRESSES];
    struct jp_error err;
    uint16_t port, at;
    char text[INET6_ADDRSTRLEN];
    size_t n = peer_bind_all(list, 2, fds, &port, &err);
    struct sockaddr_storage to;
    socklen_t len;

    (void) state;
    for (size_t i = 0; i < n; i++) {
        bound_to(fds[i], text, &at);
        assert_string_equal(text, list[i].address);
        assert_int_equal(at, port);
        close(fds[i]);
    }
    if (n < 2) /* a machine without IPv6 */
        return;
    assert_true(peer_address("::1", 9, &to, &len));
    assert_int_equal(peer_bind_choose(list, 2, &to, len), 1);
    assert_true(peer_address("127.0.0.9", 9, &to, &len));
    assert_int_equal(peer_bind_choose(list, 2, &to, len), 0);
}

/* The kernel's route decides, else the kind. */
static void chooses_a_socket(void **state)
{
    static const struct peer_iface list[] = {{"e0", "198.51.100.1"},
                                             {"lo", "127.0.0.1"}};
    struct sockaddr_storage to;
    socklen_t len;

    (void) state;
    assert_true(peer_address("127.0.0.7", 9, &to, &len));
    assert_int_equal(peer_bind_choose(list, 2, &to, len), 1);
    assert_int_equal(peer_bind_choose(list, 1, &to, len), 0);
    assert_true(peer_address("::1", 9, &to, &len));
    assert_int_equal(peer_bind_choose(list, 2, &to, len), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(siphash_vectors),
        cmocka_unit_test(packets),
        cmocka_unit_test(forgeries),
        cmocka_unit_test(interfaces),
        cmocka_unit_test(own_interfaces),
        cmocka_unit_test(graph),
        cmocka_unit_test(sockets_are_bound),
        cmocka_unit_test(both_kinds),
        cmocka_unit_test(chooses_a_socket),
        cmocka_unit_test_setup_teardown(meeting, tempdir_make, tempdir_drop),
    };

    return cmocka_run_group_tests_name("clock_packet", tests, NULL, NULL);
}
