/* test_crash.c - which task ended first by itself, and whether that is a fault.
 */
#include "orchestrator/insight/insight.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/expected.h"

#define NODES 3
#define TASKS 8
#define EXIT(code) ((code) << 8)
#define T0 1000000 /* s since 1970 */

/* A task: its node (0: no more rows), its status, and when it ended, in ms
 * after T0 by the true time. */
struct row {
    int node, status;
    int64_t ms;
};

struct job {
    const char *name;
    struct row rows[TASKS];
    enum slurmjob_state state;
    int64_t end_s;   /* of the job, after T0 */
    int oom_node;    /* 0: none */
    int64_t skew_ms; /* of node 2's clock */
    enum jp_crash_cause cause;
    int64_t first; /* task, -1: none */
    bool sure;
    const char *says;
};

/* clang-format off */
static const struct job jobs[] = {
    {"all well", {{1, 0, 0}, {1, 0, 100}, {2, 0, 50}}, SLURMJOB_COMPLETED,
     0, 0, 0, JP_CRASH_NONE, -1, false, ""},
    {"no tasks at all", {{0}}, SLURMJOB_UNKNOWN, 0, 0, 0, JP_CRASH_NONE, -1,
     false, ""},
    {"SIGSEGV, the others wait",
     {{1, 0, 9000}, {1, SIGSEGV, 5000}, {2, 0, 9010}, {2, 0, 9000}},
     SLURMJOB_FAILED, 9, 0, 0, JP_CRASH_SIGNAL, 1, true,
     "rank 1 (n1, pid 101) died of SIGSEGV, 4.00 s before any other task "
     "ended; 3 ended with status 0"},
    {"a status after the others had ended well",
     {{1, 0, 1000}, {1, EXIT(1), 5000}, {2, 0, 1010}, {2, 0, 1000}},
     SLURMJOB_FAILED, 5, 0, 0, JP_CRASH_EXIT, 1, true,
     "rank 1 (n1, pid 101) ended with exit status 1; 3 other tasks had ended "
     "before, with status 0"},
    {"a status at about the time at which others ended well",
     {{1, 0, 1000}, {1, EXIT(1), 1010}, {2, 0, 900}}, SLURMJOB_FAILED, 5, 0, 0,
     JP_CRASH_EXIT, 1, true,
     "rank 1 (n1, pid 101) ended with exit status 1; 2 ended with status 0"},
    {"timeout ends each, 3 s apart",
     {{1, EXIT(124), 3000}, {2, EXIT(124), 3010}, {2, EXIT(124), 0}},
     SLURMJOB_FAILED, 3, 0, 0, JP_CRASH_EXIT, -1, false,
     "all 3 tasks ended with exit status 124, as timeout does when"},
    {"a signal to all, as by scancel -s USR1",
     {{1, SIGUSR1, 0}, {1, SIGUSR1, 100}, {2, SIGUSR1, 30}}, SLURMJOB_FAILED, 0,
     0, 0, JP_CRASH_SIGNAL, -1, false, "all 3 tasks died of SIGUSR1"},
    {"... of which one died long before",
     {{1, SIGUSR1, 0}, {1, SIGUSR1, 3000}, {2, SIGUSR1, 3000}}, SLURMJOB_FAILED,
     3, 0, 0, JP_CRASH_SIGNAL, 0, true, "rank 0 (n1, pid 100) died of SIGUSR1"},
    {"SIGSEGV with a core file",
     {{1, 0, 9000}, {1, SIGSEGV | 0x80, 5000}}, SLURMJOB_FAILED, 9, 0, 0,
     JP_CRASH_SIGNAL, 1, true, "died of SIGSEGV"},
    {"a shell's child", {{1, 0, 9000}, {1, EXIT(139), 5000}}, SLURMJOB_FAILED,
     9, 0, 0, JP_CRASH_SIGNAL, 1, true, "died of SIGSEGV"},
    {"a status, srun -K ends the others at once",
     {{1, SIGTERM, 106}, {1, EXIT(7), 0}, {2, SIGKILL, 108}},
     SLURMJOB_FAILED, 0, 0, 0, JP_CRASH_EXIT, 1, true,
     "rank 1 (n1, pid 101) ended with exit status 7, at most 106 ms before any "
     "other "
     "task ended; 2 other tasks were then ended from outside"},
    {"the clock of another node is 9 s late",
     {{1, SIGABRT, 5000}, {2, SIGTERM, 5100}, {2, SIGTERM, 5100}},
     SLURMJOB_FAILED, 5, 0, -9000, JP_CRASH_SIGNAL, 0, true, "SIGABRT"},
    {"on one node a kill came before",
     {{1, SIGTERM, 1000}, {1, SIGSEGV, 3000}}, SLURMJOB_RUNNING, 0, 0, 0,
     JP_CRASH_ENDED, 0, true, "ended from outside"},
    {"peers fail by a status 3 s later",
     {{1, EXIT(1), 3000}, {2, EXIT(1), 3010}, {2, EXIT(1), 0}},
     SLURMJOB_FAILED, 3, 0, 0, JP_CRASH_EXIT, 2, true,
     "2 other tasks failed"},
    {"all at once: not sure",
     {{1, EXIT(1), 10}, {1, EXIT(1), 10}, {2, EXIT(1), 0}}, SLURMJOB_FAILED,
     0, 0, 0, JP_CRASH_EXIT, -1, false, "all 3 tasks ended with exit status 1"},
    {"two at once, one 3 s later: not sure",
     {{1, EXIT(1), 10}, {2, EXIT(1), 0}, {2, EXIT(1), 3000}}, SLURMJOB_FAILED,
     3, 0, 0, JP_CRASH_EXIT, 1, false,
     "ended with exit status 1; 1 more failed too close in time"},
    {"two of three at once",
     {{1, EXIT(3), 0}, {1, EXIT(3), 10}, {1, EXIT(3), 250}}, SLURMJOB_FAILED, 0,
     0, 0, JP_CRASH_EXIT, 0, false, "1 more failed too close in time"},
    {"all at once, one by another status",
     {{1, EXIT(1), 10}, {1, EXIT(1), 10}, {2, EXIT(3), 0}}, SLURMJOB_FAILED,
     0, 0, 0, JP_CRASH_EXIT, 2, false,
     "rank 2 (n2, pid 102) ended with exit status 3; 2 more failed too close in "
     "time"},
    {"of one node, within one look: the one that broke",
     {{1, 0, 0}, {1, EXIT(1), 1000}, {1, SIGSEGV, 1001}}, SLURMJOB_FAILED, 1,
     0, 0, JP_CRASH_SIGNAL, 2, false, "SIGSEGV"},
    {"100 ms apart on one node: sure",
     {{1, EXIT(1), 1101}, {1, EXIT(3), 1000}}, SLURMJOB_FAILED, 1, 0, 0,
     JP_CRASH_EXIT, 1, true, "exit status 3"},
    {"out of memory", {{1, SIGKILL, 1000}, {1, 0, 5000}, {2, 0, 5000}},
     SLURMJOB_RUNNING, 0, 1, 0, JP_CRASH_MEMORY, 0, false,
     "was killed: its node was out of memory"},
    {"out of memory, Slurm ends all at once",
     {{1, SIGKILL, 1000}, {2, SIGKILL, 1200}}, SLURMJOB_OUT_OF_MEMORY, 1, 1, 0,
     JP_CRASH_MEMORY, 0, true, "out of memory"},
    {"out of memory by Slurm's word alone",
     {{1, SIGKILL, 1000}, {2, SIGKILL, 1200}}, SLURMJOB_OUT_OF_MEMORY, 1, 0, 0,
     JP_CRASH_MEMORY, 0, true, "out of memory"},
    {"another job's memory, this one was cancelled",
     {{1, SIGTERM, 1000}, {2, SIGTERM, 1200}}, SLURMJOB_CANCELLED, 1, 1, 0,
     JP_CRASH_CANCELLED, 0, true, "cancelled: 2 of 2 tasks by SIGTERM"},
    {"another job's memory, this step was killed",
     {{1, SIGKILL, 1000}, {1, SIGKILL, 1100}, {2, SIGKILL, 1200}},
     SLURMJOB_RUNNING, 0, 1, 0, JP_CRASH_ENDED, 0, true, "ended from outside"},
    {"killed alone, the others end well",
     {{1, SIGKILL, 1000}, {2, 0, 9000}}, SLURMJOB_FAILED, 9, 0, 0,
     JP_CRASH_KILLED, 0, true, "was killed by SIGKILL from outside, alone"},
    {"killed alone, the others fail",
     {{1, SIGKILL, 1000}, {2, EXIT(1), 4000}}, SLURMJOB_FAILED, 4, 0, 0,
     JP_CRASH_KILLED, 0, true, "1 other task failed"},
    {"killed alone, the others hang and are killed",
     {{1, SIGKILL, 1000}, {2, SIGKILL, 60000}}, SLURMJOB_RUNNING, 0, 0, 0,
     JP_CRASH_KILLED, 0, true, "59.0 s before"},
    {"the step is killed", {{1, SIGKILL, 1000}, {2, SIGKILL, 3300}},
     SLURMJOB_RUNNING, 0, 0, 0, JP_CRASH_ENDED, 0, true,
     "ended from outside (as by scancel of the step): 2 of 2 tasks by "
     "SIGKILL"},
    {"scancel", {{1, SIGTERM, 5300}, {2, SIGTERM, 5200}}, SLURMJOB_CANCELLED,
     5, 0, 0, JP_CRASH_CANCELLED, 1, true, "cancelled: 2 of 2 tasks"},
    {"scancel of who leaves when told",
     {{1, EXIT(1), 5300}, {2, EXIT(1), 5200}}, SLURMJOB_CANCELLED, 5, 0, 0,
     JP_CRASH_CANCELLED, 1, true, "cancelled: 2 of 2 tasks by exiting"},
    {"scancel after a crash",
     {{1, SIGTERM, 65000}, {2, SIGSEGV, 5200}}, SLURMJOB_CANCELLED, 65, 0, 0,
     JP_CRASH_SIGNAL, 1, true, "SIGSEGV, 59.8 s before"},
    {"scancel of the job long after the step",
     {{1, SIGTERM, 5300}, {2, SIGTERM, 5200}}, SLURMJOB_CANCELLED, 600, 0, 0,
     JP_CRASH_ENDED, 1, true, "ended from outside"},
    {"time limit", {{1, SIGTERM, 5300}, {2, SIGKILL, 35200}},
     SLURMJOB_TIMEOUT, 5, 0, 0, JP_CRASH_TIME_LIMIT, 0, true,
     "ended by its time limit: 2 of 2 tasks"},
    {"preempted", {{1, SIGTERM, 5300}}, SLURMJOB_PREEMPTED, 5, 0, 0,
     JP_CRASH_PREEMPTED, 0, true, "preempted"},
    {"Ctrl-C", {{1, SIGINT, 5300}, {2, SIGINT, 5200}}, SLURMJOB_CANCELLED, 5,
     0, 0, JP_CRASH_INTERRUPTED, 1, true,
     "interrupted (as by Ctrl-C in srun): 2 of 2 tasks by SIGINT"},
    {"a node is gone", {{1, SIGTERM, 5300}, {2, SIGTERM, 5300}},
     SLURMJOB_NODE_FAIL, 5, 0, 0, JP_CRASH_NODE, -1, true,
     "node n3 was lost (Slurm: node failure); 2 tasks of other nodes"},
    {"a node is gone, its peers fail before Slurm knows",
     {{1, SIGABRT, 5300}}, SLURMJOB_NODE_FAIL, 60, 0, 0, JP_CRASH_NODE, -1,
     false, "node n3 was lost"},
    {"statuses are not known", {{1, -1, 0}}, SLURMJOB_UNKNOWN, 0, 0, 0,
     JP_CRASH_UNKNOWN, -1, false, "it is unknown how 1 task ended"},
};
/* clang-format on */

static struct jp_task tasks[NODES][TASKS];
static struct jp_node nodes[NODES];
static struct jp_nodes step;

/* Node 3 has reported nothing. */
static void make(const struct job *job, bool timed)
{
    static char names[NODES][3] = {"n1", "n2", "n3"};

    memset(tasks, 0, sizeof(tasks));
    step = (struct jp_nodes){.nodes = nodes,
                             .n_nodes = NODES,
                             .over = true,
                             .job_state = job->state};
    if (job->end_s)
        step.job_end_us = (uint64_t) (T0 + job->end_s) * 1000000;
    for (int i = 0; i < NODES; i++)
        nodes[i] = (struct jp_node){.name = names[i],
                                    .hostname = names[i],
                                    .tasks = tasks[i],
                                    .finished = i < 2,
                                    .oom_kills = job->oom_node == i + 1};
    for (uint32_t i = 0; i < TASKS && job->rows[i].node; i++) {
        const struct row *row = &job->rows[i];
        struct jp_node *node = &nodes[row->node - 1];
        struct jp_task *task = &node->tasks[node->n_tasks++];
        int64_t skew = row->node == 2 ? job->skew_ms : 0;

        *task = (struct jp_task){
            .gtid = i, .pid = 100 + (int64_t) i, .status = row->status};
        if (!timed)
            continue;
        task->end_us = T0 * INT64_C(1000000) + (row->ms + skew) * 1000;
        task->mono_us = row->node * INT64_C(7000000) + row->ms * 1000;
    }
}

/* A task that has used NCCL, on a host of its own. */
static struct jp_process one = {.host = "n9",
                                .pid = 1,
                                .task = 99,
                                .world_rank = 99,
                                .evidence = JP_RANK_OF_TASK};
static const struct jp_processes some = {.n = 1, .list = &one};

static void judge(const struct jp_nodes *of, struct jp_crash *crash)
{
    struct jp_findings findings = {0};

    assert_int_equal(crash_findings(of, &some, NULL, crash, &findings), 0);
    findings_fini(&findings);
}

/* Node 2's clock was compared with that of node 1, with this uncertainty. */
static void compare_clocks(int64_t skew_ms, double unc_ns)
{
    static struct clockmap_point point;
    static struct clockmap_node of[] = {
        {.host = (char *) "n1", .aligned = true},
        {.host = (char *) "n2",
         .aligned = true,
         .points = &point,
         .n_points = 1}};
    const struct clockmap map = {
        .method = CLOCKMAP_PROBES, .nodes = of, .n_nodes = 2};

    point = (struct clockmap_point){.t_ns = T0 * INT64_C(1000000000),
                                    .offset_ns = skew_ms * 1000000,
                                    .unc_ns = unc_ns};
    nodes_align(&step, &map);
}

/* A task that has written its exception, by a row's index. */
static void set_exception(size_t i, const char *error)
{
    static char text[64], at[] = "train.py:10 in step";

    snprintf(text, sizeof(text), "%s", error);
    for (size_t n = 0; n < NODES; n++)
        for (size_t k = 0; k < nodes[n].n_tasks; k++)
            if (nodes[n].tasks[k].gtid == i) {
                nodes[n].tasks[k].error = text;
                nodes[n].tasks[k].error_at = at;
            }
}

/* What a worker has written itself is quoted. Where its status is not known,
 * it is the evidence. */
static void test_exceptions(void **state)
{
    const struct job known = {
        .rows = {{1, EXIT(1), 0}, {1, SIGTERM, 300}, {2, SIGTERM, 310}},
        .state = SLURMJOB_FAILED};
    const struct job unknown = {
        .rows = {{1, -1, 0}, {1, SIGTERM, 300}, {2, SIGTERM, 310}},
        .state = SLURMJOB_FAILED};
    struct jp_crash c;
    char error[JP_CRASH_ERROR];

    (void) state;
    make(&known, true);
    set_exception(0, "RuntimeError: boom");
    judge(&step, &c);
    assert_int_equal(c.cause, JP_CRASH_EXIT);
    assert_non_null(strstr(
        c.text, "ended with exit status 1, at most 300 ms before any other "
                "task ended; its exception: RuntimeError: boom "
                "(train.py:10 in step); 2 other tasks were then ended"));
    make(&unknown, true);
    judge(&step, &c);
    assert_int_equal(c.cause, JP_CRASH_ENDED);
    assert_string_equal(crash_error(&c, error), "");
    set_exception(0, "RuntimeError: boom");
    judge(&step, &c);
    assert_int_equal(c.cause, JP_CRASH_EXIT);
    assert_int_equal(c.task->gtid, 0);
    assert_int_equal(c.code, -1);
    assert_non_null(
        strstr(c.text, "ended by an exception, at most 300 ms before"));
    assert_string_equal(crash_error(&c, error),
                        "RuntimeError: boom (train.py:10 in step)");
    /* what a launcher raises in its workers is no reason */
    set_exception(0, "SignalException: Process 7 got signal: 15");
    judge(&step, &c);
    assert_int_equal(c.cause, JP_CRASH_ENDED);
}

/* Clocks are a minute apart; the second task's SIGABRT comes 400 ms after the
 * first one's on the other node. */
static void test_compared_clocks(void **state)
{
    const struct job job = {
        "",
        {{2, SIGABRT, 0}, {1, SIGSEGV, 400}, {1, SIGKILL, 500}},
        SLURMJOB_FAILED,
        1,
        0,
        -60000,
        JP_CRASH_SIGNAL,
        0,
        true,
        ""};
    struct jp_crash c;

    (void) state;
    make(&job, true);
    step.job_end_us = 0;
    compare_clocks(job.skew_ms, 2000);
    judge(&step, &c);
    assert_int_equal(c.cause, JP_CRASH_SIGNAL);
    assert_int_equal(c.task->gtid, 0);
    assert_true(c.sure && !c.rivals);
    assert_int_equal(c.before_us, 400000);
    assert_int_equal(c.task->end_us, T0 * INT64_C(1000000));
    /* the clocks are less certain: there is no order */
    make(&job, true);
    step.job_end_us = 0;
    compare_clocks(job.skew_ms, 200e6);
    judge(&step, &c);
    assert_false(c.sure);
    assert_int_equal(c.task->gtid, 1); /* it broke */
    /* Clocks that were never compared: ends within a second have no order. */
    make(&(struct job){.rows = {{2, SIGABRT, 0}, {1, SIGSEGV, 400}},
                       .state = SLURMJOB_FAILED},
         true);
    judge(&step, &c);
    assert_false(c.sure);
}

static const struct job *find(const char *name)
{
    size_t i = 0;

    while (strcmp(jobs[i].name, name) != 0)
        assert_true(++i < sizeof(jobs) / sizeof(*jobs));
    return &jobs[i];
}

static void test_jobs(void **state)
{
    struct jp_crash c;

    (void) state;
    for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++) {
        const struct job *job = &jobs[i];
        int64_t first;

        make(job, true);
        judge(&step, &c);
        first = c.task ? (int64_t) c.task->gtid : -1;
        if (c.cause != job->cause || first != job->first ||
            c.sure != job->sure || !strstr(c.text, job->says) ||
            (!*job->says && *c.text))
            fail_msg("%s: %s of %d, %s: \"%s\"", job->name,
                     crash_causes[c.cause], (int) first,
                     c.sure ? "sure" : "not sure", c.text);
    }
}

/* Lines of an older module have no times. What needs no time is still found. */
static void test_no_times(void **state)
{
    struct jp_crash c;

    (void) state;
    make(find("SIGSEGV, the others wait"), false);
    judge(&step, &c);
    assert_int_equal(c.cause, JP_CRASH_SIGNAL);
    assert_int_equal(c.task->gtid, 1);
    assert_true(c.sure);
    assert_int_equal(c.before_us, -1);
    make(find("peers fail by a status 3 s later"), false);
    judge(&step, &c);
    assert_int_equal(c.cause, JP_CRASH_EXIT);
    assert_false(c.sure);
    make(find("scancel"), false);
    judge(&step, &c);
    assert_int_equal(c.cause, JP_CRASH_CANCELLED);
}

/* A step that still runs has lost no node. */
static void test_running(void **state)
{
    const struct job gone = {.state = SLURMJOB_NODE_FAIL};
    struct jp_crash c;

    (void) state;
    make(&gone, true);
    step.over = false;
    judge(&step, &c);
    assert_int_equal(c.cause, JP_CRASH_NONE);
    judge(NULL, &c);
    assert_int_equal(c.cause, JP_CRASH_NONE);
}

/* If no process has used NCCL, none can have made the others fail, however far
 * apart they ended: a wrong option of the program, or no program at all. */
static void test_alike(void **state)
{
    const struct jp_processes none = {0};
    struct jp_findings findings = {0};
    struct jp_crash c;

    (void) state;
    make(find("peers fail by a status 3 s later"), true);
    judge(&step, &c);
    assert_false(c.alike);
    assert_int_equal(c.task->gtid, 2);
    assert_int_equal(crash_findings(&step, &none, NULL, &c, &findings), 0);
    assert_true(c.alike);
    assert_null(c.task);
    assert_null(c.node);
    assert_int_equal(c.code, 1);
    assert_string_equal(c.text, "all 3 tasks ended with exit status 1");
    assert_int_equal(findings.n, 1);
    assert_string_equal(findings.at[0].host, "");
    findings_fini(&findings);
    /* a task of which the end is unknown may have ended otherwise */
    step.step_tasks = 4;
    assert_int_equal(crash_findings(&step, &none, NULL, &c, &findings), 0);
    assert_false(c.alike);
    findings_fini(&findings);
}

/* Nor can one whose program had finished, where all ended within the time by
 * which clocks may differ. */
static void test_finished(void **state)
{
    struct jp_result result = {.quality = {.files = 3,
                                           .recordings = 3,
                                           .records = 30,
                                           .ranks_seen = 3,
                                           .ranks_expected = 3}};
    struct jp_task shells_program = {
        .gtid = 0, .pid = 300, .is_worker = true, .status = 0};
    struct jp_findings findings = {0};
    struct jp_crash c;

    (void) state;
    make(find("two of three at once"), true);
    assert_int_equal(crash_findings(&step, &some, NULL, &c, &findings), 0);
    assert_false(c.alike);
    findings_fini(&findings);
    assert_int_equal(crash_findings(&step, &some, &result, &c, &findings), 0);
    assert_true(c.alike);
    assert_string_equal(c.text, "all 3 tasks ended with exit status 3");
    findings_fini(&findings);
    /* also of a shell that has started the program */
    nodes[0].workers = &shells_program;
    nodes[0].n_workers = 1;
    assert_int_equal(crash_findings(&step, &some, &result, &c, &findings), 0);
    assert_true(c.alike);
    findings_fini(&findings);
    result.quality.in_flight = 1;
    assert_int_equal(crash_findings(&step, &some, &result, &c, &findings), 0);
    assert_false(c.alike);
    findings_fini(&findings);
    result.quality.in_flight = 0;
    result.quality.cut_recordings = 1;
    assert_int_equal(crash_findings(&step, &some, &result, &c, &findings), 0);
    assert_false(c.alike);
    findings_fini(&findings);
    /* 3 s apart: it may have been waited for outside of NCCL */
    result.quality.cut_recordings = 0;
    make(find("peers fail by a status 3 s later"), true);
    assert_int_equal(crash_findings(&step, &some, &result, &c, &findings), 0);
    assert_false(c.alike);
    findings_fini(&findings);
}

/* A task that ends before it has started anything is no launcher: neither
 * beside tasks of its node that have started theirs, nor alone on its node. */
static void test_no_launcher(void **state)
{
    static const struct jp_process there = {.host = "n1",
                                            .pid = 300,
                                            .task = -1,
                                            .world_rank = 0,
                                            .evidence = JP_RANK_OF_TASK};
    struct jp_process others[] = {there};
    const struct jp_processes with = {
        .n = 1, .list = others, .has_workers = true};
    struct jp_task worker = {
        .gtid = 0, .pid = 300, .is_worker = true, .status = SIGTERM};
    struct jp_findings findings = {0};
    struct jp_crash c;

    (void) state;
    for (int i = 0; i < 3; i++) {
        make(find("peers fail by a status 3 s later"), true);
        if (i == 2) { /* its node has recordings, and no ends of workers */
            others[0].host = "n2";
        } else if (i == 1) { /* another node has */
            others[0].host = "n1";
        } else { /* the ends of its node are known */
            others[0].host = "n2";
            nodes[1].workers = &worker;
            nodes[1].n_workers = 1;
        }
        assert_int_equal(crash_findings(&step, &with, NULL, &c, &findings), 0);
        assert_int_equal(c.task->gtid, 2);
        assert_string_equal(c.node->name, "n2");
        assert_int_equal(c.launches, i == 2);
        assert_int_equal(c.sure, i != 2);
        findings_fini(&findings);
    }
}

static void test_finding(void **state)
{
    struct jp_findings findings = {0};
    struct jp_crash c;

    (void) state;
    for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++) {
        make(&jobs[i], true);
        assert_int_equal(crash_findings(&step, &some, NULL, &c, &findings), 0);
        crash_set_in(&c, "AllReduce 9 of dp", &findings);
        assert_int_equal(findings.n, crash_is_fault(&c));
        if (findings.n && c.task)
            assert_non_null(strstr(c.text, ", last seen in AllReduce 9 of dp"));
        if (findings.n) {
            assert_int_equal(findings.at[0].kind, JP_FINDING_CRASH);
            assert_string_equal(findings.at[0].text, c.text);
        }
        findings_fini(&findings);
    }
}

/* A worker of task 1 dies; its launcher ends the others and exits with 1, and
 * so does that of node 1. */
static void make_workers(struct jp_task workers[4], int first)
{
    static const struct job job = {"",
                                   {{1, 1 << 8, 2100}, {2, 1 << 8, 2000}},
                                   SLURMJOB_FAILED,
                                   0,
                                   0,
                                   0,
                                   JP_CRASH_NONE,
                                   0,
                                   false,
                                   ""};

    make(&job, true);
    for (int i = 0; i < 4; i++)
        workers[i] = (struct jp_task){
            .gtid = (uint32_t) i / 2,
            .is_worker = true,
            .pid = 200 + i,
            .instance = 7,
            .status = i == 3 ? first : SIGTERM,
            .end_us = T0 * INT64_C(1000000) + (i == 3 ? 0 : 300) * 1000,
            .mono_us = (i / 2 + 1) * INT64_C(7000000) +
                       (i == 3 ? 0 : 300) * INT64_C(1000)};
    nodes[0].workers = workers;
    nodes[1].workers = workers + 2;
    nodes[0].n_workers = nodes[1].n_workers = 2;
}

static void test_workers(void **state)
{
    struct jp_task workers[4];
    struct jp_crash c;

    (void) state;
    make_workers(workers, SIGSEGV);
    judge(&step, &c);
    assert_int_equal(c.cause, JP_CRASH_SIGNAL);
    assert_ptr_equal(c.task, &workers[3]);
    assert_ptr_equal(c.node, &nodes[1]);
    assert_int_equal(c.before_us, 300000);
    assert_true(c.sure && !c.launches);
    assert_string_equal(
        c.text, "a worker of task 1 (n2, pid 203) died of SIGSEGV, 300 ms "
                "before any other process ended; its launcher, task 1, then "
                "ended with exit status 1; 3 other processes were then ended "
                "from outside");
    /* how it ended is not known, but that it was the first */
    make_workers(workers, -1);
    judge(&step, &c);
    assert_int_equal(c.cause, JP_CRASH_EXIT);
    assert_int_equal(c.task->gtid, 1);
    assert_true(c.launches && !c.sure);
    assert_ptr_equal(c.untold.task, &workers[3]);
    assert_ptr_equal(c.untold.node, &nodes[1]);
    assert_non_null(strstr(c.text, "it launched the ranks; of those with a "
                                   "recording one (n2, pid 203) ended first; "
                                   "how it ended is not known"));
    /* another one was ended before it */
    make_workers(workers, -1);
    workers[3].end_us += 600000;
    workers[3].mono_us += 600000;
    judge(&step, &c);
    assert_null(c.untold.task);
    assert_non_null(strstr(c.text, "which of its processes ended first is not "
                                   "known"));
    /* it had ended before the agent watched it, and the others were killed */
    make_workers(workers, -1);
    workers[3].end_us = workers[3].mono_us = 0;
    judge(&step, &c);
    assert_ptr_equal(c.untold.task, &workers[3]);
    assert_non_null(strstr(c.text,
                           "recording one (n2, pid 203) alone had ended "
                           "before it was watched; how it ended is not "
                           "known"));
    /* ... and so had another one */
    workers[1].status = -1;
    workers[1].end_us = workers[1].mono_us = 0;
    judge(&step, &c);
    assert_null(c.untold.task);
    /* it ended first, how is not known; another one aborts when it notices */
    make_workers(workers, -1);
    workers[2].status = SIGABRT;
    judge(&step, &c);
    assert_int_equal(c.cause, JP_CRASH_EXIT);
    assert_ptr_equal(c.untold.task, &workers[3]);
    /* ... or at about the same time: then that one may have been first */
    workers[3].end_us += 290000;
    workers[3].mono_us += 290000;
    judge(&step, &c);
    assert_int_equal(c.cause, JP_CRASH_SIGNAL);
    assert_ptr_equal(c.task, &workers[2]);
    assert_true(!c.sure && c.rivals == 1);
    /* it had not begun its recording: the one worker of its task that has is
     * not all that the task had, as the other task has two */
    make_workers(workers, -1);
    nodes[1].n_workers = 1;
    judge(&step, &c);
    assert_int_equal(c.task->gtid, 1);
    assert_true(c.launches && !c.sure && !c.only);
    /* the launchers started their workers anew, and all ended well */
    make_workers(workers, SIGSEGV);
    tasks[0][0].status = tasks[1][0].status = 0;
    workers[1].restarts = 1;
    workers[1].status = 0;
    judge(&step, &c);
    assert_int_equal(c.cause, JP_CRASH_NONE);
    /* ... or the second attempt failed, by another one */
    make_workers(workers, SIGSEGV);
    workers[1].restarts = 1;
    workers[1].status = SIGABRT;
    judge(&step, &c);
    assert_int_equal(c.cause, JP_CRASH_SIGNAL);
    assert_ptr_equal(c.task, &workers[1]);
    /* the kernel killed it: memory was short there */
    make_workers(workers, SIGKILL);
    nodes[1].oom_kills = 1;
    judge(&step, &c);
    assert_int_equal(c.cause, JP_CRASH_MEMORY);
    assert_ptr_equal(c.task, &workers[3]);
    /* ... or that of another step, where the launcher decides by itself */
    tasks[0][0].status = tasks[1][0].status = EXIT(7);
    judge(&step, &c);
    assert_int_equal(c.cause, JP_CRASH_EXIT);
    assert_int_equal(c.code, 7);
}

/* As make_workers, and all tasks end with status 0. */
static void make_ignored(struct jp_task workers[4], int first)
{
    make_workers(workers, first);
    nodes[0].finished = nodes[1].finished = true;
    tasks[0][0].status = tasks[1][0].status = 0;
}

/* Judges it by recordings, of which those in `cut` (bits by worker) have no
 * end. Returns whether it is found, or not judged. */
static enum jp_hypothesis_state judge_recorded(const struct jp_task workers[4],
                                               unsigned cut,
                                               struct jp_crash *crash)
{
    static struct jp_hypotheses hypotheses;
    struct jp_recorded recorded[4];
    struct jp_result r = {.recorded = recorded,
                          .n_recorded = 4,
                          .quality = {.files = 4,
                                      .recordings = 4,
                                      .records = 40,
                                      .ranks_seen = 4,
                                      .ranks_expected = 4}};
    struct jp_findings findings = {.hypotheses = &hypotheses};

    hypotheses = (struct jp_hypotheses){0};
    for (int i = 0; i < 4; i++) {
        recorded[i] = (struct jp_recorded){.host = nodes[i / 2].hostname,
                                           .pid = workers[i].pid,
                                           .instance = workers[i].instance,
                                           .cut = cut >> i & 1};
        launched_init(&recorded[i].launched);
        r.quality.cut_recordings += recorded[i].cut;
    }
    assert_int_equal(crash_findings(&step, &some, &r, crash, &findings), 0);
    assert_int_equal(findings.n, crash_is_fault(crash));
    findings_fini(&findings);
    return hypotheses.of[JP_HYPOTHESIS_CRASH].state;
}

/* A script ends with 0 as its last command does, although a process died that
 * it had started. */
static void test_ignored(void **state)
{
    struct jp_task workers[4];
    struct jp_crash c;

    (void) state;
    make_ignored(workers, SIGSEGV);
    assert_int_equal(judge_recorded(workers, 8, &c), JP_HYPOTHESIS_FOUND);
    assert_int_equal(c.cause, JP_CRASH_SIGNAL);
    assert_ptr_equal(c.task, &workers[3]);
    assert_ptr_equal(c.node, &nodes[1]);
    assert_true(c.sure && c.ignored);
    assert_string_equal(
        c.text, "a worker of task 1 (n2, pid 203) died of SIGSEGV, 300 ms "
                "before any other process ended; task 1, which started it, "
                "ended with exit status 0 all the same; 3 other processes were "
                "then ended from outside");
    /* how another one ended before is not known: that one may be the reason */
    workers[2].status = -1;
    workers[2].mono_us -= 900000;
    workers[2].end_us -= 900000;
    judge_recorded(workers, 8, &c);
    assert_ptr_equal(c.task, &workers[3]);
    assert_false(c.sure);
    assert_non_null(strstr(c.text, "how 1 other process ended is not known"));
    /* the step runs: its launcher may start it again */
    make_ignored(workers, SIGSEGV);
    step.over = false;
    judge_recorded(workers, 8, &c);
    assert_int_equal(c.cause, JP_CRASH_NONE);
    /* ... as a script has done that counts nothing */
    make_ignored(workers, SIGSEGV);
    workers[0].status = workers[1].status = workers[2].status = 0;
    workers[2].start = (uint64_t) workers[3].mono_us / 10000 + 1;
    judge_recorded(workers, 8, &c);
    assert_int_equal(c.cause, JP_CRASH_PROCESSES);
    assert_string_equal(c.text, "a worker of task 1 (n2, pid 203) died of "
                                "SIGSEGV; its task then started another "
                                "process, and ended with status 0");
    workers[2].start--; /* it had started before */
    judge_recorded(workers, 8, &c);
    assert_int_equal(c.cause, JP_CRASH_SIGNAL);
    /* a status: the others go on */
    make_ignored(workers, EXIT(1));
    workers[0].status = workers[1].status = workers[2].status = 0;
    judge_recorded(workers, 0, &c);
    assert_int_equal(c.cause, JP_CRASH_EXIT);
    assert_non_null(strstr(c.text, "(n2, pid 203) ended with exit status 1, "));
    /* one of all, after their last operation: the tasks take it for well */
    for (int i = 0; i < 4; i++)
        workers[i].status = EXIT(85);
    assert_int_equal(judge_recorded(workers, 0, &c), JP_HYPOTHESIS_NOT_FOUND);
    assert_int_equal(c.cause, JP_CRASH_PROCESSES);
    assert_string_equal(c.text, "all 4 processes ended with exit status 85 "
                                "after their last operation, and their tasks "
                                "with status 0");
    /* ... but not where a recording shows that one had not finished */
    judge_recorded(workers, 1, &c);
    assert_int_equal(c.cause, JP_CRASH_EXIT);
    /* the script kills one */
    make_ignored(workers, SIGKILL);
    workers[0].status = workers[1].status = workers[2].status = 0;
    nodes[1].oom_kills = 2;
    assert_int_equal(judge_recorded(workers, 8, &c), JP_HYPOTHESIS_NOT_FOUND);
    assert_int_equal(c.cause, JP_CRASH_PROCESSES);
    assert_string_equal(
        c.text, "1 of 4 processes was ended from outside, though all tasks "
                "ended with status 0; a worker of task 1 (n2, pid 203) by "
                "SIGKILL; the kernel has killed 2 processes there for lack of "
                "memory, of any job");
    /* Slurm ends all, and their tasks leave with 0 */
    make_ignored(workers, SIGTERM);
    step.job_state = SLURMJOB_CANCELLED;
    judge_recorded(workers, 15, &c);
    assert_int_equal(c.cause, JP_CRASH_CANCELLED);
    assert_string_equal(c.text, "cancelled: 4 of 4 processes by SIGTERM");
    /* how it ended is not known, but that its recording has no end */
    make_ignored(workers, -1);
    workers[0].status = workers[1].status = workers[2].status = 0;
    assert_int_equal(judge_recorded(workers, 8, &c), JP_HYPOTHESIS_NOT_JUDGED);
    assert_int_equal(c.cause, JP_CRASH_PROCESSES);
    assert_string_equal(
        c.text, "how 1 of 4 processes ended is not known, though all tasks "
                "ended with status 0; the recording of a process (n2, pid "
                "203) has no end, as after a crash, a kill or _exit");
    /* ... without an agent that saw the ends */
    nodes[0].n_workers = nodes[1].n_workers = 0;
    judge_recorded(workers, 10, &c);
    assert_string_equal(
        c.text, "how 4 of 4 processes ended is not known, though all tasks "
                "ended with status 0; the recordings of 2 of them, the first "
                "of a process (n1, pid 201) have no end, as after a crash, a "
                "kill or _exit");
    /* where each recording has its end, only the question says it */
    assert_int_equal(judge_recorded(workers, 0, &c), JP_HYPOTHESIS_NOT_JUDGED);
    assert_int_equal(c.cause, JP_CRASH_NONE);
    assert_string_equal(c.text, "");
    /* nor is that known of tasks */
    tasks[1][0].status = -1;
    judge_recorded(workers, 0, &c);
    assert_int_equal(c.cause, JP_CRASH_UNKNOWN);
}

/* The end of one attempt's workers, after which there was another one. */
static void test_attempt(void **state)
{
    static const struct jp_processes none;
    struct jp_task workers[4];
    struct jp_crash c;

    (void) state;
    make_workers(workers, SIGSEGV);
    assert_int_equal(crash_of_attempt(&step, &none, 0, true, &c), 0);
    assert_int_equal(c.cause, JP_CRASH_SIGNAL);
    assert_ptr_equal(c.task, &workers[3]);
    assert_ptr_equal(c.node, &nodes[1]);
    assert_string_equal(
        c.text, "a worker of task 1 (n2, pid 203) died of SIGSEGV, 300 ms "
                "before any other process ended; 3 other processes were then "
                "ended from outside");
    /* no end of another attempt was seen */
    assert_int_equal(crash_of_attempt(&step, &none, 1, true, &c), 0);
    assert_int_equal(c.cause, JP_CRASH_NONE);
    assert_string_equal(c.text, "");
    /* that of a worker of a later attempt does not count */
    workers[0].restarts = 1;
    workers[0].end_us -= 10000000;
    assert_int_equal(crash_of_attempt(&step, &none, 0, true, &c), 0);
    assert_ptr_equal(c.task, &workers[3]);
    /* the first end is not known, the others are kills: by clocks that were
     * never compared, they may have come first ... */
    make_workers(workers, -1);
    assert_int_equal(crash_of_attempt(&step, &none, 0, true, &c), 0);
    assert_int_equal(c.cause, JP_CRASH_ENDED);
    assert_string_equal(c.text, "ended from outside: 3 of 4 processes by "
                                "SIGTERM; how 1 ended is not known");
    /* ... but not two seconds before */
    workers[3].end_us -= 2000000;
    workers[3].mono_us -= 2000000;
    assert_int_equal(crash_of_attempt(&step, &none, 0, true, &c), 0);
    assert_int_equal(c.cause, JP_CRASH_UNKNOWN);
    assert_ptr_equal(c.task, &workers[3]);
    assert_string_equal(
        c.text, "a worker of task 1 (n2, pid 203) ended first, and how is not "
                "known; 3 other processes were then ended from outside");
    /* all were killed at once */
    make_workers(workers, SIGKILL);
    for (int i = 0; i < 4; i++) {
        workers[i].status = SIGKILL;
        workers[i].end_us = workers[0].end_us;
    }
    workers[1].mono_us = workers[0].mono_us;
    workers[3].mono_us = workers[2].mono_us;
    assert_int_equal(crash_of_attempt(&step, &none, 0, true, &c), 0);
    assert_string_equal(c.text,
                        "ended from outside: 4 of 4 processes by SIGKILL");
}

/* Two ranks on two nodes, started three times; in two of the attempts that of
 * node 2 dies. */
static void test_attempts(void **state)
{
    struct jp_insight x = {.judged = true};
    struct jp_result r = {0};
    struct jp_comm comms[3];
    struct jp_rank ranks[6];
    struct jp_recorded recorded[6];
    struct jp_busy busy[6];
    struct jp_task workers[2][4];
    struct jp_finding found = {.kind = JP_FINDING_LATE_RANK,
                               .text = "rank 0 is late"};
    struct jp_attempts a;

    (void) state;
    make_workers(workers[0], SIGSEGV); /* nodes and tasks */
    for (int i = 0; i < 6; i++) {
        int attempt = i / 2, node = i % 2;

        comms[attempt] = (struct jp_comm){
            .name = (char *) "world", .n_ranks = 2, .ranks_seen = 2};
        snprintf(comms[attempt].id, sizeof(comms->id), "0x%d", attempt);
        ranks[i] = (struct jp_rank){.comm = (size_t) attempt,
                                    .rank = (uint32_t) node,
                                    .host = nodes[node].hostname,
                                    .pid = 300 + i,
                                    .instance = 7,
                                    .records = 1};
        recorded[i] = (struct jp_recorded){
            .host = nodes[node].hostname, .pid = 300 + i, .instance = 7};
        launched_init(&recorded[i].launched);
        recorded[i].launched.restarts = attempt;
        busy[i] = (struct jp_busy){
            .host = nodes[node].hostname,
            .pid = 300 + i,
            .instance = 7,
            .from_us = (uint64_t) (T0 + 10 * attempt) * 1000000,
            .to_us = (uint64_t) (T0 + 10 * attempt + 7) * 1000000};
        workers[node][attempt] = (struct jp_task){
            .gtid = (uint32_t) node,
            .is_worker = true,
            .pid = 300 + i,
            .instance = 7,
            .restarts = (uint32_t) attempt,
            .status = attempt == 2 ? 0
                      : node       ? SIGSEGV
                                   : SIGTERM,
            .end_us = (T0 + 10 * attempt + 7) * INT64_C(1000000) +
                      (node ? 0 : 900000)};
    }
    for (int node = 0; node < 2; node++) {
        nodes[node].workers = workers[node];
        nodes[node].n_workers = 3;
    }
    r.comms = comms;
    r.n_comms = 3;
    r.ranks = ranks;
    r.n_ranks = 6;
    r.recorded = recorded;
    r.n_recorded = 6;
    r.busy = busy;
    r.n_busy = 6;
    assert_int_equal(processes_init_nodes(&x.processes, &r, &step), 0);
    found.process = processes_find(&x.processes, nodes[0].hostname, 302, 7) -
                    x.processes.list;
    x.findings.at = &found;
    x.findings.n = 1;
    assert_int_equal(attempts_find(&x, &step, &r, &a), 0);
    assert_int_equal(a.n, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(a.list[i].number, i + 1);
        assert_int_equal(a.list[i].processes, 2);
        assert_int_equal(a.list[i].lost_us, i < 2 ? 3000000 : 0);
        assert_string_equal(a.list[i].host, i < 2 ? "n2" : "");
        assert_string_equal(a.list[i].found, i == 1 ? "rank 0 is late" : "");
    }
    assert_non_null(strstr(a.list[0].ended, "(n2, pid 301) died of SIGSEGV"));
    assert_string_equal(a.list[2].ended, "");
    assert_string_equal(a.text, "3 attempts, 6.00 s without an operation "
                                "between them; each of the 2 failures began "
                                "on n2");
    attempts_fini(&a);
    /* the same of programs that follow each other */
    r.quality.programs = 3;
    assert_int_equal(attempts_find(&x, &step, &r, &a), 0);
    assert_true(a.programs);
    assert_non_null(strstr(a.text,
                           "3 programs, which the tasks ran one after "
                           "the other: each is judged by itself; 6.00 s "
                           "without an operation between them"));
    attempts_fini(&a);
    r.quality.programs = 0;
    /* a process without a time: what was lost is not known */
    busy[2].state = JP_BUSY_UNTIMED;
    assert_int_equal(attempts_find(&x, &step, &r, &a), 0);
    assert_int_equal(a.list[0].lost_us + a.list[1].lost_us, 0);
    assert_int_equal(a.list[1].from_us, 0);
    attempts_fini(&a);
    /* the failures begin on two nodes */
    workers[0][1].end_us -= 2000000;
    workers[0][1].status = SIGSEGV;
    assert_int_equal(attempts_find(&x, &step, &r, &a), 0);
    assert_string_equal(a.text,
                        "3 attempts; 2 failures, not all on one known node");
    attempts_fini(&a);
    /* no launcher's count: nothing is said of attempts */
    for (int i = 0; i < 6; i++)
        recorded[i].launched.restarts = -1;
    assert_int_equal(attempts_find(&x, &step, &r, &a), 0);
    assert_int_equal(a.n, 0);
    assert_int_equal(attempts_find(&x, NULL, NULL, &a), 0);
    processes_fini(&x.processes);
}

/* Of a hang it is said whether those who are missing had ended. */
static void test_hang(void **state)
{
    enum { A = JP_HANG_ABSENT, I = JP_HANG_IN, U = JP_HANG_UNKNOWN };
    const struct job ended = {.rows = {{1, SIGTERM, 60000},
                                       {1, SIGTERM, 60000},
                                       {2, SIGTERM, 60000},
                                       {2, EXIT(0), 1000}}};
    const struct job two = {.rows = {{1, SIGTERM, 60000},
                                     {1, SIGTERM, 60000},
                                     {2, EXIT(7), 3000},
                                     {2, EXIT(0), 1000}}};
    struct jp_task worker = {.gtid = 3,
                             .is_worker = true,
                             .pid = 153,
                             .status = SIGTERM,
                             .end_us = T0 * INT64_C(1000000) + 500000,
                             .mono_us = 2 * INT64_C(7000000) + 500000};
    /* it leaves when told, the others are killed KillWait later */
    const struct job told = {.rows = {{1, SIGKILL, 90000},
                                      {1, EXIT(0), 60050},
                                      {2, SIGKILL, 90000},
                                      {2, EXIT(0), 60000}}};
    /* Rank 3 is task 3, or a process that it has started, of which the end is
     * known or not. closed: when its recording was, s */
    enum of { OF_TASK, OF_WORKER, OF_UNSEEN };
    /* clang-format off */
    const struct {
        const struct job *job;
        uint8_t states[4];
        int64_t closed;
        enum of of;
        const char *says;
    } rows[] = {
        {&ended, {I, I, I, A}, 0, OF_TASK,
         "its process had ended with exit status 0 at 1970-01-12 13:46:41 UTC, "
         "59.0 s before the first of the others"},
        {&ended, {I, I, I, U}, 0, OF_TASK,
         "rank 3 (n2, pid 103) had ended with exit status 0 at 1970-01-12"},
        {&two, {I, I, A, A}, 0, OF_TASK,
         "2 of the processes that are missing had ended, the first of them "
         "rank 3 (n2, pid 103) with exit status 0 at 1970-01-12 13:46:41 UTC, "
         "59.0 s before the first of the others"},
        {&two, {I, I, I, A}, 0, OF_TASK, "2.00 s before the first of the others"},
        {&told, {I, I, I, A}, 0, OF_TASK, ""},
        {&told, {I, I, I, A}, 5, OF_TASK, ""},
        {&ended, {I, I, I, A}, 5, OF_WORKER,
         "its process had ended by SIGTERM at 1970-01-12 13:46:40 UTC, 59.5 s "
         "before the first of the others"},
        {&ended, {I, I, I, A}, 0, OF_UNSEEN, ""},
        {&ended, {I, I, I, A}, 5, OF_UNSEEN,
         "its recording was closed at 1970-01-12 13:46:45 UTC, as at the end of "
         "a process"},
        /* ... with the others */
        {&ended, {I, I, I, A}, 60, OF_UNSEEN, ""},
    };
    /* clang-format on */

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct jp_comm comm = {
            .id = "0x1", .name = (char *) "dp", .n_ranks = 4, .ranks_seen = 4};
        struct jp_rank ranks[4];
        uint8_t states[4];
        int64_t in_job[4] = {0, 1, 2, 3};
        struct jp_result r = {
            .comms = &comm, .n_comms = 1, .ranks = ranks, .n_ranks = 4};
        struct jp_processes p;
        struct jp_findings findings = {0};
        struct jp_crash crash = {0};
        struct jp_finding *f;
        bool named = rows[i].states[3] == A;

        make(rows[i].job, true);
        for (uint32_t k = 0; k < 4; k++)
            ranks[k] = (struct jp_rank){.rank = k,
                                        .host = nodes[k / 2].hostname,
                                        .pid = 100 + (int64_t) k +
                                               (k == 3 && rows[i].of ? 50 : 0),
                                        .restarts = -1,
                                        .records = 1};
        memcpy(states, rows[i].states, sizeof(states));
        r.hang = (struct jp_hang){
            .operations = 1,
            .sn = 9,
            .since_us = (T0 + 2) * INT64_C(1000000),
            .age_us = 58000000,
            .closed_us =
                rows[i].closed ? (T0 + rows[i].closed) * INT64_C(1000000) : 0,
            .n_ops = 1};
        r.hang.ops[0] = (struct jp_hang_op){
            .sn = 9, .n_ranks = 4, .states = states, .ranks = in_job};
        assert_int_equal(processes_init_nodes(&p, &r, &step), 0);
        f = findings_add(&findings, JP_FINDING_HANG);
        assert_non_null(f);
        strcpy(f->text, "rank 3 never entered");
        f->process = named ? (int64_t) p.of_rank[3] : -1;
        if (rows[i].of == OF_WORKER) {
            nodes[1].workers = &worker;
            nodes[1].n_workers = 1;
        }
        assert_int_equal(crash_of_hang(&step, &p, &r, &crash, &findings), 0);
        if (!strstr(f->ended, rows[i].says) || (!*rows[i].says && *f->ended) ||
            (*f->ended && !strstr(f->text, f->ended)))
            fail_msg("row %zu: \"%s\" in \"%s\"", i, f->ended, f->text);
        findings_fini(&findings);
        processes_fini(&p);
    }
}

/* Where no operation has ended, recordings tell how many ranks there are. */
static void test_expected_ranks(void **state)
{
    struct jp_recorded recorded[8] = {0};
    struct jp_result r = {.recorded = recorded, .n_recorded = 8};
    struct jp_nodes launch = {.step_tasks = 2};

    (void) state;
    for (int i = 0; i < 8; i++)
        recorded[i].launched.restarts = -1;
    assert_int_equal(expected_ranks(NULL, &launch, &r), 8);
    launch.step_tasks = 16; /* half of the tasks have left nothing */
    assert_int_equal(expected_ranks(NULL, &launch, &r), 16);
    launch.step_tasks = 2;
    for (int i = 0; i < 8; i++)
        recorded[i].launched.restarts = i / 3; /* the last attempt has two */
    assert_int_equal(expected_ranks(NULL, &launch, &r), 2);
    launch.step_tasks = 1;
    assert_int_equal(expected_ranks(NULL, &launch, &r), 2);
    r.quality.ranks_expected = 3; /* by its communicators */
    assert_int_equal(expected_ranks(NULL, &launch, &r), 3);
    assert_int_equal(expected_ranks(NULL, &launch, NULL), 1);
}

static void test_causes(void **state)
{
    (void) state;
    for (int i = 0; i < JP_CRASH_CAUSES; i++)
        assert_non_null(crash_causes[i]);
    for (int i = SLURMJOB_RUNNING; i < SLURMJOB_STATES; i++)
        assert_int_equal(crash_state_find(crash_job_states[i]), i);
    assert_int_equal(crash_state_find(NULL), SLURMJOB_UNKNOWN);
    assert_int_equal(crash_state_find("x"), SLURMJOB_UNKNOWN);
    assert_null(crash_job_states[SLURMJOB_UNKNOWN]);
}

/* Adds an operation of a communicator, of two ranks; ends_s 0: it did not end.
 */
static void add_op(struct jp_ops *ops, uint32_t comm, uint64_t sn,
                   uint64_t at_s, bool ends)
{
    const struct jp_op op = {
        .comm = comm,
        .sn = sn,
        .n = 2,
        .n_start = 2,
        .n_exec = ends ? 2 : 0,
        .start_min_us = (T0 + at_s) * UINT64_C(1000000),
        .start_max_us = (T0 + at_s) * UINT64_C(1000000),
        .end_max_us = ends ? (T0 + at_s) * UINT64_C(1000000) + 500000 : 0};

    assert_int_equal(ops_add(ops, &op), 0);
}

/* All processes leave communicators in which operations did not end for new
 * ones: a restart within the processes. What is not known is not said. */
static void test_in_place(void **state)
{
    enum { RESTARTED, ENDED_WELL, GOES_ON, ONE_STAYS, CASES };
    struct jp_comm comms[2] = {{.n_ranks = 2}, {.n_ranks = 2}};
    struct jp_rank ranks[4];
    const struct jp_process_tasks none = {.n = 0};

    (void) state;
    for (int i = 0; i < 4; i++)
        ranks[i] = (struct jp_rank){.comm = (size_t) i / 2,
                                    .rank = (uint32_t) i % 2,
                                    .host = (char *) "n1",
                                    .pid = 100 + i % 2};
    for (int kind = 0; kind < CASES; kind++) {
        struct jp_result r = {.comms = comms,
                              .n_comms = 2,
                              .ranks = ranks,
                              .n_ranks = kind == ONE_STAYS ? 3 : 4,
                              .quality = {.in_flight = 2}};
        struct jp_insight x = {.judged = true};
        struct jp_attempts a;

        r.ops = ops_create();
        for (uint64_t sn = 0; sn < 5; sn++)
            add_op(r.ops, 0, sn, sn, true);
        if (kind != ENDED_WELL)
            add_op(r.ops, 0, 5, 5, false);
        for (uint64_t sn = 0; sn < 5; sn++)
            add_op(r.ops, 1, sn, kind == GOES_ON ? sn : 20 + sn, true);
        assert_int_equal(ops_end(r.ops), 0);
        r.n_ops = r.ops->n;
        assert_int_equal(processes_init(&x.processes, &r, &none), 0);
        assert_int_equal(attempts_find(&x, NULL, &r, &a), 0);
        assert_int_equal(a.n, 0);
        assert_string_equal(
            a.text,
            kind == RESTARTED
                ? "all processes went on in new communicators, 15.5 s after "
                  "the last operation of the old ones, of which 2 records have "
                  "no end; that is a restart within the processes, as a rule, "
                  "and its parts are judged together"
                : "");
        attempts_fini(&a);
        processes_fini(&x.processes);
        ops_destroy(r.ops);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_exceptions),
        cmocka_unit_test(test_compared_clocks),
        cmocka_unit_test(test_no_times),
        cmocka_unit_test(test_running),
        cmocka_unit_test(test_alike),
        cmocka_unit_test(test_finished),
        cmocka_unit_test(test_no_launcher),
        cmocka_unit_test(test_finding),
        cmocka_unit_test(test_causes),
        cmocka_unit_test(test_expected_ranks),
        cmocka_unit_test(test_workers),
        cmocka_unit_test(test_ignored),
        cmocka_unit_test(test_attempt),
        cmocka_unit_test(test_attempts),
        cmocka_unit_test(test_hang),
        cmocka_unit_test(test_in_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
