/* evidence.h - what a verdict is based on. All pointers are borrowed; any may
 * be NULL. */
#ifndef JP_INSIGHT_EVIDENCE_H
#define JP_INSIGHT_EVIDENCE_H

#include <stdbool.h>

#include "common/jobconf.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/insight/expected.h"
#include "orchestrator/insight/sentence.h"

struct jp_evidence {
    const struct jp_jobconf *conf;
    const struct jp_nodes *nodes;
    const struct jp_result *result;
    bool analysed; /* false: the time limit ended before there were figures */
    struct jp_expected expected; /* of result */
};

/* --- which data is missing (expected.c) --- */

/* Adds one clause for each kind of gap, the most important first. Adds nothing
 * if there is no gap. Needs a result. */
void gaps_list(const struct jp_evidence *e, struct jp_sentence *s);

/* Adds only the clause on files that stay in the user's own folder. */
void gaps_own_folder(const struct jp_evidence *e, struct jp_sentence *s);

/* Adds only the clause on nodes without a record. */
void gaps_nodes(const struct jp_evidence *e, struct jp_sentence *s);

#endif
