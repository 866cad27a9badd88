/* nodelist.c - expand a node list with libslurm, or by commas without it. */
#include "config.h"

#include "orchestrator/collect/nodelist.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_SLURM
#include <slurm/slurm.h>
#ifdef HAVE_SLURM_HOSTLIST_POINTER
typedef hostlist_t hostlist_ptr;
#else
typedef hostlist_t *hostlist_ptr;
#endif
#endif

void nodelist_free(char **names, size_t n)
{
    for (size_t i = 0; names && i < n; i++)
        free(names[i]);
    free(names);
}

/* Whether "5-99" at text is a range of more than JP_NODELIST_MAX nodes. Its
 * numbers have at most 12 digits, so they cannot overflow. */
static bool is_huge_range(const char *text)
{
    char *end;
    unsigned long long low = strtoull(text, &end, 10);
    unsigned long long high = *end == '-' ? strtoull(end + 1, NULL, 10) : low;

    return high > low && high - low >= JP_NODELIST_MAX;
}

/* Whether the text can be given to libslurm, which prints errors and leaks
 * memory if ranges are too long. A range is examined at the first digit of each
 * number. */
static bool is_sane(const char *text)
{
    size_t digits = 0;

    /* The text may come from a record that a user has changed. */
    if (strlen(text) > 1024 * 1024)
        return false;
    for (; *text; text++) {
        /* digits counts the digits of the current number. */
        digits = isdigit((unsigned char) *text) ? digits + 1 : 0;
        if (digits > 12 || (unsigned char) *text <= ' ' ||
            (digits == 1 && is_huge_range(text)))
            return false;
    }
    return true;
}

#ifdef HAVE_SLURM
static int expand(const char *text, char **out, size_t max, size_t *n)
{
    hostlist_ptr list = slurm_hostlist_create(text);
    char *name;
    int rc = list ? 0 : -1;

    /* Count before expanding. */
    if (list && slurm_hostlist_count(list) > (int) max)
        rc = -1;
    while (rc == 0 && *n < max && (name = slurm_hostlist_shift(list))) {
        /* slurm_hostlist_shift allocates with malloc; copies keep that an
         * assumption of this line alone. */
        out[*n] = strdup(name);
        rc = out[*n] ? 0 : -1;
        *n += rc == 0;
        free(name);
    }
    if (list)
        slurm_hostlist_destroy(list);
    return rc;
}
#else
/* The length of the first element of a list: up to a comma outside of
 * brackets. */
static size_t piece_len(const char *text)
{
    int depth = 0;
    size_t n = 0;

    for (; text[n] && (text[n] != ',' || depth > 0); n++)
        depth += text[n] == '[' ? 1 : text[n] == ']' ? -1 : 0;
    return n;
}

static int expand(const char *text, char **out, size_t max, size_t *n)
{
    while (*text && *n < max) {
        size_t len = piece_len(text);

        if (memchr(text, '[', len) || !(out[*n] = strndup(text, len)))
            return -1;
        (*n)++;
        text += len;
        text += *text == ',';
    }
    return *text ? -1 : 0;
}
#endif

int nodelist_expand(const char *text, char ***names, size_t *n,
                    struct jp_error *err)
{
    char **out;
    size_t count = 0;

    if (!text || !is_sane(text))
        return error_set(err, "not a node list");
    /* 1.6 MB of address space, of which only used pages take memory. */
    out = calloc(JP_NODELIST_MAX, sizeof(*out));
    if (!out)
        return error_set(err, "out of memory");
    if (expand(text, out, JP_NODELIST_MAX, &count) < 0) {
        nodelist_free(out, count);
        return error_set(err, "\"%.60s\" cannot be parsed", text);
    }
    *names = out;
    *n = count;
    return 0;
}
