/* commands.h - run a subcommand from the table of a program. */
#ifndef JP_CMD_COMMANDS_H
#define JP_CMD_COMMANDS_H

#include <stddef.h>

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary; /* for --help */
};

struct program {
    const char *name;
    const char *purpose; /* one sentence about the program */
    const struct command *commands;
    size_t n_commands;
    const char *epilogue; /* last lines of --help */
};

/* Handles --help, --version and unknown words; otherwise runs the subcommand.
 * Returns the exit status. */
int commands_run(const struct program *program, int argc, char **argv);

#endif
