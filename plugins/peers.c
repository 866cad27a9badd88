/* peers.c - how agents of a step's nodes meet, and the seals of their packets.
 *
 * peer_iface_find says which addresses an agent offers, peer_bind_all opens
 * sockets at them, and the peer file passes them on. */
#include "plugins/peers.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/jsonline.h"
#include "common/quote.h"

/* --- SipHash ---------------------------------------------------------------
 */

/* Rotates left. */
static uint64_t turn(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

/* SipHash's round function, n times. */
static void rounds(uint64_t v[4], int n)
{
    while (n--) {
        v[0] += v[1];
        v[1] = turn(v[1], 13) ^ v[0];
        v[0] = turn(v[0], 32);
        v[2] += v[3];
        v[3] = turn(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = turn(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = turn(v[1], 17) ^ v[2];
        v[2] = turn(v[2], 32);
    }
}

/* The little-endian number of n bytes, at most 8. */
static uint64_t word(const uint8_t *p, size_t n)
{
    uint64_t w = 0;

    if (n == sizeof(w)) {
        memcpy(&w, p, sizeof(w));
        return le64toh(w);
    }
    for (size_t i = 0; i < n; i++)
        w |= (uint64_t) p[i] << (8 * i);
    return w;
}

/* Two rounds a word: the 2 of SipHash-2-4. */
static void absorb(uint64_t v[4], uint64_t m)
{
    v[3] ^= m;
    rounds(v, 2);
    v[0] ^= m;
}

void peer_siphash(const uint8_t key[16], const uint8_t *bytes, size_t len,
                  int wide, uint64_t out[2])
{
    uint64_t k0 = word(key, 8), k1 = word(key + 8, 8);
    /* "somepseudorandomlygeneratedbytes", as in the paper; 0xee marks the
     * variant with 128 bits */
    uint64_t v[4] = {
        k0 ^ 0x736f6d6570736575u,
        k1 ^ 0x646f72616e646f6du ^ (wide ? 0xee : 0),
        k0 ^ 0x6c7967656e657261u,
        k1 ^ 0x7465646279746573u,
    };
    size_t whole = len / 8 * 8;

    for (size_t i = 0; i < whole; i += 8)
        absorb(v, word(bytes + i, 8));
    /* the last word holds what is left and the length, modulo 256 */
    absorb(v, (uint64_t) len << 56 | word(bytes + whole, len - whole));
    v[2] ^= wide ? 0xee : 0xff;
    rounds(v, 4);
    out[0] = v[0] ^ v[1] ^ v[2] ^ v[3];
    out[1] = 0;
    if (wide) {
        v[1] ^= 0xdd;
        rounds(v, 4);
        out[1] = v[0] ^ v[1] ^ v[2] ^ v[3];
    }
}

void peer_seal_init(struct peer_seal *seal, const uint8_t key[MODULE_KEY_BYTES],
                    uint64_t job, const char *step)
{
    uint8_t text[128] = {0};
    uint64_t hash[2];
    /* the length of the text that is hashed */
    int len;

    /* The 32 bytes of the step's key: the first 16 are the hash's key, the
     * others are hashed with job and step. */
    memcpy(text, key + 16, MODULE_KEY_BYTES - 16);
    len = snprintf((char *) text + 16, sizeof(text) - 16, "%llu.%.80s",
                   (unsigned long long) job, step ? step : "");
    peer_siphash(key, text, 16 + (size_t) len, 1, hash);
    for (int i = 0; i < 2; i++) {
        hash[i] = htobe64(hash[i]);
        memcpy(seal->key + 8 * i, &hash[i], sizeof(hash[i]));
    }
}

/* Bytes of a peer file: eight addresses of 46 characters and the rest fit. */
#define FILE_MAX 4096

/* --- the file -------------------------------------------------------------
 */

int peer_write_file(const char *path, const struct peer_place *peer,
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

int peer_parse(const char *text, struct peer_place *peer, struct jp_error *err)
{
    struct peer_place read = {0};
    int64_t node, epoch, port;
    struct in6_addr any;
    char key[16];

    if (!jsonline_int(text, "node_id", 0, PEER_NODES_MAX, &node) ||
        !jsonline_int(text, "epoch", 0, UINT32_MAX, &epoch) ||
        !jsonline_int(text, "port", 1, 65535, &port))
        return error_set(err, "not a message of a peer");
    read.node_id = (uint32_t) node;
    read.epoch = (uint32_t) epoch;
    read.port = (uint16_t) port;
    for (size_t i = 0; i < PEER_ADDRESSES; i++) {
        char *address = read.addresses[read.n_addresses].address;

        snprintf(key, sizeof(key), "addr%zu", i);
        if (jsonline_text(text, key, address, PEER_ADDRESS_LEN))
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

int peer_read_file(const char *path, struct peer_place *peer,
                   struct jp_error *err)
{
    char *text = NULL;
    int rc = -1;

    if (fileio_read(path, false, FILE_MAX, &text, NULL, err) == 0) {
        rc = peer_parse(text, peer, err);
        if (rc < 0)
            error_wrap(err, "%s", path);
    }
    free(text);
    return rc;
}

bool peer_address(const char *address, uint16_t port,
                  struct sockaddr_storage *out, socklen_t *len)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
                              .sin6_port = htons(port)};

    memset(out, 0, sizeof(*out));
    if (inet_pton(AF_INET, address, &v4.sin_addr) == 1) {
        memcpy(out, &v4, sizeof(v4));
        *len = sizeof(v4);
        return true;
    }
    if (inet_pton(AF_INET6, address, &v6.sin6_addr) != 1)
        return false;
    memcpy(out, &v6, sizeof(v6));
    *len = sizeof(v6);
    return true;
}

/* --- interfaces by NCCL's rules ------------------------------------------ */

/* Addresses of this machine that are looked at. */
#define INTERFACES_MAX 256

bool peer_iface_matches(const char *list, const char *name)
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
static size_t move_matching(const char *list, struct peer_iface *all, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        struct peer_iface one = all[i];

        if (!peer_iface_matches(list, one.name))
            continue;
        memmove(&all[kept + 1], &all[kept], (i - kept) * sizeof(*all));
        all[kept++] = one;
    }
    return kept;
}

size_t peer_iface_choose(const char *list, struct peer_iface *all, size_t n)
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
static bool take_address(const struct ifaddrs *at, struct peer_iface *one)
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

size_t peer_iface_find(const char *list,
                       struct peer_iface found[PEER_ADDRESSES],
                       struct jp_error *err)
{
    struct peer_iface all[INTERFACES_MAX];
    struct ifaddrs *first;
    size_t n = 0;

    if (getifaddrs(&first) < 0) {
        error_set(err, "the interfaces cannot be listed");
        return 0;
    }
    for (const struct ifaddrs *at = first; at && n < INTERFACES_MAX;
         at = at->ifa_next)
        n += take_address(at, &all[n]);
    freeifaddrs(first);
    n = peer_iface_choose(list, all, n);
    if (n > PEER_ADDRESSES)
        n = PEER_ADDRESSES;
    if (!n)
        error_set(err, "no interface that is up is one of \"%s\"", QUOTE(list));
    memcpy(found, all, n * sizeof(*found));
    return n;
}

/* --- sockets -------------------------------------------------------------- */

/* Another process may have the first address's port at the next address. */
#define PORTS_TRIED 16

static uint16_t port_of(int fd)
{
    struct sockaddr_storage own = {0};
    socklen_t len = sizeof(own);

    if (getsockname(fd, (struct sockaddr *) &own, &len) < 0)
        return 0;
    /* sin_port and sin6_port are at the same offset */
    return ntohs(((const struct sockaddr_in *) (const void *) &own)->sin_port);
}

/* A socket at one address; port 0: any. -1: errno. */
static int bind_one(const char *address, uint16_t port)
{
    struct sockaddr_storage at;
    socklen_t len;
    int fd, only = 1, why;

    if (!peer_address(address, port, &at, &len)) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    fd = socket(at.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (at.ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
    if (bind(fd, (const struct sockaddr *) &at, len) == 0)
        return fd;
    why = errno;
    close(fd);
    errno = why;
    return -1;
}

/* Binds what can be bound at one port. *taken: an address has that port in use,
 * so another port may do. Returns the number of sockets. */
static size_t bind_each(struct peer_iface *addresses, size_t n, int *fds,
                        uint16_t *port, bool *taken, struct jp_error *err)
{
    size_t kept = 0;

    *port = 0;
    *taken = false;
    for (size_t i = 0; i < n && !*taken; i++) {
        int fd = bind_one(addresses[i].address, *port);

        if (fd < 0) {
            *taken = errno == EADDRINUSE && *port;
            if (!*taken && !*err->text)
                error_set(err, "no socket at %s: %s", addresses[i].address,
                          strerror(errno));
            continue;
        }
        if (!*port)
            *port = port_of(fd);
        addresses[kept] = addresses[i];
        fds[kept++] = fd;
    }
    return kept;
}

size_t peer_bind_all(struct peer_iface *addresses, size_t n, int *fds,
                     uint16_t *port, struct jp_error *err)
{
    struct peer_iface list[PEER_ADDRESSES];
    struct jp_error why;
    size_t kept = 0;
    bool taken = true;

    for (int i = 0; i < PORTS_TRIED && taken; i++) {
        memcpy(list, addresses, n * sizeof(*list));
        why.text[0] = '\0';
        kept = bind_each(list, n, fds, port, &taken, &why);
        for (size_t k = 0; taken && k < kept; k++)
            close(fds[k]);
    }
    if (taken)
        kept = 0;
    if (taken && !*why.text)
        error_set(&why, "no port is free at all of this node's addresses");
    memcpy(addresses, list, kept * sizeof(*list)); /* in the same order */
    error_set(err, "%s", why.text);
    return kept;
}

/* The address from which the kernel would send to that one. connect() on a UDP
 * socket only looks up the route; it sends nothing. false: there is no
 * route. */
static bool route_from(const struct sockaddr_storage *to, socklen_t to_len,
                       char text[PEER_ADDRESS_LEN])
{
    int fd = socket(to->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_storage own = {0};
    socklen_t len = sizeof(own);
    const void *address;
    bool found;

    if (fd < 0)
        return false;
    found = connect(fd, (const struct sockaddr *) to, to_len) == 0 &&
            getsockname(fd, (struct sockaddr *) &own, &len) == 0;
    close(fd);
    address = own.ss_family == AF_INET
                  ? (const void *) &((const struct sockaddr_in *) (void *) &own)
                        ->sin_addr
                  : &((const struct sockaddr_in6 *) (void *) &own)->sin6_addr;
    return found && inet_ntop(own.ss_family, address, text, PEER_ADDRESS_LEN);
}

size_t peer_bind_choose(const struct peer_iface *addresses, size_t n,
                        const struct sockaddr_storage *to, socklen_t to_len)
{
    char from[PEER_ADDRESS_LEN] = "";
    bool has_route = route_from(to, to_len, from);

    for (size_t i = 0; i < n && has_route; i++)
        if (strcmp(addresses[i].address, from) == 0)
            return i;
    for (size_t i = 0; i < n; i++)
        if ((strchr(addresses[i].address, ':') != NULL) ==
            (to->ss_family == AF_INET6))
            return i;
    return n;
}
