/* finding.h - one fault of a step, and where it is. */
#ifndef JP_INSIGHT_FINDING_H
#define JP_INSIGHT_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/record.h"
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

/* The kinds of findings, in the order in which a report lists them. A row has
 * the constant, the word, the verdict that it causes (OK: none), the question
 * that it answers (hypothesis.h), and what it is. */
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
    ROW(LONG_WAIT, "long_wait", SLOW, STALL,                                   \
        "all others waited for a rank once, for long")                         \
    ROW(SLOW_NETWORK, "slow_network", DEGRADED, SLOW_NETWORK,                  \
        "the network, or a link, is slower than expected")                     \
    ROW(DRIFT, "drift", DEGRADED, DRIFT,                                       \
        "the network became slower during the run")                            \
    ROW(UNEVEN, "uneven_end", INCOMPLETE, DATA_LOSS,                           \
        "ranks have records of different lengths")                             \
    ROW(IMBALANCE, "imbalance", OK, IMBALANCE,                                 \
        "a rank or a stage has more to do than the others")                    \
    ROW(TURNS, "waits_by_turns", OK, TURNS,                                    \
        "ranks wait for another one each time")                                \
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
    /* add new rows here */
/* clang-format on */

#define JP_FINDING_CONSTANT(kind, word, verdict, question, help)               \
    JP_FINDING_##kind,
enum jp_finding_kind { JP_FINDING_KINDS(JP_FINDING_CONSTANT) JP_N_FINDINGS };

struct jp_finding_about {
    const char *word;
    enum jp_verdict_word verdict; /* of the kind; see finding_verdict */
    unsigned question;            /* enum jp_hypothesis_id */
    const char *help;             /* a clause */
};
extern const struct jp_finding_about findings_about[];
extern const unsigned findings_kinds; /* JP_N_FINDINGS, for tables of them */

const char *finding_kind_name(enum jp_finding_kind kind); /* "late_rank" */

/* Whether it is of a rank that stopped, once or several times. */
static inline bool finding_is_stall(enum jp_finding_kind kind)
{
    return kind == JP_FINDING_STALL || kind == JP_FINDING_LONG_WAIT;
}

struct jp_finding;
/* The word that the finding gives to the verdict; OK: it does not change it.
 * This is the word of its kind, except that a finding of a kind without one is
 * SLOW if its cost is known: the job loses that time, whoever is to blame. */
enum jp_verdict_word finding_verdict(const struct jp_finding *finding);

/* How the gain of mending the fault was found. */
enum jp_gain {
    JP_GAIN_NONE,
    JP_GAIN_REPLAYED, /* the run was replayed without the fault */
    JP_GAIN_PART,     /* the start of the run was replayed: more did not fit */
    JP_GAIN_BOUND,    /* unknown; cost_us counts all waits, some of which have
                         other causes */
    JP_GAINS
};
extern const char *const finding_gains[JP_GAINS]; /* "replayed"; NULL: NONE */

/* A fault, with all figures that sentences and tables need. Unknown fields are
 * -1, NAN or "". */
struct jp_finding {
    enum jp_finding_kind kind;
    int64_t comm;     /* index into the result's communicators */
    const char *coll; /* borrowed from the result; NULL: several */
    int64_t rank;     /* in comm */
    int64_t world_rank;
    char name[60]; /* of that rank: "19", "3 of TP1" (processes_rank_name) */
    char host[256];
    int64_t pid;
    int64_t process; /* index into struct jp_processes; -1: a node, or it left
                        no records */
    double from_us, to_us; /* since 1970, as records were written */
    double share;          /* share of the time in communication, 0 to 1 */
    double low, high;      /* of share: the 95 % confidence interval */
    uint64_t evidence;     /* operations that support it; 0: unknown */
    double cost_us;        /* GPU time that other ranks lose: what they waited,
                              but no more than a replay shows (whatif.c) */
    double of_run; /* ... as a share of the GPU time of the run, 0 to 1 */
    bool paused; /* ... that was recorded: the recording was off for a while */
    bool at_least; /* it may be more: not all operations were recorded, or
                      communicators waited for different times */
    bool at_most;  /* it may be less: without start and end of operations, or
                      without a replay after a pause, one delay beside which
                      operations run counts in each of them */
    double gain;   /* share of the run's time that mending it alone would save,
                      0 to 1 */
    double gain_last; /* ... once the other replayed findings are mended; NAN:
                         there is no other */
    double gain_all;  /* ... by mending all of them, it too; NAN: no other */
    enum jp_gain gain_kind;
    enum jp_against against; /* what a slow network was compared with */
    double by_us;            /* how late in an operation, or how long a stall */
    uint64_t times;          /* ... in so many operations */
    uint64_t of;             /* out of so many; 0: unknown */
    uint64_t others;         /* ranks that waited; 0: unknown */
    double ratio;   /* the network takes so many times as long; NAN: unknown */
    uint64_t comms; /* communicators it is in; pairs of ranks if messages is
                       set; 0: unknown */
    bool messages;  /* it is about Send and Recv */
    uint64_t nodes, of_nodes; /* these communicators share so many nodes, too
                                 many to name, of so many; 0: no */
    char between[130];        /* "n1 and n2": the two nodes; or "" */
    uint32_t stage, stages; /* of a pipeline, from 1 on; 0: none, or unknown */
    bool by_own_time;       /* the judge found it */
    bool confirmed;         /* ... and sums of waits, too */
    bool of_few; /* by sums of waits alone: a few processes alike, and
                    own times do not name it */
    /* The phase of the training step in which it is late, by the program's own
     * word, its share of the lateness, 0 to 1, and how late it is there: by
     * phase_us in phase_times of phase_of operations. "": none stands out. */
    char phase[RECORD_MAX_PHASE + 1];
    double phase_share, phase_us;
    uint64_t phase_times, phase_of;
    char ended[400]; /* of a hang: a clause that processes which hold up the
                        others had ended; "": that is not known */
    char text[800];  /* one clause: who, where, how much, with all figures; of a
                        traced rank, what it did longer */
    char next[160];  /* what to do about it */
};

struct jp_hypotheses;

/* A growing list. Zero is empty. */
struct jp_findings {
    struct jp_finding *at;
    size_t n;
    struct jp_hypotheses *hypotheses; /* what was looked for; borrowed, may be
                                         NULL */
    double run_us;                    /* the run's length; 0: unknown */
    double gpus_us; /* ... times the processes that ran at the same time: the
                       GPU time of the run, of which a cost is a share */
    bool part;      /* no rank recorded a part of the operations, and it is not
                       known when these were */
    bool paused;    /* the recording was off for a while: the run is what was
                       recorded of it (aggregate/pauses.h) */
};

/* Appends a finding of this kind with unknown fields and returns it, borrowed
 * until the next call. NULL: no memory. */
struct jp_finding *findings_add(struct jp_findings *list,
                                enum jp_finding_kind kind);
void findings_fini(struct jp_findings *list);

/* Sets the share and its standard error; NAN: unknown. */
void finding_measure(struct jp_finding *finding, double share, double error);

/* Sets what others waited, in GPU time, also as a share of the run. list: the
 * one that it is in. */
void finding_cost(const struct jp_findings *list, struct jp_finding *finding,
                  double cost_us);

/* Replaces a cost that the finding's text has, there as well. factor: by which
 * its share of the time in communication changes. */
void finding_recost(const struct jp_findings *list, struct jp_finding *finding,
                    double cost_us, double factor);

/* Sets how late or how long, and in how many of how many operations. */
void finding_count(struct jp_finding *finding, double by_us, uint64_t times,
                   uint64_t of);

/* "the run", or "the recorded time": of what of_run is a share. Do not free. */
const char *finding_run(const struct jp_finding *finding);

/* "at least ", "up to ", or "": what the cost is. Do not free. */
const char *finding_bound(const struct jp_finding *finding);

/* "29.0 % (27.2 to 30.8)", without the interval if it is unknown. Returns buf.
 */
#define JP_FINDING_SHARE 48
char *finding_share(const struct jp_finding *finding,
                    char buf[JP_FINDING_SHARE]);
#define FINDING_SHARE(finding)                                                 \
    finding_share((finding), (char[JP_FINDING_SHARE]){0})

/* "3.1 s of GPU time, 12 % of the run, 29.0 % (27.2 to 30.8) of communication",
 * as far as it is known. Returns buf. */
#define JP_FINDING_LOSS 140
char *finding_loss(const struct jp_finding *finding, char buf[JP_FINDING_LOSS]);
#define FINDING_LOSS(finding)                                                  \
    finding_loss((finding), (char[JP_FINDING_LOSS]){0})

/* Drops findings with a 95 % interval that contains 0: their effect may be
 * nothing, and the report must not accuse a rank by chance. An unknown interval
 * (NAN) stays. */
void findings_drop_doubtful(struct jp_findings *list);

/* Sorts by kind in the order of the enum (waits by turns as an imbalance), then
 * by cost. */
void findings_sort(struct jp_findings *list);

/* Whether a rank or a node is late. */
bool findings_has_late(const struct jp_findings *list);

/* --- builds a sentence of bounded length, clause by clause ---------------- */

struct jp_sentence {
    char *buf;
    size_t size; /* > 4 */
    size_t clauses;
};

/* Starts an empty sentence in buf. */
void sentence_init(struct jp_sentence *sentence, char *buf, size_t size);

/* Adds a clause after "; " (the first one without it). Control characters
 * become '?'. A sentence that is too long ends in "...". */
void sentence_add(struct jp_sentence *sentence, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
