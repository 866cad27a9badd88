/* json_busy.h - busy{} of summary.json. */
#ifndef JP_REPORT_JSON_BUSY_H
#define JP_REPORT_JSON_BUSY_H

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/report/json_out.h"

/* result NULL: null. coverage as of busy_text. */
json_t *json_busy(struct jp_json *json, const struct jp_result *result,
                  double coverage);

#endif
