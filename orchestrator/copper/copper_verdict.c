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
static size_t add_findings(const struct jp_copper *c, bool slow,
                           struct jp_sentence *s)
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
static void add_totals(const struct jp_copper *c, struct jp_sentence *s)
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
static void add_paths(const struct jp_copper *c, struct jp_sentence *s)
{
    if (c->notes_bad)
        sentence_add(s, "Copper: %s damaged file%s of paths (first: %s)",
                     FIG_COUNT(c->notes_bad), plural(c->notes_bad),
                     c->n_notes ? c->notes[0].what : "");
    if (c->left_out_rows)
        sentence_add(s, "Copper: paths of %s rows left out for memory",
                     FIG_COUNT(c->left_out_rows));
}

/* Returns the word that Copper's data alone would have. */
static enum jp_verdict_word word_of(const struct jp_copper *c, bool has_slow,
                                    bool alone)
{
    if (has_slow)
        return JP_VERDICT_DEGRADED;
    if (!c->n_counted)
        return JP_VERDICT_NODATA;
    if (is_incomplete(c))
        return JP_VERDICT_INCOMPLETE;
    return alone && c->unjudged >= c->n_counted ? JP_VERDICT_UNJUDGED
                                                : JP_VERDICT_OK;
}

static const struct jp_reason_row *reason_of(enum jp_verdict_word word)
{
    return &copper_reasons[word == JP_VERDICT_NODATA       ? REASON_NONE
                           : word == JP_VERDICT_INCOMPLETE ? REASON_PART
                                                           : REASON_FEW];
}

void copper_verdict_add(const struct jp_copper *c, bool alone,
                        struct jp_verdict *verdict)
{
    char clauses[sizeof(verdict->text)];
    enum jp_verdict_word word;
    struct jp_sentence s;

    if (!c)
        return;
    verdict->part_incomplete = is_incomplete(c);
    sentence_init(&s, clauses, sizeof(clauses));
    word = word_of(c, add_findings(c, true, &s) > 0, alone);
    if (word == JP_VERDICT_UNJUDGED)
        sentence_add(&s, "slow ranks could not be judged: too few ranks of "
                         "one level of Copper's tree to compare");
    add_totals(c, &s);
    add_findings(c, false, &s);
    add_paths(c, &s);
    if (!alone) {
        verdict_worsen(verdict, word, clauses, reason_of(word));
        return;
    }
    memcpy(verdict->text, clauses, sizeof(clauses));
    verdict->word = word;
    verdict_set_reason(verdict, reason_of(word));
}

void copper_verdict_failed(const char *why, struct jp_verdict *verdict)
{
    char clause[sizeof(verdict->text)];

    snprintf(clause, sizeof(clause), "Copper: not yet analysed: %s", why);
    verdict_worsen(verdict, JP_VERDICT_INCOMPLETE, clause,
                   &copper_reasons[REASON_LATER]);
}
