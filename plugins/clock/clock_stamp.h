/* clock_stamp.h - a socket whose packets get times from the kernel, and looks
 * at a node's clocks.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC, which nobody sets. The kernel
 * stamps packets by CLOCK_REALTIME: both run alike, so its distance from
 * CLOCK_MONOTONIC, which changes only when the wall clock is set, is taken off.
 * Where the kernel stamps no packets, the times before a call that sends and
 * after one that receives take their place: true bounds still, and looser ones.
 */
#ifndef JP_CLOCK_STAMP_H
#define JP_CLOCK_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/error.h"
#include "plugins/clock/clock_packet.h"

/* For tests: a node whose clocks are ahead and run fast, and whose wall clock
 * is set. All zeros: the machine's own. */
struct clock_shift {
    int64_t offset_ns;
    double ppm;
    int64_t from_ns; /* the drift counts from there (CLOCK_MONOTONIC) */
    int64_t step_at_ns, step_ns; /* of the wall clock; 0: never */
    bool user_stamps;            /* as if the kernel gave none */
};

/* Shifts a time of the machine's CLOCK_MONOTONIC. */
int64_t clock_shift_apply(const struct clock_shift *shift, int64_t mono_ns);

/* All clocks at one moment. */
struct clock_look {
    int64_t mono_ns, real_ns, raw_ns;
    int64_t width_ns; /* between the first look and the last one */
};
void clock_look(const struct clock_shift *shift, struct clock_look *look);

struct clock_source {
    struct clock_shift shift;
    int64_t real_less_mono; /* of the machine */
    int64_t set_by;         /* of the test's step, as far as it has come */
};
void clock_source_init(struct clock_source *source,
                       const struct clock_shift *shift);
int64_t clock_source_mono(const struct clock_source *source);
/* real less monotonic, as the node has it. */
int64_t clock_source_ahead(const struct clock_source *source);
/* Whether the wall clock was set since the last call; *by_ns: by so much. */
bool clock_source_was_set(struct clock_source *source, int64_t *by_ns);

#define CLOCK_PENDING 64 /* packets whose time of sending is awaited */
#define CLOCK_BATCH 16   /* packets of one call */

struct clock_socket {
    int fd;
    bool ipv6;
    uint16_t port;
    bool kernel;      /* stamps come from the kernel */
    bool proven;      /* one has come */
    uint32_t next_id; /* what the kernel calls the next packet */
    uint32_t missed;  /* times of sending that never came, in a row */
    struct clock_pending {
        bool used;
        bool told; /* tx_ns is known */
        uint32_t id;
        uint64_t tag;
        int64_t before_ns; /* the call that sent it */
        int64_t tx_ns;
    } pending[CLOCK_PENDING];
    struct clock_leaving { /* packets that the next call sends */
        struct sockaddr_storage to;
        socklen_t to_len;
        uint8_t bytes[CLOCK_PACKET_BYTES];
        uint64_t tag;
    } leaving[CLOCK_BATCH];
    size_t n_leaving;
};

/* A packet that has come. */
struct clock_arrival {
    struct sockaddr_storage from;
    socklen_t from_len;
    size_t len;                            /* may be above those of bytes */
    uint8_t bytes[CLOCK_PACKET_BYTES + 1]; /* one more tells a longer one */
    int64_t rx_ns;
};

/* A UDP socket that never blocks, on a port of the system's choice: of IPv6
 * that also takes IPv4, else of IPv4. port: NULL, it does not matter. -1: not
 * possible here. */
int clock_socket_bind(bool *ipv6, uint16_t *port, struct jp_error *err);

/* Binds a port of the system's choice. -1: not possible here. */
int clock_socket_open(struct clock_socket *s, const struct clock_source *source,
                      struct jp_error *err);
void clock_socket_close(struct clock_socket *s);

/* Queues a packet for clock_socket_flush, which sends all of them by one call.
 * A tag other than 0: the time of it comes by clock_socket_sent. Neither
 * waits. */
void clock_socket_send(struct clock_socket *s,
                       const struct clock_source *source,
                       const struct sockaddr_storage *to, socklen_t to_len,
                       const uint8_t bytes[CLOCK_PACKET_BYTES], uint64_t tag);
void clock_socket_flush(struct clock_socket *s,
                        const struct clock_source *source);

/* Takes the times of sending that the kernel has; one call for all. */
void clock_socket_collect(struct clock_socket *s,
                          const struct clock_source *source);
/* One more of those that were taken: 1; 0: none is there. *tx_ns: INT64_MIN
 * where it will never be known, as the packet's that could not be sent. */
int clock_socket_sent(struct clock_socket *s, const struct clock_source *source,
                      uint64_t *tag, int64_t *tx_ns);

/* The next packets, at most CLOCK_BATCH and one where the kernel gives no
 * stamps; by one call. Returns how many; fewer than requested: no more are
 * there. */
size_t clock_socket_receive(struct clock_socket *s,
                            const struct clock_source *source,
                            struct clock_arrival *in, size_t room);

#endif
