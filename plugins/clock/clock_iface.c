/* clock_iface.c - interfaces by NCCL's rules. */
#include "plugins/clock/clock_iface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "common/quote.h"

#define INTERFACES_MAX 256

bool clock_iface_matches(const char *list, const char *name)
{
    bool others = *list == '^', whole, found = false;

    list += others;
    whole = *list == '=';
    list += whole;
    while (*list && !found) {
        size_t len = strcspn(list, ",");
        /* NCCL allows a port behind the name */
        size_t part = strcspn(list, ":,");

        found = part && strncmp(list, name, part) == 0 &&
                (!whole || name[part] == '\0');
        list += len + (list[len] == ',');
    }
    return found != others;
}

static size_t move_matching(const char *list, struct clock_iface *all, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        struct clock_iface one = all[i];

        if (!clock_iface_matches(list, one.name))
            continue;
        memmove(&all[kept + 1], &all[kept], (i - kept) * sizeof(*all));
        all[kept++] = one;
    }
    return kept;
}

size_t clock_iface_choose(const char *list, struct clock_iface *all, size_t n)
{
    static const char *const defaults[] = {"^docker,lo,virbr", "docker", "lo",
                                           "virbr"};
    size_t kept = 0;

    if (list && *list)
        return move_matching(list, all, n);
    for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults) && !kept; i++)
        kept = move_matching(defaults[i], all, n);
    return kept;
}

static bool take(const struct ifaddrs *at, struct clock_iface *one)
{
    const void *address = NULL;
    sa_family_t family;

    if (!at->ifa_addr || !(at->ifa_flags & IFF_UP))
        return false;
    family = at->ifa_addr->sa_family;
    if (family == AF_INET) {
        address = &((const struct sockaddr_in *) (const void *) at->ifa_addr)
                       ->sin_addr;
    } else if (family == AF_INET6) {
        address = &((const struct sockaddr_in6 *) (const void *) at->ifa_addr)
                       ->sin6_addr;
        if (IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *) address))
            return false;
    }
    if (!address ||
        !inet_ntop(family, address, one->address, sizeof(one->address)))
        return false;
    snprintf(one->name, sizeof(one->name), "%.15s", at->ifa_name);
    return true;
}

size_t clock_iface_find(const char *list,
                        struct clock_iface found[CLOCK_ADDRESSES],
                        struct jp_error *err)
{
    struct clock_iface all[INTERFACES_MAX];
    struct ifaddrs *first;
    size_t n = 0;

    if (getifaddrs(&first) < 0) {
        error_set(err, "the interfaces cannot be listed");
        return 0;
    }
    for (const struct ifaddrs *at = first; at && n < INTERFACES_MAX;
         at = at->ifa_next)
        n += take(at, &all[n]);
    freeifaddrs(first);
    n = clock_iface_choose(list, all, n);
    if (n > CLOCK_ADDRESSES)
        n = CLOCK_ADDRESSES;
    if (!n)
        error_set(err, "no interface that is up is one of \"%s\"", QUOTE(list));
    memcpy(found, all, n * sizeof(*found));
    return n;
}
