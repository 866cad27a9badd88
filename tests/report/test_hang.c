/* test_hang.c - the verdict HANG, and calls for which NCCL reported no event.
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

/* A hang is reported even if records are missing. */
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
    f->result.quality.in_flight_us = f->result.hang.age_us;
}

static void unseen(struct fixture *f)
{
    struct jp_quality *q = &f->result.quality;

    q->unseen_calls = 3;
    q->unseen[0] = (struct jp_unseen){"Broadcast", 2};
    q->unseen[1] = (struct jp_unseen){"Reduce", 1};
    q->n_unseen = 2;
}

/* No rank waits for another one in them, save for the root. */
static void unseen_broadcasts(struct fixture *f)
{
    unseen(f);
    f->result.quality.unseen[0].calls = 50000;
    f->result.quality.unseen_calls = 50001;
}

static void unseen_more(struct fixture *f)
{
    unseen(f);
    f->result.quality.unseen_calls = 2000;
}

/* Task 3 failed, and the others were killed 4 s later. */
static void failed(struct fixture *f)
{
    fixture_fini(f);
    fixture_failed(f);
}

static void failed_cut(struct fixture *f)
{
    failed(f);
    f->result.quality.recordings = f->result.quality.cut_recordings = 32;
}

static void failed_late(struct fixture *f)
{
    struct jp_finding *late;

    failed(f);
    late = findings_add(&f->insight.findings, JP_FINDING_LATE_RANK);
    strcpy(late->text, "rank 5 was late");
}

static void failed_first(struct fixture *f)
{
    failed(f);
    f->report.result = NULL;
    for (size_t i = 0; i < f->nodes.n_nodes; i++)
        f->nodes.nodes[i].files = 0;
}

static void failed_before_records(struct fixture *f)
{
    failed(f);
    f->result.quality.records = 0;
}

/* Sets the end of the first task to us after the start of the hang. */
static void hang_failed(struct fixture *f, int64_t us)
{
    failed(f);
    hang(f);
    f->result.hang.since_us = us ? f->nodes.nodes[0].tasks[3].end_us - us : us;
}

static void hang_then_failed(struct fixture *f)
{
    hang_failed(f, JP_HANG_US);
}

/* All tasks end with one status, so that none of them is named. */
static void hang_then_all_failed(struct fixture *f)
{
    int64_t end_us;

    hang_failed(f, JP_HANG_US);
    end_us = f->nodes.nodes[0].tasks[3].end_us;
    f->insight.crash = (struct jp_crash){.cause = JP_CRASH_EXIT,
                                         .alike = true,
                                         .tasks = 32,
                                         .world_rank = -1,
                                         .end_us = end_us};
    strcpy(f->insight.crash.text, "all 32 tasks ended with exit status 2");
}

static void failed_then_hang(struct fixture *f)
{
    hang_failed(f, JP_HANG_US - 1);
}

/* The start of the hang is unknown; the other tasks lived for 4 s more, then
 * for longer. */
static void hang_some_time(struct fixture *f)
{
    hang_failed(f, 0);
}

static void hang_after(struct fixture *f)
{
    hang_failed(f, 0);
    f->insight.crash.before_us = JP_HANG_US;
}

static void cancelled(struct fixture *f)
{
    failed(f);
    findings_fini(&f->insight.findings);
    f->nodes.nodes[0].tasks[3] = f->nodes.nodes[0].tasks[2];
    f->nodes.job_state = SLURMJOB_CANCELLED;
    crash_findings(&f->nodes, &f->insight.processes, NULL, &f->insight.crash,
                   &f->insight.findings);
}

static void cancelled_hang(struct fixture *f)
{
    cancelled(f);
    hang(f);
}

static const struct verdict_row rows[] = {
    {failed, JP_VERDICT_FAILED,
     "rank 3 (gpu-node-0310, pid 5003) died of SIGSEGV, 4.00 s before any "
     "other task ended, last seen in AllReduce 9 of dp (0xab); 31 other tasks "
     "were then ended from outside; 32 of 32 ranks"},
    {failed_cut, JP_VERDICT_FAILED, "outside; 32 of 32 recordings cut"},
    {failed_late, JP_VERDICT_FAILED, "outside; rank 5 was late"},
    {failed_first, JP_VERDICT_NODATA, "rank 3 (gpu-node-0310, pid 5003) died"},
    {failed_first, JP_VERDICT_NODATA,
     "outside; no profiler output of 32 tasks"},
    {failed_before_records, JP_VERDICT_FAILED, "died of SIGSEGV"},
    {hang_then_failed, JP_VERDICT_HANG,
     "rank 3 never entered AllReduce 4 of dp; rank 3 (gpu"},
    {hang_then_all_failed, JP_VERDICT_HANG,
     "rank 3 never entered AllReduce 4 of dp; all 32 tasks ended"},
    {failed_then_hang, JP_VERDICT_FAILED, "outside; rank 3 never entered"},
    {hang_some_time, JP_VERDICT_HANG, "4 of dp; rank 3 (gpu"},
    {hang_after, JP_VERDICT_FAILED, "outside; rank 3 never entered"},
    {cancelled, JP_VERDICT_OK,
     "cancelled: 32 of 32 tasks by SIGTERM; 32 of 32 ranks"},
    {cancelled_hang, JP_VERDICT_HANG, "4 of dp; cancelled: 32 of"},
    {hang, JP_VERDICT_HANG, "rank 3 never entered AllReduce 4 of dp; 31 op"},
    {hangs, JP_VERDICT_HANG, "2 more operations in flight for 10"},
    {hang_incomplete, JP_VERDICT_HANG, "rank 3 never entered"},
    {hang_at_first, JP_VERDICT_HANG, "rank 3 never entered"},
    {brief, JP_VERDICT_INCOMPLETE,
     "31 operations had not ended, the oldest after 10.0 s"},
    {unseen, JP_VERDICT_OK,
     "present (counted); 2 Broadcasts and 1 Reduce were called without an "
     "NCCL event"},
    {unseen_broadcasts, JP_VERDICT_OK,
     "50,000 Broadcasts and 1 Reduce were called without an NCCL event"},
    {unseen_more, JP_VERDICT_INCOMPLETE,
     "2 Broadcasts, 1 Reduce and 1,997 other operations were called"},
};

static void test_rows(void **state)
{
    (void) state;
    verdict_rows_check(rows, sizeof(rows) / sizeof(*rows));
}

/* What the first screen says of how sure the name is, and of what to check. */
static void test_first_screen(void **state)
{
    static const struct {
        bool alike, sure;
        uint32_t rivals, earlier;
        const char *says, *lacks;
    } crashes[] = {
        {.sure = true,
         .says = "no other task failed as early",
         .lacks = "ended in the same way"},
        {.rivals = 1,
         .says = "1 more task failed about then",
         .lacks = "as early"},
        {.says = "which process ended first is not known",
         .lacks = "more task"},
        {.alike = true,
         .says = "all tasks ended in the same way",
         .lacks = "Read the output or the core file"},
        {.sure = true,
         .earlier = 3,
         .says = "3 other tasks had ended before, with status 0",
         .lacks = "ended first"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(crashes) / sizeof(*crashes); i++) {
        struct fixture *f = calloc(1, sizeof(*f));
        char *text = NULL;
        size_t size;
        FILE *out;

        assert_non_null(f);
        fixture_good(f);
        failed(f);
        f->insight.crash.alike = crashes[i].alike;
        f->insight.crash.sure = crashes[i].sure;
        f->insight.crash.rivals = crashes[i].rivals;
        f->insight.crash.earlier = crashes[i].earlier;
        fixture_judge(f, true);
        f->report.insight = &f->insight;
        out = open_memstream(&text, &size);
        assert_non_null(out);
        assert_int_equal(first_screen_write(&f->report, out), 0);
        fclose(out);
        if (!strstr(text, crashes[i].says) || strstr(text, crashes[i].lacks))
            fail_msg("row %zu: %s", i, text);
        free(text);
        fixture_fini(f);
        free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_first_screen)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
