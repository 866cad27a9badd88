/* json_network.h - summary.json: what the network did, and what was expected.
 */
#ifndef JP_REPORT_JSON_NETWORK_H
#define JP_REPORT_JSON_NETWORK_H

#include "orchestrator/report/json_out.h"
#include "orchestrator/report/report.h"

/* Sets root's expectation and network. */
void json_network_put(struct jp_json *json, json_t *root,
                      const struct jp_report *report);

#endif
