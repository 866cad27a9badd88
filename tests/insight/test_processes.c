/* test_processes.c - which process has which rank. */
#include "orchestrator/insight/processes.h"

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
        processes_find(&s.processes, host_of(i), 100 + i);

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
    assert_false(s.processes.known);
    assert_int_equal(s.processes.n, 2);
    assert_int_equal(process(0)->world_rank, -1);
    assert_int_equal(process(1)->world_rank, -1);
    add_task(0, 0); /* two tasks of one host and pid */
    add_task(1, 0);
    add_task(2, 1);
    decide();
    assert_int_equal(process(0)->world_rank, -1);
    assert_int_equal(process(1)->world_rank, 2);
}

/* The task that a recording names, of a process without records. */
static void test_rank_of_task(void **state)
{
    (void) state;
    add_two_groups();
    decide();
    assert_int_equal(processes_rank_of_task(&s.processes, "n1", 106, 6), 6);
    assert_int_equal(processes_rank_of_task(&s.processes, "n1", 999, 9), 9);
    for (unsigned i = 0; i < 8; i++)
        add_task(i, i);
    decide();
    assert_int_equal(processes_rank_of_task(&s.processes, "n1", 106, 9), 6);
    assert_int_equal(processes_rank_of_task(&s.processes, "n1", 999, 6), -1);
    s.of.n = 0;
    add_comm(world, 8);
    for (unsigned i = 0; i < 8; i++)
        add_rank(i, i);
    decide();
    assert_int_equal(processes_rank_of_task(&s.processes, "n1", 999, 9), -1);
}

static void test_nothing(void **state)
{
    (void) state;
    decide();
    assert_int_equal(s.processes.n, 0);
    assert_null(processes_find(&s.processes, "n0", 100));
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
        TEST(test_nothing),    TEST(test_two_groups_of_tasks),
        TEST(test_two_groups), TEST(test_world),
        TEST(test_launcher),   TEST(test_records_missing),
        TEST(test_twins),      TEST(test_rank_of_task),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
