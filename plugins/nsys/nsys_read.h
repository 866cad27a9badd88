/* nsys_read.h - read an export of Nsight Systems into a profile.
 *
 * An export (nsys export --type=sqlite) is one SQLite file of what one nsys has
 * seen, usually one rank. Tables exist only if there are events, and columns
 * came and went over the years: what a table does not have is unknown, and
 * everything else is used. Exports of 2019 to 2026 are covered (schemas up to
 * 3.28), whose reference is https://docs.nvidia.com/nsight-systems/UserGuide/
 * "SQLite Schema Reference". Each table is read once (that of NVTX twice), with
 * rows in any order; memory is bounded, whatever the number of rows. Times are
 * nanoseconds of nsys' session. */
#ifndef JP_PLUGINS_NSYS_READ_H
#define JP_PLUGINS_NSYS_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/hash.h"

/* --- nsys_sql.c --------------------------------------------------------- */

/* Read tables of a foreign SQLite file, and nothing else of it.
 *
 * jobprof opens the file (no link, no FIFO) and SQLite reads it through that
 * descriptor: it opens no other file, takes no lock, writes nothing and needs
 * no journal. So the folder may be read-only or on a file system without locks.
 * A journal beside the file means that its writer has not finished: such a file
 * is refused, and so is one that is shorter than its header says. Only real
 * tables are read, row by row; no view, no virtual table and no expression of
 * the file is evaluated. Memory is bounded by a small cache.
 *
 * Without libsqlite3 (docs/dependencies.md), nsys_sql_open always fails with an
 * error that says so. */

/* Limit of columns in a scan. */
#define NSYS_SQL_COLUMNS 16

struct nsys_db;

/* Called regularly while rows are read; true ends the reading with an error. */
typedef bool nsys_stop(void *arg);

/* Whether this build can read exports. */
bool nsys_sql_built(void);

/* Returns NULL if the file cannot be read; err says why. stop may be NULL; it
 * and arg must live until nsys_sql_close. */
struct nsys_db *nsys_sql_open(const char *path, nsys_stop *stop, void *arg,
                              struct jp_error *err);
/* Accepts NULL. */
void nsys_sql_close(struct nsys_db *db);

/* Whether there is a table of that name. Case does not matter. */
bool nsys_sql_has(struct nsys_db *db, const char *table);

struct nsys_cell {
    enum nsys_cell_type {
        NSYS_CELL_NONE, /* NULL, or the table has no such column */
        NSYS_CELL_NUMBER,
        NSYS_CELL_TEXT,
        NSYS_CELL_OTHER /* a fraction or bytes: of no use here */
    } type;
    int64_t number;
    const char *text; /* borrowed for the call */
};

typedef int nsys_row(void *arg, const struct nsys_cell *cells,
                     struct jp_error *err);

/* Calls row for each row of the table, with a cell for each of the n columns; a
 * NULL column gives NSYS_CELL_NONE. Returns 0, also if the table does not
 * exist; -1 if row failed or the file is damaged. */
int nsys_sql_scan(struct nsys_db *db, const char *table,
                  const char *const *columns, size_t n, nsys_row *row,
                  void *arg, struct jp_error *err);

/* The text of an id in the table StringIds(id, value). Borrowed until the next
 * call; NULL: there is none. */
const char *nsys_sql_text(struct nsys_db *db, int64_t id);

/* --- nsys_sums.c -------------------------------------------------------- */

/* Sums of names: count, total, least, most, deviation. Sums can be merged
 * without the values they were made of: mean and squared deviations are kept as
 * by Welford and Chan. */

/* Zeros: nothing was added. */
struct nsys_sum {
    uint64_t n, total, min, max; /* total: UINT64_MAX where it is more */
    double mean, squares;        /* squares: of the deviations from the mean */
};

void nsys_sum_add(struct nsys_sum *sum, uint64_t value);
void nsys_sum_merge(struct nsys_sum *sum, const struct nsys_sum *other);
/* total / n; 0 without values. */
double nsys_sum_average(const struct nsys_sum *sum);
/* Of the sample: over n - 1; 0 for less than two values. */
double nsys_sum_deviation(const struct nsys_sum *sum);

/* Names, numbered from 0. Zeros are empty. */
struct nsys_names {
    char **at;
    size_t n;
    size_t room;
    struct hash_table table;
};

/* The name's number, or -1. */
int64_t nsys_names_find(const struct nsys_names *names, const char *name);
/* The same; a new name is copied. Returns -1 without memory. */
int64_t nsys_names_put(struct nsys_names *names, const char *name);
void nsys_names_fini(struct nsys_names *names);

/* When GPUs were busy, in bounded memory.
 *
 * Intervals may come in any order and overlap. If there are more than fit, the
 * shortest gaps are closed: their time stays idle time, but they are no longer
 * counted as gaps. merge_ns is the length up to which they were closed. */

struct nsys_span {
    int64_t start, end;
    /* busy time within; less than the length if gaps were closed */
    uint64_t busy;
    uint32_t device;
};

/* Zeros are empty. */
struct nsys_busy {
    struct nsys_span *at; /* the caller frees it */
    size_t n, room;
    size_t most;       /* limit of spans; 0: NSYS_SPANS */
    uint64_t merge_ns; /* gaps up to this length are closed; 0: none */
};

/* start <= end, both within +-2^61. Returns -1 without memory. */
int nsys_busy_add(struct nsys_busy *busy, uint32_t device, int64_t start,
                  int64_t end);
/* Sorts by device and time; afterwards, spans of a device do not overlap. */
void nsys_busy_settle(struct nsys_busy *busy);

/* What the numbers of an export mean, looked up once for each; and when the
 * kernels of launches began. */

/* What a call into CUDA does. */
enum nsys_call {
    CALL_OTHER,
    CALL_LAUNCH,
    CALL_SYNC_COPY,
    CALL_SYNC,
    CALL_ALLOCATION
};

/* A number of the export, and the line of a table that it means. */
struct nsys_meaning {
    int64_t id;
    uint32_t line; /* plus 1; 0: not set */
    enum nsys_call class;
};

/* Zeros are empty. */
struct nsys_meanings {
    struct nsys_meaning *at;
    size_t n, room;
    struct hash_table table;
};

/* The meaning of an id, which is added if needed. If it has no line it is new,
 * and the caller sets the line. Valid until the next call. NULL: no memory. */
struct nsys_meaning *nsys_meaning_get(struct nsys_meanings *m, int64_t id);
void nsys_meanings_fini(struct nsys_meanings *m);

/* The start of a kernel, by process and number of its launch. */
struct nsys_launch {
    uint64_t key; /* not 0 */
    int64_t start;
};

/* Zeros are empty. */
struct nsys_launches {
    struct nsys_launch *at;
    size_t n, room;
    struct hash_table table;
};

/* The first kernel of a launch counts. Returns 0, 1 if there are too many, or
 * -1 without memory. */
int nsys_launch_keep(struct nsys_launches *l, uint64_t key, int64_t start);
/* NULL: unknown. */
const struct nsys_launch *nsys_launch_find(const struct nsys_launches *l,
                                           uint64_t key);
void nsys_launches_fini(struct nsys_launches *l);

enum nsys_table {
    NSYS_API,      /* calls of CUDA's runtime and driver */
    NSYS_KERNELS,  /* kernels on GPUs */
    NSYS_MEM_TIME, /* copies and memsets on GPUs */
    NSYS_MEM_SIZE, /* their bytes */
    NSYS_PUSHPOP,  /* NVTX ranges of a thread */
    NSYS_STARTEND, /* NVTX ranges between threads */
    NSYS_TABLES
};

/* Further names of a table are added up as NSYS_OTHERS. */
#define NSYS_NAMES 50000
#define NSYS_NAME_LEN 4096
#define NSYS_OTHERS "<others>"
#define NSYS_UNKNOWN "<unknown>" /* the export has no name */

struct nsys_lines {
    struct nsys_names names;
    struct nsys_sum *sums; /* for each name: ns, or bytes */
    size_t room;
};

/* A time in which a GPU was idle, and the call that took most of it. */
struct nsys_gap {
    uint32_t device;
    int64_t from_ns, to_ns;
    char call[96]; /* "": no call into CUDA */
    uint64_t call_ns;
};
#define NSYS_GAPS 5

/* A sum of activities. */
struct nsys_count {
    uint64_t n, ns, bytes;
};

enum { NSYS_PROCESSES = 64 };

struct nsys_profile {
    char schema[32];       /* "3.16.1"; "": unknown */
    char host[256];        /* "": unknown */
    uint64_t start_utc_ns; /* of the session; 0: unknown */
    struct nsys_lines of[NSYS_TABLES];

    /* GPUs: from the first to the last activity of each, added up */
    uint32_t devices;
    /* processes with kernels of NCCL; at most NSYS_PROCESSES */
    uint32_t processes;
    uint64_t span_ns, busy_ns;
    struct nsys_count gaps, short_gaps; /* short: below options' short_gap_ns */
    uint64_t closed_ns;                 /* gaps up to this length are unknown */
    struct nsys_gap top[NSYS_GAPS];     /* longest first */
    size_t n_top;

    struct nsys_count kernels, small_kernels, nccl_kernels;
    /* pageable: from or to such host memory */
    struct nsys_count copies, pageable;
    /* calls that wait for a copy, that wait otherwise, that allocate or free */
    struct nsys_count sync_copies, syncs, allocations;
    /* in the second half of the kernels' time */
    struct nsys_count late_allocations;
    struct nsys_sum latency;   /* ns from a launch to its kernel */
    uint64_t latency_left_out; /* kernels beyond the limit */

    uint64_t bad_rows;   /* for instance an end before its start */
    uint64_t open_calls; /* ranges without an end */
    uint64_t warnings;   /* nsys' own warnings and errors */
    char warning[200];   /* the first one */
};

struct nsys_options {
    uint64_t short_gap_ns, small_kernel_ns;
    bool short_names; /* kernels without templates and parameters */
    nsys_stop *stop;  /* may be NULL */
    void *arg;
};

/* Reads the file. On failure (no export, cut, no memory) *out is unchanged.
 * Free with nsys_profile_fini. */
int nsys_read(const char *path, const struct nsys_options *options,
              struct nsys_profile *out, struct jp_error *err);
void nsys_profile_fini(struct nsys_profile *profile);

/* "cudaLaunchKernel_v7000" becomes "cudaLaunchKernel"; cuMemAlloc_v2 stays. In
 * place. */
void nsys_strip_version(char *name);

/* --- whose a file of nsys is, by its name -------------------------------- */

/* From "42.0.rank00003.node1.sqlite": the rank, or -1; and the host, "" for
 * none, harmless to a terminal. */
int64_t nsys_name_read(const char *path, char *host, size_t len);

/* The name of a copyKind, "[CUDA memcpy HtoD]", into buf. Returns buf. */
const char *nsys_name_copy(int64_t kind, char *buf, size_t len);

#endif
