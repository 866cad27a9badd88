/* sysfile.h - short attribute files of sysfs and procfs below a root. */
#ifndef JP_TOPO_SYSFILE_H
#define JP_TOPO_SYSFILE_H

#include <stddef.h>

/* Opens a folder below root ("" for /), given without its first slash; -1. */
int sysfile_folder(const char *root, const char *path);

/* The first line of folder/name without its end and without blanks around it,
 * cut to size, control characters as '?'. "" where it cannot be read. Returns
 * out. Never blocks: sysfs files that wait for hardware are not asked. */
char *sysfile_text(int folder, const char *name, char *out, size_t size);

/* The last component of where a link leads; "" where there is none. */
char *sysfile_link(int folder, const char *name, char *out, size_t size);

/* Calls each for the entries of a folder (which is closed) in order of name,
 * without "." ones; stops and returns what each returns if it is not 0. Reads
 * at most max entries: *more (may be NULL) is set when there were others. -1
 * without memory. */
int sysfile_each(int folder, size_t max,
                 int (*each)(void *arg, int folder, const char *name),
                 void *arg, int *more);

#endif
