/* tempdir.h - a temporary folder for a test, and files in it.
 *
 * Used as cmocka's setup and teardown; *state is the folder's path.
 */
#ifndef JP_TESTS_TEMPDIR_H
#define JP_TESTS_TEMPDIR_H

#include <stddef.h>
#include <sys/types.h>

int tempdir_make(void **state);
/* The same with .config/jobprof/, the folder of the user's settings. */
int tempdir_make_home(void **state);
int tempdir_drop(void **state);

/* "<dir>/<name>". Aborts without memory; caller frees. */
char *tempdir_path(const char *dir, const char *name);

/* Writes text to <dir>/<name> with that mode; returns the path, caller
 * frees. */
char *tempdir_file(const char *dir, const char *name, mode_t mode,
                   const char *text);
/* The same of n bytes, mode 0644. */
void tempdir_bytes(const char *dir, const char *name, const void *bytes,
                   size_t n);

/* Writes <dir>/proc/<pid>/status of a process of that user: its name, its four
 * uids, and the lines of rest. The folder exists. */
void tempdir_status(const char *dir, long pid, uid_t uid, const char *rest);

#endif
