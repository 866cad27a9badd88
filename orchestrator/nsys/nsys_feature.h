/* nsys_feature.h - the part of a report that exports of Nsight Systems have:
 * what feature_nsys is made of. */
#ifndef JP_NSYS_NSYS_FEATURE_H
#define JP_NSYS_NSYS_FEATURE_H

#include "orchestrator/feature/feature.h"
#include "orchestrator/insight/verdict.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/reasons.h"
#include "orchestrator/nsys/nsys.h"
#include "orchestrator/report/report.h"
#include "orchestrator/report/sections.h"

extern const struct feature feature_nsys;

/* nsys_events.c */
extern const struct feature_events nsys_events;

#define NSYS_FEATURE "nsys" /* its name */

/* The report's exports, or NULL. */
static inline const struct jp_nsys *nsys_of(const struct jp_report *report)
{
    return feature_data_of(report->features, NSYS_FEATURE);
}

/* --- nsys_judge.c --------------------------------------------------------- */

/* Rows with a last one without a name, or key. */
extern const struct jp_limit nsys_limits[];
extern const struct jp_reason_row nsys_reasons[];

/* The limits that decide what is short and small, which the reader needs
 * because it counts while it reads. */
struct jp_nsys_options nsys_options(void);

/* Adds findings and sorts all again, and answers the question of the GPUs'
 * time. data may be NULL: then that is not judged. */
void nsys_judge(const void *data, struct jp_result *result,
                struct jp_insight *insight);

/* Replaces a verdict about missing records of NCCL if nothing was profiled but
 * by nsys. */
void nsys_judge_alone(const void *data, const struct verdict_input *in,
                      bool alone, struct jp_verdict *verdict);

/* --- nsys_tables.c -------------------------------------------------------- */

extern const struct jp_table table_nsys_sums, table_nsys_ranks, table_nsys_gaps;
extern const struct jp_table *const tables_nsys[]; /* ends with NULL */
extern const struct jp_html_section nsys_sections[];
void nsys_report_json(struct jp_json_stream *s, const char *key,
                      const struct jp_report *report);
int nsys_report_text(const struct jp_report *report, FILE *out);

#endif
