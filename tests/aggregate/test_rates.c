/* test_rates.c - how fast messages were, pair by pair and rank by rank, and how
 * long they took over the run. */
#include "orchestrator/aggregate/join_parts.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "orchestrator/aggregate/aggregate.h"
#include "tests/common/tempdir.h"

/* From rank 0 to `peers` others, 100 messages each; the first 20 take 15 us, or
 * `first` of them 5; later ones wait. */
static void put_messages(const char *dir, unsigned peers, unsigned first)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);

    assert_non_null(f);
    for (unsigned peer = 1; peer <= peers; peer++)
        for (unsigned i = 1; i <= 100; i++)
            fprintf(f,
                    "{\"header\":{\"id\":\"0x1\",\"rank\":0,\"n_ranks\":32,"
                    "\"nnodes\":1},\"metadata\":{\"dump_timestamp_us\":1000,"
                    "\"hostname\":\"h\",\"pid\":1},\"p2p_perf\":{\"p2p\":"
                    "\"Send\",\"p2p_sn\":%u,\"p2p_peer\":%u,"
                    "\"p2p_msg_size_bytes\":1000000,\"p2p_exec_time_us\":%u,"
                    "\"p2p_busbw_gbs\":1.0}}\n",
                    100 * (peer - 1) + i, peer,
                    i <= first ? 5
                    : i <= 20  ? 15
                               : i);
    assert_int_equal(fclose(f), 0);
    free(tempdir_file(dir, "a.log", 0600, text));
    free(text);
}

/* 1 MB in 15 us: 66.7 GB/s, within a bucket. A rank with too many peers keeps
 * no rates of pairs, but rates of all messages. */
static void keeps_rates(void **state)
{
    for (unsigned peers = 16; peers <= 17; peers++)
        for (unsigned threads = 1; threads <= 2; threads++) {
            const struct jp_aggregate_options options = {.threads = threads};
            const char *dir = *state;
            struct jp_result *r;

            put_messages(dir, peers, 0);
            r = aggregate_run(&dir, 1, &options, NULL);
            assert_non_null(r);
            assert_int_equal(r->n_p2p, peers);
            for (unsigned i = 0; i < peers; i++)
                assert_true(peers > 16 ? isnan(r->p2p[i].fast_gbs)
                                       : fabs(r->p2p[i].fast_gbs - 66.7) < 4);
            assert_true(fabs(r->ranks[0].p2p_fast_gbs - 66.7) < 4);
            result_destroy(r);
        }
}

/* Some messages are three times as fast: of other sizes than recorded, or by
 * another path. */
static void tells_unlike_messages(void **state)
{
    const char *dir = *state;

    for (unsigned first = 1; first <= 10; first += 9) {
        const struct jp_aggregate_options options = {.threads = 1};
        struct jp_result *r;

        put_messages(dir, 1, first);
        r = aggregate_run(&dir, 1, &options, NULL);
        assert_non_null(r);
        assert_true(isnan(r->p2p[0].fast_gbs) == (first > 1));
        assert_true(isnan(r->ranks[0].p2p_fast_gbs) == (first > 1));
        result_destroy(r);
    }
}

/* A join with one communicator of one rank, which has no AlltoAll. */
static struct join *make_join(struct join_budget *budget)
{
    struct join *join = join_create(budget, false);

    assert_non_null(join);
    assert_int_equal(join_comm_get(join, "0x1", 3, 1, 1), 0);
    return join;
}

/* The bucket that a message is counted in, of its rank and of its pair. */
static uint32_t bucket_of(struct join *join, uint64_t bytes, uint64_t us)
{
    const struct record record = {.p2p = true, .bytes = bytes, .exec_us = us};
    struct join_member member = {.comm = 0};
    struct join_p2p pair = {.comm = 0};
    uint32_t bucket = JOIN_RATE_BUCKETS;

    assert_int_equal(join_messages_add(join, &member, &pair, &record), 0);
    assert_int_equal(member.traffic->rates.n, pair.rates.n);
    if (member.traffic->rates.n) {
        bucket = member.traffic->rates.at[0].bucket;
        assert_int_equal(pair.rates.at[0].bucket, bucket);
    }
    join_messages_fini(&member);
    free(pair.rates.at);
    return bucket;
}

static void counts_rates(void **state)
{
    static const struct {
        uint64_t bytes, us;
        uint32_t bucket;
    } rows[] = {
        {0, 5, JOIN_RATE_BUCKETS},
        {5, 0, JOIN_RATE_BUCKETS},
        {1, 1001, 0},
        {31, 1000, 31},
        {32, 1000, 32},
        {33, 1000, 32},
        {34, 1000, 33},
        {UINT64_MAX, 1, JOIN_RATE_BUCKETS - 1},
    };
    struct join_budget budget = {.limit = 1 << 20};
    struct join *join = make_join(&budget);
    struct join_rates rates = {0}, twice = {0};

    assert_true(isnan(join_rates_quantile(&rates, 0.5)));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(bucket_of(join, rows[i].bytes, rows[i].us),
                         rows[i].bucket);
    for (uint32_t i = 0; i < 100; i++) /* in any order */
        assert_int_equal(join_rates_add(join, &rates, i * 37 % 100, 1), 0);
    assert_int_equal(rates.n, 100);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(rates.at[i].bucket, i);
    assert_int_equal(join_rates_add(join, &rates, 7, UINT32_MAX), 0);
    assert_int_equal(rates.at[7].count, UINT32_MAX);
    assert_int_equal(join_rates_merge(join, &twice, &rates), 0);
    assert_memory_equal(twice.at, rates.at, 100 * sizeof(*rates.at));
    assert_true(fabs(join_rates_quantile(&rates, 0.5) - 7.5e-6) < 1e-8);
    budget.limit = 0; /* nothing has changed */
    assert_int_equal(join_rates_add(join, &rates, 200, 1), 0);
    for (uint32_t i = 201; rates.n < 128; i++)
        assert_int_equal(join_rates_add(join, &rates, i, 1), 0);
    assert_int_equal(join_rates_add(join, &rates, 300, 1), -1);
    assert_int_equal(rates.n, 128);
    free(rates.at);
    free(twice.at);
    join_destroy(join);
}

/* Times of n messages that take 1 to n us, each `step` after the last one, in
 * reverse if back. */
static struct join_member sum_up(struct join *join, uint64_t n, uint64_t step,
                                 bool back)
{
    struct join_member m = {.comm = 0};

    for (uint64_t i = 0; i < n; i++) {
        uint64_t k = back ? n - 1 - i : i;
        const struct record record = {
            .p2p = true, .has_sn = true, .sn = k * step + 1, .exec_us = k + 1};

        assert_int_equal(join_messages_add(join, &m, NULL, &record), 0);
    }
    return m;
}

/* The sums are the same in any order, and merged from two parts. */
static void adds_up_messages(void **state)
{
    static const struct {
        uint64_t n, step;
        unsigned shift;
        uint32_t first, parts; /* us of the first part */
    } rows[] = {
        {1, 1, 0, 1, 1},       {256, 1, 0, 1, 256},
        {257, 1, 1, 3, 129},   {1000, 1, 2, 10, 250},
        {1024, 1, 2, 10, 256}, {3, UINT64_C(1) << 62, 56, 1, 129},
    };
    struct join_budget budget = {.limit = 1 << 20};
    struct join *join = make_join(&budget);

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct join_member a, b, half, both;
        uint64_t us = 0;
        uint32_t last = 0;

        a = sum_up(join, rows[i].n, rows[i].step, false);
        b = sum_up(join, rows[i].n, rows[i].step, true);
        half = sum_up(join, rows[i].n / 2, rows[i].step, false);
        both = sum_up(join, rows[i].n / 2, rows[i].step, true);
        assert_int_equal(a.traffic->messages.shift, rows[i].shift);
        assert_int_equal(a.traffic->messages.us[0], rows[i].first);
        assert_int_equal(b.traffic->messages.shift, a.traffic->messages.shift);
        assert_int_equal(b.traffic->messages.room, a.traffic->messages.room);
        assert_memory_equal(b.traffic->messages.us, a.traffic->messages.us,
                            a.traffic->messages.room *
                                sizeof(*a.traffic->messages.us));
        for (uint32_t k = 0; k < a.traffic->messages.room; k++) {
            us += a.traffic->messages.us[k];
            last = a.traffic->messages.us[k] ? k + 1 : last;
        }
        assert_int_equal(us, rows[i].n * (rows[i].n + 1) / 2);
        assert_int_equal(last, rows[i].parts);
        assert_int_equal(join_messages_merge(join, &both, &a), 0);
        assert_int_equal(join_messages_merge(join, &b, &half), 0);
        assert_int_equal(both.traffic->messages.shift,
                         b.traffic->messages.shift);
        assert_int_equal(both.traffic->messages.room, b.traffic->messages.room);
        assert_memory_equal(both.traffic->messages.us, b.traffic->messages.us,
                            b.traffic->messages.room *
                                sizeof(*b.traffic->messages.us));
        join_messages_fini(&a);
        join_messages_fini(&b);
        join_messages_fini(&half);
        join_messages_fini(&both);
    }
    join_destroy(join);
}

/* Messages without number or time are left out; a time that does not fit
 * becomes the largest. */
static void leaves_messages_out(void **state)
{
    struct join_budget budget = {.limit = 1 << 20};
    struct join *join = make_join(&budget);
    struct join_member m = {.comm = 0};
    struct record r = {.p2p = true, .sn = 1, .exec_us = 5};

    budget.limit = budget.used + sizeof(struct join_traffic) + 64;
    assert_int_equal(join_messages_add(join, &m, NULL, &r), 0);
    r.has_sn = r.exec_unknown = true;
    assert_int_equal(join_messages_add(join, &m, NULL, &r), 0);
    assert_null(m.traffic->messages.us);
    r.exec_unknown = false;
    assert_int_equal(join_messages_add(join, &m, NULL, &r), 0);
    r.exec_us = UINT64_MAX;
    assert_int_equal(join_messages_add(join, &m, NULL, &r), 0);
    assert_int_equal(m.traffic->messages.us[0], UINT32_MAX);
    r.sn = 17; /* beyond the limit */
    assert_int_equal(join_messages_add(join, &m, NULL, &r), -1);
    assert_int_equal(m.traffic->messages.room, 16);
    assert_int_equal(m.traffic->messages.us[0], UINT32_MAX);
    join_messages_fini(&m);
    join_destroy(join);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keeps_rates, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(tells_unlike_messages, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test(counts_rates),
        cmocka_unit_test(adds_up_messages),
        cmocka_unit_test(leaves_messages_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
