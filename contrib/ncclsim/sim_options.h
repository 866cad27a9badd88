/* The command line: one table for parsing and for --help. */
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
    const char *nccl_version; /* borrowed from argv; NULL: the interface's */
    int tp_ranks;             /* 0: a node's */
    int p2p, pp, alltoall;
    int silent_broadcast;
    int graph;              /* replays an iteration; 0: no graphs */
    int graph_mix;          /* eager calls beside them */
    const char *graph_comm; /* borrowed from argv; NULL: the program's choice */
    int symmetric, copy_engine, collnet, pxn;
    int together;
    int quiet_single;    /* nothing is told of one rank's collectives */
    int zero_bytes;      /* the plain program's operations have none */
    int allgatherv;      /* Broadcasts of two roots in a group */
    int mixed_protocols; /* LL beside SIMPLE */
    int late_events;     /* kernels are told after finalize */
    int drift;           /* NCCL's counters run apart as they do; 0: never */
    int lost_starts;     /* each N-th kernel */
    int lag;             /* plans that the progress thread is late by */
    int n_comms, colls, p2p_ops; /* -1: the 3-D program's; else the plain one */
    int group;                   /* of its collectives in one call */
    uint64_t bytes;              /* of the plain program's operations */
    int n_channels;              /* 0: by the size */
    double rate;                 /* operations a second; 0: no limit */
    int is_inline;               /* no proxy thread */
    int threads;
    int64_t seconds_us; /* 0: as fast as possible */
    double realtime;    /* wall seconds for a virtual one; 0: none */
    int no_catch_up;    /* after it was held up */
    double run_noise;   /* of all of a run's pace, per cent */
    const char *nvml;   /* borrowed from argv */
    const char *counts; /* borrowed from argv; NULL: none */
    int finalize;       /* destroy the communicators at the end */
    int verbose;
    int help;
    struct jp_sim_faults faults;
};

/* Sets the defaults, then reads argv. 0 or -1. */
int sim_options_parse(struct jp_sim_options *options, int argc, char **argv,
                      struct jp_error *err);

/* Whether the plain program runs (sim_plain.h), not the 3-D one. */
int sim_options_is_plain(const struct jp_sim_options *options);

void sim_options_help(FILE *out);

#endif
