/* plan_view.h - a launch as shown by `srun --nccl-profile=plan`, `jobprof plan`
 * and doctor: as text for people, and by jobprof also as JSON. This module
 * decides nothing; its figures are those of a real launch with the same
 * settings.
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
#include "orchestrator/table/table.h"
#include "plugins/backend.h"

/* A variable of the tasks. */
struct plan_variable {
    const char *name, *value;
    const char *reason; /* or "" */
    bool yours;         /* set by the user and kept */
};

/* Strings are borrowed, from the launch or from `store`. */
struct plan_view {
    const char *asked;   /* mode that was requested: "auto" */
    const char *runs;    /* the planned profiler: "recorder" */
    const char *reason;  /* why it differs from the request, or "" */
    const char *plugin;  /* the user's own library, which runs instead; NULL:
                          * none */
    const char *release; /* NCCL release: "2.28.3" */
    bool assumed;        /* the release is a default */
    bool newer;          /* newer than any release jobprof knows */
    struct jp_setting *settings; /* the settings that this profiler reads */
    size_t n_settings;
    struct plan_variable *variables;
    size_t n_variables;
    struct jp_jobshape shape;
    struct backend_forecast forecast;
    const char *without;     /* names of the user's variables that the forecast
                              * ignores: "A, B"; NULL: none */
    uint64_t iterations;     /* iterations behind planned_ops; 0: unknown */
    bool iterations_default; /* iterations is a default */
    uint64_t disk_bytes;     /* setting disk=, for the whole step */
    uint64_t min_free_bytes; /* setting min_free= */
    const char *dir;         /* step directory; may contain codes like %j */
    const char *warnings;    /* lines: known-bad releases, sizing assumptions,
                              * the user's own variables, a full disk; or "" */
    const char *notes;       /* other lines, or "" */
    const char *blocks;      /* lines: settings of other options that somebody
                              * asked for; or "" */
    struct plan_view_store *store;
};

/* Makes a view of what the launch would do. It borrows from the launch. Returns
 * -1 without memory. Free with plan_view_fini. */
int plan_view_make(const struct launch *launch, struct plan_view *out,
                   struct jp_error *err);
void plan_view_fini(struct plan_view *view);

/* Multiplies a rank's bytes by the number of ranks on the fullest node, or in
 * the step (0: unknown). Saturates at UINT64_MAX. */
uint64_t plan_view_node(const struct plan_view *view, uint64_t bytes);
uint64_t plan_view_step(const struct plan_view *view, uint64_t bytes);

/* Whether the step's data would leave less than min_free= on the file system.
 * Uses the data of one rank if the number of ranks is unknown. */
bool plan_view_is_full(const struct plan_view *view);

/* "2.30": the release whose rules apply to newer ones. */
const char *plan_view_known(char buf[16]);

/* Prints what runs and why, what is recorded and what is not (with the
 * warnings), the job's shape, the cost in memory and disk beside what is
 * available, the directory, the settings and the tasks' variables. Lines have
 * at most 100 columns, except for longer values. head: start of the first line.
 * brief: only the answer, in five
 * lines: what runs, what is set, costs, what is kept, warnings. Returns -1
 * without memory. The caller checks out for write errors. */
int plan_view_print(FILE *out, const struct plan_view *view, const char *head,
                    bool brief, struct jp_error *err);

/* The tables of settings (struct jp_setting) and of the tasks' variables
 * (struct plan_variable), for text and JSON. */
extern const struct jp_table plan_settings, plan_variables;

#endif
