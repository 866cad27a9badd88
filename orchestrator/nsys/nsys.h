/* nsys.h - exports of Nsight Systems of a step's ranks, as one.
 *
 * An export is a rank's. Names of all exports are merged: counts, totals, mean
 * and deviation are those of all events together, exactly; beside them stands
 * how the ranks differ. Exports are read one after the other, so that memory
 * depends on the number of names, not of ranks or events.
 */
#ifndef JP_NSYS_NSYS_H
#define JP_NSYS_NSYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "plugins/nsys/nsys_read.h"

/* One export. Counts and times are as in struct nsys_profile. */
struct jp_nsys_rank {
    char *path;
    int64_t rank;   /* of its name "<job>.<step>.rank<N>.<host>"; -1: unknown */
    char host[256]; /* of the name, or as the export says; "": unknown */
    bool bad;       /* it could not be read; all else is 0 */
    char why[300];  /* it could not; or nsys' first warning */
    struct nsys_profile p; /* without names */
};

/* A name's events of all ranks together. */
struct jp_nsys_row {
    enum nsys_table table;
    char *name;
    struct nsys_sum sum;         /* ns, or bytes in NSYS_MEM_SIZE */
    double share;                /* of its table's total, 0..1 */
    uint32_t ranks;              /* that have it */
    uint64_t rank_min, rank_max; /* a rank's total, of those that have it */
    double imbalance; /* the largest rank's total over the mean of all that
                         were read */
};

struct jp_nsys_gap {
    size_t rank; /* index */
    struct nsys_gap gap;
};

struct jp_nsys {
    struct jp_nsys_rank *ranks; /* by rank, then by path */
    size_t n_ranks, n_bad;
    struct jp_nsys_row *rows; /* by table, then by total, largest first */
    size_t n_rows;
    struct jp_nsys_gap *gaps; /* longest first */
    size_t n_gaps;
    size_t skipped;    /* exports beyond JP_NSYS_MAX */
    size_t unexported; /* reports (.nsys-rep, .qdrep) without an export */
    bool out_of_time;
};
#define JP_NSYS_MAX 4096
#define JP_NSYS_DEPTH 8

struct jp_nsys_options {
    uint64_t short_gap_ns, small_kernel_ns; /* limits of insight */
    bool short_names;
    nsys_stop *stop; /* may be NULL */
    void *arg;
};

/* Reads the exports: files, or those ending in .sqlite below folders. A file
 * that cannot be read is a rank that is bad. *out is NULL where there is
 * neither an export nor a report of nsys. -1: no memory, or an input is not
 * there. */
int nsys_load(const char *const *inputs, size_t n,
              const struct jp_nsys_options *options, struct jp_nsys **out,
              struct jp_error *err);
/* Takes NULL. */
void nsys_destroy(struct jp_nsys *nsys);

/* "api", "kernel", "memory_time", "memory_size", "nvtx_pushpop",
 * "nvtx_startend" */
extern const char *const nsys_table_names[NSYS_TABLES];

/* The rows of a table: *n from the returned one on. */
const struct jp_nsys_row *nsys_rows(const struct jp_nsys *nsys,
                                    enum nsys_table table, size_t *n);

/* Shares of a rank's time, 0..1; NAN: its GPUs did nothing. */
double nsys_busy_share(const struct nsys_profile *p);
double nsys_short_gap_share(const struct nsys_profile *p);

/* One sentence on all ranks; returns buf. */
#define JP_NSYS_TEXT 400
char *nsys_text(const struct jp_nsys *nsys, char buf[JP_NSYS_TEXT]);

/* The tables as nsys prints them (nsys.c): those of calls, kernels,
 * copies by time and by size; of NVTX where there are ranges. With several
 * ranks they have columns on these. top: most rows of a table; 0: all. */
void nsys_print(const struct jp_nsys *nsys, size_t top, FILE *out);

#endif
