/* table.c - how often the right cause is named, over simulated jobs.
 *
 * usage: table [-c] [-e | -a N] [-J] [-l] [-R] [-w] [-v] [-r] [-o | -t | -f |
 * -g | -m] [-j JOBS]
 *              [-n STEPS] [-s SEED] [SEEDS [FIRST [FAULT]]]
 *
 * Runs SEEDS jobs for each fault and size of effect, and eight to ten times as
 * many clean and jittery ones, through the aggregation and the insight. Prints
 * for each row how many were right: the kind and the culprit are named, and
 * nobody and nothing else. Exit status 1 if a row is under its floor, or if
 * another rank is blamed for a late one. Two kinds of jobs count only if
 * somebody else is named: those in which the cause cannot be known (a late node
 * that holds most of the ranks it could be compared with), and those that cost
 * less than the limits let be named.
 *
 * Each job has another shape.
 *   -o -t -f -g -m  shapes of the other families
 *   -e           only shapes with AlltoAll
 *   -a N         only such, of N ranks
 *   -J           by the judge's answers alone (orchestrator/judge)
 *   -w           what costs less than 2 % of the run need not be named
 *   -R           by the recorder's files
 *   -r           with a Reduce to rank 0 after each step
 *   -n STEPS     late ranks and clean jobs only, of that many steps
 *   -c           every other node's clock is an hour back
 *   -l           by Inspector's logs, not by records in memory
 *   -s SEED      starts at this seed, as a line about a failure prints it
 *   -j JOBS      jobs side by side; the answers do not depend on it
 *   -v           prints what was said about each job
 */
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/insight/insight.h"
#include "orchestrator/insight/late.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/looks.h"
#include "common/stats.h"
#include "tests/common/fewer.h"
#include "tests/insight/pool.h"
#include "tests/insight/simfeed.h"
#include "tests/insight/simlog.h"
#include "tests/insight/simrec.h"
#include "tests/insight/table_expect.h"
#include "tests/insight/table_truth.h"

#define TRIFLE 0.01     /* of compute: costs too little to be named */
#define WORTH 0.02      /* of the run: with -w, what must be named */
#define COMES_SHARE 0.5 /* of the run, in which such a rank is late */

struct row {
    enum simjob_fault fault;
    double effect;
    unsigned times; /* SEEDS times this many */
    double floor;   /* share that must be right */
};

static const struct row rows[] = {
    {SIMJOB_LATE_RANK, 0.30, 1, 0.98},  {SIMJOB_LATE_RANK, 0.10, 1, 0.95},
    {SIMJOB_LATE_RANK, 0.05, 1, 0},     {SIMJOB_LATE_RANK, 0.02, 1, 0},
    {SIMJOB_LATE_RANK, TRIFLE, 1, 0.9}, {SIMJOB_LATE_LAYERS, 0.60, 1, 0.98},
    {SIMJOB_LATE_NODE, 0.30, 1, 0.98},  {SIMJOB_LATE_NODE, 0.10, 1, 0.95},
    {SIMJOB_TWO_LATE, 0.30, 1, 0.98},   {SIMJOB_TWO_LATE, 0.10, 1, 0.95},
    {SIMJOB_SLOW_LINK, 1.00, 1, 0.98},  {SIMJOB_SLOW_LINK, 0.30, 1, 0.98},
    {SIMJOB_DRIFT, 0.60, 1, 0.98},      {SIMJOB_DRIFT, 0.30, 1, 0.95},
    {SIMJOB_RECORDED, 0, 1, 0.98},      {SIMJOB_HANG, 0, 1, 0.7},
    {SIMJOB_DIES, 0, 1, 0.7},           {SIMJOB_KILLED, 0, 1, 0.98},
    {SIMJOB_CLEAN, 0, 10, 0.995},       {SIMJOB_JITTER, 0, 10, 0.995},
    {SIMJOB_HICCUPS, 0, 8, 0.995},      {SIMJOB_LOSSY, 0.30, 1, 1},
    {SIMJOB_TINY, 0.30, 1, 1},          {SIMJOB_STALLS, 5, 1, 0.85},
    {SIMJOB_STALLS, 20, 1, 0.9},        {SIMJOB_STALLS, 50, 1, 0.9},
    {SIMJOB_ALL_STALL, 250, 2, 0.99},   {SIMJOB_CHECKPOINT, 250, 1, 0.97},
    {SIMJOB_ONSET, 0.30, 1, 0.9},       {SIMJOB_ONSET, 0.15, 1, 0.9},
    {SIMJOB_COMES, 0.30, 1, 0.9},       {SIMJOB_SLOW_STAGE, 0.12, 1, 0.9},
    {SIMJOB_NODE_ONSET, 0.30, 1, 0.9},  {SIMJOB_NODE_ONSET, 0.15, 1, 0.6},
};

/* With -n: what short runs show, and do not. */
static const struct row short_rows[] = {
    {SIMJOB_LATE_RANK, 0.30, 1, 0.85},
    {SIMJOB_CLEAN, 0, 10, 0.995},
    {SIMJOB_JITTER, 0, 3, 0.995},
};
static bool only_experts, verbose, as_text, reduced, by_judge, as_recorded;
static bool by_cost;
static uint32_t short_steps;  /* 0: as the shape has */
static uint32_t expert_ranks; /* of each AlltoAll; 0: as the shape has */

/* With somebody who says how the network should be. */
static const struct expected_row {
    struct row row;
    enum jp_against against;
} expected_rows[] = {
    {{SIMJOB_SLOW_NET, 1.50, 1, 0.98}, JP_AGAINST_PEAKS},
    {{SIMJOB_SLOW_NET, 1.00, 1, 0.98}, JP_AGAINST_BASELINE},
    {{SIMJOB_SLOW_NET, 0.30, 1, 0.98}, JP_AGAINST_BASELINE},
    {{SIMJOB_SLOW_LINK, 0.30, 1, 0.98}, JP_AGAINST_BASELINE},
    {{SIMJOB_LATE_RANK, 0.30, 1, 0.98}, JP_AGAINST_BASELINE},
    {{SIMJOB_SLOW_SENDS, 2.00, 1, 0.95}, JP_AGAINST_LIKES},
    {{SIMJOB_SLOW_SENDS, 0.30, 1, 0.95}, JP_AGAINST_LIKES},
    {{SIMJOB_SLOW_PAIR, 2.00, 1, 0.95}, JP_AGAINST_LIKES},
    {{SIMJOB_SLOW_PAIR, 0.30, 1, 0.95}, JP_AGAINST_LIKES},
    {{SIMJOB_SLOW_EXPERTS, 1.00, 1, 0.9}, JP_AGAINST_LIKES},
    {{SIMJOB_SLOW_EXPERTS, 0.40, 1, 0.9}, JP_AGAINST_LIKES},
    {{SIMJOB_CLEAN, 0, 2, 0.995}, JP_AGAINST_PEAKS},
    {{SIMJOB_CLEAN, 0, 2, 0.995}, JP_AGAINST_BASELINE},
    {{SIMJOB_JITTER, 0, 2, 0.995}, JP_AGAINST_BASELINE},
};

enum answer {
    RIGHT,
    MISSED,
    WRONG,
    UNDECIDABLE,
    SMALL,       /* costs less than is ever named, and is not */
    SMALL_NAMED, /* ... and is */
    N_ANSWERS
};

/* The family of shapes. */
static struct simjob_shape (*shape_of)(uint64_t seed) = simjob_random_shape;

static void *need(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);

    if (!p)
        abort();
    return p;
}

/* Silence is right, and the cause's name no wrong. */
static bool is_trifle(const struct simjob_truth *truth)
{
    return truth->fault == SIMJOB_LATE_RANK && truth->effect <= TRIFLE;
}

/* Does lateness cost less than late_share_min, late_cost_min and
 * late_slower_min let be named? By what the simulation knows: of two ranks, one
 * of them; of a rank that is late for a time, in that part of the run. */
static bool costs_little(const struct truth_job *j)
{
    const struct simjob_truth *t = &j->truth;
    double run = t->end_ns, least, late;
    bool in_part = t->fault == SIMJOB_ONSET || t->fault == SIMJOB_COMES ||
                   t->fault == SIMJOB_NODE_ONSET;

    if (t->fault != SIMJOB_LATE_RANK && t->fault != SIMJOB_LATE_LAYERS &&
        t->fault != SIMJOB_LATE_NODE && t->fault != SIMJOB_TWO_LATE &&
        t->fault != SIMJOB_SLOW_STAGE && !in_part)
        return false;
    late = (t->late_ns[0] + t->late_ns[1]) / truth_late_ranks(j);
    if (t->fault == SIMJOB_TWO_LATE)
        late = fmin(t->late_ns[0], t->late_ns[1]);
    least = fmax(late_worth(run, t->spent_ns),
                 limits_get(JP_LIMIT_LATE_SHARE) * t->spent_ns);
    if (in_part)
        least = fmax(least * (t->fault == SIMJOB_COMES ? COMES_SHARE
                                                       : 1 - t->from_ns / run),
                     limits_get(JP_LIMIT_LATE_LEAST) * run);
    return late < least;
}

static void nowhere(void *arg, const struct simjob_record *record)
{
}

/* Returns by what share of the run the same job, by the same seeds, is shorter
 * without its cause. */
static double cost_of(const struct truth_job *j, uint64_t seed)
{
    struct simjob_truth without;

    simjob_run(&j->shape, SIMJOB_CLEAN, 0, seed, nowhere, NULL, &without);
    return 1 - without.end_ns / j->truth.end_ns;
}

static enum answer judge(const struct truth_job *j, uint64_t seed)
{
    bool found[2] = {false, j->truth.fault != SIMJOB_TWO_LATE};
    const struct jp_findings *list = &j->insight->findings;
    size_t told = 0;

    for (size_t i = 0; i < list->n; i++) {
        int which;

        if (truth_claims_nothing(&list->at[i]) &&
            !truth_wants_none(j->truth.fault))
            continue;
        if (truth_is_by_design(j, &list->at[i]) ||
            truth_is_part(j, &list->at[i]))
            continue;
        if (!truth_names(j, &list->at[i], &which))
            return WRONG;
        found[which] = true;
        told++;
    }
    if (truth_wants_none(j->truth.fault))
        return RIGHT;
    if (is_trifle(&j->truth))
        return told ? MISSED : RIGHT;
    if (j->truth.undecidable)
        return UNDECIDABLE;
    if (by_cost ? cost_of(j, seed) < WORTH : costs_little(j))
        return found[0] && found[1] ? SMALL_NAMED : SMALL;
    return found[0] && found[1] ? RIGHT : MISSED;
}

static void tell(const struct truth_job *j, uint64_t seed, enum answer answer,
                 FILE *out)
{
    static const char *const answers[N_ANSWERS] = {"right", "missed",
                                                   "wrong", "not to be told",
                                                   "small", "small, but named"};
    const struct simjob_shape *s = &j->shape;

    fprintf(out,
            "# %s %g, seed %" PRIu64 ": %s (tp %u pp %u dp %u, %u a node, %u "
            "layers, %u steps, %u microbatches, grads %d, buckets %u, tp_ops "
            "%u, warmup "
            "%u, world %d, sharded %d, dp_before_pp %d, uneven %d, skewed %d, "
            "experts %d, noise %d, prefetched %d); truth: ranks %u %u, "
            "node %u, comm 0x%" PRIx64 ", rate %g, stalled %g ms\n",
            simjob_fault_name(j->truth.fault), j->truth.effect, seed,
            answers[answer], s->tp, s->pp, s->dp, s->per_node, s->layers,
            s->steps, s->microbatches, s->grads, s->buckets, s->tp_ops,
            s->warmup, s->world, s->sharded, s->dp_before_pp, s->uneven,
            s->skewed, s->experts, s->noise, s->prefetched, j->truth.ranks[0],
            j->truth.ranks[1], j->truth.node, j->truth.comm, j->truth.rate,
            j->truth.stalled_ns / 1e6);
    for (size_t i = 0; i < j->insight->findings.n && i < 4; i++)
        fprintf(out, "#   %s: %s\n",
                finding_kind_name(j->insight->findings.at[i].kind),
                j->insight->findings.at[i].text);
}

/* What Slurm would know of the step: for a job that was ended, when, and that
 * its tasks were killed. */
static struct jp_nodes *make_nodes(const struct truth_job *j)
{
    uint32_t n = simjob_ranks(&j->shape), per = j->shape.per_node;
    enum simjob_fault fault = j->truth.fault;
    struct jp_nodes *nodes;
    double end_us = j->truth.end_ns / 1e3 + 60e6;

    if (fault != SIMJOB_HANG && fault != SIMJOB_DIES && fault != SIMJOB_KILLED)
        return NULL;
    if (fault == SIMJOB_KILLED)
        end_us = j->truth.lost_ns / 1e3 + 0.5e6;
    nodes = need(1, sizeof(*nodes));
    nodes->n_nodes = (n + per - 1) / per;
    nodes->nodes = need(nodes->n_nodes, sizeof(*nodes->nodes));
    for (uint32_t i = 0; i < nodes->n_nodes; i++) {
        struct jp_node *node = &nodes->nodes[i];

        node->name = need(1, 16);
        simlog_host(i, node->name);
        node->hostname = node->name;
        node->finished = node->complete = true;
        node->finish_us = SIMLOG_EPOCH_US + (uint64_t) end_us;
        node->tasks = need(per, sizeof(*node->tasks));
        for (uint32_t r = i * per; r < n && r < (i + 1) * per; r++)
            node->tasks[node->n_tasks++] = (struct jp_task){
                .gtid = r, .ltid = r % per, .pid = simlog_pid(r), .status = 9};
    }
    return nodes;
}

static void free_nodes(struct jp_nodes *nodes)
{
    for (size_t i = 0; nodes && i < nodes->n_nodes; i++) {
        free(nodes->nodes[i].name);
        free(nodes->nodes[i].tasks);
    }
    if (nodes)
        free(nodes->nodes);
    free(nodes);
}

/* --- what the finding says it costs -------------------------------------- */

/* The told cost over the GPU time that the same job, by the same seeds, saves
 * without its cause; NAN: that is not named, or not told by one finding. */
static double cost_ratio(const struct truth_job *j, uint64_t seed)
{
    const struct jp_findings *list = &j->insight->findings;
    struct simjob_truth without;
    int which;

    if (j->truth.fault != SIMJOB_LATE_RANK &&
        j->truth.fault != SIMJOB_LATE_NODE &&
        j->truth.fault != SIMJOB_SLOW_STAGE)
        return NAN;
    simjob_run(&j->shape, SIMJOB_CLEAN, 0, seed, nowhere, NULL, &without);
    for (size_t i = 0; i < list->n; i++)
        if (truth_names(j, &list->at[i], &which))
            return list->at[i].cost_us / (j->truth.end_ns - without.end_ns) *
                   1e3 / simjob_ranks(&j->shape);
    return NAN;
}

/* --- one job ------------------------------------------------------------- */

/* Enough of them for likes, and messages that cross nodes. */
static bool has_pipelines(const struct simjob_shape *s)
{
    uint32_t stage = s->tp * (s->dp_before_pp ? s->dp : 1);

    return s->pp > 1 && s->tp * s->dp >= 8 && stage * s->pp > s->per_node;
}

/* Groups of AlltoAll, and others that the slow ones can be told from. */
static bool has_groups(const struct simjob_shape *s)
{
    return s->experts && s->dp >= 16 && simjob_ranks(s) >= 8 * s->per_node;
}

static struct simjob_shape sized(struct simjob_shape shape)
{
    if (short_steps)
        shape.steps = short_steps;
    if (expert_ranks)
        shape.expert_ranks = expert_ranks;
    shape.reduced = reduced;
    while (shape.experts && expert_ranks && shape.dp % expert_ranks)
        shape.dp++;
    return shape;
}

/* What a row's jobs have in common. */
struct task {
    const struct row *row;
    enum jp_against against;
};

static const struct table_way simfeed_way = {simfeed_write, simfeed_remove},
                              simlog_way = {simlog_write, simlog_remove},
                              simrec_way = {simrec_write, simrec_remove};

/* One job; -1: this seed's shape cannot show the fault, or nobody expects
 * anything of what shows it. */
static int run(const struct task *task, uint64_t seed, const char *dir,
               double *cost, FILE *out)
{
    const struct row *row = task->row;
    enum jp_against against = task->against;
    const struct jp_aggregate_options options = {.threads = 1};
    const struct table_way *files = row->fault == SIMJOB_RECORDED || as_recorded
                                        ? &simrec_way
                                    : as_text ? &simlog_way
                                              : &simfeed_way;
    struct truth_job j = {.shape = sized(shape_of(seed)), .against = against};
    struct table_expect expect;
    struct jp_nodes *nodes;
    struct jp_error err;
    struct jp_result *result;
    struct jp_insight *insight;
    int answer = -1;

    if (only_experts && !j.shape.experts)
        return -1;
    if (row->fault == SIMJOB_SLOW_EXPERTS && !has_groups(&j.shape))
        return -1;
    if ((row->fault == SIMJOB_SLOW_SENDS || row->fault == SIMJOB_SLOW_PAIR) &&
        !has_pipelines(&j.shape))
        return -1;
    if (files->write(&j.shape, row->fault, row->effect, seed, dir, &j.truth) <
        0) {
        perror(dir);
        exit(1);
    }
    if (!j.truth.shown) {
        files->remove(&j.shape, dir);
        return -1;
    }
    result = aggregate_run(&dir, 1, &options, &err);
    files->remove(&j.shape, dir);
    table_expect_make(against, &j.shape, seed, dir,
                      as_text ? &simlog_way : &simfeed_way, &expect);
    nodes = make_nodes(&j);
    insight = result ? insight_run(NULL, nodes, result, &expect.is) : NULL;
    if (!insight) {
        fprintf(stderr, "%s\n", result ? "out of memory" : err.text);
        exit(1);
    }
    if (by_judge)
        truth_by_judge(result, insight);
    j.result = result;
    j.insight = insight;
    if (row->fault != SIMJOB_SLOW_NET || table_expect_applies(insight, against))
        answer = (int) judge(&j, seed);
    *cost = answer == (int) RIGHT ? cost_ratio(&j, seed) : NAN;
    if (answer == (int) MISSED || answer == (int) WRONG ||
        (verbose && answer >= 0)) {
        tell(&j, seed, (enum answer) answer, out);
        if (isfinite(*cost))
            fprintf(out, "#   told cost: %.2f of the true one\n", *cost);
    }
    insight_destroy(insight);
    free_nodes(nodes);
    result_destroy(result);
    table_expect_fini(&expect);
    return answer;
}

static struct pool_answer run_one(const void *arg, uint64_t seed,
                                  const char *dir, FILE *out)
{
    struct pool_answer one = {.cost = NAN};

    one.answer = run(arg, seed, dir, &one.cost, out);
    return one;
}

/* As the command line says. */
struct run {
    unsigned seeds, workers;
    uint64_t first, exact;
    const char *only, *dir;
};

/* Of late ranks nobody else may be blamed in a single job, neither mates nor
 * peers (of the other family's shapes: in few). */
static bool blames_one(enum simjob_fault fault)
{
    return shape_of == simjob_random_shape &&
           (fault == SIMJOB_LATE_RANK || fault == SIMJOB_LATE_LAYERS ||
            fault == SIMJOB_TWO_LATE);
}

#define COST_OFF 0.3             /* of a late rank's told cost, at the median */
#define OTHERS_FLOOR 0.7         /* of other families' shapes */
#define OTHERS_SILENT_FLOOR 0.97 /* where nobody is to be named */
#define OTHERS_NODE_LESS 0.03    /* of late nodes: below the first family's */

static double floor_of(const struct row *row)
{
    if (shape_of == simjob_random_shape)
        return row->floor;
    if (row->fault == SIMJOB_SLOW_EXPERTS)
        return 0; /* of unlike sizes nothing is claimed */
    if (row->fault == SIMJOB_LATE_NODE && !expert_ranks)
        return row->floor - OTHERS_NODE_LESS;
    return fmin(row->floor, truth_wants_none(row->fault) ? OTHERS_SILENT_FLOOR
                                                         : OTHERS_FLOOR);
}

/* Prints one row of the table; false: under its floor. */
static bool run_row(const struct row *row, enum jp_against against,
                    const struct run *how, size_t number)
{
    unsigned times = row->times > FEWER_BY ? FEWER(row->times) : row->times;
    unsigned jobs = how->seeds * times, n[N_ANSWERS] = {0};
    uint64_t seed = how->exact
                        ? how->exact - 1
                        : how->first * 1000003 + (uint64_t) number * 1000000007;
    double share, floor = floor_of(row);
    double cost = 1, *costs = need(jobs, sizeof(*costs));
    size_t n_costs = 0;
    const struct task task = {row, against};
    struct pool *pool = pool_start(jobs < how->workers ? jobs : how->workers,
                                   seed + 1, how->dir, run_one, &task);

    for (unsigned i = 0; i < jobs;) {
        struct pool_answer one = pool_next(pool);

        if (one.answer < 0)
            continue;
        if (isfinite(one.cost) && n_costs < jobs)
            costs[n_costs++] = one.cost;
        n[one.answer]++;
        i += one.answer != (int) UNDECIDABLE;
    }
    pool_end(pool);
    jobs -= n[SMALL] + n[SMALL_NAMED];
    share = jobs ? (double) n[RIGHT] / jobs : 1;
    printf("%-12s %5g %-8s %6u %6u %6u %6u  %6.2f %%  floor %5.1f %%",
           simjob_fault_name(row->fault), row->effect,
           against ? expectation_word(against) : "-", jobs, n[RIGHT], n[MISSED],
           n[WRONG], 100 * share, 100 * floor);
    if (n[UNDECIDABLE])
        printf("  (and %u that cannot be told: nobody else named)",
               n[UNDECIDABLE]);
    if (n[SMALL] + n[SMALL_NAMED])
        printf("  (and %u that cost less than is named: %u named, nobody else)",
               n[SMALL] + n[SMALL_NAMED], n[SMALL_NAMED]);
    if (n_costs) {
        cost = stats_median(costs, n_costs);
        stats_sort(costs, n_costs);
        printf("  (told cost: %.2f of the true one, %.2f to %.2f)",
               costs[n_costs / 2], costs[n_costs / 10],
               costs[n_costs - 1 - n_costs / 10]);
    }
    puts("");
    free(costs);
    fflush(stdout);
    if (n_costs >= (how->exact ? 1 : 8) && row->fault == SIMJOB_LATE_RANK &&
        row->effect >= 0.1 && fabs(cost - 1) > COST_OFF)
        return false;
    return share >= floor && !(n[WRONG] && blames_one(row->fault));
}

static bool is_wanted(const struct run *how, const struct row *row)
{
    return !how->only || !strcmp(how->only, simjob_fault_name(row->fault));
}

#define N(array) (sizeof(array) / sizeof(*(array)))

static bool run_rows(const struct run *how)
{
    bool good = true;

    printf("%-12s %5s %-8s %6s %6s %6s %6s  %8s\n", "fault", "size", "against",
           "jobs", "right", "missed", "wrong", "right");
    for (size_t i = 0; short_steps && i < N(short_rows); i++)
        if (is_wanted(how, &short_rows[i]))
            good &= run_row(&short_rows[i], JP_AGAINST_NOTHING, how, 200 + i);
    if (short_steps)
        return good;
    for (size_t i = 0; i < N(rows); i++)
        if (is_wanted(how, &rows[i]))
            good &= run_row(&rows[i], JP_AGAINST_NOTHING, how, i);
    for (size_t i = 0; i < N(expected_rows); i++)
        if (is_wanted(how, &expected_rows[i].row))
            good &= run_row(&expected_rows[i].row, expected_rows[i].against,
                            how, 100 + i);
    return good;
}

int main(int argc, char **argv)
{
    struct run how = {.seeds = 3, .first = 1, .workers = pool_processors()};
    char dir[] = "/dev/shm/jobprof-table.XXXXXX";
    char other[] = "/tmp/jobprof-table.XXXXXX";
    bool good;

    for (; argc > 1 && *argv[1] == '-'; argc--, argv++) {
        if (!strcmp(argv[1], "-c"))
            simlog_apart_us = UINT64_C(3600000000);
        else if (!strcmp(argv[1], "-e"))
            only_experts = true;
        else if (!strcmp(argv[1], "-R"))
            as_recorded = true;
        else if (!strcmp(argv[1], "-J"))
            by_judge = true;
        else if (!strcmp(argv[1], "-w"))
            by_cost = true;
        else if (!strcmp(argv[1], "-v"))
            verbose = true;
        else if (!strcmp(argv[1], "-r"))
            reduced = true;
        else if (!strcmp(argv[1], "-l"))
            as_text = true;
        else if (!strcmp(argv[1], "-o"))
            shape_of = simjob_other_shape;
        else if (!strcmp(argv[1], "-t"))
            shape_of = simjob_third_shape;
        else if (!strcmp(argv[1], "-f"))
            shape_of = simjob_fourth_shape;
        else if (!strcmp(argv[1], "-m"))
            shape_of = simjob_experts_shape;
        else if (!strcmp(argv[1], "-g"))
            shape_of = simjob_stages_shape;
        else if (argc > 2) {
            uint64_t number = strtoull(argv[2], NULL, 10);

            if (!strcmp(argv[1], "-s"))
                how.exact = number;
            else if (!strcmp(argv[1], "-n"))
                short_steps = (uint32_t) number;
            else if (!strcmp(argv[1], "-j"))
                how.workers = (unsigned) number;
            else if (!strcmp(argv[1], "-a"))
                expert_ranks = (uint32_t) number;
            only_experts |= expert_ranks > 0;
            argc--, argv++;
        }
    }
    if (argc > 1)
        how.seeds = (unsigned) strtoul(argv[1], NULL, 10);
    if (argc > 2)
        how.first = strtoull(argv[2], NULL, 10);
    if (argc > 3)
        how.only = argv[3];
    /* the next job needs what this one gives back */
    mallopt(M_MMAP_THRESHOLD, 1 << 25);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    how.dir = mkdtemp(dir) ? dir : mkdtemp(other);
    if (!how.dir) {
        perror(other);
        return 1;
    }
    good = run_rows(&how);
    rmdir(how.dir);
    return good ? 0 : 1;
}
