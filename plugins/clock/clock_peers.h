/* clock_peers.h - which nodes compare their clocks.
 *
 * Up to seven nodes compare their clocks each with each. In larger steps they
 * are joined by chords: node i with i + 1, i + r and i + r^2 around the list,
 * where r is the cube root of their number. A node then has at most six
 * neighbours, every edge is part of loops that check it, and of 1,024 nodes
 * none is more than 15 edges from another. Each node computes this from the
 * step's node list alone. Agents meet by nodes/<node>/clock.peer
 * (plugins/peers.h). */
#ifndef JP_CLOCK_PEERS_H
#define JP_CLOCK_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugins/peers.h"

#define CLOCK_DEGREE 6
#define CLOCK_PEER_FILE "clock.peer"

/* The neighbours of node i of n into out, ascending. asks[k]: node i asks
 * out[k]; otherwise out[k] asks node i. About half of a node's neighbours each.
 * Returns their number. */
size_t clock_peers_of(uint32_t n, uint32_t i, uint32_t out[CLOCK_DEGREE],
                      bool asks[CLOCK_DEGREE]);

#endif
