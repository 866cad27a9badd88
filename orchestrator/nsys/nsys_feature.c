/* nsys_feature.c - exports of Nsight Systems as a feature of reports: makes and
 * reads them, and names their part of each file. */
#include "orchestrator/nsys/nsys_feature.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/sections.h"
#include "plugins/nsys/nsys_ranks.h"

/* --- data ----------------------------------------------------------------- */

/* Gives a line to the log of whoever reads. */
__attribute__((format(printf, 2, 3))) static void
log_line(const struct feature_input *in, const char *format, ...)
{
    char line[512];
    va_list ap;

    if (!in->log)
        return;
    va_start(ap, format);
    vsnprintf(line, sizeof(line), format, ap);
    va_end(ap);
    in->log(in->log_arg, line);
}

/* Converts reports of nsys to exports, where programs may be started; the
 * report names what is left (put_undone). */
static void export_reports(const struct feature_input *in)
{
    const struct nsys_export_options options = {
        .at_once = in->threads ? in->threads : 4,
        .limit_ms = in->run_limit_ms,
        .stop = in->stop,
        .arg = in->stop_arg};
    struct nsys_export_done done;
    struct jp_error err;

    for (size_t i = 0; in->may_run && i < in->n; i++) {
        if (nsys_export(in->inputs[i], &options, &done, &err) < 0)
            log_line(in, "no nsys exports: %s", err.text);
        else if (done.wanted)
            log_line(in, "nsys: %zu of %zu reports exported%s%s", done.made,
                     done.wanted, *done.why ? "; " : "", done.why);
    }
}

/* Reads the exports among the n inputs. */
static int load_exports(const struct feature_input *in,
                        const char *const *inputs, size_t n, void **data,
                        struct jp_error *err)
{
    struct jp_nsys_options options = nsys_options();
    struct jp_nsys *nsys = NULL;

    options.stop = in->stop;
    options.arg = in->stop_arg;
    if (nsys_load(inputs, n, &options, &nsys, err) < 0)
        return -1;
    if (in->stop && in->stop(in->stop_arg)) {
        nsys_destroy(nsys);
        return error_set(err, "the time limit ran out");
    }
    *data = nsys;
    return 0;
}

static int read_exports(const struct feature_input *in, void **data,
                        struct jp_error *err)
{
    if (in->over)
        return 0;
    export_reports(in);
    return load_exports(in, in->inputs, in->n, data, err);
}

/* A file that was named is an export if its name says so. */
static bool is_export(const char *path)
{
    size_t n = strlen(path);
    struct stat st;

    return n > 7 && strcmp(path + n - 7, ".sqlite") == 0 &&
           stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* A folder may have exports among other files. */
static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int read_found(const struct filekinds *found,
                      const struct feature_input *in, void **data,
                      struct jp_error *err)
{
    const char **inputs = calloc(in->n + 1, sizeof(*inputs));
    size_t n = 0;
    int rc;

    (void) found;
    if (!inputs)
        return error_set(err, "out of memory");
    for (size_t i = 0; i < in->n; i++)
        if (is_export(in->inputs[i]) || is_folder(in->inputs[i]))
            inputs[n++] = in->inputs[i];
    rc = load_exports(in, inputs, n, data, err);
    free(inputs);
    return rc;
}

/* An export of several processes has their collectives, too. */
static const char *find_operations(const void *data, size_t i)
{
    const struct jp_nsys *nsys = data;

    for (size_t k = 0; k < nsys->n_ranks; k++)
        if (nsys->ranks[k].p.processes > 1 && !i--)
            return nsys->ranks[k].path;
    return NULL;
}

static void
put_notes(const void *data,
          void (*note)(void *arg, const char *path, const char *why), void *arg)
{
    const struct jp_nsys *nsys = data;

    for (size_t i = 0; i < nsys->n_ranks; i++)
        if (*nsys->ranks[i].why)
            note(arg, "nsys", nsys->ranks[i].why);
}

static void destroy(void *data)
{
    nsys_destroy(data);
}

static void make_relative(void *data, void (*one)(char *path, const char *dir),
                          const char *dir)
{
    struct jp_nsys *nsys = data;

    for (size_t i = 0; i < nsys->n_ranks; i++)
        one(nsys->ranks[i].path, dir);
}

static bool put_undone(const void *data, char *buf, size_t size)
{
    const struct jp_nsys *nsys = data;

    snprintf(buf, size, "%s of nsys not exported",
             nsys->unexported == 1 ? "a report" : "reports");
    return nsys->unexported > 0;
}

/* --- files of a report ---------------------------------------------------- */

static void put_lines(const struct jp_report *report, FILE *out)
{
    char text[JP_NSYS_TEXT];

    text_out_fact(out, "GPUs by nsys", nsys_text(nsys_of(report), text));
}

/* How busy the GPUs were, and the findings of most weight. */
static size_t put_tiles(const struct jp_report *report,
                        struct first_screen_tile *tiles, size_t room)
{
    const struct jp_nsys *nsys = nsys_of(report);
    const struct jp_insight *x = report->insight;
    double least = INFINITY, most = -INFINITY;
    size_t n = 0, ranks = 0;

    for (size_t i = 0; i < nsys->n_ranks; i++) {
        double share = nsys_busy_share(&nsys->ranks[i].p);

        /* a rank without GPUs has no share */
        if (nsys->ranks[i].bad || !isfinite(share))
            continue;
        least = fmin(least, share);
        most = fmax(most, share);
        ranks++;
    }
    if (ranks && n < room) {
        struct first_screen_tile *t = &tiles[n++];

        t->label = "GPUs busy";
        if (ranks > 1)
            /* one sign for both */
            snprintf(t->value, sizeof(t->value), "%.*s to %s",
                     (int) strcspn(FIG_SHARE(least), " "), FIG_SHARE(least),
                     FIG_SHARE(most));
        else
            snprintf(t->value, sizeof(t->value), "%s", FIG_SHARE(least));
        snprintf(t->note, sizeof(t->note),
                 "from the first activity to the last, %s rank%s",
                 FIG_COUNT(ranks), plural(ranks));
    }
    for (size_t i = 0; x && i < x->findings.n && n + 1 < room; i++) {
        const struct jp_finding *f = &x->findings.at[i];

        if (!isfinite(f->share))
            continue;
        tiles[n].label = "Found";
        snprintf(tiles[n].value, sizeof(tiles[n].value), "%s",
                 FIG_SHARE(f->share));
        snprintf(tiles[n].note, sizeof(tiles[n].note), "%s",
                 findings_about[f->kind].help);
        n++;
    }
    return n;
}

/* --- the feature ---------------------------------------------------------- */

const struct feature feature_nsys = {
    .name = NSYS_FEATURE,
    .title = "nsys",
    .role = FEATURE_FIGURES,
    .read = read_exports,
    .read_found = read_found,
    .claims = is_export,
    .operations_file = find_operations,
    .reader = &backend_nsys_ranks,
    .notes = put_notes,
    .destroy = destroy,
    .relative = make_relative,
    .judge_operations = nsys_judge,
    .judge = nsys_judge_alone,
    .inputs = "Exports of Nsight Systems (.sqlite; jobprof nsys) become a "
              "part of the same report.",
    .limits = nsys_limits,
    .reasons = nsys_reasons,
    .tables = tables_nsys,
    .json = nsys_report_json,
    .lines = put_lines,
    .text = nsys_report_text,
    .sections = nsys_sections,
    .further_tiles = put_tiles,
    .undone = put_undone,
    .events = &nsys_events,
};
