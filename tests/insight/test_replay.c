/* test_replay.c - replays of small runs whose lengths are known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/aggregate/timeline.h"
#include "orchestrator/insight/whatif.h"

#define EPOCH UINT64_C(1700000000000000)
#define MOST 16
#define HOUR UINT64_C(3600000000)

/* A run of up to MOST processes, each on a host of its own if each has its own
 * clock. */
static struct {
    struct jp_result result;
    struct jp_comm comms[4 * MOST];
    struct jp_rank ranks[8 * MOST];
    char *hosts[8 * MOST];
    struct timeline *timelines[MOST];
    struct jp_processes processes;
    double clock[MOST]; /* of each process, us */
    uint64_t skew[MOST];
    uint64_t sn[4 * MOST], p2p[MOST];
    struct replay *replay;
    struct replay_state state;
} run;

static void begin(uint32_t processes)
{
    memset(&run, 0, sizeof(run));
    run.result.comms = run.comms;
    run.result.ranks = run.ranks;
    run.result.timelines = run.timelines;
    run.result.n_timelines = processes;
    for (uint32_t p = 0; p < processes; p++) {
        run.timelines[p] = timeline_create(1 << 20, 0);
        assert_non_null(run.timelines[p]);
    }
}

static char names[MOST][8];

/* A communicator of n processes: first, first + step, ... */
static uint32_t add_comm(uint32_t first, uint32_t step, uint32_t n)
{
    uint32_t c = (uint32_t) run.result.n_comms++;
    struct jp_comm *comm = &run.comms[c];

    *comm = (struct jp_comm){.n_ranks = n, .nnodes = n};
    comm->n_hosts = n;
    snprintf(comm->id, sizeof(comm->id), "0x%x", 256 + c);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t p = first + i * step;

        snprintf(names[p], sizeof(names[p]), "n%02u", p);
        run.ranks[run.result.n_ranks++] = (struct jp_rank){
            .comm = c, .rank = i, .host = names[p], .pid = 100 + p};
    }
    return c;
}

static struct record_text text(const char *at)
{
    return (struct record_text){at, strlen(at)};
}

/* Process p is in an operation, as rank r of communicator c. */
static void put(uint32_t p, uint32_t c, uint32_t r, const char *func,
                uint32_t peer, uint64_t sn, double from, double to)
{
    const struct record record = {
        .id = text(run.comms[c].id),
        .host = text(names[p]),
        .pid = 100 + p,
        .func = text(func),
        .p2p = !strcmp(func, "Send") || !strcmp(func, "Recv"),
        .peer = peer,
        .sn = sn,
        .bytes = 1000,
        .rank = r,
        .n_ranks = run.comms[c].n_ranks,
        .nnodes = run.comms[c].nnodes,
        .start_us = EPOCH + run.skew[p] + (uint64_t) from,
        .end_us = EPOCH + run.skew[p] + (uint64_t) to,
    };

    assert_int_equal(timeline_add(run.timelines[p], &record), 0);
}

/* All members of c meet. */
static void meet(uint32_t c, uint32_t first, uint32_t step, double net)
{
    double last = 0;
    uint32_t n = run.comms[c].n_ranks;

    for (uint32_t i = 0; i < n; i++)
        last = fmax(last, run.clock[first + i * step]);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t p = first + i * step;

        put(p, c, i, "AllReduce", 0, run.sn[c], run.clock[p], last + net);
        run.clock[p] = last + net;
    }
    run.sn[c]++;
}

/* A message from rank a to rank b of c; ranks are processes. */
static void send(uint32_t c, uint32_t a, uint32_t b, uint32_t pa, uint32_t pb,
                 double net)
{
    double end = fmax(run.clock[pa], run.clock[pb]) + net;

    put(pa, c, a, "Send", b, ++run.p2p[pa], run.clock[pa], end);
    put(pb, c, b, "Recv", a, ++run.p2p[pb], run.clock[pb], end);
    run.clock[pa] = run.clock[pb] = end;
}

static void make(void)
{
    assert_int_equal(processes_init_nodes(&run.processes, &run.result, NULL),
                     0);
    run.replay = replay_create(&run.result, &run.processes, &run.state);
    assert_non_null(run.replay);
}

static void end(void)
{
    replay_destroy(run.replay);
    processes_fini(&run.processes);
    for (size_t p = 0; p < run.result.n_timelines; p++)
        timeline_destroy(run.timelines[p]);
}

static double without(enum replay_kind kind, const size_t *who, size_t n)
{
    const struct replay_cause cause = {
        .kind = kind, .processes = who, .n = n, .comm = -1, .from_us = NAN};
    struct replay_gain gain;
    double all;

    assert_true(run.state.usable);
    assert_int_equal(replay_gains(run.replay, &cause, 1, &gain, &all), 0);
    assert_true(isnan(gain.alone) ? isnan(all) : all == gain.alone);
    return gain.alone;
}

static void assert_near(double value, double wanted)
{
    if (!(fabs(value - wanted) < 1e-3))
        fail_msg("%g, not %g", value, wanted);
}

/* 4 ranks compute for 1000 us, one of them for 1300; an AllReduce takes 200. */
static void make_late(unsigned steps, bool apart)
{
    uint32_t c;

    begin(4);
    for (uint32_t p = 0; apart && p < 4; p++)
        run.skew[p] = (p + 1) * HOUR;
    c = add_comm(0, 1, 4);
    for (unsigned s = 0; s < steps; s++) {
        for (uint32_t p = 0; p < 4; p++)
            run.clock[p] += p == 2 ? 1300 : 1000;
        meet(c, 0, 1, 200);
    }
    make();
}

static void late_rank(void **state)
{
    const size_t who[] = {2}, other[] = {1};

    (void) state;
    for (int apart = 0; apart < 2; apart++) {
        make_late(50, apart);
        assert_false(run.state.part);
        assert_int_equal(run.state.events, 200);
        assert_int_equal(run.state.lacking, 0);
        /* Its own first operation begins the run; the others wait for it in
         * theirs. */
        assert_near(run.state.recorded_us, 300 + 200 + 49 * 1500);
        assert_near(run.state.replayed_us, run.state.recorded_us);
        assert_near(without(REPLAY_LATE, who, 1),
                    49 * 300.0 / (300 + 200 + 49 * 1500));
        assert_near(without(REPLAY_LATE, other, 1), 0);
        end();
    }
}

/* Two stages of two ranks, each with a group of its own; the second waits for
 * the first: 100 us a message, 50 a group, computation 1000, one of them 400
 * longer. All four wait for that one. */
static void lateness_travels(void **state)
{
    const size_t who[] = {1};
    uint32_t groups[2], pipes[2];
    double length, saved;

    (void) state;
    begin(4);
    for (uint32_t i = 0; i < 2; i++)
        groups[i] = add_comm(2 * i, 1, 2);
    for (uint32_t i = 0; i < 2; i++)
        pipes[i] = add_comm(i, 2, 2);
    for (unsigned s = 0; s < 40; s++)
        for (uint32_t stage = 0; stage < 2; stage++) {
            for (uint32_t i = 0; stage && i < 2; i++)
                send(pipes[i], 0, 1, i, 2 + i, 100);
            for (uint32_t i = 0; i < 2; i++)
                run.clock[2 * stage + i] += 2 * stage + i == 1 ? 1400 : 1000;
            meet(groups[stage], 2 * stage, 1, 50);
            for (uint32_t i = 0; stage && i < 2; i++)
                send(pipes[i], 1, 0, 2 + i, i, 100);
        }
    make();
    /* the second stage's first operation is the Recv that it waits in */
    /* Nothing is known of a process before its first operation. */
    length = 40 * (1400 + 50 + 100 + 1000 + 50 + 100);
    saved = 39 * 400;
    assert_near(run.state.recorded_us / length, 1);
    assert_near(without(REPLAY_LATE, who, 1), saved / length);
    end();
}

/* A pipeline of six ranks. Each step a rank has one launch: the Recv from the
 * rank before it and the Send to the next one, 100 us a message. All records of
 * a launch have its end. The launches of the ranks in the middle end later than
 * some of their messages, by as much as their neighbours' computation differs.
 */
static void launches_of_messages(void **state)
{
    const size_t who[] = {2};
    uint32_t c;

    (void) state;
    begin(6);
    for (uint32_t p = 0; p < 6; p++)
        run.skew[p] = (p + 1) * HOUR;
    c = add_comm(0, 1, 6);
    for (unsigned s = 0; s < 60; s++) {
        double message[5], end_us[6] = {0}, clock[6];

        for (uint32_t p = 0; p < 6; p++)
            clock[p] = run.clock[p] += 1000 + (s * 7 + p * 5) % 11 * 20 +
                                       (p == 2 ? 500 : 0);
        for (uint32_t p = 0; p < 5; p++) {
            message[p] = fmax(clock[p], clock[p + 1]) + 100;
            end_us[p] = fmax(end_us[p], message[p]);
            end_us[p + 1] = message[p];
        }
        for (uint32_t p = 0; p < 6; p++) {
            if (p > 0)
                put(p, c, p, "Recv", p - 1, ++run.p2p[p], clock[p], end_us[p]);
            if (p < 5)
                put(p, c, p, "Send", p + 1, ++run.p2p[p], clock[p], end_us[p]);
            run.clock[p] = end_us[p];
        }
        if (s % 4 == 3)
            meet(c, 0, 1, 200);
    }
    make();
    assert_int_equal(run.state.lacking, 0);
    assert_true(run.state.usable);
    assert_in_range(1e3 * without(REPLAY_LATE, who, 1), 240, 260);
    end();
}

/* Two ranks that exchange a message each way. Once, two launches of a rank
 * begin within a few us, as on a busy node. They are two launches still, and no
 * AlltoAll. */
static void launches_close_together(void **state)
{
    uint32_t c;

    (void) state;
    begin(2);
    c = add_comm(0, 1, 2);
    for (unsigned s = 0; s < 100; s++)
        for (uint32_t p = 0; p < 2; p++) {
            double to = s * 1000.0 + 500;
            double from = p == 0 && s == 40 ? 39405 : to - 100;

            put(p, c, p, "Recv", 1 - p, ++run.p2p[p], from, to);
            put(p, c, p, "Send", 1 - p, ++run.p2p[p], from, to);
        }
    make();
    assert_int_equal(run.state.events, 400);
    assert_int_equal(run.state.lacking, 0);
    assert_true(run.state.usable);
    end();
}

/* AlltoAlls made of messages. Once, a rank loses its processor between two of
 * them: it is one AlltoAll still, and those behind it have their numbers. */
static void alltoall_held_up(void **state)
{
    uint32_t c;

    (void) state;
    begin(4);
    c = add_comm(0, 1, 4);
    for (unsigned s = 0; s < 100; s++)
        for (uint32_t p = 0; p < 4; p++)
            for (uint32_t peer = 0; peer < 4; peer++) {
                double from = s * 1000.0, to = from + 200;

                if (p == 1 && s == 50 && peer > 1)
                    from += 60;
                put(p, c, p, "Send", peer, ++run.p2p[p], from, to);
                put(p, c, p, "Recv", peer, ++run.p2p[p], from, to);
            }
    make();
    assert_int_equal(run.state.events, 400);
    assert_int_equal(run.state.lacking, 0);
    assert_true(run.state.usable);
    end();
}

static void stalls(void **state)
{
    const size_t who[] = {3}, other[] = {0};
    uint32_t c;

    (void) state;
    begin(4);
    c = add_comm(0, 1, 4);
    for (unsigned s = 0; s < 100; s++) {
        for (uint32_t p = 0; p < 4; p++)
            run.clock[p] += p == 3 && s % 25 == 20 ? 9000 : 1000;
        meet(c, 0, 1, 200);
    }
    make();
    assert_near(run.state.recorded_us, 200 + 99 * 1200 + 4 * 8000);
    assert_near(without(REPLAY_LATE, who, 1),
                4 * 8000.0 / run.state.recorded_us);
    assert_near(without(REPLAY_LATE, other, 1), 0);
    end();
}

/* Four pairs; one needs three times as long, all meet after each step. */
static void slow_link(void **state)
{
    uint32_t pairs[4], world;

    (void) state;
    begin(8);
    for (uint32_t i = 0; i < 4; i++)
        pairs[i] = add_comm(2 * i, 1, 2);
    world = add_comm(0, 1, 8);
    for (unsigned s = 0; s < 60; s++) {
        for (uint32_t p = 0; p < 8; p++)
            run.clock[p] += 500;
        for (uint32_t i = 0; i < 4; i++)
            meet(pairs[i], 2 * i, 1, i == 1 ? 300 : 100);
        meet(world, 0, 1, 50);
    }
    make();
    assert_near(without(REPLAY_NET, NULL, 0), 60 * 200.0 / (60 * 850 - 500));
    end();
}

/* The second stage has 600 us more to do than the first. */
static void stages_are_evened(void **state)
{
    const size_t who[] = {0, 1};
    const uint32_t stage[] = {0, 1};
    struct replay_cause cause = {.kind = REPLAY_STAGES,
                                 .processes = who,
                                 .stage = stage,
                                 .n = 2,
                                 .comm = -1};
    struct replay_gain gain;
    uint32_t c;
    double all;

    (void) state;
    begin(2);
    c = add_comm(0, 1, 2);
    for (unsigned s = 0; s < 100; s++) {
        run.clock[0] += 1000;
        run.clock[1] += 1600;
        meet(c, 0, 1, 100);
    }
    make();
    assert_true(run.state.usable);
    assert_int_equal(replay_gains(run.replay, &cause, 1, &gain, &all), 0);
    assert_near(gain.alone, 99 * 300.0 / (700 + 99 * 1700));
    end();
}

/* Of four processes of one role. */
static struct replay_evened evened(void)
{
    const uint32_t role[4] = {0};
    struct replay_evened e;

    assert_true(run.state.follows);
    assert_int_equal(replay_evened(run.replay, NULL, 0, role, 0, &e), 0);
    return e;
}

/* In each step another rank has 1 ms more to do. */
static void turns_are_evened(void **state)
{
    double length = 1200 + 99 * 2200.0;
    struct replay_evened e;
    uint32_t c;

    (void) state;
    begin(4);
    c = add_comm(0, 1, 4);
    for (unsigned s = 0; s < 100; s++) {
        for (uint32_t p = 0; p < 4; p++)
            run.clock[p] += p == s % 4 ? 2000 : 1000;
        meet(c, 0, 1, 200);
    }
    make();
    assert_near(run.state.recorded_us, length);
    e = evened();
    assert_near(e.each, 99 * 750 / length);
    assert_true(e.whole < 0.01);
    end();
}

/* One rank has 1 ms more to do in each step: that is its own as a whole. */
static void late_is_whole(void **state)
{
    double length = 1200 + 99 * 2200.0;
    struct replay_evened e;
    uint32_t c;

    (void) state;
    begin(4);
    c = add_comm(0, 1, 4);
    for (unsigned s = 0; s < 100; s++) {
        for (uint32_t p = 0; p < 4; p++)
            run.clock[p] += p == 2 ? 2000 : 1000;
        meet(c, 0, 1, 200);
    }
    make();
    e = evened();
    assert_near(e.each, 99 * 750 / length);
    assert_near(e.whole, 99 * 750 / length);
    end();
}

#define TURNS 4 /* instead of a process: another one in each step */
#define ALL 5

/* Gradients of a layer are reduced beside the next layer's computation, which
 * begins without them; at the end of the step they are waited for. The late
 * rank computes longer in each of two layers. */
static void make_overlap(uint32_t late, double late_us)
{
    uint32_t random = 1;
    double side[4] = {0};
    uint32_t c;

    begin(4);
    c = add_comm(0, 1, 4);
    for (unsigned s = 0; s < 80; s++) {
        for (unsigned layer = 0; layer < 2; layer++) {
            double last = 0;

            for (uint32_t p = 0; p < 4; p++) {
                random = random * 1664525 + 1013904223;
                run.clock[p] +=
                    1000 + (random >> 16) % 100 +
                    (p == late || (late == TURNS && p == s % 4) || late == ALL
                         ? late_us
                         : 0);
                side[p] = fmax(side[p], run.clock[p]);
                last = fmax(last, side[p]);
            }
            for (uint32_t p = 0; p < 4; p++) {
                put(p, c, p, layer ? "AllReduce" : "ReduceScatter", 0, s,
                    side[p], last + 200);
                side[p] = last + 200;
            }
        }
        for (uint32_t p = 0; p < 4; p++)
            run.clock[p] = side[p];
    }
    make();
}

static void overlap_is_followed(void **state)
{
    const size_t who[] = {1};
    double late_us, gain;

    (void) state;
    make_overlap(1, 300);
    gain = without(REPLAY_LATE, who, 1);
    late_us = run.clock[0];
    end();
    make_overlap(1, 0);
    assert_true(fabs(gain - (1 - run.clock[0] / late_us)) < 0.01);
    end();
}

/* Most ranks stand in line behind the one that is last in a step. */
static void turns_beside_computation(void **state)
{
    struct replay_evened e;
    double turns_us;

    (void) state;
    make_overlap(TURNS, 1500);
    turns_us = run.clock[0];
    e = evened();
    end();
    make_overlap(ALL, 1500 / 4.0);
    /* own times that a wait hides are taken to be longer than they are */
    assert_true(e.each > 0.7 * (1 - run.clock[0] / turns_us));
    assert_true(e.each < 1 - run.clock[0] / turns_us);
    end();
}

/* The others wait for the late rank in both operations of a step, for 300 us
 * and for 600, and lose 600. */
static void overlap_costs_once(void **state)
{
    struct jp_findings findings = {0};
    struct jp_finding *f;
    double late_us, lost_us;

    (void) state;
    make_overlap(1, 0);
    lost_us = -run.clock[0];
    end();
    make_overlap(1, 300);
    late_us = run.clock[0];
    lost_us += late_us;
    findings.run_us = late_us;
    findings.gpus_us = 4 * late_us;
    f = findings_add(&findings, JP_FINDING_LATE_RANK);
    assert_non_null(f);
    f->process = 1;
    f->share = 0.5;
    finding_cost(&findings, f, 80 * (300 + 600) * 3);
    snprintf(f->text, sizeof(f->text), "rank 1 is late; cost %s; more",
             FINDING_LOSS(f));
    assert_int_equal(
        whatif_findings(&run.result, &run.processes, NULL, &findings), 0);
    assert_int_equal(f->gain_kind, JP_GAIN_REPLAYED);
    assert_true(fabs(f->cost_us / (3 * lost_us) - 1) < 0.05);
    assert_true(fabs(f->of_run - f->cost_us / (4 * late_us)) < 1e-9);
    assert_non_null(strstr(f->text, FINDING_LOSS(f)));
    assert_non_null(strstr(f->text, "of communication; more; without it"));
    findings_fini(&findings);
    end();
}

/* Four ranks meet after 1,000 us of work each, 400 times. */
static void meet_late(const double late_us[4])
{
    uint32_t c;

    begin(4);
    c = add_comm(0, 1, 4);
    for (unsigned s = 0; s < 400; s++) {
        for (uint32_t p = 0; p < 4; p++)
            run.clock[p] += 1000 + late_us[p] + s % 3;
        meet(c, 0, 1, 200);
    }
    make();
}

/* Ranks 1 and 2 are late in the same operations: who mends one of them still
 * waits for the other. */
static void two_hide_each_other(void **state)
{
    const size_t who[] = {1, 2};
    const struct replay_cause causes[] = {
        {REPLAY_LATE, .processes = &who[0], .n = 1, .from_us = NAN},
        {REPLAY_LATE, .processes = &who[1], .n = 1, .from_us = NAN}};
    struct replay_gain gains[2];
    double all, of = 1000 + 300 + 1 + 200;

    (void) state;
    meet_late((double[4]){0, 300, 300, 0});
    assert_true(run.state.usable);
    assert_int_equal(replay_gains(run.replay, causes, 2, gains, &all), 0);
    assert_near(all, 300 / of);
    for (int i = 0; i < 2; i++) {
        assert_near(gains[i].alone, 0);
        assert_near(gains[i].last, 300 / of);
        assert_near(gains[i].share, 150 / of);
    }
    end();
    /* the later one alone makes the others wait for 200 us longer */
    meet_late((double[4]){0, 300, 100, 0});
    assert_int_equal(replay_gains(run.replay, causes, 2, gains, &all), 0);
    assert_near(all, 300 / of);
    assert_near(gains[0].alone, 200 / of);
    assert_near(gains[0].last, 300 / of);
    assert_near(gains[1].alone, 0);
    assert_near(gains[1].last, 100 / of);
    assert_near(gains[1].share, 300 / of * 100 / 400);
    end();
}

static struct jp_finding *add_late_rank(struct jp_findings *findings,
                                        int64_t process, double share)
{
    struct jp_finding *f = findings_add(findings, JP_FINDING_LATE_RANK);

    assert_non_null(f);
    f->process = process;
    f->by_own_time = true;
    finding_cost(findings, f, share * findings->gpus_us);
    snprintf(f->text, sizeof(f->text), "late");
    return f;
}

/* Each is told with its share; who is late by nothing is dropped, and then no
 * part of what is said of the others. */
static void findings_hide_each_other(void **state)
{
    struct jp_findings findings = {0};
    double of = 1000 + 300 + 1 + 200;

    (void) state;
    meet_late((double[4]){0, 300, 300, 0});
    findings.run_us = run.clock[0];
    findings.gpus_us = 4 * run.clock[0];
    for (int64_t p = 1; p < 4; p++)
        add_late_rank(&findings, p, p < 3 ? 0.5 : 0.004);
    assert_int_equal(
        whatif_findings(&run.result, &run.processes, NULL, &findings), 0);
    assert_int_equal(findings.n, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct jp_finding *f = &findings.at[i];

        assert_int_equal(f->process, i + 1);
        assert_near(f->gain, 0);
        assert_near(f->gain_last, 300 / of);
        assert_near(f->gain_all, 300 / of);
        assert_near(f->of_run, 150 / of * 3 / 4);
        assert_non_null(strstr(f->text, "without it alone the run would take"));
        assert_non_null(strstr(f->text, "less, without all 2 causes 20.0 % "
                                        "less"));
    }
    findings_fini(&findings);
    end();
}

static void lost_records(void **state)
{
    uint32_t c;

    (void) state;
    for (unsigned every = 100; every > 1; every /= 10) {
        begin(4);
        c = add_comm(0, 1, 4);
        for (unsigned s = 0; s < 400; s++) {
            struct timeline *t = run.timelines[1], *none;

            for (uint32_t p = 0; p < 4; p++)
                run.clock[p] += 1000;
            none = timeline_create(0, 0); /* takes nothing */
            if (s % every == 7)
                run.timelines[1] = none;
            meet(c, 0, 1, 200);
            run.timelines[1] = t;
            timeline_destroy(none);
        }
        make();
        assert_int_equal(run.state.lacking, 3 * 400 / every);
        assert_int_equal(run.state.usable, every == 100);
        end();
    }
}

static void nothing_to_compare_with(void **state)
{
    const size_t who[] = {0, 1};
    uint32_t c;

    (void) state;
    begin(2);
    c = add_comm(0, 1, 2);
    for (unsigned s = 0; s < 50; s++) {
        run.clock[0] += 100;
        run.clock[1] += 200;
        meet(c, 0, 1, 20);
    }
    make();
    assert_true(isnan(without(REPLAY_LATE, who, 2)));
    end();
    begin(0);
    make();
    assert_false(run.state.usable);
    end();
}

/* Makes own times of process 0 longer by that rate. Sets by how much those of
 * each are longer together, and returns how much longer the run is. */
static double scaled(double rate, double added_us[2])
{
    const double rates[2] = {rate, 0};
    double longer_us;

    assert_true(run.state.usable);
    assert_int_equal(replay_scaled(run.replay, rates, 0, &longer_us, added_us),
                     0);
    return longer_us;
}

/* Two processes that send to each other in one launch have one own time before
 * both messages: what is added to it counts once. */
static void launches_are_scaled_once(void **state)
{
    double added_us[2];
    uint32_t c;

    (void) state;
    begin(2);
    c = add_comm(0, 1, 2);
    for (unsigned s = 0; s < 101; s++) {
        for (uint32_t p = 0; p < 2; p++) {
            run.clock[p] += 1000;
            put(p, c, p, "Send", !p, ++run.p2p[p], run.clock[p],
                run.clock[p] + 200);
            put(p, c, p, "Recv", !p, ++run.p2p[p], run.clock[p],
                run.clock[p] + 200);
            run.clock[p] += 200;
        }
    }
    make();
    assert_int_equal(run.state.events, 4 * 101);
    assert_near(scaled(0.1, added_us), 100 * 100);
    assert_near(added_us[0], 100 * 100);
    assert_near(added_us[1], 0);
    end();
}

/* The same of a run of which only the order is known. */
static void joined_steps_are_scaled_once(void **state)
{
    enum { STEPS = 101 };
    static struct replay_step steps[2 * 2 * STEPS];
    static uint32_t comm[2 * STEPS];
    static float net_us[2 * STEPS];
    static const uint32_t first[3] = {0, 2 * STEPS, 4 * STEPS};
    const struct replay_order order = {.steps = steps,
                                       .first = first,
                                       .n = 4 * STEPS,
                                       .n_ops = 2 * STEPS,
                                       .comm = comm,
                                       .net_us = net_us,
                                       .run_us = STEPS * 1200 - 1000};
    double added_us[2];

    (void) state;
    begin(2);
    add_comm(0, 1, 2);
    for (uint32_t i = 0; i < 2 * STEPS; i++) {
        net_us[i] = 200;
        for (uint32_t p = 0; p < 2; p++) /* each sends before it receives */
            steps[first[p] + i] =
                (struct replay_step){.op = p ? i ^ 1 : i,
                                     .own_us = i % 2 || i < 2 ? 0 : 1000,
                                     .time_us = 200,
                                     .joined = i % 2};
    }
    assert_int_equal(processes_init_nodes(&run.processes, &run.result, NULL),
                     0);
    run.replay =
        replay_of_order(&run.result, &run.processes, &order, &run.state);
    assert_non_null(run.replay);
    assert_near(scaled(100, added_us), 100 * 100);
    assert_near(added_us[0], 100 * 100);
    assert_near(added_us[1], 0);
    end();
}

/* A cut timeline: only its part of the run is replayed, for all processes. */
static void part_of_the_run(void **state)
{
    const size_t who[] = {2};
    uint32_t c;

    (void) state;
    begin(4);
    timeline_destroy(run.timelines[3]);
    run.timelines[3] = timeline_create(60, 0);
    c = add_comm(0, 1, 4);
    for (unsigned s = 0; s < 400; s++) {
        for (uint32_t p = 0; p < 4; p++)
            run.clock[p] += p == 2 ? 1300 : 1000;
        meet(c, 0, 1, 200);
    }
    assert_true(run.timelines[3]->left > 0);
    make();
    assert_true(run.state.part);
    assert_in_range(run.state.events, 4 * 8, 4 * 200); /* of 4 * 400 */
    assert_true(run.state.usable);
    assert_true(fabs(without(REPLAY_LATE, who, 1) - 0.2) < 0.01);
    end();
}

static void timelines_are_packed(void **state)
{
    struct timeline *whole = timeline_create(1 << 20, 0),
                    *pieces = timeline_create(1 << 20, 0), *piece = NULL;
    struct timeline_reader reader;
    struct timeline_event e;
    uint64_t n = 0;

    (void) state;
    timeline_destroy(NULL);
    for (uint64_t i = 0; i < 5000; i++) {
        struct record r = {.id = text(i % 3 ? "0xabc" : "0xabcdef0123456789"),
                           .func = text(i % 2 ? "AllReduce" : "Send"),
                           .host = text("h"),
                           .pid = 7,
                           .n_ranks = 8,
                           .nnodes = 2,
                           .rank = 3,
                           .p2p = i % 2 == 0,
                           .peer = (uint32_t) (i % 8),
                           .sn = i * i,
                           .bytes = i << 20,
                           .start_us = EPOCH + 50 * i - 7 * (i % 5),
                           .exec_us = 30};

        r.end_us = r.start_us + i % 60;
        assert_int_equal(timeline_add(whole, &r), 0);
        if (i % 1000 == 0) {
            if (piece)
                assert_int_equal(timeline_join(pieces, piece), 0);
            timeline_destroy(piece);
            piece = timeline_create(1 << 20, 0);
        }
        assert_int_equal(timeline_add(piece, &r), 0);
    }
    assert_int_equal(timeline_join(pieces, piece), 0);
    timeline_destroy(piece);
    assert_int_equal(pieces->used, whole->used);
    assert_memory_equal(pieces->bytes, whole->bytes, whole->used);
    assert_int_equal(timeline_reader_init(&reader, whole), 0);
    for (; timeline_next(&reader, &e); n++) {
        assert_int_equal(e.sn, n * n);
        assert_int_equal(e.bytes, n << 20);
        assert_int_equal(e.start_us, EPOCH + 50 * n - 7 * (n % 5));
        assert_int_equal(e.time_us, n % 60 < 30 ? 30 : n % 60);
        assert_int_equal(n % 2 ? 0 : e.peer, n % 2 ? 0 : n % 8);
    }
    assert_int_equal(n, 5000);
    timeline_reader_fini(&reader);
    /* cut bytes end it */
    whole->used /= 2;
    assert_int_equal(timeline_reader_init(&reader, whole), 0);
    for (n = 0; timeline_next(&reader, &e);)
        n++;
    assert_in_range(n, 2000, 3000);
    timeline_reader_fini(&reader);
    timeline_destroy(whole);
    timeline_destroy(pieces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timelines_are_packed),
        cmocka_unit_test(late_rank),
        cmocka_unit_test(lateness_travels),
        cmocka_unit_test(launches_of_messages),
        cmocka_unit_test(launches_close_together),
        cmocka_unit_test(alltoall_held_up),
        cmocka_unit_test(stalls),
        cmocka_unit_test(slow_link),
        cmocka_unit_test(stages_are_evened),
        cmocka_unit_test(turns_are_evened),
        cmocka_unit_test(late_is_whole),
        cmocka_unit_test(overlap_is_followed),
        cmocka_unit_test(turns_beside_computation),
        cmocka_unit_test(overlap_costs_once),
        cmocka_unit_test(two_hide_each_other),
        cmocka_unit_test(findings_hide_each_other),
        cmocka_unit_test(lost_records),
        cmocka_unit_test(nothing_to_compare_with),
        cmocka_unit_test(launches_are_scaled_once),
        cmocka_unit_test(joined_steps_are_scaled_once),
        cmocka_unit_test(part_of_the_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
