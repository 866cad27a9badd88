/* copper_verdict.c - Copper's word and clauses. */
#include "orchestrator/insight/copper_verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/sentence.h"

#define NAMED 2 /* findings of a kind that the sentence names */

bool copper_verdict_incomplete(const struct jp_copper *c)
{
    return c && (c->n_state[JP_COPPER_GOOD] < c->n_ranks || c->notes_bad ||
                 c->left_out_rows);
}

static bool is_slow(const struct jp_copper_finding *f)
{
    return !strcmp(f->kind, "copper_slow_rank");
}

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

static void say_totals(const struct jp_copper *c, struct jp_sentence *s)
{
    char of[48] = "";

    if (!c->n_counted) {
        sentence_add(s, "Copper: none of %zu rank%s can be counted", c->n_ranks,
                     sentence_s(c->n_ranks));
        return;
    }
    if (c->n_ops < c->n_counted)
        snprintf(of, sizeof(of), " (of %" PRIu32 " rank%s)", c->n_ops,
                 sentence_s(c->n_ops));
    sentence_add(s,
                 "Copper: %" PRIu32 " of %zu rank%s, %s operations, %s hits, "
                 "%s without start-up%s",
                 c->n_counted, c->n_ranks, sentence_s(c->n_ranks),
                 FIG_COUNT(c->total[COPPER_OPERATIONS]),
                 FIG_COUNT(c->total[COPPER_HITS]),
                 FIG_US((double) c->without_init_us), of);
}

static void say_paths(const struct jp_copper *c, struct jp_sentence *s)
{
    if (c->notes_bad)
        sentence_add(s, "Copper: %s damaged file%s of paths (first: %s)",
                     FIG_COUNT(c->notes_bad), sentence_s(c->notes_bad),
                     c->n_notes ? c->notes[0].what : "");
    if (c->left_out_rows)
        sentence_add(s, "Copper: paths of %s rows left out for memory",
                     FIG_COUNT(c->left_out_rows));
}

void copper_verdict_add(const struct jp_copper *c, bool alone,
                        struct jp_verdict *verdict)
{
    struct jp_sentence s = {verdict->text, sizeof(verdict->text), 1};
    enum jp_verdict_word word = JP_VERDICT_OK;

    if (!c)
        return;
    if (alone)
        sentence_init(&s, verdict->text, sizeof(verdict->text));
    if (say(c, true, &s))
        word = JP_VERDICT_DEGRADED;
    else if (!c->n_counted)
        word = JP_VERDICT_NODATA;
    else if (copper_verdict_incomplete(c))
        word = JP_VERDICT_INCOMPLETE;
    say_totals(c, &s);
    say(c, false, &s);
    say_paths(c, &s);
    if (alone || word < verdict->word)
        verdict->word = word;
}

void copper_verdict_failed(const char *why, struct jp_verdict *verdict)
{
    struct jp_sentence s = {verdict->text, sizeof(verdict->text), 1};

    sentence_add(&s, "Copper: not yet analysed: %s", why);
    if (JP_VERDICT_INCOMPLETE < verdict->word)
        verdict->word = JP_VERDICT_INCOMPLETE;
}
