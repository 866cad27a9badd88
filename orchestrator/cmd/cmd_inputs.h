/* cmd_inputs.h - find the step directories and recordings for a command's
 * argument.
 */
#ifndef JP_CMD_CMD_INPUTS_H
#define JP_CMD_CMD_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "orchestrator/ingest/logwalk.h"

/* Finds the step directories of word: the directory of a step or a job, or
 * JOBID[.STEP]. The strings and *dirs are malloc'ed (nodelist_free). Returns -1
 * and err if there is none. */
int cmd_inputs_steps(const char *word, const char *config, char ***dirs,
                     size_t *n, struct jp_error *err);

/* Lists the steps of all jobs' directories in a folder, as far as they have a
 * job.conf. *n is 0 if there is none. Returns 0, or -1 without memory; nothing
 * is listed then. Free with nodelist_free. */
int cmd_inputs_jobs(const char *folder, char ***dirs, size_t *n);

struct cmd_inputs {
    struct jp_recwalk walk;
    char **folders; /* raw/ of each step; or the given folder or file */
    char **dirs;    /* the step's directory of each, or the same folder */
    char **names;   /* of each: "53.0", else the folder's path */
    size_t n;
    bool quiet;
    bool jobs; /* set by the caller: a folder of jobs' directories means all
                * their steps */
    const char *command; /* name for messages on stderr */
};

/* Finds DIR (the directory of a step or a job, any folder, a file) or
 * JOBID[.STEP]. Returns JP_EXIT_OK, or an exit status after printing the
 * error. */
int cmd_inputs_init(struct cmd_inputs *inputs, const char *word,
                    const char *config);
void cmd_inputs_fini(struct cmd_inputs *inputs);

/* The folder nodes/ of a step's directory, or beside its raw/; NULL: none.
 * malloc'ed. */
char *cmd_inputs_nodes(const char *folder);

/* Call it after reading all files: prints a summary of their problems and
 * returns the exit status. */
int cmd_inputs_judge(const struct cmd_inputs *inputs);

#endif
