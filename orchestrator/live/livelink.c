/* livelink.c - the exchange of snapshots by UDP: the end of a node, and that of
 * node 0's agent.
 *
 * struct livesend is a node's end: find_peer reads the agent's address,
 * send_snapshot sends a snapshot in parts, take_answers waits for answers and
 * declares losses. struct livehear is the agent's end: take_packets receives,
 * take_packet assembles a node's parts, answer confirms. livepacket.c writes
 * and reads the packets. */
#include "orchestrator/live/livelink.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/hash.h"
#include "orchestrator/collect/stepdir.h"
#include "plugins/peers.h"

/* Headers of IPv6 and UDP, and the MTU that every IPv6 route supports. */
#define WAY_HEADS 48
#define MTU_LEAST 1280
/* Answers that one look accepts at most; a flood must not hold the agent. */
#define ANSWERS_AT_ONCE 64

/* The end of a node. */
struct livesend {
    struct livelink_place place;
    struct peer_seal seal;
    /* this node's own addresses, and the socket at the one that is nearest to
     * node 0's agent; -1: none yet */
    struct peer_place own;
    size_t from;
    int fd;
    struct peer_place peer; /* address of node 0's agent, from its file */
    bool known;             /* `to` is valid */
    size_t at;              /* index of the address in use */
    struct sockaddr_storage to;
    socklen_t to_len;
    uint16_t chunk; /* bytes of a snapshot that fit into one packet */
    uint32_t epoch; /* start of this agent; a restarted agent counts seq from 1
                       again */
    uint32_t seq, answered; /* sent last, and the newest that was answered */
    bool open;              /* an answer is due */
    uint64_t open_ms;       /* since when, or since the last answer */
    uint32_t lost_in_row;
    uint64_t next_ms; /* do not send before this time */
    struct livelink_counts counts;
    struct jp_error trouble; /* why there is no socket; "": there is one */
};

static void send_destroy(struct livesend *s)
{
    if (!s)
        return;
    if (s->fd >= 0)
        close(s->fd);
    explicit_bzero(&s->seal, sizeof(s->seal));
    free(s);
}

static struct livesend *send_create(const struct livelink_place *place,
                                    struct jp_error *err)
{
    struct livesend *s = calloc(1, sizeof(*s));

    if (!s) {
        error_set(err, "out of memory");
        return NULL;
    }
    s->place = *place;
    livepacket_seal(&s->seal, place->net->key, place->conf_hash);
    s->epoch = (uint32_t) time(NULL);
    s->fd = -1;
    s->own.n_addresses =
        peer_iface_find(place->net->interfaces, s->own.addresses, err);
    if (s->own.n_addresses)
        return s;
    send_destroy(s);
    return NULL;
}

/* --- the way to node 0 --------------------------------------------------- */

/* Returns the MTU of the route to the agent's address, as the kernel knows it
 * now. connect() on an unbound UDP socket only looks up the route; it sends
 * nothing. */
static int find_mtu(const struct livesend *s)
{
    int fd = socket(s->to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), mtu = 0;
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

/* Opens a socket at this node's address that is nearest to s->to, unless it is
 * there. A socket at no address in particular would take packets from any
 * network. false: there is none; s->trouble says why. */
static bool open_socket(struct livesend *s)
{
    size_t n = s->own.n_addresses;
    size_t from = peer_bind_choose(s->own.addresses, n, &s->to, s->to_len);
    struct peer_iface one;
    uint16_t port;
    int fragments = IP_PMTUDISC_DONT;

    if (from == n)
        return false;
    if (s->fd >= 0 && from == s->from)
        return true;
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    s->from = from;
    one = s->own.addresses[from];
    if (!peer_bind_all(&one, 1, &s->fd, &port, &s->trouble))
        return false;
    /* Allow fragmentation, so that a route with a smaller MTU than the socket
     * knows does not lose packets. */
    setsockopt(s->fd, IPPROTO_IP, IP_MTU_DISCOVER, &fragments,
               sizeof(fragments));
    return true;
}

/* Uses the next address of the peer for which there is a socket. */
static void use_address(struct livesend *s)
{
    size_t n = s->peer.n_addresses;
    int mtu;

    s->counts.works = s->known = false;
    for (size_t i = 0; i < n && !s->known; i++, s->at++)
        s->known = peer_address(s->peer.addresses[s->at % n].address,
                                s->peer.port, &s->to, &s->to_len) &&
                   open_socket(s);
    if (!s->known)
        return;
    mtu = find_mtu(s) - WAY_HEADS - LIVEPACKET_HEAD;
    s->chunk = mtu >= LIVEPACKET_MOST    ? LIVEPACKET_MOST
               : mtu <= LIVEPACKET_LEAST ? LIVEPACKET_LEAST
                                         : (uint16_t) mtu;
}

/* Reads the agent's address. If it has not changed, takes the next of its
 * addresses, because the last one did not answer. */
static void find_peer(struct livesend *s)
{
    char *path =
        text_format("%s/" LIVE_NODES "/" LIVEPACKET_PEER, s->place.dir);
    struct peer_place told;

    memset(&told, 0, sizeof(told));
    if (path && peer_read_file(path, &told, NULL) == 0 &&
        (!s->known || memcmp(&told, &s->peer, sizeof(told)) != 0)) {
        s->peer = told;
        s->at = 0;
        use_address(s);
    } else if (s->known) {
        use_address(s);
    }
    free(path);
}

/* --- sending ------------------------------------------------------------- */

/* Pause after the losses in a row: 0 for the first ones, then doubling. */
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
    s->open = s->counts.works = false;
    s->counts.lost++;
    s->lost_in_row += s->lost_in_row < UINT32_MAX;
    s->next_ms = now_ms + pause_ms(s);
}

static bool send_snapshot(struct livesend *s, const uint8_t *bytes, size_t n,
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

    /* It is too early, or answers are missing after losses, or the snapshot
     * does not fit. */
    if (now_ms < s->next_ms ||
        (s->open && s->lost_in_row >= LIVESEND_PATIENCE) ||
        n < LIVE_HEAD_BYTES || n > LIVEPACKET_MOST)
        return false;
    if (!s->known || s->lost_in_row)
        find_peer(s);
    if (!s->known)
        return false;
    /* A snapshot that fits goes in one part of its own length. */
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

/* --- answers ------------------------------------------------------------- */

static void take_answer(struct livesend *s, const uint8_t *bytes, size_t len,
                        uint64_t now_ms)
{
    struct livepacket p;

    if (livepacket_read(bytes, len, &s->seal, &p) < 0 ||
        p.type != LIVEPACKET_TAKEN || p.epoch != s->epoch ||
        p.nodeid != s->place.nodeid || p.component != s->place.component) {
        s->counts.refused++;
        return;
    }
    if (p.seq <= s->answered || p.seq > s->seq) { /* duplicate, or never sent */
        s->counts.refused++;
        return;
    }
    s->answered = p.seq;
    /* An older snapshot's answer leaves the newer one open. */
    s->open &= p.seq < s->seq;
    s->open_ms = now_ms;
    s->counts.taken++;
    s->counts.works = true;
    s->lost_in_row = 0;
    s->next_ms = 0;
}

static bool take_answers(struct livesend *s, uint64_t now_ms)
{
    /* one byte more shows that it is too long */
    uint8_t bytes[LIVEPACKET_HEAD + 1];

    for (int i = 0; i < ANSWERS_AT_ONCE && s->fd >= 0; i++) {
        ssize_t n = recv(s->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

        if (n < 0)
            break;
        take_answer(s, bytes, (size_t) n, now_ms);
    }
    if (!s->open || now_ms - s->open_ms < LIVESEND_WAIT_MS)
        return false;
    lose(s, now_ms);
    return true;
}

/* --- the end of node 0's agent: receive parts, and answer ---------------- */

#define BATCH 16
/* Size of the socket's buffer: as much as the kernel usually grants. It holds
 * the snapshots of some hundred nodes. */
#define ROOM_BYTES (4 << 20)
#define NODES_MAX 65536
/* From RUSH good packets in a look on, looks follow quickly; below CALM they
 * stop. */
#define RUSH 16
#define CALM 4

/* A node that sends. */
struct sender {
    uint32_t nodeid;
    uint64_t component;
    uint32_t epoch, seq; /* of the last snapshot that was taken */
    /* the snapshot that is being assembled */
    struct {
        uint32_t epoch, seq;
        uint16_t total, chunk;
        uint16_t have; /* one bit per part */
        uint8_t *bytes;
    } open;
    size_t slot; /* kept for place.take */
};
_Static_assert(LIVEPACKET_PARTS <= 16, "a bit a part");

struct arrival {
    /* one byte more shows that it is too long */
    uint8_t bytes[LIVEPACKET_BYTES + 1];
    struct sockaddr_storage from;
};

struct livehear {
    struct livelink_place place;
    struct peer_seal seal;
    /* one at each of the announced addresses */
    int fds[PEER_ADDRESSES];
    size_t n_fds;
    int timer; /* wakes the agent for a look during a rush */
    bool rush; /* the timer is running */
    struct peer_place own;
    struct jp_error trouble; /* an address that could not be bound; "": none */
    struct sender *senders;  /* one for each node at most */
    uint32_t most, n;
    struct hash_table by_node; /* of the senders, by component and number */
    struct livelink_counts counts;
    struct arrival in[BATCH];
};

static int open_fds(struct livehear *h, struct jp_error *err)
{
    int room = ROOM_BYTES;

    h->n_fds = peer_bind_all(h->own.addresses, h->own.n_addresses, h->fds,
                             &h->own.port, &h->trouble);
    h->own.n_addresses = h->n_fds;
    if (!h->n_fds)
        return error_set(err, "%s", h->trouble.text);
    for (size_t i = 0; i < h->n_fds; i++)
        setsockopt(h->fds[i], SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
    h->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return h->timer < 0 ? error_set(err, "no timer: %s", strerror(errno)) : 0;
}

static void hear_destroy(struct livehear *h)
{
    if (!h)
        return;
    for (uint32_t i = 0; i < h->n; i++)
        free(h->senders[i].open.bytes);
    free(h->senders);
    hash_fini(&h->by_node);
    for (size_t i = 0; i < h->n_fds; i++)
        close(h->fds[i]);
    if (h->timer >= 0)
        close(h->timer);
    explicit_bzero(&h->seal, sizeof(h->seal));
    free(h);
}

static struct livehear *hear_create(const struct livelink_place *place,
                                    struct jp_error *err)
{
    struct livehear *h = calloc(1, sizeof(*h));

    if (!h) {
        error_set(err, "out of memory");
        return NULL;
    }
    h->place = *place;
    h->timer = -1;
    livepacket_seal(&h->seal, place->net->key, place->conf_hash);
    h->most = place->nodes < NODES_MAX ? place->nodes : NODES_MAX;
    h->senders = calloc((size_t) h->most + 1, sizeof(*h->senders));
    /* The address file has the time of the start, so that nodes notice a
     * restarted agent. */
    h->own.epoch = (uint32_t) time(NULL);
    h->own.n_addresses =
        peer_iface_find(place->net->interfaces, h->own.addresses, err);
    if (!h->senders)
        error_set(err, "out of memory");
    else if (h->own.n_addresses && open_fds(h, err) == 0)
        return h;
    hear_destroy(h);
    return NULL;
}

static int announce(struct livehear *h, struct jp_error *err)
{
    char *path =
        text_format("%s/" LIVE_NODES "/" LIVEPACKET_PEER, h->place.dir);
    int rc = path ? peer_write_file(path, &h->own, err)
                  : error_set(err, "out of memory");

    free(path);
    return rc;
}

/* --- senders ------------------------------------------------------------- */

/* Finds or adds the sender. Returns NULL if there are more nodes than the step
 * has, or without memory. A forged packet does not come here, because its seal
 * is wrong. */
static struct sender *find_sender(struct livehear *h, uint64_t component,
                                  uint32_t nodeid)
{
    uint64_t hash = hash_word(hash_word(hash_start(), component), nodeid);
    uint32_t at;

    for (size_t i = 0; (at = hash_next(&h->by_node, hash, &i)) != HASH_NONE;)
        if (h->senders[at].nodeid == nodeid &&
            h->senders[at].component == component)
            return &h->senders[at];
    if (h->n >= h->most || hash_add(&h->by_node, hash, h->n) < 0)
        return NULL;
    h->senders[h->n] = (struct sender){
        .nodeid = nodeid, .component = component, .slot = SIZE_MAX};
    return &h->senders[h->n++];
}

/* A larger epoch is a restarted agent; within an epoch seq grows. */
static bool is_newer(const struct livepacket *p, uint32_t epoch, uint32_t seq)
{
    return p->epoch != epoch ? p->epoch > epoch : p->seq > seq;
}

/* --- parts --------------------------------------------------------------- */

static void forget_open(struct sender *s)
{
    free(s->open.bytes);
    memset(&s->open, 0, sizeof(s->open));
}

/* Begins a snapshot that is newer than the previous one. Returns false without
 * memory. */
static bool begin_open(struct sender *s, const struct livepacket *p)
{
    forget_open(s);
    s->open.bytes = malloc(p->total);
    if (!s->open.bytes)
        return false;
    s->open.epoch = p->epoch;
    s->open.seq = p->seq;
    s->open.total = p->total;
    s->open.chunk = p->chunk;
    return true;
}

/* Stores a part. Returns false if it is old, a duplicate, or of another shape
 * than the other parts. The packet's lengths were checked by livepacket_read.
 */
static bool add_part(struct sender *s, const struct livepacket *p)
{
    uint16_t bit = (uint16_t) (1u << p->part);

    if (!is_newer(p, s->epoch, s->seq))
        return false;
    if (!s->open.bytes || is_newer(p, s->open.epoch, s->open.seq)) {
        if (!begin_open(s, p))
            return false;
    } else if (p->epoch != s->open.epoch || p->seq != s->open.seq ||
               p->total != s->open.total || p->chunk != s->open.chunk ||
               (s->open.have & bit)) {
        return false;
    }
    s->open.have |= bit;
    memcpy(s->open.bytes + (size_t) p->part * p->chunk, p->data, p->n);
    return true;
}

static bool is_whole(const struct sender *s, const struct livepacket *p)
{
    return s->open.have == (1u << p->parts) - 1;
}

static void answer(const struct livehear *h, int fd, const struct livepacket *p,
                   const struct sockaddr_storage *to, socklen_t to_len)
{
    const struct livepacket taken = {.type = LIVEPACKET_TAKEN,
                                     .seq = p->seq,
                                     .epoch = p->epoch,
                                     .nodeid = p->nodeid,
                                     .component = p->component};
    uint8_t bytes[LIVEPACKET_BYTES];
    size_t len = livepacket_write(&taken, &h->seal, bytes);

    /* If sending fails, the node writes its file. */
    (void) !sendto(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL,
                   (const struct sockaddr *) to, to_len);
}

/* Handles one packet of that socket. Returns false if it is refused. */
static bool take_packet(struct livehear *h, int fd, const struct arrival *in,
                        size_t len, socklen_t from_len, uint64_t now_ms)
{
    struct livepacket p;
    struct sender *s;

    if (livepacket_read(in->bytes, len, &h->seal, &p) < 0 ||
        p.type != LIVEPACKET_PART)
        return false;
    s = find_sender(h, p.component, p.nodeid);
    if (!s || !add_part(s, &p))
        return false;
    if (!is_whole(s, &p))
        return true;
    /* seq is noted even if the snapshot is not kept: its duplicates are old
     * now. */
    s->epoch = p.epoch;
    s->seq = p.seq;
    if (h->place.take(h->place.arg, s->component, s->nodeid, &s->slot,
                      s->open.bytes, s->open.total, now_ms) == 0) {
        h->counts.taken++;
        answer(h, fd, &p, &in->from, from_len);
    }
    forget_open(s);
    return true;
}

/* --- a look -------------------------------------------------------------- */

/* Starts the timer for another look soon, or stops it. */
static void set_timer(struct livehear *h, bool rush)
{
    const struct itimerspec when = {
        .it_value = {.tv_nsec = rush ? LIVEHEAR_RUSH_MS * 1000000L : 0}};
    uint64_t drained;

    if (!rush && !h->rush)
        return;
    h->rush = rush;
    /* Reading clears the timer's readiness. */
    (void) !read(h->timer, &drained, sizeof(drained));
    timerfd_settime(h->timer, 0, &when, NULL);
}

/* Takes what one socket has received; good and bad count packets of the look.
 */
static void take_from(struct livehear *h, int fd, uint64_t now_ms,
                      unsigned *good, unsigned *bad)
{
    struct mmsghdr heads[BATCH];
    struct iovec parts[BATCH];
    int n;

    do {
        memset(heads, 0, sizeof(heads));
        for (int i = 0; i < BATCH; i++) {
            parts[i] = (struct iovec){h->in[i].bytes, sizeof(h->in[i].bytes)};
            heads[i].msg_hdr.msg_iov = &parts[i];
            heads[i].msg_hdr.msg_iovlen = 1;
            heads[i].msg_hdr.msg_name = &h->in[i].from;
            heads[i].msg_hdr.msg_namelen = sizeof(h->in[i].from);
        }
        n = recvmmsg(fd, heads, BATCH, MSG_DONTWAIT, NULL);
        for (int i = 0; i < n; i++)
            if (take_packet(h, fd, &h->in[i], heads[i].msg_len,
                            heads[i].msg_hdr.msg_namelen, now_ms))
                ++*good;
            else
                ++*bad;
    } while (n == BATCH && *good < LIVEHEAR_MOST && *bad < LIVEHEAR_BAD);
}

static void take_packets(struct livehear *h, uint64_t now_ms)
{
    unsigned good = 0, bad = 0;

    for (size_t i = 0; i < h->n_fds; i++)
        take_from(h, h->fds[i], now_ms, &good, &bad);
    h->counts.refused += bad;
    /* Hysteresis: entering a rush needs more packets than staying in it. */
    set_timer(h, good >= (h->rush ? CALM : RUSH));
}

/* --- either end ----------------------------------------------------------- */

struct livelink {
    struct livesend *send; /* one of both is NULL */
    struct livehear *hear;
};

struct livelink *livelink_create(const struct livelink_place *place,
                                 struct jp_error *err)
{
    struct livelink *link = calloc(1, sizeof(*link));

    if (!link) {
        error_set(err, "out of memory");
        return NULL;
    }
    if (place->take)
        link->hear = hear_create(place, err);
    else
        link->send = send_create(place, err);
    if (link->hear || link->send)
        return link;
    free(link);
    return NULL;
}

void livelink_destroy(struct livelink *link)
{
    if (!link)
        return;
    send_destroy(link->send);
    hear_destroy(link->hear);
    free(link);
}

const struct livelink_counts *livelink_counts(const struct livelink *link)
{
    return link->hear ? &link->hear->counts : &link->send->counts;
}

const char *livelink_trouble(const struct livelink *link)
{
    return link->hear ? link->hear->trouble.text : link->send->trouble.text;
}

int livelink_announce(struct livelink *link, struct jp_error *err)
{
    return link->hear ? announce(link->hear, err) : 0;
}

int livelink_fd(const struct livelink *link)
{
    return link->hear ? link->hear->timer : -1;
}

bool livelink_send(struct livelink *link, const uint8_t *bytes, size_t n,
                   uint32_t seq, uint64_t now_ms)
{
    return link->send && send_snapshot(link->send, bytes, n, seq, now_ms);
}

bool livelink_look(struct livelink *link, uint64_t now_ms)
{
    if (link->send)
        return take_answers(link->send, now_ms);
    take_packets(link->hear, now_ms);
    return false;
}
