/* nsyspart.c - which ranks of a step run under nsys, and with which flags. */
#include "orchestrator/agent/launch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "orchestrator/agent/settings.h"
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

int nsyspart_check(const char *text, struct jp_error *err)
{
    return NSYS_CAN_WRAP || !strcmp(text, "off") ? 0 : refuse(err);
}

int nsyspart_note(const struct jp_plan *plan, char **note, struct jp_error *err)
{
    struct jp_error why = {""};

    if (NSYS_CAN_WRAP || !plan_is_traced(plan))
        return 0;
    refuse(&why);
    return lines_add(note, err, "nsys: %s", why.text);
}

/* --- settings ------------------------------------------------------------- */

/* Appends one setting (copied) to job.conf's nsys.settings. */
static int add(struct jp_jobconf *conf, const char *key, const char *value,
               const struct plan_value *from, const char *reason,
               struct jp_error *err)
{
    const struct jp_setting one = {(char *) key, (char *) value,
                                   (char *) plan_source_words[from->source],
                                   from->where, (char *) reason};

    return settings_add(&conf->nsys_settings, &conf->n_nsys_settings, &one,
                        err);
}

/* The value of ranks=, and the reason of its default: all ranks of a small
 * step, otherwise the first rank of each node. Every traced rank writes a file
 * that is exported and read by the report. */
static const char *which(const struct plan_side *side,
                         const struct jp_jobconf *conf, const char **reason)
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
    const struct jp_setting mode = {
        (char *) "mode", (char *) side->grammar->modes[1].name,
        (char *) plan_source_words[side->mode_source], side->mode_where,
        (char *) ""};

    if (settings_add(&conf->nsys_settings, &conf->n_nsys_settings, &mode, err) <
        0)
        return -1;
    for (size_t i = 0; i < side->grammar->n_knobs; i++) {
        const char *name = side->grammar->knobs[i].name, *reason = "";
        const struct plan_value *from = &side->values[i];
        const char *value = strcmp(name, "ranks") ? from->value
                                                  : which(side, conf, &reason);

        if (value && add(conf, name, value, from, reason, err) < 0)
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
static int tell_tasks(const struct plan_side *side, const char *step_dir,
                      struct jp_jobconf *conf, struct jp_error *err)
{
    const char *ranks = jobconf_nsys(conf, "ranks");
    bool required = plan_number(side, "required") != 0;

    if (jobconf_add_env(conf, NSYS_ENV_WRAP, find_wrap(),
                        "goes before the program", false, err) < 0 ||
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
    return plan->nsys.mode && plan_is_explicit(plan);
}

/* The request is stored even if nsys cannot run, for the report. */
int nsyspart_fill(const struct launch_facts *facts, const struct jp_plan *plan,
                  const char *step_dir, struct jp_jobconf *conf, char **note,
                  struct jp_error *err)
{
    const struct plan_side *side = &plan->nsys;

    conf->nsys_request = strdup(side->grammar->modes[side->mode].name);
    if (!conf->nsys_request)
        return error_set(err, "out of memory");
    if (!wants_nsys(plan))
        return 0;
    if (!NSYS_CAN_WRAP)
        return nsyspart_note(plan, note, err);
    if (add_settings(side, conf, err) < 0 ||
        tell_tasks(side, step_dir, conf, err) < 0)
        return -1;
    return note_doubts(facts, side, note, err);
}
