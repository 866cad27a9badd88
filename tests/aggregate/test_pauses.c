/* Times in which the recording was off: recorded time, and what lies in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "orchestrator/aggregate/pauses.h"

/* Off from 100 to 200 (two processes, at moments of their own), from 400 to
 * 450, and from 900 on. */
static struct jp_quality make(void)
{
    struct jp_quality q = {0};

    pauses_add(&q, (struct jp_pause){900, 0, 7});
    pauses_add(&q, (struct jp_pause){100, 180, 10});
    pauses_add(&q, (struct jp_pause){400, 450, 5});
    pauses_add(&q, (struct jp_pause){120, 200, 9});
    return q;
}

static void joined(void **state)
{
    struct jp_quality q = make();

    assert_int_equal(q.n_pauses, 3);
    assert_int_equal(q.pauses[0].from_us, 100);
    assert_int_equal(q.pauses[0].to_us, 200);
    assert_int_equal(q.pauses[0].records, 19);
    assert_int_equal(q.pauses[1].from_us, 400);
    assert_int_equal(q.pauses[2].to_us, 0);
}

static void recorded_time(void **state)
{
    struct jp_quality q = make();

    assert_int_equal(pauses_us(&q, 0, 100), 0);
    assert_int_equal(pauses_us(&q, 0, 150), 50);
    assert_int_equal(pauses_us(&q, 150, 150), 0);
    assert_int_equal(pauses_us(&q, 50, 1000), 250);
    assert_false(pauses_have(&q, 99));
    assert_true(pauses_have(&q, 100));
    assert_false(pauses_have(&q, 200));
    assert_true(pauses_have(&q, UINT64_MAX - 1));
    /* there and back, at each moment that was recorded */
    for (uint64_t at = 0; at < 900; at++)
        if (!pauses_have(&q, at))
            assert_int_equal(pauses_moment(&q, 0, at - pauses_us(&q, 0, at)),
                             at);
    assert_int_equal(pauses_moment(&q, 150, 10), 210);
}

/* What was not recorded before the first operation, or after the last one, is
 * no part of the run. */
static void records(void **state)
{
    struct jp_quality q = make();

    assert_int_equal(pauses_records(&q, 50, 1000), 24);
    assert_int_equal(pauses_records(&q, 150, 1000), 5);
    assert_int_equal(pauses_records(&q, 50, 420), 19);
    assert_true(pauses_ended(&q));
    q = (struct jp_quality){0};
    assert_false(pauses_ended(&q));
    pauses_add(&q, (struct jp_pause){900, 0, 7});
    assert_false(pauses_ended(&q)); /* to the end */
}

/* More than are kept: then it is not known when they were. */
static void many(void **state)
{
    struct jp_quality q = {0};

    for (uint64_t i = 0; i < JP_PAUSES; i++)
        pauses_add(&q, (struct jp_pause){1000 * i, 1000 * i + 10, 1});
    assert_false(q.pauses_joined);
    pauses_add(&q, (struct jp_pause){100000, 100010, 1});
    assert_true(q.pauses_joined);
    assert_int_equal(q.n_pauses, JP_PAUSES);
    assert_int_equal(q.pauses[JP_PAUSES - 1].to_us, 100010);
    assert_int_equal(q.pauses[JP_PAUSES - 1].records, 2);
    assert_int_equal(pauses_us(&q, 0, 10), 10);
    assert_int_equal(pauses_known_us(&q, 0, 10), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joined),
        cmocka_unit_test(recorded_time),
        cmocka_unit_test(records),
        cmocka_unit_test(many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
