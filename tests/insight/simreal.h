/* simreal.h - what makes a simulated job like a real one.
 *
 * simjob.c runs all ranks layer by layer, and one rank is like the other. Here
 * each rank runs a program of its own: its host queues work some way ahead of
 * its GPU, collectives of several communicators run on streams of their own
 * beside the computation, messages follow the order of one forward, one
 * backward. What a rank's time varies by is drawn from the seed, the rank, the
 * step and the layer, so the same seed without the fault is the same job.
 *
 * Where the sizes come from:
 * - GPUs of one kind differ by some percent, part of it for as long as they are
 *   hot (Sinha et al., SC 2022: up to 8 % in whole clusters). Within a job that
 *   is called clean they differ by 1.25 % at most, as JUDGE_WORTH says.
 * - Layers: a tail of Student's t. Kernels of one kind in traces of
 *   PyTorch (the Kineto traces of HTA's tests) spread by 1 to 4 %, a few take
 *   twice as long.
 * - Lengths of sequences, stages with the vocabulary, collections of garbage:
 *   Lin et al., "Understanding Stragglers in Large Model Training Using
 *   What-if Analysis", OSDI 2025, and its published traces: the longest
 *   data-parallel rank of a step takes 5 to 60 % more, the last stage 10 to
 *   60 % more, a collection stops a rank for some 100 ms.
 * - Other tenants: Wu et al., "FALCON", 2024: links are slower by 1.2 to 3
 *   times for a part of a run, more often between nodes.
 * - First operations connect: 40 ms to 6 s; ranks start within seconds of
 *   each other (the first operations of the Horovod timelines in tests'
 *   samples wait for 0.4 to 9 s).
 */
#ifndef JP_TESTS_SIMREAL_H
#define JP_TESTS_SIMREAL_H

#include <stdbool.h>
#include <stdint.h>

enum simreal_kind {
    SIMREAL_REPLICAS, /* data-parallel only, gradients beside the backward */
    SIMREAL_PIPELINE, /* tensor, pipeline and data parallel */
    SIMREAL_EXPERTS,  /* AlltoAll before and after each layer's experts */
    SIMREAL_KINDS
};

struct simreal {
    bool on; /* false: the job is run by simjob.c, and the rest is unused */
    enum simreal_kind kind;
    double layer_us; /* forward of a layer; backward takes twice as long */

    /* what a layer takes more or less, as shares of it */
    double layer_sd;   /* each time anew, Student's t on 3 degrees of freedom */
    double wander_sd;  /* of a rank, from step to step, */
    double hold;       /* ... of which this share is the last step's */
    double apart;      /* of a rank, all along: either way, at most */
    double lengths_sd; /* of the logarithm: a batch of one replica */
    double experts_sd; /* of the logarithm: experts of a rank, in a layer */
    double last_stage; /* that the last stage computes more: the vocabulary */

    double ahead_us; /* how far the host queues work ahead of its GPU */
    double gc_every_us, gc_us; /* collections of garbage on a host: time
                                  between them, how long; 0: none */
    double start_us;           /* ranks begin within this time */
    double connect_us; /* the first operation of a communicator, at most */
    uint32_t eval_every, eval_batches; /* steps; forward only; 0: never */
    uint32_t save_every;               /* steps; 0: never */
    double save_us;                    /* of all ranks, each by 10 % */
    double tenants;      /* share of steps in which a node's links are slower */
    double tenants_slow; /* ... by this factor */

    bool alike;       /* all buckets of gradients have one size */
    bool scatter;     /* gradients by ReduceScatter, parameters by AllGather */
    bool norm;        /* the gradients' norm right behind the gradients */
    double often;     /* of SIMJOB_STALLS: share of steps with one */
    uint32_t sampled; /* records of every so many steps only; 0: of all */
    bool alone;       /* records of one rank only */
};

#endif
