/* reader_text.c - foreign JSON strings become clean UTF-8. */
#include "plugins/nccl_inspector/reader_json.h"

#include "common/utf8.h"

static int hex4(const char *p, const char *end)
{
    int v = 0;

    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char b = p[i];
        int digit = b >= '0' && b <= '9'   ? b - '0'
                    : b >= 'a' && b <= 'f' ? b - 'a' + 10
                    : b >= 'A' && b <= 'F' ? b - 'A' + 10
                                           : -1;

        if (digit < 0)
            return -1;
        v = v << 4 | digit;
    }
    return v;
}

/* The character of an escape; *p stands behind the backslash. */
static uint32_t unescape(const char **p, const char *end)
{
    static const char from[] = "\"\\/", blank[] = "bfnrt";
    char b = *(*p)++;
    int hi, lo;

    if (memchr(from, b, 3))
        return (unsigned char) b;
    if (memchr(blank, b, 5) || b != 'u' || (hi = hex4(*p, end)) < 0)
        return '?';
    *p += 4;
    if (hi >= 0xd800 && hi < 0xdc00 && end - *p >= 6 && (*p)[0] == '\\' &&
        (*p)[1] == 'u' && (lo = hex4(*p + 2, end)) >= 0xdc00 && lo < 0xe000) {
        *p += 6;
        return 0x10000 + (((uint32_t) hi - 0xd800) << 10) +
               ((uint32_t) lo - 0xdc00);
    }
    return hi < 0x20 || hi == 0x7f || (hi >= 0xd800 && hi < 0xe000)
               ? '?'
               : (uint32_t) hi;
}

static size_t put_utf8(uint32_t v, char out[4])
{
    if (v < 0x80) {
        out[0] = (char) v;
        return 1;
    }
    if (v < 0x800) {
        out[0] = (char) (0xc0 | v >> 6);
        out[1] = (char) (0x80 | (v & 0x3f));
        return 2;
    }
    if (v < 0x10000) {
        out[0] = (char) (0xe0 | v >> 12);
        out[1] = (char) (0x80 | (v >> 6 & 0x3f));
        out[2] = (char) (0x80 | (v & 0x3f));
        return 3;
    }
    out[0] = (char) (0xf0 | v >> 18);
    out[1] = (char) (0x80 | (v >> 12 & 0x3f));
    out[2] = (char) (0x80 | (v >> 6 & 0x3f));
    out[3] = (char) (0x80 | (v & 0x3f));
    return 4;
}

/* One character of a raw string as clean UTF-8. Returns its length. */
static size_t clean_char(const char **p, const char *end, char out[4])
{
    size_t n;
    uint32_t v;

    if (**p == '\\' && end - *p >= 2) {
        ++*p;
        v = unescape(p, end);
        return put_utf8(v >= 0x7f && v < 0xa0 ? '?' : v, out);
    }
    n = utf8_decode(*p, (size_t) (end - *p), &v);
    if (!n || v < 0x20 || (v >= 0x7f && v < 0xa0)) {
        ++*p;
        return put_utf8('?', out);
    }
    memcpy(out, *p, n);
    *p += n;
    return n;
}

size_t reader_json_decode(const struct reader_json_raw *raw, char *buf,
                          size_t cap)
{
    const char *p = raw->text, *end = raw->text + raw->len;
    size_t len = 0;

    while (p < end) {
        char one[4];
        size_t n = clean_char(&p, end, one);

        if (len + n >= cap)
            break;
        memcpy(buf + len, one, n);
        len += n;
    }
    buf[len] = '\0';
    return len;
}
