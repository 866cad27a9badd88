/* siteflat.h - a settings file with its @include lines expanded by us.
 *
 * libconfig never opens a file here: it gets one text, and a table leads from
 * its line numbers back to file and line. Each file must be regular, have at
 * most JP_SITEFILE_MAX_BYTES (as all together), belong to root or to our own
 * uid, and not be writable by group or others (site) or by others (user). The
 * files of which JP_DEF_SITE_FILE consists must be in safe folders as well
 * (ownplace_check_folders); any other file is the choice of the caller. An
 * included path is relative to the folder of the file that names it. There are
 * at most SITEFLAT_MAX_FILES files and JP_SITEFILE_MAX_DEPTH levels. Comments
 * become blanks.
 *
 * A site may put settings into fragments: the files *.conf in the folder conf.d
 * beside its jobprof.conf. Their names do not begin with a dot; they are read
 * after jobprof.conf, in the order of their names (strcmp). The folder is
 * checked like the files, and no link.
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
    struct siteflat_line *lines; /* lines[i]: origin of line i + 1 */
    size_t n_lines, lines_room;
    char *files[SITEFLAT_MAX_FILES];
    /* 0: the first file; 1 and more: a fragment. An included file belongs to
     * the part that includes it. */
    unsigned parts[SITEFLAT_MAX_FILES];
    size_t n_files;
};

/* Reads path. user: a user's file may be writable by its group, and must be one
 * file without @include, because it is read within srun's time limit. On
 * failure *out is unchanged (errno is ENOENT only if path itself is missing);
 * otherwise free with siteflat_fini. */
int siteflat_read(const char *path, bool user, struct siteflat *out,
                  struct jp_error *err);

/* Reads a site's path and, if it is named jobprof.conf, its fragments. A part
 * begins on a line of its own. errno is ENOENT or ENOTDIR only if path is
 * missing and there are no fragments; must_exist: if path is missing. */
int siteflat_read_site(const char *path, bool must_exist, struct siteflat *out,
                       struct jp_error *err);
void siteflat_fini(struct siteflat *flat);

/* Writes the origin of a line of the text, "file:line", into buf. Returns
 * buf. */
char *siteflat_where(const struct siteflat *flat, unsigned line, char *buf,
                     size_t len);

/* The part that a line of the text is from. */
unsigned siteflat_part(const struct siteflat *flat, unsigned line);

/* --- read a site's file that consists of one list of groups:
 *
 *     NAME = ( { key = value; ... }, ... );
 *
 * For the readers of nccl-known-bad.conf and peaks.conf only. The file is read
 * like a settings file (owner, mode, size), must be in safe folders
 * (ownplace_check_folders), and may not include another one. A row with a
 * mistake is reported and left out; the others count.
 */

/* A key of a row. parse sets its part of row from the setting. */
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
    /* Starts a row, with the values of missing keys. Borrowed until the next
     * call. */
    void *(*begin)(void *arg);
    /* Takes a row after all keys are parsed. where: "file:line". -1:
     * refused. */
    int (*take)(void *arg, void *row, const char *where, struct jp_error *err);
    /* Frees what a row with a mistake owns. May be NULL. */
    void (*drop)(void *arg, void *row);
};

/* Receives "file:line: MESSAGE", once for each mistake. */
typedef void sitelist_report(void *arg, const char *sentence);

/* Reads path. arg is passed to the format's functions, report_arg to report
 * (may be NULL). -1: the file as a whole cannot be read or parsed; errno is
 * ENOENT or ENOTDIR only if it does not exist. */
int sitelist_read(const char *path, const struct sitelist_format *format,
                  void *arg, sitelist_report *report, void *report_arg,
                  struct jp_error *err);

/* The string of a setting, or NULL and err. Borrowed. */
const char *sitelist_text(const config_setting_t *setting,
                          struct jp_error *err);

/* Checks that text is not empty, has at most max bytes, and is UTF-8 of
 * characters that are harmless to a terminal (quote.h), so that messages show
 * it as it is. 0 or -1. */
int sitelist_check_text(const char *text, size_t max, struct jp_error *err);

/* --- libconfig text that cannot make libconfig open a file.
 *
 * libconfig's scanner exits the process on an @include of a directory or an I/O
 * error, and blocks on a FIFO. Therefore it never gets a text with an @include
 * at the start of a line: job.conf refuses them (conftext_check), and our own
 * careful reader expands those of site and user files (sitefile_load).
 */

/* Refuses NUL bytes and any line that begins with blanks and "@include", even
 * inside strings and comments, so that nothing is left that the scanner may
 * take for an inclusion. Errors use name instead of a path. */
int conftext_check(const char *text, size_t len, const char *name,
                   struct jp_error *err);

/* A copy of s in quotes, escaped so that libconfig reads back the same bytes
 * (", \ and control characters). Caller frees; NULL: no memory. */
char *conftext_quote(const char *s);

#endif
