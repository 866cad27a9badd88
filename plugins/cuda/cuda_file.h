/* cuda_file.h - the file of a process's CUDA counters: what writer and reader
 * share.
 *
 * One file for each process: a head, then records of equal size. Each record
 * has sums since the process began, so the last complete record is the total,
 * and the difference of two records is what happened between them. A record is
 * written once a second if something was called, and once at the end; a process
 * that is killed loses its last second. All numbers are little-endian. Head and
 * records end with a checksum of their bytes before it. */
#ifndef JP_CUDA_FILE_H
#define JP_CUDA_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "common/fnv.h"

/* The last digit is the format's version. */
#define CUDA_FILE_MAGIC "JPCUDA2\n"

/* Sums since the process began: ROW(constant, column name, help). New rows go
 * to the end: a reader takes as many as it has. */
#define CUDA_COUNTERS(ROW)                                                     \
    ROW(CALLS, "calls", "calls into CUDA's driver that are counted here")      \
    ROW(ERRORS, "errors", "failed ones among them")                            \
    ROW(LAUNCHES, "launches", "launches of a kernel")                          \
    ROW(GRAPHS, "graphs", "launches of a graph")                               \
    ROW(H2D, "h2d", "copies from the host to a GPU")                           \
    ROW(H2D_BYTES, "h2d_bytes", "their data")                                  \
    ROW(D2H, "d2h", "copies from a GPU to the host")                           \
    ROW(D2H_BYTES, "d2h_bytes", "their data")                                  \
    ROW(D2D, "d2d", "copies within GPUs")                                      \
    ROW(D2D_BYTES, "d2d_bytes", "their data")                                  \
    ROW(PEER, "peer", "copies between GPUs by a call for peer copies")         \
    ROW(PEER_BYTES, "peer_bytes", "their data")                                \
    ROW(OTHER, "other", "copies of a direction that the call does not name")   \
    ROW(OTHER_BYTES, "other_bytes", "their data")                              \
    ROW(COPY_NS, "copy_ns", "time in calls that return when a copy is done")   \
    ROW(SETS, "sets", "memsets")                                               \
    ROW(ALLOCS, "allocs", "allocations of GPU memory")                         \
    ROW(ALLOC_BYTES, "alloc_bytes", "their sizes")                             \
    ROW(FREES, "frees", "of GPU memory")                                       \
    ROW(FREE_BYTES, "free_bytes", "their sizes, if known")                     \
    ROW(SYNCS, "syncs", "calls that wait for a GPU, stream or event")          \
    ROW(SYNC_NS, "sync_ns", "time in them, of all threads")

enum cuda_counter {
#define ROW(constant, name, help) CUDA_##constant,
    CUDA_COUNTERS(ROW)
#undef ROW
        CUDA_COUNTERS_N
};

enum { CUDA_HOST_MAX = 64, CUDA_NOTE_MAX = 160 };

struct cuda_file_head {
    char magic[8];
    uint32_t head_bytes, record_bytes;
    uint32_t n_counters;
    uint32_t pid;
    int32_t rank;      /* SLURM_PROCID; -1: none */
    uint32_t cupti;    /* its version; 0: none */
    uint64_t start_us; /* start of counting, since 1970 */
    uint64_t mono_ns;  /* the same by CLOCK_MONOTONIC, which has a zero of its
                          own on each node */
    char host[CUDA_HOST_MAX];
    char note[CUDA_NOTE_MAX]; /* why nothing is counted; "": it is */
    uint64_t check;
};

/* The clock of a GPU beside the host's: the newest pair when a record is
 * written. The GPU's clock is its globaltimer, in ns; its zero is any. */
struct cuda_pair {
    uint64_t at_ns;    /* the middle of the reading, since the start */
    uint64_t width_ns; /* how long it took: the pair is off by half at most */
    uint64_t gpu;      /* see CUDA_PAIR_*; 0: there is no pair */
    uint64_t gpu_ns;
};

/* Of cuda_pair.gpu: the number of the device in the process, plus 1; whether
 * its PCI address is known; the address. */
#define CUDA_PAIR_DEVICE(gpu) ((unsigned) ((gpu) &0xffff))
#define CUDA_PAIR_PCI (1ull << 63)
#define CUDA_PAIR_SLOT(gpu) ((unsigned) ((gpu) >> 16 & 0xff))
#define CUDA_PAIR_BUS(gpu) ((unsigned) ((gpu) >> 24 & 0xff))
#define CUDA_PAIR_DOMAIN(gpu) ((unsigned) ((gpu) >> 32 & 0xffff))

struct cuda_file_record {
    uint64_t since_ns; /* since the start, by the monotonic clock */
    /* GPU memory in use, and the most so far */
    uint64_t live_bytes, peak_bytes;
    struct cuda_pair pair;
    uint64_t sum[CUDA_COUNTERS_N];
    uint64_t check;
};

/* Words of a record beside its sums: time, live, peak, the pair, checksum. */
enum { CUDA_RECORD_WORDS = 8 };

/* Both are written as they are in memory. */
_Static_assert(sizeof(struct cuda_file_head) == 8 + 6 * 4 + 16 + 64 + 160 + 8,
               "no holes");
_Static_assert(sizeof(struct cuda_file_record) ==
                   (CUDA_RECORD_WORDS + CUDA_COUNTERS_N) * sizeof(uint64_t),
               "no holes");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "little-endian");

/* The check of a head or record. */
static inline uint64_t cuda_file_check(const void *data, size_t len)
{
    return fnv_bytes(FNV_START, data, len);
}

/* Which records stay: one a second for an hour, then one in 10 s, then one a
 * minute. The last record is overwritten until it stays. A file has at most 6
 * MB. */
enum {
    CUDA_SECONDS = 3600, /* records of a second */
    CUDA_TENS = 7200,
    CUDA_RECORDS_MAX = 24000
};

/* --- variables that resolve sets for the library in the tasks ------------ */

/* CUDA's driver loads this library in cuInit() and calls its
 * InitializeInjection(). */
#define CUDA_ENV_LIBRARY "CUDA_INJECTION64_PATH"
#define CUDA_LIBRARY_NAME "libjobprof-cuda.so"
/* The folder of the processes' files on this node; unset: nothing is
 * counted. */
#define CUDA_ENV_DIR "JOBPROF_CUDA_DIR"
/* In the step's directory: raw/<node>/cuda/ */
#define CUDA_DIR "cuda"
#define CUDA_FILE_END ".jpc"

#endif
