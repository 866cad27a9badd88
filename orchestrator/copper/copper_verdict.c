/* copper_verdict.c - what Copper's profiles add to the verdict of a step. */
#include "orchestrator/copper/copper_feature.h"

#include <stdio.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/finding.h"

enum { REASON_NONE, REASON_PART, REASON_LATER, REASON_FEW, N_REASONS };
const struct jp_reason_row copper_reasons[N_REASONS + 1] = {
    [REASON_NONE] = {JP_REASON_OF("no_copper", NODATA),
                     .situation = "no rank of Copper can be counted",
                     .command = {"jobprof doctor", false, false}},

    [REASON_PART] = {JP_REASON_OF("copper_part", INCOMPLETE),
                     .situation = "figures of Copper are missing",
                     .checks = {"Did every rank leave its profile of "
                                "Copper?"}},
    [REASON_LATER] =
        {JP_REASON_OF("copper_later", INCOMPLETE),
         .command = {"jobprof report", false, true},
         .situation = "profiles of Copper could not be analysed",
         .checks = {"Run jobprof report again: Copper's profiles were not "
                    "analysed."}},
    [REASON_FEW] = {JP_REASON_OF("copper_few", UNJUDGED),
                    .situation = "too few ranks of a level of "
                                 "Copper's tree"},
};

#define NAMED 2 /* findings of a kind named in the sentence */

/* Returns true if figures are missing: a rank is incomplete, or a table of
 * paths is damaged. */
static bool is_incomplete(const struct jp_copper *c)
{
    /* a rank counts as good if its profile is complete */
    return c->n_state[JP_COPPER_GOOD] < c->n_ranks || c->notes_bad ||
           c->left_out_rows;
}

/* Returns true for a finding on a slow rank. */
static bool is_slow(const struct jp_copper_finding *f)
{
    return !strcmp(f->kind, "copper_slow_rank");
}

/* Adds Copper's findings on slow ranks, or the others. Returns their number. */
static size_t say(const struct jp_copper *c, bool slow, struct jp_sentence *s)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_findings; i++)
        if (is_slow(&c->findings[i]) == slow && n++ < NAMED)
            sentence_add(s, "Copper: %s", c->findings[i].text);
    if (n > NAMED)
        sentence_add(s, "and %s more", FIG_COUNT(n - NAMED));
    return n;
}

/* Adds how much the counted ranks have done. `of` is there if not all of them
 * have counts of operations. */
static void say_totals(const struct jp_copper *c, struct jp_sentence *s)
{
    char of[48] = "";

    if (!c->n_counted) {
        sentence_add(s, "Copper: none of %s rank%s can be counted",
                     FIG_COUNT(c->n_ranks), plural(c->n_ranks));
        return;
    }
    if (c->n_ops < c->n_counted)
        snprintf(of, sizeof(of), " (of %s rank%s)", FIG_COUNT(c->n_ops),
                 plural(c->n_ops));
    sentence_add(s,
                 "Copper: %s of %s rank%s, %s operations, %s hits, "
                 "%s without start-up%s",
                 FIG_COUNT(c->n_counted), FIG_COUNT(c->n_ranks),
                 plural(c->n_ranks), FIG_COUNT(c->total[COPPER_OPERATIONS]),
                 FIG_COUNT(c->total[COPPER_HITS]),
                 FIG_US((double) c->without_init_us), of);
}

/* Adds what is missing of the tables of paths. */
static void say_paths(const struct jp_copper *c, struct jp_sentence *s)
{
    if (c->notes_bad)
        sentence_add(s, "Copper: %s damaged file%s of paths (first: %s)",
                     FIG_COUNT(c->notes_bad), plural(c->notes_bad),
                     c->n_notes ? c->notes[0].what : "");
    if (c->left_out_rows)
        sentence_add(s, "Copper: paths of %s rows left out for memory",
                     FIG_COUNT(c->left_out_rows));
}

void copper_verdict_add(const struct jp_copper *c, bool alone,
                        struct jp_verdict *verdict)
{
    /* The text may already have clauses, so a clause begins with "; ". */
    struct jp_sentence s = {verdict->text, sizeof(verdict->text), 1};
    enum jp_verdict_word word = JP_VERDICT_OK;

    if (!c)
        return;
    if (alone)
        sentence_init(&s, verdict->text, sizeof(verdict->text));
    verdict->part_incomplete = is_incomplete(c);
    if (say(c, true, &s))
        word = JP_VERDICT_DEGRADED;
    else if (!c->n_counted)
        word = JP_VERDICT_NODATA;
    else if (verdict->part_incomplete)
        word = JP_VERDICT_INCOMPLETE;
    else if (alone && c->unjudged >= c->n_counted)
        word = JP_VERDICT_UNJUDGED;
    if (word == JP_VERDICT_UNJUDGED)
        sentence_add(&s, "slow ranks could not be judged: too few ranks of "
                         "one level of Copper's tree to compare");
    say_totals(c, &s);
    say(c, false, &s);
    say_paths(c, &s);
    /* Words are sorted, worst first: a worse verdict stays. */
    if (alone || word < verdict->word) {
        verdict->word = word;
        verdict_set_reason(
            verdict,
            &copper_reasons[word == JP_VERDICT_NODATA       ? REASON_NONE
                            : word == JP_VERDICT_INCOMPLETE ? REASON_PART
                                                            : REASON_FEW]);
    }
}

void copper_verdict_failed(const char *why, struct jp_verdict *verdict)
{
    struct jp_sentence s = {verdict->text, sizeof(verdict->text), 1};

    sentence_add(&s, "Copper: not yet analysed: %s", why);
    if (JP_VERDICT_INCOMPLETE < verdict->word) {
        verdict->word = JP_VERDICT_INCOMPLETE;
        verdict_set_reason(verdict, &copper_reasons[REASON_LATER]);
    }
}
