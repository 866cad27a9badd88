/* cmd_show.c - `jobprof show`: print a step's operations on the terminal.
 *
 * Four outputs: totals of operations (the default), operations that have not
 * ended (--pending), processes during a hang (--hang), and clocks (--clock).
 * The first two use the best source that exists: recordings, Inspector's logs,
 * or a report (show_saved_source). show/ reads and prints; this file chooses,
 * and turns results into exit statuses. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/num.h"
#include "common/quote.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_inputs.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/feature/feature.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/report.h"
#include "orchestrator/report/tables.h"
#include "orchestrator/show/show.h"

/* Answers above the table. */
#define ANSWERS_SHOWN 20
/* Longest summary.txt that is read. */
#define REST_BYTES (1 << 20)

/* filter.rank is -1 if --rank was not given. */
struct arguments {
    struct opsum_filter filter;
    struct cmd_common common;
    const char *word;
    bool pending, hang, clock, raw;
    int answers; /* reports whose answers were printed above the table */
};

/* The form of the output. --json takes precedence over --raw. */
static enum show_form form_of(const struct arguments *a)
{
    return a->common.json ? SHOW_JSON : a->raw ? SHOW_RAW : SHOW_HUMAN;
}

static const struct cmd_option rows[] = {
    {"rank", "R",
     "only rank R of the job: Slurm's task id, else the rank in a communicator "
     "of all processes; if neither is known, rank R of the communicator of "
     "--comm",
     OPT_COUNT(filter.rank, 0, INT64_MAX)},
    {"node", "NODE", "only that host, or that folder of raw/",
     OPT_WORD(filter.node)},
    {"comm", "ID", "only the communicator with that id or name",
     OPT_WORD(filter.comm)},
    {"op", "FUNCTION", "only that function, such as AllReduce or Send",
     OPT_WORD(filter.func)},
    {"pending", NULL,
     "print instead the operations that had not ended, the ranks in them, and "
     "the ranks that never entered them; for a running step as jobprof top "
     "sees them",
     OPT_FLAG(pending)},
    {"hang", NULL,
     "print instead what processes did while the step hung: state, merged "
     "stacks, NCCL's RAS (jobprof evidence)",
     OPT_FLAG(hang)},
    {"clock", NULL,
     "print instead how far the nodes' clocks were apart, as their agents "
     "measured it, and whether that is good: alpha within 1e-4 of 1, beta "
     "stable, under 1 % of the probes failed; --node chooses a node",
     OPT_FLAG(clock)},
    {"raw", NULL,
     "print plain numbers (bytes, microseconds), in order of communicators, "
     "with all columns also where a terminal is too narrow, for programs "
     "that read columns",
     OPT_FLAG(raw)},
    {"json", NULL, "print JSON", OPT_FLAG(common.json)},
    {"config", "FILE", "the site's settings", OPT_TEXT(common.config)},
    {"quiet", NULL, "do not report problems with files", OPT_QUIET},
};

static const struct cmd_options command_line = {
    .command = "show",
    .about =
        "usage: jobprof show [options] DIR|JOBID[.STEP]\n\n"
        "Show a step's card, and the recorded operations of each communicator, "
        "function and size: their number, times and bus bandwidths. They come "
        "from the recorder's "
        "files (.jpr), else from NCCL Inspector's logs, else from a report's "
        "csv/ and summary.json, where --rank and --node print one line for "
        "each communicator. DIR is a step's or a job's directory, a report's, "
        "a folder of jobs' directories, or any folder. Several steps have a "
        "line each, and a column in the table. The step may still be "
        "running.\n",
    CMD_ROWS(rows),
    .end = "Exit status: 0 ok, 1 a check of --clock failed, 2 usage, 3 a file "
           "is damaged or cannot be read (the rest is shown), 4 nothing to "
           "show, 5 input or output failed.\n",
    .least = 1,
    .most = 1,
    .need = "needs one DIR or JOBID[.STEP]",
};

/* Prints a usage error. Returns JP_EXIT_USAGE. */
static int usage(const char *what)
{
    return cmd_options_usage(&command_line, what);
}

/* Returns -1 to continue, otherwise an exit status. */
static int parse_arguments(int argc, char **argv, struct arguments *a)
{
    int rc = cmd_options_parse(&command_line, argc, argv, a);

    if (rc >= 0)
        return rc;
    if (a->hang && a->pending)
        return usage("give either --hang or --pending");
    /* a hang is only understood with all ranks */
    if ((a->hang || a->pending) && (a->filter.rank >= 0 || a->filter.node ||
                                    a->filter.comm || a->filter.func))
        return usage(a->hang ? "--hang shows all ranks: leave out --rank, "
                               "--node, --comm and --op"
                             : "--pending shows all ranks: leave out --rank, "
                               "--node, --comm and --op");
    if (a->clock && (a->pending || a->hang || a->filter.rank >= 0 ||
                     a->filter.comm || a->filter.func))
        return usage("--clock shows nodes: leave out --rank, --comm and --op");
    a->word = argv[optind];
    return -1;
}

/* Prints what is in flight according to the recordings. Returns an exit status.
 */
static int show_pending(struct cmd_inputs *inputs, bool json)
{
    struct jp_error err = {""};
    int rc = hangshow_print(&inputs->walk, json, stdout, &err);

    return rc < 0 ? cmd_args_fail("show", JP_EXIT_IO, &err)
                  : cmd_inputs_judge(inputs);
}

/* Whether the filter selects anything. */
static bool asks_for_some(const struct opsum_filter *filter)
{
    return filter->rank >= 0 || filter->node || filter->comm || filter->func;
}

/* Prints the sections of summary.txt after the verdict and the job, which the
 * card has: data of other kinds. */
static void print_rest(const char *dir)
{
    char *path = text_format("%s/summary.txt", dir), *text = NULL;
    const char *line;

    /* a report of an older version may have none */
    if (path && fileio_read(path, false, REST_BYTES, &text, NULL, NULL) == 0)
        line = strstr(text, "\nData\n");
    else
        line = NULL;
    while (line && *++line) {
        int n = (int) strcspn(line, "\n");

        quote_printf(stdout, "%.*s\n", n, line);
        line += n;
        if (!*line)
            break;
    }
    free(text);
    free(path);
}

/* Prints what a report has besides operations. Returns an exit status. */
static int show_rest(const struct cmd_inputs *inputs)
{
    struct jp_error err = {""};

    /* of several steps, the lines above say enough */
    if (inputs->n == 1)
        print_rest(inputs->dirs[0]);
    return table_output_end(NULL, stdout, &err) < 0
               ? cmd_args_fail("show", JP_EXIT_IO, &err)
               : JP_EXIT_OK;
}

/* Returns rc; but JP_EXIT_NODATA after a message if there were no rows (none)
 * and no error. */
static int judge_rows(int rc, bool none, const struct cmd_inputs *inputs,
                      const struct arguments *a)
{
    const struct opsum_filter *filter = &a->filter;

    if (rc != JP_EXIT_OK || !none)
        return rc;
    /* what else the report has */
    if (a->answers)
        return show_rest(inputs);
    if (!inputs->quiet)
        quote_printf(stderr, "jobprof: no operation %s\n",
                     asks_for_some(filter) ? "matches the options"
                                           : "is recorded there");
    return JP_EXIT_NODATA;
}

/* Prints totals of the recorder's files. Returns an exit status. */
static int show_recordings(struct cmd_inputs *inputs, const struct arguments *a)
{
    const struct opsum_input input = {
        .walk = &inputs->walk, .steps = inputs->names, .n_steps = inputs->n};
    struct jp_error err = {""};
    struct opsum_done done;

    if (opsum_show(&input, &a->filter, form_of(a), stdout, &done, &err) < 0)
        return cmd_args_fail("show", JP_EXIT_IO, &err);
    return judge_rows(cmd_inputs_judge(inputs), !done.rows, inputs, a);
}

/* Prints totals of Inspector's logs. Returns an exit status. */
static int show_logs(struct cmd_inputs *inputs, const struct arguments *a)
{
    const struct opsum_input input = {.walk = &inputs->walk,
                                      .logs = true,
                                      .steps = inputs->names,
                                      .n_steps = inputs->n};
    struct jp_error err = {""};
    struct opsum_done done;

    /* Inspector writes an operation when it has ended */
    if (a->pending) {
        fprintf(stderr,
                "jobprof: NCCL Inspector's logs have no operations in flight; "
                "jobprof report shows which communicator stopped\n");
        return JP_EXIT_NODATA;
    }
    if (opsum_show(&input, &a->filter, form_of(a), stdout, &done, &err) < 0)
        return cmd_args_fail("show", JP_EXIT_IO, &err);
    if (done.bad && !inputs->quiet)
        quote_printf(stderr, "jobprof: %" PRIu64 " bad line%s skipped\n",
                     done.bad, done.bad == 1 ? " is" : "s are");
    return judge_rows(done.bad ? JP_EXIT_INCOMPLETE : JP_EXIT_OK, !done.rows,
                      inputs, a);
}

/* Prints what a report has kept. Returns an exit status. */
static int show_report(struct cmd_inputs *inputs, const struct arguments *a)
{
    struct jp_error err = {""};
    int rc;

    /* csv/ranks.csv has no functions */
    if (!inputs->quiet && a->filter.func &&
        (a->filter.rank >= 0 || a->filter.node))
        fprintf(stderr, "jobprof: a report has a rank's functions only "
                        "together, so --op is ignored\n");
    rc = show_saved_print(inputs->folders, inputs->names, inputs->n,
                          a->pending ? NULL : &a->filter, form_of(a), &err);
    if (rc < 0)
        return cmd_args_fail("show", JP_EXIT_IO, &err);
    if (!inputs->quiet && (rc == 0 || !a->answers))
        quote_printf(stderr,
                     "jobprof: no logs are there; the figures are from the "
                     "report's %s\n",
                     a->pending ? JP_SUMMARY_NAME : "csv/");
    return judge_rows(JP_EXIT_OK, rc > 0, inputs, a);
}

/* Prints what reports say before their tables: the card of one step, a line for
 * each of several. Only for people who ask for a whole step. Returns the number
 * of reports, or -1 and err if the output failed. */
static int show_answers(const struct cmd_inputs *inputs,
                        const struct arguments *a, struct jp_error *err)
{
    enum jp_summary how = inputs->n == 1 ? JP_SUMMARY_CARD : JP_SUMMARY_LINE;
    int n = 0;

    if (form_of(a) != SHOW_HUMAN || a->pending || asks_for_some(&a->filter))
        return 0;
    for (size_t i = 0; i < inputs->n; i++) {
        if (!stepdir_has(inputs->dirs[i], JP_SUMMARY_NAME))
            continue;
        if (n == ANSWERS_SHOWN) {
            printf("... and more steps: jobprof show of one of them\n");
            break;
        }
        if (inputs->n > 1)
            text_out_line(stdout, "%s", inputs->names[i]);
        if (report_print_line(inputs->dirs[i], how, false, stdout, err) == 0)
            n++;
        else if (ferror(stdout))
            return errno == EPIPE ? n : -1;
        else if (!inputs->quiet) /* a damaged report; its data is still shown */
            quote_printf(stderr, "jobprof: show: %s\n", err->text);
    }
    if (n)
        putchar('\n');
    return n;
}

/* There is no data. Returns an exit status. */
static int show_nothing(struct cmd_inputs *inputs, const struct arguments *a)
{
    if (a->common.json) /* an object without rows */
        return a->pending ? show_pending(inputs, true)
                          : show_recordings(inputs, a);
    if (!inputs->quiet)
        fprintf(stderr, "jobprof: no recorder file (.jpr), no NCCL Inspector "
                        "log and no csv/ of a report found\n");
    return JP_EXIT_NODATA;
}

/* Prints a message about a damaged file. */
static void say_file(const char *text)
{
    quote_printf(stderr, "jobprof: %s\n", text);
}

/* Prints what f has of these nodes/ folders. A damaged file takes precedence
 * over a failed check. Returns an exit status. */
static int print_nodes(const struct feature *f, const struct arguments *a,
                       char *const *nodes, size_t n)
{
    const struct feature_show how = {.node = a->filter.node,
                                     .json = a->common.json,
                                     .out = stdout,
                                     .say = a->common.quiet ? NULL : say_file};
    struct feature_shown done;
    struct jp_error err = {""};

    if (f->show_nodes(nodes, n, &how, &done, &err) < 0)
        return cmd_args_fail("show", JP_EXIT_IO, &err);
    if (!done.rows && !done.bad_files && !a->common.quiet)
        quote_printf(stderr, "jobprof: %s\n",
                     done.files ? f->shows_no_row : f->shows_nothing);
    return done.bad_files ? JP_EXIT_INCOMPLETE
           : !done.rows   ? JP_EXIT_NODATA
           : done.failed  ? JP_EXIT_FINDINGS
                          : JP_EXIT_OK;
}

/* Finds the nodes/ folders of the steps and prints their clocks, by the feature
 * that has them. Returns an exit status. */
static int show_clocks(const struct arguments *a)
{
    const struct feature *f = feature_named("clock");
    struct jp_error err = {""};
    char **dirs = NULL, **nodes;
    size_t n = 0;
    int rc = JP_EXIT_IO;

    if (!f)
        return JP_EXIT_NODATA;
    if (cmd_inputs_steps(a->word, a->common.config, &dirs, &n, &err) < 0)
        return cmd_args_fail("show", JP_EXIT_USAGE, &err);
    nodes = calloc(n, sizeof(*nodes));
    for (size_t i = 0; nodes && i < n; i++)
        /* NULL for a step without agents, which is skipped */
        nodes[i] = cmd_inputs_nodes(dirs[i]);
    if (nodes)
        rc = print_nodes(f, a, nodes, n);
    for (size_t i = 0; nodes && i < n; i++)
        free(nodes[i]);
    free(nodes);
    nodelist_free(dirs, n);
    return rc;
}

/* --- --hang --------------------------------------------------------------- */

/* Shows what f has of one step. Returns JP_EXIT_NODATA if it has nothing. */
static int show_step_hang(const struct feature *f, const char *dir,
                          const struct arguments *a, bool named)
{
    struct jp_error err = {"it cannot be written"};
    bool complete = true;
    void *data = NULL;
    int rc;

    if (f->read_hang(dir, &data, &err) < 0)
        return cmd_args_fail("show", JP_EXIT_IO, &err);
    if (!data)
        return JP_EXIT_NODATA;
    if (named && !a->common.json)
        text_out_line(stdout, "%s", dir);
    rc = f->show(data, a->common.json, a->common.quiet, &complete, &err);
    f->destroy(data);
    if (rc < 0 || fflush(stdout))
        return cmd_args_fail("show", JP_EXIT_IO, &err);
    return complete ? JP_EXIT_OK : JP_EXIT_INCOMPLETE;
}

/* Shows each step that was examined. Returns the largest status of these, or
 * JP_EXIT_NODATA if there is none. */
static int show_hang(const struct arguments *a)
{
    const struct feature *f = feature_named("hang");
    struct jp_error err;
    char **dirs = NULL;
    size_t n = 0;
    int rc = JP_EXIT_NODATA;

    if (cmd_inputs_steps(a->word, a->common.config, &dirs, &n, &err) < 0)
        return cmd_args_fail("show", JP_EXIT_USAGE, &err);
    for (size_t i = 0; i < n; i++) {
        int one = f ? show_step_hang(f, dirs[i], a, n > 1) : JP_EXIT_NODATA;

        if (one != JP_EXIT_NODATA && (rc == JP_EXIT_NODATA || one > rc))
            rc = one;
    }
    if (rc == JP_EXIT_NODATA && !a->common.quiet && f)
        quote_printf(stderr, "jobprof: %s\n", f->shows_nothing);
    nodelist_free(dirs, n);
    return rc;
}

/* Shows the running steps by the command that knows them. Returns the exit
 * status; -1: none is running, so the recordings are read. */
static int show_running(const struct arguments *a)
{
    int rc = -1;

    for (size_t i = 0; command_registry[i] && rc < 0; i++)
        if (command_registry[i]->show_running)
            rc = command_registry[i]->show_running(a->word, a->common.config,
                                                   a->common.json);
    return rc;
}

int cmd_show(int argc, char **argv)
{
    struct cmd_inputs inputs = {.command = "show"};
    struct arguments a = {.filter = {.rank = -1}};
    struct jp_error err;
    int rc = parse_arguments(argc, argv, &a);

    if (rc >= 0)
        return rc;
    if (a.hang)
        return show_hang(&a);
    if (a.clock)
        return show_clocks(&a);
    /* a running step's snapshots are newer than its recordings */
    rc = a.pending ? show_running(&a) : -1;
    if (rc >= 0)
        return rc;
    inputs.quiet = a.common.quiet;
    inputs.jobs = true;
    rc = cmd_inputs_init(&inputs, a.word, a.common.config);
    if (rc != JP_EXIT_OK)
        return rc;
    a.answers = show_answers(&inputs, &a, &err);
    if (a.answers < 0) {
        cmd_inputs_fini(&inputs);
        return cmd_args_fail("show", JP_EXIT_IO, &err);
    }
    switch (show_saved_source(inputs.folders, inputs.n, &inputs.walk.walk)) {
    case SHOW_LOGS:
        rc = show_logs(&inputs, &a);
        break;
    case SHOW_REPORT:
        rc = show_report(&inputs, &a);
        break;
    case SHOW_NOTHING:
        /* the card is what there is of a step without operations */
        rc = a.answers ? show_rest(&inputs) : show_nothing(&inputs, &a);
        break;
    case SHOW_RECORDER:
        rc = a.pending ? show_pending(&inputs, a.common.json)
                       : show_recordings(&inputs, &a);
    }
    cmd_inputs_fini(&inputs);
    return rc;
}
