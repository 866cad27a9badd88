/* clockbox.c - preloaded into a node's programs: a wall clock that is off.
 *
 * CLOCKBOX is "NODE:NS[:PPM]"; where SLURMD_NODENAME is NODE, the wall clock
 * shows NS more, and runs PPM faster from CLOCKBOX_BASE (its ns since 1970) on.
 * The kernel's time stamps of packets are by that clock, too.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
#define SECOND INT64_C(1000000000)

static struct {
    bool known, off;
    int64_t by_ns, base_ns;
    double ppm;
} box;

static void learn(void)
{
    const char *text = getenv("CLOCKBOX"), *node = getenv("SLURMD_NODENAME");
    const char *base = getenv("CLOCKBOX_BASE");
    size_t len = node ? strlen(node) : 0;
    char *end;

    if (box.known)
        return;
    box.known = true;
    if (!text || !len || strncmp(text, node, len) != 0 || text[len] != ':')
        return;
    box.by_ns = strtoll(text + len + 1, &end, 10);
    box.ppm = *end == ':' ? strtod(end + 1, NULL) : 0;
    box.base_ns = base ? strtoll(base, NULL, 10) : 0;
    box.off = true;
}

static void shift(struct timespec *t)
{
    int64_t ns = t->tv_sec * SECOND + t->tv_nsec;

    learn();
    if (!box.off || (!t->tv_sec && !t->tv_nsec))
        return;
    ns += box.by_ns + llround(box.ppm * 1e-6 * (double) (ns - box.base_ns));
    t->tv_sec = ns / SECOND;
    t->tv_nsec = ns % SECOND;
}

EXPORT int clock_gettime(clockid_t id, struct timespec *t)
{
    static int (*real)(clockid_t, struct timespec *);
    int rc;

    if (!real)
        real = (int (*)(clockid_t, struct timespec *)) dlsym(RTLD_NEXT,
                                                             "clock_gettime");
    rc = real(id, t);
    if (rc == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        shift(t);
    return rc;
}

EXPORT int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    struct timespec now;

    (void) zone;
    clock_gettime(CLOCK_REALTIME, &now);
    t->tv_sec = now.tv_sec;
    t->tv_usec = now.tv_nsec / 1000;
    return 0;
}

EXPORT time_t time(time_t *out)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}

/* The kernel's times of packets are those of the machine's clock. */
static void shift_stamps(struct msghdr *m)
{
    for (struct cmsghdr *c = m->msg_control ? CMSG_FIRSTHDR(m) : NULL; c;
         c = CMSG_NXTHDR(m, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPING) {
            struct timespec t;

            memcpy(&t, CMSG_DATA(c), sizeof(t));
            shift(&t);
            memcpy(CMSG_DATA(c), &t, sizeof(t));
        }
}

EXPORT int recvmmsg(int fd, struct mmsghdr *m, unsigned n, int flags,
                    struct timespec *timeout)
{
    static int (*real)(int, struct mmsghdr *, unsigned, int, struct timespec *);
    int got;

    if (!real)
        real = (int (*)(int, struct mmsghdr *, unsigned, int,
                        struct timespec *)) dlsym(RTLD_NEXT, "recvmmsg");
    got = real(fd, m, n, flags, timeout);
    for (int i = 0; i < got; i++)
        shift_stamps(&m[i].msg_hdr);
    return got;
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
    static ssize_t (*real)(int, struct msghdr *, int);
    ssize_t len;

    if (!real)
        real =
            (ssize_t(*)(int, struct msghdr *, int)) dlsym(RTLD_NEXT, "recvmsg");
    len = real(fd, m, flags);
    if (len >= 0)
        shift_stamps(m);
    return len;
}
