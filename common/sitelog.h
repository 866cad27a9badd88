/* sitelog.h - lines for the site's administrators, by syslog.
 *
 * What goes wrong under a site's default is not the users' affair: they asked
 * for nothing. syslog(3) would wait where nobody reads its socket, so a line is
 * one datagram that is sent at once or lost. Only libc is needed.
 */
#ifndef JP_COMMON_SITELOG_H
#define JP_COMMON_SITELOG_H

#include <stddef.h>

/* Socket of the local syslog daemon. */
#define SITELOG_SOCKET "/dev/log"

enum sitelog_level { SITELOG_WARNING = 4, SITELOG_INFO = 6 };

/* Sends the text as a message of jobprof (LOG_USER), whole or not at all.
 * Returns 0, or -1 with errno. */
int sitelog_send(const char *socket_path, enum sitelog_level level,
                 const char *text, size_t len);

/* Sends a warning to SITELOG_SOCKET, at most 1,000 bytes; "jobprof: " at its
 * beginning and unprintable bytes are replaced. What fails is silent. */
void sitelog(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
