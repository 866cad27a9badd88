/* sim_options.h - the command line: one table for parsing and for --help. */
#ifndef JP_SIM_OPTIONS_H
#define JP_SIM_OPTIONS_H

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "contrib/ncclsim/sim_faults.h"

struct jp_sim_options {
    int iterations;
    int rank, n_ranks, ranks_per_node; /* -1: from Slurm's environment */
    int64_t seed;                      /* -1: from Slurm's environment */
    int interface;                     /* 0: the newest */
    const char
        *nccl_version; /* borrowed from argv; NULL: that of the interface */
    int gpus;          /* of the process: a rank for each */
    int tp_ranks;      /* 0: the ranks of a node */
    int p2p, pp, alltoall;
    /* These four: -1: as the release, if the command line names one; else 0 */
    int silent_broadcast;   /* no events for a Broadcast */
    int quiet_single;       /* no events for collectives of one rank */
    int64_t first_op_us;    /* a communicator's first operation, on the host */
    int one_id;             /* two splits of one color have one id */
    int graph;              /* replays per iteration; 0: no graphs */
    int graph_mix;          /* eager calls between the replays */
    const char *graph_comm; /* borrowed from argv; NULL: the program's choice */
    int symmetric, copy_engine, collnet, pxn;
    int tags;
    int mute_from, mute_to; /* iterations without events; 0: none */
    int mute_mask;          /* ... the mask meanwhile */
    int together;
    int meet;
    int zero_bytes;      /* the plain program's operations have no bytes */
    int allgatherv;      /* groups of two Broadcasts with different roots */
    int mixed_protocols; /* messages of protocol LL beside SIMPLE */
    int late_events;     /* kernels are reported after finalize */
    int drift;           /* NCCL's work counters drift as in NCCL; 0: never */
    int lost_starts;     /* each N-th start is lost; 0: none */
    int lag; /* number of plans by which the progress thread is late */
    int n_comms, colls,
        p2p_ops;    /* -1: not given; otherwise the plain program runs */
    int group;      /* collectives in one call of the plain program */
    uint64_t bytes; /* size of the plain program's operations */
    int n_channels; /* 0: by the size */
    double rate;    /* operations a second; 0: no limit */
    int is_inline;  /* no proxy thread */
    int threads;
    int64_t seconds_us; /* 0: as fast as possible */
    double realtime;    /* wall seconds per virtual second; 0: no limit */
    int no_catch_up;    /* do not make up for delays */
    int sync;           /* wait for the GPU after each iteration */
    double run_noise;   /* deviation of the run's duration, percent */
    const char *nvml;   /* borrowed from argv */
    const char *counts; /* borrowed from argv; NULL: none */
    int finalize;       /* destroy the communicators at the end */
    int verbose;
    int help;
    struct jp_sim_faults faults;
};

/* Sets what the command line leaves to the release. After sim_version_set(). */
void sim_options_follow(struct jp_sim_options *options);

/* Sets the defaults, then reads argv. Returns 0 or -1. */
int sim_options_parse(struct jp_sim_options *options, int argc, char **argv,
                      struct jp_error *err);

/* Whether the plain program runs (sim_plain.h), not the 3-D one. */
int sim_options_is_plain(const struct jp_sim_options *options);

void sim_options_help(FILE *out);

#endif
