/* verdict.h - one word and one sentence about a step.
 *
 * Words, worst first: HANG SLOW DEGRADED INCOMPLETE NODATA OK. HANG needs the
 * last operations only, so it stands however much else is missing; SLOW (a rank
 * or node made others wait) and DEGRADED (the network) come from findings,
 * which are drawn from complete data only.
 */
#ifndef JP_INSIGHT_VERDICT_H
#define JP_INSIGHT_VERDICT_H

#include "common/jobconf.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/insight/insight.h"

enum jp_verdict_word {
    JP_VERDICT_HANG,
    JP_VERDICT_SLOW,
    JP_VERDICT_DEGRADED,
    JP_VERDICT_INCOMPLETE,
    JP_VERDICT_NODATA,
    JP_VERDICT_OK
};
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

#endif
