/* exporter.c - folders, files and pictures of the exporter's tree. */
#include "orchestrator/report/exporter.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/report/exporter_files.h"
#include "orchestrator/report/exporter_plots.h"
#include "orchestrator/report/exporter_words.h"
#include "orchestrator/report/gnuplot.h"

/* A picture takes 0.02 s, a scatter plot of many points 0.5 s. */
#define RENDER_LIMIT_MS 5000
#define RENDER_EACH_MS 500

struct tree {
    struct exporter_table table;
    char *dir;    /* .../summary */
    char **names; /* of pictures, from dir, without suffix */
    size_t n_names;
    struct jp_exporter_done *done;
};

/* Opens dir/name.suffix; makes its folder. */
static int open_file(const struct tree *tree, const char *name,
                     const char *suffix, struct jp_tempfile *file,
                     struct jp_error *err)
{
    char *path = fileio_path("%s/%s.%s", tree->dir, name, suffix);
    char *slash = path ? strrchr(path, '/') : NULL;
    int rc = -1;

    if (!path) {
        error_set(err, "out of memory");
    } else {
        *slash = '\0';
        rc = fileio_mkdirs(path, err);
        *slash = '/';
    }
    if (rc == 0)
        rc = fileio_temp_open(file, path, err);
    free(path);
    return rc;
}

static void remove_file(const struct tree *tree, const char *name,
                        const char *suffix)
{
    char *path = fileio_path("%s/%s.%s", tree->dir, name, suffix);

    if (path)
        unlink(path);
    free(path);
}

enum kind { SCATTER, COMBINED, HISTOGRAM, BOXPLOT };

/* Writes one script; from..to are the series, from alone a size. name is taken
 * over. */
static int put_script(struct tree *tree, enum kind kind, size_t from, size_t to,
                      char *name, struct jp_error *err)
{
    const struct exporter_table *table = &tree->table;
    struct jp_tempfile gp;
    int rc = 0;

    if (!name)
        return error_set(err, "out of memory");
    tree->names[tree->n_names++] = name;
    if (open_file(tree, name, "gp", &gp, err) < 0)
        return -1;
    if (kind == SCATTER)
        exporter_scatter(table, from, to, name, gp.stream);
    else if (kind == COMBINED)
        exporter_combined(table, from, to, name, gp.stream);
    else if (kind == HISTOGRAM)
        exporter_histogram(table, &table->cells[from], name, gp.stream);
    else
        rc = exporter_boxplot(table, &table->cells[from], name, gp.stream);
    if (rc < 0) {
        fileio_temp_abort(&gp);
        return error_set(err, "out of memory");
    }
    remove_file(tree, name, "png"); /* of older data */
    return fileio_temp_commit(&gp, err);
}

static int put_cell(struct tree *tree, size_t at, struct jp_error *err)
{
    const struct exporter_cell *cell = &tree->table.cells[at];
    char coll[EXPORTER_WORD], size[EXPORTER_WORD], *folder, *name;
    const char *type = comm_type_name(cell->type);
    struct jp_tempfile csv;
    int rc = -1;

    exporter_coll(tree->table.result, cell->coll, coll);
    folder = fileio_path("msg_size_%" PRIu64 "_%s", cell->bytes,
                         exporter_size_numpy(cell->bytes, size));
    name = folder ? fileio_path("%s/summary_%s_%s_%" PRIu64, folder, type, coll,
                                cell->bytes)
                  : NULL;
    if (!name) {
        error_set(err, "out of memory");
        goto out;
    }
    if (open_file(tree, name, "csv", &csv, err) < 0)
        goto out;
    exporter_csv(&tree->table, cell, csv.stream);
    if (fileio_temp_commit(&csv, err) < 0)
        goto out;
    tree->done->tables++;
    rc = put_script(tree, HISTOGRAM, at, at + 1,
                    fileio_path("%s/histograms/histogram_%s_%s_%" PRIu64,
                                folder, type, coll, cell->bytes),
                    err);
    if (rc == 0)
        rc = put_script(tree, BOXPLOT, at, at + 1,
                        fileio_path("%s/boxplots/boxplot_%s_%s_%" PRIu64,
                                    folder, type, coll, cell->bytes),
                        err);
out:
    free(name);
    free(folder);
    return rc;
}

/* The pictures of a type and function over all sizes, if one was kept. */
static int put_series(struct tree *tree, size_t from, size_t to,
                      struct jp_error *err)
{
    const struct exporter_cell *cell = &tree->table.cells[from];
    const char *type = comm_type_name(cell->type);
    char coll[EXPORTER_WORD];
    bool kept = false;
    int rc;

    for (size_t i = from; i < to; i++)
        kept |= tree->table.cells[i].kept;
    if (!kept)
        return 0;
    exporter_coll(tree->table.result, cell->coll, coll);
    rc = put_script(tree, SCATTER, from, to,
                    fileio_path("scatter_plot_%s_%s", type, coll), err);
    if (rc == 0)
        rc = put_script(tree, COMBINED, from, to,
                        fileio_path("combined_scatter_plot_%s_%s", type, coll),
                        err);
    for (size_t i = from; i < to && rc == 0; i++)
        if (tree->table.cells[i].kept)
            rc = put_cell(tree, i, err);
    return rc;
}

/* Draws up to GNUPLOT_MAX_SCRIPTS from `at`. 0: done; else why says what. */
static int draw_some(struct tree *tree, size_t at, size_t n,
                     struct jp_error *why)
{
    char *scripts[GNUPLOT_MAX_SCRIPTS] = {NULL};
    int rc = -1;

    for (size_t i = 0; i < n; i++)
        if (!(scripts[i] = fileio_path("%s.gp", tree->names[at + i]))) {
            error_set(why, "out of memory");
            goto out;
        }
    rc = gnuplot_run(tree->dir, (const char *const *) scripts, n,
                     RENDER_LIMIT_MS + RENDER_EACH_MS * (unsigned) n, why);
    if (rc > 0)
        error_set(why, "gnuplot was not found");
out:
    for (size_t i = 0; i < n; i++) {
        remove_file(tree, tree->names[at + i], rc == 0 ? "gp" : "png");
        free(scripts[i]);
    }
    return rc;
}

/* The first failure ends it: a gnuplot that hangs would do so each time. */
static void draw(struct tree *tree, const struct jp_exporter_options *options)
{
    size_t at = 0, n;

    for (; at < tree->n_names; at += n) {
        n = tree->n_names - at < GNUPLOT_MAX_SCRIPTS ? tree->n_names - at
                                                     : GNUPLOT_MAX_SCRIPTS;
        if (draw_some(tree, at, n, &tree->done->no_picture) != 0)
            break;
        if (options->progress)
            options->progress(options->progress_arg, at + n, tree->n_names);
    }
    tree->done->pictures = at < tree->n_names ? at : tree->n_names;
    tree->done->scripts = tree->n_names - tree->done->pictures;
}

static bool has_entries(const char *dir)
{
    DIR *open = opendir(dir);
    unsigned n = 0;

    while (open && n < 3 && readdir(open))
        n++; /* "." and ".." */
    if (open)
        closedir(open);
    return n > 2;
}

static int put_tree(struct tree *tree,
                    const struct jp_exporter_options *options, FILE *log,
                    struct jp_error *err)
{
    exporter_log_begin(&tree->table, log);
    if (has_entries(tree->dir))
        exporter_log(log, "WARNING",
                     "summary/ was not empty: what this run did not write "
                     "again is of an earlier one");
    for (size_t from = 0, to; from < tree->table.n_cells; from = to) {
        to = exporter_table_series(&tree->table, from);
        if (put_series(tree, from, to, err) < 0)
            return -1;
    }
    draw(tree, options);
    exporter_log_end(&tree->table, tree->done, log);
    return 0;
}

static void tree_fini(struct tree *tree)
{
    for (size_t i = 0; i < tree->n_names; i++)
        free(tree->names[i]);
    free(tree->names);
    free(tree->dir);
    exporter_table_fini(&tree->table);
}

int exporter_write(const struct jp_result *result, const char *dir,
                   const struct jp_exporter_options *options,
                   struct jp_exporter_done *done, struct jp_error *err)
{
    struct tree tree = {.dir = fileio_path("%s/summary", dir), .done = done};
    char *path = fileio_path("%s/output.log", dir);
    struct jp_tempfile log;
    int rc = -1;

    *done = (struct jp_exporter_done){.no_picture = {""}};
    tzset();
    if (!path || !tree.dir ||
        exporter_table_init(&tree.table, result, EXPORTER_MAX_CELLS) < 0 ||
        !(tree.names = calloc(4 * tree.table.n_kept + 1, sizeof(char *)))) {
        error_set(err, "out of memory");
        goto out;
    }
    done->left_out = tree.table.n_cells - tree.table.n_kept;
    if (fileio_mkdirs(tree.dir, err) < 0 ||
        fileio_temp_open(&log, path, err) < 0)
        goto out;
    rc = put_tree(&tree, options, log.stream, err);
    if (rc == 0)
        rc = fileio_temp_commit(&log, err);
    else
        fileio_temp_abort(&log);
out:
    tree_fini(&tree);
    free(path);
    return rc;
}
