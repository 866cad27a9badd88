/* util_gpu.h - samples of GPUs, taken by a child process.
 *
 * The child loads the management libraries of NVIDIA (nvml.h of CUDA 11 to 13)
 * and AMD (rocm_smi.h of ROCm 5 to 7) that exist, and answers one question
 * after another. If a driver hangs or crashes, only the child is lost: rows are
 * missing then, and an error says why. A function that the library does not
 * have, or that a GPU does not support (for instance under MIG), leaves its
 * figures unknown, never 0. */
#ifndef JP_UTIL_GPU_H
#define JP_UTIL_GPU_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/procfs.h"
#include "plugins/util/util_rows.h"

#define UTIL_GPUS_MAX 64

/* --- the child ----------------------------------------------------------- */

/* The child is killed when an answer takes longer. The first answer waits for
 * the driver, which may need 20 s and more without persistence mode. */
#define UTIL_GPU_FIRST_MS 60000
#define UTIL_GPU_LIMIT_MS 10000

struct util_gpus {
    int fd; /* an answer can be read there; -1: the child has ended */
    /* of the child, as of its last answer; max_rss in bytes */
    uint64_t cpu_us, max_rss;
    struct util_gpus_child *child;
};

/* Starts the child. nvml: a path, or a name for dlopen(). rsmi: a path, or NULL
 * for its usual names. numbers: the GPUs to sample, "0,1,4-7": NVIDIA's by
 * their minor numbers, AMD's in the library's order; NULL or "": all. Returns
 * NULL if no child could be made. */
struct util_gpus *util_gpus_start(const char *nvml, const char *rsmi,
                                  const char *numbers, struct jp_error *err);
/* Requests a sample, unless one is still due. pids: the step's processes, to
 * recognise others on its GPUs. */
void util_gpus_ask(struct util_gpus *gpus, uint64_t now_ms,
                   const struct procfs_pids *pids);
/* Takes an answer that is complete; out has UTIL_GPUS_MAX rows. Returns the
 * number of rows, which have no times; 0: no answer yet; -1: the child has
 * ended, or was killed because it was too slow; err says so, once. */
int util_gpus_take(struct util_gpus *gpus, uint64_t now_ms,
                   struct util_row *out, struct jp_error *err);
/* Kills the child and frees. Accepts NULL. */
void util_gpus_stop(struct util_gpus *gpus);

/* --- a counter's last value, from which rates are made ------------------- */

struct util_counter {
    uint64_t last; /* PROCFS_NONE: none yet */
};

/* Growth per second over the last dt seconds, in steps of `unit`. NAN where it
 * is unknown: at the first value, for an unknown one, after a counter went
 * backwards, or if dt is 0. */
static inline double util_rate(struct util_counter *counter, uint64_t now,
                               double unit, double dt)
{
    uint64_t last = counter->last;

    counter->last = now;
    if (last == PROCFS_NONE || now == PROCFS_NONE || now < last || !(dt > 0))
        return NAN;
    return (double) (now - last) * unit / dt;
}

static inline double util_known(uint64_t n)
{
    return n == PROCFS_NONE ? NAN : (double) n;
}

/* --- one sample of NVIDIA's GPUs, in the process that calls -------------- */

struct util_nvml;

/* Loads the library: a path, or a name for dlopen(). minors: the GPUs to sample
 * by their minor numbers, "0,1,4-7"; NULL or "": all. Returns NULL if there is
 * nothing to sample; err says why. */
struct util_nvml *util_nvml_open(const char *library, const char *minors,
                                 struct jp_error *err);
/* One sample of all GPUs, a row each, without times; out has UTIL_GPUS_MAX
 * rows. pids may be NULL. mono_us is used for rates, real_us is compared with
 * NVML's own times. Returns the number of rows. */
size_t util_nvml_read(struct util_nvml *nvml, uint64_t real_us,
                      uint64_t mono_us, const struct procfs_pids *pids,
                      struct util_row *out);
void util_nvml_close(struct util_nvml *nvml); /* accepts NULL */

/* --- one sample of AMD's GPUs, in the process that calls ----------------- */

struct util_rsmi;

/* Loads the library: a path, or NULL for the names that ROCm gives it. numbers:
 * the GPUs to sample, "0,1,4-7", in the library's order; NULL or "": all.
 * Returns NULL if there is nothing to sample; err says why, "" if there is no
 * such library. */
struct util_rsmi *util_rsmi_open(const char *library, const char *numbers,
                                 struct jp_error *err);
/* One sample of all GPUs, a row each, without times, at most `room`. pids may
 * be NULL. Returns the number of rows. */
size_t util_rsmi_read(struct util_rsmi *rsmi, uint64_t mono_us,
                      const struct procfs_pids *pids, struct util_row *out,
                      size_t room);
void util_rsmi_close(struct util_rsmi *rsmi); /* accepts NULL */

#endif
