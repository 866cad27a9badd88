/* inspector_line.h - an operation as a line of Inspector's format v4.0.
 *
 * Layout, order of keys, escapes and number formats are those of NVIDIA's
 * Inspector 2.30 (plugins/profiler/inspector/inspector_json.cc), so every
 * reader of its files reads ours. Two members differ in meaning: `git_rev` is
 * the recorder ("jobprof-0.1.0"), and `dump_timestamp_us` is the wall clock at
 * the operation's end, not at the time of writing. Inspector has no operations
 * of the copy engines: they are told as function "AllGather-CE" (recfile.h).
 */
#ifndef JP_EXPORT_INSPECTOR_LINE_H
#define JP_EXPORT_INSPECTOR_LINE_H

#include <stddef.h>

#include "plugins/nccl_recorder/recfile.h"

/* Room for any line: two escaped texts, a function, numbers. */
#define INSPECTOR_LINE_BYTES 8192

/* Writes the line with its newline and returns its length; 0: the header or
 * the operation's communicator is not told. */
size_t inspector_line_format(char out[INSPECTOR_LINE_BYTES],
                             const struct jp_recfile *file,
                             const struct jpr_op *op);

#endif
