/* siteflat.h - a settings file with its @include lines expanded by us.
 *
 * libconfig never opens a file here: it gets one text and the line table turns
 * its line numbers back into file and line. Each file must be regular, at most
 * JP_SITEFILE_MAX_BYTES (all together too), owned by root or by our own uid and
 * not writable by group or others (site) or by others (user). Those that
 * JP_DEF_SITE_FILE consists of lie in safe folders, too (fileio_check_folders);
 * any other file is the choice of who names it. An included path is relative to
 * the folder of the file that names it. Depth at most JP_SITEFILE_MAX_DEPTH,
 * SITEFLAT_MAX_FILES files. Comments become blanks.
 */
#ifndef JP_COMMON_SITEFLAT_H
#define JP_COMMON_SITEFLAT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

#define SITEFLAT_MAX_FILES 64

struct siteflat_line {
    unsigned file; /* index in files */
    unsigned line; /* from 1 */
};

struct siteflat {
    char *text;
    size_t len, room;
    struct siteflat_line *lines; /* lines[i]: where text's line i + 1 is from */
    size_t n_lines, lines_room;
    char *files[SITEFLAT_MAX_FILES];
    size_t n_files;
};

/* Reads path. user: a user's file may be writable by its group and is one file,
 * without @include: it is read within srun's time limit. On failure *out is
 * unchanged (errno ENOENT only if path itself is missing); else siteflat_fini
 * frees. */
int siteflat_read(const char *path, bool user, struct siteflat *out,
                  struct jp_error *err);
void siteflat_fini(struct siteflat *flat);

/* "file:line" of the text's line into buf. Returns buf. */
char *siteflat_where(const struct siteflat *flat, unsigned line, char *buf,
                     size_t len);

#endif
