/* nsys_read.h - one export of Nsight Systems becomes a profile.
 *
 * An export (nsys export --type=sqlite) is one SQLite file of what one nsys has
 * seen, usually one rank. Tables are there only where there are events, and
 * columns came and went over the years: what a table has not is not known, and
 * nothing else. Known: exports of 2019 to 2026 (schemas up to 3.28), whose
 * reference is https://docs.nvidia.com/nsight-systems/UserGuide/ "SQLite Schema
 * Reference". Each table is read once, rows in any order; memory does not grow
 * with the number of rows. Times are nanoseconds of nsys' session.
 */
#ifndef JP_PLUGINS_NSYS_READ_H
#define JP_PLUGINS_NSYS_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "plugins/nsys/nsys_sql.h"
#include "plugins/nsys/nsys_sums.h"

enum nsys_table {
    NSYS_API,      /* calls of CUDA's runtime and driver */
    NSYS_KERNELS,  /* kernels on GPUs */
    NSYS_MEM_TIME, /* copies and memsets on GPUs */
    NSYS_MEM_SIZE, /* their bytes */
    NSYS_PUSHPOP,  /* NVTX ranges of a thread */
    NSYS_STARTEND, /* NVTX ranges between threads */
    NSYS_TABLES
};

/* More names of a table than these become one, NSYS_OTHERS. */
#define NSYS_NAMES 50000
#define NSYS_NAME_LEN 4096
#define NSYS_OTHERS "<others>"
#define NSYS_UNKNOWN "<unknown>" /* the export does not say the name */

struct nsys_lines {
    struct nsys_names names;
    struct nsys_sum *sums; /* of each name: ns, or bytes */
    size_t room;
};

/* A time in which a GPU did nothing, and the call that took most of it. */
struct nsys_gap {
    uint32_t device;
    int64_t from_ns, to_ns;
    char call[96]; /* "": no call into CUDA */
    uint64_t call_ns;
};
#define NSYS_GAPS 5

/* What a GPU's activity adds up to. */
struct nsys_count {
    uint64_t n, ns, bytes;
};

struct nsys_profile {
    char schema[32];       /* "3.16.1"; "": unknown */
    char host[256];        /* "": unknown */
    uint64_t start_utc_ns; /* of the session; 0: unknown */
    struct nsys_lines of[NSYS_TABLES];

    /* GPUs: from the first to the last activity of each, added up */
    uint32_t devices;
    uint64_t span_ns, busy_ns;
    struct nsys_count gaps, short_gaps; /* shorter than requested */
    uint64_t closed_ns;                 /* gaps up to that are unknown */
    struct nsys_gap top[NSYS_GAPS];     /* longest first */
    size_t n_top;

    struct nsys_count kernels, small_kernels, nccl_kernels;
    struct nsys_count copies, pageable; /* pageable: host memory that is */
    /* calls: which wait for a copy, which wait otherwise, for memory */
    struct nsys_count sync_copies, syncs, allocations;
    struct nsys_count late_allocations; /* in the kernels' second half */
    struct nsys_sum latency;            /* ns, from a launch to its kernel */
    uint64_t latency_left_out;          /* kernels too many to be kept */

    uint64_t bad_rows;   /* end before start, no number ... */
    uint64_t open_calls; /* ranges and calls without an end */
    uint64_t warnings;   /* nsys' own, and errors */
    char warning[200];   /* the first one */
};

struct nsys_options {
    uint64_t short_gap_ns, small_kernel_ns;
    bool short_names; /* kernels without templates and parameters */
    nsys_stop *stop;  /* may be NULL */
    void *arg;
};

/* Reads the file. On failure (no export, cut, no memory) *out is as it was.
 * Free with nsys_profile_fini. */
int nsys_read(const char *path, const struct nsys_options *options,
              struct nsys_profile *out, struct jp_error *err);
void nsys_profile_fini(struct nsys_profile *profile);

/* "cudaLaunchKernel" for "cudaLaunchKernel_v7000"; cuMemAlloc_v2 stays. In
 * place. */
void nsys_strip_version(char *name);

/* --- whose a file of nsys is, by its name -------------------------------- */

/* "42.0.rank00003.node1.sqlite": the rank, and the host, "" for none, harmless
 * to a terminal. -1: a name without a rank. */
int64_t nsys_name_read(const char *path, char *host, size_t len);

/* What a copyKind is called, "[CUDA memcpy HtoD]", into buf. Returns buf. */
const char *nsys_name_copy(int64_t kind, char *buf, size_t len);

#endif
