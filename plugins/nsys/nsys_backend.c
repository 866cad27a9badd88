/* nsys_backend.c - the place of nsys among the backends: words, knobs, doctor's
 * look. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/child.h"
#include "common/defaults.h"
#include "common/fileio.h"
#include "common/num.h"
#include "common/quote.h"
#include "plugins/backend.h"
#include "plugins/nsys/nsys_launch.h"
#include "plugins/nsys/nsys_env.h"

#define DAY (24 * 3600 * JP_SECOND)

/* Ranks run under nsys beside any profiler or without one. It is never the
 * profiler of a step itself. */
static int usable(const struct backend_input *in, struct jp_error *err)
{
    return error_set(err, "ranks run under nsys with --nsys-profile");
}

/* No variables and no sizes: the launch plans them for the option
 * (orchestrator/agent/). */
static const struct backend_planner planner = {
    .usable = usable,
};

static const struct jp_option_form form = {
    .off = "runs no rank under nsys", .bare = true, .only_srun = true};

static const struct jp_mode words[] = {
    {.name = "auto", .help = "the chosen ranks run under nsys profile"}, {0}};

static const struct jp_knob knobs[] = {
    {JP_KNOB("ranks", JP_KNOB_RANKS, 0, 0, "all|node0|first-per-node", NULL,
             "ranks that run under nsys; default: all of a small step, else "
             "the first rank of each node")},
    {JP_KNOB("trace", JP_KNOB_NAMES, 0, 0, NULL, JP_DEF_NSYS_TRACE,
             "what nsys traces, with ; for a comma")},
    {JP_KNOB("delay", JP_KNOB_TIME, 0, DAY, NULL, NULL,
             "whole seconds from the program's start to the trace")},
    {JP_KNOB("duration", JP_KNOB_TIME, JP_SECOND, DAY, NULL, NULL,
             "whole seconds of the trace; NVIDIA supports five minutes")},
    {JP_KNOB("capture", JP_KNOB_WORD, 0, 0, "off|cudaProfilerApi|nvtx", "off",
             "trace only between marks of the program")},
    {JP_KNOB("required", JP_KNOB_BOOL, 0, 1, NULL, "0",
             "1: a rank without nsys does not start; 0: it runs without nsys")},
    {JP_KNOB("wait", JP_KNOB_TIME, JP_SECOND, DAY, NULL,
             JP_STR(JP_DEF_NSYS_WAIT_S) "s",
             "time limit of nsys after its program's end")},
    {JP_KNOB_SUMMARY},
    {0}};

/* Set by resolve, read by jobprof-wrap (nsys_env.h). */
static const char *const variables[] = {
    NSYS_ENV_WRAP,  NSYS_ENV_TITLE, NSYS_ENV_DIR,      NSYS_ENV_RANKS,
    NSYS_ENV_FLAGS, NSYS_ENV_WAIT,  NSYS_ENV_REQUIRED, NULL};

/* --- doctor --------------------------------------------------------------- */

#define VERSION_MS 5000 /* limit for nsys --version */

/* A line with the answer to --version: "NVIDIA Nsight Systems version
 * 2024.6.2". */
static void ask_version(const char *path, char *line, size_t len)
{
    char *argv[] = {(char *) path, (char *) "--version", NULL};
    struct child_result result = {0};
    const struct child child = {
        .argv = argv, .limit_ms = VERSION_MS, .out = line, .room = len - 1};

    memset(line, 0, len);
    /* an nsys that cannot run here is still reported with its path */
    if (!child_succeeded(child_run(&child, &result), &result) || !*line)
        snprintf(line, len, "it fails with --version");
    line[strcspn(line, "\r\n")] = '\0';
}

/* The first nsys in PATH, or NULL. Caller frees. */
static char *find_nsys(void)
{
    const char *folders = getenv("PATH");
    char *copy = strdup(folders ? folders : ""), *rest = copy;
    char *folder, *path = NULL;
    struct stat st;

    while (!path && (folder = strsep(&rest, ":"))) {
        path = *folder == '/' ? text_format("%s/nsys", folder) : NULL;
        /* access(X_OK) also succeeds for folders */
        if (path && (access(path, X_OK) < 0 || stat(path, &st) < 0 ||
                     !S_ISREG(st.st_mode))) {
            free(path);
            path = NULL;
        }
    }
    free(copy);
    return path;
}

/* Doctor's line about the program. */
static int look_nsys(backend_note *say, void *arg, struct jp_error *err)
{
    char *path = find_nsys(), version[128] = "", line[512];
    int rc;

    if (path)
        ask_version(path, version, sizeof(version));
    if (path)
        snprintf(line, sizeof(line), "nsys: %s (%s)", QUOTE(path),
                 QUOTE(version));
    else
        snprintf(line, sizeof(line),
                 "nsys: not in PATH on this host; ranks on nodes without it "
                 "run without nsys");
    rc = say(arg, false, line, err);
    free(path);
    return rc;
}

/* Above 2, the kernel gives users no samples of processors. */
static bool may_sample(void)
{
    char *text = NULL;
    int64_t level = 0;

    if (fileio_read("/proc/sys/kernel/perf_event_paranoid", false, 32, &text,
                    NULL, NULL) < 0)
        return false;
    /* the file ends in a newline */
    text[strcspn(text, "\n")] = '\0';
    if (num_parse_i64(text, INT32_MIN, INT32_MAX, &level, NULL) < 0)
        level = INT32_MAX;
    free(text);
    return level <= 2;
}

/* Doctor's line about TMPDIR, where nsys keeps its data until it ends. */
static int look_place(backend_note *say, void *arg, struct jp_error *err)
{
    const char *dir = getenv("TMPDIR");
    struct stat st;
    /* jobprof-wrap then makes a folder in /tmp */
    bool gone = dir && *dir && (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode));
    char line[512];

    snprintf(line, sizeof(line),
             "nsys: its files go to %s%s; %s by perf_event_paranoid (jobprof "
             "needs none)",
             dir && *dir && !gone ? QUOTE(dir) : "a private folder in /tmp",
             gone ? ", because TMPDIR is not a folder on this host" : "",
             may_sample() ? "CPU samples are allowed"
                          : "CPU samples are not allowed");
    return say(arg, gone, line, err);
}

/* What a node of this kind can do, as doctor's lines. */
static int look_at_node(const struct jp_plan *plan, backend_note *say,
                        void *arg, struct jp_error *err)
{
    static const char old[] =
        "nsys: this Slurm cannot put nsys before a program (23.11 and later "
        "can): --nsys-profile is refused, with the command to type instead";

    /* a constant of the build */
    if (!NSYS_CAN_WRAP)
        return say(arg, false, old, err);
    if (look_nsys(say, arg, err) < 0 || look_place(say, arg, err) < 0)
        return -1;
    return say(
        arg, false,
        "nsys: in a container, it must be in the image, and " NSYS_WRAP_NAME
        " must be at its path of the host; otherwise ranks run without nsys",
        err);
}

static bool is_export(const struct filekind_look *look)
{
    static const char *const endings[] = {".sqlite", NULL};

    return filekind_ends_in(look->name, endings);
}

static bool is_report(const struct filekind_look *look)
{
    static const char *const endings[] = {".nsys-rep", ".qdrep", NULL};

    return filekind_ends_in(look->name, endings);
}

static const struct filekind_row kinds[] = {
    {.one = "Nsight Systems export",
     .many = "Nsight Systems exports",
     .probe = is_export,
     .by_name = true},
    {.one = "Nsight Systems report without an export",
     .many = "Nsight Systems reports without an export",
     .probe = is_report,
     .stranger = true,
     .by_name = true,
     .advice = "Export the reports: nsys export --type sqlite FILE. The "
               ".sqlite is read."},
    {.one = NULL}};

/* the registry is generated and has no header */
extern const struct backend backend_nsys;
const struct backend backend_nsys = {
    .abi = BACKEND_ABI,
    .kinds = kinds,
    .about = {.name = "nsys",
              .title = "nsys",
              .option = OPTION_NSYS,
              .form = &form,
              .words = words,
              .knobs = knobs,
              .variables = variables},
    .planner = &planner,
    .side = &nsys_side,
    .look = look_at_node,
};
