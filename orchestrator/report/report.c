/* report.c - the order in which a report's files appear. */
#include "orchestrator/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "orchestrator/report/report_copper.h"

typedef int write_stream(const struct jp_report *, FILE *, struct jp_error *);
typedef int write_folder(const struct jp_report *, const char *,
                         struct jp_error *);

static int write_file(const struct jp_report *report, const char *dir,
                      const char *name, write_stream *write,
                      struct jp_error *err)
{
    char *path = fileio_path("%s/%s", dir, name);
    struct jp_tempfile file;
    int rc = -1;

    if (!path) {
        error_set(err, "out of memory");
        goto out;
    }
    if (fileio_temp_open(&file, path, err) < 0)
        goto out;
    if (write(report, file.stream, err) < 0) {
        error_wrap(err, "%s", path);
        fileio_temp_abort(&file);
        goto out;
    }
    rc = strcmp(name, JP_SUMMARY_NAME) == 0
             ? fileio_temp_commit_synced(&file, JP_DEF_SYNC_MS, err)
             : fileio_temp_commit(&file, err);
out:
    free(path);
    return rc;
}

static int write_below(const struct jp_report *report, const char *dir,
                       const char *name, write_folder *write,
                       struct jp_error *err)
{
    char *path = fileio_path("%s/%s", dir, name);
    int rc = path ? write(report, path, err) : error_set(err, "out of memory");

    free(path);
    return rc;
}

int report_write(const struct jp_report *report, const char *dir,
                 struct jp_error *err)
{
    if (write_below(report, dir, "csv", report_write_csvs, err) < 0 ||
        write_below(report, dir, "plots", report_write_plots, err) < 0 ||
        report_copper_lists(report->copper, dir, err) < 0 ||
        write_file(report, dir, "summary.txt", report_write_text, err) < 0 ||
        write_file(report, dir, "report.html", report_write_html, err) < 0)
        return -1;
    return write_file(report, dir, JP_SUMMARY_NAME, report_write_json, err);
}
