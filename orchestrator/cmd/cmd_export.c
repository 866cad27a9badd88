/* cmd_export.c - `jobprof export`: convert recordings and reports to other
 * formats.
 *
 * inspector and chrome read recordings, openmetrics reads reports; their
 * writers are in export/. Other formats of reports are features (struct
 * feature_format). */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/quote.h"
#include "orchestrator/aggregate/clocks.h"
#include "orchestrator/aggregate/timeline.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/cmd/cmd_inputs.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/export/export.h"
#include "orchestrator/feature/feature.h"

/* Strings are borrowed from argv. */
struct arguments {
    const char *format, *word, *output, *compression;
    const struct feature *feature; /* of the format; NULL: it is ours */
    bool no_time;
    struct cmd_common common;
};

/* What --help says of the formats of features, and its whole text
 * (list_formats). */
static struct {
    char names[128];  /* "a|b|" */
    char commas[128]; /* "a, b " */
    char output[512];
    char compression[512];
    char about[4096];
} of_features;

static const struct cmd_option first_rows[] = {
    {"output", "PATH", of_features.output, OPT_TEXT(output), .letter = 'o'},
    {"no-time", NULL, "openmetrics: leave out the time of samples",
     OPT_FLAG(no_time)},
};
static const struct cmd_option last_rows[] = {
    {"config", "FILE", "the site's settings", OPT_TEXT(common.config)},
    {"quiet", NULL, "do not report problems with files", OPT_QUIET},
};
enum {
    FIRST_ROWS = sizeof(first_rows) / sizeof(*first_rows),
    LAST_ROWS = sizeof(last_rows) / sizeof(*last_rows)
};
static struct cmd_option rows[FIRST_ROWS + 1 + LAST_ROWS];

/* --help before and after the paragraphs of features. */
static const char about_recordings[] =
    "[options]\n"
    "                      DIR|JOBID[.STEP]\n\n"
    "Convert the files of jobprof's recorder (.jpr) to another format. chrome "
    "also reads verbose logs of NCCL Inspector and traces of the example "
    "plugin. The other formats are made of a report. DIR is a step's or a "
    "job's directory, or any folder.\n\n"
    "  inspector    the JSON lines (v4.0) of NVIDIA's NCCL Inspector 2.30: a "
    ".log for each file, or all lines on standard output. Inspector has no "
    "operations of the copy engines; here they are named AllGather-CE ...\n"
    "  chrome       one trace of the whole step in JSON Trace Event Format, "
    "for ui.perfetto.dev: a process for each rank, a thread for each "
    "communicator. Clocks of nodes are aligned by their collectives; without "
    "any, times differ as the clocks do (with NTP often by a millisecond). "
    "Traces of the example plugin keep the clocks of their processes.";
static const char about_figures[] =
    "  openmetrics  figures of a step's report, or of all steps of a job, as "
    "OpenMetrics 1.0 text. Names, labels and help are those of the metrics of "
    "running steps (docs/metrics.md). Samples have the time of the step's last "
    "operation, as \"promtool tsdb create-blocks-from openmetrics\" needs "
    "it\n";

/* Its rows and its text are complete after list_formats. */
static struct cmd_options command_line = {
    .command = "export",
    .rows = rows,
    .end = "Exit status: 0 ok, 2 usage, 3 a file is damaged or cannot be read "
           "(the rest is written), 4 no file of the recorder or no report, 5 "
           "input or output failed.\n",
    .least = 2,
    .most = 2,
    .need = "needs a format and one DIR or JOBID[.STEP]",
};

/* Adds to a text of the size; what does not fit is cut. */
static void __attribute__((format(printf, 3, 4)))
add(char *text, size_t size, const char *fmt, ...)
{
    size_t used = strlen(text);
    va_list args;

    va_start(args, fmt);
    vsnprintf(text + used, size - used, fmt, args);
    va_end(args);
}
#define ADD(member, ...)                                                       \
    add(of_features.member, sizeof(of_features.member), __VA_ARGS__)

/* Makes the text of --help, with a paragraph for each format of a feature. */
static void make_about(void)
{
    ADD(about, "usage: jobprof export inspector|chrome|%sopenmetrics %s",
        of_features.names, about_recordings);
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->events)
            ADD(about, " %s", feature_registry[i]->events->about);
    ADD(about, "\n");
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->format)
            ADD(about, "  %-12s %s\n", feature_registry[i]->name,
                feature_registry[i]->format->about);
    ADD(about, "%s", about_figures);
}

/* Lists the options, and what --help says of the formats. */
static void list_formats(void)
{
    struct cmd_option compression = {
        "compression", NULL, of_features.compression, OPT_TEXT(compression)};
    size_t n = FIRST_ROWS;

    ADD(output, "inspector: a folder, created if missing; chrome and "
                "openmetrics: a file; - is standard output, the default unless "
                "that is a terminal");
    for (size_t i = 0; feature_registry[i]; i++) {
        const char *name = feature_registry[i]->name;
        const struct feature_format *format = feature_registry[i]->format;

        if (!format)
            continue;
        ADD(names, "%s|", name);
        ADD(commas, ", %s", name);
        ADD(output, "; %s: %s", name, format->output);
        if (!format->compressions)
            continue;
        ADD(compression, "%s%s: %s", compression.value ? "; " : "", name,
            format->compression);
        compression.value = format->compressions;
    }
    memcpy(rows, first_rows, sizeof(first_rows));
    if (compression.value)
        rows[n++] = compression;
    memcpy(&rows[n], last_rows, sizeof(last_rows));
    command_line.n_rows = n + LAST_ROWS;
    make_about();
    command_line.about = of_features.about;
}

/* Prints a usage error. Returns JP_EXIT_USAGE. */
static int usage(const char *what)
{
    return cmd_options_usage(&command_line, what);
}

/* Returns -1 to continue, otherwise an exit status. */
static int parse_arguments(int argc, char **argv, struct arguments *a)
{
    char text[256];
    int rc;

    list_formats();
    rc = cmd_options_parse(&command_line, argc, argv, a);
    if (rc >= 0)
        return rc;
    a->format = argv[optind];
    a->word = argv[optind + 1];
    a->feature = feature_named(a->format);
    if (a->feature && !a->feature->format)
        a->feature = NULL;
    /* an export has many lines, and a terminal would show them all */
    if (!a->output && !a->feature && isatty(STDOUT_FILENO))
        return usage("standard output is a terminal: name a file with -o FILE, "
                     "or -o - to print there");
    /* "-" is standard output, which is also the default */
    if (a->output && (!*a->output || !strcmp(a->output, "-")))
        a->output = NULL;
    if (strcmp(a->format, "inspector") && strcmp(a->format, "chrome") &&
        strcmp(a->format, "openmetrics") && !a->feature) {
        snprintf(text, sizeof(text),
                 "the format must be inspector, chrome%s or openmetrics",
                 of_features.commas);
        return usage(text);
    }
    if (a->no_time && strcmp(a->format, "openmetrics"))
        return usage("--no-time is for openmetrics");
    if (a->compression && (!a->feature || !a->feature->format->compressions)) {
        snprintf(text, sizeof(text), "--compression is not for %s", a->format);
        return usage(text);
    }
    if (a->compression && !a->feature->format->has_compression(a->compression))
        return usage(a->feature->format->bad_compression);
    return -1;
}

/* Writes the trace to --output or standard output. A file appears only if it is
 * complete. */
static int put_chrome(const struct arguments *a, struct jp_recwalk *walk,
                      const struct clockmap *clocks, struct export_done *done,
                      struct jp_error *err)
{
    struct jp_tempfile file;

    if (!a->output)
        return export_chrome(walk, clocks, stdout, done, err);
    if (fileio_output_open(&file, a->output, err) < 0)
        return -1;
    /* an incomplete file never replaces an older one */
    if (export_chrome(walk, clocks, file.stream, done, err) < 0) {
        fileio_temp_abort(&file);
        return -1;
    }
    return fileio_temp_commit(&file, err);
}

/* Writes a trace with times on the clock that a report of these files uses. */
static int write_chrome(const struct arguments *a, struct cmd_inputs *inputs,
                        struct export_done *done, struct jp_error *err)
{
    struct jp_recwalk *walk = &inputs->walk;
    size_t n = walk->walk.n_logs;
    char *nodes = inputs->n == 1 ? cmd_inputs_nodes(inputs->folders[0]) : NULL;
    const struct jp_aggregate_options options = {.nodes = nodes};
    struct jp_clocks *clocks =
        /* all files together keep at most TIMELINE_EVENTS operations */
        scout_clocks(&walk->walk, NULL, &options, TIMELINE_EVENTS / (n + !n));
    int rc = put_chrome(a, walk, clocks_map(clocks), done, err);

    clocks_destroy(clocks);
    free(nodes);
    return rc;
}

/* --- a report's tables ---------------------------------------------------- */

/* Exports each step that word means. Returns an exit status. */
static int write_report(const struct arguments *a)
{
    const struct feature_export how = {a->output, a->compression};
    const struct feature_format *format = a->feature->format;
    struct feature_exported done = {0};
    struct jp_error err = {""};
    char **steps = NULL;
    size_t n = 0;
    uint64_t files;
    int rc = JP_EXIT_OK;

    if (cmd_inputs_steps(a->word, a->common.config, &steps, &n, &err) < 0)
        return cmd_args_fail("export", JP_EXIT_USAGE, &err);
    /* the steps would overwrite each other */
    if (n > 1 && a->output) {
        nodelist_free(steps, n);
        return usage("--output is for one step, but there are several");
    }
    /* an output that fails would fail for all steps */
    for (size_t i = 0; i < n && rc != JP_EXIT_IO; i++) {
        /* done counts over all steps */
        files = done.files;
        if (format->export_step(steps[i], &how, &done, &err) < 0) {
            rc = cmd_args_fail("export", JP_EXIT_IO, &err);
        } else if (done.files == files) {
            quote_printf(stderr,
                         "jobprof: export: %s: no csv/ of a report "
                         "(jobprof report writes it)\n",
                         steps[i]);
            rc = JP_EXIT_NODATA;
        }
    }
    nodelist_free(steps, n);
    if (done.lost && !a->common.quiet)
        quote_printf(stderr, "jobprof: %" PRIu64 " %s\n", done.lost,
                     format->lost);
    return rc;
}

/* --- a report's figures --------------------------------------------------- */

/* Writes the metrics to --output or standard output. */
static int put_metrics(const struct arguments *a, const struct metrics_set *set,
                       struct jp_error *err)
{
    const struct metrics_how how = {.format = METRICS_OPENMETRICS};
    struct jp_tempfile file;

    if (!a->output)
        return metrics_write(set, &how, stdout, NULL, err);
    if (fileio_output_open(&file, a->output, err) < 0)
        return -1;
    if (metrics_write(set, &how, file.stream, NULL, err) < 0) {
        fileio_temp_abort(&file);
        return -1;
    }
    return fileio_temp_commit(&file, err);
}

/* Writes all steps that word means as one text. Returns an exit status. */
static int write_metrics(const struct arguments *a)
{
    struct jp_error err = {""};
    struct metrics_set set;
    char **steps = NULL;
    int rc = JP_EXIT_OK;
    size_t n = 0;

    if (cmd_inputs_steps(a->word, a->common.config, &steps, &n, &err) < 0)
        return cmd_args_fail("export", JP_EXIT_USAGE, &err);
    /* one set for all steps: a metric is described once */
    metrics_init(&set);
    for (size_t i = 0; i < n; i++)
        if (export_metrics(steps[i], !a->no_time, &set, &err) < 0)
            /* ENODATA: the step has no report */
            rc = cmd_args_fail(
                "export",
                errno == ENODATA ? JP_EXIT_NODATA : JP_EXIT_INCOMPLETE, &err);
    /* steps with a report are written even if others have none */
    if ((rc != JP_EXIT_NODATA || set.n) && put_metrics(a, &set, &err) < 0)
        rc = cmd_args_fail("export", JP_EXIT_IO, &err);
    metrics_fini(&set);
    nodelist_free(steps, n);
    return rc;
}

int cmd_export(int argc, char **argv)
{
    struct cmd_inputs inputs = {.command = "export"};
    struct export_done done = {0};
    struct arguments a = {.format = NULL};
    struct jp_error err = {""};
    int rc = parse_arguments(argc, argv, &a);

    if (rc >= 0)
        return rc;
    if (a.feature)
        return write_report(&a);
    if (strcmp(a.format, "openmetrics") == 0)
        return write_metrics(&a);
    /* inspector and chrome: open the recordings */
    inputs.quiet = a.common.quiet;
    rc = cmd_inputs_init(&inputs, a.word, a.common.config);
    if (rc != JP_EXIT_OK)
        return rc;
    rc = strcmp(a.format, "chrome")
             ? export_inspector(&inputs.walk, a.output, stdout, &done, &err)
             : write_chrome(&a, &inputs, &done, &err);
    if (rc < 0) {
        quote_printf(stderr, "jobprof: export: %s\n", err.text);
        rc = JP_EXIT_IO;
    } else {
        rc = cmd_inputs_judge(&inputs);
    }
    /* after the files' own problems */
    if (done.left_out && !a.common.quiet)
        quote_printf(
            stderr,
            "jobprof: %" PRIu64
            " operations left out: their communicator or time is unknown%s\n",
            done.left_out,
            done.ops ? "" : " (Inspector's logs have times with verbose=1)");
    /* nothing was written although files were read */
    if (rc == JP_EXIT_OK && !done.ops && done.left_out)
        rc = JP_EXIT_NODATA;
    cmd_inputs_fini(&inputs);
    return rc;
}
