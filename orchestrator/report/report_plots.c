/* report_plots.c - plots/: tables for gnuplot, scripts; later the pictures. */
#include "orchestrator/report/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/report/gnuplot.h"
#include "orchestrator/report/plots.h"

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

static int write_plot(const struct jp_result *result, const char *dir,
                      const struct plot *plot, struct jp_error *err)
{
    static const struct jp_result empty;
    struct jp_tempfile tsv, gp;

    if (open_part(&tsv, dir, plot->name, "tsv", err) < 0)
        return -1;
    if (open_part(&gp, dir, plot->name, "gp", err) < 0) {
        fileio_temp_abort(&tsv);
        return -1;
    }
    if (plot->write(result ? result : &empty, tsv.stream, gp.stream) < 0) {
        fileio_temp_abort(&tsv);
        fileio_temp_abort(&gp);
        return error_set(err, "out of memory");
    }
    if (fileio_temp_commit(&tsv, err) < 0) {
        fileio_temp_abort(&gp);
        return -1;
    }
    return fileio_temp_commit(&gp, err);
}

/* Removes a picture that gnuplot left half done, or of older data. */
static void remove_picture(const char *dir, const char *name)
{
    char *path = fileio_path("%s/%s.png", dir, name);

    if (path)
        unlink(path);
    free(path);
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
    for (size_t i = 0; i < sizeof(plots) / sizeof(*plots) && rc == 0; i++) {
        char script[32];
        const char *scripts[] = {script};

        snprintf(script, sizeof(script), "%s.gp", plots[i].name);
        rc = gnuplot_run(dir, scripts, 1, RENDER_LIMIT_MS, &why);
        if (rc != 0)
            remove_picture(dir, plots[i].name);
    }
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
    if (fileio_mkdirs(plots_dir, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(plots) / sizeof(*plots); i++) {
        remove_picture(plots_dir, plots[i].name);
        if (write_plot(report->result, plots_dir, &plots[i], err) < 0)
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
    return rc;
}
