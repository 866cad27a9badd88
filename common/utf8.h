/* utf8.h - one character of UTF-8, checked. */
#ifndef JP_COMMON_UTF8_H
#define JP_COMMON_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The length of the well-formed character at text, which has at most `left` (>
 * 0) bytes, and its code in *point. Returns 0 if it is not well-formed. Bytes
 * are read one after the other, so text may also end with a NUL. */
static inline size_t utf8_decode(const char *text, size_t left, uint32_t *point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *) text;
    size_t n = *s < 0x80             ? 1
               : (*s & 0xe0) == 0xc0 ? 2
               : (*s & 0xf0) == 0xe0 ? 3
               : (*s & 0xf8) == 0xf0 ? 4
                                     : 0;

    if (!n || n > left)
        return 0;
    *point = n == 1 ? *s : *s & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        *point = *point << 6 | (s[i] & 0x3fu);
    }
    return *point < least[n] || *point > 0x10ffff ||
                   (*point >= 0xd800 && *point < 0xe000)
               ? 0
               : n;
}

#endif
