/* clean.c - replace what a terminal, a browser or a parser could trip over. */
#include "orchestrator/report/clean.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/utf8.h"

unsigned clean_utf8_char(const char *text, unsigned *code)
{
    uint32_t point = 0;
    size_t len = *text ? utf8_decode(text, 4, &point) : 0;

    *code = point;
    return (unsigned) len;
}

/* Characters that move the cursor, end a line or turn the text around. */
static bool is_harmful(unsigned c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c ||
           (c >= 0x200e && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069) || c == 0xfeff ||
           (c & 0xfffe) == 0xfffe;
}

char *clean_text(const char *text, enum jp_clean how, char *buf, size_t size)
{
    const char *s = text ? text : "";
    size_t n = 0, mark = 0; /* mark: where "..." still fits */

    while (*s) {
        unsigned code = 0;
        unsigned len = clean_utf8_char(s, &code);
        bool bad = !len || is_harmful(code) ||
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

char *clean_dup(const char *text, enum jp_clean how, size_t max)
{
    size_t len = text ? strlen(text) : 0;
    char *buf;

    if (len > max)
        len = max;
    buf = malloc(len + 8);
    return buf ? clean_text(text, how, buf, len + 8) : NULL;
}

bool clean_locale_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const char *value = getenv(names[i]);

        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}
