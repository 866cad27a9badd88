/* test_pace.c - the length of an iteration, and what limits a job. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/util/cause.h"

static uint64_t random_state = 1;

static double uniform(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return ((double) (random_state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* --- steps by operations -------------------------------------------------- */

enum { ROOM = 40000 };

struct program {
    const char *name;
    const char *step; /* a letter an operation, 1 ms each */
    unsigned steps;
    double pause_us;   /* after each step */
    const char *extra; /* before every tenth step */
    double slower;     /* the last step's pause, a share more than the first */
    double period_us;  /* expected; 0: none */
};

static const struct program programs[] = {
    {"buckets of one size and a last one", "AAAAAAAB", 50, 2000, "", 0, 10000},
    {"all alike, with a pause", "AAAAAAAA", 60, 9000, "", 0, 17000},
    {"all alike, without", "A", 400, 0, "", 0, 1000},
    {"micro-batches", "TTTTTTTTTTTTTTTTGHI", 30, 5000, "", 0, 24000},
    {"many micro-batches",
     "TUTUTUTUTUTUTUTUTUTUTUTUTUTUTUTUTUTUTUTUTUTUTUTUTUTUTUTUTUTUTUTUG", 20,
     5000, "", 0, 70000},
    {"a log now and then", "ABCDE", 100, 3000, "L", 0, 8000},
    {"a checkpoint now and then", "ABCDE", 100, 3000, "KKLM", 0, 8000},
    {"it becomes slower", "ABCDE", 100, 3000, "", 1, 9500},
    {"three steps", "ABCD", 3, 1000, "", 0, 0},
    {"four steps and one", "ABCDEF", 5, 1000, "", 0, 7000},
    {"nothing", "", 10, 1000, "", 0, 0},
};

static size_t run(const struct program *p, struct iteration_op *ops)
{
    double now = 1e15;
    size_t n = 0;

    for (unsigned i = 0; i < p->steps; i++) {
        for (const char *c = p->extra; i % 10 == 9 && *c; c++) {
            ops[n++] = (struct iteration_op){(uint64_t) *c, (uint64_t) now};
            now += 10;
        }
        for (const char *c = p->step; *c; c++) {
            ops[n++] = (struct iteration_op){(uint64_t) *c, (uint64_t) now};
            now += 1000 * (1 + 0.02 * normal());
        }
        now += p->pause_us * (1 + p->slower * i / p->steps);
    }
    /* streams are not written in order */
    for (size_t i = 0; i + 1 < n; i += 3) {
        struct iteration_op op = ops[i];

        ops[i] = ops[i + 1];
        ops[i + 1] = op;
    }
    return n;
}

static void steps_of_operations(void **state)
{
    struct iteration_op *ops = calloc(ROOM, sizeof(*ops));

    (void) state;
    for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
        const struct program *p = &programs[i];
        struct jp_iteration it;
        size_t n = run(p, ops);

        assert_true(n < ROOM);
        assert_int_equal(iteration_of_ops(ops, n, &it), 0);
        if (p->period_us > 0 ? !(fabs(it.period_us / p->period_us - 1) < 0.03)
                             : it.source != JP_ITERATION_UNKNOWN)
            fail_msg("%s: %f us, %zu operations, %zu times", p->name,
                     it.period_us, (size_t) it.ops, (size_t) it.count);
        if (p->slower > 0)
            assert_true(it.drift > 0.15 && it.drift < 0.4);
        else if (it.source && it.count >= 9)
            assert_true(fabs(it.drift) < 0.02);
    }
    free(ops);
}

/* Operations that never repeat have no iteration. */
static void random_operations(void **state)
{
    struct iteration_op *ops = calloc(ROOM, sizeof(*ops));
    struct jp_iteration it;
    unsigned found = 0;

    (void) state;
    for (unsigned k = 0; k < 50; k++) {
        for (size_t i = 0; i < 3000; i++)
            ops[i] =
                (struct iteration_op){(uint64_t) (uniform() * 1e9), 1000 * i};
        assert_int_equal(iteration_of_ops(ops, 3000, &it), 0);
        found += it.source != JP_ITERATION_UNKNOWN;
    }
    assert_int_equal(found, 0);
    free(ops);
}

/* --- steps by samples ----------------------------------------------------- */

enum shape { SINE, SQUARE, NOISE, RAMP, CONSTANT, SAWTOOTH };

static void draw(enum shape shape, double period, double *v, size_t n)
{
    double phase = uniform();

    for (size_t i = 0; i < n; i++) {
        double at = fmod((double) i / period + phase, 1);

        switch (shape) {
        case SINE:
            v[i] = 0.5 + 0.3 * sin(6.283185307179586 * at) + 0.1 * normal();
            break;
        case SQUARE: /* idle for a fifth */
            v[i] = (at < 0.2 ? 0.1 : 0.95) + 0.05 * normal();
            break;
        case SAWTOOTH:
            v[i] = at + 0.1 * normal() + 0.002 * (double) i;
            break;
        case RAMP:
            v[i] = 0.001 * (double) i + 0.01 * normal();
            break;
        case NOISE:
            v[i] = 0.5 + 0.2 * normal();
            break;
        default:
            v[i] = 0.9;
        }
    }
}

static void steps_of_samples(void **state)
{
    static const struct {
        enum shape shape;
        double period;
    } rows[] = {{SINE, 12},     {SINE, 33.3},  {SQUARE, 10},
                {SQUARE, 25.5}, {SQUARE, 7.3}, {SAWTOOTH, 20}};
    double v[600];
    struct jp_iteration it;

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        for (unsigned k = 0; k < 20; k++) {
            draw(rows[i].shape, rows[i].period, v, 600);
            iteration_of_series(v, 600, 1e6, &it);
            if (!(fabs(it.period_us / 1e6 / rows[i].period - 1) < 0.03))
                fail_msg("row %zu: %f, not %f", i, it.period_us / 1e6,
                         rows[i].period);
            assert_true(it.confidence > 0.3 && it.confidence <= 1);
        }
    draw(SINE, 40, v, 120); /* three steps */
    iteration_of_series(v, 120, 1e6, &it);
    assert_int_equal(it.source, JP_ITERATION_UNKNOWN);
    iteration_of_series(v, 3, 1e6, &it);
    assert_int_equal(it.source, JP_ITERATION_UNKNOWN);
}

static void no_steps_in_samples(void **state)
{
    static const enum shape shapes[] = {NOISE, RAMP, CONSTANT};
    static const size_t lengths[] = {20, 40, 100, 400};
    double v[400];
    struct jp_iteration it;
    unsigned found = 0, tried = 0;

    (void) state;
    for (size_t s = 0; s < 3; s++)
        for (size_t l = 0; l < 4; l++)
            for (unsigned k = 0; k < 250; k++) {
                draw(shapes[s], 10, v, lengths[l]);
                iteration_of_series(v, lengths[l], 1e6, &it);
                found += it.source != JP_ITERATION_UNKNOWN;
                tried++;
            }
    print_message("# %u of %u series without a step have one\n", found, tried);
    assert_true(found * 20 <= tried); /* 5 % */
}

/* --- bottlenecks ---------------------------------------------------------- */

struct fact {
    enum jp_util_scope scope;
    unsigned column;
    double mean, imbalance;
};

static const struct job {
    const char *name;
    struct fact facts[6];
    double communication; /* share; 0: none */
    const char *kinds;    /* expected, in order */
} jobs[] = {
    {"GPUs at work", {{JP_UTIL_GPU, GPU_SM, 0.93, 1.02}}, 0, "gpu_bound"},
    {"... that wait for memory",
     {{JP_UTIL_GPU, GPU_SM, 0.93, 1.02},
      {JP_UTIL_GPU, GPU_MEMORY_BUSY, 0.8, 1}},
     0,
     "gpu_bound gpu_memory_bandwidth"},
    {"... and for each other",
     {{JP_UTIL_GPU, GPU_SM, 0.93, 1.02}},
     0.5,
     "gpu_bound communication_bound"},
    {"input",
     {{JP_UTIL_GPU, GPU_SM, 0.3, 1}, {JP_UTIL_TASK, TASK_READ_CALLS, 9e7, 1}},
     0,
     "input_bound"},
    {"reads beside GPUs at work",
     {{JP_UTIL_GPU, GPU_SM, 0.7, 1}, {JP_UTIL_TASK, TASK_READ_CALLS, 9e7, 1}},
     0,
     ""},
    {"processors",
     {{JP_UTIL_GPU, GPU_SM, 0.3, 1},
      {JP_UTIL_STEP, TASK_USER, 7.5, 1},
      {JP_UTIL_STEP, TASK_SYSTEM, 0.2, 1},
      {JP_UTIL_STEP, TASK_CPUS, 8, 1}},
     0,
     "cpu_bound"},
    {"processors without GPUs",
     {{JP_UTIL_STEP, TASK_USER, 7.5, 1},
      {JP_UTIL_STEP, TASK_SYSTEM, 0.2, 1},
      {JP_UTIL_STEP, TASK_CPUS, 8, 1},
      {JP_UTIL_TASK, TASK_USER, 2, 1.6}},
     0,
     "cpu_bound imbalance"},
    {"held back", {{JP_UTIL_STEP, TASK_THROTTLED, 0.2, 1}}, 0, "cpu_bound"},
    {"storage", {{JP_UTIL_STEP, TASK_IO_PRESSURE, 0.4, 1}}, 0, "io_bound"},
    {"memory",
     {{JP_UTIL_STEP, TASK_MEMORY, 98e9, 1},
      {JP_UTIL_STEP, TASK_MEMORY_LIMIT, 100e9, 1}},
     0,
     "memory_pressure"},
    {"paging",
     {{JP_UTIL_STEP, TASK_MAJOR_FAULTS, 900, 1}},
     0,
     "memory_pressure"},
    {"uneven GPUs", {{JP_UTIL_GPU, GPU_SM, 0.6, 1.5}}, 0, "imbalance"},
    {"uneven GPUs that hardly work", {{JP_UTIL_GPU, GPU_SM, 0.1, 4}}, 0, ""},
    {"slowed down",
     {{JP_UTIL_GPU, GPU_SM, 0.6, 1},
      {JP_UTIL_GPU, GPU_THROTTLE_THERMAL, 0.3, 1}},
     0,
     "throttled"},
    {"unused",
     {{JP_UTIL_GPU, GPU_SM, 0.02, 1},
      {JP_UTIL_STEP, TASK_USER, 0.3, 1},
      {JP_UTIL_STEP, TASK_SYSTEM, 0.1, 1},
      {JP_UTIL_STEP, TASK_CPUS, 8, 1}},
     0,
     "under_used"},
    {"unused processors, and no GPUs",
     {{JP_UTIL_STEP, TASK_USER, 0.3, 1},
      {JP_UTIL_STEP, TASK_SYSTEM, 0.1, 1},
      {JP_UTIL_STEP, TASK_CPUS, 8, 1}},
     0,
     "under_used"},
    {"... with NCCL: its GPUs were not sampled",
     {{JP_UTIL_STEP, TASK_USER, 0.3, 1},
      {JP_UTIL_STEP, TASK_SYSTEM, 0.1, 1},
      {JP_UTIL_STEP, TASK_CPUS, 8, 1}},
     0.45,
     "communication_bound"},
    {"communication alone", {{0}}, 0.45, "communication_bound"},
    {"nothing known", {{0}}, 0, ""},
};

static void bounds(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++) {
        const struct job *job = &jobs[i];
        struct jp_util_row rows[6] = {0};
        struct jp_util util = {.rows = rows};
        struct jp_busy busy = {.from_us = 1000,
                               .to_us = 1001000,
                               .busy_us = (uint64_t) (job->communication * 1e6),
                               .timed = 10};
        struct jp_result result = {
            .busy = &busy, .n_busy = 1, .quality = {.files = 1}};
        struct jp_bottlenecks b;
        char said[200] = "";

        for (size_t k = 0; k < 6 && job->facts[k].mean > 0; k++) {
            const struct fact *f = &job->facts[k];

            rows[util.n_rows++] = (struct jp_util_row){
                .scope = f->scope,
                .node = "",
                .column =
                    &util_tables[f->scope == JP_UTIL_GPU ? UTIL_GPU : UTIL_TASK]
                         .columns[f->column],
                .members = 2,
                .samples = 10,
                .mean = f->mean,
                .imbalance = f->imbalance};
        }
        bottlenecks_find(util.n_rows ? &util : NULL, NULL,
                         job->communication > 0 ? &result : NULL, &b);
        for (size_t k = 0; k < b.n; k++) {
            strcat(said, k ? " " : "");
            strcat(said, bottleneck_words[b.at[k].kind]);
            assert_true(b.at[k].kind == JP_BOTTLENECK_UNDER_USED ||
                        b.at[k].value > b.at[k].limit);
            assert_true(*b.at[k].text);
        }
        if (strcmp(said, job->kinds) != 0)
            fail_msg("%s: \"%s\", not \"%s\"", job->name, said, job->kinds);
        assert_int_equal(*b.text != '\0', b.n > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_of_operations),
        cmocka_unit_test(random_operations),
        cmocka_unit_test(steps_of_samples),
        cmocka_unit_test(no_steps_in_samples),
        cmocka_unit_test(bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
