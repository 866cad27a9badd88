/* backend.h - what a profiler provides: three interfaces (faces), each
 * optional.
 *
 * A backend is one const struct `backend_<folder>` with designated
 * initialisers; absent faces and hooks are NULL. The folder's Makefile.inc adds
 * its name to BACKENDS, of which plugins/gen-registry.sh makes the registry.
 * plugins/null/ is the commented template and the tests' double: it is built,
 * but the registry leaves it out, so no option knows it.
 *
 *   planner  in srun, before the launch: which variables make the tasks'
 *            processes profiled, and what that costs. Pure: no files, no clock,
 *            no environment but the user's in backend_input; everything it may
 *            know is there.
 *   reader   after the step: its raw files become records (reader.h).
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
#include "common/profiler.h"
#include "plugins/reader.h"

#define BACKEND_ABI 7
#define BACKEND_ENV_MAX 64

/* All that a planner may look at; borrowed for the call. */
struct backend_input {
    const struct plan_side *side; /* the effective settings, plan_get() */
    const char *step_dir;         /* absolute */
    const char *library;          /* path of the profiler, NULL: not named; or
                                     NCCL's short name of it, as the user has set
                                     it */
    bool library_exists;          /* on srun's host, a readable file */
    uint32_t release; /* of the library, JP_NCCL_RELEASE; 0: the program's */
    const char *declined; /* NCCL releases not to profile: knownbad_ranges();
                             NULL or "": none */
    struct jp_jobshape shape;      /* zeros: unknown */
    const struct plan_input *user; /* the user's variables, plan_env(); NULL:
                                      not known */
};

/* Gets one line for who reads the plan. -1 ends the telling. */
typedef int backend_note(void *arg, bool is_warning, const char *line,
                         struct jp_error *err);

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
    /* What is to be known of these settings with the release that will run; for
     * plans only. NULL: nothing. */
    int (*notes)(const struct backend_input *in, backend_note *say, void *arg,
                 struct jp_error *err);
    const char *fallback; /* backend's name where usable says no, or NULL */
};

/* Something beside the tasks, on each node. All calls run as the user, in one
 * supervisor (orchestrator/agent/supervise.c) that calls again and again: only
 * sweep may block. start's strings live until destroy; place and sweep may be
 * NULL. */
struct backend_runner {
    /* The runner that serves these settings. NULL: this one, always. */
    const struct backend_runner *(*of)(const struct jp_jobconf *conf);
    /* In srun, before anything is started: what the step's nodes share. 1:
     * gather is to be called; 0; -1: it cannot run, and why. NULL: nothing. */
    int (*prepare)(const struct jp_jobconf *conf, const char *step_dir,
                   char *const *nodes, size_t n, struct jp_error *err);
    /* In srun's keeper, again and again while the nodes start; late: without
     * those that are missing. 1: done; 0: not yet; -1. */
    int (*gather)(const char *step_dir, char *const *nodes, size_t n, bool late,
                  struct jp_error *err);
    /* -1: it cannot run here, and nothing is left. */
    int (*start)(const struct jp_jobconf *conf, const char *step_dir,
                 const char *node, void **state, struct jp_error *err);
    /* 1: the tasks may start; 0: not yet; -1: it has ended, with the reason; 2:
     * it runs, but the tasks continue without it, with the reason. */
    int (*ready)(void *state, struct jp_error *err);
    /* After ready has returned 1: the path for the node's tasks, borrowed, or
     * NULL. */
    const char *(*place)(void *state);
    /* Asks for the end. force: by all means, data or not. 1: it has ended and
     * left nothing behind but its files; 0: not yet. */
    int (*stop)(void *state, bool force);
    /* Stores its files below raw/<node>/ after its end. -1: not all; err states
     * what is there instead. */
    int (*collect)(void *state, struct jp_error *err);
    /* On the node, when the supervisor was killed: what tasks begin from here
     * on goes past it. NULL: nothing. */
    void (*bypass)(const struct jp_jobconf *conf, const char *node);
    /* On the node, after a supervisor that was killed: ends what it has left;
     * never what lives. May take 3 s. True: there was something. */
    bool (*sweep)(const struct jp_jobconf *conf, const char *step_dir,
                  const char *node);
    void (*destroy)(void *state); /* takes NULL */
};

static inline const struct backend_runner *
backend_runner_of(const struct backend_runner *runner,
                  const struct jp_jobconf *conf)
{
    return runner->of ? runner->of(conf) : runner;
}

struct backend {
    unsigned abi;             /* BACKEND_ABI */
    struct jp_profiler about; /* what common code may know of it */
    const struct backend_planner *planner;
    const struct backend_reader *reader;
    const struct backend_runner *runner;
    /* What doctor finds of it here, a line each; plan: the settings. NULL: of
     * an NCCL profiler its library is looked at, as the settings name it. */
    int (*look)(const struct jp_plan *plan, backend_note *say, void *arg,
                struct jp_error *err);
};

/* Generated from the folders; a NULL ends it. */
extern const struct backend *const backend_registry[];

/* The backend of that name and of our ABI, or NULL. */
const struct backend *backend_find(const char *name);

/* The profiler of this library: a plugin for NCCL that contains the mark of one
 * of our profilers. Follows links, reads at most LIBRARY_MAX_BYTES, loads
 * nothing. NULL: unknown, or it cannot be read. */
const struct backend *backend_of_library(const char *path);
#define LIBRARY_MAX_BYTES (32UL << 20)

/* The release that the profiler's library is of: in->release, else nccl=. */
uint32_t backend_release(const struct backend_input *in);

/* What the tasks will find in a variable that the user has set and force= does
 * not replace, or NULL. Not what is left from an outer profiled step. */
const char *backend_user_value(const struct backend_input *in,
                               const char *name);

/* Adds NAME=<formatted value>. -1: no memory, or too many, or a name twice. */
int backend_env_add(struct backend_env *env, struct jp_error *err,
                    const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds NAME=number with the reason that the plan prints next to it. */
int backend_env_number(struct backend_env *env, struct jp_error *err,
                       const char *name, uint64_t number, const char *reason);
void backend_env_fini(struct backend_env *env);

#endif
