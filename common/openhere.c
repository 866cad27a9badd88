/* openhere.c - open an entry of a folder, but nothing that is linked or mounted
 * there. */
#include "common/openhere.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif

#define FLAGS (O_PATH | O_NOFOLLOW | O_CLOEXEC)

/* For kernels before 5.6: opens the entry and compares the devices. Neither
 * O_PATH nor these flags of statx query the file system, which may hang. */
static int open_and_compare(int at, const char *name)
{
    int fd = openat(at, name, FLAGS);
    unsigned flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
    struct statx here, there;

    if (fd >= 0 && (statx(at, "", (int) flags, 0, &here) < 0 ||
                    statx(fd, "", (int) flags, 0, &there) < 0 ||
                    here.stx_dev_major != there.stx_dev_major ||
                    here.stx_dev_minor != there.stx_dev_minor)) {
        close(fd);
        errno = EXDEV;
        fd = -1;
    }
    return fd;
}

int openhere(int at, const char *name)
{
    /* Only entries of the folder itself. */
    if (strchr(name, '/') || strcmp(name, "..") == 0) {
        errno = EXDEV;
        return -1;
    }
#ifdef RESOLVE_NO_XDEV
    const struct open_how how = {
        .flags = FLAGS,
        .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH};
    int fd = (int) syscall(SYS_openat2, at, name, &how, sizeof(how));

    /* EPERM: a sandbox that does not know the call. EAGAIN: the kernel could
     * not rule out a concurrent rename. */
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM && errno != EAGAIN))
        return fd;
#endif
    return open_and_compare(at, name);
}

int openhere_stat(int at, const char *name, struct stat *st)
{
    int fd = openhere(at, name), rc, kept;

    if (fd < 0)
        return -1;
    rc = fstat(fd, st);
    kept = errno;
    close(fd);
    errno = kept;
    return rc;
}

int openhere_read(int at, const char *name, mode_t kind)
{
    int path = openhere(at, name), fd = -1, kept;
    struct stat st;
    char self[40];

    if (path < 0)
        return -1;
    snprintf(self, sizeof(self), "/proc/self/fd/%d", path);
    /* an object of another kind counts as one that is not followed */
    errno = ELOOP;
    if (fstat(path, &st) == 0 && (st.st_mode & S_IFMT) == kind)
        /* opens the object itself, whatever its name means by now */
        fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    kept = errno;
    close(path);
    errno = kept;
    return fd;
}
