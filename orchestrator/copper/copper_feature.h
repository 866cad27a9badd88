/* copper_feature.h - Copper's part of a report: what feature_copper is made of.
 */
#ifndef JP_COPPER_COPPER_FEATURE_H
#define JP_COPPER_COPPER_FEATURE_H

#include "orchestrator/copper/copper.h"
#include "orchestrator/feature/feature.h"
#include "orchestrator/insight/verdict.h"
#include "orchestrator/report/report.h"
#include "orchestrator/report/sections.h"
#include "orchestrator/report/tables.h"

extern const struct feature feature_copper;
#define COPPER_FEATURE "copper" /* its name */

/* The report's profiles of Copper, or NULL. */
static inline const struct jp_copper *copper_of(const struct jp_report *report)
{
    return feature_data_of(report->features, COPPER_FEATURE);
}

/* --- verdict (copper_verdict.c) ------------------------------------------- */

/* Its reasons; the last row has no key. */
extern const struct jp_reason_row copper_reasons[];

/* Adds Copper's findings to a verdict. alone: nothing else was profiled, so the
 * verdict is Copper's. A slow rank makes it DEGRADED, missing figures
 * INCOMPLETE; a worse verdict stays. copper NULL: nothing changes. */
void copper_verdict_add(const struct jp_copper *copper, bool alone,
                        struct jp_verdict *verdict);
/* Adds that Copper's profiles could not be analysed, and why. */
void copper_verdict_failed(const char *why, struct jp_verdict *verdict);

/* --- files of a report (copper_report.c, copper_html.c, copper_proof.c) ----
 */

void copper_report_json(struct jp_json_stream *s, const char *key,
                        const struct jp_report *report);
void copper_report_findings(struct jp_json_stream *s,
                            const struct jp_report *report);
int copper_report_text(const struct jp_report *report, FILE *out);
/* Writes the rows of csv/copper_totals.csv. Returns 0. */
int copper_report_totals(struct jp_csv *csv, const struct jp_report *report,
                         const struct jp_table *table);
/* Writes <dir>/copper_paths/: the lists of Copper's path usage tool under the
 * same names, one path per line. Only if observed paths were compared with the
 * file system. */
int copper_report_lists(const struct jp_report *report, const char *dir,
                        struct jp_error *err);
/* Ends with NULL. */
extern const struct jp_chart *const copper_charts[];
extern const struct jp_chart chart_copper_ranks, chart_copper_series;
int copper_html(const struct jp_report *report, FILE *out);
int copper_proof(const struct jp_report *report, FILE *out);

/* --- tables --------------------------------------------------------------- */

/* Tables of a Copper cache (copper_tables.c); no rows without profiles. */
extern const struct jp_table table_copper_totals, table_copper_operations,
    table_copper_ranks, table_copper_ranges, table_copper_outliers,
    table_copper_classes, table_copper_paths, table_copper_roots,
    table_copper_cache, table_copper_series, table_copper_launches,
    table_copper_searches, table_copper_notes;
/* The rows of table_copper_ranges that at least one rank reports. */
extern const struct jp_table table_copper_known_ranges;
/* The busiest paths of each category. */
extern const struct jp_table *const tables_copper_hot[COPPER_N_CATEGORIES];
/* All but the hot ones, whose rows are in table_copper_paths; ends with NULL.
 */
extern const struct jp_table *const tables_copper[];

/* For the files copper_tables*.c.
 *
 * Defines count_NAME and find_NAME over an array of struct jp_copper. */
#define JP_COPPER_ARRAY(name, member, n)                                       \
    static size_t count_##name(const struct jp_report *report)                 \
    {                                                                          \
        return copper_of(report) ? copper_of(report)->n : 0;                   \
    }                                                                          \
    static void find_##name(struct jp_row *row)                                \
    {                                                                          \
        row->at = &copper_of(row->report)->member[row->index];                 \
    }

/* The same for those of n elements i that satisfy is_there. */
#define JP_COPPER_SOME(name, member, n, is_there)                              \
    static size_t count_##name(const struct jp_report *report)                 \
    {                                                                          \
        const struct jp_copper *c = copper_of(report);                         \
        size_t found = 0;                                                      \
                                                                               \
        for (size_t i = 0; c && i < (n); i++)                                  \
            found += is_there;                                                 \
        return found;                                                          \
    }                                                                          \
    static void find_##name(struct jp_row *row)                                \
    {                                                                          \
        const struct jp_copper *c = copper_of(row->report);                    \
        size_t left = row->index + 1, i = 0;                                   \
                                                                               \
        for (; left; i++)                                                      \
            left -= is_there;                                                  \
        row->at = &c->member[i - 1];                                           \
    }

#endif
