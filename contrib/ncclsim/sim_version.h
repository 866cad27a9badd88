/* sim_version.h - the simulated release, and what profilers see of it.
 *
 * Source:
 * NVIDIA/nccl 2.23.4, 2.24.3, 2.26.2, 2.27.7, 2.28.9, 2.29.7, 2.30.7, 2.31.2.
 */
#ifndef JP_SIM_VERSION_H
#define JP_SIM_VERSION_H

#include "common/error.h"

/* One row for each range of releases. Each member is a property of these
 * releases. */
struct jp_sim_nccl {
    int release;   /* the first one: 23007 is 2.30.7 */
    int interface; /* the newest table that it looks for: 1 to 7 */

    /* User thread */
    int guards_tasks;  /* Coll and P2p only under a Group with a handle */
    int stops_null;    /* stopEvent(NULL) for operations without a handle */
    int late_masks;    /* the mask is read when the event is raised */
    int seq_if_told;   /* seq rises only if a Coll event is raised */
    int mutes_eager;   /* no Coll without network while a graph is alive */
    int tells_capture; /* Coll at the capture if the replays raise no events */
    int has_apis;      /* GroupApi, CollApi, P2pApi, KernelLaunch */
    int has_symmetric;
    int tells_symmetric; /* Coll and kernel events of symmetric kernels, with
                            phases and tags */
    int has_copy_engine;
    int copy_events;   /* CeColl */
    int silent_bcast;  /* no events for a Broadcast of a single root */
    int shares_ids;    /* two splits of one color have one id */
    int coll_channels; /* CollNet operations have their number of channels */

    /* Progress thread */
    int chatty_proxies; /* ProxyOps report each of their steps */
    int first_proxies; /* of a P2P batch, only the first ProxyOp of a connection
                          is raised */
    int step_needs_op; /* no ProxyStep if its ProxyOp has no handle */
    int has_kernels;   /* KernelCh */
    int connects;      /* 128 connections before a communicator's first one */
    int has_stamps;    /* times of the GPU's clock, in rings of 64 */
    int shared_batches;  /* a batch's P2P operations share one connection */
    int counts_unasked;  /* the host also counts works without KernelCh */
    int counts_as_gpu;   /* copies to oneself and all replays, too */
    int passes_all;      /* a pass reads starts and ends of all kernels */
    int adds_at_replay;  /* 2.26.2's way of counting graphs */
    int colls_per_batch; /* works of a batch on a channel */
};

/* Sets the release: "2.27.3", or NULL for that of the interface (1 to 7;
 * 0: 2.29 with v6). Returns 0, or -1 without a change. */
int sim_version_set(const char *text, int interface, struct jp_error *err);

/* The row of the release. */
extern const struct jp_sim_nccl *sim_version_now;

static inline const struct jp_sim_nccl *sim_nccl(void)
{
    return sim_version_now;
}

/* NCCL's own function: 23007 is 2.30.7. Returns 0, NCCL's success. */
int ncclGetVersion(int *version);

#endif
