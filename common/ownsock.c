/* ownsock.c - find the owner of a listening socket in /proc/net. */
#include "common/ownsock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/lines.h"
#include "common/num.h"

/* Columns up to the inode. */
enum { LOCAL = 1, REMOTE, STATE, UID = 7, INODE = 9, COLUMNS = 10 };

/* How a socket takes the connection, best last; the kernel takes the best. */
enum bound {
    BOUND_ELSEWHERE,
    BOUND_TO_ALL6, /* of IPv6; it may take IPv4, too */
    BOUND_TO_ALL,
    BOUND_TO_IT
};

struct finding {
    struct ownsock_end wanted;
    enum bound best;
    unsigned n; /* sockets of this kind */
    bool several;
    struct ownsock sock;
};

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

bool ownsock_end_of(const struct sockaddr *address, struct ownsock_end *out)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    memset(out, 0, sizeof(*out));
    if (address->sa_family == AF_INET) {
        memcpy(&v4, address, sizeof(v4));
        memcpy(out->address, mapped, sizeof(mapped));
        memcpy(out->address + 12, &v4.sin_addr, 4);
        out->port = ntohs(v4.sin_port);
    } else if (address->sa_family == AF_INET6) {
        memcpy(&v6, address, sizeof(v6));
        memcpy(out->address, &v6.sin6_addr, 16);
        out->port = ntohs(v6.sin6_port);
    } else {
        return false;
    }
    return true;
}

static bool is_v4(const struct ownsock_end *end)
{
    return memcmp(end->address, mapped, sizeof(mapped)) == 0;
}

const char *ownsock_end_text(const struct ownsock_end *end, char buf[64])
{
    char text[INET6_ADDRSTRLEN] = "?";

    if (is_v4(end))
        inet_ntop(AF_INET, end->address + 12, text, sizeof(text));
    else
        inet_ntop(AF_INET6, end->address, text, sizeof(text));
    snprintf(buf, 64, is_v4(end) ? "%s:%u" : "[%s]:%u", text, end->port);
    return buf;
}

bool ownsock_is_loopback(const struct sockaddr *address)
{
    static const uint8_t one[16] = {[15] = 1};
    struct ownsock_end end;

    if (!ownsock_end_of(address, &end))
        return false;
    return is_v4(&end) ? end.address[12] == 127
                       : memcmp(end.address, one, sizeof(one)) == 0;
}

/* Reads n hexadecimal digits. Returns false if there are others. */
static bool read_hex(const char *text, size_t n, uint32_t *out)
{
    static const char digits[] = "0123456789ABCDEF";

    *out = 0;
    for (size_t i = 0; i < n; i++) {
        const char *digit = text[i] ? strchr(digits, text[i]) : NULL;

        if (!digit)
            return false;
        *out = *out << 4 | (uint32_t) (digit - digits);
    }
    return true;
}

/* Reads "0100007F:2404", or the same with 32 digits: words of four bytes as
 * this machine has them in memory, and the port. */
static bool read_end(const char *text, bool v6, struct ownsock_end *out)
{
    size_t words = v6 ? 4 : 1;
    uint8_t *to = v6 ? out->address : out->address + 12;
    uint32_t word, port;

    memset(out, 0, sizeof(*out));
    if (!v6)
        memcpy(out->address, mapped, sizeof(mapped));
    for (size_t i = 0; i < words; i++) {
        if (!read_hex(text + 8 * i, 8, &word))
            return false;
        memcpy(to + 4 * i, &word, 4);
    }
    text += 8 * words;
    if (*text != ':' || !read_hex(text + 1, 4, &port) || text[5])
        return false;
    out->port = (uint16_t) port;
    return true;
}

/* Reads a line: "sl local_address rem_address st tx:rx tr:when retrnsmt uid
 * timeout inode ...". Returns -1 if it cannot be understood. */
static int read_row(char *line, bool v6, struct ownsock_row *out)
{
    char *column[COLUMNS], *word;
    uint32_t state;
    uint64_t uid;
    size_t n = 0;

    while (n < COLUMNS && (word = strsep(&line, " ")))
        if (*word)
            column[n++] = word;
    *out = (struct ownsock_row){.v6 = v6};
    if (n < COLUMNS || strlen(column[STATE]) != 2 ||
        !read_hex(column[STATE], 2, &state) ||
        !read_end(column[LOCAL], v6, &out->local) ||
        !read_end(column[REMOTE], v6, &out->remote) ||
        num_parse_u64(column[UID], 0, UINT32_MAX, &uid, NULL) < 0 ||
        num_parse_u64(column[INODE], 0, UINT64_MAX, &out->inode, NULL) < 0)
        return -1;
    out->state = state;
    out->uid = (uid_t) uid;
    return 0;
}

/* Reads one table. A kernel without IPv6 has no tcp6. */
static int read_table(const char *root, bool v6,
                      void (*take)(void *arg, const struct ownsock_row *row),
                      void *arg, struct jp_error *err)
{
    char *path = text_format("%s/proc/net/%s", root, v6 ? "tcp6" : "tcp");
    struct jp_lines *lines;
    struct ownsock_row row;
    char *line;
    size_t len;
    int rc;

    errno = ENOMEM;
    lines = path ? lines_open(path, &lines_limits[LINES_SOCKETS], err) : NULL;
    if (!lines) {
        rc = v6 && errno == ENOENT ? 0 : -1;
        free(path);
        return rc;
    }
    /* the first line is a heading */
    rc = lines_next(lines, &line, &len, err);
    while (rc > 0 && (rc = lines_next(lines, &line, &len, err)) > 0)
        if (read_row(line, v6, &row) == 0)
            take(arg, &row);
        else
            rc = error_set(err, "%s:%llu: not a socket", path,
                           (unsigned long long) lines_number(lines));
    /* what was left out could be the socket */
    if (rc == 0 && lines_left(lines)->why)
        rc = error_set(err, "%s", lines_left(lines)->first.text);
    lines_close(lines);
    free(path);
    return rc;
}

int ownsock_rows(const char *root,
                 void (*take)(void *arg, const struct ownsock_row *row),
                 void *arg, struct jp_error *err)
{
    return read_table(root, false, take, arg, err) < 0 ||
                   read_table(root, true, take, arg, err) < 0
               ? -1
               : 0;
}

/* --- who listens ---------------------------------------------------------- */

/* How a socket takes a connection to `wanted`. */
static enum bound bound_to(const struct ownsock_row *row,
                           const struct ownsock_end *wanted)
{
    static const uint8_t none[16];
    const struct ownsock_end *local = &row->local;

    if (local->port != wanted->port)
        return BOUND_ELSEWHERE;
    if (memcmp(local->address, wanted->address, 16) == 0)
        return BOUND_TO_IT;
    if (row->v6)
        return memcmp(local->address, none, 16) == 0 ? BOUND_TO_ALL6
                                                     : BOUND_ELSEWHERE;
    return is_v4(wanted) && memcmp(local->address + 12, none, 4) == 0
               ? BOUND_TO_ALL
               : BOUND_ELSEWHERE;
}

static void take_listener(void *arg, const struct ownsock_row *row)
{
    struct finding *f = arg;
    enum bound bound;

    if (row->state != OWNSOCK_LISTEN)
        return;
    bound = bound_to(row, &f->wanted);
    if (bound == BOUND_ELSEWHERE || bound < f->best)
        return;
    if (bound > f->best) {
        f->best = bound;
        f->n = 0;
        f->several = false;
        f->sock = (struct ownsock){.uid = row->uid};
    }
    f->several = f->several || f->sock.uid != row->uid;
    /* a sum, because the order of the lines is not fixed */
    f->sock.id += (row->inode + 1) * UINT64_C(0x9e3779b97f4a7c15);
    f->n++;
}

/* Prints "127.0.0.1:9200" for messages. */
static const char *show_address(const struct sockaddr *address, char buf[64])
{
    struct ownsock_end end;

    return ownsock_end_of(address, &end)
               ? ownsock_end_text(&end, buf)
               : "an address that is neither IPv4 nor IPv6";
}

int ownsock_find(const char *root, const struct sockaddr *address,
                 struct ownsock *out, struct jp_error *err)
{
    struct finding f = {.best = BOUND_ELSEWHERE};
    char shown[64];

    if (!ownsock_end_of(address, &f.wanted))
        return error_set(err, "neither IPv4 nor IPv6");
    if (ownsock_rows(root, take_listener, &f, err) < 0)
        return -1;
    if (!f.n)
        return 0;
    if (f.several)
        return error_set(err, "sockets of several users listen on %s",
                         show_address(address, shown));
    *out = f.sock;
    return 1;
}

/* The uid by which this namespace shows users that it does not know; it proves
 * nothing. */
static uid_t unknown_uid(const char *root)
{
    char *path = text_format("%s/proc/sys/kernel/overflowuid", root);
    char *text = NULL;
    uint64_t uid = 65534;

    if (path && fileio_read(path, false, 32, &text, NULL, NULL) == 0) {
        text[strcspn(text, "\n")] = '\0';
        num_parse_u64(text, 0, UINT32_MAX, &uid, NULL);
    }
    free(text);
    free(path);
    return (uid_t) uid;
}

/* Returns 0 if the owner is one of those that are allowed. */
static int check_owner(const char *root, const struct sockaddr *address,
                       uid_t also, struct ownsock *sock, struct jp_error *err)
{
    char shown[64];
    int rc = ownsock_find(root, address, sock, err);

    if (rc < 0)
        return error_wrap(err, "%s: the server's user is not known",
                          show_address(address, shown));
    if (rc == 0) {
        errno = ECONNREFUSED;
        return error_set(err, "%s: nobody listens",
                         show_address(address, shown));
    }
    errno = EPERM;
    if (sock->uid != unknown_uid(root) &&
        (sock->uid == 0 || sock->uid == geteuid() ||
         (also != (uid_t) -1 && sock->uid == also)))
        return 0;
    return error_set(err, "%s: uid %lu listens there, not root or this user",
                     show_address(address, shown), (unsigned long) sock->uid);
}

/* Waits for the connection. Returns 0, or -1 with errno. */
static int finish_connect(int fd, uint32_t limit_ms)
{
    struct pollfd one = {.fd = fd, .events = POLLOUT};
    socklen_t len = sizeof(int);
    int rc, why = 0;

    do
        rc = poll(&one, 1, limit_ms > INT32_MAX ? -1 : (int) limit_ms);
    while (rc < 0 && errno == EINTR);
    if (rc == 0)
        errno = ETIMEDOUT;
    if (rc <= 0)
        return -1;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &len) < 0)
        return -1;
    errno = why;
    return why ? -1 : 0;
}

int ownsock_connect(const char *root, const struct sockaddr *address,
                    socklen_t len, uid_t also, uint32_t limit_ms,
                    bool *stranger, struct jp_error *err)
{
    struct ownsock before, after;
    char shown[64];
    int fd, flags;

    *stranger = true;
    if (!ownsock_is_loopback(address))
        return error_set(err, "%s is not this machine",
                         show_address(address, shown));
    if (check_owner(root, address, also, &before, err) < 0) {
        *stranger = errno != ECONNREFUSED;
        return -1;
    }
    *stranger = false;
    fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                0);
    if (fd < 0)
        return error_set(err, "%s: %s", show_address(address, shown),
                         strerror(errno));
    if (connect(fd, address, len) < 0 &&
        (errno != EINPROGRESS || finish_connect(fd, limit_ms) < 0)) {
        error_set(err, "%s: %s", show_address(address, shown), strerror(errno));
        goto fail;
    }
    /* The same socket before and after: the connection is to it. */
    *stranger = true;
    if (check_owner(root, address, also, &after, err) < 0)
        goto fail;
    if (after.id != before.id || after.uid != before.uid) {
        *stranger = false; /* a restart; the next try sees one server */
        error_set(err, "%s: another socket listens there now",
                  show_address(address, shown));
        goto fail;
    }
    flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0) {
        *stranger = false;
        return fd;
    }
    error_set(err, "%s: %s", show_address(address, shown), strerror(errno));
fail:
    close(fd);
    return -1;
}
