/* nodemem.c - read memory facts of this host. */
#include "common/nodemem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/num.h"

#define MAX_BYTES 16384 /* meminfo has 1.5 KiB */

/* The file's text into buf, "" on trouble. /proc's files have no size, so
 * fileio_read is no help. */
static void read_text(const char *root, const char *name, char buf[MAX_BYTES])
{
    char *path = fileio_path("%s/%s", root, name);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    size_t len = 0;
    ssize_t n = 1;

    while (fd >= 0 && n > 0 && len < MAX_BYTES - 1) {
        n = read(fd, buf + len, MAX_BYTES - 1 - len);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            len += (size_t) n;
    }
    if (fd >= 0)
        close(fd);
    free(path);
    buf[n < 0 ? 0 : len] = '\0';
}

/* Bytes of the line "KEY:   N kB"; 0 without it. */
static uint64_t kib_line(const char *text, const char *key)
{
    size_t len = strlen(key);
    uint64_t kib = 0, bytes;
    char digits[32];

    for (const char *line = text; line; line = strchr(line, '\n')) {
        size_t n;

        line += *line == '\n';
        if (strncmp(line, key, len) != 0 || line[len] != ':')
            continue;
        line += len + 1;
        line += strspn(line, " \t");
        n = strspn(line, "0123456789");
        if (n >= sizeof(digits) || strncmp(line + n, " kB", 3) != 0)
            return 0;
        memcpy(digits, line, n);
        digits[n] = '\0';
        num_parse_u64(digits, 0, UINT64_MAX, &kib, NULL);
        return __builtin_mul_overflow(kib, 1024, &bytes) ? 0 : bytes;
    }
    return 0;
}

void nodemem_read(const char *root, struct jp_nodemem *out)
{
    char text[MAX_BYTES];

    *out = (struct jp_nodemem){0};
    read_text(root, "proc/meminfo", text);
    out->ram_bytes = kib_line(text, "MemTotal");
    out->swap_bytes = kib_line(text, "SwapTotal");
    out->commit_limit_bytes = kib_line(text, "CommitLimit");
    out->committed_bytes = kib_line(text, "Committed_AS");
    read_text(root, "proc/sys/vm/overcommit_memory", text);
    if ((text[0] == '1' || text[0] == '2') && (text[1] == '\n' || !text[1]))
        out->overcommit = (unsigned) (text[0] - '0');
    read_text(root, "sys/kernel/mm/transparent_hugepage/enabled", text);
    out->huge_pages = strstr(text, "[always]") != NULL;
}
