/* lines.c - append lines to a text. */
#include "common/lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int lines_add(char **text, struct jp_error *err, const char *fmt, ...)
{
    char *line = NULL, *both;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&line, fmt, ap) < 0)
        line = NULL;
    va_end(ap);
    if (!line)
        return error_set(err, "out of memory");
    if (*text && asprintf(&both, "%s\n%s", *text, line) < 0)
        both = NULL;
    else if (!*text)
        both = strdup(line);
    free(line);
    if (!both)
        return error_set(err, "out of memory");
    free(*text);
    *text = both;
    return 0;
}
