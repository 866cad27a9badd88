/* cmd_aggregate_exporter.c - `jobprof aggregate --exporter-layout`. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "common/quote.h"
#include "orchestrator/cmd/cmd_aggregate.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/report/exporter.h"

enum { SAY_AFTER_MS = 1000 };

struct drawing {
    uint64_t start_ms;
    bool said;
};

static void on_pictures(void *arg, uint64_t done, uint64_t total)
{
    struct drawing *drawing = arg;

    if (clock_mono_ms() - drawing->start_ms < SAY_AFTER_MS)
        return;
    drawing->said = true;
    fprintf(stderr, "\rjobprof: %" PRIu64 " of %" PRIu64 " pictures", done,
            total);
}

static void say(const struct jp_exporter_done *done, const char *dir)
{
    if (done->scripts)
        quote_printf(stderr,
                     "jobprof: %" PRIu64
                     " pictures not drawn: %s (their scripts "
                     "are in %s/summary)\n",
                     done->scripts, done->no_picture.text, dir);
    if (done->left_out)
        quote_printf(stderr,
                     "jobprof: %" PRIu64 " message sizes have no files, see "
                     "%s/output.log\n",
                     done->left_out, dir);
}

int aggregate_exporter(const struct jp_result *result, const char *dir,
                       uint64_t reading_us, bool quiet)
{
    struct drawing drawing = {.start_ms = clock_mono_ms()};
    struct jp_exporter_options options = {.progress_arg = &drawing,
                                          .reading_us = reading_us};
    struct jp_exporter_done done;
    struct jp_error err;
    int rc;

    if (!quiet && isatty(STDERR_FILENO))
        options.progress = on_pictures;
    rc = exporter_write(result, dir, &options, &done, &err);
    if (drawing.said)
        fputs("\r\033[K", stderr);
    if (rc < 0)
        quote_printf(stderr, "jobprof: %s\n", err.text);
    else if (!quiet)
        say(&done, dir);
    return rc;
}
