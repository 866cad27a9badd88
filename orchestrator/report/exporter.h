/* exporter.h - the tree that NCCL Inspector's performance summary exporter
 * makes, for scripts and eyes that are used to it.
 *
 *   DIR/output.log                     what was read, written and left out
 *   DIR/summary/scatter_plot_TYPE_COLL.png
 *   DIR/summary/combined_scatter_plot_TYPE_COLL.png
 *   DIR/summary/msg_size_BYTES_HUMAN/summary_TYPE_COLL_BYTES.csv
 *   DIR/summary/msg_size_BYTES_HUMAN/histograms/histogram_TYPE_COLL_BYTES.png
 *   DIR/summary/msg_size_BYTES_HUMAN/boxplots/boxplot_TYPE_COLL_BYTES.png
 *
 * Names, columns and the grouping are those of perf_summary_exporter.py in NCCL
 * 2.30 (plugins/profiler/inspector/exporter/example), worked out from the
 * joined operations. Functions that it drops (all but AllReduce, AllGather,
 * ReduceScatter, Broadcast) have files of their own here. A script for gnuplot
 * (.gp, with its data inside) stands where a picture could not be drawn; run it
 * in DIR/summary.
 */
#ifndef JP_REPORT_EXPORTER_H
#define JP_REPORT_EXPORTER_H

#include <stdint.h>

#include "common/error.h"
#include "orchestrator/aggregate/aggregate.h"

/* (communicator type, function, message size) with files: three each. With
 * more, those of most time. Sizes in MoE training are as many as batches. */
#define EXPORTER_MAX_CELLS 512

struct jp_exporter_options {
    /* called now and then with pictures drawn and in all; may be NULL */
    void (*progress)(void *arg, uint64_t done, uint64_t total);
    void *progress_arg;
    uint64_t reading_us; /* what reading and joining took; 0: not known */
};

/* What was written. */
struct jp_exporter_done {
    uint64_t tables;   /* summary_*.csv */
    uint64_t left_out; /* cells over EXPORTER_MAX_CELLS */
    uint64_t pictures;
    uint64_t scripts;           /* pictures that were not drawn */
    struct jp_error no_picture; /* why not; "" if all were */
};

/* Writes the tree into dir (exists). A picture that cannot be drawn is no
 * failure. Files of other sizes from an earlier run stay, said in output.log.
 * Local time is that of TZ. -1: the error names the file; what was written
 * stays. */
int exporter_write(const struct jp_result *result, const char *dir,
                   const struct jp_exporter_options *options,
                   struct jp_exporter_done *done, struct jp_error *err);

#endif
