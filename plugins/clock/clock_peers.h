/* clock_peers.h - which nodes compare their clocks, and by which addresses they
 * meet.
 *
 * Up to seven nodes compare their clocks each with each. In larger steps they
 * are joined by chords: node i with i + 1, i + r and i + r^2 around the list,
 * where r is the cube root of their number. A node then has at most six
 * neighbours, every edge is part of loops that check it, and of 1,024 nodes
 * none is more than 15 edges from another. Each node computes this from the
 * step's node list alone.
 *
 * Agents meet by files: nodes/<node>/clock.peer has the addresses and the port
 * of that node's agent. An agent that needs the file looks for it until it is
 * there, in growing intervals. */
#ifndef JP_CLOCK_PEERS_H
#define JP_CLOCK_PEERS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define CLOCK_ADDRESS_LEN 46 /* as INET6_ADDRSTRLEN */
#define CLOCK_ADDRESSES 8    /* of one node */

struct clock_iface {
    char name[16];
    char address[CLOCK_ADDRESS_LEN]; /* a literal: names are not resolved */
};

/* Interfaces are chosen as NCCL reads NCCL_SOCKET_IFNAME: a comma list of
 * prefixes; "=" in front compares whole names, "^" in front excludes, "^="
 * both. Without a list: all except docker's, virtual bridges' and loopback; if
 * there are none, docker's, then loopback, then virtual bridges'. */
bool clock_iface_matches(const char *list, const char *name);

/* Moves the interfaces of the list ("" or NULL: not given) to the front, in
 * order. Returns their number. */
size_t clock_iface_choose(const char *list, struct clock_iface *all, size_t n);

/* The addresses of this machine that the list chooses, of interfaces that are
 * up, without those that are valid on one link only. Returns their number, at
 * most CLOCK_ADDRESSES; 0: none, see err. */
size_t clock_iface_find(const char *list,
                        struct clock_iface found[CLOCK_ADDRESSES],
                        struct jp_error *err);

#define CLOCK_DEGREE 6
#define CLOCK_PEER_FILE "clock.peer"

/* The neighbours of node i of n into out, ascending. asks[k]: node i asks
 * out[k]; otherwise out[k] asks node i. About half of a node's neighbours each.
 * Returns their number. */
size_t clock_peers_of(uint32_t n, uint32_t i, uint32_t out[CLOCK_DEGREE],
                      bool asks[CLOCK_DEGREE]);

/* The contents of a node's file. */
struct clock_peer {
    uint32_t node_id;
    uint32_t epoch; /* start of its agent, in seconds since 1970 */
    uint16_t port;
    size_t n_addresses;
    struct clock_iface addresses[CLOCK_ADDRESSES];
};

/* Writes the file by a temporary file and rename. */
int clock_peer_write_file(const char *path, const struct clock_peer *peer,
                          struct jp_error *err);
/* Returns -1 if the file does not exist yet or is damaged; *peer is unchanged
 * then. */
int clock_peer_read_file(const char *path, struct clock_peer *peer,
                         struct jp_error *err);
int clock_peer_parse(const char *text, struct clock_peer *peer,
                     struct jp_error *err);

/* A literal of IPv4 or IPv6 as a socket's address. false: it is neither. */
bool clock_peer_address(const char *address, uint16_t port,
                        struct sockaddr_storage *out, socklen_t *len);

/* --- sockets ------------------------------------------------------------- */

/* Sockets that never block, of UDP, one at each of a node's addresses and none
 * at any other, all on the same port of the system's choice. So packets from
 * networks that the step does not use reach no agent. Addresses that cannot be
 * bound are taken out of the list, because no other node may be told of them;
 * err says which is the first ("": none).
 *
 * fds[i] is the socket of addresses[i]; the caller closes them. Returns their
 * number; 0: none, and err says why. */
size_t clock_bind_all(struct clock_iface *addresses, size_t n, int *fds,
                      uint16_t *port, struct jp_error *err);

/* The index of the address from which this node should send to that one: the
 * one that the kernel's route would use, else the first of its kind; n: there
 * is none of its kind. */
size_t clock_bind_choose(const struct clock_iface *addresses, size_t n,
                         const struct sockaddr_storage *to, socklen_t to_len);

#endif
