/* example.h - the example backend: its reader, and the sizes of its pools. */
#ifndef JP_NCCL_EXAMPLE_EXAMPLE_H
#define JP_NCCL_EXAMPLE_EXAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "plugins/backend.h"
#include "plugins/reader.h"

extern const struct backend_reader example_reader;

/* --- how large the example plugin's pools are made.
 *
 * Each communicator needs room for W = iterations x colls / comms collectives
 * and V = iterations x p2p / comms sends and receives. The planner takes the
 * largest n <= W for which all of this holds:
 *
 *   one pool          slots x slot bytes <= 9/10 of RAM + swap
 *                     (vm.overcommit_memory 0: the kernel refuses one larger
 *                     allocation); of the step's memory where the nodes' RAM
 *                     is not known
 *   all pools         (comms x pools + PROXY_DETACH) x ranks on the node <=
 *                     half of what CommitLimit leaves  (overcommit 2)
 *                     comms x pools + PROXY_DETACH <= half of RLIMIT_AS
 *   resident          comms x touched + PROXY_DETACH <= mem=, and <= a
 *                     quarter of the step's memory on a node over its ranks
 *   files             comms x trace bytes x ranks <= disk=, and <= the free
 *                     space less min_free=
 *
 * with these pools for n collectives and v = n x V / W sends and receives of a
 * communicator (v = 8 where not even n = 8 fits otherwise):
 *
 *   COLL = COLL_API = n        P2P = P2P_API = v, at least EXAMPLE_MIN_SLOTS
 *   GROUP_API = GROUP = 8 (n + v) + 1,024: groups of sends that the plan does
 *   not know take slots as well, and these are small
 *   where the pools turn over (example_turns_over) and n < W: GROUP = COLL =
 *   n + v and P2P = 2 (n + v), because a group whose operations find no slot is
 *   never given back, and a communicator may have groups of one kind only
 *   the others EXAMPLE_MIN_SLOTS, PROXY_CTRL 16, PROXY_DETACH 128: our event
 *   mask leaves their events out
 *
 * events= adds events that our mask leaves out. Their pools then follow n and
 * v: KERNEL_LAUNCH n + v (at most one launch for each operation), PROXY_CTRL
 * one for ten operations, PROXY_DETACH (one pool for a process) one for two
 * operations of all communicators. These are the proportions of NVIDIA's guide
 * to pools (10,000 : 1,000 : 5,000).
 *
 * If n = W fits, pools grow up to comms times that as far as the address space
 * allows: communicators need not be equally busy, and together they touch no
 * more memory than before.
 *
 * A pool that the user has set counts as given where force= is off, and the
 * rest is planned around it. If it does not fit, nothing is planned: the plugin
 * could not start with it.
 *
 * A COLL or P2P slot is touched at its head and tail, and at begin and end of
 * its ProxyOps: (4 + channels x (ops + 1)) pages, at most the slot. ops is 6
 * (tree: three peers, a send and a receive each; ring has 2), and 0 within one
 * node and where ProxyOps are left out. A P2P slot that is used again is
 * cleared, which touches all of it. With transparent huge pages "always" a page
 * has 2 MiB, and head and tail take 2 pages instead of 4.
 *
 * A trace takes, for begin and end together: 950 B for GROUP_API, COLL_API and
 * COLL, 275 B for each channel and 920 B for each ProxyOp; with events= also
 * 275 B for a KernelLaunch and 205 B for a ProxyCtrl.
 */

/* --- the example plugin's pools, release by release.
 *
 * A pool is a calloc'ed array of slots, one for each communicator
 * (PROXY_DETACH: one for a process). A slot holds an operation with the events
 * below it.
 *
 *   pool           filled by                                       since
 *   GROUP_API      one a group, or an operation outside of a group  2.28
 *   COLL_API       one a collective call                            2.28
 *   P2P_API        one a Send or Recv call                          2.28
 *   KERNEL_LAUNCH  one a launched kernel (mask bit 2048)            2.28
 *   GROUP          one a launched plan; from 2.28 on never          2.23
 *   COLL           one a collective, with its channels' KernelCh
 *                  and ProxyOp events inside                        2.23
 *   P2P            one a Send or Recv, likewise                     2.23
 *   PROXY_CTRL     progress thread's states (mask bit 32)           2.23
 *   PROXY_DETACH   ProxyOps done for another process' rank (PXN)    2.23
 *   CE_COLL, _SYNC, _BATCH  copy engine (mask bits 4096 and up)     2.29
 *
 * Bytes are sizeof of the structs in NVIDIA/nccl, ext-profiler/example/event.h
 * (plugins/profiler/example/event.h since 2.29.7), x86-64, at all release tags;
 * 2.29.2 still has the steps array of 2.28.
 */

enum example_pool {
    POOL_GROUP_API,
    POOL_COLL_API,
    POOL_P2P_API,
    POOL_KERNEL_LAUNCH,
    POOL_GROUP,
    POOL_COLL,
    POOL_P2P,
    POOL_PROXY_CTRL,
    POOL_PROXY_DETACH,
    POOL_CE_COLL,
    POOL_CE_SYNC,
    POOL_CE_BATCH,
    EXAMPLE_POOLS
};

/* Which operations a full pool holds. Before 2.26.3 the plugin does not know
 * KernelCh events, so an operation without a network part never ends and its
 * slot is never given back. From 2.28 to 2.30 it misreads the type of KernelCh
 * events of all channels but the first, with the same effect. */
enum example_keeps { KEEPS_FIRST, KEEPS_LAST };

struct example_slots {
    uint32_t since; /* first release (JP_NCCL_RELEASE) of this row */
    enum example_keeps keeps;
    uint32_t bytes[EXAMPLE_POOLS];    /* of one slot; 0: no such pool */
    uint32_t defaults[EXAMPLE_POOLS]; /* the plugin's own sizes */
    uint32_t channels; /* for which a COLL or P2P slot has room */
    /* ProxyOps can be used. From 2.30 on the plugin follows a ProxyOp's context
     * into another process where PXN forwards it, which crashes the program
     * (nccl#2112) */
    bool proxy_ops;
};

#define EXAMPLE_VARIABLE_LEN 48

/* Returns the row of a release. For a release without a patch number it is the
 * row of its minor release with the largest COLL slot; a release newer than all
 * rows has the newest. */
const struct example_slots *example_slots_find(uint32_t release);

#define EXAMPLE_MIN_SLOTS 8

/* What events= adds to the usual events; the words are in this order, then
 * "all". */
enum example_events {
    EXAMPLE_LAUNCH = 1, /* KernelLaunch */
    EXAMPLE_CTRL = 2,   /* ProxyCtrl */
    EXAMPLE_DETACH = 4, /* room for the ProxyOps of other processes */
};
#define EXAMPLE_EVENT_WORDS "usual|launch|ctrl|detach|all"

struct example_plan {
    const struct example_slots *slots; /* of the release */
    uint64_t pool[EXAMPLE_POOLS];      /* slots of each pool */
    /* of one communicator: needed and kept */
    uint64_t wanted_colls, colls, wanted_p2p, p2p;
    uint64_t spread; /* how many times its even share a communicator may have */
    /* of one rank */
    uint64_t planned_ops, reserved_bytes, resident_bytes, disk_bytes;
    const char *limit; /* the limit that prevented more, or "" */
    unsigned events;   /* of enum example_events */
};

#endif
