/* clock_read.h - nodes/<node>/clock.jsonl: what an agent found out of clocks.
 *
 * A JSON object a line, distinguished by "type" (docs/clocks.md):
 *
 *     config        node, clock, source of stamps, effective settings
 *     snapshot      monotonic, wall and raw clock at one moment
 *     clock_step    the wall clock was set
 *     window_stats  the line of one neighbour's clock over one window
 *     probe         one exchange that failed
 *
 * The file is foreign input, may be cut anywhere, and is read line by line:
 * what is bad in it is skipped and counted.
 */
#ifndef JP_CLOCK_READ_H
#define JP_CLOCK_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define CLOCK_FILE "clock.jsonl"
#define CLOCK_FILE_MAX (16 * 1024 * 1024)
#define CLOCK_NODE_MAX 256 /* a node's name, with NUL */
/* Where a node takes times of packets itself, it takes those that come late and
 * those that leave early, and not by the same: so much of the margin. */
#define CLOCK_USER_PART 0.5

enum clock_status {
    CLOCK_OK,
    CLOCK_FEW,     /* too few exchanges, or too short a time of them */
    CLOCK_CROSSED, /* bounds contradict each other: a stamp or clock is wrong */
    CLOCK_STEEP,   /* the clocks run apart faster than clocks do */
    CLOCK_STATUSES
};
const char *clock_status_name(enum clock_status status);

/* theta(t) = beta_ns + slope x (t - start_ns): what the clock of `to` shows
 * less what that of `from` shows, when the latter shows t. Both are
 * CLOCK_MONOTONIC. */
struct clock_window {
    uint64_t id;
    uint32_t from, to; /* index in the step's node list */
    int64_t start_ns, end_ns;
    int64_t beta_ns;
    double slope;     /* "alpha" in the file is 1 + slope */
    double margin_ns; /* from the line to the bounds: about a one-way delay */
    double unc_ns;
    int64_t rtt_min_ns;
    uint32_t exchanges, lost, no_stamp, disturbed;
    double pure_there, pure_back; /* pairs that kept their distance, 0 to 1 */
    bool user_stamps;             /* the kernel gave none */
    enum clock_status status;
};

/* From mono_ns on, the wall clock was so far ahead of the monotonic one. */
struct clock_wall {
    int64_t mono_ns, real_less_mono_ns;
    bool is_set; /* somebody has set it at that moment */
};

struct clock_file {
    char node[CLOCK_NODE_MAX],
        host[CLOCK_NODE_MAX]; /* Slurm's, gethostname's */
    uint64_t job;             /* of the component */
    uint32_t node_id, nodes;  /* its index among them, their number */
    uint32_t cadence_us, window_ms;
    struct clock_window *windows; /* as in the file */
    size_t n_windows;
    struct clock_wall *walls; /* ascending mono_ns, only changes */
    size_t n_walls;
    int64_t last_mono_ns; /* of a snapshot */
    uint64_t bad_lines;
};

/* Reads the text. -1: out of memory, or there is no config record. */
int clock_file_parse(const char *text, size_t len, struct clock_file *file,
                     struct jp_error *err);
/* The same of a path. */
int clock_file_read(const char *path, struct clock_file *file,
                    struct jp_error *err);
/* All zeros is empty. */
void clock_file_fini(struct clock_file *file);

/* How far the wall clock was ahead of the monotonic one; false: unknown. */
bool clock_file_wall(const struct clock_file *file, int64_t mono_ns,
                     int64_t *real_less_mono_ns);

/* --- members of a line: an object without objects in it. */

bool clock_field_int(const char *line, const char *key, int64_t min,
                     int64_t max, int64_t *out);
/* A text without escapes. */
bool clock_field_text(const char *line, const char *key, char *out,
                      size_t size);

/* What a program's own XLA has probed of clocks:
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
