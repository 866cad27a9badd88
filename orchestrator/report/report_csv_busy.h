/* report_csv_busy.h - the rows of busy.csv and busy_windows.csv. */
#ifndef JP_REPORT_REPORT_CSV_BUSY_H
#define JP_REPORT_REPORT_CSV_BUSY_H

#include "orchestrator/report/csv_out.h"
#include "orchestrator/report/report.h"

/* 0, or -1 without memory. */
int report_csv_busy(struct jp_csv *csv, const struct jp_report *report);
int report_csv_busy_windows(struct jp_csv *csv, const struct jp_report *report);

#endif
