/* nsys_export.h - convert reports of nsys to SQLite files, which jobprof can
 * read.
 *
 * Runs `nsys export` for each report (.nsys-rep) below a folder that has no
 * export beside it, or an older one. Several run at once, at low priority, as
 * the user. Each writes to its own folder in TMPDIR, because SQLite needs a
 * file system with locks; the complete file is then moved beside the report.
 */
#ifndef JP_NSYS_EXPORT_H
#define JP_NSYS_EXPORT_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "plugins/nsys/nsys_sql.h"

struct nsys_export_options {
    const char *program; /* NULL: the one that profiled the ranks, otherwise
                          * from PATH */
    unsigned at_once;
    uint32_t limit_ms; /* for all exports together */
    nsys_stop *stop;   /* may be NULL */
    void *arg;
};

struct nsys_export_done {
    size_t wanted, made, failed, late;
    char why[300]; /* reason of the first failure, or "" */
};

/* Works below a step's directory that belongs to the caller; other users' files
 * are ignored. Returns -1 without memory; finished exports are kept. */
int nsys_export(const char *folder, const struct nsys_export_options *options,
                struct nsys_export_done *out, struct jp_error *err);

#endif
