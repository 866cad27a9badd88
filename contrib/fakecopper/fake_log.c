/* fake_log.c - the stand-in's log: lines like Copper's, in a file with the same
 * name. */
#include "contrib/fakecopper/fake_log.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

static FILE *log_file;
static int log_level;

void fake_log_open(const char *path, int level)
{
    log_level = level;
    log_file = level > 0 ? fopen(path, "a") : NULL;
}

/* Writes a line and flushes it, as Copper's sink does. Lines of several threads
 * are not mixed. */
void fake_log(enum fake_severity severity, const char *func, const char *fmt,
              ...)
{
    static const char *const names[] = {"", "Fatal", "Error", "Warn", "Info"};
    struct timeval now;
    struct tm tm;
    char stamp[32];
    va_list ap;

    if (!log_file || (int) severity > log_level)
        return;
    gettimeofday(&now, NULL);
    localtime_r(&now.tv_sec, &tm);
    strftime(stamp, sizeof(stamp), "%Y-%m-%d %H-%M-%S", &tm);
    flockfile(log_file);
    fprintf(log_file, "%s.%03d [%s] (%s) ", stamp, (int) (now.tv_usec / 1000),
            names[severity], func);
    va_start(ap, fmt);
    vfprintf(log_file, fmt, ap);
    va_end(ap);
    fputc('\n', log_file);
    fflush(log_file);
    funlockfile(log_file);
}
