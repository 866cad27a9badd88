/* nccldebug_file.c - NCCL's log from a file, within a bound of time. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/topo/nccldebug.h"

#define BUFFER (64 * 1024)
/* Logs of COLL grow without end; what is looked for stands in front. */
#define MAX_BYTES (512ull * 1024 * 1024)

static uint64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t) ts.tv_sec * 1000 + (uint64_t) ts.tv_nsec / 1000000;
}

bool nccldebug_probe(const char *text, size_t len)
{
    return memmem(text, len, " NCCL INFO ", 11) != NULL;
}

/* Takes the whole lines of the buffer; what is left moves to its front. -1
 * without memory. */
static int take_lines(struct nccldebug *log, char *buffer, size_t *used,
                      bool *inside)
{
    char *at = buffer;
    char *end = buffer + *used;
    char *line;

    while ((line = memchr(at, '\n', (size_t) (end - at)))) {
        if (!*inside && nccldebug_line(log, at, (size_t) (line - at)) < 0)
            return -1;
        *inside = false;
        at = line + 1;
    }
    *used = (size_t) (end - at);
    if (*used == BUFFER) { /* one line fills it: its head is enough */
        if (!*inside && nccldebug_line(log, at, *used) < 0)
            return -1;
        *inside = true;
        *used = 0;
    }
    memmove(buffer, at, *used);
    return 0;
}

static int read_lines(struct nccldebug *log, int fd, const char *path,
                      uint64_t deadline_ms, struct jp_error *err)
{
    char buffer[BUFFER];
    size_t used = 0;
    uint64_t total = 0;
    bool inside = false; /* a line whose head was taken */

    while (true) {
        ssize_t n = read(fd, buffer + used, sizeof(buffer) - used);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(err, "%s: %s", path, strerror(errno));
        if (n == 0)
            break;
        used += (size_t) n;
        total += (uint64_t) n;
        if (take_lines(log, buffer, &used, &inside) < 0)
            return error_set(err, "%s: out of memory", path);
        if (total > MAX_BYTES || now_ms() > deadline_ms)
            return 1;
    }
    if (used && !inside && nccldebug_line(log, buffer, used) < 0)
        return error_set(err, "%s: out of memory", path);
    return 0;
}

int nccldebug_file(struct nccldebug *log, const char *path,
                   uint64_t deadline_ms, struct jp_error *err)
{
    int fd = fileio_open_regular(path, false, err);
    int rc;

    if (fd < 0)
        return -1;
    rc = read_lines(log, fd, path, deadline_ms, err);
    close(fd);
    return rc;
}
