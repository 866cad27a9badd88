/* flight_feature.h - the part of a report that dumps of PyTorch's Flight
 * Recorder have: what feature_flight is made of. */
#ifndef JP_FLIGHT_FLIGHT_FEATURE_H
#define JP_FLIGHT_FLIGHT_FEATURE_H

#include "orchestrator/feature/feature.h"
#include "orchestrator/flight/flight.h"
#include "orchestrator/insight/verdict.h"
#include "orchestrator/report/report.h"

extern const struct feature feature_flight;
#define FLIGHT_FEATURE "flight" /* its name */

/* The report's dumps, or NULL. */
static inline const struct jp_flight *flight_of(const struct jp_report *report)
{
    return feature_data_of(report->features, FLIGHT_FEATURE);
}

/* --- flight_hang.c -------------------------------------------------------- */

/* Adds what the dumps show: findings, and the hang of the result if its
 * recordings show none. To dumps that are evidence of a hang, only what they
 * know of a hang that was found otherwise: without one, the step went on.
 * result may be NULL. */
void flight_hang_judge(const void *data, struct jp_result *result,
                       struct jp_insight *insight);

/* --- flight_tables.c ------------------------------------------------------ */

extern const struct jp_table table_flight_ops, table_flight_dumps;
extern const struct jp_table *const tables_flight[]; /* ends with NULL */

#endif
