/* finding.h - one thing that is wrong with a step, and where. */
#ifndef JP_INSIGHT_FINDING_H
#define JP_INSIGHT_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/insight/expectation.h"

/* A step's verdict in one word, worst first (verdict.h). */
enum jp_verdict_word {
    JP_VERDICT_HANG,
    JP_VERDICT_FAILED,
    JP_VERDICT_SLOW,
    JP_VERDICT_DEGRADED,
    JP_VERDICT_INCOMPLETE,
    JP_VERDICT_NODATA,
    JP_VERDICT_UNJUDGED,
    JP_VERDICT_OK
};

/* The kinds of findings, in the order in which a report lists them. A row is
 * all that describes one: the constant, the word, the verdict that it makes
 * (OK: none), the question that it answers (hypothesis.h), what it is. */
/* clang-format off */
#define JP_FINDING_KINDS(ROW)                                                  \
    ROW(HANG, "hang", HANG, HANG, "an operation never ended")                  \
    ROW(CRASH, "crash", FAILED, CRASH, "a task died by itself")                \
    ROW(LATE_RANK, "late_rank", SLOW, LATE_RANK,                               \
        "a rank makes the others wait")                                        \
    ROW(LATE_NODE, "late_node", SLOW, LATE_NODE,                               \
        "all ranks of a node make the others wait")                            \
    ROW(STALL, "stall", SLOW, STALL,                                           \
        "a rank stops now and then, and the others wait")                      \
    ROW(SLOW_NETWORK, "slow_network", DEGRADED, SLOW_NETWORK,                  \
        "the network, or a link, is slower than expected")                     \
    ROW(DRIFT, "drift", DEGRADED, DRIFT,                                       \
        "the network became slower during the run")                            \
    ROW(UNEVEN, "uneven_end", INCOMPLETE, DATA_LOSS,                           \
        "ranks have records of different lengths")                             \
    ROW(IMBALANCE, "imbalance", OK, IMBALANCE,                                 \
        "a rank or a stage has more to do than the others")                    \
    ROW(SMALL_MESSAGES, "small_messages", OK, SMALL_MESSAGES,                  \
        "small messages take much of the network's time")                     \
    ROW(GPU_IDLE, "gpu_idle", OK, GPU_TIME,                                    \
        "the GPUs wait between kernels for the program")                       \
    ROW(SMALL_KERNELS, "small_kernels", OK, GPU_TIME,                          \
        "kernels are so short that launching them takes as long")              \
    ROW(PAGEABLE_COPIES, "pageable_copies", OK, GPU_TIME,                      \
        "copies from and to memory that is not pinned")                        \
    ROW(SYNC_COPIES, "sync_copies", OK, GPU_TIME,                              \
        "copies that the program waits for")                                   \
    ROW(GPU_IMBALANCE, "gpu_imbalance", OK, GPU_TIME,                          \
        "a rank's GPU has more to do than the others'")                        \
    ROW(LATE_ALLOCATIONS, "late_allocations", OK, GPU_TIME,                    \
        "GPU memory is allocated within the loop")                             \
    /* a new row stands here */
/* clang-format on */

#define JP_FINDING_CONSTANT(kind, word, verdict, question, help)               \
    JP_FINDING_##kind,
enum jp_finding_kind { JP_FINDING_KINDS(JP_FINDING_CONSTANT) JP_N_FINDINGS };

struct jp_finding_about {
    const char *word;
    enum jp_verdict_word verdict; /* OK: it changes no word */
    unsigned question;            /* enum jp_hypothesis_id */
    const char *help;             /* a clause */
};
extern const struct jp_finding_about findings_about[];
extern const unsigned findings_kinds; /* JP_N_FINDINGS, for tables of them */

const char *finding_kind_name(enum jp_finding_kind kind); /* "late_rank" */

/* How it is known what mending it would win. */
enum jp_gain {
    JP_GAIN_NONE,
    JP_GAIN_REPLAYED, /* the run was replayed without it */
    JP_GAIN_PART,     /* the begin of the run was: more did not fit */
    JP_GAIN_BOUND     /* not known; cost_us counts waits, of which a part was
                         there without it */
};
const char *finding_gain_word(enum jp_gain gain); /* "replayed"; NULL: NONE */

/* What is not known is -1, NAN or "". */
struct jp_finding {
    enum jp_finding_kind kind;
    int64_t comm;     /* index into the result's communicators */
    const char *coll; /* borrowed from the result; NULL: several */
    int64_t rank;     /* in comm */
    int64_t world_rank;
    char host[256];
    int64_t pid;
    double from_us, to_us; /* since 1970, as records were written */
    double share;          /* of time in communication, 0..1 */
    double low, high;      /* of it: 95 of 100 such intervals hold it */
    uint64_t evidence;     /* operations that it is drawn from; 0: unknown */
    double cost_us;        /* GPU time that others waited */
    double gain;           /* of the run's time, 0..1: what it would win */
    enum jp_gain gain_kind;
    enum jp_against against; /* whom a slow network was compared with */
    double by_us;            /* how late in an operation; how long a stall is */
    uint64_t times;          /* ... in so many operations, */
    uint64_t of;             /* of these; 0: not known */
    double ratio;            /* the network takes so many times as long; NAN */
    uint64_t comms;    /* in so many communicators, of pairs of ranks where */
    bool messages;     /* it is about Send and Recv; 0: not known */
    char between[130]; /* "n1 and n2": of which two nodes; or "" */
    char text[400];    /* one clause: who, where, how much, with all figures */
    char next[160];    /* what to do about it */
};

struct jp_hypotheses;

/* A growing list; zero is empty. */
struct jp_findings {
    struct jp_finding *at;
    size_t n;
    struct jp_hypotheses *hypotheses; /* what was looked for; borrowed, may be
                                         NULL */
};

/* Appends one of that kind with nothing known and returns it (borrowed until
 * the next call); NULL without memory. */
struct jp_finding *findings_add(struct jp_findings *list,
                                enum jp_finding_kind kind);
void findings_fini(struct jp_findings *list);

/* Its share, and how far that is from sure: a standard error; NAN: unknown. */
void finding_measure(struct jp_finding *finding, double share, double error);

/* Says how late, or how long, in so many of so many operations. */
void finding_count(struct jp_finding *finding, double by_us, uint64_t times,
                   uint64_t of);

/* "29.0 % (27.2 to 30.8)"; without the interval where none is known. Returns
 * buf. */
#define JP_FINDING_SHARE 48
char *finding_share(const struct jp_finding *finding,
                    char buf[JP_FINDING_SHARE]);
#define FINDING_SHARE(finding)                                                 \
    finding_share((finding), (char[JP_FINDING_SHARE]){0})

/* By kind as in the enum, then by what it costs. Those that may as well be
 * nothing, by their interval, are dropped. */
void findings_sort(struct jp_findings *list);

#endif
