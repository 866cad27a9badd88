/* cmd_args.h - the options that most of jobprof's commands have. */
#ifndef JP_CMD_CMD_ARGS_H
#define JP_CMD_CMD_ARGS_H

#include <stdbool.h>

/* What getopt_long returns for the long ones; a command's own begin at 256. */
enum { CMD_OPT_JSON = 1000, CMD_OPT_CONFIG };

struct cmd_common {
    const char *config; /* --config FILE, or NULL */
    bool json, quiet, verbose;
};

/* Takes --json, --config, -q, -v or -h (which prints help on standard output).
 * -1 to go on, else an exit status: anything else is an error that getopt has
 * told. */
int cmd_args_common(int c, const char *help, struct cmd_common *common);

/* "jobprof: COMMAND: WHAT (jobprof COMMAND --help)"; JP_EXIT_USAGE. */
int cmd_args_usage(const char *command, const char *what);

struct jp_error;

/* Prints the folder's summary.json, harmless to a terminal. -1: told. */
int cmd_args_print_summary(const char *dir);

/* Where a step that started now would put relative directories: the job's
 * submit directory, or this one. Caller frees; NULL: err. */
char *cmd_args_submit_dir(struct jp_error *err);

/* "jobprof: COMMAND: ERR"; status. */
int cmd_args_fail(const char *command, int status, const struct jp_error *err);

#endif
