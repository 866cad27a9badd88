/* cmd_compare.c - `jobprof compare`: whether a step became slower. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/num.h"
#include "common/quote.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_inputs.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/report/baseline_file.h"
#include "orchestrator/report/compare.h"
#include "orchestrator/report/summary_file.h"

#define THRESHOLD                                                              \
    10 /* percent; normal variation between runs on a shared fabric */
#define MAX_THRESHOLD 10000

static const char help[] =
    "usage: jobprof compare [options] A B\n"
    "\n"
    "Compare the report of step B with that of A: the median time of each\n"
    "type of communicator, function and size, and the findings. A and B are\n"
    "step directories, or JOBID.STEP; both have a report. A may be a file of\n"
    "jobprof baseline: then the network's bandwidth is compared.\n"
    "\n"
    "  --threshold PCT  a larger difference counts as slower or faster (10)\n"
    "  --json           print JSON\n"
    "  --config FILE    the site's settings\n"
    "  -h, --help       this text\n"
    "\n"
    "Exit status: 0 not slower, 1 something is slower or a finding is new, 2\n"
    "usage, 3 a report's data is incomplete: nothing counts as slower, and\n"
    "only a new hang gives status 1, 4 a report has no data, or the\n"
    "reports have nothing in common, 5 input or output failed.\n";

enum { OPT_THRESHOLD = 256, OPT_JSON, OPT_CONFIG };

static const struct option long_options[] = {
    {"threshold", required_argument, NULL, OPT_THRESHOLD},
    {"json", no_argument, NULL, OPT_JSON},
    {"config", required_argument, NULL, OPT_CONFIG},
    {"help", no_argument, NULL, 'h'},
    {0}};

struct arguments {
    const char *words[2], *config;
    uint64_t threshold; /* in percent */
    bool json;
};

static int fail(int status, const char *what, const char *why)
{
    quote_printf(stderr, "jobprof: compare: %s%s%s\n", what, *what ? ": " : "",
                 why);
    return status;
}

/* "10" or "10%" */
static int take_threshold(const char *text, uint64_t *value)
{
    size_t n = strlen(text);
    struct jp_error err;
    char digits[16];

    if (n && text[n - 1] == '%')
        n--;
    if (n >= sizeof(digits))
        return fail(JP_EXIT_USAGE, "--threshold", "too long");
    memcpy(digits, text, n);
    digits[n] = '\0';
    if (num_parse_u64(digits, 1, MAX_THRESHOLD, value, &err) < 0)
        return fail(JP_EXIT_USAGE, "--threshold", err.text);
    return -1;
}

/* Returns -1 to continue, otherwise an exit status. */
static int parse(int argc, char **argv, struct arguments *a)
{
    int c, rc = -1;

    optind = 0;
    while (rc < 0 &&
           (c = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        if (c == OPT_THRESHOLD) {
            rc = take_threshold(optarg, &a->threshold);
        } else if (c == OPT_JSON) {
            a->json = true;
        } else if (c == OPT_CONFIG) {
            a->config = optarg;
        } else if (c == 'h') {
            fputs(help, stdout);
            return JP_EXIT_OK;
        } else {
            return JP_EXIT_USAGE; /* getopt has printed the error */
        }
    }
    if (rc >= 0)
        return rc;
    if (argc - optind != 2)
        return fail(JP_EXIT_USAGE, "",
                    "takes two reports, A and B (jobprof compare --help)");
    a->words[0] = argv[optind];
    a->words[1] = argv[optind + 1];
    return -1;
}

/* Loads the summary of the step that word means; it must be a single one. */
static int load(const char *word, const char *config, json_t **root)
{
    struct jp_error err = {""};
    char **dirs = NULL;
    size_t n = 0;
    int rc = JP_EXIT_OK;

    if (cmd_inputs_steps(word, config, &dirs, &n, &err) < 0)
        /* err already names the argument */
        return fail(JP_EXIT_USAGE, "", err.text);
    if (n != 1)
        rc = fail(JP_EXIT_USAGE, word, "the job has several steps; name one");
    else if (!(*root =
                   summary_file_read(dirs[0], SUMMARY_WITHOUT_TABLES, &err)))
        rc = fail(JP_EXIT_IO, word, err.text);
    nodelist_free(dirs, n);
    return rc;
}

static bool has_word(const json_t *root, const char *word)
{
    return !strcmp(summary_file_text(json_object_get(root, "verdict"), "word"),
                   word);
}

static int exit_status(const struct jp_comparison *what,
                       const struct jp_compared *done)
{
    if (done->slower || done->n_fresh)
        return JP_EXIT_FINDINGS;
    if (has_word(what->a, "NODATA") || has_word(what->b, "NODATA") ||
        done->has_nothing)
        return JP_EXIT_NODATA;
    return done->incomplete ? JP_EXIT_INCOMPLETE : JP_EXIT_OK;
}

/* baseline: replaces A's summary, or NULL. */
static int compare(const struct arguments *a, const json_t *const roots[2],
                   const struct jp_baseline *baseline)
{
    const struct jp_comparison what = {.a = roots[0],
                                       .baseline = baseline,
                                       .b = roots[1],
                                       .threshold = (double) a->threshold / 100,
                                       .names = {a->words[0], a->words[1]},
                                       .json = a->json};
    struct jp_compared done;
    struct jp_error err;

    if (baseline && !json_is_array(json_object_get(roots[1], "network")))
        return fail(
            JP_EXIT_IO, a->words[1],
            "its report lacks the network's cells; run jobprof report again");
    return compare_print(&what, stdout, &done, &err) < 0
               ? fail(JP_EXIT_IO, "", err.text)
               : exit_status(&what, &done);
}

/* Whether the word names a file, which must be a baseline. */
static bool is_file(const char *word)
{
    struct stat st;

    return stat(word, &st) == 0 && !S_ISDIR(st.st_mode);
}

static int load_baseline(const char *word, struct jp_baseline *baseline)
{
    struct jp_error err;

    return baseline_file_read(word, false, baseline, &err) < 0
               ? fail(JP_EXIT_IO, "", err.text)
               : JP_EXIT_OK;
}

int cmd_compare(int argc, char **argv)
{
    struct arguments a = {.threshold = THRESHOLD};
    json_t *roots[2] = {NULL, NULL};
    struct jp_baseline baseline = {0};
    int rc = parse(argc, argv, &a);
    bool based;

    if (rc >= 0)
        return rc;
    based = is_file(a.words[0]);
    rc = based ? load_baseline(a.words[0], &baseline)
               : load(a.words[0], a.config, &roots[0]);
    if (rc == JP_EXIT_OK)
        rc = load(a.words[1], a.config, &roots[1]);
    if (rc == JP_EXIT_OK)
        rc = compare(&a, (const json_t *const *) roots,
                     based ? &baseline : NULL);
    baseline_fini(&baseline);
    json_decref(roots[0]);
    json_decref(roots[1]);
    return rc;
}
