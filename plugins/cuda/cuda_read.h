/* cuda_read.h - reads the file of a process' CUDA counters (cuda_file.h).
 *
 * Foreign input: no number in it is trusted. Records behind the first bad one
 * are counted and not used; sums that become smaller are bad.
 */
#ifndef JP_CUDA_READ_H
#define JP_CUDA_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "plugins/cuda/cuda_file.h"

/* A moment of the process: sums since it began. */
struct cuda_moment {
    uint64_t since_ns, live_bytes, peak_bytes;
    uint64_t sum[CUDA_COUNTERS_N];
};

struct cuda_process {
    char host[CUDA_HOST_MAX]; /* printable, as all texts here; may be empty */
    char note[CUDA_NOTE_MAX]; /* why nothing was counted; "" it was */
    uint32_t pid, cupti;
    int32_t rank; /* -1: none */
    uint64_t start_us;
    struct cuda_moment *moments; /* in order of time; owned */
    size_t n_moments;
    uint64_t bad_records; /* and what is left of a record at the end */
};

/* At most max moments (2 or more): of more of them, each second, third ... and
 * the last. -1: not such a file, or no memory; *out is unchanged. */
int cuda_parse(const void *data, size_t len, size_t max,
               struct cuda_process *out, struct jp_error *err);

/* The same of a file, of which at most CUDA_FILE_MAX bytes are read. */
#define CUDA_FILE_MAX (16u << 20)
int cuda_read(const char *path, size_t max, struct cuda_process *out,
              struct jp_error *err);
void cuda_process_fini(struct cuda_process *process);

#endif
