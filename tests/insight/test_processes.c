/* test_processes.c - which process has which rank. */
#include "orchestrator/identity/processes.h"
#include "orchestrator/identity/parallel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_RANKS 64

/* A step that is made row by row; ranks are sorted by communicator. */
static struct step {
    struct jp_comm comms[8];
    struct jp_rank ranks[MAX_RANKS];
    struct jp_process_task tasks[MAX_RANKS];
    struct jp_result result;
    struct jp_process_tasks of;
    struct jp_processes processes;
} s;

static char hosts[2][4] = {"n0", "n1"};
static char dp[] = "dp", world[] = "world";

static int set_up(void **state)
{
    (void) state;
    memset(&s, 0, sizeof(s));
    s.result.comms = s.comms;
    s.result.ranks = s.ranks;
    s.of.list = s.tasks;
    return 0;
}

static int tear_down(void **state)
{
    (void) state;
    processes_fini(&s.processes);
    return 0;
}

/* Four processes a host. */
static char *host_of(unsigned process)
{
    return hosts[process / 4 % 2];
}

static void add_comm(char *name, uint32_t n_ranks)
{
    s.comms[s.result.n_comms++] =
        (struct jp_comm){.id = "0xabc", .name = name, .n_ranks = n_ranks};
}

static void add_rank(uint32_t rank, unsigned process)
{
    s.ranks[s.result.n_ranks++] =
        (struct jp_rank){.comm = s.result.n_comms - 1,
                         .rank = rank,
                         .host = host_of(process),
                         .pid = 100 + process,
                         .timed_ops = 10,
                         .caused_us = process == 6 ? 1000 : 10};
}

static void add_task(int64_t task, unsigned process)
{
    s.tasks[s.of.n++] =
        (struct jp_process_task){host_of(process), 100 + process, task};
}

static const struct jp_process *process(unsigned i)
{
    const struct jp_process *found =
        processes_find(&s.processes, host_of(i), 100 + i, 0);

    assert_non_null(found);
    return found;
}

static void decide(void)
{
    processes_fini(&s.processes);
    assert_int_equal(processes_init(&s.processes, &s.result, &s.of), 0);
}

/* Even and odd processes of eight: ranks 0 to 3 of two communicators. */
static void add_two_groups(void)
{
    for (unsigned group = 0; group < 2; group++) {
        add_comm(dp, 4);
        for (unsigned i = 0; i < 4; i++)
            add_rank(i, 2 * i + group);
    }
}

static void test_two_groups_of_tasks(void **state)
{
    char name[JP_PROCESS_NAME_LEN];
    uint32_t *worst;
    size_t n;

    (void) state;
    add_two_groups();
    for (unsigned i = 0; i < 8; i++)
        add_task(i, i);
    decide();
    assert_int_equal(s.processes.n, 8);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(process(i)->world_rank, i);
        assert_int_equal(process(i)->evidence, JP_RANK_OF_TASK);
    }
    worst = processes_heaviest(&s.processes, 1, &n);
    assert_non_null(worst);
    processes_name(&s.processes, &s.result, &s.processes.list[*worst], name);
    free(worst);
    assert_string_equal(name, "6 n1");
}

/* Without tasks a rank has no number without its communicator. */
static void test_two_groups(void **state)
{
    char name[JP_PROCESS_NAME_LEN];

    (void) state;
    add_two_groups();
    decide();
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(process(i)->world_rank, -1);
        assert_int_equal(process(i)->evidence, JP_RANK_UNKNOWN);
    }
    processes_name(&s.processes, &s.result, process(6), name);
    assert_string_equal(name, "3 of dp n1 pid 106");
}

/* The communicator is in reverse order: the tasks' ids count where they are
 * known. */
static void test_world(void **state)
{
    (void) state;
    add_two_groups();
    add_comm(world, 8);
    for (unsigned i = 0; i < 8; i++)
        add_rank(i, 7 - i);
    decide();
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(process(i)->world_rank, 7 - i);
        assert_int_equal(process(i)->evidence, JP_RANK_OF_COMM);
    }
    add_task(6, 6); /* the communicator says 1 */
    decide();
    assert_int_equal(process(6)->world_rank, 6);
    assert_int_equal(process(1)->world_rank, -1);
    s.tasks[0].task = 1; /* as it says */
    decide();
    assert_int_equal(process(6)->evidence, JP_RANK_OF_TASK);
    assert_int_equal(process(6)->world_rank, 1);
    assert_int_equal(process(1)->evidence, JP_RANK_OF_COMM);
    assert_int_equal(process(1)->world_rank, 6);
}

/* One launcher a host: its children inherit its task id. */
static void test_launcher(void **state)
{
    (void) state;
    add_comm(world, 8);
    for (unsigned i = 0; i < 8; i++)
        add_rank(i, i);
    for (unsigned i = 0; i < 8; i++)
        add_task(i / 4, i);
    s.of.of_step = 2;
    decide();
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(process(i)->world_rank, i);
        assert_int_equal(process(i)->evidence, JP_RANK_OF_COMM);
        assert_int_equal(process(i)->task, -1);
    }
}

/* Half of the job left records: a communicator of four says nothing about the
 * job. */
static void test_records_missing(void **state)
{
    (void) state;
    add_comm(dp, 4);
    for (unsigned i = 0; i < 4; i++)
        add_rank(i, 2 * i);
    decide();
    assert_int_equal(process(6)->world_rank, 3);
    s.of.of_step = 8;
    decide();
    assert_int_equal(process(6)->world_rank, -1);
    /* a process without records of a communicator as large as the step */
    add_comm(world, 8);
    for (unsigned i = 0; i < 3; i++)
        add_rank(2 * i, 2 * i);
    decide();
    assert_int_equal(process(4)->world_rank, 4);
    assert_int_equal(process(6)->world_rank, -1);
    s.of.of_step = 0;
    decide();
    assert_int_equal(process(4)->world_rank, -1);
}

/* Containers that count their processes from 1, under one host name. */
static void test_twins(void **state)
{
    (void) state;
    add_comm(world, 3);
    add_rank(0, 0);
    add_rank(1, 0);
    add_rank(2, 1);
    decide();
    /* the only communicator, so each rank is one */
    assert_true(s.processes.known);
    assert_int_equal(s.processes.n, 3);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(s.processes.list[i].world_rank, i);
    assert_null(processes_find(&s.processes, "n0", 100, 0)); /* which one? */
    add_task(0, 0); /* two tasks of one host and pid */
    add_task(1, 0);
    add_task(2, 1);
    decide();
    assert_int_equal(process(1)->world_rank, 2);
    /* with a second communicator, its ranks may be either's */
    add_comm(dp, 2);
    add_rank(0, 0);
    add_rank(1, 0);
    decide();
    assert_false(s.processes.known);
}

/* The same where the recordings show that they are different processes. */
static void test_instances(void **state)
{
    (void) state;
    for (unsigned c = 0; c < 2; c++) {
        add_comm(c ? dp : world, 3);
        for (uint32_t i = 0; i < 3; i++) {
            add_rank(c ? 2 - i : i, 0);
            s.ranks[s.result.n_ranks - 1].instance = c ? 7 + (2 - i) : 7 + i;
        }
    }
    decide();
    assert_true(s.processes.known);
    assert_int_equal(s.processes.n, 3);
    assert_null(processes_find(&s.processes, "n0", 100, 0));
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(
            processes_find(&s.processes, "n0", 100, 7 + i)->world_rank, i);
}

/* One process with a GPU for each of its ranks, in two communicators. */
static void test_devices(void **state)
{
    (void) state;
    for (unsigned c = 0; c < 2; c++) {
        add_comm(c ? dp : world, 3);
        for (uint32_t i = 0; i < 3; i++) {
            add_rank(i, 0);
            s.ranks[s.result.n_ranks - 1].device = c ? 9 - i : 7 + i;
        }
    }
    decide();
    assert_true(s.processes.known);
    assert_int_equal(s.processes.n, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(s.processes.list[i].world_rank, i);
        assert_true(s.processes.list[i].has_peers);
        assert_int_equal(s.processes.list[i].n, 2);
        assert_int_equal(s.processes.of_rank[i], i);
        assert_int_equal(s.processes.of_rank[3 + i], 2 - i);
    }
    /* two ranks share a GPU: which communicator's belong together? */
    s.ranks[1].device = 7;
    decide();
    assert_false(s.processes.known);
}

/* Launchers' numbers, in the order of the processes. */
static void set_launched(enum launched_kind kind, const int64_t *numbers,
                         unsigned n, int64_t size)
{
    static struct jp_recorded recorded[MAX_RANKS];

    if (!s.result.n_recorded)
        memset(recorded, 0, sizeof(recorded));
    for (unsigned i = 0; i < n; i++) {
        if (!s.result.n_recorded)
            launched_init(&recorded[i].launched);
        recorded[i].host = host_of(i);
        recorded[i].pid = 100 + i;
        recorded[i].procid = 1;
        recorded[i].launched.rank[kind] = numbers[i];
        recorded[i].launched.size[kind] = size;
    }
    s.result.recorded = recorded;
    s.result.n_recorded = n;
}

static void check_ranks(const int64_t *want, enum jp_rank_evidence evidence)
{
    decide();
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(process(i)->world_rank, want ? want[i] : -1);
        assert_int_equal(process(i)->evidence, evidence);
    }
}

/* Which evidence wins, and that what is inherited names nobody. */
static void test_launched(void **state)
{
    static const int64_t numbers[8] = {0, 1, 4, 5, 2, 3, 6, 7},
                         others[8] = {7, 6, 5, 4, 3, 2, 1, 0},
                         inherited[8] = {0, 0, 0, 0, 1, 1, 1, 1},
                         order[8] = {0, 1, 2, 3, 4, 5, 6, 7};

    (void) state;
    add_two_groups();
    set_launched(LAUNCHED_TORCH, inherited, 8, 2); /* of the launchers */
    check_ranks(NULL, JP_RANK_UNKNOWN);
    set_launched(LAUNCHED_TORCH, numbers, 8, 8);
    check_ranks(numbers, JP_RANK_OF_LAUNCHER);
    set_launched(LAUNCHED_TORCH, numbers, 8, 4); /* 7 of 4 */
    check_ranks(NULL, JP_RANK_UNKNOWN);
    set_launched(LAUNCHED_TORCH, numbers, 8, -1);
    set_launched(LAUNCHED_OMPI, numbers, 8, 8); /* both say the same */
    check_ranks(numbers, JP_RANK_OF_LAUNCHER);
    set_launched(LAUNCHED_OMPI, others, 8, 8); /* they contradict */
    check_ranks(NULL, JP_RANK_UNKNOWN);
    set_launched(LAUNCHED_OMPI, inherited, 8, 8);
    check_ranks(numbers, JP_RANK_OF_LAUNCHER);
    /* a communicator of all has another order: neither variable is its */
    add_comm(world, 8);
    for (unsigned i = 0; i < 8; i++)
        add_rank(i, i);
    check_ranks(order, JP_RANK_OF_COMM);
    set_launched(LAUNCHED_TORCH, order, 8, 8);
    check_ranks(order, JP_RANK_OF_LAUNCHER);
    /* a launcher is no rank, whatever its own number is */
    assert_int_equal(processes_rank_of_task(&s.processes, "n1", 999, 9), -1);
}

/* The task that a recording names, of a process without records. */
static void test_rank_of_task(void **state)
{
    (void) state;
    add_two_groups();
    decide();
    /* the processes with records are no tasks, so tasks are launchers */
    assert_int_equal(processes_rank_of_task(&s.processes, "n1", 106, 6), -1);
    assert_int_equal(processes_rank_of_task(&s.processes, "n1", 999, 9), -1);
    for (unsigned i = 0; i < 8; i++)
        add_task(i, i);
    decide();
    assert_int_equal(processes_rank_of_task(&s.processes, "n1", 106, 9), 6);
    assert_int_equal(processes_rank_of_task(&s.processes, "n1", 999, 9), 9);
    assert_int_equal(processes_rank_of_task(&s.processes, "n1", 999, 6), -1);
    s.of.n = 0;
    add_comm(world, 8);
    for (unsigned i = 0; i < 8; i++)
        add_rank(i, i);
    decide();
    assert_int_equal(processes_rank_of_task(&s.processes, "n1", 999, 9), -1);
}

/* A process that died before its first operation ended has a recording only. */
static void test_silent(void **state)
{
    static const int64_t numbers[8] = {0, 1, 2, 3, 4, 5, 6, 7};

    (void) state;
    add_comm(world, 8);
    for (unsigned i = 0; i < 5; i++)
        add_rank(i, i);
    set_launched(LAUNCHED_TORCH, numbers, 8, 8);
    decide();
    assert_int_equal(s.processes.n, 5);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(
            processes_rank_of(&s.processes, host_of(i), 100 + i, 0), i);
    assert_int_equal(processes_rank_of(&s.processes, host_of(5), 999, 0), -1);
    /* two have one number: nobody knows whose it is */
    s.result.recorded[7].launched.rank[LAUNCHED_TORCH] = 6;
    decide();
    assert_int_equal(processes_rank_of(&s.processes, host_of(4), 104, 0), 4);
    assert_int_equal(processes_rank_of(&s.processes, host_of(5), 105, 0), -1);
    /* the communicator has another order: the variable proves nothing */
    s.result.recorded[7].launched.rank[LAUNCHED_TORCH] = 7;
    s.result.recorded[0].launched.rank[LAUNCHED_TORCH] = 1;
    s.result.recorded[1].launched.rank[LAUNCHED_TORCH] = 0;
    decide();
    assert_int_equal(processes_rank_of(&s.processes, host_of(0), 100, 0), 0);
    assert_int_equal(processes_rank_of(&s.processes, host_of(5), 105, 0), -1);
}

/* A launcher started its workers anew: the same numbers, twice. */
static void test_attempts(void **state)
{
    static const int64_t numbers[8] = {0, 1, 2, 3, 0, 1, 2, 3};

    (void) state;
    for (unsigned c = 0; c < 2; c++) {
        add_comm(world, 4);
        for (uint32_t i = 0; i < 4; i++)
            add_rank(i, 4 * c + i);
    }
    set_launched(LAUNCHED_TORCH, numbers, 8, 4);
    for (unsigned i = 0; i < 8; i++)
        s.result.recorded[i].launched.restarts = -1;
    check_ranks(NULL, JP_RANK_UNKNOWN);
    assert_int_equal(s.processes.at_once, 8);
    for (unsigned i = 0; i < 8; i++)
        s.result.recorded[i].launched.restarts = i / 4;
    check_ranks(numbers, JP_RANK_OF_LAUNCHER);
    assert_int_equal(s.processes.at_once, 4);
    /* that of one is unknown: it may have run beside four others */
    s.result.recorded[1].launched.restarts = -1;
    decide();
    assert_int_equal(s.processes.at_once, 5);
    s.result.recorded[1].launched.restarts = 0;
    /* of one attempt the numbers are no use, but its communicator is */
    s.result.recorded[7].launched.rank[LAUNCHED_TORCH] = 2;
    decide();
    assert_int_equal(process(2)->evidence, JP_RANK_OF_LAUNCHER);
    assert_int_equal(process(7)->world_rank, 3);
    assert_int_equal(process(7)->evidence, JP_RANK_OF_COMM);
}

/* --- what the communicators show of the program --------------------------- */

/* Eight processes: tp of two neighbours, dp of every second one, and the world
 * if with_world. Each communicator has records of all of its ranks. */
static void add_program(bool with_world)
{
    static char names[][32] = {"TP0", "tp_1", "mesh_tp",
                               "TENSOR_MODEL_PARALLEL_GROUP"};

    for (unsigned i = 0; i < 4; i++) {
        add_comm(names[i], 2);
        add_rank(0, 2 * i);
        add_rank(1, 2 * i + 1);
    }
    add_two_groups();
    if (with_world) {
        add_comm(world, 8);
        for (unsigned i = 0; i < 8; i++)
            add_rank(i, i);
    }
    for (size_t i = 0; i < s.result.n_comms; i++)
        s.comms[i].ranks_seen = s.comms[i].n_ranks;
}

/* What is said of the step. */
static void said(uint64_t tasks, const char *text)
{
    struct parallel parallel;
    char buf[PARALLEL_TEXT];

    decide();
    assert_int_equal(parallel_find(&parallel, &s.result, &s.processes, tasks),
                     0);
    assert_string_equal(parallel_text(&parallel, buf), text);
}

static void test_parallel(void **state)
{
    (void) state;
    add_program(true);
    said(0, "8 ranks; tp 2, dp 4");
    said(8, "8 ranks; tp 2, dp 4");
    /* launchers are tasks, too */
    said(2, "8 ranks; tp 2, dp 4");
    /* some of the step's tasks are not seen */
    said(16, "tp 2, dp 4");
}

/* Without one of all ranks, the communicators connect the ranks. */
static void test_parallel_connected(void **state)
{
    (void) state;
    add_program(false);
    said(0, "8 ranks; tp 2, dp 4");
    /* data-parallel groups alone: two programs, or one */
    for (unsigned i = 0; i < 4; i++)
        s.comms[i].n_ranks = 0;
    s.result.ranks += 8;
    s.result.n_ranks -= 8;
    s.result.comms += 4;
    s.result.n_comms -= 4;
    for (size_t i = 0; i < s.result.n_ranks; i++)
        s.result.ranks[i].comm -= 4;
    said(0, "dp 4");
}

/* What leaves a doubt has no size. */
static void test_parallel_doubt(void **state)
{
    static char other[] = "experts", pp[] = "pp";

    (void) state;
    add_program(true);
    /* a rank left no records */
    s.comms[1].ranks_seen = 1;
    said(0, "dp 4");
    s.comms[1].ranks_seen = 2;
    /* an older NCCL does not record how many there are */
    s.comms[4].guessed = true;
    said(0, "tp 2");
    s.comms[4].guessed = false;
    /* a name that says nothing is no axis, and nor is half of one */
    s.comms[0].name = other;
    said(0, "8 ranks; dp 4");
    s.comms[0].name = pp;
    said(0, "8 ranks; dp 4");
    /* groups of two sizes */
    s.comms[0].name = s.comms[1].name;
    said(0, "8 ranks; tp 2, dp 4");
    s.comms[6].name = s.comms[1].name;
    said(0, "8 ranks; dp 4");
    s.comms[6].name = world;
    /* ranks that are in two of them */
    add_comm(s.comms[1].name, 2);
    s.comms[7].ranks_seen = 2;
    add_rank(0, 0);
    add_rank(1, 1);
    said(0, "8 ranks; dp 4");
}

static void test_nothing(void **state)
{
    (void) state;
    decide();
    assert_int_equal(s.processes.n, 0);
    assert_null(processes_find(&s.processes, "n0", 100, 0));
    add_task(0, 0);
    decide();
    assert_int_equal(s.processes.n, 0);
    processes_fini(&s.processes);
    assert_int_equal(processes_init_nodes(&s.processes, &s.result, NULL), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_nothing),
        TEST(test_two_groups_of_tasks),
        TEST(test_two_groups),
        TEST(test_world),
        TEST(test_launcher),
        TEST(test_records_missing),
        TEST(test_twins),
        TEST(test_instances),
        TEST(test_devices),
        TEST(test_launched),
        TEST(test_rank_of_task),
        TEST(test_silent),
        TEST(test_attempts),
        TEST(test_parallel),
        TEST(test_parallel_connected),
        TEST(test_parallel_doubt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
