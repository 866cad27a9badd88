/* exporter_words.c - write figures as Python, pandas and numpy do. */
#include "orchestrator/report/exporter_words.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/figure.h"

#define NAME_MAX_BYTES 60 /* of a function's name in a file's name */

static char *put_size(uint64_t bytes, bool numpy, char *buf)
{
    static const char *const units[] = {"B",  "KB", "MB", "GB",
                                        "TB", "PB", "EB"};
    double value;
    int power;

    if (bytes == 0) {
        snprintf(buf, EXPORTER_WORD, "0B");
        return buf;
    }
    power = (int) (log10((double) bytes) / 3);
    value = (double) bytes * pow(10, -3 * power);
    if (numpy)
        value = nearbyint(value * 100) / 100;
    snprintf(buf, EXPORTER_WORD, "%.2f%s", value, units[power]);
    return buf;
}

char *exporter_size(uint64_t bytes, char *buf)
{
    return put_size(bytes, false, buf);
}

char *exporter_size_numpy(uint64_t bytes, char *buf)
{
    return put_size(bytes, true, buf);
}

char *exporter_datetime(uint64_t us, char *buf)
{
    time_t seconds = (time_t) (us / 1000000);
    struct tm tm = {0};
    size_t len;

    localtime_r(&seconds, &tm);
    len = strftime(buf, EXPORTER_WORD, "%Y-%m-%d %H:%M:%S", &tm);
    snprintf(buf + len, EXPORTER_WORD - len, ".%03u",
             (unsigned) (us % 1000000 / 1000));
    return buf;
}

char *exporter_duration(uint64_t us, char *buf)
{
    if (us < 1000)
        snprintf(buf, EXPORTER_WORD, "%" PRIu64 ".0\xce\xbcs", us);
    else if (us < 1000000)
        snprintf(buf, EXPORTER_WORD, "%.1fms", (double) us / 1000);
    else
        snprintf(buf, EXPORTER_WORD, "%.1fs", (double) us / 1000000);
    return buf;
}

char *exporter_real(double value, char *buf)
{
    size_t len;

    snprintf(buf, EXPORTER_WORD, "%s", FIG_EXACT(value));
    len = strlen(buf);
    if (len && strspn(buf, "-0123456789") == len)
        snprintf(buf + len, EXPORTER_WORD - len, ".0");
    return buf;
}

char *exporter_coll(const struct jp_result *result, uint32_t coll, char *buf)
{
    const char *name = result->coll_names[coll];
    bool changed = strlen(name) > NAME_MAX_BYTES;
    size_t n = 0;

    for (; *name && n < NAME_MAX_BYTES; name++) {
        unsigned char c = (unsigned char) *name;
        bool good = c < 0x80 && (isalnum(c) || strchr("._-", c));

        changed |= !good;
        buf[n++] = (char) (good ? c : '_');
    }
    buf[n] = '\0';
    if (changed)
        snprintf(buf + n, EXPORTER_WORD - n, "-%" PRIu32, coll);
    return buf;
}

bool exporter_knows(const char *coll)
{
    static const char *const known[] = {"AllReduce", "AllGather",
                                        "ReduceScatter", "Broadcast"};

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (!strcmp(coll, known[i]))
            return true;
    return false;
}
