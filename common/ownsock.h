/* ownsock.h - whose socket listens on a port of this machine.
 *
 * Any local user can listen on a free port, so an answer from 127.0.0.1 is not
 * that of the service which should be there, and a password sent there may be
 * somebody else's. The kernel tells the owner of each socket in /proc/net/tcp
 * and tcp6 (Linux, Documentation/networking/proc_net_tcp.rst).
 */
#ifndef JP_COMMON_OWNSOCK_H
#define JP_COMMON_OWNSOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "common/error.h"

/* An end of a connection; IPv4 is ::ffff:a.b.c.d. */
struct ownsock_end {
    uint8_t address[16];
    uint16_t port;
};

/* Returns false if the address is neither IPv4 nor IPv6. */
bool ownsock_end_of(const struct sockaddr *address, struct ownsock_end *out);
/* "127.0.0.1:9200" or "[::1]:9200", for messages; returns buf. */
const char *ownsock_end_text(const struct ownsock_end *end, char buf[64]);

/* States of the tables' column "st" (include/net/tcp_states.h). */
enum {
    OWNSOCK_ESTABLISHED = 1,
    OWNSOCK_SYN_RECV = 3,
    OWNSOCK_CLOSE_WAIT = 8,
    OWNSOCK_LISTEN = 10
};

/* A row of the tables. */
struct ownsock_row {
    struct ownsock_end local, remote;
    bool v6; /* of tcp6: it may be an IPv4 connection */
    unsigned state;
    uid_t uid;
    uint64_t inode; /* 0: no process has it yet, or any more */
};

/* Calls take for each row of both tables. root: "", or another folder in place
 * of / (tests). A row that cannot be understood, or that was left out, is an
 * error: it could be the one that is looked for. */
int ownsock_rows(const char *root,
                 void (*take)(void *arg, const struct ownsock_row *row),
                 void *arg, struct jp_error *err);

struct ownsock {
    uid_t uid; /* in this user namespace */
    /* stands for the sockets: it is the same as long as they are */
    uint64_t id;
};

/* Whether the address is of this machine's loopback interface: 127.0.0.0/8,
 * ::1, or the former as ::ffff:127.0.0.1. */
bool ownsock_is_loopback(const struct sockaddr *address);

/* Finds the sockets that take a connection to this address and port (IPv4 or
 * IPv6) now. The kernel prefers those that are bound to the address to those
 * bound to all addresses. root: "", or another folder in place of / (tests).
 *
 * Returns 1 if there are some, all of one user; 0 if nobody listens; -1 and err
 * if that cannot be known, or if they are several users'. */
int ownsock_find(const char *root, const struct sockaddr *address,
                 struct ownsock *out, struct jp_error *err);

/* Connects to the address as ownsock_find describes it, if the socket's owner
 * is root, this process's user, or `also` ((uid_t) -1: nobody). The owner is
 * looked up before and after the connection, so that it is not that of another
 * socket. Waits at most limit_ms.
 *
 * Returns a blocking descriptor (close on exec), or -1 and err. *stranger says
 * whether the reason is the owner: then nothing was sent and it is no use to
 * try again. */
int ownsock_connect(const char *root, const struct sockaddr *address,
                    socklen_t len, uid_t also, uint32_t limit_ms,
                    bool *stranger, struct jp_error *err);

#endif
