/* cmd_args.c - what several commands share: error messages, summary.json on
 * standard output, the expected network performance, and the exporter's layout.
 */
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/feature/feature.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/error.h"
#include "common/fileio.h"
#include "common/quote.h"
#include "common/sitefile.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/report/baseline_file.h"
#include "orchestrator/report/exporter.h"

int cmd_args_fail(const char *command, int status, const struct jp_error *err)
{
    quote_printf(stderr, "jobprof: %s: %s\n", command, err->text);
    return status;
}

/* Copies the file to standard output through a filter that makes it harmless
 * for a terminal. It copies in pieces, because the file may have any size.
 * Returns 0, or -1 and err. */
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
    char *path = text_format("%s/summary.json", dir);
    /* the text stays if path is NULL; other failures replace it */
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
    /* Slurm sets the variable in a job. A relative value would be relative to a
     * folder that is not known here. */
    char *dir = submit && *submit == '/' ? strdup(submit) : getcwd(NULL, 0);

    if (!dir)
        error_set(err, "the working directory cannot be found");
    return dir;
}

/* --- the expected network performance --- */

/* Returns a copy of the site's value of a key, or NULL if there is none. */
static char *named(const struct jp_sitefile *site, const char *key)
{
    const struct sitefile_value *value = sitefile_find(site, key);

    return value ? strdup(value->value) : NULL;
}

/* Keeps the first error of the site's files; the report prints only one. */
static void note_trouble(void *arg, const char *sentence)
{
    struct cmd_expect *x = arg;

    if (!*x->trouble.text)
        error_set(&x->trouble, "%s", sentence);
}

/* Loads the site's peak rates. A file with an error is not used, and the error
 * is kept in x->trouble. */
static void load_peaks(struct cmd_expect *x, const struct jp_sitefile *site)
{
    x->peaks_path = named(site, "peaks_file");
    if (!x->peaks_path ||
        peaks_load(x->peaks_path, note_trouble, x, &x->peaks, NULL) < 0)
        return;
    x->is.peaks = &x->peaks;
    x->is.peaks_path = x->peaks_path;
}

/* Loads the baseline of --baseline (given), otherwise the site's. Returns -1
 * and err only for that of --baseline: an error in the site's file must not
 * stop a user's report. */
static int load_baseline(struct cmd_expect *x, const struct jp_sitefile *site,
                         const char *given, struct jp_error *err)
{
    struct jp_error why = {"out of memory"};

    x->baseline_path = given ? strdup(given) : named(site, "baseline_file");
    if (!x->baseline_path && !given)
        return 0;
    if (!x->baseline_path ||
        baseline_file_read(x->baseline_path, !given, &x->baseline, &why) < 0) {
        if (given)
            return error_set(err, "%s", why.text);
        note_trouble(x, why.text);
        return 0;
    }
    x->is.baseline = &x->baseline;
    x->is.baseline_path = x->baseline_path;
    return 0;
}

int cmd_expect_load(const char *config, const char *baseline,
                    struct cmd_expect *x, struct jp_error *err)
{
    struct jp_sitefile site = {0};
    struct jp_error why;
    int rc;

    *x = (struct cmd_expect){.trouble = {""}};
    /* a missing site file is an error only if --config names it */
    if (sitefile_load(config ? config : JP_DEF_SITE_FILE, SITEFILE_SITE,
                      config != NULL, NULL, NULL, &site, &why) < 0)
        note_trouble(x, why.text);
    load_peaks(x, &site);
    rc = load_baseline(x, &site, baseline, err);
    sitefile_fini(&site);
    return rc;
}

void cmd_expect_fini(struct cmd_expect *x)
{
    peaks_fini(&x->peaks);
    baseline_fini(&x->baseline);
    free(x->peaks_path);
    free(x->baseline_path);
    *x = (struct cmd_expect){.trouble = {""}};
}

/* --- the exporter's layout --- */

/* Shorter work prints no progress. */
enum { SAY_AFTER_MS = 1000 };

struct drawing {
    uint64_t start_ms;
    bool said; /* a progress line is on the terminal */
};

/* Prints the number of pictures drawn so far. Called after each of them. */
static void on_pictures(void *arg, uint64_t done, uint64_t total)
{
    struct drawing *drawing = arg;

    if (clock_mono_ms() - drawing->start_ms < SAY_AFTER_MS)
        return;
    drawing->said = true;
    fprintf(stderr, "\rjobprof: %" PRIu64 " of %" PRIu64 " pictures", done,
            total);
}

/* Prints what the exporter could not draw or left out. */
static void print_left_out(const struct jp_exporter_done *done, const char *dir)
{
    if (done->scripts)
        quote_printf(
            stderr,
            "jobprof: %" PRIu64
            " pictures were not drawn: %s (their scripts are in %s/summary)\n",
            done->scripts, done->no_picture.text, dir);
    if (done->left_out)
        quote_printf(stderr,
                     "jobprof: %" PRIu64
                     " message sizes have no files; see %s/output.log\n",
                     done->left_out, dir);
}

int cmd_args_exporter(const struct jp_result *result, const char *dir,
                      const struct cmd_exporter *how)
{
    struct drawing drawing = {.start_ms = clock_mono_ms()};
    struct jp_exporter_options options = {.progress_arg = &drawing,
                                          .reading_us = how->reading_us,
                                          .no_pictures = how->no_pictures};
    struct jp_exporter_done done;
    struct jp_error err;
    int rc;

    if (!how->quiet && isatty(STDERR_FILENO))
        options.progress = on_pictures;
    rc = exporter_write(result, dir, &options, &done, &err);
    if (drawing.said)
        /* erase the progress line */
        fputs("\r\033[K", stderr);
    if (rc < 0)
        quote_printf(stderr, "jobprof: %s\n", err.text);
    else if (!how->quiet)
        print_left_out(&done, dir);
    return rc;
}

size_t cmd_args_format_rows(struct cmd_option *rows, size_t room,
                            int (*take)(void *arguments,
                                        const struct cmd_option *row,
                                        char *value, struct jp_error *err))
{
    size_t n = 0;

    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->format && n < room)
            rows[n++] =
                (struct cmd_option){.name = feature_registry[i]->name,
                                    .help = feature_registry[i]->format->option,
                                    .take = take,
                                    .max = UINT64_C(1) << i};
    return n;
}

enum jp_exit cmd_args_judge(const struct jp_verdict *verdict)
{
    /* the words are in order, the worst first */
    if (verdict->part_incomplete || verdict->word == JP_VERDICT_INCOMPLETE ||
        verdict->word <= JP_VERDICT_FAILED)
        return JP_EXIT_INCOMPLETE;
    return verdict->word == JP_VERDICT_NODATA ? JP_EXIT_NODATA : JP_EXIT_OK;
}
