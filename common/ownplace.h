/* ownplace.h - whose a folder or an output is, and how to work there so that
 * nobody else can change where the work takes place.
 *
 * Whoever can write to a folder can replace what is in it: a file by a link to
 * a file of somebody else, a folder by another one. A program that names such
 * a folder by its path twice may then read, overwrite or remove something
 * else. Therefore a folder is opened once, by a walk that looks at each
 * component of the path (below), and everything in it is created, replaced and
 * removed relative to that descriptor. What happens afterwards to the path
 * does not matter.
 *
 * The walk follows no link without asking whose it is:
 *
 * - Root works only where root alone can change anything: each folder and link
 *   on the way belongs to root (the owner of "/", also in a user namespace),
 *   and no folder is writable by group or others unless it is sticky.
 * - Any other caller may pass folders of anybody, such as the project folder of
 *   a group. Its own and root's links are followed. Somebody else's link is
 *   followed only to a folder of that same user; from there, names that the
 *   caller has written may lead to a folder of the caller's. So nobody can send
 *   the caller to the caller's own files, or into a third place.
 *
 * A link in /proc, such as /proc/self/fd/3, stands for what a process has open:
 * the kernel follows it, and what is found is checked like the rest.
 *
 * Folders are opened as directories (O_DIRECTORY), which mounts what an
 * automounter keeps there. Descriptors are O_PATH and O_CLOEXEC: use them with
 * openat and its kin.
 */
#ifndef JP_COMMON_OWNPLACE_H
#define JP_COMMON_OWNPLACE_H

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>

#include "common/error.h"

/* Whose the folder at the end of the path must be. For root, the way's rule
 * comes first, so that ANY and OURS are the same. */
enum ownplace_kind {
    /* Anybody's: only for a file that the user has named on the command line,
     * which others may share. */
    OWNPLACE_ANY,
    /* The caller's or root's: where we write files of our own names. */
    OWNPLACE_OURS,
    /* The caller's, no link, and not writable by group or others: what is in
     * it can be believed. */
    OWNPLACE_PRIVATE
};

/* --- open a folder -------------------------------------------------------- */

/* Opens the folder. Returns a descriptor, or -1 with errno and err. EPERM: it
 * is somebody else's, or others can change it. */
int ownplace_open(const char *path, enum ownplace_kind kind,
                  struct jp_error *err);

/* The same, and creates what is missing of the path with mode 0700, like
 * mkdir -p. What somebody else creates meanwhile is checked like the rest. */
int ownplace_make(const char *path, enum ownplace_kind kind,
                  struct jp_error *err);

/* Like realpath for a folder, which realpath would reach by any link. Caller
 * frees; NULL with errno and err. */
char *ownplace_real(const char *path, enum ownplace_kind kind,
                    struct jp_error *err);

/* Opens the folder that contains path, which must exist, and copies the last
 * component to name. A path that ends in ".." or "/" has none: EINVAL. */
int ownplace_open_parent(const char *path, enum ownplace_kind kind,
                         char name[NAME_MAX + 1], struct jp_error *err);

/* --- files in a folder of ours -------------------------------------------- */

/* Both open a file in an OWNPLACE_OURS folder, with mode 0600 if they create
 * it, and never follow a link as the last component. Return a descriptor, or -1
 * with errno and err. */

/* A new file for writing (O_EXCL). */
int ownplace_create(const char *path, struct jp_error *err);

/* A file for appending, which is created if needed: a regular file of the
 * caller's. A FIFO in its place does not block. */
int ownplace_append(const char *path, struct jp_error *err);

/* Like unlink, in an OWNPLACE_OURS folder. */
int ownplace_unlink(const char *path);

/* --- an output that is not replaced by rename ----------------------------- */

/* Opens what path leads to for writing, and empties a regular file: a device, a
 * pipe, a link, /dev/stdout. Links and folders are followed by the walk's
 * rules; the file must be the caller's or root's. What a link in /proc stands
 * for is open already and is taken as it is. */
int ownplace_open_output(const char *path, struct jp_error *err);

/* --- a folder that is held ------------------------------------------------ */

/* Opens the folder and keeps it for this process: from now on, every function
 * here and in fileio.h, and ownplace_at, starts at its descriptor when a path
 * begins with the words `path`. A later rename of the folder, or of one above
 * it, has no effect on them. Call it when there are no other threads. A child
 * inherits it; after its descriptors are closed, paths are walked again. A
 * folder that is held already stays the same one. Returns 0, or -1 and err. */
int ownplace_hold(const char *path, enum ownplace_kind kind,
                  struct jp_error *err);

/* The held folder `from` is now at `to`, because this process has renamed
 * it. */
void ownplace_moved(const char *from, const char *to);

/* Ends ownplace_hold. A path that is not held is no error. */
void ownplace_release(const char *path);

/* For openat, fstatat, renameat ...: returns the descriptor of the innermost
 * held folder above *path, and shortens *path to the rest. If there is none,
 * returns AT_FDCWD and leaves *path. The path of a held folder itself is not
 * shortened, because it names what is there now. */
int ownplace_at(const char **path);

/* Opens a folder for reading its names: a real one, not a link to one. It is
 * not asked whose it is. Caller closes; NULL: errno. */
DIR *ownplace_opendir(const char *path);

/* --- checks without a descriptor ------------------------------------------ */

/* Whether the way to path may be used (above). A part that does not exist yet
 * is no error. Returns -1 with errno EPERM otherwise. */
int ownplace_check(const char *path, struct jp_error *err);

/* The same for the folder that contains path. It must exist, because others
 * could create it below a sticky folder. */
int ownplace_check_parent(const char *path, struct jp_error *err);

/* Checks that the open file belongs to root or to us, and is not writable by
 * others or, unless group is set, by its group. Otherwise -1 with errno
 * EPERM. */
int ownplace_check_owner(int fd, const char *path, bool group,
                         struct jp_error *err);

/* Checks that nobody else can replace the file at path. Each folder and link of
 * the path must belong to us or to root (the owner of "/", also in a user
 * namespace). No folder may be writable by others or, if root's, by its group,
 * unless it is sticky. Otherwise -1 with errno EPERM. */
int ownplace_check_folders(const char *path, struct jp_error *err);

/* Both checks, for a file that the site names: nobody else may write to it or
 * replace it. */
int ownplace_check_site(int fd, const char *path, struct jp_error *err);

#endif
