/* sysfile.h - folders of sysfs and procfs below a root, and the entries of any
 * folder in order. */
#ifndef JP_TOPO_SYSFILE_H
#define JP_TOPO_SYSFILE_H

#include <stddef.h>

/* Opens a folder below root ("" for /); path has no leading slash. Returns -1
 * if it cannot be opened. */
int sysfile_folder(const char *root, const char *path);

/* Calls each for the entries of a folder in order of name, without those that
 * begin with "."; closes the folder. Stops and returns what each returns if it
 * is not 0. Reads at most max entries; *more (may be NULL) is set if there were
 * others. Returns -1 without memory. */
int sysfile_each(int folder, size_t max,
                 int (*each)(void *arg, int folder, const char *name),
                 void *arg, int *more);

#endif
