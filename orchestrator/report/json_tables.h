/* json_tables.h - the tables of summary.json. */
#ifndef JP_REPORT_JSON_TABLES_H
#define JP_REPORT_JSON_TABLES_H

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/report/json_stream.h"

/* The root goes on with comms, cells, ranks, windows, p2p and left_out. Each
 * table holds at most some thousand rows, the heaviest, in the result's order;
 * left_out counts the others. result may be NULL: empty tables. */
void json_tables_put(struct jp_json_stream *stream,
                     const struct jp_result *result);

#endif
