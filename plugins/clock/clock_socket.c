/* clock_socket.c - a UDP socket whose packets get times from the kernel, and
 * readings of a node's clocks.
 *
 * The kernel stamps packets by CLOCK_REALTIME. A stamp becomes CLOCK_MONOTONIC
 * by subtracting the distance of the two clocks (struct clock_source), which
 * clock_source_was_set measures again. Times of sending arrive later, on the
 * socket's error queue: each is matched with a packet by the number that the
 * kernel gives it (struct clock_pending). Start with clock_socket_flush,
 * collect and next_sent. */
#include "plugins/clock/clock_work.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <math.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A reading of all clocks that takes no longer than this was not
 * interrupted. */
#define NARROW_NS 300
#define LOOKS 5
/* Two readings of one clock may differ by their widths and this much, without
 * the clock having been set. */
#define SET_NS 2000
/* A time of sending that is not there after this long is given up. */
#define SENT_NS INT64_C(10000000)
/* After so many missing times of sending, and none that arrived, the device is
 * taken for one without stamps. */
#define MISSED_MAX 8

/* OPT_TSONLY: the error queue returns the time without the packet. OPT_CMSG:
 * stamps of sending come as control data on IPv4, as they do on IPv6. */
static const int stamps = SOF_TIMESTAMPING_SOFTWARE |
                          SOF_TIMESTAMPING_RX_SOFTWARE |
                          SOF_TIMESTAMPING_TX_SOFTWARE |
                          SOF_TIMESTAMPING_OPT_TSONLY |
                          SOF_TIMESTAMPING_OPT_CMSG;

/* --- clocks ---------------------------------------------------------------
 */

static int64_t ns_of(const struct timespec *t)
{
    return (int64_t) t->tv_sec * 1000000000 + t->tv_nsec;
}

static int64_t read_clock(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return ns_of(&t);
}

/* Tests only: offset and drift of an imagined clock. All zeros change
 * nothing. */
int64_t clock_shift_apply(const struct clock_shift *shift, int64_t mono_ns)
{
    return mono_ns + shift->offset_ns +
           llround(shift->ppm * 1e-6 * (double) (mono_ns - shift->from_ns));
}

/* Reads all clocks between two readings of the monotonic one. The middle of
 * those two is taken as the moment of the others. */
static void look_once(struct clock_look *look)
{
    int64_t last;

    look->mono_ns = read_clock(CLOCK_MONOTONIC);
    look->real_ns = read_clock(CLOCK_REALTIME);
    look->raw_ns = read_clock(CLOCK_MONOTONIC_RAW);
    last = read_clock(CLOCK_MONOTONIC);
    look->width_ns = last - look->mono_ns;
    look->mono_ns += look->width_ns / 2;
}

/* The narrowest of a few readings, without a test's shift. A process that is
 * descheduled between the calls makes a wide one. */
static void look_well(struct clock_look *look)
{
    struct clock_look one;

    look_once(look);
    for (int i = 1; i < LOOKS && look->width_ns > NARROW_NS; i++) {
        look_once(&one);
        if (one.width_ns < look->width_ns)
            *look = one;
    }
}

/* Tests only: by how much the wall clock is set at this moment. */
static int64_t step_so_far(const struct clock_shift *shift, int64_t mono_ns)
{
    return shift->step_at_ns && mono_ns >= shift->step_at_ns ? shift->step_ns
                                                             : 0;
}

void clock_look(const struct clock_shift *shift, struct clock_look *look)
{
    int64_t by;

    look_well(look);
    by = clock_shift_apply(shift, look->mono_ns) - look->mono_ns;
    look->real_ns += by + step_so_far(shift, look->mono_ns);
    look->raw_ns += by;
    look->mono_ns += by;
}

void clock_source_init(struct clock_source *source,
                       const struct clock_shift *shift)
{
    struct clock_look look;

    look_well(&look);
    *source =
        (struct clock_source){.real_less_mono = look.real_ns - look.mono_ns};
    if (shift)
        source->shift = *shift;
    source->set_by = step_so_far(&source->shift, look.mono_ns);
    source->ahead = source->real_less_mono + source->set_by;
    source->kernel = !source->shift.user_stamps;
}

int64_t clock_source_mono(const struct clock_source *source)
{
    return clock_shift_apply(&source->shift, read_clock(CLOCK_MONOTONIC));
}

bool clock_source_was_set(struct clock_source *source, int64_t *by_ns)
{
    struct clock_look look;
    int64_t ahead, set_by, by;

    look_well(&look);
    ahead = look.real_ns - look.mono_ns;
    set_by = step_so_far(&source->shift, look.mono_ns);
    by = ahead - source->real_less_mono;
    /* slewing changes both clocks alike: only setting the wall clock changes
     * the distance */
    if (llabs(by) <= look.width_ns + SET_NS && set_by == source->set_by)
        return false;
    *by_ns = by + set_by - source->set_by;
    source->real_less_mono = ahead;
    source->set_by = set_by;
    source->ahead = ahead + set_by;
    return true;
}

/* The kernel's stamp as a time of the node's CLOCK_MONOTONIC. */
static int64_t from_real(const struct clock_source *source, int64_t real_ns)
{
    return clock_shift_apply(&source->shift, real_ns - source->real_less_mono);
}

/* --- the socket -----------------------------------------------------------
 */

/* Requests stamps. Also restarts the kernel's numbering of packets, which
 * begins at 0 each time that OPT_ID is switched on: hence the two calls. */
static bool ask_stamps(const struct clock_socket *s)
{
    int with_id = stamps | SOF_TIMESTAMPING_OPT_ID;

    /* the first call switches OPT_ID off, the second one on again */
    return setsockopt(s->fd, SOL_SOCKET, SO_TIMESTAMPING, &stamps,
                      sizeof(stamps)) == 0 &&
           setsockopt(s->fd, SOL_SOCKET, SO_TIMESTAMPING, &with_id,
                      sizeof(with_id)) == 0;
}

void clock_socket_init(struct clock_socket *s, int fd,
                       struct clock_source *source)
{
    memset(s, 0, sizeof(*s));
    s->fd = fd;
    s->source = source;
    s->stamps = source->kernel && ask_stamps(s);
    source->kernel = s->stamps;
}

/* Restarts the numbering after a call that failed: it is not known whether the
 * kernel has counted that packet. Packets that were sent and have no stamp yet
 * lose theirs. */
static void count_anew(struct clock_socket *s)
{
    for (size_t i = 0; i < CLOCK_PENDING; i++)
        if (s->pending[i].used && !s->pending[i].told)
            s->pending[i].before_ns = INT64_MIN;
    s->next_id = 0;
    if (s->source->kernel)
        s->source->kernel = ask_stamps(s);
}

/* The kernel's time in a message's control data; INT64_MIN: none. id: the
 * number of the packet that was sent; NULL for a packet that was received. */
static int64_t stamp_of(struct msghdr *m, uint32_t *id)
{
    int64_t at = INT64_MIN;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        struct sock_extended_err e;

        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPING) {
            struct timespec t;

            memcpy(&t, CMSG_DATA(c), sizeof(t));
            if (t.tv_sec || t.tv_nsec)
                at = ns_of(&t);
        } else if (id &&
                   ((c->cmsg_level == SOL_IP && c->cmsg_type == IP_RECVERR) ||
                    (c->cmsg_level == SOL_IPV6 &&
                     c->cmsg_type == IPV6_RECVERR))) {
            memcpy(&e, CMSG_DATA(c), sizeof(e));
            if (e.ee_origin == SO_EE_ORIGIN_TIMESTAMPING)
                *id = e.ee_data;
        }
    }
    return at;
}

/* A time of sending is missing. If none has ever arrived, no socket uses the
 * kernel's times from here on. */
static void note_missing(struct clock_socket *s)
{
    struct clock_source *source = s->source;

    if (!source->proven && ++source->missed >= MISSED_MAX)
        source->kernel = false;
}

/* Takes the request for stamps back where they are not used any more: they
 * would pile up in the error queue. */
static void stop_stamps(struct clock_socket *s)
{
    int none = 0;

    if (!s->stamps || s->source->kernel)
        return;
    s->stamps = false;
    setsockopt(s->fd, SOL_SOCKET, SO_TIMESTAMPING, &none, sizeof(none));
}

/* Buffers in which recvmmsg returns several packets with their control data. */
struct told {
    union {
        char bytes[256];
        struct cmsghdr align;
    } control[CLOCK_BATCH];
    struct iovec iov[CLOCK_BATCH];
    struct mmsghdr m[CLOCK_BATCH];
};

/* Prepares the i-th buffer; bytes must outlive it. */
static void told_init(struct told *told, size_t i, void *bytes, size_t room)
{
    told->iov[i] = (struct iovec){bytes, room};
    told->m[i] = (struct mmsghdr){
        .msg_hdr = {.msg_iov = &told->iov[i],
                    .msg_iovlen = 1,
                    .msg_control = told->control[i].bytes,
                    .msg_controllen = sizeof(told->control[i].bytes)}};
}

/* Saves a system call when no packet waits for its stamp. */
static bool awaits_any(const struct clock_socket *s)
{
    for (size_t i = 0; i < CLOCK_PENDING; i++)
        if (s->pending[i].used && !s->pending[i].told &&
            s->pending[i].before_ns != INT64_MIN)
            return true;
    return false;
}

/* Gives a stamp to the packet with that number. A stamp before the call that
 * sent the packet, or in the future, is not believed. */
static void note_stamp(struct clock_socket *s, uint32_t id, int64_t real_ns)
{
    for (size_t i = 0; i < CLOCK_PENDING; i++) {
        struct clock_pending *p = &s->pending[i];

        if (!p->used || p->told || p->id != id || real_ns == INT64_MIN ||
            p->before_ns == INT64_MIN)
            continue;
        p->told = true;
        p->tx_ns = from_real(s->source, real_ns);
        if (p->tx_ns >= p->before_ns - SET_NS &&
            p->tx_ns <= clock_source_mono(s->source) + SET_NS) {
            s->source->proven = true;
            return;
        }
        /* The stamp belongs to another packet, or the clock was set meanwhile,
         * or this process (in a container) sees another clock than the
         * kernel's. */
        p->tx_ns = INT64_MIN;
        note_missing(s);
        return;
    }
}

/* Reads all stamps of sending that the error queue holds, CLOCK_BATCH a
 * call. */
static void collect(struct clock_socket *s)
{
    int n = CLOCK_BATCH;
    char nothing[4];
    struct told told;

    while (n == CLOCK_BATCH && s->source->kernel && awaits_any(s)) {
        for (size_t i = 0; i < CLOCK_BATCH; i++)
            told_init(&told, i, nothing, sizeof(nothing));
        n = recvmmsg(s->fd, told.m, CLOCK_BATCH, MSG_ERRQUEUE | MSG_DONTWAIT,
                     NULL);
        for (int i = 0; i < n; i++) {
            uint32_t id = UINT32_MAX;
            int64_t real_ns = stamp_of(&told.m[i].msg_hdr, &id);

            note_stamp(s, id, real_ns);
        }
    }
}

/* Keeps a packet until its time of sending is known. before_ns: when the call
 * that sent it began; INT64_MIN: it was not sent, so there will be no stamp. If
 * all places are in use, the packet's time is lost. */
static void await(struct clock_socket *s, const struct clock_leaving *l,
                  int64_t before_ns)
{
    for (size_t i = 0; i < CLOCK_PENDING && l->tag; i++)
        if (!s->pending[i].used) {
            s->pending[i] = (struct clock_pending){.used = true,
                                                   .id = s->next_id,
                                                   .tag = l->tag,
                                                   .before_ns = before_ns};
            break;
        }
}

void clock_socket_flush(struct clock_socket *s)
{
    struct iovec iov[CLOCK_BATCH];
    struct mmsghdr m[CLOCK_BATCH];
    size_t at = 0, n = s->n_leaving;

    for (size_t i = 0; i < n; i++) {
        struct clock_leaving *l = &s->leaving[i];

        iov[i] = (struct iovec){l->bytes, CLOCK_PACKET_BYTES};
        m[i] = (struct mmsghdr){.msg_hdr = {.msg_name = &l->to,
                                            .msg_namelen = l->to_len,
                                            .msg_iov = &iov[i],
                                            .msg_iovlen = 1}};
    }
    /* one call may send only a part; a packet that is refused is skipped */
    while (at < n) {
        int64_t before = clock_source_mono(s->source);
        int sent = sendmmsg(s->fd, m + at, (unsigned) (n - at),
                            MSG_DONTWAIT | MSG_NOSIGNAL);

        for (int i = 0; i < sent; i++, at++) {
            await(s, &s->leaving[at], before);
            s->next_id++;
        }
        if (sent > 0)
            continue;
        /* packets that were sent before the failure have their stamps by now;
         * after it the numbering starts again */
        collect(s);
        await(s, &s->leaving[at++], INT64_MIN);
        count_anew(s);
    }
    s->n_leaving = 0;
}

void clock_socket_send(struct clock_socket *s,
                       const struct sockaddr_storage *to, socklen_t to_len,
                       const uint8_t bytes[CLOCK_PACKET_BYTES], uint64_t tag)
{
    struct clock_leaving *l;

    if (s->n_leaving == CLOCK_BATCH)
        clock_socket_flush(s);
    l = &s->leaving[s->n_leaving++];
    l->to = *to;
    l->to_len = to_len;
    memcpy(l->bytes, bytes, CLOCK_PACKET_BYTES);
    l->tag = tag;
}

static bool take_pending(struct clock_pending *p, int64_t tx_ns,
                         struct clock_sent *out)
{
    *out = (struct clock_sent){.tag = p->tag, .tx_ns = tx_ns};
    p->used = false;
    return true;
}

/* One packet whose fate is known: it has a stamp, or will get none. false: no
 * such packet. */
static bool next_sent(struct clock_socket *s, struct clock_sent *out)
{
    int64_t now = clock_source_mono(s->source);

    for (size_t i = 0; i < CLOCK_PENDING; i++) {
        struct clock_pending *p = &s->pending[i];

        if (!p->used)
            continue;
        if (p->told)
            return take_pending(p, p->tx_ns, out);
        /* the time before the call stands in: a true bound, only looser */
        if (!s->source->kernel)
            return take_pending(p, p->before_ns, out);
        /* its stamp will not come any more */
        if (p->before_ns == INT64_MIN || now - p->before_ns > SENT_NS) {
            if (p->before_ns != INT64_MIN)
                note_missing(s);
            return take_pending(p, INT64_MIN, out);
        }
    }
    return false;
}

size_t clock_socket_sent(struct clock_socket *s,
                         struct clock_sent out[CLOCK_PENDING])
{
    size_t n = 0;

    collect(s);
    stop_stamps(s);
    while (n < CLOCK_PENDING && next_sent(s, &out[n]))
        n++;
    return n;
}

size_t clock_socket_receive(struct clock_socket *s, struct clock_arrival *in,
                            size_t room)
{
    struct told told;
    int n;

    /* without stamps, each packet is read alone, so that the time after the
     * call is close to its arrival */
    room = !s->source->kernel ? 1 : room < CLOCK_BATCH ? room : CLOCK_BATCH;
    for (size_t i = 0; i < room; i++) {
        told_init(&told, i, in[i].bytes, sizeof(in[i].bytes));
        told.m[i].msg_hdr.msg_name = &in[i].from;
        told.m[i].msg_hdr.msg_namelen = sizeof(in[i].from);
    }
    n = recvmmsg(s->fd, told.m, (unsigned) room, MSG_DONTWAIT | MSG_TRUNC,
                 NULL);
    for (int i = 0; i < n; i++) {
        int64_t real_ns = s->source->kernel ? stamp_of(&told.m[i].msg_hdr, NULL)
                                            : INT64_MIN;

        in[i].len = told.m[i].msg_len;
        in[i].from_len = told.m[i].msg_hdr.msg_namelen;
        in[i].rx_ns = real_ns == INT64_MIN ? clock_source_mono(s->source)
                                           : from_real(s->source, real_ns);
    }
    return n > 0 ? (size_t) n : 0;
}
