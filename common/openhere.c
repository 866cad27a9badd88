/* openhere.c - open an entry of a folder, not what is linked or mounted there.
 */
#include "common/openhere.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif

#define FLAGS (O_PATH | O_NOFOLLOW | O_CLOEXEC)

/* Kernels before 5.6: the descriptor asks no file system, nor does statx(). */
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
    if (strchr(name, '/') || strcmp(name, "..") == 0) {
        errno = EXDEV;
        return -1;
    }
#ifdef RESOLVE_NO_XDEV
    const struct open_how how = {
        .flags = FLAGS,
        .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH};
    int fd = (int) syscall(SYS_openat2, at, name, &how, sizeof(how));

    if (fd >= 0 || (errno != ENOSYS && errno != EPERM && errno != EAGAIN))
        return fd;
#endif
    return open_and_compare(at, name);
}
