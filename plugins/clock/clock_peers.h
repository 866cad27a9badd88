/* clock_peers.h - which nodes compare their clocks, and by which addresses they
 * meet.
 *
 * Up to seven nodes each compares with each. More are joined by chords: node i
 * with i + 1, i + r and i + r^2 around the list (r: the cube root of their
 * number), so that a node has at most six neighbours, every edge is in loops
 * that check it, and of 1,024 nodes none is more than 15 edges away. Each node
 * computes this from the step's node list alone.
 *
 * They meet by files: nodes/<node>/clock.peer has the addresses and the port of
 * that node's agent. Who needs it reads it until it is there, ever more rarely.
 */
#ifndef JP_CLOCK_PEERS_H
#define JP_CLOCK_PEERS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* Names of interfaces are chosen as NCCL reads NCCL_SOCKET_IFNAME: a comma list
 * of prefixes; "=" in front takes whole names, "^" in front takes all others,
 * "^=" both. Without a list: all but docker's, virtual bridges' and loopback,
 * then docker's, then loopback. */

#define CLOCK_ADDRESS_LEN 46 /* as INET6_ADDRSTRLEN */
#define CLOCK_ADDRESSES 8    /* of one node */

struct clock_iface {
    char name[16];
    char address[CLOCK_ADDRESS_LEN]; /* a literal: nobody is asked for names */
};

bool clock_iface_matches(const char *list, const char *name);

/* Moves those of list ("" or NULL: none is given) to the front of all, in
 * order. Returns how many. */
size_t clock_iface_choose(const char *list, struct clock_iface *all, size_t n);

/* Of this machine, as clock_iface_choose: interfaces that are up, without
 * addresses that hold on one link only. Returns how many, at most
 * CLOCK_ADDRESSES; 0 and err: none. */
size_t clock_iface_find(const char *list,
                        struct clock_iface found[CLOCK_ADDRESSES],
                        struct jp_error *err);

#define CLOCK_DEGREE 6
#define CLOCK_PEER_FILE "clock.peer"

/* The neighbours of node i of n into out, ascending. asks: whether i asks it,
 * else it asks i: half of a node's neighbours each. Returns how many. */
size_t clock_peers_of(uint32_t n, uint32_t i, uint32_t out[CLOCK_DEGREE],
                      bool asks[CLOCK_DEGREE]);

/* What stands in a node's file. */
struct clock_peer {
    uint32_t node_id;
    uint32_t epoch; /* when its agent began: seconds since 1970 */
    uint16_t port;
    size_t n_addresses;
    struct clock_iface addresses[CLOCK_ADDRESSES];
};

/* By temp + rename. */
int clock_peer_write_file(const char *path, const struct clock_peer *peer,
                          struct jp_error *err);
/* -1: it is not there yet, or is none. */
int clock_peer_read_file(const char *path, struct clock_peer *peer,
                         struct jp_error *err);
int clock_peer_parse(const char *text, struct clock_peer *peer,
                     struct jp_error *err);

/* An address as one for a socket of IPv6 that also takes IPv4, or for one of
 * IPv4 only. False: it is of the other kind. */
bool clock_peer_address(const char *address, uint16_t port, bool ipv6,
                        struct sockaddr_storage *out, socklen_t *len);

#endif
