/* clock_talk.h - who asks whom when, and what the answers say.
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
 * r_tx - r_rx a lower one, as no packet takes negative time. Who asks keeps the
 * bounds of a window and lays the line between them (common/clockline.h).
 *
 * There are no sockets here and no clock: who calls tells the time, sends what
 * it is told to, and hands over what came. Replays: a node answers a number
 * once, and takes the answers to the exchange that it has open.
 */
#ifndef JP_CLOCK_TALK_H
#define JP_CLOCK_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clockline.h"
#include "plugins/clock/clock_packet.h"
#include "plugins/clock/clock_peers.h"
#include "plugins/clock/clock_read.h"

/* What is not complete after so long is lost; with beats, when the next one is
 * due. */
#define CLOCK_TIMEOUT_NS INT64_C(50000000)
/* A node whose packets the kernel stamps looks for them at its beats, two in a
 * cadence: bounds are of a packet's way, however long it lies. */
#define CLOCK_BEATS 2
#define CLOCK_BEAT_MAX_NS INT64_C(50000000)
/* A window needs so many exchanges. */
#define CLOCK_LEAST 12
/* From so many losses in a row on the neighbour is asked ever more rarely, down
 * to one question in CLOCK_RAREST_NS. */
#define CLOCK_PATIENCE 4
#define CLOCK_RAREST_NS INT64_C(30000000000)
/* A pair of packets that was not torn apart by more has met no queue. */
#define CLOCK_PURE_NS 3000
/* The kernel's stamps are this exact at best. */
#define CLOCK_EXACT_NS 50.0

enum clock_why { CLOCK_LOST, CLOCK_UNSTAMPED, CLOCK_DISTURBED };
const char *clock_why_name(enum clock_why why);

/* The bounds of one window, of every second exchange each: how far two lines of
 * half of them are apart tells how sure the one of all is. */
struct clock_span {
    struct clockline_bounds halves[2];
    int64_t first_ns, last_ns; /* of the exchanges */
    int64_t rtt_min_ns;
    uint32_t exchanges, lost, no_stamp, disturbed;
    uint32_t partial; /* of the lost ones: bounds of them are there */
    uint32_t pure_there, pure_back;
    bool user_stamps;
};

/* A neighbour that this node asks. */
struct clock_edge {
    uint32_t peer;
    bool ready; /* its address is known: set by who calls */
    enum { EDGE_IDLE, EDGE_FIRST, EDGE_SECOND } state;
    uint32_t seq;
    unsigned have; /* of what an exchange consists of */
    bool unstamped, disturbed;
    bool by_user; /* the neighbour took its times itself */
    int64_t begun_ns, next_ns;
    int64_t t_tx[2], r_rx[2], t_rx[2], r_tx[2];
    uint32_t lost_in_row;
    uint32_t cadence_us; /* that it wants */
    uint64_t exchanges, failures;
    double least_margin_ns; /* of all windows; 0: none yet */
    double slope;           /* of the last line */
    struct clock_span span;
};

/* A neighbour that asks this node. */
struct clock_answer {
    uint32_t peer;
    uint32_t epoch, seq; /* of the exchange that is open, or was last */
    unsigned have;
    bool unstamped, disturbed;
    int64_t t_rx[2], r_tx[2];
};

struct clock_talk {
    uint32_t self, epoch;
    int64_t cadence_ns, spacing_ns; /* cadence: may be changed any time */
    bool has_beats;  /* set by who calls: exchanges begin at beats only */
    int64_t beat_ns; /* the next one, of which clock_talk_run tells */
    size_t n_edges, n_answers;
    struct clock_edge edges[CLOCK_DEGREE];
    struct clock_answer answers[CLOCK_DEGREE];
    bool user_stamps; /* set by who calls */
    int64_t real_less_mono;
    /* Sends to neighbour `index` of edges (or of answers); tag comes back with
     * clock_talk_sent, 0: its time is not needed. False: it could not. */
    bool (*send)(void *arg, bool to_answer, size_t index,
                 const struct clock_packet *packet, uint64_t tag);
    /* An exchange has failed. May be NULL. */
    void (*failed)(void *arg, size_t index, enum clock_why why);
    void *arg;
};

/* Node self of n, which begins at now_ns. */
void clock_talk_init(struct clock_talk *talk, uint32_t n, uint32_t self,
                     uint32_t epoch, int64_t cadence_ns, int64_t spacing_ns,
                     int64_t now_ns);
void clock_talk_fini(struct clock_talk *talk);

/* Does what is due. Returns when it wants to be called again, INT64_MAX: only
 * when something comes. */
int64_t clock_talk_run(struct clock_talk *talk, int64_t now_ns);

/* A packet that came at rx_ns. Returns the index of the neighbour that asks and
 * is to be answered where it came from, -1: it is of an answer; -2: it is not
 * for this node, or is a replay. */
int clock_talk_take(struct clock_talk *talk, const struct clock_packet *packet,
                    int64_t rx_ns, int64_t now_ns);
/* A packet with that tag left at tx_ns; INT64_MIN: that is not known. */
void clock_talk_sent(struct clock_talk *talk, uint64_t tag, int64_t tx_ns,
                     int64_t now_ns);
/* The wall clock was set: the exchanges that are open do not count. */
void clock_talk_disturb(struct clock_talk *talk);

/* Whom packet would be answered, as clock_talk_take; nothing changes. */
int clock_talk_asker(const struct clock_talk *talk,
                     const struct clock_packet *packet);

/* Whether an edge's window has exchanges, but too few for a line. */
bool clock_edge_is_short(const struct clock_talk *talk, size_t index);
/* Ends an edge's window, which lasted from start to end, and empties it. */
void clock_edge_close(struct clock_talk *talk, size_t index, uint64_t id,
                      int64_t start_ns, int64_t end_ns,
                      struct clock_window *window);

#endif
