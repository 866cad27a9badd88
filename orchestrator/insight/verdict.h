/* verdict.h - one word and one sentence about a step.
 *
 * Reports call verdict_make (verdict_make.c), which looks at all data. It
 * begins with verdict_decide (verdict.c), which looks at NCCL's records.
 *
 * Words, worst first: HANG FAILED SLOW DEGRADED INCOMPLETE NODATA UNJUDGED OK.
 * HANG needs the last operations only, and FAILED (a task died by itself,
 * insight.h) needs only how the tasks ended, so both hold whatever else is
 * missing. If both apply, the word is that of the cause: a task that died
 * before the others waited has made them wait; a task that died after the hang
 * began was ended by it, for example by a watchdog. SLOW (a rank or node made
 * others wait) and DEGRADED (the network) come from findings, which need
 * complete data. OK: late ranks were looked for, and there are none
 * (hypothesis.h). UNJUDGED: nothing was found, but late ranks could not be
 * looked for.
 */
#ifndef JP_INSIGHT_VERDICT_H
#define JP_INSIGHT_VERDICT_H

#include "common/jobconf.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/feature/feature.h"
#include "orchestrator/insight/expected.h"
#include "orchestrator/insight/insight.h"
#include "orchestrator/insight/reasons.h"
#include "orchestrator/topo/steplabels.h"

const char *verdict_word_name(enum jp_verdict_word word);

struct jp_verdict {
    enum jp_verdict_word word;
    char text[480];  /* one sentence, no newline */
    double coverage; /* records / expected; negative: unknown */
    bool runs;       /* the step has not ended: it is judged so far */
    bool may_run;    /* whether it has ended is not known */
    /* of NODATA, INCOMPLETE and UNJUDGED: why, the most certain reason first */
    struct jp_reasons why;
    /* what to look at, by these reasons; NULL ends a list of fewer */
    const char *checks[JP_PLAIN_CHECKS];
    /* figures of a feature (orchestrator/feature/) are missing, which a worse
     * word hides */
    bool part_incomplete;
};

/* Decides word and sentence. conf and nodes may be NULL (a plain folder of
 * logs), and so may result (no input at all) and insight (no findings).
 * analysed false: the time limit ended before there were figures ("not yet
 * analysed"). */
void verdict_decide(const struct jp_jobconf *conf, const struct jp_nodes *nodes,
                    const struct jp_result *result,
                    const struct jp_insight *insight, bool analysed,
                    struct jp_verdict *verdict);

struct jp_doubt_text {
    const char *key;  /* in summary.json */
    const char *text; /* a clause */
};

/* By bit number in enum jpr_doubt. */
extern const struct jp_doubt_text doubts_table[JP_DOUBTS];

/* --- verdict_make.c ----------------------------------------------------- */

/* What a verdict is made of. All pointers are borrowed, and each may be NULL.
 */
struct verdict_input {
    const struct jp_jobconf *conf; /* this and nodes: NULL for a folder of
                                      logs */
    const struct jp_nodes *nodes;
    const struct jp_result *result;
    const struct jp_insight *insight;
    struct jp_hypotheses *hypotheses; /* gets the answer about the topology */
    const struct jp_step_labels *labels;
    const struct feature_set *features;
    const char *found;  /* which kinds of files a folder holds; NULL: unknown */
    const char *advice; /* what to do with them; NULL: nothing is known */
    const char *step_dir; /* has the nodes' probes of clocks */
    bool analysed;        /* as in verdict_decide */
};

/* Decides the verdict on all data: by the records of NCCL (verdict_decide),
 * then by the others. If only one other kind of data was asked for, the verdict
 * is that of this kind. */
void verdict_make(const struct verdict_input *in, struct jp_verdict *verdict);

/* Makes an OK or UNJUDGED step DEGRADED if a record proves a fault: a GPU with
 * fewer NVLinks than its likes, or the nearest HCA's port down while the step's
 * nodes are unlike one another (if all are alike, the site may have left the
 * port unplugged). Everything else is a finding only. Also answers the question
 * of the topology. labels and hypotheses may be NULL. */
void topo_verdict_add(const struct jp_step_labels *labels,
                      struct jp_hypotheses *hypotheses,
                      struct jp_verdict *verdict);

/* Adds clauses of other data than NCCL's records ("a; b"). If word is worse than
 * the verdict's, the verdict gets it, with that reason (NULL: it needs none),
 * and the clauses come first: the short sentence (plain.c) is the first clause.
 * Otherwise they come last. */
void verdict_worsen(struct jp_verdict *verdict, enum jp_verdict_word word,
                    const char *clauses, const struct jp_reason_row *reason);

/* Replaces the reasons of a verdict by one, if the word is that reason's. */
void verdict_set_reason(struct jp_verdict *verdict,
                        const struct jp_reason_row *reason);

#endif
