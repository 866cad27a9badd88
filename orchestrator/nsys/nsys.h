/* nsys.h - merge the Nsight Systems exports of a step's ranks.
 *
 * Each export is of one rank. Rows of the same name are merged: counts, totals,
 * mean and deviation are exactly those of all events together. Further columns
 * show how the ranks differ. Exports are read one after the other, so that the
 * memory depends on the number of names, not on the number of ranks or events.
 */
#ifndef JP_NSYS_NSYS_H
#define JP_NSYS_NSYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "plugins/nsys/nsys_read.h"

/* One export; if one nsys has seen several processes, of all of them. Counts
 * and times are as in struct nsys_profile. */
struct jp_nsys_rank {
    char *path;
    int64_t rank;   /* from the name "<job>.<step>.rank<N>.<host>"; -1:
                     * unknown */
    char host[256]; /* from the name or the export; "": unknown */
    bool bad;       /* it could not be read; all figures are 0 */
    char why[300];  /* why it could not be read; or nsys' first warning */
    struct nsys_profile p; /* without its names */
};

/* The events of one name, of all ranks together. */
struct jp_nsys_row {
    enum nsys_table table;
    char *name;
    struct nsys_sum sum;         /* in ns; in bytes for NSYS_MEM_SIZE */
    double share;                /* fraction of its table's total, 0 to 1 */
    uint32_t ranks;              /* number of ranks that have it */
    uint64_t rank_min, rank_max; /* smallest and largest total, over ranks that
                                  * have it */
    double imbalance; /* the largest rank's total / the mean over all ranks
                       * read */
};

struct jp_nsys_gap {
    size_t rank; /* index of the rank */
    struct nsys_gap gap;
};

struct jp_nsys {
    struct jp_nsys_rank *ranks; /* ordered by rank, then by path */
    size_t n_ranks, n_bad;
    struct jp_nsys_row *rows; /* ordered by table, then by total, largest
                               * first */
    size_t n_rows;
    struct jp_nsys_gap *gaps; /* longest first */
    size_t n_gaps;
    size_t skipped;    /* number of exports beyond JP_NSYS_MAX */
    size_t unexported; /* number of reports (.nsys-rep, .qdrep) without an
                        * export */
    bool out_of_time;
};
#define JP_NSYS_MAX 4096
#define JP_NSYS_DEPTH 8

struct jp_nsys_options {
    uint64_t short_gap_ns, small_kernel_ns; /* from the limits of insight */
    bool short_names;
    nsys_stop *stop; /* may be NULL */
    void *arg;
};

/* Reads the exports: files, or those ending in .sqlite below folders. An
 * unreadable file becomes a rank marked as bad. *out is NULL if there are
 * neither exports nor reports of nsys. Returns -1 without memory, or if an
 * input does not exist. */
int nsys_load(const char *const *inputs, size_t n,
              const struct jp_nsys_options *options, struct jp_nsys **out,
              struct jp_error *err);
/* Accepts NULL. */
void nsys_destroy(struct jp_nsys *nsys);

/* "api", "kernel", "memory_time", "memory_size", "nvtx_pushpop",
 * "nvtx_startend" */
extern const char *const nsys_table_names[NSYS_TABLES];

/* The rows of a table: *n rows starting at the result. */
const struct jp_nsys_row *nsys_rows(const struct jp_nsys *nsys,
                                    enum nsys_table table, size_t *n);

/* Fractions of a rank's time, 0 to 1; NAN: its GPUs did nothing. */
double nsys_busy_share(const struct nsys_profile *p);
double nsys_short_gap_share(const struct nsys_profile *p);

/* Writes one sentence about all ranks to buf. Returns buf. */
#define JP_NSYS_TEXT 400
char *nsys_text(const struct jp_nsys *nsys, char buf[JP_NSYS_TEXT]);

/* Prints the tables in the layout of nsys (nsys.c): API calls, kernels, copies
 * by time and by size, and NVTX if there are ranges. With several ranks there
 * are columns about them. top: limit of rows per table; 0: none. */
void nsys_print(const struct jp_nsys *nsys, size_t top, FILE *out);

/* --- convert reports of nsys to SQLite files, which jobprof can read ----- */

/* Runs `nsys export` for each report (.nsys-rep) below a folder that has no
 * export beside it, or an older one. Several run at once, at low priority, as
 * the user. Each writes to its own folder in TMPDIR, because SQLite needs a
 * file system with locks; the complete file is then moved beside the report. */

struct nsys_export_options {
    const char *program; /* NULL: the one that profiled the ranks, otherwise
                          * from PATH */
    unsigned at_once;
    uint32_t limit_ms; /* for all exports together */
    nsys_stop *stop;   /* may be NULL */
    void *arg;
};

struct nsys_export_done {
    size_t wanted, made, failed, late;
    char why[300]; /* reason of the first failure, or "" */
};

/* Works below a step's directory that belongs to the caller; other users' files
 * are ignored. Returns -1 without memory; finished exports are kept. */
int nsys_export(const char *folder, const struct nsys_export_options *options,
                struct nsys_export_done *out, struct jp_error *err);

#endif
