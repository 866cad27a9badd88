/* The recorder's life: a communicator comes, goes; the process forks, ends.
 *
 * Nothing exists before the first communicator, and nothing of a parent is
 * used in a forked child, which starts anew with its own first communicator.
 * The library stays mapped when NCCL unloads it (linked with -z nodelete),
 * so its writer thread is never pulled from under its own code.
 */
#ifndef JP_REC_LIFE_H
#define JP_REC_LIFE_H

#include "plugins/nccl_recorder/nccl_profiler.h"
#include "plugins/nccl_recorder/rec_comm.h"

/* A communicator comes up. `version` is the interface's (1 to 6), `log` may
 * be NULL. `*context` is NULL and `*mask` 0 when nothing can be recorded,
 * which is said once, at INFO level. `mask` may be NULL. Always
 * JP_NCCL_SUCCESS. */
int rec_life_init(int version, const struct jp_rec_comm_facts *facts,
                  jp_nccl_log_fn *log, void **context, int *mask);

/* It goes: pending operations are recorded, and everything is written or 40 ms
 * have passed. Always JP_NCCL_SUCCESS. */
int rec_life_finalize(void *context);

#endif
