/* exchanges.c - which messages of a process are those of an AlltoAll. */
#include "orchestrator/identity/exchanges.h"

#include <stdlib.h>

int exchanges_init(struct exchanges *x, const struct jp_result *result,
                   bool timed)
{
    *x = (struct exchanges){.result = result, .timed = timed};
    x->comms = calloc(result->n_comms + 1, sizeof(*x->comms));
    x->used = calloc(result->n_comms + 1, sizeof(*x->used));
    return x->comms && x->used ? 0 : -1;
}

/* Frees what the current process has. */
static void drop_process(struct exchanges *x)
{
    for (uint32_t i = 0; i < x->n_used; i++) {
        free(x->comms[x->used[i]].seen);
        x->comms[x->used[i]].seen = NULL;
    }
    x->n_used = 0;
}

void exchanges_fini(struct exchanges *x)
{
    drop_process(x);
    free(x->comms);
    free(x->used);
    *x = (struct exchanges){.comms = NULL};
}

/* Whether a record can be a message of an AlltoAll: its communicator is not too
 * large, and has such a peer. Records of a damaged file, and those of a
 * communicator whose size is only guessed, may name ranks beyond it. */
static bool is_between_ranks(const struct exchanges *x,
                             const struct operation *record)
{
    uint32_t ranks = x->result->comms[record->comm].n_ranks;

    return record->p2p && ranks <= EXCHANGES_RANKS && record->peer < ranks;
}

static uint32_t *seen_of(const struct exchanges *x,
                         const struct operation *message)
{
    return &x->comms[message->comm].seen[2 * message->peer + message->sends];
}

/* Notes a peer of the process. 0 or -1. */
static int note_peer(struct exchanges *x, const struct operation *message)
{
    struct exchanges_comm *c = &x->comms[message->comm];
    uint32_t *seen;

    if (c->stamp != x->process) {
        *c = (struct exchanges_comm){.stamp = x->process};
        c->seen = calloc(2 * (size_t) x->result->comms[message->comm].n_ranks,
                         sizeof(*c->seen));
        if (!c->seen)
            return -1;
        x->used[x->n_used++] = message->comm;
    }
    seen = seen_of(x, message);
    if (*seen)
        return 0;
    *seen = UINT32_MAX; /* no launch has this number */
    if (message->peer == message->rank)
        c->itself = true;
    else
        c->peers[message->sends]++;
    return 0;
}

int exchanges_start(struct exchanges *x, const struct operation *records,
                    size_t n)
{
    drop_process(x);
    x->process++;
    for (size_t i = 0; i < n; i++)
        if (is_between_ranks(x, &records[i]) && note_peer(x, &records[i]) < 0)
            return -1;
    for (uint32_t i = 0; i < x->n_used; i++) {
        struct exchanges_comm *c = &x->comms[x->used[i]];

        c->has = c->peers[0] && c->peers[1] &&
                 (c->itself || (c->peers[0] >= EXCHANGES_PEERS &&
                                c->peers[1] >= EXCHANGES_PEERS));
    }
    return 0;
}

bool exchanges_has(const struct exchanges *x, const struct operation *record)
{
    const struct exchanges_comm *c = &x->comms[record->comm];

    return is_between_ranks(x, record) && c->stamp == x->process && c->has;
}

bool exchanges_begins(struct exchanges *x, const struct operation *message)
{
    struct exchanges_comm *c = &x->comms[message->comm];
    uint32_t *seen = seen_of(x, message);
    uint64_t end_us = message->start_us + message->time_us;
    bool after = x->timed &&
                 message->start_us > c->end_us + OPERATIONS_LAUNCH_US;
    bool begins = !c->launch || *seen == c->launch || after;

    if (begins) {
        c->launch = ++x->launches;
        c->end_us = end_us;
    } else if (end_us > c->end_us) {
        c->end_us = end_us;
    }
    *seen = c->launch;
    return begins;
}
