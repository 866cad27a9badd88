/* html_tables.h - the tables of report.html.
 *
 * Each shows at most 200 rows, the heaviest. Return 0, or -1 when out of
 * memory; failed writes show in the stream.
 */
#ifndef JP_REPORT_HTML_TABLES_H
#define JP_REPORT_HTML_TABLES_H

#include <stdio.h>

#include "common/jobconf.h"
#include "orchestrator/aggregate/aggregate.h"

int html_tables_comms(const struct jp_result *result, FILE *out);
int html_tables_cells(const struct jp_result *result, FILE *out);
int html_tables_ranks(const struct jp_result *result, FILE *out);
int html_tables_p2p(const struct jp_result *result, FILE *out);

/* In html_settings.c. */
void html_tables_settings(const struct jp_jobconf *conf, FILE *out);
void html_tables_env(const struct jp_jobconf *conf, FILE *out);

#endif
