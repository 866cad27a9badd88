/* stamp.c - write when this task started and ended: DIR/<SLURM_PROCID>. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return (long long) ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int main(int argc, char **argv)
{
    long long start = now_ns();
    const char *procid = getenv("SLURM_PROCID");
    char path[4096];
    int fd;

    if (argc != 2)
        return 2;
    snprintf(path, sizeof(path), "%s/%s", argv[1], procid ? procid : "0");
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return 1;
    return dprintf(fd, "%lld %lld\n", start, now_ns()) < 0;
}
