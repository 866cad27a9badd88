/* place.h - the step's directories: derived from its facts, created on disk. */
#ifndef JP_AGENT_PLACE_H
#define JP_AGENT_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/plan.h"
#include "orchestrator/agent/facts.h"

/* Strings are owned. */
struct launch_place {
    char *job_dir;   /* absolute path; may be hidden */
    char *step_dir;  /* job_dir/step-ID */
    char *final_dir; /* if hidden: path of the visible step directory; else
                      * "" */
    bool hidden;
    size_t kept; /* length of the part of job_dir that existed before
                  * place_make */
};

/* Whether a pattern gives each job its own name: it has %j, %J, or %A with %a.
 * A pattern without them gets "-%j" appended. */
bool place_names_job(const char *pattern);

/* The pattern of a job's directory, without trailing slashes, and with "-%j" if
 * it needs one. Caller frees; NULL: no memory. */
char *place_pattern(const char *pattern);

/* Derives the step's directory from its facts and the merged settings. srun's
 * host and each node get the same result. The directory is hidden if only a
 * default requests the profile. Creates nothing. *out is unchanged on failure;
 * otherwise free with place_fini. */
int place_find(const struct launch_facts *facts, const struct jp_plan *plan,
               struct launch_place *out, struct jp_error *err);
void place_fini(struct launch_place *place);

/* Creates the job and step directories (0700) with pending, done, raw and
 * nodes, and `owner` if an srun will make the report. A non-empty step
 * directory of the same name is renamed to step-ID.old-N. Returns -1 if it
 * belongs to another job that may still be running. On failure, everything
 * created is removed. */
int place_make(struct launch_place *place, const struct launch_facts *facts,
               struct jp_error *err);
/* Removes what place_make has created, after a later stage has failed. */
void place_unmake(const struct launch_place *place);

#endif
