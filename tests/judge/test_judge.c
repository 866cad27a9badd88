/* test_judge.c - own times, roles, excess, cost and names of small runs whose
 * figures are known. The first one is the example of docs/dev/internals.md. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/aggregate/intervals.h"
#include "orchestrator/aggregate/timeline.h"
#include "orchestrator/judge/judge.h"
#include "tests/insight/simjob_random.h"

#define MOST 16
#define EPOCH UINT64_C(1700000000000000)

/* A run of up to MOST processes, per_host on a host, known by durations alone,
 * or by start and end. */
static struct {
    struct jp_result result;
    struct jp_comm comms[MOST];
    struct jp_rank ranks[4 * MOST];
    struct timeline *lines[MOST];
    struct jp_processes processes;
    double clock[MOST]; /* of each process, us */
    uint64_t sn[MOST], p2p[MOST];
    uint64_t start_us[MOST]; /* when a process began, by its own clock */
    bool timed;
    double jump_us; /* a step of the clock of process 1 */
} run;

/* How often logs without start and end are written. */
#define WRITTEN_US 5000

/* What timelines have room for; with bins they keep what is known of all. */
static uint64_t line_limit = 1 << 20, line_bins;

static char hosts[MOST][8];
static uint32_t per_host = 4;

static void begin(uint32_t processes, bool timed)
{
    static char all_reduce[] = "AllReduce", all_to_all[] = "AlltoAll";
    static char *names[] = {all_reduce, all_to_all};

    memset(&run, 0, sizeof(run));
    run.timed = timed;
    run.result.coll_names = names;
    run.result.n_coll_names = 2;
    run.result.comms = run.comms;
    run.result.ranks = run.ranks;
    if (timed) {
        run.result.timelines = run.lines;
        run.result.n_timelines = processes;
    } else {
        run.result.sequences = run.lines;
        run.result.n_sequences = processes;
    }
    for (uint32_t p = 0; p < processes; p++) {
        snprintf(hosts[p], sizeof(hosts[p]), "n%02u", p / per_host);
        run.start_us[p] = EPOCH + p * UINT64_C(3600000000);
        run.lines[p] = timed ? timeline_create(line_limit, line_bins)
                             : timeline_create_order(line_limit, line_bins);
        assert_non_null(run.lines[p]);
    }
}

/* A communicator of n processes: first, first + 1, ... */
static uint32_t add_comm(uint32_t first, uint32_t n)
{
    uint32_t c = (uint32_t) run.result.n_comms++;
    struct jp_comm *comm = &run.comms[c];

    *comm = (struct jp_comm){.n_ranks = n, .nnodes = 1};
    snprintf(comm->id, sizeof(comm->id), "0x%x", 256 + c);
    for (uint32_t i = 0; i < n; i++)
        run.ranks[run.result.n_ranks++] =
            (struct jp_rank){.comm = c,
                             .rank = i,
                             .host = hosts[first + i],
                             .pid = 100 + first + i};
    return c;
}

static struct record_text text(const char *at)
{
    return (struct record_text){at, strlen(at)};
}

/* Process p is in an operation, as rank r of communicator c. */
static void put(uint32_t p, uint32_t c, uint32_t r, const char *func,
                uint32_t peer, uint64_t sn, uint64_t bytes, double from,
                double to)
{
    struct record record = {.id = text(run.comms[c].id),
                            .host = text(hosts[p]),
                            .pid = 100 + p,
                            .func = text(func),
                            .p2p = !strcmp(func, "Send") ||
                                   !strcmp(func, "Recv"),
                            .peer = peer,
                            .sn = sn,
                            .bytes = bytes,
                            .exec_us = (uint64_t) (to - from),
                            .rank = r,
                            .n_ranks = run.comms[c].n_ranks,
                            .nnodes = 1};

    if (run.timed) {
        uint64_t ahead = p == 1 ? (uint64_t) run.jump_us : 0;

        record.start_us = run.start_us[p] + (uint64_t) from + ahead;
        record.end_us = run.start_us[p] + (uint64_t) to + ahead;
    } else { /* written some time later, each process at its own times */
        timeline_add_time(run.lines[p], record.exec_us,
                          run.start_us[p] +
                              ((uint64_t) to / WRITTEN_US + 1) * WRITTEN_US);
    }
    assert_int_equal(timeline_add(run.lines[p], &record), 0);
}

/* All members of c, from process `first` on, meet; `without` has no record of
 * it. */
static void meet_without(uint32_t c, uint32_t first, double net,
                         uint32_t without)
{
    double last = 0;
    uint32_t n = run.comms[c].n_ranks;

    for (uint32_t i = 0; i < n; i++)
        last = fmax(last, run.clock[first + i]);
    for (uint32_t i = 0; i < n; i++) {
        if (first + i != without)
            put(first + i, c, i, "AllReduce", 0, run.sn[c], 1000,
                run.clock[first + i], last + net);
        run.clock[first + i] = last + net;
    }
    run.sn[c]++;
}

static void meet(uint32_t c, uint32_t first, double net)
{
    meet_without(c, first, net, UINT32_MAX);
}

/* The recording was off then, in us after the start of process 3; 0: never. */
static uint64_t off_from, off_to;

static struct judge *judge(void)
{
    struct judge *j;

    if (off_to) {
        run.result.quality.pauses[0] = (struct jp_pause){
            run.start_us[3] + off_from, run.start_us[3] + off_to, 0};
        run.result.quality.n_pauses = 1;
    }

    for (uint32_t p = 0; p < MOST; p++)
        if (run.lines[p] && run.lines[p]->intervals)
            assert_int_equal(intervals_cut(run.lines[p]->intervals), 0);
    assert_int_equal(processes_init_nodes(&run.processes, &run.result, NULL),
                     0);
    j = judge_run(&run.result, &run.processes, 0);
    assert_non_null(j);
    return j;
}

static void end(struct judge *j)
{
    judge_destroy(j);
    processes_fini(&run.processes);
    for (uint32_t p = 0; p < MOST; p++)
        timeline_destroy(run.lines[p]);
}

static void assert_near(double value, double wanted)
{
    if (!(fabs(value - wanted) < 1e-3))
        fail_msg("%g, not %g", value, wanted);
}

static double sum_blocks(const struct judge_process *x)
{
    double sum = 0;

    for (unsigned k = 0; k < JUDGE_BLOCKS; k++)
        sum += x->blocks_us[k];
    return sum;
}

/* --- the example of docs/dev/internals.md
 * ------------------------------------- */

/* What each rank computes before each operation, us. */
static const double computed[6][3] = {{500, 500, 500}, {500, 500, 560},
                                      {500, 520, 560}, {500, 500, 560},
                                      {510, 500, 500}, {500, 500, 560}};

static void make_example(bool timed)
{
    uint32_t c;

    begin(3, timed);
    c = add_comm(0, 3);
    for (unsigned i = 0; i < 6; i++) {
        for (uint32_t p = 0; p < 3; p++)
            run.clock[p] += computed[i][p];
        meet(c, 0, 100);
    }
}

/* How long the run takes without the excess of rank 2: before each operation it
 * spends as long as the median of the others. */
static double run_without(const struct judge_run *matrix, double us)
{
    const size_t who[] = {2};
    const struct replay_cause late = {REPLAY_LATE, .processes = who, .n = 1};
    struct replay_step steps[18];
    struct replay_state state;
    const struct replay_order order = {.steps = steps,
                                       .first = matrix->first,
                                       .n = 18,
                                       .n_ops = matrix->n_ops,
                                       .comm = (uint32_t[6]){0},
                                       .net_us = matrix->net_us,
                                       .run_us = us};
    struct replay_gain gain;
    struct replay *replay;
    double all;

    for (unsigned i = 0; i < 18; i++)
        steps[i] = (struct replay_step){.op = matrix->items[i].op,
                                        .kind = matrix->items[i].col,
                                        .own_us = matrix->items[i].own_us,
                                        .time_us = matrix->items[i].time_us};
    replay = replay_of_order(matrix->r, matrix->p, &order, &state);
    assert_non_null(replay);
    assert_true(state.usable);
    assert_near(state.run_us, us);
    assert_int_equal(replay_gains(replay, &late, 1, &gain, &all), 0);
    replay_destroy(replay);
    return us * (1 - gain.alone);
}

static void example(void **state)
{
    static const double own[6][3] = {{0, 0, 0},  {0, 0, 60}, {0, 20, 60},
                                     {0, 0, 60}, {10, 0, 0}, {0, 0, 60}};
    struct judge_run matrix = {.r = &run.result, .p = &run.processes};
    double us;

    (void) state;
    make_example(false);
    assert_near(run.clock[0], 3850); /* the run */
    assert_int_equal(processes_init_nodes(&run.processes, &run.result, NULL),
                     0);
    assert_int_equal(judge_build(&matrix), 0);
    assert_null(matrix.why);
    assert_int_equal(matrix.n_roles, 1);
    assert_int_equal(matrix.n_ops, 6);
    assert_int_equal(judge_walk(&matrix, &us), 0);
    assert_near(us, 850); /* without the 500 that all compute, six times */
    for (uint32_t p = 0; p < 3; p++)
        for (unsigned i = 0; i < 6; i++) {
            uint32_t item = matrix.first[p] + i;

            assert_near((double) matrix.items[item].own_us, own[i][p]);
            assert_near((double) matrix.net_us[i], 100);
            assert_int_equal(matrix.items[item].place, i);
        }
    assert_near(run_without(&matrix, us), 630);
    judge_build_fini(&matrix);
    end(NULL);
}

/* Only the excess is read from the judge: six operations name nobody. */
static void example_excess(void **state)
{
    (void) state;
    for (int timed = 0; timed < 2; timed++) {
        struct judge *j;

        make_example(timed);
        j = judge();
        assert_true(j->usable);
        assert_int_equal(j->timed, timed);
        assert_int_equal(j->n, 0);
        assert_int_equal(j->processes[2].intervals, 5);
        assert_int_equal(j->processes[2].later, 4);
        /* that rank 0 and rank 1 are ahead of it makes it no later */
        assert_near(sum_blocks(&j->processes[2]), 225);
        end(j);
    }
}

/* --- what is missing ------------------------------------------------------ */

/* A record is lost: the others' intervals are as they were. */
static void lost_record(void **state)
{
    struct judge_run matrix = {.r = &run.result, .p = &run.processes};
    double us;
    uint32_t c;

    (void) state;
    begin(4, false);
    c = add_comm(0, 4);
    for (unsigned i = 0; i < 10; i++) {
        for (uint32_t p = 0; p < 4; p++)
            run.clock[p] += p == 3 ? 700 : 600;
        meet_without(c, 0, 50, i == 5 ? 1 : UINT32_MAX);
    }
    assert_int_equal(processes_init_nodes(&run.processes, &run.result, NULL),
                     0);
    assert_int_equal(judge_build(&matrix), 0);
    assert_int_equal(judge_walk(&matrix, &us), 0);
    assert_int_equal(matrix.lacking, 1);
    for (unsigned i = 1; i < 10; i++)
        assert_near((double) matrix.items[matrix.first[3] + i].own_us, 100);
    judge_build_fini(&matrix);
    end(NULL);
}

/* A process without any record is not waited for. */
static void lost_process(void **state)
{
    struct judge *j;
    uint32_t c;

    (void) state;
    begin(4, false);
    c = add_comm(0, 4);
    for (unsigned i = 0; i < 100; i++) {
        for (uint32_t p = 0; p < 4; p++)
            run.clock[p] += 600;
        meet_without(c, 0, 50, 2);
    }
    j = judge();
    assert_true(j->usable);
    assert_int_equal(j->lacking, 0);
    assert_int_equal(j->n, 0);
    end(j);
}

/* AlltoAlls made of messages, and a message from a rank that the communicator
 * does not have: it is none of these. */
static void far_peer(void **state)
{
    struct judge *j;
    uint32_t c;

    (void) state;
    begin(4, true);
    c = add_comm(0, 4);
    for (unsigned i = 0; i < 100; i++) {
        for (uint32_t p = 0; p < 4; p++)
            for (uint32_t peer = 0; peer < 8; peer++)
                put(p, c, p, peer % 2 ? "Send" : "Recv", peer / 2, ++run.p2p[p],
                    1000, i * 1000.0, i * 1000.0 + 50);
        put(0, c, 0, "Send", RECORD_MAX_RANKS - 1, ++run.p2p[0], 1000,
            i * 1000.0 + 500, i * 1000.0 + 550);
    }
    j = judge();
    assert_true(j->usable);
    /* of each process the AlltoAlls, and of one those messages */
    assert_int_equal(j->events, 4 * 100 + 100);
    assert_int_equal(j->n, 0);
    end(j);
}

/* Two communicators whose records are written one after the other: out of
 * order, so that nothing is claimed. */
static void other_order(void **state)
{
    struct judge *j;
    uint32_t a, b;

    (void) state;
    begin(2, false);
    a = add_comm(0, 2);
    b = add_comm(0, 2);
    for (unsigned i = 0; i < 200; i++) {
        put(0, a, 0, "AllReduce", 0, i, 1000, 0, 100);
        put(0, b, 0, "AllReduce", 0, i, 1000, 0, 100);
    }
    for (unsigned i = 0; i < 200; i++)
        put(1, b, 1, "AllReduce", 0, i, 1000, 0, 100);
    for (unsigned i = 0; i < 200; i++)
        put(1, a, 1, "AllReduce", 0, i, 1000, 0, 100);
    j = judge();
    assert_false(j->usable);
    assert_non_null(strstr(j->why, "order"));
    end(j);
}

/* A message, as its sender or its receiver has it. */
static void put_message(uint32_t p, uint32_t c, bool sends, double from,
                        double to)
{
    put(p, c, p, sends ? "Send" : "Recv", 1 - p, ++run.p2p[p], 1000, from, to);
}

/* Two processes send to each other in one launch, and both write the Send
 * first. That is no disorder, and rank 1 computes 100 us longer each time. */
static void crossing(void **state)
{
    struct judge_run matrix = {.r = &run.result, .p = &run.processes};
    uint32_t c, joined = 0;
    double us;

    (void) state;
    begin(2, false);
    c = add_comm(0, 2);
    for (unsigned i = 0; i < 100; i++) {
        double to = run.clock[1] + 750;

        for (uint32_t p = 0; p < 2; p++) {
            run.clock[p] += 600 + 100 * p;
            put_message(p, c, true, run.clock[p], to);
            put_message(p, c, false, run.clock[p], to);
            run.clock[p] = to;
        }
    }
    assert_int_equal(processes_init_nodes(&run.processes, &run.result, NULL),
                     0);
    assert_int_equal(judge_build(&matrix), 0);
    assert_int_equal(judge_walk(&matrix, &us), 0);
    assert_int_equal(matrix.lacking, 0);
    assert_null(matrix.why);
    assert_near(us, 15000); /* the 100 of rank 1, and 50, each time */
    for (unsigned i = 0; i < 200; i++)
        assert_near((double) matrix.items[matrix.first[1] + i].own_us,
                    i % 2 ? 0 : 100);
    /* a Send and its Recv begin together: one of each two is joined */
    for (unsigned i = 0; i < 400; i++)
        joined += matrix.items[i].joined;
    assert_int_equal(joined, 200);
    judge_build_fini(&matrix);
    end(NULL);
}

/* --- roles ---------------------------------------------------------------- */

/* Four stages of one rank each, two pipelines: only ranks of a stage are
 * compared. The third stage computes longer than the others, and that is no
 * excess; in the second pipeline it computes longer still. */
static void stages(void **state)
{
    struct judge *j;
    uint32_t c[2];

    (void) state;
    begin(8, false);
    c[0] = add_comm(0, 4);
    c[1] = add_comm(4, 4);
    for (unsigned i = 0; i < 100; i++)
        for (uint32_t g = 0; g < 2; g++)
            for (uint32_t s = 0; s < 4; s++) {
                uint32_t p = 4 * g + s;

                run.clock[p] += s == 2 ? 900 + 200 * g : 500;
                if (s < 3) {
                    double to = fmax(run.clock[p], run.clock[p + 1]) + 20;

                    put(p, c[g], s, "Send", s + 1, ++run.p2p[p], 1000,
                        run.clock[p], to);
                    put(p + 1, c[g], s + 1, "Recv", s, ++run.p2p[p + 1], 1000,
                        run.clock[p + 1], to);
                    run.clock[p] = run.clock[p + 1] = to;
                }
            }
    j = judge();
    assert_true(j->usable);
    assert_int_equal(j->roles, 4);
    for (uint32_t s = 0; s < 4; s++)
        assert_int_equal(j->processes[s].role, j->processes[s + 4].role);
    assert_true(j->processes[6].comm_us > 0);
    /* stages compared with each other: the third one is longer than all others,
     * by the 450 us (of one pipeline 400, of the other 600) and what the others
     * wait beyond that */
    for (uint32_t s = 0; s < 4; s++) {
        enum judge_side side[8];
        struct judge_group group;

        for (uint32_t p = 0; p < 8; p++)
            side[p] = p % 4 == s ? JUDGE_IN : JUDGE_OTHER;
        assert_true(judge_compare(j, side, 8, 4, &group));
        if (s == 2)
            assert_true(group.us > group.least_us && group.us > 40000 &&
                        group.us < 60000);
        else
            assert_true(group.us < 0);
        side[s] = side[s + 4] = JUDGE_ASIDE;
        assert_false(judge_compare(j, side, 8, 4, &group));
    }
    end(j);
}

/* Two groups of n that do different work, and meet once in each iteration. By
 * blocks of equal time, or of their own operations, they would differ by which
 * of these fall into a block; the second group computes 2 % longer. */
static struct judge *run_groups(uint32_t n, unsigned iterations,
                                enum judge_side side[MOST],
                                struct judge_group *group)
{
    struct simjob_random random = {31};
    struct judge *j;
    uint32_t c[3];

    begin(2 * n, true);
    c[0] = add_comm(0, n);
    c[1] = add_comm(n, n);
    c[2] = add_comm(0, 2 * n);
    for (unsigned i = 0; i < iterations; i++) {
        for (unsigned k = 0; k < 4; k++)
            for (uint32_t g = 0; g < 2; g++) {
                static const double us[2][4] = {{9000, 1000, 1000, 4000},
                                                {1000, 1000, 9000, 4300}};

                for (uint32_t p = n * g; p < n * g + n; p++)
                    run.clock[p] += us[g][k] + 20 * random_unit(&random);
                meet(c[g], n * g, 50);
            }
        meet(c[2], 0, 50);
    }
    j = judge();
    for (uint32_t p = 0; p < 2 * n; p++)
        side[p] = p < n ? JUDGE_OTHER : JUDGE_IN;
    assert_true(judge_compare(j, side, 2 * n, 2, group));
    return j;
}

static void whole_iterations(void **state)
{
    static const unsigned iterations[] = {40, 20};

    (void) state;
    for (size_t i = 0; i < sizeof(iterations) / sizeof(*iterations); i++) {
        double excess_us = iterations[i] * 300, cost_us;
        enum judge_side side[MOST];
        struct judge_group group;
        struct judge *j = run_groups(8, iterations[i], side, &group);

        assert_true(group.us > group.least_us);
        assert_true(fabs(group.us - excess_us) < excess_us / 30);
        /* all wait for it; with less to do it would wait for the others */
        for (unsigned times = 1; times <= 2; times++) {
            assert_int_equal(judge_group_cost(j, &run.result, &run.processes,
                                              side, times * group.us, &cost_us),
                             0);
            assert_true(fabs(cost_us - excess_us) < excess_us / 20);
        }
        end(j);
    }
}

/* Two processes and two others: GPUs of one kind differ by as much. */
static void groups_of_few(void **state)
{
    enum judge_side side[MOST];
    struct judge_group group;
    struct judge *j;

    (void) state;
    j = run_groups(2, 40, side, &group);
    assert_true(fabs(group.us - 40 * 300) < 40 * 10);
    assert_true(group.us > 20 * group.error_us);
    assert_true(group.us < group.least_us);
    end(j);
}

/* --- names ---------------------------------------------------------------- */

enum {
    CLEAN,
    LATE,
    ONSET,
    NODE,
    STALL,
    COMES,
    WINDOW,
    NODE_ONSET,
    HALF,
    HEATS
};
static bool even; /* AllReduces only */

/* Returns true if rank p computes longer before operation i. COMES: in every
 * other fifth of the run. HALF: half of the ranks, of two hosts. */
static bool is_slow(int fault, uint32_t p, unsigned i)
{
    switch (fault) {
    case LATE:
        return p == 5;
    case NODE:
        return p / 4 == 1;
    case ONSET:
        return p == 5 && i >= 240;
    case COMES:
        return p == 5 && i / 80 % 2;
    case WINDOW:
        return p == 5 && i >= 150 && i < 300;
    case NODE_ONSET:
        return p / 4 == 1 && i >= 240;
    case HALF:
        return p / 8 == 1;
    default:
        return false;
    }
}

/* 16 ranks of four hosts, 400 AlltoAlls of which no two ranks send as much,
 * with an AllReduce each ten. */
static struct judge *make_job(int fault, uint64_t seed, bool timed)
{
    struct simjob_random r = {seed};
    uint32_t c;

    begin(16, timed);
    c = add_comm(0, 16);
    for (unsigned i = 0; i < 400; i++) {
        double last = 0;

        for (uint32_t p = 0; p < 16; p++) {
            double us = 1000 * (1 + 0.03 * random_normal(&r));

            if (is_slow(fault, p, i))
                us *= 1.12;
            if (fault == HEATS && p / 4 == 1 && i > 160)
                us *= 1 + 0.3 * fmin((i - 160) / 200.0, 1);
            if (fault == STALL && p == 5 && (i == 120 || i == 300))
                us += 40000;
            run.clock[p] += us;
            last = fmax(last, run.clock[p]);
        }
        if (i % 10 == 9 || even) {
            meet(c, 0, 200);
            continue;
        }
        for (uint32_t p = 0; p < 16; p++) {
            double to = last + 300 * (0.7 + 0.6 * random_unit(&r));

            put(p, c, p, "AlltoAll", 0, i, 1000 + random_below(&r, 1000),
                run.clock[p], to);
            run.clock[p] = to;
        }
    }
    return judge();
}

static void names(void **state)
{
    static const enum judge_kind kinds[] = {[LATE] = JUDGE_LATE,
                                            [ONSET] = JUDGE_ONSET,
                                            [NODE] = JUDGE_NODE,
                                            [STALL] = JUDGE_STALL};

    (void) state;
    for (int timed = 0; timed < 2; timed++)
        for (int fault = LATE; fault <= STALL; fault++) {
            struct judge *j = make_job(fault, 7 + (uint64_t) fault, timed);

            assert_true(judge_speaks(j));
            assert_int_equal(j->n, 1);
            assert_int_equal(j->answers[0].kind, kinds[fault]);
            assert_int_equal(j->answers[0].host, 1);
            if (fault != NODE)
                assert_int_equal(j->answers[0].process, 5);
            if (fault == STALL)
                assert_int_equal(j->answers[0].times, 2);
            if (fault == ONSET)
                assert_true(fabs(j->answers[0].from - 0.6) < 0.05);
            end(j);
        }
}

/* Who is late in a part of the run, or now and then. */
static void parts(void **state)
{
    (void) state;
    for (int timed = 0; timed < 2; timed++)
        for (int fault = COMES; fault <= NODE_ONSET; fault++) {
            struct judge *j = make_job(fault, 70 + (uint64_t) fault, timed);
            const struct judge_answer *a = j->answers;

            assert_true(judge_speaks(j));
            assert_int_equal(j->n, 1);
            assert_int_equal(a->host, 1);
            assert_int_equal(a->kind,
                             fault == NODE_ONSET ? JUDGE_NODE : JUDGE_ONSET);
            assert_int_equal(a->stretches, fault == COMES ? 2 : 1);
            if (fault == COMES)
                assert_true(fabs(a->share - 0.4) < 0.1);
            if (fault != NODE_ONSET)
                assert_int_equal(a->process, 5);
            if (fault == WINDOW)
                assert_true(fabs(a->from - 0.375) < 0.05 &&
                            fabs(a->to - 0.75) < 0.05);
            if (fault == NODE_ONSET)
                assert_true(fabs(a->from - 0.6) < 0.05 && a->to >= 1);
            end(j);
        }
}

/* A node that grows late over half of the run: no level before and after fits
 * it, and what it varies by is no noise. */
static void heats(void **state)
{
    (void) state;
    for (int timed = 0; timed < 2; timed++) {
        struct judge *j = make_job(HEATS, 91, timed);
        const struct judge_answer *a = j->answers;

        assert_true(judge_speaks(j));
        assert_int_equal(j->n, 1);
        assert_int_equal(a->kind, JUDGE_NODE);
        assert_int_equal(a->host, 1);
        assert_true(fabs(a->from - 0.42) < 0.06 && a->to >= 1);
        end(j);
    }
}

/* A node of two grows late, while evaluations have hardly any work: there it
 * loses hardly anything, which is no noise of its own. The other node
 * seems early in the same blocks, and does not show how long noise lasts. */
static void uneven_work(void **state)
{
    struct simjob_random r = {17};
    const struct judge_answer *a;
    struct judge *j;
    uint32_t c;

    (void) state;
    per_host = 8;
    begin(16, true);
    per_host = 4;
    c = add_comm(0, 16);
    for (unsigned i = 0; i < 400; i++) {
        double work = i % 60 < 40 ? 50 : 1000;

        for (uint32_t p = 0; p < 16; p++) {
            double us = work * (1 + 0.1 * random_normal(&r));

            if (p / 8 == 1 && i > 200)
                us *= 1 + 0.3 * fmin((i - 200) / 40.0, 1);
            run.clock[p] += us;
        }
        meet(c, 0, 200);
    }
    j = judge();
    a = j->answers;
    assert_true(judge_speaks(j));
    assert_int_equal(j->n, 1);
    assert_int_equal(a->kind, JUDGE_NODE);
    assert_int_equal(a->host, 1);
    assert_true(fabs(a->from - 0.5) < 0.1 && a->to > 0.9);
    /* the error of its excess is that of noise */
    assert_true(a->error_us < a->excess_us / 4);
    end(j);
}

/* Of two hosts one is late: half of all ranks. How ranks of one host differ
 * shows that hosts do not differ by chance. */
static void half(void **state)
{
    (void) state;
    per_host = 8;
    for (int timed = 0; timed < 2; timed++) {
        struct judge *j = make_job(HALF, 90, timed);

        assert_true(judge_speaks(j));
        assert_int_equal(j->n, 1);
        assert_int_equal(j->answers[0].kind, JUDGE_NODE);
        assert_int_equal(j->answers[0].host, 1);
        end(j);
    }
    per_host = 4;
}

static double longest_clock(void)
{
    double us = 0;

    for (uint32_t p = 0; p < 16; p++)
        us = fmax(us, run.clock[p]);
    return us;
}

/* The replay takes the rest of its excess away, too, in other parts of the run
 * and between stalls. */
static double most_of(int fault)
{
    return fault == LATE ? 1.001 : 1.1;
}

/* The cost is what the same job takes longer than without its fault. Where
 * ranks leave an AlltoAll at different times, it is so to within a third by
 * durations, and with start and end no more than the excess. */
static void cost(void **state)
{
    static const int faults[] = {LATE, NODE, STALL, ONSET};

    (void) state;
    for (size_t i = 0; i < 4 * sizeof(faults) / sizeof(*faults); i++) {
        bool timed = i & 1;
        double without, true_us, most;
        struct judge *j;

        even = i & 2;
        end(make_job(CLEAN, 21, timed));
        run.processes = (struct jp_processes){0};
        without = longest_clock();
        j = make_job(faults[i / 4], 21, timed);
        true_us = longest_clock() - without;
        assert_int_equal(j->n, 1);
        most = even ? 0.1 : timed ? 2 : 0.34;
        if (!(fabs(j->answers[0].cost_us / true_us - 1) < most))
            fail_msg("fault %d, timed %d, even %d: %g, not %g", faults[i / 4],
                     timed, even, j->answers[0].cost_us, true_us);
        if (!(j->answers[0].cost_us <
              most_of(faults[i / 4]) * j->answers[0].excess_us))
            fail_msg("fault %d, timed %d, even %d: %g of %g", faults[i / 4],
                     timed, even, j->answers[0].cost_us,
                     j->answers[0].excess_us);
        end(j);
    }
    even = false;
}

static void clean(void **state)
{
    (void) state;
    for (uint64_t seed = 100; seed < 140; seed++) {
        struct judge *j = make_job(CLEAN, seed, seed % 2);

        assert_true(judge_speaks(j));
        assert_int_equal(j->n, 0);
        if (!(j->least_us < 0.02 * longest_clock()))
            fail_msg("only %g of %g", j->least_us, longest_clock());
        end(j);
    }
}

/* Of 16 processes six pause now and then: five of them in any block, process 5
 * in each of the last four ones. */
static struct judge *make_pauses(uint64_t seed, bool timed)
{
    struct simjob_random random = {seed};
    bool pause[16][400] = {{false}};
    struct judge *j;
    uint32_t c;

    begin(16, timed);
    c = add_comm(0, 16);
    for (unsigned i = 0; i < 30; i++)
        pause[6 + 2 * (i % 5)][random_below(&random, 400)] = true;
    for (unsigned i = 0; i < 4; i++)
        pause[5][356 + 12 * i] = true;
    for (unsigned i = 0; i < 400; i++) {
        for (uint32_t p = 0; p < 16; p++)
            run.clock[p] +=
                1000 + 300 * random_unit(&random) +
                (pause[p][i] ? 3000 + 900 * random_unit(&random) : 0);
        meet(c, 0, 100);
    }
    assert_int_equal(processes_init_nodes(&run.processes, &run.result, NULL),
                     0);
    j = judge_run(&run.result, &run.processes, run.clock[0]);
    assert_non_null(j);
    return j;
}

/* Pauses that are close to each other by chance are no lateness since the first
 * one: the blocks of the others show how often a block has one. */
static void pauses(void **state)
{
    (void) state;
    for (uint64_t seed = 1; seed < 9; seed++) {
        struct judge *j = make_pauses(seed, seed % 2);

        assert_true(judge_speaks(j));
        assert_int_equal(j->n, 0);
        end(j);
    }
}

/* Eight processes, each of which is slower for some time, then faster: of what
 * it varies by, 98 % are carried to the next of 400 operations. */
static struct judge *make_wandering(uint64_t seed, bool timed)
{
    struct simjob_random random = {seed};
    double wander[8] = {0};
    struct judge *j;
    uint32_t c;

    begin(8, timed);
    c = add_comm(0, 8);
    for (unsigned i = 0; i < 400; i++) {
        for (uint32_t p = 0; p < 8; p++) {
            wander[p] = 0.98 * wander[p] + 14 * random_normal(&random);
            run.clock[p] += 1000 + wander[p] + 20 * random_unit(&random);
        }
        meet(c, 0, 100);
    }
    assert_int_equal(processes_init_nodes(&run.processes, &run.result, NULL),
                     0);
    j = judge_run(&run.result, &run.processes, run.clock[0]);
    assert_non_null(j);
    return j;
}

/* Noise that lasts for many blocks is no lateness in a part of the run: the
 * peers show how long it does. */
static void wandering(void **state)
{
    (void) state;
    for (uint64_t seed = 1; seed <= 80; seed++) {
        struct judge *j = make_wandering(seed, seed % 2);

        assert_true(judge_speaks(j));
        if (j->n)
            fail_msg("seed %d: %g of %g", (int) seed, j->answers[0].excess_us,
                     j->run_us);
        end(j);
    }
}

/* --- roles of a few ------------------------------------------------------- */

/* n processes of one role, each in 400 operations; the last `late` of them
 * compute longer by that share. */
static struct judge *make_few(uint32_t n, uint32_t late, double by, bool timed)
{
    struct simjob_random random = {17 * n + late};
    struct judge *j;
    uint32_t c;

    begin(n, timed);
    c = add_comm(0, n);
    for (unsigned i = 0; i < 400; i++) {
        for (uint32_t p = 0; p < n; p++)
            run.clock[p] += (1000 + 40 * random_unit(&random)) *
                            (p + late >= n ? 1 + by : 1);
        meet(c, 0, 100);
    }
    /* clocks by durations do not have what all compute */
    assert_int_equal(processes_init_nodes(&run.processes, &run.result, NULL),
                     0);
    j = judge_run(&run.result, &run.processes, run.clock[0]);
    assert_non_null(j);
    return j;
}

/* A late one is named, by how much it is later: neither a pair nor three make
 * that more. The least that would be named is what is worth it in any case, or,
 * by durations, what as few may differ by. */
static void few_named(void **state)
{
    (void) state;
    for (int timed = 0; timed < 2; timed++)
        for (uint32_t n = 2; n < 8; n++) {
            struct judge *j = make_few(n, 1, 0.08, timed);

            assert_true(judge_speaks(j));
            assert_int_equal(j->n, 1);
            assert_int_equal(j->answers[0].kind, JUDGE_LATE);
            assert_int_equal(j->answers[0].process, n - 1);
            if (!(fabs(j->answers[0].excess_us / (400 * 1020 * 0.08) - 1) <
                  0.1))
                fail_msg("timed %d, %u: %g", timed, n, j->answers[0].excess_us);
            if (!(j->least_us < (timed ? 0.031 : 0.07) * j->run_us))
                fail_msg("timed %d, %u: least %g of %g", timed, n, j->least_us,
                         j->run_us);
            end(j);
        }
}

/* --- turns ---------------------------------------------------------------- */

/* Eight processes of one role; before each operation another one computes
 * longer by that share. once: only before the one in the middle. */
static struct judge *make_turns(double by, bool once, bool timed)
{
    struct simjob_random random = {29};
    struct judge *j;
    uint32_t c;

    begin(8, timed);
    c = add_comm(0, 8);
    for (unsigned i = 0; i < 400; i++) {
        bool any = !once || i == 200;

        for (uint32_t p = 0; p < 8; p++)
            run.clock[p] += (1000 + 40 * random_unit(&random)) *
                            (any && p == (5 * i) % 8 ? 1 + by : 1);
        meet(c, 0, 100);
    }
    assert_int_equal(processes_init_nodes(&run.processes, &run.result, NULL),
                     0);
    j = judge_run(&run.result, &run.processes, run.clock[0]);
    assert_non_null(j);
    return j;
}

/* Who computes longer by turns costs seven eighths of that; the start is left
 * out, and each is late as often as the others, so nobody is named. */
static void turns(void **state)
{
    (void) state;
    for (int timed = 0; timed < 2; timed++) {
        struct judge *j = make_turns(0.4, false, timed);
        double wanted = 400 * 1020 * (1 - JUDGE_START) * 0.4 * 7 / 8;

        assert_int_equal(j->n, 0);
        assert_int_equal(j->turns.processes, 8);
        assert_true(judge_turns_asked(j) == timed);
        if (!timed)
            wanted = 0;
        if (!(fabs(j->turns.cost_us - wanted) <= 0.15 * wanted))
            fail_msg("timed %d: %g, not %g", timed, j->turns.cost_us, wanted);
        end(j);
        j = make_turns(0, false, timed);
        assert_true(j->turns.cost_us < JUDGE_TURNS * j->run_us);
        end(j);
        /* one moment is no turns, however long */
        j = make_turns(400, true, timed);
        assert_true(j->turns.cost_us < JUDGE_TURNS * j->run_us);
        end(j);
        /* nor is a late rank */
        j = make_few(8, 1, 0.4, timed);
        assert_int_equal(j->n, 1);
        assert_true(j->turns.cost_us < JUDGE_TURNS * j->run_us);
        end(j);
    }
}

/* Less than that, two of four, and nobody late. */
static void few_silent(void **state)
{
    (void) state;
    for (int timed = 0; timed < 2; timed++)
        for (uint32_t n = 2; n < 8; n++) {
            struct judge *j = make_few(n, 1, n == 2 ? 0.025 : 0.015, timed);

            assert_int_equal(j->n, 0);
            end(j);
            j = make_few(n, 0, 0, timed);
            assert_int_equal(j->n, 0);
            end(j);
            if (n % 2 == 0 && n > 2) {
                j = make_few(n, n / 2, 0.08, timed);
                assert_int_equal(j->n, 0);
                end(j);
            }
        }
}

/* Gradients that are reduced in buckets beside the computation. */
struct buckets {
    uint32_t ranks, steps, n; /* n of a step */
    double us, noise;         /* of the computation before each; its scatter,
                                 as a share */
    double forward;           /* before the first one, as so many others */
    double net_us;            /* of each */
    bool unlike;              /* the last one is smaller */
    bool closed;              /* another operation ends each step */
    double late;              /* the last rank computes longer by that share */
    double from;              /* ... from that part of the run on */
    bool node;                /* ... and so do all ranks of its node */
    double stalls;            /* it stalls in that share of the steps, for as
                                 long as it computes before two buckets on
                                 average */
};

static bool is_late(const struct buckets *x, uint32_t rank, uint32_t step)
{
    uint32_t late = x->node ? per_host : 1;

    return rank + late >= x->ranks && step >= x->from * x->steps;
}

/* Draws how long the last rank stalls in a step, and before which bucket: the
 * same of a step whatever else is drawn. */
static double draw_stall(const struct buckets *x, uint64_t seed, unsigned step,
                         unsigned *before)
{
    struct simjob_random random = {seed * 1000003 + step};
    bool stalls = random_unit(&random) < x->stalls;

    *before = (unsigned) (random_next(&random) % x->n);
    return stalls ? x->us * 4 * random_unit(&random) : 0;
}

/* Makes the run. A bucket that is ready waits until the one before has ended.
 * Returns how long it is. */
static double fill_buckets(const struct buckets *x, uint64_t seed)
{
    struct simjob_random random = {seed};
    uint32_t n = x->ranks, c, step;

    begin(n, true);
    c = add_comm(0, n);
    step = add_comm(0, n);
    for (unsigned i = 0; i < x->steps; i++) {
        double ready[MOST], ended = 0, stall_us;
        unsigned stalled;

        stall_us = draw_stall(x, seed, i, &stalled);
        for (uint32_t p = 0; p < n; p++)
            ready[p] = run.clock[p];
        for (unsigned k = 0; k < x->n; k++) {
            uint64_t bytes = x->unlike && k + 1 == x->n ? 300 : 1000;
            double last = 0, before = ended;

            ready[n - 1] += k == stalled ? stall_us : 0;

            for (uint32_t p = 0; p < n; p++) {
                double unit = 2 * random_unit(&random) - 1;

                ready[p] += x->us * (1 + x->noise * unit) *
                            (is_late(x, p, i) ? 1 + x->late : 1) *
                            (k ? 1 : x->forward);
                last = fmax(last, ready[p]);
            }
            ended = fmax(last, before) + x->net_us * (double) bytes / 1000;
            for (uint32_t p = 0; p < n; p++)
                put(p, c, p, "AllReduce", 0, run.sn[c], bytes,
                    fmax(ready[p], before), ended);
            run.sn[c]++;
        }
        for (uint32_t p = 0; p < n; p++)
            run.clock[p] = ended;
        if (x->closed)
            meet(step, 0, 10);
    }
    assert_int_equal(processes_init_nodes(&run.processes, &run.result, NULL),
                     0);
    return run.clock[0];
}

static struct judge *judge_buckets(const struct buckets *x, uint64_t seed)
{
    double run_us = fill_buckets(x, seed);
    struct judge *j = judge_run(&run.result, &run.processes, run_us);

    assert_non_null(j);
    return j;
}

/* Returns what the last rank costs: by how much the run is longer than without
 * its lateness and stalls, as a share. */
static double lost_by(const struct buckets *x, uint64_t seed)
{
    struct buckets without = *x;
    double with_us = fill_buckets(x, seed), us;

    end(NULL);
    without.late = without.stalls = 0;
    us = fill_buckets(&without, seed);
    end(NULL);
    return 1 - us / with_us;
}

/* Who costs no more than a few GPUs differ by is not named for it; who costs
 * more is, with what he costs, though each operation but the first of a step
 * follows the start of the one before, and others may wait in line for it. His
 * own time before each of them is longer by what he computes longer, and not by
 * all that he is behind. */
static void few_beside(void **state)
{
    static const double late[] = {0.1, 0.3, 1};

    (void) state;
    per_host = 1;
    for (uint32_t n = 2; n < 8; n++)
        for (int closed = 0; closed < 2; closed++) {
            struct buckets x = {.ranks = n,
                                .steps = 100,
                                .n = 6,
                                .us = 1000,
                                .noise = 0.05,
                                .forward = 3,
                                .net_us = 10,
                                .closed = closed,
                                .late = 0.02};
            struct judge *j = judge_buckets(&x, 23 * n);

            assert_true(judge_speaks(j));
            assert_int_equal(j->n, 0);
            end(j);
            for (size_t i = 0; i < sizeof(late) / sizeof(*late); i++) {
                double cost, excess, lost;

                x.late = late[i];
                lost = lost_by(&x, 23 * n);
                j = judge_buckets(&x, 23 * n);
                assert_int_equal(j->n, 1);
                assert_int_equal(j->answers[0].process, n - 1);
                cost = j->answers[0].cost_us / j->run_us;
                if (!(cost > 0.85 * lost && cost < 1.05 * lost))
                    fail_msg("%u late by %g: costs %g of %g", n, late[i], cost,
                             lost);
                excess = j->answers[0].excess_us / j->run_us;
                if (!i && !(fabs(excess - 0.1 / 1.1) < 0.01))
                    fail_msg("%u: excess %g", n, excess);
                end(j);
            }
        }
    per_host = 4;
}

/* Draws a run of buckets. */
static struct buckets draw_buckets(struct simjob_random *r)
{
    struct buckets x = {.ranks = 2 + (uint32_t) (14.99 * random_unit(r)),
                        .steps = 40 + (uint32_t) (160 * random_unit(r)),
                        .n = 3 + (uint32_t) (18 * random_unit(r)),
                        .us = 500 + 5000 * random_unit(r),
                        .noise = 0.02 + 0.13 * random_unit(r),
                        .unlike = random_unit(r) < 0.5,
                        .closed = random_unit(r) < 0.5};

    x.forward = x.n * (0.3 + 0.5 * random_unit(r));
    x.net_us = x.us * (0.02 + 0.7 * random_unit(r));
    return x;
}

/* What is said of runs with one fault. */
struct said {
    unsigned right, wrong, near; /* named; somebody else is; the cost is within
                                    15 % of what it costs */
};

static struct said judge_shapes(const struct buckets *fault, uint64_t seed,
                                unsigned shapes)
{
    struct simjob_random r = {seed};
    struct said said = {0};

    per_host = fault->node ? 4 : 1;
    for (unsigned k = 0; k < shapes; k++) {
        struct buckets x = draw_buckets(&r);
        enum judge_kind kind = fault->node ? JUDGE_NODE : JUDGE_LATE;
        const struct judge_answer *a;
        double lost, told;
        struct judge *j;
        bool named;

        if (fault->node) /* two to four nodes */
            x.ranks = 8 + 4 * (x.ranks % 3);
        x.late = fault->late;
        x.from = fault->from;
        x.node = fault->node;
        x.stalls = fault->stalls;
        lost = lost_by(&x, seed + k);
        j = judge_buckets(&x, seed + k);
        a = j->answers;
        assert_true(judge_speaks(j));
        named = j->n == 1 && (x.late > 0 || x.stalls > 0) &&
                (a->kind == kind || a->kind == JUDGE_ONSET ||
                 (x.stalls > 0 && a->kind == JUDGE_STALL)) &&
                is_late(&x, (uint32_t) a->process, x.steps);
        told = named ? a->cost_us / j->run_us : 0;
        said.right += named;
        said.wrong += j->n && !named;
        said.near += named && fabs(told - lost) < 0.15 * lost;
        end(j);
    }
    per_host = 4;
    return said;
}

/* Shapes of all kinds: nobody is named where nobody is late; else he is, with
 * what he costs. The first operation of a step has the kind of the others, and
 * is told from them by its times; where it is one of three only, and comes not
 * much later than they do, that may fail. BUCKETS_SEED=N prints a table of 60
 * other shapes. */
static void beside(void **state)
{
    static const struct buckets faults[] = {{.late = 0},
                                            {.late = 0.1},
                                            {.late = 0.3},
                                            {.late = 1},
                                            {.late = 0.3, .from = 0.5},
                                            {.late = 0.3, .node = true},
                                            {.stalls = 0.5}};
    const char *seed = getenv("BUCKETS_SEED");
    size_t n = sizeof(faults) / sizeof(*faults);

    (void) state;
    for (size_t i = 0; seed && i < n; i++) {
        struct said said =
            judge_shapes(&faults[i], strtoull(seed, NULL, 10), 60);

        print_message("late %g, from %g, node %d, stalls %g: of 60 right %u, "
                      "wrong %u, cost near %u\n",
                      faults[i].late, faults[i].from, faults[i].node,
                      faults[i].stalls, said.right, said.wrong, said.near);
    }
    for (size_t i = 0; i < n; i++) {
        struct said said = judge_shapes(&faults[i], 2000003, 20);
        bool any = faults[i].late > 0 || faults[i].stalls > 0;
        unsigned near = faults[i].stalls > 0 ? 18 : 15;

        if (said.wrong || said.right + 1 < 20 * any || said.near < near * any)
            fail_msg("fault %zu: of 20 %u are named, with %u costs; %u wrong",
                     i, said.right, said.near, said.wrong);
    }
}

/* Two of five, and of seven. */
static void few_two(void **state)
{
    (void) state;
    per_host = 1;
    for (int timed = 0; timed < 2; timed++)
        for (uint32_t n = 5; n < 8; n += 2) {
            struct judge *j = make_few(n, 2, 0.2, timed);

            assert_int_equal(j->n, 2);
            assert_true(j->answers[0].process + 2 >= n);
            assert_true(j->answers[1].process + 2 >= n);
            end(j);
        }
    per_host = 4;
}

/* --- stalls --------------------------------------------------------------- */

/* When a process computes longer, and by how much. */
struct stop {
    uint32_t process;
    unsigned at;
    double us;
};

enum noise { QUIET, USUAL, HEAVY };

/* The operation at which the clock of process 1 is set. */
static unsigned jump_at = UINT_MAX;

/* OPS operations of eight processes that compute 1 ms before each of them. */
#define OPS 400

static struct judge *make_stops(enum noise noise, const struct stop *stops,
                                size_t n, uint64_t seed, bool timed)
{
    struct simjob_random random = {seed};
    uint32_t c;

    begin(8, timed);
    c = add_comm(0, 8);
    for (unsigned i = 0; i < OPS; i++) {
        for (uint32_t p = 0; p < 8; p++) {
            double us = 1000, unit = random_unit(&random);

            if (noise == USUAL)
                us += 40 * unit;
            if (noise == HEAVY) /* a tail that falls with the square */
                us += 500 / sqrt(fmax(unit, 1e-6));
            for (size_t k = 0; k < n; k++)
                if (stops[k].process == p && stops[k].at == i)
                    us += stops[k].us;
            run.clock[p] += us;
        }
        if (i == jump_at)
            run.jump_us = 3.6e9;
        meet(c, 0, 100);
    }
    return judge();
}

/* Rare ones, at no regular distance. */
static void stalls_rare(void **state)
{
    static const struct stop stops[] = {
        {5, 61, 20000},  {5, 97, 20000},  {5, 150, 20000}, {5, 171, 20000},
        {5, 260, 20000}, {5, 333, 30000}, {5, 390, 20000}};
    static const size_t n = sizeof(stops) / sizeof(*stops);

    (void) state;
    for (int timed = 0; timed < 2; timed++) {
        struct judge *j = make_stops(USUAL, stops, n, 5, timed);
        const struct judge_answer *a = j->answers;

        assert_true(judge_speaks(j));
        assert_int_equal(j->n, 1);
        assert_int_equal(a->kind, JUDGE_STALL);
        assert_int_equal(a->process, 5);
        assert_int_equal(a->times, n);
        assert_true(fabs(a->longest_us - 30000) < 100);
        assert_true(fabs(a->cost_us - 150000) < 1500);
        assert_true(a->every <= 0);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(a->waits[i].in.sn, stops[i].at);
            assert_int_equal(a->waits[i].before.sn, stops[i].at - 1);
            assert_string_equal(a->waits[i].in.func, "AllReduce");
            assert_true(fabs(a->waits[i].us - stops[i].us) < 100);
        }
        end(j);
    }
}

/* A checkpoint: every 50 operations, and one of them is missing. */
static void stalls_regular(void **state)
{
    static const struct stop stops[] = {{0, 50, 60000},  {0, 100, 60000},
                                        {0, 150, 60000}, {0, 250, 60000},
                                        {0, 300, 60000}, {0, 350, 60000}};
    struct judge *j = make_stops(USUAL, stops, 6, 6, true);

    (void) state;
    assert_int_equal(j->n, 1);
    assert_int_equal(j->answers->process, 0);
    assert_near(j->answers->every, 50);
    assert_near(j->answers->rounds, 6);
    end(j);
}

/* A single one, and three in a row, which are one; also where no other process
 * is ever late. */
static void stalls_once(void **state)
{
    static const struct stop stops[] = {
        {3, 200, 150000}, {3, 201, 150000}, {3, 202, 150000}};

    (void) state;
    for (int noise = QUIET; noise <= USUAL; noise++)
        for (size_t n = 1; n <= 3; n += 2) {
            struct judge *j = make_stops((enum noise) noise, stops, n, 7, true);

            assert_int_equal(j->n, 1);
            assert_int_equal(j->answers->kind, JUDGE_STALL);
            assert_int_equal(j->answers->process, 3);
            assert_int_equal(j->answers->times, 1);
            assert_int_equal(j->answers->waits->ops, n);
            assert_int_equal(j->answers->waits->last.sn, 199 + n);
            end(j);
        }
}

/* What a process did while the recording was off is not known. */
static void stalls_off(void **state)
{
    static const struct stop stop = {3, 200, 150000};
    struct judge *j;

    (void) state;
    off_from = 250000;
    off_to = 300000; /* a part of the stop */
    j = make_stops(USUAL, &stop, 1, 7, true);
    assert_int_equal(j->n, 0);
    end(j);
    off_from = 900000;
    off_to = 950000; /* something else */
    j = make_stops(USUAL, &stop, 1, 7, true);
    assert_int_equal(j->n, 1);
    end(j);
    off_to = 0;
}

/* What would have been found is found, and a third of it is not. */
static void stalls_least(void **state)
{
    struct judge *j = make_stops(USUAL, NULL, 0, 8, true);
    struct stop stop = {2, 222, 1.3 * j->stall_once_us};

    (void) state;
    assert_int_equal(j->n, 0);
    assert_true(j->stall_once_us < 0.1 * longest_clock());
    assert_true(j->stall_again_us < j->stall_once_us);
    end(j);
    j = make_stops(USUAL, &stop, 1, 8, true);
    assert_int_equal(j->n, 1);
    assert_int_equal(j->answers->process, 2);
    end(j);
    stop.us /= 4;
    j = make_stops(USUAL, &stop, 1, 8, true);
    assert_int_equal(j->n, 0);
    end(j);
}

/* Three stalls of what is stated of recurring ones are found. */
static void stalls_again(void **state)
{
    (void) state;
    for (uint64_t seed = 0; seed < 5; seed++) {
        struct judge *j = make_stops(USUAL, NULL, 0, seed, seed % 2);
        double us = 1.3 * j->stall_again_us;
        const struct stop stops[] = {{2, 90, us}, {2, 222, us}, {2, 301, us}};

        assert_int_equal(j->n, 0);
        end(j);
        j = make_stops(USUAL, stops, 3, seed, seed % 2);
        assert_int_equal(j->n, 1);
        assert_int_equal(j->answers->process, 2);
        assert_int_equal(j->answers->times, 3);
        end(j);
    }
}

/* Where noise has a heavy tail, a single wait that is three times as long as
 * any other process shows is told, and the length that is stated is no more. */
static void stalls_alone(void **state)
{
    (void) state;
    for (uint64_t seed = 0; seed < 5; seed++) {
        struct judge *j = make_stops(HEAVY, NULL, 0, seed, true);
        struct stop stop = {6, 222, 1.3 * j->stall_once_us};

        assert_true(j->stall_once_us < 0.15 * longest_clock());
        assert_true(j->stall_again_us <= j->stall_once_us);
        end(j);
        j = make_stops(HEAVY, &stop, 1, seed, true);
        assert_int_equal(j->n, 1);
        assert_int_equal(j->answers->kind, JUDGE_STALL);
        assert_int_equal(j->answers->process, 6);
        assert_true(j->answers->longest_us > 0.9 * stop.us);
        end(j);
    }
}

/* All stop as often, by turns; or all have long intervals now and then, of
 * which somebody has the longest. */
static void stalls_of_all(void **state)
{
    struct stop stops[40];

    (void) state;
    for (unsigned i = 0; i < 40; i++)
        stops[i] = (struct stop){(i * 5 + i / 8) % 8, 9 * (i + 4), 20000};
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct judge *j = make_stops(USUAL, stops, 40, seed, true);

        assert_int_equal(j->n, 0);
        end(j);
        j = make_stops(HEAVY, NULL, 0, seed, seed % 2);
        assert_int_equal(j->n, 0);
        end(j);
    }
}

/* Who is late all along has the longest intervals, and does not stall. */
static void stalls_of_late(void **state)
{
    struct stop stops[OPS];
    struct judge *j;

    (void) state;
    for (unsigned i = 0; i < OPS; i++)
        stops[i] = (struct stop){4, i, 6000};
    j = make_stops(USUAL, stops, OPS, 9, true);
    assert_int_equal(j->n, 1);
    assert_int_equal(j->answers->kind, JUDGE_LATE);
    assert_int_equal(j->answers->process, 4);
    end(j);
}

/* Two stages of four processes, which meet at the end of each iteration.
 * Process 0 stalls in the first stage now and then. longer: the second stage
 * computes for so much longer. */
static struct judge *make_waits_in_vain(double longer)
{
    struct simjob_random random = {5};
    uint32_t stage[2], all;

    begin(8, true);
    stage[0] = add_comm(0, 4);
    stage[1] = add_comm(4, 4);
    all = add_comm(0, 8);
    for (unsigned i = 0; i < OPS / 4; i++) {
        for (uint32_t p = 0; p < 8; p++)
            run.clock[p] += 4000 + 40 * random_unit(&random) +
                            (p == 0 && i % 10 == 7 ? 20000 : 0) +
                            (p < 4 ? 0 : longer);
        meet(stage[0], 0, 100);
        meet(stage[1], 4, 100);
        meet(stage[1], 4, 100); /* another role */
        meet(all, 0, 100);
    }
    return judge();
}

/* The others of its stage wait for a process that stalls. It costs nothing
 * where all of them then wait for the other stage, as they do in the replay,
 * too. */
static void stalls_in_vain(void **state)
{
    struct judge *j = make_waits_in_vain(0);

    (void) state;
    assert_int_equal(j->n, 1);
    assert_int_equal(j->answers->kind, JUDGE_STALL);
    assert_int_equal(j->answers->process, 0);
    assert_int_equal(j->answers->times, 9); /* none at the start */
    end(j);
    j = make_waits_in_vain(25000);
    assert_true(j->usable);
    assert_true(j->replay_state.usable);
    assert_true(j->processes[0].stalls_us > 170000);
    assert_true(j->processes[0].alone_us > 170000);
    assert_int_equal(j->n, 0);
    end(j);
}

/* --- barriers that no record has -------------------------------------------
 */

/* Pairs meet, then all of eight processes. Before that all wait for each other,
 * and only what the last one does then is recorded as a start. Process 6
 * computes 3 ms longer before it meets its pair, process 0 and its pair 2 ms
 * shorter. */
static struct judge *make_barriers(void)
{
    struct simjob_random random = {11};
    uint32_t pair[4], all;

    begin(8, true);
    for (uint32_t k = 0; k < 4; k++)
        pair[k] = add_comm(2 * k, 2);
    all = add_comm(0, 8);
    for (unsigned i = 0; i < OPS / 4; i++) {
        double last = 0;

        for (uint32_t p = 0; p < 8; p++)
            run.clock[p] += 6000 + 200 * random_unit(&random) +
                            (p == 6 ? 3000 : 0) - (p < 2 ? 2000 : 0);
        for (uint32_t k = 0; k < 4; k++)
            meet(pair[k], 2 * k, 100);
        for (uint32_t p = 0; p < 8; p++)
            last = fmax(last, run.clock[p] + 500);
        for (uint32_t p = 0; p < 8; p++)
            run.clock[p] = last + 3 * random_unit(&random);
        meet(all, 0, 100);
    }
    return judge();
}

/* A wait for such a barrier is nobody's own time: who comes first is not named,
 * and who comes last is. */
static void hidden_barriers(void **state)
{
    struct judge *j = make_barriers();
    const struct judge_answer *a = j->answers;

    (void) state;
    assert_true(j->usable && j->replay_state.usable);
    assert_int_equal(j->n, 1);
    assert_int_equal(a->kind, JUDGE_LATE);
    assert_int_equal(a->process, 6);
    assert_true(fabs(a->excess_us / (3000.0 * OPS / 4) - 1) < 0.1);
    assert_true(fabs(a->cost_us / (3000.0 * OPS / 4) - 1) < 0.1);
    assert_true(j->processes[0].total_us < 0);
    end(j);
}

/* --- stalls of a run that is longer than its timelines -------------------- */

/* Timelines of a tenth of the operations. */
static void cut_lines(bool kept)
{
    line_limit = OPS / 10;
    line_bins = kept ? 1 : 0;
}

static void whole_lines(void)
{
    line_limit = 1 << 20;
    line_bins = 0;
}

/* A single stall at nine tenths of the run is named, with its place, although
 * timelines end at one tenth. */
static void kept_once(void **state)
{
    static const struct stop stop = {3, 9 * OPS / 10, 40000};
    struct judge *j;

    (void) state;
    for (int noise = QUIET; noise <= USUAL; noise++) {
        cut_lines(true);
        j = make_stops((enum noise) noise, &stop, 1, 5, true);
        assert_true(j->usable && j->part && j->kept);
        assert_true(judge_speaks(j));
        assert_false(judge_speaks_of_part(j));
        assert_int_equal(j->n, 1);
        assert_int_equal(j->answers->kind, JUDGE_STALL);
        assert_int_equal(j->answers->process, 3);
        assert_int_equal(j->answers->times, 1);
        assert_int_equal(j->answers->waits->in.sn, stop.at);
        assert_string_equal(j->answers->waits->in.func, "AllReduce");
        assert_null(j->answers->waits->before.func);
        assert_true(fabs(j->answers->cost_us - stop.us) < 0.1 * stop.us);
        assert_true(noise == QUIET || !j->answers->more);
        assert_int_equal(j->processes[3].intervals, OPS);
        end(j);
        /* nobody knows of it without what is kept */
        cut_lines(false);
        j = make_stops((enum noise) noise, &stop, 1, 5, true);
        assert_true(j->usable && j->part && !j->kept);
        assert_int_equal(j->n, 0);
        end(j);
    }
    whole_lines();
}

/* A process computes longer by 0.1 ms all along, or from 0.7 of the run on,
 * where its timeline has ended long before. */
static void kept_late(void **state)
{
    static const unsigned from[] = {0, 7 * OPS / 10};
    struct stop stops[OPS];

    (void) state;
    for (unsigned k = 0; k < 4; k++)
        for (uint64_t seed = 0; seed < 5; seed++) {
            bool onset = k % 2, timed = k < 2;
            size_t n = 0;
            struct judge *j;

            for (unsigned i = from[onset]; i < OPS; i++)
                stops[n++] = (struct stop){5, i, 100};
            cut_lines(true);
            j = make_stops(USUAL, stops, n, seed, timed);
            assert_true(j->kept && judge_speaks(j));
            assert_true(j->kept_stalls == timed);
            assert_near(j->followed, timed ? j->clock_us / j->run_us : 0.1);
            assert_int_equal(j->n, 1);
            assert_int_equal(j->answers->process, 5);
            assert_int_equal(j->answers->kind,
                             onset ? JUDGE_ONSET : JUDGE_LATE);
            assert_true(fabs(j->answers->excess_us - 100.0 * n) < 10.0 * n);
            /* of eight that vary by 40 us, the last one is at 36 */
            assert_true(j->answers->cost_us > 60.0 * n &&
                        j->answers->cost_us < 105.0 * n);
            /* by durations a bin may be of two blocks */
            assert_true(!onset ||
                        fabs(j->answers->from - 0.7) < (timed ? 0.04 : 0.07));
            assert_true(j->processes[5].later == UINT64_MAX);
            end(j);
            cut_lines(false);
            j = make_stops(USUAL, stops, n, seed, timed);
            assert_false(judge_speaks(j));
            assert_int_equal(j->n, onset ? 0 : 1); /* of the start */
            end(j);
        }
    whole_lines();
}

/* A process computes longer by 0.4 ms in an early part of the run, and not
 * afterwards: from 0.2 to 0.35 of it, from 0.17 to 0.32, and up to 0.4. */
static void early_window(void **state)
{
    static const double from[] = {0.2, 0.17, 0}, to[] = {0.35, 0.32, 0.4};
    struct stop stops[OPS];

    (void) state;
    for (unsigned k = 0; k < 3; k++)
        for (uint64_t seed = 0; seed < 5; seed++) {
            size_t n = 0;
            struct judge *j;

            for (unsigned i = from[k] * OPS; i < to[k] * OPS; i++)
                stops[n++] = (struct stop){5, i, 400};
            j = make_stops(USUAL, stops, n, seed, true);
            assert_true(judge_speaks(j));
            assert_int_equal(j->n, 1);
            assert_int_equal(j->answers->process, 5);
            assert_int_equal(j->answers->kind, JUDGE_ONSET);
            /* of time, of which the late part has more than of operations */
            assert_true(fabs(j->answers->from - from[k]) < 0.04);
            assert_true(fabs(j->answers->to - to[k]) < 0.07);
            end(j);
        }
}

/* By durations alone what a process lacks would count as its own time: if that
 * may be worth a search, the start is all that is judged. */
static void kept_lacking(void **state)
{
    (void) state;
    for (unsigned without = 0; without < 2; without++) {
        struct simjob_random random = {without};
        struct judge *j;
        uint32_t c;

        cut_lines(true);
        begin(8, false);
        c = add_comm(0, 8);
        for (unsigned i = 0; i < OPS; i++) {
            for (uint32_t p = 0; p < 8; p++)
                run.clock[p] += 200 + 400 * random_unit(&random);
            meet_without(c, 0, 500,
                         without && i > OPS / 2 && i % 20 == 0 ? 3
                                                               : UINT32_MAX);
        }
        j = judge();
        assert_true(j->usable && j->part);
        assert_true(j->kept == !without);
        assert_int_equal(j->n, 0);
        end(j);
    }
    whole_lines();
}

/* What is kept of all of the run has waits for barriers that no record has as
 * own times. Then only the start is judged. */
static void kept_barriers(void **state)
{
    struct judge *j;

    (void) state;
    cut_lines(true);
    j = make_barriers();
    assert_true(j->usable && j->part);
    assert_false(j->kept);
    assert_false(judge_speaks(j));
    assert_true(j->followed < 0.3);
    assert_int_equal(j->n, 1); /* of the start */
    assert_int_equal(j->answers->process, 6);
    end(j);
    whole_lines();
}

/* Rare ones, at equal distances or not. */
static void kept_rare(void **state)
{
    static const struct stop stops[] = {
        {5, 61, 20000},  {5, 111, 20000}, {5, 161, 20000}, {5, 211, 20000},
        {5, 261, 20000}, {5, 311, 20000}, {5, 361, 20000}};
    static const size_t n = sizeof(stops) / sizeof(*stops);
    struct judge *j;

    (void) state;
    cut_lines(true);
    j = make_stops(USUAL, stops, n, 5, true);
    assert_true(j->kept);
    assert_int_equal(j->n, 1);
    assert_int_equal(j->answers->process, 5);
    assert_int_equal(j->answers->times, n);
    assert_near(j->answers->every, 50);
    assert_true(fabs(j->answers->cost_us - 140000) < 7000);
    end(j);
    whole_lines();
}

/* More stalls than are kept: as many as that, at least. */
static void kept_many(void **state)
{
    struct stop stops[44];
    struct judge *j;

    (void) state;
    for (unsigned i = 0; i < 44; i++)
        stops[i] =
            (struct stop){2, 45 + 16 * (i / 2) + 2 * (i % 2), 20000 + 10 * i};
    cut_lines(true);
    j = make_stops(USUAL, stops, 44, 5, true);
    assert_true(j->kept);
    assert_int_equal(j->n, 1);
    assert_int_equal(j->answers->process, 2);
    assert_int_equal(j->answers->times, 32);
    assert_true(j->answers->more);
    end(j);
    whole_lines();
}

/* Nobody stalls where all pause, where one has noise as all have, or where a
 * clock is set and nobody waits. */
static void kept_clean(void **state)
{
    struct stop pause[8];

    (void) state;
    for (uint32_t p = 0; p < 8; p++)
        pause[p] = (struct stop){p, 300, 60000 + 100 * p};
    cut_lines(true);
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct judge *j = make_stops(HEAVY, NULL, 0, seed, true);

        assert_true(j->kept);
        assert_int_equal(j->n, 0);
        end(j);
        j = make_stops(USUAL, pause, 8, seed, true);
        assert_true(j->kept);
        assert_int_equal(j->n, 0);
        end(j);
        jump_at = 300;
        j = make_stops(USUAL, NULL, 0, seed, true);
        assert_true(j->kept);
        assert_int_equal(j->n, 0);
        end(j);
        jump_at = UINT_MAX;
    }
    whole_lines();
}

/* What would have been found is found. */
static void kept_least(void **state)
{
    (void) state;
    cut_lines(true);
    for (uint64_t seed = 0; seed < 5; seed++) {
        struct judge *j = make_stops(HEAVY, NULL, 0, seed, true);
        struct stop stop = {6, 371, 1.3 * j->stall_once_us};

        assert_int_equal(j->n, 0);
        assert_true(j->stall_once_us < 0.2 * longest_clock());
        end(j);
        j = make_stops(HEAVY, &stop, 1, seed, true);
        assert_int_equal(j->n, 1);
        assert_int_equal(j->answers->process, 6);
        end(j);
    }
    whole_lines();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(example),        cmocka_unit_test(example_excess),
        cmocka_unit_test(lost_record),    cmocka_unit_test(lost_process),
        cmocka_unit_test(far_peer),       cmocka_unit_test(other_order),
        cmocka_unit_test(stages),         cmocka_unit_test(names),
        cmocka_unit_test(cost),           cmocka_unit_test(clean),
        cmocka_unit_test(pauses),         cmocka_unit_test(wandering),
        cmocka_unit_test(parts),          cmocka_unit_test(half),
        cmocka_unit_test(crossing),       cmocka_unit_test(stalls_rare),
        cmocka_unit_test(stalls_regular), cmocka_unit_test(stalls_once),
        cmocka_unit_test(stalls_off),     cmocka_unit_test(stalls_least),
        cmocka_unit_test(stalls_of_all),  cmocka_unit_test(stalls_of_late),
        cmocka_unit_test(stalls_in_vain), cmocka_unit_test(hidden_barriers),
        cmocka_unit_test(stalls_again),   cmocka_unit_test(stalls_alone),
        cmocka_unit_test(kept_once),      cmocka_unit_test(kept_barriers),
        cmocka_unit_test(kept_rare),      cmocka_unit_test(kept_many),
        cmocka_unit_test(kept_lacking),   cmocka_unit_test(kept_late),
        cmocka_unit_test(early_window),   cmocka_unit_test(kept_clean),
        cmocka_unit_test(kept_least),     cmocka_unit_test(uneven_work),
        cmocka_unit_test(heats),          cmocka_unit_test(few_named),
        cmocka_unit_test(few_silent),     cmocka_unit_test(few_two),
        cmocka_unit_test(few_beside),     cmocka_unit_test(beside),
        cmocka_unit_test(turns),          cmocka_unit_test(whole_iterations),
        cmocka_unit_test(groups_of_few),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
