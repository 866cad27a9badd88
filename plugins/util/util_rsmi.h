/* util_rsmi.h - one sample of AMD's GPUs, in the process that calls.
 *
 * The same rows as NVIDIA's have (util_nvml.h), by ROCm's management library
 * (rocm_smi.h of ROCm 5 to 7). What it does not tell stays unknown: never 0.
 */
#ifndef JP_UTIL_RSMI_H
#define JP_UTIL_RSMI_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "plugins/util/util_nvml.h"
#include "plugins/util/util_rows.h"

struct util_rsmi;

/* Loads the library: a path, or NULL for the names that ROCm gives it. numbers:
 * the GPUs to look at, "0,1,4-7", in the library's order; NULL or "": all.
 * NULL: err says why there is nothing to sample, "" where there is no such
 * library. */
struct util_rsmi *util_rsmi_open(const char *library, const char *numbers,
                                 struct jp_error *err);
/* One sample of all GPUs, a row each, without times, at most room of them. pids
 * may be NULL. The number of rows. */
size_t util_rsmi_read(struct util_rsmi *rsmi, uint64_t mono_us,
                      const struct util_pids *pids, struct util_row *out,
                      size_t room);
void util_rsmi_close(struct util_rsmi *rsmi); /* takes NULL */

#endif
