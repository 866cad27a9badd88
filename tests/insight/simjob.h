/* simjob.h - simulated training jobs, of which the cause of waits is known.
 *
 * A clock per rank. A collective begins when its last rank arrives and ends for
 * all together, so exec_r = end - arrival_r: who comes last has the shortest
 * time. Send and Recv wait for each other. Waits travel on in program order,
 * from one communicator to the next. Times are kept in nanoseconds and told in
 * whole microseconds.
 *
 * A layer computes for 0.9 ms +- 1.5 %, the network's time varies by 2 %. One
 * step is, for each microbatch, forward through the pipeline's stages and back,
 * each layer with its tensor-parallel collectives, then the gradients; or, with
 * `sharded`, an AllGather before each layer and a ReduceScatter after it
 * over all ranks of a shard group.
 */
#ifndef JP_TESTS_SIMJOB_H
#define JP_TESTS_SIMJOB_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/insight/simreal.h"

enum simjob_fault {
    SIMJOB_CLEAN,
    SIMJOB_JITTER,       /* 2 % of operations take three times as long */
    SIMJOB_HICCUPS,      /* 2 % of layers do */
    SIMJOB_LATE_RANK,    /* one rank computes `effect` longer */
    SIMJOB_LATE_LAYERS,  /* ... in 40 % of its layers */
    SIMJOB_LATE_NODE,    /* all ranks of a node */
    SIMJOB_TWO_LATE,     /* two ranks */
    SIMJOB_SLOW_LINK,    /* a node's uplink takes 1 + effect as long from a
                            step on */
    SIMJOB_DRIFT,        /* so do all links between nodes, growing to it */
    SIMJOB_SLOW_NET,     /* they take 1 + effect as long all along */
    SIMJOB_SLOW_SENDS,   /* Send and Recv of a node do */
    SIMJOB_SLOW_PAIR,    /* ... between two nodes */
    SIMJOB_SLOW_EXPERTS, /* AlltoAll of groups with a node do */
    SIMJOB_HANG,         /* a rank stops before a layer */
    SIMJOB_RECORDED,     /* so, and the recorder's files tell */
    SIMJOB_DIES,         /* so, and what it had not written is lost */
    SIMJOB_KILLED,       /* all are ended in the midst of a step */
    SIMJOB_LOSSY,        /* a late rank, and 35 % of records lost */
    SIMJOB_TINY,         /* a late rank, and 4 steps */
    SIMJOB_STALLS,       /* a rank stops for `effect` ms in 0.5 to 5 % of its
                            layers, three times at least */
    SIMJOB_ALL_STALL,    /* all do, together, every 10 to 40 steps */
    SIMJOB_CHECKPOINT,   /* rank 0 does, every 40 steps or a fifth of all */
    SIMJOB_ONSET,        /* a rank is late from 30 to 90 % of the run on */
    SIMJOB_COMES,        /* ... in two to four parts of it */
    SIMJOB_SLOW_STAGE,   /* a stage of a pipeline computes longer */
    SIMJOB_NODE_ONSET,   /* a late node, from 30 to 90 % of the run on */
    SIMJOB_ONCE,         /* a rank stops once for `effect` ms, from 30 to 70 %
                            of the run on */
    /* of realistic jobs (simreal.h) only: */
    SIMJOB_TURNS,     /* in each step another rank stops, for `effect` of it */
    SIMJOB_THROTTLE,  /* a node computes longer, growing to `effect` from 30 to
                         60 % of the run on, within a quarter of it */
    SIMJOB_SLOW_RAIL, /* links of the ranks of one place in each node take
                         1 + effect as long from a step on */
    SIMJOB_N_FAULTS
};
const char *simjob_fault_name(enum simjob_fault fault);

enum simjob_grads {
    SIMJOB_ONE,
    SIMJOB_BUCKETS,
    SIMJOB_SCATTER,
    SIMJOB_OVERLAP
};

/* How a layer's time varies. */
enum simjob_noise {
    SIMJOB_USUAL,     /* by 1.5 %, either way */
    SIMJOB_TAILS,     /* by Student's t on 3 degrees of freedom */
    SIMJOB_ONE_SIDED, /* exponentially, 3 % above the least */
    SIMJOB_MODES,     /* 30 % of layers take a quarter longer */
    SIMJOB_LOADING,   /* one step in 20 begins with a wait for data */
    SIMJOB_N_NOISES
};

struct simjob_shape {
    uint32_t tp, pp, dp; /* ranks = tp * pp * dp; tp counts fastest */
    bool dp_before_pp;   /* then dp counts, else pp */
    uint32_t per_node;
    uint32_t layers; /* of a stage */
    uint32_t microbatches;
    uint32_t steps;
    uint32_t warmup; /* first steps that take far longer */
    uint32_t tp_ops; /* 1: an AllReduce a layer, 2: gather and scatter */
    bool sharded;    /* dp groups only: tp = pp = 1 */
    bool prefetched; /* and they communicate beside the computation */
    bool world;      /* an AllReduce over all ranks after each step */
    bool reduced;    /* then a Reduce, in which rank 0 alone waits */
    enum simjob_noise noise;
    bool gaussian;         /* SIMJOB_USUAL: normal; else uniform */
    bool uneven;           /* ranks differ by up to 1.5 % all along */
    bool skewed;           /* the last stage computes 10 % longer */
    bool experts;          /* an AlltoAll a layer in groups of dp peers: */
    uint32_t expert_ranks; /* ... of so many, at most 8; 0: 4 */
    bool uneven_sizes;     /* and no two of its messages are alike */
    bool step_sizes;       /* nor are steps: by a factor of 0.4 to 2.5 */
    bool native;           /* an AlltoAll is one record, of no message */
    double load; /* standard deviation of the logarithm of what a layer's
                    experts have to do, each time anew; 0: all the same */
    uint32_t short_stage; /* layers that the last stage has fewer */
    double layer_us;      /* of compute, mean; 0: 900 */
    uint32_t buckets;     /* of gradients */
    enum simjob_grads grads;
    uint64_t tp_bytes, dp_bytes;
    struct simreal real; /* if it is on, most of the above is unused */
};

struct simjob_comm {
    uint64_t id;
    const char *name;
    uint32_t n, n_nodes;
    uint32_t *members;   /* ranks of the job */
    uint64_t next_sn[2]; /* of each of its two functions */
};

/* What a rank records. */
struct simjob_record {
    const struct simjob_comm *comm;
    uint32_t rank;      /* of the job */
    uint32_t comm_rank; /* and in comm */
    const char *func;   /* "AllReduce", "Send", ... */
    bool p2p;
    uint32_t peer; /* in comm */
    uint64_t sn;
    uint64_t bytes;
    uint64_t exec_us;
    int64_t start_ns, end_ns; /* of the job's time */
    bool pending;             /* the rank is in it, it never ends */
};

/* What is wrong with the job. */
struct simjob_truth {
    enum simjob_fault fault;
    double effect;
    uint32_t ranks[2];   /* late ones, or who stopped */
    uint32_t node;       /* late, or with the slow link */
    uint32_t other_node; /* of SLOW_PAIR */
    uint32_t stage;      /* of SLOW_STAGE */
    double rate;         /* of STALLS: share of layers */
    uint32_t every;      /* steps: of ALL_STALL and CHECKPOINT */
    double stalled_ns;   /* of ranks[0] */
    double late_ns[2];   /* that ranks[1], and all other late ones, computed
                            longer, without the warm-up: [1] and [0] */
    double spent_ns;     /* in communication, mean of all ranks */
    uint32_t from_step;
    double from_ns, end_ns; /* when that began, when the job ended */
    double lost_ns;   /* records written after this are lost: of ranks[0], or
                         KILLED: of all; 0: none */
    uint64_t comm;    /* id of where a hang began */
    bool shown;       /* some collective that takes time feels the fault */
    bool undecidable; /* it looks like another one: nobody can be named */
};

/* True if the fault makes all ranks of a node late. */
static inline bool simjob_late_node(enum simjob_fault fault)
{
    return fault == SIMJOB_LATE_NODE || fault == SIMJOB_NODE_ONSET ||
           fault == SIMJOB_THROTTLE;
}

/* --- what the fault makes of the time between two nodes --- */

/* Of all that crosses, in a step of `steps`; at_node: it touches truth's. */
static inline double simjob_slowed(const struct simjob_truth *t, uint32_t step,
                                   uint32_t steps, bool at_node)
{
    if (t->fault == SIMJOB_SLOW_LINK && at_node && step >= t->from_step)
        return 1 + t->effect;
    if (t->fault == SIMJOB_DRIFT)
        return 1 + t->effect * step / steps;
    return t->fault == SIMJOB_SLOW_NET ? 1 + t->effect : 1;
}

/* Do only Send and Recv feel the fault? */
static inline bool simjob_by_messages(const struct simjob_truth *t)
{
    return t->fault == SIMJOB_SLOW_SENDS || t->fault == SIMJOB_SLOW_PAIR ||
           t->fault == SIMJOB_SLOW_EXPERTS;
}

/* Is it a message that the fault makes slow? */
static inline bool simjob_message_slow(const struct simjob_truth *t, uint32_t a,
                                       uint32_t b)
{
    if (t->fault == SIMJOB_SLOW_SENDS)
        return a != b && (a == t->node || b == t->node);
    return t->fault == SIMJOB_SLOW_PAIR && a != b &&
           (a == t->node || b == t->node) &&
           (a == t->other_node || b == t->other_node);
}

/* A sound shape of 16 to 256 ranks, whatever the seed. */
struct simjob_shape simjob_random_shape(uint64_t seed);

/* Splits a rank into its tensor-parallel rank *t, its pipeline stage *p and its
 * data-parallel replica *d. */
void simjob_place(const struct simjob_shape *s, uint32_t rank, uint32_t *t,
                  uint32_t *p, uint32_t *d);
/* Number of ranks in an expert group, which communicates by AlltoAll. */
uint32_t simjob_ep_ranks(const struct simjob_shape *s);
/* Number of layers of a pipeline stage. */
uint32_t simjob_layers_of(const struct simjob_shape *s, uint32_t stage);
/* True if a bucket of gradients is complete after this layer; *bucket is the
 * number of the last complete one. */
bool simjob_ends_bucket(const struct simjob_shape *s, uint32_t layer,
                        uint32_t *bucket);

typedef void simjob_sink(void *arg, const struct simjob_record *record);

/* Runs the job and hands every record that is not lost to sink. */
void simjob_run(const struct simjob_shape *shape, enum simjob_fault fault,
                double effect, uint64_t seed, simjob_sink *sink, void *arg,
                struct simjob_truth *truth);

/* Shapes of another family: ranks, groups and nodes that are no powers of two,
 * stages of unlike length, layers of 0.3 to 3 ms, AlltoAll of unlike sizes. The
 * engine was changed after failures of its first seeds were looked at; figures
 * in docs/dev/measurements.md are of seeds not seen before. */
struct simjob_shape simjob_other_shape(uint64_t seed);

/* Shapes of a third family, of which one failure was looked at: computation
 * that varies in other ways, stages of 3 or 6 with up to two layers less in the
 * last, 24 to 240 ranks, nodes of 4, 5, 8 and 10, ranks sharded over a node. */
struct simjob_shape simjob_third_shape(uint64_t seed);

/* Shapes of a fourth family: prefetched gathers, pipelines of tensor-parallel
 * stages, AlltoAll of sizes that change from step to step; 120 to 320 steps. */
struct simjob_shape simjob_fourth_shape(uint64_t seed);

/* 64 ranks in eight stages, 60 steps: a rank comes last in each of its group's
 * 480 to 1,080 operations, but those of all ranks are only 60. */
struct simjob_shape simjob_stages_shape(uint64_t seed);

/* Shapes of a fifth family: 16 ranks, AlltoAll of sizes that change from step
 * to step, experts whose load changes each time; 150 steps. */
struct simjob_shape simjob_experts_shape(uint64_t seed);

/* 2 to 24 ranks in roles of 2 to 7, 100 to 300 steps: what a user tries first.
 * Half of the jobs have ranks that differ all along. */
struct simjob_shape simjob_few_shape(uint64_t seed);

/* Realistic shapes (simreal.h): 8 to 64 ranks, replicas, pipelines, experts. Of
 * stalls, checkpoints and turns, `effect` is the share of the run that they
 * take. */
struct simjob_shape simjob_real_shape(uint64_t seed);

/* The same of 2 to 16 replicas whose gradients are reduced in 3 to 12 buckets
 * beside the backward pass, mostly of one size, and often nothing else is. */
struct simjob_shape simjob_buckets_shape(uint64_t seed);

uint32_t simjob_ranks(const struct simjob_shape *shape);

#endif
