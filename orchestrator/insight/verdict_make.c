/* verdict_make.c - the verdict on all data of a step.
 *
 * verdict_make takes the verdict on NCCL's records (verdict_decide) and goes
 * through the other data: topology, and the features of the registry. Those may
 * make it worse (verdict_worsen). Functions named *_alone replace it, where
 * nothing else was asked for.
 */
#include "orchestrator/insight/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/insight/limits.h"

void verdict_set_reason(struct jp_verdict *verdict,
                        const struct jp_reason_row *reason)
{
    verdict->why = (struct jp_reasons){.n = 0};
    if (reason->word == verdict->word)
        reasons_add_row(&verdict->why, reason);
    reasons_checks(&verdict->why, verdict->checks);
}

void verdict_worsen(struct jp_verdict *verdict, enum jp_verdict_word word,
                    const char *clauses, const struct jp_reason_row *reason)
{
    bool is_worse = word < verdict->word;
    char rest[sizeof(verdict->text)];
    struct jp_sentence s;

    memcpy(rest, verdict->text, sizeof(rest));
    sentence_init(&s, verdict->text, sizeof(verdict->text));
    if (is_worse)
        sentence_add(&s, "%s", clauses);
    if (*rest)
        sentence_add(&s, "%s", rest);
    if (!is_worse) {
        sentence_add(&s, "%s", clauses);
        return;
    }
    verdict->word = word;
    if (reason) {
        verdict_set_reason(verdict, reason);
        return;
    }
    verdict->why = (struct jp_reasons){.n = 0};
    reasons_checks(&verdict->why, verdict->checks);
}

/* --- nothing that a reader takes ----------------------------------------- */

/* Sets the sentence on what the input holds in place of data. If it holds no
 * file, the sentence says what was left out, such as a symbolic link. */
static void say_found(const struct verdict_input *in,
                      struct jp_verdict *verdict)
{
    const struct jp_result *r = in->result;
    const char *found = in->found;
    const struct jp_file_note *note =
        r && r->quality.n_notes ? &r->quality.notes[0] : NULL;
    struct jp_sentence s;

    if (verdict->word != JP_VERDICT_NODATA || !verdict->why.n ||
        verdict->why.of[0] != &reasons_table[JP_REASON_NO_INPUT])
        return;
    sentence_init(&s, verdict->text, sizeof(verdict->text));
    if (!*found && note)
        sentence_add(&s,
                     "the input holds nothing that can be read: no file "
                     "(%.80s: %.60s)",
                     note->path, note->what);
    else
        sentence_add(&s, "the input holds nothing that can be read: %.200s",
                     *found ? found : "no file");
    if (!in->advice)
        return;
    memmove(verdict->checks + 1, verdict->checks,
            (JP_PLAIN_CHECKS - 1) * sizeof(*verdict->checks));
    verdict->checks[0] = in->advice;
}

/* --- figures alone, such as utilisation and clocks ------------------------ */

/* A list of kinds of data that exist, or that were asked for: "utilisation and
 * clocks". */
struct figures_list {
    char text[200];
    size_t n;
};

static void add_figures(struct figures_list *list, const char *noun,
                        const char *between)
{
    size_t len = strlen(list->text);

    snprintf(list->text + len, sizeof(list->text) - len, "%s%s",
             list->n++ ? between : "", noun);
}

/* Replaces the verdict of a step with only figures that the nodes' agents take
 * by themselves, such as samples of utilisation: UNJUDGED with some, NODATA
 * without, FAILED if a task died by itself. */
static void judge_figures_alone(const struct verdict_input *in,
                                struct jp_verdict *verdict)
{
    const struct jp_crash *crash =
        in->insight && in->insight->crash.cause ? &in->insight->crash : NULL;
    struct figures_list there = {.n = 0}, asked = {.n = 0};
    const char *trouble = "";
    char gaps[FEATURE_GAPS] = "";
    struct jp_sentence s;

    for (size_t i = 0; feature_registry[i]; i++) {
        struct feature_figures figures = {.asked = false};

        if (!feature_registry[i]->figures)
            continue;
        feature_registry[i]->figures(
            feature_data(in->features, feature_registry[i]), in, &figures);
        if (figures.there)
            add_figures(&there, figures.noun, " and ");
        if (figures.asked)
            add_figures(&asked, figures.of, " or ");
        if (figures.trouble && !*trouble)
            trouble = figures.trouble;
        if (figures.there && !*gaps)
            snprintf(gaps, sizeof(gaps), "%s", figures.gaps);
    }
    if (!asked.n)
        return;
    sentence_init(&s, verdict->text, sizeof(verdict->text));
    if (crash)
        sentence_add(&s, "%s", crash->text);
    if (there.n) {
        /* Never OK: without records of NCCL no late ranks were looked for. */
        verdict->word = JP_VERDICT_UNJUDGED;
        sentence_add(&s, "%s only: NCCL was not profiled", there.text);
        if (*gaps)
            sentence_add(&s, "%s", gaps);
    } else {
        verdict->word = JP_VERDICT_NODATA;
        sentence_add(&s, "no node left %s%s%s", asked.text,
                     *trouble ? ": " : "", trouble);
    }
    verdict_set_reason(verdict,
                       &reasons_table[verdict->word == JP_VERDICT_NODATA
                                          ? JP_REASON_NO_SAMPLES
                                          : JP_REASON_FIGURES_ONLY]);
    if (crash && crash_is_fault(crash)) {
        verdict->word = JP_VERDICT_FAILED;
        verdict->why.n = 0;
        reasons_checks(&verdict->why, verdict->checks);
    }
}

/* --- topology ------------------------------------------------------------- */

/* Returns the first warning of a kind; NULL: none. */
static const struct jp_step_warning *
find_warning(const struct jp_step_labels *labels, enum jp_warning_kind kind)
{
    for (size_t i = 0; i < labels->n_warnings; i++)
        if (labels->warnings[i].kind == kind)
            return &labels->warnings[i];
    return NULL;
}

/* Returns a warning that proves a fault; NULL: none. A port that is down proves
 * one only if nodes are unlike each other: a site may leave a port unplugged on
 * all of them. */
static const struct jp_step_warning *
find_fault(const struct jp_step_labels *labels)
{
    const struct jp_step_warning *dead =
        find_warning(labels, JP_WARN_DEAD_NVLINK);

    if (dead || !find_warning(labels, JP_WARN_ODD_NODE))
        return dead;
    return find_warning(labels, JP_WARN_HCA_DOWN);
}

/* Answers the question of the topology. labels NULL: no node left any. */
static void answer_topology(const struct jp_step_labels *labels,
                            const struct jp_step_warning *fault,
                            struct jp_hypotheses *h)
{
    if (fault)
        hypothesis_set(h, JP_HYPOTHESIS_TOPOLOGY, JP_HYPOTHESIS_FOUND, 1, "%s",
                       fault->text);
    else if (labels)
        hypothesis_set(h, JP_HYPOTHESIS_TOPOLOGY, JP_HYPOTHESIS_NOT_FOUND, 1,
                       NULL);
    else
        hypothesis_set(h, JP_HYPOTHESIS_TOPOLOGY, JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "no node left a topology");
}

void topo_verdict_add(const struct jp_step_labels *labels,
                      struct jp_hypotheses *hypotheses,
                      struct jp_verdict *verdict)
{
    const struct jp_step_warning *fault = labels ? find_fault(labels) : NULL;

    answer_topology(labels, fault, hypotheses);
    /* A worse verdict has its own sentence; the fault is a finding beside it.
     */
    if (!fault || verdict->word < JP_VERDICT_UNJUDGED)
        return;
    verdict_worsen(verdict, JP_VERDICT_DEGRADED, fault->text, NULL);
}

/* --- all kinds of data ---------------------------------------------------- */

/* Whether there is no NCCL log, and none was asked for. */
static bool is_without_nccl(const struct verdict_input *in)
{
    const char *mode = in->conf ? in->conf->nccl_mode : NULL;

    return (!in->result || !in->result->quality.files) &&
           (!mode || !*mode || !strcmp(mode, "off"));
}

/* Whether neither NCCL nor a feature of the registry was profiled. False if the
 * time limit has ended before this was known. */
static bool is_unprofiled(const struct verdict_input *in)
{
    return is_without_nccl(in) && !feature_known(in->features) &&
           !feature_asked(in->conf) && in->analysed;
}

/* Adds the data of features with this role. */
static void judge_features(const struct verdict_input *in,
                           enum feature_role role, struct jp_verdict *verdict)
{
    bool alone = role == FEATURE_FIGURES ? is_unprofiled(in)
                                         : is_without_nccl(in);

    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->judge && feature_registry[i]->role == role)
            feature_registry[i]->judge(
                feature_data(in->features, feature_registry[i]), in, alone,
                verdict);
}

void verdict_make(const struct verdict_input *in, struct jp_verdict *verdict)
{
    verdict_decide(in->conf, in->nodes, in->result, in->insight, in->analysed,
                   verdict);
    topo_verdict_add(in->labels, in->hypotheses, verdict);
    judge_features(in, FEATURE_PROFILE, verdict);
    /* only the agents' modules ran */
    if (is_unprofiled(in))
        judge_figures_alone(in, verdict);
    judge_features(in, FEATURE_FIGURES, verdict);
    judge_features(in, FEATURE_OPERATIONS, verdict);
    if (in->found)
        say_found(in, verdict);
    for (size_t i = 0; in->features && feature_registry[i]; i++)
        if (*in->features->trouble[i].text && feature_registry[i]->failed)
            feature_registry[i]->failed(in->features->trouble[i].text, verdict);
}
