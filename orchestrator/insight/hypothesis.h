/* hypothesis.h - what was looked for in a step, and the answers.
 *
 * One row of a const table is one question ("does a rank make the others
 * wait?"). Each step's insight answers all of them: found; not found, with the
 * smallest effect that would have been seen; or not judged, and why. The
 * default answer is "not examined", so that an analysis that was forgotten or
 * did not run never looks like a good result.
 *
 * An analysis answers with one call of hypothesis_set() that gives the smallest
 * effect it could have seen. insight.c derives from the findings whether
 * something was found.
 */
#ifndef JP_INSIGHT_HYPOTHESIS_H
#define JP_INSIGHT_HYPOTHESIS_H

#include <stdbool.h>
#include <stddef.h>

#include "orchestrator/insight/finding.h"

/* The questions, in the order of the report. A row has the constant and the
 * members of struct jp_hypothesis. The one-line summary prints `clear` of a
 * question that was answered "not found" and `name` of one that was not judged;
 * a row without them is left out of it. */
/* clang-format off */
#define JP_HYPOTHESES(ROW)                                                     \
    ROW(JP_HYPOTHESIS_LATE_RANK,                                               \
        .key = "late_rank",                                                    \
        .title = "Late rank",                                                  \
        .question = "Is a rank late on its own, so that the others wait?",     \
        .unit = JP_HYPOTHESIS_SHARE,                                           \
        .of = "of the run's time",                                             \
        .of_operations = true,                                                 \
        .most = 1,                                                             \
        .family = JP_HYPOTHESIS_WAITS,                                         \
        .clear = "no rank that costs %s",                                      \
        .none = "no late rank",                                                \
        .name = "late ranks",                                                  \
        .todo = "profile a longer run, with fewer filters")                    \
    ROW(JP_HYPOTHESIS_LATE_NODE,                                               \
        .key = "late_node",                                                    \
        .title = "Late node",                                                  \
        .question = "Do all ranks of a node make the others wait?",            \
        .unit = JP_HYPOTHESIS_SHARE,                                           \
        .of = "of the run's time",                                             \
        .of_operations = true,                                                 \
        .most = 1,                                                             \
        .family = JP_HYPOTHESIS_WAITS,                                         \
        .todo = "profile a longer run, on two nodes or more")                  \
    /* No `most`: a stall has no natural upper bound; insight.c compares it with\
     * the length of the run. */                                               \
    ROW(JP_HYPOTHESIS_STALL,                                                   \
        .key = "stall",                                                        \
        .title = "Stalls",                                                     \
        .question = "Does a rank stop for long, once or now and then, while "  \
                    "the others wait?",                                        \
        .unit = JP_HYPOTHESIS_US,                                              \
        .of = "one of several stalls",                                         \
        .of_operations = true,                                                 \
        .clear = "no recurring stall over %s",                                 \
        .none = "no recurring stalls",                                         \
        .name = "stalls",                                                      \
        .todo = "profile a longer run, with fewer filters")                    \
    /* against peaks or a baseline. No `most` here either: the network may be  \
     * several times slower */                                                 \
    ROW(JP_HYPOTHESIS_SLOW_NETWORK,                                            \
        .key = "slow_network",                                                 \
        .title = "Slow network",                                               \
        .question = "Is the network slower than its peaks or earlier steps "   \
                    "suggest?",                                                \
        .unit = JP_HYPOTHESIS_SHARE,                                           \
        .of = "longer than expected",                                          \
        .of_operations = true,                                                 \
        .family = JP_HYPOTHESIS_NETWORK,                                       \
        .clear = "network no more than %s slower than expected",               \
        .none = "network as fast as expected",                                 \
        .name = "absolute speed",                                              \
        .todo = "give the site's peaks (peaks.conf), or collect a baseline "   \
                "(jobprof baseline)")                                          \
    /* against communicators like it in the same step */                       \
    ROW(JP_HYPOTHESIS_SLOW_LINK,                                               \
        .key = "slow_link",                                                    \
        .title = "Slow link",                                                  \
        .question = "Is a communicator, or a link, slower than its peers in "  \
                    "this step?",                                              \
        .unit = JP_HYPOTHESIS_SHARE,                                           \
        .of = "longer than its peers take",                                    \
        .of_operations = true,                                                 \
        .family = JP_HYPOTHESIS_NETWORK,                                       \
        .clear = "no link %s slower than its peers",                           \
        .none = "no link slower than its peers",                               \
        .name = "single links",                                                \
        .todo = "three communicators of one shape or more can be compared")    \
    /* against itself, earlier */                                              \
    ROW(JP_HYPOTHESIS_DRIFT,                                                   \
        .key = "drift",                                                        \
        .title = "Drift",                                                      \
        .question = "Did the network become slower during the run?",           \
        .unit = JP_HYPOTHESIS_SHARE,                                           \
        .of = "longer than before",                                            \
        .of_operations = true,                                                 \
        .family = JP_HYPOTHESIS_NETWORK,                                       \
        .clear = "no drift over %s",                                           \
        .none = "no drift",                                                    \
        .name = "drift",                                                       \
        .todo = "profile a longer run, with fewer filters")                    \
    ROW(JP_HYPOTHESIS_HANG,                                                    \
        .key = "hang",                                                         \
        .title = "Hang",                                                       \
        .question = "Did an operation never end?",                             \
        .unit = JP_HYPOTHESIS_US,                                              \
        .of = "in flight",                                                     \
        .of_operations = true,                                                 \
        .name = "hangs",                                                       \
        .todo = "record with mode recorder, within a step")                    \
    ROW(JP_HYPOTHESIS_CRASH,                                                   \
        .key = "crash",                                                        \
        .title = "Crash",                                                      \
        .question = "Did a task die by itself?",                               \
        .unit = JP_HYPOTHESIS_COUNT,                                           \
        .of = "tasks",                                                         \
        .todo = "run as a Slurm step")                                         \
    ROW(JP_HYPOTHESIS_IMBALANCE,                                               \
        .key = "imbalance",                                                    \
        .title = "Imbalance of sizes",                                         \
        .question = "Does a rank get far more data by Send and Recv than "     \
                    "the others?",                                             \
        .unit = JP_HYPOTHESIS_TIMES,                                           \
        .of = "the mean of its communicator",                                  \
        .of_operations = true,                                                 \
        .todo = "record Send and Recv (p2p=on)")                               \
    ROW(JP_HYPOTHESIS_STAGE_IMBALANCE,                                         \
        .key = "stage_imbalance",                                              \
        .title = "Imbalance of stages",                                        \
        .question = "Does a pipeline wait for one of its stages?",             \
        .unit = JP_HYPOTHESIS_SHARE,                                           \
        .of = "of the run's time",                                             \
        .of_operations = true,                                                 \
        .most = 1,                                                             \
        .family = JP_HYPOTHESIS_WAITS,                                         \
        .todo = "record Send and Recv (p2p=on)")                               \
    ROW(JP_HYPOTHESIS_TURNS,                                                   \
        .key = "waits_by_turns",                                               \
        .title = "Waits by turns",                                             \
        .question = "Do ranks wait for another one each time, so that nobody " \
                    "in particular causes it?",                                \
        .unit = JP_HYPOTHESIS_SHARE,                                           \
        .of = "of the run's GPU time",                                         \
        .of_operations = true,                                                 \
        .most = 1,                                                             \
        .name = "waits by turns",                                              \
        .todo = "profile a longer run, with fewer filters")                    \
    ROW(JP_HYPOTHESIS_SMALL_MESSAGES,                                          \
        .key = "small_messages",                                               \
        .title = "Small messages",                                             \
        .question = "Do messages too small for the links take much of the "    \
                    "network's time?",                                         \
        .unit = JP_HYPOTHESIS_SHARE,                                           \
        .of = "of the network's time",                                         \
        .of_operations = true,                                                 \
        .most = 1,                                                             \
        .todo = "profile a longer run, with min_size=0")                       \
    ROW(JP_HYPOTHESIS_TOPOLOGY,                                                \
        .key = "topology",                                                     \
        .title = "Topology",                                                   \
        .question = "Do the nodes' records prove a fault: a dead NVLink, a "   \
                    "port that is down?",                                      \
        .unit = JP_HYPOTHESIS_COUNT,                                           \
        .of = "faults",                                                        \
        .todo = "run as a Slurm step, so that nodes are described")            \
    ROW(JP_HYPOTHESIS_DATA_LOSS,                                               \
        .key = "data_loss",                                                    \
        .title = "Data loss",                                                  \
        .question = "Is data missing that could change an answer?",            \
        .unit = JP_HYPOTHESIS_SHARE,                                           \
        .of = "of the records",                                                \
        .most = 1,                                                             \
        .name = "completeness",                                                \
        .todo = "record with mode recorder, which counts what it keeps")       \
    /* a feature answers it */                                                 \
    ROW(JP_HYPOTHESIS_GPU_TIME,                                                \
        .key = "gpu_time",                                                     \
        .title = "GPUs' time",                                                 \
        .question = "Do GPUs wait for launches, copies or allocations, or "    \
                    "does a rank have more to compute than the others?",       \
        .unit = JP_HYPOTHESIS_SHARE,                                           \
        .of = "of the GPUs' time",                                             \
        .most = 1,                                                             \
        .todo = "profile the GPUs, too")                                       \
    /* add new rows here */
/* clang-format on */

#define JP_HYPOTHESIS_CONSTANT(id, ...) id,
enum jp_hypothesis_id { JP_HYPOTHESES(JP_HYPOTHESIS_CONSTANT) JP_N_HYPOTHESES };

enum jp_hypothesis_state {
    JP_HYPOTHESIS_NOT_JUDGED,
    JP_HYPOTHESIS_NOT_FOUND,
    JP_HYPOTHESIS_FOUND,
    JP_HYPOTHESIS_STATES
};
/* "not_judged", "not_found", "found" */
extern const char *const hypotheses_states[JP_HYPOTHESIS_STATES];

enum jp_hypothesis_unit {
    JP_HYPOTHESIS_SHARE, /* 0..1 */
    JP_HYPOTHESIS_US,
    JP_HYPOTHESIS_TIMES,
    JP_HYPOTHESIS_COUNT,
    JP_HYPOTHESIS_UNITS
};
extern const char *const hypotheses_units[JP_HYPOTHESIS_UNITS];

/* Families of questions whose faults hide each other: a large one makes smaller
 * ones invisible. */
enum jp_hypothesis_family {
    JP_HYPOTHESIS_ALONE,
    JP_HYPOTHESIS_WAITS,  /* an effect is a share of the run's time */
    JP_HYPOTHESIS_NETWORK /* ... a share longer than it should take */
};

struct jp_hypothesis {
    const char *key;      /* "late_rank" */
    const char *title;    /* of a row of a table */
    const char *question; /* one plain sentence */
    enum jp_hypothesis_unit unit;
    const char *of;     /* a phrase: what the smallest effect measures */
    bool of_operations; /* about operations: no answer without their records */
    double most;        /* no effect can be that large; 0: there is no bound */
    enum jp_hypothesis_family family;
    const char *clear; /* the card's words for not found, with one %s for the
                          smallest effect; NULL: none */
    const char *none;  /* the same if that effect is unknown */
    const char *name;  /* the card's words for not judged; NULL: none */
    const char *todo;  /* what to do so that it can be judged next time */
};
extern const struct jp_hypothesis hypotheses_table[JP_N_HYPOTHESES];

#define JP_HYPOTHESIS_WHY 160

/* The answer to one question. Zero: not examined. */
struct jp_judgement {
    enum jp_hypothesis_state state;
    double least; /* the smallest effect that would have been seen, in the row's
                     unit; NAN or 0: unknown */
    const char *todo;             /* instead of the row's; NULL: that */
    char text[JP_HYPOTHESIS_WHY]; /* Not judged: why. Not found: words that
                       replace the row's, or "". Found: how many, or "" */
};

struct jp_hypotheses {
    struct jp_judgement of[JP_N_HYPOTHESES];
};

/* Answers a question. least: the smallest effect that would have been seen,
 * NAN: unknown. text (printf) may be NULL; of a question that is not
 * judged it is the reason, which fits on a line. "Not found" becomes "not
 * judged" if only an impossible effect would have been seen. h may be NULL. */
__attribute__((format(printf, 5, 6))) void
hypothesis_set(struct jp_hypotheses *h, enum jp_hypothesis_id id,
               enum jp_hypothesis_state state, double least, const char *text,
               ...);

/* The reason if only an impossible effect would have been seen. */
#define HYPOTHESIS_BLIND "times vary too much to see any"

/* Returns true if the question was judged. False for a NULL h. */
bool hypothesis_judged(const struct jp_hypotheses *h, enum jp_hypothesis_id id);

/* Returns why the question could not be judged, or "". Never NULL. */
const char *hypothesis_why(const struct jp_hypotheses *h,
                           enum jp_hypothesis_id id);

/* Returns what to do so that the question can be judged next time, or that a
 * smaller effect would be seen; "" if there is nothing. Never NULL. */
const char *hypothesis_todo(const struct jp_hypotheses *h,
                            enum jp_hypothesis_id id);

/* Formats the smallest effect with its unit; "" if it is unknown. Returns buf.
 */
#define JP_HYPOTHESIS_LEN 40
char *hypothesis_least(const struct jp_hypotheses *h, enum jp_hypothesis_id id,
                       char buf[JP_HYPOTHESIS_LEN]);

/* Formats "no rank that costs 1.2 %, ...; not judged: drift (run of 40 s)".
 * Leaves out what was found, because the findings have it. Returns buf. */
#define JP_HYPOTHESES_LINE 600
char *hypotheses_line(const struct jp_hypotheses *h,
                      char buf[JP_HYPOTHESES_LINE]);

#endif
