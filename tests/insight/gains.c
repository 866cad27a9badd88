/* gains.c - how well a replay predicts what mending a cause gains.
 *
 * usage: gains [-o | -t | -f] [SEEDS [FIRST [FAULT]]]
 * FIRST "=N" is the seed N itself, which the line of a failure prints.
 *
 * Runs SEEDS jobs of each fault twice, with it and without, with the same seeds
 * (-o, -t, -f: other families of shapes), and compares the gain that the replay
 * of the first predicts with what the second took. A row has: jobs; those
 * within 2 percentage points; the mean and the largest gain; the worst error;
 * the worst miss of the run's length by the replay with nothing changed; the
 * CPU time of the replays as a share of the aggregation's; then, from end to
 * end, how many jobs have a finding that names the cause with its gain, and how
 * many of these are within 2 points (two late ranks are left out: each is a
 * finding of its own).
 *
 * The first job of a row is also read by partials of its nodes: the findings
 * must be the same to the byte (with -o, -t and -f only if a row has several
 * jobs). Exit status 1 if a row is under its floor.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/partial.h"
#include "orchestrator/insight/insight.h"
#include "orchestrator/replay/replay.h"
#include "tests/aggregate/jpr_maker.h"
#include "tests/insight/simlog.h"
#include "tests/insight/simrec.h"

#define NEAR 0.02  /* share of the run that a predicted gain may be off */
#define EXACT 0.01 /* share of the run that the replay's length may be off */

static const struct row {
    enum simjob_fault fault;
    double effect;
    double floor;
} rows[] = {{SIMJOB_LATE_RANK, 0.30, 0.95},    {SIMJOB_LATE_RANK, 0.12, 0.95},
            {SIMJOB_LATE_RANK, 0.05, 0.95},    {SIMJOB_LATE_LAYERS, 0.60, 0.95},
            {SIMJOB_LATE_NODE, 0.30, 0.95},    {SIMJOB_LATE_NODE, 0.10, 0.95},
            {SIMJOB_TWO_LATE, 0.30, 0.95},     {SIMJOB_SLOW_LINK, 1.00, 0.95},
            {SIMJOB_SLOW_LINK, 0.30, 0.95},    {SIMJOB_DRIFT, 0.60, 0.95},
            {SIMJOB_SLOW_SENDS, 2.00, 0.95},   {SIMJOB_SLOW_PAIR, 2.00, 0.95},
            {SIMJOB_SLOW_EXPERTS, 1.00, 0.95}, {SIMJOB_STALLS, 20, 0.95},
            {SIMJOB_CHECKPOINT, 250, 0.95},    {SIMJOB_ONSET, 0.30, 0.95},
            {SIMJOB_COMES, 0.30, 0.95}};

/* One job, as it is recorded and read again. */
struct job {
    struct simjob_truth truth;
    struct jp_result *result;
    struct jp_processes processes;
    struct replay_state state;
    struct replay *replay;
    double aggregate_s, replay_s; /* CPU time */
};

static struct simjob_shape (*shape_of)(uint64_t seed) = simjob_random_shape;
static bool partials_too;

static void fail(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(1);
}

static double cpu_s(void)
{
    return (double) clock() / CLOCKS_PER_SEC;
}

static void job_run(struct job *j, const struct simjob_shape *shape,
                    enum simjob_fault fault, double effect, uint64_t seed,
                    const char *dir)
{
    const struct jp_aggregate_options options = {.threads = 1};
    struct jp_error err;
    double start;

    *j = (struct job){0};
    if (simrec_write(shape, fault, effect, seed, dir, &j->truth) < 0)
        fail(strerror(errno));
    start = cpu_s();
    j->result = aggregate_run(&dir, 1, &options, &err);
    j->aggregate_s = cpu_s() - start;
    simrec_remove(shape, dir);
    if (!j->result)
        fail(err.text);
    if (processes_init_nodes(&j->processes, j->result, NULL) < 0)
        fail("out of memory");
    start = cpu_s();
    j->replay = replay_create(j->result, &j->processes, &j->state);
    if (!j->replay)
        fail("out of memory");
    j->replay_s = cpu_s() - start;
}

static void job_fini(struct job *j)
{
    replay_destroy(j->replay);
    processes_fini(&j->processes);
    result_destroy(j->result);
}

static size_t add_rank(const struct job *j, const struct simjob_shape *s,
                       uint32_t rank, size_t *list, size_t n)
{
    const struct jp_process *p;
    char host[16];

    simlog_host(rank / s->per_node, host);
    p = processes_find(&j->processes, host, simlog_pid(rank), 0);
    if (!p)
        fail("no such process");
    list[n] = (size_t) (p - j->processes.list);
    return n + 1;
}

/* The cause as the simulation knows it; list has room for all processes. */
static struct replay_cause cause_of(const struct job *j,
                                    const struct simjob_shape *s, size_t *list,
                                    char host[16])
{
    const struct simjob_truth *t = &j->truth;
    struct replay_cause cause = {
        .kind = REPLAY_LATE, .processes = list, .comm = -1, .from_us = NAN};

    switch (t->fault) {
    case SIMJOB_TWO_LATE:
        cause.n = add_rank(j, s, t->ranks[1], list, cause.n);
        /* fall through */
    case SIMJOB_LATE_RANK:
    case SIMJOB_LATE_LAYERS:
    case SIMJOB_STALLS:
    case SIMJOB_CHECKPOINT:
    case SIMJOB_ONSET:
    case SIMJOB_COMES:
        cause.n = add_rank(j, s, t->ranks[0], list, cause.n);
        break;
    case SIMJOB_LATE_NODE:
        for (uint32_t r = 0; r < simjob_ranks(s); r++)
            if (r / s->per_node == t->node)
                cause.n = add_rank(j, s, r, list, cause.n);
        break;
    default:
        cause.kind = REPLAY_NET;
        cause.grows = t->fault == SIMJOB_DRIFT;
        if (t->fault == SIMJOB_SLOW_LINK)
            cause.from_us = (double) JPR_MAKER_REAL_NS / 1e3 + t->from_ns / 1e3;
        if (t->fault != SIMJOB_DRIFT)
            simlog_host(t->node, host);
        cause.host = host;
        break;
    }
    return cause;
}

/* Returns true if the shape has what the fault is found by, as in table.c. */
static bool can_show(enum simjob_fault fault, const struct simjob_shape *s)
{
    uint32_t stage = s->tp * (s->dp_before_pp ? s->dp : 1);

    if (fault == SIMJOB_SLOW_EXPERTS)
        return s->experts && s->dp >= 16 && simjob_ranks(s) >= 8 * s->per_node;
    if (fault == SIMJOB_SLOW_SENDS || fault == SIMJOB_SLOW_PAIR)
        return s->pp > 1 && s->tp * s->dp >= 8 && stage * s->pp > s->per_node;
    return true;
}

/* --- end to end ----------------------------------------------------------- */

static bool is_network(const struct simjob_truth *t)
{
    return t->fault == SIMJOB_SLOW_LINK || t->fault == SIMJOB_SLOW_SENDS ||
           t->fault == SIMJOB_SLOW_PAIR || t->fault == SIMJOB_SLOW_EXPERTS;
}

/* Returns true if the finding names the cause, as a user would take it. */
static bool names_cause(const struct jp_finding *f, const struct job *j,
                        const struct simjob_shape *s)
{
    const struct simjob_truth *t = &j->truth;
    char rank_host[16], node[16];

    simlog_host(t->ranks[0] / s->per_node, rank_host);
    simlog_host(t->node, node);
    if (t->fault == SIMJOB_TWO_LATE)
        return false;
    if (t->fault == SIMJOB_LATE_NODE)
        return f->kind == JP_FINDING_LATE_NODE && !strcmp(f->host, node);
    if (t->fault == SIMJOB_DRIFT)
        return f->kind == JP_FINDING_DRIFT;
    if (is_network(t))
        return f->kind == JP_FINDING_SLOW_NETWORK &&
               (t->fault == SIMJOB_SLOW_LINK || strstr(f->text, node));
    return (f->kind == JP_FINDING_LATE_RANK || f->kind == JP_FINDING_STALL) &&
           f->pid == simlog_pid(t->ranks[0]) && !strcmp(f->host, rank_host);
}

/* Returns the gain that the report promises for mending the cause; NAN: none.
 * If several findings are on one cause, the largest. */
static double told_gain(const struct job *j, const struct simjob_shape *s)
{
    struct jp_insight *insight = insight_run(NULL, NULL, j->result, NULL);
    double gain = NAN;

    if (!insight)
        fail("out of memory");
    for (size_t i = 0; i < insight->findings.n; i++) {
        const struct jp_finding *f = &insight->findings.at[i];

        if (names_cause(f, j, s) && f->gain_kind == JP_GAIN_REPLAYED)
            gain = isnan(gain) ? f->gain : fmax(gain, f->gain);
    }
    insight_destroy(insight);
    return gain;
}

/* Returns true if all findings are equal. */
static bool same_findings(const struct jp_findings *a,
                          const struct jp_findings *b)
{
    bool same = a->n == b->n;

    for (size_t i = 0; same && i < a->n; i++)
        same = a->at[i].gain_kind == b->at[i].gain_kind &&
               !memcmp(&a->at[i].gain, &b->at[i].gain, sizeof(double)) &&
               !strcmp(a->at[i].text, b->at[i].text);
    return same;
}

static struct jp_insight *judge(const char *raw, const char *nodes,
                                unsigned threads, uint64_t *partials)
{
    const struct jp_aggregate_options options = {.threads = threads,
                                                 .partials = nodes};
    struct jp_error err = {""};
    struct jp_result *result = aggregate_run(&raw, 1, &options, &err);
    struct jp_insight *insight = result ? insight_run(NULL, NULL, result, NULL)
                                        : NULL;

    if (!insight)
        fail(err.text);
    *partials = result->quality.partial_nodes;
    /* what is compared borrows nothing of the result */
    result_destroy(result);
    return insight;
}

/* Reads the job once more, a folder for each node, with and without their
 * partials. Returns how many findings have a gain, or -1 if the two readings
 * differ. */
static int compare_partials(const struct simjob_shape *s,
                            enum simjob_fault fault, double effect,
                            uint64_t seed, const char *dir)
{
    const struct jp_aggregate_options options = {.threads = 1};
    uint32_t n = simjob_ranks(s), n_nodes = (n + s->per_node - 1) / s->per_node;
    struct simjob_truth truth;
    struct jp_insight *direct, *merged;
    char *raw = text_format("%s/raw", dir);
    char *nodes = text_format("%s/nodes", dir);
    uint64_t partials;
    int gains = 0;
    bool same;

    if (simrec_write(s, fault, effect, seed, dir, &truth) < 0)
        fail(strerror(errno));
    for (uint32_t i = 0; i < n_nodes; i++) {
        struct jp_error err = {"no partial"};
        char host[16], *logs, *node, *partial;

        simlog_host(i, host);
        logs = text_format("%s/%s", raw, host);
        node = text_format("%s/%s", nodes, host);
        partial = text_format("%s/partial.jpp", node);
        if (fileio_mkdirs(logs, &err) < 0 || fileio_mkdirs(node, &err) < 0)
            fail(err.text);
        for (uint32_t r = i * s->per_node; r < n && r < (i + 1) * s->per_node;
             r++) {
            char *from = text_format("%s/%s-pid%" PRId64 ".jpr", dir, host,
                                     simlog_pid(r));
            char *to = text_format("%s/%" PRId64 ".jpr", logs, simlog_pid(r));

            if (rename(from, to) < 0)
                fail(strerror(errno));
            free(from);
            free(to);
        }
        if (partial_make(logs, partial, &options, &err) != 0)
            fail(err.text);
        free(logs);
        free(node);
        free(partial);
    }
    direct = judge(raw, NULL, 1, &partials);
    merged = judge(raw, nodes, 2, &partials);
    same = partials == n_nodes &&
           same_findings(&direct->findings, &merged->findings);
    for (size_t i = 0; i < merged->findings.n; i++)
        gains += merged->findings.at[i].gain_kind == JP_GAIN_REPLAYED;
    insight_destroy(direct);
    insight_destroy(merged);
    fileio_remove_tree(raw, NULL);
    fileio_remove_tree(nodes, NULL);
    free(raw);
    free(nodes);
    return same ? gains : -1;
}

struct sum {
    unsigned jobs, near, exact, silent, told, right;
    int by_partials; /* findings with a gain of the first; -1: they differ */
    double mean, most, worst, off, aggregate_s, replay_s;
};

/* Runs one job with and without the fault. Returns false if the shape cannot
 * show that fault. */
static bool run(const struct row *row, uint64_t seed, const char *dir,
                struct sum *sum)
{
    struct simjob_shape shape = shape_of(seed);
    struct job with, without;
    struct replay_cause cause;
    size_t *list = calloc(simjob_ranks(&shape) + 1, sizeof(*list));
    char host[16] = "";
    struct replay_gain gains;
    double gain = NAN, truth, off, start, told;
    bool shown;

    if (!list)
        fail("out of memory");
    if (!can_show(row->fault, &shape)) {
        free(list);
        return false;
    }
    job_run(&with, &shape, row->fault, row->effect, seed, dir);
    shown = with.truth.shown;
    if (shown) {
        job_run(&without, &shape, SIMJOB_CLEAN, 0, seed, dir);
        cause = cause_of(&with, &shape, list, host);
        truth = 1 - without.truth.end_ns / with.truth.end_ns;
        off = fabs(with.state.replayed_us / with.state.recorded_us - 1);
        start = cpu_s();
        if (with.state.usable &&
            replay_gains(with.replay, &cause, 1, &gains, &gain) < 0)
            fail("out of memory");
        sum->replay_s += with.replay_s + cpu_s() - start;
        sum->aggregate_s += with.aggregate_s;
        told = told_gain(&with, &shape);
        sum->told += !isnan(told);
        sum->right += fabs(told - truth) <= NEAR;
        if (!sum->jobs && partials_too)
            sum->by_partials =
                compare_partials(&shape, row->fault, row->effect, seed, dir);
        sum->jobs++;
        sum->silent += isnan(gain);
        sum->near += fabs(gain - truth) <= NEAR;
        sum->exact += off <= EXACT;
        sum->mean += truth;
        sum->most = fmax(sum->most, truth);
        sum->off = fmax(sum->off, off);
        sum->worst = fmax(sum->worst, fabs(gain - truth));
        if (!(fabs(gain - truth) <= NEAR) || fabs(told - truth) > NEAR ||
            off > EXACT)
            printf(
                "# %s %g, seed %" PRIu64 ": %.2f %% (told %.2f %%), in "
                "truth %.2f %%; length off by %.3f %%, %" PRIu64 " of %" PRIu64
                " lack ranks (tp %u pp %u dp %u, %u a node, %u layers, "
                "grads %d, noise %d, experts %d, uneven %d %d, sharded %d, "
                "short %d, dp first %d, warmup %u)\n",
                simjob_fault_name(row->fault), row->effect, seed, 100 * gain,
                100 * told, 100 * truth, 100 * off, with.state.lacking,
                with.state.events, shape.tp, shape.pp, shape.dp, shape.per_node,
                shape.layers, shape.grads, shape.noise, shape.experts,
                shape.uneven_sizes, shape.uneven, shape.sharded,
                shape.short_stage, shape.dp_before_pp, shape.warmup);
        job_fini(&without);
    }
    job_fini(&with);
    free(list);
    return shown;
}

static bool run_row(const struct row *row, unsigned jobs, uint64_t first,
                    uint64_t exact, const char *dir)
{
    struct sum sum = {0};
    uint64_t seed = first * 1000003 + (uint64_t) (row - rows) * 1000000007;

    if (exact)
        seed = exact - 1;
    for (unsigned tried = 0; sum.jobs < jobs && tried < 200 * jobs; tried++)
        run(row, ++seed, dir, &sum);
    printf("%-12s %5g %6u %6u %6.2f %% %6u %6.2f %% %6.2f %% %6.2f %% %7.3f "
           "%% %6.1f %% %6u %6u %4d\n",
           simjob_fault_name(row->fault), row->effect, sum.jobs, sum.near,
           100.0 * sum.near / sum.jobs, sum.silent, 100 * sum.mean / sum.jobs,
           100 * sum.most, 100 * sum.worst, 100 * sum.off,
           100 * sum.replay_s / sum.aggregate_s, sum.told, sum.right,
           sum.by_partials);
    fflush(stdout);
    return sum.exact == sum.jobs && sum.by_partials >= 0 &&
           (double) sum.right >= row->floor * (double) sum.told &&
           (double) sum.near >= row->floor * (double) sum.jobs;
}

int main(int argc, char **argv)
{
    char dir[] = "/dev/shm/jobprof-gains.XXXXXX";
    char other[] = "/tmp/jobprof-gains.XXXXXX";
    unsigned jobs = 3;
    uint64_t first = 1, exact = 0;
    const char *only = NULL, *at;
    bool good = true;

    for (; argc > 1 && *argv[1] == '-'; argc--, argv++)
        shape_of = !strcmp(argv[1], "-o")   ? simjob_other_shape
                   : !strcmp(argv[1], "-t") ? simjob_third_shape
                                            : simjob_fourth_shape;
    if (argc > 1)
        jobs = (unsigned) strtoul(argv[1], NULL, 10);
    if (argc > 2 && *argv[2] == '=')
        exact = strtoull(argv[2] + 1, NULL, 10);
    else if (argc > 2)
        first = strtoull(argv[2], NULL, 10);
    if (argc > 3)
        only = argv[3];
    partials_too = jobs > 1 || shape_of == simjob_random_shape;
    at = mkdtemp(dir) ? dir : mkdtemp(other);
    if (!at)
        fail(strerror(errno));
    printf("%-12s %5s %6s %6s %8s %6s %8s %8s %8s %9s %8s %6s %6s %4s\n",
           "fault", "size", "jobs", "near", "near", "silent", "gain", "most",
           "error", "length", "time", "told", "right", "jpp");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (!only || !strcmp(only, simjob_fault_name(rows[i].fault)))
            good &= run_row(&rows[i], jobs, first, exact, at);
    rmdir(at);
    return good ? 0 : 1;
}
