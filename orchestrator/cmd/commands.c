/* commands.c - find and run a subcommand. */
#include "config.h"

#include "orchestrator/cmd/commands.h"

#include <stdio.h>
#include <string.h>

#include "common/quote.h"
#include "orchestrator/cmd/cmd.h"

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
        quote_printf(stderr, "%s: unknown command \"%s\" (%s --help)\n",
                     program->name, word, program->name);
    else
        print_help(program, stderr);
    return JP_EXIT_USAGE;
}
