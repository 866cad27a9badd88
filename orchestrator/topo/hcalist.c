/* hcalist.c - which adapters and ports a value of NCCL_IB_HCA leaves. */
#include "orchestrator/topo/hcalist.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/num.h"

#define MAX_ENTRIES 32 /* NCCL's */
#define ALL_PORTS UINT32_MAX

/* "mlx5_0:1:0", of which the port is looked at. */
static uint32_t ports_of(const char *entry, size_t len)
{
    const char *colon = memchr(entry, ':', len);
    size_t n;
    char text[16];
    uint64_t port;

    if (!colon)
        return ALL_PORTS;
    n = len - (size_t) (colon + 1 - entry);
    if (memchr(colon + 1, ':', n))
        n = strcspn(colon + 1, ":");
    if (!n || (n == 2 && strncmp(colon + 1, "-1", 2) == 0))
        return ALL_PORTS;
    if (n >= sizeof(text))
        return 0;
    snprintf(text, sizeof(text), "%.*s", (int) n, colon + 1);
    if (num_parse_u64(text, 1, 32, &port, NULL) < 0)
        return 0;
    return 1u << (port - 1);
}

static bool is_named(const char *entry, size_t len, const char *name,
                     bool exact)
{
    return strncmp(name, entry, len) == 0 && (!exact || !name[len]);
}

uint32_t hcalist_ports(const char *value, const char *name)
{
    bool all_but = *value == '^', exact;
    uint32_t ports = 0;
    int n = 0;

    value += all_but;
    exact = *value == '=';
    value += exact;
    for (size_t len; *value && n < MAX_ENTRIES;
         value += len + (value[len] != 0)) {
        size_t name_len = strcspn(value, ":,");

        len = strcspn(value, ",");
        if (!name_len)
            continue;
        n++;
        if (is_named(value, name_len, name, exact))
            ports |= ports_of(value, len);
    }
    if (!n)
        ports = ALL_PORTS;
    return all_but ? ~ports : ports;
}
