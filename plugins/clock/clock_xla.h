/* clock_xla.h - what a program's own XLA has probed of clocks:
 * probe_windows_node<N>.jsonl, as ROCm's XLA writes it at the end.
 *
 *     {"meta":true,"node_id":0,...}
 *     {"window_start_ns":U,"window_end_ns":U,"window_id":U,...,"node_id":I,
 *      "edges":[{"dst":I,"alpha":F,"beta":I,"pairs":I,"lost":I},...]}
 *
 * Numbers of nodes are XLA's process indices. Times are of the wall clock; beta
 * is how far that of dst is ahead at some moment of the window, alpha its slope
 * (about 0, in some descriptions 1 more). Its lines have no uncertainty: theirs
 * was measured to be tens of microseconds on an idle link, and beta's moment is
 * not known within the window.
 *
 * The file is foreign input: what is bad in it is skipped and counted.
 */
#ifndef JP_CLOCK_XLA_H
#define JP_CLOCK_XLA_H

#include "plugins/clock/clock_read.h"

#define CLOCK_XLA_PREFIX "probe_windows_node"
#define CLOCK_XLA_SUFFIX ".jsonl"
/* Of a line, besides what its window leaves open. */
#define CLOCK_XLA_UNC_NS 20000.0

/* Of process `process`, which the file's name tells. The file's node_id and its
 * windows' from and to are processes, and its "monotonic" times those of the
 * wall clock; node is "". -1: out of memory, or there is no window of it. */
int clock_xla_parse(const char *text, size_t len, uint32_t process,
                    struct clock_file *file, struct jp_error *err);

/* The process that a file's name tells; false: it is no such file. */
bool clock_xla_name(const char *name, uint32_t *process);

#endif
