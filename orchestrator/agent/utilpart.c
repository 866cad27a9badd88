/* utilpart.c - the period of a step's samples and the user's labels for it. */
#include "orchestrator/agent/utilpart.h"

#include <stdio.h>
#include <string.h>

#include "common/num.h"
#include "orchestrator/agent/settings.h"

/* Why the period differs from the setting. */
static const char *why(const struct plan_side *side, uint32_t period_ms)
{
    uint64_t us = plan_number(side, "period");

    if (us && period_ms > us / 1000)
        return "no shorter than 100 ms";
    return us ? "" : "the site samples only steps with the option";
}

static int add_period(const struct plan_side *side, struct jp_jobconf *conf,
                      struct jp_error *err)
{
    const struct plan_value *from = plan_find(side, "period");
    uint32_t ms = conf->policy.util_period_ms;
    char text[32];
    struct jp_setting one = {
        (char *) "period",
        num_format_time_us((uint64_t) ms * 1000, text, sizeof(text)),
        (char *) plan_source_words[from->source], from->where,
        (char *) why(side, ms)};

    return settings_add(&conf->util_settings, &conf->n_util_settings, &one,
                        err);
}

static int add_labels(const struct plan_side *side, struct jp_jobconf *conf,
                      struct jp_error *err)
{
    const struct plan_value *from = plan_find(side, "labels");
    struct jp_setting one = {(char *) "labels", from->value,
                             (char *) plan_source_words[from->source],
                             from->where, (char *) ""};

    return from->value ? settings_add(&conf->util_settings,
                                      &conf->n_util_settings, &one, err)
                       : 0;
}

int utilpart_fill(const struct jp_plan *plan, struct jp_jobconf *conf,
                  struct jp_error *err)
{
    const struct plan_side *side = &plan->util;
    bool runs;

    conf->policy.util_period_ms = plan_util_period_ms(plan);
    runs = conf->policy.util_period_ms > 0;
    conf->util_request = strdup(side->grammar->modes[side->mode].name);
    if (!conf->util_request)
        return error_set(err, "out of memory");
    if (runs) {
        struct jp_setting mode = {
            (char *) "mode", (char *) side->grammar->modes[1].name,
            (char *) plan_source_words[side->mode_source], side->mode_where,
            (char *) (side->mode ? "" : "as in every profiled step")};

        if (settings_add(&conf->util_settings, &conf->n_util_settings, &mode,
                         err) < 0 ||
            add_period(side, conf, err) < 0)
            return -1;
    }
    return add_labels(side, conf, err);
}

const char *utilpart_describe(const struct jp_jobconf *conf, char *buf,
                              size_t len)
{
    char period[32];

    if (!conf->policy.util_period_ms)
        snprintf(buf, len, "utilisation: no samples");
    else
        snprintf(
            buf, len,
            "utilisation: a sample every %s, at most %u MiB for each node",
            num_format_time_us((uint64_t) conf->policy.util_period_ms * 1000,
                               period, sizeof(period)),
            conf->policy.util_disk_mib);
    return buf;
}
