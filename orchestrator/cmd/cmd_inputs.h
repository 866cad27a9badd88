/* cmd_inputs.h - the step directories and recordings that a user's word means.
 */
#ifndef JP_CMD_CMD_INPUTS_H
#define JP_CMD_CMD_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "orchestrator/ingest/logwalk.h"

/* The step directories of word: a step's or a job's directory, or JOBID[.STEP].
 * The strings and *dirs are malloc'ed (nodelist_free). -1 and err: none. */
int cmd_inputs_steps(const char *word, const char *config, char ***dirs,
                     size_t *n, struct jp_error *err);

struct cmd_inputs {
    struct jp_recwalk walk;
    char **folders; /* raw/ of the steps, or the folder or file itself */
    size_t n;
    bool quiet;
    const char *command; /* named in messages on stderr */
};

/* Finds DIR (a step's or a job's directory, any folder, a file) or
 * JOBID[.STEP]. JP_EXIT_OK, or the exit status after saying why. */
int cmd_inputs_init(struct cmd_inputs *inputs, const char *word,
                    const char *config);
void cmd_inputs_fini(struct cmd_inputs *inputs);

/* The folder nodes/ of a step's directory or beside its raw/; NULL: there is
 * none. malloc'ed. */
char *cmd_inputs_nodes(const char *folder);

/* After all files were read: prints what was odd, and returns the exit status.
 */
int cmd_inputs_judge(const struct cmd_inputs *inputs);

#endif
