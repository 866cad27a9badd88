/* report_copper_lists.c - copper_paths/: observed paths against the files. */
#include <stdlib.h>

#include "common/fileio.h"
#include "orchestrator/report/report_copper.h"

/* One path a line; what would break the line, or a terminal, is escaped. */
static void put_line(FILE *out, const char *path)
{
    for (; *path; path++) {
        unsigned char c = (unsigned char) *path;

        if (c < 0x20 || c == 0x7f)
            fprintf(out, "\\x%02x", c);
        else
            putc_unlocked(c, out);
    }
    putc_unlocked('\n', out);
}

enum list { ALL, USED, UNUSED, MISSING };

static bool belongs(const struct jp_copper_used *u, enum list list)
{
    switch (list) {
    case ALL:
        return u->walked;
    case USED:
        return u->exists && u->observed;
    case UNUSED:
        return u->walked && !u->observed;
    default:
        return !u->exists && u->observed;
    }
}

static int write_list(const struct jp_copper *c, const char *dir,
                      const char *name, enum list list, struct jp_error *err)
{
    char *path = fileio_path("%s/copper_paths/%s", dir, name);
    struct jp_tempfile file;
    int rc = path ? fileio_temp_open(&file, path, err)
                  : error_set(err, "out of memory");

    free(path);
    if (rc < 0)
        return -1;
    for (size_t i = 0; i < c->n_used; i++)
        if (belongs(&c->used[i], list))
            put_line(file.stream, c->used[i].path);
    return fileio_temp_commit(&file, err);
}

int report_copper_lists(const struct jp_copper *c, const char *dir,
                        struct jp_error *err)
{
    static const char *const names[] = {
        [ALL] = "all_possible_existing_paths.txt",
        [USED] = "used_paths_existing.txt",
        [UNUSED] = "same_run_candidate_not_observed_existing_paths.txt",
        [MISSING] = "missing_probe_paths.txt"};
    char *folder;
    int rc;

    if (!c || !c->n_used)
        return 0;
    folder = fileio_path("%s/copper_paths", dir);
    rc = folder ? fileio_mkdir(folder, err) : error_set(err, "out of memory");
    free(folder);
    for (unsigned i = 0; i < sizeof(names) / sizeof(*names) && rc == 0; i++)
        rc = write_list(c, dir, names[i], i, err);
    return rc;
}
