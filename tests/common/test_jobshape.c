/* test_jobshape.c - job and node facts from variables and fixture roots. */
#include "common/jobshape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/common/tempdir.h"

#define N(array) (sizeof(array) / sizeof(*(array)))
#define MIB (1ULL << 20)
#define GIB (1ULL << 30)

#define STEP "SLURM_STEP_TASKS_PER_NODE"
#define JOB "SLURM_TASKS_PER_NODE"
#define ASKED "SLURM_NTASKS_PER_NODE"
#define NODE_MEM "SLURM_MEM_PER_NODE"
#define CPU_MEM "SLURM_MEM_PER_CPU"
#define GPU_MEM "SLURM_MEM_PER_GPU"

/* One row's environment: NAME, value, ... */
static const char *const *env;

static const char *row_env(void *arg, const char *name)
{
    (void) arg;
    for (size_t i = 0; env[i]; i += 2)
        if (!strcmp(env[i], name))
            return env[i + 1];
    return NULL;
}

static const struct plan_input input = {.env = row_env};

static void shape_get(const struct jp_plan *plan, const char *root,
                      const char *dir, uint32_t nnodes, uint32_t ntasks,
                      struct jp_jobshape *out)
{
    struct jp_stepsize size = {.nnodes = nnodes, .ntasks = ntasks};

    jobshape_complete(&input, &size);
    jobshape_get(&size, plan, root, dir, out);
}

static void test_ranks(void **state)
{
    static const struct {
        const char *env[8];
        uint32_t nnodes, ntasks, per_node, ranks;
    } rows[] = {
        {{NULL}, 0, 0, 0, 1},
        {{NULL}, 4, 0, 0, 1},
        {{NULL}, 0, 8, 0, 8},
        {{NULL}, 4, 8, 0, 2},
        {{NULL}, 4, 9, 0, 3},
        {{STEP, "2"}, 0, 0, 2, 2},
        {{STEP, "2(x3),1"}, 4, 7, 2, 2},
        {{STEP, "1,8,3(x2)"}, 4, 15, 8, 8},
        {{STEP, "2", JOB, "8"}, 0, 0, 2, 2},
        {{JOB, "8(x2)", ASKED, "4"}, 0, 0, 8, 8},
        {{ASKED, "4"}, 0, 0, 4, 4},
        /* an allocation's list with a smaller step in it */
        {{JOB, "8"}, 1, 2, 2, 2},
        /* malformed: as if it were not set */
        {{STEP, "2(x3"}, 4, 8, 0, 2},
        {{STEP, "2(x0)"}, 4, 8, 0, 2},
        {{STEP, "2(3)"}, 4, 8, 0, 2},
        {{STEP, "0"}, 4, 8, 0, 2},
        {{STEP, "2,"}, 4, 8, 0, 2},
        {{STEP, "-2"}, 4, 8, 0, 2},
        {{STEP, "2;rm"}, 4, 8, 0, 2},
        {{STEP, "99999999999999999999"}, 4, 8, 0, 2},
        {{STEP, "", ASKED, "2"}, 0, 0, 2, 2},
        {{"SLURM_NNODES", "3", "SLURM_NTASKS", "7"}, 0, 0, 0, 3},
    };

    for (size_t i = 0; i < N(rows); i++) {
        struct jp_jobshape shape;

        env = rows[i].env;
        shape_get(NULL, *state, NULL, rows[i].nnodes, rows[i].ntasks, &shape);
        if (shape.ranks_per_node != rows[i].per_node ||
            jobshape_ranks(&shape) != rows[i].ranks)
            fail_msg("row %zu: %u, %u", i, shape.ranks_per_node,
                     jobshape_ranks(&shape));
    }
}

/* Only what the user asked for counts: a task without -c may use more. */
static void test_cpus(void **state)
{
    static const struct {
        const char *env[6];
        uint32_t cpus;
    } rows[] = {
        {{NULL}, 0},
        {{"SLURM_CPUS_PER_TASK", "1"}, 1},
        {{"SLURM_CPUS_PER_TASK", "16"}, 16},
        {{"SLURM_CPUS_PER_TASK", "x"}, 0},
        {{"SLURM_JOB_CPUS_PER_NODE", "4", STEP, "4"}, 0},
    };

    for (size_t i = 0; i < N(rows); i++) {
        struct jp_jobshape shape;

        env = rows[i].env;
        shape_get(NULL, *state, NULL, 1, 4, &shape);
        assert_int_equal(shape.cpus_per_task, rows[i].cpus);
    }
}

static void test_step_memory(void **state)
{
    static const struct {
        const char *env[10];
        uint64_t site_bytes, bytes;
        const char *from;
    } rows[] = {
        {{NULL}, 0, 8 * GIB, "RAM of this host"},
        {{NULL}, 512 * GIB, 512 * GIB, "/etc/jobprof.conf:12"},
        {{NODE_MEM, "4096"}, 512 * GIB, 4 * GIB, NODE_MEM},
        {{NODE_MEM, "0"}, 0, 8 * GIB, "RAM of this host"},
        {{NODE_MEM, "0"}, GIB, GIB, "/etc/jobprof.conf:12"},
        {{NODE_MEM, "0", CPU_MEM, "100"}, 0, 8 * GIB, "RAM of this host"},
        {{NODE_MEM, "4G"}, 0, 8 * GIB, "RAM of this host"},
        {{NODE_MEM, "99999999999999999999"}, 0, 8 * GIB, "RAM of this host"},
        {{CPU_MEM, "100", "SLURM_CPUS_PER_TASK", "4", STEP, "3"},
         0,
         1200 * MIB,
         CPU_MEM},
        {{CPU_MEM, "100", "SLURM_JOB_CPUS_PER_NODE", "16(x2)"},
         0,
         1600 * MIB,
         CPU_MEM},
        {{CPU_MEM, "100", "SLURM_CPUS_ON_NODE", "2"}, 0, 200 * MIB, CPU_MEM},
        {{CPU_MEM, "100"}, 0, 8 * GIB, "RAM of this host"},
        {{GPU_MEM, "1024", "SLURM_GPUS_ON_NODE", "4"}, 0, 4 * GIB, GPU_MEM},
        {{GPU_MEM, "1024", "SLURM_GPUS_PER_NODE", "a100:2"},
         0,
         2 * GIB,
         GPU_MEM},
        {{GPU_MEM, "1024"}, 0, 8 * GIB, "RAM of this host"},
    };

    free(tempdir_file(*state, "proc/meminfo", 0600,
                      "MemTotal:        8388608 kB\n"));
    for (size_t i = 0; i < N(rows); i++) {
        char name[] = "nccl.node_memory", where[] = "/etc/jobprof.conf:12";
        struct sitefile_value value = {.name = name, .where = where};
        const struct jp_sitefile site = {.values = &value,
                                         .n_values = rows[i].site_bytes != 0};
        struct jp_plan plan = {.node_memory_bytes = rows[i].site_bytes,
                               .site = &site};
        struct jp_jobshape shape;

        env = rows[i].env;
        shape_get(&plan, *state, NULL, 0, 0, &shape);
        if (shape.step_memory_bytes != rows[i].bytes ||
            strcmp(shape.memory_from, rows[i].from) != 0)
            fail_msg("row %zu: %llu from %s", i,
                     (unsigned long long) shape.step_memory_bytes,
                     shape.memory_from);
        assert_int_equal(shape.node.ram_bytes,
                         rows[i].site_bytes ? rows[i].site_bytes : 8 * GIB);
    }
}

#define OVERCOMMIT "proc/sys/vm/overcommit_memory"
#define PAGES "sys/kernel/mm/transparent_hugepage/enabled"

static void test_node(void **state)
{
    static const struct {
        const char *meminfo, *overcommit, *pages;
        struct jp_nodemem want;
    } rows[] = {
        {"MemTotal:       65536 kB\nMemFree: 1 kB\nSwapTotal:      1024 kB\n"
         "CommitLimit:    33792 kB\nCommitted_AS:    2048 kB\n",
         "0\n",
         "always [madvise] never\n",
         {64 * MIB, MIB, 0, 33 * MIB, 2 * MIB, false}},
        {"SwapTotal: 0 kB\nMemTotal: 1024 kB",
         "1",
         "[always] madvise never",
         {MIB, 0, 1, 0, 0, true}},
        {"", "2\n", "", {0, 0, 2, 0, 0, false}},
        {"MemTotal: -5 kB\nSwapTotal: 12\nCommitLimit: 99999999999999999999 "
         "kB\n"
         "Committed_AS: 18446744073709551615 kB\nXMemTotal: 4 kB\n",
         "3\n",
         "always\n",
         {0, 0, 0, 0, 0, false}},
        {"MemTotal:\nMemTotal: 4 kB\n",
         "22\n",
         "[never]",
         {0, 0, 0, 0, 0, false}},
    };

    for (size_t i = 0; i < N(rows); i++) {
        struct jp_nodemem mem;

        free(tempdir_file(*state, "proc/meminfo", 0600, rows[i].meminfo));
        free(tempdir_file(*state, OVERCOMMIT, 0600, rows[i].overcommit));
        free(tempdir_file(*state, PAGES, 0600, rows[i].pages));
        nodemem_read(*state, &mem);
        if (mem.ram_bytes != rows[i].want.ram_bytes ||
            mem.swap_bytes != rows[i].want.swap_bytes ||
            mem.overcommit != rows[i].want.overcommit ||
            mem.commit_limit_bytes != rows[i].want.commit_limit_bytes ||
            mem.committed_bytes != rows[i].want.committed_bytes ||
            mem.huge_pages != rows[i].want.huge_pages)
            fail_msg("row %zu: %llu %llu %u", i,
                     (unsigned long long) mem.ram_bytes,
                     (unsigned long long) mem.swap_bytes, mem.overcommit);
    }
    /* no files; the host itself */
    {
        struct jp_nodemem mem, zero = {0};

        nodemem_read("/nonexistent", &mem);
        assert_memory_equal(&mem, &zero, sizeof(mem));
        nodemem_read("", &mem);
        assert_true(mem.ram_bytes > MIB);
    }
}

static void test_limits(void **state)
{
    static const char *const nothing[] = {NULL};
    struct jp_jobshape shape;
    struct rlimit old, limit;
    char *deep = tempdir_path(*state, "a/b/c");
    int rc;

    env = nothing;
    shape_get(NULL, *state, deep, 2, 4, &shape);
    assert_int_equal(shape.nnodes, 2);
    assert_int_equal(shape.ntasks, 4);
    assert_true(shape.disk_free_bytes > 0);
    shape_get(NULL, *state, "/", 0, 0, &shape);
    assert_true(shape.disk_free_bytes > 0);
    shape_get(NULL, *state, "nothing/there", 0, 0, &shape);
    assert_int_equal(shape.disk_free_bytes, 0);
    assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
    limit = old;
    limit.rlim_cur = 1ULL << 46;
    rc = setrlimit(RLIMIT_AS, &limit); /* fails if the hard limit is lower */
    shape_get(NULL, *state, NULL, 0, 0, &shape);
    setrlimit(RLIMIT_AS, &old);
    if (rc == 0)
        assert_int_equal(shape.address_limit_bytes, 1ULL << 46);
    assert_int_equal(shape.disk_free_bytes, 0);
    free(deep);
}

static int make_root(void **state)
{
    static const char *const folders[] = {"proc",
                                          "proc/sys",
                                          "proc/sys/vm",
                                          "sys",
                                          "sys/kernel",
                                          "sys/kernel/mm",
                                          "sys/kernel/mm/transparent_hugepage"};

    if (tempdir_make(state) < 0)
        return -1;
    for (size_t i = 0; i < N(folders); i++) {
        char *path = tempdir_path(*state, folders[i]);

        mkdir(path, 0700);
        free(path);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks),       cmocka_unit_test(test_cpus),
        cmocka_unit_test(test_step_memory), cmocka_unit_test(test_node),
        cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests_name("jobshape", tests, make_root,
                                       tempdir_drop);
}
