/* fakecuda.h - a CUDA for a machine without a GPU, made for NCCL's host code:
 * what its parts share.
 *
 * Device memory is the host's, a stream is a queue with a thread, a captured
 * graph is the list of what was queued. Kernels are those of NCCL, and do only
 * what the host can see of them (kernels.c). Names, arguments and result
 * numbers are those of the reference manuals of CUDA's runtime and driver; only
 * what NCCL and drive call is there. The GPUs are those of
 * contrib/fakegpu/fakegpu.h (FAKEGPU_COUNT, 8 where it is not set).
 *
 *   FAKECUDA_KERNEL_US   least time of a work after all its partners came (0)
 *   FAKECUDA_DROP_STAMP  each nth work leaves no stamps on channels but 0 (0)
 *   FAKECUDA_POLITE_US   what NCCL's threads sleep where they would spin (20)
 *   FAKECUDA_LAG_US      what NCCL's progress thread sleeps instead (0: the
 *                        same)
 *   FAKECUDA_TRACE       1: says what was led to the stand-in */
#ifndef JP_FAKECUDA_H
#define JP_FAKECUDA_H

#include <stddef.h>
#include <stdint.h>

#define FAKECUDA_EXPORT __attribute__((visibility("default")))

/* Result numbers; the driver's are the same where both have one. */
enum {
    FAKE_OK = 0,
    FAKE_INVALID_VALUE = 1,
    FAKE_NO_MEMORY = 2,
    FAKE_INVALID_DEVICE = 101,
    FAKE_NOT_FOUND = 500,
    FAKE_NOT_READY = 600,
    FAKE_NOT_SUPPORTED = 801,
};

/* FAKE_MAX_ARGS is the most that NCCL passes to a kernel. */
enum { FAKE_MAX_ARGS = 4096 };

/* fake_memory.c: writes bytes as memset() does; whole pages of zeros are given
 * back to the system. */
void fake_memory_fill(void *at, int value, size_t bytes);
/* Frees the block that begins here, or forgets it where it is not ours. */
void fake_memory_free(void *at);

/* fake_runtime.c: the calling thread's device, and its last error. */
int fake_device(void);
void fake_device_set(int device);
int fake_fail(int error);

/* fake_streams.c: queues a kernel of NCCL with a copy of its arguments. */
struct stream;
void fake_launch(struct stream *stream, const void *args, size_t bytes);

/* kernels.c: runs a kernel to its end. args is a copy. */
void fake_kernel(const char *args);

/* redirect.c: leads the CUDA runtime inside an NCCL to this library. nccl is
 * the library's path or part of it, as the loader knows it; version is its
 * ncclGetVersion(). Must be called before NCCL calls CUDA. Returns how many
 * functions were led over (0: NCCL uses a shared runtime), or -1 with *why. */
FAKECUDA_EXPORT int fakecuda_lead(const char *nccl, int version,
                                  const char **why);

/* fake_streams.c: when an event was last complete, CLOCK_MONOTONIC. */
struct event;
FAKECUDA_EXPORT uint64_t fakecuda_event_ns(struct event *event);

/* kernels.c: what fakecuda_lead() found. rows: NCCL's table of functions,
 * borrowed. Returns -1 where the release's layout is not known. */
int fake_kernels_init(int version, const int *rows, size_t n_rows);

uint64_t fake_now_ns(void);

#endif
