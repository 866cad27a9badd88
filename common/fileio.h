/* fileio.h - read, write and make files without trusting what exists at a path.
 *
 * Everything here opens with O_CLOEXEC and O_NOFOLLOW on the last component,
 * never blocks on a FIFO (O_NONBLOCK and S_ISREG), and never reads more than it
 * is allowed to. Errors contain the path.
 */
#ifndef JP_COMMON_FILEIO_H
#define JP_COMMON_FILEIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/ownplace.h"

/* Opens a regular file for reading. follow: a symbolic link as the last
 * component is followed (settings files); otherwise it is refused (profiler
 * outputs). Returns a descriptor or -1 (errno kept). */
int fileio_open_regular(const char *path, bool follow, struct jp_error *err);

/* Reads a whole regular file of at most max bytes. *text is NUL-terminated and
 * malloc'ed; caller frees. len may be NULL. */
int fileio_read(const char *path, bool follow, size_t max, char **text,
                size_t *len, struct jp_error *err);

/* The same from an open descriptor of a regular file, which stays open; path
 * is for errors. */
int fileio_read_fd(int fd, const char *path, size_t max, char **text,
                   size_t *len, struct jp_error *err);

/* The following functions create, replace or remove something in a folder. They
 * open the folder first (common/ownplace.h) and then use its descriptor only.
 * The folder must be the caller's or root's, unless it says otherwise. For
 * root, nobody else may be able to change the way to it. Otherwise they fail
 * with EPERM. */

/* Like mkdir -p, with mode 0700 for what it creates. Returns 0 if path is a
 * directory afterwards. */
int fileio_mkdirs(const char *path, struct jp_error *err);

/* Like fileio_mkdirs, and holds the folder (ownplace_hold). The nearest folder
 * above it that exists is held first: else another user who renames it could
 * have the folder made in one place and held in another. */
int fileio_mkdirs_held(const char *path, struct jp_error *err);

/* Makes the folder (0700) unless it exists. A link, another user's folder or
 * anything else with that name is an error. The parent must exist. */
int fileio_mkdir(const char *path, struct jp_error *err);

/* A file that replaces `path` by rename when it is complete. */
struct jp_tempfile {
    FILE *stream;    /* write here */
    char *path;      /* final path, for errors */
    char *temp_name; /* NULL: path itself is written */
    char *name;      /* final name */
    int folder;      /* the folder of both names, O_PATH; closed at the end if
                      * name is set */
};

/* Returns the name of a new temporary file for path, which may also be a name
 * alone; caller frees. */
char *fileio_temp_name(const char *path);

/* Opens a temporary file beside path (O_EXCL, mode 0600). A device is
 * refused. */
int fileio_temp_open(struct jp_tempfile *file, const char *path,
                     struct jp_error *err);

/* The same in a folder whose owner may be another one, for a file that the user
 * wants in a folder that others share. */
int fileio_temp_open_in(struct jp_tempfile *file, const char *path,
                        enum ownplace_kind kind, struct jp_error *err);

/* The same for a file that the user, who may be root, has named on the command
 * line: its folder may be anybody's, unless the caller is root. /dev/null,
 * /dev/stdout, a pipe or any other link is written to directly, not replaced
 * (ownplace_open_output). Commit and abort as usual. */
int fileio_output_open(struct jp_tempfile *file, const char *path,
                       struct jp_error *err);

/* Whether name is that of such a temporary file ("x.tmp.123.4.host"). Then *pid
 * is the process id of its writer on *host, which points into the name. */
bool fileio_temp_parse(const char *name, pid_t *pid, const char **host);
/* Flushes, closes and renames. On failure, the temporary file is removed and
 * path is unchanged. */
int fileio_temp_commit(struct jp_tempfile *file, struct jp_error *err);
/* The same for files that replace others which are deleted later: the content
 * is synced before the rename, and the folder's entry after it. A child does
 * each sync, within limit_ms. If the time runs out, the file is in place as
 * without a sync, and the system writes it later. */
int fileio_temp_commit_synced(struct jp_tempfile *file, uint32_t limit_ms,
                              struct jp_error *err);
/* Closes and removes the temporary file. Does nothing after a commit. */
void fileio_temp_abort(struct jp_tempfile *file);

/* Writes text to path by temp + rename. */
int fileio_write(const char *path, const char *text, size_t len,
                 struct jp_error *err);

/* asprintf that returns NULL on failure; caller frees. */
char *text_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Removes path and everything below it. Never follows a symbolic link, and
 * never enters another user's folder or another file system. A path that does
 * not exist is no error. */
int fileio_remove_tree(const char *path, struct jp_error *err);

/* --- visit everything below a folder, following no symbolic link.
 *
 * Trees are foreign and may change meanwhile: an entry that vanishes is
 * skipped, and the depth is limited, because each level keeps a folder open.
 */

enum treewalk_what {
    TREEWALK_FILE,   /* a regular file */
    TREEWALK_FOLDER, /* a folder, before its content */
    TREEWALK_ODD,    /* a link, a FIFO, a device ... */
    TREEWALK_LOST,   /* unknown kind: st is NULL */
    TREEWALK_CLOSED, /* after TREEWALK_FOLDER: it cannot be opened */
    TREEWALK_DEEP    /* likewise: it is below max_depth */
};

struct treewalk_entry {
    enum treewalk_what what;
    int dir; /* the folder that contains it, and its name there */
    const char *name;
    const char *path;      /* its path, beginning with the walk's path */
    const struct stat *st; /* the entry's own, not a link's target */
};

/* Called for each entry, which is borrowed for the call. A result other than 0
 * ends the walk. */
typedef int treewalk_see(void *arg, const struct treewalk_entry *entry);

/* Visits all entries below the folder fd, which is taken over. The paths of
 * entries begin with path. Folders deeper than max_depth are not entered.
 * Returns 0, the result of see, or -1 without memory. */
int treewalk(int fd, const char *path, unsigned max_depth, treewalk_see *see,
             void *arg);

/* Checks a file that the site names: a regular file that can be read, and that
 * nobody but root and us can write to or replace (ownplace_check_site). */
int fileio_check_site(const char *path, struct jp_error *err);

#endif
