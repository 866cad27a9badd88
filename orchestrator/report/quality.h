/* quality.h - the figures on the data itself, one row each.
 *
 * summary.json, quality.csv, summary.txt and report.html read this table.
 */
#ifndef JP_REPORT_QUALITY_H
#define JP_REPORT_QUALITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/report/report.h"
#include "common/figure.h"
#include "orchestrator/aggregate/aggregate.h"

struct jp_quality_item {
    const char *key;   /* in summary.json and quality.csv */
    const char *label; /* for readers */
    const char *help;  /* one phrase */
    bool always;       /* shown to readers even if 0 */
    bool (*get)(const struct jp_report *report, uint64_t *value);
};

/* The rows; get returns false where the value is unknown. */
extern const struct jp_quality_item quality_items[];
extern const size_t quality_n_items;

/* Has the report something on NCCL to say? A report on Copper's profiles alone
 * has not. */
bool report_has_nccl(const struct jp_report *report);

/* How small an effect would have been seen, what was not judged: buf, or NULL
 * where there is no record. */
const char *report_judged(const struct jp_report *report,
                          char buf[JP_HYPOTHESES_LINE]);
/* "counted", "bound", "planned", or NULL where nothing says what should be
 * there. */
const char *quality_expected_kind(const struct jp_report *report);
/* What is said of warm-up; JP_WARMUP_TEXT bytes. Returns text, or NULL where
 * there is nothing to say. */
const char *quality_warmup(const struct jp_report *report, char *text);
/* " of ...": what the coverage is a share of, where that is not all there was;
 * else "". */
const char *quality_coverage_of(const struct jp_report *report);

/* Of the processes' wall time, in their own threads; NAN: not told, or of
 * processes that lived for less than 10 s. */
double overhead_share(const struct jp_overhead *overhead);

/* The figures, or who does not tell them. */
#define JP_OVERHEAD_TEXT 300
void overhead_text(const struct jp_quality *quality,
                   char text[JP_OVERHEAD_TEXT]);

/* "0.071 %", "69 %", "130 %": two digits, or as many as stand before the point.
 * Returns buf. */
char *overhead_percent(double share, char buf[JP_FIGURE_LEN]);

#endif
