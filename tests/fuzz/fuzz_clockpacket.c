/* fuzz_clockpacket.c - packets of clock probes, and the talk that takes them:
 * what comes from a socket, and times of a kernel's in any order. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/clock/clock_work.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *at;
    size_t left;
};

struct net {
    uint64_t sent; /* answers */
    struct clock_packet last;
};

static uint64_t number(struct input *in, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < bytes; i++) {
        value = value << 8 | (in->left ? *in->at : 0);
        in->at += in->left > 0;
        in->left -= in->left > 0;
    }
    return value;
}

static bool keep_packet(void *arg, bool to_answer, size_t index,
                        const struct clock_packet *packet, uint64_t tag)
{
    struct net *net = arg;

    (void) index;
    net->sent += to_answer;
    net->last = *packet;
    return tag % 7 != 6; /* now and then a socket takes none */
}

/* As it stands: nobody has the key. */
static void read_raw(const uint8_t *data, size_t size)
{
    static const uint8_t key[MODULE_KEY_BYTES] = {7};
    struct clock_packet packet;
    struct peer_seal seal;

    peer_seal_init(&seal, key, 42, "0");
    if (clock_packet_read(data, size, &seal, &packet) == 0)
        abort(); /* 1 of 2^128 */
}

/* What is written is what is read; a bit more or less is none. */
static void both_ways(const struct clock_packet *packet)
{
    static const uint8_t key[MODULE_KEY_BYTES] = {1};
    uint8_t bytes[CLOCK_PACKET_BYTES];
    struct clock_packet back;
    struct peer_seal seal;

    peer_seal_init(&seal, key, 42, "0");
    clock_packet_write(packet, &seal, bytes);
    if (clock_packet_read(bytes, sizeof(bytes), &seal, &back) == 0 &&
        (back.type != packet->type || back.from != packet->from ||
         back.seq != packet->seq || back.t_rx[1] != packet->t_rx[1] ||
         back.cadence_us != packet->cadence_us))
        abort();
    bytes[packet->seq % sizeof(bytes)] ^= 1;
    if (clock_packet_read(bytes, sizeof(bytes), &seal, &back) == 0 ||
        clock_packet_read(bytes, sizeof(bytes) - 1, &seal, &back) == 0)
        abort();
}

static struct clock_packet any_packet(struct input *in, const struct net *net)
{
    struct clock_packet p = net->last;
    uint64_t how = number(in, 1);

    /* an answer to what was sent last, or anything */
    if (how & 1) {
        p.type = (uint8_t) (p.type == CLOCK_ASK1   ? CLOCK_ANSWER1
                            : p.type == CLOCK_ASK2 ? CLOCK_ANSWER2
                                                   : CLOCK_STAMPS);
        if (how & 2)
            p.type = CLOCK_STAMPS;
        p.from = net->last.to;
        p.to = net->last.from;
    } else {
        p.type = (uint8_t) (number(in, 1) % 8);
        p.from = (uint16_t) (number(in, 1) % 5);
        p.to = (uint16_t) (number(in, 1) % 5);
        p.epoch = (uint32_t) number(in, 1);
        p.seq = (uint32_t) number(in, 1 + how % 4);
    }
    p.flags = (uint16_t) (how >> 4);
    for (int i = 0; i < 2; i++) {
        p.t_rx[i] = (int64_t) number(in, how & 4 ? 8 : 4);
        p.r_tx[i] = (int64_t) number(in, how & 8 ? 8 : 4);
    }
    p.real_less_mono = (int64_t) number(in, 8);
    p.cadence_us = (uint32_t) number(in, 4);
    return p;
}

static void close_window(struct clock_talk *talk, size_t index, int64_t now)
{
    struct clock_window w;

    if (index >= talk->n_edges)
        return;
    clock_edge_close(talk, index, 1, now - 1000000000, now, &w);
    if ((unsigned) w.status >= CLOCK_STATUSES ||
        (w.status == CLOCK_OK && (!isfinite(w.slope) || !isfinite(w.unc_ns) ||
                                  w.unc_ns < 0 || w.exchanges < CLOCK_LEAST)))
        abort();
}

static void talk_over(struct input *in)
{
    struct net net = {0};
    struct clock_talk talk = {0};
    int64_t now = (int64_t) number(in, 5);
    uint64_t taken = 0;

    talk.send = keep_packet;
    talk.arg = &net;
    clock_talk_init(&talk, 5, (uint32_t) (number(in, 1) % 5), 3, 20000000,
                    100000, now);
    talk.send = keep_packet;
    talk.arg = &net;
    for (size_t i = 0; i < talk.n_edges; i++)
        talk.edges[i].ready = true;
    while (in->left) {
        uint64_t what = number(in, 1);

        now += (int64_t) number(in, 3);
        if (what % 5 == 0) {
            clock_talk_run(&talk, now);
        } else if (what % 5 == 1) {
            struct clock_packet p = any_packet(in, &net);

            both_ways(&p);
            taken++;
            clock_talk_take(&talk, &p, what & 8 ? (int64_t) number(in, 8) : now,
                            now);
        } else if (what % 5 == 2) {
            clock_talk_sent(&talk, number(in, 1 + what % 8),
                            what & 16 ? INT64_MIN : now, now);
        } else if (what % 5 == 3) {
            close_window(&talk, what >> 4, now);
        } else {
            clock_talk_disturb(&talk);
        }
        /* an exchange of two questions has three answers */
        if (net.sent > 2 * taken + 1)
            abort();
    }
    clock_talk_fini(&talk);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};

    read_raw(data, size);
    if (size <= 65536)
        talk_over(&in);
    return 0;
}
