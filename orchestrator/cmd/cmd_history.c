/* cmd_history.c - `jobprof history`: statistics over the steps of a site; and
 * the line that a report adds to the history. */
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/child.h"
#include "common/fileio.h"
#include "common/num.h"
#include "common/plan.h"
#include "common/quote.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_inputs.h"
#include "orchestrator/cmd/cmd_report.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/history/history_out.h"
#include "orchestrator/insight/limits.h"

/* lower bound of the bytes read per user */
#define USER_BYTES (UINT64_C(1) << 30)
/* time that a report waits for its line */
#define AWAIT_MS 300
/* lifetime of the process that writes it */
#define LIFE_S 60

static const char help[] =
    "usage: jobprof history [options] [DIR|FILE]...\n"
    "       jobprof history --add [--config FILE] DIR|JOBID[.STEP]...\n"
    "\n"
    "Show which nodes make others wait in many jobs, and how likely that is\n"
    "by chance. Each report adds a line to the site's history (history.dir of\n"
    "jobprof.conf). This command reads the lines that you may read: root all\n"
    "of them, other users their own. DIR is such a folder, and FILE has such\n"
    "lines (docs/history.md).\n"
    "\n"
    "  --since TIME       only steps of this last time: 7d, 12h, 90m, 4w\n"
    "  --node NODE        only steps with this node\n"
    "  --user USER        only steps of this user\n"
    "  --account ACCOUNT  only steps of this account\n"
    "  --top WORD         print one table: nodes, ranks, jobs, users,\n"
    "                     accounts, pairs (bandwidth between two nodes)\n"
    "  --rows N           rows of each table (10; with --json all)\n"
    "  --json             print all tables as JSON\n"
    "  --parquet FILE     write a table of the steps, a row for each\n"
    "  --openmetrics      print counts for Prometheus, as OpenMetrics\n"
    "  --textfile         print them for node_exporter's textfile collector\n"
    "  --schema           print the JSON schema of a line\n"
    "  --add              add the lines of steps that have a report\n"
    "  --config FILE      the site's settings\n"
    "  -q, --quiet        do not report bad lines\n"
    "  -h, --help         this text\n"
    "\n"
    "Exit status: 0 ok, 2 usage, 4 no step, 5 input or output failed.\n";

enum {
    OPT_SINCE = 256,
    OPT_NODE,
    OPT_USER,
    OPT_ACCOUNT,
    OPT_TOP,
    OPT_ROWS,
    OPT_PARQUET,
    OPT_METRICS,
    OPT_TEXTFILE,
    OPT_SCHEMA,
    OPT_ADD
};

static const struct option long_options[] = {
    {"since", required_argument, NULL, OPT_SINCE},
    {"node", required_argument, NULL, OPT_NODE},
    {"user", required_argument, NULL, OPT_USER},
    {"account", required_argument, NULL, OPT_ACCOUNT},
    {"top", required_argument, NULL, OPT_TOP},
    {"rows", required_argument, NULL, OPT_ROWS},
    {"json", no_argument, NULL, CMD_OPT_JSON},
    {"parquet", required_argument, NULL, OPT_PARQUET},
    {"openmetrics", no_argument, NULL, OPT_METRICS},
    {"textfile", no_argument, NULL, OPT_TEXTFILE},
    {"schema", no_argument, NULL, OPT_SCHEMA},
    {"add", no_argument, NULL, OPT_ADD},
    {"config", required_argument, NULL, CMD_OPT_CONFIG},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {0}};

struct arguments {
    struct history_want want;
    int top;
    uint64_t rows;
    const char *parquet;
    bool metrics, schema, add;
    struct cmd_common common;
    struct jp_sitefile site;
    struct history_sink sink;
    enum metrics_format format; /* format of the metrics */
};

static int usage(const char *what)
{
    return cmd_args_usage("history", what);
}

/* --- options -------------------------------------------------------------- */

/* Parses "7d" to the time this long ago. */
static int take_since(const char *text, uint64_t *since_us)
{
    static const struct {
        char unit;
        uint64_t seconds;
    } units[] = {{'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 7 * 86400}};
    size_t n = strlen(text);
    char number[24];
    uint64_t count, ago;
    struct timespec now;

    if (n < 2 || n > sizeof(number))
        return -1;
    memcpy(number, text, n - 1);
    number[n - 1] = '\0';
    if (num_parse_u64(number, 1, 1000000, &count, NULL) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (units[i].unit == text[n - 1]) {
            clock_gettime(CLOCK_REALTIME, &now);
            ago = count * units[i].seconds;
            *since_us = (uint64_t) now.tv_sec > ago
                            ? ((uint64_t) now.tv_sec - ago) * 1000000
                            : 0;
            return 0;
        }
    return -1;
}

static int take_top(const char *word, int *top)
{
    for (*top = 0; *top < HISTORY_TOPS; ++*top)
        if (!strcmp(history_tables[*top].word, word))
            return -1;
    return usage("--top must be nodes, ranks, jobs, users, accounts or pairs");
}

/* Returns -1 to continue, otherwise an exit status. */
static int take_option(int c, struct arguments *a)
{
    switch (c) {
    case OPT_SINCE:
        return take_since(optarg, &a->want.since_us) < 0
                   ? usage("--since must be a time, such as 7d, 12h, 90m or 4w")
                   : -1;
    case OPT_NODE:
        a->want.node = optarg;
        return -1;
    case OPT_USER:
        a->want.user = optarg;
        return -1;
    case OPT_ACCOUNT:
        a->want.account = optarg;
        return -1;
    case OPT_TOP:
        return take_top(optarg, &a->top);
    case OPT_ROWS:
        return num_parse_u64(optarg, 1, UINT32_MAX, &a->rows, NULL) < 0
                   ? usage("--rows must be a number, at least 1")
                   : -1;
    case OPT_PARQUET:
        a->parquet = optarg;
        return -1;
    case OPT_METRICS:
    case OPT_TEXTFILE:
        a->metrics = true;
        a->format = c == OPT_METRICS ? METRICS_OPENMETRICS : METRICS_TEXT;
        return -1;
    case OPT_SCHEMA:
        a->schema = true;
        return -1;
    case OPT_ADD:
        a->add = true;
        return -1;
    default:
        return cmd_args_common(c, help, &a->common);
    }
}

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
        num_parse_size(v->value, 0, UINT64_MAX, &sink->max_bytes, NULL);
    if ((v = sitefile_find(site, "history.limit")) &&
        num_parse_time_us(v->value, 0, UINT64_C(60000000), &us, NULL) == 0)
        sink->limit_ms = (uint32_t) (us / 1000);
}

static int parse(int argc, char **argv, struct arguments *a)
{
    struct jp_error err;
    int c, rc = -1;

    optind = 0;
    while (rc < 0 &&
           (c = getopt_long(argc, argv, "qh", long_options, NULL)) != -1)
        rc = take_option(c, a);
    if (rc >= 0)
        return rc;
    if (a->common.json + a->metrics + a->schema + a->add > 1)
        return usage("give only one of --json, --openmetrics, --textfile, "
                     "--schema and --add");
    if (a->schema)
        return -1;
    if (plan_load_site(a->common.config, &a->site, &err) < 0)
        return cmd_args_fail("history", JP_EXIT_USAGE, &err);
    take_site(&a->site, &a->sink);
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

struct work {
    struct arguments *a;
    struct history_sum *sum;
    struct history_parquet *parquet;
    uint64_t bad;
    struct jp_error err;
};

static int see(void *arg, const struct history_step *step, int64_t uid)
{
    struct work *w = arg;
    int rc = history_sum_add(w->sum, step, uid);

    if (rc < 0)
        return error_set(&w->err, "out of memory");
    if (!rc || !w->parquet)
        return 0;
    return history_parquet_add(
        w->parquet, step, uid < 0 ? NULL : history_sum_user(w->sum), &w->err);
}

/* Prints the first bad files, if there are many. */
static void say(void *arg, const char *text)
{
    struct work *w = arg;

    if (!w->a->common.quiet && ++w->bad <= 10)
        quote_printf(stderr, "jobprof: %s\n", text);
    if (!w->a->common.quiet && w->bad == 11)
        fputs("jobprof: more files have bad lines\n", stderr);
}

static int read_all(struct work *w, char **paths, int n,
                    struct history_seen *seen)
{
    struct arguments *a = w->a;
    uint64_t four = num_mul(a->sink.max_bytes, 4);
    struct history_reader reader = {
        .see = see,
        .say = say,
        .arg = w,
        .since_us = a->want.since_us,
        .max_bytes = four > USER_BYTES ? four : USER_BYTES};
    const char *dir = a->sink.dir;

    for (int i = 0; i < n; i++)
        if (history_read(paths[i], &reader, seen, &w->err) != 0)
            return -1;
    if (!n && history_read(dir, &reader, seen, &w->err) != 0)
        return -1;
    return history_sum_finish(w->sum) < 0 ? error_set(&w->err, "out of memory")
                                          : 0;
}

static int print(const struct work *w, const struct history_seen *seen,
                 struct jp_error *err)
{
    const struct arguments *a = w->a;
    const struct history_about about = {.seen = seen,
                                        .top = a->top,
                                        .rows = a->rows          ? a->rows
                                                : a->common.json ? SIZE_MAX
                                                                 : 10};
    int rc;

    if (a->metrics)
        rc = history_metrics_put(w->sum, a->format, stdout, err);
    else if (a->common.json)
        rc = history_json_put(w->sum, &about, stdout, err);
    else
        rc = history_text_put(w->sum, &about, stdout);
    if (rc < 0 || fflush(stdout) != 0)
        return error_set(err, "standard output failed");
    if ((a->metrics || a->common.json) && !a->common.quiet)
        history_seen_put(seen, history_sum_totals(w->sum), stderr);
    return 0;
}

/* Shows the tables; writes to the open Parquet file, if requested. */
static int show(struct work *w, char **paths, int n, FILE *parquet)
{
    struct history_seen seen = {0};

    if (parquet && !(w->parquet = history_parquet_create(parquet, &w->err)))
        return JP_EXIT_IO;
    if (read_all(w, paths, n, &seen) < 0 ||
        (parquet && history_parquet_finish(w->parquet, &w->err) < 0))
        return JP_EXIT_IO;
    if ((!parquet || w->a->top >= 0 || w->a->common.json || w->a->metrics) &&
        print(w, &seen, &w->err) < 0)
        return JP_EXIT_IO;
    return history_sum_totals(w->sum)->steps ? JP_EXIT_OK : JP_EXIT_NODATA;
}

static int run(struct arguments *a, char **paths, int n)
{
    struct work w = {.a = a, .sum = history_sum_create(&a->want)};
    struct jp_tempfile file;
    int rc = JP_EXIT_IO;

    if (!w.sum) {
        error_set(&w.err, "out of memory");
    } else if (!a->parquet) {
        rc = show(&w, paths, n, NULL);
    } else if (fileio_output_open(&file, a->parquet, &w.err) == 0) {
        rc = show(&w, paths, n, file.stream);
        if (rc == JP_EXIT_IO)
            fileio_temp_abort(&file);
        else if (fileio_temp_commit(&file, &w.err) < 0)
            rc = JP_EXIT_IO;
    }
    history_parquet_destroy(w.parquet);
    history_sum_destroy(w.sum);
    return rc == JP_EXIT_IO ? cmd_args_fail("history", rc, &w.err) : rc;
}

/* --- write ---------------------------------------------------------------- */

static int add_step(const struct history_sink *sink, const char *dir,
                    struct jp_error *err)
{
    struct stat st;
    char *line;
    size_t len;
    int rc;

    if (stat(dir, &st) < 0)
        return error_set(err, "%s: %m", dir);
    if (st.st_uid != geteuid())
        return error_set(err,
                         "%s: belongs to user %lu, who has to add its line",
                         dir, (unsigned long) st.st_uid);
    if (history_make(dir, &line, &len, err) < 0)
        return -1;
    rc = history_sink_write(sink, line, len, err);
    free(line);
    return rc;
}

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
            if (add_step(&a->sink, dirs[k], &err) < 0)
                rc = cmd_args_fail("history", JP_EXIT_IO, &err);
        nodelist_free(dirs, n_dirs);
    }
    return rc;
}

int cmd_history(int argc, char **argv)
{
    struct arguments a = {
        .top = -1,
        .want = {.chance = limits_get(JP_LIMIT_HISTORY_CHANCE),
                 .votes = (uint64_t) limits_get(JP_LIMIT_HISTORY_VOTES),
                 .changed = limits_get(JP_LIMIT_HISTORY_CHANGED)}};
    struct jp_error err;
    int rc = parse(argc, argv, &a);

    if (rc < 0 && a.schema)
        rc = history_schema_put(stdout, &err) < 0 || fflush(stdout) != 0
                 ? JP_EXIT_IO
                 : JP_EXIT_OK;
    else if (rc < 0 && a.add)
        rc = add_all(&a, argv + optind, argc - optind);
    else if (rc < 0)
        rc = run(&a, argv + optind, argc - optind);
    sitefile_fini(&a.site);
    return rc;
}

/* --- after a report ------------------------------------------------------- */

struct line {
    const char *dir;
    const struct history_sink *sink;
};

/* Runs in a child that outlives us if its file system hangs. It holds none of
 * our streams open. */
static int write_line(void *arg, int out)
{
    const struct line *line = arg;
    int null = open("/dev/null", O_RDWR);
    struct jp_error err;

    (void) out;
    if (setsid() < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
        dup2(null, 2) < 0)
        return 1;
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    alarm(LIFE_S);
    if (add_step(line->sink, line->dir, &err) < 0) {
        stepdir_log(line->dir, "history: %s", err.text);
        return 1;
    }
    return 0;
}

void cmd_history_start(const char *dir, const char *config)
{
    struct jp_sitefile site = {0};
    struct history_sink sink = {0};
    struct line line = {dir, &sink};
    struct child child = {.work = write_line, .arg = &line};
    struct stat st;
    pid_t pid;
    int status;

    if (stat(dir, &st) < 0 || st.st_uid != geteuid() ||
        plan_load_site(config, &site, NULL) < 0) {
        sitefile_fini(&site);
        return;
    }
    take_site(&site, &sink);
    if (sink.dir || sink.command || sink.syslog) {
        pid = child_start(&child);
        if (pid > 0)
            child_await(pid, AWAIT_MS, &status);
    }
    sitefile_fini(&site);
}
