/* conftext.c - check and quote text for libconfig. */
#include "common/conftext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int conftext_check(const char *text, size_t len, const char *name,
                   struct jp_error *err)
{
    static const char word[] = "@include";
    const char *p = text, *end = text + len;

    if (memchr(text, '\0', len))
        return error_set(err, "%s: has a NUL byte", name);
    for (unsigned line = 1; p < end; line++) {
        const char *newline = memchr(p, '\n', (size_t) (end - p));

        while (p < end && (*p == ' ' || *p == '\t'))
            p++;
        if ((size_t) (end - p) >= sizeof(word) - 1 &&
            !memcmp(p, word, sizeof(word) - 1))
            return error_set(err, "%s:%u: @include is not allowed here", name,
                             line);
        p = newline ? newline + 1 : end;
    }
    return 0;
}

char *conftext_quote(const char *s)
{
    char *out = malloc(4 * strlen(s) + 3), *p = out;

    if (!out)
        return NULL;
    *p++ = '"';
    for (; *s; s++) {
        unsigned char c = (unsigned char) *s;

        if (c == '"' || c == '\\') {
            *p++ = '\\';
            *p++ = (char) c;
        } else if (c < 0x20 || c == 0x7f) {
            snprintf(p, 5, "\\x%02X", c);
            p += 4;
        } else {
            *p++ = (char) c;
        }
    }
    *p++ = '"';
    *p = '\0';
    return out;
}
