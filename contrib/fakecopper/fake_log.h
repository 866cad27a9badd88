/* fake_log.h - the stand-in's log. */
#ifndef FAKE_LOG_H
#define FAKE_LOG_H

/* The lowest -log_level that shows a line. */
enum fake_severity { FAKE_FATAL = 1, FAKE_ERROR, FAKE_WARN, FAKE_INFO };

void fake_log_open(const char *path, int level);
void fake_log(enum fake_severity severity, const char *func, const char *fmt,
              ...) __attribute__((format(printf, 3, 4)));

#endif
