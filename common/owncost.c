/* owncost.c - the processor time and memory that a process has used. */
#include "config.h"

#include "common/owncost.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "common/lines.h"
#include "common/num.h"

uint64_t owncost_thread_ns(void)
{
    struct timespec t = {0};

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t) t.tv_sec * 1000000000 + (uint64_t) t.tv_nsec;
}

static uint64_t us_of(const struct timeval *t)
{
    return (uint64_t) t->tv_sec * 1000000 + (uint64_t) t->tv_usec;
}

uint64_t owncost_process_us(void)
{
    struct rusage use = {.ru_maxrss = 0};

    getrusage(RUSAGE_SELF, &use);
    return us_of(&use.ru_utime) + us_of(&use.ru_stime);
}

uint64_t owncost_heap_bytes(void)
{
#if HAVE_DECL_MALLINFO2
    struct mallinfo2 heap = mallinfo2();

    /* in arenas, and in mappings of their own */
    return heap.uordblks + heap.hblkhd;
#else
    return 0;
#endif
}

uint64_t owncost_peak_bytes(void)
{
    static const char key[] = "VmHWM:";
    struct jp_lines *lines =
        lines_open("/proc/self/status", &lines_limits[LINES_KERNEL], NULL);
    struct rusage use = {.ru_maxrss = 0};
    uint64_t kib = 0;
    char *line;
    size_t len;

    while (lines && !kib && lines_next(lines, &line, &len, NULL) > 0)
        if (strncmp(line, key, sizeof(key) - 1) == 0)
            kib = strtoull(line + sizeof(key) - 1, NULL, 10);
    lines_close(lines);
    /* too much after an exec, but never too little */
    if (!kib && getrusage(RUSAGE_SELF, &use) == 0)
        kib = (uint64_t) use.ru_maxrss;
    return num_mul(kib, 1024);
}
