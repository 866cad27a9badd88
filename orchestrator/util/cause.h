/* cause.h - find what was unusual where and when a step was delayed.
 *
 * For each finding of a late rank or node, a stall, a slow network or a drift:
 * which utilisation samples differed from those of the peers at that time, and
 * from the subject's own samples before. A cause coincides with the finding;
 * more is not claimed.
 *
 * A metric of the subject (its task, its GPU, its node, a port) is a cause if
 * three conditions hold:
 * - It differs from the median of its peers, in the bad direction, by at least
 *   the row's limit.
 * - The difference is unlikely to be chance (LIMIT_CAUSE_CHANCE), by
 *   Student's t. Two or three peers show little of the variance. It is
 *   therefore moderated by how much members of a kind usually differ (Smyth
 *   2004). The peers' own deviation is measured by the MAD, with its factors
 *   for small samples (Croux and Rousseeuw 1992).
 * - For a finding in a part of the run, the difference was smaller before or
 *   after that part (LIMIT_CAUSE_CONTRAST).
 *
 * Without peers, the subject is compared with itself in the rest of the run, by
 * Student's t of two means; so it is for a slow network if the peers show
 * nothing. Totals of a node are used only if the step has the node for itself.
 * A missing metric was not examined.
 */
#ifndef JP_UTIL_CAUSE_H
#define JP_UTIL_CAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/insight/insight.h"
#include "orchestrator/topo/steplabels.h"
#include "orchestrator/util/cause_limits.h"
#include "orchestrator/util/samples.h"

/* --- cause_find.c ------------------------------------------------------- */

/* The values of `what`; an earlier one may explain a later one. */
enum jp_cause_what {
    JP_CAUSE_GPU_XID,
    JP_CAUSE_GPU_ECC,
    JP_CAUSE_GPU_THERMAL,
    JP_CAUSE_GPU_POWER,
    JP_CAUSE_GPU_CLOCK,
    JP_CAUSE_GPU_PCIE,
    JP_CAUSE_GPU_SHARED,
    JP_CAUSE_GPU_MEMORY_BANDWIDTH,
    JP_CAUSE_CPU_THROTTLED,
    JP_CAUSE_CPU_STEAL,
    JP_CAUSE_CPU_SHARED,
    JP_CAUSE_MEMORY_PRESSURE,
    JP_CAUSE_FILE_READS,
    JP_CAUSE_FILE_WRITES,
    JP_CAUSE_CPU_OWN,
    JP_CAUSE_PORT_ERRORS,
    JP_CAUSE_PORT_RATE,
    JP_CAUSE_PORT_WAITS,
    JP_CAUSE_PORT_SHARED,
    JP_CAUSES
};
extern const char *const cause_words[JP_CAUSES]; /* "gpu_xid" */
/* What to do about it, after the place: "check port mlx5_0/1 of n2: cable" */
extern const char *const cause_next[JP_CAUSES];

/* Unknown values are NAN, "" or 0. */
struct jp_cause {
    enum jp_cause_what what;
    size_t finding; /* index in the findings */
    enum jp_util_scope scope;
    const char *node;     /* borrowed from struct jp_nodes */
    char id[UTIL_ID_MAX]; /* identifies the member: rank, bus id or port */
    const char *metric;   /* column of the samples, or "cpu" and the like */
    enum util_unit unit;
    double value;      /* the subject's mean during the finding */
    double peers;      /* median of its peers at that time */
    double before;     /* the subject's mean in the rest of the run */
    double deviations; /* distance from the peers in standard deviations */
    double follows;    /* -1 to 1: correlation of the metric with the waits over
                        * the run; NAN: the waits do not vary */
    uint32_t n_peers;
    uint64_t start_us, end_us; /* when the metric was unusual */
    bool all_along;            /* since the first operation */
    double strength;           /* 0 to 1 */
    char text[400];            /* one sentence */
};

/* What was examined for one finding. */
struct jp_cause_look {
    bool looked;           /* its kind is examined */
    size_t first, n;       /* its causes, strongest first */
    unsigned seen;         /* bit for each jp_cause_what that had samples */
    bool shared;           /* some node is shared: node and ports were not
                            * examined */
    char *list[JP_CAUSES]; /* the words for the bits of seen */
    size_t n_list;
    char why[500]; /* one sentence: the strongest cause, or that there is
                    * none */
};

struct jp_causes {
    struct jp_cause *at; /* ordered by finding, then by strength */
    size_t n;
    struct jp_cause_look *looks; /* one per finding */
    size_t n_looks;
};

/* The input of the search; places gives the GPU of each process. */
struct causes_input {
    const struct samples *samples;
    const struct jp_nodes *nodes;
    const struct jp_result *result;       /* may be NULL */
    const struct jp_processes *processes; /* the processes of the result */
    const struct jp_insight *insight;
    const struct jp_step_place *places; /* of each process of the result; may be
                                         * NULL */
};

/* *out is NULL if nothing was sampled. Returns -1 without memory. */
int causes_find(const struct causes_input *in, struct jp_causes **out,
                struct jp_error *err);
void causes_destroy(struct jp_causes *causes); /* accepts NULL */

/* Makes the findings and answers agree with the causes: a finding's advice
 * becomes that of its strongest cause, with the place; a port that is slow or
 * has errors answers the question about slow links. causes may be NULL. */
void causes_apply(const struct jp_causes *causes, struct jp_insight *insight);

/* The look of a finding; NULL: none. causes may be NULL. */
const struct jp_cause_look *causes_look(const struct jp_causes *causes,
                                        size_t finding);

/* --- chance and course: course.c, for cause_find.c --------------------- */

/* Probability that one of a few members differs so much by chance. */

/* One-sided tail of Student's t, P(T >= t); dof > 0. */
double deviation_t_tail(double t, double dof);

/* The probability that a further member exceeds the median of n peers (n >= 1)
 * by `excess` or more. Reorders peers. usual: the standard deviation that
 * members of this kind normally have; > 0. The peers' variance is moderated by
 * it, with the weight of LIMIT_CAUSE_PRIOR further peers. *deviations:
 * excess in standard deviations. */
double deviation_chance(double *peers, size_t n, double median, double excess,
                        double usual, double *deviations);

/* The same for the difference of two means of a and b values, with a variance
 * pooled over n values. */
double deviation_within(double variance, size_t n, double a, double b,
                        double excess, double usual, double *deviations);

/* When a finding delayed the others, in slices of the samples. */

struct course {
    /* time that others waited for it; only if the records contain it */
    double waits_us[SAMPLES_SLICES];
    bool late[SAMPLES_SLICES]; /* the slice belongs to the finding's time */
    bool rest[SAMPLES_SLICES]; /* the slice belongs to the rest of the time with
                                * operations */
    /* slices before and after the finding; a slice between two of its waits is
     * only in rest, because nothing need have changed there */
    bool outside[SAMPLES_SLICES];
    unsigned n_late, n_rest, n_outside;
    unsigned first, end; /* slices with operations: [first, end) */
    bool parts;          /* the finding concerns a part of the run */
    bool varies;         /* waits_us varies over the run */
};

/* Makes the courses of all findings as an array. Caller frees. NULL: no
 * memory. */
struct course *courses_make(const struct causes_input *in);

/* --- measure the duration of an iteration of the program's main loop ----- */

/* From collectives: each operation of a process has a kind (communicator,
 * function, size, peer). Most kinds occur once per iteration, or a whole number
 * of times, so the number of iterations is the count that most kinds share.
 * Kinds that occur only in every twentieth iteration, or once per layer, have
 * other counts. The duration is the distance between operations of a kind that
 * occurs once per iteration; the order in which several streams are recorded
 * does not matter. If all operations are of one kind, their distances must form
 * a repeating pattern. From utilisation, if the operations show no iteration:
 * the autocorrelation of the busy share of a GPU or a task over the samples. A
 * peak counts if its double is a peak as well and if it exceeds what noise can
 * produce. */

enum jp_iteration_source {
    JP_ITERATION_UNKNOWN,
    JP_ITERATION_COLLECTIVES,
    JP_ITERATION_UTILISATION,
    JP_ITERATION_SOURCES
};
extern const char *const iteration_sources[JP_ITERATION_SOURCES];

/* Unknown values are NAN or 0. */
struct jp_iteration {
    enum jp_iteration_source source;
    double period_us;     /* median */
    double p5_us, p95_us; /* only from collectives */
    uint64_t count;       /* number of repetitions found */
    uint64_t ops;         /* operations per repetition; only from collectives */
    /* 0 to 1: the fraction of operations that belong to such repetitions, or
     * the autocorrelation at the period */
    double confidence;
    double drift; /* relative increase until the end of the run */
    char text[200];
};

/* One operation of a process; operations are in order. */
struct iteration_op {
    uint64_t kind; /* equal for the same communicator, function and size */
    uint64_t start_us;
};

/* From the operations of one process, which it sorts. out->source 0: nothing
 * repeats. Returns -1 without memory. */
int iteration_of_ops(struct iteration_op *ops, size_t n,
                     struct jp_iteration *out);
/* From a series of samples step_us apart. Changes the series. */
void iteration_of_series(double *v, size_t n, double step_us,
                         struct jp_iteration *out);

/* For a whole step. result may be NULL; the samples are in nodes/ of
 * step_dir. */
int iteration_find(const struct jp_result *result, const char *step_dir,
                   const struct jp_nodes *nodes, struct jp_iteration *out,
                   struct jp_error *err);

/* --- bottleneck.c ------------------------------------------------------- */

/* What limits the job as a whole; several limits may apply. */

enum jp_bottleneck_kind {
    JP_BOTTLENECK_GPU,
    JP_BOTTLENECK_INPUT,
    JP_BOTTLENECK_CPU,
    JP_BOTTLENECK_IO,
    JP_BOTTLENECK_MEMORY,
    JP_BOTTLENECK_COMMUNICATION,
    JP_BOTTLENECK_GPU_MEMORY,
    JP_BOTTLENECK_IMBALANCE,
    JP_BOTTLENECK_THROTTLED,
    JP_BOTTLENECK_UNDER_USED,
    JP_BOTTLENECKS
};
extern const char *const bottleneck_words[JP_BOTTLENECKS]; /* "gpu_bound" */
/* The word that readers see after "bound by": "GPU". */
extern const char *const bottleneck_titles[JP_BOTTLENECKS];

struct jp_bottleneck {
    enum jp_bottleneck_kind kind;
    const char *metric; /* the metric of the value */
    enum util_unit unit;
    double value, limit;
    char text[160]; /* the evidence, as a clause */
};

struct jp_bottlenecks {
    struct jp_bottleneck at[JP_BOTTLENECKS];
    size_t n;
    bool looked;    /* there was data to examine */
    char text[300]; /* all of them in one line; "": none */
};

/* Finds the bottlenecks. util and result may be NULL. samples, of the same
 * step, may be NULL as well; then no node is known to be used by this step
 * alone. */
void bottlenecks_find(const struct jp_util *util, const struct samples *samples,
                      const struct jp_result *result,
                      struct jp_bottlenecks *out);

/* --- cause_table.c ------------------------------------------------------ */

/* The table of causes: one row per metric that may show one. */

enum cause_of {
    CAUSE_OF_COMPUTE = 1 << 0, /* late ranks and nodes, stalls */
    CAUSE_OF_NETWORK = 1 << 1, /* slow networks, drift */
};

/* A further condition on the subject: a column and its least mean. A missing
 * column does not prevent the cause. */
struct cause_needs {
    const char *column;
    double least;
    bool below_peers; /* instead of least: below the median of its peers */
    /* instead of a column: a share, at least the median of its peers */
    double (*share)(const struct samples *s, const struct sampled *m,
                    unsigned slice);
};

struct cause_row {
    enum jp_cause_what what;
    enum jp_util_scope scope;
    const char *metric; /* a column, or the name of what derive computes */
    /* computes the metric of a member in a slice from several columns; NULL:
     * metric is a column */
    double (*derive)(const struct samples *s, const struct sampled *m,
                     unsigned slice);
    enum util_unit unit; /* unit of derive's values */
    unsigned of;         /* enum cause_of */
    bool lower;          /* lower values are bad; otherwise higher ones */
    enum cause_limit_id least;
    double times;  /* also required: at least this many times the peers'
                    * median */
    bool relative; /* least is a fraction of the peers' median */
    bool exact;    /* a setting: all members have the same value */
    bool alone;    /* any amount is bad, even without peers */
    bool common;   /* every task has some of it on a busy node; the peers' part
                    * does not explain why this one is late */
    double prior;  /* 0 to 1: how well such a cause explains a wait */
    double takes;  /* time lost, as a fraction, per unit of the difference
                    * (relative: by all of it); 0: unknown */
    struct cause_needs needs;
    const char *says;  /* a clause, before the value */
    const char *after; /* text after the value; NULL: none */
};

extern const struct cause_row cause_table[];
extern const size_t cause_table_n;

/* `by` brings about `what`: if both are found, `what` is listed after `by`. */
struct cause_chain {
    enum jp_cause_what by, what;
};
extern const struct cause_chain cause_chains[];
extern const size_t cause_chains_n;

/* --- cause_describe.c ---------------------------------------------------- */

/* The subject of a finding, in terms of the samples. */
struct cause_subject {
    enum jp_finding_kind kind;
    bool whole_node; /* a node; otherwise one rank */
    char rank[60];   /* as readers see it: "19", "3 of TP1"; "": unknown */
    int64_t task;    /* Slurm's, if the process is a task itself; -1: none */
    /* how the samples name its process: "3", a task; "1/5", a worker of one;
     * "": unknown */
    char sampled[UTIL_ID_MAX];
    bool has_peers;   /* its process has further GPUs, each with a rank */
    int node;         /* index in the samples; < 0: unknown */
    const char *name; /* name of the node; NULL: unknown */
    char gpu[UTIL_ID_MAX];
};

/* Fills subject: the process or node that the finding names. */
void cause_subject_find(const struct causes_input *in,
                        const struct jp_finding *finding,
                        struct cause_subject *subject);

/* Writes the sentence cause->text. */
void cause_describe(const struct cause_subject *subject,
                    const struct cause_row *row, struct jp_cause *cause);

/* If a GPU is throttled, adds its lower clock to the sentence. found: indexed
 * by cause; strength 0: not found. */
void cause_describe_reason(const struct cause_subject *subject,
                           struct jp_cause found[JP_CAUSES]);

/* Writes the sentence look->why. */
void cause_describe_advice(const struct cause_subject *subject,
                           const struct jp_causes *causes,
                           struct jp_cause_look *look);

#endif
