/* test_ops.c - packed operations are unpacked without a change. */
#include "orchestrator/aggregate/ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Numbers of every width, and now and then the largest. */
static uint64_t any(uint64_t seed)
{
    uint64_t r = mix(seed * 2 + 1);

    return r % 97 == 0 ? UINT64_MAX : mix(r) >> r % 64;
}

static struct jp_op any_op(uint64_t i, uint32_t comm, uint32_t coll)
{
    uint64_t s = i * 32;

    return (struct jp_op){.comm = comm,
                          .coll = coll,
                          .sn = i,
                          .bytes = any(s),
                          .n = (uint32_t) any(s + 1),
                          .min_rank = (uint32_t) any(s + 2),
                          .n_exec = (uint32_t) any(s + 3),
                          .n_busbw = (uint32_t) any(s + 4),
                          .n_start = (uint32_t) any(s + 5),
                          .exec_min_us = any(s + 6),
                          .exec_second_us = any(s + 7),
                          .exec_max_us = any(s + 8),
                          .exec_sum_us = any(s + 9),
                          .busbw_sum_micro = any(s + 10),
                          .busbw_min_micro = any(s + 11),
                          .busbw_max_micro = any(s + 12),
                          .dump_min_us = any(s + 13),
                          .dump_max_us = any(s + 14),
                          .start_min_us = any(s + 15),
                          .start_max_us = any(s + 16),
                          .end_max_us = any(s + 17),
                          .phase = i % 3 == 2 ? JP_PHASE_SEVERAL
                                              : (uint32_t) (i % 60)};
}

/* As in training. */
static struct jp_op usual_op(uint64_t i, uint32_t comm, uint32_t coll)
{
    uint64_t us = 400 + mix(i) % 50;

    return (struct jp_op){.comm = comm,
                          .coll = coll,
                          .sn = i,
                          .bytes = UINT64_C(2097152) << i % 3,
                          .n = 64,
                          .min_rank = (uint32_t) (i % 64),
                          .n_exec = 64,
                          .n_busbw = 64,
                          .exec_min_us = us,
                          .exec_second_us = us + 1,
                          .exec_max_us = us + 20,
                          .exec_sum_us = us * 64 + 500 + i % 10,
                          .busbw_sum_micro = UINT64_C(380000000) * 64,
                          .busbw_min_micro = 370000000 + i % 1000,
                          .busbw_max_micro = 390000000 + i % 1000,
                          .dump_min_us = 1795251741000000 + i * 3000,
                          .dump_max_us = 1795251741000000 + i * 3000 + 90,
                          .phase = i % 5 == 4 ? JP_PHASE_SEVERAL
                                              : (uint32_t) (i % 5) * 16};
}

static void same(const struct jp_op *a, const struct jp_op *b)
{
    assert_int_equal(a->comm, b->comm);
    assert_int_equal(a->coll, b->coll);
    assert_true(a->sn == b->sn && a->bytes == b->bytes);
    assert_true(a->n == b->n && a->min_rank == b->min_rank);
    assert_true(a->n_exec == b->n_exec && a->n_busbw == b->n_busbw);
    assert_true(a->n_start == b->n_start);
    assert_true(a->exec_min_us == b->exec_min_us);
    assert_true(a->exec_second_us == b->exec_second_us);
    assert_true(a->exec_max_us == b->exec_max_us);
    assert_true(a->exec_sum_us == b->exec_sum_us);
    assert_true(a->busbw_sum_micro == b->busbw_sum_micro);
    assert_true(a->busbw_min_micro == b->busbw_min_micro);
    assert_true(a->busbw_max_micro == b->busbw_max_micro);
    assert_true(a->dump_min_us == b->dump_min_us);
    assert_true(a->dump_max_us == b->dump_max_us);
    assert_true(a->start_min_us == b->start_min_us);
    assert_true(a->start_max_us == b->start_max_us);
    assert_true(a->end_max_us == b->end_max_us);
    assert_true(a->phase == b->phase);
}

static void come_back(void **state)
{
    static const size_t lengths[] = {1, 127, 128, 129, 5, 1000};
    struct jp_ops *ops = ops_create();
    struct ops_reader reader = {.ops = ops};
    struct jp_op first;
    size_t n = 0;

    (void) state;
    assert_non_null(ops);
    for (uint32_t run = 0; run < 6; run++)
        for (size_t i = 0; i < lengths[run]; i++, n++) {
            struct jp_op op = any_op(n, run / 2, run % 2);

            assert_int_equal(ops_add(ops, &op), 0);
        }
    assert_int_equal(ops_end(ops), 0);
    assert_int_equal(ops->n, n);
    for (size_t step = 1; step < 400; step += 133) { /* and back again */
        for (size_t i = 0; i < n; i += step) {
            struct jp_op op = *ops_at(&reader, i), want;

            want = any_op(i, op.comm, op.coll);
            same(&op, &want);
        }
        first = any_op(0, 0, 0);
        same(ops_at(&reader, 0), &first);
    }
    assert_int_equal(ops_at(&reader, 256)->comm, 1);
    assert_int_equal(ops_at(&reader, 255)->coll, 0);
    assert_int_equal(ops_at(&reader, 256)->coll, 1);
    ops_destroy(ops);
}

#define PART(bits, member)                                                     \
    {                                                                          \
        bits, offsetof(struct jp_op, member),                                  \
            sizeof(((struct jp_op *) 0)->member)                               \
    }

/* Each part alone is the same as among all parts. */
static void come_in_parts(void **state)
{
    static const struct {
        unsigned part;
        size_t offset, len;
    } rows[] = {
        PART(OPS_SN, sn),
        PART(OPS_BYTES, bytes),
        PART(OPS_N, n),
        PART(OPS_N_EXEC, n_exec),
        PART(OPS_N_BUSBW, n_busbw),
        PART(OPS_N_START, n_start),
        PART(OPS_RANK, min_rank),
        PART(OPS_EXEC_MAX, exec_max_us),
        PART(OPS_EXEC, exec_min_us),
        PART(OPS_EXEC_OTHERS, exec_second_us),
        PART(OPS_EXEC_OTHERS, exec_sum_us),
        PART(OPS_BUSBW_SUM, busbw_sum_micro),
        PART(OPS_BUSBW, busbw_min_micro),
        PART(OPS_BUSBW_MAX, busbw_max_micro),
        PART(OPS_DUMP_MIN, dump_min_us),
        PART(OPS_DUMP_MAX, dump_max_us),
        PART(OPS_STARTS, start_min_us),
        PART(OPS_STARTS, start_max_us),
        PART(OPS_STARTS, end_max_us),
        PART(OPS_PHASE, phase),
    };
    struct jp_ops *ops = ops_create();

    (void) state;
    assert_non_null(ops);
    for (uint32_t i = 0; i < 300; i++) {
        struct jp_op op = any_op(i, 0, 0);

        assert_int_equal(ops_add(ops, &op), 0);
    }
    assert_int_equal(ops_end(ops), 0);
    for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
        struct ops_reader reader = {.ops = ops, .parts = rows[k].part};

        memset(reader.rows, 0xa5, sizeof(reader.rows));
        for (uint32_t i = 0; i < 300; i++) {
            struct jp_op want = any_op(i, 0, 0);

            assert_memory_equal(
                (const char *) ops_at(&reader, i) + rows[k].offset,
                (const char *) &want + rows[k].offset, rows[k].len);
        }
    }
    ops_destroy(ops);
}

static void get_their_order(void **state)
{
    static const uint32_t comm_at[] = {1, 0}, coll_at[] = {1, 0};
    struct jp_ops *ops = ops_create();
    struct ops_reader reader = {.ops = ops};

    (void) state;
    assert_non_null(ops);
    for (uint32_t i = 0; i < 400; i++) {
        struct jp_op op = any_op(i, i / 200, i / 100 % 2);

        assert_int_equal(ops_add(ops, &op), 0);
    }
    assert_int_equal(ops_end(ops), 0);
    ops_renumber(ops, comm_at, coll_at);
    ops_move(ops);
    for (uint32_t i = 0; i < 400; i++) {
        struct jp_op want =
            any_op((3 - i / 100) * 100 + i % 100, i / 200, i / 100 % 2);

        same(ops_at(&reader, i), &want);
    }
    ops_destroy(ops);
}

static void take_little(void **state)
{
    struct jp_ops *ops = ops_create();
    struct ops_reader reader = {.ops = ops};

    (void) state;
    assert_non_null(ops);
    for (uint32_t i = 0; i < 128; i++) {
        struct jp_op op = usual_op(i, 0, 0);

        assert_int_equal(ops_add(ops, &op), 0);
    }
    assert_int_equal(ops_end(ops), 0);
    for (uint32_t i = 0; i < 128; i++) {
        struct jp_op want = usual_op(i, 0, 0);

        same(ops_at(&reader, i), &want);
    }
    assert_in_range(ops->packed, 128, 128 * 30);
    ops_destroy(ops);
    ops_destroy(NULL);
}

/* Ranks on two nodes, one clock an hour back. Communicator 1 is entirely on
 * that node, and an operation of communicator 2 has no record of the clock that
 * is ahead. */
static void know_the_run(void **state)
{
    static const struct jp_op rows[] = {
        {.comm = 0, .n = 1, .dump_max_us = 7},
        {.comm = 0, .n = 4, .dump_min_us = 1000, .dump_max_us = 3600001000},
        {.comm = 0, .n = 4, .dump_min_us = 6000, .dump_max_us = 3600006000},
        {.comm = 1, .n = 2, .dump_min_us = 500, .dump_max_us = 500},
        {.comm = 1, .n = 2, .dump_min_us = 6500, .dump_max_us = 6500},
        {.comm = 2, .n = 4, .dump_max_us = 3600001000},
        {.comm = 2, .n = 3, .dump_max_us = 1000},
        {.comm = 2, .n = 4, .dump_max_us = 0}, /* not known */
        {.comm = 2, .n = 4, .dump_max_us = 3600006900},
    };
    static const uint32_t places[] = {0, 1, 2};
    struct jp_ops *ops = ops_create(), *other = ops_create();

    (void) state;
    assert_int_equal(ops_run_us(ops), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_int_equal(ops_add(ops, &rows[i]), 0);
        assert_int_equal(ops_run_us(ops), i < 2 ? 0 : i < 4 ? 5000 : 6000);
    }
    assert_int_equal(ops_take(other, ops, places, places), 0);
    assert_int_equal(ops_run_us(other), 6000);
    ops_destroy(ops);
    ops_destroy(other);
}

/* A clock that is set within the run does not make it longer. */
static void leave_out_steps(void **state)
{
    static const uint64_t hour = UINT64_C(3600000000);
    static const struct {
        uint64_t at_min, at_max;
        uint32_t coll;
    } rows[] = {
        /* from the third one on, the latest clock is ahead by an hour */
        {1000000, 1000000, 0},
        {2000000, 2000000, 0},
        {3000000, 3000000 + hour, 0},
        {4000000, 4000000 + hour, 0},
        /* another function at the same time: it is not added to the first */
        {1100000, 1100000, 1},
        {2100000, 2100000, 1},
        {3100000, 3100000 + hour, 1},
        {3200000, 3200000 + hour, 1},
        /* hostile times */
        {1, INT64_MAX, 2},
        {INT64_MAX, INT64_MAX, 2},
        {UINT64_MAX, UINT64_MAX, 2},
        {1, 1, 2},
        {INT64_MAX, UINT64_MAX, 2},
    };
    struct jp_ops *ops = ops_create();

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct jp_op op = {.n = 2,
                           .coll = rows[i].coll,
                           .dump_min_us = rows[i].at_min,
                           .dump_max_us = rows[i].at_max};

        assert_int_equal(ops_add(ops, &op), 0);
        if (i == 3 || i == 7)
            assert_int_equal(ops_run_us(ops), 3000000);
    }
    ops_destroy(ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leave_out_steps), cmocka_unit_test(come_back),
        cmocka_unit_test(come_in_parts),   cmocka_unit_test(get_their_order),
        cmocka_unit_test(take_little),     cmocka_unit_test(know_the_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
