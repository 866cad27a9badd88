/* cmd_args.c - the last cases of a command's switch over its options. */
#include "orchestrator/cmd/cmd_args.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/fileio.h"
#include "common/quote.h"
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
    quote_printf(stderr, "jobprof: %s: %s (jobprof %s --help)\n", command, what,
                 command);
    return JP_EXIT_USAGE;
}

int cmd_args_fail(const char *command, int status, const struct jp_error *err)
{
    quote_printf(stderr, "jobprof: %s: %s\n", command, err->text);
    return status;
}

/* Piece by piece: it may be of any size. */
static int copy_json(FILE *in, struct jp_error *err)
{
    FILE *out = quote_json_open(stdout);
    char piece[16384];
    bool bad = !out;
    size_t n;

    while (!bad && (n = fread(piece, 1, sizeof(piece), in)) > 0)
        bad = fwrite(piece, 1, n, out) != n;
    if (out && fclose(out) != 0)
        bad = true;
    if (bad)
        return error_set(err, "standard output failed");
    return ferror(in) ? error_set(err, "summary.json: %m") : 0;
}

int cmd_args_print_summary(const char *dir)
{
    char *path = fileio_path("%s/summary.json", dir);
    struct jp_error err = {"out of memory"};
    int fd = path ? fileio_open_regular(path, false, &err) : -1, rc = -1;
    FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;

    if (in)
        rc = copy_json(in, &err);
    else if (fd >= 0)
        close(fd);
    if (rc < 0)
        quote_printf(stderr, "jobprof: %s\n", err.text);
    if (in)
        fclose(in);
    free(path);
    return rc;
}

char *cmd_args_submit_dir(struct jp_error *err)
{
    const char *submit = getenv("SLURM_SUBMIT_DIR");
    char *dir = submit && *submit == '/' ? strdup(submit) : getcwd(NULL, 0);

    if (!dir)
        error_set(err, "the working directory cannot be found");
    return dir;
}
