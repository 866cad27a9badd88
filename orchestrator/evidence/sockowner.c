/* sockowner.c - whose socket is at a TCP address of this host.
 *
 * A socket is found by its addresses in the kernel's tables (find_sockets), its
 * process by its inode among the descriptors of the step's processes
 * (find_holder), in a child, because /proc of a process in kernel state D may
 * block. */
#include "orchestrator/evidence/evidence.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/child.h"
#include "orchestrator/collect/clock.h"

enum {
    HOLDER_MS = 2000,      /* to find the process of a socket */
    POLL_MS = 5,           /* between two looks at a new connection */
    APPEARS_MS = 200,      /* until a new connection is in the tables */
    ADDRESS_BYTES = 40,    /* "0000...:6D7C" of IPv6 */
    STATE_ESTABLISHED = 1, /* of the tables' column "st" */
    STATE_SYN_RECV = 3,
    STATE_CLOSE_WAIT = 8,
    STATE_LISTEN = 10
};

#define NOT_HERE                                                               \
    "%s is not an address of this node, so whose socket it is cannot be "      \
    "checked, and RAS is not queried"

/* An address as the tables write it: each 32 bits of it as the number that the
 * machine reads there, then the port. */
struct address {
    char v4[ADDRESS_BYTES]; /* in tcp; "": it is IPv6 */
    char v6[ADDRESS_BYTES]; /* in tcp6: IPv6, or IPv4 in an IPv6 socket */
    char any4[ADDRESS_BYTES], any6[ADDRESS_BYTES]; /* a listener on all */
    char text[INET6_ADDRSTRLEN + 10];              /* for messages */
};

/* A socket of the tables. */
struct found {
    unsigned state;
    uid_t uid;
    uint64_t inode; /* 0: no process has it yet, or any more */
};

/* --- the kernel's tables -------------------------------------------------- */

static void write_v6(char out[ADDRESS_BYTES], const uint32_t words[4],
                     unsigned port)
{
    snprintf(out, ADDRESS_BYTES, "%08X%08X%08X%08X:%04X", words[0], words[1],
             words[2], words[3], port);
}

/* Returns -1 if it is neither IPv4 nor IPv6. */
static int write_address(const struct sockaddr *at, struct address *out)
{
    static const uint32_t none[4];
    uint32_t words[4] = {0, 0, htonl(0xffff), 0};
    char host[INET6_ADDRSTRLEN] = "";
    unsigned port;

    *out = (struct address){.v4 = ""};
    if (at->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *) at;

        words[3] = in->sin_addr.s_addr;
        port = ntohs(in->sin_port);
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
        snprintf(out->v4, sizeof(out->v4), "%08X:%04X", words[3], port);
        snprintf(out->any4, sizeof(out->any4), "%08X:%04X", 0, port);
        snprintf(out->text, sizeof(out->text), "%s:%u", host, port);
    } else if (at->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *) at;

        memcpy(words, &in->sin6_addr, sizeof(words));
        port = ntohs(in->sin6_port);
        inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof(host));
        snprintf(out->text, sizeof(out->text), "[%s]:%u", host, port);
    } else {
        return -1;
    }
    write_v6(out->v6, words, port);
    write_v6(out->any6, none, port);
    return 0;
}

/* A line: "sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout
 * inode ...". Returns false if it is none, as the heading. */
static bool read_line(char *line, char *words[10], struct found *out)
{
    char *rest = line, *end, *word;
    size_t n = 0;

    while (n < 10 && (word = strsep(&rest, " \n")))
        if (*word)
            words[n++] = word;
    if (n < 10)
        return false;
    *out = (struct found){.state = (unsigned) strtoul(words[3], &end, 16)};
    if (*end || end == words[3])
        return false;
    out->uid = (uid_t) strtoul(words[7], &end, 10);
    if (*end || end == words[7])
        return false;
    out->inode = strtoull(words[9], &end, 10);
    return !*end && end != words[9];
}

/* Calls take() for each socket of a table whose local address is `local`, and
 * whose other end is `remote`; NULL: any. */
static void find_sockets(const char *table, const char *local,
                         const char *remote,
                         void (*take)(void *arg, const struct found *one),
                         void *arg)
{
    FILE *file = *local ? fopen(table, "re") : NULL;
    char *line = NULL, *words[10];
    struct found one;
    size_t room = 0;

    while (file && getline(&line, &room, file) > 0)
        if (read_line(line, words, &one) && strcmp(words[1], local) == 0 &&
            (!remote || strcmp(words[2], remote) == 0))
            take(arg, &one);
    free(line);
    if (file)
        fclose(file);
}

#define TCP4 "/proc/self/net/tcp"
#define TCP6 "/proc/self/net/tcp6"

/* --- the process ---------------------------------------------------------- */

enum holder { HOLDER_STEP, HOLDER_OTHER, HOLDER_UNKNOWN };

struct search {
    const struct proclook_step *step;
    char link[40];    /* "socket:[123]" */
    bool unread;      /* the descriptors of a process cannot be read */
    bool has_process; /* the step has one */
};

/* Whether a process of the step has the socket. */
static bool has_socket(void *arg, struct ownproc *proc)
{
    struct search *search = arg;
    struct dirent *entry;
    bool found = false;
    char link[64];
    int fd;
    DIR *dir;

    if (!proclook_is_of_step(proc, search->step))
        return false;
    search->has_process = true;
    fd = openat(proc->dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (fd >= 0 && !dir)
        close(fd);
    if (!dir && errno != ENOENT && errno != ESRCH)
        search->unread = true;
    while (dir && !found && (entry = readdir(dir))) {
        ssize_t n =
            readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);

        link[n > 0 ? n : 0] = '\0';
        found = strcmp(link, search->link) == 0;
    }
    if (dir)
        closedir(dir);
    return found;
}

/* Runs in the child; the exit status is an enum holder. */
static int search_holder(void *arg, int out)
{
    struct search *search = arg;

    (void) out;
    if (ownproc_walk("", search->step->uid, has_socket, search))
        return HOLDER_STEP;
    return search->unread || !search->has_process ? HOLDER_UNKNOWN
                                                  : HOLDER_OTHER;
}

static enum holder find_holder(const struct proclook_step *step, uint64_t inode)
{
    struct search search = {.step = step};
    const struct child child = {.work = search_holder,
                                .arg = &search,
                                .dies_with_us = true,
                                .limit_ms = HOLDER_MS};
    struct child_result r;

    snprintf(search.link, sizeof(search.link), "socket:[%" PRIu64 "]", inode);
    if (child_run(&child, &r) != CHILD_ENDED || !WIFEXITED(r.status))
        return HOLDER_UNKNOWN;
    return WEXITSTATUS(r.status) == HOLDER_STEP    ? HOLDER_STEP
           : WEXITSTATUS(r.status) == HOLDER_OTHER ? HOLDER_OTHER
                                                   : HOLDER_UNKNOWN;
}

/* Whether the socket is the step's. Where the step's descriptors cannot be
 * read, the uid alone decides: the socket is the user's own in any case. */
static int check_owner(const struct proclook_step *step,
                       const struct found *socket, const char *text,
                       struct jp_error *err)
{
    if (socket->uid != step->uid)
        return error_set(err,
                         "the socket at %s belongs to uid %lu, not to the "
                         "step's user, so RAS is not queried",
                         text, (unsigned long) socket->uid);
    if (find_holder(step, socket->inode) == HOLDER_OTHER)
        return error_set(err,
                         "the socket at %s belongs to no process of the step, "
                         "so RAS is not queried",
                         text);
    return 0;
}

/* --- a listener ----------------------------------------------------------- */

/* Whether the address is one of this host: only then can it be bound. */
static bool is_here(const struct sockaddr *at)
{
    int fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    bool here;

    /* any port */
    if (at->sa_family == AF_INET) {
        memcpy(&in, at, sizeof(in));
        in.sin_port = 0;
        here = bind(fd, (const struct sockaddr *) &in, sizeof(in)) == 0;
    } else {
        memcpy(&in6, at, sizeof(in6));
        in6.sin6_port = 0;
        here = bind(fd, (const struct sockaddr *) &in6, sizeof(in6)) == 0;
    }
    if (fd >= 0)
        close(fd);
    return here;
}

/* Listeners at one address. Several may share a port; the kernel chooses. */
struct listeners {
    const struct proclook_step *step;
    const char *text;
    struct jp_error *err;
    size_t n, bad;
};

static void take_listener(void *arg, const struct found *one)
{
    struct listeners *l = arg;

    if (one->state != STATE_LISTEN)
        return;
    l->n++;
    l->bad += check_owner(l->step, one, l->text, l->err) < 0;
}

/* The kernel prefers a listener on the address itself to one on all of them. So
 * these count first, and all of them must be the step's. */
int sockowner_check_listener(const struct proclook_step *step,
                             const struct sockaddr *at, struct jp_error *err)
{
    struct address a;
    struct listeners l = {step, a.text, err, 0, 0};

    if (write_address(at, &a) < 0)
        return error_set(err, "not an address of TCP");
    if (!is_here(at))
        return error_set(err, NOT_HERE, a.text);
    find_sockets(TCP4, a.v4, NULL, take_listener, &l);
    find_sockets(TCP6, a.v6, NULL, take_listener, &l);
    if (!l.n) {
        find_sockets(TCP4, a.any4, NULL, take_listener, &l);
        find_sockets(TCP6, a.any6, NULL, take_listener, &l);
    }
    if (!l.n)
        return error_set(err, "RAS does not listen at %s on this node", a.text);
    return l.bad ? -1 : 0;
}

/* --- the other end of a connection ---------------------------------------- */

static void take_first(void *arg, const struct found *one)
{
    struct found *first = arg;

    if (!first->state)
        *first = *one;
}

/* Until its process has accepted a connection, the socket has no inode, and its
 * uid says nothing. Another host's socket is in no table of this one. */
int sockowner_check_peer(const struct proclook_step *step, int fd,
                         uint32_t limit_ms, struct jp_error *err)
{
    struct sockaddr_storage theirs = {0}, ours = {0};
    socklen_t theirs_len = sizeof(theirs), ours_len = sizeof(ours);
    uint64_t begin_ms = clock_mono_ms(), passed_ms = 0;
    struct address local, remote; /* as the other end sees them */
    struct found socket = {0};

    if (getpeername(fd, (struct sockaddr *) &theirs, &theirs_len) < 0 ||
        getsockname(fd, (struct sockaddr *) &ours, &ours_len) < 0)
        return error_set(err, "RAS has closed the connection: %s",
                         strerror(errno));
    if (write_address((struct sockaddr *) &theirs, &local) < 0 ||
        write_address((struct sockaddr *) &ours, &remote) < 0)
        return error_set(err, "not an address of TCP");
    for (; passed_ms <= limit_ms; passed_ms = clock_mono_ms() - begin_ms) {
        socket = (struct found){0};
        find_sockets(TCP4, local.v4, remote.v4, take_first, &socket);
        find_sockets(TCP6, local.v6, remote.v6, take_first, &socket);
        if (socket.inode && (socket.state == STATE_ESTABLISHED ||
                             socket.state == STATE_CLOSE_WAIT))
            return check_owner(step, &socket, local.text, err);
        if (!socket.state && passed_ms > APPEARS_MS)
            return error_set(err, NOT_HERE, local.text);
        if (socket.state && socket.state != STATE_ESTABLISHED &&
            socket.state != STATE_SYN_RECV)
            return error_set(err, "RAS has closed the connection");
        clock_sleep_ms(POLL_MS);
    }
    return error_set(err, "RAS does not accept the connection");
}
