/* test_verdict.c - the verdict's word and sentence, by kind of evidence. */
#include "orchestrator/insight/verdict.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/fileio.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/limits.h"
#include "tests/report/verdict_rows.h"

/* --- what is done to a good report --- */

static void nothing(struct fixture *f)
{
    (void) f;
}

static void no_result(struct fixture *f)
{
    f->report.result = NULL;
    for (size_t i = 0; i < f->nodes.n_nodes; i++)
        f->nodes.nodes[i].files = 0;
}

static void no_nodes_no_result(struct fixture *f)
{
    f->report.result = NULL;
    f->nodes.n_nodes = 0;
}

static void folder_without_logs(struct fixture *f)
{
    f->report.conf = NULL;
    f->report.nodes = NULL;
    f->report.result = NULL;
}

static void mode_off(struct fixture *f)
{
    static char off[] = "off";

    f->conf.nccl_mode = off;
    f->report.result = NULL;
}

static void no_library(struct fixture *f)
{
    f->conf.n_env = 0;
    no_result(f);
}

/* srun had planned a run without any record. */
static void planned_nothing(struct fixture *f)
{
    static char lost[] = "loses all: nothing is written", text[] = "0",
                source[] = "environment", key[] = "NCCL_INSPECTOR_ENABLE";

    f->conf.planned_ops = 1000;
    f->conf.kept_ops = 0;
    f->conf.lost = lost;
    f->conf.settings[4] =
        (struct jp_setting){key, text, source, source, source};
    no_result(f);
}

static void empty_files(struct fixture *f)
{
    ops_destroy(f->result.ops);
    memset(&f->result, 0, sizeof(f->result));
    f->result.quality.files = 8;
}

static void bad_files(struct fixture *f)
{
    empty_files(f);
    f->result.quality.bad_lines = 12;
}

/* The recordings are cut in their only block, after a note of another kind. */
static void cut_at_once(struct fixture *f)
{
    static char log[] = "raw/a.log", cut[] = "cut last line",
                jpr[] = "raw/n/9.jpr",
                unended[] = JP_NOTE_UNENDED ", and holds no counters";
    static struct jp_file_note notes[] = {{log, cut}, {jpr, unended}};

    empty_files(f);
    f->result.quality.recordings = 8;
    f->result.quality.unbounded_recordings = 2;
    f->result.quality.notes = notes;
    f->result.quality.n_notes = 2;
}

static void idle_comms(struct fixture *f)
{
    f->result.quality = (struct jp_quality){.files = 8};
}

static void tail_lost(struct fixture *f)
{
    f->result.quality.records -= 10;
}

static void much_lost(struct fixture *f)
{
    f->result.quality.records -= 10890;
}

static void much_lost_bound(struct fixture *f)
{
    much_lost(f);
    f->result.quality.expected_kind = JP_EXPECT_BOUND;
}

static void gaps_in_folder(struct fixture *f)
{
    much_lost_bound(f);
    f->result.quality.unseen_records = 10880;
    f->report.conf = NULL;
    f->report.nodes = NULL;
}

static void gaps_by_filter(struct fixture *f)
{
    static char size[] = "8K", inspector[] = "inspector";

    much_lost_bound(f);
    f->result.quality.unseen_records = 10880;
    f->conf.settings[4].value = size;
    f->conf.nccl_mode = inspector;
}

static void bound(struct fixture *f)
{
    f->result.quality.expected_kind = JP_EXPECT_BOUND;
}

static void bound_filtered(struct fixture *f)
{
    bound(f);
    f->result.quality.unseen_records = 9000;
    f->report.conf = NULL;
    f->report.nodes = NULL;
}

static void bound_lost_by_all(struct fixture *f)
{
    bound(f);
    f->result.quality.unseen_records = 9000;
}

static void set_mode(struct fixture *f, const char *mode)
{
    f->conf.nccl_mode = (char *) mode;
}

/* NVIDIA's library with its filter off. */
static void inspector_lost_by_all(struct fixture *f)
{
    bound_lost_by_all(f);
    set_mode(f, "inspector");
}

static void inspector_filter(struct fixture *f)
{
    static char size[] = "8K";

    inspector_lost_by_all(f);
    f->conf.settings[4].value = size;
}

/* The recorder has no such filter, so it excuses nothing. */
static void recorder_filter(struct fixture *f)
{
    inspector_filter(f);
    set_mode(f, "recorder");
}

/* p2p=off does not excuse a missing collective. */
static void inspector_p2p_off(struct fixture *f)
{
    static char p2p[] = "p2p", off[] = "off";

    inspector_lost_by_all(f);
    f->conf.settings[1].key = p2p;
    f->conf.settings[1].value = off;
}

static void own_plugin(struct fixture *f)
{
    static char key[] = "NCCL_PROFILER_PLUGIN", value[] = "/my/own.so";
    static char source[] = "environment";

    f->conf.settings[1].key = key;
    f->conf.settings[1].value = value;
    f->conf.settings[1].source = source;
    no_result(f);
}

/* A TaskProlog has replaced it. */
static void other_plugin(struct fixture *f)
{
    static char path[] = "/site/libnccl-net.so";

    no_result(f);
    f->nodes.nodes[0].other_plugin = path;
    f->nodes.nodes[0].other_by = JP_OTHER_PROLOG;
    strcpy(f->nodes.nodes[0].other_program, "train");
}

static void one_bad_file(struct fixture *f)
{
    bad_files(f);
    f->result.quality.files = 1;
}

static void unknown(struct fixture *f)
{
    f->result.quality.expected_kind = JP_EXPECT_NONE;
    f->result.quality.expected = 0;
}

static void miscounted(struct fixture *f)
{
    f->result.quality.expected = 100;
}

static void rank_missing(struct fixture *f)
{
    /* rank 31 of the largest communicator */
    size_t last = f->result.n_ranks - 1;

    f->result.n_ranks = last;
    f->result.quality.ranks_seen = 31;
}

static void tp_rank_missing(struct fixture *f)
{
    f->result.comms[0].ranks_seen = 7;
}

static void node_missing(struct fixture *f)
{
    static char name[] = "n3";
    static char *names[] = {name};

    f->nodes.missing = names;
    f->nodes.n_missing = 1;
}

static void unfinished_bound(struct fixture *f)
{
    bound(f);
    f->nodes.nodes[1].finished = false;
}

static void unfinished_counted(struct fixture *f)
{
    f->nodes.nodes[1].finished = false;
}

static void cut(struct fixture *f)
{
    f->result.quality.cut_files = 2;
}

static void cut_recordings(struct fixture *f)
{
    f->result.quality.recordings = 32;
    f->result.quality.cut_recordings = 2;
}

static void stuck(struct fixture *f)
{
    f->result.quality.in_flight = 31;
}

static void stuck_for_long(struct fixture *f)
{
    stuck(f);
    f->result.quality.in_flight_us = UINT64_C(10000000000);
}

static void unbounded(struct fixture *f)
{
    cut_recordings(f);
    f->result.quality.unbounded_recordings = 1;
    f->result.quality.unbounded_since_us = 1700000000000000;
}

static void damaged(struct fixture *f)
{
    f->result.quality.damaged_blocks = 1;
}

/* A report by hand, while the step runs. */
static void running(struct fixture *f)
{
    much_lost_bound(f);
    f->nodes.over = false;
    f->nodes.going = NODES_GOING_ON;
}

/* The same, where Slurm does not answer. */
static void may_run(struct fixture *f)
{
    much_lost_bound(f);
    f->nodes.over = false;
    f->nodes.going = NODES_GOING_UNKNOWN;
}

static void first_hangs(struct fixture *f)
{
    empty_files(f);
    f->result.quality.in_flight = 8;
}

static void capped(struct fixture *f)
{
    static char disk[] = "disk", size[] = "1M", option[] = "option";

    much_lost(f);
    f->result.quality.capped = f->result.quality.expected -
                               f->result.quality.records;
    f->result.quality.recordings = 32;
    f->conf.settings[1] = (struct jp_setting){disk, size, option, option, size};
}

/* The files are far below the cap: it may have been either limit. */
static void low_space(struct fixture *f)
{
    static char key[] = "min_free", size[] = "20G", site[] = "site file";

    capped(f);
    f->conf.settings[2] = (struct jp_setting){key, size, site, site, size};
    f->result.quality.bytes_read = 32 * 1000;
}

/* The recorder says that it was the file system's free space. */
static void low_space_told(struct fixture *f)
{
    low_space(f);
    f->result.quality.room = (struct jp_room){
        .limits = JPR_LIMIT_MIN_FREE, .recordings = 32, .since_us = 1};
}

static void both_limits(struct fixture *f)
{
    low_space_told(f);
    f->result.quality.room.limits |= JPR_LIMIT_DISK;
}

/* A recording that ends at its cap has no end of its own. */
static void capped_and_killed(struct fixture *f)
{
    capped(f);
    f->result.quality.lost = f->result.quality.capped;
    f->result.quality.cut_recordings = 32;
    f->result.quality.unbounded_recordings = 32;
}

static void left_out_all(struct fixture *f)
{
    uint64_t n;

    capped(f);
    n = f->result.quality.capped;
    empty_files(f);
    f->result.quality.recordings = 8;
    f->result.quality.lost = f->result.quality.capped = n;
}

static void lost_all(struct fixture *f)
{
    empty_files(f);
    f->result.quality.lost = 9;
}

static void gone(struct fixture *f)
{
    f->report.result = NULL;
}

static void noted(struct fixture *f)
{
    static char why[] = "n1: the disk is full";

    no_nodes_no_result(f);
    f->nodes.why_unprofiled = why;
}

/* A library that can be read, so that nothing is known to be wrong. */
static void quiet(struct fixture *f)
{
    static char library[] = "/bin/sh";

    no_result(f);
    f->conf.env[0].value = library;
}

static void all_failed(struct fixture *f)
{
    quiet(f);
    f->insight.crash = (struct jp_crash){
        .cause = JP_CRASH_EXIT, .alike = true, .tasks = 32, .world_rank = -1};
    strcpy(f->insight.crash.text, "all 32 tasks ended with exit status 2");
}

static void cancelled(struct fixture *f)
{
    quiet(f);
    f->insight.crash = (struct jp_crash){.cause = JP_CRASH_CANCELLED};
    strcpy(f->insight.crash.text, "cancelled: 32 of 32 tasks by SIGTERM");
}

static void container(struct fixture *f)
{
    static char note[] = "the container of image a.sqsh does not show /scratch";

    quiet(f);
    f->conf.container_note = note;
}

static void own_folder(struct fixture *f)
{
    static char folder[] = "/home/a/logs";

    quiet(f);
    f->nodes.own_folder = folder;
    f->nodes.own_missed = 3;
}

static void own_variable(struct fixture *f)
{
    planned_nothing(f);
    quiet(f);
    f->conf.planned_ops = 0;
}

static void planned_loss(struct fixture *f)
{
    planned_nothing(f);
    quiet(f);
    f->conf.n_settings = 4; /* without the variable */
}

static void denied(struct fixture *f)
{
    static char path[] = "logs/a", what[] = "not read: " JP_NOTE_FOLDER;
    static struct jp_file_note note = {path, what};

    folder_without_logs(f);
    ops_destroy(f->result.ops);
    memset(&f->result, 0, sizeof(f->result));
    f->report.result = &f->result;
    f->result.quality.skipped_files = 1;
    f->result.quality.notes = &note;
    f->result.quality.n_notes = 1;
}

static void no_logs(struct fixture *f)
{
    bad_files(f);
    f->report.conf = NULL;
    f->report.nodes = NULL;
}

/* A log of aggregate's input that was cut. */
static void cut_input(struct fixture *f)
{
    no_logs(f);
    f->result.quality.cut_files = 1;
}

static void filtered(struct fixture *f)
{
    static char size[] = "8K", inspector[] = "inspector";

    idle_comms(f);
    f->conf.settings[4].value = size;
    f->conf.nccl_mode = inspector;
}

static void idle(struct fixture *f)
{
    static char recorder[] = "recorder";

    idle_comms(f);
    f->conf.nccl_mode = recorder;
}

static void unseen(struct fixture *f)
{
    static char func[] = "AllReduce";

    f->result.quality.unseen_calls = 50000;
    f->result.quality.n_unseen = 1;
    f->result.quality.unseen[0] = (struct jp_unseen){.calls = 50000};
    snprintf(f->result.quality.unseen[0].func,
             sizeof(f->result.quality.unseen[0].func), "%s", func);
}

static void uneven(struct fixture *f)
{
    strcpy(findings_add(&f->insight.findings, JP_FINDING_UNEVEN)->text, "x");
}

static void example_pools(struct fixture *f)
{
    bound(f);
    f->result.quality.overflow_records = 3;
}

static void lost_tail(struct fixture *f)
{
    static char option[] = "option", key[] = "colls", value[] = "100",
                lost[] = "loses the last operations", inspector[] = "inspector";

    bound(f);
    f->conf.nccl_mode = inspector;
    f->conf.lost = lost;
    f->conf.planned_ops = 1000000;
    f->conf.kept_ops = 10;
    f->conf.settings[2] = (struct jp_setting){key, value, option, option, key};
}

static void in_own_folder(struct fixture *f)
{
    static char folder[] = "/home/a/logs";

    f->nodes.own_folder = folder;
    f->nodes.own_missed = 3;
}

/* Records are missing, and the tasks are not known to have ended well. */
static void lost_by_failed(struct fixture *f)
{
    much_lost(f);
    f->nodes.tasks_failed = 1;
}

static void steps_differ(struct fixture *f)
{
    much_lost(f);
    f->result.quality.kernel_traces = f->result.quality.files;
}

static void unjudged(struct fixture *f, const char *why)
{
    hypothesis_set(&f->insight.hypotheses, JP_HYPOTHESIS_LATE_RANK,
                   JP_HYPOTHESIS_NOT_JUDGED, 0, "%s", why);
}

static void few_bad_lines(struct fixture *f)
{
    f->result.quality.bad_lines = 5;
}

static void many_bad_lines(struct fixture *f)
{
    f->result.quality.bad_lines = 5000;
}

static void overwritten(struct fixture *f)
{
    unknown(f);
    f->result.quality.overwritten = 7;
}

/* Nothing was found, and little would have been. */
static void rough(struct fixture *f)
{
    hypothesis_set(&f->insight.hypotheses, JP_HYPOTHESIS_LATE_RANK,
                   JP_HYPOTHESIS_NOT_FOUND, 1.1 * limits_get(JP_LIMIT_STATED),
                   NULL);
}

static void in_other_steps(struct fixture *f)
{
    rank_missing(f);
    strcpy(f->nodes.elsewhere, "1");
}

static void lost_comms(struct fixture *f)
{
    unknown(f);
    f->result.quality.lost = 7;
    f->result.quality.lost_comms = 3;
}

static void recorder_lost(struct fixture *f)
{
    unknown(f);
    f->result.quality.lost = 7;
}

static void full_disk(struct fixture *f)
{
    recorder_lost(f);
    f->result.quality.room = (struct jp_room){.limits = JPR_LIMIT_WRITE,
                                              .recordings = 1,
                                              .since_us = 1,
                                              .error = ENOSPC};
}

static void memory_limit(struct fixture *f)
{
    f->result.quality.left_out_records = 1234;
}

static void two_runs(struct fixture *f)
{
    f->result.quality.shared_ranks = 3;
}

static void one_id(struct fixture *f)
{
    two_runs(f);
    f->result.quality.twin_recordings = 1;
}

static void tasks_failed(struct fixture *f)
{
    f->nodes.tasks_failed = 2;
}

static const struct verdict_row rows[] = {
    {no_result, JP_VERDICT_NODATA, "no profiler output of 32 tasks; "},
    {no_result, JP_VERDICT_NODATA,
     "libnccl-profiler-jobprof.so cannot be read from here: No such file"},
    {no_nodes_no_result, JP_VERDICT_NODATA,
     "did not start there, or the nodes cannot"},
    {folder_without_logs, JP_VERDICT_NODATA, "no profiler output was found"},
    {mode_off, JP_VERDICT_NODATA, "not profiled (mode off)"},
    {no_library, JP_VERDICT_NODATA, "no profiler library was set"},
    {planned_nothing, JP_VERDICT_NODATA,
     "NCCL_INSPECTOR_ENABLE=0 remains as set by the user; as planned, the "
     "recorder loses all: nothing is written"},
    {empty_files, JP_VERDICT_NODATA, "8 files hold no record"},
    {bad_files, JP_VERDICT_NODATA, "no record that can be read (12 bad lines"},
    {first_hangs, JP_VERDICT_NODATA,
     "8 operations had begun, none had ended (jobprof show --pending"},
    {cut_at_once, JP_VERDICT_NODATA,
     "2 of 8 recordings are cut before the first record that can be read (the "
     "file was cut, or its process was killed); first: raw/n/9.jpr"},
    {idle_comms, JP_VERDICT_NODATA, "13 communicators, but no operation"},
    {much_lost, JP_VERDICT_INCOMPLETE,
     "90.0 % of the records present (97,910 of 108,800, counted)"},
    {much_lost_bound, JP_VERDICT_INCOMPLETE, "at most 90.0 %"},
    {gaps_in_folder, JP_VERDICT_INCOMPLETE, "lost, or below a size filter"},
    {gaps_by_filter, JP_VERDICT_OK, "the rest lost or left out by min_size=8K"},
    {bound_filtered, JP_VERDICT_OK,
     "100 % of the sequence numbers any rank recorded; 9,000 more were "
     "recorded by no rank (filtered or lost)"},
    {bound_lost_by_all, JP_VERDICT_INCOMPLETE,
     "9,000 records recorded by no rank: lost"},
    {inspector_lost_by_all, JP_VERDICT_INCOMPLETE,
     "9,000 records recorded by no rank: lost"},
    {inspector_filter, JP_VERDICT_OK, "9,000 more were recorded by no rank"},
    {recorder_filter, JP_VERDICT_INCOMPLETE, "recorded by no rank: lost"},
    {inspector_p2p_off, JP_VERDICT_INCOMPLETE, "recorded by no rank: lost"},
    {own_plugin, JP_VERDICT_NODATA, "NCCL_PROFILER_PLUGIN=/my/own.so was set"},
    {one_bad_file, JP_VERDICT_NODATA, "1 file holds no record"},
    {miscounted, JP_VERDICT_INCOMPLETE, "do not belong to these files"},
    {rank_missing, JP_VERDICT_INCOMPLETE, "1 of 32 ranks left no records (31)"},
    {tp_rank_missing, JP_VERDICT_INCOMPLETE,
     "1 of 12 other communicators have missing ranks"},
    {node_missing, JP_VERDICT_INCOMPLETE, "1 of 4 nodes without a record (n3)"},
    {unfinished_bound, JP_VERDICT_INCOMPLETE,
     "1 node did not finish (gpu-node-0311)"},
    {cut, JP_VERDICT_OK, "2 of 32 files end in mid-line"},
    {cut_recordings, JP_VERDICT_OK,
     "2 of 32 recordings cut: at most the last 100 ms of each are not counted"},
    {stuck, JP_VERDICT_OK,
     "31 operations had not ended (jobprof show --pending lists them)"},
    {stuck_for_long, JP_VERDICT_INCOMPLETE,
     "31 operations had not ended, the oldest after"},
    {unbounded, JP_VERDICT_INCOMPLETE,
     "2 of 32 recordings cut: the further loss of 1 of them is unknown since "
     "2023-11-14 22:13:20 UTC"},
    {running, JP_VERDICT_OK, "the step has not ended, and is judged so far"},
    {may_run, JP_VERDICT_INCOMPLETE,
     "whether the step has ended is not known: Slurm did not answer"},
    {damaged, JP_VERDICT_INCOMPLETE, "1 damaged block in the recordings"},
    {capped, JP_VERDICT_OK,
     "recorded until 2026-11-21 09:04:18 UTC, then no room: disk=1M of a "
     "recording (option); 10,890 operations left out"},
    {low_space, JP_VERDICT_OK,
     "no room: disk=1M of a recording (option) or min_free=20G of the file "
     "system (site file)"},
    {low_space_told, JP_VERDICT_OK,
     "no room: min_free=20G of the file system (site file); 10,890"},
    {both_limits, JP_VERDICT_OK,
     "no room: disk=1M of a recording (option) and min_free=20G of the file "
     "system (site file); 10,890"},
    {full_disk, JP_VERDICT_INCOMPLETE,
     "the recorder lost 7 records; a write of a recording failed: No space "
     "left on device"},
    {capped_and_killed, JP_VERDICT_OK, "then no room: disk=1M"},
    {capped, JP_VERDICT_OK, "90.0 % of the records present (counted)"},
    {many_bad_lines, JP_VERDICT_INCOMPLETE, "5,000 lines could not be read"},
    {recorder_lost, JP_VERDICT_INCOMPLETE, "the recorder lost 7 records"},
    {memory_limit, JP_VERDICT_INCOMPLETE, "1,234 records left out"},
    {two_runs, JP_VERDICT_INCOMPLETE,
     "3 ranks with records of two processes: probably more than one run"},
    {one_id, JP_VERDICT_INCOMPLETE,
     "3 ranks with records of two processes: NCCL gave two communicators the "
     "same id"},
    {nothing, JP_VERDICT_OK,
     "32 of 32 ranks, 5,600 operations (4 functions) on 13 "
     "communicators, 51,200 Send/Recv records, all records present (counted)"},
    {tail_lost, JP_VERDICT_OK, "99.9 % of the records present (counted)"},
    {bound, JP_VERDICT_OK, "no gap in the sequence numbers"},
    {unknown, JP_VERDICT_OK, "how complete they are is unknown"},
    {unfinished_counted, JP_VERDICT_OK, "all records present (counted)"},
    {few_bad_lines, JP_VERDICT_OK, "all records present (counted)"},
    {tasks_failed, JP_VERDICT_OK, "2 of 32 tasks ended with an error"},
};

static void test_rows(void **state)
{
    (void) state;
    verdict_rows_check(rows, sizeof(rows) / sizeof(*rows));
}

/* Counters of some nodes do not show that the whole is complete. */
static void test_coverage(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    (void) state;
    assert_non_null(f);
    fixture_good(f);
    node_missing(f);
    fixture_judge(f, true);
    assert_true(f->verdict.coverage < 0);
    fixture_fini(f);
    fixture_good(f);
    inspector_lost_by_all(f);
    fixture_judge(f, true);
    assert_true(f->verdict.coverage > 0 && f->verdict.coverage < 0.95);
    fixture_fini(f);
    free(f);
}

/* Operations that ended with the processes of an earlier attempt have no
 * records, and are none that the last attempt lacks. */
static void test_ended_attempt(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    (void) state;
    assert_non_null(f);
    for (int ended = 0; ended < 2; ended++) {
        struct jp_quality *q = &f->result.quality;

        fixture_good(f);
        q->in_flight = q->records / 4;
        q->expected = q->records + q->in_flight;
        q->in_flight_ended = ended ? q->in_flight : 0;
        fixture_judge(f, true);
        assert_int_equal(f->verdict.word,
                         ended ? JP_VERDICT_OK : JP_VERDICT_INCOMPLETE);
        assert_int_equal(!strstr(f->verdict.text, "had not ended"), ended);
        fixture_fini(f);
    }
    free(f);
}

static void test_not_analysed(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    (void) state;
    assert_non_null(f);
    fixture_good(f);
    f->report.result = NULL;
    fixture_judge(f, false);
    assert_int_equal(f->verdict.word, JP_VERDICT_NODATA);
    assert_non_null(strstr(f->verdict.text, "not yet analysed"));
    assert_non_null(strstr(f->verdict.text, "jobprof report 48213.0"));
    assert_true(f->verdict.coverage < 0);
    f->report.conf = NULL;
    fixture_judge(f, false);
    assert_non_null(strstr(f->verdict.text, "not yet analysed"));
    fixture_fini(f);
    free(f);
}

/* A stage with more work is SLOW by its cost, and is listed after the network.
 * The sentence begins with what caused the word. */
static void test_worst_first(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    (void) state;
    assert_non_null(f);
    fixture_good(f);
    f->report.insight = &f->insight;
    strcpy(findings_add(&f->insight.findings, JP_FINDING_SLOW_NETWORK)->text,
           "network");
    strcpy(findings_add(&f->insight.findings, JP_FINDING_IMBALANCE)->text,
           "stage");
    f->insight.findings.at[1].cost_us = 1;
    findings_sort(&f->insight.findings);
    fixture_judge(f, true);
    assert_int_equal(f->verdict.word, JP_VERDICT_SLOW);
    assert_int_equal(strncmp(f->verdict.text, "stage; 1 more finding", 21), 0);
    fixture_fini(f);
    free(f);
}

/* Late ranks make the verdict SLOW, a slow network DEGRADED; other findings do
 * not change it, nor does missing data where something was found. */
static void test_findings(void **state)
{
    static const struct {
        enum jp_finding_kind kind;
        enum jp_verdict_word word;
    } kinds[] = {
        {JP_FINDING_SMALL_MESSAGES, JP_VERDICT_OK},
        {JP_FINDING_IMBALANCE, JP_VERDICT_OK},
        {JP_FINDING_UNEVEN, JP_VERDICT_INCOMPLETE},
        {JP_FINDING_DRIFT, JP_VERDICT_DEGRADED},
        {JP_FINDING_SLOW_NETWORK, JP_VERDICT_DEGRADED},
        {JP_FINDING_LATE_NODE, JP_VERDICT_SLOW},
        {JP_FINDING_LATE_RANK, JP_VERDICT_SLOW},
    };
    struct fixture *f = calloc(1, sizeof(*f));

    (void) state;
    assert_non_null(f);
    fixture_good(f);
    f->report.insight = &f->insight;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        strcpy(findings_add(&f->insight.findings, kinds[i].kind)->text,
               "cause");
        findings_sort(&f->insight.findings);
        fixture_judge(f, true);
        assert_int_equal(f->verdict.word, kinds[i].word);
        assert_int_equal(strncmp(f->verdict.text, "cause", 5) == 0,
                         kinds[i].word != JP_VERDICT_OK);
    }
    assert_non_null(strstr(f->verdict.text, "cause; 4 more findings"));
    much_lost(f);
    fixture_judge(f, true);
    assert_int_equal(f->verdict.word, JP_VERDICT_SLOW);
    assert_non_null(strstr(f->verdict.text, "findings; 90.0 % of the records"));
    strcpy(findings_add(&f->insight.findings, JP_FINDING_HANG)->text, "stuck");
    findings_sort(&f->insight.findings);
    fixture_judge(f, true);
    assert_int_equal(f->verdict.word, JP_VERDICT_HANG);
    assert_int_equal(strncmp(f->verdict.text, "stuck", 5), 0);
    fixture_fini(f);
    free(f);
}

/* --- each reason of NODATA, INCOMPLETE and UNJUDGED --- */

static void judge_late(struct fixture *f)
{
    fixture_judge(f, false);
}

/* A rank without a trace. */
static void trace_missing(struct fixture *f)
{
    rank_missing(f);
    f->result.quality.kernel_traces = f->result.quality.files;
}

/* A situation for each row of the table of reasons. */
static const struct {
    enum jp_reason reason;
    void (*change)(struct fixture *);
    void (*judge)(struct fixture *);
} situations[] = {
    {JP_REASON_NOT_ANALYSED, nothing, judge_late},
    {JP_REASON_OFF, mode_off, NULL},
    {JP_REASON_NO_NODE, no_nodes_no_result, NULL},
    {JP_REASON_UNPROFILED, noted, NULL},
    {JP_REASON_GONE, gone, NULL},
    {JP_REASON_TASKS_FAILED, all_failed, NULL},
    {JP_REASON_TASKS_ENDED, cancelled, NULL},
    {JP_REASON_OWN_PLUGIN, own_plugin, NULL},
    {JP_REASON_OTHER_PLUGIN, other_plugin, NULL},
    {JP_REASON_NO_LIBRARY, no_library, NULL},
    {JP_REASON_LIBRARY_UNREADABLE, no_result, NULL},
    {JP_REASON_OWN_VARIABLE, own_variable, NULL},
    {JP_REASON_PLANNED, planned_loss, NULL},
    {JP_REASON_OWN_FOLDER, own_folder, NULL},
    {JP_REASON_CONTAINER, container, NULL},
    {JP_REASON_NO_OUTPUT, quiet, NULL},
    {JP_REASON_NO_INPUT, folder_without_logs, NULL},
    {JP_REASON_DENIED, denied, NULL},
    {JP_REASON_NO_LOGS, no_logs, NULL},
    {JP_REASON_UNREADABLE, bad_files, NULL},
    {JP_REASON_DAMAGED_INPUT, cut_input, NULL},
    {JP_REASON_BEGUN, first_hangs, NULL},
    {JP_REASON_NO_ROOM, left_out_all, NULL},
    {JP_REASON_LOST_ALL, lost_all, NULL},
    {JP_REASON_CUT_ALL, cut_at_once, NULL},
    {JP_REASON_FILTERED, filtered, NULL},
    {JP_REASON_IDLE, idle, NULL},
    {JP_REASON_EMPTY, empty_files, NULL},
    {JP_REASON_SHARED, two_runs, NULL},
    {JP_REASON_TWINS, one_id, NULL},
    {JP_REASON_UNSEEN, unseen, NULL},
    {JP_REASON_IN_FLIGHT, stuck_for_long, NULL},
    {JP_REASON_UNEVEN, uneven, NULL},
    {JP_REASON_MISCOUNTED, miscounted, NULL},
    {JP_REASON_ELSEWHERE, in_other_steps, NULL},
    {JP_REASON_LOST_COMMS, lost_comms, NULL},
    {JP_REASON_LOST, recorder_lost, NULL},
    {JP_REASON_OVERWRITTEN, overwritten, NULL},
    {JP_REASON_POOLS, example_pools, NULL},
    {JP_REASON_TAIL, lost_tail, NULL},
    {JP_REASON_NODES, node_missing, NULL},
    {JP_REASON_UNFINISHED, unfinished_bound, NULL},
    {JP_REASON_FOLDER, in_own_folder, NULL},
    {JP_REASON_RANKS_TRACED, trace_missing, NULL},
    {JP_REASON_RANKS, rank_missing, NULL},
    {JP_REASON_COMMS, tp_rank_missing, NULL},
    {JP_REASON_DAMAGED, damaged, NULL},
    {JP_REASON_BAD_LINES, many_bad_lines, NULL},
    {JP_REASON_MEMORY, memory_limit, NULL},
    {JP_REASON_CUT, unbounded, NULL},
    {JP_REASON_STEPS_DIFFER, steps_differ, NULL},
    {JP_REASON_UNKNOWN_CUT, lost_by_failed, NULL},
    {JP_REASON_UNKNOWN_LOSS, much_lost, NULL},
    {JP_REASON_ROUGH, rough, NULL},
};

/* tests/insight/test_insight.c produces the reasons of UNJUDGED that an
 * analysis of records gives. Here their texts are recognised. */
static bool is_of_analysis(enum jp_reason reason)
{
    return reasons_table[reason].says != NULL;
}

/* Needs a feature with figures, whose test produces it:
 * tests/util/test_util_verdict.c. */
static bool is_of_figures(enum jp_reason reason)
{
    return reason == JP_REASON_NO_SAMPLES || reason == JP_REASON_FIGURES_ONLY;
}

/* Each situation has its reason as the first one, and that reason's word; each
 * reason has a situation. Those of features are in the features' tests. */
static void test_reasons(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    bool seen[JP_REASONS] = {false};

    (void) state;
    assert_non_null(f);
    for (size_t i = 0; i < sizeof(situations) / sizeof(*situations); i++) {
        const struct jp_reason_row *row = &reasons_table[situations[i].reason];

        verdict_situation_check(
            row, &(struct verdict_situation){row->key, situations[i].change,
                                             situations[i].judge});
        seen[situations[i].reason] = true;
    }
    for (int i = 0; i < JP_REASONS; i++) {
        if (is_of_analysis((enum jp_reason) i)) {
            fixture_good(f);
            unjudged(f, reasons_table[i].says);
            fixture_judge(f, true);
            assert_int_equal(f->verdict.word, JP_VERDICT_UNJUDGED);
            assert_int_equal(f->verdict.why.n, 1);
            assert_ptr_equal(f->verdict.why.of[0], &reasons_table[i]);
            fixture_fini(f);
        } else if (!seen[i] && !is_of_figures((enum jp_reason) i)) {
            fail_msg("no situation for %s", reasons_table[i].key);
        }
    }
    free(f);
}

/* Counts rows of a page that begin with first and a word that has reasons. */
static size_t count_rows(const char *page, const char *first)
{
    static const enum jp_verdict_word words[] = {
        JP_VERDICT_NODATA, JP_VERDICT_INCOMPLETE, JP_VERDICT_UNJUDGED};
    size_t n = 0;

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        char start[100];

        snprintf(start, sizeof(start), "\n%s| %s | ", first,
                 verdict_word_name(words[i]));
        for (const char *at = page; (at = strstr(at, start)); at++)
            n++;
    }
    return n;
}

/* The page has the row of a reason. */
static void check_row(const char *page, const char *first,
                      const struct jp_reason_row *row)
{
    char line[800];
    size_t n = (size_t) snprintf(line, sizeof(line), "\n%s| %s | %s | ", first,
                                 verdict_word_name(row->word), row->situation);

    for (int k = 0; k < JP_PLAIN_CHECKS && row->checks[k]; k++)
        n += (size_t) snprintf(line + n, sizeof(line) - n, "%s%s", k ? " " : "",
                               row->checks[k]);
    snprintf(line + n, sizeof(line) - n, "%s|\n", row->checks[0] ? " " : "");
    if (!strstr(page, line))
        fail_msg("not in docs/findings.md: %s", line + 1);
}

/* docs/findings.md has each row and no other one: "| word | situation | what to
 * look at |". Rows of features begin with the feature's title; those of a
 * feature that is not built are not checked. */
static void test_docs(void **state)
{
    const char *top = getenv("top_srcdir");
    char *path = text_format("%s/docs/findings.md", top ? top : "."), *page;

    (void) state;
    assert_int_equal(fileio_read(path, false, 1 << 20, &page, NULL, NULL), 0);
    assert_int_equal(count_rows(page, ""), JP_REASONS);
    for (int i = 0; i < JP_REASONS; i++)
        check_row(page, "", &reasons_table[i]);
    for (size_t i = 0; feature_registry[i]; i++) {
        char *first = text_format("| %s ", feature_registry[i]->title);
        const struct jp_reason_row *row = feature_registry[i]->reasons;
        size_t n = 0;

        for (; row && row[n].key; n++)
            check_row(page, first, &row[n]);
        assert_int_equal(count_rows(page, first), n);
        free(first);
    }
    free(page);
    free(path);
}

/* Without findings the verdict is OK only if late ranks were looked for. */
static void test_unjudged(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct jp_hypotheses *h;

    (void) state;
    assert_non_null(f);
    fixture_good(f);
    fixture_judge(f, true);
    assert_int_equal(f->verdict.word, JP_VERDICT_OK);
    h = &f->insight.hypotheses;
    hypothesis_set(h, JP_HYPOTHESIS_LATE_RANK, JP_HYPOTHESIS_NOT_JUDGED, 0,
                   "7 operations");
    fixture_judge(f, true);
    assert_int_equal(f->verdict.word, JP_VERDICT_UNJUDGED);
    assert_int_equal(strncmp(f->verdict.text,
                             "late ranks could not be judged (7 "
                             "operations): profile a longer run",
                             67),
                     0);
    f->report.insight = NULL;
    fixture_judge(f, true);
    assert_int_equal(f->verdict.word, JP_VERDICT_UNJUDGED);
    f->report.insight = &f->insight;
    findings_add(&f->insight.findings, JP_FINDING_DRIFT);
    fixture_judge(f, true);
    assert_int_equal(f->verdict.word, JP_VERDICT_DEGRADED);
    fixture_fini(f);
    free(f);
}

/* A sentence is one line of bounded length, whatever the names contain. */
static void test_long_names(void **state)
{
    static char name[3000];
    static char *names[5] = {name, name, name, name, name};
    struct fixture *f = calloc(1, sizeof(*f));

    (void) state;
    assert_non_null(f);
    memset(name, '\n', sizeof(name) - 1);
    fixture_incomplete(f);
    f->nodes.missing = names;
    f->nodes.n_missing = 5;
    fixture_judge(f, true);
    assert_true(strlen(f->verdict.text) < sizeof(f->verdict.text));
    assert_null(strchr(f->verdict.text, '\n'));
    verdict_decide(NULL, NULL, NULL, NULL, true, &f->verdict);
    assert_int_equal(f->verdict.word, JP_VERDICT_NODATA);
    fixture_fini(f);
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_ended_attempt),
        cmocka_unit_test(test_not_analysed),
        cmocka_unit_test(test_findings),
        cmocka_unit_test(test_worst_first),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_unjudged),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_docs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
