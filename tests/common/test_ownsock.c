/* test_ownsock.c - whose socket listens: in tables of the test's own, and with
 * real sockets, as root also with another user's. */
#include "common/ownsock.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fileio.h"
#include "tests/common/skip.h"
#include "tests/common/tempdir.h"

enum { OTHER = 64901 }; /* a uid without a name */

#define HEADING                                                                \
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when "      \
    "retrnsmt   uid  timeout inode\n"
#define ROW(local, state, uid, inode)                                          \
    ROW_TO("00000000:0000", local, state, uid, inode)
#define ROW6(local, state, uid, inode)                                         \
    ROW_TO("00000000000000000000000000000000:0000", local, state, uid, inode)
#define ROW_TO(remote, local, state, uid, inode)                               \
    "   0: " local " " remote " " state                                        \
    " 00000000:00000000 00:00000000 00000000 " uid "        0 " inode          \
    " 1 0 100 0 0 10 0\n"
/* port 9200; words are in the order of a little-endian machine */
#define V4(uid, inode) ROW("0100007F:23F0", "0A", uid, inode)
#define ALL4(uid, inode) ROW("00000000:23F0", "0A", uid, inode)
#define ALL6(uid, inode)                                                       \
    ROW6("00000000000000000000000000000000:23F0", "0A", uid, inode)
#define ONE6(uid, inode)                                                       \
    ROW6("00000000000000000000000001000000:23F0", "0A", uid, inode)
#define MAPPED(uid, inode)                                                     \
    ROW6("0000000000000000FFFF00000100007F:23F0", "0A", uid, inode)

static struct sockaddr_storage address_of(const char *text, uint16_t port)
{
    struct sockaddr_storage out = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *) &out;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *) &out;

    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
    }
    return out;
}

static void test_tables(void **state)
{
    static const struct {
        const char *v4, *v6, *to;
        int rc;
        uid_t uid;
    } rows[] = {
        {"", "", "127.0.0.1", 0, 0},
        {V4("1000", "5"), "", "127.0.0.1", 1, 1000},
        {ROW("0100007F:23F0", "01", "1000", "5"), "", "127.0.0.1", 0, 0},
        {ROW("0100007F:23F1", "0A", "1000", "5"), "", "127.0.0.1", 0, 0},
        {ROW("0200007F:23F0", "0A", "1000", "5"), "", "127.0.0.1", 0, 0},
        {ALL4("7", "5"), "", "127.0.0.1", 1, 7},
        {"", ALL6("7", "5"), "127.0.0.1", 1, 7},
        {"", MAPPED("7", "5"), "127.0.0.1", 1, 7},
        {"", ONE6("7", "5"), "127.0.0.1", 0, 0},
        {V4("1000", "5"), "", "::1", 0, 0},
        {ALL4("1000", "5"), ONE6("7", "5"), "::1", 1, 7},
        {ALL4("1000", "5"), "", "::1", 0, 0},
        {"", ALL6("8", "5"), "::1", 1, 8},
        /* the kernel's order: the address itself, all, all of IPv6 */
        {ALL4("7", "5") V4("1000", "6"), ALL6("9", "7"), "127.0.0.1", 1, 1000},
        {V4("1000", "6") ALL4("7", "5"), ALL6("9", "7"), "127.0.0.1", 1, 1000},
        {ALL4("7", "5"), ALL6("9", "7"), "127.0.0.1", 1, 7},
        {"", ALL6("9", "7") ONE6("3", "1"), "::1", 1, 3},
        /* several sockets of one user, or of several */
        {V4("7", "5") V4("7", "6"), "", "127.0.0.1", 1, 7},
        {V4("7", "5") V4("8", "6"), "", "127.0.0.1", -1, 0},
        {V4("0", "5"), MAPPED("8", "6"), "127.0.0.1", -1, 0},
        /* what cannot be understood */
        {"x\n", "", "127.0.0.1", -1, 0},
        {ROW("0100007F", "0A", "7", "5"), "", "127.0.0.1", -1, 0},
        {ROW("0100007f:23F0", "0A", "7", "5"), "", "127.0.0.1", -1, 0},
        {ROW("0100007F:23F0", "0A", "-1", "5"), "", "127.0.0.1", -1, 0},
        {ROW("0100007F:23F0", "0A", "4294967296", "5"), "", "127.0.0.1", -1, 0},
    };
    char *net = tempdir_path(*state, "proc/net");

    assert_int_equal(fileio_mkdirs(net, NULL), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct sockaddr_storage to = address_of(rows[i].to, 9200);
        struct ownsock sock = {.uid = 77}, again = {.uid = 78};
        struct jp_error err = {""};
        char *v4 = text_format(HEADING "%s", rows[i].v4);
        char *v6 = text_format(HEADING "%s", rows[i].v6);

        free(tempdir_file(net, "tcp", 0600, v4));
        free(tempdir_file(net, "tcp6", 0600, v6));
        print_message("# row %zu\n", i);
        assert_int_equal(
            ownsock_find(*state, (struct sockaddr *) &to, &sock, &err),
            rows[i].rc);
        if (rows[i].rc > 0) {
            assert_int_equal(sock.uid, rows[i].uid);
            ownsock_find(*state, (struct sockaddr *) &to, &again, NULL);
            assert_true(sock.id == again.id);
        } else {
            assert_int_equal(sock.uid, 77); /* unchanged */
            assert_int_equal(err.text[0] != '\0', rows[i].rc < 0);
        }
        free(v4);
        free(v6);
    }
    free(net);
}

static void test_loopback(void **state)
{
    static const struct {
        const char *text;
        bool is;
    } rows[] = {{"127.0.0.1", true},  {"127.9.8.7", true},
                {"128.0.0.1", false}, {"0.0.0.0", false},
                {"::1", true},        {"::", false},
                {"::2", false},       {"::ffff:127.0.0.1", true},
                {"fe80::1", false},   {"::ffff:10.0.0.1", false}};
    const struct sockaddr local = {.sa_family = AF_UNIX};

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct sockaddr_storage a = address_of(rows[i].text, 1);

        assert_int_equal(ownsock_is_loopback((struct sockaddr *) &a),
                         rows[i].is);
    }
    assert_false(ownsock_is_loopback(&local));
}

/* A server of that user on a port of the kernel's choice. */
static pid_t serve(uid_t uid, struct sockaddr_storage *where)
{
    int ends[2];
    uint16_t port;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        struct sockaddr_storage a = address_of("127.0.0.1", 0);
        socklen_t len = sizeof(struct sockaddr_in);
        int fd;

        if (uid != geteuid() && setuid(uid) < 0)
            _exit(1);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* setuid would clear it */
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (bind(fd, (struct sockaddr *) &a, len) < 0 || listen(fd, 5) < 0 ||
            getsockname(fd, (struct sockaddr *) &a, &len) < 0)
            _exit(1);
        port = ntohs(((struct sockaddr_in *) &a)->sin_port);
        if (write(ends[1], &port, sizeof(port)) < 0)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ends[0], &port, sizeof(port)), sizeof(port));
    close(ends[0]);
    close(ends[1]);
    *where = address_of("127.0.0.1", port);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static int connect_to(const struct sockaddr_storage *where, uid_t also,
                      bool *stranger, struct jp_error *err)
{
    return ownsock_connect("", (const struct sockaddr *) where,
                           sizeof(struct sockaddr_in), also, 1000, stranger,
                           err);
}

static void test_real(void **state)
{
    struct sockaddr_storage where, away = address_of("10.1.2.3", 80);
    struct jp_error err = {""};
    struct ownsock sock;
    bool stranger = true;
    pid_t pid = serve(geteuid(), &where);
    int fd;

    (void) state;
    assert_int_equal(ownsock_find("", (struct sockaddr *) &where, &sock, &err),
                     1);
    assert_int_equal(sock.uid, geteuid());
    fd = connect_to(&where, (uid_t) -1, &stranger, &err);
    assert_true(fd >= 0);
    assert_false(stranger);
    close(fd);
    end(pid);
    assert_int_equal(connect_to(&where, (uid_t) -1, &stranger, &err), -1);
    assert_false(stranger);
    assert_non_null(strstr(err.text, "nobody listens"));
    assert_int_equal(connect_to(&away, (uid_t) -1, &stranger, &err), -1);
    assert_true(stranger);
    assert_non_null(strstr(err.text, "10.1.2.3:80 is not this machine"));
}

static void test_other_user(void **state)
{
    struct sockaddr_storage where;
    struct jp_error err = {""};
    bool stranger = false;
    pid_t pid;
    int fd;

    (void) state;
    if (geteuid() != 0)
        skip_check("only root has processes of two users");
    pid = serve(OTHER, &where);
    assert_int_equal(connect_to(&where, (uid_t) -1, &stranger, &err), -1);
    assert_true(stranger);
    assert_non_null(strstr(err.text, "uid 64901 listens there"));
    assert_int_equal(connect_to(&where, OTHER + 1, &stranger, &err), -1);
    assert_true(stranger);
    fd = connect_to(&where, OTHER, &stranger, &err);
    assert_true(fd >= 0);
    assert_false(stranger);
    close(fd);
    end(pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tables, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test(test_loopback),
        cmocka_unit_test(test_real),
        cmocka_unit_test(test_other_user),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
