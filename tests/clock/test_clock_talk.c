/* test_clock_talk.c - exchanges between nodes whose clocks are known exactly,
 * without sockets and with a simulated time. */
#include "plugins/clock/clock_work.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000000)
#define NODES 7
#define FLYING 256

static uint64_t seed;

static double uniform(void)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double) (seed >> 11) / 9007199254740992.0;
}

/* Packets on their way, by true time. */
struct flying {
    bool used;
    bool lies; /* it has arrived and was not taken yet */
    int64_t at;
    uint32_t to;
    struct clock_packet packet;
};

struct net {
    uint32_t n;
    int64_t now; /* true time */
    struct clock_talk talks[NODES];
    struct {
        int64_t offset;
        double ppm;
        bool dead;
    } clocks[NODES];
    struct flying flying[FLYING];
    struct clock_packet
        copy; /* the last question of node 1, or the answer to it */
    uint64_t packets;
    /* behaviour of the network */
    double loss, queued, queue_ns;
    int64_t delay_ns, more_up_ns; /* more: from a lower to a higher node */
    int64_t tx_lost_of;           /* node whose times of sending are unknown */
    bool twice;                   /* every packet arrives twice */
    bool beats;                   /* packets lie until a node's next beat */
    uint64_t wakeups;
};

struct who {
    struct net *net;
    uint32_t node;
};
static struct who whos[NODES];

static int64_t clock_of(const struct net *net, uint32_t node, int64_t t)
{
    return t + net->clocks[node].offset +
           llround(net->clocks[node].ppm * 1e-6 * (double) t);
}

static void fly(struct net *net, const struct clock_packet *p, int64_t at)
{
    for (size_t i = 0; i < FLYING; i++)
        if (!net->flying[i].used) {
            net->flying[i] = (struct flying){
                .used = true, .at = at, .to = p->to, .packet = *p};
            return;
        }
    fail_msg("too many packets");
}

static bool send_packet(void *arg, bool to_answer, size_t index,
                        const struct clock_packet *p, uint64_t tag)
{
    struct who *who = arg;
    struct net *net = who->net;
    int64_t delay = net->delay_ns + (int64_t) (uniform() * 500);

    (void) index;
    (void) to_answer;
    net->packets++;
    if (p->to > p->from)
        delay += net->more_up_ns;
    if (uniform() < net->queued)
        delay += (int64_t) (-log(1 - uniform()) * net->queue_ns);
    if (uniform() >= net->loss && !net->clocks[p->to].dead) {
        fly(net, p, net->now + delay);
        if (net->twice)
            fly(net, p, net->now + delay + 1000);
    }
    if (tag)
        clock_talk_sent(&net->talks[who->node], tag,
                        who->node == net->tx_lost_of
                            ? INT64_MIN
                            : clock_of(net, who->node, net->now),
                        clock_of(net, who->node, net->now));
    return true;
}

static void net_init(struct net *net, uint32_t n)
{
    *net = (struct net){
        .n = n, .delay_ns = 25000, .tx_lost_of = -1, .now = 1000 * SECOND};
    for (uint32_t i = 0; i < n; i++) {
        net->clocks[i].offset = (int64_t) (i * 3140000000u);
        net->clocks[i].ppm = 12.5 * i;
        whos[i] = (struct who){net, i};
    }
}

static void net_start(struct net *net, int64_t cadence_ns)
{
    for (uint32_t i = 0; i < net->n; i++) {
        struct clock_talk *t = &net->talks[i];

        clock_talk_init(t, net->n, i, 1, cadence_ns, 100000,
                        clock_of(net, i, net->now));
        t->send = send_packet;
        t->arg = &whos[i];
        t->has_beats = net->beats;
        for (size_t k = 0; k < t->n_edges; k++)
            t->edges[k].ready = true;
    }
}

static void net_fini(struct net *net)
{
    for (uint32_t i = 0; i < net->n; i++)
        clock_talk_fini(&net->talks[i]);
}

/* Packets that lie at a node are taken at its beat, in order of arrival. */
static void take_lying(struct net *net, uint32_t node, int64_t own)
{
    if (own < net->talks[node].beat_ns)
        return;
    for (;;) {
        struct flying *first = NULL;

        for (size_t i = 0; i < FLYING; i++) {
            struct flying *f = &net->flying[i];

            if (f->used && f->lies && f->to == node &&
                (!first || f->at < first->at))
                first = f;
        }
        if (!first)
            return;
        first->used = false;
        clock_talk_take(&net->talks[node], &first->packet,
                        clock_of(net, node, first->at), own);
    }
}

/* Handles the next event: a packet's arrival or a node's own time. */
static void net_run(struct net *net, int64_t until)
{
    int64_t due[NODES];

    for (uint32_t i = 0; i < net->n; i++)
        due[i] = net->now;
    while (net->now < until) {
        struct flying *first = NULL;
        int64_t at = until;
        int32_t node = -1;

        for (size_t i = 0; i < FLYING; i++)
            if (net->flying[i].used && !net->flying[i].lies &&
                net->flying[i].at < at) {
                first = &net->flying[i];
                at = first->at;
            }
        for (uint32_t i = 0; i < net->n; i++)
            if (!net->clocks[i].dead && due[i] < at) {
                at = due[i];
                node = (int32_t) i;
            }
        net->now = at > net->now ? at : net->now;
        if (node < 0 && first && net->beats) {
            first->lies = true;
            continue;
        }
        if (node < 0 && first) {
            node = (int32_t) first->to;
            first->used = false;
            if (!net->clocks[node].dead)
                clock_talk_take(&net->talks[node], &first->packet,
                                clock_of(net, first->to, net->now),
                                clock_of(net, first->to, net->now));
        }
        if (node >= 0) {
            int64_t own = clock_of(net, (uint32_t) node, net->now), next;

            net->wakeups++;
            if (net->beats)
                take_lying(net, (uint32_t) node, own);
            next = clock_talk_run(&net->talks[node], own);

            due[node] = next == INT64_MAX ? INT64_MAX
                                          : net->now + (next - own) + 50;
        }
    }
}

static double error_of(const struct net *net, const struct clock_window *w,
                       double part)
{
    /* the true time at which the asking clock shows that moment */
    int64_t at = w->start_ns +
                 (int64_t) (part * (double) (w->end_ns - w->start_ns));
    int64_t t = at - net->clocks[w->from].offset;

    t = llround((double) t / (1 + net->clocks[w->from].ppm * 1e-6));
    return (double) (w->beta_ns - (clock_of(net, w->to, t) - at)) +
           w->slope * (double) (at - w->start_ns);
}

static struct clock_window close_edge(struct net *net, uint32_t node,
                                      size_t edge, int64_t start)
{
    struct clock_window w;

    clock_edge_close(&net->talks[node], edge, 1, clock_of(net, node, start),
                     clock_of(net, node, net->now), &w);
    return w;
}

/* All windows of all edges over 4 s, at their beginning, middle and end. */
static double worst_error(struct net *net, int64_t start, double *beyond)
{
    double worst = 0;

    for (uint32_t i = 0; i < net->n; i++)
        for (size_t k = 0; k < net->talks[i].n_edges; k++) {
            struct clock_window w = close_edge(net, i, k, start);

            assert_int_equal(w.status, CLOCK_OK);
            for (int p = 1; p < 4; p++) {
                double by = fabs(error_of(net, &w, p / 4.0));

                worst = fmax(worst, by);
                if (beyond)
                    *beyond += by > 3 * w.unc_ns;
            }
        }
    return worst;
}

static void quiet(void **state)
{
    struct net net;
    int64_t start;

    (void) state;
    seed = 3;
    for (uint32_t n = 2; n <= NODES; n++) {
        net_init(&net, n);
        net_start(&net, 20000000);
        start = net.now;
        net_run(&net, start + 4 * SECOND);
        assert_true(worst_error(&net, start, NULL) < 250);
        net_fini(&net);
    }
}

/* Queues on the way: the lines stay within three uncertainties once an edge has
 * had a few windows. */
static void congested(void **state)
{
    double beyond = 0, worst = 0;
    struct net net;

    (void) state;
    seed = 4;
    net_init(&net, 4);
    net.queued = 0.6;
    net.queue_ns = 40000;
    net_start(&net, 20000000);
    for (int k = 0; k < 3; k++)
        net_run(&net, net.now + 4 * SECOND), worst_error(&net, net.now, NULL);
    for (int k = 0; k < 40; k++) {
        int64_t start = net.now;

        net_run(&net, start + 4 * SECOND);
        worst = fmax(worst, worst_error(&net, start, &beyond));
    }
    /* 40 windows of 6 edges at 3 moments */
    if (worst > 10000 || beyond > 0.05 * 720)
        fail_msg("worst %.0f ns, %.0f of 720 beyond", worst, beyond);
    net_fini(&net);
}

/* One way takes 20 us longer: the error is half of it, as theory says, and no
 * line can show it. */
static void asymmetric(void **state)
{
    struct clock_window w;
    struct net net;
    int64_t start;

    (void) state;
    seed = 5;
    net_init(&net, 2);
    net.more_up_ns = 20000;
    net_start(&net, 20000000);
    start = net.now;
    net_run(&net, start + 4 * SECOND);
    w = close_edge(&net, 1, 0, start);
    assert_int_equal(w.status, CLOCK_OK);
    assert_true(fabs(fabs(error_of(&net, &w, 0.5)) - 10000) < 300);
    net_fini(&net);
}

static void lossy(void **state)
{
    struct net net;
    int64_t start;
    uint32_t lost = 0;

    (void) state;
    seed = 6;
    net_init(&net, 4);
    net.loss = 0.3;
    net_start(&net, 20000000);
    start = net.now;
    net_run(&net, start + 8 * SECOND);
    for (uint32_t i = 0; i < 4; i++)
        for (size_t k = 0; k < net.talks[i].n_edges; k++)
            lost += net.talks[i].edges[k].span.lost;
    /* five packets an exchange */
    assert_true(lost > 100);
    assert_true(worst_error(&net, start, NULL) < 2000);
    net_fini(&net);
}

/* A window is short from its first exchange until it has enough of them; one
 * without any exchange is not. */
static void short_window(void **state)
{
    struct net net;
    const struct clock_edge *e;
    uint32_t n = 0, least = UINT32_MAX, most = 0;
    int64_t start;

    (void) state;
    seed = 8;
    net_init(&net, 2);
    net.loss = 0.3;
    net_start(&net, 20000000);
    start = net.now;
    e = net.talks[0].n_edges ? &net.talks[0].edges[0] : &net.talks[1].edges[0];
    while (n < 2 * CLOCK_LEAST) {
        const struct clock_talk *t = net.talks[0].n_edges ? &net.talks[0]
                                                          : &net.talks[1];

        n = e->span.exchanges + e->span.partial;
        if (clock_edge_is_short(t, 0)) {
            least = n < least ? n : least;
            most = n > most ? n : most;
        } else {
            assert_true(n == 0 || n >= CLOCK_LEAST);
        }
        net_run(&net, net.now + 20000000);
        assert_true(net.now < start + 60 * SECOND);
    }
    assert_int_equal(least, 1);
    assert_int_equal(most, CLOCK_LEAST - 1);
    net_fini(&net);
}

/* A node that is gone is asked less and less often, and the others go on. When
 * it is back, so are its lines. */
static void dead_peer(void **state)
{
    struct clock_edge *e;
    struct clock_window w;
    struct net net;
    uint64_t before;
    int64_t start;

    (void) state;
    seed = 7;
    net_init(&net, 2);
    net_start(&net, 20000000);
    e = &net.talks[1].edges[0];
    net.clocks[0].dead = true;
    assert_int_equal(net.talks[1].n_edges, 1);
    net_run(&net, net.now + 60 * SECOND);
    before = net.packets;
    assert_true(before < 60);
    net_run(&net, net.now + 600 * SECOND);
    /* two packets every 30 s */
    assert_true(net.packets - before <= 44);
    w = close_edge(&net, 1, 0, net.now - 660 * SECOND);
    assert_int_equal(w.status, CLOCK_FEW);
    assert_true(w.lost > 20 && !w.exchanges);
    net.clocks[0].dead = false;
    net_run(&net, net.now + 31 * SECOND);
    assert_int_equal(e->lost_in_row, 0);
    close_edge(&net, 1, 0, net.now);
    start = net.now;
    net_run(&net, start + 4 * SECOND);
    assert_true(worst_error(&net, start, NULL) < 250);
    net_fini(&net);
}

/* Each packet arrives twice: nothing is answered twice, nothing counts
 * twice. */
static void replays(void **state)
{
    struct net net;
    uint64_t packets;
    int64_t start;

    (void) state;
    seed = 8;
    net_init(&net, 2);
    net.twice = true;
    net_start(&net, 20000000);
    start = net.now;
    net_run(&net, start + 4 * SECOND);
    packets = net.packets;
    assert_true(packets <= 5 * (net.talks[1].edges[0].exchanges + 1));
    assert_true(net.talks[1].edges[0].exchanges > 190);
    assert_true(worst_error(&net, start, NULL) < 250);
    net_fini(&net);
}

/* Old questions and old answers, one by one. */
static void old_packets(void **state)
{
    struct clock_packet p = {
        .type = CLOCK_ASK1, .from = 1, .to = 0, .epoch = 5, .seq = 9};
    struct net net;
    struct clock_talk *t = &net.talks[0];

    (void) state;
    net_init(&net, 2);
    net_start(&net, SECOND);
    assert_int_equal(clock_talk_take(t, &p, 1, 1), 0);
    assert_int_equal(clock_talk_take(t, &p, 2, 2), -2);
    p.type = CLOCK_ASK2;
    p.seq = 8;
    assert_int_equal(clock_talk_take(t, &p, 3, 3), -2);
    p.seq = 9;
    assert_int_equal(clock_talk_take(t, &p, 4, 4), 0);
    assert_int_equal(clock_talk_take(t, &p, 5, 5), -2);
    p.type = CLOCK_ASK1;
    p.epoch = 4; /* of an earlier agent */
    p.seq = 100;
    assert_int_equal(clock_talk_take(t, &p, 6, 6), -2);
    p.epoch = 6; /* the agent was restarted */
    p.seq = 1;
    assert_int_equal(clock_talk_take(t, &p, 7, 7), 0);
    p.to = 1;
    p.seq = 2;
    assert_int_equal(clock_talk_take(t, &p, 8, 8), -2);
    p.to = 0;
    p.from = 3;
    assert_int_equal(clock_talk_take(t, &p, 9, 9), -2);
    p.type = CLOCK_STAMPS; /* without a question */
    p.from = 1;
    assert_int_equal(clock_talk_take(t, &p, 10, 10), -2);
    net_fini(&net);
}

/* Unknown times of sending, and a clock that is set: such exchanges fail with
 * their reason and give no bounds. */
static void unusable(void **state)
{
    struct clock_window w;
    struct net net;
    int64_t start;

    (void) state;
    seed = 9;
    for (int of = 0; of < 2; of++) {
        net_init(&net, 2);
        net.tx_lost_of = of;
        net_start(&net, 20000000);
        start = net.now;
        net_run(&net, start + 4 * SECOND);
        w = close_edge(&net, 1, 0, start);
        assert_int_equal(w.status, CLOCK_FEW);
        assert_true(w.no_stamp > 50 && !w.exchanges && w.lost == 0);
        net_fini(&net);
    }
    net_init(&net, 2);
    net_start(&net, 20000000);
    start = net.now;
    for (int i = 0; i < 4000; i++) {
        net_run(&net, net.now + 1037000);
        clock_talk_disturb(&net.talks[i % 2]);
    }
    w = close_edge(&net, 1, 0, start);
    assert_true(w.exchanges + w.disturbed > 190);
    assert_true(w.disturbed > 10 && w.exchanges > 100);
    assert_true(fabs(error_of(&net, &w, 0.5)) < 250);
    net_fini(&net);
}

/* A clock that jumps within a window: the bounds cross, and there is no
 * line. */
static void jump(void **state)
{
    struct clock_window w;
    struct net net;
    int64_t start;

    (void) state;
    seed = 10;
    net_init(&net, 2);
    net_start(&net, 20000000);
    start = net.now;
    net_run(&net, start + 2 * SECOND);
    net.clocks[0].offset += 5 * SECOND;
    net_run(&net, start + 4 * SECOND);
    w = close_edge(&net, 1, 0, start);
    assert_true(w.status == CLOCK_CROSSED || w.status == CLOCK_STEEP);
    start = net.now;
    net_run(&net, start + 4 * SECOND);
    w = close_edge(&net, 1, 0, start);
    assert_int_equal(w.status, CLOCK_OK);
    assert_true(fabs(error_of(&net, &w, 0.5)) < 250);
    net_fini(&net);
}

/* A neighbour that exceeds its budget is asked as rarely as it requests. */
static void wanted_cadence(void **state)
{
    struct net net;

    (void) state;
    seed = 11;
    net_init(&net, 2);
    net_start(&net, 20000000);
    net.talks[0].cadence_ns = 500000000;
    net_run(&net, net.now + 10 * SECOND);
    assert_in_range(net.talks[1].edges[0].exchanges, 19, 22);
    net_fini(&net);
}

/* Impossible stamps in an answer: extreme values do no harm. */
static void absurd_stamps(void **state)
{
    static const int64_t odd[] = {INT64_MIN, INT64_MIN + 1, -1,       0,
                                  1,         INT64_MAX - 1, INT64_MAX};
    struct net net;
    struct clock_talk *t = &net.talks[1];

    (void) state;
    net_init(&net, 2);
    net_start(&net, 1000);
    for (size_t i = 0; i < 7 * 7; i++) {
        struct clock_packet p = {.from = 0, .to = 1, .epoch = 1};
        int64_t now = SECOND * (int64_t) (i + 1);

        t->edges[0].next_ns = 0;
        net.clocks[0].dead = true;
        clock_talk_run(t, now);
        clock_talk_run(t, now + 100000);
        p.seq = t->edges[0].seq;
        for (int k = 0; k < 3; k++) {
            p.type = (uint8_t) (CLOCK_ANSWER1 + k);
            p.t_rx[0] = odd[i % 7];
            p.t_rx[1] = odd[i / 7];
            p.r_tx[0] = odd[i / 7];
            p.r_tx[1] = odd[i % 7];
            assert_int_equal(clock_talk_take(t, &p, now + 200000, now + 200000),
                             -1);
        }
        assert_int_equal(t->edges[0].state, EDGE_IDLE);
    }
    net_fini(&net);
}

/* Packets that lie until the next beat: the lines are equally good, the pace is
 * the requested one, and many packets cost one wake-up. With a clock that runs
 * 300 ppm fast, the time for which they lie looks different from what it is. */
static void beats(void **state)
{
    static const double ppm[] = {12.5, 300};
    struct net net;
    int64_t start;

    (void) state;
    for (size_t k = 0; k < 4; k++) {
        seed = 12 + k;
        net_init(&net, 4);
        for (uint32_t i = 0; i < 4; i++)
            net.clocks[i].ppm = i == 3 ? ppm[k % 2] : 0;
        net.beats = true;
        net_start(&net, k < 2 ? 20000000 : 66000000);
        net_run(&net, net.now + 4 * SECOND);
        worst_error(&net, net.now - 4 * SECOND, NULL);
        start = net.now;
        net.packets = net.wakeups = 0;
        net_run(&net, start + 4 * SECOND);
        /* 6 pairs, 5 packets; 2 beats and a spacing, of 4 nodes */
        assert_in_range(net.packets, k < 2 ? 5000 : 1500, k < 2 ? 6100 : 1900);
        if (net.wakeups > (k < 2 ? 2500 : 780))
            fail_msg("%u wake-ups", (unsigned) net.wakeups);
        for (uint32_t i = 0; i < 4; i++)
            for (size_t e = 0; e < net.talks[i].n_edges; e++) {
                struct clock_span *s = &net.talks[i].edges[e].span;

                assert_int_equal(s->lost + s->disturbed, 0);
                assert_in_range(s->rtt_min_ns, 49000, 52000);
            }
        assert_true(worst_error(&net, start, NULL) < 300);
        net_fini(&net);
    }
}

/* The same with losses, and with a node that dies and comes back. */
static void beats_lossy(void **state)
{
    struct net net;
    int64_t start;

    (void) state;
    seed = 17;
    net_init(&net, 4);
    net.beats = true;
    net.loss = 0.3;
    net_start(&net, 20000000);
    start = net.now;
    net_run(&net, start + 8 * SECOND);
    assert_true(worst_error(&net, start, NULL) < 2500);
    net.loss = 0;
    net.clocks[1].dead = true;
    net_run(&net, net.now + 60 * SECOND);
    net.clocks[1].dead = false;
    net_run(&net, net.now + 31 * SECOND);
    for (uint32_t i = 0; i < 4; i++)
        for (size_t e = 0; e < net.talks[i].n_edges; e++) {
            assert_int_equal(net.talks[i].edges[e].lost_in_row, 0);
            close_edge(&net, i, e, start);
        }
    start = net.now;
    net_run(&net, start + 4 * SECOND);
    assert_true(worst_error(&net, start, NULL) < 300);
    net_fini(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quiet),         cmocka_unit_test(congested),
        cmocka_unit_test(asymmetric),    cmocka_unit_test(lossy),
        cmocka_unit_test(dead_peer),     cmocka_unit_test(replays),
        cmocka_unit_test(old_packets),   cmocka_unit_test(unusable),
        cmocka_unit_test(jump),          cmocka_unit_test(wanted_cadence),
        cmocka_unit_test(absurd_stamps), cmocka_unit_test(beats),
        cmocka_unit_test(beats_lossy),   cmocka_unit_test(short_window),
    };

    return cmocka_run_group_tests_name("clock_talk", tests, NULL, NULL);
}
