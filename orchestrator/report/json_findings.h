/* json_findings.h - findings in summary.json. */
#ifndef JP_REPORT_JSON_FINDINGS_H
#define JP_REPORT_JSON_FINDINGS_H

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/insight/insight.h"
#include "orchestrator/report/json_out.h"

/* Appends insight's findings, worst first; insight may be NULL: none. */
void json_findings_put(struct jp_json *json, json_t *findings,
                       const struct jp_result *result,
                       const struct jp_insight *insight);

/* Sets lateness in root, an empty list without insight. */
void json_findings_lateness(struct jp_json *json, json_t *root,
                            const struct jp_result *result,
                            const struct jp_insight *insight);

#endif
