/* rec_env.h - the recorder's settings and the contents of the file's header.
 *
 *   JOBPROF_RECORDER_DIR       folder of the file, which must exist
 *   JOBPROF_RECORDER_MEM       bytes of memory (16 MiB; 6 MiB to 1 GiB)
 *   JOBPROF_RECORDER_DISK      cap of the file in bytes (0: none)
 *   JOBPROF_RECORDER_MIN_FREE  bytes of the file system to leave free (0: none)
 *   JOBPROF_RECORDER_NET       1: record network waits (0)
 *   JOBPROF_RECORDER_KERNELS   kernel events: auto: from interface v5 on;
 *                              1: from v4 on; 0: never (auto)
 *   JOBPROF_RECORDER_DECLINE   releases of NCCL that are not recorded, and
 *                              ranges: "2.27.3,2.31.2-2.31.5" (none)
 *
 *   JOBPROF_RECORDER_CHAIN     another profiler library (rec_chain.h)
 *
 * Defaults are in parentheses. Numbers are decimal. A bad value counts as not
 * set and becomes a note in the header.
 */
#ifndef JP_REC_ENV_H
#define JP_REC_ENV_H

#include <stddef.h>

#include "plugins/nccl_recorder/jpr.h"

/* Limits of JOBPROF_RECORDER_MEM; the planner keeps within them. */
#define JP_REC_MEM_MIN (6u << 20)
#define JP_REC_MEM_MAX (1u << 30)

struct jp_rec_settings {
    uint64_t memory_bytes;
    uint64_t disk_bytes;
    uint64_t min_free_bytes;
    bool net;     /* network waits are recorded */
    bool kernels; /* kernel events are requested. NCCL 2.26 and 2.27 (v3, v4)
                     can fail on them, and 2.26 has no GPU times
                     (docs/dev/recorder-format.md, "Kernel events") */
};

/* Reads the environment, once per process; `interface` is 1 to 7. Returns why
 * NCCL's release is not recorded ("declined: NCCL 2.27.3 (known-bad)"), which
 * is also a note in the header, or NULL if it is recorded. */
const char *rec_env_read(struct jp_rec_settings *settings, int interface);

/* Why the chained library is not used; NULL: it is, or there is none. Borrowed
 * for ever; a note in headers from now on. */
void rec_env_chain(const char *why);

/* Fills the header with the settings and what the process is. Texts live as
 * long as the process. `interface` is 1 to 7. */
void rec_env_header(const struct jp_rec_settings *settings, int interface,
                    struct jpr_header *header);

/* Fills who the process is: what launchers told it, and its process ids. Texts
 * live as long as the process. */
void rec_env_process(struct jpr_process *process);

/* Reads the three clocks, one right after the other. */
void rec_env_clocks(struct jpr_clocks *clocks);

/* --- which GPU the calling thread's communicator uses --- */

/* Finds PCI bus id ("0000:4f:00.0") and UUID ("GPU-...") of the current device,
 * "" where they are unknown. Only asks libraries that the process has already
 * loaded; loads nothing, makes no context. */
void rec_gpu_identify(char *pci, size_t pci_size, char *uuid, size_t uuid_size);

#endif
