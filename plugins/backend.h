/* backend.h - what a profiler provides: four interfaces (faces), each
 * optional.
 *
 * A backend is one const struct `backend_<folder>` with designated
 * initialisers; absent faces and hooks are NULL. The folder's Makefile.inc adds
 * its name to BACKENDS, from which plugins/gen-registry.sh makes the registry.
 * plugins/null/ is the commented template and the test double: it is built, but
 * not in the registry, so no option offers it.
 *
 * - planner: in srun, before the launch. Which variables make the processes of
 *   the tasks profiled, and what that costs. Pure: it uses no files, no clock
 *   and no environment, only backend_input.
 * - reader: after the step. Its raw files become records (reader.h).
 * - runner: where something must run beside the tasks. One supervisor in
 *   jobprof-node starts, awaits and collects it, in bounded time.
 * - side: of an option besides --nccl-profile, what it adds to a step (side.h).
 *   A folder that only adds knobs to an option has complete and adapt.
 *
 * What a source of data adds to a report is no face of a backend, but a feature
 * (orchestrator/feature/feature.h). What the node agent runs by itself is a
 * module (plugins/module.h).
 *
 * A change in the meaning of a face raises BACKEND_ABI; backend_find() refuses
 * backends of another number.
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
#include "plugins/side.h"

#define BACKEND_ABI 8
#define BACKEND_ENV_MAX 64

/* Everything that a planner may use; borrowed for the call. */
struct backend_input {
    const struct plan_side *side; /* the effective settings, plan_get() */
    const char *step_dir;         /* absolute */
    const char *library; /* path of the profiler, or NCCL's short name of it if
                            the user has set that; NULL: not configured */
    bool library_exists; /* it is a readable file on srun's host */
    uint32_t release;    /* of the library, JP_NCCL_RELEASE; 0: the program's */
    const char *declined; /* NCCL releases not to profile: knownbad_ranges();
                             NULL or "": none */
    struct jp_jobshape shape; /* zeros: unknown */
    /* the user's variables, plan_env(); NULL: unknown */
    const struct plan_input *user;
};

/* Takes one line for the reader of the plan. -1 ends the notes. */
typedef int backend_note(void *arg, bool is_warning, const char *line,
                         struct jp_error *err);

/* Variables for the tasks; `%N` in a value is the node's name. */
struct backend_env {
    struct jp_envvar vars[BACKEND_ENV_MAX]; /* strings owned */
    size_t n;
    bool soft; /* for NCCL_ names that backend_env_add() adds; other variables
                  are never soft */
};

/* What a profile of the requested run costs one rank, and what it keeps. */
struct backend_forecast {
    uint64_t memory_bytes;   /* resident when the run ends; 0: unknown */
    uint64_t reserved_bytes; /* address space */
    uint64_t disk_bytes;     /* raw files; 0: unknown */
    uint64_t planned_ops;    /* iterations x (colls + p2p) */
    uint64_t kept_ops;       /* of these, how many the files will have */
    char counted[256];       /* how memory and disk were counted, or "" */
    char lost[320];    /* a sentence: what will be missing and why; or "" */
    char assumed[256]; /* a sentence: what sizing had to assume; or "" */
};

struct backend_planner {
    /* Checks whether the profiler can run with these settings. -1: err is the
     * reason for the user. NULL: it always can. */
    int (*usable)(const struct backend_input *in, struct jp_error *err);
    /* Sizes the profile. -1: it does not fit, and err says what would; the
     * fallback is used, or the step runs unprofiled. NULL: the size is unknown.
     */
    int (*size)(const struct backend_input *in, struct backend_forecast *out,
                struct jp_error *err);
    /* Adds the variables by backend_env_add. NULL: none. */
    int (*env)(const struct backend_input *in, struct backend_env *out,
               struct jp_error *err);
    /* Notes for plans: what a user should know about these settings with the
     * release that will run. NULL: nothing. */
    int (*notes)(const struct backend_input *in, backend_note *say, void *arg,
                 struct jp_error *err);
    const char *fallback; /* name of the backend to use when usable() refuses,
                             or NULL */
};

/* Something that runs beside the tasks on each node. All calls run as the user,
 * in one supervisor (orchestrator/agent/supervise.c) that calls repeatedly, so
 * only sweep may block. Strings passed to start live until destroy; place and
 * sweep may be NULL. */
struct backend_runner {
    /* In raw/: the names of the nodes on which it runs, one a line, in the
     * order of the step. */
    const char *nodes_file;
    /* The number of CPUs that it needs on each node, at least 1: its step asks
     * for that many. NULL: 1. */
    uint32_t (*cpus)(const struct jp_plan *plan);
    /* Returns the runner for these settings. NULL: always this one. */
    const struct backend_runner *(*of)(const struct jp_jobconf *conf);
    /* In srun, before anything is started: prepares what the nodes of the step
     * share. 1: gather must be called; 0: done; -1: it cannot run, err says
     * why. NULL: nothing to prepare. */
    int (*prepare)(const struct jp_jobconf *conf, const char *step_dir,
                   char *const *nodes, size_t n, struct jp_error *err);
    /* In srun's keeper, repeatedly while the nodes start. late: continue
     * without the nodes that are missing. 1: done; 0: not yet; -1: failed. */
    int (*gather)(const char *step_dir, char *const *nodes, size_t n, bool late,
                  struct jp_error *err);
    /* Starts it. -1: it cannot run here, and nothing is left behind. */
    int (*start)(const struct jp_jobconf *conf, const char *step_dir,
                 const char *node, void **state, struct jp_error *err);
    /* 1: the tasks may start; 0: not yet; -1: it has ended, err says why; 2: it
     * runs, but the tasks continue without it, err says why. */
    int (*ready)(void *state, struct jp_error *err);
    /* After ready has returned 1: returns the path for the node's tasks,
     * borrowed, or NULL. */
    const char *(*place)(void *state);
    /* Requests its end. force: at once, even if data is lost. 1: it has ended
     * and left nothing but its files; 0: not yet. */
    int (*stop)(void *state, bool force);
    /* Stores its files in raw/<node>/ after its end. -1: not all of them; err
     * says what is there instead. */
    int (*collect)(void *state, struct jp_error *err);
    /* On the node, when the supervisor was killed: what tasks begin from now on
     * bypasses it. NULL: nothing to do. */
    void (*bypass)(const struct jp_jobconf *conf, const char *node);
    /* On the node, after a supervisor was killed: ends what it left behind, but
     * nothing that is in use. May take 3 s. Returns true if there was
     * something. */
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

/* How doctor takes what a backend has checked on this host. */
enum backend_state { BACKEND_OK, BACKEND_SKIP, BACKEND_WARN };
struct backend_host {
    const struct jp_plan *plan; /* the settings; without a mode if they could
                                   not be merged */
    /* Adds a line. advice: a constant, what to do; or "". */
    void (*add)(const struct backend_host *host, enum backend_state state,
                const char *check, const char *advice, const char *fmt, ...)
        __attribute__((format(printf, 5, 6)));
    /* Names a file that each node has to have, which --nodes looks for. */
    void (*need)(const struct backend_host *host, const char *path);
    void *arg; /* doctor's */
};

struct clockprobes; /* common/clockwindows.h */

struct backend {
    unsigned abi;             /* BACKEND_ABI */
    struct jp_profiler about; /* what common code may use of it */
    const struct backend_planner *planner;
    const struct backend_reader *reader;
    const struct backend_runner *runner;
    const struct launch_side *side; /* of an option of its own */
    /* Doctor's checks of it on this host, one line each; plan: the settings.
     * NULL: for an NCCL profiler the configured library is checked. */
    int (*look)(const struct jp_plan *plan, backend_note *say, void *arg,
                struct jp_error *err);
    /* Checks of this host that have names of their own. This host may not be a
     * compute node, so missing files are only a warning. */
    void (*check_host)(const struct backend_host *host);
    /* Checks what the tasks of an imagined step would use on this host. */
    void (*check_step)(const struct backend_host *host,
                       const struct jp_jobconf *conf);
    /* Files that `jobprof aggregate` knows as this backend's, besides records
     * of its reader; a row without `one` ends them. NULL: none. */
    const struct filekind_row *kinds;
    /* Whether a file that is named like a log of a profiler is something else
     * of this backend's, which no reader takes. dir, name: as for openat().
     * NULL: there is no such file. */
    bool (*other_log)(int dir, const char *name);
    /* Reads what it has measured of the nodes' clocks; nodes is the step's
     * folder of that name. Without any there are no files. 0, or -1 without
     * memory. NULL: it measures none. */
    int (*clocks)(const char *nodes, struct clockprobes *probes);
};

/* Generated from the folders; ends with NULL. */
extern const struct backend *const backend_registry[];

/* Returns the backend of that name and of this ABI, or NULL. */
const struct backend *backend_find(const char *name);
/* The backend that has this option for itself; NULL: none (OPTION_NCCL). */
const struct backend *backend_of_option(enum jp_option option);
/* What that option adds to a step; one without hooks if there is none. */
const struct launch_side *backend_side(enum jp_option option);
/* The option that runs something beside the tasks of a step with these
 * settings, or OPTIONS. conf NULL: the first one that can. */
enum jp_option backend_beside(const struct jp_jobconf *conf);

/* What was measured of the nodes' clocks, by the backend that measures them. 0,
 * or -1 without memory. Caller frees (clockprobes_fini) in both cases. */
int backend_clocks(const char *nodes, struct clockprobes *probes);

/* Returns the profiler that a library belongs to: it is a plugin for NCCL and
 * contains the mark of one of our profilers. Follows links, reads at most
 * LIBRARY_MAX_BYTES, loads nothing. NULL: unknown, or it cannot be read. */
const struct backend *backend_of_library(const char *path);
#define LIBRARY_MAX_BYTES (32UL << 20)

/* Returns the release of the profiler's library: in->release, else nccl=. */
uint32_t backend_release(const struct backend_input *in);

/* Returns the value that the user has set for a variable and that force= does
 * not replace, or NULL. Values left by an outer profiled step do not count. */
const char *backend_user_value(const struct backend_input *in,
                               const char *name);

/* Adds NAME=<formatted value>. Returns 0, or -1: no memory, too many variables,
 * or the name is set twice. */
int backend_env_add(struct backend_env *env, struct jp_error *err,
                    const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds NAME=number, with the reason that the plan prints next to it. */
int backend_env_number(struct backend_env *env, struct jp_error *err,
                       const char *name, uint64_t number, const char *reason);
void backend_env_fini(struct backend_env *env);

#endif
