/* csv_ops.h - the rows of ops.csv, by several threads.
 *
 * The largest table by far: a row an operation. Each thread formats every nth
 * chunk of rows and hands it to the file when its turn has come, so the bytes
 * do not depend on how many there are.
 */
#ifndef JP_REPORT_CSV_OPS_H
#define JP_REPORT_CSV_OPS_H

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/report/csv_out.h"

#define CSV_OPS_HEADER                                                         \
    "comm,comm_name,coll,sn,msg_size_bytes,n_ranks,records,mean,min,"          \
    "max,exec_min_us,exec_max_us,exec_mean_us,last_rank,dump_min_us,"          \
    "dump_max_us,exec_second_us,starts,start_first_us,start_last_us,end_us"

/* threads: 0: as many as CPUs, at most 8. Where no thread or memory is to be
 * had the caller's thread does it all. What cannot be written shows in
 * csv->out. */
void csv_ops_write(struct jp_csv *csv, const struct jp_result *result,
                   unsigned threads);

#endif
