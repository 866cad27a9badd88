/* clock_peers.c - the graph of neighbours, the files by which agents meet, and
 * the choice of interfaces.
 *
 * Three parts, used one after the other: clock_peers_of says which nodes
 * compare their clocks, clock_iface_find which addresses an agent offers, and
 * the peer file passes these on. */
#include "plugins/clock/clock_peers.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "common/quote.h"
#include "plugins/clock/clock_packet.h"
#include "plugins/clock/clock_read.h"

/* Each stride gives two neighbours: i + stride and i - stride. */
#define STRIDES (CLOCK_DEGREE / 2)
/* Bytes of a peer file: eight addresses of 46 characters and the rest fit. */
#define FILE_MAX 4096

/* --- the graph ------------------------------------------------------------
 */

/* 1, the cube root r of n rounded down, and r^2. Every node is then within
 * about 1.5 n^(1/3) steps of any other. Whole numbers only: all nodes must
 * compute the same graph. */
static size_t strides(uint32_t n, uint32_t out[STRIDES])
{
    uint32_t root = 1;

    while ((root + 1) * (root + 1) * (root + 1) <= n)
        root++;
    out[0] = 1;
    out[1] = root;
    out[2] = root * root;
    return STRIDES;
}

/* Inserts into the ascending list unless it is there: strides of a small n may
 * lead to the same node. Returns the new length. */
static size_t add(uint32_t *out, size_t n, uint32_t node)
{
    size_t at = n;

    while (at && out[at - 1] > node)
        at--;
    if (at && out[at - 1] == node)
        return n;
    memmove(&out[at + 1], &out[at], (n - at) * sizeof(*out));
    out[at] = node;
    return n + 1;
}

/* The neighbours of node i of n, ascending. Returns their number. */
static size_t neighbours(uint32_t n, uint32_t i, uint32_t out[CLOCK_DEGREE])
{
    uint32_t by[STRIDES];
    size_t found = 0, n_by = 0;

    if (n <= CLOCK_DEGREE + 1) {
        for (uint32_t j = 0; j < n; j++)
            if (j != i)
                out[found++] = j;
        return found;
    }
    n_by = strides(n, by);
    for (size_t k = 0; k < n_by; k++) {
        found = add(out, found, (i + by[k]) % n);
        found = add(out, found, (i + n - by[k]) % n);
    }
    return found;
}

size_t clock_peers_of(uint32_t n, uint32_t i, uint32_t out[CLOCK_DEGREE],
                      bool asks[CLOCK_DEGREE])
{
    size_t found = neighbours(n, i, out);

    for (size_t k = 0; k < found; k++)
        /* Both nodes must agree. By parity of the sum, each node asks about
         * half of its neighbours, wherever it stands in the list. */
        asks[k] = (i + out[k]) % 2 ? i > out[k] : i < out[k];
    return found;
}

/* --- the file -------------------------------------------------------------
 */

int clock_peer_write_file(const char *path, const struct clock_peer *peer,
                          struct jp_error *err)
{
    char text[FILE_MAX];
    int len;

    len = snprintf(text, sizeof(text),
                   "{\"v\":1,\"type\":\"peer\",\"node_id\":%u,\"epoch\":%u,"
                   "\"port\":%u",
                   peer->node_id, peer->epoch, (unsigned) peer->port);
    for (size_t i = 0; i < peer->n_addresses; i++)
        len += snprintf(text + len, sizeof(text) - (size_t) len,
                        ",\"addr%zu\":\"%s\"", i, peer->addresses[i].address);
    len += snprintf(text + len, sizeof(text) - (size_t) len, "}\n");
    return fileio_write(path, text, (size_t) len, err);
}

int clock_peer_parse(const char *text, struct clock_peer *peer,
                     struct jp_error *err)
{
    struct clock_peer read = {0};
    int64_t node, epoch, port;
    struct in6_addr any;
    char key[16];

    if (!clock_field_int(text, "node_id", 0, CLOCK_NODES_MAX, &node) ||
        !clock_field_int(text, "epoch", 0, UINT32_MAX, &epoch) ||
        !clock_field_int(text, "port", 1, 65535, &port))
        return error_set(err, "not a message of a peer");
    read.node_id = (uint32_t) node;
    read.epoch = (uint32_t) epoch;
    read.port = (uint16_t) port;
    for (size_t i = 0; i < CLOCK_ADDRESSES; i++) {
        char *address = read.addresses[read.n_addresses].address;

        snprintf(key, sizeof(key), "addr%zu", i);
        if (clock_field_text(text, key, address, CLOCK_ADDRESS_LEN))
            /* literals only: a name would have to be resolved, which may
             * block */
            read.n_addresses += inet_pton(AF_INET, address, &any) == 1 ||
                                inet_pton(AF_INET6, address, &any) == 1;
    }
    if (!read.n_addresses)
        return error_set(err, "no address of a peer");
    *peer = read;
    return 0;
}

int clock_peer_read_file(const char *path, struct clock_peer *peer,
                         struct jp_error *err)
{
    char *text = NULL;
    int rc = -1;

    if (fileio_read(path, false, FILE_MAX, &text, NULL, err) == 0) {
        rc = clock_peer_parse(text, peer, err);
        if (rc < 0)
            error_wrap(err, "%s", path);
    }
    free(text);
    return rc;
}

bool clock_peer_address(const char *address, uint16_t port, bool ipv6,
                        struct sockaddr_storage *out, socklen_t *len)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
                              .sin6_port = htons(port)};
    char mapped[CLOCK_ADDRESS_LEN + 8];
    /* ::ffff:a.b.c.d is how a socket of IPv6 addresses IPv4 */
    bool is_v4 = inet_pton(AF_INET, address, &v4.sin_addr) == 1;

    memset(out, 0, sizeof(*out));
    if (!ipv6) {
        memcpy(out, &v4, sizeof(v4));
        *len = sizeof(v4);
        return is_v4;
    }
    snprintf(mapped, sizeof(mapped), "%s%s", is_v4 ? "::ffff:" : "", address);
    if (inet_pton(AF_INET6, mapped, &v6.sin6_addr) != 1)
        return false;
    memcpy(out, &v6, sizeof(v6));
    *len = sizeof(v6);
    return true;
}

/* --- interfaces by NCCL's rules ------------------------------------------ */

/* Addresses of this machine that are looked at. */
#define INTERFACES_MAX 256

bool clock_iface_matches(const char *list, const char *name)
{
    bool others = *list == '^', whole, found = false;

    list += others;
    whole = *list == '=';
    list += whole;
    while (*list && !found) {
        size_t len = strcspn(list, ",");
        /* NCCL allows a port after the name */
        size_t part = strcspn(list, ":,");

        found = part && strncmp(list, name, part) == 0 &&
                (!whole || name[part] == '\0');
        list += len + (list[len] == ',');
    }
    return found != others;
}

/* Moves the matching interfaces to the front, keeping their order. Returns
 * their number. */
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
    /* tried in this order; the first that matches anything decides */
    static const char *const defaults[] = {"^docker,lo,virbr", "docker", "lo",
                                           "virbr"};
    size_t kept = 0;

    if (list && *list)
        return move_matching(list, all, n);
    for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults) && !kept; i++)
        kept = move_matching(defaults[i], all, n);
    return kept;
}

/* Takes an address of an interface that is up; false: not usable. Link-local
 * addresses are left out, because they need an interface's number to be
 * reached. */
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
