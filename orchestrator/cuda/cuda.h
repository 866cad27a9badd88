/* cuda.h - the CUDA calls of a step's processes, from the files of
 * plugins/cuda/. */
#ifndef JP_CUDA_CUDA_H
#define JP_CUDA_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "plugins/cuda/cuda_read.h"

/* The files are foreign input: a bad file is counted and the rest is used. */

/* Counters of a process, over its lifetime or between two records. */
struct jp_cuda_row {
    size_t process; /* index in processes[] */
    uint64_t at_us; /* start, since 1970, by the node's clock */
    uint64_t length_us;
    uint64_t live_bytes, peak_bytes; /* live at the end of the row; peak so
                                      * far */
    uint64_t sum[CUDA_COUNTERS_N];
    double busiest; /* launches per second in the busiest second; NAN for a
                     * part */
};

/* The clock of a GPU beside its node's at one moment. */
struct jp_cuda_pair {
    size_t process;
    uint64_t gpu;     /* as in struct cuda_pair */
    uint64_t at_us;   /* since 1970, by the node's clock */
    uint64_t mono_ns; /* the node's CLOCK_MONOTONIC; 0: unknown */
    uint64_t gpu_ns, width_ns;
};

/* The clock of a GPU, as one process read it: a line through its pairs. */
struct jp_cuda_clock {
    size_t process;
    uint64_t gpu;
    size_t n_pairs;
    uint64_t from_us, length_us; /* of the first pair; to the last one */
    double ahead_us;  /* of CLOCK_MONOTONIC, at from_us; NAN: unknown */
    double drift_ppm; /* NAN: less than a second between the pairs */
    double within_us; /* no pair is farther from the line, with half its width;
                         NAN: ahead_us is unknown */
};

struct jp_cuda_process {
    char *path; /* owned */
    bool bad;   /* the file could not be read */
    /* why it is unreadable, or why nothing was counted; "" */
    char why[CUDA_NOTE_MAX + 96];
    char host[CUDA_HOST_MAX];
    int64_t rank; /* -1: none */
    uint32_t pid;
    uint64_t bad_records;
};

struct jp_cuda {
    struct jp_cuda_process *processes; /* ordered by rank, host and pid */
    struct jp_cuda_row *totals;        /* one row per process */
    size_t n_processes;
    struct jp_cuda_row *parts; /* ordered by process, then by time */
    size_t n_parts;
    struct jp_cuda_pair *pairs; /* ordered by process, GPU and time */
    size_t n_pairs;
    struct jp_cuda_clock *clocks; /* ordered by process and GPU */
    size_t n_clocks;
    size_t n_bad, n_uncounted, skipped; /* number of files: bad, with a note,
                                         * not read */
};

/* Limits of the files that are read, and of their parts in total. */
#define CUDA_FILES_MAX 16384
#define CUDA_PARTS_MAX 100000
#define JP_CUDA_TEXT 500 /* buffer size for cuda_text */

/* Reads all such files below the folder raw. *out is NULL if there are none.
 * Returns -1 without memory. */
int cuda_load(const char *raw, struct jp_cuda **out, struct jp_error *err);
void cuda_destroy(struct jp_cuda *cuda); /* accepts NULL */

/* The sum over all processes, including times and bytes of memory. */
struct jp_cuda_row cuda_sum(const struct jp_cuda *cuda);

/* Formats "8 processes: 1.2 M launches; 3 GiB to GPUs ..." to buf. Returns
 * buf. */
char *cuda_text(const struct jp_cuda *cuda, char buf[JP_CUDA_TEXT]);

#endif
