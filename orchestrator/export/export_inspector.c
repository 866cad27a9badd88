/* export_inspector.c - the recorder's files as Inspector's logs. */
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "orchestrator/export/export.h"
#include "orchestrator/export/inspector_line.h"

static void write_lines(struct jp_recwalk *walk, FILE *out,
                        struct export_done *done)
{
    char line[INSPECTOR_LINE_BYTES];
    struct jpr_record record;

    while (recwalk_record(walk, &record)) {
        size_t n;

        if (record.type != JPR_OP)
            continue;
        n = inspector_line_format(line, &walk->file, record.op);
        done->ops += n > 0;
        done->left_out += n == 0;
        if (n && fwrite(line, 1, n, out) != n)
            break;
    }
}

/* dir/<folders below the input>/<stem>.log; caller frees. */
static char *target(const struct jp_recwalk *walk, const char *dir)
{
    const char *name = walk->below;
    size_t len = strlen(name);

    if (len > 3 && !strcmp(name + len - 3, ".gz"))
        len -= 3;
    if (len > 4 && !memcmp(name + len - 4, ".jpr", 4))
        len -= 4;
    return fileio_path("%s/%.*s.log", dir, (int) len, name);
}

static int write_file(struct jp_recwalk *walk, const char *dir,
                      struct export_done *done, struct jp_error *err)
{
    char *path = target(walk, dir), *slash = path ? strrchr(path, '/') : NULL;
    struct jp_tempfile file;
    int rc = -1;

    if (!slash) {
        error_set(err, "out of memory");
        goto out;
    }
    *slash = '\0';
    if (fileio_mkdirs(path, err) < 0)
        goto out;
    *slash = '/';
    if (fileio_temp_open(&file, path, err) < 0)
        goto out;
    write_lines(walk, file.stream, done);
    rc = fileio_temp_commit(&file, err);
out:
    free(path);
    return rc;
}

int export_inspector(struct jp_recwalk *walk, const char *dir, FILE *out,
                     struct export_done *done, struct jp_error *err)
{
    while (recwalk_open(walk)) {
        if (dir && write_file(walk, dir, done, err) < 0)
            return -1;
        if (!dir)
            write_lines(walk, out, done);
        if (!dir && ferror(out))
            return error_set(err, "output failed: %m");
        done->files++;
    }
    if (!dir && fflush(out) != 0)
        return error_set(err, "output failed: %m");
    return 0;
}
