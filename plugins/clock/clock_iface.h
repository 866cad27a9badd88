/* clock_iface.h - by which addresses a node's agent can be reached.
 *
 * Names of interfaces are chosen as NCCL reads NCCL_SOCKET_IFNAME: a comma list
 * of prefixes; "=" in front takes whole names, "^" in front takes all others,
 * "^=" both. Without a list: all but docker's, virtual bridges' and loopback,
 * then docker's, then loopback.
 */
#ifndef JP_CLOCK_IFACE_H
#define JP_CLOCK_IFACE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

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

#endif
