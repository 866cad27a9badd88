/* util_launch.c - what --util-profile adds to a step: the period of its samples
 * and the user's labels. */
#include "plugins/util/util_launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/defaults.h"
#include "common/num.h"
#include "common/settings.h"

/* Why the period differs from the setting; "": it does not. */
static const char *explain_period(const struct plan_side *side,
                                  uint32_t period_ms)
{
    uint64_t us = plan_number(side, "period");

    if (us && period_ms > us / 1000)
        return "no shorter than 100 ms";
    return us ? "" : "the site samples only steps with the option";
}

/* Adds the period that is in effect, which may differ from the requested
 * one. */
static int add_period(const struct plan_side *side, struct jp_jobconf *conf,
                      struct jp_error *err)
{
    const struct plan_value *from = plan_find(side, "period");
    uint32_t ms = conf->policy.period_ms;
    char text[32];

    num_format_time_us((uint64_t) ms * 1000, text, sizeof(text));
    return settings_add_value(&conf->sides[OPTION_UTIL], "period", text, from,
                              explain_period(side, ms), err);
}

/* Adds the user's labels, if there are any. They are kept even if nothing is
 * sampled, because the report prints them. */
static int add_labels(const struct plan_side *side, struct jp_jobconf *conf,
                      struct jp_error *err)
{
    const struct plan_value *from = plan_find(side, "labels");

    return from->value ? settings_add_value(&conf->sides[OPTION_UTIL], "labels",
                                            from->value, from, "", err)
                       : 0;
}

/* The milliseconds between two samples of utilisation in this step; 0: no
 * samples. By default, a step is sampled if the user requests any profile. A
 * step that is profiled only by a site's default is sampled only if the site's
 * default includes utilisation. */
static uint32_t period_ms_of(const struct jp_plan *plan)
{
    const struct plan_side *util = &plan->sides[OPTION_UTIL];
    uint64_t us = plan_number(util, "period");
    bool wanted = util->mode ||
                  (util->mode_source == PLAN_DEFAULT &&
                   (plan_is_explicit(plan) || plan_is_printed(plan)));

    if (!wanted)
        return 0;
    /* period 0 in the site file: only steps with the option are sampled */
    if (!us)
        return plan_side_is_asked(util) ? UTIL_PERIOD_MS : 0;
    return us < UTIL_PERIOD_MIN_MS * 1000 ? UTIL_PERIOD_MIN_MS
                                          : (uint32_t) (us / 1000);
}

/* The period is decided first: mode and period depend on it. */
static int fill_conf(const struct side_step *step, struct jp_jobconf *conf,
                     char **note, struct jp_error *err)
{
    const struct plan_side *side = &step->plan->sides[OPTION_UTIL];

    (void) note;
    conf->policy.period_ms = period_ms_of(step->plan);
    if (settings_request(conf, side, err) < 0)
        return -1;
    if (conf->policy.period_ms &&
        (settings_add_mode(
             &conf->sides[OPTION_UTIL], side, side->grammar->modes[1].name,
             side->mode ? "" : "as in every profiled step", err) < 0 ||
         add_period(side, conf, err) < 0))
        return -1;
    return add_labels(side, conf, err);
}

static bool runs(const struct launch_facts *facts, const struct jp_plan *plan)
{
    (void) facts;
    return plan_side_is_asked(&plan->sides[OPTION_UTIL]);
}

/* "utilisation: a sample every 1 s, at most 64 MiB for each node" */
static void describe(const struct jp_jobconf *conf, char *buf, size_t len)
{
    char period[32];

    if (!conf->policy.period_ms)
        snprintf(buf, len, "utilisation: no samples");
    else
        snprintf(buf, len,
                 "utilisation: a sample every %s, at most %u MiB for each node",
                 num_format_time_us((uint64_t) conf->policy.period_ms * 1000,
                                    period, sizeof(period)),
                 conf->policy.disk_mib);
}

const struct launch_side util_side = {
    .runs = runs,
    .fill = fill_conf,
    .describe = describe,
};
