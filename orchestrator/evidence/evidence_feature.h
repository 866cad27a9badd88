/* evidence_feature.h - the part of a report that the evidence of a hang has:
 * what stuck processes looked like. */
#ifndef JP_EVIDENCE_EVIDENCE_FEATURE_H
#define JP_EVIDENCE_EVIDENCE_FEATURE_H

#include "orchestrator/evidence/hangstacks.h"
#include "orchestrator/feature/feature.h"
#include "orchestrator/report/report.h"

extern const struct feature feature_evidence;
#define EVIDENCE_FEATURE "hang" /* its name */

/* The report's evidence, or NULL. */
static inline const struct hangstacks *
evidence_of(const struct jp_report *report)
{
    return feature_data_of(report->features, EVIDENCE_FEATURE);
}

/* --- evidence_tables.c ---------------------------------------------------- */

extern const struct jp_table *const tables_evidence[]; /* ends with NULL */
/* Without the parts that were tried: summary.txt shows those that failed. */
extern const struct jp_table *const tables_evidence_text[];

#endif
