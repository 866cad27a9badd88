/* evidence.h - record the state of the processes of a stuck step while they
 * run.
 *
 * Evidence is taken once per hang on each node: of the missing ranks and of two
 * ranks that wait for them. Cheap parts come first: /proc of all threads (name,
 * state, what they wait for in the kernel, CPU time over one second), PyTorch's
 * flight recorder through its pipe, one query to NCCL's RAS, the GPUs' state by
 * nvidia-smi, stacks by eu-stack, and Python stacks by py-spy if the user has
 * installed it. Each part runs in a child with its own limit and leaves time
 * for the later ones. A process in kernel state D or a hanging tool thus costs
 * only that part. A thread is stopped only while eu-stack reads it (a few ms),
 * and no debugger is started.
 *
 *   <step directory>/hang/<node>/evidence.json   what was taken, and what not
 *                                 stack-<pid>.txt, python-<pid>.txt, gpus.txt,
 *                                 ras.txt or ras.json, flight-<pid>.pickle
 */
#ifndef JP_EVIDENCE_EVIDENCE_H
#define JP_EVIDENCE_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/evidence/ras.h"
#include "orchestrator/ingest/hangs.h"

#define EVIDENCE_FOLDER "hang"
#define EVIDENCE_NAME "evidence.json"
#define EVIDENCE_LIMIT_MS 20000
#define EVIDENCE_TARGETS 16
#define EVIDENCE_STACK_BYTES (1UL << 20)

enum evidence_role {
    EVIDENCE_MISSING, /* the others wait for it */
    EVIDENCE_WAITING, /* waits for others, in an operation */
    EVIDENCE_TASK,    /* a task whose role is unknown */
    EVIDENCE_N_ROLES
};
extern const char *const evidence_role_words[EVIDENCE_N_ROLES];

struct evidence_target {
    int64_t pid;  /* in the namespace of this process */
    int64_t task; /* SLURM_PROCID; -1: unknown */
    enum evidence_role role;
};

/* Strings are borrowed. */
struct evidence_order {
    const char *dir;  /* the step directory */
    const char *node; /* this node's name in Slurm */
    const char *root; /* prefix in place of / */
    uint64_t job;     /* SLURM_JOB_ID of the processes; those of other jobs are
                       * skipped; 0: any */
    const char *what; /* the hang in one line, or "" */
    struct evidence_target targets[EVIDENCE_TARGETS];
    size_t n_targets;
    const struct jp_hangs *hangs; /* operations in flight; NULL: unknown */
    struct ras_question ras;
    const char *no_ras; /* why RAS is not queried; NULL: it is queried */
    bool no_gpus;       /* do not run nvidia-smi */
    uint32_t limit_ms;  /* total; 0: EVIDENCE_LIMIT_MS */
};

/* Takes the evidence. Returns 0 even if parts are missing; evidence.json lists
 * them with the reasons. Returns -1 if nothing could be written. Takes up to
 * limit_ms: call it in a child. */
int evidence_take(const struct evidence_order *order, struct jp_error *err);

#endif
