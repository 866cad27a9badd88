/* sockowner.c - whose socket is at a TCP address of this host.
 *
 * A socket is found by its addresses in the kernel's tables (ownsock.h), its
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
#include "common/ownsock.h"
#include "orchestrator/collect/clock.h"

enum {
    HOLDER_MS = 2000, /* to find the process of a socket */
    POLL_MS = 5,      /* between two looks at a new connection */
    APPEARS_MS = 200  /* until a new connection is in the tables */
};

#define NOT_HERE                                                               \
    "%s is not an address of this node, so whose socket it is cannot be "      \
    "checked, and RAS is not queried"

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
                       const struct ownsock_row *socket, const char *text,
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
    const struct ownsock_end *at;
    bool any; /* those on all addresses, instead of the ones on this */
    const struct proclook_step *step;
    const char *text;
    struct jp_error *err;
    size_t n, bad;
};

/* Whether the socket listens on all addresses, of IPv4 or IPv6. */
static bool is_any(const struct ownsock_row *row)
{
    static const uint8_t none[16];

    return row->v6 ? memcmp(row->local.address, none, 16) == 0
                   : memcmp(row->local.address + 12, none, 4) == 0;
}

static void take_listener(void *arg, const struct ownsock_row *row)
{
    struct listeners *l = arg;

    if (row->state != OWNSOCK_LISTEN || row->local.port != l->at->port ||
        (l->any ? !is_any(row)
                : memcmp(row->local.address, l->at->address, 16) != 0))
        return;
    l->n++;
    l->bad += check_owner(l->step, row, l->text, l->err) < 0;
}

/* The kernel prefers a listener on the address itself to one on all of them. So
 * these count first, and all of them must be the step's. */
int sockowner_check_listener(const struct proclook_step *step,
                             const struct sockaddr *at, struct jp_error *err)
{
    struct ownsock_end end;
    char text[64];
    struct listeners l = {.at = &end, .step = step, .text = text, .err = err};

    if (!ownsock_end_of(at, &end))
        return error_set(err, "not an address of TCP");
    ownsock_end_text(&end, text);
    if (!is_here(at))
        return error_set(err, NOT_HERE, text);
    if (ownsock_rows("", take_listener, &l, err) < 0)
        return -1;
    l.any = true;
    if (!l.n && ownsock_rows("", take_listener, &l, err) < 0)
        return -1;
    if (!l.n)
        return error_set(err, "RAS does not listen at %s on this node", text);
    return l.bad ? -1 : 0;
}

/* --- the other end of a connection ---------------------------------------- */

/* The socket whose own end is `local`. */
struct peer {
    struct ownsock_end local, remote;
    struct ownsock_row row;
    bool found;
};

static void take_peer(void *arg, const struct ownsock_row *row)
{
    struct peer *p = arg;

    if (p->found || row->local.port != p->local.port ||
        row->remote.port != p->remote.port ||
        memcmp(row->local.address, p->local.address, 16) != 0 ||
        memcmp(row->remote.address, p->remote.address, 16) != 0)
        return;
    p->row = *row;
    p->found = true;
}

/* Until its process has accepted a connection, the socket has no inode, and its
 * uid says nothing. Another host's socket is in no table of this one. */
int sockowner_check_peer(const struct proclook_step *step, int fd,
                         uint32_t limit_ms, struct jp_error *err)
{
    struct sockaddr_storage theirs = {0}, ours = {0};
    socklen_t theirs_len = sizeof(theirs), ours_len = sizeof(ours);
    uint64_t begin_ms = clock_mono_ms(), passed_ms = 0;
    struct peer peer = {.found = false}; /* as the other end sees it */
    char text[64];

    if (getpeername(fd, (struct sockaddr *) &theirs, &theirs_len) < 0 ||
        getsockname(fd, (struct sockaddr *) &ours, &ours_len) < 0)
        return error_set(err, "RAS has closed the connection: %s",
                         strerror(errno));
    if (!ownsock_end_of((struct sockaddr *) &theirs, &peer.local) ||
        !ownsock_end_of((struct sockaddr *) &ours, &peer.remote))
        return error_set(err, "not an address of TCP");
    ownsock_end_text(&peer.local, text);
    for (; passed_ms <= limit_ms; passed_ms = clock_mono_ms() - begin_ms) {
        unsigned state;

        peer.found = false;
        if (ownsock_rows("", take_peer, &peer, err) < 0)
            return -1;
        state = peer.found ? peer.row.state : 0;
        if (peer.found && peer.row.inode &&
            (state == OWNSOCK_ESTABLISHED || state == OWNSOCK_CLOSE_WAIT))
            return check_owner(step, &peer.row, text, err);
        if (!peer.found && passed_ms > APPEARS_MS)
            return error_set(err, NOT_HERE, text);
        if (peer.found && state != OWNSOCK_ESTABLISHED &&
            state != OWNSOCK_SYN_RECV)
            return error_set(err, "RAS has closed the connection");
        clock_sleep_ms(POLL_MS);
    }
    return error_set(err, "RAS does not accept the connection");
}
