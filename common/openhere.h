/* openhere.h - open what a folder has itself: no link, no other file system.
 *
 * For folders of other users: an automounted or hanging file system below them
 * is neither entered nor asked.
 */
#ifndef JP_OPENHERE_H
#define JP_OPENHERE_H

/* Opens the entry `name` of the folder `at` with O_PATH; of a link, the link
 * itself. -1 and errno; EXDEV: it is of another file system, or no entry of the
 * folder ("..", a path). Linux before 5.6 cannot tell a mount of a part of the
 * same file system. */
int openhere(int at, const char *name);

#endif
