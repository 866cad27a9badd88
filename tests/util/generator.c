/* generator.c - a task with known use: it computes, holds memory, writes and
 * reads, prints what the kernel has counted, and waits to be killed.
 *
 * Usage: generator SECONDS MEMORY_MIB FILE FILE_MIB */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MIB (1 << 20)

static double now(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

static void move(int fd, char *block, long mib, int out)
{
    for (long i = 0; i < mib; i++)
        if ((out ? write(fd, block, MIB) : read(fd, block, MIB)) != MIB)
            exit(1);
}

static void say_io(void)
{
    FILE *io = fopen("/proc/self/io", "re");
    char line[128];

    while (io && fgets(line, sizeof(line), io))
        fputs(line, stdout);
    if (io)
        fclose(io);
}

int main(int argc, char **argv)
{
    double seconds = argc == 5 ? strtod(argv[1], NULL) : 0;
    long memory = argc == 5 ? strtol(argv[2], NULL, 10) : 0,
         mib = argc == 5 ? strtol(argv[4], NULL, 10) : 0;
    char *held = malloc((size_t) memory * MIB + 1), *block = malloc(MIB);
    int fd = argc == 5 ? open(argv[3], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    struct rusage use;

    if (fd < 0 || !held || !block)
        return 2;
    memset(held, 1, (size_t) memory * MIB);
    memset(block, 2, MIB);
    move(fd, block, mib, 1);
    fsync(fd);
    lseek(fd, 0, SEEK_SET);
    move(fd, block, mib, 0);
    while (now(CLOCK_PROCESS_CPUTIME_ID) < seconds)
        for (volatile int i = 0; i < 100000; i++)
            ;
    getrusage(RUSAGE_SELF, &use);
    printf("cpu: %.3f\nrss: %ld\n",
           (double) (use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
               (double) (use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6,
           use.ru_maxrss * 1024);
    say_io();
    fflush(stdout);
    close(STDOUT_FILENO);
    pause();
    return held[0] != 1;
}
