/* livesend.c - send snapshots to node 0's agent, and take its answers. */
#include "orchestrator/live/livesend.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/live/livepacket.h"
#include "plugins/clock/clock_peers.h"
#include "plugins/clock/clock_stamp.h"

/* Heads of IPv6 and UDP, and what every way of IPv6 takes. */
#define WAY_HEADS 48
#define MTU_LEAST 1280
#define ANSWERS_AT_ONCE 64

struct livesend {
    struct livesend_place place;
    struct clock_seal seal;
    int fd;
    bool ipv6;
    struct clock_peer peer; /* node 0's agent, by its file */
    bool known;
    size_t at; /* of its addresses */
    struct sockaddr_storage to;
    socklen_t to_len;
    uint16_t chunk; /* what a packet may have of a snapshot */
    uint32_t epoch;
    uint32_t seq, answered; /* sent last, and the newest that was answered */
    bool open;              /* an answer is waited for */
    uint64_t open_ms;       /* since then, or since the last answer */
    bool proven;            /* an answer has come from this address */
    uint32_t lost_in_row;
    uint64_t next_ms; /* no try before */
    struct livesend_counts counts;
};

struct livesend *livesend_create(const struct livesend_place *place,
                                 struct jp_error *err)
{
    struct livesend *s = calloc(1, sizeof(*s));
    int fragments = IP_PMTUDISC_DONT;

    if (!s) {
        error_set(err, "out of memory");
        return NULL;
    }
    s->place = *place;
    livepacket_seal(&s->seal, place->clock->key, place->conf_hash);
    s->epoch = (uint32_t) time(NULL);
    s->fd = clock_socket_bind(&s->ipv6, NULL, err);
    if (s->fd < 0) {
        livesend_destroy(s);
        return NULL;
    }
    /* a way that is narrower than it seems loses nothing */
    setsockopt(s->fd, IPPROTO_IP, IP_MTU_DISCOVER, &fragments,
               sizeof(fragments));
    return s;
}

void livesend_destroy(struct livesend *s)
{
    if (!s)
        return;
    if (s->fd >= 0)
        close(s->fd);
    explicit_bzero(&s->seal, sizeof(s->seal));
    free(s);
}

const struct livesend_counts *livesend_counts(const struct livesend *s)
{
    return &s->counts;
}

bool livesend_works(const struct livesend *s)
{
    return s->proven && !s->lost_in_row;
}

/* --- where to ---------------------------------------------------------------
 */

/* Of a packet to that address, as the routes have it now. */
static int find_mtu(const struct livesend *s)
{
    int family = s->ipv6 ? AF_INET6 : AF_INET, mtu = 0;
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof(mtu);

    if (fd < 0)
        return MTU_LEAST;
    if (connect(fd, (const struct sockaddr *) &s->to, s->to_len) < 0 ||
        (getsockopt(fd, IPPROTO_IPV6, IPV6_MTU, &mtu, &len) < 0 &&
         getsockopt(fd, IPPROTO_IP, IP_MTU, &mtu, &len) < 0))
        mtu = MTU_LEAST;
    close(fd);
    return mtu;
}

static void use_address(struct livesend *s)
{
    size_t n = s->peer.n_addresses;
    int mtu;

    s->proven = s->known = false;
    for (size_t i = 0; i < n && !s->known; i++, s->at++)
        s->known = clock_peer_address(s->peer.addresses[s->at % n].address,
                                      s->peer.port, s->ipv6, &s->to,
                                      &s->to_len);
    if (!s->known)
        return;
    mtu = find_mtu(s) - WAY_HEADS - LIVEPACKET_HEAD;
    s->chunk = mtu >= LIVE_SNAP_BYTES    ? LIVE_SNAP_BYTES
               : mtu <= LIVEPACKET_LEAST ? LIVEPACKET_LEAST
                                         : (uint16_t) mtu;
}

/* Reads where node 0's agent is, and takes another of its addresses where the
 * last one did not answer. */
static void find_peer(struct livesend *s)
{
    char *path =
        fileio_path("%s/" LIVE_NODES "/" LIVEPACKET_PEER, s->place.dir);
    struct clock_peer told;

    memset(&told, 0, sizeof(told));
    if (path && clock_peer_read_file(path, &told, NULL) == 0 &&
        (!s->known || memcmp(&told, &s->peer, sizeof(told)) != 0)) {
        s->peer = told;
        s->at = 0;
        use_address(s);
    } else if (s->known) {
        use_address(s);
    }
    free(path);
}

/* --- sending ----------------------------------------------------------------
 */

static uint64_t pause_ms(const struct livesend *s)
{
    uint64_t ms = LIVESEND_FIRST_MS;

    if (s->lost_in_row < LIVESEND_PATIENCE)
        return 0;
    for (uint32_t i = LIVESEND_PATIENCE;
         i < s->lost_in_row && ms < LIVESEND_RAREST_MS; i++)
        ms *= 2;
    return ms < LIVESEND_RAREST_MS ? ms : LIVESEND_RAREST_MS;
}

static void lose(struct livesend *s, uint64_t now_ms)
{
    s->open = false;
    s->counts.lost++;
    s->lost_in_row += s->lost_in_row < UINT32_MAX;
    s->next_ms = now_ms + pause_ms(s);
}

bool livesend_send(struct livesend *s, const uint8_t *bytes, size_t n,
                   uint32_t seq, uint64_t now_ms)
{
    struct livepacket p = {.type = LIVEPACKET_PART,
                           .total = (uint16_t) n,
                           .seq = seq,
                           .epoch = s->epoch,
                           .nodeid = s->place.nodeid,
                           .component = s->place.component};
    uint8_t packet[LIVEPACKET_BYTES];
    size_t len;

    if (now_ms < s->next_ms ||
        (s->open && s->lost_in_row >= LIVESEND_PATIENCE) ||
        n < LIVE_HEAD_BYTES || n > LIVE_SNAP_BYTES)
        return false;
    if (!s->known || s->lost_in_row)
        find_peer(s);
    if (!s->known)
        return false;
    p.chunk = s->chunk < n ? s->chunk : (uint16_t) n;
    if (!s->open)
        s->open_ms = now_ms;
    s->open = true;
    s->seq = seq;
    s->counts.sent++;
    for (size_t at = 0; at < n; at += p.chunk, p.part++) {
        p.data = bytes + at;
        p.n = n - at < p.chunk ? n - at : p.chunk;
        len = livepacket_write(&p, &s->seal, packet);
        if (sendto(s->fd, packet, len, MSG_DONTWAIT | MSG_NOSIGNAL,
                   (const struct sockaddr *) &s->to,
                   s->to_len) != (ssize_t) len) {
            lose(s, now_ms);
            return false;
        }
    }
    return true;
}

/* --- answers ----------------------------------------------------------------
 */

static void take(struct livesend *s, const uint8_t *bytes, size_t len,
                 uint64_t now_ms)
{
    struct livepacket p;

    if (livepacket_read(bytes, len, &s->seal, &p) < 0 ||
        p.type != LIVEPACKET_TAKEN || p.epoch != s->epoch ||
        p.nodeid != s->place.nodeid || p.component != s->place.component) {
        s->counts.refused++;
        return;
    }
    if (p.seq <= s->answered || p.seq > s->seq) { /* again, or never sent */
        s->counts.refused++;
        return;
    }
    s->answered = p.seq;
    s->open &= p.seq < s->seq;
    s->open_ms = now_ms;
    s->counts.taken++;
    s->proven = true;
    s->lost_in_row = 0;
    s->next_ms = 0;
}

bool livesend_look(struct livesend *s, uint64_t now_ms)
{
    uint8_t bytes[LIVEPACKET_HEAD + 1]; /* one more: it is too long */

    for (int i = 0; i < ANSWERS_AT_ONCE; i++) {
        ssize_t n = recv(s->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

        if (n < 0)
            break;
        take(s, bytes, (size_t) n, now_ms);
    }
    if (!s->open || now_ms - s->open_ms < LIVESEND_WAIT_MS)
        return false;
    lose(s, now_ms);
    return true;
}
