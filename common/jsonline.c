/* jsonline.c - members of a flat JSON line. */
#include "common/jsonline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"

#define NUMBER_LEN 32

/* The text after "key":, or NULL. The line has no nested objects and no escaped
 * quotes, so the first match is the member. */
static const char *find_text(const char *line, const char *key)
{
    size_t len = strlen(key);

    for (const char *at = strchr(line, '"'); at; at = strchr(at + 1, '"')) {
        const char *end = at + 1 + len;

        if (strncmp(at + 1, key, len) == 0 && *end == '"' && end[1] == ':')
            return end + 2;
    }
    return NULL;
}

/* Copies a number's characters and adds a NUL, which the parsers need. */
static bool number(const char *line, const char *key, char out[NUMBER_LEN])
{
    const char *at = find_text(line, key);
    size_t len = at ? strspn(at, "+-.0123456789eE") : 0;

    if (!len || len >= NUMBER_LEN)
        return false;
    memcpy(out, at, len);
    out[len] = '\0';
    return true;
}

bool jsonline_int(const char *line, const char *key, int64_t min, int64_t max,
                  int64_t *out)
{
    char text[NUMBER_LEN];

    return number(line, key, text) &&
           num_parse_i64(text, min, max, out, NULL) == 0;
}

bool jsonline_real(const char *line, const char *key, double *out)
{
    char text[NUMBER_LEN], *end;
    double value;

    if (!number(line, key, text))
        return false;
    value = strtod(text, &end);
    if (*end || !isfinite(value))
        return false;
    *out = value;
    return true;
}

bool jsonline_text(const char *line, const char *key, char *out, size_t size)
{
    const char *at = find_text(line, key);
    size_t len;

    if (!at || *at != '"')
        return false;
    len = strcspn(at + 1, "\"\\");
    if (at[1 + len] != '"' || len >= size)
        return false;
    memcpy(out, at + 1, len);
    out[len] = '\0';
    return true;
}
