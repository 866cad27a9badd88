/* cuda_feature.c - counters of CUDA's calls as a feature of reports: reads
 * them, and names their part of each file. */
#include "orchestrator/cuda/cuda_feature.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/figure.h"
#include "common/grammar.h"
#include "common/profiler.h"
#include "common/json_stream.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/sections.h"
#include "orchestrator/report/summary_file.h"
#include "orchestrator/report/tables.h"

/* --- data ----------------------------------------------------------------- */

/* The files of all inputs that have some; a step has one input. They are
 * small, so they are read even where time is up. */
static int read_counters(const struct feature_input *in, void **data,
                         struct jp_error *err)
{
    struct jp_cuda *cuda = NULL;

    for (size_t i = 0; i < in->n && !cuda; i++)
        if (cuda_load(in->inputs[i], &cuda, err) < 0)
            return -1;
    *data = cuda;
    return 0;
}

static void
put_notes(const void *data,
          void (*note)(void *arg, const char *path, const char *why), void *arg)
{
    const struct jp_cuda *cuda = data;
    char name[CUDA_HOST_MAX + 40];

    for (size_t i = 0; i < cuda->n_processes; i++) {
        const struct jp_cuda_process *p = &cuda->processes[i];

        snprintf(name, sizeof(name), "CUDA, process %" PRIu32 " of %s", p->pid,
                 p->host);
        if (*p->why)
            note(arg, name, p->why);
    }
}

static void destroy(void *data)
{
    cuda_destroy(data);
}

/* --- files of a report ---------------------------------------------------- */

static void put_json(struct jp_json_stream *s, const char *key,
                     const struct jp_report *report)
{
    const struct jp_cuda *cuda = cuda_of(report);
    char text[JP_CUDA_TEXT];

    json_stream_object(s, key);
    /* {} without counters */
    if (cuda) {
        json_stream_text(s, "text", cuda_text(cuda, text));
        json_stream_count(s, "files", cuda->n_processes + cuda->skipped);
        json_stream_count(s, "bad_files", cuda->n_bad);
        json_stream_count(s, "unread_files", cuda->skipped);
        /* started CUDA, but its calls could not be counted */
        json_stream_count(s, "uncounted", cuda->n_uncounted);
        tables_json(s, tables_cuda, report, 0);
    }
    json_stream_end_object(s);
}

static void put_lines(const struct jp_report *report, FILE *out)
{
    char text[JP_CUDA_TEXT];

    text_out_fact(out, "CUDA calls", cuda_text(cuda_of(report), text));
}

static int put_text(const struct jp_report *report, FILE *out)
{
    if (table_count(&table_cuda, report) &&
        table_text(&table_cuda, report, out) < 0)
        return -1;
    return table_count(&table_gpu_clocks, report)
               ? table_text(&table_gpu_clocks, report, out)
               : 0;
}

/* "4,711 launches" */
static bool put_figure(const struct jp_report *report, char *buf)
{
    const struct jp_cuda *cuda = cuda_of(report);
    size_t n = cuda->n_processes - cuda->n_bad - cuda->n_uncounted;

    if (n)
        snprintf(buf, DRAWER_FIGURE, "%s launches of %s process%s",
                 FIG_COUNT(cuda_sum(cuda).sum[CUDA_LAUNCHES]), FIG_COUNT(n),
                 n == 1 ? "" : "es");
    else
        snprintf(buf, DRAWER_FIGURE, "nothing was counted");
    return true;
}

/* "8 GPUs within 1.3 us" */
static bool put_clocks_figure(const struct jp_report *report, char *buf)
{
    const struct jp_cuda *cuda = cuda_of(report);
    double within = NAN;

    for (size_t i = 0; cuda && i < cuda->n_clocks; i++)
        within = fmax(within, cuda->clocks[i].within_us);
    if (!cuda || !cuda->n_clocks)
        return false;
    snprintf(buf, DRAWER_FIGURE, "%s GPU%s%s%s", FIG_COUNT(cuda->n_clocks),
             plural(cuda->n_clocks), isnan(within) ? "" : " within ",
             isnan(within) ? "" : FIG_US(within));
    return true;
}

static const struct jp_html_section sections[] = {
    {.id = CUDA_FEATURE,
     .title = "Calls into CUDA",
     .note = "What processes called, counted with cuda=1; "
             "csv/cuda_time.csv has each second.",
     .kind = JP_HTML_WIDE,
     .table = &table_cuda,
     .figure = put_figure,
     .before = "operations",
     .order = 3},
    {.id = "gpu-clocks",
     .title = "Clocks of the GPUs",
     .note =
         "Each GPU&#39;s clock beside its node&#39;s, read once a second with "
         "cuda=1, to align traces; csv/gpu_pairs.csv has each reading.",
     .kind = JP_HTML_WIDE,
     .table = &table_gpu_clocks,
     .figure = put_clocks_figure,
     .before = "operations",
     .order = 4},
    {.id = NULL},
};

/* --- the card ------------------------------------------------------------- */

/* What summary.json has of the settings that ask for the counters. */
struct asked_row {
    const char *key, *value;
};
struct asked {
    struct asked_row *settings;
    size_t n_settings;
};
static const struct json_field asked_row_fields[] = {
    JSON_FIELD(struct asked_row, key), JSON_FIELD(struct asked_row, value)};
static const struct json_fields asked_row_read =
    JSON_FIELDS(struct asked_row, asked_row_fields);

/* Whether the option that takes samples was given cuda=1. */
static bool was_asked(const struct summary_file *summary)
{
    enum jp_option option = profiler_sampler();
    struct json_field field =
        JSON_FIELD_ROWS(struct asked, settings, n_settings, asked_row_read);
    const struct json_fields fields = {
        .fields = &field, .n = 1, .size = sizeof(struct asked)};
    char path[64];
    struct asked own;
    bool asked = false;

    if (option >= OPTIONS)
        return false;
    snprintf(path, sizeof(path), "job.%s_settings", grammar_of(option)->group);
    field.path = path;
    summary_file_own(summary, &fields, &own);
    for (size_t i = 0; i < own.n_settings; i++)
        asked |= !strcmp(own.settings[i].key, CUDA_FEATURE) &&
                 !strcmp(own.settings[i].value, "1");
    json_fields_fini(&fields, &own);
    return asked;
}

static const char *find_missing(const struct summary_file *summary)
{
    return was_asked(summary) && !json_object_size(json_object_get(
                                     summary->root, CUDA_FEATURE))
               ? "cuda=1 counted no calls: log.txt of the step says why"
               : NULL;
}

/* --- the feature ---------------------------------------------------------- */

const struct feature feature_cuda = {
    .name = CUDA_FEATURE,
    .title = "CUDA",
    .role = FEATURE_FIGURES,
    .read = read_counters,
    .notes = put_notes,
    .destroy = destroy,
    .tables = tables_cuda,
    .json = put_json,
    .lines = put_lines,
    .text = put_text,
    .sections = sections,
    .missing = find_missing,
};
