/* error.c - format and extend error sentences without losing errno. */
#include "common/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/quote.h"
#include "common/utf8.h"

/* Replaces every character that could harm a terminal by '?', in place. The
 * text may have been cut within a character, which also becomes '?'. */
static void sanitize(char *text)
{
    while (*text) {
        uint32_t point = 0;
        size_t n = utf8_decode(text, 4, &point);

        if (!n || !quote_is_harmless(point))
            memset(text, '?', n ? n : 1);
        text += n ? n : 1;
    }
}

int error_set(struct jp_error *err, const char *fmt, ...)
{
    /* Callers report errno after the message was composed. */
    int saved = errno;
    va_list ap;

    if (err) {
        va_start(ap, fmt);
        if (vsnprintf(err->text, sizeof(err->text), fmt, ap) < 0)
            err->text[0] = '\0';
        va_end(ap);
        sanitize(err->text);
    }
    errno = saved;
    return -1;
}

int error_wrap(struct jp_error *err, const char *fmt, ...)
{
    int saved = errno;
    char inner[sizeof(err->text)];
    char where[sizeof(err->text)];
    size_t n;
    va_list ap;

    if (err) {
        /* The arguments may include err->text itself, so compose in copies. */
        memcpy(inner, err->text, sizeof(inner));
        va_start(ap, fmt);
        if (vsnprintf(where, sizeof(where), fmt, ap) < 0)
            where[0] = '\0';
        va_end(ap);
        n = strlen(where);
        /* Leave room for ": " and the NUL; the end of the inner text is cut. */
        if (n > sizeof(err->text) - 3)
            n = sizeof(err->text) - 3;
        /* "WHERE: INNER", cut at the end if it is too long. */
        memcpy(err->text, where, n);
        memcpy(err->text + n, ": ", 3);
        n += 2;
        memcpy(err->text + n, inner, sizeof(err->text) - n);
        err->text[sizeof(err->text) - 1] = '\0';
        sanitize(err->text);
    }
    errno = saved;
    return -1;
}
