/* calibrate.c - whether an effect that an all-clear rules out would be seen.
 *
 * usage: calibrate [-c] [-v] [-j JOBS] [-s FAMILY INPUT SEED] [SEEDS [FIRST]]
 *
 *   -c  clean jobs alone, all of full length
 *   -v  prints what was said about each job
 *   -j  jobs side by side; the answers do not depend on it
 *   -s  runs that job alone, as a line about a miss prints it
 *
 * Runs SEEDS clean jobs of each family of shapes, by each kind of input. From
 * each it takes the smallest effect that it states ("no rank that costs 1.2 %",
 * "no single stall over 60 ms", "no recurring stall over 5 ms"). Then the same
 * job runs again with 1.3 times that effect, in a rank that the seed picks: a
 * late rank is so much slower that the run becomes longer by that. A row says
 * how often that rank is then named, of the jobs that have room for the effect.
 * Exit status 1 if so few in a row are unlikely where 9 in 10 are named, or if
 * a clean job names a rank.
 *
 * Jobs that state more than `stated_max` are UNJUDGED; they have a column of
 * their own, and what they state is not tested. Every fourth job has a tenth of
 * the steps.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/insight/insight.h"
#include "common/stats.h"
#include "tests/insight/pool.h"
#include "tests/insight/simkinds.h"

#define TIMES 1.3
#define FLOOR 0.9
#define LUCK 0.01 /* a row is below its floor unless that is likelier */

/* What is planted. */
enum effect { LATE, ONCE, STALLS, EFFECTS };
static const char *const effects[EFFECTS] = {"late rank", "single stall",
                                             "recurring stalls"};

/* Bits of a job's answer. */
enum {
    OK = 1,       /* the clean job */
    UNJUDGED = 2, /* it states too much, or cannot judge */
    ACCUSES = 4,  /* it names a rank */
    PLANTED = 8,  /* << effect: it was tried */
    FOUND = 64,   /* << effect */
};

struct task {
    const struct sim_input *input;
    const struct sim_family *family;
};

static bool verbose, clean_only;

static void *need(void *p)
{
    if (!p)
        abort();
    return p;
}

/* One analysed job. */
struct job {
    struct simjob_truth truth;
    struct jp_result *result;
    struct jp_insight *insight;
};

static void job_run(struct job *j, const struct task *task,
                    const struct simjob_shape *shape, enum simjob_fault fault,
                    double effect, uint64_t seed, const char *dir)
{
    const struct jp_aggregate_options options = {.threads = 1};
    struct jp_error err;

    simlog_clock = (struct simlog_clock){.verbose = task->input->verbose};
    if (task->input->write(shape, fault, effect, seed, dir, &j->truth) < 0)
        abort();
    j->result = need(aggregate_run(&dir, 1, &options, &err));
    task->input->remove(shape, dir);
    j->insight = need(insight_run(NULL, NULL, j->result, NULL));
}

static void job_fini(struct job *j)
{
    insight_destroy(j->insight);
    result_destroy(j->result);
}

static bool names(const struct jp_finding *f)
{
    return f->kind == JP_FINDING_LATE_RANK || f->kind == JP_FINDING_LATE_NODE ||
           f->kind == JP_FINDING_STALL || f->kind == JP_FINDING_LONG_WAIT;
}

static bool is_found(const struct job *j, const struct simjob_shape *shape)
{
    uint32_t rank = j->truth.ranks[0];
    char host[16];

    simlog_host(rank / shape->per_node, host);
    for (size_t i = 0; i < j->insight->findings.n; i++) {
        const struct jp_finding *f = &j->insight->findings.at[i];

        if (names(f) && f->pid == simlog_pid(rank) && !strcmp(f->host, host))
            return true;
    }
    return false;
}

/* A clean job may be SLOW by its stages, or by ranks that take turns. */
static bool is_slow(const struct jp_insight *x)
{
    for (size_t i = 0; i < x->findings.n; i++)
        if (finding_verdict(&x->findings.at[i]) != JP_VERDICT_OK)
            return true;
    return false;
}

static void nowhere(void *arg, const struct simjob_record *record)
{
    (void) arg;
    (void) record;
}

/* Returns by how much longer a run with a late rank is, as a share of it. */
static double cost_of(const struct simjob_shape *shape, double size,
                      uint64_t seed, double end_ns)
{
    struct simjob_truth late;

    simjob_run(shape, SIMJOB_LATE_RANK, size, seed, nowhere, NULL, &late);
    return 1 - end_ns / late.end_ns;
}

/* Returns the fault's size, in simjob's unit, that has an effect: what the run
 * becomes longer by, as a share of it, or us of one stall. NAN: no rank that is
 * SIZE_MOST times as slow costs that. end_ns: of the run without it. */
#define SIZE_MOST 16
static double size_of(enum effect what, double effect,
                      const struct simjob_shape *shape, uint64_t seed,
                      double end_ns)
{
    double low = 0, high = 1.0 / 16;

    if (what != LATE)
        return effect / 1e3;
    while (cost_of(shape, high, seed, end_ns) < effect) {
        low = high;
        high *= 2;
        if (high > SIZE_MOST)
            return NAN;
    }
    for (int i = 0; i < 6; i++) {
        double mid = (low + high) / 2;

        if (cost_of(shape, mid, seed, end_ns) < effect)
            low = mid;
        else
            high = mid;
    }
    return high;
}

static const enum simjob_fault faults[EFFECTS] = {SIMJOB_LATE_RANK, SIMJOB_ONCE,
                                                  SIMJOB_STALLS};

/* Plants 1.3 times what the clean job states. Returns bits. */
static int plant(const struct task *task, const struct simjob_shape *shape,
                 enum effect what, double stated, double end_ns, uint64_t seed,
                 const char *dir, FILE *out)
{
    double size = size_of(what, TIMES * stated, shape, seed, end_ns);
    struct job j;
    double cost;
    int bits;

    if (isnan(size))
        return 0;
    job_run(&j, task, shape, faults[what], size, seed, dir);
    cost = 1 - end_ns / j.truth.end_ns;
    bits = j.truth.shown ? PLANTED << what : 0;
    if (bits && is_found(&j, shape))
        bits |= FOUND << what;
    if (bits && (verbose || !(bits & FOUND << what)))
        fprintf(out,
                "# %s, %s, seed %" PRIu64
                ": %s of %g %s (stated %g, costs %.2f %%); tp %u pp "
                "%u dp %u layers %u steps %u grads %d sharded %d experts %d "
                "uneven %d noise %d warmup %u; %s\n",
                task->family->name, task->input->name, seed, effects[what],
                size, bits & FOUND << what ? "found" : "missed", stated,
                100 * cost, shape->tp, shape->pp, shape->dp, shape->layers,
                shape->steps, shape->grads, shape->sharded, shape->experts,
                shape->uneven, shape->noise, shape->warmup,
                j.insight->findings.n ? j.insight->findings.at[0].text : "-");
    job_fini(&j);
    return bits;
}

static struct pool_answer run_one(const void *arg, uint64_t seed,
                                  const char *dir, FILE *out)
{
    const struct task *task = arg;
    struct simjob_shape shape = task->family->shape(seed);
    char rough[JP_INSIGHT_ROUGH] = "";
    const char *todo;
    const struct jp_hypotheses *h;
    double stated[EFFECTS], end_ns;
    struct job j;
    int bits = 0;

    if (seed % 4 == 0 && !clean_only)
        shape.steps = shape.steps / 10 > shape.warmup + 4 ? shape.steps / 10
                                                          : shape.warmup + 4;
    job_run(&j, task, &shape, SIMJOB_CLEAN, 0, seed, dir);
    h = &j.insight->hypotheses;
    for (size_t i = 0; i < j.insight->findings.n; i++)
        if (names(&j.insight->findings.at[i])) {
            bits |= ACCUSES;
            fprintf(out, "# %s, %s, seed %" PRIu64 ": clean, and named: %s\n",
                    task->family->name, task->input->name, seed,
                    j.insight->findings.at[i].text);
        }
    bits |= !hypothesis_judged(h, JP_HYPOTHESIS_LATE_RANK) ||
                    *insight_rough(j.insight, rough, &todo) ||
                    is_slow(j.insight)
                ? UNJUDGED
                : OK;
    if (bits & UNJUDGED && verbose)
        fprintf(out, "# %s, %s, seed %" PRIu64 ": unjudged: %s%s%s\n",
                task->family->name, task->input->name, seed,
                hypothesis_why(h, JP_HYPOTHESIS_LATE_RANK), rough,
                j.insight->findings.n ? j.insight->findings.at[0].text : "");
    stated[LATE] = h->of[JP_HYPOTHESIS_LATE_RANK].least;
    stated[ONCE] = j.insight->stalls.once_us;
    stated[STALLS] = h->of[JP_HYPOTHESIS_STALL].least;
    end_ns = j.truth.end_ns;
    job_fini(&j);
    for (int k = 0; bits & OK && !clean_only && k < EFFECTS; k++)
        if (stated[k] > 0)
            bits |= plant(task, &shape, k, stated[k], end_ns, seed, dir, out);
    return (struct pool_answer){.answer = bits, .cost = NAN};
}

/* Counts of one kind of input. */
struct counts {
    unsigned jobs, ok, accuses, planted[EFFECTS], found[EFFECTS];
};

static void count(struct counts *n, int bits)
{
    n->jobs++;
    n->ok += !!(bits & OK);
    n->accuses += !!(bits & ACCUSES);
    for (int k = 0; k < EFFECTS; k++) {
        n->planted[k] += !!(bits & PLANTED << k);
        n->found[k] += !!(bits & FOUND << k);
    }
}

/* Prints the rows of one kind of input. False: one is below its floor. */
static bool tell(const struct sim_input *input, const struct counts *n)
{
    bool good = !n->accuses;

    printf("%-10s %-18s %6u of %6u (UNJUDGED %u, ranks named in %u)\n",
           input->name, "clean is OK", n->ok, n->jobs, n->jobs - n->ok,
           n->accuses);
    for (int k = 0; k < EFFECTS; k++) {
        double share = n->planted[k] ? (double) n->found[k] / n->planted[k] : 1;

        printf("%-10s %-18s %6u of %6u %5.1f %%\n", input->name, effects[k],
               n->found[k], n->planted[k], 100 * share);
        good &= stats_binomial_tail(n->planted[k] - n->found[k], n->planted[k],
                                    1 - FLOOR) > LUCK;
    }
    fflush(stdout);
    return good;
}

#define N(array) (sizeof(array) / sizeof(*(array)))

int main(int argc, char **argv)
{
    unsigned seeds = 4, workers = pool_processors();
    char dir[] = "/dev/shm/jobprof-calibrate.XXXXXX";
    char other[] = "/tmp/jobprof-calibrate.XXXXXX";
    const char *at, *only_family = NULL, *only_input = NULL;
    uint64_t first = 1, exact = 0;
    bool good = true;

    for (; argc > 1 && *argv[1] == '-'; argc--, argv++)
        if (!strcmp(argv[1], "-v")) {
            verbose = true;
        } else if (!strcmp(argv[1], "-c")) {
            clean_only = true;
        } else if (!strcmp(argv[1], "-j") && argc > 2) {
            workers = (unsigned) strtoul(argv[2], NULL, 10);
            argc--, argv++;
        } else if (!strcmp(argv[1], "-s") && argc > 4) {
            only_family = argv[2];
            only_input = argv[3];
            exact = strtoull(argv[4], NULL, 10);
            seeds = workers = 1;
            argc -= 3, argv += 3;
        }
    if (argc > 1)
        seeds = (unsigned) strtoul(argv[1], NULL, 10);
    if (argc > 2)
        first = strtoull(argv[2], NULL, 10);
    at = mkdtemp(dir) ? dir : mkdtemp(other);
    if (!at) {
        perror(other);
        return 1;
    }
    for (size_t i = 0; i < SIM_INPUTS; i++) {
        struct counts n = {0};

        if (only_input && strcmp(only_input, sim_inputs[i].name) != 0)
            continue;
        for (size_t f = 0; f < SIM_CALIBRATED; f++) {
            const struct task task = {&sim_inputs[i], &sim_families[f]};
            uint64_t seed = exact ? exact
                                  : first * 1000003 + i * 100000007 +
                                        f * 1000000007 + 1;
            struct pool *pool;

            if (only_family && strcmp(only_family, sim_families[f].name) != 0)
                continue;
            pool = pool_start(seeds < workers ? seeds : workers, seed, at,
                              run_one, &task);
            for (unsigned k = 0; k < seeds; k++)
                count(&n, pool_next(pool).answer);
            pool_end(pool);
        }
        good &= tell(&sim_inputs[i], &n);
    }
    rmdir(at);
    return good ? 0 : 1;
}
