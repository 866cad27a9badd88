/* fileio.h - read, write and make files without trusting what stands there.
 *
 * Everything here opens with O_CLOEXEC and O_NOFOLLOW on the last component,
 * never blocks on a FIFO (O_NONBLOCK and S_ISREG) and never reads more than it
 * is allowed to. Errors name the path.
 */
#ifndef JP_COMMON_FILEIO_H
#define JP_COMMON_FILEIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "common/error.h"

/* Opens a regular file for reading. follow: a symbolic link as the last
 * component is followed (settings files), else refused (profiler outputs).
 * Returns a descriptor or -1 (errno kept). */
int fileio_open_regular(const char *path, bool follow, struct jp_error *err);

/* Whether the file is root's or ours and not writable by others, nor, unless
 * group, by its group. -1 with errno EPERM: it is not. */
int fileio_check_owner(int fd, const char *path, bool group,
                       struct jp_error *err);

/* Whether no stranger can put another file in path's place: each folder to it,
 * as it is named and with its links resolved, is ours or root's (who owns "/",
 * in a user namespace too), and not writable by others nor, if root's, by its
 * group, unless sticky. -1 with errno
 * EPERM: it is not. */
int fileio_check_folders(const char *path, struct jp_error *err);

/* Both, as of a file that the site names: nobody else may write it or put
 * another one in its place. */
int fileio_check_site(int fd, const char *path, struct jp_error *err);

/* Reads a whole regular file of at most max bytes. *text is NUL-terminated and
 * malloc'ed; caller frees. len may be NULL. */
int fileio_read(const char *path, bool follow, size_t max, char **text,
                size_t *len, struct jp_error *err);

/* The same from an open descriptor of a regular file, which stays open; path
 * is for errors. */
int fileio_read_fd(int fd, const char *path, size_t max, char **text,
                   size_t *len, struct jp_error *err);

/* What follows makes, replaces or removes by path. As root it does so only
 * where nobody else can put another folder or a link in the way
 * (common/ownplace.h).
 */

/* mkdir -p with mode 0700 for what it creates. 0 if it is a directory then. */
int fileio_mkdirs(const char *path, struct jp_error *err);

/* Makes the folder (0700) unless it is there; a link or anything else of that
 * name is an error. The parent must exist. */
int fileio_mkdir(const char *path, struct jp_error *err);

/* A file that replaces `path` by rename when it is complete. */
struct jp_tempfile {
    FILE *stream;    /* write here */
    char *path;      /* final path */
    char *temp_path; /* in the same folder */
};

/* Opens path's temporary twin (O_EXCL, mode 0600). */
int fileio_temp_open(struct jp_tempfile *file, const char *path,
                     struct jp_error *err);
/* Flushes, closes and renames; on failure the twin is removed and path is as
 * it was. */
int fileio_temp_commit(struct jp_tempfile *file, struct jp_error *err);
/* The same for what replaces files that are deleted later: the disk is asked to
 * have the content before the rename, and the folder's entry after it. Each is
 * asked in a child, for limit_ms at most; when the time is up the file is in
 * place as without it, and the system writes it in its own time. */
int fileio_temp_commit_synced(struct jp_tempfile *file, uint32_t limit_ms,
                              struct jp_error *err);
/* Closes and removes the twin. Does nothing on a committed file. */
void fileio_temp_abort(struct jp_tempfile *file);

/* Writes text to path by temp + rename. */
int fileio_write(const char *path, const char *text, size_t len,
                 struct jp_error *err);

/* asprintf that returns NULL on failure; caller frees. */
char *fileio_path(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Removes a tree below (and with) path, never following a symbolic link nor
 * entering another user's folder or another file system. A path that is not
 * there is fine. */
int fileio_remove_tree(const char *path, struct jp_error *err);

#endif
