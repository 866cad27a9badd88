/* test_hang_by_counts.c - a communicator that stopped short of the others. */
#include "orchestrator/insight/looks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/aggregate/ops.h"

#define STAGES 4
#define STEPS 12

/* Pairs of tensor-parallel ranks, one pair per stage. The last pair ended
 * `last` operations and the others `most`, in STEPS steps, with or without a
 * communicator of all ranks. */
static uint64_t hole; /* number that the last one lacks; 0: none */

/* Sequence numbers of the first and the last operation; there are as many as
 * operations. */
static void add_numbers(struct jp_result *r)
{
    r->ops = ops_create();
    for (uint32_t c = 0; c < STAGES; c += STAGES - 1)
        for (uint64_t i = 0; i < r->comms[c].ops; i++, r->n_ops++) {
            uint64_t sn = i + (c && hole && i >= hole);
            const struct jp_op op = {.comm = c,
                                     .sn = sn,
                                     .n = 2,
                                     .min_rank = 1,
                                     .dump_min_us = i + 1,
                                     .dump_max_us = i + 1};

            assert_int_equal(ops_add(r->ops, &op), 0);
        }
    assert_int_equal(ops_end(r->ops), 0);
}

/* Returns the number of findings of a kind; keeps the text of the first one. */
static size_t count_kind(const struct jp_findings *list,
                         enum jp_finding_kind kind)
{
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++)
        n += list->at[i].kind == kind;
    return n;
}

static size_t uneven; /* findings of it in the last job */
/* what the first finding says */
static char told[sizeof(((struct jp_finding *) 0)->text)];

static const struct jp_nodes *step; /* NULL: only logs are known */

static size_t find_hang_of(uint64_t most, uint64_t last, bool world_too)
{
    static char tp[] = "tp", world[] = "world", host[] = "n0", *hosts = host;
    struct jp_comm comms[STAGES + 1];
    struct jp_rank ranks[4 * STAGES];
    struct jp_result r = {.comms = comms,
                          .n_comms = STAGES + world_too,
                          .ranks = ranks,
                          .n_ranks = (world_too ? 4 : 2) * STAGES};
    struct jp_findings list = {0};
    struct jp_processes processes;
    size_t n;

    for (unsigned c = 0; c < r.n_comms; c++) {
        bool all = c == STAGES;
        uint64_t ops = all ? STEPS : c + 1 < STAGES ? most : last;

        comms[c] = (struct jp_comm){.id = "0x1",
                                    .name = all ? world : tp,
                                    .n_ranks = all ? 2 * STAGES : 2,
                                    .nnodes = 1,
                                    .hosts = &hosts,
                                    .n_hosts = 1,
                                    .ops = ops,
                                    .ops_complete = ops};
        for (unsigned k = 0; k < comms[c].n_ranks; k++)
            ranks[2 * c + k] = (struct jp_rank){
                .comm = c, .rank = k, .host = host, .pid = all ? k : 2 * c + k};
    }
    add_numbers(&r);
    assert_int_equal(processes_init_nodes(&processes, &r, NULL), 0);
    assert_int_equal(hang_findings(&r, &processes, step, true, &list), 0);
    n = count_kind(&list, JP_FINDING_HANG);
    uneven = count_kind(&list, JP_FINDING_UNEVEN);
    assert_int_equal(list.n, n + uneven);
    snprintf(told, sizeof(told), "%s", list.n ? list.at[0].text : "");
    findings_fini(&list);
    processes_fini(&processes);
    ops_destroy(r.ops);
    return n;
}

/* The others are in the middle of a step, which the communicator of all has not
 * finished. */
static size_t find_hang(uint64_t last)
{
    return find_hang_of(1031, last, true);
}

static void test_hang(void **state)
{
    (void) state;
    assert_int_equal(find_hang(1030), 1);
    assert_int_equal(find_hang(998), 1);
    hole = 500; /* it went on behind that */
    assert_int_equal(find_hang(1030), 0);
    hole = 0;
    assert_int_equal(find_hang(1031), 0);
    assert_int_equal(find_hang(1031 - STEPS), 0); /* one fewer in each step */
    assert_int_equal(find_hang(1031 - 4 * STEPS), 0); /* a layer fewer */
    assert_int_equal(find_hang(800), 0);
    /* the last step ended: one operation, or some, are not recorded */
    assert_int_equal(find_hang_of(960, 959, true), 0);
    assert_int_equal(find_hang_of(960, 927, true), 0);
    /* the others have one more at the start or end */
    assert_int_equal(find_hang_of(961, 960, true), 0);
    assert_int_equal(find_hang_of(961, 959, true), 1);
    /* one operation a step: the last one was on its way when the step was
     * killed */
    assert_int_equal(find_hang_of(STEPS + 1, STEPS, true), 0);
    /* independent runs */
    assert_int_equal(find_hang_of(961, 960, false), 0);
    assert_int_equal(find_hang_of(960, 959, false), 0);
}

/* Where a hang is not certain: the text says what is known and accuses nobody.
 */
static void test_uneven(void **state)
{
    (void) state;
    assert_int_equal(find_hang(1030), 1);
    assert_int_equal(uneven, 0); /* once is enough */
    /* independent groups, of which one is behind: it hung, or was killed */
    assert_int_equal(find_hang_of(1086, 1082, false), 0);
    assert_int_equal(uneven, 1);
    assert_non_null(strstr(
        told,
        "is 4 operations behind the 1,086 of its peers; rank 1 of tp (n0, pid "
        "7) was the last to enter its last operation; it hung, or"));
    /* further behind than a step has operations: no hang for sure */
    assert_int_equal(find_hang_of(1031, 901, true), 0);
    assert_int_equal(uneven, 1);
    /* none of these stopped: they are equal, or have less to do */
    find_hang(1031);
    assert_int_equal(uneven, 0);
    find_hang(1031 - STEPS);
    assert_int_equal(uneven, 0);
    find_hang_of(961, 960, true);
    assert_int_equal(uneven, 0);
    hole = 500;
    find_hang(1030);
    assert_int_equal(uneven, 0);
    hole = 0;
}

/* The same after a silence, of a step of which all tasks, or those that are
 * known, ended with status 0: it hangs no more, but it ended in the middle of a
 * step. */
static void test_ended_well(void **state)
{
    static char host[] = "n0", other[] = "n1";
    struct jp_task task = {.status = 0};
    struct jp_node list[] = {{.name = host,
                              .hostname = host,
                              .tasks = &task,
                              .n_tasks = 1,
                              .finish_us = 60 * UINT64_C(1000000)},
                             {.name = other, .hostname = other}};
    struct jp_nodes nodes = {.nodes = list, .n_nodes = 2, .over = true};

    (void) state;
    step = &nodes;
    assert_int_equal(find_hang_of(1086, 1082, false), 0);
    assert_int_equal(uneven, 1);
    assert_non_null(strstr(told, "is 4 operations behind the 1,086 of its "
                                 "peers; "));
    assert_non_null(strstr(told, "nothing ended in the step's last 60.0 s; it "
                                 "hung, or was ended in the middle of a step, "
                                 "though its tasks ended without an error"));
    /* all communicators stopped evenly: it did something else at the end */
    assert_int_equal(find_hang(1031), 0);
    assert_int_equal(uneven, 0);
    list[0].finish_us = UINT64_C(1000000); /* no silence to speak of */
    assert_int_equal(find_hang_of(1086, 1082, false), 0);
    assert_int_equal(uneven, 0);
    list[0].finish_us = 60 * UINT64_C(1000000);
    task.status = 9;
    assert_int_equal(find_hang(1030), 1);
    assert_non_null(strstr(told, "nothing ended in the step's last 60.0 s"));
    nodes.over = false; /* the other node may go on */
    assert_int_equal(find_hang(1030), 1);
    assert_null(strstr(told, "nothing ended in the step's last"));
    step = NULL;
}

/* --- a silent end, with all communicators even ---------------------------- */

#define START_US UINT64_C(1795251741000000)
#define SECOND UINT64_C(1000000)

/* Two communicators of both processes, each with an operation a second and one
 * pause of `pause_s`; the tasks end `silent_s` after the last operation. */
static size_t find_silence(uint64_t pause_s, uint64_t silent_s, int status)
{
    static char host[] = "n0", *hosts = host;
    struct jp_comm comms[2];
    struct jp_rank ranks[4];
    struct jp_task tasks[2] = {{.pid = 7, .status = status},
                               {.gtid = 1, .pid = 8, .status = status}};
    struct jp_node node = {
        .name = host, .hostname = host, .tasks = tasks, .n_tasks = 2};
    struct jp_nodes nodes = {.nodes = &node, .n_nodes = 1};
    struct jp_result r = {
        .comms = comms, .n_comms = 2, .ranks = ranks, .n_ranks = 4};
    struct jp_findings list = {0};
    struct jp_processes processes;
    uint64_t at = 0;
    size_t n;

    for (unsigned c = 0; c < 2; c++) {
        comms[c] = (struct jp_comm){.id = "0x1",
                                    .name = host,
                                    .n_ranks = 2,
                                    .nnodes = 1,
                                    .hosts = &hosts,
                                    .n_hosts = 1,
                                    .ops = 40,
                                    .ops_complete = 40};
        for (unsigned k = 0; k < 2; k++)
            ranks[2 * c + k] = (struct jp_rank){.comm = c,
                                                .rank = k,
                                                .host = host,
                                                .pid = 7 + k,
                                                .records = 40};
    }
    r.ops = ops_create();
    for (uint32_t c = 0; c < 2; c++)
        for (uint64_t i = 0; i < 40; i++, r.n_ops++) {
            at = START_US + (i + (i >= 20 ? pause_s : 0)) * SECOND;
            assert_int_equal(ops_add(r.ops, &(struct jp_op){.comm = c,
                                                            .sn = i,
                                                            .n = 2,
                                                            .dump_min_us = at,
                                                            .dump_max_us = at}),
                             0);
        }
    assert_int_equal(ops_end(r.ops), 0);
    node.finish_us = at + silent_s * SECOND;
    assert_int_equal(processes_init_nodes(&processes, &r, &nodes), 0);
    assert_int_equal(hang_findings(&r, &processes, &nodes, true, &list), 0);
    n = list.n;
    if (n) {
        assert_int_equal(list.at[0].kind, JP_FINDING_HANG);
        assert_int_equal(list.at[0].comm, -1);
        snprintf(told, sizeof(told), "%s", list.at[0].text);
    }
    findings_fini(&list);
    processes_fini(&processes);
    ops_destroy(r.ops);
    return n;
}

static void test_silence(void **state)
{
    (void) state;
    assert_int_equal(find_silence(0, 37, 9), 1);
    assert_non_null(strstr(told, "nothing ended in the step's last 37.0 s, and "
                                 "before that never for more than 1"));
    assert_non_null(strstr(told, "a hang, or a stall of unknown cause"));
    assert_int_equal(find_silence(0, 9, 9), 0);
    assert_int_equal(find_silence(0, 37, 0), 0); /* ended well */
    assert_int_equal(find_silence(17, 37, 9), 1);
    assert_int_equal(find_silence(20, 37, 9), 0); /* it paused as long before */
}

/* Two nodes, of which the second one's clock is ahead, with a communicator of
 * both and one of each; silent for silent_s at the end and for pause_s in the
 * middle. Returns the silence, and in *before the longest one before it. */
static uint64_t measure_apart(int64_t ahead_s, uint64_t silent_s,
                              uint64_t pause_s, uint64_t *before)
{
    static char a[] = "n0", b[] = "n1";
    char *hosts[] = {a, b};
    struct jp_comm comms[] = {
        {.id = "0x1", .n_ranks = 2, .hosts = hosts, .n_hosts = 2},
        {.id = "0x2", .n_ranks = 1, .hosts = hosts, .n_hosts = 1},
        {.id = "0x3", .n_ranks = 1, .hosts = hosts + 1, .n_hosts = 1}};
    struct jp_task tasks[2] = {{.status = 9}, {.gtid = 1, .status = 9}};
    struct jp_node list[] = {
        {.name = a, .hostname = a, .tasks = tasks, .n_tasks = 1},
        {.name = b, .hostname = b, .tasks = tasks + 1, .n_tasks = 1}};
    struct jp_nodes nodes = {.nodes = list, .n_nodes = 2};
    struct jp_result r = {.comms = comms, .n_comms = 3};
    struct jp_silence silence;
    uint64_t at = 0;

    r.ops = ops_create();
    for (uint32_t c = 0; c < 3; c++)
        for (uint64_t i = 0; i < 60; i++, r.n_ops++) {
            uint64_t there;

            at = START_US + (i + (i >= 20 ? pause_s : 0)) * SECOND;
            there = at + (uint64_t) (ahead_s * (int64_t) SECOND);
            assert_int_equal(
                ops_add(r.ops,
                        &(struct jp_op){
                            .comm = c,
                            .sn = i,
                            .n = c ? 1 : 2,
                            .dump_min_us = c == 2 || ahead_s < 0 ? there : at,
                            .dump_max_us = c == 1 || ahead_s < 0 ? at : there}),
                0);
        }
    assert_int_equal(ops_end(r.ops), 0);
    list[0].finish_us = at + silent_s * SECOND;
    list[1].finish_us = list[0].finish_us +
                        (uint64_t) (ahead_s * (int64_t) SECOND);
    assert_int_equal(silence_measure(&r, &nodes, &silence), 0);
    assert_true(silence.known && !silence.ended_well);
    *before = silence.before_us;
    ops_destroy(r.ops);
    return silence.us;
}

/* The silences are the same, whatever one node's clock shows. */
static void test_clocks_apart(void **state)
{
    static const int64_t ahead_s[] = {0, 1, 45, 300, 86400, -300, -86400};
    uint64_t before;

    (void) state;
    for (size_t i = 0; i < sizeof(ahead_s) / sizeof(*ahead_s); i++) {
        uint64_t us = measure_apart(ahead_s[i], 40, 0, &before);

        assert_in_range(us, 39 * SECOND, 41 * SECOND);
        assert_in_range(before, SECOND / 2, 2 * SECOND);
        measure_apart(ahead_s[i], 40, 17, &before);
        assert_in_range(before, 16 * SECOND, 19 * SECOND);
    }
}

/* --- what the recorder saw in flight -------------------------------------- */

static void test_recorded(void **state)
{
    static char host[] = "n1", dp[] = "dp", *hosts = host;
    struct jp_comm comm = {
        .id = "0x1", .name = dp, .n_ranks = 2, .hosts = &hosts, .n_hosts = 1};
    struct jp_rank ranks[2] = {{.host = host, .pid = 101},
                               {.rank = 1, .host = host, .pid = 103}};
    struct jp_task tasks[4];
    struct jp_node node = {
        .name = host, .hostname = host, .tasks = tasks, .n_tasks = 4};
    struct jp_nodes nodes = {.nodes = &node, .n_nodes = 1};
    struct jp_result r = {.comms = &comm,
                          .n_comms = 1,
                          .ranks = ranks,
                          .n_ranks = 2,
                          .hang = {.operations = 1,
                                   .age_us = JP_HANG_US,
                                   .text = "rank 1 (n1 pid 103) never entered "
                                           "AllReduce 9 of dp",
                                   .whom = strlen("rank 1 (n1 pid 103)"),
                                   .rank = 1,
                                   .world_rank = -1,
                                   .pid = 103,
                                   .host = "n1"}};
    struct jp_findings list = {0};
    struct jp_processes processes;

    (void) state;
    for (unsigned i = 0; i < 4; i++)
        tasks[i] = (struct jp_task){.gtid = i, .pid = 100 + i, .status = 9};
    assert_int_equal(processes_init_nodes(&processes, &r, &nodes), 0);
    assert_int_equal(hang_findings(&r, &processes, &nodes, true, &list), 0);
    assert_int_equal(list.n, 1);
    assert_string_equal(list.at[0].text,
                        "rank 3 (n1 pid 103, rank 1 of the communicator) never "
                        "entered AllReduce 9 of dp");
    assert_int_equal(list.at[0].world_rank, 3);
    findings_fini(&list);
    processes_fini(&processes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hang),         cmocka_unit_test(test_uneven),
        cmocka_unit_test(test_ended_well),   cmocka_unit_test(test_silence),
        cmocka_unit_test(test_clocks_apart), cmocka_unit_test(test_recorded)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
