/* cmd_aggregate.h - the parts of `jobprof aggregate`. */
#ifndef JP_CMD_AGGREGATE_H
#define JP_CMD_AGGREGATE_H

#include <stdbool.h>
#include <stddef.h>

#include "orchestrator/aggregate/aggregate.h"

/* What the user's words mean. Strings owned. */
struct aggregate_inputs {
    char **paths;
    size_t n;
    char *output; /* JOBID-insp where one JOBID is all that is given, or NULL */
    bool exporter; /* the site's file asks for the exporter's tree */
};

/* JOBID[.STEP] (and nothing of that name is here) becomes the folder by the
 * site's inspector_folder and the raw/ of the job's steps; other words stay as
 * they are. -1: there is neither, or the site's file cannot be read. */
int aggregate_inputs_find(const char *config, char *const *words, size_t n,
                          struct aggregate_inputs *out, struct jp_error *err);
void aggregate_inputs_fini(struct aggregate_inputs *inputs);

/* --exporter-layout: writes the exporter's tree into dir (exists), and says on
 * stderr, unless quiet, how far its pictures are and what it left out. Returns
 * -1 after saying why. */
int aggregate_exporter(const struct jp_result *result, const char *dir,
                       uint64_t reading_us, bool quiet);

#endif
