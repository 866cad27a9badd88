/* test_hang.c - the word HANG, and calls that NCCL told nothing of.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/insight/verdict.h"
#include "tests/report/verdict_rows.h"

static void hang(struct fixture *f)
{
    struct jp_hang *hang = &f->result.hang;

    f->result.quality.in_flight = 31;
    hang->operations = 1;
    hang->age_us = JP_HANG_US;
    strcpy(hang->text, "rank 3 never entered AllReduce 4 of dp");
}

static void hangs(struct fixture *f)
{
    hang(f);
    f->result.hang.operations = 3;
}

/* Whatever else is missing. */
static void hang_incomplete(struct fixture *f)
{
    f->result.quality.records /= 2;
    f->result.quality.damaged_blocks = 7;
    f->nodes.tasks_failed = 2;
    hang(f);
}

static void hang_at_first(struct fixture *f)
{
    f->result.quality.records = 0;
    hang(f);
}

static void brief(struct fixture *f)
{
    hang(f);
    f->result.hang.age_us--;
}

static void unseen(struct fixture *f)
{
    struct jp_quality *q = &f->result.quality;

    q->unseen_calls = 3;
    q->unseen[0] = (struct jp_unseen){"Broadcast", 2};
    q->unseen[1] = (struct jp_unseen){"Reduce", 1};
    q->n_unseen = 2;
    q->expected += 3;
}

static void unseen_more(struct fixture *f)
{
    unseen(f);
    f->result.quality.unseen_calls = 2000;
    f->result.quality.expected += 1997;
}

static const struct verdict_row rows[] = {
    {hang, JP_VERDICT_HANG, "rank 3 never entered AllReduce 4 of dp; 31 op"},
    {hangs, JP_VERDICT_HANG, "2 more operations in flight for 10"},
    {hang_incomplete, JP_VERDICT_HANG, "rank 3 never entered"},
    {hang_at_first, JP_VERDICT_HANG, "rank 3 never entered"},
    {brief, JP_VERDICT_INCOMPLETE, "31 operations had not ended"},
    {unseen, JP_VERDICT_OK,
     "present (counted); 2 Broadcasts and 1 Reduce were called, NCCL told "
     "nothing of them"},
    {unseen, JP_VERDICT_OK, "99.9 % of the records"},
    {unseen_more, JP_VERDICT_INCOMPLETE,
     "2 Broadcasts, 1 Reduce and 1,997 other operations were called"},
};

static void test_rows(void **state)
{
    (void) state;
    verdict_rows_check(rows, sizeof(rows) / sizeof(*rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
