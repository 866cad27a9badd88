/* copper.h - what a Copper cache's own profiles say about one launch of it.
 *
 * A rank is one cu_fuse daemon, normally one a node. Where a log directory
 * holds several launches (the same host with another pid), the figures are the
 * last one's; the others are told in launches. Times are microseconds. All in
 * struct jp_copper is owned by it and freed by copper_destroy. Arrays are
 * sorted as their comments say, so equal input gives equal output.
 */
#ifndef JP_COPPER_COPPER_H
#define JP_COPPER_COPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/badkind.h"
#include "common/error.h"
#include "plugins/copper/copper_counts.h"
#include "plugins/copper/copper_notes.h"
#include "plugins/copper/copper_rows.h"

/* How much of a rank is known. */
enum jp_copper_state {
    JP_COPPER_GOOD,     /* its last files, whole: all it ever counted */
    JP_COPPER_EARLIER,  /* a snapshot: what came after it is unknown */
    JP_COPPER_PARTIAL,  /* the aggregate or the operations alone */
    JP_COPPER_OVERFLOW, /* a 32-bit counter wrapped: in no sum */
    JP_COPPER_DAMAGED,  /* no file of it can be trusted: in no sum */
    JP_COPPER_MISSING,  /* expected, but no profile of it is there */
    JP_COPPER_N_STATES
};
extern const char *const copper_state_names[JP_COPPER_N_STATES];

/* pre-destroy files against the final ones. */
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
    char *why;          /* it is not GOOD from final; or "" */
    /* what is known: operation counters and latency; the TTL's counters; the
     * single operations. Only if so, value and op count in sums. */
    bool has_counts, has_ttl, has_ops;
    uint64_t value[COPPER_N_METRICS];
    struct copper_op op[COPPER_N_OPS + 1];
    enum jp_copper_compared pre_destroy;
    int level;              /* in the tree, 0 is the root; -1: unknown */
    const char *level_from; /* "log", "address book", "" */
    bool has_log;
    struct copper_log log;    /* numbers -1 where unknown */
    bool has_tables, has_top; /* its paths: all; the busiest */
    struct copper_cache_size cache[JP_COPPER_N_CACHES];
    bool has_cache[JP_COPPER_N_CACHES];
};

/* A launch: daemons that were started together. */
struct jp_copper_launch {
    int64_t start_us; /* of its first daemon, local time; -1 unknown */
    uint32_t ranks;   /* with a profile */
    uint32_t counted; /* in the sums */
    uint64_t value[COPPER_N_METRICS];
};

/* Seven metrics across ranks, as in Copper's own reports; latency without
 * start-up; and the start: init as counted, and by the logs until the provider
 * stood, the parent was confirmed and first answered. */
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
    bool seconds; /* values are microseconds */
    uint32_t n;   /* ranks; 0: nothing below is set */
    uint64_t min, max;
    double mean, median, stddev; /* over all ranks: population's */
    double cv;                   /* stddev / mean; NaN without a mean */
    size_t min_rank, max_rank;   /* the first such */
};

/* A rank far from the others of its tree level. */
struct jp_copper_outlier {
    size_t rank;
    const char *metric; /* "getattr_us", ... */
    int level;
    uint32_t of; /* ranks of that level */
    double value, median;
    double z; /* (value - median) / (median absolute deviation / 0.6745) */
    double cost_us; /* of a latency: what it is above the median, over all its
                       operations; else 0 */
    bool slow; /* a latency far above the others, at some cost: a finding */
};

/* Where a path belongs: Copper's own rules. */
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
    /* rows of top_paths.csv, one for each rank that lists the path: a lower
     * bound, and what Copper's own tool prints */
    uint64_t top_rows, top_events;
    char *top_example; /* the first seen; NULL: none */
    /* over the full tables: each path once, all its events */
    uint64_t paths, events;
    char *example; /* the busiest; NULL: none */
};

/* A path's events over all ranks. */
struct jp_copper_path {
    const char *path; /* in the set's memory */
    uint32_t len;
    uint32_t ranks; /* that saw it */
    enum copper_category category;
    enum jp_copper_class class;
    bool full;         /* by full tables; false: by top rows alone */
    uint64_t count[4]; /* struct copper_row */
    uint64_t events;
    size_t last_rank; /* the set's own, while it grows */
};

/* A root whose files were compared with the observed paths. */
struct jp_copper_root {
    char *path;
    bool exists, cut; /* cut: the walk stopped at its bound */
    uint64_t observed, observed_files, observed_dirs, missing;
    uint64_t files, dirs; /* the root among them */
    const char *example;  /* the first observed path */
};

/* A path below a root. */
struct jp_copper_used {
    const char *path;
    size_t root;
    bool exists, is_dir, observed;
    bool walked; /* found by the walk: one of all that there is */
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
    uint64_t copy;   /* which one of the tag; 0: the tag's own file */
    int64_t time_us; /* when the file was written, since 1970 */
    uint64_t value[COPPER_N_METRICS];
};

/* A folder in which names were looked up in vain. */
struct jp_copper_vain {
    char *folder;
    uint64_t names;             /* distinct, absent */
    uint64_t events;            /* lookups that ended in ENOENT */
    bool wholly;                /* nothing below it was ever read */
    enum jp_copper_class class; /* of most of the events */
    char *example;
};

#define JP_COPPER_QUESTIONS 6
struct jp_copper_answer {
    const char *question;
    char *answer;
};

struct jp_copper_advice {
    char *text;
    char **paths; /* what it is about, heaviest first */
    size_t n_paths;
};

struct jp_copper_finding {
    const char *kind; /* "copper_slow_rank", ... */
    size_t rank;
    double from, to; /* usual and found; NaN: none */
    double cost_us;  /* NaN: none */
    char *text;
};

#define JP_COPPER_MAX_NOTES 200

#define JP_COPPER_HOT 20 /* hot paths of a category */

struct jp_copper {
    char **roots; /* log directories, sorted */
    size_t n_roots;
    struct copper_settings settings; /* of the first rank that tells */
    bool settings_differ;
    struct jp_copper_launch *launches; /* in order of time */
    size_t n_launches;
    struct jp_copper_rank *ranks; /* of the last launch, by host and pid */
    size_t n_ranks;
    uint32_t n_state[JP_COPPER_N_STATES];
    uint32_t n_counted, n_ttl, n_ops; /* ranks in the sums */
    uint64_t total[COPPER_N_METRICS];
    struct copper_op op[COPPER_N_OPS + 1];
    /* of ranks with single operations: start-up, and the other latency */
    uint64_t init_us, without_init_us;
    uint32_t compared, equal; /* pre-destroy with final */
    struct jp_copper_range range[JP_COPPER_N_SPREADS];
    struct jp_copper_outlier *outliers; /* greatest z first */
    size_t n_outliers;
    uint32_t unjudged; /* ranks without a level, or too few of one */
    struct jp_copper_class_sum
        classes[JP_COPPER_N_CLASSES]; /* most events of
                                         top rows first */
    uint32_t n_tables, n_top;     /* ranks with full tables, with top rows */
    struct jp_copper_path *paths; /* by category, then most events, then path */
    size_t n_paths;
    size_t path_from[COPPER_N_CATEGORIES + 1]; /* where each category begins */
    uint64_t category_events[COPPER_N_CATEGORIES];
    uint64_t left_out_rows; /* rows whose path was one too many for memory */
    struct jp_copper_root *used_roots; /* by path */
    size_t n_used_roots;
    struct jp_copper_used *used; /* by path */
    size_t n_used;
    struct jp_copper_cache_sum cache[JP_COPPER_N_CACHES];
    struct jp_copper_point *points; /* by rank, then time */
    size_t n_points;
    bool times_lost; /* a counter falls over time: the files' times are a
                        copy's; then by rank, then operations */
    struct jp_copper_vain *vain; /* most events first */
    size_t n_vain;
    bool vain_known; /* all ranks have full tables: what was not read, and what
                        was not observed, means something */
    struct jp_copper_answer answers[JP_COPPER_QUESTIONS];
    struct jp_copper_advice *advice;
    size_t n_advice;
    struct jp_copper_finding *findings;
    size_t n_findings;
    struct jp_file_note *notes; /* in order of discovery */
    size_t n_notes;
    uint64_t notes_left_out, notes_bad; /* bad: figures are missing for it */
    uint64_t files, bytes_read;
    void *memory; /* of paths */
    void *used_memory;
};

struct jp_copper_options {
    bool expected; /* it was to be there: a list of nodes alone has a result */
    uint64_t memory_bytes; /* bound for distinct paths; 0: 1 GiB */
    /* a rank is slow from so many times the median of its level on, which cost
     * it so many us; slow_share 0: none is */
    double slow_share, slow_cost_us;
    /* compare observed paths with the files there are now; of another user's
     * data, and as root, only below usage_roots */
    bool usage;
    uint64_t walk_entries;    /* bound of that walk; 0: 2,000,000 */
    uint64_t (*now_ms)(void); /* its clock, for its bound of 60 s; or NULL */
    const char *const *usage_roots; /* besides those found; NULL: none */
    size_t n_usage_roots;
    const char *sysroot; /* in which absolute paths are looked up; NULL: "" */
    const char *home;    /* the user's, whose children may be roots; or NULL */
    /* called now and then with bytes read and bytes in all; non-zero stops */
    int (*progress)(void *arg, uint64_t done, uint64_t total);
    void *progress_arg;
};

/* Finds Copper's log directories in and below inputs and analyses them. *out
 * is NULL when there are none, or a list of nodes alone. Damage is noted, and
 * the rest is used; -1: out of memory, an input that cannot be opened, or
 * stopped. */
int copper_run(const char *const *inputs, size_t n_inputs,
               const struct jp_copper_options *options, struct jp_copper **out,
               struct jp_error *err);
void copper_destroy(struct jp_copper *copper);

/* The sums of one operation, by its name. */
const struct copper_op *copper_op_of(const struct jp_copper *copper,
                                     const char *name);

#endif
