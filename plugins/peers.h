/* peers.h - how agents of a step's nodes meet and trust each other's packets.
 *
 * Agents meet by files: each writes its addresses and its port. An agent that
 * needs such a file looks for it until it is there, in growing intervals. Their
 * packets are sealed by a key that only the step's agents know: SipHash, as
 * described by Aumasson and Bernstein (SipHash: a fast short-input PRF, 2012);
 * the code was written from the paper. */
#ifndef JP_PLUGINS_PEERS_H
#define JP_PLUGINS_PEERS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "plugins/module.h"

/* --- seals ----------------------------------------------------------------
 */

struct peer_seal {
    uint8_t key[16];
};

/* Derives the step's seal from its key, job id and step id. */
void peer_seal_init(struct peer_seal *seal, const uint8_t key[MODULE_KEY_BYTES],
                    uint64_t job, const char *step);

/* SipHash-2-4 of the bytes. wide: the variant with 128 bits, otherwise out[1]
 * is 0. Extern for other packets, and for the test vectors of its authors. */
void peer_siphash(const uint8_t key[16], const uint8_t *bytes, size_t len,
                  int wide, uint64_t out[2]);

/* --- addresses ------------------------------------------------------------
 */

#define PEER_NODES_MAX 65535 /* ids have 16 bits */
#define PEER_ADDRESS_LEN 46  /* as INET6_ADDRSTRLEN */
#define PEER_ADDRESSES 8     /* of one node */

struct peer_iface {
    char name[16];
    char address[PEER_ADDRESS_LEN]; /* a literal: names are not resolved */
};

/* Interfaces are chosen as NCCL reads NCCL_SOCKET_IFNAME: a comma list of
 * prefixes; "=" in front compares whole names, "^" in front excludes, "^="
 * both. Without a list: all except docker's, virtual bridges' and loopback; if
 * there are none, docker's, then loopback, then virtual bridges'. */
bool peer_iface_matches(const char *list, const char *name);

/* Moves the interfaces of the list ("" or NULL: not given) to the front, in
 * order. Returns their number. */
size_t peer_iface_choose(const char *list, struct peer_iface *all, size_t n);

/* The addresses of this machine that the list chooses, of interfaces that are
 * up, without those that are valid on one link only. Returns their number, at
 * most PEER_ADDRESSES; 0: none, see err. */
size_t peer_iface_find(const char *list,
                       struct peer_iface found[PEER_ADDRESSES],
                       struct jp_error *err);

/* The contents of a node's file. */
struct peer_place {
    uint32_t node_id;
    uint32_t epoch; /* start of its agent, in seconds since 1970 */
    uint16_t port;
    size_t n_addresses;
    struct peer_iface addresses[PEER_ADDRESSES];
};

/* Writes the file by a temporary file and rename. */
int peer_write_file(const char *path, const struct peer_place *peer,
                    struct jp_error *err);
/* Returns -1 if the file does not exist yet or is damaged; *peer is unchanged
 * then. */
int peer_read_file(const char *path, struct peer_place *peer,
                   struct jp_error *err);
int peer_parse(const char *text, struct peer_place *peer, struct jp_error *err);

/* A literal of IPv4 or IPv6 as a socket's address. false: it is neither. */
bool peer_address(const char *address, uint16_t port,
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
size_t peer_bind_all(struct peer_iface *addresses, size_t n, int *fds,
                     uint16_t *port, struct jp_error *err);

/* The index of the address from which this node should send to that one: the
 * one that the kernel's route would use, else the first of its kind; n: there
 * is none of its kind. */
size_t peer_bind_choose(const struct peer_iface *addresses, size_t n,
                        const struct sockaddr_storage *to, socklen_t to_len);

#endif
