/* test_stall.c - a communicator that stopped short of the others. */
#include "orchestrator/insight/stall.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "orchestrator/aggregate/ops.h"

#define STAGES 4
#define STEPS 12

/* Pairs of tensor-parallel ranks, one a stage; the last one ended `last`
 * operations and the others `most`, in STEPS steps; with a communicator of all,
 * or without. */
static uint64_t hole; /* number that the last one lacks; 0: none */

/* Numbers of the first and the last one, which are as many as they have. */
static void add_numbers(struct jp_result *r)
{
    r->ops = ops_create();
    for (uint32_t c = 0; c < STAGES; c += STAGES - 1)
        for (uint64_t i = 0; i < r->comms[c].ops; i++, r->n_ops++) {
            uint64_t sn = i + (c && hole && i >= hole);
            const struct jp_op op = {.comm = c, .sn = sn, .n = 2};

            assert_int_equal(ops_add(r->ops, &op), 0);
        }
    assert_int_equal(ops_end(r->ops), 0);
}

static size_t find_stall_of(uint64_t most, uint64_t last, bool world_too)
{
    static char tp[] = "tp", world[] = "world", host[] = "n0", *hosts = host;
    struct jp_comm comms[STAGES + 1];
    struct jp_rank ranks[4 * STAGES];
    struct jp_result r = {.comms = comms,
                          .n_comms = STAGES + world_too,
                          .ranks = ranks,
                          .n_ranks = (world_too ? 4 : 2) * STAGES};
    struct jp_findings list = {0};
    struct jp_people people;
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
    assert_int_equal(people_init(&people, &r, NULL), 0);
    assert_int_equal(stall_findings(&r, &people, NULL, true, &list), 0);
    n = list.n;
    findings_fini(&list);
    people_fini(&people);
    ops_destroy(r.ops);
    return n;
}

/* The others are in the midst of a step, which the communicator of all did not
 * come to the end of. */
static size_t find_stall(uint64_t last)
{
    return find_stall_of(1031, last, true);
}

static void test_stall(void **state)
{
    (void) state;
    assert_int_equal(find_stall(1030), 1);
    assert_int_equal(find_stall(998), 1);
    hole = 500; /* it went on behind that */
    assert_int_equal(find_stall(1030), 0);
    hole = 0;
    assert_int_equal(find_stall(1031), 0);
    assert_int_equal(find_stall(1031 - STEPS), 0); /* one fewer in each step */
    assert_int_equal(find_stall(1031 - 4 * STEPS), 0); /* a layer fewer */
    assert_int_equal(find_stall(800), 0);
    /* the last step ended: one operation, or some, are not recorded */
    assert_int_equal(find_stall_of(960, 959, true), 0);
    assert_int_equal(find_stall_of(960, 927, true), 0);
    /* the others have one more at the start or end */
    assert_int_equal(find_stall_of(961, 960, true), 0);
    assert_int_equal(find_stall_of(961, 959, true), 1);
    /* one a step: the last on its way as a kill came */
    assert_int_equal(find_stall_of(STEPS + 1, STEPS, true), 0);
    /* runs that have nothing to do with each other */
    assert_int_equal(find_stall_of(961, 960, false), 0);
    assert_int_equal(find_stall_of(960, 959, false), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stall)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
