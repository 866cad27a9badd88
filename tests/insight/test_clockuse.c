/* test_clockuse.c - a node's clock is shifted and drifts: the report is the
 * same as for the same job with one clock. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "orchestrator/aggregate/clocks.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/aggregate/partial.h"
#include "orchestrator/insight/insight.h"
#include "orchestrator/insight/verdict.h"
#include "plugins/reader.h"
#include "tests/common/tempdir.h"
#include "tests/insight/simlog.h"
#include "tests/insight/simrec.h"

/* Four nodes of two ranks each. */
static const struct simjob_shape shape = {
    .tp = 2,
    .pp = 1,
    .dp = 4,
    .per_node = 2,
    .layers = 2,
    .microbatches = 1,
    .steps = 200,
    .tp_ops = 1,
    .world = true,
    .buckets = 2,
    .tp_bytes = 1 << 20,
    .dp_bytes = 16 << 20,
};
enum { SHIFTED = 2 };
#define AHEAD_NS 250e6
#define DRIFT 12.5e-6

struct job {
    struct simjob_truth truth;
    struct jp_result *result;
    struct jp_insight *insight;
    struct jp_verdict verdict;
};

enum source { LOGS, RECORDINGS };

static void make(struct job *j, enum source source, enum simjob_fault fault,
                 double effect, bool shifted)
{
    char dir[] = "/tmp/clockuse.XXXXXX";
    const char *input = mkdtemp(dir);
    const struct jp_aggregate_options options = {.threads = 2};
    struct jp_error err = {""};

    assert_non_null(input);
    simlog_clock = (struct simlog_clock){
        .verbose = true,
        .node = SHIFTED,
        .ahead_ns = shifted ? AHEAD_NS : 0,
        .drift = shifted ? DRIFT : 0,
    };
    assert_int_equal((source == LOGS ? simlog_write : simrec_write)(
                         &shape, fault, effect, 5, dir, &j->truth),
                     0);
    j->result = aggregate_run(&input, 1, &options, &err);
    assert_string_equal(err.text, "");
    assert_non_null(j->result);
    (source == LOGS ? simlog_remove : simrec_remove)(&shape, dir);
    rmdir(dir);
    j->insight = insight_run(NULL, NULL, j->result, NULL);
    assert_non_null(j->insight);
    verdict_decide(NULL, NULL, j->result, j->insight, true, &j->verdict);
}

static void forget(struct job *j)
{
    insight_destroy(j->insight);
    result_destroy(j->result);
}

/* Returns the largest difference between the operations' times in two results,
 * in us from the job's begin. */
static double compare_ops(const struct job *a, const struct job *b)
{
    struct ops_reader x = {.ops = a->result->ops}, y = {.ops = b->result->ops};
    double worst = 0, middle = 0;

    assert_int_equal(a->result->n_ops, b->result->n_ops);
    assert_true(a->result->n_ops > 500);
    for (size_t i = 0; i < a->result->n_ops; i++) {
        const struct jp_op *p = ops_at(&x, i), *q = ops_at(&y, i);
        const double by[] = {
            (double) p->start_min_us - (double) q->start_min_us,
            (double) p->start_max_us - (double) q->start_max_us,
            (double) p->end_max_us - (double) q->end_max_us,
            (double) p->dump_min_us - (double) q->dump_min_us,
            (double) p->dump_max_us - (double) q->dump_max_us};

        assert_int_equal(p->sn, q->sn);
        assert_true(p->n_start == p->n);
        /* where the reference is the shifted node all moves with it */
        if (i == 0)
            middle = by[0];
        for (size_t k = 0; k < sizeof(by) / sizeof(*by); k++)
            worst = fmax(worst, fabs(by[k] - middle));
    }
    return worst;
}

static uint64_t shortest_us(const struct jp_result *r)
{
    struct ops_reader x = {.ops = r->ops};
    uint64_t least = UINT64_MAX;

    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(&x, i);

        least = op->exec_min_us < least ? op->exec_min_us : least;
    }
    return least;
}

static void same_findings(const struct job *a, const struct job *b)
{
    const struct jp_findings *x = &a->insight->findings;
    const struct jp_findings *y = &b->insight->findings;

    assert_int_equal(a->verdict.word, b->verdict.word);
    assert_int_equal(x->n, y->n);
    for (size_t i = 0; i < x->n; i++) {
        assert_int_equal(x->at[i].kind, y->at[i].kind);
        assert_string_equal(x->at[i].host, y->at[i].host);
        assert_int_equal(x->at[i].pid, y->at[i].pid);
    }
    for (size_t i = 0; i < a->result->n_ranks; i++) {
        assert_int_equal(a->result->ranks[i].last_ops,
                         b->result->ranks[i].last_ops);
        assert_int_equal(a->insight->lateness[i].late,
                         b->insight->lateness[i].late);
    }
}

/* The rank that is late by durations is the one that comes last by starts, and
 * no other. */
static void same_who(const struct job *j)
{
    const struct jp_clocks *c = j->result->clocks;
    const struct clocks_arrival *most = NULL, *late = NULL;

    assert_int_equal(c->n_arrivals, simjob_ranks(&shape));
    for (size_t i = 0; i < c->n_arrivals; i++) {
        if (!most || c->arrivals[i].last > most->last)
            most = &c->arrivals[i];
        if (c->arrivals[i].pid == simlog_pid(j->truth.ranks[0]))
            late = &c->arrivals[i];
    }
    printf("# compared %" PRIu64 ", disagreed %" PRIu64 "; most often last by "
           "starts: pid %" PRId64 ", %" PRIu64 " of %" PRIu64 " (%" PRIu64
           " of them by times, too), %.0f us\n",
           c->compared, c->disagreed, most->pid, most->last, most->operations,
           most->both,
           most->last ? (double) most->late_ns / 1e3 / (double) most->last : 0);
    assert_true(c->compared > 100);
    assert_true(c->disagreed * 50 <= c->compared);
    if (j->truth.fault == SIMJOB_LATE_RANK) {
        /* its mate waits for it, and is therefore late in its own group */
        assert_true(late->last * 20 >= most->last * 19);
        assert_int_equal(late->last, late->both);
    }
}

static void check_clock(const struct job *j, double shortest)
{
    const struct jp_clocks *c = j->result->clocks;
    const struct clockmap_node *node;
    char host[16], text[CLOCKS_TEXT];
    double worst = 0;

    simlog_host(SHIFTED, host);
    node = clockmap_find(&c->map, host, strlen(host));
    assert_int_equal(c->map.method, CLOCKMAP_COLLECTIVES);
    assert_true(c->before.violations > c->before.operations / 2);
    assert_int_equal(c->after.violations, 0);
    for (size_t i = 0; i < node->n_points; i++) {
        /* when the job began, by the reference's clock: 0 for logs */
        double at = (double) (node->points[i].t_ns - node->points[0].t_ns);
        double truth = AHEAD_NS + DRIFT * at;

        worst = fmax(worst, fabs((double) node->points[i].offset_ns - truth));
    }
    printf("# %s; error %.1f us, shortest %.0f us\n", clocks_text(c, text),
           worst / 1e3, shortest);
    assert_true(worst / 1e3 < shortest / 4);
}

static void end_to_end(enum source source, enum simjob_fault fault,
                       double effect)
{
    struct job one, two;
    double worst, shortest;

    make(&one, source, fault, effect, false);
    make(&two, source, fault, effect, true);
    shortest = (double) shortest_us(one.result);
    check_clock(&two, shortest);
    worst = compare_ops(&one, &two);
    printf("# times of operations differ by at most %.1f us\n", worst);
    assert_true(worst < shortest / 4 + 2);
    same_findings(&one, &two);
    same_who(&one);
    same_who(&two);
    if (fault == SIMJOB_LATE_RANK)
        assert_int_equal(two.verdict.word, JP_VERDICT_SLOW);
    assert_int_equal(one.result->n_windows, two.result->n_windows);
    forget(&one);
    forget(&two);
}

static void logs_late(void **state)
{
    (void) state;
    end_to_end(LOGS, SIMJOB_LATE_RANK, 0.3);
}

static void logs_clean(void **state)
{
    (void) state;
    end_to_end(LOGS, SIMJOB_CLEAN, 0);
}

static void recordings_late(void **state)
{
    (void) state;
    end_to_end(RECORDINGS, SIMJOB_LATE_RANK, 0.3);
}

/* The operations and busy slices of files, and of partials. */
static void same_result(const struct jp_result *files,
                        const struct jp_result *partials)
{
    struct ops_reader x, y;

    assert_non_null(files);
    assert_non_null(partials);
    x = (struct ops_reader){.ops = files->ops};
    y = (struct ops_reader){.ops = partials->ops};
    assert_int_equal(files->quality.partial_nodes, 0);
    assert_int_equal(partials->quality.partial_nodes, shape.dp);
    assert_int_equal(files->clocks->map.method, CLOCKMAP_COLLECTIVES);
    assert_int_equal(files->n_ops, partials->n_ops);
    for (size_t i = 0; i < files->n_ops; i++)
        assert_memory_equal(ops_at(&x, i), ops_at(&y, i), sizeof(struct jp_op));
    assert_int_equal(files->n_busy, partials->n_busy);
    assert_int_equal(files->n_busy_slices, partials->n_busy_slices);
    assert_int_equal(files->busy_from_us, partials->busy_from_us);
    assert_memory_equal(files->busy_slices, partials->busy_slices,
                        files->n_busy * files->n_busy_slices *
                            sizeof(*files->busy_slices));
    for (size_t i = 0; i < files->n_busy; i++) {
        uint64_t sum = 0;

        for (size_t k = 0; k < files->n_busy_slices; k++)
            sum += files->busy[i].slice_us[k];
        assert_int_equal(sum, files->busy[i].busy_us); /* nothing is lost */
    }
}

/* Read from files and from the nodes' partials, which contain no other node:
 * the same times and the same busy slices. */
/* The starts and ends that one reading of a file gives. */
struct told {
    uint64_t n, times;
};

static int tell(void *arg, const struct record *r, size_t n)
{
    struct told *told = arg;

    for (size_t i = 0; i < n; i++) {
        uint64_t h = r[i].sn;

        for (size_t k = 0; k < r[i].func.len; k++)
            h = h * 31 + (uint8_t) r[i].func.text[k];
        for (size_t k = 0; k < r[i].id.len; k++)
            h = h * 31 + (uint8_t) r[i].id.text[k];
        h = (h * 31 + r[i].start_us) * 31 + r[i].end_us;
        told->times += h * UINT64_C(0x9e3779b97f4a7c15) ^ h >> 29;
        told->n++;
    }
    return 0;
}

static int ignore_counts(void *arg, const struct record *base,
                         const struct jpr_counts *counts)
{
    (void) arg;
    (void) base;
    (void) counts;
    return 0;
}

static void read_one(const char *path, bool only_times, struct told *told)
{
    static const atomic_bool never;
    _Atomic uint64_t done = 0;
    struct jp_error err = {""};
    const struct backend *backend = reader_find(path, true, &err);
    struct reader_states *states = reader_states_create();
    const struct reader_input in = {.path = path,
                                    .to = UINT64_MAX,
                                    .stop = &never,
                                    .done = &done,
                                    .only_times = only_times};
    const struct reader_sink sink = {
        .take = tell, .counts = ignore_counts, .arg = told};
    struct source_facts facts = {0};

    assert_non_null(backend);
    assert_non_null(states);
    assert_int_equal(reader_read(states, backend, &in, &sink, &facts), 0);
    reader_states_destroy(states);
    reader_facts_fini(&facts);
}

/* A reader that reads times only gives the same ones. */
static void times_alone(void **state)
{
    char dir[] = "/tmp/clockuse.XXXXXX";
    struct simjob_truth truth;
    struct told all = {0}, alone = {0};

    (void) state;
    assert_non_null(mkdtemp(dir));
    simlog_clock = (struct simlog_clock){.verbose = true};
    assert_int_equal(
        simrec_write(&shape, SIMJOB_LATE_RANK, 0.3, 5, dir, &truth), 0);
    for (uint32_t rank = 0; rank < 8; rank++) {
        char path[128], host[16];

        simlog_host(rank / shape.per_node, host);
        snprintf(path, sizeof(path), "%s/%s-pid%" PRId64 ".jpr", dir, host,
                 simlog_pid(rank));
        read_one(path, false, &all);
        read_one(path, true, &alone);
    }
    simrec_remove(&shape, dir);
    rmdir(dir);
    assert_true(all.n > 5000);
    assert_true(all.n == alone.n && all.times == alone.times);
}

static void partials_alike(void **state)
{
    const char *dir = *state;
    char raw[256], path[512], to[512];
    struct jp_aggregate_options options = {.threads = 2};
    const char *input = raw;
    struct jp_result *files, *partials;
    struct simjob_truth truth;

    simlog_clock = (struct simlog_clock){
        .verbose = true, .node = 2, .ahead_ns = AHEAD_NS, .drift = DRIFT};
    snprintf(raw, sizeof(raw), "%s/raw", dir);
    assert_int_equal(mkdir(raw, 0700), 0);
    assert_int_equal(
        simlog_write(&shape, SIMJOB_LATE_RANK, 0.3, 6, raw, &truth), 0);
    for (uint32_t r = 0; r < simjob_ranks(&shape); r++) {
        char host[16];

        simlog_host(r / shape.per_node, host);
        snprintf(to, sizeof(to), "%s/%s", raw, host);
        mkdir(to, 0700);
        snprintf(path, sizeof(path), "%s/%s", dir, host);
        mkdir(path, 0700);
        snprintf(path, sizeof(path), "%s/%s-pid%" PRId64 ".log", raw, host,
                 simlog_pid(r));
        snprintf(to, sizeof(to), "%s/%s/%" PRId64 ".log", raw, host,
                 simlog_pid(r));
        assert_int_equal(rename(path, to), 0);
    }
    files = aggregate_run(&input, 1, &options, NULL);
    for (uint32_t k = 0; k < shape.dp; k++) {
        char host[16];

        simlog_host(k, host);
        snprintf(path, sizeof(path), "%s/%s", raw, host);
        snprintf(to, sizeof(to), "%s/%s/partial.jpp", dir, host);
        assert_int_equal(partial_make(path, to, &options, NULL), 0);
    }
    options.partials = dir;
    partials = aggregate_run(&input, 1, &options, NULL);
    same_result(files, partials);
    result_destroy(files);
    result_destroy(partials);
}

/* A random job with one shifted clock: finds, by starts and by durations, the
 * process that was last in the largest share of its operations. */
static void name_late(uint64_t seed, double effect, int64_t *by_start,
                      int64_t *by_time, struct simjob_truth *truth)
{
    struct simjob_shape random = simjob_random_shape(seed);
    char dir[] = "/tmp/clockuse.XXXXXX";
    const char *input = mkdtemp(dir);
    const struct jp_aggregate_options options = {.threads = 2};
    struct jp_result *result;
    double start = 0, time = 0;

    assert_non_null(input);
    random.steps = 100;
    simlog_clock = (struct simlog_clock){
        .verbose = true, .node = SHIFTED, .ahead_ns = AHEAD_NS, .drift = DRIFT};
    assert_int_equal(
        simlog_write(&random, SIMJOB_LATE_RANK, effect, seed, dir, truth), 0);
    *by_start = *by_time = -1;
    if (truth->shown) {
        result = aggregate_run(&input, 1, &options, NULL);
        assert_non_null(result);
        for (size_t i = 0; result->clocks && i < result->clocks->n_arrivals;
             i++) {
            const struct clocks_arrival *a = &result->clocks->arrivals[i];
            double s = (double) a->last / (double) a->operations,
                   t = (double) a->quick / (double) a->operations;

            if (s > start) {
                start = s;
                *by_start = a->pid;
            }
            if (t > time) {
                time = t;
                *by_time = a->pid;
            }
        }
        result_destroy(result);
    }
    simlog_remove(&random, dir);
    rmdir(dir);
}

/* A rank that waits for the late one within its node is late to others together
 * with it. */
static bool is_late_node(uint64_t seed, const struct simjob_truth *truth,
                         int64_t pid)
{
    uint32_t per_node = simjob_random_shape(seed).per_node;

    return (uint32_t) (pid - simlog_pid(0)) / per_node ==
           truth->ranks[0] / per_node;
}

/* Jobs of the held-out table: starts and durations name the same rank, which is
 * the late one or one of its node. ALIKE=N: N seeds from 31 on. */
static void named_alike(void **state)
{
    static const double effects[] = {0.3, 0.1, 0.05};
    const char *more = getenv("ALIKE");
    uint64_t seeds = more ? strtoull(more, NULL, 10) : 2;

    (void) state;
    for (size_t k = 0; k < 3; k++) {
        unsigned shown = 0, start = 0, time = 0, alike = 0;

        for (uint64_t seed = 31; seed < 31 + seeds; seed++) {
            struct simjob_truth truth;
            int64_t by_start, by_time;

            name_late(seed, effects[k], &by_start, &by_time, &truth);
            if (!truth.shown || by_time < 0)
                continue;
            shown++;
            start += is_late_node(seed, &truth, by_start);
            time += is_late_node(seed, &truth, by_time);
            alike += by_start == by_time;
        }
        printf(
            "# late by %.0f %%: %u jobs; its node named by starts %u, by times "
            "%u; the same rank %u\n",
            effects[k] * 100, shown, start, time, alike);
        assert_true(start * 10 >= shown * 5);
        assert_true(alike * 10 >= shown * (k ? 5 : 9));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logs_late),
        cmocka_unit_test(logs_clean),
        cmocka_unit_test(recordings_late),
        cmocka_unit_test(times_alone),
        cmocka_unit_test(named_alike),
        cmocka_unit_test_setup_teardown(partials_alike, tempdir_make,
                                        tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
