/* history_sum.h - what the steps of a site have in common: which nodes, ranks
 * and jobs make others wait, how busy accounts keep GPUs, how links change.
 *
 * Which node is slow? Steps of one job are no independent witnesses: they have
 * one program and one placement. So a job has one vote, for the node that made
 * the others of it wait longest in all its steps together. Where the nodes are
 * alike, each of the job's n nodes gets it with the chance 1/n. So the chance
 * that a node gets k or more of the votes of its jobs by luck is a tail of the
 * Poisson-binomial distribution. The binomial distribution of the mean chance
 * has a larger tail beyond its mean + 1 (Hoeffding 1956, On the distribution
 * of the number of successes in independent trials), and is taken for it:
 * exact where the jobs are of one size, else on the safe side. It is then
 * multiplied by the number of nodes that took part in a vote (Bonferroni's
 * inequality), because the worst of many is always found somewhere.
 *
 * Programs have habits, too. Rank 0 often has more to do, and in Slurm it runs
 * on the first node: how often a user's votes go to first nodes beyond their
 * turn is added to a first node's chance. Whatever other habit a user's program
 * has, he is one: the chance is the larger one of that of all jobs and of that
 * without the user whose jobs say most against the node.
 */
#ifndef JP_HISTORY_HISTORY_SUM_H
#define JP_HISTORY_HISTORY_SUM_H

#include "orchestrator/history/history.h"

/* What is asked for; NULL: all. */
struct history_want {
    uint64_t since_us;
    const char *node, *user, *account;
    double chance;  /* a node is slow below it */
    uint64_t votes; /* ... and with no fewer votes */
    double changed; /* a link changed where that is less likely by luck */
};

enum history_top {
    HISTORY_TOP_NODES,
    HISTORY_TOP_RANKS,
    HISTORY_TOP_JOBS,
    HISTORY_TOP_USERS,
    HISTORY_TOP_ACCOUNTS,
    HISTORY_TOP_PAIRS,
    HISTORY_TOPS
};

struct history_totals {
    uint64_t steps, jobs, users, accounts, nodes;
    uint64_t judged;   /* steps in which late ranks were looked for */
    uint64_t votes;    /* jobs with a node that made others wait */
    uint64_t tested;   /* nodes of these jobs */
    uint64_t slow;     /* nodes that are claimed to be */
    uint64_t unlisted; /* steps whose list of nodes could not be used */
    uint64_t left_out; /* names beyond what one user may have */
    uint64_t from_us, to_us;
};

/* A row of any of the tables, which uses some of it. */
struct history_row {
    const char *name, *user, *account, *cause, *verdict, *note;
    const char *from, *to;
    uint64_t job, rank, nodes, steps, jobs, late, late_steps, users, hangs;
    uint64_t crashes, time_us, slow;
    double expected, chance, wait_s, gpu_s, gpu_busy, gpu_busy_max;
    double busbw_gbs, change, days;
};

/* A column of a table: text, JSON and the manual go by it. */
enum history_shape {
    HISTORY_AS_TEXT,
    HISTORY_AS_COUNT,
    HISTORY_AS_REAL,
    HISTORY_AS_SECONDS,
    HISTORY_AS_SHARE, /* 0 to 1 */
    HISTORY_AS_CHANCE,
    HISTORY_AS_CLOCK,
    HISTORY_AS_FLAG
};
struct history_column {
    const char *key, *heading;
    enum history_shape shape;
    const char *help;
    size_t at;
};
struct history_table {
    const char *word, *title;
    const struct history_column *columns; /* key NULL ends */
};
extern const struct history_table history_tables[HISTORY_TOPS];

struct history_sum;

/* want is borrowed. NULL: no memory. Destroy takes NULL. */
struct history_sum *history_sum_create(const struct history_want *want);
void history_sum_destroy(struct history_sum *sum);

/* A step; uid as in history_reader. 1: it counts; 0: it is not wanted; -1: no
 * memory. */
int history_sum_add(struct history_sum *sum, const struct history_step *step,
                    int64_t uid);

/* Whose the last step was: of a sink, the owner of its folder. Borrowed until
 * the next step. */
const char *history_sum_user(const struct history_sum *sum);

/* After the last one: votes and chances. */
int history_sum_finish(struct history_sum *sum);

const struct history_totals *history_sum_totals(const struct history_sum *sum);

/* Rows of a table, the worst first; borrowed. */
const struct history_row *history_sum_rows(const struct history_sum *sum,
                                           enum history_top top, size_t *n);

/* Metrics by their labels, for OpenMetrics: see is called for each. value:
 * text of the second label, or NULL. */
enum history_metric {
    HISTORY_METRIC_STEPS,
    HISTORY_METRIC_FINDINGS,
    HISTORY_METRIC_WAITS,
    HISTORY_METRIC_BUSY,
    HISTORY_METRICS
};
void history_sum_metric(const struct history_sum *sum, enum history_metric m,
                        void (*see)(void *arg, const char *first,
                                    const char *second, double value),
                        void *arg);

/* The chance of k or more of n, each with the chance p: the binomial tail; 1
 * where k is no more than n p + 1. */
double history_chance(uint64_t k, uint64_t n, double p);

#endif
