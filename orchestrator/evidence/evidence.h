/* evidence.h - what the processes of a stuck step look like, while they live.
 *
 * Taken once a hang on each node, of the ranks that are missing and of two that
 * wait for them, cheapest first: /proc of all threads (name, state, what they
 * wait for in the kernel, processor time over a second), PyTorch's flight
 * recorder by its pipe, one question to NCCL's RAS, the GPUs' state by
 * nvidia-smi, stacks by eu-stack, Python stacks by py-spy where the user has
 * it. Each part runs in a child with its own limit, and leaves time for those
 * behind it: a process in the kernel's state D or a tool that hangs costs that
 * part only. Nothing is stopped for longer than eu-stack takes a thread (some
 * ms), and no debugger is started.
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
    EVIDENCE_MISSING, /* it keeps the others waiting */
    EVIDENCE_WAITING, /* for others, in an operation */
    EVIDENCE_TASK,    /* which of these is not known */
    EVIDENCE_N_ROLES
};
extern const char *const evidence_role_words[EVIDENCE_N_ROLES];

struct evidence_target {
    int64_t pid;  /* as this process sees it */
    int64_t task; /* SLURM_PROCID, or -1 */
    enum evidence_role role;
};

/* Strings are borrowed. */
struct evidence_order {
    const char *dir;  /* the step directory */
    const char *node; /* Slurm's name of this one */
    const char *root; /* stands in for / */
    uint64_t job;     /* SLURM_JOB_ID of the processes; another one's is left
                         alone. 0: any */
    const char *what; /* the hang in one line, or "" */
    struct evidence_target targets[EVIDENCE_TARGETS];
    size_t n_targets;
    const struct jp_hangs *hangs; /* in flight; NULL: not known */
    struct ras_question ras;
    const char *no_ras; /* why RAS is not asked; NULL: it is */
    bool no_gpus;       /* nvidia-smi is not run */
    uint32_t limit_ms;  /* in all; 0: EVIDENCE_LIMIT_MS */
};

/* Takes it. 0, also where parts could not be had: the file says which and why.
 * -1: nothing could be written. Takes up to limit_ms: call it in a child. */
int evidence_take(const struct evidence_order *order, struct jp_error *err);

#endif
