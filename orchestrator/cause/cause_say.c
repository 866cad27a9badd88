/* cause_say.c - put causes into words: what is seen at the same time. */
#include "orchestrator/cause/cause_say.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/sentence.h"

#define FIGURE 64

/* "1,095 MHz", "93 %", "1.2 GiB/s" */
static char *say_figure(double v, enum util_unit unit, char buf[FIGURE])
{
    uint64_t whole = v > 0 && v < 1e18 ? (uint64_t) (v + 0.5) : 0;

    switch (unit) {
    case UTIL_MHZ:
        snprintf(buf, FIGURE, "%s MHz", FIG_COUNT(whole));
        break;
    case UTIL_SHARE:
        snprintf(buf, FIGURE, "%s", FIG_SHARE(v));
        break;
    case UTIL_BYTES:
        snprintf(buf, FIGURE, "%s", FIG_BYTES(whole));
        break;
    case UTIL_BYTES_S:
        snprintf(buf, FIGURE, "%s/s", FIG_BYTES(whole));
        break;
    case UTIL_PER_S:
        snprintf(buf, FIGURE, "%s/s", FIG_REAL(v));
        break;
    case UTIL_CORES:
        snprintf(buf, FIGURE, "%.3g cores", v);
        break;
    case UTIL_WATTS:
        snprintf(buf, FIGURE, "%.0f W", v);
        break;
    case UTIL_CELSIUS:
        snprintf(buf, FIGURE, "%.0f C", v);
        break;
    default:
        snprintf(buf, FIGURE, "%s", FIG_REAL(v));
    }
    return buf;
}
#define FIG(v, unit) say_figure((v), (unit), (char[FIGURE]){0})

static char *say_who(const struct cause_subject *subject,
                     const struct jp_cause *cause, char *buf, size_t size)
{
    const char *node = subject->name ? subject->name : "node not known";

    switch (subject->kind) {
    case JP_FINDING_LATE_RANK:
        snprintf(buf, size, "rank %" PRId64 " (%.64s) is late", subject->rank,
                 node);
        break;
    case JP_FINDING_STALL:
        snprintf(buf, size, "rank %" PRId64 " (%.64s) stalls", subject->rank,
                 node);
        break;
    case JP_FINDING_LATE_NODE:
        snprintf(buf, size, "node %.64s is late", node);
        break;
    default:
        snprintf(buf, size, "the network is slow%s",
                 subject->kind == JP_FINDING_DRIFT ? "er than before" : "");
        if (subject->name)
            snprintf(buf + strlen(buf), size - strlen(buf), " with node %.64s",
                     subject->name);
    }
    if (cause && cause->scope == JP_UTIL_PORT)
        snprintf(buf + strlen(buf), size - strlen(buf), "; at a port of %.64s",
                 cause->node);
    else if (cause && (!subject->name || strcmp(cause->node, subject->name)))
        snprintf(buf + strlen(buf), size - strlen(buf), "; on %.64s",
                 cause->node);
    return buf;
}

/* ", since 10:42:07 UTC"; "" where it was so all along. */
static char *say_since(const struct jp_cause *cause, char *buf, size_t size)
{
    /* of "2026-11-21 11:02:03 UTC" the time of the day */
    if (cause->all_along || strlen(FIG_UTC(cause->start_us)) < 20)
        snprintf(buf, size, "%s", "");
    else
        snprintf(buf, size, " since %s", FIG_UTC(cause->start_us) + 11);
    return buf;
}

/* "its SM clock is 1,095 MHz (peers 1,980 MHz)" */
static char *say_metric(const struct cause_row *row,
                        const struct jp_cause *cause, char *buf, size_t size)
{
    const char *after = row->after ? row->after : "";
    int n = snprintf(buf, size, "%s %s%s", row->says,
                     FIG(cause->value, cause->unit), after);

    if (isfinite(cause->peers))
        snprintf(buf + n, size - (size_t) n, " (peers %s)",
                 FIG(cause->peers, cause->unit));
    else if (isfinite(cause->before))
        snprintf(buf + n, size - (size_t) n, " (otherwise %s)",
                 FIG(cause->before, cause->unit));
    return buf;
}

void cause_say(const struct cause_subject *subject, const struct cause_row *row,
               struct jp_cause *cause)
{
    char who[200], metric[160], since[40];

    snprintf(cause->text, sizeof(cause->text), "%s; %s%s",
             say_who(subject, cause, who, sizeof(who)),
             say_metric(row, cause, metric, sizeof(metric)),
             say_since(cause, since, sizeof(since)));
}

void cause_say_reason(const struct cause_subject *subject,
                      struct jp_cause found[JP_CAUSES])
{
    static const struct {
        enum jp_cause_what what;
        const char *metric, *says;
    } reasons[] = {
        {JP_CAUSE_GPU_THERMAL, "throttle_thermal", "thermal slowdown"},
        {JP_CAUSE_GPU_POWER, "throttle_power", "its power limit"},
        {JP_CAUSE_GPU_POWER, "throttle_hardware", "slowdown by the hardware"},
    };
    struct jp_cause *clock = &found[JP_CAUSE_GPU_CLOCK];
    char who[200], since[40], text[sizeof(clock->text)];

    if (!(clock->strength > 0))
        return;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
        struct jp_cause *cause = &found[reasons[i].what];

        if (!(cause->strength > 0) ||
            strcmp(cause->metric, reasons[i].metric) != 0)
            continue;
        snprintf(text, sizeof(text),
                 "%s; its SM clock is %s (peers %s), reason: %s in %s of "
                 "samples%s",
                 say_who(subject, cause, who, sizeof(who)),
                 FIG(clock->value, clock->unit), FIG(clock->peers, clock->unit),
                 reasons[i].says, FIG(cause->value, cause->unit),
                 say_since(cause, since, sizeof(since)));
        snprintf(cause->text, sizeof(cause->text), "%s", text);
        /* the clock explains as much, whatever the share of samples is */
        cause->strength = fmax(cause->strength, clock->strength);
    }
}

void cause_say_look(const struct cause_subject *subject,
                    const struct jp_causes *causes, struct jp_cause_look *look)
{
    struct jp_sentence s;
    char list[300] = "", who[200];

    sentence_init(&s, look->why, sizeof(look->why));
    if (look->n) {
        sentence_add(&s, "%s", causes->at[look->first].text);
    } else {
        for (size_t i = 0; i < look->n_list; i++)
            snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
                     i ? ", " : "", look->list[i]);
        sentence_add(&s, "%s", say_who(subject, NULL, who, sizeof(who)));
        sentence_add(&s,
                     look->n_list
                         ? "nothing that was sampled is unlike its peers, "
                           "or unlike before: looked at %s"
                         : "why was not looked at: nothing of it was "
                           "sampled%s",
                     list);
    }
    if (look->shared)
        sentence_add(&s, "what its node and ports count was left out, as other "
                         "jobs may run there");
}
