/* badkind.c - names of bad records' kinds, and how bytes show one. */
#include "common/badkind.h"

#include <stdint.h>
#include <string.h>

static const struct {
    const char *key, *text;
} kinds[JP_BAD_KINDS] = {
    [JP_BAD_SYNTAX] = {"syntax", "no JSON object"},
    [JP_BAD_BYTES] = {"bytes", "bytes that are no text"},
    [JP_BAD_MISSING] = {"missing_key", "a key is missing"},
    [JP_BAD_TYPE] = {"wrong_type", "a value of another type"},
    [JP_BAD_RANGE] = {"out_of_range", "a number out of range"},
    [JP_BAD_VALUE] = {"bad_value", "a value that cannot be"},
    [JP_BAD_LONG] = {"too_long", "longer than 1 MiB"},
};

const char *badkind_key(enum jp_bad kind)
{
    return kinds[kind].key;
}

const char *badkind_text(enum jp_bad kind)
{
    return kinds[kind].text;
}

/* Bytes of the UTF-8 character at p of which `left` are there; 0: it is none.
 */
static size_t char_len(const unsigned char *p, size_t left)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = *p < 0x80             ? 1
               : (*p & 0xe0) == 0xc0 ? 2
               : (*p & 0xf0) == 0xe0 ? 3
               : (*p & 0xf8) == 0xf0 ? 4
                                     : 0;
    uint32_t code;

    if (n < 2)
        return n;
    if (n > left)
        return 0;
    code = *p & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (p[i] & 0x3fu);
    }
    return code < least[n] || code > 0x10ffff ||
                   (code >= 0xd800 && code < 0xe000)
               ? 0
               : n;
}

bool badkind_is_text(const char *bytes, size_t len)
{
    const unsigned char *p = (const unsigned char *) bytes;

    while (len) {
        size_t n = char_len(p, len);

        if (!n || (*p < 0x20 && *p != '\t' && *p != '\r' && *p != '\n'))
            return false;
        p += n;
        len -= n;
    }
    return true;
}

static size_t skip_digits(const char *text, size_t len, size_t i)
{
    while (i < len && text[i] >= '0' && text[i] <= '9')
        i++;
    return i;
}

enum jp_bad badkind_of_number(const char *text, size_t len, bool integer)
{
    size_t start = len && *text == '-', i = skip_digits(text, len, start);
    bool good = i > start && (text[start] != '0' || i == start + 1);

    if (good && i < len && text[i] == '.') {
        start = i + 1;
        i = skip_digits(text, len, start);
        good = !integer && i > start;
    }
    if (good && i < len && (text[i] == 'e' || text[i] == 'E')) {
        i++;
        i += i < len && (text[i] == '-' || text[i] == '+');
        start = i;
        i = skip_digits(text, len, start);
        good = !integer && i > start;
    }
    return good && (i == len || memchr(",}] \t\r\n", text[i], 7)) ? JP_BAD_RANGE
                                                                  : JP_BAD_TYPE;
}
