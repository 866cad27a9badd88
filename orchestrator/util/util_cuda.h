/* util_cuda.h - what a step's processes called of CUDA: the files of
 * plugins/cuda/ of all of them.
 *
 * The files are foreign input: a bad one is counted, the rest is used.
 */
#ifndef JP_UTIL_CUDA_H
#define JP_UTIL_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "plugins/cuda/cuda_read.h"

/* A process, over its whole time or between two records. */
struct jp_cuda_row {
    size_t process; /* index of processes[] */
    uint64_t at_us; /* when it began, since 1970, by the node's clock */
    uint64_t length_us;
    uint64_t live_bytes, peak_bytes; /* at the end of it; at most so far */
    uint64_t sum[CUDA_COUNTERS_N];
    double busiest; /* launches a second, of the second that had most; NAN
                       for a part */
};

struct jp_cuda_process {
    char *path; /* owned */
    bool bad;   /* it could not be read */
    /* why it could not be, or why nothing was counted; "" */
    char why[CUDA_NOTE_MAX + 96];
    char host[CUDA_HOST_MAX];
    int64_t rank; /* -1: none */
    uint32_t pid;
    uint64_t bad_records;
};

struct jp_cuda {
    struct jp_cuda_process *processes; /* by rank, host and pid */
    struct jp_cuda_row *totals;        /* of each of them */
    size_t n_processes;
    struct jp_cuda_row *parts; /* in order of processes, then of time */
    size_t n_parts;
    size_t n_bad, n_uncounted, skipped; /* files: bad, with a note, not read */
};

/* More files are not read; all of them have so many parts at most. */
#define UTIL_CUDA_FILES_MAX 16384
#define UTIL_CUDA_PARTS_MAX 100000
#define JP_CUDA_TEXT 500 /* of util_cuda_text */

/* Reads all such files below the folder raw. *out is NULL where there is none.
 * -1: no memory. */
int util_cuda_load(const char *raw, struct jp_cuda **out, struct jp_error *err);
void util_cuda_destroy(struct jp_cuda *cuda); /* takes NULL */

/* Of all processes together; times and bytes of memory are added, too. */
struct jp_cuda_row util_cuda_sum(const struct jp_cuda *cuda);

/* "8 processes: 1.2 M launches; 3 GiB to GPUs ..." into buf. Returns buf. */
char *util_cuda_text(const struct jp_cuda *cuda, char buf[JP_CUDA_TEXT]);

#endif
