/* commands.c - find and run a subcommand. */
#include "config.h"

#include "orchestrator/cmd/commands.h"

#include <stdio.h>
#include <string.h>

#include "common/nearest.h"
#include "common/quote.h"
#include "orchestrator/cmd/cmd.h"

#define COMMANDS_MAX 64 /* limit of names that a word is compared with */

static void print_help(const struct program *program, FILE *out)
{
    quote_printf(out, "usage: %s COMMAND [options] ...\n\n", program->name);
    fputs(program->purpose, out); /* raw: ours, with ends of lines */
    fputs("\n\n", out);
    for (size_t i = 0; i < program->n_commands; i++)
        quote_printf(out, "  %-10s %s\n", program->commands[i].name,
                     program->commands[i].summary);
    fputs("\n", out);
    fputs(program->epilogue, out); /* raw: ours, with ends of lines */
}

static int unknown(const struct program *program, const char *word)
{
    const char *names[COMMANDS_MAX], *near;
    size_t n = program->n_commands < COMMANDS_MAX ? program->n_commands
                                                  : COMMANDS_MAX;

    for (size_t i = 0; i < n; i++)
        names[i] = program->commands[i].name;
    near = nearest_find(word, names, n);
    if (near)
        quote_printf(stderr,
                     "%s: unknown command \"%s\"; did you mean \"%s\"? "
                     "(%s --help)\n",
                     program->name, word, near, program->name);
    else
        quote_printf(stderr, "%s: unknown command \"%s\" (%s --help)\n",
                     program->name, word, program->name);
    return JP_EXIT_USAGE;
}

int commands_run(const struct program *program, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;

    if (word && (!strcmp(word, "--help") || !strcmp(word, "-h") ||
                 !strcmp(word, "help"))) {
        print_help(program, stdout);
        return JP_EXIT_OK;
    }
    if (word && (!strcmp(word, "--version") || !strcmp(word, "-V"))) {
        quote_printf(stdout, "%s %s\n", program->name, PACKAGE_VERSION);
        return JP_EXIT_OK;
    }
    for (size_t i = 0; word && i < program->n_commands; i++)
        if (strcmp(word, program->commands[i].name) == 0)
            return program->commands[i].run(argc - 1, argv + 1);
    if (word)
        return unknown(program, word);
    print_help(program, stderr);
    return JP_EXIT_USAGE;
}
