/* cmd_top.h - the steps that `jobprof top` watches, and the screen for it. */
#ifndef JP_CMD_CMD_TOP_H
#define JP_CMD_CMD_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/show/topshow.h"

enum top_status {
    TOP_RUNS,   /* nodes tell of it */
    TOP_SILENT, /* it has not ended, and no node has told of it */
    TOP_ENDED
};

struct top_step {
    char *dir;
    char *final_dir; /* where it moves at its end; NULL: it stays */
    char name[80];   /* "42.0" */
    enum top_status status;
    char text[1024]; /* unless it runs: why not, where its report is */
    bool asked;      /* nodes are asked to write more often */
    bool seen;       /* it has run while we watched */
    struct livestate state;
};

struct top {
    const char *word, *config;
    const char *node; /* of --node; NULL: all */
    char *job_dir;    /* of a word that means all steps; NULL: one step */
    struct top_step *steps;
    size_t n;
    uint64_t interval_ms;
    struct topshow_how how;
};

/* The job that a command without an argument means: $SLURM_JOB_ID, else the
 * newest folder here with a step that nodes tell of (*made, to be freed). NULL:
 * none. */
const char *top_default_word(char **made);

/* The steps that word means: a directory, JOBID or JOBID.STEP. */
int top_find_steps(struct top *top, const char *word, struct jp_error *err);
void top_fini(struct top *top);

/* Looks at all steps again; the nodes of those that run are asked for news each
 * 5 s. */
int top_look(struct top *top, struct jp_error *err);

/* The first step that runs, else that may, else the last. */
struct top_step *top_current(const struct top *top);

/* On a terminal, until a key or a signal ends it or the step has ended; the
 * terminal is as before then. Returns the exit status. quiet: does not say
 * where the report is. */
int top_screen(struct top *top, bool quiet);

#endif
