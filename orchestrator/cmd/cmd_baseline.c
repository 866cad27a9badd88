/* cmd_baseline.c - `jobprof baseline`: add up the network's performance in
 * earlier steps.
 *
 * The baseline grows in memory, one report or earlier baseline after the other
 * (add_json), and is written at the end (deliver). Reports that do not fit are
 * left out with a message; only unreadable files and contradictions end the
 * command. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fileio.h"
#include "common/defaults.h"
#include "common/figure.h"
#include "common/quote.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_inputs.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/report/baseline_file.h"
#include "orchestrator/report/summary_file.h"

struct arguments {
    const char *output, *config;
    bool degraded, quiet;
};

/* The data collected so far. */
struct gathering {
    const struct arguments *arguments;
    struct jp_baseline all;
    size_t left_out;
};

static const struct cmd_option rows[] = {
    {"output", "FILE", "write to FILE instead of standard output",
     OPT_WORD(output), .letter = 'o'},
    {"degraded", NULL, "also use reports of a slow network",
     OPT_FLAG(degraded)},
    {"config", "FILE", "the site's settings", OPT_TEXT(config)},
    {"quiet", NULL, "do not print what was left out", OPT_FLAG(quiet),
     .letter = 'q'},
};

static const struct cmd_options command_line = {
    .command = "baseline",
    .about =
        "usage: jobprof baseline [-o FILE] [options] "
        "DIR|JOBID[.STEP]|FILE...\n\n"
        "Add up what the network did in steps that have a report: the "
        "bandwidth of the last arriver by kind of communicator, function and "
        "size. report, aggregate and compare measure other steps against it. "
        "FILE is a step's summary.json, or an earlier baseline, which is "
        "merged.\n\n"
        "A report is left out, with a message, if its data is incomplete, if "
        "its network was slow, or if the baseline already contains it.\n",
    CMD_ROWS(rows),
    .end = "Exit status: 0 ok, 2 usage, 4 no report could be used (nothing is "
           "written), 5 input or output failed.\n",
    .least = 1,
    .most = CMD_ANY,
    .need = "needs at least one report",
};

/* Prints the error. what: the file or argument, or "" if err names it. Returns
 * status. */
static int fail(int status, const char *what, const struct jp_error *err)
{
    quote_printf(stderr, "jobprof: baseline: %s%s%s\n", what, *what ? ": " : "",
                 err->text);
    return status;
}

/* Counts a report that is not used, and prints why. */
static void leave_out(struct gathering *g, const char *what, const char *why)
{
    g->left_out++;
    if (!g->arguments->quiet)
        quote_printf(stderr, "jobprof: %s: left out: %s\n", what, why);
}

#define WHY 160 /* bytes of a reason */

/* Says what became of a report or a baseline. Returns an exit status. */
static int tell_added(struct gathering *g, const char *what,
                      enum baseline_added added, const char *why,
                      const struct jp_error *err)
{
    switch (added) {
    case BASELINE_LEFT_OUT:
        leave_out(g, what, why);
        break;
    case BASELINE_UNREADABLE:
        return fail(JP_EXIT_IO, what, err);
    case BASELINE_CONFLICT:
        return fail(JP_EXIT_USAGE, what, err);
    case BASELINE_ADDED:
        break;
    }
    return JP_EXIT_OK;
}

/* Adds the report in a folder. A folder without one is left out. */
static int add_dir(struct gathering *g, const char *dir)
{
    struct jp_error err = {""};
    struct summary_file summary;
    enum baseline_added added;
    char why[WHY] = "";

    if (summary_file_read(dir, SUMMARY_WHOLE, &summary, &err) < 0) {
        leave_out(g, dir, err.text);
        return JP_EXIT_OK;
    }
    added = baseline_file_add_report(&summary, g->arguments->degraded, &g->all,
                                     why, sizeof(why), &err);
    summary_file_fini(&summary);
    return tell_added(g, dir, added, why, &err);
}

/* Adds a summary.json or a baseline. A file that was named has to be readable.
 */
static int add_file(struct gathering *g, const char *path)
{
    struct jp_error err = {""};
    json_t *root = baseline_file_load(path, &err);
    enum baseline_added added;
    char why[WHY] = "";

    if (!root)
        return fail(JP_EXIT_IO, "", &err);
    added = baseline_file_add(root, g->arguments->degraded, &g->all, why,
                              sizeof(why), &err);
    json_decref(root);
    return tell_added(g, path, added, why, &err);
}

/* Adds everything that an argument means. */
static int add_word(struct gathering *g, const char *word)
{
    struct jp_error err = {""};
    char **dirs = NULL;
    struct stat st;
    size_t n = 0;
    int rc = JP_EXIT_OK;

    if (stat(word, &st) == 0 && !S_ISDIR(st.st_mode))
        return add_file(g, word);
    /* also a copied report, or that of `jobprof aggregate` */
    if (stepdir_has(word, JP_SUMMARY_NAME))
        return add_dir(g, word);
    if (cmd_inputs_steps(word, g->arguments->config, &dirs, &n, &err) < 0)
        /* err already names the argument */
        return fail(JP_EXIT_USAGE, "", &err);
    for (size_t i = 0; i < n && rc == JP_EXIT_OK; i++)
        rc = add_dir(g, dirs[i]);
    nodelist_free(dirs, n);
    return rc;
}

/* Uses the caller's normal file mode, because all users read a site's
 * baseline. */
static int write_file(const struct jp_baseline *all, const char *path,
                      struct jp_error *err)
{
    struct jp_tempfile file;
    mode_t mask = umask(0);

    /* umask can only be read by setting it */
    umask(mask);
    if (fileio_output_open(&file, path, err) < 0)
        return -1;
    /* without temp_name the output is a device or a pipe, whose mode stays */
    if ((file.temp_name && fchmod(fileno(file.stream), 0666 & ~mask) < 0) ||
        baseline_file_write(all, file.stream, err) < 0) {
        fileio_temp_abort(&file);
        return -1;
    }
    return fileio_temp_commit(&file, err);
}

/* Writes the baseline and prints a summary. Returns an exit status. */
static int deliver(const struct gathering *g)
{
    const struct arguments *a = g->arguments;
    struct jp_error err = {"the file's mode cannot be set"};

    /* an empty baseline would look like a result */
    if (!g->all.n_reports) {
        fputs(
            "jobprof: baseline: no report could be used: nothing is written\n",
            stderr);
        return JP_EXIT_NODATA;
    }
    if ((a->output ? write_file(&g->all, a->output, &err)
                   : baseline_file_write(&g->all, stdout, &err)) < 0 ||
        (!a->output && fflush(stdout) != 0))
        return fail(JP_EXIT_IO, a->output ? a->output : "standard output",
                    &err);
    if (!a->quiet)
        quote_printf(
            stderr,
            "jobprof: baseline of %zu report%s, %zu cell%s; %zu left out\n",
            g->all.n_reports, plural(g->all.n_reports), g->all.n_cells,
            plural(g->all.n_cells), g->left_out);
    return JP_EXIT_OK;
}

int cmd_baseline(int argc, char **argv)
{
    struct arguments a = {.output = NULL};
    struct gathering g = {.arguments = &a};
    int rc = cmd_options_parse(&command_line, argc, argv, &a);

    if (rc >= 0)
        return rc;
    rc = JP_EXIT_OK;
    for (int i = optind; i < argc && rc == JP_EXIT_OK; i++)
        rc = add_word(&g, argv[i]);
    if (rc == JP_EXIT_OK)
        rc = deliver(&g);
    baseline_fini(&g.all);
    return rc;
}
