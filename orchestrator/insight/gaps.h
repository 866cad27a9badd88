/* gaps.h - name the missing data that could change an answer. */
#ifndef JP_INSIGHT_GAPS_H
#define JP_INSIGHT_GAPS_H

#include "orchestrator/insight/evidence.h"
#include "orchestrator/insight/sentence.h"

/* Adds one clause for each kind of gap, the weightiest first; none: nothing is
 * added. Needs a result. */
void gaps_list(const struct jp_evidence *e, struct jp_sentence *s);

/* Only the clause on files that stay in the user's own folder. */
void gaps_own_folder(const struct jp_evidence *e, struct jp_sentence *s);

/* Only the clause on nodes without a record. */
void gaps_nodes(const struct jp_evidence *e, struct jp_sentence *s);

#endif
