/* flight_feature.c - dumps of PyTorch's Flight Recorder as a feature of
 * reports: reads them, and names their part of each file. */
#include "orchestrator/flight/flight_feature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "orchestrator/ingest/filekinds.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/sections.h"
#include "orchestrator/report/tables.h"

/* --- data ----------------------------------------------------------------- */

/* An operation that was in flight for less is no hang. */
static int64_t hang_limit_us(void)
{
    return (int64_t) limits_get(JP_LIMIT_HANG);
}

/* A callback of flight_load. */
static int is_over(void *arg)
{
    const struct feature_input *in = arg;

    return in->stop && in->stop(in->stop_arg);
}

static int read_found(const struct filekinds *found,
                      const struct feature_input *in, void **data,
                      struct jp_error *err)
{
    struct flight_file *files =
        calloc(found->n[FILEKIND_FLIGHT] + 1, sizeof(*files));
    struct jp_flight *flight = NULL;
    size_t n = 0;
    int rc;

    if (!files)
        return error_set(err, "out of memory");
    for (size_t i = 0; i < found->n_files; i++)
        if (found->files[i].kind == FILEKIND_FLIGHT)
            files[n++] = (struct flight_file){found->files[i].path,
                                              found->files[i].mtime_us, -1};
    rc = flight_load(files, n, hang_limit_us(), is_over,
                     (void *) (uintptr_t) in, &flight, err);
    free(files);
    *data = flight;
    return rc;
}

static int read_collected(const char *const *paths, size_t n, void **data,
                          struct jp_error *err)
{
    struct flight_file *files = calloc(n + 1, sizeof(*files));
    struct jp_flight *flight = NULL;
    size_t n_files = 0;
    struct stat st;
    int rc;

    for (size_t i = 0; files && i < n; i++)
        if (lstat(paths[i], &st) == 0)
            files[n_files++] = (struct flight_file){
                paths[i], (int64_t) st.st_mtim.tv_sec * 1000000, -1};
    rc = files ? flight_load(files, n_files, hang_limit_us(), NULL, NULL,
                             &flight, err)
               : error_set(err, "out of memory");
    if (flight)
        flight->evidence = true;
    *data = flight;
    free(files);
    return rc;
}

static void
put_notes(const void *data,
          void (*note)(void *arg, const char *path, const char *why), void *arg)
{
    const struct jp_flight *flight = data;

    for (size_t i = 0; i < flight->n_dumps; i++)
        if (*flight->dumps[i].why)
            note(arg, flight->dumps[i].path, flight->dumps[i].why);
}

static void destroy(void *data)
{
    flight_destroy(data);
}

/* --- verdict -------------------------------------------------------------- */

enum { REASON_BAD, REASON_ALONE, N_REASONS };
static const struct jp_reason_row reasons[N_REASONS + 1] = {
    [REASON_BAD] =
        {JP_REASON_OF("bad_dumps", NODATA),
         .situation = "there are dumps of PyTorch's Flight Recorder, and none "
                      "can be used",
         .checks = {"Are the dumps whole? Their processes may have been killed "
                    "while they wrote.",
                    "Do their names end in the rank, as PyTorch writes them?"},
         .command = {"jobprof aggregate --help", false, false}},
    [REASON_ALONE] =
        {JP_REASON_OF("dumps_only", UNJUDGED),
         .situation = "only dumps of PyTorch's Flight Recorder were read, and "
                      "they show no hang"},
};

/* Replaces a verdict about missing records: a hang stays, otherwise nothing is
 * known but that no hang was found. */
static void judge_alone(const struct jp_flight *flight,
                        struct jp_verdict *verdict)
{
    char text[FLIGHT_TEXT];
    struct jp_sentence s;

    if (verdict->word != JP_VERDICT_NODATA)
        return;
    sentence_init(&s, verdict->text, sizeof(verdict->text));
    if (flight->n_bad == flight->n_dumps) {
        sentence_add(&s, "none of %s Flight Recorder dump%s can be used",
                     FIG_COUNT(flight->n_dumps), plural(flight->n_dumps));
        sentence_add(&s, "%.200s", flight_gaps(flight, text));
        verdict_set_reason(verdict, &reasons[REASON_BAD]);
        return;
    }
    sentence_add(&s, "Flight Recorder dumps only: %s",
                 flight_text(flight, text));
    if (*flight_gaps(flight, text))
        sentence_add(&s, "%s", text);
    verdict->word = JP_VERDICT_UNJUDGED;
    verdict_set_reason(verdict, &reasons[REASON_ALONE]);
}

/* A hang by dumps: what they do not show is said as well. */
static void add_gaps(const struct jp_flight *flight, struct jp_verdict *verdict)
{
    struct jp_sentence s = {verdict->text, sizeof(verdict->text), 1};
    char text[FLIGHT_TEXT];

    if (verdict->word == JP_VERDICT_HANG && flight_hangs(flight) &&
        *flight_gaps(flight, text))
        sentence_add(&s, "%s", text);
}

/* Dumps of some ranks, taken while the step hung, leave the verdict to its
 * recordings. */
static void judge_dumps(const void *data, const struct verdict_input *in,
                        bool alone, struct jp_verdict *verdict)
{
    const struct jp_flight *flight = data;

    (void) in;
    if (!flight || flight->evidence)
        return;
    add_gaps(flight, verdict);
    if (alone)
        judge_alone(flight, verdict);
}

/* --- files of a report ---------------------------------------------------- */

static void put_json(struct jp_json_stream *s, const char *key,
                     const struct jp_report *report)
{
    const struct jp_flight *flight = flight_of(report);
    char text[FLIGHT_TEXT];

    json_stream_object(s, key);
    /* {} without dumps */
    if (flight) {
        json_stream_text(s, "text", flight_text(flight, text));
        json_stream_text(s, "gaps", flight_gaps(flight, text));
        json_stream_text(s, "cause", flight_cause_words[flight->cause]);
        json_stream_count(s, "files", flight->n_dumps);
        json_stream_count(s, "bad_files", flight->n_bad);
        json_stream_known(s, "ranks_expected", flight->world > 0,
                          (uint64_t) flight->world);
        json_stream_count(s, "waiting", flight->waiting);
        json_stream_array(s, "culprits");
        for (size_t i = 0; i < flight->n_culprits; i++)
            json_stream_int(s, NULL, flight->culprits[i].rank);
        json_stream_end_array(s);
        tables_json(s, tables_flight, report, flight->seen_left_out);
    }
    json_stream_end_object(s);
}

static void put_lines(const struct jp_report *report, FILE *out)
{
    const struct jp_flight *flight = flight_of(report);
    char text[FLIGHT_TEXT];

    text_out_fact(out, "Flight Recorder dumps", flight_text(flight, text));
    if (!*flight_gaps(flight, text))
        return;
    text_out_fact(out, "What they do not show", text);
}

static int put_html(const struct jp_report *report, FILE *out)
{
    const struct jp_flight *flight = flight_of(report);
    char text[FLIGHT_TEXT];

    fputs("<p>", out);
    html_out_text(out, flight_text(flight, text));
    fputs(".</p>\n", out);
    if (*flight_gaps(flight, text)) {
        fputs("<p>", out);
        html_out_text(out, text);
        fputs(".</p>\n", out);
    }
    return tables_html(tables_flight, report, out);
}

/* "4 dumps" */
static bool put_figure(const struct jp_report *report, char *buf)
{
    size_t n = flight_of(report)->n_dumps;

    snprintf(buf, DRAWER_FIGURE, "%s dump%s", FIG_COUNT(n), plural(n));
    return true;
}

static const struct jp_html_section sections[] = {
    {.id = FLIGHT_FEATURE,
     .title = "PyTorch&#39;s Flight Recorder",
     .note = "Which rank was in which collective when its dump was written. A "
             "dump has the newest calls only, and ranks write theirs at "
             "different times; csv/flight_ops.csv and flight_dumps.csv have "
             "all rows.",
     .kind = JP_HTML_WIDE,
     .put = put_html,
     .figure = put_figure,
     .after = "nodes"},
    {.id = NULL},
};

/* --- the feature ---------------------------------------------------------- */

const struct feature feature_flight = {
    .name = FLIGHT_FEATURE,
    .title = "Flight Recorder",
    .role = FEATURE_OPERATIONS,
    .inputs = "Dumps of PyTorch's Flight Recorder (nccl_trace_rank_0), one of "
              "each rank, show who holds up a hang.",
    .read_found = read_found,
    .collected_kind = "flight recorder",
    .read_collected = read_collected,
    .notes = put_notes,
    .destroy = destroy,
    .judge_operations = flight_hang_judge,
    .judge = judge_dumps,
    .reasons = reasons,
    .tables = tables_flight,
    .json = put_json,
    .lines = put_lines,
    .sections = sections,
};
