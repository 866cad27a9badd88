/* The release that is simulated, and what profilers see of it.
 *
 * Source: NVIDIA/nccl 2.23.4, 2.24.3, 2.26.2, 2.27.7, 2.28.9, 2.29.7, 2.30.7.
 */
#ifndef JP_SIM_VERSION_H
#define JP_SIM_VERSION_H

#include "common/error.h"

/* One row for each range of releases; each member says what they do. */
struct jp_sim_nccl {
    int release;   /* the first one: 23007 is 2.30.7 */
    int interface; /* the newest that it looks for: 1 to 6 */

    /* User thread */
    int guards_tasks;  /* Coll and P2p only under a Group with a handle */
    int stops_null;    /* stopEvent(NULL) for operations without a handle */
    int late_masks;    /* the mask is read when an operation is told */
    int seq_if_told;   /* seq rises only where a Coll is told */
    int mutes_eager;   /* no Coll without network while a graph is alive */
    int tells_capture; /* Coll at capture where nothing tells the replays */
    int has_apis;      /* GroupApi, CollApi, P2pApi, KernelLaunch */
    int has_symmetric;
    int has_copy_engine;
    int copy_events;   /* CeColl */
    int silent_bcast;  /* Broadcast of a single root is not told */
    int coll_channels; /* CollNet operations say how many they use */

    /* Progress thread */
    int chatty_proxies;  /* ProxyOps report each of their steps */
    int first_proxies;   /* of a P2P batch only the first ProxyOp of a
                            connection is told */
    int step_needs_op;   /* no ProxyStep where its ProxyOp has no handle */
    int has_kernels;     /* KernelCh */
    int has_stamps;      /* of the GPU's clock, in rings of 64 */
    int shared_batches;  /* a batch's P2P operations share one connection */
    int counts_unasked;  /* the host counts works without KernelCh, too */
    int adds_at_replay;  /* 2.26.2's way of counting graphs */
    int colls_per_batch; /* on a channel */
};

/* Sets the release: "2.27.3", or NULL for the one that goes with the interface
 * (1 to 6; 0: the newest). 0 or -1, then nothing changed. */
int sim_version_set(const char *text, int interface, struct jp_error *err);

/* What the release does. */
extern const struct jp_sim_nccl *sim_version_now;

static inline const struct jp_sim_nccl *sim_nccl(void)
{
    return sim_version_now;
}

/* NCCL's own: 23007 is 2.30.7; 0, its success. */
int ncclGetVersion(int *version);

#endif
