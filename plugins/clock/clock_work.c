/* clock_work.c - the clock module of the node agent: sockets, timers,
 * neighbours, windows and budget around the exchanges of clock_talk.c.
 *
 * One call, run, does everything that can be done now: it reads stamps and
 * packets, ends windows, looks for neighbours' files, starts exchanges and sets
 * the timer for the next call. struct clock_work has all state; clock_module at
 * the end is the agent's view of it. Read run first, then start. */
#include "plugins/clock/clock_work.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"

#ifndef TFD_TIMER_CANCEL_ON_SET
#define TFD_TIMER_CANCEL_ON_SET (1 << 1)
#endif

#define SECOND_NS INT64_C(1000000000)
/* A neighbour's file is looked for every LOOK_NS in the first EAGER_NS, then in
 * intervals that double up to LOOK_MAX_NS. */
#define LOOK_NS (SECOND_NS / 5)
#define EAGER_NS (30 * SECOND_NS)
#define LOOK_MAX_NS (60 * SECOND_NS)
/* Most packets of one call, so that a flood cannot hold the agent. After
 * BAD_A_SECOND invalid packets in a second, the rest of that second's packets
 * stays unread. */
#define TAKEN_AT_ONCE 64
#define BAD_A_SECOND 1000
/* Interval between two looks at the cost. Asking begins no faster than
 * FIRST_CADENCE_NS, until the cost is known. */
#define COST_NS (2 * SECOND_NS)
#define FIRST_CADENCE_NS (INT64_C(1000) * JP_CLOCK_FIRST_US)
/* Of the budget: the pace is corrected every COST_NS, and a machine that gets
 * busy makes each packet dearer until then. */
#define AIM 0.5
/* A window has room for at least this many exchanges. */
#define A_WINDOW 16
/* A window with too few exchanges may last this many times as long. */
#define LONGEST_WINDOW 4
/* A snapshot is written when the raw clock is further than this from where the
 * snapshots before would put it. */
#define RAW_NS 1000

/* A neighbour that this node asks. */
struct peer {
    const char *node;
    struct peer_place told; /* by its file */
    size_t at; /* index of the address in use, modulo their number */
    struct sockaddr_storage to;
    socklen_t to_len;
    size_t socket;                  /* that sends there */
    int64_t look_ns, look_every_ns; /* next look at its file; the interval */
    uint32_t lost_seen; /* lost_in_row at the last change of address */
    bool refused;       /* none of its addresses can be used here */
};

struct clock_work {
    struct module_place place;
    struct clock_conf conf;
    struct clock_source source;
    /* one at each address of `own`, which the neighbours are told of */
    struct clock_socket sockets[PEER_ADDRESSES];
    size_t n_sockets;
    struct peer_place own;
    struct peer_seal seal;
    struct clock_talk talk;
    struct clock_rows rows;
    bool has_rows;
    int epoll, timer, set;           /* set: ready when the wall clock is set */
    struct peer peers[CLOCK_DEGREE]; /* by edge */
    /* where the last question of each neighbour came from, and to */
    struct {
        struct sockaddr_storage to;
        socklen_t to_len;
        size_t socket;
    } askers[CLOCK_DEGREE];
    int64_t began_ns;
    /* windows */
    int64_t window_ns;
    uint64_t window_id; /* of the current moment */
    struct {
        uint64_t id; /* of the moment at which it began */
        int64_t start_ns;
        uint32_t told;       /* failures written one by one */
    } windows[CLOCK_DEGREE]; /* by edge */
    /* snapshots: when the next is due; moment and distance (raw less monotonic)
     * of the last one, and the rate between the last two */
    int64_t snapshot_ns, raw_at_ns, raw_ahead_ns;
    double raw_rate;
    /* cost: start of the period, processor time then and now */
    int64_t cost_from_ns, cost_cpu_ns, cpu_ns;
    int64_t due_ns; /* when the timer wakes */
    int64_t bad_from_ns;
    uint32_t bad_now;
    bool deaf;    /* packets stay unread until the second is over */
    bool listens; /* the sockets wake: packets need their times at once */
    uint64_t sent, received, bad, steps, failures;
    bool troubled; /* an error was met; trouble is the first one */
    bool told;     /* the agent has been told of it */
    struct jp_error trouble;
};

/* --- clocks ---------------------------------------------------------------
 */

static int64_t now_of(const struct clock_work *w)
{
    return clock_source_mono(&w->source);
}

/* Remembers the first error; the agent reports it once. */
static void note(struct clock_work *w, int rc, const struct jp_error *err)
{
    if (rc >= 0 || w->troubled)
        return;
    w->troubled = true;
    w->trouble = *err;
}

/* --- packets --------------------------------------------------------------
 */

/* Seals a packet and queues it. An answer goes where the question came from, so
 * it needs no file of the neighbour. */
static bool send_packet(void *arg, bool to_answer, size_t index,
                        const struct clock_packet *packet, uint64_t tag)
{
    struct clock_work *w = arg;
    uint8_t bytes[CLOCK_PACKET_BYTES];
    struct clock_socket *s = &w->sockets[to_answer ? w->askers[index].socket
                                                   : w->peers[index].socket];

    clock_packet_write(packet, &w->seal, bytes);
    w->sent++;
    if (to_answer)
        clock_socket_send(s, &w->askers[index].to, w->askers[index].to_len,
                          bytes, tag);
    else
        clock_socket_send(s, &w->peers[index].to, w->peers[index].to_len, bytes,
                          tag);
    /* without the kernel's stamps, the time before the call counts: send at
     * once */
    if (w->listens)
        clock_socket_flush(s);
    return true;
}

/* Writes a failed exchange, at most CLOCK_TOLD in a window of a neighbour. */
static void note_failure(void *arg, size_t index, const char *why)
{
    struct clock_work *w = arg;
    const struct clock_edge *e = &w->talk.edges[index];
    struct jp_error err;

    w->failures++;
    if (w->windows[index].told++ < CLOCK_TOLD)
        note(w,
             clock_rows_failure(&w->rows, w->talk.self, e->peer, e->seq,
                                now_of(w), why, &err),
             &err);
}

/* Passes known times of sending to their exchanges. */
static void take_stamps(struct clock_work *w)
{
    struct clock_sent sent[CLOCK_PENDING];

    for (size_t k = 0; k < w->n_sockets; k++) {
        size_t n = clock_socket_sent(&w->sockets[k], sent);

        for (size_t i = 0; i < n; i++)
            clock_talk_sent(&w->talk, sent[i].tag, sent[i].tx_ns, now_of(w));
    }
    w->talk.user_stamps = !w->source.kernel;
}

/* Sends what is queued. */
static void flush(struct clock_work *w)
{
    for (size_t k = 0; k < w->n_sockets; k++)
        clock_socket_flush(&w->sockets[k]);
}

static void count_bad(struct clock_work *w)
{
    int64_t now = now_of(w);

    w->bad++;
    if (now - w->bad_from_ns >= SECOND_NS) {
        w->bad_from_ns = now;
        w->bad_now = 0;
    }
    w->deaf |= ++w->bad_now >= BAD_A_SECOND;
}

/* Adds the sockets to epoll or removes them. Where the kernel stamps packets,
 * they can lie until the next beat, and many of them cost one wake-up.
 * Otherwise each packet wakes the agent, which then takes its time. */
static void listen_as_needed(struct clock_work *w, int64_t now_ns)
{
    struct epoll_event event = {.events = EPOLLIN};
    bool listens;

    if (w->deaf && now_ns - w->bad_from_ns >= SECOND_NS) {
        w->deaf = false;
        w->bad_now = 0;
    }
    w->talk.has_beats = w->source.kernel && w->source.proven;
    listens = !w->deaf && !w->talk.has_beats;
    for (size_t k = 0; k < w->n_sockets && listens != w->listens; k++)
        epoll_ctl(w->epoll, listens ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
                  w->sockets[k].fd, &event);
    w->listens = listens;
}

static void take_packet(struct clock_work *w, const struct clock_arrival *in,
                        size_t socket)
{
    struct clock_packet packet;
    int asker;

    w->received++;
    if (clock_packet_read(in->bytes, in->len, &w->seal, &packet) < 0) {
        count_bad(w);
        return;
    }
    /* clock_talk_take may answer at once, so the address is stored before */
    asker = clock_talk_asker(&w->talk, &packet);
    if (asker >= 0) {
        w->askers[asker].to = in->from;
        w->askers[asker].to_len = in->from_len;
        w->askers[asker].socket = socket;
    }
    if (clock_talk_take(&w->talk, &packet, in->rx_ns, now_of(w)) == -2)
        count_bad(w);
    if (w->listens)
        take_stamps(w);
}

static void take_packets(struct clock_work *w)
{
    struct clock_arrival in[CLOCK_BATCH];

    for (size_t k = 0; k < w->n_sockets; k++) {
        size_t n, taken = 0, room;

        do {
            room = w->source.kernel ? CLOCK_BATCH : 1;
            n = clock_socket_receive(&w->sockets[k], in, room);
            for (size_t i = 0; i < n; i++)
                take_packet(w, &in[i], k);
            taken += n;
        } while (n == room && taken < TAKEN_AT_ONCE && !w->deaf);
    }
    flush(w);
}

/* --- neighbours -----------------------------------------------------------
 */

/* Uses the neighbour's current address, or the next one for which there is a
 * socket. */
static void use_address(struct clock_work *w, size_t index)
{
    struct peer *p = &w->peers[index];
    size_t n = p->told.n_addresses;
    bool found = false;

    for (size_t i = 0; i < n && !found; i++) {
        found = peer_address(p->told.addresses[p->at % n].address, p->told.port,
                             &p->to, &p->to_len);
        if (found)
            p->socket = peer_bind_choose(w->own.addresses, w->n_sockets, &p->to,
                                         p->to_len);
        found = found && p->socket < w->n_sockets;
        if (!found)
            p->at++;
    }
    p->refused = !found;
    w->talk.edges[index].ready = found;
}

static char *peer_path(const struct clock_work *w, const char *node)
{
    return text_format("%s/nodes/%s/" CLOCK_PEER_FILE, w->place.dir, node);
}

static bool read_peer(const struct clock_work *w, const char *node,
                      struct peer_place *told)
{
    char *path = peer_path(w, node);
    bool there = path && peer_read_file(path, told, NULL) == 0;

    free(path);
    return there;
}

/* Reads a neighbour's file where its address is not known yet, or where it has
 * stopped answering: it may have been restarted. */
static void look_for_peer(struct clock_work *w, size_t index, int64_t now_ns)
{
    struct clock_edge *e = &w->talk.edges[index];
    struct peer *p = &w->peers[index];
    struct peer_place told;
    bool silent = e->ready && e->lost_in_row >= CLOCK_PATIENCE;

    if (silent && e->lost_in_row != p->lost_seen && p->told.n_addresses > 1) {
        p->lost_seen = e->lost_in_row;
        p->at++; /* another of its addresses may work */
        use_address(w, index);
    }
    if ((e->ready && !silent) || now_ns < p->look_ns)
        return;
    if (now_ns - w->began_ns > EAGER_NS || silent) {
        p->look_every_ns *= 2;
        if (p->look_every_ns > LOOK_MAX_NS)
            p->look_every_ns = LOOK_MAX_NS;
    }
    p->look_ns = now_ns + p->look_every_ns;
    if (!read_peer(w, p->node, &told) || told.node_id != e->peer)
        return;
    if (e->ready && memcmp(&told, &p->told, sizeof(told)) == 0)
        return;
    p->told = told;
    p->at = 0;
    e->lost_in_row = 0;
    if (e->next_ns > now_ns + w->talk.cadence_ns)
        e->next_ns = now_ns;
    use_address(w, index);
}

static int64_t look_for_peers(struct clock_work *w, int64_t now_ns)
{
    int64_t next = INT64_MAX;

    for (size_t i = 0; i < w->talk.n_edges; i++) {
        look_for_peer(w, i, now_ns);
        if (!w->talk.edges[i].ready && w->peers[i].look_ns < next)
            next = w->peers[i].look_ns;
    }
    return next;
}

/* --- windows and snapshots ------------------------------------------------
 */

/* The number of a window, by the wall clock, so that all nodes number alike. */
static uint64_t window_of(const struct clock_work *w, int64_t now_ns)
{
    int64_t real = now_ns + w->source.ahead;

    return real > 0 ? (uint64_t) (real / w->window_ns) : 0;
}

static void put_snapshot(struct clock_work *w, const struct clock_look *look)
{
    int64_t ahead = look->raw_ns - look->mono_ns,
            passed = look->mono_ns - w->raw_at_ns;
    struct jp_error err;

    if (w->raw_at_ns && passed > 0)
        w->raw_rate = (double) (ahead - w->raw_ahead_ns) / (double) passed;
    w->raw_at_ns = look->mono_ns;
    w->raw_ahead_ns = ahead;
    note(w, clock_rows_snapshot(&w->rows, look, &err), &err);
}

/* Reads all clocks when that is due. A reading that the ones before predict is
 * not written: it would say nothing new. */
static void take_snapshot(struct clock_work *w, int64_t now_ns)
{
    struct clock_look look;
    double expected;

    if (!w->conf.snapshot_ms || now_ns < w->snapshot_ns)
        return;
    w->snapshot_ns = now_ns + (int64_t) w->conf.snapshot_ms * 1000000;
    clock_look(&w->source.shift, &look);
    expected = (double) w->raw_ahead_ns +
               w->raw_rate * (double) (look.mono_ns - w->raw_at_ns);
    if (fabs((double) (look.raw_ns - look.mono_ns) - expected) >
        RAW_NS + (double) look.width_ns)
        put_snapshot(w, &look);
}

static void end_window(struct clock_work *w, size_t edge, int64_t now_ns)
{
    struct clock_window window;
    struct jp_error err;

    clock_edge_close(&w->talk, edge, w->windows[edge].id,
                     w->windows[edge].start_ns, now_ns, &window);
    if (window.exchanges || window.lost || window.no_stamp || window.disturbed)
        note(w, clock_rows_window(&w->rows, &window, &err), &err);
}

static void begin_window(struct clock_work *w, size_t edge, int64_t now_ns)
{
    w->windows[edge].id = w->window_id;
    w->windows[edge].start_ns = now_ns;
    w->windows[edge].told = 0;
}

/* Whether a window with too few exchanges is continued, with half a window of
 * tolerance. */
static bool goes_on(const struct clock_work *w, size_t edge, int64_t now_ns)
{
    return clock_edge_is_short(&w->talk, edge) &&
           now_ns - w->windows[edge].start_ns <
               LONGEST_WINDOW * w->window_ns - w->window_ns / 2;
}

/* Ends the windows of all neighbours; all: even those that could go on. A
 * snapshot is written with each change of windows. */
static void end_windows(struct clock_work *w, int64_t now_ns, bool all)
{
    struct clock_look look;

    w->window_id = window_of(w, now_ns);
    for (size_t i = 0; i < w->talk.n_edges; i++) {
        if (!all && goes_on(w, i, now_ns))
            continue;
        end_window(w, i, now_ns);
        begin_window(w, i, now_ns);
    }
    clock_look(&w->source.shift, &look);
    put_snapshot(w, &look);
}

/* Handles a wall clock that was set: stamps of open exchanges cannot be
 * converted any more. Returns whether it was set since the last call. */
static bool look_at_wall(struct clock_work *w)
{
    struct clock_look look;
    struct jp_error err;
    int64_t by_ns;
    char line[120];

    if (!clock_source_was_set(&w->source, &by_ns))
        return false;
    clock_talk_disturb(&w->talk);
    w->talk.real_less_mono = w->source.ahead;
    clock_look(&w->source.shift, &look);
    note(w, clock_rows_step(&w->rows, &look, by_ns, &err), &err);
    if (w->steps++ || !w->place.log)
        return true;
    snprintf(line, sizeof(line),
             "clock: the wall clock of %.32s was set by %.6f s", w->place.node,
             (double) by_ns / 1e9);
    w->place.log(w->place.log_arg, line);
    return true;
}

/* --- cost -----------------------------------------------------------------
 */

/* The part of a processor that this module may take. */
static double budget_of(const struct clock_work *w)
{
    return (double) w->conf.cpu_permille / 1000;
}

/* Adapts the cadence to the cost: never faster than requested, and never so
 * slow that the longest window has less than A_WINDOW exchanges. */
static void keep_budget(struct clock_work *w, int64_t now_ns)
{
    int64_t passed = now_ns - w->cost_from_ns,
            least = (int64_t) w->conf.cadence_us * 1000,
            most = LONGEST_WINDOW * w->window_ns / A_WINDOW;
    double share, factor;

    if (passed < COST_NS)
        return;
    share = (double) (w->cpu_ns - w->cost_cpu_ns) / (double) passed;
    w->cost_from_ns = now_ns;
    w->cost_cpu_ns = w->cpu_ns;
    factor = share / (AIM * budget_of(w));
    factor = factor > 4 ? 4 : factor < 0.5 ? 0.5 : factor;
    if (factor > 0.9 && factor < 1.1)
        return;
    w->talk.cadence_ns = (int64_t) ((double) w->talk.cadence_ns * factor);
    if (w->talk.cadence_ns > most)
        w->talk.cadence_ns = most;
    if (w->talk.cadence_ns < least)
        w->talk.cadence_ns = least;
}

/* --- the loop's calls -----------------------------------------------------
 */

/* Sets the next wake-up, between 1 us and 1 s from now. Setting a timer also
 * clears one that has run out, so it needs no read(). */
static void set_timer(const struct clock_work *w, int64_t at_ns, int64_t now_ns)
{
    int64_t wait = at_ns - now_ns;
    struct itimerspec when = {.it_interval = {0, 0}};

    if (wait < 1000)
        wait = 1000;
    if (wait > SECOND_NS)
        wait = SECOND_NS;
    when.it_value.tv_sec = (time_t) (wait / SECOND_NS);
    when.it_value.tv_nsec = (long) (wait % SECOND_NS);
    timerfd_settime(w->timer, 0, &when, NULL);
}

/* Arms a timer far in the future, which the kernel cancels when the wall clock
 * is set. */
static void await_set(const struct clock_work *w)
{
    const struct itimerspec never = {.it_value = {.tv_sec = INT32_MAX}};

    if (w->set >= 0)
        timerfd_settime(w->set, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET,
                        &never, NULL);
}

/* Reads the cancelled timer, which would wake the agent again and again, and
 * arms it anew. */
static void drain_set(struct clock_work *w)
{
    uint64_t count;

    if (w->set >= 0 && read(w->set, &count, sizeof(count)) < 0 &&
        errno == ECANCELED)
        await_set(w);
}

/* A callback of struct node_module, for tick and readable. */
static int run_work(void *state, const struct module_time *time,
                    struct jp_error *err)
{
    struct clock_work *w = state;
    int64_t now = now_of(w), next, peers;
    bool was_set = look_at_wall(w);

    /* an early wake-up comes from this timer or a socket */
    if (was_set || now < w->due_ns || w->listens)
        drain_set(w);
    listen_as_needed(w, now);
    /* stamps before packets and after them: an answer's arrival may complete an
     * exchange whose time of sending is still queued */
    if (!w->talk.has_beats || now >= w->talk.beat_ns || was_set) {
        take_stamps(w);
        if (!w->deaf)
            take_packets(w);
        take_stamps(w);
        if (was_set) /* what came before is stamped by another clock */
            clock_talk_disturb(&w->talk);
    }
    now = now_of(w);
    if (window_of(w, now) != w->window_id)
        end_windows(w, now, false);
    take_snapshot(w, now);
    peers = look_for_peers(w, now);
    next = clock_talk_run(&w->talk, now);
    flush(w);
    if (w->listens)
        take_stamps(w);
    w->due_ns = peers < next ? peers : next;
    set_timer(w, w->due_ns, now);
    w->cpu_ns = (int64_t) time->module_us * 1000;
    keep_budget(w, now);
    if (!w->troubled || w->told)
        return 0;
    w->told = true;
    return error_set(err, "%s", w->trouble.text);
}

/* --- begin and end --------------------------------------------------------
 */

static int watch(const struct clock_work *w, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return fd < 0 ? -1 : epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Opens sockets, timers and epoll. Without the timer that notices a set clock,
 * clock_source_was_set notices it later. */
static int open_fds(struct clock_work *w, const struct clock_shift *shift,
                    struct jp_error *err)
{
    int flags = TFD_CLOEXEC | TFD_NONBLOCK;

    int fds[PEER_ADDRESSES];
    struct jp_error why;

    clock_source_init(&w->source, shift);
    w->n_sockets = peer_bind_all(w->own.addresses, w->own.n_addresses, fds,
                                 &w->own.port, &why);
    w->own.n_addresses = w->n_sockets;
    for (size_t k = 0; k < w->n_sockets; k++)
        clock_socket_init(&w->sockets[k], fds[k], &w->source);
    if (!w->n_sockets)
        return error_set(err, "%s", why.text);
    if (*why.text) /* the others are used */
        note(w, -1, &why);
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    w->timer = timerfd_create(CLOCK_MONOTONIC, flags);
    w->set = timerfd_create(CLOCK_REALTIME, flags);
    if (w->epoll < 0 || watch(w, w->timer) < 0)
        return error_set(err, "no loop: %s", strerror(errno));
    for (size_t k = 0; k < w->n_sockets; k++)
        if (watch(w, w->sockets[k].fd) < 0)
            return error_set(err, "no loop: %s", strerror(errno));
    w->listens = true;
    if (w->set >= 0) {
        watch(w, w->set);
        await_set(w);
    }
    return 0;
}

/* This node's index in the step's list. Node names become parts of paths, so
 * none may contain a slash. */
static int find_self(const struct module_place *place, uint32_t *self,
                     struct jp_error *err)
{
    if (place->n_nodes > CLOCK_NODES_MAX)
        return error_set(err, "more than %d nodes", CLOCK_NODES_MAX);
    for (size_t i = 0; i < place->n_nodes; i++)
        if (strchr(place->nodes[i], '/'))
            return error_set(err, "a node's name has a slash");
    for (size_t i = 0; i < place->n_nodes; i++)
        if (strcmp(place->nodes[i], place->node) == 0) {
            *self = (uint32_t) i;
            return 0;
        }
    return error_set(err, "this node is not in the step's list");
}

/* Lengthens the window if the cadence leaves too few exchanges in it. */
static void init_talk(struct clock_work *w, uint32_t self, int64_t now_ns)
{
    int64_t cadence = (int64_t) w->conf.cadence_us * 1000, window = 0;

    if (cadence < FIRST_CADENCE_NS)
        cadence = FIRST_CADENCE_NS;
    w->window_ns = (int64_t) w->conf.window_ms * 1000000;
    window = (int64_t) w->conf.cadence_us * 1000 * A_WINDOW;
    if (w->window_ns < window)
        w->window_ns = window;
    if (w->window_ns < SECOND_NS)
        w->window_ns = SECOND_NS;
    clock_talk_init(&w->talk, (uint32_t) w->place.n_nodes, self,
                    (uint32_t) time(NULL), cadence,
                    (int64_t) w->conf.spacing_us * 1000, now_ns);
    w->talk.send = send_packet;
    w->talk.failed = note_failure;
    w->talk.arg = w;
    w->talk.real_less_mono = w->source.ahead;
    w->talk.user_stamps = !w->source.kernel;
    for (size_t i = 0; i < w->talk.n_edges; i++) {
        w->peers[i].node = w->place.nodes[w->talk.edges[i].peer];
        w->peers[i].look_every_ns = LOOK_NS;
    }
}

static int open_files(struct clock_work *w, struct jp_error *err)
{
    const struct peer_place *own = &w->own;
    struct clock_origin origin = {.job = w->place.job,
                                  .step = w->place.step,
                                  .node = w->place.node,
                                  .nodes = w->place.nodes,
                                  .node_id = own->node_id,
                                  .n_nodes = (uint32_t) w->place.n_nodes,
                                  .port = own->port,
                                  .address = own->addresses[0].address,
                                  .source = w->source.kernel ? "kernel_sw"
                                                             : "user",
                                  .conf = &w->conf};
    uint64_t most = w->place.disk_bytes < CLOCK_DISK_BYTES ? w->place.disk_bytes
                                                           : CLOCK_DISK_BYTES;
    char *path;
    int rc;

    clock_look(&w->source.shift, &origin.look);
    if (clock_rows_open(&w->rows, w->place.dir, &origin, most, err) < 0)
        return -1;
    w->has_rows = true;
    path = peer_path(w, w->place.node);
    rc = path ? peer_write_file(path, own, err)
              : error_set(err, "out of memory");
    free(path);
    return rc;
}

/* The order matters: addresses, sockets, time, exchanges, then files. */
static int start(struct clock_work *w, uint32_t self,
                 const struct clock_shift *shift, struct jp_error *err)
{
    w->own.node_id = self;
    w->own.n_addresses =
        peer_iface_find(w->conf.net.interfaces, w->own.addresses, err);
    if (!w->own.n_addresses || open_fds(w, shift, err) < 0)
        return -1;
    w->began_ns = w->cost_from_ns = now_of(w);
    init_talk(w, self, w->began_ns);
    w->own.epoch = w->talk.epoch;
    w->window_id = window_of(w, w->began_ns);
    for (size_t i = 0; i < w->talk.n_edges; i++)
        begin_window(w, i, w->began_ns);
    if (open_files(w, err) < 0)
        return -1;
    set_timer(w, w->began_ns, w->began_ns);
    return 0;
}

static void destroy(void *state)
{
    struct clock_work *w = state;

    if (!w)
        return;
    clock_talk_fini(&w->talk);
    if (w->has_rows)
        clock_rows_close(&w->rows);
    for (size_t k = 0; k < w->n_sockets; k++)
        close(w->sockets[k].fd);
    if (w->epoll >= 0)
        close(w->epoll);
    if (w->timer >= 0)
        close(w->timer);
    if (w->set >= 0)
        close(w->set);
    explicit_bzero(&w->seal, sizeof(w->seal));
    explicit_bzero(&w->conf, sizeof(w->conf));
    free(w);
}

struct clock_work *clock_work_create(const struct module_place *place,
                                     const struct clock_shift *shift,
                                     struct jp_error *err)
{
    const struct clock_conf *conf = place->settings[OPTION_CLOCK];
    struct clock_work *w;
    uint32_t self = 0;

    if (!conf || !conf->cadence_us || place->n_nodes < 2) {
        error_set(err, "%s", "");
        return NULL;
    }
    if (find_self(place, &self, err) < 0)
        return NULL;
    w = calloc(1, sizeof(*w));
    if (!w) {
        error_set(err, "out of memory");
        return NULL;
    }
    w->place = *place;
    w->conf = *conf;
    w->conf.net.interfaces[MODULE_NAMES_BYTES - 1] = '\0';
    if (!w->conf.cpu_permille)
        w->conf.cpu_permille = JP_DEF_CLOCK_CPU_PERMILLE;
    w->epoll = w->timer = w->set = -1;
    peer_seal_init(&w->seal, w->conf.net.key, place->job, place->step);
    if (start(w, self, shift, err) == 0)
        return w;
    destroy(w);
    return NULL;
}

/* --- as a module ----------------------------------------------------------
 */

static int fd(void *state)
{
    return ((const struct clock_work *) state)->epoll;
}

/* Says that the budget made the probes rarer than requested. */
static void tell_pace(const struct clock_work *w)
{
    double wanted_ms = (double) w->conf.cadence_us / 1000,
           ms = (double) w->talk.cadence_ns / 1e6;
    char line[200];

    if (ms < CLOCK_SLOWED * wanted_ms || !w->place.log)
        return;
    snprintf(line, sizeof(line),
             "clock: %.64s probed every %.1f ms in the end, not every %.1f ms, "
             "to take no more than %.1f %% of a processor",
             w->place.node, ms, wanted_ms, budget_of(w) * 100);
    w->place.log(w->place.log_arg, line);
}

static void finish(void *state)
{
    end_windows(state, now_of(state), true);
    tell_pace(state);
}

static double allowed(void *state)
{
    return budget_of(state);
}

static void *start_module(const struct module_place *place,
                          struct jp_error *err)
{
    return clock_work_create(place, NULL, err);
}

static uint64_t bytes(void *state)
{
    return ((const struct clock_work *) state)->rows.bytes;
}

static void record(void *state, struct jp_json_stream *s)
{
    const struct clock_work *w = state;
    size_t answered = 0;
    uint64_t exchanges = 0;

    for (size_t i = 0; i < w->talk.n_edges; i++) {
        answered += w->talk.edges[i].exchanges > 0;
        exchanges += w->talk.edges[i].exchanges;
    }
    json_stream_text(s, "clock_source",
                     w->source.kernel ? "kernel_sw" : "user");
    json_stream_count(s, "cpu_permille", w->conf.cpu_permille);
    json_stream_count(s, "wanted_cadence_us", w->conf.cadence_us);
    json_stream_count(s, "cadence_us", (uint64_t) w->talk.cadence_ns / 1000);
    json_stream_count(s, "asked", w->talk.n_edges);
    json_stream_count(s, "answered", answered);
    json_stream_count(s, "exchanges", exchanges);
    json_stream_count(s, "failures", w->failures);
    json_stream_count(s, "packets_sent", w->sent);
    json_stream_count(s, "packets_received", w->received);
    json_stream_count(s, "packets_refused", w->bad);
    json_stream_count(s, "clock_steps", w->steps);
}

const struct node_module clock_module = {
    .name = "clock",
    .allowed = allowed,
    .paces_itself = true,
    .memory_bytes = 16 << 20,
    .start = start_module,
    .fd = fd,
    .tick = run_work,
    .readable = run_work,
    .bytes = bytes,
    .record = record,
    .finish = finish,
    .destroy = destroy,
};
