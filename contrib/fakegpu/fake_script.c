/* fake_script.c - values over time of GPUs that do not exist, from a file. */
#include "contrib/fakegpu/fake_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { SCRIPT_MAX = 1 << 16, LINE_MAX_BYTES = 160, WORDS = 5 };

struct value {
    unsigned long long a, b;
    int goes; /* changes from a to b between from and to */
    double from, to;
};

/* Parses "12" or "5..90". Returns -1 for anything else. */
static int parse_value(const char *text, struct value *out)
{
    char *end;

    if (*text < '0' || *text > '9')
        return -1;
    out->a = out->b = strtoull(text, &end, 10);
    out->goes = strncmp(end, "..", 2) == 0;
    if (out->goes) {
        text = end + 2;
        if (*text < '0' || *text > '9')
            return -1;
        out->b = strtoull(text, &end, 10);
    }
    return *end ? -1 : 0;
}

/* Parses seconds with a fraction. */
static int parse_seconds(const char *text, double *out)
{
    char *end;

    *out = strtod(text, &end);
    return end == text || *end || !(*out >= 0) ? -1 : 0;
}

/* Parses a line, which is cut into words. Returns whether it has a value of
 * that name for the GPU. */
static int parse_line(char *line, const char *gpu, const char *name,
                      struct value *out)
{
    char *word[WORDS] = {NULL};
    char *rest = line, *next;
    int n = 0;

    while (n < WORDS && (next = strsep(&rest, " \t\r")))
        if (*next)
            word[n++] = next;
    out->from = 0;
    out->to = -1;
    if (n < 3 || (strcmp(word[0], "*") != 0 && strcmp(word[0], gpu) != 0) ||
        strcmp(word[1], name) != 0 || parse_value(word[2], out) < 0 ||
        (n > 3 && parse_seconds(word[3], &out->from) < 0) ||
        (n > 4 && parse_seconds(word[4], &out->to) < 0))
        return 0;
    return !out->goes || out->to > out->from; /* a change needs an end */
}

/* Returns whether the value holds now, and what it is. */
static int value_at(const struct value *v, double now, unsigned long long *out)
{
    double share;

    if (now < v->from || (!v->goes && v->to >= 0 && now >= v->to))
        return 0;
    share = v->goes ? (now - v->from) / (v->to - v->from) : 0;
    if (share > 1)
        share = 1;
    *out = v->b >= v->a
               ? v->a + (unsigned long long) ((double) (v->b - v->a) * share)
               : v->a - (unsigned long long) ((double) (v->a - v->b) * share);
    return 1;
}

int fake_script_find_in(const char *text, double seconds, int index,
                        const char *name, unsigned long long *out)
{
    char line[LINE_MAX_BYTES], gpu[16];
    int rc = -1;

    snprintf(gpu, sizeof(gpu), "%d", index);
    while (*text) {
        size_t n = strcspn(text, "\n");
        struct value value;

        /* longer lines are ignored */
        if (n < sizeof(line)) {
            memcpy(line, text, n);
            line[n] = '\0';
            if (parse_line(line, gpu, name, &value) &&
                value_at(&value, seconds, out))
                rc = 0;
        }
        text += n + (text[n] == '\n');
    }
    return rc;
}

/* Returns the file's text, and the seconds since it was written. It is read
 * again only if it has changed, because a stand-in must not cost more than a
 * driver. NULL: there is no file. */
static const char *the_script(double *seconds)
{
    static char text[SCRIPT_MAX];
    static struct stat was;
    const char *path = getenv("FAKEGPU_LOAD");
    struct timespec now;
    struct stat is;
    FILE *file;

    if (!path || stat(path, &is) < 0)
        return NULL;
    if (is.st_ino != was.st_ino || is.st_size != was.st_size ||
        is.st_mtim.tv_sec != was.st_mtim.tv_sec ||
        is.st_mtim.tv_nsec != was.st_mtim.tv_nsec) {
        file = fopen(path, "re");
        text[file ? fread(text, 1, SCRIPT_MAX - 1, file) : 0] = '\0';
        if (file)
            fclose(file);
        was = is;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    *seconds = (double) (now.tv_sec - is.st_mtim.tv_sec) +
               (double) (now.tv_nsec - is.st_mtim.tv_nsec) * 1e-9;
    if (*seconds < 0) /* the file's time may be slightly in the future, because
                         its clock is coarser */
        *seconds = 0;
    return text;
}

int fake_script_find(int index, const char *name, unsigned long long *out)
{
    double seconds;
    const char *text = the_script(&seconds);

    return text ? fake_script_find_in(text, seconds, index, name, out) : -1;
}
