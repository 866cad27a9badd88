/* test_network.c - which links and groups are slow, on results made by hand. */
#include "orchestrator/insight/insight.h"
#include "orchestrator/insight/limits.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/aggregate/ops.h"

#define COMMS 8
#define RANKS 4 /* of each, two a node */
#define OPS 100
#define MIB (1 << 20)

/* Groups that share no node: group c is on nodes 2c and 2c + 1. */
static struct {
    struct jp_result result;
    struct jp_comm comms[COMMS];
    struct jp_rank ranks[COMMS * RANKS];
    struct jp_p2p p2p[COMMS * RANKS * RANKS * 2];
    char hosts[2 * COMMS][8];
    char *host_names[2 * COMMS];
    char *colls[2];
} m;

static void make_comm(unsigned c)
{
    static char name[] = "ep";

    m.comms[c] = (struct jp_comm){.id = "0x1",
                                  .name = name,
                                  .n_ranks = RANKS,
                                  .nnodes = 2,
                                  .type = JP_COMM_MIXED,
                                  .hosts = m.host_names + 2 * c,
                                  .n_hosts = 2,
                                  .ranks_seen = RANKS};
    for (unsigned k = 0; k < RANKS; k++)
        m.ranks[c * RANKS + k] = (struct jp_rank){
            .comm = c,
            .rank = k,
            .host = m.hosts[2 * c + k / 2],
            .pid = k,
            .p2p_fast_gbs = NAN,
        };
}

static int set_up(void **state)
{
    (void) state;
    memset(&m, 0, sizeof(m));
    for (unsigned h = 0; h < 2 * COMMS; h++) {
        snprintf(m.hosts[h], sizeof(m.hosts[h]), "n%02u", h);
        m.host_names[h] = m.hosts[h];
    }
    for (unsigned c = 0; c < COMMS; c++)
        make_comm(c);
    m.result = (struct jp_result){.coll_names = m.colls,
                                  .comms = m.comms,
                                  .n_comms = COMMS,
                                  .ranks = m.ranks,
                                  .n_ranks = COMMS * RANKS,
                                  .p2p = m.p2p,
                                  .ops = ops_create()};
    m.result.quality = (struct jp_quality){.records = 1,
                                           .expected = 1,
                                           .expected_kind = JP_EXPECT_BOUND,
                                           .ranks_seen = RANKS,
                                           .ranks_expected = RANKS};
    return 0;
}

static int tear_down(void **state)
{
    (void) state;
    ops_destroy(m.result.ops);
    return 0;
}

static void end_ops(void)
{
    assert_int_equal(ops_end(m.result.ops), 0);
}

/* Operations in which the network takes 100 us, and `us` in group c. */
static void add_ops(char *coll, unsigned slow, unsigned us)
{
    m.colls[0] = coll;
    m.result.n_coll_names = 1;
    for (unsigned c = 0; c < COMMS; c++) {
        m.comms[c].ops = m.comms[c].ops_complete = OPS;
        for (unsigned i = 0; i < OPS; i++, m.result.n_ops++) {
            uint64_t net = (c >= slow ? us : 100) + i % 3;
            const struct jp_op op = {.comm = c,
                                     .sn = i,
                                     .bytes = MIB,
                                     .n = RANKS,
                                     .n_exec = RANKS,
                                     .exec_min_us = net,
                                     .exec_second_us = net + 50,
                                     .exec_max_us = net + 50,
                                     .exec_sum_us = RANKS * net + 150};

            assert_int_equal(ops_add(m.result.ops, &op), 0);
        }
    }
    end_ops();
}

static void add_message(unsigned c, unsigned src, unsigned dst, double us)
{
    for (unsigned side = 0; side < 2; side++)
        m.p2p[m.result.n_p2p++] = (struct jp_p2p){
            .comm = c,
            .src = src,
            .dst = dst,
            .func = side ? "Send" : "Recv",
            .count = OPS,
            .bytes = (uint64_t) OPS * MIB,
            .exec_us = OPS * 400,
            /* one side alone is there last */
            .fast_gbs = MIB / (side == src % 2 ? 4 * us : us) / 1000};
}

/* Answers of the last find(), and of the last find_burst(). */
static struct jp_judgement links, drift;

enum { TEXT = sizeof(((struct jp_finding *) 0)->text) };

/* How many findings; the first one's text. */
static size_t find(char text[TEXT])
{
    struct jp_insight *x = insight_run(NULL, NULL, &m.result, NULL);
    size_t n;

    assert_non_null(x);
    n = x->findings.n;
    links = x->hypotheses.of[JP_HYPOTHESIS_SLOW_LINK];
    assert_int_equal(links.state == JP_HYPOTHESIS_FOUND, n > 0);
    text[0] = '\0';
    if (n) {
        assert_int_equal(x->findings.at[0].kind, JP_FINDING_SLOW_NETWORK);
        assert_int_equal(x->findings.at[0].against, JP_AGAINST_LIKES);
        snprintf(text, TEXT, "%s", x->findings.at[0].text);
    }
    insight_destroy(x);
    return n;
}

/* The answer on links is that they were compared, with the smallest effect. */
static void assert_links_judged(double least)
{
    assert_int_equal(links.state, JP_HYPOTHESIS_NOT_FOUND);
    assert_true(links.least > least - 1e-9 && links.least < 0.5);
}

/* Communicators over different links have different times. */
static void compares_like_fabrics(void **state)
{
    static char all_reduce[] = "AllReduce";
    char text[TEXT];

    (void) state;
    add_ops(all_reduce, COMMS - 2, 150);
    assert_int_equal(find(text), 1);
    assert_non_null(strstr(text, "in 2 communicators than"));
    for (unsigned c = 0; c < COMMS; c++)
        m.comms[c].fabric = c >= COMMS - 2 ? "ethernet" : "infiniband";
    assert_int_equal(find(text), 0);
    for (unsigned c = 0; c < COMMS; c++) {
        m.comms[c].fabric = "infiniband";
        m.comms[c].inter = c >= COMMS - 2 ? "ib-ndr" : "ib-hdr";
    }
    assert_int_equal(find(text), 0);
    for (unsigned c = 0; c < COMMS; c++) {
        m.comms[c].inter = "ib-ndr";
        m.comms[c].type = c >= COMMS - 2 ? JP_COMM_HCA_ONLY : JP_COMM_MIXED;
    }
    assert_int_equal(find(text), 0);
}

/* Operations of 100 us, and of `us` in group 0 from operation `from` to `to`.
 */
static void add_burst(char *coll, unsigned us, unsigned from, unsigned to)
{
    m.colls[0] = coll;
    m.result.n_coll_names = 1;
    for (unsigned c = 0; c < COMMS; c++)
        for (unsigned i = 0; i < OPS; i++, m.result.n_ops++) {
            uint64_t net = (!c && i >= from && i < to ? us : 100) + i % 3;
            const struct jp_op op = {.comm = c,
                                     .sn = i,
                                     .bytes = MIB,
                                     .n = RANKS,
                                     .n_exec = RANKS,
                                     .exec_min_us = net,
                                     .exec_second_us = net,
                                     .exec_max_us = net,
                                     .exec_sum_us = RANKS * net};

            assert_int_equal(ops_add(m.result.ops, &op), 0);
        }
    end_ops();
}

static size_t find_burst(unsigned us, unsigned from, unsigned to)
{
    static char all_reduce[] = "AllReduce";
    struct jp_insight *x;
    size_t n;

    tear_down(NULL);
    set_up(NULL);
    add_burst(all_reduce, us, from, to);
    x = insight_run(NULL, NULL, &m.result, NULL);
    assert_non_null(x);
    n = x->findings.n;
    drift = x->hypotheses.of[JP_HYPOTHESIS_DRIFT];
    insight_destroy(x);
    return n;
}

/* A burst of another job that costs next to nothing is no finding, but it was
 * there. What lasts to the end is one. */
static void tells_of_bursts(void **state)
{
    (void) state;
    assert_int_equal(find_burst(100, 0, 0), 0);
    assert_int_equal(drift.state, JP_HYPOTHESIS_NOT_FOUND);
    assert_true(drift.least > 0 && !*drift.text);
    assert_int_equal(find_burst(150, 40, 55), 0);
    assert_int_equal(drift.state, JP_HYPOTHESIS_NOT_FOUND);
    assert_true(isnan(drift.least));
    assert_non_null(strstr(drift.text, "was 49.5 % slower for a time, which "
                                       "cost 0.9 % of communication"));
    assert_int_equal(find_burst(300, 40, 55), 1); /* 3.5 % */
    assert_int_equal(drift.state, JP_HYPOTHESIS_FOUND);
    assert_int_equal(find_burst(150, 85, 100), 1);
    assert_int_equal(drift.state, JP_HYPOTHESIS_FOUND);
    assert_int_equal(find_burst(112, 90, 100), 0);
    assert_non_null(strstr(drift.text, "became 11.9 % slower, which"));
}

/* A link that is slow for what takes next to no time is no finding, but "no
 * link slower than its peers" would be false. */
static void tells_of_trifles(void **state)
{
    static char large[] = "AllGather", small[] = "AllReduce";
    char text[TEXT];

    (void) state;
    m.colls[0] = large;
    m.colls[1] = small;
    m.result.n_coll_names = 2;
    for (unsigned c = 0; c < COMMS; c++)
        for (unsigned i = 0; i < 2 * OPS; i++, m.result.n_ops++) {
            bool is_small = i >= OPS;
            uint64_t net = i % 3 + (!is_small        ? 10000
                                    : c == COMMS - 1 ? 150
                                                     : 100);
            const struct jp_op op = {.comm = c,
                                     .coll = is_small,
                                     .sn = i % OPS,
                                     .bytes = MIB,
                                     .n = RANKS,
                                     .n_exec = RANKS,
                                     .exec_min_us = net,
                                     .exec_second_us = net,
                                     .exec_max_us = net,
                                     .exec_sum_us = RANKS * net};

            assert_int_equal(ops_add(m.result.ops, &op), 0);
        }
    end_ops();
    assert_int_equal(find(text), 0);
    assert_int_equal(links.state, JP_HYPOTHESIS_NOT_FOUND);
    assert_true(isnan(links.least));
    assert_non_null(strstr(links.text, "1 communicator took 49.5 % longer than "
                                       "peers, which cost <0.1 % of"));
}

static void finds_alltoall(void **state)
{
    static char alltoall[] = "AlltoAllV";
    char text[TEXT];

    (void) state;
    add_ops(alltoall, COMMS - 1, 110);
    assert_int_equal(find(text), 0);
    assert_links_judged(limits_get(JP_LIMIT_NET_LIKES));
    tear_down(NULL);
    set_up(NULL);
    add_ops(alltoall, COMMS - 1, 140);
    assert_int_equal(find(text), 1);
    assert_non_null(strstr(text, "39.6 % longer for the AlltoAll of 1 "
                                 "communicator than"));
    assert_non_null(strstr(text, "nodes n14 and n15 and no other"));
}

/* The same of Send and Recv: ranks[k] is the one that comes last. */
static void finds_exchanges(void **state)
{
    char text[TEXT];

    (void) state;
    end_ops();
    for (unsigned c = 0; c < COMMS; c++) {
        for (unsigned i = 0; i < RANKS; i++)
            for (unsigned k = 0; k < RANKS; k++)
                add_message(c, i, k, 400);
        for (unsigned k = 0; k < RANKS; k++)
            m.ranks[c * RANKS + k].p2p_fast_gbs = k == c % RANKS ? 10 : 2;
    }
    assert_int_equal(find(text), 0);
    assert_links_judged(limits_get(JP_LIMIT_NET_LIKES));
    m.ranks[3 * RANKS + 3].p2p_fast_gbs = 7.5;
    assert_int_equal(find(text), 1);
    assert_non_null(strstr(text, "AlltoAll of 1 communicator than"));
    assert_non_null(strstr(text, "nodes n06 and n07 and no other"));
    m.result.n_ranks--; /* of a group that is not whole nothing is known */
    m.ranks[3 * RANKS + 3].p2p_fast_gbs = 10;
    m.ranks[(COMMS - 1) * RANKS].p2p_fast_gbs = 1;
    assert_int_equal(find(text), 0);
}

/* Pipelines of two stages, both directions. In groups 6 and 7, which are
 * between the same nodes, messages take `us`, in the others 100. */
static size_t find_pairs(double us, char text[TEXT])
{
    m.result.n_p2p = 0;
    for (unsigned c = 0; c < COMMS; c++) {
        add_message(c, 0, 2, c >= COMMS - 2 ? us : 100 + c % 3);
        add_message(c, 2, 0, c >= COMMS - 2 ? us : 100 + c % 3);
    }
    return find(text);
}

static void finds_links(void **state)
{
    char text[TEXT];

    (void) state;
    end_ops();
    for (unsigned k = 0; k < RANKS; k++) /* a second pipeline there */
        m.ranks[7 * RANKS + k].host = m.ranks[6 * RANKS + k].host;
    for (unsigned k = 0; k < RANKS; k++)
        m.ranks[7 * RANKS + k].pid = RANKS + k;
    assert_int_equal(find_pairs(100, text), 0);
    assert_links_judged(limits_get(JP_LIMIT_NET_PAIRS));
    assert_int_equal(find_pairs(112, text), 0);
    assert_int_equal(find_pairs(130, text), 1);
    assert_non_null(strstr(text, "between nodes n12 and n13"));
    assert_non_null(strstr(text, "in 4 pairs of ranks"));
    for (unsigned i = 0; i < m.result.n_p2p; i++)
        m.p2p[i].fast_gbs = NAN; /* not kept */
    assert_int_equal(find(text), 0);
    assert_int_equal(links.state, JP_HYPOTHESIS_NOT_JUDGED);
    assert_non_null(strstr(links.text, "links of one shape"));
}

/* `small` operations of 15 us, each of another size, and `large` of 2 ms. */
static size_t find_small(unsigned small, unsigned large)
{
    static char all_reduce[] = "AllReduce";
    struct jp_insight *x;
    size_t n;

    tear_down(NULL);
    set_up(NULL);
    m.colls[0] = all_reduce;
    m.result.n_coll_names = 1;
    m.result.n_ops = small + large;
    for (unsigned i = 0; i < small + large; i++) {
        uint64_t us = i < small ? 15 : 2000;
        uint64_t bytes = i < small ? 64 + 20 * i : 64 * MIB;
        const struct jp_op op = {.sn = i,
                                 .bytes = bytes,
                                 .n = RANKS,
                                 .n_exec = RANKS,
                                 .n_busbw = RANKS,
                                 .busbw_max_micro = bytes * 1000 / us,
                                 .exec_min_us = us,
                                 .exec_second_us = us,
                                 .exec_max_us = us,
                                 .exec_sum_us = RANKS * us};

        assert_int_equal(ops_add(m.result.ops, &op), 0);
    }
    end_ops();
    x = insight_run(NULL, NULL, &m.result, NULL);
    assert_non_null(x);
    n = x->findings.n;
    assert_true(!n || x->findings.at[0].kind == JP_FINDING_SMALL_MESSAGES);
    insight_destroy(x);
    return n;
}

static void finds_small_messages(void **state)
{
    (void) state;
    assert_int_equal(find_small(2000, 20), 1);  /* 40 % of the time */
    assert_int_equal(find_small(2000, 100), 0); /* 13 % */
    assert_int_equal(find_small(900, 0), 0);    /* no habit */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(compares_like_fabrics, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(tells_of_bursts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tells_of_trifles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_alltoall, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_exchanges, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_links, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_small_messages, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
