/* userlabels.c - split and check the user's labels. */
#include "common/userlabels.h"

#include <stdint.h>
#include <string.h>

#include "common/quote.h"
#include "common/utf8.h"

#define KEY_BYTES                                                              \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

/* Whether text, of len bytes, is UTF-8 without control characters. */
static bool is_clean(const char *text, size_t len)
{
    uint32_t point;
    size_t n;

    for (; len; text += n, len -= n) {
        n = utf8_decode(text, len, &point);
        if (!n || point < 0x20 || (point >= 0x7f && point < 0xa0))
            return false;
    }
    return true;
}

bool userlabels_next(const char **at, struct userlabel *out)
{
    size_t len = strcspn(*at, ";"), key = strcspn(*at, ":;"), value;

    if (!key || key >= len || key > USERLABELS_KEY ||
        strspn(*at, KEY_BYTES) != key)
        return false;
    value = len - key - 1;
    if (!value || value > USERLABELS_VALUE || !is_clean(*at + key + 1, value))
        return false;
    memcpy(out->key, *at, key);
    out->key[key] = '\0';
    memcpy(out->value, *at + key + 1, value);
    out->value[value] = '\0';
    *at += len + ((*at)[len] == ';');
    return true;
}

int userlabels_check(const char *text, struct jp_error *err)
{
    struct userlabel label, other;
    const char *at = text;
    size_t n = 0;

    while (*at) {
        const char *from = at, *before = text;

        if (n++ == USERLABELS_MAX || !userlabels_next(&at, &label))
            return error_set(err,
                             "\"%s\" is not a label (" USERLABELS_RANGE ")",
                             QUOTE(from));
        while (before < from && userlabels_next(&before, &other))
            if (strcmp(other.key, label.key) == 0)
                return error_set(err, "\"%s\" is given twice", label.key);
    }
    return 0;
}
