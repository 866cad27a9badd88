/* nsys_launch.c - what --nsys-profile adds to a step: which ranks run under
 * nsys, and with which flags. */
#include "plugins/nsys/nsys_launch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/settings.h"
#include "plugins/nsys/nsys_env.h"

/* Flags of every rank. They turn off sampling, which needs privileges. nsys
 * neither kills the program nor waits for its children. The report exports the
 * data. */
#define FLAGS                                                                  \
    "--sample=none --cpuctxsw=none --wait=primary --kill=none --export=none "  \
    "--force-overwrite=true"
/* The command line for a Slurm that cannot start nsys. */
#define BY_HAND                                                                \
    "srun ... nsys profile -o rank%q{SLURM_PROCID} --trace=cuda,nvtx "         \
    "--sample=none --cpuctxsw=none --kill=none ./program, and give the "       \
    "files to: jobprof nsys"

/* Sets err to the message for a Slurm that cannot start nsys. Returns -1. */
static int refuse(struct jp_error *err)
{
    static const char line[] = BY_HAND; /* not a format: it contains a % */

    return error_set(err,
                     "this Slurm cannot put nsys before a program (23.11 and "
                     "later can); type: %s",
                     line);
}

static int check(const char *text, struct jp_error *err)
{
    return NSYS_CAN_WRAP || !strcmp(text, "off") ? 0 : refuse(err);
}

/* Appends the reason why nsys does not run, if it was requested. */
static int note_old_slurm(const struct jp_plan *plan, char **note,
                          struct jp_error *err)
{
    struct jp_error why = {""};

    if (NSYS_CAN_WRAP || !plan_side_is_asked(&plan->sides[OPTION_NSYS]))
        return 0;
    refuse(&why);
    return lines_add(note, err, "nsys: %s", why.text);
}

/* --- settings ------------------------------------------------------------- */

/* The value of ranks=, and the reason of its default: all ranks of a small
 * step, otherwise the first rank of each node. Every traced rank writes a file
 * that is exported and read by the report. */
static const char *choose_ranks(const struct plan_side *side,
                                const struct jp_jobconf *conf,
                                const char **reason)
{
    const char *ranks = plan_get(side, "ranks");
    bool few = conf->ntasks && conf->ntasks <= JP_NSYS_ALL_MAX;

    *reason =
        ranks ? ""
        : few ? "because the step has at most " JP_STR(JP_NSYS_ALL_MAX) " tasks"
              : "because the step has more than " JP_STR(
                    JP_NSYS_ALL_MAX) " tasks";
    return ranks ? ranks : few ? "all" : "first-per-node";
}

/* Adds the mode and all knobs with a value. */
static int add_settings(const struct plan_side *side, struct jp_jobconf *conf,
                        struct jp_error *err)
{
    struct jobconf_side *to = &conf->sides[OPTION_NSYS];

    if (settings_add_mode(to, side, side->grammar->modes[1].name, "", err) < 0)
        return -1;
    for (size_t i = 0; i < side->grammar->n_knobs; i++) {
        const char *name = side->grammar->knobs[i].name, *reason = "";
        const struct plan_value *from = &side->values[i];
        const char *value = strcmp(name, "ranks")
                                ? from->value
                                : choose_ranks(side, conf, &reason);

        if (value && settings_add_value(to, name, value, from, reason, err) < 0)
            return -1;
    }
    return 0;
}

/* --- the tasks' variables ------------------------------------------------- */

/* The path of the program that starts nsys before a task's program. Looks
 * beside jobprof-node, which runs this, and for `jobprof plan` in the
 * installation folder. Caller frees. */
static char *find_wrap(void)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *path = NULL, *end;

    self[n > 0 ? n : 0] = '\0';
    end = strrchr(self, '/');
    if (end)
        path = text_format("%.*s/" NSYS_WRAP_NAME, (int) (end - self), self);
    if (path && access(path, X_OK) == 0)
        return path;
    free(path);
    return strdup(JP_LIBEXECDIR "/" NSYS_WRAP_NAME);
}

/* A knob's time in whole seconds, rounded up. */
static uint64_t seconds(const struct plan_side *side, const char *knob)
{
    return (plan_number(side, knob) + JP_SECOND - 1) / JP_SECOND;
}

/* The flags for `nsys profile`, joined by blanks; no value of a knob contains
 * one. Caller frees. */
static char *make_flags(const struct plan_side *side)
{
    const char *capture = plan_get(side, "capture");
    char trace[512], range[96] = "", delay[48] = "", duration[48] = "";

    snprintf(trace, sizeof(trace), "%s", plan_get(side, "trace"));
    /* nsys separates by commas, which an option's value cannot contain. */
    for (char *c = trace; *c; c++)
        *c = *c == ';' ? ',' : *c;
    if (capture && strcmp(capture, "off") != 0)
        snprintf(range, sizeof(range),
                 " --capture-range=%s --capture-range-end=stop", capture);
    if (seconds(side, "delay"))
        snprintf(delay, sizeof(delay), " --delay=%" PRIu64,
                 seconds(side, "delay"));
    if (seconds(side, "duration"))
        snprintf(duration, sizeof(duration), " --duration=%" PRIu64,
                 seconds(side, "duration"));
    return text_format("--trace=%s " FLAGS "%s%s%s", trace, range, delay,
                       duration);
}

/* Adds the variables that the SPANK module and jobprof-wrap read. */
static int set_variables(const struct plan_side *side, const char *step_dir,
                         struct jp_jobconf *conf, struct jp_error *err)
{
    const char *ranks = jobconf_side_find(conf, OPTION_NSYS, "ranks");
    bool required = plan_number(side, "required") != 0;

    if (jobconf_add_env(conf, NSYS_ENV_WRAP, find_wrap(),
                        "goes before the program", false, err) < 0 ||
        jobconf_add_env(conf, NSYS_ENV_TITLE, strdup("nsys"), "", false, err) <
            0 ||
        jobconf_add_env(conf, NSYS_ENV_DIR,
                        text_format("%s/raw/%%N/nsys", step_dir), "", false,
                        err) < 0 ||
        jobconf_add_env(conf, NSYS_ENV_RANKS, strdup(ranks ? ranks : ""), "",
                        false, err) < 0 ||
        jobconf_add_env(conf, NSYS_ENV_FLAGS, make_flags(side), "", false,
                        err) < 0 ||
        jobconf_add_env(conf, NSYS_ENV_WAIT,
                        text_format("%" PRIu64, seconds(side, "wait")), "",
                        false, err) < 0)
        return -1;
    return required ? jobconf_add_env(conf, NSYS_ENV_REQUIRED, strdup("1"), "",
                                      false, err)
                    : 0;
}

/* --- job.conf ------------------------------------------------------------- */

/* The longest duration in seconds that NVIDIA supports. */
#define LONG_S 300

/* Appends what may go wrong although everything is set up. */
static int note_doubts(const struct launch_facts *facts,
                       const struct plan_side *side, char **note,
                       struct jp_error *err)
{
    if (seconds(side, "duration") > LONG_S &&
        lines_add(note, err,
                  "nsys: NVIDIA supports traces of up to five minutes; a "
                  "longer duration= may give no trace") < 0)
        return -1;
    return facts->contained
               ? lines_add(note, err,
                           "nsys: the step runs in a container. nsys must be "
                           "in its image, and " NSYS_WRAP_NAME
                           " must be mounted at the host's path; otherwise "
                           "ranks run without nsys")
               : 0;
}

/* Whether ranks of this step run under nsys. A site's default adds it only to
 * steps for which the user has requested a profile. */
static bool wants_nsys(const struct jp_plan *plan)
{
    return plan->sides[OPTION_NSYS].mode && plan_is_explicit(plan);
}

/* The request is stored even if nsys cannot run, for the report. */
static int fill_conf(const struct side_step *step, struct jp_jobconf *conf,
                     char **note, struct jp_error *err)
{
    const struct plan_side *side = &step->plan->sides[OPTION_NSYS];

    if (settings_request(conf, side, err) < 0)
        return -1;
    if (!wants_nsys(step->plan))
        return 0;
    if (!NSYS_CAN_WRAP)
        return note_old_slurm(step->plan, note, err);
    if (add_settings(side, conf, err) < 0 ||
        set_variables(side, step->step_dir, conf, err) < 0)
        return -1;
    return note_doubts(step->facts, side, note, err);
}

static bool runs(const struct launch_facts *facts, const struct jp_plan *plan)
{
    (void) facts;
    return NSYS_CAN_WRAP && plan_side_is_asked(&plan->sides[OPTION_NSYS]);
}

static int note_idle(const struct launch_facts *facts,
                     const struct jp_plan *plan, char **note,
                     struct jp_error *err)
{
    (void) facts;
    return note_old_slurm(plan, note, err);
}

static bool takes_cupti(const struct jp_jobconf *conf)
{
    return jobconf_side_find(conf, OPTION_NSYS, "ranks") != NULL;
}

/* "nsys: ranks first-per-node run under it (cuda,nvtx)" */
static void describe(const struct jp_jobconf *conf, char *buf, size_t len)
{
    const char *ranks = jobconf_side_find(conf, OPTION_NSYS, "ranks");
    const char *trace = jobconf_side_find(conf, OPTION_NSYS, "trace");

    if (!ranks || !trace)
        snprintf(buf, len, "nsys: no rank runs under it");
    else
        snprintf(buf, len, "nsys: ranks %s run under it (%s)", ranks, trace);
}

const struct launch_side nsys_side = {
    .check = check,
    .runs = runs,
    .idle = note_idle,
    .fill = fill_conf,
    .takes_cupti = takes_cupti,
    .wrapper = NSYS_WRAP_NAME,
    .describe = describe,
};
