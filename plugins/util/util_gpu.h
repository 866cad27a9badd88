/* util_gpu.h - samples of GPUs, taken by a child that may hang.
 *
 * The child loads the management libraries of NVIDIA (nvml.h of CUDA 11 to 13)
 * and AMD (rocm_smi.h of ROCm 5 to 7) that there are, and answers one question
 * after another. A driver that hangs or crashes takes the
 * child with it and nothing else: rows are missing then, and gpus_end says why.
 * A function that the library does not have, or a GPU does not support, leaves
 * its figures unknown.
 */
#ifndef JP_UTIL_GPU_H
#define JP_UTIL_GPU_H

#include "common/error.h"
#include "plugins/util/util_nvml.h"
#include "plugins/util/util_rows.h"

/* The child is killed when an answer takes longer. The first question waits for
 * the driver, which may need 20 s and more without persistence mode. */
#define UTIL_GPU_FIRST_MS 60000
#define UTIL_GPU_LIMIT_MS 10000

struct util_gpus;

/* Starts the child. nvml: a path, or a name for dlopen(); rsmi: a path, or NULL
 * for its usual names. numbers: the GPUs to look at, "0,1,4-7", NVIDIA's by
 * their minor numbers and AMD's in the library's order; NULL or "": all. NULL:
 * no child could be made. */
struct util_gpus *util_gpus_start(const char *nvml, const char *rsmi,
                                  const char *numbers, struct jp_error *err);
/* Where an answer can be read; -1: the child has ended. */
int util_gpus_fd(const struct util_gpus *gpus);
/* Asks for a sample, unless the last one has not come yet. pids: the step's
 * processes, to tell others on its GPUs. */
void util_gpus_ask(struct util_gpus *gpus, uint64_t now_ms,
                   const struct util_pids *pids);
/* Takes an answer if it is there whole; out has UTIL_GPUS_MAX rows. The number
 * of rows (without times), 0: not yet. -1: the child has ended or was killed
 * for its slowness; err says so, once. */
int util_gpus_take(struct util_gpus *gpus, uint64_t now_ms,
                   struct util_row *out, struct jp_error *err);
/* What the child has cost by its last answer. */
uint64_t util_gpus_cpu_us(const struct util_gpus *gpus);
uint64_t util_gpus_max_rss(const struct util_gpus *gpus); /* bytes */
void util_gpus_stop(struct util_gpus *gpus);              /* takes NULL */

#endif
