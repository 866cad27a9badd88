/* overhead.h - what the profiler itself took, in one sentence. */
#ifndef JP_REPORT_OVERHEAD_H
#define JP_REPORT_OVERHEAD_H

#include "common/figure.h"
#include "orchestrator/aggregate/aggregate.h"

/* Of the processes' wall time, in their own threads; NAN: not told. */
double overhead_share(const struct jp_overhead *overhead);

/* The figures, or who does not tell them. */
#define JP_OVERHEAD_TEXT 300
void overhead_text(const struct jp_quality *quality,
                   char text[JP_OVERHEAD_TEXT]);

/* "0.071 %", "69 %", "130 %": two digits, or as many as stand before the point.
 * Returns buf. */
char *overhead_percent(double share, char buf[JP_FIGURE_LEN]);

#endif
