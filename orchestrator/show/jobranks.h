/* jobranks.h - the ranks in the job of the processes that files name.
 *
 * For commands that read a step's files without a report. What is known of its
 * processes is gathered here; insight/processes.h decides which rank each one
 * has, as for a report. Every input is a step of its own: its tasks stand in
 * nodes/ beside raw/.
 */
#ifndef JP_SHOW_JOBRANKS_H
#define JP_SHOW_JOBRANKS_H

#include <stdint.h>

#include "common/error.h"
#include "orchestrator/ingest/logwalk.h"

/* What a file says of a process. */
struct jobranks_claim {
    const char *host;
    int64_t pid;
    int64_t task;           /* its SLURM_PROCID; -1: not told */
    const char *id;         /* of a communicator; NULL: of none */
    uint32_t n_ranks, rank; /* there */
};

struct jp_jobranks;

/* inputs are borrowed: files, folders of logs or the raw/ of steps. NULL
 * without memory. */
struct jp_jobranks *jobranks_create(const char *const *inputs, size_t n);
/* path: of the file that claims it. 0, or -1 without memory. */
int jobranks_add(struct jp_jobranks *ranks, const char *path,
                 const struct jobranks_claim *claim);
/* Decides, once all is added. 0, or -1 without memory. */
int jobranks_decide(struct jp_jobranks *ranks);
/* Takes NULL. */
void jobranks_destroy(struct jp_jobranks *ranks);

/* All three for the recorder's files; the walk is rewound. Only files whose
 * header does not settle it are read whole. NULL without memory. */
struct jp_jobranks *jobranks_read(struct jp_recwalk *walk);

/* The rank of a file's process; -1: it has none, as far as can be known. */
int64_t jobranks_find(const struct jp_jobranks *ranks, const char *path,
                      const char *host, int64_t pid);

#endif
