/* verdict.h - one word and one sentence about a step.
 *
 * Words, worst first: HANG FAILED SLOW DEGRADED INCOMPLETE NODATA UNJUDGED OK.
 * HANG needs the last operations only, so it stands however much else is
 * missing; so does FAILED (a task died by itself, crash.h), which needs how the
 * tasks ended. Of both the word is the cause's: who died before the others
 * waited is why they did; who died behind a hang was ended by it, as by a
 * watchdog. SLOW (a rank or node made others wait) and DEGRADED (the network)
 * come from findings, which are drawn from complete data only. OK says that
 * late ranks were looked for and are not there (hypothesis.h); UNJUDGED that
 * nothing was found, but late ranks could not be looked for.
 */
#ifndef JP_INSIGHT_VERDICT_H
#define JP_INSIGHT_VERDICT_H

#include "common/jobconf.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/copper/copper.h"
#include "orchestrator/insight/insight.h"
#include "orchestrator/topo/steplabels.h"

const char *verdict_word_name(enum jp_verdict_word word);

struct jp_verdict {
    enum jp_verdict_word word;
    char text[400];  /* one sentence, no newline */
    double coverage; /* records / expected; < 0: unknown */
};

/* conf and nodes may be NULL (plain folders of logs); result may be NULL (no
 * input at all); insight NULL: no findings; analysed: false when a budget ran
 * out before the figures were there ("not yet analysed"). */
void verdict_decide(const struct jp_jobconf *conf, const struct jp_nodes *nodes,
                    const struct jp_result *result,
                    const struct jp_insight *insight, bool analysed,
                    struct jp_verdict *verdict);

/* A fault that a record proves makes an OK step DEGRADED: a GPU with fewer
 * NVLinks than its likes, and the nearest HCA's port down where the step's
 * nodes are unlike one another (where all are alike the site may have left the
 * port unplugged). Everything else is a finding only. Answers the question of
 * the topology, too. labels and hypotheses may be NULL. */
void topo_verdict_add(const struct jp_step_labels *labels,
                      struct jp_hypotheses *hypotheses,
                      struct jp_verdict *verdict);

/* Are figures missing: a rank that is not whole, a damaged table of paths? */
bool copper_verdict_incomplete(const struct jp_copper *copper);

/* Adds Copper's word and clauses to a verdict that was decided without. alone:
 * nothing else was to be profiled, so that the verdict is Copper's. A slow rank
 * makes it DEGRADED, missing figures INCOMPLETE; a worse word stays. copper may
 * be NULL: nothing changes. */
void copper_verdict_add(const struct jp_copper *copper, bool alone,
                        struct jp_verdict *verdict);

/* The same where Copper's profiles are there and could not be analysed. */
void copper_verdict_failed(const char *why, struct jp_verdict *verdict);

struct jp_doubt_text {
    const char *key;  /* in summary.json */
    const char *text; /* a clause */
};

/* By the number of the bit in enum jpr_doubt. */
extern const struct jp_doubt_text doubts_table[JP_DOUBTS];

#endif
