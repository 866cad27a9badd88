/* place.h - where a step's files go: named by its facts, made on disk. */
#ifndef JP_AGENT_PLACE_H
#define JP_AGENT_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/plan.h"
#include "orchestrator/agent/facts.h"

/* Texts owned. */
struct launch_place {
    char *job_dir;   /* absolute, hidden or not */
    char *step_dir;  /* job_dir/step-ID */
    char *final_dir; /* hidden: the visible step directory; else "" */
    bool hidden;
    size_t kept; /* bytes of job_dir that were there before place_make */
};

/* Whether a pattern tells jobs apart: %j, %J, or %A with %a. One that does not
 * gets "-%j" at its end. */
bool place_names_job(const char *pattern);

/* The pattern of a job's directory: without slashes at its end, and with the
 * "-%j" that it lacks. Caller frees; NULL: no memory. */
char *place_pattern(const char *pattern);

/* The step's directory by its facts and the merged settings, on srun's host and
 * on each node the same. Hidden where only a default asks. Makes nothing. On
 * failure *out is unchanged; else place_fini frees. */
int place_find(const struct launch_facts *facts, const struct jp_plan *plan,
               struct launch_place *out, struct jp_error *err);
void place_fini(struct launch_place *place);

/* Makes job and step directory (0700) with pending, done, raw and nodes, and
 * `owner` where an srun will come. An older step directory of the same name
 * that is not empty is renamed to step-ID.old-N; another job's that may still
 * run is left alone (-1). On failure what was made is removed. */
int place_make(struct launch_place *place, const struct launch_facts *facts,
               struct jp_error *err);
/* Takes back what place_make made (a later step failed). */
void place_unmake(const struct launch_place *place);

#endif
