/* trace_begins.c - tell a trace by its first bytes. */
#include <string.h>

#include "plugins/nccl_example/trace_lex.h"

static size_t skip_blanks(const char *bytes, size_t i, size_t n)
{
    while (i < n && bytes[i] && strchr(" \t\r\n", bytes[i]))
        i++;
    return i;
}

bool trace_lex_begins(const char *bytes, size_t n)
{
    static const char *const first[] = {"\"name\"", "\"cat\"",  "\"ph\"",
                                        "\"ts\"",   "\"pid\"",  "\"tid\"",
                                        "\"id\"",   "\"args\"", "}"};
    size_t i = skip_blanks(bytes, 0, n);

    if (i == n || bytes[i] != '[')
        return false;
    i = skip_blanks(bytes, i + 1, n);
    if (i == n)
        return true;
    if (bytes[i] != '{')
        return false;
    i = skip_blanks(bytes, i + 1, n);
    for (size_t k = 0; k < sizeof(first) / sizeof(*first); k++) {
        size_t len = strlen(first[k]);

        if (!memcmp(bytes + i, first[k], n - i < len ? n - i : len))
            return true;
    }
    return false;
}
