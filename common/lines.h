/* lines.h - a text that grows by lines, which is printed at the end. */
#ifndef JP_COMMON_LINES_H
#define JP_COMMON_LINES_H

#include "common/error.h"

/* Appends a line to *text (NULL: none yet; the caller frees it). -1: no memory,
 * and *text is unchanged. */
int lines_add(char **text, struct jp_error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
