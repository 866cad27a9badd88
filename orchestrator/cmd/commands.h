/* commands.h - run one of a program's subcommands from its table. */
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
    const char *purpose; /* one sentence */
    const struct command *commands;
    size_t n_commands;
    const char *epilogue; /* last lines of --help */
};

/* Handles --help, --version and unknown words; else runs the subcommand.
 * Returns the exit status. */
int commands_run(const struct program *program, int argc, char **argv);

#endif
