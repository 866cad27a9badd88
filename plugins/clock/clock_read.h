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
#include "common/lines.h"

#define CLOCK_FILE "clock.jsonl"
#define CLOCK_NODE_MAX 256 /* a node's name, with NUL */
/* A node that takes the times of packets itself takes arrivals late and
 * departures early, by different amounts. This part of the margin is added to
 * the uncertainty. */
#define CLOCK_USER_PART 0.5
/* The log and the report say that probes were rarer than requested from this
 * factor on. */
#define CLOCK_SLOWED 2

enum clock_status {
    CLOCK_OK,
    CLOCK_FEW, /* too few exchanges, or over too short a time */
    /* bounds contradict each other: a stamp or a clock is wrong */
    CLOCK_CROSSED,
    CLOCK_STEEP, /* the clocks drift apart faster than clocks do */
    CLOCK_STATUSES
};
const char *clock_status_name(enum clock_status status);

/* theta(t) = beta_ns + slope x (t - start_ns): the time of `to` minus the time
 * of `from`, when the latter is t. Both are CLOCK_MONOTONIC. */
struct clock_window {
    uint64_t id;
    uint32_t from, to; /* index in the step's node list */
    int64_t start_ns, end_ns;
    int64_t beta_ns;
    double slope;     /* "alpha" in the file is 1 + slope */
    double margin_ns; /* from the line to the bounds: about a one-way delay */
    double unc_ns;    /* uncertainty of the line */
    int64_t rtt_min_ns;
    uint32_t exchanges, lost, no_stamp, disturbed;
    uint32_t cadence_us; /* between two exchanges, as it was at the end; 0:
                            unknown */
    /* share of pairs that kept their distance, 0 to 1 */
    double pure_there, pure_back;
    bool user_stamps; /* some times were not taken by the kernel */
    enum clock_status status;
};

/* From mono_ns on, the wall clock was this far ahead of the monotonic one. */
struct clock_wall {
    int64_t mono_ns, real_less_mono_ns;
    bool is_set; /* it was set at this moment */
};

struct clock_file {
    char node[CLOCK_NODE_MAX],
        host[CLOCK_NODE_MAX]; /* Slurm's, gethostname's */
    uint64_t job;             /* of the component */
    uint32_t node_id, nodes;  /* the node's index, and the number of nodes */
    uint32_t cadence_us, window_ms; /* as requested */
    uint32_t cpu_permille;          /* of a processor, which probes may take; 0:
                                       unknown */
    struct clock_window *windows;   /* in the order of the file */
    size_t n_windows;
    struct clock_wall *walls; /* ascending mono_ns; only changes */
    size_t n_walls;
    int64_t last_mono_ns; /* of the last snapshot */
    uint64_t bad_lines;
};

/* How much of the file is read. */
extern const struct lines_limit clock_lines;

/* Reads the text. Returns -1 without memory, or if there is no config
 * record. */
int clock_file_parse(const char *text, size_t len, struct clock_file *file,
                     struct jp_error *err);
/* Reads the file of that path. */
int clock_file_read(const char *path, struct clock_file *file,
                    struct jp_error *err);
/* Frees the lists; all zeros is an empty file. */
void clock_file_fini(struct clock_file *file);

/* How far the wall clock was ahead of the monotonic one at that time; false:
 * unknown. */
bool clock_file_wall(const struct clock_file *file, int64_t mono_ns,
                     int64_t *real_less_mono_ns);

/* --- members of a line: an object without objects in it. */

bool clock_field_int(const char *line, const char *key, int64_t min,
                     int64_t max, int64_t *out);
/* A text without escapes. */
bool clock_field_text(const char *line, const char *key, char *out,
                      size_t size);

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

#endif
