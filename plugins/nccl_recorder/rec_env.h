/* rec_env.h - the recorder's settings and the contents of the file's header.
 *
 *   JOBPROF_RECORDER_DIR       folder of the file, which must exist
 *   JOBPROF_RECORDER_MEM       bytes of memory (16 MiB; 6 MiB to 1 GiB)
 *   JOBPROF_RECORDER_DISK      cap of the file in bytes (0: none)
 *   JOBPROF_RECORDER_MIN_FREE  bytes of the file system to leave free (0: none)
 *   JOBPROF_RECORDER_NET       1: record network waits (0)
 *   JOBPROF_RECORDER_KERNELS   kernel events: auto, 1 (always, from interface
 * v4 on), 0 (auto; see rec_comm.h) JOBPROF_RECORDER_DECLINE   releases of NCCL
 * that are not recorded, and ranges: "2.27.3,2.31.2-2.31.5" (none) Numbers are
 * decimal. A bad one is as if it were not set, and noted.
 */
#ifndef JP_REC_ENV_H
#define JP_REC_ENV_H

#include <stddef.h>

#include "plugins/nccl_recorder/jpr.h"

/* Of JOBPROF_RECORDER_MEM; the planner keeps within them. */
#define JP_REC_MEM_MIN (6u << 20)
#define JP_REC_MEM_MAX (1u << 30)

struct jp_rec_settings {
    uint64_t memory_bytes;
    uint64_t disk_bytes;
    uint64_t min_free_bytes;
    bool net;
    enum { JP_REC_KERNELS_OFF, JP_REC_KERNELS_AUTO, JP_REC_KERNELS_ON } kernels;
};

/* Reads the environment; once per process. */
void rec_env_read(struct jp_rec_settings *settings);

/* Whether kernel events are requested with interface N. NCCL 2.26 and 2.27 (v3,
 * v4) can fail on them, and 2.26 has no GPU times
 * (docs/recorder-format.md, "Kernel events"). */
bool rec_env_wants_kernels(const struct jp_rec_settings *settings,
                           int interface);

/* Why NCCL's release is not recorded ("declined: NCCL 2.27.3 (known-bad)"), a
 * note of the header too; NULL: it is. After rec_env_read. */
const char *rec_env_declined(void);

/* Fills the header with them and with what the process is; texts live for
 * ever. `interface` is 1 to 6. */
void rec_env_header(const struct jp_rec_settings *settings, int interface,
                    struct jpr_header *header);

/* The three clocks, one right after the other. */
void rec_env_clocks(struct jpr_clocks *clocks);

/* The host's name without anything that is no file name. */
const char *rec_env_hostname(void);

/* --- which GPU the calling thread's communicator uses --- */

/* PCI bus id ("0000:4f:00.0") and UUID ("GPU-...") of the current device, ""
 * where they cannot be had. Asks only libraries that the process has loaded
 * already; loads nothing, makes no context. */
void rec_gpu_identify(char *pci, size_t pci_size, char *uuid, size_t uuid_size);

#endif
