/* test_cuda_count.c - programs that call CUDA through a stand-in of CUPTI, and
 * the contents of their files afterwards. */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fileio.h"
#include "orchestrator/cuda/cuda.h"
#include "tests/common/tempdir.h"

static char *create(void)
{
    void *dir = NULL;

    assert_int_equal(tempdir_make(&dir), 0);
    return dir;
}

static void drop(char *dir)
{
    void *state = dir;

    assert_int_equal(tempdir_drop(&state), 0);
}

#define N(array) (sizeof(array) / sizeof(*(array)))

/* Runs cudacalls with these words, with step/raw/n/cuda as its folder. how:
 * FAKECUPTI; NULL: not set. Returns waitpid's status. */
static int run_in(const char *folder, const char *how, const char *words)
{
    char command[2048];

    snprintf(command, sizeof(command),
             "LD_LIBRARY_PATH=$PWD/contrib/fakegpu/.libs "
             "CUDA_INJECTION64_PATH=$PWD/plugins/cuda/.libs/libjobprof-cuda.so "
             "JOBPROF_CUDA_DIR='%s' FAKECUPTI=%s SLURM_PROCID=3 "
             "FAKEGPU_COUNT=2 "
             "exec contrib/fakegpu/cudacalls %s",
             folder, how ? how : "", words);
    return system(command);
}

static struct jp_cuda *run(const char *how, const char *words, int *status)
{
    char *dir = create(), *raw = text_format("%s/raw", dir);
    char *folder = text_format("%s/raw/n/cuda", dir);
    struct jp_cuda *cuda = NULL;
    struct jp_error err;
    int rc = run_in(folder, how, words);

    if (status)
        *status = rc;
    else
        assert_int_equal(rc, 0);
    assert_int_equal(cuda_load(raw, &cuda, &err), 0);
    free(raw);
    free(folder);
    drop(dir);
    return cuda;
}

enum { MB = 1 << 20 };

/* Words, and the sums that they must give; a counter that comes twice ends
 * them. */
static const struct {
    const char *words, *how;
    struct {
        enum cuda_counter i;
        uint64_t n;
    } want[8];
    uint64_t live, peak;
} rows[] = {
    {"'launch*1000'",
     NULL,
     {{CUDA_LAUNCHES, 1000}, {CUDA_CALLS, 1000}, {CUDA_ERRORS, 0}},
     0,
     0},
    {"'graph*3' 'set*5'", NULL, {{CUDA_GRAPHS, 3}, {CUDA_SETS, 5}}, 0, 0},
    {"'h2d:4096*3' 'd2h:100*2'",
     NULL,
     {{CUDA_H2D, 3},
      {CUDA_H2D_BYTES, 12288},
      {CUDA_D2H, 2},
      {CUDA_D2H_BYTES, 200},
      {CUDA_COPY_NS, 0}},
     0,
     0},
    {"'d2d:8*2' 'peer:16*3' any:7",
     NULL,
     {{CUDA_D2D, 2},
      {CUDA_D2D_BYTES, 16},
      {CUDA_PEER, 3},
      {CUDA_PEER_BYTES, 48},
      {CUDA_OTHER, 1},
      {CUDA_OTHER_BYTES, 7}},
     0,
     0},
    {"plane:4000", NULL, {{CUDA_H2D, 1}, {CUDA_H2D_BYTES, 4000}}, 0, 0},
    {"'batch:10*6'", NULL, {{CUDA_OTHER, 6}, {CUDA_OTHER_BYTES, 60}}, 0, 0},
    {"'alloc:1048576*10' 'free*3' alloc:1048576",
     NULL,
     {{CUDA_ALLOCS, 11},
      {CUDA_ALLOC_BYTES, 11 * MB},
      {CUDA_FREES, 3},
      {CUDA_FREE_BYTES, 3 * MB}},
     8 * MB,
     10 * MB},
    {"pitch:4000 async:1000 create:500 release",
     NULL,
     {{CUDA_ALLOCS, 3},
      {CUDA_ALLOC_BYTES, 5500},
      {CUDA_FREES, 1},
      {CUDA_FREE_BYTES, 500}},
     5000,
     5500},
    /* a free that failed changes nothing */
    {"alloc:1000 bad-free bad-alloc ready",
     NULL,
     {{CUDA_ALLOCS, 1}, {CUDA_FREES, 0}, {CUDA_ERRORS, 2}, {CUDA_CALLS, 4}},
     1000,
     1000},
    /* more allocations than the table of sizes holds: the size of the last ones
     * is unknown when they are freed */
    {"'alloc:1*120000' 'free*120000'",
     NULL,
     {{CUDA_ALLOCS, 120000}, {CUDA_FREES, 120000}, {CUDA_FREE_BYTES, 98304}},
     0,
     98304},
    /* several threads at once */
    {"threads:8 'launch*20000' 'alloc:10*500' 'free*500'",
     NULL,
     {{CUDA_LAUNCHES, 160000}, {CUDA_ALLOCS, 4000}, {CUDA_FREE_BYTES, 40000}},
     0,
     0},
    /* a release of CUPTI without the newest calls */
    {"'new*5' launch", "old", {{CUDA_LAUNCHES, 1}, {CUDA_CALLS, 1}}, 0, 0},
    {"'new*5' launch", NULL, {{CUDA_LAUNCHES, 6}}, 0, 0},
    /* the program has loaded CUPTI itself */
    {"late 'launch*2'", NULL, {{CUDA_LAUNCHES, 2}}, 0, 0},
    /* a child is not counted, and its end writes nothing */
    {"'launch*2' fork 'launch*100'", NULL, {{CUDA_LAUNCHES, 2}}, 0, 0},
};

static void test_sums(void **state)
{
    for (size_t i = 0; i < N(rows); i++) {
        struct jp_cuda *cuda = run(rows[i].how, rows[i].words, NULL);
        const struct jp_cuda_row *total;

        if (!cuda || cuda->n_processes != 1 || cuda->n_bad)
            fail_msg("%s: %zu files", rows[i].words,
                     cuda ? cuda->n_processes : 0);
        total = &cuda->totals[0];
        for (size_t k = 0; k < N(rows[i].want); k++)
            if ((k == 0 || rows[i].want[k].i != CUDA_CALLS ||
                 rows[i].want[k].n) &&
                total->sum[rows[i].want[k].i] != rows[i].want[k].n)
                fail_msg("%s: counter %d is %llu, not %llu", rows[i].words,
                         (int) rows[i].want[k].i,
                         (unsigned long long) total->sum[rows[i].want[k].i],
                         (unsigned long long) rows[i].want[k].n);
        if (total->live_bytes != rows[i].live ||
            (rows[i].peak && total->peak_bytes != rows[i].peak))
            fail_msg("%s: %llu of %llu bytes", rows[i].words,
                     (unsigned long long) total->live_bytes,
                     (unsigned long long) total->peak_bytes);
        assert_int_equal(cuda->processes[0].rank, 3);
        assert_true(*cuda->processes[0].host && cuda->processes[0].pid);
        cuda_destroy(cuda);
    }
}

static void test_times(void **state)
{
    struct jp_cuda *cuda = run(NULL, "'sync:20*2' 'wait-h2d:10*5'", NULL);
    const uint64_t *sum = cuda->totals[0].sum;

    assert_int_equal(sum[CUDA_SYNCS], 2);
    assert_int_equal(sum[CUDA_H2D], 5);
    assert_true(sum[CUDA_SYNC_NS] >= 40000000);
    assert_true(sum[CUDA_COPY_NS] >= 5000000);
    assert_true(cuda->totals[0].length_us >= 45000);
    cuda_destroy(cuda);
}

/* Each second has a row of its own, unless nothing was called in it. */
static void test_seconds(void **state)
{
    struct jp_cuda *cuda =
        run(NULL, "'launch*10' sleep:2600 'launch*7' sleep:1200", NULL);
    uint64_t launches = 0, last_us = 0;

    assert_int_equal(cuda->n_parts, 2);
    for (size_t i = 0; i < cuda->n_parts; i++) {
        launches += cuda->parts[i].sum[CUDA_LAUNCHES];
        assert_true(cuda->parts[i].at_us >= last_us);
        last_us = cuda->parts[i].at_us + cuda->parts[i].length_us;
    }
    assert_int_equal(cuda->parts[0].sum[CUDA_LAUNCHES], 10);
    assert_int_equal(launches, 17);
    cuda_destroy(cuda);
}

/* However the program ends, its calls up to a second before are there. */
static void test_killed(void **state)
{
    int status;
    struct jp_cuda *cuda =
        run(NULL, "'launch*10' sleep:3000 'launch*5' kill", &status);

    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 128 + 9);
    assert_non_null(cuda);
    assert_true(cuda->totals[0].sum[CUDA_LAUNCHES] >= 10);
    cuda_destroy(cuda);
    cuda = run(NULL, "'launch*10' exit:7", &status);
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_int_equal(cuda->totals[0].sum[CUDA_LAUNCHES], 10);
    cuda_destroy(cuda);
}

/* If nothing can be counted, the program runs and the file says why. */
static void test_refused(void **state)
{
    static const struct {
        const char *how, *why;
    } cases[] = {{"taken", "another client uses CUPTI"},
                 {"broken", "error 15"}};
    char text[JP_CUDA_TEXT];

    for (size_t i = 0; i < N(cases); i++) {
        struct jp_cuda *cuda =
            run(cases[i].how, "'launch*9' exit:4", &(int){0});

        assert_non_null(cuda);
        assert_int_equal(cuda->n_uncounted, 1);
        assert_non_null(strstr(cuda->processes[0].why, cases[i].why));
        assert_int_equal(cuda->totals[0].sum[CUDA_LAUNCHES], 0);
        assert_non_null(strstr(cuda_text(cuda, text), cases[i].why));
        cuda_destroy(cuda);
    }
}

/* A folder that cannot be made, or is not set: the program does not notice. */
static void test_no_folder(void **state)
{
    char *dir = create(), *file = tempdir_file(dir, "file", 0600, "");
    char *below = text_format("%s/a/b", file);
    char *deep = text_format("%s/a/b/c/d/e", dir);
    const char *folders[] = {below, deep, "", "relative"};

    for (size_t i = 0; i < N(folders); i++)
        assert_int_equal(
            WEXITSTATUS(run_in(folders[i], NULL, "'launch*9' exit:3")), 3);
    assert_int_equal(access("relative", F_OK), -1);
    free(below);
    free(deep);
    free(file);
    drop(dir);
}

/* Processes are ordered by rank; sums over all of them. */
static void test_many(void **state)
{
    char *dir = create(), *raw = text_format("%s/raw", dir);
    char *folder = text_format("%s/raw/n/cuda", dir);
    char text[JP_CUDA_TEXT];
    struct jp_cuda *cuda;
    struct jp_cuda_row all;
    struct jp_error err;

    assert_int_equal(cuda_load(raw, &cuda, &err), 0);
    assert_null(cuda);
    for (int i = 0; i < 3; i++)
        assert_int_equal(run_in(folder, NULL, "'launch*4' alloc:100"), 0);
    assert_int_equal(cuda_load(raw, &cuda, &err), 0);
    assert_int_equal(cuda->n_processes, 3);
    all = cuda_sum(cuda);
    assert_int_equal(all.sum[CUDA_LAUNCHES], 12);
    assert_int_equal(all.peak_bytes, 100);
    assert_non_null(
        strstr(cuda_text(cuda, text), "3 processes counted: 12 kernel"));
    cuda_destroy(cuda);
    free(raw);
    free(folder);
    drop(dir);
}

/* The clocks of two GPUs: a pair a second, by device, with the stand-in's
 * hour for each device and 100 ppm. */
static void test_clocks(void **state)
{
    struct jp_cuda *cuda = run(NULL,
                               "driver launch sleep:1300 launch sleep:1100 "
                               "launch gpu:1 sleep:1100 launch sleep:1100 "
                               "'launch*9'",
                               NULL);

    assert_int_equal(cuda->n_clocks, 2);
    assert_int_equal(cuda->n_pairs, 5);
    for (size_t i = 0; i < 2; i++) {
        const struct jp_cuda_clock *c = &cuda->clocks[i];
        uint64_t mono_ns = cuda->pairs[i * 3].mono_ns;

        assert_int_equal(CUDA_PAIR_DEVICE(c->gpu), i + 1);
        assert_true(c->gpu & CUDA_PAIR_PCI);
        assert_int_equal(c->n_pairs, i ? 2 : 3);
        assert_true(fabs(c->drift_ppm - 100) < 50);
        assert_true(fabs(c->ahead_us - 3600e6 * (double) (i + 1) -
                         (double) mono_ns / 1e7) < 500);
        assert_true(c->within_us > 0 && c->within_us < 1000);
    }
    assert_int_not_equal(CUDA_PAIR_BUS(cuda->clocks[0].gpu),
                         CUDA_PAIR_BUS(cuda->clocks[1].gpu));
    cuda_destroy(cuda);
    /* a single pair: no drift; without the driver no address */
    cuda = run(NULL, "'launch*100'", NULL);
    assert_int_equal(cuda->n_clocks, 1);
    assert_true(isnan(cuda->clocks[0].drift_ppm));
    assert_false(isnan(cuda->clocks[0].ahead_us));
    assert_int_equal(cuda->clocks[0].gpu, 1);
    cuda_destroy(cuda);
    /* a GPU whose clock cannot be read: calls are counted as ever */
    cuda = run("noclock", "'launch*100' sleep:1200 launch", NULL);
    assert_int_equal(cuda->n_clocks, 0);
    assert_int_equal(cuda->totals[0].sum[CUDA_LAUNCHES], 101);
    cuda_destroy(cuda);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),    cmocka_unit_test(test_times),
        cmocka_unit_test(test_seconds), cmocka_unit_test(test_killed),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_no_folder),
        cmocka_unit_test(test_many),    cmocka_unit_test(test_clocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
