/* history_command.c - `jobprof history`: statistics over the steps of a site;
 * and the line that a report adds to the history.
 *
 * Reading: history_read passes each line to see, which adds it to the sums and
 * to a table for other tools; history_put prints the tables. Writing:
 * history_add makes a step's line and sends it to the site's sinks; `jobprof
 * report` does this in a process of its own (start_after_report). */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/child.h"
#include "common/figure.h"
#include "common/fileio.h"
#include "common/num.h"
#include "common/plan.h"
#include "common/quote.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_inputs.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/history/history_sum.h"
#include "orchestrator/insight/limits.h"

/* time that a report waits for its line */
#define AWAIT_MS 300
/* lifetime of the process that writes it */
#define LIFE_S 60

struct arguments {
    struct history_want want;
    int top;
    uint64_t rows;
    const char *table;                 /* a file, or NULL */
    const struct feature_sheet *sheet; /* its format */
    bool metrics, schema, add, exclude, drain, tell;
    struct cmd_common common;
    struct jp_sitefile site;
    struct history_sink sink;
    const char *accounts;       /* the site's list, or NULL */
    enum metrics_format format; /* format of the metrics */
};

/* --- options -------------------------------------------------------------- */

/* Parses "7d" and sets the time this long ago. */
static int take_since(void *arguments, const struct cmd_option *row, char *text,
                      struct jp_error *err)
{
    static const struct {
        char unit;
        uint64_t seconds;
    } units[] = {{'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 7 * 86400}};
    struct arguments *a = arguments;
    size_t n = strlen(text);
    char number[24];
    uint64_t count, ago;
    struct timespec now;

    (void) row;
    /* a number and a unit; the number fits in the buffer */
    if (n < 2 || n > sizeof(number))
        goto bad;
    memcpy(number, text, n - 1);
    number[n - 1] = '\0';
    if (num_parse_u64(number, 1, 1000000, &count, NULL) < 0)
        goto bad;
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (units[i].unit == text[n - 1]) {
            clock_gettime(CLOCK_REALTIME, &now);
            ago = count * units[i].seconds;
            a->want.since_us = (uint64_t) now.tv_sec > ago
                                   ? ((uint64_t) now.tv_sec - ago) * 1000000
                                   : 0;
            return 0;
        }
bad:
    return error_set(err, "must be a time, such as 7d, 12h, 90m or 4w");
}

/* Takes the name of a table. */
static int take_top(void *arguments, const struct cmd_option *row, char *word,
                    struct jp_error *err)
{
    struct arguments *a = arguments;

    (void) row;
    for (a->top = 0; a->top < HISTORY_TOPS; a->top++)
        if (!strcmp(history_tables[a->top].name, word))
            return 0;
    return error_set(err,
                     "must be nodes, ranks, jobs, users, accounts or pairs");
}

/* For --openmetrics and --textfile, whose format is row->min. */
static int take_metrics(void *arguments, const struct cmd_option *row,
                        char *value, struct jp_error *err)
{
    struct arguments *a = arguments;

    (void) value, (void) err;
    a->metrics = true;
    a->format = (enum metrics_format) row->min;
    return 0;
}

/* The rows before and after those of formats. */
static const struct cmd_option first_rows[] = {
    {"since", "TIME", "only steps of this last time: 7d, 12h, 90m, 4w",
     OPT_TAKE(take_since)},
    {"node", "NODE", "only steps with this node", OPT_TEXT(want.node)},
    {"user", "USER", "only steps of this user", OPT_TEXT(want.user)},
    {"account", "ACCOUNT", "only steps of this account",
     OPT_TEXT(want.account)},
    {"top", "WORD",
     "print one table: nodes, ranks, jobs, users, accounts, pairs (bandwidth "
     "between two nodes)",
     OPT_TAKE(take_top)},
    {"rows", "N", "rows of each table (10; with --json all)",
     OPT_COUNT(rows, 1, UINT32_MAX)},
    {"exclude", NULL,
     "print srun's option that leaves out the nodes called slow: srun "
     "$(jobprof "
     "history --exclude) ...; why, on stderr",
     OPT_FLAG(exclude)},
    {"drain", NULL,
     "print a command for root for each node called slow, with the reason: "
     "scontrol update NodeName=... State=DRAIN",
     OPT_FLAG(drain)},
    {"json", NULL, "print all tables as JSON", OPT_FLAG(common.json)},
};
static const struct cmd_option last_rows[] = {
    {"openmetrics", NULL, "print counts for Prometheus, as OpenMetrics",
     OPT_TAKE(take_metrics), .min = METRICS_OPENMETRICS},
    {"textfile", NULL, "print them for node_exporter's textfile collector",
     OPT_TAKE(take_metrics), .min = METRICS_TEXT},
    {"schema", NULL, "print the JSON schema of a line", OPT_FLAG(schema)},
    {"add", NULL, "add the lines of steps that have a report", OPT_FLAG(add)},
    {"tell", NULL, NULL, OPT_FLAG(tell)}, /* of the SPANK module */
    {"config", "FILE", "the site's settings", OPT_TEXT(common.config)},
    {"quiet", NULL, "do not report bad lines", OPT_QUIET},
};
enum {
    FIRST_ROWS = sizeof(first_rows) / sizeof(*first_rows),
    LAST_ROWS = sizeof(last_rows) / sizeof(*last_rows)
};
static struct cmd_option rows[FIRST_ROWS + FEATURES_MAX + LAST_ROWS];

/* Its rows are complete after list_rows. */
static struct cmd_options command_line = {
    .command = "history",
    .about =
        "usage: jobprof history [options] [DIR|FILE]...\n"
        "       jobprof history --add [--config FILE] DIR|JOBID[.STEP]...\n\n"
        "Show which nodes make others wait in many jobs, and how likely that "
        "is by chance. Each report adds a line to the site's history "
        "(history.dir of jobprof.conf). This command reads the lines that you "
        "may read: root all of them, other users their own. DIR is such a "
        "folder, and FILE has such lines (docs/history.md).\n",
    .rows = rows,
    .end = "Exit status: 0 ok, 2 usage, 4 no step, 5 input or output failed.\n",
    .most = CMD_ANY,
};

/* Takes the file of a table for other tools. */
static int take_table(void *arguments, const struct cmd_option *row, char *text,
                      struct jp_error *err)
{
    struct arguments *a = arguments;

    (void) err;
    a->table = text;
    a->sheet = feature_registry[row->max]->format->sheet;
    return 0;
}

/* Lists the options, with one for each format of a feature. */
static void list_rows(void)
{
    size_t n = FIRST_ROWS;

    memcpy(rows, first_rows, sizeof(first_rows));
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->format && feature_registry[i]->format->sheet)
            rows[n++] = (struct cmd_option){
                .name = feature_registry[i]->name,
                .value = "FILE",
                .help = "write a table of the steps, a row for each",
                .take = take_table,
                .max = i};
    memcpy(&rows[n], last_rows, sizeof(last_rows));
    command_line.n_rows = n + LAST_ROWS;
}

/* Prints a usage error. Returns JP_EXIT_USAGE. */
static int usage(const char *what)
{
    return cmd_options_usage(&command_line, what);
}

/* Takes the sinks and their limits from the site file. Strings are borrowed
 * from it. */
static void take_site(const struct jp_sitefile *site, struct history_sink *sink)
{
    const struct {
        const char *key, **to;
    } texts[] = {{"history.dir", &sink->dir},
                 {"history.command", &sink->command},
                 {"history.syslog", &sink->syslog}};
    const struct sitefile_value *v;
    uint64_t us;

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if ((v = sitefile_find(site, texts[i].key)))
            *texts[i].to = v->value;
    if ((v = sitefile_find(site, "history.size")))
        /* errors were found when the file was loaded */
        num_parse_size(v->value, 0, UINT64_MAX, &sink->max_bytes, NULL);
    if ((v = sitefile_find(site, "history.limit")) &&
        num_parse_time_us(v->value, 0, UINT64_C(60000000), &us, NULL) == 0)
        sink->limit_ms = (uint32_t) (us / 1000);
}

/* Returns -1 to continue, otherwise an exit status. */
static int parse_arguments(int argc, char **argv, struct arguments *a)
{
    const struct sitefile_value *accounts;
    struct jp_error err;
    int rc;

    list_rows();
    rc = cmd_options_parse(&command_line, argc, argv, a);
    if (rc >= 0)
        return rc;
    if (a->common.json + a->metrics + a->schema + a->add + a->exclude +
            a->drain >
        1)
        return usage("give only one of --json, --openmetrics, --textfile, "
                     "--exclude, --drain, --schema and --add");
    /* needs no site file */
    if (a->schema)
        return -1;
    if (plan_load_site(a->common.config, &a->site, &err) < 0)
        return a->tell ? JP_EXIT_OK /* whoever profiles the job says it */
                       : cmd_args_fail("history", JP_EXIT_USAGE, &err);
    take_site(&a->site, &a->sink);
    accounts = sitefile_find(&a->site, "history.accounts");
    a->accounts = accounts ? accounts->value : NULL;
    if (a->tell)
        return -1;
    if (a->add && optind == argc)
        return usage("--add needs steps or jobs");
    if (a->add && !a->sink.dir && !a->sink.command && !a->sink.syslog)
        return usage("the site file has no history.dir, command or syslog");
    if (!a->add && optind == argc && !a->sink.dir)
        return usage("the site file has no history.dir: name a folder or a "
                     "file of lines");
    return -1;
}

/* --- read ----------------------------------------------------------------- */

/* One run over all lines. */
struct work {
    struct arguments *a;
    struct history_sum *sum;
    struct history_sheet *sheet;
    uint64_t bad;
    struct jp_error err;
};

/* Handles one step of the history. A callback of history_read. */
static int see_step(void *arg, const struct history_step *step, int64_t uid)
{
    struct work *w = arg;
    int rc = history_sum_add(w->sum, step, uid);

    if (rc < 0)
        return error_set(&w->err, "out of memory");
    /* rc 0: the step was not selected */
    if (!rc || !w->sheet)
        return 0;
    return history_sheet_add(
        w->sheet, step, uid < 0 ? NULL : history_sum_user(w->sum), &w->err);
}

/* A callback of history_read. */
static int begin_user(void *arg, int64_t uid, size_t users)
{
    struct work *w = arg;

    return history_sum_begin(w->sum, uid, users) < 0
               ? error_set(&w->err, "out of memory")
               : 0;
}

/* A callback of history_read. */
static void leave_out(void *arg, int64_t uid, enum history_left what,
                      uint64_t n)
{
    struct work *w = arg;

    history_sum_leave(w->sum, uid, what, n);
}

/* Prints a message about a bad file, unless there were many. */
static void print_note(void *arg, const char *text)
{
    struct work *w = arg;

    if (!w->a->common.quiet && ++w->bad <= 10)
        quote_printf(stderr, "jobprof: %s\n", text);
    if (!w->a->common.quiet && w->bad == 11)
        fputs("jobprof: more files have bad lines\n", stderr);
}

/* Reads all lines and finishes the sums. Without paths, reads the site's
 * folder. Returns 0, or -1 and w->err. */
static int read_all(struct work *w, char **paths, int n,
                    struct history_seen *seen)
{
    struct arguments *a = w->a;
    /* a user's folder may exceed its limit while it is rotated */
    uint64_t four = num_mul(a->sink.max_bytes, 4);
    uint64_t least = history_limits[HISTORY_LEFT_BYTES].user;
    struct history_reader reader = {.see = see_step,
                                    .begin = begin_user,
                                    .leave = leave_out,
                                    .say = print_note,
                                    .arg = w,
                                    .since_us = a->want.since_us,
                                    .max_bytes = four > least ? four : least};
    const char *dir = a->sink.dir;

    for (int i = 0; i < n; i++)
        if (history_read(paths[i], &reader, seen, &w->err) != 0)
            return -1;
    if (!n && history_read(dir, &reader, seen, &w->err) != 0)
        return -1;
    return history_sum_finish(w->sum) < 0 ? error_set(&w->err, "out of memory")
                                          : 0;
}

/* Prints the requested form of the tables. Returns -1 and err if the output
 * failed. */
static int print_tables(const struct work *w, const struct history_seen *seen,
                        struct jp_error *err)
{
    const struct arguments *a = w->a;
    const struct history_about about = {
        .form = a->metrics       ? HISTORY_AS_METRICS
                : a->exclude     ? HISTORY_AS_EXCLUDE
                : a->drain       ? HISTORY_AS_DRAIN
                : a->common.json ? HISTORY_AS_JSON
                                 : HISTORY_FOR_PEOPLE,
        .format = a->format,
        .seen = seen,
        .top = a->top,
        .rows = a->rows                                    ? a->rows
                : a->common.json || a->exclude || a->drain ? SIZE_MAX
                                                           : 10,
        .notes = a->common.quiet ? NULL : stderr};

    return history_put(w->sum, &about, stdout, err);
}

/* Prints why no step was found. path: the first folder or file that was read.
 */
static void tell_empty(const struct work *w, const char *path,
                       const struct history_seen *seen)
{
    char why[256];

    if (w->a->common.quiet)
        return;
    if (seen->lines)
        snprintf(why, sizeof(why),
                 "the options select none of %s line%s of steps",
                 FIG_COUNT(seen->lines), plural(seen->lines));
    else if (seen->unreadable || seen->strangers)
        snprintf(why, sizeof(why),
                 "no line of a step that can be read; without permission: %s, "
                 "of another owner or kind: %s",
                 FIG_COUNT(seen->unreadable), FIG_COUNT(seen->strangers));
    else
        snprintf(why, sizeof(why),
                 "no line of a step; history.dir of the site's settings has "
                 "them, and \"jobprof show\" reads reports");
    quote_printf(stderr, "jobprof: history: %s: %s\n", path, why);
}

/* Shows the tables; writes that for other tools, if out is open for it. */
static int show_tables(struct work *w, char **paths, int n, FILE *out)
{
    struct history_seen seen = {0};

    if (out && !(w->sheet = history_sheet_create(out, w->a->sheet, &w->err)))
        return JP_EXIT_IO;
    if (read_all(w, paths, n, &seen) < 0 ||
        (out && history_sheet_finish(w->sheet, &w->err) < 0))
        return JP_EXIT_IO;
    /* such a table alone prints no others; without steps no node is judged */
    if (((!out || w->a->top >= 0 || w->a->common.json || w->a->metrics ||
          w->a->exclude || w->a->drain) &&
         (history_sum_totals(w->sum)->steps ||
          !(w->a->exclude || w->a->drain))) &&
        print_tables(w, &seen, &w->err) < 0)
        return JP_EXIT_IO;
    if (history_sum_totals(w->sum)->steps)
        return JP_EXIT_OK;
    tell_empty(w, n ? paths[0] : w->a->sink.dir, &seen);
    return JP_EXIT_NODATA;
}

/* Creates the sums, reads and prints. Returns an exit status. */
static int show_history(struct arguments *a, char **paths, int n)
{
    struct work w = {.a = a, .sum = history_sum_create(&a->want)};
    struct jp_tempfile file;
    int rc = JP_EXIT_IO;

    if (!w.sum) {
        error_set(&w.err, "out of memory");
    } else if (a->accounts &&
               history_sum_accounts(w.sum, a->accounts, &w.err) < 0) {
        history_sum_destroy(w.sum);
        return cmd_args_fail("history", JP_EXIT_USAGE, &w.err);
    } else if (!a->table) {
        rc = show_tables(&w, paths, n, NULL);
    } else if (fileio_output_open(&file, a->table, &w.err) == 0) {
        rc = show_tables(&w, paths, n, file.stream);
        /* an incomplete file never replaces an older one */
        if (rc == JP_EXIT_IO)
            fileio_temp_abort(&file);
        else if (fileio_temp_commit(&file, &w.err) < 0)
            rc = JP_EXIT_IO;
    }
    history_sheet_destroy(w.sheet);
    history_sum_destroy(w.sum);
    return rc == JP_EXIT_IO ? cmd_args_fail("history", rc, &w.err) : rc;
}

/* --- at a submission ------------------------------------------------------
 */

/* Time and bytes of a user's lines that count: a submission does not wait. */
#define TELL_US (UINT64_C(30) * 24 * 3600 * 1000000)
#define TELL_BYTES (UINT64_C(4) << 20)

/* Prints a line about nodes that slowed the user's own jobs, on standard error.
 * The SPANK module asks if the plugstack line has history=tell. Everything that
 * fails is silent: the user has asked for nothing. Returns JP_EXIT_OK. */
static int tell_user(struct arguments *a)
{
    const struct history_about about = {.form = HISTORY_AS_TOLD, .top = -1};
    struct work w = {.a = a};
    struct history_reader reader = {.see = see_step,
                                    .begin = begin_user,
                                    .leave = leave_out,
                                    .arg = &w,
                                    .max_bytes = TELL_BYTES};
    struct history_seen seen = {0};
    struct timespec now;
    char *own;

    if (!a->sink.dir)
        return JP_EXIT_OK;
    clock_gettime(CLOCK_REALTIME, &now);
    a->want.since_us = (uint64_t) now.tv_sec * 1000000 - TELL_US;
    reader.since_us = a->want.since_us;
    own = text_format("%s/%lu", a->sink.dir, (unsigned long) geteuid());
    w.sum = own ? history_sum_create(&a->want) : NULL;
    if (w.sum && history_read(own, &reader, &seen, &w.err) == 0 &&
        history_sum_finish(w.sum) == 0)
        history_put(w.sum, &about, stderr, NULL);
    history_sum_destroy(w.sum);
    free(own);
    return JP_EXIT_OK;
}

/* --- write ---------------------------------------------------------------- */

/* Adds the lines of all steps that the words mean. An error of one step does
 * not stop the others. Returns an exit status. */
static int add_all(const struct arguments *a, char **words, int n)
{
    struct jp_error err;
    int rc = JP_EXIT_OK;

    for (int i = 0; i < n; i++) {
        char **dirs = NULL;
        size_t n_dirs = 0;

        if (cmd_inputs_steps(words[i], a->common.config, &dirs, &n_dirs, &err) <
            0)
            return cmd_args_fail("history", JP_EXIT_USAGE, &err);
        for (size_t k = 0; k < n_dirs; k++)
            if (history_add(&a->sink, dirs[k], &err) < 0)
                rc = cmd_args_fail("history", JP_EXIT_IO, &err);
        nodelist_free(dirs, n_dirs);
    }
    return rc;
}

/* Limits over many steps, which no step's page shows. A row is name, value,
 * unit, text, reason. */
enum { LIMIT_CHANCE, LIMIT_VOTES, LIMIT_CHANGED, N_LIMITS };
/* clang-format off */
static const struct jp_limit limits[N_LIMITS] = {
    [LIMIT_CHANCE] =
        {"history_chance_max", 0.01, JP_LIMIT_IS_SHARE,
         "A node is slow if its lateness has a chance of at most {}, "
         "the number of nodes taken into account",
         "a site that looks each day then drains a sound node once in three "
         "months; the bad one is far below it after a few dozen jobs"},
    [LIMIT_VOTES] =
        {"history_votes_min", 3, JP_LIMIT_IS_NUMBER,
         "... and it was the latest in at least {} jobs",
         "in jobs of hundreds of nodes the chance alone would accept two"},
    [LIMIT_CHANGED] =
        {"history_changed_max", 0.01, JP_LIMIT_IS_SHARE,
         "The bandwidth between two nodes changed if such a line has a "
         "chance of at most {}, the number of pairs taken into account",
         "there are as many pairs as nodes squared"},
};
/* clang-format on */

static int run_command(int argc, char **argv)
{
    struct arguments a = {
        .top = -1,
        .want = {.chance = limits[LIMIT_CHANCE].value,
                 .votes = (uint64_t) limits[LIMIT_VOTES].value,
                 .changed = limits[LIMIT_CHANGED].value}};
    struct jp_error err;
    int rc = parse_arguments(argc, argv, &a);

    if (rc < 0 && a.schema)
        rc = history_schema_put(stdout, &err) < 0 || fflush(stdout) != 0
                 ? JP_EXIT_IO
                 : JP_EXIT_OK;
    else if (rc < 0 && a.tell)
        rc = tell_user(&a);
    else if (rc < 0 && a.add)
        rc = add_all(&a, argv + optind, argc - optind);
    else if (rc < 0)
        rc = show_history(&a, argv + optind, argc - optind);
    sitefile_fini(&a.site);
    return rc;
}

/* --- after a report ------------------------------------------------------- */

/* The arguments of the child. */
struct line {
    const char *dir;
    const struct history_sink *sink;
    bool outside;
};

/* Runs in a child that outlives us if its file system hangs. It holds none of
 * our streams open. Outside of the job it does not outlive us: it stays in our
 * process group, which is killed in the end. */
static int write_line(void *arg, int out)
{
    const struct line *line = arg;
    struct jp_error err;

    (void) out;
    if ((!line->outside && setsid() < 0) || child_let_go() < 0)
        return 1;
    /* a file system that hangs must not keep the process for ever */
    alarm(LIFE_S);
    if (history_add(line->sink, line->dir, &err) < 0) {
        stepdir_log(line->dir, "history: %s", err.text);
        return 1;
    }
    return 0;
}

/* Starts a process that writes the line of a reported step, if the site has set
 * history.dir, command or syslog. Waits for it for a moment, because Slurm may
 * end it with the job. outside: the command does not run, and the process ends
 * with this one. */
static void start_after_report(const char *dir, const char *config,
                               bool outside)
{
    struct jp_sitefile site = {0};
    struct history_sink sink = {0};
    struct line line = {dir, &sink, outside};
    struct child child = {
        .work = write_line, .arg = &line, .dies_with_us = outside};
    struct stat st;
    pid_t pid;
    int status;

    /* a report of another user's step adds no line */
    if (stat(dir, &st) < 0 || st.st_uid != geteuid() ||
        plan_load_site(config, &site, NULL) < 0) {
        sitefile_fini(&site);
        return;
    }
    take_site(&site, &sink);
    if (outside) /* the report names it (find_left) */
        sink.command = NULL;
    if (sink.dir || sink.command || sink.syslog) {
        pid = child_start(&child);
        if (pid > 0)
            /* usually it ends at once; if not, it goes on alone */
            child_await(pid, outside ? LIFE_S * 1000 : AWAIT_MS, &status);
    }
    sitefile_fini(&site);
}

static const char *find_left(const struct jp_sitefile *site,
                             const char **command)
{
    (void) command;
    return sitefile_find(site, "history.command")
               ? "no line for the site's history command"
               : NULL;
}

/* --- earlier jobs, for compare -------------------------------------------- */

/* The user's lines that are read for them. */
#define EARLIER_BYTES (UINT64_C(64) << 20)

struct earlier {
    const char *name;
    int (*job)(void *arg, uint64_t id, const char *step);
    void *arg;
    int rc;
};

/* Passes a job of that name on. A callback of history_read. */
static int see_earlier(void *arg, const struct history_step *step, int64_t uid)
{
    struct earlier *e = arg;
    char name[3 * HISTORY_TEXT], id[3 * HISTORY_TEXT];

    (void) uid;
    history_text_copy(step->name, name, sizeof(name));
    history_text_copy(step->step, id, sizeof(id));
    if (strcmp(name, e->name) != 0)
        return 0;
    return e->rc = e->job(e->arg, step->job, id);
}

static int find_earlier(const struct jp_sitefile *site, const char *name,
                        int (*job)(void *arg, uint64_t id, const char *step),
                        void *arg)
{
    const struct sitefile_value *dir = sitefile_find(site, "history.dir");
    struct earlier e = {.name = name, .job = job, .arg = arg};
    struct history_reader reader = {
        .see = see_earlier, .arg = &e, .max_bytes = EARLIER_BYTES};
    struct history_seen seen = {0};
    char *own;

    if (!dir)
        return 0;
    own = text_format("%s/%u", dir->value, (unsigned) geteuid());
    if (!own)
        return -1;
    if (access(own, R_OK) == 0)
        history_read(own, &reader, &seen, NULL);
    free(own);
    return e.rc;
}

/* --- doctor --------------------------------------------------------------- */

/* Adds a line: "KEY: what was found". */
#define ADD(good, advice, ...)                                                 \
    do {                                                                       \
        snprintf(line, sizeof(line), __VA_ARGS__);                             \
        add(arg, good, "history", advice, line);                               \
    } while (0)

/* Checks where a line for each step goes: history.dir, command, syslog.
 * error_set returns -1, so it can be used as a condition that is true. */
static void check_site(const struct jp_sitefile *site,
                       void (*add)(void *arg, bool good, const char *check,
                                   const char *advice, const char *line),
                       void *arg)
{
    const struct sitefile_value *dir = sitefile_find(site, "history.dir");
    const struct sitefile_value *cmd = sitefile_find(site, "history.command");
    const struct sitefile_value *log = sitefile_find(site, "history.syslog");
    struct jp_error err;
    struct stat st;
    char line[1024];

    /* First who can change the folder, then whether we can write to it. */
    if (dir && (history_sink_check(dir->value, &err) < 0 ||
                (access(dir->value, W_OK | X_OK) < 0 &&
                 error_set(&err, "%s: %m", dir->value))))
        ADD(false,
            "run install -d -m 1777 -o root DIR on a file system that all "
            "hosts see",
            "history.dir: %s (reports add no line)", err.text);
    else if (dir)
        ADD(true, "", "history.dir: %s", dir->value);
    if (cmd && (fileio_check_site(cmd->value, &err) < 0 ||
                (access(cmd->value, X_OK) < 0 &&
                 error_set(&err, "%s: %m", cmd->value))))
        ADD(false, "name a program that root owns and only root can change",
            "history.command: %s", err.text);
    else if (cmd)
        ADD(true, "", "history.command: %s", cmd->value);
    if (log && (stat(log->value, &st) < 0 || !S_ISSOCK(st.st_mode)))
        ADD(false, "name the log socket, usually /dev/log",
            "history.syslog: %s: not a socket", log->value);
    else if (log)
        ADD(true, "", "history.syslog: %s", log->value);
}
#undef ADD

extern const struct command command_history;
const struct command command_history = {
    .name = "history",
    .run = run_command,
    .summary = "show which nodes were slow in many steps of a site",
    .follow = start_after_report,
    .when = COMMAND_AT_ONCE,
    .left = find_left,
    .earlier = find_earlier,
    .check_site = check_site,
    .metrics = history_metrics,
};
