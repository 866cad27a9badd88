/* history_sum.h - statistics over the steps of a site: which nodes, ranks and
 * jobs make others wait, how busy each account's GPUs are, how links change.
 *
 * Which node is slow? The steps of one job are not independent: they share
 * program and placement. Therefore each job has one vote. It goes to the node
 * that the others waited for longest, over all its steps. If all nodes are
 * equal, each of the job's n nodes gets the vote with probability 1/n. The
 * probability that a node gets k or more of its jobs' votes by chance is then a
 * tail of the Poisson-binomial distribution. We use the binomial distribution
 * with the mean probability instead: beyond its mean + 1 its tail is larger
 * (Hoeffding 1956, On the distribution of the number of successes in
 * independent trials). It is exact if all jobs have the same size, and on the
 * safe side otherwise. The result is multiplied by the number of nodes that
 * took part in a vote (Bonferroni's inequality), because the worst of many
 * nodes always looks bad.
 *
 * Programs also cause patterns of their own. Rank 0 often has more work, and
 * Slurm runs it on the first node. The probability of a first node is therefore
 * raised by the excess of votes that this user's jobs give to first nodes.
 * Other patterns of a program are limited to its user: the result is the larger
 * of two probabilities, that of all jobs, and that without the user whose jobs
 * give most evidence against the node.
 */
#ifndef JP_HISTORY_HISTORY_SUM_H
#define JP_HISTORY_HISTORY_SUM_H

#include <stdio.h>

#include "orchestrator/feature/feature.h"
#include "orchestrator/history/history.h"
#include "orchestrator/metrics/metrics.h"
#include "orchestrator/table/table.h"

/* The selection of steps; NULL: all. */
struct history_want {
    uint64_t since_us;
    const char *node, *user, *account;
    double chance;  /* a node counts as slow below this probability */
    uint64_t votes; /* ... and with at least this many votes */
    double changed; /* a link counts as changed below this probability */
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
    uint64_t votes;    /* jobs in which a node made others wait */
    uint64_t tested;   /* nodes that took part in a vote */
    uint64_t slow;     /* nodes that are reported as slow */
    uint64_t unlisted; /* steps with an unusable node list */
    uint64_t left_out; /* users of whom something was left out */
    uint64_t from_us, to_us;
};

/* A row of any table; each table uses some of the members. */
struct history_row {
    const char *name, *user, *account, *cause, *verdict, *note;
    const char *from, *to;
    uint64_t job, rank, nodes, steps, jobs, late, late_steps, users, hangs;
    uint64_t crashes, time_us, slow;
    double expected, chance, wait_s, gpu_s, gpu_busy, gpu_busy_max;
    double busbw_gbs, change, days;
};

/* The tables, for text and JSON. Their rows are those of history_sum_rows. */
extern const struct jp_table history_tables[HISTORY_TOPS];

struct history_sum;

/* Borrows want. Returns NULL without memory. Destroy accepts NULL. */
struct history_sum *history_sum_create(const struct history_want *want);
void history_sum_destroy(struct history_sum *sum);

/* Reads the site's list of who may use which account, lines "user|account" as
 * sacctmgr prints them. It belongs to root. In a sink, a step whose file's
 * owner has no right to its account counts for the account "(other)" then.
 * Returns -1 and err if the list cannot be used. */
int history_sum_accounts(struct history_sum *sum, const char *path,
                         struct jp_error *err);

/* Before the steps of a user, of whom `users` are left, with him; sets his
 * parts. As history_reader's begin. Without it, a user has his limits. Returns
 * -1 without memory. */
int history_sum_begin(struct history_sum *sum, int64_t uid, size_t users);

/* Counts what was left out of a user. As history_reader's leave. */
void history_sum_leave(struct history_sum *sum, int64_t uid,
                       enum history_left what, uint64_t n);

/* Adds a step; uid as in history_reader. Returns 1 if it counts, 0 if it is not
 * selected, -1 without memory. */
int history_sum_add(struct history_sum *sum, const struct history_step *step,
                    int64_t uid);

/* The user of the last step; in a sink, the owner of its folder. Borrowed until
 * the next step. */
const char *history_sum_user(const struct history_sum *sum);

/* Call it after the last step: computes votes and probabilities. */
int history_sum_finish(struct history_sum *sum);

const struct history_totals *history_sum_totals(const struct history_sum *sum);

/* What was left out of a user; NULL: that number of users does not exist. name
 * and left are borrowed. */
const uint64_t *history_sum_left(const struct history_sum *sum, size_t user,
                                 const char **name);

/* The rows of a table, worst first; borrowed. */
const struct history_row *history_sum_rows(const struct history_sum *sum,
                                           enum history_top top, size_t *n);

/* Values by label for OpenMetrics; see is called for each. value: second
 * label's text, or NULL. At most SERIES_NODES nodes and SERIES_ACCOUNTS
 * accounts have a series: those that are slow, then those of most users,
 * because a user can invent names, but not other users. The others are added up
 * as "other". */
enum history_metric {
    HISTORY_METRIC_STEPS,
    HISTORY_METRIC_FINDINGS,
    HISTORY_METRIC_WAITS,
    HISTORY_METRIC_BUSY,
    HISTORY_METRICS
};
typedef void history_series(void *arg, const char *first, const char *second,
                            double value);
void history_sum_metric(const struct history_sum *sum, enum history_metric m,
                        history_series *see, void *arg);
/* Their tables, by enum history_metric; ends with NULL. */
extern const struct jp_table *const history_metrics[HISTORY_METRICS + 1];

/* The probability of k or more successes in n trials, each with probability p:
 * the binomial tail. Returns 1 if k is at most n p + 1. */
double history_chance(uint64_t k, uint64_t n, double p);

/* --- print the tables of many steps, for people and programs ------------- */

enum history_form {
    HISTORY_FOR_PEOPLE, /* what was read, and the tables as text */
    HISTORY_AS_JSON,    /* one object: totals{}, seen{}, an array per table */
    HISTORY_AS_METRICS, /* the metrics of metrics.h's table, as OpenMetrics or
                         * for node_exporter's textfile collector */
    HISTORY_AS_EXCLUDE, /* srun's option without the slow nodes: --exclude=...
                         */
    HISTORY_AS_DRAIN,   /* a scontrol command for each slow node, with reason */
    HISTORY_AS_TOLD     /* a line for the user who submits a job; nothing
                         * without a slow node */
};

/* What is printed, and how. */
struct history_about {
    enum history_form form;
    enum metrics_format format; /* of metrics */
    const struct history_seen *seen;
    int top;     /* index of one table; -1: the most important ones */
    size_t rows; /* maximum number of rows per table */
    FILE *notes; /* but for people: gets sentences about what was not read, and
                  * about the nodes. NULL: they are omitted */
};

/* Returns -1 and err if the output failed. */
int history_put(const struct history_sum *sum,
                const struct history_about *about, FILE *out,
                struct jp_error *err);

/* Steps as rows of a table in a format of other tools: one column for each
 * scalar member of a line, and columns for the finding with the longest wait.
 */
struct history_sheet;

/* Borrows out. Returns NULL and err on failure. Destroy accepts NULL. */
struct history_sheet *history_sheet_create(FILE *out,
                                           const struct feature_sheet *format,
                                           struct jp_error *err);
void history_sheet_destroy(struct history_sheet *sheet);
int history_sheet_add(struct history_sheet *sheet,
                      const struct history_step *step, const char *user,
                      struct jp_error *err);
int history_sheet_finish(struct history_sheet *sheet, struct jp_error *err);

#endif
