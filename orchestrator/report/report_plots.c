/* report_plots.c - plots/: tables for gnuplot, scripts; later the pictures. */
#include "orchestrator/report/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/report/gnuplot.h"
#include "orchestrator/report/html_sections.h"
#include "orchestrator/report/plots.h"
#include "orchestrator/report/report_copper.h"

#define RENDER_LIMIT_MS 5000 /* a picture takes 0.3 s */

/* Each plot is NAME.tsv, NAME.gp and, rendered, NAME.png. */
static const struct plot {
    const char *name;
    int (*write)(const struct jp_result *, FILE *tsv, FILE *gp);
} plots[] = {
    {"busbw", plot_busbw_write},
    {"waits", plot_waits_write},
    {"windows", plot_windows_write},
};

/* Opens dir/name.suffix as a file to be renamed. */
static int open_part(struct jp_tempfile *file, const char *dir,
                     const char *name, const char *suffix, struct jp_error *err)
{
    char *path = fileio_path("%s/%s.%s", dir, name, suffix);
    int rc = path ? fileio_temp_open(file, path, err)
                  : error_set(err, "out of memory");

    free(path);
    return rc;
}

/* Opens both files of a plot; 0: write into them. */
static int open_plot(struct jp_tempfile *tsv, struct jp_tempfile *gp,
                     const char *dir, const char *name, struct jp_error *err)
{
    if (open_part(tsv, dir, name, "tsv", err) < 0)
        return -1;
    if (open_part(gp, dir, name, "gp", err) == 0)
        return 0;
    fileio_temp_abort(tsv);
    return -1;
}

/* rc: of what was written into them. */
static int close_plot(struct jp_tempfile *tsv, struct jp_tempfile *gp, int rc,
                      struct jp_error *err)
{
    if (rc < 0) {
        fileio_temp_abort(tsv);
        fileio_temp_abort(gp);
        return error_set(err, "out of memory");
    }
    if (fileio_temp_commit(tsv, err) < 0) {
        fileio_temp_abort(gp);
        return -1;
    }
    return fileio_temp_commit(gp, err);
}

static int write_plot(const struct jp_result *result, const char *dir,
                      const struct plot *plot, struct jp_error *err)
{
    static const struct jp_result empty;
    struct jp_tempfile tsv, gp;

    if (open_plot(&tsv, &gp, dir, plot->name, err) < 0)
        return -1;
    return close_plot(
        &tsv, &gp, plot->write(result ? result : &empty, tsv.stream, gp.stream),
        err);
}

static int write_copper(const struct jp_copper *copper, const char *dir,
                        const struct report_copper_plots *plot,
                        struct jp_error *err)
{
    struct jp_tempfile tsv, gp;

    if (open_plot(&tsv, &gp, dir, plot->name, err) < 0)
        return -1;
    return close_plot(&tsv, &gp, plot->write(copper, tsv.stream, gp.stream),
                      err);
}

/* Removes a picture that gnuplot left half done, or of older data. */
static void remove_picture(const char *dir, const char *name)
{
    char *path = fileio_path("%s/%s.png", dir, name);

    if (path)
        unlink(path);
    free(path);
}

/* The i-th plot's name; NULL behind the last. */
static const char *plot_name(size_t i)
{
    size_t n = sizeof(plots) / sizeof(*plots);

    if (i < n)
        return plots[i].name;
    return i - n < report_copper_n_plots ? report_copper_plots[i - n].name
                                         : NULL;
}

/* A script may run programs: none but those that are written now is drawn. */
static void remove_scripts(const char *dir)
{
    for (size_t i = 0; plot_name(i); i++) {
        char *path = fileio_path("%s/%s.gp", dir, plot_name(i));

        if (path)
            unlink(path);
        free(path);
    }
}

/* Draws NAME.gp where there is one. */
static int render_one(const char *dir, const char *name, struct jp_error *err)
{
    char script[32];
    const char *scripts[] = {script};
    char *path = fileio_path("%s/%s.gp", dir, name);
    int rc;

    snprintf(script, sizeof(script), "%s.gp", name);
    if (!path)
        return error_set(err, "out of memory");
    rc = access(path, R_OK) < 0
             ? 0
             : gnuplot_run(dir, scripts, 1, RENDER_LIMIT_MS, err);
    free(path);
    if (rc != 0)
        remove_picture(dir, name);
    return rc;
}

/* Pictures are an extra: where gnuplot is absent or fails, plots/NOTE says so
 * and the report stands. */
static int render(const char *dir, struct jp_error *err)
{
    struct jp_error why = {""};
    char *note = fileio_path("%s/NOTE", dir);
    int rc = 0;

    if (!note)
        return error_set(err, "out of memory");
    for (size_t i = 0; plot_name(i) && rc == 0; i++)
        rc = render_one(dir, plot_name(i), &why);
    if (rc > 0)
        error_set(&why, "gnuplot was not found");
    if (rc != 0) {
        error_wrap(&why, "no pictures (render them by: gnuplot -d *.gp)");
        rc = fileio_write(note, why.text, strlen(why.text), err);
    } else {
        unlink(note);
    }
    free(note);
    return rc;
}

int report_write_plots(const struct jp_report *report, const char *plots_dir,
                       struct jp_error *err)
{
    if (fileio_mkdir(plots_dir, err) < 0)
        return -1;
    remove_scripts(plots_dir);
    for (size_t i = 0; i < sizeof(plots) / sizeof(*plots); i++) {
        remove_picture(plots_dir, plots[i].name);
        if (write_plot(report->result, plots_dir, &plots[i], err) < 0)
            return -1;
    }
    for (size_t i = 0; report->copper && i < report_copper_n_plots; i++) {
        remove_picture(plots_dir, report_copper_plots[i].name);
        if (write_copper(report->copper, plots_dir, &report_copper_plots[i],
                         err) < 0)
            return -1;
    }
    return 0;
}

int report_draw(const char *dir, struct jp_error *err)
{
    char *plots_dir = fileio_path("%s/plots", dir);
    int rc = plots_dir ? render(plots_dir, err)
                       : error_set(err, "out of memory");

    free(plots_dir);
    return rc < 0 ? -1 : html_pictures_embed(dir, err);
}
