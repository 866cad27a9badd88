/* plan_view.h - a launch as `srun --nccl-profile=plan`, `jobprof plan` and
 * doctor show it: for people as text, jobprof also as JSON. Nothing is decided
 * here: the figures are those of the launch that a step with these settings
 * would have.
 */
#ifndef JP_AGENT_PLAN_VIEW_H
#define JP_AGENT_PLAN_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "common/jobshape.h"
#include "orchestrator/agent/launch.h"
#include "plugins/backend.h"

/* A variable of the tasks. */
struct plan_variable {
    const char *name, *value;
    const char *reason; /* or "" */
    bool yours;         /* set by the user himself, and it stays */
};

/* Texts are borrowed, from the launch or from `store`. */
struct plan_view {
    const char *asked;   /* mode as asked: "auto" */
    const char *runs;    /* the profiler that is planned: "recorder" */
    const char *reason;  /* why another one, or "" */
    const char *plugin;  /* the user's own, which runs instead; NULL: none */
    const char *release; /* of NCCL: "2.28.3" */
    bool assumed;        /* nobody named the release */
    bool newer;          /* than the newest that jobprof knows */
    struct jp_setting *settings; /* those that the profiler reads */
    size_t n_settings;
    struct plan_variable *variables;
    size_t n_variables;
    struct jp_jobshape shape;
    struct backend_forecast forecast;
    const char *without; /* the user's own variables, which the forecast leaves
                            out: "A, B"; NULL: none */
    uint64_t iterations; /* that planned_ops counts with; 0: does not say */
    bool iterations_default; /* nobody named them */
    uint64_t disk_bytes;     /* setting disk=, of the step */
    uint64_t min_free_bytes; /* setting min_free= */
    const char *dir;         /* step directory, maybe with codes like %j */
    const char *warnings;    /* lines: known bad releases, what sizing assumed,
                                variables of the user's own, a full disk; or "" */
    const char *notes;       /* other lines, or "" */
    const char *clocks;      /* lines: how clocks are probed, or "" */
    struct plan_view_store *store;
};

/* What the launch would do. It is borrowed while the view lives. -1: no memory.
 * plan_view_fini frees. */
int plan_view_make(const struct launch *launch, struct plan_view *out,
                   struct jp_error *err);
void plan_view_fini(struct plan_view *view);

/* A rank's bytes times the ranks of the fullest node, or of the step (0:
 * unknown); at most UINT64_MAX. */
uint64_t plan_view_node(const struct plan_view *view, uint64_t bytes);
uint64_t plan_view_step(const struct plan_view *view, uint64_t bytes);

/* Does the step's volume (of a rank, where the ranks are unknown) leave less
 * than min_free= on the file system? */
bool plan_view_is_full(const struct plan_view *view);

/* "2.30": what a newer release is planned as. */
const char *plan_view_known(char buf[16]);

/* What runs and why; what is recorded and what is not, with the warnings; the
 * job's shape; the cost in memory and on disk beside what there is; the
 * directory; the settings; the tasks' variables. Lines have 100 columns but for
 * values that are longer. head: how the first line starts. brief: without the
 * two tables. -1: no memory; whether out took it all is the caller's to check.
 */
int plan_view_print(FILE *out, const struct plan_view *view, const char *head,
                    bool brief, struct jp_error *err);

#endif
