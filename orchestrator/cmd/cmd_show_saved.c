/* cmd_show_saved.c - `jobprof show` from a finished report. */
#include "orchestrator/cmd/cmd_show_saved.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/json_stream.h"
#include "common/fileio.h"
#include "common/quote.h"
#include "orchestrator/report/summary_file.h"
#include "orchestrator/show/rankrows.h"

/* The step's directory that a folder of inputs stands for; caller frees. NULL
 * without memory. */
static char *step_of(const char *folder)
{
    size_t n = strlen(folder);

    return n > 4 && !strcmp(folder + n - 4, "/raw") ? strndup(folder, n - 4)
                                                    : strdup(folder);
}

/* <step>/name, if it can be read; caller frees. */
static char *find(const char *folder, const char *name)
{
    char *step = step_of(folder);
    char *path = step ? fileio_path("%s/%s", step, name) : NULL;

    free(step);
    if (path && access(path, R_OK) == 0)
        return path;
    free(path);
    return NULL;
}

bool show_saved_has(char *const *folders, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *path = find(folders[i], "csv/ops.csv");

        free(path);
        if (path)
            return true;
    }
    return false;
}

bool show_saved_bare(char *const *folders, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *conf = find(folders[i], "job.conf"),
             *raw = conf ? find(folders[i], "raw") : NULL;

        free(conf);
        free(raw);
        if (!conf || raw)
            return false;
    }
    return n > 0;
}

static int show_ranks(char *const *folders, size_t n,
                      const struct opsum_filter *filter, bool json,
                      struct jp_error *err)
{
    struct jp_rankrows rows = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        char *csv = find(folders[i], "csv");
        char *step = csv ? step_of(folders[i]) : NULL;

        if (step)
            rc = rankrows_add(&rows, step, filter, err);
        free(step);
        free(csv);
    }
    if (rc == 0)
        rc = json ? rankrows_print_json(&rows, stdout, err)
                  : rankrows_print(&rows, stdout, err);
    if (rc == 0)
        rc = rows.n == 0;
    rankrows_fini(&rows);
    return rc;
}

static int show_ops(char *const *folders, size_t n,
                    const struct opsum_filter *filter, bool json,
                    struct jp_error *err)
{
    struct opsum_builder builder;
    struct jp_opsum sum;
    int rc = opsum_begin(&builder, &sum, err);

    if (rc < 0)
        return -1;
    sum.source = "csv";
    for (size_t i = 0; rc == 0 && i < n; i++) {
        char *path = find(folders[i], "csv/ops.csv");

        if (path)
            rc = opsum_add_csv(&builder, path, filter, err);
        free(path);
    }
    if (rc < 0) { /* err says why */
        opsum_end(&builder, -1, NULL);
        return -1;
    }
    if (opsum_end(&builder, 0, err) < 0)
        return -1;
    rc = json ? opsum_print_json(&sum, stdout, err)
              : opsum_print(&sum, stdout, err);
    if (rc == 0)
        rc = sum.n == 0;
    opsum_fini(&sum);
    return rc;
}

int show_saved_sums(char *const *folders, size_t n,
                    const struct opsum_filter *filter, bool json,
                    struct jp_error *err)
{
    return filter->rank >= 0 || filter->node
               ? show_ranks(folders, n, filter, json, err)
               : show_ops(folders, n, filter, json, err);
}

static int put_verdict(const char *step, const json_t *root, bool json,
                       struct jp_error *err)
{
    const json_t *verdict = json_object_get(root, "verdict");
    const char *word = summary_file_text(verdict, "word");
    struct jp_json_stream s;

    if (!json) {
        quote_printf(stdout, "%s: %s %s\n", step, word,
                     strcmp(word, "HANG") ? "(no hang was found)"
                                          : summary_file_text(verdict, "text"));
        return 0;
    }
    json_stream_open(&s, JSON_FILE, stdout);
    json_stream_count(&s, "schema_version", 1);
    json_stream_text(&s, "source", "summary");
    json_stream_text(&s, "step", step);
    json_stream_text(&s, "verdict", word);
    json_stream_text(&s, "text", summary_file_text(verdict, "text"));
    return json_stream_close(&s, err);
}

int show_saved_pending(char *const *folders, size_t n, bool json,
                       struct jp_error *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        char *step = step_of(folders[i]);
        json_t *root =
            step ? summary_file_read(step, SUMMARY_WITHOUT_TABLES, err) : NULL;

        rc = root ? put_verdict(step, root, json, err) : -1;
        json_decref(root);
        free(step);
    }
    return rc == 0 && (fflush(stdout) != 0 || ferror(stdout))
               ? error_set(err, "output failed: %m")
               : rc;
}
