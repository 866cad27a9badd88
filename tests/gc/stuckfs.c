/* stuckfs.c - a file system that accepts requests and answers none.
 *
 * stuckfs PATH... mounts one on each (a folder or a file), prints "ready" and
 * stays. A process that accesses one of them waits, and no signal ends the
 * wait. Only for root in a separate mount namespace; when it is killed, all
 * waits end.
 */
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOUNTS = 8, BUFFER = 1 << 17 };
static char buffer[BUFFER];

static int start(const char *path)
{
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    char options[200];
    struct stat st;

    if (fd < 0 || stat(path, &st) < 0) {
        perror(path);
        exit(1);
    }
    snprintf(options, sizeof(options),
             "fd=%d,rootmode=%o,user_id=0,group_id=0,allow_other", fd,
             st.st_mode & S_IFMT);
    if (mount("stuckfs", path, "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
        perror(path);
        exit(1);
    }
    return fd;
}

/* Answers the kernel's first message, so that it sends requests. */
static void greet(int fd)
{
    const struct fuse_in_header *in = (const void *) buffer;
    struct {
        struct fuse_out_header head;
        struct fuse_init_out init;
    } out = {.head = {.len = sizeof(out)},
             .init = {.major = FUSE_KERNEL_VERSION,
                      .minor = FUSE_KERNEL_MINOR_VERSION,
                      .max_write = 4096}};

    if (read(fd, buffer, sizeof(buffer)) < (ssize_t) sizeof(*in) ||
        in->opcode != FUSE_INIT)
        exit(1);
    out.head.unique = in->unique;
    if (write(fd, &out, sizeof(out)) != sizeof(out))
        exit(1);
}

int main(int argc, char **argv)
{
    struct pollfd fds[MOUNTS];
    int n = 0;

    for (; n < MOUNTS && n + 1 < argc; n++)
        fds[n] = (struct pollfd){.fd = start(argv[n + 1]), .events = POLLIN};
    for (int i = 0; i < n; i++)
        greet(fds[i].fd);
    puts("ready");
    fflush(stdout);
    while (poll(fds, (nfds_t) n, -1) > 0)
        for (int i = 0; i < n; i++)
            if (fds[i].revents & POLLIN &&
                read(fds[i].fd, buffer, sizeof(buffer)) < 0)
                return 1;
    return 1;
}
