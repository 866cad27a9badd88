/* cuda_read.h - read the file of a process's CUDA counters (cuda_file.h).
 *
 * Foreign input: no number in it is trusted. Records after the first bad one
 * are counted and not used; a record whose sums become smaller is bad. */
#ifndef JP_CUDA_READ_H
#define JP_CUDA_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "plugins/cuda/cuda_file.h"

/* The process at one moment: sums since it began. */
struct cuda_moment {
    uint64_t since_ns, live_bytes, peak_bytes;
    struct cuda_pair pair; /* gpu 0: none since the moment before */
    uint64_t sum[CUDA_COUNTERS_N];
};

struct cuda_process {
    char host[CUDA_HOST_MAX]; /* printable, as all texts here; may be empty */
    char note[CUDA_NOTE_MAX]; /* why nothing was counted; "": it was */
    uint32_t pid, cupti;
    int32_t rank;                /* -1: none */
    uint64_t start_us, mono_ns;  /* of the start; 0: not plausible */
    struct cuda_moment *moments; /* ordered by time; owned */
    size_t n_moments;
    uint64_t bad_records; /* including a part of a record at the end */
};

/* Keeps at most max moments (2 or more): of a longer file every second, third
 * ... record, and the last one. Returns -1 if it is no such file, or without
 * memory; *out is unchanged then. */
int cuda_parse(const void *data, size_t len, size_t max,
               struct cuda_process *out, struct jp_error *err);

/* The same for a file of at most CUDA_FILE_MAX bytes. */
#define CUDA_FILE_MAX (16u << 20)
int cuda_read(const char *path, size_t max, struct cuda_process *out,
              struct jp_error *err);
void cuda_process_fini(struct cuda_process *process);

#endif
