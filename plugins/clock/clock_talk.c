/* clock_talk.c - the exchanges between two nodes, and the bounds that they
 * give.
 *
 * No sockets and no clock here: the caller passes the time, sends packets and
 * hands over what arrives. clock_talk_run starts what is due; clock_talk_take
 * and clock_talk_sent add the times of an exchange, whose bits are collected in
 * `have`; settle_exchange ends it and adds its bounds to the window;
 * clock_edge_close lays the window's line. Each neighbour that this node asks
 * is an edge, each one that asks is an answer. Read settle_exchange and
 * clock_edge_close first. */
#include "plugins/clock/clock_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Larger times are refused, so that differences cannot overflow. */
#define FAR_NS ((int64_t) 1 << 60)

/* What an exchange has so far. The second bit of a pair is that of the second
 * packet. */
enum {
    HAVE_T_TX = 1,  /* a question has left; 2 */
    HAVE_R_RX = 4,  /* an answer has come; 8 */
    HAVE_T_RX = 16, /* answering node: a question has come; 32 */
    HAVE_R_TX = 64, /* answering node: an answer has left; 128 */
    HAVE_STAMPS = 256,
    TOLD = 512, /* answering node: the stamps were sent */
};
/* "* 3" sets the bits of both packets. */
#define ASKED_ALL (HAVE_T_TX * 3 | HAVE_R_RX * 3 | HAVE_STAMPS)
#define ANSWERED_ALL (HAVE_T_RX * 3 | HAVE_R_TX * 3)

/* Why an exchange failed, and the phrase in its record. */
enum why { LOST, UNSTAMPED, DISTURBED };
static const char *const why_names[] = {"lost", "no send time",
                                        "a clock was set"};

/* --- tags: which packet a time of sending belongs to ----------------------
 */

#define TAG_ANSWER (UINT64_C(1) << 62)
#define TAG_SECOND (UINT64_C(1) << 61)
#define TAG_USED (UINT64_C(1) << 60)

/* A tag names a packet whose time of sending is awaited: kind, index of the
 * neighbour, which of the two packets, and the exchange's number. It is never
 * 0, which means "no tag". */
static uint64_t make_tag(bool answer, size_t index, int which, uint32_t seq)
{
    return TAG_USED | (answer ? TAG_ANSWER : 0) | (which ? TAG_SECOND : 0) |
           (uint64_t) index << 32 | seq;
}

/* --- begin and end --------------------------------------------------------
 */

void clock_talk_init(struct clock_talk *talk, uint32_t n, uint32_t self,
                     uint32_t epoch, int64_t cadence_ns, int64_t spacing_ns,
                     int64_t now_ns)
{
    uint32_t peers[CLOCK_DEGREE];
    bool asks[CLOCK_DEGREE];
    size_t n_peers = clock_peers_of(n, self, peers, asks);

    memset(talk, 0, sizeof(*talk));
    talk->self = self;
    talk->epoch = epoch;
    talk->cadence_ns = cadence_ns;
    talk->spacing_ns = spacing_ns;
    for (size_t i = 0; i < n_peers; i++)
        if (asks[i])
            talk->edges[talk->n_edges++].peer = peers[i];
        else
            talk->answers[talk->n_answers++].peer = peers[i];
    for (size_t i = 0; i < talk->n_edges; i++) /* not all at once */
        talk->edges[i].next_ns = now_ns + cadence_ns * (int64_t) i /
                                              (int64_t) talk->n_edges;
}

static void span_fini(struct clock_span *s)
{
    clockline_fini(&s->halves[0]);
    clockline_fini(&s->halves[1]);
}

void clock_talk_fini(struct clock_talk *talk)
{
    for (size_t i = 0; i < talk->n_edges; i++)
        span_fini(&talk->edges[i].span);
}

/* --- the end of an exchange ----------------------------------------------
 */

/* Nanoseconds between two exchanges with this neighbour: the slower of both
 * nodes' cadences. It doubles with each loss beyond CLOCK_PATIENCE, up to
 * CLOCK_RAREST_NS. */
static int64_t interval_of(const struct clock_talk *talk,
                           const struct clock_edge *e)
{
    int64_t wanted = (int64_t) e->cadence_us * 1000;
    int64_t ns = wanted > talk->cadence_ns ? wanted : talk->cadence_ns;

    for (uint32_t k = CLOCK_PATIENCE;
         k < e->lost_in_row && ns < CLOCK_RAREST_NS; k++)
        ns *= 2;
    return ns < CLOCK_RAREST_NS ? ns : CLOCK_RAREST_NS;
}

/* The same in microseconds, without what losses add. */
static uint32_t cadence_us_of(const struct clock_talk *talk,
                              const struct clock_edge *e)
{
    int64_t own_us = talk->cadence_ns / 1000;

    own_us = own_us < UINT32_MAX ? own_us : UINT32_MAX;
    return e->cadence_us > own_us ? e->cadence_us : (uint32_t) own_us;
}

static void end_exchange(const struct clock_talk *talk, struct clock_edge *e,
                         int64_t now_ns)
{
    int64_t every = interval_of(talk, e), next = e->begun_ns + every;

    e->state = EDGE_IDLE;
    /* An exchange that is late is left out, not made up for. With beats, half
     * an interval late is still on time. */
    e->next_ns = next + (talk->has_beats ? every / 2 : 0) > now_ns
                     ? next
                     : now_ns + every;
}

/* Nanoseconds between two beats. */
static int64_t beat_of(int64_t cadence_ns)
{
    int64_t beat = cadence_ns / CLOCK_BEATS;

    return beat < CLOCK_BEAT_MAX_NS ? beat : CLOCK_BEAT_MAX_NS;
}

/* How long after its beginning an exchange may be completed. With beats, a
 * packet may lie for two beats on each node. The limit is then the interval to
 * the next exchange, which may as well begin; but no less than the usual
 * timeout, and at most four of the longest beats more. */
static int64_t patience_ns(const struct clock_talk *talk,
                           const struct clock_edge *e)
{
    int64_t least = CLOCK_TIMEOUT_NS + talk->spacing_ns,
            most = least + 4 * CLOCK_BEAT_MAX_NS,
            every = talk->has_beats ? interval_of(talk, e) : 0;

    return every < least ? least : every < most ? every : most;
}

/* Ends an exchange without a complete result. Only exchanges without any answer
 * count as silence of the neighbour, after which it is asked less often. */
static void fail(struct clock_talk *talk, struct clock_edge *e, enum why why,
                 int64_t now_ns)
{
    if (why == LOST) {
        e->span.lost++;
        /* only silence is a reason to ask less often */
        e->lost_in_row =
            e->have & (HAVE_R_RX * 3 | HAVE_STAMPS) ? 0 : e->lost_in_row + 1;
    } else {
        *(why == UNSTAMPED ? &e->span.no_stamp : &e->span.disturbed) += 1;
        e->lost_in_row = 0;
    }
    e->failures++;
    if (talk->failed)
        talk->failed(talk->arg, (size_t) (e - talk->edges), why_names[why]);
    end_exchange(talk, e, now_ns);
}

/* --- bounds ---------------------------------------------------------------
 */

static bool is_near(int64_t ns)
{
    return ns > -FAR_NS && ns < FAR_NS;
}

/* Whether answer i has arrived. */
static bool has_answer(const struct clock_edge *e, int i)
{
    return (e->have & (unsigned) HAVE_R_RX << i) != 0;
}

/* Whether the stamps are in an order that is possible whatever the offset of
 * the clocks. The asking node's clock may run slower than the other by
 * CLOCKLINE_MAX_SLOPE, so the round trip may seem shorter by that share. */
static bool makes_sense(const struct clock_edge *e)
{
    for (int i = 0; i < 2; i++) {
        if (!is_near(e->t_tx[i]) || !is_near(e->t_rx[i]) ||
            !is_near(e->r_tx[i]) || e->r_tx[i] < e->t_rx[i])
            return false;
        if (has_answer(e, i) &&
            (double) (e->r_rx[i] - e->t_tx[i]) <
                (1 - CLOCKLINE_MAX_SLOPE) * (double) (e->r_tx[i] - e->t_rx[i]))
            return false;
    }
    return e->t_rx[1] >= e->t_rx[0];
}

/* Whether both packets of a pair took equally long, so met no queue. left,
 * came: by two clocks; only their differences are compared. */
static bool is_pure(const int64_t left[2], const int64_t came[2])
{
    return llabs((came[1] - came[0]) - (left[1] - left[0])) <= CLOCK_PURE_NS;
}

/* Updates the least round trip by the asking node's clock. The time that
 * question i lay at the neighbour is converted by the slope of the last
 * line. */
static void note_rtt(struct clock_edge *e, int i)
{
    struct clock_span *s = &e->span;
    int64_t lay = e->r_tx[i] - e->t_rx[i];
    int64_t rtt = e->r_rx[i] - e->t_tx[i] - lay +
                  llround(e->slope * (double) lay);

    if (rtt < 1)
        rtt = 1;
    if (!s->rtt_min_ns || rtt < s->rtt_min_ns)
        s->rtt_min_ns = rtt;
}

/* Adds the bounds of an exchange, alternating between the two halves. An
 * exchange without all answers still gives upper bounds. Returns -1 without
 * memory. */
static int add_bounds(struct clock_edge *e)
{
    struct clock_span *s = &e->span;
    struct clockline_bounds *half = &s->halves[(s->exchanges + s->partial) % 2];

    if (!s->exchanges && !s->partial)
        s->first_ns = e->t_tx[0];
    for (int i = 0; i < 2; i++) {
        if (clockline_add_upper(half, e->t_tx[i], e->t_rx[i] - e->t_tx[i]) < 0)
            return -1;
        s->last_ns = e->t_tx[i];
        if (!has_answer(e, i))
            continue;
        if (clockline_add_lower(half, e->r_rx[i], e->r_tx[i] - e->r_rx[i]) < 0)
            return -1;
        s->last_ns = e->r_rx[i];
        note_rtt(e, i);
    }
    return 0;
}

/* Ends an exchange that is complete or out of time: adds its bounds if its
 * stamps can be used, and counts it as good or failed. */
static void settle_exchange(struct clock_talk *talk, struct clock_edge *e,
                            int64_t now_ns)
{
    struct clock_span *s = &e->span;
    bool whole = (e->have & ASKED_ALL) == ASKED_ALL;
    bool stamped = (e->have & HAVE_T_TX * 3) == HAVE_T_TX * 3 && !e->unstamped;
    bool told = (e->have & HAVE_STAMPS) != 0;
    bool heard = whole || (e->have & (HAVE_R_RX * 3 | HAVE_STAMPS)) ==
                              (HAVE_R_RX * 3 | HAVE_STAMPS);
    bool sane = told && stamped && !e->disturbed && makes_sense(e);

    /* bounds are true even where an answer is missing */
    if (sane && add_bounds(e) == 0) {
        s->user_stamps |= talk->user_stamps || e->by_user;
        s->partial += !whole;
    }
    if (whole && sane) {
        e->lost_in_row = 0;
        e->exchanges++;
        s->exchanges++;
        s->pure_there += is_pure(e->t_tx, e->t_rx);
        s->pure_back += is_pure(e->r_tx, e->r_rx);
        end_exchange(talk, e, now_ns);
    } else {
        fail(talk, e, !heard ? LOST : !stamped ? UNSTAMPED : DISTURBED, now_ns);
    }
}

/* --- asking ---------------------------------------------------------------
 */

/* Sends question 0 or 1 of the exchange. false: it could not be sent. */
static bool ask_node(struct clock_talk *talk, struct clock_edge *e, int which)
{
    const struct clock_packet p = {.type = which ? CLOCK_ASK2 : CLOCK_ASK1,
                                   .from = (uint16_t) talk->self,
                                   .to = (uint16_t) e->peer,
                                   .epoch = talk->epoch,
                                   .seq = e->seq};
    size_t index = (size_t) (e - talk->edges);

    e->state = which ? EDGE_SECOND : EDGE_FIRST;
    return talk->send(talk->arg, false, index, &p,
                      make_tag(false, index, which, e->seq));
}

static void begin(struct clock_talk *talk, struct clock_edge *e, int64_t now_ns)
{
    e->seq++;
    e->have = 0;
    e->unstamped = e->disturbed = false;
    e->begun_ns = now_ns;
    if (!ask_node(talk, e, 0))
        fail(talk, e, LOST, now_ns);
}

/* Does what is due for a neighbour. begins_ns: an exchange that is due by then
 * may begin; INT64_MIN: none may. Returns when it is to be called again. */
static int64_t run_edge(struct clock_talk *talk, struct clock_edge *e,
                        int64_t now_ns, int64_t begins_ns)
{
    /* time out first, so that a new exchange can begin in the same call */
    if (e->state == EDGE_SECOND && now_ns - e->begun_ns >= patience_ns(talk, e))
        settle_exchange(talk, e, now_ns);
    if (e->state == EDGE_IDLE && e->ready && begins_ns >= e->next_ns)
        begin(talk, e, now_ns);
    if (e->state == EDGE_FIRST && now_ns - e->begun_ns >= talk->spacing_ns &&
        !ask_node(talk, e, 1))
        fail(talk, e, LOST, now_ns);
    /* again, for a caller that comes very late */
    if (e->state == EDGE_SECOND && now_ns - e->begun_ns >= patience_ns(talk, e))
        settle_exchange(talk, e, now_ns);
    switch (e->state) {
    case EDGE_FIRST:
        return e->begun_ns + talk->spacing_ns;
    case EDGE_SECOND:
        return e->begun_ns + patience_ns(talk, e);
    default:
        return e->ready ? e->next_ns : INT64_MAX;
    }
}

/* At this beat, exchanges that are due until then begin. Half a beat early
 * makes no difference. If another neighbour's exchange begins at this very
 * beat, one that is due a beat later joins it, so that one wake-up serves
 * both. */
static int64_t begins_until(const struct clock_talk *talk,
                            const struct clock_edge *e, int64_t now_ns)
{
    int64_t beat = beat_of(talk->cadence_ns);

    if (!talk->has_beats)
        return now_ns;
    for (size_t i = 0;
         interval_of(talk, e) <= talk->cadence_ns && i < talk->n_edges; i++)
        if (talk->edges[i].begun_ns == now_ns)
            return now_ns + beat + beat / 2;
    return now_ns + beat / 2;
}

/* When this node's own exchanges need a look: one is due, or one is open that
 * should be complete. INT64_MAX: there are none. */
static int64_t next_due(const struct clock_talk *talk)
{
    int64_t next = INT64_MAX;

    for (size_t i = 0; i < talk->n_edges; i++) {
        const struct clock_edge *e = &talk->edges[i];
        int64_t due = e->state == EDGE_IDLE
                          ? e->next_ns
                          : e->begun_ns + interval_of(talk, e);

        if (e->ready && due < next)
            next = due;
    }
    return next;
}

/* The next beat that is not left out. A node that answers looks for questions
 * at every second beat at least, others only when their own exchanges need it.
 * An exchange that is not complete when the next one is due ends half a cadence
 * late, and the next one begins there: so exchanges move to where the
 * neighbour's answers come in time, and every second beat stays free. */
static int64_t next_beat(const struct clock_talk *talk, int64_t now_ns)
{
    int64_t beat = beat_of(talk->cadence_ns), due = next_due(talk),
            at = now_ns - now_ns % beat + beat,
            last = at + (talk->n_answers ? beat : CLOCK_IDLE_NS);

    /* half a beat early makes no difference */
    if (due > last)
        return last;
    if (due - beat / 2 > at)
        at += (due - beat / 2 - at + beat - 1) / beat * beat;
    return at < last ? at : last;
}

/* With beats, only the spacing of an open exchange and the next beat wake the
 * caller. */
int64_t clock_talk_run(struct clock_talk *talk, int64_t now_ns)
{
    int64_t next = INT64_MAX;
    bool begins = !talk->has_beats || now_ns >= talk->beat_ns;

    for (size_t i = 0; i < talk->n_edges; i++) {
        struct clock_edge *e = &talk->edges[i];
        int64_t at =
            run_edge(talk, e, now_ns,
                     begins ? begins_until(talk, e, now_ns) : INT64_MIN);

        if (!talk->has_beats || e->state == EDGE_FIRST)
            next = at < next ? at : next;
    }
    if (talk->has_beats && begins)
        talk->beat_ns = next_beat(talk, now_ns);
    return talk->has_beats && talk->beat_ns < next ? talk->beat_ns : next;
}

/* --- answering ------------------------------------------------------------
 */

/* Sends the stamps of an exchange once all four are there, and only once. */
static void tell_stamps(struct clock_talk *talk, struct clock_answer *a)
{
    struct clock_packet p = {
        .type = CLOCK_STAMPS,
        .from = (uint16_t) talk->self,
        .to = (uint16_t) a->peer,
        .flags = (uint16_t) ((a->unstamped ? CLOCK_NO_STAMP : 0) |
                             (a->disturbed ? CLOCK_WAS_SET : 0) |
                             (talk->user_stamps ? CLOCK_BY_USER : 0)),
        .epoch = a->epoch,
        .seq = a->seq,
        .t_rx = {a->t_rx[0], a->t_rx[1]},
        .r_tx = {a->r_tx[0], a->r_tx[1]},
        .real_less_mono = talk->real_less_mono,
        .cadence_us = talk->cadence_ns / 1000 < UINT32_MAX
                          ? (uint32_t) (talk->cadence_ns / 1000)
                          : UINT32_MAX};

    if ((a->have & ANSWERED_ALL) != ANSWERED_ALL || (a->have & TOLD))
        return;
    a->have |= TOLD;
    talk->send(talk->arg, true, (size_t) (a - talk->answers), &p, 0);
}

/* Whether a question belongs to a later exchange than the last one. A restarted
 * agent has a later epoch. */
static bool is_newer(const struct clock_answer *a, const struct clock_packet *p)
{
    return p->epoch != a->epoch ? p->epoch > a->epoch : p->seq > a->seq;
}

/* A first question must be newer than all before it; a second one must follow
 * its own first. Everything else is a replay. */
int clock_talk_asker(const struct clock_talk *talk,
                     const struct clock_packet *packet)
{
    if (packet->to != talk->self ||
        (packet->type != CLOCK_ASK1 && packet->type != CLOCK_ASK2))
        return -2;
    for (size_t i = 0; i < talk->n_answers; i++) {
        const struct clock_answer *a = &talk->answers[i];

        if (a->peer != packet->from)
            continue;
        if (packet->type == CLOCK_ASK1)
            return is_newer(a, packet) ? (int) i : -2;
        return packet->epoch == a->epoch && packet->seq == a->seq &&
                       (a->have & HAVE_T_RX * 3) == HAVE_T_RX
                   ? (int) i
                   : -2;
    }
    return -2;
}

/* Answers a question. The arrival counts from rx_ns, the kernel's stamp. */
static void take_question(struct clock_talk *talk, struct clock_answer *a,
                          const struct clock_packet *packet, int64_t rx_ns)
{
    int which = packet->type == CLOCK_ASK2;
    size_t index = (size_t) (a - talk->answers);
    const struct clock_packet p = {.type = which ? CLOCK_ANSWER2
                                                 : CLOCK_ANSWER1,
                                   .from = (uint16_t) talk->self,
                                   .to = (uint16_t) a->peer,
                                   .epoch = packet->epoch,
                                   .seq = packet->seq};

    if (!which)
        *a = (struct clock_answer){
            .peer = a->peer, .epoch = packet->epoch, .seq = packet->seq};
    a->have |= (unsigned) HAVE_T_RX << which;
    a->t_rx[which] = rx_ns;
    if (!talk->send(talk->arg, true, index, &p,
                    make_tag(true, index, which, packet->seq)))
        a->have = TOLD; /* the exchange is lost: send no stamps */
}

/* --- what comes -----------------------------------------------------------
 */

/* Takes an answer or the neighbour's stamps for the open exchange. A repeated
 * answer changes nothing. */
static void take_answer(struct clock_edge *e, const struct clock_packet *packet,
                        int64_t rx_ns)
{
    int which = packet->type == CLOCK_ANSWER2;

    if (packet->type == CLOCK_STAMPS) {
        memcpy(e->t_rx, packet->t_rx, sizeof(e->t_rx));
        memcpy(e->r_tx, packet->r_tx, sizeof(e->r_tx));
        e->unstamped |= (packet->flags & CLOCK_NO_STAMP) != 0;
        e->disturbed |= (packet->flags & CLOCK_WAS_SET) != 0;
        e->by_user = (packet->flags & CLOCK_BY_USER) != 0;
        e->cadence_us = packet->cadence_us;
        e->have |= HAVE_STAMPS;
    } else if (!(e->have & (unsigned) HAVE_R_RX << which)) {
        e->r_rx[which] = rx_ns;
        e->have |= (unsigned) HAVE_R_RX << which;
    }
}

int clock_talk_take(struct clock_talk *talk, const struct clock_packet *packet,
                    int64_t rx_ns, int64_t now_ns)
{
    int asker = clock_talk_asker(talk, packet);

    if (asker >= 0) {
        take_question(talk, &talk->answers[asker], packet, rx_ns);
        return asker;
    }
    /* questions that clock_talk_asker has refused, and packets of another node
     * or an earlier run */
    if (packet->type == CLOCK_ASK1 || packet->type == CLOCK_ASK2 ||
        packet->to != talk->self || packet->epoch != talk->epoch)
        return -2;
    for (size_t i = 0; i < talk->n_edges; i++) {
        struct clock_edge *e = &talk->edges[i];

        if (e->peer != packet->from || e->state == EDGE_IDLE ||
            e->seq != packet->seq)
            continue;
        take_answer(e, packet, rx_ns);
        if (e->state == EDGE_SECOND && (e->have & ASKED_ALL) == ASKED_ALL)
            settle_exchange(talk, e, now_ns);
        return -1;
    }
    return -2;
}

void clock_talk_sent(struct clock_talk *talk, uint64_t tag, int64_t tx_ns,
                     int64_t now_ns)
{
    /* see make_tag */
    size_t index = (size_t) (tag >> 32 & 0xffff);
    int which = (tag & TAG_SECOND) != 0;
    uint32_t seq = (uint32_t) tag;

    if (tag & TAG_ANSWER) {
        struct clock_answer *a;

        if (index >= talk->n_answers)
            return;
        a = &talk->answers[index];
        if (a->seq != seq)
            return;
        a->r_tx[which] = tx_ns;
        a->unstamped |= tx_ns == INT64_MIN;
        a->have |= (unsigned) HAVE_R_TX << which;
        tell_stamps(talk, a);
    } else if (index < talk->n_edges) {
        struct clock_edge *e = &talk->edges[index];

        /* the exchange has ended meanwhile */
        if (e->seq != seq || e->state == EDGE_IDLE)
            return;
        e->t_tx[which] = tx_ns;
        e->unstamped |= tx_ns == INT64_MIN;
        e->have |= (unsigned) HAVE_T_TX << which;
        if (e->state == EDGE_SECOND && (e->have & ASKED_ALL) == ASKED_ALL)
            settle_exchange(talk, e, now_ns);
    }
}

void clock_talk_disturb(struct clock_talk *talk)
{
    for (size_t i = 0; i < talk->n_edges; i++)
        talk->edges[i].disturbed = true;
    for (size_t i = 0; i < talk->n_answers; i++)
        talk->answers[i].disturbed = true;
}

/* --- windows --------------------------------------------------------------
 */

/* A window's line is only kept if there were enough exchanges, over half of the
 * window at least, and if clocks can drift that fast. */
static enum clock_status judge_span(const struct clock_span *s,
                                    enum clockline_status found,
                                    const struct clockline *line,
                                    int64_t length_ns)
{
    if (found == CLOCKLINE_FEW || found == CLOCKLINE_NO_MEMORY ||
        s->exchanges + s->partial < CLOCK_LEAST ||
        s->last_ns - s->first_ns < length_ns / 2)
        return CLOCK_FEW;
    if (found == CLOCKLINE_CROSSED)
        return CLOCK_CROSSED;
    return fabs(line->slope) >= CLOCKLINE_MAX_SLOPE ? CLOCK_STEEP : CLOCK_OK;
}

/* An estimate, in ns, of how far the window's best packets were from the
 * shortest way. A half has half as many packets, so its best ones come about
 * twice as late: what the margins of the halves exceed the whole's is what the
 * whole exceeds the truth. Half of the distance between the halves' lines is
 * added. */
static double spread(const struct clockline *line,
                     const struct clockline halves[2], int64_t start_ns,
                     int64_t end_ns)
{
    double more = (halves[0].margin_ns + halves[1].margin_ns) / 2 -
                  line->margin_ns,
           apart = 0;
    int64_t ends[] = {start_ns, end_ns};

    for (int i = 0; i < 2; i++)
        apart = fmax(apart, fabs((double) (clockline_at(&halves[0], ends[i]) -
                                           clockline_at(&halves[1], ends[i]))));
    return fmin(fmax(more, 0) + apart / 2, line->margin_ns);
}

/* The window's margin beyond the smallest margin so far, or the spread if that
 * is larger; plus the exactness of stamps. Where a node takes its times itself,
 * a share of the margin is added. */
static double uncertainty(struct clock_edge *e, const struct clockline *line,
                          double spread_ns)
{
    double exact = e->span.user_stamps ? CLOCK_USER_PART * line->margin_ns : 0;

    if (e->least_margin_ns == 0 || line->margin_ns < e->least_margin_ns)
        e->least_margin_ns = line->margin_ns;
    return fmax(line->margin_ns - e->least_margin_ns, spread_ns) +
           CLOCK_EXACT_NS + exact;
}

/* The line between all bounds. The bounds of halves[1] are added to halves[0],
 * which has all of them afterwards. *both: both halves have a line of their
 * own. */
static enum clockline_status find_line(struct clock_span *s,
                                       struct clockline *line,
                                       struct clockline halves[2], bool *both)
{
    const struct clockline_bounds *more = &s->halves[1];

    *both = clockline_find(&s->halves[0], &halves[0]) == CLOCKLINE_OK;
    *both &= clockline_find(&s->halves[1], &halves[1]) == CLOCKLINE_OK;
    /* The hulls have all that matters. Points for which there is no memory only
     * make the line less exact. */
    for (size_t i = 0; i < more->upper.n; i++)
        clockline_add_upper(&s->halves[0], more->upper.points[i].t_ns,
                            more->upper.points[i].theta_ns);
    for (size_t i = 0; i < more->lower.n; i++)
        clockline_add_lower(&s->halves[0], more->lower.points[i].t_ns,
                            more->lower.points[i].theta_ns);
    return clockline_find(&s->halves[0], line);
}

bool clock_edge_is_short(const struct clock_talk *talk, size_t index)
{
    const struct clock_span *s = &talk->edges[index].span;
    uint32_t n = s->exchanges + s->partial;

    return n > 0 && n < CLOCK_LEAST;
}

void clock_edge_close(struct clock_talk *talk, size_t index, uint64_t id,
                      int64_t start_ns, int64_t end_ns,
                      struct clock_window *window)
{
    struct clock_edge *e = &talk->edges[index];
    struct clock_span *s = &e->span;
    struct clockline line, halves[2];
    bool both;
    enum clockline_status found = find_line(s, &line, halves, &both);

    *window = (struct clock_window){.id = id,
                                    .from = talk->self,
                                    .to = e->peer,
                                    .start_ns = start_ns,
                                    .end_ns = end_ns,
                                    .exchanges = s->exchanges,
                                    .cadence_us = cadence_us_of(talk, e),
                                    .lost = s->lost,
                                    .no_stamp = s->no_stamp,
                                    .disturbed = s->disturbed,
                                    .rtt_min_ns = s->rtt_min_ns,
                                    .user_stamps = s->user_stamps};
    window->status = judge_span(s, found, &line, end_ns - start_ns);
    if (s->exchanges) {
        window->pure_there = (double) s->pure_there / s->exchanges;
        window->pure_back = (double) s->pure_back / s->exchanges;
    }
    if (window->status == CLOCK_OK) {
        window->beta_ns = clockline_at(&line, start_ns);
        window->slope = line.slope;
        window->margin_ns = line.margin_ns;
        window->unc_ns = uncertainty(
            e, &line,
            both ? spread(&line, halves, start_ns, end_ns) : line.margin_ns);
        e->slope = line.slope;
    }
    /* the next window starts without bounds */
    span_fini(s);
    *s = (struct clock_span){0};
}
