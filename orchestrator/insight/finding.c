/* finding.c - a list of findings, and sentences of bounded length. */
#include "orchestrator/insight/finding.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/vector.h"
#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/insight/limits.h"

#define ABOUT(kind, word, verdict, question, help)                             \
    {word, JP_VERDICT_##verdict, JP_HYPOTHESIS_##question, help},
const struct jp_finding_about findings_about[] = {JP_FINDING_KINDS(ABOUT)};
const unsigned findings_kinds = JP_N_FINDINGS;

const char *finding_kind_name(enum jp_finding_kind kind)
{
    return findings_about[kind].word;
}

enum jp_verdict_word finding_verdict(const struct jp_finding *f)
{
    enum jp_verdict_word word = findings_about[f->kind].verdict;

    return word == JP_VERDICT_OK && f->cost_us > 0 ? JP_VERDICT_SLOW : word;
}

const char *const finding_gains[JP_GAINS] = {
    [JP_GAIN_REPLAYED] = "replayed",
    [JP_GAIN_PART] = "part",
    [JP_GAIN_BOUND] = "bound",
};

struct jp_finding *findings_add(struct jp_findings *list,
                                enum jp_finding_kind kind)
{
    struct jp_finding *more = VECTOR_DOUBLE_ADD(list->at, list->n);

    if (!more)
        return NULL;
    *more = (struct jp_finding){.kind = kind,
                                .comm = -1,
                                .rank = -1,
                                .world_rank = -1,
                                .pid = -1,
                                .process = -1,
                                .from_us = NAN,
                                .to_us = NAN,
                                .share = NAN,
                                .low = NAN,
                                .high = NAN,
                                .cost_us = NAN,
                                .of_run = NAN,
                                .gain = NAN,
                                .gain_last = NAN,
                                .gain_all = NAN,
                                .by_us = NAN,
                                .ratio = NAN};
    return more;
}

void findings_fini(struct jp_findings *list)
{
    free(list->at);
    *list = (struct jp_findings){0};
}

/* The interval is share +/- `interval_errors` standard errors, cut at 1. */
void finding_measure(struct jp_finding *f, double share, double error)
{
    double far = limits_get(JP_LIMIT_INTERVAL) * error;

    f->share = share;
    f->low = share - far;
    f->high = fmin(share + far, 1);
    if (!isfinite(f->low))
        f->low = f->high = NAN;
}

void finding_cost(const struct jp_findings *list, struct jp_finding *f,
                  double cost_us)
{
    f->cost_us = cost_us;
    f->of_run = list->gpus_us > 0 ? fmin(cost_us / list->gpus_us, 1) : NAN;
    f->at_least = list->part;
    f->paused = list->paused;
}

const char *finding_bound(const struct jp_finding *f)
{
    return f->at_least ? "at least " : f->at_most ? "up to " : "";
}

const char *finding_run(const struct jp_finding *f)
{
    return f->paused ? "the recorded time" : "the run";
}

char *finding_loss(const struct jp_finding *f, char buf[JP_FINDING_LOSS])
{
    char run[JP_FIGURE_LEN + 16] = "";

    if (isfinite(f->of_run))
        snprintf(run, sizeof(run), ", %s of %s", FIG_SHARE(f->of_run),
                 finding_run(f));
    snprintf(buf, JP_FINDING_LOSS, "%s%s of GPU time%s, %s of communication",
             finding_bound(f), FIG_US(f->cost_us), run, FINDING_SHARE(f));
    return buf;
}

static double scale_share(double share, double factor)
{
    return isfinite(share) ? fmin(share * factor, 1) : share;
}

void finding_recost(const struct jp_findings *list, struct jp_finding *f,
                    double cost_us, double factor)
{
    char before[JP_FINDING_LOSS], rest[sizeof(f->text)];
    char *at = strstr(f->text, finding_loss(f, before));
    size_t used;

    f->share = scale_share(f->share, factor);
    f->low = scale_share(f->low, factor);
    f->high = scale_share(f->high, factor);
    finding_cost(list, f, cost_us);
    f->at_most = f->at_most && f->by_own_time; /* a replay has no wait twice */
    if (!at)
        return;
    snprintf(rest, sizeof(rest), "%s", at + strlen(before));
    used = (size_t) (at - f->text);
    snprintf(at, sizeof(f->text) - used, "%s%s", FINDING_LOSS(f), rest);
}

/* times of `of` is "13 of 15 operations"; what it counts depends on the kind.
 */
void finding_count(struct jp_finding *f, double by_us, uint64_t times,
                   uint64_t of)
{
    f->by_us = by_us;
    f->times = times;
    f->of = of;
}

char *finding_share(const struct jp_finding *f, char buf[JP_FINDING_SHARE])
{
    if (isfinite(f->low))
        snprintf(buf, JP_FINDING_SHARE, "%s (%.1f to %.1f)",
                 FIG_SHARE(f->share), 100 * f->low, 100 * f->high);
    else
        snprintf(buf, JP_FINDING_SHARE, "%s", FIG_SHARE(f->share));
    return buf;
}

/* Returns the order within a kind: what the finding costs. Unknown costs count
 * as none. */
static double weight(const struct jp_finding *f)
{
    return isfinite(f->cost_us) ? f->cost_us : 0;
}

void findings_drop_doubtful(struct jp_findings *list)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->n; i++)
        if (!(list->at[i].low <= 0))
            list->at[kept++] = list->at[i];
    list->n = kept;
}

/* Returns the place of a kind in the report. What the program's own uneven work
 * costs is in one place, so that the larger part comes first. */
static unsigned place_of(const struct jp_finding *f)
{
    return f->kind == JP_FINDING_TURNS ? JP_FINDING_IMBALANCE : f->kind;
}

bool findings_has_late(const struct jp_findings *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i].kind == JP_FINDING_LATE_RANK ||
            list->at[i].kind == JP_FINDING_LATE_NODE)
            return true;
    return false;
}

void findings_sort(struct jp_findings *list)
{
    /* Insertion sort, which is stable: findings are few, and equal ones keep
     * the order in which they were found. */
    for (size_t i = 1; i < list->n; i++) {
        struct jp_finding f = list->at[i];
        size_t k = i;

        for (; k > 0 && (place_of(&list->at[k - 1]) > place_of(&f) ||
                         (place_of(&list->at[k - 1]) == place_of(&f) &&
                          weight(&list->at[k - 1]) < weight(&f)));
             k--)
            list->at[k] = list->at[k - 1];
        list->at[k] = f;
    }
}

/* --- sentences ----------------------------------------------------------- */

void sentence_init(struct jp_sentence *sentence, char *buf, size_t size)
{
    *sentence = (struct jp_sentence){.buf = buf, .size = size};
    buf[0] = '\0';
}

/* Replaces the end by "...", without cutting a UTF-8 character in two. */
static void end_in_dots(char *buf, size_t size)
{
    size_t at = size - 4;

    while (at > 0 && ((unsigned char) buf[at] & 0xc0) == 0x80)
        at--;
    memcpy(buf + at, "...", 4);
}

/* Appends at the current end of the text. A sentence that was cut before stays
 * as it is, since no room is left. */
void sentence_add(struct jp_sentence *sentence, const char *fmt, ...)
{
    size_t len = strlen(sentence->buf);
    char *at = sentence->buf + len;
    size_t room = sentence->size - len;
    va_list ap;
    int n = 0;

    if (sentence->clauses++ > 0) {
        n = snprintf(at, room, "; ");
        if ((size_t) n >= room) {
            end_in_dots(sentence->buf, sentence->size);
            return;
        }
        at += n;
        room -= (size_t) n;
    }
    va_start(ap, fmt);
    n = vsnprintf(at, room, fmt, ap);
    va_end(ap);
    if (n < 0)
        *at = '\0';
    else if ((size_t) n >= room)
        end_in_dots(sentence->buf, sentence->size);
    /* Names of files and communicators are foreign text: a newline must not
     * forge a line of the report. */
    for (unsigned char *c = (unsigned char *) at; *c; c++)
        if (*c < 0x20 || *c == 0x7f)
            *c = '?';
}
