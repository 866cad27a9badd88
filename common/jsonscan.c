/* jsonscan.c - estimate the tree of a JSON text, and remove members, before a
 * parser reads it. Both functions accept any bytes: they do not check that the
 * text is JSON. */
#include "common/jsonload.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Bytes on the heap for each kind of value, as jansson 2.14 and glibc allocate
 * them. */
enum {
    COST_OBJECT = 272, /* with a table of 8 buckets */
    COST_ARRAY = 144,  /* with room for 8 */
    COST_PAIR = 32,  /* a member: growth of the table; its key counts as text */
    COST_SLOT = 24,  /* an element, including the growth of the array */
    COST_TEXT = 112, /* besides its bytes */
    COST_NUMBER = 32
};

/* The index after the string that begins at i; len if it does not end. */
static size_t skip_text(const char *text, size_t len, size_t i)
{
    for (i++; i < len && text[i] != '"'; i++)
        if (text[i] == '\\')
            i++;
    return i < len ? i + 1 : len;
}

static bool is_number(char c)
{
    return c == '-' || (c >= '0' && c <= '9');
}

/* Whether c may continue a number. */
static bool in_number(char c)
{
    return is_number(c) || c == '.' || c == 'e' || c == 'E' || c == '+';
}

/* The cost of the token at *i; moves *i past it. A text that is too long costs
 * more than any limit. */
static size_t unit_cost(const char *text, size_t len, size_t *i)
{
    size_t start = *i;

    switch (text[start]) {
    case '"':
        *i = skip_text(text, len, start);
        if (*i - start > JSONSCAN_TEXT_MAX)
            return SIZE_MAX / 2;
        return COST_TEXT + (*i - start);
    case '{':
        ++*i;
        return COST_OBJECT;
    case '[':
        ++*i;
        return COST_ARRAY;
    case ':':
        ++*i;
        return COST_PAIR;
    case ',':
        ++*i;
        return COST_SLOT;
    default:
        ++*i;
        if (!is_number(text[start]))
            return 0;
        while (*i < len && in_number(text[*i]))
            ++*i;
        return COST_NUMBER;
    }
}

int jsonscan_cost(const char *text, size_t len, size_t max, size_t *cost,
                  struct jp_error *err)
{
    size_t sum = 0, depth = 0;

    for (size_t i = 0; i < len;) {
        if ((text[i] == '{' || text[i] == '[') && ++depth > JSONSCAN_DEPTH)
            return error_set(err, "JSON is nested deeper than %d",
                             JSONSCAN_DEPTH);
        if ((text[i] == '}' || text[i] == ']') && depth > 0)
            depth--;
        sum += unit_cost(text, len, &i);
        if (sum > max)
            return error_set(err, "its values would take more than %zu MB",
                             max >> 20);
    }
    *cost = sum;
    return 0;
}

static size_t skip_blanks(const char *text, size_t len, size_t i)
{
    while (i < len && strchr(" \t\r\n", text[i]) && text[i])
        i++;
    return i;
}

/* The index after the value at i: of the comma or bracket of its container, or
 * len. */
static size_t skip_value(const char *text, size_t len, size_t i)
{
    size_t depth = 0;

    while (i < len) {
        char c = text[i];

        if (depth == 0 && (c == ',' || c == '}' || c == ']'))
            return i;
        if (c == '{' || c == '[')
            depth++;
        else if (c == '}' || c == ']')
            depth--;
        i = c == '"' ? skip_text(text, len, i) : i + 1;
    }
    return len;
}

/* Whether the key of n bytes is one of names (NULL ends). */
static bool is_named(const char *key, size_t n, const char *const *names)
{
    for (; *names; names++)
        if (strlen(*names) == n && memcmp(*names, key, n) == 0)
            return true;
    return false;
}

size_t jsonscan_drop(char *text, size_t len, const char *const *drop)
{
    size_t i = skip_blanks(text, len, 0), out, end;
    bool first = true;

    if (i == len || text[i] != '{')
        return len;
    /* Each turn handles one member: "key" : value, up to its comma. Members
     * that stay are moved forward to `out`. */
    for (out = ++i; i < len; i = end + 1) {
        size_t key = skip_blanks(text, len, i), after;

        if (key == len || text[key] != '"')
            break;
        after = skip_text(text, len, key);
        end = skip_value(text, len, after);
        if (!is_named(text + key + 1, after - key - 2, drop)) {
            if (!first)
                text[out++] = ',';
            first = false;
            memmove(text + out, text + i, end - i);
            out += end - i;
        }
        if (end == len || text[end] != ',') {
            i = end;
            break;
        }
    }
    /* The rest: the closing bracket, or what could not be understood. */
    memmove(text + out, text + i, len - i);
    return out + (len - i);
}
