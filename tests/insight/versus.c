/* versus.c - the old rules, the judge alone, and both, over simulated jobs.
 *
 * usage: versus [-j JOBS] [-f FAMILY] [-i INPUT] [-l EVENTS] [-r ROW]
 *               [-s SEED] [-x SEED] [-t] [-v] [JOBS]
 *
 * Runs JOBS jobs for each row (20), ten times as many clean ones, by each kind
 * of input: recordings, verbose logs, plain Inspector logs. Each job is
 * analysed once; what is said is judged three times:
 *
 *   old    the findings of the rules of insight/ without own times
 *   judge  the answers of orchestrator/judge alone (aggregate --own-times)
 *   both   the findings as a report has them
 *
 * For each of the three: "named" are the jobs in which the culprit is the first
 * finding (of two late ranks: both are found) and nobody else is named, of
 * those that the fault costs at least 2 % of the run; "wrong" are the jobs of
 * all in which anybody else is named; "cost" are those named jobs in which the
 * told cost is within 15 % of the planted one, or within 0.5 points of the run.
 * What a fault costs is known from the same job without it: what the run is
 * longer by, on the GPUs of which a cost is told (those that wait for the
 * culprits). Of clean jobs,
 * "named" counts those in which nothing is said. Behind them: the median of the
 * told cost over the planted one, and of what "without it the run would take
 * less", with the jobs in which that is near, in reports as they are.
 *
 *   -f FAMILY  real (the default), or another one of simkinds.h
 *   -i INPUT   recording, verbose, plain
 *   -l EVENTS  timelines have so many operations at most, as those of a longer
 *              run have
 *   -r ROW     the row of that name; else rows whose name begins so
 *   -s SEED    first seed: "shape" (rules and the simulator were made by
 *              looking at these), "ci" (make check), "fresh" (drawn now, the
 *              default), or a number
 *   -x SEED    this job alone
 *   -t         exit status 1 if a clean job names somebody, or if both miss
 *              more than a tenth of a row, or name somebody else
 *   -v         prints what was said about each job that is not right, and what
 *              is true of clean ones by design, such as a slow network beside
 *              other tenants
 */
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/stats.h"
#include "orchestrator/aggregate/timeline.h"
#include "orchestrator/judge/judge.h"
#include "tests/insight/pool.h"
#include "tests/insight/simkinds.h"
#include "tests/insight/table_truth.h"

#define COSTLY 0.02       /* of the run */
#define DRAWN 100         /* seeds for each job of a row, at most */
#define COST_OFF 0.15     /* of the planted cost */
#define COST_POINTS 0.005 /* of the run */
#define MISSED_MOST 0.1   /* with -t: of a row */
#define CLEAN_TIMES 10
#define PAUSES 2 /* of a paused run: two fifths of it are not recorded */

enum way { OLD, JUDGE, BOTH, WAYS };
static const char *const way_names[WAYS] = {"old", "judge", "both"};

/* What is unusual about the shape of a row. */
enum variant { WHOLE, SHORT, SAMPLED, ALONE, PAUSED };

/* effect 0: the family does not have it. */
static const struct row {
    const char *name;
    enum simjob_fault fault;
    double effect; /* of realistic jobs (simreal.h) */
    double other;  /* of the other families (simjob.h) */
    double often;  /* of stalls */
    enum variant variant;
} rows[] = {
    {"late 5 %", SIMJOB_LATE_RANK, 0.05, 0.05, 0, WHOLE},
    {"late 10 %", SIMJOB_LATE_RANK, 0.10, 0.10, 0, WHOLE},
    {"late 30 %", SIMJOB_LATE_RANK, 0.30, 0.30, 0, WHOLE},
    {"two late 20 %", SIMJOB_TWO_LATE, 0.20, 0.20, 0, WHOLE},
    {"node 10 %", SIMJOB_LATE_NODE, 0.10, 0.10, 0, WHOLE},
    {"node 30 %", SIMJOB_LATE_NODE, 0.30, 0.30, 0, WHOLE},
    {"throttle 30 %", SIMJOB_THROTTLE, 0.30, 0, 0, WHOLE},
    {"stage 15 %", SIMJOB_SLOW_STAGE, 0.15, 0.15, 0, WHOLE},
    {"stalls often", SIMJOB_STALLS, 0.06, 5, 0.5, WHOLE},
    {"stalls rare", SIMJOB_STALLS, 0.06, 50, 0.06, WHOLE},
    {"stall single", SIMJOB_ONCE, 0.06, 500, 0, WHOLE},
    {"onset 15 %", SIMJOB_ONSET, 0.15, 0.15, 0, WHOLE},
    {"onset 30 %", SIMJOB_ONSET, 0.30, 0.30, 0, WHOLE},
    {"comes 30 %", SIMJOB_COMES, 0, 0.30, 0, WHOLE},
    {"node onset 30 %", SIMJOB_NODE_ONSET, 0, 0.30, 0, WHOLE},
    {"checkpoint", SIMJOB_CHECKPOINT, 0.06, 250, 0, WHOLE},
    {"turns", SIMJOB_TURNS, 0.20, 0, 0, WHOLE},
    {"slow link", SIMJOB_SLOW_LINK, 4.00, 1.00, 0, WHOLE},
    {"slow rail", SIMJOB_SLOW_RAIL, 4.00, 0, 0, WHOLE},
    {"drift", SIMJOB_DRIFT, 4.00, 0.60, 0, WHOLE},
    {"short, late 30 %", SIMJOB_LATE_RANK, 0.30, 0, 0, SHORT},
    {"sampled, late 30 %", SIMJOB_LATE_RANK, 0.30, 0, 0, SAMPLED},
    {"clean", SIMJOB_CLEAN, 1, 1, 0, WHOLE},
    {"clean, short", SIMJOB_CLEAN, 1, 0, 0, SHORT},
    {"clean, sampled", SIMJOB_CLEAN, 1, 0, 0, SAMPLED},
    {"clean, one rank", SIMJOB_CLEAN, 1, 0, 0, ALONE},
    {"paused, late 10 %", SIMJOB_LATE_RANK, 0.10, 0.10, 0, PAUSED},
    {"paused, late 30 %", SIMJOB_LATE_RANK, 0.30, 0.30, 0, PAUSED},
    {"paused, node 30 %", SIMJOB_LATE_NODE, 0.30, 0.30, 0, PAUSED},
    {"paused, stalls", SIMJOB_STALLS, 0.06, 5, 0.5, PAUSED},
    {"paused, onset 30 %", SIMJOB_ONSET, 0.30, 0.30, 0, PAUSED},
    {"clean, paused", SIMJOB_CLEAN, 1, 1, 0, PAUSED},
};

/* Seeds. Each row has a range of its own from these on. */
#define SEED_SHAPE UINT64_C(1000000)
#define SEED_CI UINT64_C(2000000)
#define SEED_ROW UINT64_C(100000)

#define N(array) (sizeof(array) / sizeof(*(array)))

/* Bits of an answer, for each way. */
enum {
    NAMED = 1,  /* culprit first, all of them found, nobody else */
    WRONG = 2,  /* somebody else is named */
    SILENT = 4, /* nothing is said */
    WAY_BITS = 3
};

struct task {
    const struct row *row;
    const struct sim_input *input;
    const struct sim_family *family;
};

static bool verbose, testing;
static uint32_t as_of; /* processes that share what timelines may have */

static bool is_clean(const struct row *row)
{
    return row->fault == SIMJOB_CLEAN;
}

/* --- what is said of one job ---------------------------------------------- */

static bool is_network(const struct jp_finding *f)
{
    return f->kind == JP_FINDING_SLOW_NETWORK || f->kind == JP_FINDING_DRIFT;
}

/* Returns true if a finding changes the verdict: others are hints. */
static bool decides(const struct jp_finding *f)
{
    enum jp_verdict_word word = finding_verdict(f);

    return word == JP_VERDICT_SLOW || word == JP_VERDICT_DEGRADED ||
           word == JP_VERDICT_HANG || word == JP_VERDICT_FAILED;
}

/* Returns how many ranks the node of a late node's finding has, if all of them
 * are of truth's stage; else 0. */
static uint32_t node_in_stage(const struct truth_job *j,
                              const struct jp_finding *f)
{
    uint32_t n = 0;

    if (f->kind != JP_FINDING_LATE_NODE)
        return 0;
    for (uint32_t r = 0; r < simjob_ranks(&j->shape); r++) {
        uint32_t t, p, d;
        char host[16];

        simlog_host(r / j->shape.per_node, host);
        if (strcmp(host, f->host) != 0)
            continue;
        simjob_place(&j->shape, r, &t, &p, &d);
        if (p != j->truth.stage)
            return 0;
        n++;
    }
    return n;
}

/* What realistic jobs have more of, or say otherwise. */
static bool names_real(const struct truth_job *j, const struct jp_finding *f,
                       int *which)
{
    *which = 0;
    switch (j->truth.fault) {
    case SIMJOB_ONSET: /* whenever it is said to begin */
    case SIMJOB_ONCE:
        return truth_names_rank(j, f, j->truth.ranks[0]);
    case SIMJOB_SLOW_STAGE: /* or the node that is the whole stage */
        return truth_names(j, f, which) ||
               node_in_stage(j, f) == truth_late_ranks(j);
    case SIMJOB_TURNS:
        return f->kind == JP_FINDING_TURNS;
    case SIMJOB_THROTTLE:
        return f->kind == JP_FINDING_LATE_NODE && truth_names_node(j, f);
    case SIMJOB_SLOW_RAIL:
        return is_network(f);
    case SIMJOB_SLOW_LINK:
        return is_network(f) && (!*f->host || truth_names_node(j, f));
    default:
        return truth_names(j, f, which);
    }
}

/* Returns true if the finding says what the job is like without the fault. */
static bool is_by_design(const struct truth_job *j, const struct jp_finding *f)
{
    const struct simreal *x = &j->shape.real;

    if (!x->on)
        return truth_is_by_design(j, f);
    if (f->kind == JP_FINDING_TURNS)
        return true; /* lengths, experts, garbage: they do */
    if (j->truth.fault == SIMJOB_SLOW_STAGE && node_in_stage(j, f))
        return true; /* part of it */
    if (f->kind == JP_FINDING_IMBALANCE)
        return x->last_stage > 0 && j->truth.fault != SIMJOB_SLOW_STAGE;
    if ((f->kind == JP_FINDING_LATE_RANK || finding_is_stall(f->kind)) &&
        simjob_late_node(j->truth.fault))
        return truth_names_node(j, f); /* part of it */
    return is_network(f) && x->tenants > 0;
}

/* What true findings say of the cost, as shares of the run; NAN: nothing. */
struct said {
    double cost; /* GPU time lost */
    double gain; /* what the run would be shorter by */
};

/* Returns the share of the GPUs that a cost is told of: a late rank costs the
 * others, a slow network all. */
static double share_that_waits(const struct truth_job *j)
{
    uint32_t late;

    switch (j->truth.fault) {
    case SIMJOB_SLOW_LINK:
    case SIMJOB_SLOW_RAIL:
    case SIMJOB_DRIFT:
    case SIMJOB_TURNS:
        late = 0;
        break;
    case SIMJOB_TWO_LATE:
        late = 2;
        break;
    default:
        late = truth_late_ranks(j);
    }
    return 1 - (double) late / simjob_ranks(&j->shape);
}

static void add_said(double *sum, double share)
{
    if (isfinite(share))
        *sum = share + (isfinite(*sum) ? *sum : 0);
}

/* Of two late ranks, what the run is shorter by without both. */
static double gain_of(const struct truth_job *j, const struct jp_finding *f)
{
    return j->truth.fault == SIMJOB_TWO_LATE && isfinite(f->gain_all)
               ? f->gain_all
               : f->gain;
}

/* Judges a list of findings. OLD: of those without own times. */
static int answer_of(const struct truth_job *j, const struct jp_findings *list,
                     enum way way, struct said *said)
{
    bool found[2] = {false, j->truth.fault != SIMJOB_TWO_LATE};
    bool first = true, right_first = false;
    int answer = SILENT;

    *said = (struct said){NAN, NAN};
    for (size_t i = 0; i < list->n; i++) {
        const struct jp_finding *f = &list->at[i];
        int which;

        if (way == OLD && f->by_own_time)
            continue;
        if (names_real(j, f, &which)) {
            found[which] = true;
            right_first |= first;
            add_said(&said->cost, f->of_run);
            if (f->gain_kind == JP_GAIN_REPLAYED ||
                f->gain_kind == JP_GAIN_PART)
                said->gain = gain_of(j, f);
            answer &= ~SILENT;
        } else if (!decides(f) || is_by_design(j, f)) {
            continue;
        } else if (!truth_is_part(j, f)) {
            answer = (answer | WRONG) & ~SILENT;
        }
        first = false;
    }
    if (right_first && found[0] && found[1] && !(answer & WRONG))
        answer |= NAMED;
    return answer;
}

static void tell(const struct truth_job *j, const struct task *task,
                 uint64_t seed, enum way way, int answer, double cost,
                 FILE *out)
{
    const struct simjob_shape *s = &j->shape;
    const struct jp_findings *list = &j->insight->findings;

    fprintf(out,
            "# %s, %s, %s, seed %" PRIu64 ", %s: %s; tp %u pp %u dp %u, %u a "
            "node, %u steps; ranks %u %u, node %u, stage %u, cost %.1f %%\n",
            task->family->name, task->row->name, task->input->name, seed,
            way_names[way],
            answer & WRONG    ? "somebody else is named"
            : answer & NAMED  ? "right"
            : answer & SILENT ? "nothing is said"
                              : "not the first, or not all",
            s->tp, s->pp, s->dp, s->per_node, s->steps, j->truth.ranks[0],
            j->truth.ranks[1], j->truth.node, j->truth.stage + 1, 100 * cost);
    for (size_t i = 0; i < list->n && i < 4; i++)
        if (way != OLD || !list->at[i].by_own_time)
            fprintf(out, "#   %s: %s\n", finding_kind_name(list->at[i].kind),
                    list->at[i].text);
}

static void tell_by_design(const struct truth_job *j, uint64_t seed, FILE *out)
{
    const struct jp_findings *list = &j->insight->findings;

    for (size_t i = 0; i < list->n; i++)
        if (decides(&list->at[i]) && is_by_design(j, &list->at[i]))
            fprintf(out, "# by design, seed %" PRIu64 ", %s: %s\n", seed,
                    finding_kind_name(list->at[i].kind), list->at[i].text);
}

static void nowhere(void *arg, const struct simjob_record *record)
{
}

/* What the fault costs, as a share of the run. */
static double planted(const struct truth_job *j, uint64_t seed)
{
    struct simjob_truth without;

    if (j->truth.fault == SIMJOB_CLEAN)
        return 0;
    simjob_run(&j->shape, SIMJOB_CLEAN, 0, seed, nowhere, NULL, &without);
    return 1 - without.end_ns / j->truth.end_ns;
}

static struct simjob_shape shape_of(const struct task *task, uint64_t seed)
{
    struct simjob_shape s = task->family->shape(seed);

    if (task->row->often > 0)
        s.real.often = task->row->often;
    switch (task->row->variant) {
    case SHORT:
        s.steps = 1 + (uint32_t) (seed % 5);
        break;
    case SAMPLED:
        s.real.sampled = 4;
        break;
    case ALONE:
        s.real.alone = true;
        break;
    default:
        break;
    }
    return s;
}

/* Returns true if the shape cannot show the fault at all, or if no such input
 * has such a row: a recorder records all operations or none, and says when. */
static bool is_without(const struct task *task, const struct simjob_shape *s)
{
    bool recording = task->input->write == simrec_write;

    return (task->row->fault == SIMJOB_SLOW_STAGE && s->pp < 2) ||
           (task->row->variant == SAMPLED && recording) ||
           (task->row->variant == PAUSED && !recording);
}

static struct pool_answer run_one(const void *arg, uint64_t seed,
                                  const char *dir, FILE *out)
{
    const struct task *task = arg;
    const struct jp_aggregate_options options = {.threads = 1,
                                                 .processes = as_of};
    struct pool_answer one = {.answer = -1, .cost = 0};
    struct truth_job j = {.shape = shape_of(task, seed)};
    struct jp_error err;
    struct jp_result *result;
    struct jp_insight *insight;
    double effect = j.shape.real.on ? task->row->effect : task->row->other;

    if (is_without(task, &j.shape))
        return one;
    simlog_clock = (struct simlog_clock){.verbose = task->input->verbose};
    simrec_pauses = task->row->variant == PAUSED ? PAUSES : 0;
    if (task->input->write(&j.shape, task->row->fault, effect, seed, dir,
                           &j.truth) < 0) {
        perror(dir);
        exit(1);
    }
    if (!j.truth.shown || j.truth.undecidable) {
        task->input->remove(&j.shape, dir);
        return one;
    }
    result = aggregate_run(&dir, 1, &options, &err);
    task->input->remove(&j.shape, dir);
    insight = result ? insight_run(NULL, NULL, result, NULL) : NULL;
    if (!insight) {
        fprintf(stderr, "%s\n", result ? "out of memory" : err.text);
        exit(1);
    }
    j.result = result;
    j.insight = insight;
    one.answer = 0;
    one.cost = planted(&j, seed);
    for (int pass = 0; pass < WAYS; pass++) {
        static const enum way order[WAYS] = {OLD, BOTH, JUDGE};
        enum way way = order[pass];
        struct said said;
        int a;

        if (way == JUDGE)
            truth_by_judge(result, insight);
        a = answer_of(&j, &insight->findings, way, &said);
        one.told[way] = said.cost / share_that_waits(&j);
        if (way == BOTH)
            one.gain = said.gain;
        if (way == JUDGE && !(insight->judge && insight->judge->usable))
            a = SILENT;
        one.answer |= a << (WAY_BITS * (int) way);
        /* what a report would say, too, is printed with that */
        if ((a & WRONG && (way != OLD || verbose)) ||
            (verbose && !is_clean(task->row) && !(a & NAMED) &&
             one.cost >= COSTLY))
            tell(&j, task, seed, way, a, one.cost, out);
        if (way == BOTH && verbose && is_clean(task->row))
            tell_by_design(&j, seed, out);
        if (way == JUDGE && verbose && insight->judge) {
            char line[JUDGE_LINE];

            fprintf(
                out,
                "# judge: seed %" PRIu64 ", planted %.1f %%, told %.1f %%: %s; "
                "%s, clock %.1f s of %.1f s, stalls from %.1f ms, a single one "
                "from %.1f ms\n",
                seed, 100 * one.cost, 100 * one.told[BOTH],
                judge_line(insight->judge, result, &insight->processes, line),
                judge_speaks(insight->judge) ? "speaks" : "is silent",
                insight->judge->clock_us / 1e6, insight->judge->run_us / 1e6,
                insight->judge->stall_again_us / 1e3,
                insight->judge->stall_once_us / 1e3);
        }
    }
    insight_destroy(insight);
    result_destroy(result);
    return one;
}

/* --- the table ------------------------------------------------------------ */

struct run {
    unsigned jobs, workers;
    uint64_t first, exact;
    const char *dir;
};

struct sums {
    unsigned jobs, costly, named[WAYS], wrong[WAYS], cost[WAYS],
        small; /* small: named, by both, under 2 % */
    /* said by both, over planted: cost, gain */
    double *ratio[2];
    size_t n_ratio[2];
    unsigned gain; /* jobs in which the gain is right */
};

/* Returns true if a cost is as near as is claimed. */
static bool is_near(double said, double planted)
{
    return fabs(said - planted) <= fmax(COST_OFF * planted, COST_POINTS);
}

static void add(struct sums *s, const struct pool_answer *one, bool clean)
{
    bool costly = one->cost >= COSTLY;
    const double said[2] = {one->told[BOTH], one->gain};

    s->jobs++;
    s->costly += costly;
    for (int way = 0; way < WAYS; way++) {
        int a = one->answer >> (WAY_BITS * way);
        bool named = clean ? !!(a & SILENT) : costly && a & NAMED;

        s->wrong[way] += !!(a & WRONG);
        s->named[way] += named;
        s->cost[way] += !clean && named && is_near(one->told[way], one->cost);
        if (way != BOTH || clean || !named)
            continue;
        s->gain += is_near(one->gain, one->cost);
        for (int k = 0; k < 2; k++)
            if (isfinite(said[k]))
                s->ratio[k][s->n_ratio[k]++] = said[k] / one->cost;
    }
}

static bool print_row(const struct task *task, const struct sums *s)
{
    bool clean = is_clean(task->row);
    unsigned of = clean ? s->jobs : s->costly;
    bool good = clean ? !s->wrong[BOTH]
                      : s->named[BOTH] >= (1 - MISSED_MOST) * of;

    printf("%-8s %-19s %-9s %5u %5u", task->family->name, task->row->name,
           task->input->name, s->jobs, of);
    for (int way = 0; way < WAYS; way++)
        if (clean)
            printf("  %5u %5u     -", s->named[way], s->wrong[way]);
        else
            printf("  %5u %5u %5u", s->named[way], s->wrong[way], s->cost[way]);
    for (int k = 0; k < 2; k++)
        if (s->n_ratio[k])
            printf("  %s %.2f", k ? "gain" : "cost",
                   stats_median(s->ratio[k], s->n_ratio[k]));
    if (s->n_ratio[1])
        printf(" (%u of %zu)", s->gain, s->n_ratio[1]);
    puts("");
    fflush(stdout);
    return good && !s->wrong[BOTH];
}

/* Returns false if the row is not good enough for -t. */
static bool run_row(const struct task *task, const struct run *how,
                    size_t number)
{
    unsigned jobs = how->jobs *
                    (is_clean(task->row) && !how->exact ? CLEAN_TIMES : 1);
    uint64_t seed = how->exact ? how->exact : how->first + number * SEED_ROW;
    struct sums sums = {.ratio = {calloc(jobs + 1, sizeof(double)),
                                  calloc(jobs + 1, sizeof(double))}};
    struct pool *pool = pool_start(jobs < how->workers ? jobs : how->workers,
                                   seed, how->dir, run_one, task);
    bool good;

    if (!sums.ratio[0] || !sums.ratio[1])
        abort();
    /* a family may have no job that shows the fault, as one without stages */
    for (unsigned drawn = 0; sums.jobs < jobs && drawn < DRAWN * jobs;
         drawn++) {
        struct pool_answer one = pool_next(pool);

        if (one.answer >= 0)
            add(&sums, &one, is_clean(task->row));
    }
    pool_end(pool);
    good = !sums.jobs || print_row(task, &sums);
    free(sums.ratio[0]);
    free(sums.ratio[1]);
    return good;
}

static bool begins(const char *text, const char *with)
{
    return !with || !strncmp(text, with, strlen(with));
}

/* The row of that name; else all rows whose names begin so. */
static bool is_wanted(const struct row *row, const char *name)
{
    for (size_t i = 0; name && i < N(rows); i++)
        if (!strcmp(rows[i].name, name))
            return row == &rows[i];
    return begins(row->name, name);
}

static bool run_rows(const struct run *how, const struct sim_family *family,
                     const char *row, const char *input)
{
    bool good = true;

    printf("%-8s %-19s %-9s %5s %5s  %-17s  %-17s  %-17s\n", "", "", "", "",
           ">=2%", "old", "judge", "both");
    printf("%-8s %-19s %-9s %5s %5s", "family", "row", "input", "jobs", "of");
    for (int way = 0; way < WAYS; way++)
        printf("  named wrong  cost");
    puts("");
    for (size_t i = 0; i < N(rows); i++)
        for (size_t k = SIM_INPUTS; k-- > 0;) {
            const struct task task = {&rows[i], &sim_inputs[k], family};
            bool has = family->shape == simjob_real_shape ? rows[i].effect > 0
                                                          : rows[i].other > 0;

            if (has && is_wanted(&rows[i], row) &&
                begins(sim_inputs[k].name, input))
                good &= run_row(&task, how, i);
        }
    return good;
}

static uint64_t seed_of(const char *text)
{
    uint64_t seed;

    if (!strcmp(text, "shape"))
        return SEED_SHAPE;
    if (!strcmp(text, "ci"))
        return SEED_CI;
    if (strcmp(text, "fresh"))
        return strtoull(text, NULL, 10);
    if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed)) {
        perror("getrandom");
        exit(1);
    }
    return seed >> 24 << 4; /* never one of the other kinds */
}

int main(int argc, char **argv)
{
    struct run how = {.jobs = 20, .workers = pool_processors()};
    const struct sim_family *family = sim_family_find("real");
    const char *row = NULL, *input = NULL, *seed = "fresh";
    char dir[] = "/dev/shm/jobprof-versus.XXXXXX";
    char other[] = "/tmp/jobprof-versus.XXXXXX";
    bool good;
    int c;

    while ((c = getopt(argc, argv, "j:f:i:l:r:s:x:tv")) != -1) {
        switch (c) {
        case 'j':
            how.workers = (unsigned) strtoul(optarg, NULL, 10);
            break;
        case 'f':
            family = sim_family_find(optarg);
            if (!family) {
                fprintf(stderr, "no such family: %s\n", optarg);
                return 2;
            }
            break;
        case 'i':
            input = optarg;
            break;
        case 'l':
            as_of = TIMELINE_EVENTS / (uint32_t) strtoul(optarg, NULL, 10);
            break;
        case 'r':
            row = optarg;
            break;
        case 's':
            seed = optarg;
            break;
        case 'x':
            how.exact = strtoull(optarg, NULL, 10);
            break;
        case 't':
            testing = true;
            break;
        case 'v':
            verbose = true;
            break;
        default:
            return 2;
        }
    }
    if (optind < argc)
        how.jobs = (unsigned) strtoul(argv[optind], NULL, 10);
    if (how.exact)
        how.jobs = how.workers = 1;
    how.first = seed_of(seed);
    /* the next job needs what this one gives back */
    mallopt(M_MMAP_THRESHOLD, 1 << 25);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    how.dir = mkdtemp(dir) ? dir : mkdtemp(other);
    if (!how.dir) {
        perror(other);
        return 1;
    }
    if (how.exact)
        printf("# seed %" PRIu64 "\n", how.exact);
    else
        printf("# seeds from %" PRIu64 " on (%s), each row from 100,000 more\n",
               how.first, seed);
    good = run_rows(&how, family, row, input);
    rmdir(how.dir);
    return testing && !good ? 1 : 0;
}
