/* copper.h - the figures of a Copper cache from its own profiles, for one
 * launch.
 *
 * A rank is one cu_fuse daemon, normally one per node. If a log directory
 * contains several launches (the same host with another pid), the figures are
 * those of the last one, and launches lists the others. Times are in
 * microseconds. struct jp_copper owns everything in it; copper_destroy frees
 * it. Arrays are sorted as described, so equal input gives equal output.
 */
#ifndef JP_COPPER_COPPER_H
#define JP_COPPER_COPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/record.h"
#include "common/error.h"
#include "plugins/copper/copper_counts.h"

/* How much is known of a rank. */
enum jp_copper_state {
    JP_COPPER_GOOD,     /* complete final files: everything it counted */
    JP_COPPER_EARLIER,  /* a snapshot: later counts are unknown */
    JP_COPPER_PARTIAL,  /* only the aggregate or only the operations */
    JP_COPPER_OVERFLOW, /* a 32-bit counter wrapped; excluded from sums */
    JP_COPPER_DAMAGED,  /* none of its files can be trusted; excluded from
                         * sums */
    JP_COPPER_MISSING,  /* expected, but without a profile */
    JP_COPPER_N_STATES
};
extern const char *const copper_state_names[JP_COPPER_N_STATES];

/* Comparison of the pre-destroy files with the final ones. */
enum jp_copper_compared {
    JP_COPPER_NOT_COMPARED,
    JP_COPPER_EQUAL,
    JP_COPPER_DIFFERENT
};

enum jp_copper_cache {
    JP_COPPER_CACHE_DATA,
    JP_COPPER_CACHE_TREE,
    JP_COPPER_CACHE_METADATA,
    JP_COPPER_CACHE_COMBINED,
    JP_COPPER_N_CACHES
};

struct jp_copper_rank {
    char *host;
    int64_t pid; /* 0: unknown */
    enum jp_copper_state state;
    const char *source; /* "final", "pre-destroy", ..., "ioctl dumps", "" */
    char *why;          /* why it is not GOOD from its final files; or "" */
    /* what is known: operation counters and latency; the TTL counters; the
     * single operations. Only then are the values included in sums */
    bool has_counts, has_ttl, has_ops;
    uint64_t value[COPPER_N_METRICS];
    struct copper_op op[COPPER_N_OPS + 1];
    enum jp_copper_compared pre_destroy;
    int level;              /* depth in the tree; 0: the root; -1: unknown */
    const char *level_from; /* "log", "address book", "" */
    bool has_log;
    struct copper_log log;    /* numbers are -1 if unknown */
    bool has_tables, has_top; /* has_tables: all its paths; has_top: the
                               * busiest */
    struct copper_cache_size cache[JP_COPPER_N_CACHES];
    bool has_cache[JP_COPPER_N_CACHES];
};

/* A launch: daemons that were started together. */
struct jp_copper_launch {
    int64_t start_us; /* start of its first daemon, local time; -1: unknown */
    uint32_t ranks;   /* ranks with a profile */
    uint32_t counted; /* ranks included in the sums */
    uint64_t value[COPPER_N_METRICS];
};

/* Seven metrics across ranks, as in Copper's own reports, with latency
 * excluding start-up. Then the start-up: init as counted; and, from the logs,
 * the times until the provider was ready, the parent confirmed, and the
 * parent's first answer. */
enum jp_copper_spread {
    JP_COPPER_SPREAD_OPERATIONS,
    JP_COPPER_SPREAD_HITS,
    JP_COPPER_SPREAD_MISSES,
    JP_COPPER_SPREAD_NEGATIVES,
    JP_COPPER_SPREAD_STORES,
    JP_COPPER_SPREAD_SERVES,
    JP_COPPER_SPREAD_LATENCY,
    JP_COPPER_SPREAD_NO_INIT,
    JP_COPPER_SPREAD_INIT,
    JP_COPPER_SPREAD_REGISTRATION,
    JP_COPPER_SPREAD_PARENT,
    JP_COPPER_SPREAD_FIRST_RPC,
    JP_COPPER_N_SPREADS
};
struct jp_copper_range {
    const char *name;
    bool seconds; /* the values are times, in microseconds */
    uint32_t n;   /* number of ranks; 0: the rest is not set */
    uint64_t min, max;
    double mean, median, stddev; /* over all ranks; stddev of the population */
    double cv;                   /* stddev / mean; NaN if the mean is 0 */
    size_t min_rank, max_rank;   /* the first rank with that value */
};

/* A rank that differs much from the others of its tree level. */
struct jp_copper_outlier {
    size_t rank;
    const char *metric; /* "getattr_us", ... */
    int level;
    uint32_t of; /* number of ranks on that level */
    double value, median;
    double z; /* (value - median) / (median absolute deviation / 0.6745) */
    double cost_us; /* for a latency: time above the median, summed over its
                     * operations; otherwise 0 */
    bool slow;      /* a latency that is much higher, at a relevant cost: a
                     * finding */
};

/* The class of a path, by Copper's own rules. */
enum jp_copper_class {
    JP_COPPER_PYTHON_ZIP_PROBE,
    JP_COPPER_VIRTUAL_ENV_PROBE,
    JP_COPPER_GLIBC_HWCAPS_PROBE,
    JP_COPPER_MISSING_LIBRARY_PROBE,
    JP_COPPER_NEGATIVE_PROBE,
    JP_COPPER_TORCH_LIBRARY,
    JP_COPPER_TORCH_PACKAGE,
    JP_COPPER_SITE_PACKAGES,
    JP_COPPER_STDLIB,
    JP_COPPER_BIN,
    JP_COPPER_SHARED_LIBRARY,
    JP_COPPER_PREFIX,
    JP_COPPER_N_CLASSES
};
extern const char *const copper_class_names[JP_COPPER_N_CLASSES];

struct jp_copper_class_sum {
    enum jp_copper_class class;
    /* rows of top_paths.csv, one per rank that lists the path: a lower bound,
     * which Copper's own tool prints as well */
    uint64_t top_rows, top_events;
    char *top_example; /* the first path seen; NULL: none */
    /* over the full tables: each path once, with all its events */
    uint64_t paths, events;
    char *example; /* the busiest path; NULL: none */
};

/* A path's events over all ranks. */
struct jp_copper_path {
    const char *path; /* stored in the set's memory */
    uint32_t len;
    uint32_t ranks; /* ranks that used it */
    enum copper_category category;
    enum jp_copper_class class;
    bool full;         /* from full tables; false: only from top rows */
    uint64_t count[4]; /* as in struct copper_row */
    uint64_t events;
    uint64_t least, most; /* events of one of these ranks */
    /* private to the set while it grows: the rank of the last row, its events */
    size_t last_rank;
    uint64_t rank_events;
};

/* A root whose files were compared with the observed paths. */
struct jp_copper_root {
    char *path;
    bool exists, cut; /* cut: the walk reached its limit */
    uint64_t observed, observed_files, observed_dirs, missing;
    uint64_t files, dirs; /* including the root */
    const char *example;  /* the first observed path */
};

/* A path below a root. */
struct jp_copper_used {
    const char *path;
    size_t root;
    bool exists, is_dir, observed;
    bool walked; /* found by the walk: one of all files there */
};

struct jp_copper_cache_sum {
    const char *table; /* "data" "tree" "metadata" "combined" */
    uint32_t files_found;
    uint64_t used_bytes, entries;
};

/* One snapshot of one rank. */
struct jp_copper_point {
    size_t rank;
    const char *tag;
    uint64_t copy;   /* number of the copy with this tag; 0: the tag's own
                      * file */
    int64_t time_us; /* when the file was written, since 1970 */
    uint64_t value[COPPER_N_METRICS];
};

/* A folder in which many names were looked up without success. */
struct jp_copper_failed {
    char *folder;
    uint64_t names;             /* distinct names that do not exist */
    uint64_t events;            /* lookups that ended in ENOENT */
    bool wholly;                /* nothing below it was ever read */
    enum jp_copper_class class; /* class of most of the events */
    char *example;
};

#define JP_COPPER_QUESTIONS 6
struct jp_copper_answer {
    const char *question;
    char *answer;
};

struct jp_copper_advice {
    char *text;
    char **paths; /* the paths concerned, busiest first */
    size_t n_paths;
};

struct jp_copper_finding {
    const char *kind; /* "copper_slow_rank", ... */
    size_t rank;
    double from, to; /* the usual value and the found one; NaN: none */
    double cost_us;  /* NaN: none */
    char *text;
};

#define JP_COPPER_MAX_NOTES 200

#define JP_COPPER_HOT 20 /* limit of hot paths per category */

struct jp_copper {
    char **roots; /* log directories, sorted */
    size_t n_roots;
    struct copper_settings settings; /* of the first rank that has them */
    bool settings_differ;
    struct jp_copper_launch *launches; /* ordered by time */
    size_t n_launches;
    struct jp_copper_rank *ranks; /* of the last launch; ordered by host and
                                   * pid */
    size_t n_ranks;
    uint32_t n_state[JP_COPPER_N_STATES];
    uint32_t n_counted, n_ttl, n_ops; /* number of ranks in each of the sums */
    uint64_t total[COPPER_N_METRICS];
    struct copper_op op[COPPER_N_OPS + 1];
    /* of ranks with single operations: time of start-up, and of the rest */
    uint64_t init_us, without_init_us;
    uint32_t compared, equal; /* ranks whose pre-destroy and final files were
                               * compared; equal ones */
    struct jp_copper_range range[JP_COPPER_N_SPREADS];
    struct jp_copper_outlier *outliers; /* largest z first */
    size_t n_outliers;
    uint32_t unjudged; /* ranks whose level is unknown or too small */
    struct jp_copper_class_sum
        classes[JP_COPPER_N_CLASSES]; /* most events in top rows first */
    uint32_t n_tables, n_top;     /* ranks with full tables, with top rows */
    struct jp_copper_path *paths; /* ordered by category, most events first,
                                   * then path */
    size_t n_paths;
    size_t path_from[COPPER_N_CATEGORIES + 1]; /* start of each category */
    uint64_t category_events[COPPER_N_CATEGORIES];
    uint64_t left_out_rows; /* rows whose paths exceeded the memory limit */
    struct jp_copper_root *used_roots; /* ordered by path */
    size_t n_used_roots;
    struct jp_copper_used *used; /* ordered by path */
    size_t n_used;
    struct jp_copper_cache_sum cache[JP_COPPER_N_CACHES];
    struct jp_copper_point *points; /* ordered by rank, then time */
    size_t n_points;
    bool times_lost; /* a counter decreases over time, so the files' times are
                      * those of a copy; then ordered by rank and operations */
    struct jp_copper_failed *failed_lookups; /* most events first */
    size_t n_failed_lookups;
    bool vain_known; /* all ranks have full tables, so that a missing path is
                      * really unused */
    struct jp_copper_answer answers[JP_COPPER_QUESTIONS];
    struct jp_copper_advice *advice;
    size_t n_advice;
    struct jp_copper_finding *findings;
    size_t n_findings;
    struct jp_file_note *notes; /* in the order of discovery */
    size_t n_notes;
    uint64_t notes_left_out, notes_bad; /* bad: figures are missing because of
                                         * them */
    uint64_t files, bytes_read;
    void *memory; /* of the paths */
    void *used_memory;
};

struct jp_copper_options {
    bool expected; /* a cache was expected: a list of nodes alone makes a
                    * result */
    uint64_t memory_bytes; /* limit for distinct paths; 0: 1 GiB */
    /* a rank is slow if its latency is slow_share times the median of its level
     * and this cost at least slow_cost_us; slow_share 0: never */
    double slow_share, slow_cost_us;
    /* compare observed paths with the files that exist now; for another user's
     * data, and as root, only below usage_roots */
    bool usage;
    uint64_t walk_entries;    /* limit of entries in that walk; 0: 2,000,000 */
    uint64_t (*now_ms)(void); /* clock for the walk's limit of 60 s; or NULL */
    const char *const *usage_roots; /* additional roots; NULL: none */
    size_t n_usage_roots;
    const char *sysroot; /* prefix for absolute paths; NULL: "" */
    const char *home;    /* the user's home, whose children may be roots; or
                          * NULL */
    /* called regularly with the bytes read and the total; a non-zero result
     * stops */
    int (*progress)(void *arg, uint64_t done, uint64_t total);
    void *progress_arg;
};

/* Finds and analyses Copper's log directories in and below the inputs. *out is
 * NULL if there are none, or only a list of nodes. Damage is noted and the rest
 * used. Returns -1 if memory is short, an input cannot be opened, or progress
 * stopped it. */
int copper_run(const char *const *inputs, size_t n_inputs,
               const struct jp_copper_options *options, struct jp_copper **out,
               struct jp_error *err);
void copper_destroy(struct jp_copper *copper);

#endif
