/* backend.h - what a profiler has to tell jobprof: three faces, each optional.
 *
 * A backend is one const struct `backend_<folder>` in the folder's
 * *_planner.c, with designated initialisers; absent faces and hooks are NULL.
 * plugins/gen-registry.sh lists the folders at build time, nothing registers
 * itself. plugins/null/ is the commented template and the tests' double.
 *
 *   planner  in srun, before the launch: which variables make the tasks'
 *            processes profiled, and what that costs. Pure: no files, no clock,
 *            no environment; everything it may know is in backend_input.
 *   reader   after the step: its raw files become records.
 *   runner   where something must live beside the tasks: started, awaited and
 *            collected by one supervisor in jobprof-node with bounded times.
 *
 * Raising a face's meaning raises BACKEND_ABI; backend_find refuses others.
 */
#ifndef JP_PLUGINS_BACKEND_H
#define JP_PLUGINS_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "common/jobshape.h"
#include "common/plan.h"

#define BACKEND_ABI 3
#define BACKEND_ENV_MAX 64

/* All that a planner may look at; borrowed for the call. */
struct backend_input {
    const struct plan_side *side; /* the effective settings, plan_get() */
    const char *step_dir;         /* absolute */
    const char *library;          /* path of the profiler, NULL: not named */
    bool library_exists;          /* on srun's host, a readable file */
    uint32_t release; /* of the library, JP_NCCL_RELEASE; 0: the program's */
    const char *declined; /* NCCL releases not to profile: knownbad_ranges();
                             NULL or "": none */
    struct jp_jobshape shape; /* zeros: unknown */
};

/* Variables for the tasks; `%N` in a value is the node's name. */
struct backend_env {
    struct jp_envvar vars[BACKEND_ENV_MAX]; /* strings owned */
    size_t n;
    bool soft; /* what backend_env_add gives NCCL_ names; others are ours */
};

/* What a profile of the requested run costs one rank, and what it keeps. */
struct backend_forecast {
    uint64_t memory_bytes;   /* resident when the run ends; 0: unknown */
    uint64_t reserved_bytes; /* address space */
    uint64_t disk_bytes;     /* raw files; 0: unknown */
    uint64_t planned_ops;    /* iterations x (colls + p2p) */
    uint64_t kept_ops;       /* of them in the files */
    char counted[256];       /* how memory and disk were counted, or "" */
    char lost[320];    /* what will be missing and why, a sentence, or "" */
    char assumed[256]; /* what sizing had to assume, a sentence, or "" */
};

struct backend_planner {
    /* Can it run with these settings? -1: err is the reason that the user
     * reads. NULL: always. */
    int (*usable)(const struct backend_input *in, struct jp_error *err);
    /* Sizes the profile. -1: it does not fit, err names what would; the
     * fallback is taken, or the step runs unprofiled. NULL: unknown. */
    int (*size)(const struct backend_input *in, struct backend_forecast *out,
                struct jp_error *err);
    /* Adds the variables by backend_env_add. NULL: none. */
    int (*env)(const struct backend_input *in, struct backend_env *out,
               struct jp_error *err);
    const char *fallback; /* backend's name where usable says no, or NULL */
};

/* Raw files to records; the record's type is the reader's own business until
 * a second kind of reader needs a common one. */
struct backend_reader {
    /* Is this one of my files? Looks at the name and the first bytes. */
    bool (*probe)(const char *name, const void *head, size_t len);
    int (*open)(const char *path, void **state, struct jp_error *err);
    /* 1: *record is filled and borrowed until the next call; 0: end; -1. */
    int (*next)(void *state, const void **record, struct jp_error *err);
    void (*close)(void *state); /* takes NULL */
};

/* Something beside the tasks, on each node. All calls run as the user, in one
 * supervisor (orchestrator/agent/supervise.h) that calls again and again: none
 * may block but sweep. start's strings live until destroy; place and sweep may
 * be NULL. */
struct backend_runner {
    /* -1: it cannot run here, and nothing is left. */
    int (*start)(const struct jp_jobconf *conf, const char *step_dir,
                 const char *node, void **state, struct jp_error *err);
    /* 1: the tasks may start; 0: not yet; -1: it has ended, and why. */
    int (*ready)(void *state, struct jp_error *err);
    /* After ready said 1: what the node's tasks find there, a path; borrowed.
     * NULL: nothing. */
    const char *(*place)(void *state);
    /* Asks for the end. force: by all means, data or not. 1: it has ended and
     * left nothing behind but its files; 0: not yet. */
    int (*stop)(void *state, bool force);
    /* What has ended leaves its files below raw/<node>/. -1: not all, err says
     * what is there instead. */
    int (*collect)(void *state, struct jp_error *err);
    /* On the node, after a supervisor that was killed: ends what it has left;
     * never what lives. May take 3 s. True: there was something. */
    bool (*sweep)(const struct jp_jobconf *conf, const char *step_dir,
                  const char *node);
    void (*destroy)(void *state); /* takes NULL */
};

struct backend {
    unsigned abi;     /* BACKEND_ABI */
    const char *name; /* the mode's word: "recorder" */
    const char *help; /* one sentence */
    const struct backend_planner *planner;
    const struct backend_reader *reader;
    const struct backend_runner *runner;
};

/* Generated from the folders; a NULL ends it. */
extern const struct backend *const backend_registry[];

/* The backend of that name and of our ABI, or NULL. */
const struct backend *backend_find(const char *name);

/* The release that the profiler's library is of: in->release, else nccl=. */
uint32_t backend_release(const struct backend_input *in);

/* Adds NAME=<formatted value>. -1: no memory, or too many, or a name twice. */
int backend_env_add(struct backend_env *env, struct jp_error *err,
                    const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds NAME=number with the reason that the plan prints beside it. */
int backend_env_number(struct backend_env *env, struct jp_error *err,
                       const char *name, uint64_t number, const char *reason);
void backend_env_fini(struct backend_env *env);

#endif
