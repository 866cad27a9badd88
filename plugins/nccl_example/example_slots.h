/* example_slots.h - the example plugin's pools, release by release.
 *
 * A pool is a calloc'ed array of slots, one array a communicator (PROXY_DETACH:
 * one a process). A slot holds an operation with the events below it.
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
#ifndef JP_EXAMPLE_SLOTS_H
#define JP_EXAMPLE_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

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

/* Which operations a full pool holds. Before 2.26.3 the plugin knows no
 * KernelCh events, so what has no network part never ends and is never given
 * back; from 2.28 to 2.30 it misreads the type of KernelCh events of all
 * channels but the first, with the same effect. */
enum example_keeps { KEEPS_FIRST, KEEPS_LAST };

struct example_slots {
    uint32_t since; /* JP_NCCL_RELEASE; valid until the next row's */
    enum example_keeps keeps;
    uint32_t bytes[EXAMPLE_POOLS];    /* one slot; 0: no such pool */
    uint32_t defaults[EXAMPLE_POOLS]; /* the plugin's own */
    uint32_t channels;                /* that a COLL or P2P slot has room for */
    /* from 2.30 on the plugin follows a ProxyOp's context into another process
     * where PXN forwards it: these events crash the program (nccl#2112) */
    bool proxy_ops;
};

#define EXAMPLE_VARIABLE_LEN 48

/* The variable of a pool's size, in `name`, which is returned. */
const char *example_variable(int pool, char name[EXAMPLE_VARIABLE_LEN]);

/* The row of a release. One that names no patch takes the row of its minor
 * release with the largest COLL slot; one newer than all takes the newest. */
const struct example_slots *example_slots_find(uint32_t release);

/* Whether the patches that a release without one may mean keep different
 * operations: "2.26". */
bool example_slots_differ(uint32_t release);

#endif
