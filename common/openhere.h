/* openhere.h - open an entry of a folder, but no link and no other file system.
 *
 * For folders of other users: an automounted or hanging file system below them
 * is neither entered nor queried.
 */
#ifndef JP_OPENHERE_H
#define JP_OPENHERE_H

#include <sys/stat.h>
#include <sys/types.h>

/* Opens the entry `name` of the folder `at` with O_PATH; for a link, the link
 * itself. -1 and errno; EXDEV: it is on another file system, or not an entry of
 * the folder ("..", a path). Linux before 5.6 cannot detect a mount of a part
 * of the same file system. */
int openhere(int at, const char *name);

/* Like fstatat of an entry, for a link of the link itself. -1 and errno; EXDEV:
 * as above. A file system that is mounted there (a user's FUSE) is not asked,
 * because it need not answer. */
int openhere_stat(int at, const char *name, struct stat *st);

/* Opens an entry of the folder for reading if it is of that kind (S_IFREG,
 * S_IFDIR). The kind is checked before the entry is opened, so no FIFO, device
 * or link is, and a lease does not delay the call. -1 and errno; ELOOP: another
 * kind. */
int openhere_read(int at, const char *name, mode_t kind);

#endif
