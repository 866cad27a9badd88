/* nsys_name.c - names: the rank and host in the name of an export, and what a
 * copy's kind is called. */
#include "plugins/nsys/nsys_read.h"

#include <stdio.h>
#include <string.h>

#include "common/num.h"
#include "common/quote.h"

/* The rank in "<job>.<step>.rank<N>.<host>", or -1. *host: what follows the
 * rank, "" for nothing. */
static int64_t parse_name(const char *path, const char **host)
{
    const char *slash = strrchr(path, '/');
    const char *at = strstr(slash ? slash : path, ".rank");
    size_t digits = at ? strspn(at + 5, "0123456789") : 0;
    char number[16];
    uint64_t value;

    *host = "";
    if (!digits || digits >= sizeof(number))
        return -1;
    snprintf(number, sizeof(number), "%.*s", (int) digits, at + 5);
    if (num_parse_u64(number, 0, UINT32_MAX, &value, NULL) < 0)
        return -1;
    at += 5 + digits;
    *host = *at == '.' ? at + 1 : "";
    return (int64_t) value;
}

int64_t nsys_name_read(const char *path, char *host, size_t len)
{
    static const char ending[] = ".sqlite";
    const char *from;
    int64_t rank = parse_name(path, &from);
    size_t n = strlen(from), end = sizeof(ending) - 1;
    char name[256];

    host[0] = '\0';
    /* without the ending */
    n -= n > end && !strcmp(from + n - end, ending) ? end : 0;
    if (n >= sizeof(name) || n >= len)
        return rank;
    snprintf(name, sizeof(name), "%.*s", (int) n, from);
    /* a file's name may have any bytes, and it is printed */
    clean_text(name, JP_CLEAN_ASCII, host, len);
    return rank;
}

/* Labels of nsys 2019 to 2023. Later releases have longer ones, so the number
 * decides and one label is used for all releases. */
const char *nsys_name_copy(int64_t kind, char *buf, size_t len)
{
    static const char *const labels[] = {"memcpy Unknown",
                                         "memcpy HtoD",
                                         "memcpy DtoH",
                                         "memcpy HtoA",
                                         "memcpy AtoH",
                                         "memcpy AtoA",
                                         "memcpy AtoD",
                                         "memcpy DtoA",
                                         "memcpy DtoD",
                                         "memcpy HtoH",
                                         "memcpy PtoP",
                                         "Unified Memory memcpy HtoD",
                                         "Unified Memory memcpy DtoH",
                                         "Unified Memory memcpy DtoD"};

    if (kind >= 0 && kind < (int64_t) (sizeof(labels) / sizeof(*labels)))
        snprintf(buf, len, "[CUDA %s]", labels[kind]);
    else
        snprintf(buf, len, "[CUDA memcpy kind %lld]", (long long) kind);
    return buf;
}
