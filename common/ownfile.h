/* ownfile.h - a file that stays open for a long time, and is still ours at each
 * use.
 *
 * For libraries that are loaded into programs of others, and for our own
 * processes that write to a file hours after they opened its folder. A folder
 * is opened once. Everything later happens below its descriptor, so that a
 * folder that was renamed or replaced meanwhile is no problem, and no link is
 * followed.
 *
 * A descriptor is only a number, which belongs to the program. Programs close
 * descriptors that they have not opened (a daemon closes all of them), and
 * their next files get the same numbers. Without care a library then overwrites
 * or closes a file of the program. Three things prevent that:
 *
 * 1. ownfile_own_table() gives a library's thread a table of descriptors of its
 *    own. The rest of the program can then not reach the library's descriptors,
 *    and the thread cannot reach the program's. Children of fork() do not get
 *    copies. There is no window of time in which anything can go wrong.
 * 2. Where that is impossible (below), device, inode and a mark of the open
 *    file are compared before each use. If they differ, the file is lost: none
 *    of its descriptors is touched again, and nothing is opened in its place.
 *    The mark tells our open file from another one of the same inode, be it the
 *    same file or a new one that got a deleted file's inode number.
 * 3. Descriptors have high numbers where the limit allows it, and are never 0,
 *    1 or 2, even if the program has closed these. A program gets the lowest
 *    free numbers for its own files, so it seldom meets ours.
 *
 * What remains without a table of its own (Linux before 5.9 without /proc, or
 * any seccomp filter, as in Docker): two moments of about a microsecond each.
 * - Between comparison and use another thread of the program may close our
 *   descriptor and open a file that gets this very number. It has to reach that
 *   number, so it has to have about a thousand files open or to ask for it
 *   (dup2). Where the library wrote without a pause and the number was taken
 *   5,000 times by dup2, 410 writes went into the program's file; with a write
 *   each 100 ms it is about one in 100,000 such dup2. (With a table of its own:
 *   none in 20,000.) No system call compares and writes at once. A mapping of
 * the file would need no descriptor, but a full or shortened file would end the
 *   program by SIGBUS. Opening the file anew for each write has the same window
 *   with the folder's descriptor.
 * - Between open() and the move to a high number, our descriptor may be 0, 1 or
 *   2 in a program that has closed these. What another thread prints in that
 *   moment goes into our file, before its first byte is written.
 *
 * After fork() the file is the parent's. The child, known by its pid, neither
 * writes to it nor closes it; ownfile_close() only forgets it there. A program
 * that is executed inherits nothing (O_CLOEXEC).
 *
 * System calls are made directly. Tools that wrap open(), write() and close()
 * in the same process (Darshan and others) keep tables by number, which would
 * mix our files up with the program's; and the fstat() and fcntl() of a newer
 * glibc do not load with an older one. Calls that a seccomp filter of an older
 * program may not know are tried only without a filter, or have a substitute
 * where the filter refuses them.
 *
 * Functions return 0, or -1 with errno: ESTALE if the file is lost or was never
 * opened, EPERM where nothing may be opened, and what the system says. They are
 * not thread-safe, and with a table of its own only that thread may call them.
 */
#ifndef JP_OWNFILE_H
#define JP_OWNFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes of a file's name in its folder, with NUL. */
#define OWNFILE_NAME_MAX 256

/* What a descriptor was opened on. */
struct ownfile_id {
    uint32_t major, minor;
    uint64_t inode;
    uint32_t mode;
    int mark; /* of the open file; the same for copies of the descriptor */
};

/* All zero: nothing is open. To be read by its owner, changed only here. */
struct ownfile {
    int folder, fd; /* at least 3 if open, else 0 */
    struct ownfile_id folder_id, id;
    pid_t pid; /* of the process that opened the folder */
    bool lost; /* until ownfile_close() */
    char name[OWNFILE_NAME_MAX];
};

/* Whether files may be opened on behalf of the environment: not in a program
 * that has more rights than its caller (setuid, setgid, file capabilities),
 * because the caller chose the folder. */
bool ownfile_may_open(void);

/* Gives the calling thread an empty table of descriptors, from which even 0, 1
 * and 2 are missing. For a thread of a library that needs none of the program's
 * files. Returns false if it still shares the program's table. */
bool ownfile_own_table(void);

/* Opens a folder. The last `n_made` folders of the path are made (0700) where
 * they do not exist, and must be no links; what is before them must exist.
 * ".." is refused among them. Nothing is opened if ownfile_may_open() is
 * false. */
int ownfile_open(struct ownfile *file, const char *path, unsigned n_made);

/* Opens another file's folder for a second file. `file` may not be open. */
int ownfile_open_beside(struct ownfile *file, struct ownfile *other);

/* Creates the file (0600, whatever the umask is) in the folder, for reading and
 * writing. EEXIST: the name is taken, also by a link. The name has no "/". */
int ownfile_create(struct ownfile *file, const char *name);

/* The same after removing what has that name, which is not followed. */
int ownfile_create_anew(struct ownfile *file, const char *name);

/* Return the descriptor after a comparison, for calls that are not here; -1 and
 * ESTALE otherwise. To be used at once, and never closed. */
int ownfile_folder(struct ownfile *file);
int ownfile_fd(struct ownfile *file);

/* Writes all bytes at that offset. On failure some of them may be written. */
int ownfile_write(struct ownfile *file, const void *bytes, size_t n,
                  uint64_t at);
int ownfile_truncate(struct ownfile *file, uint64_t size);

/* Returns a copy of the descriptor that begins at offset 0, for reading in a
 * process of ours. The caller closes it. */
int ownfile_copy(struct ownfile *file);

/* Renames the file within its folder, replacing what has that name; removes it.
 * Both only if its present name is still this file's: ENOENT otherwise. */
int ownfile_rename(struct ownfile *file, const char *name);
int ownfile_unlink(struct ownfile *file);

/* Closes the file, the folder stays: another one may be created. */
void ownfile_close_file(struct ownfile *file);

/* Closes the descriptors that are still ours, and forgets all. */
void ownfile_close(struct ownfile *file);

#endif
