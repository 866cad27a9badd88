/* quote.c - escape what a terminal must not get. */
#include "common/quote.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/utf8.h"

static bool is_harmless(uint32_t point)
{
    if (point < 0x20 || (point >= 0x7f && point < 0xa0))
        return false;
    if (point >= 0x200b && point <= 0x200f) /* no width, direction */
        return false;
    return !(point >= 0x2028 && point <= 0x202e) &&
           !(point >= 0x2066 && point <= 0x2069) && point != 0xfeff;
}

/* Bytes of the next unit of s; *plain: it may be shown as it is. */
static size_t next_unit(const char *s, bool *plain)
{
    uint32_t point = 0;
    size_t n = utf8_decode(s, 4, &point);

    *plain = n && is_harmless(point);
    return n ? n : 1;
}

const char *quote_text(const char *text, char buf[JP_QUOTE_LEN])
{
    size_t used = 0, at = 0;

    for (text = text ? text : ""; text[at];) {
        bool plain;
        size_t n = next_unit(text + at, &plain);

        if (at + n > JP_QUOTE_SHOWN) {
            memcpy(buf + used, "...", 4);
            return buf;
        }
        for (size_t i = 0; i < n; i++)
            used += (size_t) snprintf(buf + used, JP_QUOTE_LEN - used,
                                      plain ? "%c" : "\\x%02x",
                                      (unsigned char) text[at + i]);
        at += n;
    }
    buf[used] = '\0';
    return buf;
}

void quote_shorten(const char *text, char *buf, size_t len)
{
    size_t n = strlen(text);

    snprintf(buf, len, "%s%s", n < len ? "" : "...",
             n < len ? text : text + n - (len - 4));
}

void quote_print(FILE *out, const char *text)
{
    while (*text) {
        bool plain;
        size_t n = next_unit(text, &plain);

        for (size_t i = 0; i < n; i++)
            fprintf(out, plain ? "%c" : "\\x%02x", (unsigned char) text[i]);
        text += n;
    }
}
