/* clockwindows.h - what was measured of the clocks of a step's nodes: lines
 * through the difference of two clocks, one for each window of time.
 *
 * A backend that measures them reads its files into these values (clocks of
 * struct backend); the analysis makes one time of them
 * (orchestrator/aggregate/clocks.h). */
#ifndef JP_COMMON_CLOCKWINDOWS_H
#define JP_COMMON_CLOCKWINDOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Frees the lists; all zeros is an empty file. */
void clock_file_fini(struct clock_file *file);

/* How far the wall clock was ahead of the monotonic one at that time; false:
 * unknown. */
bool clock_file_wall(const struct clock_file *file, int64_t mono_ns,
                     int64_t *real_less_mono_ns);

/* The windows of one pair, sorted by start. */
struct clockprobes_edge {
    uint32_t from, to; /* of files */
    const struct clock_window *windows;
    size_t n; /* those with a line */
};

struct clockprobes {
    struct clock_file *files; /* ascending node */
    size_t n_files;
    struct clockprobes_edge *edges;
    size_t n_edges;
    uint64_t windows, bad_windows; /* with a line, and without */
    uint64_t exchanges, failures;
    /* of the agents' probes: the requested time between two, that of each
     * window in sum with their number, and their budget; 0: unknown */
    uint32_t wanted_us, cpu_permille;
    uint64_t paced_us, paced;
    uint64_t bad_files; /* that could not be read */
    size_t points;      /* the most points over the run that a map may have */
    bool by_xla;        /* the files are the tasks' XLA's, not the agents' */
    bool xla_ambiguous; /* XLA's files do not show on which nodes they were
                           written, so they are not used */
};

void clockprobes_fini(struct clockprobes *probes); /* takes zeros */

#endif
