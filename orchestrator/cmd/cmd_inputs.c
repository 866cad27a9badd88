/* cmd_inputs.c - from a word to files, and what was odd about them. */
#include "orchestrator/cmd/cmd_inputs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "common/quote.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_report.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/stepdir.h"

/* Troubles that are told one by one. */
#define TROUBLES_SAID 20

static void say(void *arg, const char *text)
{
    const struct cmd_inputs *inputs = arg;

    if (!inputs->quiet && inputs->walk.troubles <= TROUBLES_SAID)
        quote_printf(stderr, "jobprof: %s\n", text);
}

static int failed(const struct cmd_inputs *inputs, const struct jp_error *err,
                  int status)
{
    quote_printf(stderr, "jobprof: %s: %s\n", inputs->command, err->text);
    return status;
}

/* A step's profiler files lie in raw/. Takes dir over. */
static char *raw_of(char *dir)
{
    char *raw = dir ? fileio_path("%s/raw", dir) : NULL;

    if (raw && stepdir_is_folder(raw)) {
        free(dir);
        return raw;
    }
    free(raw);
    return dir;
}

int cmd_inputs_init(struct cmd_inputs *inputs, const char *word,
                    const char *config)
{
    struct jp_error err;

    if (report_find(word, config, &inputs->folders, &inputs->n, &err) < 0)
        return failed(inputs, &err, JP_EXIT_USAGE);
    for (size_t i = 0; i < inputs->n; i++)
        inputs->folders[i] = raw_of(inputs->folders[i]);
    if (recwalk_init(&inputs->walk, (const char *const *) inputs->folders,
                     inputs->n, &err) < 0) {
        nodelist_free(inputs->folders, inputs->n);
        inputs->folders = NULL;
        return failed(inputs, &err, JP_EXIT_IO);
    }
    inputs->walk.say = say;
    inputs->walk.arg = inputs;
    return JP_EXIT_OK;
}

void cmd_inputs_fini(struct cmd_inputs *inputs)
{
    recwalk_fini(&inputs->walk);
    nodelist_free(inputs->folders, inputs->n);
}

int cmd_inputs_judge(const struct cmd_inputs *inputs)
{
    const struct jp_recwalk *walk = &inputs->walk;

    if (walk->troubles > TROUBLES_SAID && !inputs->quiet)
        fprintf(stderr, "jobprof: and %" PRIu64 " more\n",
                walk->troubles - TROUBLES_SAID);
    if (walk->others && !inputs->quiet)
        quote_printf(stderr,
                     "jobprof: %" PRIu64 " file%s not the recorder's%s\n",
                     walk->others, walk->others == 1 ? " is" : "s are",
                     walk->files ? "" : ": there is nothing to read here");
    if (walk->troubles)
        return JP_EXIT_INCOMPLETE;
    if (!walk->files) {
        if (!walk->others && !inputs->quiet)
            fprintf(stderr, "jobprof: no recorder's file (.jpr) there\n");
        return JP_EXIT_NODATA;
    }
    return JP_EXIT_OK;
}
