/* slow.c - loaded before a program: each folder that it makes and each file
 * that it renames takes a while, so that another process can act at that
 * moment. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW_US = 100000 };

int mkdirat(int at, const char *path, mode_t mode)
{
    int (*real)(int, const char *, mode_t) = dlsym(RTLD_NEXT, "mkdirat");
    int rc = real(at, path, mode);

    usleep(WINDOW_US);
    return rc;
}

char *mkdtemp(char *template)
{
    char *(*real)(char *) = dlsym(RTLD_NEXT, "mkdtemp");
    char *path = real(template);

    usleep(WINDOW_US);
    return path;
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
    int rc = real(from, to);

    usleep(WINDOW_US);
    return rc;
}
