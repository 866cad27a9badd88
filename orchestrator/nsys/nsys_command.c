/* nsys_command.c - `jobprof nsys`: print Nsight Systems exports as tables.
 *
 * nsys/ reads and merges the exports; the tables are those of a report. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/quote.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/nsys/nsys_feature.h"
#include "orchestrator/report/tables.h"

/* Limit of --top. */
#define MAX_TOP 1000000

struct arguments {
    bool per_rank, base, gpus, csv;
    uint64_t top;
    struct cmd_common common;
};

static const struct cmd_option rows[] = {
    {"per-rank", NULL, "print tables for each file instead of one set for all",
     OPT_FLAG(per_rank)},
    {"base", NULL, "group kernels by short name, without templates",
     OPT_FLAG(base)},
    {"top", "N", "print at most N rows of a table", OPT_COUNT(top, 1, MAX_TOP)},
    {"gpus", NULL, "also print the GPUs' busy time, gaps and launches",
     OPT_FLAG(gpus)},
    {"csv", NULL,
     "print the merged rows as CSV (csv/nsys_sums.csv of a report)",
     OPT_FLAG(csv)},
    {"json", NULL, "print the object nsys of summary.json",
     OPT_FLAG(common.json)},
    {"quiet", NULL, "do not print notes on files", OPT_QUIET},
};

static const struct cmd_options command_line = {
    .command = "nsys",
    .about = "usage: jobprof nsys [options] FILE|DIR ...\n\n"
             "Print totals of CUDA calls, kernels, copies and NVTX ranges from "
             "exports of Nsight Systems (nsys export --type=sqlite "
             "REPORT.nsys-rep), in the tables of `nsys profile --stats`. A DIR "
             "stands for all files that end in .sqlite in it and in the "
             "folders below. Several files are the ranks of one run: rows of "
             "one name are merged, with exact averages and deviations, and "
             "columns show how the ranks differ.\n",
    CMD_ROWS(rows),
    .end = "Exit status: 0 ok, 2 usage, 3 a file could not be read (the rest "
           "is shown), 4 no file could be read, 5 output failed.\n",
    .least = 1,
    .most = CMD_ANY,
    .need = "a FILE is missing",
};

/* Returns -1 to continue, otherwise an exit status. */
static int parse_arguments(int argc, char **argv, struct arguments *a)
{
    int rc = cmd_options_parse(&command_line, argc, argv, a);

    if (rc >= 0)
        return rc;
    if (a->csv + a->common.json + a->per_rank > 1)
        return cmd_options_usage(
            &command_line, "give only one of --csv, --json and --per-rank");
    return -1;
}

/* Prints problems of single exports, and how many files were not read. */
static void print_notes(const struct jp_nsys *nsys)
{
    for (size_t i = 0; i < nsys->n_ranks; i++) {
        const struct jp_nsys_rank *r = &nsys->ranks[i];

        /* the export could not be read */
        if (r->bad)
            quote_printf(stderr, "jobprof: nsys: %s\n", r->why);
        /* nsys's own warning; the export is usable */
        else if (*r->why)
            quote_printf(stderr, "jobprof: nsys: %s: nsys warns: %s\n", r->path,
                         r->why);
        /* foreign input: rows are checked one by one */
        if (r->p.bad_rows)
            quote_printf(stderr,
                         "jobprof: nsys: %s: %llu rows have impossible values "
                         "and are left out\n",
                         r->path, (unsigned long long) r->p.bad_rows);
        if (r->p.latency_left_out)
            quote_printf(stderr,
                         "jobprof: nsys: %s: the launches of %llu kernels are "
                         "unknown: too many at once\n",
                         r->path, (unsigned long long) r->p.latency_left_out);
    }
    if (nsys->unexported)
        quote_printf(stderr,
                     "jobprof: nsys: %zu reports are not exported yet; run "
                     "nsys export --type=sqlite FILE\n",
                     nsys->unexported);
    if (nsys->skipped)
        quote_printf(stderr,
                     "jobprof: nsys: %zu files were not read: at most %d are\n",
                     nsys->skipped, JP_NSYS_MAX);
}

/* Prints the tables as JSON. The stream is large, so it is not on the stack. */
static int print_json(const struct jp_report *report, struct jp_error *err)
{
    struct jp_json_stream *s = calloc(1, sizeof(*s));
    int rc;

    if (!s)
        return error_set(err, "out of memory");
    json_stream_open(s, JSON_FILE, stdout);
    nsys_report_json(s, NSYS_FEATURE, report);
    rc = json_stream_close(s, err);
    free(s);
    return rc;
}

/* Prints the table of sums as CSV. */
static void print_csv(const struct jp_report *report)
{
    struct jp_csv csv;

    /* the same columns as csv/ of a report */
    table_csv_head(&table_nsys_sums, stdout);
    csv_out_begin(&csv, stdout);
    table_csv(&csv, &table_nsys_sums, report, NULL);
    csv_out_flush(&csv);
}

/* Prints the tables in the requested form. Returns -1 and err if the output
 * failed. */
static int print_tables(const struct arguments *a, struct jp_nsys *nsys,
                        struct jp_error *err)
{
    struct feature_set features = {.data = {NULL}};
    const struct jp_report report = {.features = &features};
    int rc = 0;

    feature_lend(&features, &feature_nsys, nsys);
    /* not every failure of stdio sets errno */
    errno = 0;
    if (a->common.json)
        rc = print_json(&report, err);
    else if (a->csv)
        print_csv(&report);
    else
        nsys_print(nsys, (size_t) a->top, stdout);
    if (rc == 0 && a->gpus &&
        (table_text(&table_nsys_ranks, &report, stdout) < 0 ||
         table_text(&table_nsys_gaps, &report, stdout) < 0))
        rc = error_set(err, "out of memory");
    if (rc == 0 && (fflush(stdout) != 0 || ferror(stdout)))
        rc = error_set(err, "standard output: %s",
                       errno ? strerror(errno) : "cannot be written");
    return rc;
}

/* Reads one set of inputs as a whole and prints its tables. titled: with the
 * first input's name above. Returns an exit status. */
static int show_inputs(const struct arguments *a, const char *const *inputs,
                       size_t n, bool titled)
{
    struct jp_nsys_options options = nsys_options();
    struct jp_nsys *nsys = NULL;
    struct jp_error err = {""};
    int status = JP_EXIT_OK;

    /* --base */
    options.short_names = a->base;
    if (nsys_load(inputs, n, &options, &nsys, &err) < 0)
        return cmd_args_fail("nsys", JP_EXIT_USAGE, &err);
    /* without any usable export there are only notes */
    if (!nsys || nsys->n_ranks == nsys->n_bad)
        status = JP_EXIT_NODATA;
    else if (nsys->n_bad || nsys->skipped)
        status = JP_EXIT_INCOMPLETE;
    /* --quiet does not hide why there is nothing */
    if (nsys && (!a->common.quiet || status == JP_EXIT_NODATA))
        print_notes(nsys);
    else if (!nsys)
        quote_printf(stderr, "jobprof: nsys: no nsys export (*.sqlite) in %s\n",
                     inputs[0]);
    /* only above a table that follows */
    if (nsys && status != JP_EXIT_NODATA && titled)
        quote_printf(stdout, "%s\n\n", inputs[0]);
    if (nsys && status != JP_EXIT_NODATA && print_tables(a, nsys, &err) < 0)
        status = cmd_args_fail("nsys", JP_EXIT_IO, &err);
    nsys_destroy(nsys);
    return status;
}

/* Reads and prints each file by itself. Returns an exit status. */
static int show_each(const struct arguments *a, const char *const *inputs,
                     size_t n)
{
    struct jp_nsys_options options = nsys_options();
    struct jp_nsys *all = NULL;
    struct jp_error err = {""};
    int worst = JP_EXIT_OK;
    size_t bad = 0;

    /* loading them all at once finds the files and drops repeated ones */
    if (nsys_load(inputs, n, &options, &all, &err) < 0)
        return cmd_args_fail("nsys", JP_EXIT_USAGE, &err);
    for (size_t i = 0; all && i < all->n_ranks; i++) {
        const char *path = all->ranks[i].path;
        int rc = show_inputs(a, &path, 1, true);

        bad += rc == JP_EXIT_NODATA;
        /* larger statuses are worse */
        worst = rc > worst ? rc : worst;
    }
    if (!all || bad == all->n_ranks)
        worst = JP_EXIT_NODATA;
    /* some files had data, so the result is only incomplete */
    else if (worst == JP_EXIT_NODATA)
        worst = JP_EXIT_INCOMPLETE;
    nsys_destroy(all);
    return worst;
}

static int run_command(int argc, char **argv)
{
    struct arguments a = {0};
    int rc = parse_arguments(argc, argv, &a);
    const char *const *inputs;

    if (rc >= 0)
        return rc;
    /* files, or folders with them */
    inputs = (const char *const *) argv + optind;
    return a.per_rank
               ? show_each(&a, inputs, (size_t) (argc - optind))
               : show_inputs(&a, inputs, (size_t) (argc - optind), false);
}

extern const struct command command_nsys;
const struct command command_nsys = {
    .name = "nsys",
    .run = run_command,
    .summary = "print exports of Nsight Systems as tables",
};
