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

/* Opens a regular file for reading. follow: a symbolic link as the last
 * component is followed (settings files); otherwise it is refused (profiler
 * outputs). Returns a descriptor or -1 (errno kept). */
int fileio_open_regular(const char *path, bool follow, struct jp_error *err);

/* Checks that the file belongs to root or to us, and is not writable by others
 * or, unless group is set, by its group. Otherwise -1 with errno EPERM. */
int fileio_check_owner(int fd, const char *path, bool group,
                       struct jp_error *err);

/* Checks that nobody else can replace the file at path. Each folder of the
 * path, as given and with its links resolved, must belong to us or to root (the
 * owner of "/", also in a user namespace). It must not be writable by others
 * or, if root's, by its group, unless it is sticky. Otherwise -1 with errno
 * EPERM. */
int fileio_check_folders(const char *path, struct jp_error *err);

/* Both checks, for a file that the site names: nobody else may write to it or
 * replace it. */
int fileio_check_site(int fd, const char *path, struct jp_error *err);

/* Reads a whole regular file of at most max bytes. *text is NUL-terminated and
 * malloc'ed; caller frees. len may be NULL. */
int fileio_read(const char *path, bool follow, size_t max, char **text,
                size_t *len, struct jp_error *err);

/* The same from an open descriptor of a regular file, which stays open; path
 * is for errors. */
int fileio_read_fd(int fd, const char *path, size_t max, char **text,
                   size_t *len, struct jp_error *err);

/* The following functions create, replace or remove by path. As root they do so
 * only if nobody else can replace a folder of the path or put a link there
 * (below).
 */

/* Like mkdir -p, with mode 0700 for what it creates. Returns 0 if path is a
 * directory afterwards. */
int fileio_mkdirs(const char *path, struct jp_error *err);

/* Makes the folder (0700) unless it exists. A link or anything else with that
 * name is an error. The parent must exist. */
int fileio_mkdir(const char *path, struct jp_error *err);

/* A file that replaces `path` by rename when it is complete. */
struct jp_tempfile {
    FILE *stream;    /* write here */
    char *path;      /* final path */
    char *temp_path; /* in the same folder; NULL: path itself is written */
};

/* Returns the name of a new temporary file for path, which may also be a name
 * alone; caller frees. */
char *fileio_temp_name(const char *path);

/* Opens a temporary file beside path (O_EXCL, mode 0600). A device is
 * refused. */
int fileio_temp_open(struct jp_tempfile *file, const char *path,
                     struct jp_error *err);

/* The same for a file that the user, who may be root, has named on the command
 * line: /dev/null, /dev/stdout, a pipe or any other link is written to
 * directly, not replaced. Commit and abort as usual. */
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

/* --- whether a place belongs to root alone, so that root may work there by
 * path.
 *
 * Whoever can write to a folder can replace a file or folder that root has just
 * created or checked in it. Root would then write, rename or remove elsewhere.
 * Root therefore creates and removes nothing below a folder that somebody else
 * can change. For other users this is no problem, because they have only their
 * own rights.
 */

/* As root: checks that path and each folder and symbolic link on the way to it
 * belong to root (the owner of "/", also in a user namespace), and that no
 * folder is writable by group or others unless it is sticky. A part of the path
 * that does not exist yet is no error. Returns -1 with errno EPERM otherwise.
 * Returns 0 for all other users. */
int ownplace_check(const char *path, struct jp_error *err);

/* The same for the folder that contains path. It must exist, because others
 * could create it below a sticky folder. */
int ownplace_check_parent(const char *path, struct jp_error *err);

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

#endif
