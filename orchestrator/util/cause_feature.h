/* cause_feature.h - the part of a report that was derived from samples and
 * operations: causes of findings, the pace of the program's loop, and what
 * limits the job. */
#ifndef JP_UTIL_CAUSE_FEATURE_H
#define JP_UTIL_CAUSE_FEATURE_H

#include "orchestrator/util/cause.h"
#include "orchestrator/feature/feature.h"
#include "orchestrator/report/report.h"

extern const struct feature feature_cause;
#define CAUSE_FEATURE "cause" /* its name */

struct cause_data {
    struct jp_causes *causes; /* NULL: nothing was sampled */
    struct jp_iteration iteration;
    struct jp_bottlenecks bottlenecks;
};

static inline const struct cause_data *
cause_data_of(const struct jp_report *report)
{
    return feature_data_of(report->features, CAUSE_FEATURE);
}

/* The causes of the report's findings; NULL: no samples. */
static inline const struct jp_causes *causes_of(const struct jp_report *report)
{
    const struct cause_data *data = cause_data_of(report);

    return data ? data->causes : NULL;
}

/* NULL: iterations were not looked for. */
static inline const struct jp_iteration *
iteration_of(const struct jp_report *report)
{
    const struct cause_data *data = cause_data_of(report);

    return data ? &data->iteration : NULL;
}

/* NULL: bottlenecks were not looked for. */
static inline const struct jp_bottlenecks *
bottlenecks_of(const struct jp_report *report)
{
    const struct cause_data *data = cause_data_of(report);

    return data ? &data->bottlenecks : NULL;
}

/* cause_feature.c, for the documents */
extern const struct jp_table table_bottlenecks, table_iteration;

/* cause_tables.c */
extern const struct jp_table table_causes;

#endif
