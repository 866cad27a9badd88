/* util_feature.h - the part of a report that samples of utilisation have.
 *
 * Two features read the samples: this one shows them, cause_feature.h looks in
 * them for what was unusual while the step was delayed. */
#ifndef JP_UTIL_UTIL_FEATURE_H
#define JP_UTIL_UTIL_FEATURE_H

#include "orchestrator/feature/feature.h"
#include "orchestrator/insight/verdict.h"
#include "orchestrator/report/report.h"
#include "orchestrator/report/table.h"
#include "orchestrator/util/samples.h"
#include "orchestrator/util/util.h"

extern const struct feature feature_util;
#define UTIL_FEATURE "util" /* its name */

/* Its data: the summary of each series, and the same over time. */
struct util_data {
    struct jp_util *util;
    struct samples samples;    /* no slices: the course is not known */
    struct jp_error over_time; /* why; "": none */
};

/* The samples among the data of features, or NULL. */
static inline const struct util_data *
util_data_of(const struct feature_set *features)
{
    return feature_data_of(features, UTIL_FEATURE);
}

/* The report's series, or NULL. */
static inline const struct jp_util *util_of(const struct jp_report *report)
{
    const struct util_data *data = util_data_of(report->features);

    return data ? data->util : NULL;
}

/* The samples over time, or NULL. */
static inline const struct samples *
samples_of(const struct feature_set *features)
{
    const struct util_data *data = util_data_of(features);

    return data && data->samples.n_slices ? &data->samples : NULL;
}

/* util_charts.c; ends with NULL. */
extern const struct jp_chart *const util_charts[];

/* Sets the value of a JP_COL_FIGURE: a figure of utilisation with its unit.
 * NaN: unknown. */
static inline void value_measure(struct jp_value *v, enum util_unit unit,
                                 double value)
{
    value_name(v, value == value ? util_figure(unit, value, v->buf) : NULL);
    v->real = value;
}

#endif
