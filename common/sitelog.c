/* sitelog.c - lines for the site's administrators, by syslog. */
#include "common/sitelog.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { USER = 1 << 3, LINE = 1000, PREFIX = 40 };
static const char ours[] = "jobprof: ";

int sitelog_send(const char *socket_path, enum sitelog_level level,
                 const char *text, size_t len)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    char *line = malloc(PREFIX + len);
    int fd, n, rc = -1;

    if (!line)
        return -1;
    if (strlen(socket_path) >= sizeof(to.sun_path)) {
        free(line);
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(to.sun_path, socket_path, strlen(socket_path) + 1);
    n = snprintf(line, PREFIX, "<%d>jobprof[%ld]: ", USER | (int) level,
                 (long) getpid());
    memcpy(line + n, text, len);
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && sendto(fd, line, (size_t) n + len, MSG_NOSIGNAL,
                          (struct sockaddr *) &to, sizeof(to)) >= 0)
        rc = 0;
    free(line);
    if (fd >= 0) {
        n = errno;
        close(fd);
        errno = n;
    }
    return rc;
}

void sitelog(const char *format, ...)
{
    char text[LINE], *from = text;
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    if (strncmp(text, ours, strlen(ours)) == 0)
        from += strlen(ours); /* the message has its name */
    for (char *c = from; *c; c++)
        *c = *c < ' ' || *c > '~' ? '?' : *c;
    sitelog_send(SITELOG_SOCKET, SITELOG_WARNING, from, strlen(from));
}
