/* clock_read.h - read nodes/<node>/clock.jsonl: what an agent found out about
 * clocks.
 *
 * A JSON object a line, distinguished by "type" (docs/measuring.md):
 *
 *     config        node, clock, source of stamps, effective settings
 *     snapshot      monotonic, wall and raw clock at one moment
 *     clock_step    the wall clock was set
 *     window_stats  the line of one neighbour's clock over one window
 *     probe         one exchange that failed
 *
 * The file is foreign input, may be cut anywhere, and is read line by line: bad
 * lines are skipped and counted. */
#ifndef JP_CLOCK_READ_H
#define JP_CLOCK_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/clockwindows.h"
#include "common/lines.h"

#define CLOCK_FILE "clock.jsonl"

const char *clock_status_name(enum clock_status status);

/* How much of the file is read. */
extern const struct lines_limit clock_lines;

/* Reads the text. Returns -1 without memory, or if there is no config
 * record. */
int clock_file_parse(const char *text, size_t len, struct clock_file *file,
                     struct jp_error *err);
/* Reads the file of that path. */
int clock_file_read(const char *path, struct clock_file *file,
                    struct jp_error *err);
/* What a program's own XLA has probed: probe_windows_node<N>.jsonl, which
 * ROCm's XLA writes at its end.
 *
 *     {"meta":true,"node_id":0,...}
 *     {"window_start_ns":U,"window_end_ns":U,"window_id":U,...,"node_id":I,
 *      "edges":[{"dst":I,"alpha":F,"beta":I,"pairs":I,"lost":I},...]}
 *
 * Node numbers are XLA's process indices. Times are of the wall clock. beta is
 * how far the clock of dst is ahead at some moment of the window; alpha is its
 * slope (about 0, in some descriptions plus 1). The lines have no uncertainty:
 * it was measured to be tens of microseconds on an idle link, and the moment of
 * beta within the window is unknown.
 *
 * The file is foreign input: bad lines are skipped and counted. */
/* Uncertainty of a line, without that of the moment of beta. */
#define CLOCK_XLA_UNC_NS 20000.0

/* Reads the text of `process`, as its file's name says. The file's node_id and
 * its windows' from and to are processes; its "monotonic" times are those of
 * the wall clock; node is "". Returns -1 without memory, or if there is no
 * window. */
int clock_xla_parse(const char *text, size_t len, uint32_t process,
                    struct clock_file *file, struct jp_error *err);
/* Reads the file of that path. */
int clock_xla_read(const char *path, uint32_t process, struct clock_file *file,
                   struct jp_error *err);

/* --- clock_probes.c ------------------------------------------------------- */

/* Reads <nodes>/<node>/clock.jsonl of all nodes; without any there are no
 * files. What the tasks' XLA has measured takes their place where it reaches as
 * many nodes.
 *
 * XLA's files lie in <nodes>/../raw, where each process has written its own
 * file into its node's folder. So a process index is on the node that has its
 * file; where that names two nodes, the files are ambiguous. 0, or -1 without
 * memory. */
int clock_probes_read(const char *nodes, struct clockprobes *probes);

#endif
