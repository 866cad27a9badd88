/* cmd_aggregate.c - `jobprof aggregate`: make a report from any folders of
 * logs.
 *
 * The inputs are found first (find_inputs): a JOBID becomes the folders of the
 * job. Then all kinds of data are read (read_inputs): those of features, and
 * logs of NCCL profilers. Finally the report and the formats of other
 * tools are written (deliver). `jobprof report` does the same for a step's
 * directory, where more is known. */
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/figure.h"
#include "common/fileio.h"
#include "common/jobconf.h"
#include "common/knob.h"
#include "common/num.h"
#include "common/plan.h"
#include "common/quote.h"
#include "common/vector.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/clocks.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/cmd/cmd_inputs.h"
#include "orchestrator/cmd/cmd_report.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/slurmask.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/feature/feature.h"
#include "orchestrator/ingest/filekinds.h"
#include "orchestrator/insight/verdict.h"
#include "orchestrator/report/report.h"
#include "orchestrator/report/summary_file.h"

/* The meaning of the arguments. Strings are owned. */
struct inputs {
    char **paths;
    size_t n;
    char *output;     /* JOBID-insp if the only argument is a JOBID, or NULL */
    uint32_t job_id;  /* of that job; 0: none */
    bool exporter;    /* the site file asks for the exporter's tree */
    uint32_t formats; /* the site file asks for these formats (feature.h) */
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
static int add_path(struct inputs *in, char *path, struct jp_error *err)
{
    if (!path || VECTOR_DOUBLE(in->paths, in->n) < 0) {
        free(path);
        return error_set(err, "out of memory");
    }
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
        return add_path(in, path, err);
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
            rc = add_path(in, text_format("%s/raw", dirs[i]), err);
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

/* The formats of other tools that the site asks for. */
static uint32_t find_formats(const struct jp_sitefile *site)
{
    uint32_t formats = 0;

    for (size_t i = 0; feature_registry[i]; i++) {
        const struct sitefile_value *value = NULL;
        char key[64];

        snprintf(key, sizeof(key), "nccl.%s", feature_registry[i]->name);
        if (feature_registry[i]->format)
            value = sitefile_find(site, key);
        if (value && !strcmp(value->value, "1"))
            formats |= UINT32_C(1) << i;
    }
    return formats;
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
    in.formats = find_formats(&site);
    /* paths are added as they are, jobs as the folders they mean */
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = is_job(words[i]) ? add_job(config, &site, words[i], &in, err)
                              : add_path(&in, strdup(words[i]), err);
    /* the default output of the exporter */
    if (rc == 0 && n == 1 && is_job(words[0]) &&
        !(in.output = text_format("%s-insp", words[0])))
        rc = error_set(err, "out of memory");
    if (rc == 0 && in.output) {
        uint64_t id = strtoull(words[0], NULL, 10);

        in.job_id = id <= UINT32_MAX ? (uint32_t) id : 0;
    }
    sitefile_fini(&site);
    /* *out is set as a whole, or not at all */
    if (rc == 0)
        *out = in;
    else
        free_inputs(&in);
    return rc;
}

/* --- the command --- */

enum { MAX_THREADS = 64, SAY_AFTER_MS = 1000, SAY_EVERY_MS = 200 };
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
    uint64_t limit_us;           /* 0: none */
    struct feature_set features; /* owned */
    struct filekinds found;      /* owned: what the inputs hold */
    struct feature_given *given; /* owned: options of features */
    size_t n_given;
    uint32_t formats; /* bits of feature.h */
    bool png, exporter, own_times;
    bool knows_job;      /* Slurm has said: */
    struct slurmjob job; /* of inputs.job_id */
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

/* The options of features, in the order of their rows. */
enum { FEATURE_OPTIONS = 32 };
static const struct feature_option *feature_options[FEATURE_OPTIONS];

/* For a format of other tools; row->max is its bit. */
static int take_format(void *arguments, const struct cmd_option *row,
                       char *value, struct jp_error *err)
{
    (void) value;
    (void) err;
    ((struct arguments *) arguments)->formats |= (uint32_t) row->max;
    return 0;
}

/* For an option of a feature; row->max is its number. */
static int take_feature(void *arguments, const struct cmd_option *row,
                        char *value, struct jp_error *err)
{
    const struct feature_option *option = feature_options[row->max];
    struct arguments *a = arguments;
    unsigned before = 0;

    if (option->check && option->check(value, err) < 0)
        return -1;
    for (size_t i = 0; i < a->n_given; i++)
        before += a->given[i].option == option;
    if (before >= option->most)
        return error_set(err, "more than %u", option->most);
    if (VECTOR_DOUBLE(a->given, a->n_given) < 0)
        return error_set(err, "out of memory");
    a->given[a->n_given++] = (struct feature_given){option, value};
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

/* The rows before and after those of features. */
static const struct cmd_option first_rows[] = {
    {"output", "DIR",
     "folder for summary.*, report.html, csv/ and plots/; created if missing. "
     "For a JOBID alone the default is JOBID-insp, with --exporter-layout",
     OPT_TEXT(output), .letter = 'o'},
    {"threads", "N",
     "1 to 64; by default OMP_NUM_THREADS, else the number of CPUs, at most 8",
     OPT_COUNT(options.threads, 1, MAX_THREADS)},
    {"memory", "SIZE",
     "memory limit for the records, and for other data such as paths (1G); "
     "records that do not fit are counted",
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
     "also write output.log, a file for each log and summary/ like the "
     "exporter of NCCL Inspector; pictures need gnuplot",
     OPT_FLAG(exporter)},
};
/* list_rows adds the keys of formats of other tools. */
static char config_help[256] =
    "the site's settings: peaks_file, baseline_file, inspector_folder, "
    "nccl.exporter_layout";
static const struct cmd_option last_rows[] = {
    {"as-recorded", NULL,
     "keep times on each node's own clock. Without this, all times are moved "
     "to the clock of one node, if operations across nodes show the offsets",
     OPT_FLAG(options.as_recorded)},
    {"tags", "NAMES",
     "names of the tags that the program gave its calls (NCCL 2.31): "
     "1:forward;2:backward. For the raw/ of a step the default is its tags=",
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
    {"config", "FILE", config_help, OPT_TEXT(common.config)},
    {"quiet", NULL, "print no verdict and no progress", OPT_QUIET},
    {"verbose", NULL, "print what is being done, and problems with files",
     OPT_VERBOSE},
};

enum {
    FIRST_ROWS = sizeof(first_rows) / sizeof(*first_rows),
    LAST_ROWS = sizeof(last_rows) / sizeof(*last_rows)
};
static struct cmd_option
    rows[FIRST_ROWS + FEATURES_MAX + FEATURE_OPTIONS + LAST_ROWS];

/* The text of --help; list_rows adds what features read in the middle. */
static char about[2048] =
    "usage: jobprof aggregate [--output DIR] [options] INPUT...\n\n"
    "Join files of jobprof's recorder (.jpr), logs of NCCL Inspector (.log, "
    ".jsonl), traces of NVIDIA's example plugin (.json; .txt) and Kineto "
    "traces of PyTorch's profiler (.json), also .gz, in any mixture, and write "
    "the report into DIR. INPUTs are files, or folders with all folders below.";
static const char about_end[] =
    " Slurm is not needed. Symbolic links are not followed. JOBID[.STEP] in "
    "place of an INPUT is the folder that the site's inspector_folder names "
    "for the job, and the raw files of its steps that jobprof has profiled.\n";

/* Its rows and its text are complete after list_rows. */
static struct cmd_options command_line = {
    .command = "aggregate",
    .about = about,
    .rows = rows,
    .end = "Exit status: 0 ok, 2 usage, 3 incomplete data, 4 no data, 5 input "
           "or output failed.\n",
    .least = 1,
    .most = CMD_ANY,
    .need = "an INPUT is missing",
};

/* --- whose job it is, for an upload --- */

/* What Slurm knows of the job of a JOBID: its controller, then its accounting.
 * Called before there are threads. */
static void ask_about_job(struct arguments *a)
{
    uint32_t id = a->inputs.job_id;

    a->knows_job = id && (slurmjob_get(id, JP_SLURMJOB_LAUNCH_MS, &a->job) ||
                          slurmjob_accounted(id, JP_SLURMJOB_WAIT_MS, &a->job));
}

/* Removes an answer about another job: the report that an earlier call has
 * written into this folder is replaced, and upload would take this one for that
 * job's. */
static int remove_other_job(const struct arguments *a, const char *path,
                            struct jp_error *err)
{
    struct jp_jobconf conf;
    bool same;

    if (access(path, F_OK) < 0 && errno == ENOENT)
        return 0;
    same = a->inputs.job_id && jobconf_read(path, &conf, NULL) == 0;
    if (same) {
        same = conf.job_id == a->inputs.job_id;
        jobconf_fini(&conf);
    }
    return same || unlink(path) == 0 ? 0 : error_set(err, "%s: %m", path);
}

/* Writes what Slurm said about the job beside the report. Without it jobprof
 * upload refuses the report: it would not know whose it is, and when it ran. An
 * answer of an earlier call stays where Slurm has forgotten the job since. */
static int write_job(struct arguments *a, struct jp_error *err)
{
    const struct slurmjob *from = &a->job;
    const struct passwd *entry;
    char number[16];
    struct jp_jobconf conf = {
        .schema = JP_JOBCONF_SCHEMA,
        .version = (char *) JP_VERSION,
        .created_us = from->start_us,
        .job_id = a->inputs.job_id,
        .step_id = (char *) JP_JOBCONF_ALL_STEPS,
        .restart = from->restart,
        .uid = from->uid,
        .job_name = (char *) from->name,
        .account = (char *) from->facts.account,
        .partition = (char *) from->facts.partition,
    };
    char *path = text_format("%s/" JP_JOBCONF_OF_SLURM, a->output);
    int rc;

    if (!path)
        return error_set(err, "out of memory");
    /* a job that has not started has no logs either */
    if (a->knows_job && from->start_us) {
        entry = getpwuid(from->uid);
        snprintf(number, sizeof(number), "%u", (unsigned) from->uid);
        conf.user = entry ? entry->pw_name : number;
        rc = jobconf_write(path, &conf, err);
    } else {
        rc = remove_other_job(a, path, err);
    }
    free(path);
    return rc;
}

/* Lists the options of the command and of features, and makes the text of
 * --help. */
static void list_rows(void)
{
    size_t n = FIRST_ROWS, used = strlen(about);
    unsigned of_features = 0;

    for (size_t i = 0; feature_registry[i] && used < sizeof(about); i++)
        if (feature_registry[i]->inputs)
            used += (size_t) snprintf(about + used, sizeof(about) - used, " %s",
                                      feature_registry[i]->inputs);
    if (used < sizeof(about))
        snprintf(about + used, sizeof(about) - used, "%s", about_end);
    memcpy(rows, first_rows, sizeof(first_rows));
    n += cmd_args_format_rows(&rows[n], FEATURES_MAX, take_format);
    for (size_t i = FIRST_ROWS; i < n; i++) {
        size_t end = strlen(config_help);

        snprintf(config_help + end, sizeof(config_help) - end, ", nccl.%s",
                 rows[i].name);
    }
    for (size_t i = 0; feature_registry[i]; i++)
        for (const struct feature_option *o = feature_registry[i]->options;
             o && o->name && of_features < FEATURE_OPTIONS; o++) {
            rows[n++] = (struct cmd_option){.name = o->name,
                                            .value = o->value,
                                            .help = o->help,
                                            .take = take_feature,
                                            .max = of_features};
            feature_options[of_features++] = o;
        }
    memcpy(&rows[n], last_rows, sizeof(last_rows));
    command_line.n_rows = n + LAST_ROWS;
}

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
static int parse_arguments(int argc, char **argv, struct arguments *a)
{
    struct jp_error err;
    int rc;

    list_rows();
    rc = cmd_options_parse(&command_line, argc, argv, a);
    if (rc >= 0)
        return rc;
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
    a->formats |= a->inputs.formats;
    if (!a->output || !*a->output)
        return cmd_options_usage(&command_line, "--output DIR is missing");
    take_environment(a);
    ask_about_job(a);
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

static void print_notes(const struct jp_quality *q)
{
    for (size_t i = 0; i < q->n_notes; i++)
        quote_printf(stderr, "jobprof: %s: %s\n", q->notes[i].path,
                     q->notes[i].what);
    if (q->notes_left_out)
        fprintf(stderr, "jobprof: and %" PRIu64 " more files\n",
                q->notes_left_out);
}

/* Writes the tables in the formats that were asked for, and of the exporter's
 * tree each log. */
static int deliver_formats(const struct arguments *a, struct jp_error *err)
{
    const struct feature *failed;
    int rc = feature_write_formats(a->formats, a->output, &failed, err);
    const char **logs;
    size_t n = 0;

    if (rc < 0 || !a->exporter)
        return rc;
    logs = calloc(a->inputs.n + 1, sizeof(*logs));
    if (!logs)
        return error_set(err, "out of memory");
    for (size_t i = 0; i < a->inputs.n; i++)
        if (!feature_claims(a->inputs.paths[i]))
            logs[n++] = a->inputs.paths[i];
    rc = feature_write_logs(logs, n, a->output, err);
    free(logs);
    return rc;
}

/* Writes and shows the report. Returns an exit status. */
static int deliver(struct arguments *a, const struct step *step,
                   const struct jp_result *result,
                   const struct jp_insight *insight, uint64_t duration_us)
{
    char found[FILEKINDS_TEXT] = "";
    struct verdict_input in = {.conf = step->has_conf,
                               .nodes = step->nodes,
                               .result = result,
                               .insight = insight,
                               .features = &a->features,
                               .analysed = true};
    struct jp_verdict verdict;
    struct jp_report report = {.result = result,
                               .features = &a->features,
                               .processes = insight ? &insight->processes
                                                    : NULL,
                               .insight = insight,
                               .expectation = &a->expect.is,
                               .verdict = &verdict,
                               .reporter = "user",
                               .duration_us = duration_us,
                               .threads = a->options.threads};
    struct jp_error err;

    if (filekinds_none(&a->found)) {
        in.found = filekinds_text(&a->found, found);
        in.advice = filekinds_advice(&a->found);
    }
    verdict_make(&in, &verdict);
    /* the report comes first: an error of an extra format must not prevent it
     */
    if (fileio_mkdirs_held(a->output, &err) < 0 ||
        report_write(&report, a->output, &err) < 0 || write_job(a, &err) < 0 ||
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
    if (deliver_formats(a, &err) < 0) {
        quote_printf(stderr, "jobprof: %s\n", err.text);
        return JP_EXIT_IO;
    }
    if (a->png && report_draw(a->output, &err) < 0) {
        quote_printf(stderr, "jobprof: %s\n", err.text);
        return JP_EXIT_IO;
    }
    return cmd_args_judge(&verdict);
}

/* Whether --time-limit has run out. */
static bool is_over(void *arg)
{
    struct progress *p = arg;

    p->over = p->over ||
              (p->limit_ms && clock_mono_ms() - p->start_ms >= p->limit_ms);
    return p->over;
}

static void print_note(void *arg, const char *path, const char *why)
{
    (void) arg;
    quote_printf(stderr, "jobprof: %s%s%s\n", path, why ? ": " : "",
                 why ? why : "");
}

/* The inputs that no feature claims, the files of features that hold
 * operations, and those that only their content tells. Caller frees. NULL: no
 * memory. */
static const char **list_inputs(const struct arguments *a, size_t *n)
{
    const struct inputs *in = &a->inputs;
    size_t room = in->n + 1;
    const char **list, *path;

    for (size_t i = 0; feature_registry[i]; i++)
        for (size_t k = 0; feature_operations_file(&a->features, i, k); k++)
            room++;
    for (size_t at = 0; filekinds_odd_name(&a->found, &at);)
        room++;
    list = calloc(room, sizeof(*list));
    *n = 0;
    for (size_t i = 0; list && i < in->n; i++)
        if (!feature_claims(in->paths[i]))
            list[(*n)++] = in->paths[i];
    for (size_t i = 0; list && feature_registry[i]; i++)
        for (size_t k = 0; (path = feature_operations_file(&a->features, i, k));
             k++)
            list[(*n)++] = path;
    for (size_t at = 0; list && (path = filekinds_odd_name(&a->found, &at));)
        list[(*n)++] = path;
    return list;
}

/* What aggregate_run does with a file: those of features that hold operations
 * were added for it. A callback of jp_aggregate_options.use. */
static enum logwalk_use use_file(const void *arg, const char *path)
{
    const struct arguments *a = arg;
    const char *one;

    for (size_t i = 0; feature_registry[i]; i++)
        for (size_t k = 0; (one = feature_operations_file(&a->features, i, k));
             k++)
            if (!strcmp(one, path))
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
 * unset, or belongs to the caller. */
static int read_inputs(struct arguments *a, struct jp_result **result,
                       struct jp_error *err)
{
    const struct feature_input in = {
        .inputs = (const char *const *) a->inputs.paths,
        .n = a->inputs.n,
        .given = a->given,
        .n_given = a->n_given,
        .memory_bytes = a->options.memory_bytes,
        .progress = a->options.progress,
        .progress_arg = a->options.progress_arg,
        .stop = is_over,
        .stop_arg = a->options.progress_arg};
    const struct backend *readers[FEATURES_MAX + 1];
    const char **inputs;
    char *nodes;
    size_t n;

    if (filekinds_find(&a->found, in.inputs, in.n, feature_owns, err) < 0)
        return -1;
    print_found(a);
    if (feature_read_found(&a->found, &in, &a->features, err) < 0)
        return -1;
    inputs = list_inputs(a, &n);
    if (!inputs)
        return error_set(err, "out of memory");
    feature_readers(readers);
    a->options.readers = readers;
    a->options.use = use_file;
    a->options.use_arg = a;
    /* for the raw/ of a step, the agents' data is beside it */
    nodes = n == 1 && is_raw(inputs[0]) ? cmd_inputs_nodes(inputs[0]) : NULL;
    a->options.nodes = nodes;
    *result = aggregate_run(inputs, n, &a->options, err);
    free(inputs);
    a->options.nodes = NULL;
    a->options.readers = NULL;
    free(nodes);
    return *result ? 0 : -1;
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
    struct jp_insight *insight = NULL;
    struct jp_error err = {""};
    struct step step = {.nodes = NULL};
    int rc = parse_arguments(argc, argv, &a), failed;

    if (rc < 0)
        rc = load_expectation(&a);
    if (rc >= 0) {
        cmd_expect_fini(&a.expect);
        free_inputs(&a.inputs);
        free(a.given);
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
    failed = read_inputs(&a, &result, &err);
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
        feature_notes(&a.features, print_note, NULL);
    }
    if (!failed) {
        if (step.nodes)
            nodes_align(step.nodes, clocks_map(result->clocks));
        processes_set_attempts(step.nodes, result);
        insight = insight_run(step.has_conf, step.nodes, result, &a.expect.is);
    }
    if (insight) {
        feature_judge_operations(&a.features, result, insight);
        if (a.own_times)
            print_own_times(result, insight);
    }
    rc = failed ? progress.over ? JP_EXIT_INCOMPLETE : JP_EXIT_IO
                : deliver(&a, &step, result, insight,
                          (clock_mono_ms() - progress.start_ms) * 1000);
    insight_destroy(insight);
    free_step(&step);
    feature_fini(&a.features);
    filekinds_fini(&a.found);
    result_destroy(result);
    cmd_expect_fini(&a.expect);
    free_inputs(&a.inputs);
    free(a.given);
    return rc;
}
