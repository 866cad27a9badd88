/* cmd_top.c - `jobprof top`: show a running step. */
#include "orchestrator/cmd/cmd_top.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "common/num.h"
#include "common/quote.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_inputs.h"
#include "orchestrator/collect/clock.h"

static const char help[] =
    "usage: jobprof top [options] [JOBID[.STEP]|DIR]\n"
    "\n"
    "Show what a step does while it runs: whether it hangs and which rank is\n"
    "the cause, which ranks make the others wait, and a row for each rank "
    "(for\n"
    "each node from 33 ranks on), the worst first. It reads the step's\n"
    "directory, so it works on every host that sees it. Without an argument\n"
    "it shows the job of $SLURM_JOB_ID, else the newest running jobprof-* in\n"
    "this folder.\n"
    "\n"
    "  --once           print once and end\n"
    "  --json           print once, as JSON with all nodes and ranks\n"
    "  --interval TIME  time between two tables (default 5 s, at least 1 s;\n"
    "                   nodes write every 5 s while top runs)\n"
    "  --node NODE      only the ranks of that node\n"
    "  --sort KEY       worst (default), node, age, caused, ops\n"
    "  --rows N         print at most N rows (default 40, 0: all)\n"
    "  --config FILE    the site's settings\n"
    "  -q, --quiet      do not print where the report is when the step ends\n"
    "  -h, --help       this text\n"
    "\n"
    "On a terminal: q quits, h lists the keys (sort, filter, open a node).\n"
    "If standard output is not a terminal, a new table is printed each\n"
    "interval, without escapes, until the step ends.\n"
    "\n"
    "Exit status: 0 ok, 1 a step hangs or may hang (--once, --json), 2 usage,\n"
    "4 nothing runs or no node has data of it, 5 input or output failed.\n";

enum { OPT_ONCE = 256, OPT_INTERVAL, OPT_NODE, OPT_SORT, OPT_ROWS };

static const struct option long_options[] = {
    {"once", no_argument, NULL, OPT_ONCE},
    {"interval", required_argument, NULL, OPT_INTERVAL},
    {"node", required_argument, NULL, OPT_NODE},
    {"sort", required_argument, NULL, OPT_SORT},
    {"rows", required_argument, NULL, OPT_ROWS},
    {"json", no_argument, NULL, CMD_OPT_JSON},
    {"config", required_argument, NULL, CMD_OPT_CONFIG},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {0}};

#define INTERVAL_MS 5000
#define PLAIN_COLUMNS 120 /* if the output is not a terminal */

struct arguments {
    struct top top;
    struct cmd_common common;
    bool once;
};

static int usage(const char *what)
{
    return cmd_args_usage("top", what);
}

/* --- once ----------------------------------------------------------------- */

static bool is_stuck(const struct top_step *step)
{
    return step->status == TOP_RUNS && step->state.word <= LIVESTATE_SUSPECT;
}

static int judge(const struct top *top)
{
    bool stuck = false, runs = false;

    for (size_t i = 0; i < top->n; i++) {
        stuck |= is_stuck(&top->steps[i]);
        runs |= top->steps[i].status == TOP_RUNS;
    }
    return stuck ? JP_EXIT_FINDINGS : runs ? JP_EXIT_OK : JP_EXIT_NODATA;
}

static int print_step(const struct top *top, const struct top_step *step)
{
    struct topshow_how how = top->how;
    struct topshow rows;

    how.job = step->name;
    if (topshow_make(&rows, &step->state, &how) < 0)
        return -1;
    topshow_print(&rows, &step->state, &how, stdout);
    topshow_fini(&rows);
    return 0;
}

static int print_steps(const struct arguments *a)
{
    const struct top *top = &a->top;
    size_t printed = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < top->n; i++)
        if (top->steps[i].status == TOP_RUNS) {
            if (printed++)
                putchar('\n');
            rc = print_step(top, &top->steps[i]);
        }
    if (rc == 0 && !printed && !a->common.quiet)
        quote_printf(stderr, "jobprof: top: %s\n", top_current(top)->text);
    return rc < 0 || (fflush(stdout) != 0 && errno != EPIPE) ? -1 : 0;
}

static const char *const status_words[] = {"runs", "silent", "ended"};

static int print_json(const struct top *top, struct jp_error *err)
{
    struct jp_json_stream *s = malloc(sizeof(*s));
    int rc = 0;

    if (!s)
        return error_set(err, "out of memory");
    json_stream_open(s, JSON_LINES, stdout);
    json_stream_count(s, "schema_version", 1);
    json_stream_count(s, "time_us", clock_real_us());
    json_stream_array(s, "steps");
    for (size_t i = 0; rc == 0 && i < top->n; i++) {
        const struct top_step *step = &top->steps[i];

        json_stream_object(s, NULL);
        json_stream_text(s, "step", step->name);
        json_stream_text(s, "dir", step->dir);
        json_stream_text(s, "status", status_words[step->status]);
        json_stream_text(s, "why",
                         step->status == TOP_RUNS ? NULL : step->text);
        if (step->status == TOP_RUNS)
            rc = topshow_json(s, &step->state);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
    if (json_stream_close(s, err) < 0 || fflush(stdout) != 0)
        rc = -1;
    free(s);
    return rc;
}

static int run_once(struct arguments *a)
{
    struct jp_error err = {"cannot write"};
    int rc = top_look(&a->top, &err);

    if (rc < 0)
        return cmd_args_fail("top", JP_EXIT_IO, &err);
    rc = a->common.json ? print_json(&a->top, &err) : print_steps(a);
    if (rc < 0)
        return errno == EPIPE ? JP_EXIT_OK
                              : cmd_args_fail("top", JP_EXIT_IO, &err);
    return judge(&a->top);
}

/* --- repeatedly, to a file or a pipe ----------------------------------- */

static void pause_ms(uint64_t ms)
{
    struct timespec left = {(time_t) (ms / 1000),
                            (long) (ms % 1000) * 1000000L};

    nanosleep(&left, NULL);
}

static bool any_open(const struct top *top)
{
    for (size_t i = 0; i < top->n; i++)
        if (top->steps[i].status != TOP_ENDED)
            return true;
    return false;
}

static int run_plain(struct arguments *a)
{
    struct top *top = &a->top;
    bool first = true, told = false;
    struct jp_error err = {""};

    while (true) {
        if (top_look(top, &err) < 0)
            return cmd_args_fail("top", JP_EXIT_IO, &err);
        if (!any_open(top))
            break;
        if (judge(top) != JP_EXIT_NODATA) {
            if (!first)
                putchar('\n');
            first = false;
            if (print_steps(a) < 0)
                return JP_EXIT_IO;
            if (ferror(stdout)) /* the reader has closed the pipe */
                return JP_EXIT_OK;
        } else if (!told && !a->common.quiet) {
            quote_printf(stderr, "jobprof: top: %s\n", top_current(top)->text);
            told = true;
        }
        pause_ms(top->interval_ms);
    }
    if (!a->common.quiet)
        quote_printf(stderr, "jobprof: top: %s\n", top_current(top)->text);
    return first ? JP_EXIT_NODATA : JP_EXIT_OK;
}

/* --- arguments ------------------------------------------------------------ */

static int take_sort(struct topshow_how *how)
{
    for (size_t i = 0; i < TOPSHOW_N_SORTS; i++)
        if (!strcmp(optarg, topshow_sort_words[i])) {
            how->sort = (enum topshow_sort) i;
            return -1;
        }
    return usage("--sort must be worst, node, age, caused or ops");
}

static int bad(const char *option, const struct jp_error *err)
{
    quote_printf(stderr, "jobprof: top: %s: %s\n", option, err->text);
    return JP_EXIT_USAGE;
}

/* Takes one option. Returns -1 to continue, otherwise an exit status. */
static int take_option(int c, struct arguments *a)
{
    struct jp_error err;
    uint64_t value;

    switch (c) {
    case OPT_ONCE:
        a->once = true;
        return -1;
    case OPT_INTERVAL:
        if (num_parse_time_us(optarg, 1000000, UINT64_C(3600000000), &value,
                              &err) < 0)
            return bad("--interval", &err);
        a->top.interval_ms = value / 1000;
        return -1;
    case OPT_NODE:
        a->top.node = a->top.how.node = optarg;
        return *optarg ? -1 : usage("--node: empty");
    case OPT_SORT:
        return take_sort(&a->top.how);
    case OPT_ROWS:
        if (num_parse_u64(optarg, 0, INT32_MAX, &value, &err) < 0)
            return bad("--rows", &err);
        a->top.how.rows = value ? value : SIZE_MAX;
        return -1;
    default:
        return cmd_args_common(c, help, &a->common);
    }
}

static int parse(int argc, char **argv, struct arguments *a)
{
    int c, rc = -1;

    optind = 0;
    while (rc < 0 &&
           (c = getopt_long(argc, argv, "qh", long_options, NULL)) != -1)
        rc = take_option(c, a);
    if (rc >= 0)
        return rc;
    if (argc - optind > 1)
        return usage("needs one DIR or JOBID[.STEP]");
    a->top.word = argv[optind];
    a->top.config = a->common.config;
    return -1;
}

/* Reads the terminal's properties. NO_COLOR counts if it is set and not
 * empty. */
static void look_at_terminal(struct topshow_how *how)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    struct winsize size;

    how->width = PLAIN_COLUMNS;
    if (!isatty(STDOUT_FILENO))
        return;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        how->width = size.ws_col;
    how->colour = !(no_color && *no_color) && term && *term &&
                  strcmp(term, "dumb") != 0;
}

static bool is_screen(void)
{
    const char *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

static int run(struct arguments *a, const char *word)
{
    struct jp_error err = {""};

    if (top_find_steps(&a->top, word, &err) < 0)
        return cmd_args_fail("top", JP_EXIT_USAGE, &err);
    if (!a->top.n) {
        quote_printf(stderr, "jobprof: top: %s: contains no step\n", word);
        return JP_EXIT_NODATA;
    }
    look_at_terminal(&a->top.how);
    if (a->once || a->common.json)
        return run_once(a);
    return is_screen() ? top_screen(&a->top, a->common.quiet) : run_plain(a);
}

int cmd_top(int argc, char **argv)
{
    struct arguments a = {
        .top = {.interval_ms = INTERVAL_MS,
                .how = {.rows = TOPSHOW_ROWS, .selected = SIZE_MAX}}};
    int rc = parse(argc, argv, &a);
    const char *word = a.top.word;
    char *made = NULL;

    if (rc >= 0)
        return rc;
    if (!word)
        word = top_default_word(&made);
    if (word)
        rc = run(&a, word);
    else
        rc = usage("no running jobprof-* in this folder; name a DIR or JOBID");
    top_fini(&a.top);
    free(made);
    return rc;
}
