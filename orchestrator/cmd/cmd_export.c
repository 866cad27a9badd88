/* cmd_export.c - `jobprof export`: convert recordings and reports to other
 * formats.
 *
 * inspector and chrome read recordings; parquet and openmetrics read reports.
 * The writers are in export/. */
#include <errno.h>
#include <inttypes.h>
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

/* Strings are borrowed from argv. */
struct arguments {
    const char *format, *word, *output, *compression;
    bool no_time;
    enum parquet_codec codec;
    struct cmd_common common;
};

static const struct cmd_option rows[] = {
    {"output", "PATH",
     "inspector: a folder, created if missing; chrome and openmetrics: a file; "
     "- is standard output, the default unless that is a terminal; parquet: a "
     "folder, for one step",
     OPT_TEXT(output), .letter = 'o'},
    {"no-time", NULL, "openmetrics: leave out the time of samples",
     OPT_FLAG(no_time)},
    {"compression", "zstd|gzip|none",
     "parquet: the compression (zstd if jobprof was built with it, else gzip)",
     OPT_TEXT(compression)},
    {"config", "FILE", "the site's settings", OPT_TEXT(common.config)},
    {"quiet", NULL, "do not report problems with files", OPT_QUIET},
};

static const struct cmd_options command_line = {
    .command = "export",
    .about =
        "usage: jobprof export inspector|chrome|parquet|openmetrics [options]\n"
        "                      DIR|JOBID[.STEP]\n\n"
        "Convert the files of jobprof's recorder (.jpr) to another format. "
        "chrome also reads verbose logs of NCCL Inspector and traces of the "
        "example plugin. parquet converts the tables of a report, and "
        "openmetrics its figures. DIR is a step's or a job's directory, or any "
        "folder.\n\n"
        "  inspector    the JSON lines (v4.0) of NVIDIA's NCCL Inspector 2.30: "
        "a .log for each file, or all lines on standard output. Inspector has "
        "no operations of the copy engines; here they are named AllGather-CE "
        "...\n"
        "  chrome       one trace of the whole step in JSON Trace Event "
        "Format, for ui.perfetto.dev: a process for each rank, a thread for "
        "each communicator. Clocks of nodes are aligned by their collectives; "
        "without any, times differ as the clocks do (with NTP often by a "
        "millisecond). Traces of the example plugin keep the clocks of their "
        "processes. Kernels and copies come from exports of nsys (.sqlite)\n"
        "  parquet      csv/*.csv of a step's report, or of all steps of a "
        "job, as Apache Parquet: parquet/NAME.parquet beside csv/\n"
        "  openmetrics  figures of a step's report, or of all steps of a job, "
        "as OpenMetrics 1.0 text. Names, labels and help are those of the "
        "metrics of running steps (docs/metrics.md). Samples have the time of "
        "the step's last operation, as \"promtool tsdb create-blocks-from "
        "openmetrics\" needs it\n",
    CMD_ROWS(rows),
    .end = "Exit status: 0 ok, 2 usage, 3 a file is damaged or cannot be read "
           "(the rest is written), 4 no file of the recorder or no report, 5 "
           "input or output failed.\n",
    .least = 2,
    .most = 2,
    .need = "needs a format and one DIR or JOBID[.STEP]",
};

/* Prints a usage error. Returns JP_EXIT_USAGE. */
static int usage(const char *what)
{
    return cmd_options_usage(&command_line, what);
}

/* Returns -1 to continue, otherwise an exit status. */
static int parse(int argc, char **argv, struct arguments *a)
{
    int rc = cmd_options_parse(&command_line, argc, argv, a);

    if (rc >= 0)
        return rc;
    a->format = argv[optind];
    a->word = argv[optind + 1];
    /* an export has many lines, and a terminal would show them all */
    if (!a->output && strcmp(a->format, "parquet") && isatty(STDOUT_FILENO))
        return usage("standard output is a terminal: name a file with -o FILE, "
                     "or -o - to print there");
    /* "-" is standard output, which is also the default */
    if (a->output && (!*a->output || !strcmp(a->output, "-")))
        a->output = NULL;
    if (strcmp(a->format, "inspector") && strcmp(a->format, "chrome") &&
        strcmp(a->format, "parquet") && strcmp(a->format, "openmetrics"))
        return usage(
            "the format must be inspector, chrome, parquet or openmetrics");
    if (a->no_time && strcmp(a->format, "openmetrics"))
        return usage("--no-time is for openmetrics");
    if (a->compression && strcmp(a->format, "parquet"))
        return usage("--compression is for parquet");
    if (a->compression && parquet_codec_find(a->compression, &a->codec) < 0)
        return usage("--compression must be zstd (if jobprof was built with "
                     "it), gzip or none");
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

/* Converts the tables of one step. */
static int put_parquet(const struct arguments *a, const char *step,
                       struct export_parquet_done *done, struct jp_error *err)
{
    char *csv = text_format("%s/csv", step);
    /* beside csv/ by default */
    char *out = a->output ? strdup(a->output) : text_format("%s/parquet", step);
    int rc = csv && out ? export_parquet(csv, out, a->codec, done, err)
                        : error_set(err, "out of memory");

    free(csv);
    free(out);
    return rc;
}

/* Exports each step that word means. Returns an exit status. */
static int write_parquet(const struct arguments *a)
{
    struct export_parquet_done done = {0};
    struct jp_error err = {""};
    char **steps = NULL;
    size_t n = 0, files = 0;
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
        if (put_parquet(a, steps[i], &done, &err) < 0) {
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
    if (done.odd && !a->common.quiet)
        quote_printf(stderr,
                     "jobprof: %" PRIu64
                     " times are too large for Parquet and became null\n",
                     done.odd);
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
    struct arguments a = {.codec = parquet_codec_best()};
    struct jp_error err = {""};
    int rc = parse(argc, argv, &a);

    if (rc >= 0)
        return rc;
    if (strcmp(a.format, "parquet") == 0)
        return write_parquet(&a);
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
