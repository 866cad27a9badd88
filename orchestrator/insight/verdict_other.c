/* verdict_other.c - verdicts from data other than records of NCCL: utilisation,
 * topology, and the features of the registry.
 *
 * verdict_make calls verdict_decide and then the functions of this file. Those
 * named *_alone replace the verdict of a step in which nothing else was asked
 * for; *_add adds to it and may make it worse.
 */
#include "orchestrator/insight/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/insight/limits.h"

void verdict_set_reason(struct jp_verdict *verdict, enum jp_reason reason)
{
    verdict->why = (struct jp_reasons){.n = 0};
    if (reasons_table[reason].word == verdict->word)
        reasons_add(&verdict->why, reason);
    reasons_checks(&verdict->why, verdict->checks);
}

/* --- nothing that a reader takes ----------------------------------------- */

/* Says what the input holds in place of data. */
static void say_found(const char *found, struct jp_verdict *verdict)
{
    struct jp_sentence s;

    if (verdict->word != JP_VERDICT_NODATA || !verdict->why.n ||
        verdict->why.of[0] != JP_REASON_NO_INPUT)
        return;
    sentence_init(&s, verdict->text, sizeof(verdict->text));
    sentence_add(&s, "the input holds nothing that can be read: %.200s",
                 *found ? found : "no file");
}

/* --- utilisation and clocks alone ----------------------------------------- */

/* Returns the largest number of samples of any series. */
static uint64_t samples_of(const struct jp_util *util)
{
    uint64_t most = 0;

    for (size_t i = 0; util && i < util->n_rows; i++)
        if (util->rows[i].samples > most)
            most = util->rows[i].samples;
    return most;
}

/* Replaces the verdict of a step with only what the node agent does by itself,
 * samples of utilisation and probes of clocks: UNJUDGED with samples or probes,
 * NODATA without, FAILED if a task died by itself. util NULL: no samples were
 * asked for. probed: nodes with probes of clocks; -1: none were asked for.
 * insight may be NULL. */
static void util_verdict_alone(const struct jp_util *util, bool sampled,
                               int probed, const struct jp_insight *insight,
                               struct jp_verdict *verdict)
{
    const struct jp_crash *crash =
        insight && insight->crash.cause ? &insight->crash : NULL;
    struct jp_sentence s;

    sentence_init(&s, verdict->text, sizeof(verdict->text));
    if (crash)
        sentence_add(&s, "%s", crash->text);
    if (samples_of(util) || probed > 0) {
        /* Never OK: without records of NCCL no late ranks were looked for. */
        verdict->word = JP_VERDICT_UNJUDGED;
        sentence_add(&s, "%s%s%s only: NCCL was not profiled",
                     samples_of(util) ? "utilisation" : "",
                     samples_of(util) && probed > 0 ? " and " : "",
                     probed > 0 ? "clocks" : "");
        if (samples_of(util) && (util->bad_files || util->cut_files))
            sentence_add(&s, "%s of %s files of samples are not whole",
                         FIG_COUNT(util->bad_files + util->cut_files),
                         FIG_COUNT(util->files));
    } else {
        verdict->word = JP_VERDICT_NODATA;
        sentence_add(&s, "no node left %s%s%s%s%s",
                     sampled ? "samples of utilisation" : "",
                     sampled && probed == 0 ? " or " : "",
                     probed == 0 ? "probes of clocks" : "",
                     util && *util->trouble ? ": " : "",
                     util ? util->trouble : "");
    }
    verdict_set_reason(verdict, verdict->word == JP_VERDICT_NODATA
                                    ? JP_REASON_NO_SAMPLES
                                    : JP_REASON_UTIL_ONLY);
    if (crash && crash_is_fault(crash)) {
        verdict->word = JP_VERDICT_FAILED;
        verdict->why.n = 0;
        reasons_checks(&verdict->why, verdict->checks);
    }
}

/* --- topology ------------------------------------------------------------- */

/* Returns the first warning of a kind; NULL: none. */
static const struct jp_step_warning *find(const struct jp_step_labels *labels,
                                          enum jp_warning_kind kind)
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
    const struct jp_step_warning *dead = find(labels, JP_WARN_DEAD_NVLINK);

    if (dead || !find(labels, JP_WARN_ODD_NODE))
        return dead;
    return find(labels, JP_WARN_HCA_DOWN);
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
    char rest[sizeof(verdict->text)];
    struct jp_sentence s;

    answer_topology(labels, fault, hypotheses);
    /* A worse verdict has its own sentence; the fault is a finding beside it.
     */
    if (!fault || verdict->word < JP_VERDICT_UNJUDGED)
        return;
    memcpy(rest, verdict->text, sizeof(rest));
    sentence_init(&s, verdict->text, sizeof(verdict->text));
    sentence_add(&s, "%s", fault->text);
    sentence_add(&s, "%s", rest);
    verdict->word = JP_VERDICT_DEGRADED;
    verdict->why = (struct jp_reasons){.n = 0};
    reasons_checks(&verdict->why, verdict->checks);
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

/* Returns the number of nodes with probes of clocks; -1: the step has none. */
static int count_probed(const struct verdict_input *in)
{
    int n = 0;

    if (!in->conf->clock_cadence_us)
        return -1;
    for (size_t i = 0; in->nodes && i < in->nodes->n_nodes; i++) {
        char *path =
            text_format("nodes/%s/clock.jsonl", in->nodes->nodes[i].name);

        n += path && stepdir_has(in->step_dir, path);
        free(path);
    }
    return n;
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
    const struct jp_jobconf *conf = in->conf;

    verdict_decide(conf, in->nodes, in->result, in->insight, in->analysed,
                   verdict);
    topo_verdict_add(in->labels, in->hypotheses, verdict);
    judge_features(in, FEATURE_PROFILE, verdict);
    /* only the agents' modules ran */
    if (conf && (conf->policy.util_period_ms || conf->clock_cadence_us) &&
        is_unprofiled(in))
        util_verdict_alone(in->util, conf->policy.util_period_ms > 0,
                           count_probed(in), in->insight, verdict);
    judge_features(in, FEATURE_FIGURES, verdict);
    judge_features(in, FEATURE_OPERATIONS, verdict);
    if (in->found)
        say_found(in->found, verdict);
    for (size_t i = 0; in->features && feature_registry[i]; i++)
        if (*in->features->trouble[i].text && feature_registry[i]->failed)
            feature_registry[i]->failed(in->features->trouble[i].text, verdict);
}
