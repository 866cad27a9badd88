/* top_steps.h - the steps that `jobprof top` shows. */
#ifndef JP_LIVE_TOP_STEPS_H
#define JP_LIVE_TOP_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/live/topshow.h"

enum top_status {
    TOP_RUNS,   /* its nodes report data */
    TOP_SILENT, /* it has not ended, but no node has reported data */
    TOP_ENDED
};

struct top_step {
    char *dir;
    char *final_dir; /* its directory after the end; NULL: unchanged */
    char name[80];   /* "42.0" */
    enum top_status status;
    char text[1024]; /* unless it runs: why not, or where its report is */
    bool asked;      /* its nodes were asked to write more often */
    bool seen;       /* it was running during this command */
    struct livestate state;
};

struct top {
    const char *word, *config;
    const char *node; /* value of --node; NULL: all */
    char *job_dir;    /* the argument means all steps of this job; NULL: one
                       * step */
    struct top_step *steps;
    size_t n;
    uint64_t interval_ms;
    struct topshow_how how;
};

/* The job for a command without argument: $SLURM_JOB_ID, otherwise the newest
 * folder here that contains a step with node data (*made; caller frees it).
 * NULL: none. */
const char *top_default_word(char **made);

/* Finds the steps of word, which is a directory, JOBID or JOBID.STEP. Returns
 * -1 and err if there is none. */
int top_find_steps(struct top *top, const char *word, struct jp_error *err);
void top_fini(struct top *top);

/* Reads all steps again. Asks the nodes of running steps to write data every 5
 * s. */
int top_look(struct top *top, struct jp_error *err);

/* Whether an agent of the step in that directory has written a snapshot lately
 * that is not its last one. */
bool top_writes(const char *dir);

#endif
