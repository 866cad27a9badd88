/* util_nvml.h - one sample of NVIDIA's GPUs, in the process that calls.
 *
 * A function that the library does not have, or a GPU does not support (under
 * MIG for one), leaves its figures unknown: never 0.
 */
#ifndef JP_UTIL_NVML_H
#define JP_UTIL_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "plugins/util/util_rows.h"

#define UTIL_GPUS_MAX 64
/* Of a step on a node; with more of them nobody knows whose a GPU's processes
 * are. */
#define UTIL_PIDS_MAX 4096

struct util_nvml;

/* The step's processes on this node. */
struct util_pids {
    uint32_t n; /* more than UTIL_PIDS_MAX: the list is not whole */
    uint32_t pid[UTIL_PIDS_MAX];
};

/* Loads the library: a path, or a name for dlopen(). minors: the GPUs to look
 * at by their minor numbers, "0,1,4-7"; NULL or "": all. NULL: err says why
 * there is nothing to sample. */
struct util_nvml *util_nvml_open(const char *library, const char *minors,
                                 struct jp_error *err);
/* One sample of all GPUs, a row each, without times; out has UTIL_GPUS_MAX.
 * pids may be NULL. mono_us is for rates, real_us what NVML's own stamps are
 * held against. The number of rows. */
size_t util_nvml_read(struct util_nvml *nvml, uint64_t real_us,
                      uint64_t mono_us, const struct util_pids *pids,
                      struct util_row *out);
/* Whether a list of numbers ("0,4-7") has n; an empty one has all. */
bool util_nvml_lists(const char *list, unsigned n);
/* Whether the process is the step's. */
bool util_nvml_is_ours(const struct util_pids *pids, unsigned pid);
void util_nvml_close(struct util_nvml *nvml); /* takes NULL */

#endif
