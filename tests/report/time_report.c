/* time_report.c - measure the cost of each file of a report, relative to the
 * join.
 *
 * time_report THREADS DIR INPUT...: joins the inputs, judges them and writes
 * each file of the report below DIR. Prints milliseconds and shares; those in
 * brackets are CPU time, which is the better measure on a busy machine.
 * "replay": if records have start times, replays the run as it was and without
 * one late process. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/fileio.h"
#include "common/num.h"
#include "orchestrator/report/report.h"

static double ms_of(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

/* Durations by the wall clock, and of CPU time of all threads. */
struct span {
    double ms, cpu_ms;
};

static struct span now(void)
{
    return (struct span){ms_of(CLOCK_MONOTONIC),
                         ms_of(CLOCK_PROCESS_CPUTIME_ID)};
}

static struct span since(struct span start)
{
    struct span end = now();

    return (struct span){end.ms - start.ms, end.cpu_ms - start.cpu_ms};
}

struct timing {
    const struct jp_report *report;
    const char *dir;
    struct span join, all, csv;
};

static void print_row(const struct timing *t, const char *what, struct span s)
{
    printf("%-16s %9.1f ms  (%5.1f %% CPU) %5.1f %%\n", what, s.ms,
           100 * s.cpu_ms / t->join.cpu_ms, 100 * s.ms / t->join.ms);
}

static void print(struct timing *t, const char *what, struct span s)
{
    print_row(t, what, s);
    t->all.ms += s.ms;
    t->all.cpu_ms += s.cpu_ms;
}

static int time_file(struct timing *t, const char *name,
                     int (*write)(const struct jp_report *, FILE *,
                                  struct jp_error *),
                     struct jp_error *err)
{
    char *path = text_format("%s/%s", t->dir, name);
    struct span start = now();
    FILE *out = path ? fopen(path, "w") : NULL;
    int rc = out ? write(t->report, out, err) : error_set(err, "%s", name);

    if (out && fclose(out) != 0 && rc == 0)
        rc = error_set(err, "%s", path);
    print(t, name, since(start));
    free(path);
    return rc;
}

static int time_folder(struct timing *t, const char *name,
                       int (*write)(const struct jp_report *, const char *,
                                    struct jp_error *),
                       struct jp_error *err)
{
    char *path = text_format("%s/%s", t->dir, name);
    struct span start = now();
    int rc = path ? write(t->report, path, err) : error_set(err, "%s", name);

    print(t, name, since(start));
    free(path);
    return rc;
}

static int time_all(struct timing *t, struct jp_error *err)
{
    struct span start = now();

    if (time_folder(t, "csv", report_write_csvs, err) < 0)
        return -1;
    t->csv = since(start);
    if (time_folder(t, "plots", report_write_plots, err) < 0 ||
        time_file(t, "summary.txt", report_write_text, err) < 0 ||
        time_file(t, "report.html", report_write_html, err) < 0 ||
        time_file(t, "summary.json", report_write_json, err) < 0)
        return -1;
    print_row(t, "all", t->all);
    print_row(
        t, "all-but-csv",
        (struct span){t->all.ms - t->csv.ms, t->all.cpu_ms - t->csv.cpu_ms});
    return 0;
}

/* Returns 0, or -1 when out of memory. */
static int time_replay(const struct timing *t, const struct jp_result *result,
                       const struct jp_processes *processes)
{
    const size_t late[] = {0};
    const struct replay_cause cause = {.kind = REPLAY_LATE,
                                       .processes = late,
                                       .n = 1,
                                       .comm = -1,
                                       .from_us = NAN};
    struct replay_state state;
    struct span start = now();
    struct replay *replay = replay_create(result, processes, &state);
    struct replay_gain gain;
    double all;
    int rc = replay ? 0 : -1;

    if (rc == 0 && state.usable)
        rc = replay_gains(replay, &cause, 1, &gain, &all);
    print_row(t, "replay", since(start));
    printf("replayed         %" PRIu64 " operations of processes, %s\n",
           state.events, state.usable ? "usable" : "not usable");
    replay_destroy(replay);
    return rc;
}

int main(int argc, char **argv)
{
    struct jp_aggregate_options options = {0};
    struct jp_verdict verdict;
    struct jp_report report = {.verdict = &verdict, .reporter = "user"};
    struct timing t = {.report = &report};
    struct jp_error err = {"usage: time_report THREADS DIR INPUT..."};
    struct jp_result *result = NULL;
    struct jp_insight *insight = NULL;
    struct span start = now();
    uint64_t threads;
    int rc = -1;

    if (argc < 4 || num_parse_u64(argv[1], 0, 64, &threads, &err) < 0)
        goto out;
    t.dir = argv[2];
    options.threads = report.threads = (unsigned) threads;
    result = aggregate_run((const char *const *) argv + 3, (size_t) argc - 3,
                           &options, &err);
    if (!result || fileio_mkdirs(t.dir, &err) < 0)
        goto out;
    t.join = since(start);
    report.result = result;
    printf("%-16s %9.1f ms, %" PRIu64 " records, %zu operations\n", "join",
           t.join.ms, result->quality.records, result->n_ops);
    start = now();
    insight = insight_run(NULL, NULL, result, NULL);
    verdict_decide(NULL, NULL, result, insight, true, &verdict);
    report.processes = insight ? &insight->processes : NULL;
    report.insight = insight;
    print(&t, "insight", since(start));
    if (insight && result->n_timelines && insight->processes.known &&
        time_replay(&t, result, &insight->processes) < 0)
        goto out;
    rc = time_all(&t, &err);
out:
    if (rc < 0)
        fprintf(stderr, "%s\n", err.text);
    insight_destroy(insight);
    result_destroy(result);
    return rc < 0;
}
