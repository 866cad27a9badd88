/* clock_work.h - the clock module of a node's agent: it asks neighbours,
 * answers them, and writes what it finds.
 *
 * Where the kernel stamps packets, the module wakes at its beats: one call
 * reads all packets that have arrived, and one call sends all that are due.
 * Otherwise each packet wakes it.
 *
 * All descriptors are in one epoll descriptor, so that the agent waits for a
 * single one. No call waits for anything. The pace follows the cost: beyond its
 * budget of processor time the module asks less often, and its neighbours learn
 * the new pace. */
#ifndef JP_CLOCK_WORK_H
#define JP_CLOCK_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

#include "common/clockline.h"
#include "common/error.h"
#include "common/ownfile.h"
#include "plugins/clock/clock_conf.h"
#include "plugins/clock/clock_packet.h"
#include "plugins/clock/clock_peers.h"
#include "plugins/clock/clock_read.h"
#include "plugins/module.h"

/* --- clock_socket.c ------------------------------------------------------ */

/* A socket whose packets get times from the kernel, and readings of a node's
 * clocks.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC, which is never set. The kernel
 * stamps packets by CLOCK_REALTIME. Both run at the same rate, so a stamp is
 * converted by their distance, which changes only when the wall clock is set.
 * Where the kernel stamps no packets, the times before a call that sends and
 * after one that receives take their place: still true bounds, only looser. */

/* Tests only: a node whose clocks are ahead and run fast, and whose wall clock
 * is set. All zeros: the machine's own clocks. */
struct clock_shift {
    int64_t offset_ns;
    double ppm;
    int64_t from_ns;             /* start of the drift (CLOCK_MONOTONIC) */
    int64_t step_at_ns, step_ns; /* of the wall clock; 0: never */
    bool user_stamps;            /* as if the kernel gave none */
};

/* Shifts a time of the machine's CLOCK_MONOTONIC. */
int64_t clock_shift_apply(const struct clock_shift *shift, int64_t mono_ns);

/* All clocks at one moment. */
struct clock_look {
    int64_t mono_ns, real_ns, raw_ns;
    int64_t width_ns; /* time from the first to the last reading */
};
void clock_look(const struct clock_shift *shift, struct clock_look *look);

/* The times of a node's packets; all its sockets share one. */
struct clock_source {
    struct clock_shift shift;
    int64_t real_less_mono; /* of the machine */
    int64_t set_by;         /* the test's step, as far as it has come */
    int64_t ahead;   /* real minus monotonic of the node: the sum of both */
    bool kernel;     /* the kernel gives stamps */
    bool proven;     /* a stamp has arrived */
    uint32_t missed; /* missing times of sending, in a row */
};
/* shift: may be NULL. */
void clock_source_init(struct clock_source *source,
                       const struct clock_shift *shift);
int64_t clock_source_mono(const struct clock_source *source);
/* Whether the wall clock was set since the last call; *by_ns: by how much. */
bool clock_source_was_set(struct clock_source *source, int64_t *by_ns);

#define CLOCK_PENDING 64 /* packets that wait for their time of sending */
#define CLOCK_BATCH 16   /* packets a call */

struct clock_socket {
    struct clock_source *source; /* borrowed */
    int fd;
    bool stamps;      /* were requested of the kernel */
    uint32_t next_id; /* the kernel's number of the next packet */
    struct clock_pending {
        bool used;
        bool told; /* tx_ns is known */
        uint32_t id;
        uint64_t tag;
        int64_t before_ns; /* when the call that sent it began */
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

/* A packet that has arrived. */
struct clock_arrival {
    struct sockaddr_storage from;
    socklen_t from_len;
    size_t len; /* may exceed the size of bytes */
    /* one byte more, to notice longer packets */
    uint8_t bytes[CLOCK_PACKET_BYTES + 1];
    int64_t rx_ns;
};

/* Requests stamps for a socket of peer_bind_all. The caller keeps the
 * descriptor and the source. */
void clock_socket_init(struct clock_socket *s, int fd,
                       struct clock_source *source);

/* Queues a packet for clock_socket_flush, which sends all of them by one call.
 * A tag other than 0 comes back with the time of sending from
 * clock_socket_sent. Neither waits. */
void clock_socket_send(struct clock_socket *s,
                       const struct sockaddr_storage *to, socklen_t to_len,
                       const uint8_t bytes[CLOCK_PACKET_BYTES], uint64_t tag);
void clock_socket_flush(struct clock_socket *s);

/* When a packet left. tx_ns: INT64_MIN if that will never be known, for
 * instance for a packet that could not be sent. */
struct clock_sent {
    uint64_t tag;
    int64_t tx_ns;
};
/* Takes the times of sending that are known by now. Returns their number. */
size_t clock_socket_sent(struct clock_socket *s,
                         struct clock_sent out[CLOCK_PENDING]);

/* Reads packets by one call: at most CLOCK_BATCH, and one where the kernel
 * gives no stamps. Returns their number; fewer than requested: there are no
 * more. */
size_t clock_socket_receive(struct clock_socket *s, struct clock_arrival *in,
                            size_t room);

/* --- clock_talk.c ------------------------------------------------------- */

/* The exchanges: which node asks when, and what the answers say.
 *
 *     asks                                  answers
 *      |-- ASK1 ------------------------------>|  t_rx[0]
 *      |<-------------------------- ANSWER1 ---|  r_tx[0]
 *      |   (the spacing)                       |
 *      |-- ASK2 ------------------------------>|  t_rx[1]
 *      |<-------------------------- ANSWER2 ---|  r_tx[1]
 *      |<--------------------------- STAMPS ---|  all four of them
 *
 * With theta = C(answers) - C(asks): t_rx - t_tx is an upper bound of it and
 * r_tx - r_rx a lower one, because no packet takes negative time. The asking
 * node keeps the bounds of a window and lays a line between them
 * (common/clockline.h).
 *
 * There are no sockets and no clock here: the caller passes the time, sends
 * packets and hands over what arrives. Replays: a node answers each number
 * once, and takes only answers to its open exchange. */

/* An exchange that is not complete after this is lost; with beats, when the
 * next one is due. */
#define CLOCK_TIMEOUT_NS INT64_C(50000000)
/* A node whose packets the kernel stamps looks for them at its beats, two a
 * cadence, of which every second one is left out if nothing is due. Bounds are
 * made of a packet's time on the way, however long it lies in the socket. */
#define CLOCK_BEATS 2
#define CLOCK_BEAT_MAX_NS INT64_C(25000000)
/* Longest time between two beats of a node that only asks. */
#define CLOCK_IDLE_NS INT64_C(500000000)
/* A window needs at least this many exchanges. */
#define CLOCK_LEAST 12
/* After this many losses in a row the neighbour is asked less and less often,
 * down to one question in CLOCK_RAREST_NS. */
#define CLOCK_PATIENCE 4
#define CLOCK_RAREST_NS INT64_C(30000000000)
/* A pair of packets whose distance changed by no more than this has met no
 * queue. */
#define CLOCK_PURE_NS 3000
/* Exactness of the kernel's stamps at best. */
#define CLOCK_EXACT_NS 50.0

/* The bounds of one window. Exchanges go to the two halves in turn: how far the
 * lines of the halves are apart shows how certain the line of all is. */
struct clock_span {
    struct clockline_bounds halves[2];
    int64_t first_ns, last_ns; /* of its exchanges */
    int64_t rtt_min_ns;
    uint32_t exchanges, lost, no_stamp, disturbed;
    uint32_t partial; /* lost exchanges that gave bounds nevertheless */
    uint32_t pure_there, pure_back;
    bool user_stamps;
};

/* A neighbour that this node asks. */
struct clock_edge {
    uint32_t peer;
    bool ready; /* its address is known; set by the caller */
    enum { EDGE_IDLE, EDGE_FIRST, EDGE_SECOND } state;
    uint32_t seq;
    unsigned have; /* of what an exchange consists of */
    bool unstamped, disturbed;
    bool by_user; /* the neighbour took its times itself */
    int64_t begun_ns, next_ns;
    int64_t t_tx[2], r_rx[2], t_rx[2], r_tx[2];
    uint32_t lost_in_row;
    uint32_t cadence_us; /* the shortest interval that it accepts */
    uint64_t exchanges, failures;
    double least_margin_ns; /* over all windows; 0: none yet */
    double slope;           /* of the last line */
    struct clock_span span;
};

/* A neighbour that asks this node. */
struct clock_answer {
    uint32_t peer;
    uint32_t epoch, seq; /* of the open exchange, or of the last one */
    unsigned have;
    bool unstamped, disturbed;
    int64_t t_rx[2], r_tx[2];
};

struct clock_talk {
    uint32_t self, epoch;
    int64_t cadence_ns, spacing_ns; /* cadence: may be changed at any time */
    bool has_beats;  /* set by the caller: exchanges begin at beats only */
    int64_t beat_ns; /* the next one; clock_talk_run returns it */
    size_t n_edges, n_answers;
    struct clock_edge edges[CLOCK_DEGREE];
    struct clock_answer answers[CLOCK_DEGREE];
    bool user_stamps; /* set by the caller */
    int64_t real_less_mono;
    /* Sends to neighbour `index` of edges (or of answers). tag comes back by
     * clock_talk_sent; 0: its time is not needed. false: it could not be
     * sent. */
    bool (*send)(void *arg, bool to_answer, size_t index,
                 const struct clock_packet *packet, uint64_t tag);
    /* An exchange has failed; why is a phrase for its record. May be NULL. */
    void (*failed)(void *arg, size_t index, const char *why);
    void *arg;
};

/* The exchanges of node self of n, which begin at now_ns. */
void clock_talk_init(struct clock_talk *talk, uint32_t n, uint32_t self,
                     uint32_t epoch, int64_t cadence_ns, int64_t spacing_ns,
                     int64_t now_ns);
void clock_talk_fini(struct clock_talk *talk);

/* Does what is due. Returns the time of the next call; INT64_MAX: only when
 * something arrives. */
int64_t clock_talk_run(struct clock_talk *talk, int64_t now_ns);

/* Takes a packet that arrived at rx_ns. Returns the index of the asking
 * neighbour, which is answered where the packet came from; -1: the packet is an
 * answer; -2: it is not for this node, or a replay. */
int clock_talk_take(struct clock_talk *talk, const struct clock_packet *packet,
                    int64_t rx_ns, int64_t now_ns);
/* The packet with that tag left at tx_ns; INT64_MIN: unknown. */
void clock_talk_sent(struct clock_talk *talk, uint64_t tag, int64_t tx_ns,
                     int64_t now_ns);
/* The wall clock was set: open exchanges do not count. */
void clock_talk_disturb(struct clock_talk *talk);

/* The neighbour that a packet would be answered to, as clock_talk_take returns
 * it; nothing changes. */
int clock_talk_asker(const struct clock_talk *talk,
                     const struct clock_packet *packet);

/* Whether an edge's window has exchanges, but too few for a line. */
bool clock_edge_is_short(const struct clock_talk *talk, size_t index);
/* Ends an edge's window, which lasted from start to end, and empties it. */
void clock_edge_close(struct clock_talk *talk, size_t index, uint64_t id,
                      int64_t start_ns, int64_t end_ns,
                      struct clock_window *window);

extern const struct node_module clock_module;
struct clock_work;

/* The state of clock_module (plugins/module.h), which does everything else.
 * shift: for tests, otherwise NULL. Returns NULL if the module does not run
 * here; err says why, "" where a single node has nothing to compare. */
struct clock_work *clock_work_create(const struct module_place *place,
                                     const struct clock_shift *shift,
                                     struct jp_error *err);
/* --- clock_rows.c: nodes/<node>/clock.jsonl ------------------------------ */

/* The file that clock_read.h describes, of limited size. When it is full, every
 * second window and snapshot is dropped, of those that come later as well: a
 * run of any length keeps windows over its whole time. */

/* Limit of one node's file: 3 neighbours and windows of 4 s fill it in an
 * hour. */
#define CLOCK_DISK_BYTES (2 * 1024 * 1024)
/* Failed exchanges that are written one by one, for a neighbour and window. */
#define CLOCK_TOLD 8

struct clock_origin {
    uint64_t job;
    const char *step, *node;
    const char *const *nodes; /* names, by index */
    uint32_t node_id, n_nodes;
    uint16_t port;
    const char *address; /* the first of its addresses */
    const char *source;  /* of stamps: "kernel_sw" or "user" */
    const struct clock_conf *conf;
    struct clock_look look;
};

struct clock_rows {
    struct ownfile out; /* closed: nothing more is written */
    char *path;         /* for errors */
    uint64_t bytes, most;
    uint64_t stride;       /* windows whose id is a multiple of it are kept */
    uint64_t taken, steps; /* numbers of snapshots and clock_steps */
    bool halves;           /* every second window is dropped now */
    uint64_t met;          /* snapshots met while the file is rewritten */
    const char *const *nodes;
};

/* Begins nodes/<node>/clock.jsonl in dir with its config record. */
int clock_rows_open(struct clock_rows *rows, const char *dir,
                    const struct clock_origin *origin, uint64_t most,
                    struct jp_error *err);
void clock_rows_close(struct clock_rows *rows);

/* Each writes its record to the file at once. Returns -1 if that fails. */
int clock_rows_window(struct clock_rows *rows, const struct clock_window *w,
                      struct jp_error *err);
int clock_rows_snapshot(struct clock_rows *rows, const struct clock_look *look,
                        struct jp_error *err);
int clock_rows_step(struct clock_rows *rows, const struct clock_look *look,
                    int64_t by_ns, struct jp_error *err);
int clock_rows_failure(struct clock_rows *rows, uint32_t from, uint32_t to,
                       uint32_t seq, int64_t mono_ns, const char *why,
                       struct jp_error *err);

#endif
