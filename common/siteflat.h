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

#include <libconfig.h>
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

/* --- read a site's file that holds one list of groups:
 *
 *     NAME = ( { key = value; ... }, ... );
 *
 * Internal to the readers of nccl-known-bad.conf and peaks.conf. The file is
 * read like a settings file (siteflat.h: owner, mode, size), in safe folders
 * (fileio_check_folders), but may not include another one. A row with a
 * mistake is reported and left out, the others stand.
 */

/* One key of a row: parse sets its part of row from the setting. */
struct sitelist_key {
    const char *name;
    int (*parse)(void *row, const config_setting_t *setting,
                 struct jp_error *err);
    bool optional;
};

struct sitelist_format {
    const char *name; /* of the list */
    int max_rows;
    const struct sitelist_key *keys;
    size_t n_keys;
    /* A new row, with the values of missing keys. Borrowed until the next call.
     */
    void *(*begin)(void *arg);
    /* Its keys are parsed: where is "file:line". -1: it is not taken. */
    int (*take)(void *arg, void *row, const char *where, struct jp_error *err);
    /* It had a mistake: free what it owns. May be NULL. */
    void (*drop)(void *arg, void *row);
};

/* Gets "file:line: what is wrong", once for each mistake. */
typedef void sitelist_report(void *arg, const char *sentence);

/* Reads path; arg is the format's, report (may be NULL) has its own. -1: the
 * file as a whole cannot be read or parsed; errno is ENOENT or ENOTDIR only
 * where it is not there. */
int sitelist_read(const char *path, const struct sitelist_format *format,
                  void *arg, sitelist_report *report, void *report_arg,
                  struct jp_error *err);

/* A string in quotes, or NULL and err. Borrowed. */
const char *sitelist_text(const config_setting_t *setting,
                          struct jp_error *err);

/* Is text neither empty nor longer than max bytes, without control characters?
 * 0 or -1. */
int sitelist_check_text(const char *text, size_t max, struct jp_error *err);

/* --- libconfig text that cannot make libconfig open a file.
 *
 * libconfig's scanner exits the process on an @include of a directory or an
 * I/O error, and blocks on a FIFO. So nothing is handed to it that still has
 * an @include at the start of a line: job.conf refuses them (conftext_check),
 * site and user files have them expanded by our own careful reader
 * (sitefile_load).
 */

/* Refuses NUL bytes and any line that begins with blanks and "@include",
 * also inside strings and comments: a superset of what the scanner takes for an
 * inclusion. Errors use name instead of a path. */
int conftext_check(const char *text, size_t len, const char *name,
                   struct jp_error *err);

/* Copy of s with quotes around it, escaped so that libconfig reads back the
 * same bytes (", \ and control characters). Caller frees; NULL: no memory. */
char *conftext_quote(const char *s);

#endif
