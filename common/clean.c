/* clean.c - foreign text for a report. */
#include "common/clean.h"

#include <stdbool.h>
#include <string.h>

#include "common/quote.h"
#include "common/utf8.h"

/* Length in bytes of the UTF-8 character at text, 0: none starts there. */
static unsigned clean_utf8_char(const char *text, unsigned *code)
{
    uint32_t point = 0;
    size_t len = *text ? utf8_decode(text, 4, &point) : 0;

    *code = point;
    return (unsigned) len;
}

char *clean_text(const char *text, enum jp_clean how, char *buf, size_t size)
{
    const char *s = text ? text : "";
    size_t n = 0, mark = 0; /* mark: where "..." still fits */

    while (*s) {
        unsigned code = 0;
        unsigned len = clean_utf8_char(s, &code);
        bool bad = !len || !quote_is_harmless(code) ||
                   (how == JP_CLEAN_ASCII && code >= 0x80);
        unsigned out = bad ? 1 : len;

        if (n + out >= size) {
            memcpy(buf + mark, "...", 4);
            return buf;
        }
        if (bad)
            buf[n] = '?';
        else
            memcpy(buf + n, s, len);
        n += out;
        if (n + 4 <= size)
            mark = n;
        s += len ? len : 1;
    }
    buf[n] = '\0';
    return buf;
}
