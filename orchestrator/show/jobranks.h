/* jobranks.h - the job ranks of the processes that wrote a step's files.
 *
 * For commands that read a step's files without a report. This module collects
 * what is known of the processes; identity/processes.h decides their ranks, as
 * for a report. Each input counts as a step of its own, whose tasks are listed
 * in nodes/ beside raw/.
 */
#ifndef JP_SHOW_JOBRANKS_H
#define JP_SHOW_JOBRANKS_H

#include <stdint.h>

#include "common/error.h"
#include "orchestrator/ingest/logwalk.h"

/* What a file says about its process. */
struct jobranks_claim {
    const char *host;
    int64_t pid;
    int64_t task; /* Slurm's id, if it is a task itself; -1: unknown */
    /* of a recording; NULL: a log, which tells no more of its process */
    const struct recfile_process *process;
    uint64_t device;        /* as in struct record */
    const char *id;         /* communicator; NULL: none */
    uint32_t n_ranks, rank; /* in that communicator */
};

struct jp_jobranks;

/* Borrows inputs: files, folders of logs or the raw/ of steps. Returns NULL
 * without memory. */
struct jp_jobranks *jobranks_create(const char *const *inputs, size_t n);
/* Adds a claim of the file at path. Returns 0, or -1 without memory. */
int jobranks_add(struct jp_jobranks *ranks, const char *path,
                 const struct jobranks_claim *claim);
/* Call it after all claims: decides the ranks. Returns 0, or -1 without
 * memory. */
int jobranks_decide(struct jp_jobranks *ranks);
/* Accepts NULL. */
void jobranks_destroy(struct jp_jobranks *ranks);

/* Does all three for the recorder's files and rewinds the walk. Reads a whole
 * file only if its header does not settle the rank. Returns NULL without
 * memory. */
struct jp_jobranks *jobranks_read(struct jp_recwalk *walk);

/* The rank of a file's process; -1: none, or unknown. */
int64_t jobranks_find(const struct jp_jobranks *ranks, const char *path,
                      const char *host, int64_t pid, uint64_t instance);
/* The rank of one GPU of the process that has written a recording. */
int64_t jobranks_find_device(const struct jp_jobranks *ranks, const char *path,
                             const struct jp_recfile *file, uint64_t device);

#endif
