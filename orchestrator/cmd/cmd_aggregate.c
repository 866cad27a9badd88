/* cmd_aggregate.c - `jobprof aggregate`: make a report from any folders of
 * logs.
 *
 * The inputs are found first (find_inputs): a JOBID becomes the folders of the
 * job. Then all kinds of data are read (read_inputs): nsys exports, logs of
 * NCCL profilers, Copper's logs. Finally the report and the formats of other
 * tools are written (deliver). `jobprof report` does the same for a step's
 * directory, where more is known. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/figure.h"
#include "common/fileio.h"
#include "common/knob.h"
#include "common/num.h"
#include "common/plan.h"
#include "common/quote.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/clocks.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/cmd/cmd_inputs.h"
#include "orchestrator/cmd/cmd_report.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/copper/copper_feature.h"
#include "orchestrator/export/export.h"
#include "orchestrator/ingest/filekinds.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/verdict.h"
#include "orchestrator/report/report.h"
#include "plugins/nsys/nsys_ranks.h"

/* The meaning of the arguments. Strings are owned. */
struct inputs {
    char **paths;
    size_t n;
    char *output;  /* JOBID-insp if the only argument is a JOBID, or NULL */
    bool exporter; /* the site file asks for the exporter's tree */
    bool parquet;  /* the site file asks for Parquet */
};

/* --- find the files of the arguments --- */

#define DIGITS "0123456789"

/* Whether the word is "12345" or "12345.0". A file of that name takes
 * precedence. */
static bool is_job(const char *word)
{
    size_t digits = strspn(word, DIGITS);
    const char *rest = word + digits;

    return digits &&
           (!*rest ||
            (*rest == '.' && rest[1] && !rest[1 + strspn(rest + 1, DIGITS)])) &&
           access(word, F_OK) < 0;
}

/* Appends a path to the inputs. Takes ownership of path, which may be NULL
 * without memory. */
static int add(struct inputs *in, char *path, struct jp_error *err)
{
    char **more = path ? reallocarray(in->paths, in->n + 1, sizeof(*more))
                       : NULL;

    if (!more) {
        free(path);
        return error_set(err, "out of memory");
    }
    in->paths = more;
    in->paths[in->n++] = path;
    return 0;
}

/* Replaces each %j of the pattern by the job's number. Caller frees. */
static char *expand(const char *pattern, const char *word)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    for (const char *c = pattern; out && *c; c++)
        /* other codes are a part of the path */
        if (c[0] == '%' && c[1] == 'j') {
            /* raw: a path */
            fprintf(out, "%.*s", (int) strspn(word, DIGITS), word);
            c++;
        } else {
            putc(*c, out);
        }
    if (!out || fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* Adds the folder of the job's Inspector logs, if it exists. */
static int add_folder(const struct jp_sitefile *site, const char *word,
                      struct inputs *in, struct jp_error *err)
{
    const struct sitefile_value *pattern =
        sitefile_find(site, "inspector_folder");
    char *path = pattern ? expand(pattern->value, word) : NULL;

    if (pattern && !path)
        return error_set(err, "out of memory");
    /* no folder is no error: the job's steps may have logs */
    if (path && access(path, R_OK) == 0)
        return add(in, path, err);
    free(path);
    return 0;
}

/* Adds raw/ of each step that jobprof has profiled in the job. Steps without
 * raw/ are skipped. Returns -1 and err if no step is found, or without memory.
 */
static int add_steps(const char *config, const char *word, struct inputs *in,
                     struct jp_error *err)
{
    char **dirs = NULL;
    size_t n = 0;
    int rc = 0;

    if (cmd_inputs_steps(word, config, &dirs, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n && rc == 0; i++)
        if (stepdir_has(dirs[i], "raw"))
            rc = add(in, text_format("%s/raw", dirs[i]), err);
    nodelist_free(dirs, n);
    return rc;
}

/* Adds what is known of a job: the folder of the site's Inspector logs, and its
 * steps. Returns -1 and err if there is neither. */
static int add_job(const char *config, const struct jp_sitefile *site,
                   const char *word, struct inputs *in, struct jp_error *err)
{
    struct jp_error why = {""};
    size_t before = in->n;

    if (add_folder(site, word, in, err) < 0)
        return -1;
    if (add_steps(config, word, in, &why) == 0 && in->n > before)
        return 0;
    return in->n > before
               ? 0
               : error_set(err, "%s%s", *why.text ? why.text : word,
                           sitefile_find(site, "inspector_folder")
                               ? "; inspector_folder leads to no logs"
                               : "; the site file has no inspector_folder");
}

static void free_inputs(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->n; i++)
        free(inputs->paths[i]);
    free(inputs->paths);
    free(inputs->output);
    *inputs = (struct inputs){0};
}

/* Replaces JOBID[.STEP] by the folder from the site's inspector_folder and the
 * raw/ of the job's steps, unless a file has that name. Other words are kept.
 * Returns -1 if there is neither, or if the site file cannot be read. */
static int find_inputs(const char *config, char *const *words, size_t n,
                       struct inputs *out, struct jp_error *err)
{
    struct inputs in = {0};
    struct jp_sitefile site = {0};
    const struct sitefile_value *layout;
    bool jobs = false;
    int rc = 0;

    for (size_t i = 0; i < n; i++)
        jobs = jobs || is_job(words[i]);
    /* a bad site file matters only with a JOBID */
    if (plan_load_site(config, &site, err) < 0 && jobs)
        return -1;
    layout = sitefile_find(&site, "nccl.exporter_layout");
    in.exporter = layout && !strcmp(layout->value, "1");
    layout = sitefile_find(&site, "nccl.parquet");
    in.parquet = layout && !strcmp(layout->value, "1");
    /* paths are added as they are, jobs as the folders they mean */
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = is_job(words[i]) ? add_job(config, &site, words[i], &in, err)
                              : add(&in, strdup(words[i]), err);
    /* the default output of the exporter */
    if (rc == 0 && n == 1 && is_job(words[0]) &&
        !(in.output = text_format("%s-insp", words[0])))
        rc = error_set(err, "out of memory");
    sitefile_fini(&site);
    /* *out is set as a whole, or not at all */
    if (rc == 0)
        *out = in;
    else
        free_inputs(&in);
    return rc;
}

/* --- the command --- */

enum {
    MAX_THREADS = 64,
    SAY_AFTER_MS = 1000,
    SAY_EVERY_MS = 200,
    MAX_USAGE_ROOTS = 32
};
#define MIN_MEMORY (UINT64_C(1) << 20)
#define MAX_MEMORY (UINT64_C(1) << 50)
#define MAX_ROWS (UINT64_C(1) << 40)
#define MIN_LIMIT_US UINT64_C(1000)
#define MAX_LIMIT_US (UINT64_C(7) * 24 * 3600 * 1000000)

struct arguments {
    const char *output, *baseline;
    struct inputs inputs;
    struct cmd_expect expect;
    struct jp_aggregate_options options;
    uint64_t limit_us; /* 0: none */
    struct jp_copper_options copper;
    struct jp_nsys *nsys;   /* owned; NULL: no exports */
    struct filekinds found; /* owned: what the inputs hold */
    const char *usage_roots[MAX_USAGE_ROOTS];
    bool png, exporter, parquet, no_usage, own_times;
    struct cmd_common common;
};

/* What is known about the step whose raw/ is the only input. Without it a
 * verdict could differ from that of the step's report: how the tasks ended, and
 * which settings leave operations out. */
struct step {
    struct jp_jobconf conf;
    const struct jp_jobconf *has_conf; /* &conf, or NULL */
    struct jp_nodes *nodes;            /* owned, or NULL */
};

struct progress {
    uint64_t start_ms, said_ms;
    uint64_t limit_ms; /* 0: none */
    /* said: a line is on the terminal; telling: may print; over: time is up */
    bool said, telling, over;
};

/* For --usage-root and --sysroot, which row->max distinguishes. */
static int take_folder(void *arguments, const struct cmd_option *row,
                       char *value, struct jp_error *err)
{
    struct arguments *a = arguments;

    if (*value != '/')
        return error_set(err, "\"%s\" is not an absolute path", QUOTE(value));
    /* --sysroot */
    if (row->max == 1)
        a->copper.sysroot = value;
    else if (a->copper.n_usage_roots == row->max)
        return error_set(err, "more than 32");
    else
        a->usage_roots[a->copper.n_usage_roots++] = value;
    return 0;
}

/* For --tags. */
static int take_tags(void *arguments, const struct cmd_option *row, char *value,
                     struct jp_error *err)
{
    static const struct jp_knob tags = {.kind = JP_KNOB_TAGS};
    struct arguments *a = arguments;

    (void) row;
    if (knob_check(&tags, value, err) < 0)
        return -1;
    a->options.tags = value;
    return 0;
}

static const struct cmd_option rows[] = {
    {"output", "DIR",
     "folder for summary.*, report.html, csv/ and plots/; created if missing. "
     "For a JOBID alone the default is JOBID-insp, with --exporter-layout",
     OPT_TEXT(output), .letter = 'o'},
    {"threads", "N",
     "1 to 64; by default OMP_NUM_THREADS, else the number of CPUs, at most 8",
     OPT_COUNT(options.threads, 1, MAX_THREADS)},
    {"memory", "SIZE",
     "memory limit for the records, and for Copper's paths (1G); records that "
     "do not fit are counted",
     OPT_SIZE(options.memory_bytes, MIN_MEMORY, MAX_MEMORY)},
    {"row-limit", "N",
     "number of operations with exact percentiles (one for each 32 bytes of "
     "memory); the others are rounded to within 0.3 %",
     OPT_COUNT(options.row_limit, 1, MAX_ROWS)},
    {"time-limit", "TIME",
     "time limit for reading; if it runs out, nothing is written",
     OPT_TIME_US(limit_us, MIN_LIMIT_US, MAX_LIMIT_US)},
    {"png", NULL, "also render the plots (needs gnuplot)", OPT_FLAG(png)},
    {"exporter-layout", NULL,
     "also write output.log, parquet_files/ (a file for each log) and summary/ "
     "like the exporter of NCCL Inspector; pictures need gnuplot",
     OPT_FLAG(exporter)},
    {"parquet", NULL,
     "also write parquet/, the tables of csv/ as Apache Parquet",
     OPT_FLAG(parquet)},
    {"usage-root", "DIR",
     "also compare Copper's paths with the files below DIR; may be given "
     "several times. For root, and for another user's data, nothing else is "
     "compared",
     OPT_TAKE(take_folder), .max = MAX_USAGE_ROOTS},
    {"no-usage", NULL, "do not compare Copper's paths with files",
     OPT_FLAG(no_usage)},
    {"sysroot", "DIR", "look Copper's paths up below DIR instead of /",
     OPT_TAKE(take_folder), .max = 1},
    {"as-recorded", NULL,
     "keep times on each node's own clock. Without this, all times are moved "
     "to the clock of one node, if operations across nodes show the offsets",
     OPT_FLAG(options.as_recorded)},
    {"tags", "NAMES",
     "names of the tags that the program gave its calls (NCCL 2.31): "
     "1:forward;2:backward. Of a step's raw/ they are those of its tags=",
     OPT_TAKE(take_tags)},
    {"own-times", NULL,
     "also print what own times alone show of late ranks, to compare it with "
     "the verdict; nothing else changes",
     OPT_FLAG(own_times)},
    {"json", NULL, "print summary.json on standard output",
     OPT_FLAG(common.json)},
    {"baseline", "FILE",
     "compare the network with this baseline (jobprof baseline) instead of the "
     "site's",
     OPT_TEXT(baseline)},
    {"config", "FILE",
     "the site's settings: peaks_file, baseline_file, inspector_folder, "
     "nccl.exporter_layout, nccl.parquet",
     OPT_TEXT(common.config)},
    {"quiet", NULL, "print no verdict and no progress", OPT_QUIET},
    {"verbose", NULL, "print what is being done, and problems with files",
     OPT_VERBOSE},
};

static const struct cmd_options command_line = {
    .command = "aggregate",
    .about =
        "usage: jobprof aggregate [--output DIR] [options] INPUT...\n\n"
        "Join files of jobprof's recorder (.jpr), logs of NCCL Inspector "
        "(.log, .jsonl) and traces of NVIDIA's example plugin (.json; .txt), "
        "also .gz, in any mixture, and write the report into DIR. INPUTs are "
        "files, or folders with all folders below. Log directories of the "
        "Copper cache become a part of the same report, and so do exports of "
        "Nsight Systems (.sqlite; jobprof nsys). Dumps of PyTorch's Flight "
        "Recorder, one of each rank, show who holds up a hang. Slurm is not "
        "needed. Symbolic "
        "links are not followed. JOBID[.STEP] in place of an INPUT is the "
        "folder that the site's inspector_folder names for the job, and the "
        "raw files of its steps that jobprof has profiled.\n",
    CMD_ROWS(rows),
    .end = "Exit status: 0 ok, 2 usage, 3 incomplete data, 4 no data, 5 input "
           "or output failed.\n",
    .least = 1,
    .most = CMD_ANY,
    .need = "an INPUT is missing",
};

/* Takes the first number of "8" or "8,2", as the libraries of the exporter
 * do. */
static void take_environment(struct arguments *a)
{
    const char *text = getenv("OMP_NUM_THREADS");
    uint64_t threads = 0;
    char first[24];

    if (!text || a->options.threads)
        return;
    snprintf(first, sizeof(first), "%.*s", (int) strcspn(text, ","), text);
    if (num_parse_u64(first, 1, UINT32_MAX, &threads, NULL) == 0)
        a->options.threads =
            (unsigned) (threads < MAX_THREADS ? threads : MAX_THREADS);
}

/* Returns -1 to continue, otherwise an exit status. */
static int parse(int argc, char **argv, struct arguments *a)
{
    struct jp_error err;
    int rc = cmd_options_parse(&command_line, argc, argv, a);

    if (rc >= 0)
        return rc;
    a->copper.usage = !a->no_usage;
    if (find_inputs(a->common.config, argv + optind, (size_t) (argc - optind),
                    &a->inputs, &err) < 0) {
        error_wrap(&err, "INPUT");
        return cmd_options_usage(&command_line, err.text);
    }
    /* as the exporter does it for a job */
    if (!a->output && a->inputs.output) {
        a->output = a->inputs.output;
        a->exporter = true;
    }
    a->exporter |= a->inputs.exporter;
    a->parquet |= a->inputs.parquet;
    if (!a->output || !*a->output)
        return cmd_options_usage(&command_line, "--output DIR is missing");
    take_environment(a);
    return -1;
}

/* Width of the progress bar in characters. */
enum { BAR = 30 };
static const char bar[BAR + 1] = "##############################";

/* Prints the progress and checks the time limit. Returns true if the reading
 * has to end. */
static int on_progress(void *arg, uint64_t done, uint64_t total)
{
    struct progress *p = arg;
    uint64_t now = clock_mono_ms();
    double share = total ? (double) done / (double) total : 1;
    int filled = share < 1 ? (int) (share * BAR) : BAR;
    char size[32];

    p->over = p->limit_ms && now - p->start_ms >= p->limit_ms;
    if (p->over || !p->telling || now - p->start_ms < SAY_AFTER_MS ||
        now - p->said_ms < SAY_EVERY_MS)
        return p->over;
    p->said_ms = now;
    p->said = true;
    quote_printf(stderr, "\rjobprof: [%.*s%*s] %3.0f %% of %s", filled, bar,
                 BAR - filled, "", 100 * share,
                 num_format_size(total, size, sizeof(size)));
    return 0;
}

/* Prints problems with single files of Copper's logs (--verbose). */
static void print_copper_notes(const struct jp_copper *copper)
{
    for (size_t i = 0; copper && i < copper->n_notes; i++)
        quote_printf(stderr, "jobprof: %s: %s\n", copper->notes[i].path,
                     copper->notes[i].what);
    if (copper && copper->notes_left_out)
        fprintf(stderr, "jobprof: and %" PRIu64 " more notes\n",
                copper->notes_left_out);
}

static void print_nsys_notes(const struct jp_nsys *nsys)
{
    for (size_t i = 0; nsys && i < nsys->n_ranks; i++)
        if (*nsys->ranks[i].why)
            quote_printf(stderr, "jobprof: nsys: %s\n", nsys->ranks[i].why);
}

static void print_notes(const struct jp_quality *q)
{
    for (size_t i = 0; i < q->n_notes; i++)
        quote_printf(stderr, "jobprof: %s: %s\n", q->notes[i].path,
                     q->notes[i].what);
    if (q->notes_left_out)
        fprintf(stderr, "jobprof: and %" PRIu64 " more files\n",
                q->notes_left_out);
}

/* Writes the tables as Parquet where asked for, and of the exporter's tree each
 * log. */
static int deliver_parquet(const struct arguments *a, struct jp_error *err)
{
    int rc = a->parquet ? cmd_args_parquet(a->output, err) : 0;

    if (rc == 0 && a->exporter)
        rc = cmd_args_exporter_logs((const char *const *) a->inputs.paths,
                                    a->inputs.n, a->output, err);
    return rc;
}

/* Writes and shows the report. Returns an exit status. */
static int deliver(const struct arguments *a, const struct step *step,
                   const struct jp_result *result,
                   const struct feature_set *features,
                   const struct jp_insight *insight, uint64_t duration_us)
{
    char found[FILEKINDS_TEXT] = "";
    struct verdict_input in = {.conf = step->has_conf,
                               .nodes = step->nodes,
                               .result = result,
                               .insight = insight,
                               .features = features,
                               .nsys = a->nsys,
                               .analysed = true};
    struct jp_verdict verdict;
    struct jp_report report = {.result = result,
                               .features = features,
                               .nsys = a->nsys,
                               .processes = insight ? &insight->processes
                                                    : NULL,
                               .insight = insight,
                               .expectation = &a->expect.is,
                               .verdict = &verdict,
                               .reporter = "user",
                               .duration_us = duration_us,
                               .threads = a->options.threads};
    struct jp_error err;

    if (filekinds_none(&a->found))
        in.found = filekinds_text(&a->found, found);
    verdict_make(&in, &verdict);
    /* the report comes first: an error of an extra format must not prevent it
     */
    if (fileio_mkdirs_held(a->output, &err) < 0 ||
        report_write(&report, a->output, &err) < 0 ||
        (!a->common.quiet && report_print_line(a->output, JP_SUMMARY_AUTO,
                                               false, stderr, &err) < 0)) {
        quote_printf(stderr, "jobprof: %s\n", err.text);
        return JP_EXIT_IO;
    }
    if (a->common.json && cmd_args_print_summary(a->output) < 0)
        return JP_EXIT_IO;
    if (a->exporter &&
        cmd_args_exporter(
            result, a->output,
            &(struct cmd_exporter){duration_us, a->common.quiet, NULL}) < 0)
        return JP_EXIT_IO;
    if (deliver_parquet(a, &err) < 0) {
        quote_printf(stderr, "jobprof: %s\n", err.text);
        return JP_EXIT_IO;
    }
    if (a->png && report_draw(a->output, &err) < 0) {
        quote_printf(stderr, "jobprof: %s\n", err.text);
        return JP_EXIT_IO;
    }
    return cmd_args_judge(&verdict);
}

/* Whether an input is an nsys export. Readers of NCCL data must skip these. */
static bool is_export(const char *input)
{
    size_t n = strlen(input);
    struct stat st;

    return n > 7 && strcmp(input + n - 7, ".sqlite") == 0 &&
           stat(input, &st) == 0 && S_ISREG(st.st_mode);
}

/* Whether --time-limit has run out. */
static bool is_over(void *arg)
{
    struct progress *p = arg;

    p->over = p->over ||
              (p->limit_ms && clock_mono_ms() - p->start_ms >= p->limit_ms);
    return p->over;
}

/* Reads the nsys exports and removes them from the inputs. *n: the number of
 * inputs that remain. */
static int read_nsys(struct arguments *a, const char **inputs, size_t *n,
                     struct jp_error *err)
{
    struct jp_nsys_options options = gputime_options();
    const char **some = calloc(*n + 1, sizeof(*some));
    size_t n_some = 0, left = 0;
    int rc;

    if (!some)
        return error_set(err, "out of memory");
    for (size_t i = 0; i < *n; i++) {
        bool export = is_export(inputs[i]);

        /* a folder may contain exports as well as logs */
        if (export || stepdir_is_folder(inputs[i]))
            some[n_some++] = inputs[i];
        if (!export)
            inputs[left++] = inputs[i];
    }
    options.stop = is_over;
    options.arg = a->options.progress_arg;
    rc = nsys_load(some, n_some, &options, &a->nsys, err);
    free(some);
    *n = left;
    return rc == 0 && is_over(options.arg)
               ? error_set(err, "the time limit ran out")
               : rc;
}

/* Like on_progress, without printing. */
static int look_at_clock(void *arg, uint64_t done, uint64_t total)
{
    (void) done;
    (void) total;
    return is_over(arg);
}

static void print_note(void *arg, const char *path, const char *why)
{
    (void) arg;
    quote_printf(stderr, "jobprof: %s: %s\n", path, why);
}

/* The inputs, and the exports that hold several ranks, which are read as logs,
 * too. Caller frees. NULL: no memory. */
static const char **add_exports(const struct jp_nsys *nsys,
                                const char *const *inputs, size_t n,
                                size_t *n_all)
{
    size_t exports = nsys ? nsys->n_ranks : 0;
    const char **all = calloc(n + exports + 1, sizeof(*all));

    *n_all = n;
    for (size_t i = 0; all && i < n; i++)
        all[i] = inputs[i];
    for (size_t i = 0; all && i < exports; i++)
        if (nsys->ranks[i].p.processes > 1)
            all[(*n_all)++] = nsys->ranks[i].path;
    nsys_ranks_reader = nsys_ranks_read;
    return all;
}

/* What aggregate_run does with a file: exports of several ranks were added for
 * it. A callback of jp_aggregate_options.use. */
static enum logwalk_use use_file(const void *arg, const char *path)
{
    const struct arguments *a = arg;

    for (size_t i = 0; a->nsys && i < a->nsys->n_ranks; i++)
        if (a->nsys->ranks[i].p.processes > 1 &&
            !strcmp(a->nsys->ranks[i].path, path))
            return LOGWALK_KEEP;
    return filekinds_use(&a->found, path);
}

/* Whether the path is the raw/ of a step. */
static bool is_raw(const char *path)
{
    size_t len = strlen(path);

    return len >= 4 && strcmp(path + len - 4, "/raw") == 0;
}

/* Reads what is known about the step of an input, if it has been reported. What
 * cannot be read stays unknown. */
static void read_step(const struct inputs *inputs, struct step *step)
{
    char *dir;

    *step = (struct step){.nodes = NULL};
    if (inputs->n != 1 || !is_raw(inputs->paths[0]))
        return;
    dir = text_format("%.*s", (int) (strlen(inputs->paths[0]) - strlen("/raw")),
                      inputs->paths[0]);
    /* a step that still runs is judged as a folder of logs */
    if (dir && stepdir_has(dir, JP_SUMMARY_NAME) &&
        jobconf_read_step(dir, NULL, &step->conf, NULL) == 0)
        step->has_conf = &step->conf;
    /* what else was recorded, such as samples, is not in raw/ */
    if (step->has_conf && step->conf.nccl_mode &&
        strcmp(step->conf.nccl_mode, "off") == 0) {
        jobconf_fini(&step->conf);
        step->has_conf = NULL;
    }
    if (step->has_conf)
        step->nodes = nodes_read(dir, NULL);
    if (step->nodes) {
        step->nodes->over = true;
        cmd_report_recall_end(dir, step->nodes);
    }
    free(dir);
}

static void free_step(struct step *step)
{
    nodes_destroy(step->nodes);
    if (step->has_conf)
        jobconf_fini(&step->conf);
}

/* Says which kinds of files were found, and how many of each. */
static void print_found(const struct arguments *a)
{
    char text[FILEKINDS_TEXT];

    if (!a->common.quiet && *filekinds_text(&a->found, text))
        quote_printf(stderr, "jobprof: found %s\n", text);
}

/* Reads all kinds of data from the inputs. Returns -1 and err; *result is then
 * unset, or belongs to the caller, as does what features has. */
static int read_inputs(struct arguments *a, const char **inputs, size_t n,
                       struct jp_result **result, struct feature_set *features,
                       struct jp_error *err)
{
    const struct feature_input in = {.progress = look_at_clock,
                                     .progress_arg = a->options.progress_arg};
    struct jp_copper *copper = NULL;
    const char **all;
    size_t n_all;
    char *nodes;
    int rc = -1;

    if (filekinds_find(&a->found, inputs, n, err) < 0)
        return -1;
    print_found(a);
    a->options.use = use_file;
    a->options.use_arg = a;
    if (read_nsys(a, inputs, &n, err) < 0 ||
        feature_read_found(&a->found, &in, features, err) < 0)
        return -1;
    all = add_exports(a->nsys, inputs, n, &n_all);
    if (!all)
        return error_set(err, "out of memory");
    a->copper.usage_roots = a->usage_roots;
    a->copper.memory_bytes = a->options.memory_bytes;
    a->copper.progress = a->options.progress;
    a->copper.progress_arg = a->options.progress_arg;
    /* for the comparison of Copper's paths with files */
    a->copper.home = getenv("HOME");
    /* for the raw/ of a step, the agents' data is beside it */
    nodes = n == 1 && is_raw(inputs[0]) ? cmd_inputs_nodes(inputs[0]) : NULL;
    a->options.nodes = nodes;
    *result = aggregate_run(all, n_all, &a->options, err);
    free(all);
    a->options.nodes = NULL;
    free(nodes);
    a->copper.slow_share = limits_get(JP_LIMIT_COPPER_SLOW);
    a->copper.slow_cost_us = limits_get(JP_LIMIT_COPPER_COST);
    if (*result)
        rc = copper_run(inputs, n, &a->copper, &copper, err);
    feature_lend(features, &feature_copper, copper);
    return rc;
}

/* Loads the expected network performance. Returns -1 to continue, otherwise an
 * exit status. */
static int load_expectation(struct arguments *a)
{
    struct jp_error err;

    if (cmd_expect_load(a->common.config, a->baseline, &a->expect, &err) < 0) {
        error_wrap(&err, "--baseline");
        return cmd_options_usage(&command_line, err.text);
    }
    if (*a->expect.trouble.text)
        quote_printf(
            stderr,
            "jobprof: %s (the site's expected bandwidths are incomplete)\n",
            a->expect.trouble.text);
    return -1;
}

/* What the judge says, beside the verdict. */
static void print_own_times(const struct jp_result *result,
                            const struct jp_insight *insight)
{
    char line[JUDGE_LINE];

    quote_printf(stderr, "jobprof: by own times: %s\n",
                 insight->judge ? judge_line(insight->judge, result,
                                             &insight->processes, line)
                                : "not judged");
}

int cmd_aggregate(int argc, char **argv)
{
    struct progress progress = {.start_ms = clock_mono_ms()};
    struct arguments a = {0};
    struct jp_result *result = NULL;
    struct feature_set features = {.data = {NULL}};
    struct jp_insight *insight = NULL;
    struct jp_error err = {""};
    struct step step = {.nodes = NULL};
    const char **inputs;
    int rc = parse(argc, argv, &a), failed;

    if (rc < 0)
        rc = load_expectation(&a);
    if (rc >= 0) {
        cmd_expect_fini(&a.expect);
        free_inputs(&a.inputs);
        return rc;
    }
    progress.limit_ms = a.limit_us / 1000;
    progress.telling = !a.common.quiet && isatty(STDERR_FILENO);
    /* without either, the reading is not interrupted to look at the clock */
    if (progress.telling || progress.limit_ms)
        a.options.progress = on_progress;
    a.options.progress_arg = &progress;
    if (a.common.verbose)
        quote_printf(stderr, "jobprof: reading %zu input%s\n", a.inputs.n,
                     plural(a.inputs.n));
    read_step(&a.inputs, &step);
    if (!a.options.tags && step.has_conf)
        a.options.tags = jobconf_find(step.has_conf, "tags");
    /* a list of its own, because read_nsys removes some */
    inputs = calloc(a.inputs.n + 1, sizeof(*inputs));
    for (size_t i = 0; inputs && i < a.inputs.n; i++)
        inputs[i] = a.inputs.paths[i];
    failed = inputs
                 ? read_inputs(&a, inputs, a.inputs.n, &result, &features, &err)
                 : error_set(&err, "out of memory");
    free(inputs);
    if (progress.said)
        fputs("\r\033[K", stderr);
    if (failed && progress.over)
        fprintf(
            stderr,
            "jobprof: aggregate: --time-limit ran out: nothing was written\n");
    else if (failed)
        quote_printf(stderr, "jobprof: %s\n", err.text);
    if (!failed && a.common.verbose) {
        print_notes(&result->quality);
        print_copper_notes(feature_data(&features, &feature_copper));
        print_nsys_notes(a.nsys);
        feature_notes(&features, print_note, NULL);
    }
    if (!failed) {
        if (step.nodes)
            nodes_align(step.nodes, clocks_map(result->clocks));
        insight = insight_run(step.has_conf, step.nodes, result, &a.expect.is);
    }
    if (insight) {
        gputime_judge(a.nsys, insight);
        feature_judge_operations(&features, result, insight);
        if (a.own_times)
            print_own_times(result, insight);
    }
    rc = failed ? progress.over ? JP_EXIT_INCOMPLETE : JP_EXIT_IO
                : deliver(&a, &step, result, &features, insight,
                          (clock_mono_ms() - progress.start_ms) * 1000);
    insight_destroy(insight);
    free_step(&step);
    feature_fini(&features);
    nsys_destroy(a.nsys);
    filekinds_fini(&a.found);
    result_destroy(result);
    cmd_expect_fini(&a.expect);
    free_inputs(&a.inputs);
    return rc;
}
