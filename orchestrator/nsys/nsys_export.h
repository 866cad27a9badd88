/* nsys_export.h - reports of nsys become SQLite files, which jobprof reads.
 *
 * `nsys export` runs for each report (.nsys-rep) below a folder that has no
 * export, or an older one, beside it: several at once, niced, as the user, each
 * into a folder of its own in TMPDIR, as file systems without locks take no
 * SQLite; the whole file is then moved beside the report.
 */
#ifndef JP_NSYS_EXPORT_H
#define JP_NSYS_EXPORT_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "plugins/nsys/nsys_sql.h"

struct nsys_export_options {
    const char *program; /* NULL: that which ran the ranks, else of PATH */
    unsigned at_once;
    uint32_t limit_ms; /* of all together */
    nsys_stop *stop;   /* may be NULL */
    void *arg;
};

struct nsys_export_done {
    size_t wanted, made, failed, late;
    char why[300]; /* of the first that was not made, or "" */
};

/* Below a step's directory that is the caller's own; files of others are left
 * alone. -1: no memory; what is made stays. */
int nsys_export(const char *folder, const struct nsys_export_options *options,
                struct nsys_export_done *out, struct jp_error *err);

#endif
