/* cmd_args.c - the last cases of a command's switch over its options. */
#include "orchestrator/cmd/cmd_args.h"

#include <getopt.h>
#include <stdio.h>

#include "common/error.h"
#include "orchestrator/cmd/cmd.h"

int cmd_args_common(int c, const char *help, struct cmd_common *common)
{
    switch (c) {
    case CMD_OPT_JSON:
        common->json = true;
        return -1;
    case CMD_OPT_CONFIG:
        common->config = optarg;
        return -1;
    case 'q':
        common->quiet = true;
        return -1;
    case 'v':
        common->verbose = true;
        return -1;
    case 'h':
        fputs(help, stdout);
        return JP_EXIT_OK;
    default:
        return JP_EXIT_USAGE; /* getopt has said why */
    }
}

int cmd_args_usage(const char *command, const char *what)
{
    fprintf(stderr, "jobprof: %s: %s (jobprof %s --help)\n", command, what,
            command);
    return JP_EXIT_USAGE;
}

int cmd_args_fail(const char *command, int status, const struct jp_error *err)
{
    fprintf(stderr, "jobprof: %s: %s\n", command, err->text);
    return status;
}
